"""The command line of a verb that Hydra runs: everything is checked before anything is written.

Hydra composes and launches; here its arguments are read first, every job that they ask for is
composed and checked, and whatever is wrong becomes one line and exit status 2.
"""

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from hydra import __version__ as hydra_version
from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.types import Override, Quote, QuotedString
from hydra.errors import HydraException
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from toydepth import __version__
from toydepth.commands import overrides
from toydepth.commands.spec import CONF, Verb
from toydepth.settings import SettingError, defaults, fold, reason


class Command(NamedTuple):
    """A command line that was found to be in order.

    Attributes:
      jobs: the checked settings of each job that it asks for.
      folder: where the job, or the sweep of all jobs, leaves its files.
      named: whether the user gave that folder.
      multirun: whether Hydra runs it as a sweep.
      overrides: its overrides, as Hydra is to be given them.
      resumed: whether the folder holds the run that the command goes on with.
      launcher: who runs the jobs of a sweep.
    """

    jobs: list[Any]
    folder: Path
    named: bool
    multirun: bool
    overrides: list[str]
    resumed: bool = False
    launcher: str = "local"

    @property
    def folder_setting(self) -> str:
        """The setting that names the folder."""
        return "hydra.sweep.dir" if self.multirun else "hydra.run.dir"

    @property
    def job_folders(self) -> list[Path]:
        """Where Hydra lets each of the jobs leave its files."""
        if not self.multirun:
            return [self.folder]
        return [self.folder / str(index) for index in range(len(self.jobs))]


def say(verb: str, words: object) -> None:
    """One line on standard error."""
    print(f"toydepth.{verb}: {fold(words)}", file=sys.stderr)


def fail(verb: str, words: object, status: int = 2) -> None:
    """One line on standard error, and the exit status."""
    say(verb, words)
    raise SystemExit(status)


def is_about_configuration(arguments: Sequence[str]) -> bool:
    """Whether Hydra is asked to show something rather than to run a job."""
    flags, _ = _read_flags(arguments)
    return bool(flags.cfg or flags.info or flags.hydra_help or flags.shell_completion)


def read_command(verb: Verb, arguments: Sequence[str]) -> Command:
    """Reads, composes and checks a command line. Writes nothing.

    Raises:
      SettingError: for the first thing in it that is not allowed.
    """
    flags, texts = _read_flags(arguments)
    # What installs a completion (install=SHELL) is no setting.
    parsed = [] if flags.shell_completion else [overrides.parse(text) for text in texts]
    for override in parsed:
        overrides.check(verb, override)
    # Of a setting given twice the last counts, in Hydra's runs and in its sweeps alike.
    given = {override.key_or_group: override for override in parsed}
    texts = [overrides.text_of(override) for override in given.values()]
    several = [override for override in given.values() if override.is_sweep_override()]
    _register(verb)
    with initialize_config_dir(str(CONF.absolute()), version_base="1.3"):
        # A sweep in one line (experiment=fig5) is Hydra's sweeper with parameters of its own.
        alone = [o for o in given.values() if not o.is_sweep_override()]
        base = _compose(verb, [overrides.text_of(override) for override in alone])
        multirun = flags.multirun or str(base.hydra.mode) == "RunMode.MULTIRUN"
        if several and (not multirun or is_about_configuration(arguments)):
            words = "one job is shown" if multirun else "several values need -m (multirun)"
            raise SettingError(several[0].key_or_group, overrides.value_of(several[0]), words)
        params = (base.hydra.sweeper.params or {}) if multirun else {}
        swept = {key: overrides.parse(f"{key}={value}") for key, value in params.items()}
        _refuse_nested_sweeps(verb, given)
        combinations = overrides.expand([*(swept | given).values()]) if multirun else []
        if len(combinations) > 20:
            say(verb.name, f"checking the settings of {len(combinations)} jobs")
        jobs = [_job(verb, _compose(verb, job)) for job in combinations]
        if not (jobs or flags.hydra_help or flags.shell_completion):  # those are about no job
            jobs = [_job(verb, base)]
    folder, named = _folder(base, multirun, given)
    launcher = base.hydra.runtime.choices.get("launcher") or "local"
    return Command(jobs, folder, named, multirun, texts, launcher=launcher)


def launch(verb: Verb, task: Callable[[DictConfig], Any], command: Command) -> None:
    """Hands a checked command to Hydra, which calls `task` for each of its jobs."""
    mode = ["--multirun"] if command.multirun else []
    sys.argv = [sys.argv[0], *mode, *command.overrides, _where(command)]
    wanted = os.environ.get("HYDRA_FULL_ERROR")
    os.environ["HYDRA_FULL_ERROR"] = "1"  # or Hydra prints its own traceback and exits
    try:
        main(verb, task)
    except Exception as error:  # of Hydra itself or of its launcher: our jobs do not raise
        if wanted == "1":
            raise
        fail(verb.name, f"{command.folder} failed: {reason(error)}", 1)
    finally:
        if wanted is None:
            del os.environ["HYDRA_FULL_ERROR"]


