"""Runs that are stopped and resumed three times each, and their sync, which is too.

    python benchmarks/sync_many.py [--runs 100]

Each run is tracked online, offline or not at all, changing at each stop, and goes back a little
when it is resumed; each sync is cut off three times by a server that fails after a few lines. Then
the server must hold every measurement once, in order; and a sync of all of them sends nothing. The
client is the real one, the server a stand-in on the loopback (tests/tracking/fake_wandb.py).
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests" / "tracking"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    args = parser.parse_args()
    sys.path.insert(0, str(TESTS))
    import pytest
    from fake_wandb import FakeWandb
    from test_sync import many

    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as root, FakeWandb() as server:
        with pytest.MonkeyPatch.context() as patch:
            for name in [name for name in os.environ if name.startswith("WANDB_")]:
                patch.delenv(name)
            patch.setenv("WANDB_BASE_URL", server.url)
            patch.setenv("WANDB_API_KEY", "0123456789" * 4)
            patch.setenv("WANDB_ERROR_REPORTING", "false")
            many(server, Path(root), patch, args.runs)
        measured = [
            sum("record" in line for line in page.history) for page in server.pages.values()
        ]
        figures = {
            "runs": args.runs,
            "measurements": sum(measured),
            "lines": sum(len(page.lines) for page in server.pages.values()),
            "lines_sent": sum(page.sent for page in server.pages.values()),
            "requests_refused": server.refused,
            "seconds": time.perf_counter() - start,
        }
    for name, value in figures.items():
        print(f"{name:20} {value:10.0f}")
    from common import write

    write("sync_many", figures)


if __name__ == "__main__":
    main()
