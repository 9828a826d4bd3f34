"""One job: a ladder trained in its folder, by one process or by several together."""

import sys
import traceback
from functools import partial
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from toydepth import config
from toydepth.commands import command_line
from toydepth.commands.folder import FolderInUse, hold, let_go
from toydepth.commands.sweep_progress import Standing
from toydepth.config import Experiment
from toydepth.processes import Place, place
from toydepth.settings import SettingError, reason
from toydepth.train import resume, signals
from toydepth.train.sweep import sentence

say = partial(command_line.say, "train")


def go_on(folder: Path) -> str:
    """How a command that is stopped is taken up again."""
    return f"the same command with resume={folder} goes on"


def job(cfg: DictConfig, standing: Standing | None = None) -> None:
    """One job, as Hydra calls it. A failed job does not raise: it must not end a sweep.

    One that is asked to stop does, with SystemExit, so that no further job of a sweep starts.

    Args:
      standing: of its sweep, if it belongs to one.
    """
    from hydra.core.hydra_config import HydraConfig

    hydra = HydraConfig.get()
    folder = Path(hydra.runtime.output_dir)
    plain = OmegaConf.to_container(cfg, resolve=True)
    e = config.experiment(plain)
    at = place(e.parallel)
    if at.index:
        follow(e, at)
        return
    with signals.listening(say, go_on(folder.parent if standing else folder)):
        try:
            hold(folder)
        except (FolderInUse, OSError) as error:
            tell(e, at, go=False)
            left = isinstance(error, FolderInUse)
            say(f"{folder} {f'is left as it is: {error}' if left else f'failed: {reason(error)}'}")
            return
        try:
            attempt(e, plain, folder, at, standing)
        finally:
            let_go(folder)
        if signals.asked():
            sys.exit(signals.status())


def attempt(
    e: Experiment, cfg: dict[str, Any], folder: Path, at: Place, standing: Standing | None
) -> None:
    """One job in its folder, which other processes keep out of. What fails is said and noted.

    Args:
      cfg: the composed configuration, plain nested data.
      at: this process among those of the job.
      standing: of its sweep, if it belongs to one.
    """
    from hydra.core.hydra_config import HydraConfig

    from toydepth.engine import Stopped
    from toydepth.files import clear_halves, versions
    from toydepth.results.outcome import failure
    from toydepth.results.records import write_record
    from toydepth.train.core import train_in_folder

    hydra = HydraConfig.get()

    def ended(words: str) -> None:
        """One line on the job's end; in a sweep, with its place there."""
        if standing is None:
            say(f"{folder} {words}")
        else:
            say(f"{standing.words()} | job {hydra.job.num}: {words} -> {folder}")

    known = resume.finished(folder, e)
    if known:
        tell(e, at, go=False)
        ended(f"is {known.status} already")
        return
    preset = hydra.runtime.choices.get("experiment")
    try:
        clear_halves(folder)
        resume.sign(folder, e)
        for left in ("error.txt", "result.json"):  # of an earlier try
            (folder / left).unlink(missing_ok=True)
        tell(e, at, go=True)
        answer = train_in_folder(
            e,
            folder,
            cfg=cfg,
            at=at,
            say=partial(say_of, folder),
            experiment=preset,
            stop=signals.asked,
            label=job_label(hydra),
        )
    except Stopped:
        if not signals.asked():
            say_of(folder, f"another of its processes was asked to stop; {go_on(folder)}")
        return
    except Exception as error:
        words = f"failed: {reason(error)}"
        try:
            (folder / "error.txt").write_text(traceback.format_exc())
            write_record(
                folder / "result.json",
                failure(e, reason(error), experiment=preset, versions=versions()),
            )
            words += " (more in error.txt)"
        except OSError:  # the folder takes nothing any more, which may be why the job failed
            pass
        ended(words)
        return
    took = f"trained for {answer.seconds:.0f} s"
    say(f"{took}; this start compiled for {answer.compile_seconds:.0f} s")
    if standing is not None:
        ended(sentence(folder))
        return
    if signals.asked():
        return
    from toydepth.report.report_command import build_report, print_report

    try:
        print_report(build_report([folder], folder))
    except Exception as error:  # the result stands without a figure
        say(f"{folder} has its result.json, but no report: {reason(error)}")


def job_label(hydra: DictConfig) -> str | None:
    """How a job that runs beside others of its sweep marks its lines."""
    alone = hydra.runtime.choices.get("launcher") in (None, "local")
    return None if alone else f"job {hydra.job.num} · "


def tell(e: Experiment, at: Place, go: bool) -> None:
    """The first process of a job lets the others know whether there is something to train."""
    if at.count > 1:
        from toydepth import engine

        engine.prepare_devices(e.parallel.devices, at)
        engine.tell(go)


def follow(e: Experiment, at: Place) -> int:
    """What the other processes of a job do: they run the same programs, and write nothing.

    Returns the exit status.
    """
    from toydepth.engine import Stopped, hear, prepare_devices
    from toydepth.train import core

    name = f"process {at.index}"
    with signals.listening(partial(say_of, name), "the first process says how to go on"):
        try:
            prepare_devices(e.parallel.devices, at)
            if not hear():
                return 0
            progress = core.follow(e, at, signals.asked)
        except Stopped:
            return signals.status() if signals.asked() else 1
        except SettingError:
            raise
        except Exception as error:  # when the first process has failed, too
            say_of(name, reason(error)[:300])
            return 1
    return 3 if any(rung["status"] == "diverged" for rung in progress.rungs) else 0


def say_of(who: object, words: str) -> None:
    say(f"{who}: {words}")
