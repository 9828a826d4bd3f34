"""What toydepth needs of W&B's client that its makers do not promise to keep: here, nowhere else.

To allow another version: read these against its source, run tests/tracking and
benchmarks/sync_many.py with it, and change KNOWN here and the bounds in pyproject.toml.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import wandb

KNOWN = "0.31"  # and its patches
# The client would put its own clock into the summary, and say of a run that is not over that it is.
CLOCK_OF_THE_RUN = {"x_server_side_derived_summary": True}
# This machine and this program are not those of the run.
NOTHING_OF_HERE = {
    "x_disable_stats": True,
    "x_disable_machine_info": True,
    "x_save_requirements": False,
}


class UnknownClient(RuntimeError):
    """W&B's client is of a version whose inner parts are not known. One line."""


def check_version() -> None:
    """Raises UnknownClient, with what to do, unless the inner parts of the client are known."""
    import wandb

    if ".".join(wandb.__version__.split(".")[:2]) != KNOWN:
        low, high = KNOWN, f"0.{int(KNOWN.split('.')[1]) + 1}"
        raise UnknownClient(
            f"W&B's client {wandb.__version__} is installed, and runs are sent by inner parts of "
            f"{low}: pip install 'wandb>={low},<{high}'"
        )


def upload_settings(ended: bool) -> dict[str, Any]:
    """Of the client's settings, those that are not public."""
    return {"x_update_finish_state": ended} | CLOCK_OF_THE_RUN | NOTHING_OF_HERE


def set_group(page: wandb.Run, group: str) -> None:
    """Changes the group of a page; it goes out when the name is set."""
    page._settings.run_group = group


def send_line(page: wandb.Run, line: Mapping[str, Any], step: int) -> None:
    """Sends a line of the history as it is: `log` would stamp it with the clock of the upload."""
    inside = page._interface
    assert inside is not None, "the page is open"
    inside.publish_history(page, dict(line), step=step)


def refused(place: Path) -> str | None:
    """What the server has refused, which the client tells its own log alone; None if nothing."""
    for log in place.glob("wandb/run-*/logs/debug-internal.log"):
        for line in log.read_text(errors="replace").splitlines():
            if "filestream: fatal error" in line:
                return json.loads(line)["msg"]
    return None


def key_in_netrc(url: str) -> bool:
    """Whether there is a netrc entry for the server, in the places where the client looks."""
    import wandb
    from wandb.sdk.lib import wbauth

    try:
        return bool(wbauth.read_netrc_auth(host=url))
    except wandb.errors.AuthenticationError:
        return False
