"""`python -m toydepth.law`: fits scaling laws to a table of training runs.

    python -m toydepth.law data.path=runs.csv
    python -m toydepth.law data=chinchilla data.path=chinchilla.csv data.exclude_highest=40 law=free
    python -m toydepth.law -m data=gemstones data.path=gemstones.csv law=free,universal

Exit status: 0 all well, 1 a job failed, 2 a setting or the data is not allowed (nothing was
written), 130 interrupted.
"""

import sys
import traceback
from functools import partial
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from toydepth import cli, law_config
from toydepth.folder import claim
from toydepth.law_config import Study
from toydepth.settings import SettingError, reason
from toydepth.verb import Verb, help_text

VERB = Verb("law", Study, law_config.study)
say = partial(cli.say, VERB.name)


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
        for study in command.jobs:
            check(study)
        # There is nothing to resume: a folder without an answer can be used again.
        command = claim(command, ("law.json", "result.json", "multirun.yaml"))
    except ValueError as error:  # a SettingError, or what else is wrong with the data
        cli.fail(VERB.name, error)
    except KeyboardInterrupt:
        cli.fail(VERB.name, "interrupted", 130)
    try:
        cli.launch(VERB, job, command)
    except KeyboardInterrupt:
        cli.fail(VERB.name, "interrupted", 130)
    sys.exit(0 if all(has_law(folder) for folder in command.job_folders) else 1)


def check(study: Study) -> None:
    """Reads the data of a job, so that bad data is refused before anything is written.

    Raises:
      SettingError: if the data does not suit the settings.
      ValueError: if it cannot be used for another reason, in one line.
    """
    from toydepth.datasets import DataError
    from toydepth.study import prepare

    try:
        prepare(study)
    except DataError as error:
        raise SettingError(error.setting, error.value, error.allowed) from None


def job(cfg: DictConfig) -> None:
    """One job, as Hydra calls it. It does not raise: a failed job must not end a sweep."""
    from hydra.core.hydra_config import HydraConfig

    from toydepth.study import run, sentence

    hydra = HydraConfig.get()
    folder = Path(hydra.runtime.output_dir)
    plain = OmegaConf.to_container(cfg, resolve=True)
    several = str(hydra.mode) != "RunMode.RUN"
    try:
        found = run(law_config.study(plain), folder, plain, brief=several)
        if several:
            say(f"job {hydra.job.num}: {sentence(found)} -> {folder}")
    except Exception as error:
        say(f"{folder} failed: {reason(error)} (more in error.txt)")
        (folder / "error.txt").write_text(traceback.format_exc())


def has_law(folder: Path) -> bool:
    """Whether a job came to its end: it wrote its law, and nothing failed after that."""
    return (folder / "law.json").is_file() and not (folder / "error.txt").exists()


if __name__ == "__main__":
    main()
