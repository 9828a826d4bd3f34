"""How a loss falls with sizes, fitted with its uncertainty, and what follows from the fit.

Arrays in, frozen dataclasses out; nothing here knows what a layer is. The
public API:

- `fit_power_law`  L = c s^-alpha (+ L0), by least squares on log L -> `PowerLaw`
- `local_alpha`    the exponent between neighbouring sizes -> list of `LocalAlpha`
- `read_course`    local exponents along time, and the window in which a power law holds -> `Course`
- `course_verdict` what it says of an expected exponent, in words
- `Law`            L = sum of c_v / x_v^a_v + L0, each exponent fitted or fixed
- `fit_law`        a law fitted to losses, with standard errors -> `LawFit`
- `by_clusters`    the same fit, with errors that may be alike within clusters
- `profile_intervals`, `bootstrap`  its intervals without the linear approximation
- `warnings`, `alike`  what a fit cannot tell, in words; how alike residuals of one shape are
- `compare`, `held_out`, `folds`  fixed exponents against free ones -> `Comparison`, `HeldOut`
- `for_compute`, `for_loss`, `for_parameters`, `smallest_model`  the best model -> `Plan`
- `buildable_for_compute`, `buildable_for_loss`  the best with whole depths and widths
- `aspect_ratio`, `shape_price`  the best shape, and what another one costs
- `Estimate`, `Interval`  a value with its standard error and 95 % interval; the interval alone
- `FloorComparison`  whether the data ask for the floor L0
"""

from toydepth.scaling.bootstrap import Draws, bootstrap, percentiles
from toydepth.scaling.compare import Comparison, HeldOut, compare, folds, held_out
from toydepth.scaling.estimate import Estimate, Interval
from toydepth.scaling.fit import LawFit, by_clusters, fit_law
from toydepth.scaling.floor import FloorComparison
from toydepth.scaling.identification import alike, warnings
from toydepth.scaling.law_form import UNIVERSAL_EXPONENTS, Law
from toydepth.scaling.local import LocalAlpha, local_alpha
from toydepth.scaling.plan import (
    Plan,
    aspect_ratio,
    for_compute,
    for_loss,
    for_parameters,
    smallest_model,
)
from toydepth.scaling.power_law import PowerLaw, fit_power_law
from toydepth.scaling.profile import profile_intervals
from toydepth.scaling.shapes import (
    ShapePrice,
    buildable_for_compute,
    buildable_for_loss,
    shape_price,
)
from toydepth.scaling.window import Course, Window, course_verdict, read_course

__all__ = [
    "UNIVERSAL_EXPONENTS",
    "Comparison",
    "Course",
    "Draws",
    "Estimate",
    "FloorComparison",
    "HeldOut",
    "Interval",
    "Law",
    "LawFit",
    "LocalAlpha",
    "Plan",
    "PowerLaw",
    "ShapePrice",
    "Window",
    "alike",
    "aspect_ratio",
    "bootstrap",
    "by_clusters",
    "buildable_for_compute",
    "buildable_for_loss",
    "compare",
    "course_verdict",
    "fit_law",
    "fit_power_law",
    "folds",
    "for_compute",
    "for_loss",
    "for_parameters",
    "held_out",
    "local_alpha",
    "percentiles",
    "profile_intervals",
    "read_course",
    "shape_price",
    "smallest_model",
    "warnings",
]
