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

import os
import sys
import traceback
from functools import partial
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from toydepth import cli, config, launchers, resume, stopping
from toydepth.config import Experiment
from toydepth.folder import FolderInUse, claim, hold, let_go
from toydepth.processes import place
from toydepth.settings import SettingError, reason
from toydepth.sweep import gather, sentence, watched
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
        check_processes(command)
        if command.launcher == "local" and place(command.jobs[0].parallel).index:
            sys.exit(follow(command.jobs[0]))
        command = take_folder(command)
    except SettingError as error:
        cli.fail(VERB.name, error)
    except KeyboardInterrupt:
        cli.fail(VERB.name, "interrupted", 130)
    if command.launcher in launchers.ELSEWHERE:
        launch_elsewhere(command)
    else:
        with stopping.listening(say, go_on(command.folder), launchers.workers):
            launch(command)
            if stopping.asked():
                sys.exit(stopping.status())
    sys.exit(exit_status(command))


def take_folder(command: cli.Command) -> cli.Command:
    """The command with its folder, which is made last: what is refused leaves none behind."""
    here = command.launcher == "local"  # other launchers' jobs have processes of their own
    several = here and place(command.jobs[0].parallel).count > 1
    if several:  # the others hear from this one how it goes
        check_devices(command.jobs)
    try:
        command = resume.resolve(command)
        if here and not several:
            check_devices(command.jobs)
        return claim(command)
    except SettingError:
        if several:
            tell(command.jobs[0], go=False)
        raise


def launch(command: cli.Command) -> None:
    """Runs all jobs; where the launcher breaks, those that have ended are gathered."""
    try:
        cli.launch(VERB, job, command)
    except SystemExit as left:
        if command.multirun and left.code == 1:
            gather(command.folder)
        raise


def launch_elsewhere(command: cli.Command) -> None:
    """Runs all jobs on a cluster. Signals end this process, which only waits, at once."""
    then = {
        "slurm": "its jobs stay in Slurm (squeue, scancel), and toydepth.report gathers them",
        "ray": f"so do its jobs; {go_on(command.folder)}",
    }
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray would report to its makers
    try:
        with watched(command):
            launch(command)
    except KeyboardInterrupt:
        cli.fail(VERB.name, f"interrupted; {then[command.launcher]}", 130)


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
    e = config.experiment(OmegaConf.to_container(cfg, resolve=True))
    if place(e.parallel).index:
        follow(e)
        return
    with stopping.listening(say, go_on(folder.parent if several else folder)):
        try:
            hold(folder)
        except (FolderInUse, OSError) as error:
            tell(e, go=False)
            left = isinstance(error, FolderInUse)
            say(f"{folder} {f'is left as it is: {error}' if left else f'failed: {reason(error)}'}")
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
    from toydepth.tracking import clear_halves, versions, write_json

    plain = OmegaConf.to_container(cfg, resolve=True)
    e = config.experiment(plain)
    hydra = HydraConfig.get()
    known = resume.finished(folder, e)
    if known:
        tell(e, go=False)
        say(f"{folder}: {known['status']} already")
        return
    extra = {"experiment": hydra.runtime.choices.get("experiment"), "versions": versions()}
    try:
        clear_halves(folder)
        resume.sign(folder, e)
        (folder / "error.txt").unlink(missing_ok=True)  # of an earlier try
        run(e, folder, plain, extra, job_label(hydra))
    except Stopped:
        if not stopping.asked():
            say_of(folder, f"another of its processes was asked to stop; {go_on(folder)}")
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
        say(f"job {hydra.job.num}: {sentence(folder)} -> {folder}")
        return
    if stopping.asked():
        return
    from toydepth.report import build_report, print_report

    try:
        print_report(build_report([folder], folder))
    except Exception as error:  # the result stands without a figure
        say(f"{folder} has its result.json, but no report: {reason(error)}")


def job_label(hydra: DictConfig) -> str | None:
    """How a job that runs beside others of its sweep marks its lines."""
    alone = hydra.runtime.choices.get("launcher") in (None, "local")
    return None if alone else f"job {hydra.job.num} · "


def prepare(e: Experiment) -> Any:
    """A job on its devices, for all the processes that train it."""
    from toydepth.engine import prepare_devices, prepare_job
    from toydepth.toy import depth_problem

    prepare_devices(e.parallel.devices, place(e.parallel))
    return prepare_job(e, depth_problem(e), grid(e))


