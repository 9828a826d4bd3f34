"""Tables that others published: where they are, and how to know that a copy is right."""

import hashlib
import http.client
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from toydepth.files import write_whole
from toydepth.settings import SettingError, show

TIMEOUT = 20.0
"""Seconds without an answer after which a download is given up."""

LIMIT = 50_000_000
"""Bytes; whatever is larger is none of these tables."""


@dataclass(frozen=True)
class Published:
    """A published table.

    Attributes:
      address: where it is.
      sha256: of the file as published.
      file: its name in the cache folder.
      prefer: its column for each variable and for "loss", as `read_rows` takes them.
      cite: the source, to be named wherever a result is shown.
    """

    address: str
    sha256: str
    file: str
    prefer: Mapping[str, str]
    cite: str


PUBLISHED = {
    "chinchilla": Published(
        address="https://raw.githubusercontent.com/liuyz0/DepthScaling/main/Scaling/"
        "get_fitting_data_chinchilla.csv",
        sha256="cb474e8f5fc87be4132190a0c782d1521c4f06b9c041395b3a78ff2ffc34f83e",
        file="chinchilla.csv",
        prefer={
            "width": "d_model",
            "depth": "n_layers",
            "data": "num_tokens",
            "parameters": "model_size",
            "loss": "loss",
        },
        cite="Hoffmann et al. 2022 (arXiv 2203.15556), figure 4, as reconstructed by Besiroglu et "
        "al. 2024 (arXiv 2404.10102), with the shapes joined by Liu et al. 2026 (arXiv 2602.05970)",
    ),
    "gemstones": Published(
        address="https://raw.githubusercontent.com/mcleish7/gemstone-scaling-laws/main/wandb_dfs/"
        "wandb_df_for_fitting_hot.jsonl",
        sha256="655467b59c99383403d6f73f5b7f23c02aea3f12935dc110382d8a8b43a0ff5d",
        file="gemstones.jsonl",
        prefer={
            "width": "width",
            "depth": "depth",
            "data": "tokens",
            "parameters": "params_active_precise",
            "loss": "final_loss",
        },
        cite="McLeish et al. 2025, Gemstones (arXiv 2502.06857)",
    ),
}


def fetch(
    name: str,
    folder: Path | None = None,
    *,
    open_url: Callable[..., Any] = urllib.request.urlopen,
) -> Path:
    """A published table in the cache folder, downloaded if it is not there yet.

    Args:
      name: a key of `PUBLISHED`.
      folder: where it is kept, by default toydepth/data in the user's cache folder.
      open_url: called with the address and `timeout` in seconds.

    Raises:
      SettingError: of `data.path`, if it cannot be downloaded or kept, or is not what was
        published; it says where to put the file by hand.
    """
    table = PUBLISHED[name]
    folder = folder or platformdirs.user_cache_path("toydepth") / "data"
    path = folder / table.file
    by_hand = f"put the file at {path}, or give data.path=FILE"
    try:
        kept = path.read_bytes()
    except FileNotFoundError:
        kept = None
    except OSError as error:
        raise SettingError(
            "data.path", None, f"{path} cannot be read ({_why(error)}); give data.path=FILE"
        ) from None
    if kept is not None:
        if not _is(table, kept):
            raise SettingError(
                "data.path",
                None,
                f"{path} is not the file that was published; delete it, or give data.path=FILE",
            )
        return path
    try:
        with open_url(table.address, timeout=TIMEOUT) as response:
            content = response.read(LIMIT + 1)
    except (OSError, http.client.HTTPException, ValueError) as error:  # ValueError: a proxy
        raise SettingError(
            "data.path", None, f"{table.address} was not downloaded ({_why(error)}); {by_hand}"
        ) from None
    if not _is(table, content):
        raise SettingError(
            "data.path",
            None,
            f"{table.address} did not send the whole file that was published; {by_hand}",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
    except OSError as error:
        raise SettingError(
            "data.path", None, f"{path} cannot be written ({_why(error)}); give data.path=FILE"
        ) from None
    return path


def _is(table: Published, content: bytes) -> bool:
    return hashlib.sha256(content).hexdigest() == table.sha256


def _why(error: Exception) -> str:
    reason = getattr(error, "reason", None)
    if isinstance(reason, Exception):  # urllib wraps the system's own error
        error = reason
    return show(getattr(error, "strerror", None) or str(error) or type(error).__name__)
