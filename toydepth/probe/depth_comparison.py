"""The steps of many networks against their depth: `probe compare RESULT...`."""

import math
from collections.abc import Sequence
from pathlib import Path

from toydepth.files import write_whole
from toydepth.probe.probe_summary import Z
from toydepth.results.probe_record import (
    ComparePoint,
    CompareRecord,
    Group,
    ProbeRecord,
    Subject,
)
from toydepth.results.records import Estimate, ResultError, read_record, write_record
from toydepth.scaling import PowerLaw, fit_power_law

SHALLOWEST = 3  # layers; with fewer the middle is the first or the last


def compare(results: Sequence[str], output: Path) -> CompareRecord:
    """Mean middle step against depth, fitted for each kind of network: models, the teachers of one
    kind, the students of one kind of teacher, objective, block and temperature.

    Each result is a probe.json or a folder above some. Writes compare.json and the figures into
    `output` and returns what compare.json says. A model's step falls as depth^-1 in arXiv
    2602.05970. The points are weighted alike: how networks differ is more than how well each is
    measured.

    Raises ResultError for a file that is no probe.json, or none at all.
    """
    points, left_out = [], []
    for path in _files(results):
        probe = read_record(path, ProbeRecord, "probe")
        for subject in probe.subjects:
            step = subject.middle_step.value
            if subject.depth >= SHALLOWEST and step is not None and step > 0:
                points.append(_point(probe.name, subject, path))
            else:
                step = math.nan if step is None else step
                left_out.append(f"{subject.label} ({path}): depth {subject.depth}, step {step:.3g}")
    if not points:
        raise ResultError(f"no network of {SHALLOWEST} layers or more has a middle step")
    groups, figures, drawn = [], {}, []
    for of in dict.fromkeys(point.of for point in points):
        ours = sorted((p for p in points if p.of == of), key=lambda p: (p.depth, p.name))
        group, law = _group(of, ours)
        groups.append(group)
        drawn.append(_draw(ours, law))
        figures[of] = f"middle_step_{len(figures)}.png"
    output.mkdir(parents=True, exist_ok=True)
    for name, png in zip(figures.values(), drawn, strict=True):
        write_whole(output / name, png)
    found = CompareRecord(groups=groups, left_out=left_out, figures=figures)
    write_record(output / "compare.json", found)
    return found


def _group(of: str, points: list[ComparePoint]) -> tuple[Group, PowerLaw | None]:
    law, reason = None, None
    try:
        law = fit_power_law([p.depth for p in points], [p.middle_step for p in points])
        reason = law.reason
    except ValueError as error:
        reason = str(error)
    exponent = Estimate.from_fit(law and law.alpha)
    return Group(of=of, points=points, exponent=exponent, reason=reason), law


def _draw(points: list[ComparePoint], law: PowerLaw | None) -> bytes:
    from toydepth.figures import Step, png, step_against_depth

    steps = [
        Step(
            p.family,
            p.depth,
            p.middle_step,
            p.middle_step - Z * p.stderr,
            p.middle_step + Z * p.stderr,
        )
        for p in points
    ]
    return png(step_against_depth(steps, law))


def _files(results: Sequence[str]) -> list[Path]:
    if not results:
        raise ResultError("no RESULT given: probe.json files, or folders that hold some")
    found = []
    for result in results:
        path = Path(result)
        files = sorted(path.rglob("probe.json")) if path.is_dir() else [path]
        if not files or not files[0].is_file():
            raise ResultError(f"RESULT={result} is no probe: there is no probe.json")
        found += files
    return list(dict.fromkeys(path.resolve() for path in found))


def _point(probe: str, subject: Subject, path: Path) -> ComparePoint:
    facts, kind = subject.facts, subject.kind
    of = "models"
    if kind != "model":
        of = f"{kind}s, {facts.teacher} teacher"
    if kind == "student":
        of += f", {facts.objective}"
        of += "" if facts.block == "residual" else f", {facts.block}"
        of += "" if facts.temperature is None else f", T = {facts.temperature:g}"
    return ComparePoint(
        name=subject.label,
        of=of,
        family=probe if kind == "model" else of,
        depth=subject.depth,
        middle_step=subject.middle_step.value,
        stderr=subject.middle_step.stderr or 0.0,
        probe=str(path),
    )
