"""The claim itself, on real trained networks: smooth teachers reward depth, random ones do not."""

import json
import subprocess
import sys

import pytest

LADDER = [
    "student.depth=[3,6,12]",
    "student.width=12",
    "teacher.depth=36",
    "train.batch_size=128",
    "train.steps=[1500,2000,3000]",
    "train.tests=1",
    "tracker=none",
    "parallel.devices=1",
]


@pytest.mark.slow
def test_the_shared_teacher_s_exponent_exceeds_the_independent_one_s(tmp_path):
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "toydepth.train", f"teacher={kind}", *LADDER]
            + [f"hydra.run.dir={tmp_path / kind}"]
        )
        for kind in ("shared", "independent")
    ]
    assert [process.wait(timeout=600) for process in running] == [0, 0]
    shared, independent = (
        json.loads((tmp_path / kind / "result.json").read_text())["alpha"]["value"]
        for kind in ("shared", "independent")
    )
    assert shared - independent > 0.8
    assert shared > 1.8
    assert 0.6 < independent < 1.4
