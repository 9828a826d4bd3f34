"""`python -m toydepth.train`: trains a ladder of students against a teacher.

    python -m toydepth.train teacher=shared student.depth=16
    python -m toydepth.train teacher=shared 'student.depth=[3,6,12,24]'
    python -m toydepth.train -m teacher=shared,independent student.depth=6,12,16,24
    python -m toydepth.train experiment=fig5

Exit status: 0 all well, 1 a job failed, 2 a setting is not allowed (nothing was written),
3 a rung diverged (the other rungs' results stand).
"""

import sys
import traceback
from functools import partial
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from toydepth import cli, config, resume
from toydepth.config import Experiment
from toydepth.folder import claim
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
    try:
        cli.launch(VERB, job, command)
    except KeyboardInterrupt:
        cli.fail(VERB.name, "interrupted; the same command with resume=true goes on", 130)
    sys.exit(exit_status(command))


def job(cfg: DictConfig) -> None:
    """One job, as Hydra calls it. It does not raise: a failed job must not end a sweep."""
    from hydra.core.hydra_config import HydraConfig

    from toydepth.summary import describe
    from toydepth.tracking import versions, write_json

    hydra = HydraConfig.get()
    folder = Path(hydra.runtime.output_dir)
    plain = OmegaConf.to_container(cfg, resolve=True)
    e = config.experiment(plain)
    known = resume.finished(folder, e)
    if known:
        say(f"{folder}: {known['status']} already")
        return
    extra = {"experiment": hydra.runtime.choices.get("experiment"), "versions": versions()}
    try:
        result = run(e, folder, plain, extra)
    except Exception as error:
        failed = {"status": "failed", "error": reason(error), "rungs": [], "alpha": None}
        say(f"{folder} failed: {failed['error']} (more in error.txt)")
        (folder / "error.txt").write_text(traceback.format_exc())
        write_json(folder / "result.json", describe(e) | failed | extra)
        return
    if str(hydra.mode) != "RunMode.RUN":
        say(f"job {hydra.job.num}: {sentence(result)} -> {folder}")
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
        Progress,
        compile_seconds,
        layout,
        prepare_devices,
        prepare_job,
    )
    from toydepth.engine import run as train
    from toydepth.rung_weights import save_rung
    from toydepth.toy import problem_of
    from toydepth.tracking import History, progress, start_tracker, write_json

    prepare_devices(e.parallel.devices)
    compiled = compile_seconds()
    grid = layout(e.parallel.devices, replicas=e.replicas, batch=e.train.batch_size)
    work = prepare_job(e, problem_of(e), grid)
    with Checkpoints(folder) as checkpoints:
        known = checkpoints.progress()
        at = Progress(**known) if known else Progress()
        if known:
            say(f"{folder}: going on from step {at.total_step}")
        with History.open(folder, at.records) as history, progress(work.total_steps) as bar:
            tracker = start_tracker(
                e.tracker,
                folder,
                group=f"{e.teacher.kind}-{e.objective.kind}",
                name=describe_run(e),
                config=cfg,
                resumed=known is not None,
                replicas=e.replicas,
                axis=e.axis,
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
                    keep=partial(save_rung, folder, e.axis),
                )
            except BaseException:
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


def describe_run(e: Experiment) -> str:
    """What W&B calls the run."""
    return f"{e.teacher.name} {e.objective.kind} {e.axis} {'-'.join(map(str, e.sizes))}"


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
    teacher, axis = result["teacher"], result["axis"]
    losses = ", ".join(
        f"{r[axis]}: {r['loss']:.3g}" if r["loss"] is not None else f"{r[axis]}: diverged"
        for r in result["rungs"][:8]
    )
    own = {name: teacher[name] for name in config.DRAWN_BY.get(teacher["kind"], ())}
    who = f"{config.teacher_name(teacher['kind'], own)} teacher, seed {teacher['seed']}"
    return f"{who}, {result['status']}; loss at {axis} {losses}"


if __name__ == "__main__":
    main()
