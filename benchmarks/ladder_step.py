"""Milliseconds for one step of the published ladder, and its share of the measured peak product.

    python benchmarks/ladder_step.py [--baseline] [--rounds 7] [--steps 10]

`--baseline` (needs the `bench` extra) interleaves the published procedure in eager PyTorch.
"""

import argparse
import statistics

import jax
import jax.numpy as jnp
import numpy as np
from common import PUBLISHED, experiment, interleave, ratio, write

from toydepth.engine import layout, prepare_devices, prepare_job, start_rungs
from toydepth.engine.devices import cores
from toydepth.toy import Purpose, depth_problem

# Rows and columns of the product that stands for the machine's peak: long against its launch.
PRODUCT = {"cpu": 2048, "gpu": 8192}


def flop(e) -> float:
    """Of one step: the teacher's forward pass once, each student's forward and backward."""
    layer = 2 * 2 * e.train.batch_size * e.student.width * 4 * e.student.width
    return layer * (e.teacher.depth + 3 * sum(e.student.depth))


def product(devices):
    """One large float32 product on each device at once."""
    size = PRODUCT[jax.default_backend()]
    a = np.random.default_rng(0).normal(size=(len(devices), size, size)).astype(np.float32)
    multiply = jax.pmap(jnp.matmul, devices=devices)
    a = jax.pmap(lambda x: x, devices=devices)(a)
    return lambda: jax.block_until_ready(multiply(a, a)), 2 * len(devices) * size**3


def ladder(e, grid, steps: int):
    """`steps` steps of the ladder, as a run takes them between two looks at the loss."""
    job = prepare_job(e, depth_problem(e), grid)
    state = {"rungs": start_rungs(job, e.student.depth)}
    at = np.arange(steps)
    rates = np.full((len(e.student.depth), steps), 1e-4, np.float32)

    def run():
        targets = job.programs.targets(job.teachers, Purpose.TRAIN, at)
        rungs, losses = job.programs.train(state["rungs"], job.teachers, at, rates, targets)
        state["rungs"] = jax.block_until_ready(rungs)

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--baseline", action="store_true")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=10)
    args = parser.parse_args()
    prepare_devices(None)
    e = experiment(PUBLISHED)
    grid = layout(None, replicas=1, batch=e.train.batch_size)
    multiply, product_flop = product(grid.devices)
    runs = {"ladder": ladder(e, grid, args.steps), "product": multiply}
    if args.baseline:
        import torch
        from pytorch_baseline import ladder as published

        torch.set_num_threads(cores())
        runs["pytorch"] = published(
            e.student.depth,
            width=e.student.width,
            teacher_depth=e.teacher.depth,
            batch=e.train.batch_size,
        )
    seconds = interleave(runs, args.rounds)
    step = [s / args.steps for s in seconds["ladder"]]
    peak = [product_flop / s / 1e9 for s in seconds["product"]]
    rate = [flop(e) / s / 1e9 for s in step]
    share = statistics.median(r / p for r, p in zip(rate, peak, strict=True))
    figures = {
        "devices": len(grid.devices),
        "ms_per_step": statistics.median(step) * 1e3,
        "gflop_per_step": flop(e) / 1e9,
        "gflop_per_second": statistics.median(rate),
        "peak_gflop_per_second": statistics.median(peak),
        "share_of_peak": share,
        "rounds": args.rounds,
    }
    print(f"one step of the published ladder   {figures['ms_per_step']:8.1f} ms")
    print(f"arithmetic                         {figures['gflop_per_second']:8.1f} GFLOP/s")
    print(
        f"share of the peak product          {share:8.0%} of {figures['peak_gflop_per_second']:.0f}"
    )
    if args.baseline:
        figures["pytorch_ms_per_step"] = statistics.median(seconds["pytorch"]) * 1e3
        figures["pytorch"] = {"version": torch.__version__, "threads": torch.get_num_threads()}
        figures["times_faster"] = ratio(seconds["pytorch"], step)
        print(f"eager PyTorch, as published        {figures['pytorch_ms_per_step']:8.1f} ms")
        print(f"times faster                       {figures['times_faster']:8.2f}")
    write("ladder_step", figures)


if __name__ == "__main__":
    main()
