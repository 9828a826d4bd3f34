"""Where the W&B page of a run is: what its folder says of it, and what W&B takes as a name."""

import contextlib
from pathlib import Path
from typing import NamedTuple

from toydepth.files import write_whole
from toydepth.settings import SettingError

NOTE = "wandb_run_id"  # the file of a run folder: entity/project/id, as far as they are known


class Address(NamedTuple):
    """Where a page is. None is what is not known yet: the entity before W&B has told it."""

    run_id: str | None
    project: str | None = None
    entity: str | None = None


def read_address(folder: Path) -> Address:
    """What the folder's note says; notes of older runs hold the id alone.

    Raises:
      OSError, ValueError: the note cannot be read.
    """
    note = folder / NOTE
    text = note.read_text().strip() if note.is_file() else ""
    return Address(*reversed(text.split("/")[-3:])) if text else Address(None)


def keep_address(folder: Path, address: Address) -> None:
    """Writes the note: the page stays where it is, whatever the environment says next time."""
    parts = [address.entity, address.project, address.run_id]
    with contextlib.suppress(OSError):  # a folder that may only be read keeps none
        write_whole(folder / NOTE, "/".join(part for part in parts if part).encode())


def check_name(setting: str, name: str) -> None:
    """Checks a project's or an entity's name.

    Raises:
      SettingError: W&B would not take it.
    """
    if not name.strip() or not name.isprintable() or len(name) > 128 or set(name) & set("/\\#?%:"):
        words = "a W&B name has at most 128 printable characters, none of / \\ # ? % :"
        raise SettingError(setting, name, words)
