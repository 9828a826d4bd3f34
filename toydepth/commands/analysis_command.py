"""What the verbs share that analyse what is there already: check, run, and say how it ended.

There is nothing to resume. Each has a room (a package) with `prepare(settings)`, which raises
ValueError in one line for what cannot be analysed, `run(settings, folder, cfg, brief)`, which
writes the answer into the folder and returns it, and `sentence(answer)` for a sweep.
"""

import sys
import time
import traceback
from functools import partial
from importlib import import_module
from pathlib import Path

from omegaconf import DictConfig

from toydepth.commands import command_line
from toydepth.commands.folder import claim
from toydepth.commands.spec import Verb, help_text
from toydepth.commands.sweep_progress import Standing
from toydepth.settings import reason

# A folder without any of these is free, even if a job was once interrupted there.
TAKEN = (
    "result.json",
    "history.jsonl",
    "checkpoints",
    "law.json",
    "probe.json",
    "multirun.yaml",
)


def main(verb: Verb, usage: str, room: str, answer: str) -> None:
    """The command line of such a verb.

    Args:
      usage: what `--help` begins with.
      room: the package that does the work; it is slow to import.
      answer: the file whose presence says that a job came to its end.
    """
    arguments = sys.argv[1:]
    if {"-h", "--help"} & set(arguments):
        print(help_text(verb, usage))
        return
    task = partial(job, verb=verb, room=room)
    try:
        command = command_line.read_command(verb, arguments)
        if command_line.is_about_configuration(arguments):
            command_line.main(verb, task)
            return
        for settings in command.jobs:
            import_module(room).prepare(settings)
        command = claim(command, TAKEN)
    except ValueError as error:  # of a setting, or of what it names
        command_line.fail(verb.name, error)
    except KeyboardInterrupt:
        command_line.fail(verb.name, "interrupted", 130)
    if command.multirun:
        task = partial(task, standing=Standing(command.job_folders, answer, time.time()))
    try:
        command_line.launch(verb, task, command)
    except KeyboardInterrupt:
        command_line.fail(verb.name, "interrupted", 130)
    ended = [
        (folder / answer).is_file() and not (folder / "error.txt").exists()
        for folder in command.job_folders
    ]
    sys.exit(0 if all(ended) else 1)


def job(cfg: DictConfig, *, verb: Verb, room: str, standing: Standing | None = None) -> None:
    """One job, as Hydra calls it. It does not raise: a failed job must not end a sweep."""
    from hydra.core.hydra_config import HydraConfig

    hydra = HydraConfig.get()
    folder = Path(hydra.runtime.output_dir)
    (folder / "error.txt").unlink(missing_ok=True)  # of an earlier try
    plain = command_line.plainly(cfg)
    try:
        found = import_module(room).run(verb.read(plain), folder, plain, brief=standing is not None)
        words = import_module(room).sentence(found)
    except Exception as error:
        (folder / "error.txt").write_text(traceback.format_exc())
        words = f"failed: {reason(error)} (more in error.txt)"
        if standing is None:
            command_line.say(verb.name, f"{folder} {words}")
    if standing is not None:
        command_line.say(
            verb.name, f"{standing.words()} | job {hydra.job.num}: {words} -> {folder}"
        )
