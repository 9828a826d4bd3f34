"""The command line of a verb that Hydra runs: everything is checked before anything is written.

Hydra composes and launches; here its arguments are read first, every job that they ask for is
composed and checked, and whatever is wrong becomes one line and exit status 2.
"""

import argparse
import difflib
import itertools
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hydra import __version__ as hydra_version
from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, Quote, QuotedString
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from toydepth import __version__, config
from toydepth.config import Experiment, SettingError, fold

# Beside the package in a checkout, inside it in a wheel.
CONF = next(
    folder
    for folder in (Path(__file__).parent / "conf", Path(__file__).parents[1] / "conf")
    if folder.is_dir()
)
SWEEP_LIMIT = 100_000
# What `resume` and the report look for has to be where they look.
FIXED = ("hydra.run", "hydra.sweep", "hydra.sweep.subdir", "hydra.output_subdir")

ConfigStore.instance().store(name="schema", node=config.defaults())


class Command(NamedTuple):
    """A command line that was found to be in order.

    Attributes:
      jobs: the experiment of each job that it asks for.
      folder: where the job, or the sweep of all jobs, leaves its files.
      named: whether the user gave that folder.
      multirun: whether Hydra runs it as a sweep.
      overrides: its overrides, as Hydra is to be given them.
      resumed: whether the folder holds the run that the command goes on with.
    """

    jobs: list[Experiment]
    folder: Path
    named: bool
    multirun: bool
    overrides: list[str]
    resumed: bool = False

    @property
    def folder_setting(self) -> str:
        """The setting that names the folder."""
        return "hydra.sweep.dir" if self.multirun else "hydra.run.dir"


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


def read_command(arguments: Sequence[str]) -> Command:
    """Reads, composes and checks a command line. Writes nothing.

    Raises:
      SettingError: for the first thing in it that is not allowed.
    """
    flags, texts = _read_flags(arguments)
    # What installs a completion (install=SHELL) is no setting.
    parsed = [] if flags.shell_completion else [_parse(text) for text in texts]
    for override in parsed:
        _check_override(override)
    # Of a setting given twice the last counts, in Hydra's runs and in its sweeps alike.
    given = {override.key_or_group: override for override in parsed}
    texts = [override.input_line for override in given.values()]
    several = [override for override in given.values() if override.is_sweep_override()]
    with initialize_config_dir(str(CONF.absolute()), version_base="1.3"):
        # A sweep in one line (experiment=fig5) is Hydra's sweeper with parameters of its own.
        base = _compose([o.input_line for o in given.values() if not o.is_sweep_override()])
        multirun = flags.multirun or str(base.hydra.mode) == "RunMode.MULTIRUN"
        if several and (not multirun or is_about_configuration(arguments)):
            words = "one job is shown" if multirun else "several values need -m (multirun)"
            raise SettingError(several[0].key_or_group, _value_of(several[0]), words)
        params = (base.hydra.sweeper.params or {}) if multirun else {}
        dropped = [f"~hydra.sweeper.params.{key}" for key in params if key in given]
        swept = [_parse(f"{key}={value}") for key, value in params.items() if key not in given]
        _refuse_nested_sweeps(given)
        combinations = _expand([*swept, *given.values()]) if multirun else []
        jobs = [_experiment(_compose(job)) for job in combinations] or [_experiment(base)]
    folder, named = _folder(base, multirun, given)
    return Command(jobs, folder, named, multirun, [*texts, *dropped])


def help_text(usage: str) -> str:
    """What `--help` prints: how the verb is called, the groups, and every setting."""
    groups = {
        folder.name: [p.stem for p in sorted(folder.glob("*.yaml")) if not p.stem.startswith("_")]
        for folder in sorted(CONF.iterdir())
        if folder.is_dir()
    }
    lines = [usage.strip(), "", "Groups (GROUP=OPTION):"]
    lines += [f"  {group}={'|'.join(options)}" for group, options in groups.items()]
    lines += ["", "Settings (NAME=VALUE), their defaults, and what they may be:"]
    for name, default, meaning, allowed in config.meanings():
        lines.append(f"  {name}={config.show(default)}\n      {meaning}; {allowed}")
    lines += [
        "",
        "`--cfg job` shows the composed configuration; `--info`, how Hydra composed it.",
    ]
    return "\n".join(lines)


def launch(task: Callable[[DictConfig], Any], command: Command) -> None:
    """Hands a checked command to Hydra, which calls `task` for each of its jobs."""
    mode = ["--multirun"] if command.multirun else []
    sys.argv = [sys.argv[0], *mode, *command.overrides, _where(command)]
    main(task)


def main(task: Callable[[DictConfig], Any]) -> None:
    """Hydra's own entry point, on what `sys.argv` says."""
    import hydra

    _, overrides = _read_flags(sys.argv[1:])
    # Hydra's parser loses overrides on both sides of a flag.
    sys.argv[1:] = sorted(sys.argv[1:], key=overrides.__contains__)
    GlobalHydra.instance().clear()
    hydra.main(version_base="1.3", config_path=str(CONF.absolute()), config_name="config")(task)()


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
        flags, overrides = parser.parse_known_args(list(arguments))
    except argparse.ArgumentError as error:
        raise SettingError("command", " ".join(arguments), str(error)) from None
    known = "--multirun, --cfg, --resolve, --info, --hydra-help, --shell-completion, --version"
    for text in overrides:
        if text.startswith("-"):
            raise SettingError("flag", text, f"the flags are --help, {known}")
    if flags.resolve and not flags.cfg:
        raise SettingError("flag", "--resolve", "it goes with --cfg")
    return flags, overrides


