"""What the run folders say beyond the report: settings, commands, training curves, probes."""

import dataclasses
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from toydepth.files import read_history
from toydepth.report.page.plot import spread
from toydepth.results.alpha_over_training import cell_of, cell_of_rung
from toydepth.results.probe_record import ProbeRecord
from toydepth.results.records import ResultError, read_record
from toydepth.results.regimes import Run
from toydepth.results.report_record import RegimeRecord, ReportRecord

# What a page can show and a reader can look at; it also bounds the time that reading takes.
REGIMES, RUNGS, LINE_POINTS = 6, 24, 200
HISTORY_BYTES = 32 * 2**20
PROBES = 24


@dataclasses.dataclass(frozen=True)
class RungCurve:
    """The losses of one rung while it trained: on batches, as logged, and on the test batches."""

    size: int
    about: str
    steps: list[int]
    losses: list[float]
    test_steps: list[int]
    test_losses: list[float]


@dataclasses.dataclass(frozen=True)
class Found:
    """All that a page needs beside the report; empty where nothing was found.

    `settings` and `overrides` (the words of the command, less what asks to resume; None where
    they were not recorded) are by run, `curves` by the regime's place in the report. `notes` say
    what is missing.
    """

    settings: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)
    overrides: dict[str, list[str] | None] = dataclasses.field(default_factory=dict)
    curves: dict[int, list[RungCurve]] = dataclasses.field(default_factory=dict)
    probes: list[ProbeRecord] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)


def gather(
    report: ReportRecord, runs: Sequence[Run], output: Path, folders: Iterable[Path]
) -> Found:
    """Read what lies in the folders of `runs` (named from `output`) and in `folders`.

    A file that cannot be read becomes a note.
    """
    notes = []
    places = {run.name: output / run.name for run in runs}
    return Found(
        {run.name: run.record.every_setting for run in runs},
        {name: _overrides(place) for name, place in places.items()},
        _curves(report.regimes, places, notes),
        _probes([*places.values(), *folders], notes),
        notes,
    )


def _overrides(folder: Path) -> list[str] | None:
    """The words of a command that does anew what the folder's run did."""
    words = _hydra(folder, "overrides")
    if not isinstance(words, list):
        return None
    names = [str(word).partition("=")[0] for word in words]
    again = [str(w) for w, name in zip(words, names, strict=True) if name != "resume"]
    if "experiment" in names and _leaves_sweep(_hydra(folder, "hydra")):
        again.insert(0, "hydra.mode=RUN")
    return again


def _leaves_sweep(record: Any) -> bool:
    """Whether the run's preset is a sweep, and the run was told to be no part of one."""
    try:
        hydra = record["hydra"]
        return hydra["mode"] == "RUN" and bool(hydra["sweeper"]["params"])
    except (KeyError, TypeError):
        return False


def _hydra(folder: Path, name: str) -> Any:
    """One of the files in which Hydra keeps how it was called; None if it cannot be read."""
    import yaml  # slow to import, and only a report with a page reads it

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # hydra.yaml is long
    try:
        return yaml.load((folder / ".hydra" / f"{name}.yaml").read_text(encoding="utf-8"), loader)
    except (OSError, ValueError, yaml.YAMLError):
        return None


def _curves(
    regimes: Sequence[RegimeRecord], places: dict[str, Path], notes: list[str]
) -> dict[int, list[RungCurve]]:
    curves, histories, left = {}, {}, HISTORY_BYTES
    for number in spread(len(regimes), REGIMES):
        regime = regimes[number]
        found = []
        for index in spread(len(regime.points), RUNGS):
            point = regime.points[index]
            run = point.run
            if run not in histories:
                path = places[run] / "history.jsonl"
                size = path.stat().st_size if path.exists() else 0
                histories[run] = {}
                if size > left:
                    notes.append(f"{run}: its training curves are left out, to read no more")
                elif size:
                    left -= size
                    try:
                        histories[run] = _by_rung(read_history(places[run]))
                    except (OSError, ValueError, KeyError, TypeError) as error:
                        notes.append(f"{run}: its training curves are left out: {error!r}")
            lines = histories[run].get(cell_of_rung(point))
            if lines:
                about = f"teacher seed {point.teacher_seed}, seed {point.seed}"
                thin = [_thinned(lines[kind]) for kind in ("train", "test")]
                found.append(RungCurve(point.size, about, *thin[0], *thin[1]))
        if found:
            curves[number] = found
    return curves


def _by_rung(history: Sequence[dict[str, Any]]) -> dict[tuple, dict[str, dict[int, float]]]:
    """`cell_of` a line -> train or test -> step -> loss; of a step twice, the last."""
    rungs: dict[tuple, dict[str, dict[int, float]]] = {}
    for line in history:
        if line["kind"] not in ("train", "test") or not line["step"]:
            continue
        loss = line["loss"]
        if loss and loss > 0 and math.isfinite(loss):  # what has a logarithm
            kinds = rungs.setdefault(cell_of(line), {"train": {}, "test": {}})
            kinds[line["kind"]][line["step"]] = loss
    return rungs


def _thinned(losses: dict[int, float]) -> tuple[list[int], list[float]]:
    """At most LINE_POINTS of them, as even as can be on a logarithmic axis, with both ends."""
    pairs = sorted(losses.items())
    if len(pairs) > LINE_POINTS:
        places = np.unique(np.geomspace(1, len(pairs), LINE_POINTS).round().astype(int)) - 1
        pairs = [pairs[place] for place in places]
    return [step for step, _ in pairs], [loss for _, loss in pairs]


def _probes(folders: Iterable[Path], notes: list[str]) -> list[ProbeRecord]:
    """The probe.json files in the folders, and one and two folders below them."""
    files = {}
    for folder in folders:
        for pattern in ("probe.json", "*/probe.json", "*/*/probe.json"):
            files |= {path.resolve(): None for path in sorted(Path(folder).glob(pattern))}
    probes = []
    for path in list(files)[:PROBES]:
        try:
            probes.append(read_record(path, ProbeRecord, "probe"))
        except ResultError as error:
            notes.append(f"{path.parent.name}/probe.json is left out: {error}")
    if len(files) > PROBES:
        notes.append(f"{PROBES} of {len(files)} probes are shown")
    return probes
