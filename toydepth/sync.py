"""The verb `sync`: uploads runs to W&B from their folders, whole, and never anything twice.

    python -m toydepth.sync RUN... [project=NAME] [entity=NAME]

Each RUN is a run folder, a multirun folder or any folder above runs. Every measurement of
history.jsonl arrives once, with its own step and time, however often the run was stopped and
resumed, with W&B online, offline or not at all, and however often sync itself was stopped. A run
that is still going is uploaded so far; the next sync completes it. The page is that of the run's
own tracker (wandb_run_id in its folder).

project= and entity= win over the run's tracker.project and tracker.entity, and these over
WANDB_PROJECT and WANDB_ENTITY. The key is WANDB_API_KEY or that of `wandb login`. WANDB_MODE does
not matter: sync is for runs that were offline.

Exit status: 0 all well, 1 a run or a part of it was not sent (nothing is lost: sync again),
2 an argument is not allowed or there is no key.
"""

import hashlib
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from omegaconf import OmegaConf

from toydepth import cli, config, tracked
from toydepth.results import ResultError, find_runs, read_result
from toydepth.settings import SettingError, reason
from toydepth.tracking import read_history, write_whole
from toydepth.tracking.start import RUN_ID

say = partial(cli.say, "sync")


def main(arguments: Sequence[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    if set(arguments) & {"-h", "--help"}:
        print(__doc__.strip())
        return 0
    try:
        folders, given = _read(arguments)
        runs = _find(folders)
    except (ResultError, SettingError) as error:
        say(error)
        return 2
    import wandb

    from toydepth.tracking.wandb_tracker import has_key

    if not has_key(wandb.setup(wandb.Settings(silent=True)).settings):
        say("W&B needs a key and there is none: set WANDB_API_KEY, or run `wandb login`")
        return 2
    return _sync(runs, given)


def _sync(runs: Sequence[Path], given: dict[str, str]) -> int:
    """Uploads the runs one by one; stops where the server cannot be reached."""
    from toydepth.tracking.wandb_upload import upload

    status = 0
    for done, folder in enumerate(runs):
        try:
            run, replicas = read_run(folder, given)
        except (ResultError, SettingError, OSError, ValueError) as error:
            say(f"{folder} is left out: {error}")
            status = 1
            continue
        try:
            found = upload(run, replicas=replicas)
        except KeyboardInterrupt:
            say(f"interrupted in {folder}; sync again to go on")
            return 130
        except Exception as error:  # whatever W&B's client or its server has to say
            say(f"{folder}: {reason(error)}; {done} of {len(runs)} runs were done; sync again")
            return 1
        so_far = "" if run.result else " so far"
        count = f"{found.sent} of {len(run.history)} measurements{so_far} sent"
        print(f"{folder}: {count}, {found.url}", flush=True)
    return status


def _read(arguments: Sequence[str]) -> tuple[list[Path], dict[str, str]]:
    """The folders, and the settings of W&B that are given.

    Raises:
      SettingError: for the first argument that is not allowed.
    """
    folders: list[Path] = []
    given: dict[str, str] = {}
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if equals and name in ("project", "entity"):
            if name in given or not value.strip() or not value.isprintable():
                raise SettingError(name, value, "it is given once, as printable text")
            given[name] = value
        elif argument.startswith("-") or (
            equals and not Path(argument).exists() and "/" not in name
        ):
            raise SettingError("argument", argument, "there are RUN..., project= and entity=")
        else:
            folders.append(Path(argument))
    if not folders:
        raise SettingError("RUN", None, "name the folder of a run, of a sweep, or one above runs")
    return folders, given


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


def read_run(folder: Path, given: dict[str, str]):
    """(all that W&B is told of the run in `folder`, how many replicas it has).

    Raises:
      ResultError, SettingError, OSError, ValueError: the folder is not one that train leaves.
    """
    from toydepth.tracking.wandb_tracker import project_name
    from toydepth.tracking.wandb_upload import Tracked

    history = read_history(folder)
    cfg = OmegaConf.to_container(OmegaConf.load(folder / ".hydra" / "config.yaml"), resolve=True)
    e = config.experiment(cfg)
    result = None
    if (folder / "result.json").is_file():
        result = read_result(folder / "result.json")
    artifact = e.tracker.artifact and result is not None
    run = Tracked(
        run_id=run_id(folder),
        project=project_name(given.get("project") or e.tracker.project),
        entity=given.get("entity") or e.tracker.entity,
        group=tracked.group(e),
        name=tracked.name(e),
        config=cfg,
        history=history,
        result=result,
        course=tracked.course(result, history) if result else [],
        files=tracked.files(folder) if artifact else [],
    )
    return run, e.replicas


def run_id(folder: Path) -> str:
    """The id of the run's page: its tracker's, or one that follows from what the folder holds.

    It is kept in the folder, so that a run that is resumed later goes on with the same page.
    """
    note = folder / RUN_ID
    if note.is_file() and note.read_text().strip():
        return note.read_text().strip()
    first = b""
    if (folder / "history.jsonl").is_file():
        with (folder / "history.jsonl").open("rb") as file:
            first = file.readline()  # holds a time, so no two runs have the same
    mark = (folder / ".hydra" / "config.yaml").read_bytes() + first
    mark += b"" if first else str(folder.resolve()).encode()
    made = hashlib.sha256(mark).hexdigest()[:12]
    try:
        write_whole(note, made.encode())
    except OSError:  # a folder that may only be read gives the same id each time
        pass
    return made


if __name__ == "__main__":
    sys.exit(main())
