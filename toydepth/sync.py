"""The verb `sync`: uploads runs to W&B from their folders, whole, and never anything twice.

    python -m toydepth.sync RUN... [project=NAME] [entity=NAME]

Each RUN is a run folder, a multirun folder or any folder above runs. Every measurement of
history.jsonl arrives once, with its own step and time, however often the run was stopped and
resumed, with W&B online, offline or not at all, and however often sync itself was stopped. (What a
resumed run measures again keeps the time of the first time, if that had arrived.) A run that is
still going is uploaded so far; the next sync completes it. Of several copies of a run only the one
that is furthest is uploaded. A page that is there keeps the name and the group it has.

A run's page stays where it is: its folder says so (wandb_run_id: entity/project/id). Where a new
page goes, tracker.project and tracker.entity of the run say, or else WANDB_PROJECT and
WANDB_ENTITY. project= and entity= win over all these. The key is WANDB_API_KEY or that of
`wandb login`. WANDB_MODE does not matter: sync is for runs that were offline.

Exit status: 0 all well, 1 a run or a part of it was not sent (nothing is lost: sync again),
2 an argument is not allowed, there is no key, or W&B's client is of an unknown version.
"""

import hashlib
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from toydepth import config
from toydepth.commands import command_line
from toydepth.commands.run_arguments import read_run_arguments
from toydepth.files import read_history
from toydepth.results.records import ResultError, find_runs, read_result
from toydepth.settings import SettingError, fold, printable, reason
from toydepth.tracking import run_facts
from toydepth.tracking.wandb_address import Address, check_name, keep_address, read_address

if TYPE_CHECKING:
    from toydepth.tracking.wandb_upload import Tracked

say = partial(command_line.say, "sync")