def run(
    e: Experiment, folder: Path, cfg: dict[str, Any], extra: dict[str, Any], label: str | None
) -> None:
    """Trains one ladder in its folder, from its last checkpoint if it has one.

    Args:
      label: stands before each line on its progress, where it is one of several jobs at a time.
    """
    from toydepth import summary
    from toydepth.engine import Checkpoints, compile_seconds, restore
    from toydepth.engine import run as train
    from toydepth.rung_weights import save_rung
    from toydepth.tracking import History, progress, start_tracker, write_json

    tell(e, go=True)
    compiled = compile_seconds()
    work = prepare(e)
    said = partial(say_of, folder)
    with Checkpoints(folder, said) as checkpoints:
        at, rungs = restore(work, checkpoints, History.lines_of(folder))
        known = at.total_step > 0
        if known:
            said(f"going on from step {at.total_step}")
        lines = progress(work.total_steps, plain=True if label else None)
        with History.open(folder, at.records) as history, lines as bar:
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

            def show(done: int, rung: str, *rest: float) -> None:
                bar.update(done, f"{label or ''}{rung}", *rest)

            try:
                at = train(
                    work,
                    checkpoints,
                    at,
                    record=record,
                    show=show,
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
        "devices": len(work.layout.devices),
    }
    answer |= extra
    write_json(folder / "result.json", answer)
    say(
        f"trained for {at.seconds:.0f} s; this start compiled for {answer['compile_seconds']:.0f} s"
    )
    tracker.finish(answer, [])


def tell(e: Experiment, go: bool) -> None:
    """The first process of a job lets the others know whether there is something to train."""
    if place(e.parallel).count > 1:
        from toydepth import engine

        engine.prepare_devices(e.parallel.devices, place(e.parallel))
        engine.tell(go)


def follow(e: Experiment) -> int:
    """What the other processes of a job do: they run the same programs, and write nothing.

    Returns the exit status.
    """
    from toydepth.engine import Stopped, hear, prepare_devices, restore
    from toydepth.engine import run as train

    def nothing(*_: Any) -> None:
        pass

    name = f"process {place(e.parallel).index}"
    with stopping.listening(partial(say_of, name), "the first process says how to go on"):
        try:
            prepare_devices(e.parallel.devices, place(e.parallel))
            if not hear():
                return 0
            work = prepare(e)
            at, rungs = restore(work, None)
            at = train(
                work,
                None,
                at,
                record=nothing,
                show=nothing,
                keep=nothing,
                rungs=rungs,
                stop=stopping.asked,
            )
        except Stopped:
            return stopping.status() if stopping.asked() else 1
        except SettingError:
            raise
        except Exception as error:  # when the first process has failed, too
            say_of(name, reason(error)[:300])
            return 1
    return 3 if any(rung["status"] == "diverged" for rung in at.rungs) else 0


def say_of(who: object, words: str) -> None:
    say(f"{who}: {words}")


def describe_run(e: Experiment) -> str:
    """What W&B calls the run."""
    return f"{e.teacher.kind} {e.objective.kind} depth {'-'.join(map(str, e.student.depth))}"


def check_processes(command: cli.Command) -> None:
    """Refuses sweeps by several processes, each of which would go through the jobs on its own."""
    words = "processes train one job together; those of a sweep's jobs are "
    words += "hydra.launcher.tasks_per_node with launcher=slurm"
    for e in command.jobs if command.multirun else []:
        asked = e.parallel.processes or 1
        if asked > 1 or (command.launcher != "slurm" and place(e.parallel).count > 1):
            raise SettingError("parallel.processes", e.parallel.processes, words)


def check_devices(jobs: list[Experiment]) -> None:
    """Sets JAX up for all jobs of this process; refuses what the devices cannot divide."""
    from toydepth.engine import prepare_devices

    asked = [e.parallel.devices for e in jobs]
    prepare_devices(None if None in asked else max(asked), place(jobs[0].parallel))
    for e in jobs:
        grid(e)


def grid(e: Experiment) -> Any:
    """How a job is laid out over the devices of this process, or a refusal."""
    from toydepth.engine import layout

    try:
        return layout(e.parallel.devices, replicas=e.replicas, batch=e.train.batch_size)
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


if __name__ == "__main__":
    main()
