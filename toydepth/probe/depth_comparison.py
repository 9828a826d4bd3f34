"""The steps of many networks against their depth: `probe compare RESULT...`."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from toydepth.files import write_json, write_whole
from toydepth.probe.probe_summary import Z
from toydepth.scaling import fit_power_law

SHALLOWEST = 3  # layers; with fewer the middle is the first or the last


class CompareError(ValueError):
    """A RESULT that is none, in one line."""


def compare(results: Sequence[str], output: Path) -> dict[str, Any]:
    """Mean middle step against depth, fitted for each kind of network: models, the teachers of one
    kind, the students of one kind of teacher, objective, block and temperature.

    Each result is a probe.json or a folder above some. Writes compare.json and the figures into
    `output` and returns what compare.json says. A model's step falls as depth^-1 in arXiv
    2602.05970. The points are weighted alike: how networks differ is more than how well each is
    measured.

    Raises CompareError for a file that is no probe.json, or none at all.
    """
    points, left_out = [], []
    for path in _files(results):
        for point in _points(path):
            if point["depth"] >= SHALLOWEST and 0 < point["middle_step"] < math.inf:
                points.append(point)
            else:
                left_out.append(
                    f"{point['name']} ({path}): depth {point['depth']}, step "
                    f"{point['middle_step']:.3g}"
                )
    if not points:
        raise CompareError(f"no network of {SHALLOWEST} layers or more has a middle step")
    found: dict[str, Any] = {"schema": 1, "groups": [], "left_out": left_out, "figures": {}}
    drawn = {}
    for of in dict.fromkeys(point["of"] for point in points):
        ours = sorted((p for p in points if p["of"] == of), key=lambda p: (p["depth"], p["name"]))
        group, law = _group(of, ours)
        found["groups"].append(group)
        drawn[of] = _draw(ours, law)
    output.mkdir(parents=True, exist_ok=True)
    for number, (of, png) in enumerate(drawn.items()):
        name = f"middle_step_{number}.png"
        write_whole(output / name, png)
        found["figures"][of] = name
    write_json(output / "compare.json", found)
    return found


def _group(of: str, points: list[dict[str, Any]]) -> tuple[dict[str, Any], Any]:
    law, reason = None, None
    try:
        law = fit_power_law([p["depth"] for p in points], [p["middle_step"] for p in points])
        reason = law.reason
    except ValueError as error:
        reason = str(error)
    exponent = None
    if law is not None:
        names = ("value", "stderr", "low", "high")
        exponent = {name: getattr(law.alpha, name) for name in names}
    return {"of": of, "points": points, "exponent": exponent, "reason": reason}, law


def _draw(points: list[dict[str, Any]], law) -> bytes:
    from toydepth.figures import Step, png, step_against_depth

    steps = [
        Step(
            p["family"],
            p["depth"],
            p["middle_step"],
            p["middle_step"] - Z * p["stderr"],
            p["middle_step"] + Z * p["stderr"],
        )
        for p in points
    ]
    return png(step_against_depth(steps, law))


def _files(results: Sequence[str]) -> list[Path]:
    if not results:
        raise CompareError("no RESULT given: probe.json files, or folders that hold some")
    found = []
    for result in results:
        path = Path(result)
        files = sorted(path.rglob("probe.json")) if path.is_dir() else [path]
        if not files or not files[0].is_file():
            raise CompareError(f"RESULT={result} is no probe: there is no probe.json")
        found += files
    return list(dict.fromkeys(path.resolve() for path in found))


def _points(path: Path) -> list[dict[str, Any]]:
    try:
        probe = json.loads(path.read_text(encoding="utf-8"))
        if probe["schema"] != 1:
            raise CompareError(f"{path} has schema {probe['schema']!r}; this toydepth reads 1")
        return [_point(probe["name"], s, path) for s in probe["subjects"]]
    except CompareError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CompareError(f"{path} is no probe.json of toydepth: {error!r}") from None


def _point(probe: str, subject: dict[str, Any], path: Path) -> dict[str, Any]:
    """One network; `of` names those that it is compared with."""
    facts, kind, depth = dict(subject["facts"]), str(subject["kind"]), int(subject["depth"])
    if depth < 1 or kind not in ("model", "student", "teacher"):
        raise ValueError(f"a {kind} of depth {depth}")
    of = "models"
    if kind != "model":
        of = f"{kind}s, {facts.get('teacher')} teacher"
    if kind == "student":
        of += f", {facts.get('objective')}"
        block = facts.get("block", "residual")  # which an older probe does not name
        of += "" if block == "residual" else f", {block}"
        of += f", T = {facts['temperature']:g}" if "temperature" in facts else ""
    step = subject["middle_step"]
    return {
        "name": str(subject["label"]),
        "of": of,
        "family": str(probe) if kind == "model" else of,
        "depth": depth,
        "middle_step": math.nan if step["value"] is None else float(step["value"]),
        "stderr": 0.0 if step["stderr"] is None else float(step["stderr"]),
        "probe": str(path),
    }
