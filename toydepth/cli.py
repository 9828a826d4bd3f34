"""The command line of a verb that Hydra runs: everything is checked before anything is written.

Hydra composes and launches; here its arguments are read first, every job that they ask for is
composed and checked, and whatever is wrong becomes one line and exit status 2.
"""

import difflib
import itertools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hydra import compose, initialize_config_dir
from hydra._internal.utils import get_args_parser
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from toydepth import config
from toydepth.config import Experiment, SettingError

# Beside the package in a checkout, inside it in a wheel.
CONF = next(
    folder
    for folder in (Path(__file__).parent / "conf", Path(__file__).parents[1] / "conf")
    if folder.is_dir()
)
SWEEP_LIMIT = 100_000

ConfigStore.instance().store(name="schema", node=config.defaults())


class Command(NamedTuple):
    """A command line that was found to be in order.

    Attributes:
      jobs: the experiment of each job that it asks for.
      folder: where the job, or the sweep of all jobs, leaves its files.
      named: whether the user gave that folder.
      multirun: whether Hydra runs it as a sweep.
      overrides: its overrides, as Hydra is to be given them.
    """

    jobs: list[Experiment]
    folder: Path
    named: bool
    multirun: bool
    overrides: list[str]


def fail(verb: str, message: str, status: int = 2) -> None:
    """One line on standard error, and the exit status."""
    line = " ".join(str(message).split())
    print(f"toydepth.{verb}: {line}", file=sys.stderr)
    raise SystemExit(status)


def is_about_configuration(arguments: Sequence[str]) -> bool:
    """Whether Hydra is asked to show something rather than to run a job."""
    args = get_args_parser().parse_args(list(arguments))
    return bool(args.cfg or args.info or args.hydra_help or args.shell_completion)


def read_command(arguments: Sequence[str]) -> Command:
    """Reads, composes and checks a command line. Writes nothing.

    Raises:
      SettingError: for the first thing in it that is not allowed.
    """
    args = get_args_parser().parse_args(list(arguments))
    texts: list[str] = args.overrides
    parsed = [_parse(text) for text in texts]
    for override in parsed:
        _check_override(override)
    given = {o.key_or_group for o in parsed}
    with initialize_config_dir(str(CONF.absolute()), version_base="1.3"):
        # A sweep in one line (experiment=fig5) is Hydra's sweeper with parameters of its own.
        base = _compose(
            [t for t, o in zip(texts, parsed, strict=True) if not o.is_sweep_override()]
        )
        multirun = args.multirun or str(base.hydra.mode) == "RunMode.MULTIRUN"
        if not multirun:
            for override in parsed:
                if override.is_sweep_override():
                    name, values = override.key_or_group, _value_of(override)
                    raise SettingError(name, values, "several values need -m (multirun)")
            named = "hydra.run.dir" in given
            return Command([_experiment(base)], Path(base.hydra.run.dir), named, False, texts)
        params = base.hydra.sweeper.params or {}
        dropped = [f"~hydra.sweeper.params.{key}" for key in params if key in given]
        swept = [_parse(f"{key}={value}") for key, value in params.items() if key not in given]
        jobs = [_experiment(_compose(job)) for job in _expand([*swept, *parsed])]
    named = "hydra.sweep.dir" in given
    return Command(jobs, Path(base.hydra.sweep.dir), named, True, [*texts, *dropped])


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
        "`--cfg job` shows the composed configuration; `--hydra-help`, Hydra's own flags.",
    ]
    return "\n".join(lines)


def launch(task: Callable[[DictConfig], Any], command: Command) -> None:
    """Hands a checked command to Hydra, which calls `task` for each of its jobs."""
    kind = "sweep" if command.multirun else "run"
    where = f"hydra.{kind}.dir='{command.folder}'"
    mode = ["--multirun"] if command.multirun else []
    sys.argv = [sys.argv[0], *mode, *command.overrides, where]
    main(task)


def main(task: Callable[[DictConfig], Any]) -> None:
    """Hydra's own entry point, on what `sys.argv` says."""
    import hydra

    GlobalHydra.instance().clear()
    hydra.main(version_base="1.3", config_path=str(CONF.absolute()), config_name="config")(task)()


def _parse(text: str) -> Override:
    try:
        return OverridesParser.create().parse_override(text)
    except (OverrideParseException, HydraException):
        name, _, value = text.partition("=")
        raise SettingError(name, value, "it is written name=value, in Hydra's grammar") from None


def _check_override(override: Override) -> None:
    """Refuses names that do not exist, and any way to have Hydra call code of the user's naming."""
    name, value = override.key_or_group, _value_of(override)
    if "_target_" in (override.input_line or "") or name.startswith(
        ("hydra.callbacks", "hydra/callbacks")
    ):
        raise SettingError(name, value, "code is not named on the command line")
    if name.startswith(("hydra.", "hydra/")):
        return
    if override.is_add() or override.is_delete():
        raise SettingError(name, value, "settings are changed, not added or removed: name=value")
    group = CONF / name
    if "." not in name and group.is_dir():
        options = sorted(p.stem for p in group.glob("*.yaml") if not p.stem.startswith("_"))
        values = (
            list(override.sweep_iterator()) if override.is_sweep_override() else [override.value()]
        )
        for chosen in values:
            if chosen not in options and not (name == "experiment" and chosen is None):
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


def _compose(overrides: Sequence[str]) -> DictConfig:
    try:
        return compose("config", list(overrides), return_hydra_config=True)
    except (HydraException, OmegaConfBaseException) as error:
        words = " ".join(str(error).split())
        raise SettingError("overrides", " ".join(overrides), words) from None


def _experiment(cfg: DictConfig) -> Experiment:
    try:
        own = OmegaConf.masked_copy(cfg, [key for key in cfg if key != "hydra"])
        plain = OmegaConf.to_container(own, resolve=True)
    except OmegaConfBaseException as error:
        words = " ".join(str(error).split())
        raise SettingError(error.full_key or "configuration", "?", words) from None
    return config.experiment(plain)


def _expand(overrides: Sequence[Override]) -> list[list[str]]:
    """The overrides of each job of a sweep, as Hydra's basic sweeper makes them."""
    choices = []
    for override in overrides:
        if override.is_sweep_override():
            key = override.get_key_element()
            choices.append([f"{key}={value}" for value in override.sweep_string_iterator()])
        elif not override.key_or_group.startswith("hydra."):
            choices.append([override.input_line])
    count = 1
    for options in choices:
        count *= len(options)
    if count > SWEEP_LIMIT:
        raise SettingError("multirun", count, f"a sweep has at most {SWEEP_LIMIT} jobs")
    return [list(job) for job in itertools.product(*choices)]
