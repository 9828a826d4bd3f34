"""The verb `dashboard`: a W&B workspace and a report that compare the regimes of a project.

    python -m toydepth.dashboard project=NAME [entity=NAME] [depths=3,6,12,24] [output=FILE]
    python -m toydepth.dashboard project=NAME [entity=NAME] widths=4,8,16,32 [output=FILE]

Saves both in the project and prints where they are; each call saves new ones, the old stay.
Losses are compared at `depths`, or at the `widths` of autoencoders. Without entity=, W&B decides:
WANDB_ENTITY, or else the account's default. The key is W&B's own: WANDB_API_KEY, or that of
`wandb login`. output=FILE writes what would be sent, as JSON, instead; it needs no key and no
network. Needs `pip install 'toydepth[dashboard]'`.

Exit status: 0 all well, 1 W&B did not take it, 2 an argument is not allowed or there is no key.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from toydepth.files import write_json
from toydepth.settings import SettingError, fold, reason
from toydepth.tracking.wandb_address import check_name
from toydepth.tracking.wandb_tracker import has_key

SIZES = {"depths": "depth", "widths": "width"}  # argument -> what a run's sizes count
DEPTHS = (3, 6, 12, 24)


class Arguments(NamedTuple):
    """What the command line says; `entity` is None if W&B is to decide."""

    project: str
    entity: str | None
    axis: str
    sizes: tuple[int, ...]
    output: Path | None


def read_arguments(arguments: Sequence[str]) -> Arguments:
    """Checks the command line.

    Raises:
      SettingError: for the first argument that is not allowed.
    """
    given: dict[str, str] = {}
    for argument in arguments:
        name, _, value = argument.partition("=")
        if name not in ("project", "entity", *SIZES, "output"):
            words = (
                "there are project=NAME, entity=NAME, depths=3,6,12,24 or widths=4,8, output=FILE"
            )
            raise SettingError("argument", argument, words)
        if name in given or not value.strip() or not value.isprintable():
            raise SettingError(name, value, "it is given once, as printable text")
        given[name] = value
    if "project" not in given:
        raise SettingError("project", None, "name the W&B project, project=NAME")
    for name in ("project", "entity"):
        if name in given:
            check_name(name, given[name])
    output = Path(given["output"]) if "output" in given else None
    return Arguments(given["project"], given.get("entity"), *_sizes(given), output)


def _sizes(given: dict[str, str]) -> tuple[str, tuple[int, ...]]:
    """("depth" or "width", the sizes at which losses are compared)."""
    named = [name for name in SIZES if name in given]
    if not named:
        return "depth", DEPTHS
    if len(named) > 1:
        raise SettingError("widths", given["widths"], "depths are given: one view has one of them")
    (name,) = named
    words = given[name].strip("[]").split(",")
    if not all(word.strip().isdecimal() and 1 <= int(word) <= 10_000 for word in words):
        raise SettingError(name, given[name], "whole numbers from 1 to 10000, as 3,6,12,24")
    return SIZES[name], tuple(sorted({int(word) for word in words}))


def main(arguments: Sequence[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    if set(arguments) & {"-h", "--help"}:
        print(__doc__.strip())
        return 0
    try:
        asked = read_arguments(arguments)
    except SettingError as error:
        return _refuse(error)
    # W&B's telemetry would look for its server even where nothing is sent.
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
    try:
        from toydepth.tracking import dashboards
    except ImportError as error:
        return _refuse(f"{fold(error)}: pip install 'toydepth[dashboard]'")
    try:
        if asked.output is None:
            return _send(dashboards, asked)
        return _write(dashboards, asked, asked.output)
    except SettingError as error:
        return _refuse(error)


def _write(dashboards: ModuleType, asked: Arguments, output: Path) -> int:
    import wandb

    entity = asked.entity or wandb.setup(wandb.Settings(silent=True)).settings.entity
    try:
        write_json(output, dashboards.as_sent(*_views(dashboards, asked, entity or "")))
    except OSError as error:
        raise SettingError("output", output, fold(error.strerror or error)) from None
    print(output)
    return 0


def _send(dashboards: ModuleType, asked: Arguments) -> int:
    import wandb

    settings = wandb.setup(wandb.Settings(silent=True)).settings
    if settings.mode in ("offline", "disabled", "dryrun"):
        return _refuse(f"WANDB_MODE={settings.mode} sends nothing; output=FILE writes it instead")
    if not has_key(settings):
        words = "W&B has no key (WANDB_API_KEY or wandb login)"
        return _refuse(f"{words}; output=FILE writes what would be sent")
    try:
        entity = asked.entity or settings.entity or wandb.Api().default_entity
        workspace, report = _views(dashboards, asked, entity or "")
        # The report first: saving it creates a project that does not exist yet.
        for name, view in (("report", report), ("workspace", workspace)):
            print(f"{name}: {view.save().url}")
    except Exception as error:  # whatever W&B's client or its server has to say
        return _refuse(f"W&B: {reason(error)}", 1)
    return 0


def _views(dashboards: ModuleType, asked: Arguments, entity: str) -> tuple[Any, Any]:
    return tuple(
        build(asked.project, entity, asked.axis, asked.sizes)
        for build in (dashboards.workspace, dashboards.report)
    )


def _refuse(words: object, status: int = 2) -> int:
    print(f"toydepth.dashboard: {fold(words)}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
