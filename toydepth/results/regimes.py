"""Pool the rungs of many runs into regimes, and fit each."""

import dataclasses
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from toydepth.config import DRAWN_BY, LAYERLESS, teacher_name
from toydepth.files import plain
from toydepth.results.records import Estimate, LocalAlpha, RunRecord, Teacher
from toydepth.results.report_record import Floor, Point, RegimeRecord
from toydepth.results.verdicts import verdict
from toydepth.scaling import PowerLaw, fit_power_law, local_alpha

# Settings that may differ within a regime, beside the size that a ladder runs over.
POOLED = {"teacher.seed", "seed", "replicas", "target.temperature"}
RATE = "optimizer.learning_rate"
STEPS = "train.steps"
SHORT = {"objective.kind": "objective", "objective.head": "head"}  # what labels call settings


@dataclasses.dataclass(frozen=True)
class Run:
    """One result.json: its folder's name in the report, what it says, and its age."""

    name: str
    record: RunRecord
    modified_ns: int


@dataclasses.dataclass(frozen=True)
class Regime:
    """Rungs that differ by size and replica only.

    `facts` are the settings they share (dotted name -> value) with the
    temperature. `points` has one point per rung, as report.json shows them.
    """

    facts: dict[str, Any]
    points: list[Point]

    @property
    def axis(self) -> str:
        """What the size of its rungs is."""
        return self.facts["axis"]

    def usable(self) -> list[Point]:
        """The rungs with a loss that has a logarithm."""
        return [point for point in self.points if point.has_logarithm]


def pool_runs(runs: Sequence[Run]) -> tuple[list[Regime], list[str]]:
    """The regimes in all runs, and notes on rungs found twice and on ramps that diverged.

    Replica r of a run has the teacher seed `teacher.seed + r`; among all runs a replica is a
    teacher seed and a seed. Runs that differ by their training steps are one regime (a deeper
    rung may train longer) unless one rung exists at several, since then the steps are what is
    compared.
    """
    found, notes = defaultdict(list), []
    for run in sorted(runs, key=lambda run: (run.modified_ns, run.name)):
        facts, steps = _facts(run.record)
        seed, first = run.record.seed, run.record.teacher.seed
        for rung in run.record.rungs:
            shared = facts | {"T": rung.temperature}
            if rung.peak_rate is not None:
                shared |= {RATE: rung.peak_rate}
            point = Point.from_rung(rung, first + rung.replica, seed, run.name)
            found[json.dumps(shared, sort_keys=True)].append((steps, point))
        for rung in run.record.ramp_diverged:
            point = Point.from_rung(rung, first + rung.replica, seed, run.name)
            heat = "" if rung.temperature is None else f" at T = {rung.temperature}"
            notes.append(
                f"{run.name}: on the way to the rung, {_named(run.record.axis, point)}{heat} "
                f"diverged at step {rung.diverged_step}, so the next depth started from zero"
            )

    regimes = []
    for key, members in found.items():
        facts = json.loads(key)
        steps_of = defaultdict(set)
        for steps, point in members:
            steps_of[_place(point)].add(json.dumps(steps))
        if any(len(several) > 1 for several in steps_of.values()):
            split = defaultdict(list)
            for steps, point in members:
                split[json.dumps(steps)].append(point)
            groups = [
                (facts | {STEPS: json.loads(steps)}, points) for steps, points in split.items()
            ]
        else:
            groups = [(facts, [point for _, point in members])]
        for shared, points in groups:
            newest = {}
            for point in points:  # oldest first
                if _place(point) in newest:
                    older = newest[_place(point)].run
                    notes.append(
                        f"{_named(facts['axis'], point)} was found twice: {point.run}, the newer, "
                        f"counts and {older} does not"
                    )
                newest[_place(point)] = point
            regimes.append(Regime(shared, [newest[place] for place in sorted(newest)]))
    return regimes, notes


def _named(axis: str, point: Point) -> str:
    return f"{axis} {point.size}, teacher seed {point.teacher_seed}, seed {point.seed}"


def _place(point: Point) -> tuple[int, int, int]:
    return point.size, *point.repetition


