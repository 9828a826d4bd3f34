"""Tests run on eight virtual devices, and never reach for W&B's servers or the user's caches."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

os.environ["WANDB_MODE"] = "offline"
# Compiled programs are kept between tests, and between runs of the tests.
os.environ.setdefault(
    "JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache" / "compiled")
)

import jax  # noqa: E402
from absl import logging as absl_logging  # noqa: E402

from toydepth import config, settings  # noqa: E402
from toydepth.engine import prepare_devices  # noqa: E402

prepare_devices(8)
jax.devices()  # what JAX has to say of backends it says here, and not in the midst of a test
# Hydra closes all handlers of logging, and absl's would take pytest's captured stderr with it.
absl_logging.get_absl_handler().python_handler.stream = sys.__stderr__


@pytest.fixture
def make():
    """make({"student": {"depth": 3}}) -> an Experiment: the defaults with some settings changed."""

    def build(changes=None):
        cfg = settings.defaults(config.Experiment)
        for group, values in (changes or {}).items():
            if isinstance(values, dict):
                cfg[group] |= values
            else:
                cfg[group] = values
        return config.experiment(cfg)

    return build


@pytest.fixture
def command(tmp_path):
    """command("teacher=shared", ...) runs `python -m toydepth.train` in an empty folder."""

    def run(*arguments, verb="train", env=None, timeout=300):
        return subprocess.run(
            [sys.executable, "-m", f"toydepth.{verb}", *map(str, arguments)],
            cwd=tmp_path,
            env=os.environ | (env or {}),
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    return run