def main(arguments: Sequence[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    if set(arguments) & {"-h", "--help"}:
        print(__doc__.strip())
        return 0
    try:
        folders, given = read_run_arguments(arguments, ("project", "entity"))
        for setting, name in given.items():
            check_name(setting, name)
        runs = _find(folders)
    except (ResultError, SettingError) as error:
        say(error)
        return 2
    import wandb

    from toydepth.tracking.wandb_private import UnknownClient, check_version
    from toydepth.tracking.wandb_tracker import has_key

    try:
        check_version()
    except UnknownClient as error:
        say(error)
        return 2
    if not has_key(wandb.setup(wandb.Settings(silent=True)).settings):
        say("W&B needs a key and there is none: set WANDB_API_KEY, or run `wandb login`")
        return 2
    return _sync(_furthest(runs), given)


def _sync(runs: Sequence[Path], given: dict[str, str]) -> int:
    """Uploads the runs one by one; stops where the server cannot be reached."""
    from toydepth.tracking.wandb_upload import reachable

    status = 0
    for done, folder in enumerate(runs):
        try:
            words = _upload(folder, given)
        except KeyboardInterrupt:
            say(f"interrupted in {folder}; sync again to go on")
            return 130
        except ResultError as error:
            say(f"{folder} is left out: {error}")
            status = 1
        except Exception as error:  # whatever W&B's client or its server has to say
            words = f"{folder}: {reason(error)}"
            if not reachable():
                say(f"{words}; {done} of {len(runs)} runs were done; sync again")
                return 1
            say(words)
            status = 1
        else:
            print(printable(f"{folder}: {words}"), flush=True)
    return status


def _upload(folder: Path, given: dict[str, str]) -> str:
    """Uploads one run; says what is there then."""
    from toydepth.tracking.wandb_upload import upload

    run = read_run(folder, given)
    found = upload(run, partial(_keep, folder))
    if run.result is None and (folder / "result.json").is_file():  # it has ended meanwhile
        return _upload(folder, given)
    so_far = "" if run.result else " so far"
    return f"{len(run.lines)} measurements{so_far}, {found.sent} of them new, {found.url}"


def _keep(folder: Path, page: Address) -> None:
    """The first page that a run has is its own from then on."""
    if read_address(folder).entity is None:
        keep_address(folder, page)


def _find(folders: Sequence[Path]) -> list[Path]:
    """The folders of all runs in and below `folders`, each once.

    Raises:
      ResultError: a folder holds no run.
    """
    found: dict[Path, Path] = {}
    for folder in folders:
        results, unfinished = find_runs(folder)
        for run in sorted([*(path.parent for path in results), *unfinished]):
            found.setdefault(run.resolve(), run)
    return list(found.values())


def _furthest(runs: Sequence[Path]) -> list[Path]:
    """The runs; of copies of one run that with a result, or else with the most measurements."""
    copies: dict[str | Path, list[Path]] = {}
    for folder in runs:
        try:
            copies.setdefault(address_of(folder).run_id or folder, []).append(folder)
        except (OSError, ValueError):
            copies[folder] = [folder]  # said when its turn comes
    chosen = []
    for folders in copies.values():
        chosen.append(max(folders, key=_progress))
        for folder in folders:
            if folder != chosen[-1]:
                say(f"{folder} is left out: the same run is as far or further in {chosen[-1]}")
    return chosen


def _progress(folder: Path) -> tuple[bool, int]:
    history = folder / "history.jsonl"
    lines = history.read_bytes().count(b"\n") if history.is_file() else 0
    return (folder / "result.json").is_file(), lines


def read_run(folder: Path, given: dict[str, str]) -> "Tracked":
    """All that W&B is told of the run in `folder`.

    Raises:
      ResultError: the folder is not one that train leaves, or there is no measurement yet.
    """
    try:
        return _read_run(folder, given)
    except (OSError, ValueError, yaml.YAMLError, OmegaConfBaseException) as error:
        raise ResultError(fold(error)) from None


def _read_run(folder: Path, given: dict[str, str]) -> "Tracked":
    from toydepth.tracking.wandb_tracker import project_name
    from toydepth.tracking.wandb_upload import Tracked

    address = address_of(folder)
    history = read_history(folder)
    cfg = command_line.plainly(OmegaConf.load(folder / ".hydra" / "config.yaml"))
    e = config.experiment(cfg)
    lines = _lines(history, e.axis, e.replicas)
    result = None
    if (folder / "result.json").is_file():
        result = read_result(folder / "result.json")
    artifact = e.tracker.artifact and result is not None
    return Tracked(
        address=Address(
            address.run_id,
            given.get("project") or address.project or project_name(e.tracker.project),
            given.get("entity") or address.entity or e.tracker.entity,
        ),
        axis=e.axis,
        group=run_facts.group(e),
        name=run_facts.name(e),
        config=cfg,
        lines=lines,
        result=result.model_dump() if result else None,
        course=run_facts.course(result, history) if result else [],
        files=run_facts.files(folder) if artifact else [],
    )


def _lines(history: Sequence[dict[str, Any]], axis: str, replicas: int) -> list[dict[str, Any]]:
    from toydepth.tracking.wandb_lines import measurement

    lines = []
    for number, record in enumerate(history, start=1):
        try:
            lines.append(measurement(record, number, axis, replicas))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            words = f"history.jsonl, line {number}: no measurement of toydepth's"
            raise ResultError(f"{words} ({reason(error)})") from None
    return lines


def address_of(folder: Path) -> Address:
    """Where the run's page is, or an id for it that follows from what was measured first.

    The id is kept in the folder, so that a run that is resumed later goes on with the same page.

    Raises:
      ResultError: there is no page yet and no measurement.
      OSError, ValueError: the folder cannot be read.
    """
    known = read_address(folder)
    if known.run_id:
        return known
    first = b""
    if (folder / "history.jsonl").is_file():
        with (folder / "history.jsonl").open("rb") as file:
            first = file.readline()  # holds a time, so no two runs have the same
    if not first.endswith(b"\n"):
        raise ResultError("it has no measurement yet")
    mark = (folder / ".hydra" / "config.yaml").read_bytes() + first
    made = Address(hashlib.sha256(mark).hexdigest()[:12])
    keep_address(folder, made)
    return made


if __name__ == "__main__":
    sys.exit(main())
