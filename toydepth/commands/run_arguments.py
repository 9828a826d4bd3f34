"""The command line of a verb that reads runs: RUN... and name=value."""

from collections.abc import Sequence
from pathlib import Path

from toydepth.settings import SettingError


def read_run_arguments(
    arguments: Sequence[str], names: Sequence[str]
) -> tuple[list[Path], dict[str, str]]:
    """The folders, and the values that are given of the settings called `names`.

    A folder's name may hold an equals sign, if the folder exists or there is a / before it.

    Raises:
      SettingError: for the first argument that is not allowed; or there is no RUN.
    """
    folders: list[Path] = []
    given: dict[str, str] = {}
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if equals and name in names:
            if name in given or not value.strip():
                raise SettingError(name, value, "it is given once, and not empty")
            given[name] = value
        elif (
            not argument
            or argument.startswith("-")
            or (equals and not Path(argument).exists() and "/" not in name)
        ):
            known = ", ".join(f"{name}=" for name in names)
            raise SettingError("argument", argument, f"there are RUN... and {known}")
        else:
            folders.append(Path(argument))
    if not folders:
        raise SettingError("RUN", None, "name the folder of a run, of a sweep, or one above runs")
    return folders, given
