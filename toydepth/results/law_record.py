"""law.json: one law on one table."""

from typing import Literal

from pydantic import Field

from toydepth.results.fields import Exponent, Record, Several, Text, Whole
from toydepth.results.records import SCHEMA


class Bounds(Record):
    """A 95 % interval; an end is None where the data set no bound."""

    low: float | None
    high: float | None


class Told(Bounds):
    """A number with its interval, by the bootstrap."""

    value: float | None
    stderr: float | None


class Parameter(Told):
    """One of the law's; a fixed exponent has only a value."""

    fixed: bool
    jacobian: Bounds
    profile: Bounds
    bootstrap: Bounds


class LawForm(Record):
    """The sum that was fitted; exponents are numbers or "free"."""

    formula: Text
    exponents: dict[Text, Exponent]
    floor: bool


class Data(Record):
    """The table, and what was read from it."""

    source: Text
    path: Text
    sha256: Text
    cite: Text | None
    columns: dict[Text, Text]
    units: dict[Text, float]
    read: Whole
    dropped: Whole
    excluded: Whole
    shapes: Whole | None


class Test(Record):
    """A law with fixed exponents against the same terms with free ones."""

    verdict: Text
    sentence: Text
    p_value: float | None
    clustered_p_value: float | None
    f: float | None
    numerator: Whole
    denominator: Whole
    aic_difference: float | None
    bic_difference: float | None


class Difference(Record):
    """A free exponent against the universal one."""

    universal: float
    free: Told
    difference: float | None
    in_standard_errors: float | None


class Squares(Record):
    """Mean squared log residuals by the two laws."""

    fixed: float
    free: float


class HeldOut(Squares):
    """The same on rows that a fit has not seen."""

    groups: Whole
    difference: float
    stderr: float | None


class HeldOuts(Record):
    k_fold: HeldOut | None
    leave_one_shape_out: HeldOut | None


class ComparisonRecord(Test):
    """The universal exponents put to the test; `as_asked` those that were asked for."""

    fixed_law: LawForm
    free_law: LawForm
    mean_squared_log_residual: Squares
    exponents: dict[Text, Difference]
    held_out: HeldOuts
    as_asked: Test | None


class Scanned(Record):
    """The fit with rows left out or with depth counted from elsewhere; or why there is none."""

    count: Whole | None = None
    offset: float | None = None
    rows: Whole | None
    not_fitted: Text | None = None
    mean_squared_log_residual: float | None = None
    parameters: dict[Text, Told] | None = None
    aspect_ratio: Told | None = None


class Robustness(Record):
    exclude_highest: Several[Scanned]
    depth_offset: Several[Scanned]


class Numbers(Record):
    """A model that can be built."""

    width: float | None = None
    depth: float | None = None
    parameters: float
    tokens: float | None = None
    compute: float | None = None
    loss: float
    tokens_per_parameter: float | None = None


class PlanRecord(Record):
    """The best model for a budget or a loss, and the parts of its loss."""

    width: Told | None = None
    depth: Told | None = None
    parameters: Told
    tokens: Told | None = None
    loss: Told
    tokens_per_parameter: Told | None = None
    aspect_ratio: Told | None = None
    parts: dict[Text, Told]


class CheapestPlan(PlanRecord):
    compute: Told | None = None


class Price(Bounds):
    """By what factor a shape takes more compute than the best one."""

    aspect_ratio: float
    compute_factor: float | None
    loss: float | None


class Budget(PlanRecord):
    compute: float
    buildable: Numbers | None = None
    shape_price: Several[Price] = ()


class Target(Record):
    """What a loss takes: the cheapest training, and the smallest model."""

    loss: float
    cheapest: CheapestPlan
    smallest: CheapestPlan
    buildable: Numbers | None = None


class Scalings(Record):
    """Slopes of logarithms at the rows' typical compute."""

    at_compute: float
    parameters_with_compute: Told
    tokens_with_compute: Told
    excess_loss_with_compute: Told
    width_part_to_depth_part: Told | None = None
    excess_loss_with_parameters: Told | None = None


class BestRatio(Told):
    """The best width / depth, at so many parameters where it depends on them."""

    at_parameters: float | None


class Planning(Record):
    aspect_ratio: BestRatio | None = None
    rules: Text
    embeddings_per_width: float
    draws: Whole
    draws_without_a_plan: Whole
    scalings: Scalings
    budgets: Several[Budget]
    targets: Several[Target]


class Covariance(Record):
    of: Several[Text]
    matrix: Several[Several[float | None]]


class Fit(Record):
    loss: Text
    huber_delta: float | None
    gradient: float | None
    starts: Whole
    agreeing: Whole
    covariance: Covariance
    bootstrap_resamples: Whole


class Residuals(Record):
    line: Several[Whole]
    log_residual: Several[float | None]


class LawRecord(Record):
    """law.json: the fit, its intervals, its tests, and the models that follow from it."""

    schema_: Literal[2] = Field(SCHEMA, alias="schema")
    status: Literal["completed"]
    law: LawForm
    data: Data
    rows: Whole
    parameters: dict[Text, Parameter]
    errors: Literal["rows", "shapes"]
    intervals: Text
    mean_squared_log_residual: float | None
    degrees_of_freedom: int
    aspect_ratio: float | None
    comparison: ComparisonRecord | None
    robustness: Robustness
    planning: Planning | None
    warnings: Several[Text]
    notes: Several[Text]
    seed: int
    fit: Fit
    residuals: Residuals
    seconds: float
    versions: dict[Text, Text | None]
    figures: dict[Text, Text] = {}
    tables: Several[Text] = ()
