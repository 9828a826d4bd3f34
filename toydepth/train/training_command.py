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
import time
from functools import partial
from pathlib import Path

from toydepth import config
from toydepth.commands import command_line, launchers
from toydepth.commands.folder import claim
from toydepth.commands.spec import Verb, help_text
from toydepth.commands.sweep_progress import Standing
from toydepth.config import Experiment
from toydepth.processes import Place, place
from toydepth.settings import SettingError
from toydepth.train import resume, signals
from toydepth.train.job import follow, go_on, job, tell
from toydepth.train.sweep import gather, watched

VERB = Verb("train", Experiment, config.experiment)
say = partial(command_line.say, VERB.name)
STATUS = {"completed": 0, "failed": 1, "diverged": 3}


def main() -> None:
    arguments = sys.argv[1:]
    if {"-h", "--help"} & set(arguments):
        print(help_text(VERB, __doc__))
        return
    signals.at_once()
    try:
        command = command_line.read_command(VERB, arguments)
        if command_line.is_about_configuration(arguments):
            command_line.main(VERB, job)
            return
        for e in command.jobs:
            config.check_objects(e)
        check_processes(command)
        at = place(command.jobs[0].parallel)
        if command.launcher == "local" and at.index:
            sys.exit(follow(command.jobs[0], at))
        command = take_folder(command, at)
    except SettingError as error:
        command_line.fail(VERB.name, error)
    except KeyboardInterrupt:
        command_line.fail(VERB.name, "interrupted", 130)
    if command.launcher in launchers.ELSEWHERE:
        launch_elsewhere(command)
    else:
        with signals.listening(say, go_on(command.folder), launchers.workers):
            launch(command)
            if signals.asked():
                sys.exit(signals.status())
    sys.exit(exit_status(command))


def take_folder(command: command_line.Command, at: Place) -> command_line.Command:
    """The command with its folder, which is made last: what is refused leaves none behind."""
    here = command.launcher == "local"  # other launchers' jobs have processes of their own
    several = here and at.count > 1
    if several:  # the others hear from this one how it goes
        check_devices(command.jobs, at)
    try:
        command = resume.resolve(command)
        if here and not several:
            check_devices(command.jobs, at)
        return claim(command)
    except SettingError:
        if several:
            tell(command.jobs[0], at, go=False)
        raise


def launch(command: command_line.Command) -> None:
    """Runs all jobs; where the launcher breaks, those that have ended are gathered."""
    task = partial(job, standing=standing(command)) if command.multirun else job
    try:
        command_line.launch(VERB, task, command)
    except SystemExit as left:
        if command.multirun and left.code == 1:
            gather(command.folder)
        raise


def standing(command: command_line.Command) -> Standing:
    """Where a sweep stands at its start: the jobs that are to run, and how many had ended."""
    jobs = zip(command.job_folders, command.jobs, strict=True)
    ahead = [folder for folder, e in jobs if not resume.finished(folder, e)]
    return Standing(ahead, "result.json", time.time(), len(command.jobs) - len(ahead))


def launch_elsewhere(command: command_line.Command) -> None:
    """Runs all jobs on a cluster. Signals end this process, which only waits, at once."""
    then = {
        "slurm": "its jobs stay in Slurm (squeue, scancel), and toydepth.report gathers them",
        "ray": f"so do its jobs; {go_on(command.folder)}",
    }
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray would report to its makers
    try:
        with watched(command, standing(command)):
            launch(command)
    except KeyboardInterrupt:
        command_line.fail(VERB.name, f"interrupted; {then[command.launcher]}", 130)


def check_processes(command: command_line.Command) -> None:
    """Refuses sweeps by several processes, each of which would go through the jobs on its own."""
    words = "processes train one job together; those of a sweep's jobs are "
    words += "hydra.launcher.tasks_per_node with launcher=slurm"
    for e in command.jobs if command.multirun else []:
        asked = e.parallel.processes or 1
        if asked > 1 or (command.launcher != "slurm" and place(e.parallel).count > 1):
            raise SettingError("parallel.processes", e.parallel.processes, words)


def check_devices(jobs: list[Experiment], at: Place) -> None:
    """Sets JAX up for all jobs of this process; refuses what the devices cannot divide."""
    from toydepth.engine import prepare_devices
    from toydepth.train.core import grid

    asked = [e.parallel.devices for e in jobs]
    prepare_devices(None if None in asked else max(asked), at)
    for e in jobs:
        grid(e)


def exit_status(command: command_line.Command) -> int:
    """The worst of the jobs' statuses; a job without a readable result has failed."""
    from toydepth.results.records import ResultError, read_result

    def status(folder: Path) -> str:
        try:
            return read_result(folder / "result.json").status
        except ResultError:
            return "failed"

    found = {status(folder) for folder in command.job_folders}
    return next((STATUS[s] for s in ("failed", "diverged") if s in found), 0)
