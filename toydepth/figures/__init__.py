"""Every plot, one function each: data in, matplotlib Figure out.

No pyplot, no display, no global state: save a figure with `figure.savefig(path)`, or have its
bytes by `png(figure)`.

- `Curve`              the losses of one regime, and its fit
- `loss_against_size`  losses and fitted power laws, log-log
- `local_exponents`    the exponent between neighbouring sizes
- `Course`, `exponent_over_training`  the exponent while the rungs train
- `Training`, `loss_over_training`  losses along training, and where a power law holds
- `Cell`, `exponent_map`  an exponent over two settings
- `three_exponents`    depth, width and training time, side by side
- `Crossing`, `exponent_over_correlation`  the exponent between two regimes

Of a law fitted to a table of training runs:

- `Term`, `terms`      the part of each variable, and what the rows say of it
- `observed_against_predicted`  losses on the diagonal, and their residuals
- `Frontier`, `Budget`, `frontier`  the best loss that compute can buy
- `ShapePrice`, `shape_price`  what another aspect ratio costs
- `Scan`, `exclusion_scan`  the exponents against the rows left out

Of hidden states:

- `Spread`             means at each layer, and the quantiles around them
- `Profile`, `angles_against_layer`  how far states and updates turn at each layer
- `Step`, `step_against_depth`  the middle step of models of several depths
- `Cluster`, `trajectories`  tokens that take the same way through the layers
- `ReadOut`, `read_out`  the loss read out after each layer
- `Trace`, `trace_map`  where a fact is recalled
"""

from toydepth.figures.curve import Curve
from toydepth.figures.exclusion_scan import Scan, exclusion_scan
from toydepth.figures.exponent_map import Cell, exponent_map
from toydepth.figures.exponent_over_correlation import Crossing, exponent_over_correlation
from toydepth.figures.frontier import Budget, Frontier, frontier
from toydepth.figures.law_terms import Term, terms
from toydepth.figures.layer_angles import Profile, angles_against_layer
from toydepth.figures.local_exponents import local_exponents
from toydepth.figures.loss_against_size import loss_against_size
from toydepth.figures.loss_over_training import Training, loss_over_training
from toydepth.figures.observed_predicted import observed_against_predicted
from toydepth.figures.over_training import Course, exponent_over_training
from toydepth.figures.read_out import ReadOut, read_out
from toydepth.figures.shape_price import ShapePrice, shape_price
from toydepth.figures.spread import Spread
from toydepth.figures.step_against_depth import Step, step_against_depth
from toydepth.figures.style import png
from toydepth.figures.three_exponents import three_exponents
from toydepth.figures.token_clusters import Cluster, trajectories
from toydepth.figures.trace_map import Trace, trace_map

__all__ = [
    "Budget",
    "Cell",
    "Cluster",
    "Course",
    "Crossing",
    "Curve",
    "Frontier",
    "Profile",
    "ReadOut",
    "Scan",
    "ShapePrice",
    "Spread",
    "Step",
    "Term",
    "Trace",
    "Training",
    "angles_against_layer",
    "exclusion_scan",
    "exponent_map",
    "exponent_over_correlation",
    "exponent_over_training",
    "frontier",
    "local_exponents",
    "loss_against_size",
    "loss_over_training",
    "observed_against_predicted",
    "png",
    "read_out",
    "shape_price",
    "step_against_depth",
    "terms",
    "three_exponents",
    "trace_map",
    "trajectories",
]
