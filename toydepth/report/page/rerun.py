"""How to run it again."""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

COMMANDS = 24
OWN = re.compile(r"\w+\.\w+=own")


class Commands(NamedTuple):
    """`text` is for a shell. `note` says what is left out, or why there is nothing."""

    text: str
    count: int
    note: str


def commands(overrides: Mapping[str, Sequence[str] | None]) -> Commands:
    """One line for each different command, in order of the runs' names."""
    known = [tuple(words) for words in overrides.values() if words is not None]
    # What was given as a Python object no command has.
    python = [words for words in known if any(OWN.fullmatch(word) for word in words)]
    lines = [words for words in dict.fromkeys(known) if words not in python]
    shown = [shlex.join(["python", "-m", "toydepth.train", *words]) for words in lines[:COMMANDS]]
    note = ""
    if len(lines) > COMMANDS:
        note += f"The first {COMMANDS} of {len(lines)} different commands are listed. "
    if python:
        note += f"{len(python)} of {len(overrides)} runs were made by toydepth.train_ladder with "
        note += "Python objects, which no command has. "
    missing = len(overrides) - len(known)
    if missing:
        note += f"{missing} of {len(overrides)} runs have no record of their command. "
    return Commands("\n".join(shown), len(shown), note)
