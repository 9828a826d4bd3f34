"""Three exponents on one page: depth, width and training time.

    python -m toydepth.universality
    python -m toydepth.universality train.steps=300
    python -m toydepth.universality FOLDER

Without a FOLDER it trains what it reads: ladders of depths, widths and temperatures, small, on two
cores, in outputs/<date>/<time>-universality. Settings of toydepth.train (name=value) go to each.
FOLDER holds finished runs of toydepth.train, as these are. Writes into it universality.json,
figures/universality.png and, if a ladder of depths was trained by KL side by side,
depth_and_time.csv, its losses along training. To these `toydepth.law` then fits the sum of a
term in depth and one in time, with the exponents that were measured: law/law.json.

Exit status: 0 all well, 1 no exponent or no law, 2 an argument or a file is not what it should be,
130 SIGINT, 143 SIGTERM, or that of toydepth.train where it failed.
"""

import csv
import io
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from toydepth.commands import command_line
from toydepth.commands.printed import Printed
from toydepth.commands.side_by_side import commands, new_folder, run_both
from toydepth.files import read_history, write_json, write_whole
from toydepth.report.time_table import training
from toydepth.results.alpha_over_training import cell_of_rung
from toydepth.results.records import SCHEMA, Estimate, ResultError, find_runs, read_result
from toydepth.results.regimes import Regime, Run, columns, describe, label_regimes, pool_runs
from toydepth.results.report_record import RegimeRecord
from toydepth.results.time_exponents import Trained, along_training, binned, trained_in
from toydepth.settings import SettingError
from toydepth.train.training_command import VERB

EXPECTED = {"shared": 3.0, "independent": 1.0, "features": 1.0, "head": 1 / 3}
MEANS = {
    "shared": "smooth dynamics",
    "independent": "averaging",
    "features": "superposition",
    "head": "a softmax on peaked targets",
}
# What is trained: each run's folder and its overrides, on one core and on the other.
SOFTMAX = ["target.temperature=0.003", "optimizer.learning_rate=0.1", "replicas=3"]
HERE = {
    "time": ["experiment=time_scaling", *SOFTMAX],
    "depth_and_time": ["experiment=depth_and_time"],
    "shared": ["experiment=quickstart", "teacher=shared"],
}
BEHIND = {
    "independent": ["experiment=quickstart", "teacher=independent"],
    "width": ["experiment=width_scaling"],
}
FIRST = 1000  # steps before which the head's weights are small and the loss falls faster


def universality(folder: Path) -> dict[str, Any]:
    """Reads the runs in and below the folder, and writes what they say of the three exponents.

    Returns what universality.json says. Raises ResultError if there is no run, or one that is
    not what it should be.
    """
    paths, without = find_runs(folder)
    notes = [f"unfinished: {path.relative_to(folder)}" for path in without]
    runs = []
    for path in paths:
        name, record = str(path.parent.relative_to(folder)), read_result(path)
        if record.status == "failed":
            notes.append(f"unfinished: {name} failed: {record.error}")
        else:
            runs.append(Run(name, record, path.stat().st_mtime_ns))
    ladders, alongs = [], []
    regimes, more = pool_runs(runs)
    notes += more
    both = [regime for regime in regimes if side_by_side(regime)]
    if len(both) > 1:
        notes.append("several ladders were trained side by side: no table of depth and time")
        both = []
    rows = losses_over_both(both[0], folder) if both else {}
    for label, regime in label_regimes([r for r in regimes if r not in both]):
        found = along_training(regime, lambda run: trained_in(read_history(folder / run)))
        entry, law, more = describe(label, regime)
        notes += more
        notes += [f"diverged, left out: {label}, {entry.axis} {r.size}" for r in entry.diverged]
        if found:
            alongs.append((entry.changed(along_training=found[0]), found[1]))
        elif regime.usable():
            ladders.append((entry, regime, law))
    exponents = [_ladder(*ladder) for ladder in ladders] + [_along(entry) for entry, _ in alongs]
    answer: dict[str, Any] = {"schema": SCHEMA, "exponents": exponents, "notes": notes}
    answer["figures"] = {"universality": "figures/universality.png"}
    answer["depth_and_time"] = "depth_and_time.csv" if rows else None
    (folder / "figures").mkdir(exist_ok=True)
    write_whole(folder / "figures/universality.png", _draw(ladders, alongs))
    if rows:
        write_whole(folder / answer["depth_and_time"], table(rows).encode())
    write_json(folder / "universality.json", answer)
    return answer


def side_by_side(regime: Regime) -> bool:
    """Whether it is a ladder of depths of which losses at equal steps can be compared."""
    facts = regime.facts
    several = len({point.size for point in regime.usable()}) > 1
    scratch = facts.get("train.method") == "scratch" and facts["objective"] == "kl"
    return facts["axis"] == "depth" and scratch and several


def law_words(exponents: Sequence[dict[str, Any]]) -> list[str]:
    """Settings of `toydepth.law`: terms in depth and time with the exponents measured here.

    Depth's is that of independent layers, time's that of the head; one that is not known is fitted.
    """
    known = {row["mechanism"]: row["value"] for row in exponents if row["value"] is not None}
    words = ["law.width=null", "law.data=null", "law.floor=false"]
    for term, kind in (("depth", "independent"), ("time", "head")):
        words.append(f"law.{term}={known.get(MEANS[kind], 'free')}")
    return words


