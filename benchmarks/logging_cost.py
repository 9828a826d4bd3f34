"""What W&B costs a run: the tracker on (offline) and off, in turn.

    python benchmarks/logging_cost.py [--rounds 5] [--steps 3000]

Each run is a command of its own: experiment=quickstart with one teacher of one seed, all its steps
unless --steps says how many a rung takes. `loop` is the time of training by its own clock, `whole`
the command's from start to end, with W&B's import, start and end; `processor` is that of all cores
together, which another load on the machine does not stretch as much. Given are medians over rounds
of on - off and of on / off: where a machine's speed wanders, many short runs tell the difference
better than a few long ones.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import ratio, write

TRACKERS = {"off": "none", "on": "wandb"}


def one(tracker: str, steps: int | None) -> dict[str, float]:
    """Seconds of one run."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "toydepth.train", "experiment=quickstart", "replicas=1"]
        command += ["parallel.devices=1", f"tracker={tracker}", f"hydra.run.dir={folder}/run"]
        command += [f"train.steps={steps}"] if steps else []
        env = {k: v for k, v in os.environ.items() if not k.startswith("WANDB_")}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        subprocess.run(command, env=env | {"WANDB_MODE": "offline"}, check=True, **quiet)
        whole = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = json.loads(Path(folder, "run", "result.json").read_text())
        lines = Path(folder, "run", "history.jsonl").read_text().count("\n")
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"loop": result["seconds"], "whole": whole, "processor": processor, "lines": lines}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, help="of each rung; else the preset's")
    args = parser.parse_args()
    seen = {name: [] for name in TRACKERS}
    for counted in range(-1, args.rounds):  # the first round compiles, and does not count
        for name, tracker in TRACKERS.items():
            found = one(tracker, args.steps)
            if counted >= 0:
                seen[name].append(found)
    figures: dict = {"steps": args.steps, "lines": seen["on"][0]["lines"], "rounds": seen}
    for clock in ("loop", "whole", "processor"):
        on, off = ([found[clock] for found in seen[name]] for name in ("on", "off"))
        figures[clock] = {"on": statistics.median(on), "off": statistics.median(off)}
        figures[clock]["ratio"] = ratio(on, off)
        more = [a - b for a, b in zip(on, off, strict=True)]
        figures[clock]["difference"] = statistics.median(more)
        shown = figures[clock]
        print(f"{clock:10} off {shown['off']:7.1f} s  on {shown['on']:7.1f} s", end="  ")
        print(f"{shown['difference']:+.2f} s  x{shown['ratio']:.3f}")
    write("logging_cost", figures)


if __name__ == "__main__":
    main()
