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
        of (parameters, optimiser state) for each size, the rates (rungs, condition, steps) on the
        host, and the losses, before each step's update,
        (devices, replica, condition, rungs, steps).
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
    """The programs of one job. Each compiles once for each tuple of sizes it is called with.

    Seeds and conditions are arguments of the compiled programs, not constants in them, so that
    the jobs of a sweep over either share what has been compiled.
    """
    training_loss = problem.training_loss or problem.loss
    own = batch // layout.row_shards
    pmap = partial(jax.pmap, axis_name=AXIS, devices=layout.devices)
    mean = partial(jax.lax.pmean, axis_name=AXIS, axis_index_groups=layout.row_groups)

    def inputs(key, step):
        first = jax.lax.axis_index(AXIS) % layout.row_shards * own
        return problem.inputs(jax.random.wrap_key_data(key), step, first + jnp.arange(own))

    def each_cell(function, conditions, rung, teacher, target):
        """`function` of each replica and condition: (rung, teacher, condition, target)."""

        def of_replica(at):
            rung, teacher, target = at
            return over(
                lambda cell: function(cell[0], teacher, cell[1], target), (rung, conditions)
            )

        return over(of_replica, (rung, teacher, target))

    def targets(teacher, key, steps):
        def at(step):
            x = inputs(key, step)
            return over(lambda own: problem.targets(own, x), teacher)

        return jax.lax.map(at, steps)

    def apply(rung, gradient, rates):
        def cell(at):
            ((params, state), gradient), rate = at
            change, state = update_rule.update(gradient, state, params)
            return optax.apply_updates(params, optax.tree.scale(-rate, change)), state

        return over(lambda replica: over(cell, (replica, rates)), (rung, gradient))

    def train(rungs, teacher, key, conditions, steps, rates, targets):
        def one_step(rungs, at):
            step, rate, target = at
            x = inputs(key, step)

            def gradient(rung, teacher, condition, target):
                return jax.value_and_grad(training_loss)(rung[0], teacher, condition, x, target)

            found = [each_cell(gradient, conditions, rung, teacher, target) for rung in rungs]
            losses, gradients = zip(*found, strict=True)
            # All rungs' gradients are exchanged together: at each exchange the devices wait.
            rungs = tuple(map(apply, rungs, mean(gradients), rate))
            return rungs, jnp.stack(losses, axis=-1)

        rungs, losses = jax.lax.scan(one_step, rungs, (steps, jnp.moveaxis(rates, -1, 0), targets))
        # The losses are averaged over devices here, once: each exchange has a fixed cost.
        return rungs, mean(jnp.moveaxis(losses, 0, -1))

    def test(loss, rungs, teacher, key, conditions, batches, targets):
        def at(batch):
            index, target = batch
            x = inputs(key, index)

            def measure(rung, teacher, condition, target):
                return loss(rung[0], teacher, condition, x, target)

            losses = [each_cell(measure, conditions, rung, teacher, target) for rung in rungs]
            return jnp.stack(losses, axis=-1)

        return mean(jnp.moveaxis(jax.lax.map(at, (batches, targets)), 0, -1))

    def key(purpose):
        return jax.random.key_data(problem.key(purpose))

    on_targets = pmap(targets, in_axes=(0, None, None))
    on_train = pmap(train, in_axes=(0, 0, None, None, None, None, 0), donate_argnums=0)

    def tester(loss):
        program = pmap(partial(test, loss), in_axes=(0, 0, None, None, None, 0))
        return lambda rungs, teacher, *rest: program(
            rungs, teacher, key(Purpose.TEST), problem.conditions, *rest
        )

    return Programs(
        targets=lambda teacher, purpose, steps: on_targets(teacher, key(purpose), steps),
        train=lambda rungs, teacher, *rest: on_train(
            rungs, teacher, key(Purpose.TRAIN), problem.conditions, *rest
        ),
        test=tester(problem.loss),
        test_as_trained=tester(training_loss),
        init=pmap(jax.vmap(jax.vmap(update_rule.init))),
    )
