"""How to run it again."""

import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

COMMANDS = 24


class Commands(NamedTuple):
    """`text` is for a shell. `note` says what is left out, or why there is nothing."""

    text: str
    count: int
    note: str


def commands(overrides: Mapping[str, Sequence[str] | None]) -> Commands:
    """One line for each different command, in order of the runs' names."""
    known = [tuple(words) for words in overrides.values() if words is not None]
    lines = list(dict.fromkeys(known))
    shown = [shlex.join(["python", "-m", "toydepth.train", *words]) for words in lines[:COMMANDS]]
    note = ""
    if len(lines) > COMMANDS:
        note += f"The first {COMMANDS} of {len(lines)} different commands are listed. "
    missing = len(overrides) - len(known)
    if missing:
        note += f"{missing} of {len(overrides)} runs have no record of their command. "
    return Commands("\n".join(shown), len(shown), note)
