"""Update rules by name, without a learning rate: the schedule's rate is applied by the step."""

from collections.abc import Callable

import optax
from jaxtyping import PyTree

from toydepth.config import Optimizer


def update_rule(
    o: Optimizer, decay: Callable[[PyTree], PyTree] | None = None
) -> optax.GradientTransformation:
    """The direction of an update; the parameters move by minus the rate times it.

    `decay` maps parameters to a direction that is added as it is (decoupled weight decay).
    """
    rule = RULES[o.name](o)
    if decay is None:
        return rule
    pull = optax.stateless(lambda updates, params: optax.tree.add(updates, decay(params)))
    return optax.chain(rule, pull)


RULES = {
    "adam": lambda o: optax.scale_by_adam(b1=o.b1, b2=o.b2, eps=o.eps),
    "sgd": lambda o: optax.identity(),
}
