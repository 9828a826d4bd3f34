"""The folder of a command, which is made before Hydra starts."""

import os
import tempfile
from pathlib import Path

from toydepth.cli import Command
from toydepth.settings import SettingError

# What a run that can be resumed leaves, or has left when it ends.
MARKS = (".hydra", "multirun.yaml", "result.json")


def claim(command: Command, answers: tuple[str, ...] = MARKS) -> Command:
    """Makes the command's folder, and takes another name if a run has just taken this one.

    A folder that the user names must not hold one of the files `answers`, unless it is resumed.

    Raises:
      SettingError: if the folder holds a run that the command does not go on with, or if it
        cannot be made or written to.
    """
    folder, count = command.folder, 1
    if command.named and not command.resumed and holds_run(folder, answers):
        raise SettingError(command.folder_setting, folder, "it holds a run; name another folder")
    try:
        while True:
            try:
                folder.mkdir(parents=True, exist_ok=command.named or command.resumed)
                break
            except FileExistsError:
                if folder.is_dir() and not (command.named or command.resumed):
                    count += 1
                    folder = command.folder.with_name(f"{command.folder.name}-{count}")
                    continue
                raise
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        words = f"cannot write there: {error.strerror}"
        raise SettingError(command.folder_setting, folder, words) from None
    return command._replace(folder=folder)


def holds_run(folder: Path, answers: tuple[str, ...] = MARKS) -> bool:
    """Whether a run or a sweep has left its files there."""
    return any(os.path.exists(folder / name) for name in answers)
