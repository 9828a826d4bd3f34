"""`resume=true`: which folder a command goes on in, and whether it may."""

import json
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from toydepth import config
from toydepth.commands.command_line import Command, say
from toydepth.commands.folder import holds_run
from toydepth.config import Experiment
from toydepth.results.records import ResultError, RunRecord, left_by_train, read_result
from toydepth.settings import SettingError, show

SIGNATURE = "settings.json"


def resolve(command: Command) -> Command:
    """The command, with the folder it goes on in.

    That is the folder named by `resume=FOLDER` or by Hydra's own setting, or else the newest
    under the same output root whose settings are the command's.

    Raises:
      SettingError: if the folder's settings are others (they are listed), if there is no such
        run, or if a command that does not resume would write over a run.
    """
    how = command.jobs[0].resume
    if how is False:
        if command.named and holds_run(command.folder):
            words = "it holds a run; resume=true goes on with it"
            raise SettingError(command.folder_setting, command.folder, words)
        return command
    if isinstance(how, str):
        folder = Path(how)
        if not _is_of(command, folder):
            kind = "a sweep" if command.multirun else "a run"
            raise SettingError("resume", how, f"it is not the folder of {kind}")
    elif command.named:
        folder = command.folder
        if holds_run(folder) and not _is_of(command, folder):
            kind = "a sweep" if command.multirun else "a run"
            raise SettingError(
                command.folder_setting, folder, f"it holds something else than {kind}"
            )
    else:
        folder = _newest(command)
    if folder is not None:
        differences = _differences(command, folder)
        if differences:
            raise SettingError("resume", how, f"{folder} has {'; '.join(differences)}")
    if folder is None or not folder.exists():
        say("train", "there is nothing to resume; starting anew")
        return command
    return command._replace(folder=folder, resumed=True)


def finished(folder: Path, e: Experiment) -> RunRecord | None:
    """The record of a job that `resume` finds done in its folder; a failed one is not."""
    path = folder / "result.json"
    if e.resume is False or not path.is_file():
        return None
    try:
        result = read_result(path)
    except ResultError as error:
        say("train", f"{error}; the job is taken up again")
        return None
    return result if result.status in ("completed", "diverged") else None


def sign(folder: Path, e: Experiment) -> None:
    """Writes down, once for all its starts, which settings the numbers in a folder are of.

    Hydra writes its own record again at every start, and a process killed in that leaves half.
    """
    from toydepth.files import write_json

    if not (folder / SIGNATURE).exists():
        write_json(folder / SIGNATURE, config.settings(e))


def _is_of(command: Command, folder: Path) -> bool:
    """Whether the folder is of the command's kind, by what such a command leaves as it starts."""
    if command.multirun:
        return (folder / "multirun.yaml").exists()
    return (folder / SIGNATURE).exists() or (folder / ".hydra" / "config.yaml").exists()


def _is_train_s(command: Command, folder: Path) -> bool:
    """The same, and left by train: other verbs' folders lie beside its own."""
    if command.multirun:
        mark, first = folder / "multirun.yaml", folder / "0"
    else:
        mark, first = folder / ".hydra" / "config.yaml", folder
    return left_by_train(mark) or (mark.exists() and (first / SIGNATURE).exists())


def _newest(command: Command) -> Path | None:
    """The newest folder of the same kind with the same settings, or None if there is no run yet."""
    root = command.folder.parents[1]  # outputs/<date>/<time>-<name>
    runs = (folder for folder in root.glob("*/*") if _is_train_s(command, folder))
    found = sorted(runs, reverse=True)
    nearest = None
    for folder in found:
        differences = _differences(command, folder)
        if not differences:
            return folder
        if nearest is None or len(differences) < len(nearest[1]):
            nearest = folder, differences
    if nearest:
        folder, differences = nearest
        words = f"no run under {root} has these settings; the nearest, {folder}, has "
        raise SettingError("resume", True, words + "; ".join(differences))
    return None


def _differences(command: Command, folder: Path) -> list[str]:
    """The settings on which the numbers depend and that the folder has otherwise, as words."""
    if not command.multirun:
        return _job_differences(command.jobs[0], folder)
    differences = []
    for index, e in enumerate(command.jobs):
        job = folder / str(index)
        differences += [f"job {index}: {words}" for words in _job_differences(e, job)]
    extra = folder / str(len(command.jobs))
    return differences + ([f"more than {len(command.jobs)} jobs"] if extra.is_dir() else [])


def _job_differences(e: Experiment, folder: Path) -> list[str]:
    try:
        old = _settings_of(folder)
    except (OSError, ValueError, YAMLError, OmegaConfBaseException) as error:
        return [f"settings that cannot be read ({error})"]
    return [
        f"{name}={show(old.get(name))}, not {show(new)}"
        for name, new in config.settings(e).items()
        if old and (name not in old or old[name] != new)
    ]


def _settings_of(folder: Path) -> dict[str, Any]:
    """What the numbers in a job's folder depend on; nothing if it holds no numbers yet."""
    signature, composed = folder / SIGNATURE, folder / ".hydra" / "config.yaml"
    if signature.exists():
        signed = json.loads(signature.read_text())
        if not isinstance(signed, dict):
            raise ValueError(f"{signature} holds no settings")
        return signed
    try:
        cfg = OmegaConf.to_container(OmegaConf.load(composed)) if composed.exists() else None
        return config.settings(config.experiment(cfg)) if cfg else {}
    except (OSError, ValueError, YAMLError, OmegaConfBaseException):
        if (folder / "checkpoints").exists():
            raise
        return {}  # the job was killed as it started
