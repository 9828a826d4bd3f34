"""The overrides on a command line: how they are read, which are refused, and what a sweep makes.

An override is NAME=VALUE in Hydra's grammar. What Hydra would answer with a traceback, or would
obey although it must not, is refused here in one line.
"""

import difflib
import itertools
import re
from collections.abc import Sequence

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, QuotedString
from hydra.errors import HydraException

from toydepth.commands import launchers
from toydepth.commands.spec import Verb, groups
from toydepth.settings import SettingError, meanings

SWEEP_LIMIT = 10_000  # each is composed before the first starts, ten or so in a second
# Of Hydra's own settings, those that only say where, how many and how loud. Others name code
# (searchpath, callbacks, job_logging), copy the environment into a configuration (job.env_copy),
# or put files where neither `resume` nor the report looks for them.
OF_HYDRA = (
    *("hydra.run.dir", "hydra.sweep.dir", "hydra.mode", "hydra.verbose", "hydra/launcher"),
    *("hydra.launcher", "hydra.sweeper.max_batch_size", "hydra.job.env_set"),
)


def parse(text: str) -> Override:
    name, _, value = text.partition("=")
    try:
        override = OverridesParser.create().parse_override(text)
    except HydraException:
        override = None
    if override is None or not override.key_or_group:
        words = "it is written name=value; odd text has quotes of its own, name='\"odd, text\"'"
        raise SettingError(name, value, words)
    if "${oc." in value or "${hydra:" in value:
        words = "the environment and Hydra's own settings are not read into a setting"
        raise SettingError(name, value, words)
    return override


def check(verb: Verb, override: Override) -> None:
    """Refuses names that do not exist, and any way to have Hydra call code of the user's naming."""
    name, value = override.key_or_group, value_of(override)
    # Text names no code (data.path=my_target_runs.csv); a dictionary could.
    nested = not isinstance(override.value(), str | QuotedString)
    if "_target_" in name or (nested and "_target_" in value):
        raise SettingError(name, value, "code is not named on the command line")
    if re.match(r"hydra\b", name):
        if not any(name == known or name.startswith(f"{known}.") for known in OF_HYDRA):
            raise SettingError(name, value, f"of Hydra's settings there are {', '.join(OF_HYDRA)}")
        if override.is_sweep_override():
            raise SettingError(name, value, "it has one value")
        return
    if override.is_add() or override.is_delete() or override.package is not None:
        raise SettingError(
            name, value, "settings are changed, not added, moved or removed: name=value"
        )
    offered = groups(verb)
    if name in offered:
        options = offered[name]
        several = override.is_sweep_override()
        values = [v.strip("'\"") for v in swept(override)] if several else [override.value()]
        for chosen in values:
            if chosen not in options:
                raise SettingError(name, chosen, f"one of {', '.join(options)}")
            if name == "launcher":
                launchers.require(str(chosen))
        if name == "launcher" and several:
            raise SettingError(name, value, "it has one value")
        return
    names = [known for known, *_ in meanings(verb.schema)]
    if name not in names:
        close = difflib.get_close_matches(name, [*offered, *names], n=2, cutoff=0.6)
        hint = f"did you mean {' or '.join(close)}?" if close else "see --help for those there are"
        raise SettingError(name, value, f"there is no such setting; {hint}")


def allowed(verb: Verb, name: str) -> str:
    """What a setting may be, as words."""
    known = {setting: words for setting, _, _, words in meanings(verb.schema)}
    return f"it must be {known[name]}" if name in known else "Hydra cannot make a job of it"


def value_of(override: Override) -> str:
    """What stands behind the first = on the command line."""
    return text_of(override).partition("=")[2]


def text_of(override: Override) -> str:
    """The override as it was given."""
    return override.input_line or ""


def swept(override: Override) -> list[str]:
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
        raise SettingError(override.key_or_group, value_of(override), words)
    return values


def expand(overrides: Sequence[Override]) -> list[list[str]]:
    """The overrides of each job of a sweep, as Hydra's basic sweeper makes them."""
    choices = []
    for override in overrides:
        if override.is_sweep_override():
            key = override.get_key_element()
            choices.append([f"{key}={value}" for value in swept(override)])
        elif not override.key_or_group.startswith("hydra."):
            choices.append([text_of(override)])
    count = 1
    for options in choices:
        count *= len(options)
    if count > SWEEP_LIMIT:
        raise SettingError("multirun", count, f"a sweep has at most {SWEEP_LIMIT} jobs")
    return [list(job) for job in itertools.product(*choices)]
