"""`python -m toydepth.probe`: what layers do to the hidden state, in toys and language models.

    python -m toydepth.probe run=outputs/2026-12-01/10-00-00-shared
    python -m toydepth.probe model=PATH_OR_HUB_ID text=FILE_OR_CORPUS
    python -m toydepth.probe model=... text=... 'trace.prompt="The Eiffel Tower is in"' \
        'trace.subject="Eiffel Tower"' trace.answer=Paris
    python -m toydepth.probe compare RESULT... [output=DIR]

RESULT is a probe.json or a folder above some: their middle steps against depth, with the fitted
exponent.

Exit status: 0 all well, 1 a job failed, 2 a setting, a run, a model or a text is not allowed
(nothing was written), 130 interrupted.
"""

import sys
import traceback
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from toydepth import cli, probe_config
from toydepth.folder import claim
from toydepth.probe_config import Probe
from toydepth.settings import SettingError, reason
from toydepth.verb import Verb, help_text

VERB = Verb("probe", Probe, probe_config.probe)
say = partial(cli.say, VERB.name)


def main() -> None:
    arguments = sys.argv[1:]
    if {"-h", "--help"} & set(arguments):
        print(help_text(VERB, __doc__))
        return
    if arguments[:1] == ["compare"]:
        compare_results(arguments[1:])
        return
    try:
        command = cli.read_command(VERB, arguments)
        if cli.is_about_configuration(arguments):
            cli.main(VERB, job)
            return
        from toydepth.probing import prepare

        for probe in command.jobs:
            prepare(probe)
        # There is nothing to resume: a folder without an answer can be used again.
        command = claim(command, ("probe.json", "result.json", "law.json", "multirun.yaml"))
    except ValueError as error:  # of a setting, a run, a model or a text, in one line
        cli.fail(VERB.name, error)
    except KeyboardInterrupt:
        cli.fail(VERB.name, "interrupted", 130)
    try:
        cli.launch(VERB, job, command)
    except KeyboardInterrupt:
        cli.fail(VERB.name, "interrupted", 130)
    sys.exit(0 if all(has_probe(folder) for folder in command.job_folders) else 1)


def job(cfg: DictConfig) -> None:
    """One job, as Hydra calls it. It does not raise: a failed job must not end a sweep."""
    from hydra.core.hydra_config import HydraConfig

    from toydepth.probing import run, sentence

    hydra = HydraConfig.get()
    folder = Path(hydra.runtime.output_dir)
    plain = OmegaConf.to_container(cfg, resolve=True)
    several = str(hydra.mode) != "RunMode.RUN"
    try:
        found = run(probe_config.probe(plain), folder, plain, brief=several)
        if several:
            say(f"job {hydra.job.num}: {sentence(found)} -> {folder}")
    except Exception as error:
        say(f"{folder} failed: {reason(error)} (more in error.txt)")
        (folder / "error.txt").write_text(traceback.format_exc())


def has_probe(folder: Path) -> bool:
    """Whether a job came to its end."""
    return (folder / "probe.json").is_file() and not (folder / "error.txt").exists()


def compare_results(arguments: Sequence[str]) -> None:
    """`probe compare RESULT... [output=DIR]`."""
    from toydepth.probing import CompareError, compare
    from toydepth.probing.printing import print_comparison

    results, output = [], Path("outputs/probes")
    try:
        for argument in arguments:
            name, given, value = argument.partition("=")
            if name == "output" and given:
                if not value:
                    raise CompareError("output= names no folder")
                output = Path(value)
            elif argument.startswith("-"):
                raise CompareError(f"{argument} is not known: give RESULT... and output=DIR")
            else:
                results.append(argument)
        found = compare(results, output)
    except (CompareError, SettingError, OSError) as error:
        cli.fail(VERB.name, error)
    print_comparison(found, output)


if __name__ == "__main__":
    main()
