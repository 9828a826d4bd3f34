"""What MkDocs writes into the pages as it builds them: settings, groups and presets, from the code.

A page says `{{ settings train }}`, `{{ groups train }}` or `{{ presets }}` on a line of its own.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from mkdocs.exceptions import PluginError

from toydepth.config import Experiment
from toydepth.law.law_settings import Study
from toydepth.probe.probe_settings import Probe
from toydepth.settings import meanings, show

CONF = Path(__file__).parents[1] / "conf"
SCHEMAS = {"train": Experiment, "law": Study, "probe": Probe}
GROUPS = {
    "train": (
        "teacher",
        "student",
        "objective",
        "optimizer",
        "schedule",
        "tracker",
        "launcher",
    ),
    "law": ("data", "law"),
}


def on_page_markdown(markdown: str, page, **_) -> str:
    """Replaces each marker by what it asks for."""

    def written(marker: re.Match) -> str:
        what, of = marker["what"], marker["of"]
        try:
            return "\n".join(WRITERS[what](*([of] if of else [])))
        except (KeyError, TypeError) as error:
            raise PluginError(f"{page.file.src_uri}: {marker[0]} is not known") from error

    return re.sub(r"^\{\{ (?P<what>\w+)(?: (?P<of>\w+))? \}\}$", written, markdown, flags=re.M)


def settings(command: str) -> Iterable[str]:
    """A table for each group of settings: name, default, meaning and bounds."""
    group = object()
    for name, default, meaning, allowed in meanings(SCHEMAS[command]):
        if name.rpartition(".")[0] != group:
            group = name.rpartition(".")[0]
            yield from ("", f"### {command}: {f'`{group}`' if group else 'of the whole job'}", "")
            yield from ("| setting | default | meaning | what it may be |", "| --- " * 4 + "|")
        yield f"| `{name}` | `{cell(show(default))}` | {cell(meaning)} | {cell(allowed)} |"


def groups(command: str) -> Iterable[str]:
    """What each word such as `teacher=shared` stands for."""
    yield from ("| word | what it chooses |", "| --- | --- |")
    for group in GROUPS[command]:
        for path in files(group):
            yield f"| `{group}={path.stem}` | {cell(comment(path))} |"


def presets() -> Iterable[str]:
    """What each `experiment=NAME` is, then the settings of each."""
    yield from ("| `experiment=` | what it trains |", "| --- | --- |")
    yield from (f"| [`{p.stem}`](#{p.stem}) | {cell(comment(p))} |" for p in files("experiment"))
    for path in files("experiment"):
        yield from ("", f"### {path.stem}", "", "```yaml", path.read_text().rstrip(), "```")


WRITERS = {"settings": settings, "groups": groups, "presets": presets}


def files(group: str) -> list[Path]:
    """The choices of a group; those that begin with _ are parts of others."""
    return [path for path in sorted((CONF / group).glob("*.yaml")) if path.stem[0] != "_"]


def comment(path: Path) -> str:
    """The comment at the head of a file, as one line."""
    lines = []
    for line in path.read_text().splitlines():
        if not line.startswith("#"):
            break
        if not line.startswith("# @package"):
            lines.append(line[1:].strip())
    return " ".join(lines)


def cell(text: str) -> str:
    """Text as a cell of a table."""
    return text.replace("|", "\\|").replace("<", "&lt;")
