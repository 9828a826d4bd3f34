"""`train_ladder`: the numbers of the command, in memory and in a folder, and ideas of one's own."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import toydepth
from toydepth.engine.devices import OURS
from toydepth.results.records import read_result

TINY = ["train.steps=30", "train.batch_size=32", "teacher.depth=4", "engine.chunk=10"]
TINY += ["train.test_batches=2", "parallel.devices=1"]


def small(*more, depth=(2, 3, 4), width=8, **given):
    """A ladder of a second or two."""
    words = [word for word in TINY if not (callable(given.get("teacher")) and "teacher." in word)]
    return toydepth.train_ladder(
        depth=depth, width=width, overrides=[*words, *more], progress=False, **given
    )


def losses(ladder):
    return [(rung.size, rung.replica, rung.loss) for rung in ladder.rungs]


def mixing(key, width):
    """States that attend to learned places."""
    places = jax.random.normal(key, (16, width))

    def states(h):
        weights = jax.nn.softmax(h @ places.T / width**0.5)
        return h + 0.5 * weights @ places

    return states


BLOCK = toydepth.Block(
    init=lambda key, width: {
        "into": jax.random.normal(key, (width, 2 * width)) / width**0.5,
        "out": jnp.zeros((2 * width, width)),
    },
    apply=lambda p, h: h + jnp.tanh(h @ p["into"]) @ p["out"],
    step=lambda p, share: p | {"out": p["out"] * share},
)


def test_it_writes_nothing_and_leaves_jax_as_it_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = {name: getattr(jax.config, name) for name in OURS}
    ladder = small(teacher="independent")
    assert list(tmp_path.iterdir()) == []
    assert before == {name: getattr(jax.config, name) for name in OURS}
    assert [rung.size for rung in ladder.rungs] == [2, 3, 4]
    assert ladder.alpha.low < ladder.alpha.value < ladder.alpha.high
    assert ladder.weights(depth=3)["layers"]["w_in"].shape == (1, 1, 3, 8, 32)
    assert {line["kind"] for line in ladder.history} == {"train", "test"}
    with pytest.raises(toydepth.SettingError, match=r"depth=5 .* weights at \[2, 3, 4\]"):
        ladder.weights(depth=5)


IN_USE = """
import json, sys, jax, jax.numpy as jnp
jax.config.update("jax_default_matmul_precision", "bfloat16")
jax.config.update("jax_enable_x64", True)
print(float(jnp.ones((4, 4)).sum()))  # somebody's JAX, in use
before = (jax.config.jax_enable_x64, jax.config.jax_compilation_cache_dir)
import toydepth
ladder = toydepth.train_ladder(overrides=sys.argv[1:], progress=False)
assert before == (jax.config.jax_enable_x64, jax.config.jax_compilation_cache_dir)
assert jax.config.jax_default_matmul_precision == "bfloat16"
print(json.dumps([rung.loss for rung in ladder.rungs]))
"""


def test_its_numbers_are_those_of_the_command_also_where_jax_is_in_use(command, tmp_path):
    words = [*TINY, "student.depth=[2,4]", "student.width=8", "replicas=2"]
    done = command(*words, "tracker=none", "hydra.run.dir=run", env={"NPROC": "1"})
    assert done.returncode == 0, done.stderr
    expected = [rung.loss for rung in read_result(tmp_path / "run" / "result.json").rungs]
    env = {k: v for k, v in os.environ.items() if not k.startswith("JAX_COMPILATION_CACHE_DIR")}
    env |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    found = subprocess.run(
        [sys.executable, "-c", IN_USE, *words], env=env, capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout.splitlines()[-1]) == expected


def test_a_folder_holds_what_memory_held(tmp_path):
    ladder = small(teacher="shared")
    saved = ladder.save(tmp_path / "saved")
    trained = small("tracker=none", teacher="shared", folder=tmp_path / "trained")
    again = toydepth.load(tmp_path / "trained")
    assert losses(ladder) == losses(saved) == losses(trained) == losses(again)
    assert ladder.alpha == again.alpha and repr(ladder) == repr(again)
    for depth in (2, 3, 4):
        own, read = ladder.weights(depth), again.weights(depth)
        assert jax.tree.all(jax.tree.map(np.array_equal, own, read))
        assert jax.tree.all(jax.tree.map(np.array_equal, own, saved.weights(depth)))
    left = {path.name for path in (tmp_path / "saved").iterdir()}
    assert {"result.json", "history.jsonl", "report.html", "report.json", ".hydra", "rungs"} <= left
    without = [{k: v for k, v in line.items() if k not in ("time", "seconds")} for line in
               ladder.history]  # fmt: skip
    for one in (saved, again):
        assert without == [
            {k: v for k, v in line.items() if k not in ("time", "seconds")} for line in one.history
        ]
    with pytest.raises(toydepth.SettingError, match="it holds a run"):
        ladder.save(tmp_path / "trained")


def test_the_command_knows_a_saved_ladder_as_done(tmp_path, command):
    words = ("student.width=8", "student.depth=[2,4]", "tracker=none", *TINY)
    saved = small(depth=(2, 4)).save(tmp_path / "saved")
    done = command(*words, "resume=true", "hydra.run.dir=saved")
    assert done.returncode == 0 and "is completed already" in done.stderr
    assert losses(toydepth.load(tmp_path / "saved")) == losses(saved)
    other = command(*words, "train.steps=31", "resume=true", "hydra.run.dir=saved")
    assert other.returncode == 2 and "train.steps=[30], not [31]" in other.stderr


def test_a_command_goes_on_where_python_was_interrupted(tmp_path, command):
    """In a folder: the first chunk ends, a checkpoint stands, and the session lives on."""
    timer = threading.Timer(0.0, lambda: None)

    def interrupt():
        history = tmp_path / "run" / "history.jsonl"
        while not (history.exists() and history.stat().st_size):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Thread(target=interrupt, daemon=True)
    timer.start()
    words = ["tracker=none", "train.steps=3000"]
    with pytest.raises(KeyboardInterrupt):
        small(*words, folder=tmp_path / "run", depth=(2, 4))
    timer.join()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert not (tmp_path / "run" / "result.json").exists()
    with pytest.raises(toydepth.SettingError, match="it holds a run; resume=true goes on"):
        small(*words, folder=tmp_path / "run", depth=(2, 4))
    resumed = small(*words, "resume=true", folder=tmp_path / "run", depth=(2, 4))
    whole = small("train.steps=3000", depth=(2, 4))
    assert losses(resumed) == losses(whole)
    # Once more: it is finished, and read.
    assert losses(small(*words, "resume=true", folder=tmp_path / "run", depth=(2, 4))) == losses(
        whole
    )


def test_a_teacher_a_block_and_a_loss_of_ones_own(tmp_path):
    def distance(student, teacher):
        return jnp.mean(jnp.abs(student - teacher))

    ladder = small(
        "replicas=2", "train.steps=200", teacher=mixing, student=BLOCK, objective=distance
    )
    record = ladder.record
    assert record.teacher.kind == "own" and record.teacher.function.startswith("mixing-")
    assert "lambda-" in record.settings["student.function"]
    first = [line["loss"] for line in ladder.history if line["kind"] == "train"][0]
    assert all(rung.loss < 0.8 * first for rung in ladder.rungs)
    assert ladder.rungs[0].loss != ladder.rungs[1].loss  # replicas have teachers of their own
    saved = ladder.save(tmp_path / "own")
    for depth in (2, 3, 4):
        own, read = ladder.weights(depth), saved.weights(depth)
        assert jax.tree.all(jax.tree.map(np.array_equal, own, read))


def test_a_teacher_of_ones_own_that_is_a_built_in_one_has_its_numbers():
    """`shared`, written as a user would."""
    from toydepth.toy import final_state
    from toydepth.toy.teacher import shared

    def same(key, width):
        layers = shared(key, width, 4)
        layers = layers._replace(w_out=layers.w_out * 4**-0.5)
        return lambda h: final_state(layers, h, 4)

    own = [rung.loss for rung in small(teacher=same).rungs]
    assert own == pytest.approx([rung.loss for rung in small(teacher="shared").rungs], rel=1e-4)


def test_a_deeper_student_of_ones_own_starts_from_the_shallower_one_s_loss():
    ladder = small("train.steps=[400,1]", teacher=mixing, student=BLOCK, depth=(2, 4))
    shallow, deep = (rung.loss for rung in ladder.rungs)
    assert deep == pytest.approx(shallow, rel=0.25)  # and it has made one step
    start = next(line["loss"] for line in ladder.history if line["kind"] == "train")
    assert shallow < 0.5 * start


def test_kl_with_a_teacher_and_a_block_of_ones_own():
    words = ("objective.head=learned", "objective.vocabulary=8", "target.temperature=[0.5,1.0]")
    ladder = small(*words, teacher=mixing, student=BLOCK, objective="kl")
    assert ladder.alpha is None and "several temperatures" in ladder.alpha_reason
    assert ladder.weights(depth=2)["head"].shape == (1, 2, 8, 8)


REFUSED = {
    "teacher=shred is not allowed: one of": {"teacher": "shred"},
    "teacher=3 is not allowed: it must be the name of a kind": {"teacher": 3},
    "student.depth=2.5 is not allowed": {"depth": 2.5},
    "student.depth=['x'] is not allowed": {"depth": ["x"]},
    "experiment=2 ladders is not allowed: it is a sweep": {"experiment": "fig5"},
    "overrides=train.steps=3 is not allowed: it is a list": {"overrides": "train.steps=3"},
    "tracker=wandb is not allowed: without a folder": {"overrides": ["tracker=wandb"]},
    "wandb is not allowed: without a folder nothing": {"overrides": ["tracker.kind=wandb"]},
    "resume=true is not allowed: without a folder": {"overrides": ["resume=true"]},
    "hydra.run.dir=x is not allowed: it is of the command": {"overrides": ["hydra.run.dir=x"]},
    "launcher=joblib is not allowed: it is of the command": {"overrides": ["launcher=joblib"]},
    "there is no such setting; did you mean": {"overrides": ["train.step=3"]},
    "it is a Python object": {"overrides": ["student.block=own", "student.function=f"]},
    "parallel.devices=4096 is not allowed": {"overrides": ["parallel.devices=4096",
                                                           "train.batch_size=4096"]},
}  # fmt: skip


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_not_allowed_is_the_line_of_the_command(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in (None, "run"):
        if folder and "without a folder" in words:
            continue
        with pytest.raises(toydepth.SettingError) as refused:
            toydepth.train_ladder(folder=folder, progress=False, **REFUSED[words])
        assert words in str(refused.value) and "\n" not in str(refused.value)
        assert list(tmp_path.iterdir()) == []


ODD = {
    r"teacher=\S*lambda is not allowed: its map takes states of \(4, 8\) float32 and gives "
    r"\(4, 3\) float32; it must give \(4, 8\)": {"teacher": lambda key, width: lambda h: h[:, :3]},
    r"objective=\S*lambda is not allowed: it takes two of \(4, 8\) float32 and gives \(4,\)": {
        "objective": lambda student, teacher: jnp.abs(student - teacher).mean(axis=1)
    },
    r"student=\S*lambda is not allowed: its apply takes": {
        "student": BLOCK._replace(apply=lambda p, h: h @ p["into"])
    },
    r"teacher=\S*lambda is not allowed: it raises TypeError: .*positional argument": {
        "teacher": lambda key: lambda h: h
    },
    r"teacher=\S*lambda is not allowed: it raises TypeError: it gives NoneType": {
        "teacher": lambda key, width: None
    },
    r"teacher=\S*lambda is not allowed: with teacher.seed=0 its states are not finite": {
        "teacher": lambda key, width: lambda h: h / 0.0
    },
    "student=.* is not allowed: it must be the name of a kind, or a toydepth.Block": {
        "student": mixing
    },
    r"objective=\S*lambda is not allowed: it must be a mean over rows": {
        "objective": lambda student, teacher: jnp.sum(jnp.square(student - teacher))
    },
    "student=.* is not allowed: its init gives names with a /": {
        "student": BLOCK._replace(
            init=lambda key, width: {"a/b": jnp.ones(2)}, apply=lambda p, h: h, step=None
        )
    },
    "student=.* is not allowed: its init gives bfloat16": {
        "student": BLOCK._replace(
            init=lambda key, width: jnp.ones(2, jnp.bfloat16), apply=lambda p, h: h, step=None
        )
    },
    "student=.* is not allowed: its step must give": {
        "student": BLOCK._replace(step=lambda p, share: {"out": p["out"]})
    },
}


@pytest.mark.parametrize("words", ODD)
def test_what_does_not_fit_is_said_before_it_trains(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in (None, "run"):
        with pytest.raises(toydepth.SettingError, match=words):
            small("tracker=none", folder=folder, **ODD[words])
        assert list(tmp_path.iterdir()) == []


def test_a_ladder_that_diverged_says_so():
    ladder = small("optimizer.learning_rate=1e30", teacher="shared")
    assert ladder.record.status == "diverged" and ladder.alpha is None
    assert "diverged" in repr(ladder)
    (regime,) = toydepth.compare([ladder]).regimes
    assert regime.verdict.startswith("no exponent: no rung has a loss")
    with pytest.raises(toydepth.SettingError, match="depth=2 is not allowed: .* weights at none"):
        ladder.weights(depth=2)


def test_functions_of_one_name_are_not_taken_for_each_other(tmp_path):
    def make(strength):
        def teacher(key, width):
            w = jax.random.normal(key, (width, width))
            return lambda h: h + strength * jnp.tanh(h @ w)

        return teacher

    weak, strong = small(teacher=make(0.1)), small("teacher.seed=5", teacher=make(3.0))
    again = small("teacher.seed=7", teacher=make(0.1))
    assert [regime.replicas for regime in toydepth.compare([weak, strong, again]).regimes] in (
        [1, 2],
        [2, 1],
    )
    small("tracker=none", teacher=make(0.1), folder=tmp_path / "own")
    with pytest.raises(toydepth.SettingError, match=r"teacher.function=\S+, not"):
        small("tracker=none", "resume=true", teacher=make(3.0), folder=tmp_path / "own")


def test_settings_of_a_block_of_code_neither_change_a_number_nor_leak():
    """Where toydepth borrows JAX, as in a notebook; here the tests have set it up for good."""
    code = """