def main(verb: Verb, task: Callable[[DictConfig], Any]) -> None:
    """Hydra's own entry point, on what `sys.argv` says."""
    import hydra

    _, texts = _read_flags(sys.argv[1:])
    # Hydra's parser loses overrides on both sides of a flag.
    sys.argv[1:] = sorted(sys.argv[1:], key=texts.__contains__)
    _register(verb)
    GlobalHydra.instance().clear()
    hydra.main(version_base="1.3", config_path=str(CONF.absolute()), config_name=verb.name)(task)()


def _register(verb: Verb) -> None:
    """Lets Hydra know the schema that the verb's primary config starts from."""
    ConfigStore.instance().store(name=f"{verb.name}_schema", node=defaults(verb.schema))


def _read_flags(arguments: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """The flags, which are those of Hydra's that mean something here, and the overrides."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    versions = f"toydepth {__version__}, Hydra {hydra_version}"
    parser.add_argument("--version", action="version", version=versions)
    parser.add_argument("--resolve", action="store_true")
    one = parser.add_mutually_exclusive_group()
    one.add_argument("--multirun", "-m", action="store_true")
    one.add_argument("--cfg", "-c", choices=["job", "hydra", "all"])
    rooms = ["all", "config", "defaults", "defaults-tree", "plugins", "searchpath"]
    one.add_argument("--info", "-i", nargs="?", const="all", choices=rooms)
    one.add_argument("--hydra-help", action="store_true")
    one.add_argument("--shell-completion", "-sc", action="store_true")
    try:
        flags, texts = parser.parse_known_args(list(arguments))
    except argparse.ArgumentError as error:
        raise SettingError("command", " ".join(arguments), str(error)) from None
    known = "--multirun, --cfg, --resolve, --info, --hydra-help, --shell-completion, --version"
    for text in texts:
        if text.startswith("-"):
            raise SettingError("flag", text, f"the flags are --help, {known}")
    if flags.resolve and not flags.cfg:
        raise SettingError("flag", "--resolve", "it goes with --cfg")
    return flags, texts


def _where(command: Command) -> str:
    """The command's folder as an override, whatever is in its name."""
    # Jobs that run elsewhere may start in another working directory.
    folder = command.folder if command.launcher == "local" else command.folder.absolute()
    text = QuotedString(str(folder), Quote.single).with_quotes()
    return f"{command.folder_setting}={text}"


def _refuse_nested_sweeps(verb: Verb, given: Mapping[str, Override]) -> None:
    """A preset that is itself a sweep would lose it as a job of another: nobody expands it."""
    presets = given.get("experiment")
    if presets is None or not presets.is_sweep_override():
        return
    for preset in overrides.swept(presets):
        inner = _compose(verb, [f"experiment={preset}"]).hydra.sweeper.params or {}
        lost = [key for key in inner if key not in given]
        if lost:
            words = f"{preset} is itself a sweep over {', '.join(lost)}: run them one by one"
            raise SettingError("experiment", overrides.value_of(presets), words)


def _folder(cfg: DictConfig, multirun: bool, given: Mapping[str, Override]) -> tuple[Path, bool]:
    """Where the files of a run or a sweep go, and whether the command says so."""
    name, other = "hydra.run.dir", "hydra.sweep.dir"
    if multirun:
        name, other = other, name
    if other in given and name not in given:
        kind = "a sweep" if multirun else "one run"
        raise SettingError(
            other, overrides.value_of(given[other]), f"the folder of {kind} is {name}"
        )
    try:
        value = OmegaConf.select(cfg, name)
    except OmegaConfBaseException as error:
        words = fold(error)
        raise SettingError(name, overrides.value_of(given[name]), words) from None
    if not value.strip() or "${" in value:  # Hydra would resolve it again
        raise SettingError(name, value, "it must be the path of a folder, without ${")
    return Path(value), name in given


def _compose(verb: Verb, texts: Sequence[str]) -> DictConfig:
    try:
        return compose(verb.name, list(texts), return_hydra_config=True)
    except (HydraException, OmegaConfBaseException, ValueError, TypeError) as error:
        for text in texts if len(texts) > 1 else []:
            _compose(verb, [text])  # which of them it is
        name, _, value = " ".join(texts).partition("=")
        words = f"{overrides.allowed(verb, name)} ({fold(error)[:200]})"
        raise SettingError(name, value, words) from None


def _job(verb: Verb, cfg: DictConfig) -> Any:
    """The checked settings of one composed job."""
    try:
        own = OmegaConf.masked_copy(cfg, [str(key) for key in cfg if key != "hydra"])
        plain = plainly(own)
    except OmegaConfBaseException as error:
        name = error.full_key or "configuration"
        given = OmegaConf.to_container(own, resolve=False)
        for part in name.split("."):
            given = given.get(part, "?") if isinstance(given, dict) else given
        words = f"{overrides.allowed(verb, name)} ({fold(error)[:200]})"
        raise SettingError(name, given, words) from None
    return verb.read(plain)


def plainly(cfg: DictConfig | ListConfig) -> dict[str, Any]:
    """A composed configuration as plain nested data, with its references followed."""
    return cast(dict[str, Any], OmegaConf.to_container(cfg, resolve=True))
