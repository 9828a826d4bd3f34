"""Tokens per second and peak memory of measuring a stream of hidden states.

    nice .venv/bin/python benchmarks/probe_stream.py [--tokens 10_000_000] [--layers 30]
        [--width 576] [--chunk 1024]

One process and one core. The states are float32 random walks, of which every chunk takes some at a
random place in a fixed pool, so that making them costs nothing. Peak memory is the process's, with
the pool and the libraries that benchmarks load.
"""

import argparse
import math
import resource
import time

import numpy as np
from common import write

from toydepth.geometry import Stream

POOL = 2048  # tokens


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # Linux counts KiB


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokens", type=int, default=10_000_000)
    parser.add_argument("--layers", type=int, default=30)
    parser.add_argument("--width", type=int, default=576)
    parser.add_argument("--chunk", type=int, default=1024)
    args = parser.parse_args()

    random = np.random.default_rng(0)
    pool = np.empty((args.layers + 1, POOL + args.chunk, args.width), np.float32)
    for state, before in zip(pool, [0, *pool], strict=False):
        random.standard_normal(out=state, dtype=np.float32)
        state += before
    before = peak_megabytes()

    stream = Stream()
    start = time.perf_counter()
    peaks = {}
    for done in range(0, args.tokens, args.chunk):
        first = int(random.integers(POOL))
        last = first + min(args.chunk, args.tokens - done)
        stream.add(pool[:, first:last], range(done, done + last - first))
        if math.log2(done // args.chunk + 1).is_integer():  # to see that memory does not grow
            peaks[done + last - first] = peak_megabytes()
    seconds = time.perf_counter() - start
    summary = stream.summary()

    updates = summary.theta_updates
    figures = {
        **vars(args),
        "seconds": seconds,
        "tokens_per_second": summary.tokens / seconds,
        "peak_megabytes": peak_megabytes(),
        "peak_megabytes_before": before,
        "peak_megabytes_after_tokens": peaks,
        "middle_step": summary.middle_step,
        "middle_step_stderr": summary.middle_step_stderr,
        "theta_updates_over_pi": float(updates.mean.mean() / np.pi),
    }
    print(
        f"{summary.tokens:,} tokens, {args.layers} layers of width {args.width}: {seconds:.1f} s, "
        f"{summary.tokens / seconds:,.0f} tokens/s, peak {figures['peak_megabytes']:.0f} MB "
        f"({before:.0f} MB before the first token)\n"
        f"angle between updates {figures['theta_updates_over_pi']:.5f} pi (a random walk: 0.5), "
        f"middle step {summary.middle_step:.5f} +- {summary.middle_step_stderr:.5f} rad"
    )
    write("probe_stream", figures)


if __name__ == "__main__":
    main()