def losses_over_both(regime: Regime, folder: Path) -> dict[tuple[int, int, float], float]:
    """(depth, teacher seed, steps) -> the loss then, ten times a decade."""
    found = {}
    for point in regime.usable():
        curves = trained_in(read_history(folder / point.run))
        curve: Trained = curves[cell_of_rung(point)]
        data = binned([curve])
        if data is None:
            continue
        for step, loss in zip(data.steps, data.losses[0], strict=True):
            if step >= FIRST:
                found[point.size, point.teacher_seed, round(float(step), 1)] = float(loss)
    return found


def table(rows: dict[tuple[int, int, float], float]) -> str:
    """The losses as CSV, with the columns that `toydepth.law` looks for."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["depth", "teacher_seed", "time", "loss"])
    writer.writerows([*key, loss] for key, loss in sorted(rows.items()))
    return text.getvalue()


def _ladder(entry: RegimeRecord, regime: Regime, _: Any) -> dict[str, Any]:
    row = _row(entry, entry.axis, entry.alpha, entry.verdict)
    if entry.axis == "width" and (regime.facts.get("optimizer.weight_decay") or 0) >= 0:
        row |= {"expected": None, "mechanism": None}  # of strong superposition alone it is known
    return row


def _along(entry: RegimeRecord) -> dict[str, Any]:
    assert entry.along_training is not None
    steps = entry.along_training.steps
    exponent = steps.window.exponent if steps.window else None
    return _row(entry, "time", exponent, steps.verdict) | {"last_decade": steps.last_decade}


def _row(entry: RegimeRecord, axis: str, exponent: Estimate | None, verdict: str) -> dict[str, Any]:
    kind = entry.teacher.kind
    return {
        "label": entry.label,
        "against": axis,
        "expected": EXPECTED.get(kind),
        "mechanism": MEANS.get(kind),
        **(dict(exponent) if exponent else dict.fromkeys(Estimate.model_fields)),
        "verdict": verdict,
    }


def _draw(ladders: Sequence[tuple], alongs: Sequence[tuple]) -> bytes:
    from toydepth.figures import Curve, png, three_exponents  # matplotlib is slow to import

    kinds = [entry.teacher.kind for entry, *_ in [*ladders, *alongs]]

    def name(entry: RegimeRecord) -> str:
        """The teacher's kind, which is enough where each is there once."""
        kind = entry.teacher.kind
        return kind if kinds.count(kind) == 1 else entry.label

    curves: dict[str, list] = {"depth": [], "width": []}
    for entry, regime, law in ladders:
        data = columns(regime.usable())
        points = data.sizes, data.losses, data.stderr, data.groups
        curves[entry.axis].append(Curve(name(entry), *points, fit=law))
    # More curves than these need a figure of their own, which the report draws.
    trainings = [training(entry, data)._replace(label=name(entry)) for entry, data in alongs[:4]]
    return png(three_exponents(curves["depth"], curves["width"], trainings))


def show(answer: dict[str, Any], folder: Path) -> None:
    page = Printed()

    def number(value: float | None) -> str:
        return "-" if value is None else f"{value:.2f}"

    def cells(row: dict[str, Any]) -> Iterable[str]:
        yield row["label"]
        yield row["against"]
        yield number(row["expected"])
        yield number(row["value"])
        yield f"{number(row['low'])} to {number(row['high'])}" if row["low"] is not None else "-"
        yield row["verdict"]

    headings = ("teacher", "against", "expected", "exponent", "95 % interval", "verdict")
    page.table("Three exponents", headings, [tuple(cells(row)) for row in answer["exponents"]])
    for note in answer["notes"]:
        page.line(f"note: {note}")
    if answer["depth_and_time"]:
        page.line(folder / answer["depth_and_time"])
    page.line(folder / answer["figures"]["universality"])


def main(arguments: Sequence[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    if set(arguments) & {"-h", "--help"}:
        print(__doc__.strip())
        return 0
    try:
        if len(arguments) == 1 and ("=" not in arguments[0] or Path(arguments[0]).exists()):
            return read(Path(arguments[0]))
        folder = new_folder("universality")
        return train(folder, arguments) or read(folder)
    except SettingError as error:
        command_line.say("universality", error)
        return 2
    except KeyboardInterrupt:
        command_line.say("universality", "interrupted")
        return 130


def train(folder: Path, overrides: Sequence[str]) -> int:
    """Trains what is read here, each run with these overrides, and returns the exit status.

    Raises:
      SettingError: if an override is not allowed. Nothing was written.
    """
    here, behind = (commands(VERB, folder, runs, overrides) for runs in (HERE, BEHIND))
    log = folder / "background.log"
    print(f"Independent layers and width train in the background: {log}")
    print("Shared layers, training time, and depth with time train here:", flush=True)
    return run_both(here, behind, log)


def read(folder: Path) -> int:
    """Reads the runs in the folder, writes and shows what they say, and returns the exit status."""
    try:
        answer = universality(folder)
    except (ResultError, OSError, ValueError, KeyError, TypeError) as error:
        known = isinstance(error, (ResultError, OSError))
        command_line.say(
            "universality", error if known else f"a file is not as toydepth writes it: {error!r}"
        )
        return 2
    show(answer, folder)
    if not answer["exponents"]:
        return 1
    return fit_law(answer, folder) if answer["depth_and_time"] else 0


def fit_law(answer: dict[str, Any], folder: Path) -> int:
    """`toydepth.law` on the table of depth and time; returns its exit status."""
    words = [f"data.path={folder / answer['depth_and_time']}", *law_words(answer["exponents"])]
    words.append(f"hydra.run.dir={folder / 'law'}")
    print(f"\ntoydepth.law {' '.join(words)}", flush=True)
    return subprocess.run([sys.executable, "-m", "toydepth.law", *words]).returncode


if __name__ == "__main__":
    sys.exit(main())