def _where(command: Command) -> str:
    """The command's folder as an override, whatever is in its name."""
    text = QuotedString(str(command.folder), Quote.single).with_quotes()
    return f"{command.folder_setting}={text}"


def _parse(text: str) -> Override:
    name, _, value = text.partition("=")
    try:
        override = OverridesParser.create().parse_override(text)
    except HydraException:
        override = None
    if override is None or not override.key_or_group:
        words = "it is written name=value; odd text has quotes of its own, name='\"odd, text\"'"
        raise SettingError(name, value, words)
    return override


def _check_override(override: Override) -> None:
    """Refuses names that do not exist, and any way to have Hydra call code of the user's naming."""
    name, value = override.key_or_group, _value_of(override)
    if "_target_" in (override.input_line or "") or name.startswith(
        ("hydra.callbacks", "hydra/callbacks")
    ):
        raise SettingError(name, value, "code is not named on the command line")
    if name in FIXED:
        words = "it is fixed; hydra.run.dir and hydra.sweep.dir are where a run and a sweep go"
        raise SettingError(name, value, words)
    if name.startswith(("hydra.", "hydra/")):
        if override.is_sweep_override():
            raise SettingError(name, value, "it has one value")
        return
    if override.is_add() or override.is_delete() or override.package is not None:
        raise SettingError(
            name, value, "settings are changed, not added, moved or removed: name=value"
        )
    group = CONF / name
    if "." not in name and group.is_dir():
        options = sorted(p.stem for p in group.glob("*.yaml") if not p.stem.startswith("_"))
        several = override.is_sweep_override()
        values = [v.strip("'\"") for v in _swept(override)] if several else [override.value()]
        for chosen in values:
            if chosen not in options:
                raise SettingError(name, chosen, f"one of {', '.join(options)}")
        return
    names = [known for known, *_ in config.meanings()]
    if name not in names:
        groups = [folder.name for folder in CONF.iterdir() if folder.is_dir()]
        close = difflib.get_close_matches(name, groups + names, n=2, cutoff=0.6)
        hint = f"did you mean {' or '.join(close)}?" if close else "see --help for those there are"
        raise SettingError(name, value, f"there is no such setting; {hint}")


def _value_of(override: Override) -> str:
    """What stands behind the first = on the command line."""
    return (override.input_line or "").partition("=")[2]


def _swept(override: Override) -> list[str]:
    """The values of a sweep, as Hydra's basic sweeper lists them."""
    values = []
    if not getattr(override.value(), "shuffle", False):  # each process would draw another order
        try:
            # A range may be far longer than any sweep.
            values = list(itertools.islice(override.sweep_string_iterator(), SWEEP_LIMIT + 1))
        except (HydraException, ArithmeticError, ValueError):  # an interval, a glob, a step of 0
            pass
    if not values:
        words = "several values are a list, a,b,c, or a range, range(start,stop,step), in order"
        raise SettingError(override.key_or_group, _value_of(override), words)
    return values


def _refuse_nested_sweeps(given: Mapping[str, Override]) -> None:
    """A preset that is itself a sweep would lose it as a job of another: nobody expands it."""
    presets = given.get("experiment")
    if presets is None or not presets.is_sweep_override():
        return
    for preset in _swept(presets):
        inner = _compose([f"experiment={preset}"]).hydra.sweeper.params or {}
        lost = [key for key in inner if key not in given]
        if lost:
            words = f"{preset} is itself a sweep over {', '.join(lost)}: run them one by one"
            raise SettingError("experiment", _value_of(presets), words)


def _folder(cfg: DictConfig, multirun: bool, given: Mapping[str, Override]) -> tuple[Path, bool]:
    """Where the files of a run or a sweep go, and whether the command says so."""
    name, other = "hydra.run.dir", "hydra.sweep.dir"
    if multirun:
        name, other = other, name
    if other in given and name not in given:
        kind = "a sweep" if multirun else "one run"
        raise SettingError(other, _value_of(given[other]), f"the folder of {kind} is {name}")
    try:
        value = OmegaConf.select(cfg, name)
    except OmegaConfBaseException as error:
        words = fold(error)
        raise SettingError(name, _value_of(given[name]), words) from None
    if not value.strip() or "${" in value:  # Hydra would resolve it again
        raise SettingError(name, value, "it must be the path of a folder, without ${")
    return Path(value), name in given


def _compose(overrides: Sequence[str]) -> DictConfig:
    try:
        return compose("config", list(overrides), return_hydra_config=True)
    except (HydraException, OmegaConfBaseException, ValueError) as error:
        words = fold(error)
        raise SettingError("overrides", " ".join(overrides), words) from None


def _experiment(cfg: DictConfig) -> Experiment:
    try:
        own = OmegaConf.masked_copy(cfg, [key for key in cfg if key != "hydra"])
        plain = OmegaConf.to_container(own, resolve=True)
    except OmegaConfBaseException as error:
        words = fold(error)
        raise SettingError(error.full_key or "configuration", "?", words) from None
    return config.experiment(plain)


def _expand(overrides: Sequence[Override]) -> list[list[str]]:
    """The overrides of each job of a sweep, as Hydra's basic sweeper makes them."""
    choices = []
    for override in overrides:
        if override.is_sweep_override():
            key = override.get_key_element()
            choices.append([f"{key}={value}" for value in _swept(override)])
        elif not override.key_or_group.startswith("hydra."):
            choices.append([override.input_line])
    count = 1
    for options in choices:
        count *= len(options)
    if count > SWEEP_LIMIT:
        raise SettingError("multirun", count, f"a sweep has at most {SWEEP_LIMIT} jobs")
    return [list(job) for job in itertools.product(*choices)]
