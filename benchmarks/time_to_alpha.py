"""Wall time until depth continuation beats the published schedule at every depth.

    python benchmarks/time_to_alpha.py [--steps 2000] [--teacher shared independent]

Figure 5's model on depths 6, 12, 24, 48. First the published schedule trains all depths from zero
for `--steps` steps. Then continuation trains each rung for as many, and the time is told at which
the last of its rungs passed below the published loss.
"""

import argparse
import json
import math
import tempfile
from dataclasses import replace
from pathlib import Path

from common import experiment, write

from toydepth.engine import Checkpoints, Progress, layout, prepare_devices, prepare_job, run
from toydepth.toy import depth_problem

MODEL = {
    "teacher": {"depth": 128},
    "student": {"width": 32, "depth": [6, 12, 24, 48]},
    "train": {"batch_size": 1024},
}
PUBLISHED = {
    "train": {"method": "scratch"},
    "optimizer": {"b1": 0.9, "b2": 0.999, "learning_rate": 1.2e-3, "depth_exponent": 0.5},
    "schedule": {"warmup": 0.0, "constant": 0.8, "final": 0.1},
}


def nothing(*_) -> None:
    """Neither shows nor keeps."""


def train(e) -> tuple[dict[int, float], list[dict], float]:
    """(final losses by depth, every test, seconds)."""
    records = []
    grid = layout(None, replicas=1, batch=e.train.batch_size)
    job = prepare_job(e, depth_problem(e), grid)
    with tempfile.TemporaryDirectory() as folder, Checkpoints(Path(folder)) as checkpoints:
        at = run(job, checkpoints, Progress(), record=records.append, show=nothing, keep=nothing)
    tests = [line for line in records if line["kind"] == "test"]
    return {r["size"]: r["loss"] for r in at.rungs}, tests, at.seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--teacher", nargs="+", default=["shared", "independent"])
    args = parser.parse_args()
    prepare_devices(None)
    figures = {}
    for kind in args.teacher:
        common = {"teacher": {"kind": kind}, "train": {"steps": args.steps}}
        schedules = [experiment(MODEL, common, PUBLISHED), experiment(MODEL, common)]
        for e in schedules:  # compile before the clock runs
            train(replace(e, train=replace(e.train, steps=(e.engine.chunk,))))
        (bar, _, published), (losses, tests, continued) = map(train, schedules)
        passed = {}
        for line in tests:
            if line["loss"] < (bar[line["size"]] or math.inf):
                passed.setdefault(line["size"], line["seconds"])
        reached = max(passed.values()) if len(passed) == len(bar) else None
        figures[kind] = {
            "steps": args.steps,
            "published": {"losses": bar, "seconds": published},
            "continuation": {"losses": losses, "seconds": continued, "seconds_to_pass": passed},
            "seconds_to_pass_all": reached,
        }
        print(f"{kind}: published {published:.0f} s, losses {json.dumps(bar)}")
        print(f"{kind}: continuation {continued:.0f} s, losses {json.dumps(losses)}")
        print(f"{kind}: every rung below the published loss after {reached} s", flush=True)
    write("time_to_alpha", figures)


if __name__ == "__main__":
    main()
