"""How much sooner a sweep ends when Joblib runs its jobs side by side.

    .venv/bin/python benchmarks/joblib_rate.py [--jobs 8] [--steps 3000] [--rounds 3]

A sweep of equal jobs by `launcher=local` and by `launcher=joblib`, in turn, each a command as a
user types it, its start and its report included; a first round, which compiles, does not count.
With threads that do not fight for cores, N cores run N jobs in the time of one, and no more work
is done for it: the seconds of all processors together are given beside the clock's.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from common import interleave, ratio, write


def sweep(launcher: str, jobs: int, steps: int, folder: Path, work: list[float]) -> None:
    before = processor_seconds()
    seeds = ",".join(map(str, range(jobs)))
    words = ["-m", f"launcher={launcher}", f"teacher.seed={seeds}", "student.depth=[3,6,12]"]
    words += ["train.method=scratch", f"train.steps={steps}", "tracker=none", "parallel.devices=1"]
    words += [f"hydra.sweep.dir={folder}/{launcher}-{time.monotonic_ns()}"]
    done = subprocess.run(
        [sys.executable, "-m", "toydepth.train", *words], capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(done.stderr)
    work.append(processor_seconds() - before)


def processor_seconds() -> float:
    """Of all processes that have been started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    work = {"local": [], "joblib": []}
    with tempfile.TemporaryDirectory() as folder:
        runs = {
            name: partial(sweep, name, asked.jobs, asked.steps, Path(folder), found)
            for name, found in work.items()
        }
        seconds = interleave(runs, asked.rounds)
    cores = len(os.sched_getaffinity(0))
    share = ratio(seconds["joblib"], seconds["local"])
    for name, took in seconds.items():
        clock, processors = (", ".join(f"{s:.1f}" for s in of) for of in (took, work[name][1:]))
        print(f"launcher={name}: {clock} s for {asked.jobs} jobs, {processors} s of processors")
    print(f"joblib takes {share:.2f} of the time on {cores} cores (at best {1 / cores:.2f})")
    write("joblib_rate", {**vars(asked), "seconds": seconds, "processors": work, "share": share})


if __name__ == "__main__":
    main()
