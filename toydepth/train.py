"""`python -m toydepth.train`: trains a ladder of students against a teacher.

    python -m toydepth.train teacher=shared student.depth=16
    python -m toydepth.train teacher=shared 'student.depth=[3,6,12,24]'
    python -m toydepth.train -m teacher=shared,independent student.depth=6,12,16,24
    python -m toydepth.train experiment=fig5

SIGTERM and SIGINT (Ctrl-C) end it when the chunk of steps in hand is done, with a checkpoint; a
second SIGINT ends it at once. The same command with resume=true goes on.

Exit status: 0 all well, 1 a job failed, 2 a setting is not allowed (nothing was written),
3 a rung diverged (the other rungs' results stand), 130 SIGINT, 143 SIGTERM.
"""

import sys
import traceback
from functools import partial
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from toydepth import cli, config, resume, stopping
from toydepth.config import Experiment
from toydepth.folder import FolderInUse, claim, hold, let_go
from toydepth.settings import SettingError, reason
from toydepth.verb import Verb, help_text

VERB = Verb("train", Experiment, config.experiment)
say = partial(cli.say, VERB.name)
STATUS = {"completed": 0, "failed": 1, "diverged": 3}


def main() -> None:
    arguments = sys.argv[1:]
    if {"-h", "--help"} & set(arguments):
        print(help_text(VERB, __doc__))
        return
    stopping.at_once()
    try:
        command = cli.read_command(VERB, arguments)
        if cli.is_about_configuration(arguments):
            cli.main(VERB, job)
            return
        command = resume.resolve(command)
        check_devices(command.jobs)
        command = claim(command)
    except SettingError as error:
        cli.fail(VERB.name, error)
    except KeyboardInterrupt:
        cli.fail(VERB.name, "interrupted", 130)
    with stopping.listening(say, go_on(command.folder)):
        cli.launch(VERB, job, command)
        if stopping.asked():
            sys.exit(stopping.status())
    sys.exit(exit_status(command))


def go_on(folder: Path) -> str:
    """How a command that is stopped is taken up again."""
    return f"the same command with resume={folder} goes on"


def job(cfg: DictConfig) -> None:
    """One job, as Hydra calls it. A failed job does not raise: it must not end a sweep.

    One that is asked to stop does, with SystemExit, so that no further job of a sweep starts.
    """
    from hydra.core.hydra_config import HydraConfig

    hydra = HydraConfig.get()
    folder = Path(hydra.runtime.output_dir)
    several = str(hydra.mode) != "RunMode.RUN"
    with stopping.listening(say, go_on(folder.parent if several else folder)):
        try:
            hold(folder)
        except FolderInUse as error:
            say(f"{folder} is left as it is: {error}")
            return
        except OSError as error:
            say(f"{folder} failed: {reason(error)}")
            return
        try:
            attempt(cfg, folder, several)
        finally:
            let_go(folder)
        if stopping.asked():
            sys.exit(stopping.status())


def attempt(cfg: DictConfig, folder: Path, several: bool) -> None:
    """One job in its folder, which other processes keep out of. What fails is said and noted."""
    from hydra.core.hydra_config import HydraConfig

    from toydepth.engine import Stopped
    from toydepth.summary import describe
    from toydepth.tracking import versions, write_json

    plain = OmegaConf.to_container(cfg, resolve=True)
    e = config.experiment(plain)
    hydra = HydraConfig.get()
    known = resume.finished(folder, e)
    if known:
        say(f"{folder}: {known['status']} already")
        return
    extra = {"experiment": hydra.runtime.choices.get("experiment"), "versions": versions()}
    try:
        resume.sign(folder, e)
        (folder / "error.txt").unlink(missing_ok=True)  # of an earlier try
        result = run(e, folder, plain, extra)
    except Stopped:
        return
    except Exception as error:
        failed = {"status": "failed", "error": reason(error), "rungs": [], "alpha": None}
        words = f"{folder} failed: {failed['error']}"
        try:
            (folder / "error.txt").write_text(traceback.format_exc())
            write_json(folder / "result.json", describe(e) | failed | extra)
            words += " (more in error.txt)"
        except OSError:  # the folder takes nothing any more, which may be why the job failed
            pass
        say(words)
        return
    if several:
        say(f"job {hydra.job.num}: {sentence(result)} -> {folder}")
        return
    if stopping.asked():
        return
    from toydepth.report import build_report, print_report

    try:
        print_report(build_report([folder], folder))
    except Exception as error:  # the result stands without a figure
        say(f"{folder} has its result.json, but no report: {reason(error)}")


