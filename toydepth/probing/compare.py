"""The steps of many networks against their depth: `probe compare RESULT...`."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from toydepth.probing.summary import Z
from toydepth.scaling import fit_power_law
from toydepth.tracking import write_json, write_whole

KINDS = ("model", "student", "teacher")


class CompareError(ValueError):
    """A RESULT that is none, in one line."""


def compare(results: Sequence[str], output: Path) -> dict[str, Any]:
    """Mean middle step against depth, fitted for each kind of network.

    Each result is a probe.json or a folder above some. Writes compare.json and the figures into
    `output` and returns what compare.json says. A model's step falls as depth^-1 in arXiv
    2602.05970. The points are weighted alike: how networks differ is more than how well each is
    measured.

    Raises CompareError for a file that is no probe.json, or none at all.
    """
    points = [point for path in _files(results) for point in _points(path)]
    found: dict[str, Any] = {"schema": 1, "groups": [], "figures": {}}
    drawn = {}
    for kind in KINDS:
        ours = sorted(
            (p for p in points if p["kind"] == kind), key=lambda p: (p["depth"], p["label"])
        )
        if not ours:
            continue
        group, law = _group(kind, ours)
        found["groups"].append(group)
        drawn[kind] = _draw(ours, law)
    output.mkdir(parents=True, exist_ok=True)
    for kind, png in drawn.items():
        name = f"middle_step_of_{kind}s.png"
        write_whole(output / name, png)
        found["figures"][kind] = name
    write_json(output / "compare.json", found)
    return found


def _group(kind: str, points: list[dict[str, Any]]) -> tuple[dict[str, Any], Any]:
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
    return {"kind": kind, "points": points, "exponent": exponent, "reason": reason}, law


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
        points = [
            {
                "label": str(s["label"]),
                "family": str(s["facts"].get("kind") or probe["name"]),
                "kind": s["kind"],
                "depth": int(s["depth"]),
                "middle_step": float(s["middle_step"]["value"]),
                "stderr": float(s["middle_step"]["stderr"]),
                "probe": str(path),
            }
            for s in probe["subjects"]
        ]
    except CompareError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CompareError(f"{path} is no probe.json of toydepth: {error!r}") from None
    return [p for p in points if p["middle_step"] > 0 and math.isfinite(p["stderr"])]
