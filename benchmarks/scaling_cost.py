"""How a step's time and the peak memory grow with depth, width, replicas, temperatures, devices.

    python benchmarks/scaling_cost.py [--rounds 5] [--steps 5]

Each row is a process of its own, so that its peak memory is its own; rows are repeated in turn.
The time is a step's, teacher included; `ratio` is to the first row of its group.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys

BASE = {"student.depth": [12, 24], "student.width": 32, "train.batch_size": 512}
KL = {"objective.kind": "kl", "objective.head": "learned", "objective.vocabulary": 128}
GROUPS = {
    "depth": [{"student.depth": [d]} for d in (6, 12, 24, 48)],
    "width": [{"student.width": m} for m in (16, 32, 64)],
    "replicas": [{"replicas": r} for r in (1, 2, 3)],
    "temperatures": [
        KL | {"target.temperature": [10 ** (-2 * k / n) for k in range(n)]} for n in (1, 4, 16)
    ],
    "devices": [{"parallel.devices": d} for d in (1, 2)],
    "published ladder, cache off": [
        {
            "student.depth": [6, 12, 16, 24, 32, 48],
            "train.batch_size": 1024,
            "engine.target_cache_gb": 0.0,
        }
    ],
}


def measure(settings: dict, steps: int) -> dict:
    """Milliseconds a step and peak resident megabytes, in this process."""
    from common import experiment, interleave
    from ladder_step import ladder

    from toydepth.engine import layout, prepare_devices

    changes = {"teacher": {"depth": 128}, "train": {"method": "scratch"}}
    for name, value in settings.items():
        group, _, setting = name.rpartition(".")
        if group:
            changes.setdefault(group, {})[setting] = value
        else:
            changes[setting] = value
    e = experiment(changes)
    prepare_devices(e.parallel.devices)
    grid = layout(e.parallel.devices, replicas=e.replicas, batch=e.train.batch_size)
    seconds = interleave({"step": ladder(e, grid, steps)}, rounds=3)["step"]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"ms": statistics.median(seconds) / steps * 1e3, "megabytes": peak}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--one", help="settings of one row, as JSON; prints its figures")
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(json.loads(args.one), args.steps)))
        return
    table = {}
    for group, rows in GROUPS.items():
        found = [[] for _ in rows]
        for _ in range(args.rounds):
            for row, kept in zip(rows, found, strict=True):
                words = json.dumps(BASE | row)
                command = [sys.executable, __file__, "--steps", str(args.steps), "--one", words]
                out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                kept.append(json.loads(out.splitlines()[-1]))
        table[group] = []
        for row, kept in zip(rows, found, strict=True):
            ratios = [k["ms"] / first["ms"] for k, first in zip(kept, found[0], strict=True)]
            figures = {
                "settings": row,
                "ms": statistics.median(k["ms"] for k in kept),
                "ratio": statistics.median(ratios),
                "megabytes": statistics.median(k["megabytes"] for k in kept),
            }
            table[group].append(figures)
            shown = ", ".join(
                f"{name}={len(value) if name.endswith('temperature') else value}"
                for name, value in row.items()
                if not name.startswith("objective")
            )
            print(
                f"{group:28} {shown[:44]:44} {figures['ms']:8.1f} ms  x{figures['ratio']:5.2f}"
                f"  {figures['megabytes']:6.0f} MB",
                flush=True,
            )
    from common import write

    write("scaling_cost", table)


if __name__ == "__main__":
    main()