def run(e: Experiment, folder: Path, cfg: dict[str, Any], extra: dict[str, Any]) -> dict[str, Any]:
    """Trains one ladder in its folder, from its last checkpoint if it has one."""
    from toydepth import summary
    from toydepth.engine import (
        Checkpoints,
        compile_seconds,
        layout,
        prepare_devices,
        prepare_job,
        restore,
    )
    from toydepth.engine import run as train
    from toydepth.rung_weights import save_rung
    from toydepth.toy import depth_problem
    from toydepth.tracking import History, progress, start_tracker, write_json

    prepare_devices(e.parallel.devices)
    compiled = compile_seconds()
    grid = layout(e.parallel.devices, replicas=e.replicas, batch=e.train.batch_size)
    work = prepare_job(e, depth_problem(e), grid)
    said = partial(say_of, folder)
    with Checkpoints(folder, said) as checkpoints:
        at, rungs = restore(work, checkpoints)
        known = at.total_step > 0
        if known:
            said(f"going on from step {at.total_step}")
        with History.open(folder, at.records) as history, progress(work.total_steps) as bar:
            tracker = start_tracker(
                e.tracker,
                folder,
                group=f"{e.teacher.kind}-{e.objective.kind}",
                name=describe_run(e),
                config=cfg,
                resumed=known,
                replicas=e.replicas,
            )

            def record(line: dict[str, Any]) -> None:
                history.append(line)
                tracker.log(line)

            try:
                at = train(
                    work,
                    checkpoints,
                    at,
                    record=record,
                    show=bar.update,
                    keep=partial(save_rung, folder),
                    rungs=rungs,
                    stop=stopping.asked,
                )
            except BaseException:
                checkpoints.wait()  # before anything that may take longer than there is time
                tracker.finish({"status": "failed"}, [])
                raise
    answer = summary.result(e, at.rungs) | {
        "seconds": at.seconds,
        "compile_seconds": compile_seconds() - compiled,
        "devices": len(grid.devices),
    }
    answer |= extra
    write_json(folder / "result.json", answer)
    say(
        f"trained for {at.seconds:.0f} s; this start compiled for {answer['compile_seconds']:.0f} s"
    )
    tracker.finish(answer, [])
    return answer


def say_of(folder: Path, words: str) -> None:
    say(f"{folder}: {words}")


def describe_run(e: Experiment) -> str:
    """What W&B calls the run."""
    return f"{e.teacher.kind} {e.objective.kind} depth {'-'.join(map(str, e.student.depth))}"


def check_devices(jobs: list[Experiment]) -> None:
    """Sets JAX up for all jobs of this process; refuses what the devices cannot divide."""
    from toydepth.engine import layout, prepare_devices

    asked = [e.parallel.devices for e in jobs]
    prepare_devices(None if None in asked else max(asked))
    for e in jobs:
        try:
            layout(e.parallel.devices, replicas=e.replicas, batch=e.train.batch_size)
        except ValueError as error:
            raise SettingError("parallel.devices", e.parallel.devices, str(error)) from None


def exit_status(command: cli.Command) -> int:
    """The worst of the jobs' statuses; a job without a readable result has failed."""
    from toydepth.results import ResultError, read_result

    def status(folder: Path) -> str:
        try:
            return read_result(folder / "result.json")["status"]
        except ResultError:
            return "failed"

    found = {status(folder) for folder in command.job_folders}
    return next((STATUS[s] for s in ("failed", "diverged") if s in found), 0)


def sentence(result: dict[str, Any]) -> str:
    """One line on a finished job of a sweep."""
    teacher = result["teacher"]
    losses = ", ".join(
        f"{r['depth']}: {r['loss']:.3g}" if r["loss"] is not None else f"{r['depth']}: diverged"
        for r in result["rungs"][:8]
    )
    who = f"{teacher['kind']} teacher, seed {teacher['seed']}"
    return f"{who}, {result['status']}; loss at depth {losses}"


if __name__ == "__main__":
    main()
