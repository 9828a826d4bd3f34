"""The compiled programs: targets of a stretch of the stream, training steps on it, test losses.

Every array of a ladder has the axes (replica, condition) in front; each program is written for
one cell, mapped over both, scanned over steps and `pmap`ped over devices.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import PyTree

from toydepth.engine.devices import AXIS, Layout
from toydepth.toy import Problem, Purpose


def over(function: Callable[[PyTree], PyTree], xs: PyTree) -> PyTree:
    """`function` of each entry of the leading axis.

    A GPU runs the entries as one batch (`vmap`). A CPU takes them one after another: its products
    of a batch are a fifth slower than as many single ones, and what one entry needs fits in cache.
    """
    if jax.default_backend() == "cpu":
        return jax.lax.map(function, xs)
    return jax.vmap(function)(xs)


class Programs(NamedTuple):
    """Device arrays have a leading axis of devices, then the replicas that a device owns.

    Attributes:
      targets: (teacher, purpose, steps) -> targets (devices, steps, replica, rows, ...).
      train: (rungs, teacher, steps, rates, targets) -> (rungs, losses), the rungs being a tuple
        of (parameters, optimiser state) for each size, the rates (rungs, steps) on the host, and
        the losses, before each step's update, (devices, replica, condition, rungs, steps).
      test: (rungs, teacher, batches, targets) -> losses of each batch, laid out as in `train`.
      test_as_trained: the same with the loss as training computes it.
      init: parameters (devices, replica, condition, ...) -> optimiser state.
    """

    targets: Callable[..., PyTree]
    train: Callable[..., PyTree]
    test: Callable[..., PyTree]
    test_as_trained: Callable[..., PyTree]
    init: Callable[..., PyTree]


def build(
    problem: Problem, update_rule: optax.GradientTransformation, layout: Layout, *, batch: int
) -> Programs:
    """The programs of one job. Each compiles once for each tuple of sizes it is called with."""
    training_loss = problem.training_loss or problem.loss
    own = batch // layout.row_shards
    pmap = partial(jax.pmap, axis_name=AXIS, devices=layout.devices)
    mean = partial(jax.lax.pmean, axis_name=AXIS, axis_index_groups=layout.row_groups)

    def inputs(purpose, step):
        first = jax.lax.axis_index(AXIS) % layout.row_shards * own
        return problem.inputs(purpose, step, first + jnp.arange(own))

    def cells(function):
        """Over replicas and conditions; the inputs are everyone's, the rate a rung's."""

        def of_replica(rung, teacher, x, target, rate):
            def of_condition(at):
                own, condition = at
                return function(own, teacher, condition, x, target, rate)

            return over(of_condition, (rung, problem.conditions))

        def of_all(rungs, teachers, x, targets, rate):
            return over(
                lambda at: of_replica(at[0], at[1], x, at[2], rate), (rungs, teachers, targets)
            )

        return of_all

    def targets(teacher, purpose, steps):
        def at(step):
            x = inputs(purpose, step)
            return over(lambda own: problem.targets(own, x), teacher)

        return jax.lax.map(at, steps)

    @cells
    def update(rung, teacher, condition, x, target, rate):
        params, state = rung
        loss, gradient = jax.value_and_grad(training_loss)(params, teacher, condition, x, target)
        gradient = mean(gradient)
        change, state = update_rule.update(gradient, state, params)
        params = optax.apply_updates(params, optax.tree.scale(-rate, change))
        return (params, state), loss

    def train(rungs, teacher, steps, rates, targets):
        def one_step(rungs, at):
            step, rate, target = at
            x = inputs(Purpose.TRAIN, step)
            results = [update(rung, teacher, x, target, rate[i]) for i, rung in enumerate(rungs)]
            rungs, losses = zip(*results, strict=True)
            return rungs, jnp.stack(losses, axis=-1)

        rungs, losses = jax.lax.scan(one_step, rungs, (steps, rates.T, targets))
        # The losses are averaged over devices here, once: each exchange has a fixed cost.
        return rungs, mean(jnp.moveaxis(losses, 0, -1))

    def test(loss, rungs, teacher, batches, targets):
        @cells
        def measure(rung, teacher, condition, x, target, _):
            return loss(rung[0], teacher, condition, x, target)

        def at(batch):
            index, target = batch
            x = inputs(Purpose.TEST, index)
            losses = [measure(rung, teacher, x, target, None) for rung in rungs]
            return jnp.stack(losses, axis=-1)

        return mean(jnp.moveaxis(jax.lax.map(at, (batches, targets)), 0, -1))

    return Programs(
        targets=pmap(targets, in_axes=(0, None, None), static_broadcasted_argnums=1),
        train=pmap(train, in_axes=(0, 0, None, None, 0), donate_argnums=0),
        test=pmap(partial(test, problem.loss), in_axes=(0, 0, None, 0)),
        test_as_trained=pmap(partial(test, training_loss), in_axes=(0, 0, None, 0)),
        init=pmap(jax.vmap(jax.vmap(update_rule.init))),
    )
