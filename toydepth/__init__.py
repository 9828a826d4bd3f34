"""toydepth: how a residual network's loss falls with its depth, and why.

    ladder = toydepth.train_ladder(teacher="independent", depth=(3, 6, 12, 24))
    ladder.alpha

Names are loaded when they are used, so that importing toydepth costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from toydepth.ladder import Ladder, load, train_ladder
    from toydepth.law.tables import fit_table, read_table
    from toydepth.probe.states import probe_states
    from toydepth.report.comparison import Comparison, compare
    from toydepth.results.records import ResultError
    from toydepth.scaling import Law, bootstrap, fit_law, fit_power_law, profile_intervals
    from toydepth.settings import SettingError
    from toydepth.toy.own import Block

_HOMES = {
    "toydepth.ladder": ("Ladder", "load", "train_ladder"),
    "toydepth.law.tables": ("fit_table", "read_table"),
    "toydepth.probe.states": ("probe_states",),
    "toydepth.report.comparison": ("Comparison", "compare"),
    "toydepth.results.records": ("ResultError",),
    "toydepth.scaling": ("Law", "bootstrap", "fit_law", "fit_power_law", "profile_intervals"),
    "toydepth.settings": ("SettingError",),
    "toydepth.toy.own": ("Block",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Block",
    "Comparison",
    "Ladder",
    "Law",
    "ResultError",
    "SettingError",
    "bootstrap",
    "compare",
    "fit_law",
    "fit_power_law",
    "fit_table",
    "load",
    "probe_states",
    "profile_intervals",
    "read_table",
    "train_ladder",
]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = found  # the next time it is there at once
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