def _facts(record: RunRecord) -> tuple[dict[str, Any], Any]:
    """(what makes the regime, training steps)."""
    settings = {
        SHORT.get(name, name): value
        for name, value in record.every_setting.items()
        if name not in POOLED and name != f"student.{record.axis}"
    }
    steps = settings.pop(STEPS, None)
    return settings | {"axis": record.axis}, steps


def drawn_by(facts: dict[str, Any]) -> dict[str, Any]:
    """What a regime's teachers are drawn by besides depth, width and seed."""
    names = DRAWN_BY.get(facts["teacher.kind"], ())
    return {name: facts.get(f"teacher.{name}") for name in names}


def teacher_of(facts: dict[str, Any]) -> str:
    """What a regime's teachers are called."""
    return teacher_name(facts["teacher.kind"], drawn_by(facts))


def label_regimes(regimes: Sequence[Regime]) -> list[tuple[str, Regime]]:
    """(label, regime) in order: the teacher's name, and the settings by which regimes differ.

    Students without layers are compared with those of their own kind: they have little in common
    with others.
    """
    toys = defaultdict(list)
    for regime in regimes:
        block = regime.facts.get("student.block")
        toys[block if block in LAYERLESS else ""].append(regime)
    return [labelled for _, own in sorted(toys.items()) for labelled in _label(own)]


def _label(regimes: Sequence[Regime]) -> list[tuple[str, Regime]]:

    def shown(regime: Regime, name: str) -> str:
        value = regime.facts.get(name)
        return value if isinstance(value, str) else "none" if value is None else json.dumps(value)

    def known(regime: Regime, name: str) -> bool:
        """Of what depth a teacher of one's own is, toydepth does not know."""
        return name != "teacher.depth" or regime.facts["teacher.kind"] != "own"

    names = sorted(
        {name for regime in regimes for name in regime.facts}, key=lambda name: (name != "T", name)
    )
    named = {f"teacher.{name}" for names in DRAWN_BY.values() for name in names}
    silent = {"teacher.kind", "axis"} | named
    if all(
        regime.facts["teacher.width"]
        in (regime.facts.get("student.width"), regime.facts.get("teacher.features"))
        for regime in regimes
    ):
        silent.add("teacher.width")
    differing = [
        name
        for name in names
        if name not in silent
        and len({json.dumps(r.facts.get(name)) for r in regimes if known(r, name)}) > 1
    ]

    def order(regime: Regime):
        values = [*drawn_by(regime.facts).values()]
        values += [regime.facts.get(name) for name in differing]
        kind = regime.facts["teacher.kind"]
        return (
            kind != "shared",
            kind,
            [(0, value, "") if _number(value) else (1, 0, str(value)) for value in values],
        )

    labelled = []
    for regime in sorted(regimes, key=order):
        parts = [
            f"{name} = {shown(regime, name)}"
            for name in differing
            if known(regime, name) and _said(regime, name)
        ]
        labelled.append((", ".join([teacher_of(regime.facts), *parts]), regime))
    return labelled


def _said(regime: Regime, name: str) -> bool:
    """Whether a label names the setting; what a regime has none of is not worth a word."""
    value = regime.facts.get(name)
    return value is not None or not (name == "T" or name.endswith(".function"))


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclasses.dataclass(frozen=True)
class Columns:
    """Points as `scaling` wants them; `stderr` is None unless every loss has one."""

    sizes: list[int]
    losses: list[float]
    stderr: list[float] | None
    groups: list[tuple[int, int]]


def columns(points: Iterable[Point]) -> Columns:
    points = list(points)
    stderr = [point.loss_stderr or 0 for point in points]
    return Columns(
        [point.size for point in points],
        [point.loss for point in points],
        stderr if all(error > 0 for error in stderr) else None,
        [point.repetition for point in points],
    )


def fit_points(
    points: Sequence[Point], axis: str, floor: bool = False
) -> tuple[PowerLaw | None, str | None]:
    """(power law, why it or its interval is missing); None with fewer than three sizes."""
    data = columns(points)
    sizes = len(set(data.sizes))
    if sizes < 3:
        found = {0: "no rung has a loss", 1: f"one {axis}"}.get(sizes, f"two {axis}s")
        return None, f"{found}: an exponent needs three"
    try:
        law = fit_power_law(data.sizes, data.losses, data.stderr, data.groups, floor=floor)
    except ValueError as error:
        return None, str(error)
    return law, law.reason


