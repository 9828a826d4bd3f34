"""Overrides as nobody should write them, drawn with a fixed seed."""

import random

from toydepth.commands.spec import groups
from toydepth.settings import meanings

WRONG = ["x", "true", "1.5", "-1", "[1,2]", "{a:1}", "'3'", "0x10", "1_0", "None", "~", "on"]
EDGES = ["0", "1", "-0.0", "1e-320", "2", "1e9"]
NOT_FINITE = ["nan", "inf", "-inf", "NaN", "-.inf", "1e999"]
HUGE = ["1" + "0" * 30, "1e300", "-1e300", "9" * 400, "a" * 5000, "[" + ",".join("1" * 300) + "]"]
EMPTY = ["", "''", "[]", "{}", "null", "???", " "]
TEXT = ["é", "\u202e3", "'数'", "\U0001f4a5", "1\u0660", "'a\tb'", '"\\x00"', "'\x1b[31m'", "'\n'"]
NESTED = ["[[1]]", "[{a:1}]", "{a:{b:[1,{c:null}]}}", "[1,[2,[3]]]", "{_target_:os.system}"]
NESTED += ["[" * 30 + "1" + "]" * 30, "{kind:{kind:1}}", "[1", "{a", "'", '"', "(", "1)", "a b"]
SWEPT = ["1,2", "range(0,3)", "glob(*)", "choice(1,2)", "interval(0,1)", "shuffle(1,2)"]
SWEPT += ["sort(2,1)", "range(0,10**30)", "range(0,1e12)", "1,x,[", "tag(a,1,2)"]
CODE = ["${oc.env:HOME}", "${nothing}", "${", "$(id)", "`id`", "<b>", "int(3)", "str(1)"]
VALUES = [WRONG, EDGES, NOT_FINITE, HUGE, EMPTY, TEXT, NESTED, SWEPT, CODE]
NAMES = ["{}x", "{}.x", "x.{}", "+{}", "++{}", "~{}", "{}@_global_", "{}.", ".{}", "{}..a", "é{}"]
NAMES += ["{}[0]", "hydra.{}", "{}/x", " {}", "{}_target_", "{}._target_", "_target_"]
SOUND = ["1", "2", "3", "0.5", "[2,3]", "'x y'", "null", "true", "${seed}", "über", "1e-3", "0.25"]
# What the verb cannot do without.
BASE = {"train": [], "law": ["data.path=runs.csv"], "probe": ["model=folder"]}
OF_HYDRA = ["hydra.run.dir", "hydra.sweep.dir", "hydra.launcher", "hydra.mode", "hydra/launcher"]
OF_HYDRA += ["hydra.verbose", "hydra.job.name", "hydra"]


def commands(verb, count, seed):
    """`count` command lines for a verb: each spoils one of its settings, in turn."""
    draw = random.Random(seed)
    settings = [name for name, *_ in meanings(verb.schema)]
    names = settings + sorted({name.partition(".")[0] for name in settings} | set(groups(verb)))
    names += OF_HYDRA
    first = draw.randrange(len(names))

    def value():
        return draw.choice(SOUND if draw.random() < 0.2 else draw.choice(VALUES))

    for index in range(count):
        name = names[(first + index) % len(names)]
        odd = draw.random() < 0.15
        words = [f"{draw.choice(NAMES).format(name) if odd else name}={value()}"]
        if draw.random() < 0.1:  # and once more
            words.append(f"{name}={value()}")
        if draw.random() < 0.05:
            words.append(draw.choice(["", "=", "--x", "-", "a=b=c", "é", "seed", name]))
        base = [word for word in BASE[verb.name] if not word.startswith(f"{name}=")]
        several = ["-m"] if draw.random() < 0.15 else []
        yield [*several, *base, *words]
