"""The folder of a command, which is made before Hydra starts, and held while a process works."""

import os
import platform
import sys
import tempfile
from pathlib import Path
from typing import IO

from toydepth.commands.command_line import Command
from toydepth.settings import SettingError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

# What a run that can be resumed leaves, or has left when it ends.
MARKS = (".hydra", "multirun.yaml", "settings.json", "result.json")
LOCK = ".lock"


class FolderInUse(Exception):
    """Another process is at work in a folder; the message is one line."""


def claim(command: Command, answers: tuple[str, ...] = MARKS) -> Command:
    """Makes the command's folder, and takes another name if a run has just taken this one.

    A folder that the user names must not hold one of the files `answers`, unless it is resumed.

    Raises:
      SettingError: if the folder holds a run that the command does not go on with, if another
        process is at work there, or if it cannot be made or written to.
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
        hold(folder)
    except FolderInUse as error:
        raise SettingError(command.folder_setting, folder, str(error)) from None
    except OSError as error:
        words = f"cannot write there: {error.strerror}"
        raise SettingError(command.folder_setting, folder, words) from None
    return command._replace(folder=folder)


def holds_run(folder: Path, answers: tuple[str, ...] = MARKS) -> bool:
    """Whether a run or a sweep has left its files there."""
    return any(os.path.exists(folder / name) for name in answers)


_held: dict[tuple[int, Path], IO[str]] = {}


def _lock(file: IO[str]) -> None:
    """Locks the file, or raises BlockingIOError or PermissionError where another process has it."""
    if sys.platform == "win32":
        file.seek(1 << 20)  # what is locked cannot be read there, and the text is to be read
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def hold(folder: Path) -> None:
    """Keeps other processes out of a folder until `let_go`, or until this process ends.

    The lock is the operating system's, so that a process that was killed holds nothing; it is of
    one process (`lockf`), so that no child inherits it, and is known over NFS.

    Raises:
      FolderInUse: another process holds it.
      OSError: the folder cannot be written to.
    """
    key = (os.getpid(), folder.resolve())
    if key in _held:  # a second file of the same process would give its lock up when it closes
        return
    file = open(folder / LOCK, "a+", encoding="utf-8")
    try:
        _lock(file)
    except (BlockingIOError, PermissionError):
        file.seek(0)
        holder = file.read(100).strip() or "another process"
        file.close()
        raise FolderInUse(f"{holder} is at work there") from None
    except OSError:  # a file system without locks
        pass
    file.truncate(0)
    file.write(f"process {os.getpid()} of {platform.node()}")
    file.flush()
    _held[key] = file


def let_go(folder: Path) -> None:
    """Lets other processes into a folder again."""
    file = _held.pop((os.getpid(), folder.resolve()), None)
    if file is not None:
        file.close()
