"""What a test measures besides the loss: the problem's own numbers, and the loss's curvature."""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import PyTree
from scipy.sparse.linalg import ArpackError

from toydepth.config import Experiment
from toydepth.engine.curvature import curvature
from toydepth.engine.devices import Layout
from toydepth.toy import Problem, Purpose

Observed = dict[tuple[int, int], dict[str, float]]


def observer(
    e: Experiment, problem: Problem, layout: Layout, teachers: PyTree
) -> Callable[[PyTree], Observed] | None:
    """A function from a rung's parameters (replica, condition, ...) to the numbers of each cell.

    They are taken on the first test batch, on one device, since they are no means over rows. None
    where there is nothing to observe. A cell that has diverged has none, and one whose Hessian has
    no largest eigenvalue (all zero, not finite) has no curvature.
    """
    if problem.observe is None and not e.hessian.eigenvalues:
        return None
    collected = layout.collect(teachers)
    own = [jax.tree.map(lambda t, r=r: jnp.asarray(t[r]), collected) for r in range(e.replicas)]
    rows = jnp.arange(e.train.batch_size)
    x = jax.jit(problem.inputs)(problem.key(Purpose.TEST), 0, rows)
    targets = [jax.jit(problem.targets)(teacher, x) for teacher in own]
    measure = jax.jit(problem.observe) if problem.observe else lambda *_: {}

    @partial(jax.jit, static_argnames="unravel")
    def product(flat, vector, teacher, condition, target, unravel):
        def loss(flat):
            return problem.loss(unravel(flat), teacher, condition, x, target)

        return jax.jvp(jax.grad(loss), (flat,), (vector,))[1]

    def bend(params: PyTree, *rest: PyTree) -> dict[str, float]:
        """The largest eigenvalues of the Hessian and its trace, by name."""
        flat, unravel = ravel_pytree(params)

        def times(vector):
            found = product(flat, jnp.ravel(vector), *rest, unravel)
            return np.asarray(found)

        try:
            found = curvature(times, flat.size, e.hessian.eigenvalues, e.hessian.probes)
        except ArpackError:  # a Hessian of zeros, or one that is not finite
            return {}
        named = {f"hessian_{i + 1}": float(v) for i, v in enumerate(found.eigenvalues)}
        return named | {"hessian_trace": found.trace, "hessian_trace_stderr": found.trace_stderr}

    def observe(params: PyTree) -> Observed:
        seen = {}
        for cell in np.ndindex(e.replicas, len(problem.labels)):
            mine = jax.tree.map(lambda w, at=cell: jnp.asarray(w[at]), params)
            seen[cell] = {}
            if not all(np.isfinite(w).all() for w in jax.tree.leaves(mine)):
                continue
            rest = own[cell[0]], problem.conditions[cell[1]]
            numbers = measure(mine, *rest, x, targets[cell[0]])
            seen[cell] = {name: float(value) for name, value in numbers.items()}
            if e.hessian.eigenvalues:
                seen[cell] |= bend(mine, *rest, targets[cell[0]])
        return seen

    return observe
