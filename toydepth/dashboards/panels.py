"""The panels: each answers one question about the runs of a project.

The names are those of the tracker (metrics, summary) and of the configuration (dotted settings).
"""

from collections.abc import Sequence

import wandb_workspaces.reports.v2 as wr
from omegaconf import OmegaConf

from toydepth.tracking.wandb_lines import COURSE, SHARE
from toydepth.verb import CONF

ALPHA = "alpha"
COURSE_PATTERN = rf"^{COURSE}/value(/.*)?$"  # with several temperatures each has its own
TEACHER = "teacher.kind"
# Settings by which runs are told apart, in the order of the axes; True for a logarithmic axis.
SETTINGS = {
    TEACHER: False,
    "teacher.depth": False,
    "student.block": False,
    "student.width": False,
    "objective.kind": False,
    "target.temperature": True,
    "optimizer.learning_rate": True,
}


def loss_name(depth: int) -> str:
    """The mean loss of a run's rung in its summary."""
    return f"loss/depth_{depth:02d}"


def curves_pattern(kind: str) -> str:
    """A regular expression for the losses along training of all rungs, "train" or "test"."""
    return rf"^{kind}/(depth|width)_\d+/loss(/.*)?$"


def loss_against_depth(depths: Sequence[int]) -> list:
    """Each run's line over depth, and the mean by teacher with its standard error."""
    table = wr.CustomChart.from_table(
        "loss_by_depth_table",
        chart_fields={"x": "depth", "y": "loss", "stroke": "replica"},
        chart_strings={"title": "Loss against depth"},
    )
    table.chart_name = "wandb/line/v0"
    return [
        table,
        wr.BarPlot(
            title="Loss at each depth by teacher: mean and standard error",
            metrics=[loss_name(depth) for depth in depths],
            groupby=wr.Config(TEACHER),
            groupby_aggfunc="mean",
            groupby_rangefunc="stderr",
        ),
    ]


def exponents() -> list:
    """Alpha by teacher, along training and by temperature, of one or of several in a run."""
    return [
        wr.BarPlot(
            title="alpha by teacher: 1 is averaging, 3 is discretisation",
            metrics=[ALPHA],
            groupby=wr.Config(TEACHER),
            groupby_aggfunc="mean",
            groupby_rangefunc="stderr",
        ),
        wr.LinePlot(
            title="alpha along training",
            x=SHARE,
            metric_regex=COURSE_PATTERN,
            title_x="share of each rung's training",
            title_y=ALPHA,
        ),
        wr.ScatterPlot(
            title="alpha by temperature, runs at one temperature",
            x=wr.Config("target.temperature"),
            y=wr.SummaryMetric(ALPHA),
            log_x=True,
        ),
        wr.BarPlot(
            title="alpha by temperature, runs over the published ones",
            metrics=[f"{ALPHA}/T={temperature:g}" for temperature in published_temperatures()],
            groupby=wr.Config(TEACHER),
            groupby_aggfunc="mean",
            groupby_rangefunc="stderr",
        ),
    ]


def published_temperatures() -> list[float]:
    """Those of `experiment=fig3b` and `fig4`."""
    return list(OmegaConf.load(CONF / "experiment" / "_temperatures.yaml").target.temperature)


def curves() -> list:
    """Test and training losses of every rung over its own steps."""
    return [
        wr.LinePlot(
            title=title,
            x="step",
            metric_regex=curves_pattern(kind),
            log_x=True,
            log_y=True,
            title_x="steps of the rung",
            title_y="loss",
        )
        for kind, title in (("test", "Test loss of every rung"), ("train", "Training loss"))
    ]


def settings(depths: Sequence[int]) -> list:
    """From the settings to the losses and alpha, one line a run; and what differs."""
    columns = [
        wr.ParallelCoordinatesPlotColumn(wr.Config(name), display_name=name, log=log)
        for name, log in SETTINGS.items()
    ]
    # A run without a value on every axis is not drawn, so one depth stands for all.
    shown = loss_name(sorted(depths)[len(depths) // 2])
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
