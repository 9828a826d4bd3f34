"""What bfloat16 products cost in loss: one small ladder trained with either, tested in float32.

python benchmarks/precision.py [--steps 2000]
"""

import argparse

from common import experiment, write
from time_to_alpha import train

from toydepth.engine import prepare_devices


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2000)
    args = parser.parse_args()
    prepare_devices(None)
    losses = {}
    for precision in ("float32", "bfloat16"):
        settings = {"steps": args.steps, "precision": precision}
        e = experiment({"student": {"depth": [3, 6, 12]}, "train": settings})
        losses[precision], *_ = train(e)
    for depth, loss in losses["float32"].items():
        low = losses["bfloat16"][depth]
        print(f"depth {depth:3}: float32 {loss:.2e}, bfloat16 {low:.2e}, x{low / loss:.2f}")
    write("precision", {"steps": args.steps, "losses": losses})


if __name__ == "__main__":
    main()
