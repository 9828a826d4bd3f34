"""report.json: what runs say together."""

from typing import Literal

from pydantic import Field

from toydepth.results.fields import (
    Axis,
    Count,
    Length,
    Record,
    Setting,
    Several,
    Text,
    Whole,
)
from toydepth.results.records import SCHEMA, Estimate, Exponents, LocalAlpha, Rung, Teacher


class Point(Rung):
    """A rung, the run that it is from, and what tells repetitions of an experiment apart."""

    teacher_seed: Whole
    seed: Whole
    run: Text

    @classmethod
    def from_rung(cls, rung: Rung, teacher_seed: int, seed: int = 0, run: str = "") -> "Point":
        return cls(**dict(rung), teacher_seed=teacher_seed, seed=seed, run=run)

    @property
    def repetition(self) -> tuple[int, int]:
        return self.teacher_seed, self.seed


class Floor(Estimate):
    """The fit with a floor, compared with the fit without: the floor, and alpha with it."""

    alpha: Estimate
    reason: Text | None
    p_value: float | None
    aicc_difference: float | None
    supported: bool
    sentence: Text


class AlphaThen(Estimate):
    """Alpha when a share of the training was done, or `steps` where rungs train side by side."""

    share: float
    steps: float | None = None


class Window(Record):
    """A stretch of training in which the loss is a power law; its local exponents' bounds."""

    start: float
    stop: float
    decades: float
    exponent: Estimate
    low: float
    high: float


class CourseRecord(Record):
    """The loss along training: where it is a power law, and its local exponents at `times`."""

    window: Window | None
    last_decade: float | None
    times: Several[float]
    local: Several[float | None]
    verdict: Text


class AlongTraining(Record):
    """The same against steps and against the sum of the learning rates."""

    replicas: Count
    steps: CourseRecord
    tau: CourseRecord


class Features(Record):
    """Of autoencoders, by width: the share of features represented, and how their rows overlap."""

    widths: Several[Count]
    represented: Several[float]
    overlap: Several[float]
    overlap_exponent: Estimate | None


class RegimeRecord(Exponents):
    """Rungs that differ by size and replica only, pooled.

    `losses` and `loss_stderr` are means over replicas for each of `sizes`; `not_converged` are
    sizes of which a rung did not. `along_training` and `features` are of the students that have
    them.
    """

    label: Text
    axis: Axis
    teacher: Teacher
    student: dict[Text, Setting]
    objective: Text
    head: Text | None
    temperature: float | None
    learning_rate: Setting
    sizes: Several[Count]
    losses: Several[float]
    loss_stderr: Several[float | None]
    replicas: Whole
    points: Several[Point]
    not_converged: Several[Count]
    floor: Floor | None
    verdict: Text
    alpha_over_training: Several[AlphaThen] = ()
    along_training: AlongTraining | None = None
    features: Features | None = None

    @property
    def diverged(self) -> list[Point]:
        return [point for point in self.points if point.status == "diverged"]


class Crossover(Record):
    """Alpha in order of what the teachers are drawn by, for regimes alike in all else."""

    axis: Literal["rho", "correlation_length"]
    label: Text
    values: Several[Length]
    regimes: Several[Text]
    alpha: Several[Estimate | None]
    local_alpha: Several[Several[LocalAlpha]]
    rises: bool | None
    sentence: Text


class Unfinished(Record):
    """A job without a result, and why."""

    folder: Text
    reason: Text


class ReportRecord(Record):
    """report.json. Folders and figures are named from the folder that it lies in."""

    schema_: Literal[2] = Field(SCHEMA, alias="schema")
    regimes: Several[RegimeRecord]
    crossovers: Several[Crossover] = ()
    unfinished: Several[Unfinished] = ()
    notes: Several[Text] = ()
    figures: dict[Text, Text] = {}
    page: Text | None = None
