"""What every benchmark shares: the published ladder, interleaved timing, and where figures go."""

import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from toydepth import config
from toydepth.files import versions

PUBLISHED = {  # arXiv 2602.05970, figure 5
    "teacher": {"kind": "independent", "depth": 128},  # 128 layers of its own, as the baseline's
    "student": {"width": 32, "depth": [6, 12, 16, 24, 32, 48]},
    "train": {"batch_size": 1024, "method": "scratch", "steps": 80_000},
}


def experiment(*changes: dict[str, Any]) -> config.Experiment:
    """The defaults, with each of `changes` on top: {"train": {"steps": 10}, "replicas": 3}."""
    cfg: dict[str, Any] = {}
    for change in changes:
        for group, values in change.items():
            cfg[group] = cfg.get(group, {}) | values if isinstance(values, dict) else values
    return config.experiment(cfg)


def interleave(runs: dict[str, Callable[[], None]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each run, taken in turn A B A B ..., after one round that does not count."""
    seconds = {name: [] for name in runs}
    for counted in range(-1, rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            if counted >= 0:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def ratio(a: list[float], b: list[float]) -> float:
    """The median over rounds of a / b, so that a drift of the machine's speed cancels."""
    return statistics.median(x / y for x, y in zip(a, b, strict=True))


def machine() -> dict[str, Any]:
    import jax

    model = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0].partition(":")[2].strip() if names else model
    devices = [device.device_kind for device in jax.devices()]
    return {
        "processor": model,
        "cores": len(os.sched_getaffinity(0)),
        "devices": devices,
        "versions": versions(),
    }


def write(name: str, figures: dict[str, Any]) -> None:
    """Keeps the figures, with the machine, in outputs/benchmarks/NAME.json."""
    folder = Path("outputs/benchmarks")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"machine": machine(), **figures}, indent=2) + "\n")
    print(path)