import contextlib, jax, toydepth
words = ["train.steps=10", "teacher.depth=4", "train.batch_size=32", "parallel.devices=1"]
def go():
    found = toydepth.train_ladder(depth=(2, 3), width=8, overrides=words, progress=False)
    return [rung.loss for rung in found.rungs]
expected = go()
blocks = [jax.enable_x64(True), jax.default_matmul_precision("bfloat16"),
          jax.numpy_rank_promotion("raise"), jax.debug_nans(True)]
for block in blocks:
    with block:
        assert go() == expected
assert not jax.config.jax_enable_x64 and jax.config.jax_default_matmul_precision is None
assert jax.config.jax_numpy_rank_promotion == "allow" and not jax.config.jax_debug_nans
jax.config.update("jax_random_seed_offset", 7)
assert go() == expected and jax.config.jax_random_seed_offset == 7
from hydra import initialize
from hydra.core.global_hydra import GlobalHydra
with initialize(version_base="1.3", config_path=None):
    assert go() == expected and GlobalHydra.instance().is_initialized()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_two_threads_take_turns():
    found = {}

    def run(name):
        found[name] = losses(small(teacher="shared"))

    threads = [threading.Thread(target=run, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found["a"] == found["b"] == losses(small(teacher="shared"))


def test_a_folder_is_found_wherever_the_process_goes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ladder = small("tracker=none", teacher="shared", folder="run")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert ladder.history and ladder.weights(depth=2)
    with pytest.raises(toydepth.SettingError, match="folder= names another"):
        small("resume=elsewhere", teacher="shared", folder="run")


def test_a_page_does_not_offer_a_command_for_what_was_python(tmp_path):
    ladder = small(teacher=mixing)
    page = toydepth.compare([ladder, small(teacher="shared")])
    shared, own = (regime.label for regime in page.regimes)
    assert shared == "shared" and own.startswith("own mixing-")
    html = page.save(tmp_path / "page").read_text()
    assert "toydepth.train_ladder with" in html and "teacher.kind=own" not in html


def test_compare_pools_ladders_and_folders(tmp_path):
    pytest.importorskip("matplotlib")
    one, other = small(teacher="shared"), small("seed=1", teacher="shared")
    third = small(teacher="independent").save(tmp_path / "third")
    page = toydepth.compare([one, other, tmp_path / "third"])
    assert [regime.label for regime in page.regimes] == ["shared", "independent"]
    assert [row["replicas"] for row in page.table()] == [2, 1]
    assert page.table()[1]["losses"] == pytest.approx({r.size: r.loss for r in third.rungs})
    assert "shared: alpha" in repr(page)
    figure = page.plot()
    _, axes = __import__("matplotlib.pyplot").pyplot.subplots()
    assert page.plot(axes) is axes.figure and figure is not axes.figure
    page.save(tmp_path / "page")
    html = page.save(tmp_path / "page")  # as where a cell is run again
    assert html.name == "report.html" and html.is_file()
    report = json.loads((tmp_path / "page" / "report.json").read_text())
    assert [r["alpha"]["value"] for r in report["regimes"]] == [r.alpha.value for r in page.regimes]
    with pytest.raises(toydepth.ResultError, match="no such folder"):
        toydepth.compare(["nowhere"])
