"""What a verb that Hydra runs is made of, and what it offers on its command line."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from omegaconf import OmegaConf

from toydepth.settings import meanings, show

# Beside the package in a checkout, inside it in a wheel.
CONF = next(
    folder
    for folder in (Path(__file__).parents[1] / "conf", Path(__file__).parents[2] / "conf")
    if folder.is_dir()
)


class Verb(NamedTuple):
    """What one verb has for its own.

    Attributes:
      name: as in `python -m toydepth.NAME`; Hydra composes conf/NAME.yaml, which starts from
        `NAME_schema`, the defaults of `schema`.
      schema: the dataclass of its settings.
      read: checks a composed configuration, plain nested data, and freezes it as a `schema`;
        raises SettingError.
    """

    name: str
    schema: type
    read: Callable[[Mapping[str, Any]], Any]


@cache
def groups(verb: Verb) -> dict[str, list[str]]:
    """The groups in the verb's defaults list, and the options of each."""
    entries = OmegaConf.load(CONF / f"{verb.name}.yaml").defaults
    names = [name for entry in entries if not isinstance(entry, str) for name in entry]
    return {
        name: sorted(p.stem for p in (CONF / name).glob("*.yaml") if not p.stem.startswith("_"))
        for name in sorted(names)
        if not name.startswith("override ")  # of Hydra's own groups
    }


def help_text(verb: Verb, usage: str) -> str:
    """What `--help` prints: how the verb is called, the groups, and every setting."""
    lines = [usage.strip(), "", "Groups (GROUP=OPTION):"]
    lines += [f"  {group}={'|'.join(options)}" for group, options in groups(verb).items()]
    lines += ["", "Settings (NAME=VALUE), their defaults, and what they may be:"]
    for name, default, meaning, allowed in meanings(verb.schema):
        lines.append(f"  {name}={show(default)}\n      {meaning}; {allowed}")
    lines += [
        "",
        "`--cfg job` shows the composed configuration; `--info`, how Hydra composed it.",
    ]
    return "\n".join(lines)