def describe(label: str, regime: Regime) -> tuple[RegimeRecord, PowerLaw | None, list[str]]:
    """(the regime's entry in report.json, its fit, notes)."""
    usable, facts, axis = regime.usable(), regime.facts, regime.axis
    law, reason = fit_points(usable, axis)
    alpha = Estimate.from_fit(law and law.alpha)
    converged, _ = fit_points([point for point in usable if point.converged], axis)
    data = columns(usable)
    sizes = sorted(set(data.sizes))
    at_size = [[point for point in usable if point.size == size] for size in sizes]
    losses = [
        float(np.exp(np.mean(np.log([point.loss for point in points])))) for points in at_size
    ]
    not_converged = [
        size
        for size, points in zip(sizes, at_size, strict=True)
        if any(point.converged is False for point in points)
    ]
    floor = _floor(usable, axis)
    entry = RegimeRecord(
        label=label,
        axis=axis,
        teacher=Teacher(**{name: facts[f"teacher.{name}"] for name in Teacher.model_fields}),
        student={
            name.removeprefix("student."): facts[name]
            for name in sorted(facts)
            if name.startswith("student.")
        },
        objective=facts["objective"],
        head=facts.get("head"),
        temperature=facts["T"],
        learning_rate=facts.get(RATE),
        sizes=sizes,
        losses=losses,
        loss_stderr=[
            _mean_stderr(loss, points, data.stderr is not None)
            for loss, points in zip(losses, at_size, strict=True)
        ],
        alpha=alpha,
        alpha_reason=reason,
        alpha_converged=Estimate.from_fit(converged and converged.alpha),
        local_alpha=[
            LocalAlpha.from_fit(pair)
            for pair in (local_alpha(*dataclasses.astuple(data)) if usable else [])
        ],
        replicas=len({point.repetition for point in regime.points}),
        points=regime.points,
        not_converged=not_converged,
        floor=floor,
        verdict=verdict(
            alpha,
            reason,
            sizes,
            not_converged,
            axis=axis,
            measured=all(point.converged is not None for point in usable),
            floor=bool(floor and floor.supported),
        ),
    )
    return entry, law, _notes(label, regime, at_size, data)


def _mean_stderr(loss: float, points: Sequence[Point], given: bool) -> float | None:
    """Sampling error of a geometric mean: L sqrt(sum (stderr / L_i)^2) / n."""
    if not given:
        return None
    return float(loss * np.sqrt(sum((p.loss_stderr / p.loss) ** 2 for p in points)) / len(points))


def _floor(points: Sequence[Point], axis: str) -> Floor | None:
    """The fit with a floor, compared with the fit without; None where it cannot be made."""
    law, _ = fit_points(points, axis, floor=True)
    if law is None or law.floor_comparison is None:
        return None
    found = dataclasses.asdict(law.floor) | dataclasses.asdict(law.floor_comparison)
    return Floor(**plain(found), alpha=Estimate.from_fit(law.alpha), reason=law.reason)


def _notes(label: str, regime: Regime, at_size: list[list[Point]], data: Columns) -> list[str]:
    notes, axis = [], regime.axis
    for point in regime.points:
        if point.status == "completed" and not point.has_logarithm:
            notes.append(
                f"{label}: {_named(axis, point)} is left out: "
                f"its loss is {'missing' if point.loss is None else point.loss}"
            )
    rounded = [p for p in regime.usable() if p.loss_as_trained]
    if rounded:
        worst = max(rounded, key=lambda p: p.loss_as_trained / p.loss)
        notes.append(
            f"{label}: trained with bfloat16 products, tested in float32; with bfloat16 products "
            f"the loss at {_named(axis, worst)} is {worst.loss_as_trained / worst.loss:.2f} times "
            "as large, and longer training in float32 may lower it further"
        )
    if data.stderr is None and any(point.loss_stderr for points in at_size for point in points):
        notes.append(f"{label}: not every loss has a standard error, so all weigh the same")
    if len({frozenset(point.repetition for point in points) for points in at_size}) > 1:
        notes.append(
            f"{label}: the {axis}s have different replicas; "
            "alpha compares within a replica, the mean losses do not"
        )
    return notes
