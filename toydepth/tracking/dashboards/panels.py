"""The panels: each answers one question about the runs of a project.

The names are those of the tracker (metrics, summary) and of the configuration (dotted settings).
"""

from collections.abc import Sequence
from typing import NamedTuple

import wandb_workspaces.reports.v2 as wr
from omegaconf import OmegaConf

from toydepth.commands.spec import CONF
from toydepth.tracking.wandb_lines import COURSE, SHARE

ALPHA = "alpha"
COURSE_PATTERN = rf"^{COURSE}/value(/.*)?$"  # with several temperatures each has its own
TEACHER = "teacher.kind"


class Compared(NamedTuple):
    """How runs over one kind of size are compared.

    Attributes:
      regime: the setting by which means are taken.
      theory: what exponents mean; `words` is the same at length.
      over: the settings over which each run's exponent is drawn; True for a logarithmic axis.
      settings: those by which runs are told apart, in the order of their axes; the same.
    """

    regime: str
    theory: str
    words: str
    over: dict[str, bool]
    settings: dict[str, bool]


COMPARED = {
    "depth": Compared(
        regime=TEACHER,
        theory="1 is averaging, 3 is discretisation",
        words="Near 1, depth averages the same estimate; near 3, it refines the discretisation of "
        "a smooth motion.",
        over={"target.temperature": True, "teacher.rho": False},
        settings={
            TEACHER: False,
            "teacher.depth": False,
            "student.block": False,
            "student.width": False,
            "objective.kind": False,
            "target.temperature": True,
            "optimizer.learning_rate": True,
        },
    ),
    "width": Compared(
        regime="optimizer.weight_decay",
        theory="1 is superposition",
        words="Near 1, more features than dimensions share the width, and overlap by 1/width in "
        "mean square. Decay decides how many are represented: below 0 all of them.",
        over={"teacher.skew": False},
        settings={
            "teacher.features": True,
            "teacher.skew": False,
            "optimizer.weight_decay": False,
            "optimizer.learning_rate": True,
            "train.batch_size": True,
        },
    ),
}


def loss_name(axis: str, size: int) -> str:
    """The mean loss of a run's rung in its summary."""
    return f"loss/{axis}_{size:02d}"


def curves_pattern(kind: str, axis: str) -> str:
    """A regular expression for the losses along training of all rungs, "train" or "test"."""
    return rf"^{kind}/{axis}_\d+/loss(/.*)?$"


def loss_against_size(axis: str, sizes: Sequence[int]) -> list:
    """Each run's line over depth or width, and the mean by regime with its standard error."""
    table = wr.CustomChart.from_table(
        f"loss_by_{axis}_table",
        chart_fields={"x": axis, "y": "loss", "stroke": "replica"},
        chart_strings={"title": f"Loss against {axis}"},
    )
    table.chart_name = "wandb/line/v0"
    metrics = [loss_name(axis, size) for size in sizes]
    return [table, _means(axis, f"Loss at each {axis}", metrics, "mean and standard error")]


def exponents(axis: str) -> list:
    """Alpha by regime, along training and over settings, of one or of several in a run."""
    over = COMPARED[axis].over
    several = []
    if "target.temperature" in over:
        metrics = [f"{ALPHA}/T={temperature:g}" for temperature in published_temperatures()]
        several = [_means(axis, "alpha at the published temperatures", metrics)]
    return [
        _means(axis, "alpha", [ALPHA], COMPARED[axis].theory),
        wr.LinePlot(
            title="alpha along training",
            x=SHARE,
            metric_regex=COURSE_PATTERN,
            title_x="share of each rung's training",
            title_y=ALPHA,
        ),
        *(
            wr.ScatterPlot(
                title=f"alpha by {_short(name)}, a point for each run",
                x=wr.Config(name),
                y=wr.SummaryMetric(ALPHA),
                log_x=log,
            )
            for name, log in over.items()
        ),
        *several,
    ]


def _means(axis: str, title: str, metrics: Sequence[str], words: str = "") -> wr.BarPlot:
    """Means over the runs of each regime, with standard errors."""
    regime = COMPARED[axis].regime
    return wr.BarPlot(
        title=f"{title} by {_short(regime)}" + (f": {words}" if words else ""),
        metrics=[*metrics],
        groupby=wr.Config(regime),
        groupby_aggfunc="mean",
        groupby_rangefunc="stderr",
    )


def _short(setting: str) -> str:
    """A setting in a title: its own name, or the room's where that says nothing."""
    room, _, name = setting.partition(".")
    return room if name == "kind" else name.replace("_", " ")


def published_temperatures() -> list[float]:
    """Those of `experiment=fig3b` and `fig4`."""
    return list(OmegaConf.load(CONF / "experiment" / "_temperatures.yaml").target.temperature)


def curves(axis: str) -> list:
    """Test and training losses of every rung over its own steps."""
    return [
        wr.LinePlot(
            title=title,
            x="step",
            metric_regex=curves_pattern(kind, axis),
            log_x=True,
            log_y=True,
            title_x="steps of the rung",
            title_y="loss",
        )
        for kind, title in (("test", "Test loss of every rung"), ("train", "Training loss"))
    ]


def settings(axis: str, sizes: Sequence[int]) -> list:
    """From the settings to the losses and alpha, one line a run; and what differs."""
    columns = [
        wr.ParallelCoordinatesPlotColumn(wr.Config(name), display_name=name, log=log)
        for name, log in COMPARED[axis].settings.items()
    ]
    # A run without a value on every axis is not drawn, so one size stands for all.
    shown = loss_name(axis, sorted(sizes)[len(sizes) // 2])
    columns += [
        wr.ParallelCoordinatesPlotColumn(wr.SummaryMetric(shown), display_name=shown, log=True),
        wr.ParallelCoordinatesPlotColumn(wr.SummaryMetric(ALPHA), display_name=ALPHA),
    ]
    return [
        wr.ParallelCoordinatesPlot(title="Settings, loss and alpha", columns=columns),
        wr.ScatterPlot(
            title=f"{shown} by learning rate",
            x=wr.Config("optimizer.learning_rate"),
            y=wr.SummaryMetric(shown),
            log_x=True,
            log_y=True,
        ),
        wr.RunComparer(diff_only="split"),
    ]
