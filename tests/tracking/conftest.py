"""The real W&B client, and a server on the loopback that takes what it sends."""

import os
import sys
from pathlib import Path

import pytest
import wandb

sys.path.insert(0, str(Path(__file__).parent))
from fake_wandb import FakeWandb  # noqa: E402


@pytest.fixture
def server(monkeypatch, tmp_path_factory):
    """W&B's server, with a key for it; runs are offline unless they are synced."""
    with FakeWandb() as fake:
        for name in [name for name in os.environ if name.startswith("WANDB_")] + ["NETRC"]:
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        monkeypatch.setenv("WANDB_BASE_URL", fake.url)
        monkeypatch.setenv("WANDB_API_KEY", "0123456789" * 4)
        monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
        monkeypatch.setenv("WANDB_MODE", "offline")
        # sync and the tracker set it; set here so that it goes when the test ends.
        monkeypatch.setenv("WANDB_DATA_DIR", str(tmp_path_factory.mktemp("data")))
        wandb.teardown()  # W&B reads the environment once per process
        yield fake
        wandb.teardown()
        assert not fake.unknown
