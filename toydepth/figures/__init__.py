"""Every plot, one function each: data in, matplotlib Figure out.

No pyplot, no display, no global state: save a figure with `figure.savefig(path)`.

- `Curve`              the losses of one regime, and its fit
- `loss_against_size`  losses and fitted power laws, log-log
- `local_exponents`    the exponent between neighbouring sizes
- `Course`, `exponent_over_training`  the exponent while the rungs train

Of a law fitted to a table of training runs:

- `Term`, `terms`      the part of each variable, and what the rows say of it
- `observed_against_predicted`  losses on the diagonal, and their residuals
- `Frontier`, `Budget`, `frontier`  the best loss that compute can buy
- `ShapePrice`, `shape_price`  what another aspect ratio costs
- `Scan`, `exclusion_scan`  the exponents against the rows left out
"""

from toydepth.figures.curve import Curve
from toydepth.figures.exclusion_scan import Scan, exclusion_scan
from toydepth.figures.frontier import Budget, Frontier, frontier
from toydepth.figures.law_terms import Term, terms
from toydepth.figures.local_exponents import local_exponents
from toydepth.figures.loss_against_size import loss_against_size
from toydepth.figures.observed_predicted import observed_against_predicted
from toydepth.figures.over_training import Course, exponent_over_training
from toydepth.figures.shape_price import ShapePrice, shape_price

__all__ = [
    "Budget",
    "Course",
    "Curve",
    "Frontier",
    "Scan",
    "ShapePrice",
    "Term",
    "exclusion_scan",
    "exponent_over_training",
    "frontier",
    "local_exponents",
    "loss_against_size",
    "observed_against_predicted",
    "shape_price",
    "terms",
]
