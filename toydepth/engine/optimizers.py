"""Update rules by name, without a learning rate: the schedule's rate is applied by the step."""

import optax

from toydepth.config import Optimizer


def update_rule(o: Optimizer) -> optax.GradientTransformation:
    """The direction of an update; the parameters move by minus the rate times it."""
    return RULES[o.name](o)


RULES = {"adam": lambda o: optax.scale_by_adam(b1=o.b1, b2=o.b2, eps=o.eps)}
