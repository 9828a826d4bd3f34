"""How a step's time and the peak memory grow with depth, width, replicas, temperatures, devices.

    python benchmarks/scaling_cost.py [--rounds 5] [--steps 5]

Each measurement is a process of its own, so that its peak memory is its own; the rows of a group
are repeated in turn. The time is a step's, teacher included; `ratio` is to the group's first row.
The last rows are whole runs of the published ladder and of a continuation, as a user starts them.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile

BASE = {"student.depth": [12, 24], "student.width": 32, "train.batch_size": 512}
KL = {"objective.kind": "kl", "objective.head": "learned", "objective.vocabulary": 128}
GROUPS = {
    "depth": [{"student.depth": [d]} for d in (12, 48)],
    "width": [{"student.width": m} for m in (16, 32, 64)],
    "replicas": [{"replicas": r} for r in (1, 3)],
    "temperatures": [
        KL | {"target.temperature": [10 ** (-2 * k / n) for k in range(n)]} for n in (1, 16)
    ],
    "devices": [{"parallel.devices": d} for d in (1, 2)],
}
RUNS = {
    "published ladder, cache off": "experiment=fig5 hydra.mode=RUN replicas=1 train.steps=200 "
    "engine.target_cache_gb=0",
    "continuation, cache on": "experiment=fig5_continuation train.steps=300",
}


def measure(settings: dict, steps: int) -> dict:
    """Milliseconds a step and of its teacher, and peak resident megabytes, in this process."""
    import jax
    import numpy as np
    from common import experiment, interleave
    from ladder_step import ladder

    from toydepth.engine import layout, prepare_devices, prepare_job
    from toydepth.toy import Purpose, depth_problem

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
    job = prepare_job(e, depth_problem(e), grid)
    at = np.arange(steps)

    def teacher():
        jax.block_until_ready(job.programs.targets(job.teachers, Purpose.TRAIN, at))

    seconds = interleave({"step": ladder(e, grid, steps), "teacher": teacher}, rounds=3)
    ms = {name: statistics.median(s) / steps * 1e3 for name, s in seconds.items()}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"ms": ms["step"], "teacher_ms": ms["teacher"], "megabytes": peak}


def one(row: dict, steps: int) -> dict:
    words = json.dumps(BASE | row)
    command = [sys.executable, __file__, "--steps", str(steps), "--one", words]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def peak_of_run(words: str) -> float:
    """Peak resident megabytes of one command."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "toydepth.train", *words.split(), "tracker=none"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        child = subprocess.Popen([*command, f"hydra.run.dir={folder}/run"], **quiet)
        _, status, usage = os.wait4(child.pid, 0)
    assert status == 0, words
    return usage.ru_maxrss / 1024


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
                kept.append(one(row, args.steps))
        table[group] = []
        for row, kept in zip(rows, found, strict=True):
            ratios = [k["ms"] / first["ms"] for k, first in zip(kept, found[0], strict=True)]
            figures = {name: statistics.median(k[name] for k in kept) for name in kept[0]}
            figures |= {"settings": row, "ratio": statistics.median(ratios)}
            table[group].append(figures)
            shown = ", ".join(
                f"{name}={len(value) if name.endswith('temperature') else value}"
                for name, value in row.items()
                if not name.startswith("objective")
            )
            print(
                f"{shown[:40]:40} {figures['ms']:8.1f} ms (teacher {figures['teacher_ms']:6.1f})"
                f"  x{figures['ratio']:5.2f}  {figures['megabytes']:6.0f} MB",
                flush=True,
            )
    table["runs"] = {name: peak_of_run(words) for name, words in RUNS.items()}
    for name, megabytes in table["runs"].items():
        print(f"{name:40} {megabytes:6.0f} MB", flush=True)
    from common import write

    write("scaling_cost", table)


if __name__ == "__main__":
    main()
