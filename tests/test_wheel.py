"""The wheel by itself: it carries its configuration, and runs where there is no checkout."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_the_wheel_runs_from_an_empty_folder(tmp_path):
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    installed, empty = tmp_path / "installed", tmp_path / "empty"
    zipfile.ZipFile(wheel).extractall(installed)
    empty.mkdir()
    ladder = "student.depth=[2,3,4] student.width=8 teacher.depth=6 train.batch_size=32".split()
    quick = "train.steps=20 train.tests=1 tracker=none parallel.devices=1".split()
    done = subprocess.run(
        [sys.executable, "-m", "toydepth.train", *ladder, *quick],
        cwd=empty,
        env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert list(empty.glob("outputs/*/*-shared/result.json"))
    where = subprocess.run(
        [sys.executable, "-c", "from toydepth.commands.spec import CONF; print(CONF)"],
        cwd=empty,
        env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
    )
    assert where.stdout.strip() == str(installed / "toydepth" / "conf")
