"""Every plot, one function each: data in, matplotlib Figure out.

No pyplot, no display, no global state: save a figure with `figure.savefig(path)`.

- `Curve`              the losses of one regime, and its fit
- `loss_against_size`  losses and fitted power laws, log-log
- `local_exponents`    the exponent between neighbouring sizes
- `Course`, `exponent_over_training`  the exponent while the rungs train
"""

from toydepth.figures.curve import Curve
from toydepth.figures.local_exponents import local_exponents
from toydepth.figures.loss_against_size import loss_against_size
from toydepth.figures.over_training import Course, exponent_over_training

__all__ = ["Course", "Curve", "exponent_over_training", "local_exponents", "loss_against_size"]
