"""Lanczos and the trace against a dense Hessian of a small head."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from toydepth.engine import layout
from toydepth.engine.curvature import curvature
from toydepth.engine.observer import observer
from toydepth.toy import Purpose, problem_of

SMALL = {
    "teacher": {"kind": "head", "depth": 0},
    "student": {"block": "head", "depth": [0], "width": 4, "scale": 1.0},
    "objective": {"kind": "kl", "head": "learned", "vocabulary": 6},
    "target": {"temperature": [0.01, 0.5]},
    "train": {"method": "scratch", "batch_size": 64},
}


@pytest.mark.parametrize("probes", [100, 12])
def test_eigenvalues_and_trace_are_those_of_the_dense_hessian(make, probes):
    e = make(SMALL | {"hessian": {"eigenvalues": 3, "probes": probes}})
    problem = problem_of(e)
    grid = layout(1, replicas=1, batch=64)
    teacher = problem.teacher(0)
    teachers = grid.spread(np.asarray(teacher)[None])
    params = problem.start(4)
    cells = jax.tree.map(lambda w: np.broadcast_to(w, (1, 2, *w.shape)), params)
    seen = observer(e, problem, grid, teachers)(cells)

    flat, unravel = ravel_pytree(params)
    x = jax.jit(problem.inputs)(problem.key(Purpose.TEST), 0, np.arange(64))
    target = jax.jit(problem.targets)(teacher, x)
    for cell in (0, 1):

        def loss(flat, cell=cell):
            return problem.loss(unravel(flat), teacher, problem.conditions[cell], x, target)

        dense = np.asarray(jax.jit(jax.hessian(loss))(flat), float)
        top = np.sort(np.linalg.eigvalsh(dense))[::-1][:3]
        found = seen[0, cell]
        assert [found[f"hessian_{i}"] for i in (1, 2, 3)] == pytest.approx(top, rel=1e-4)
        error = found["hessian_trace_stderr"]
        assert found["hessian_trace"] == pytest.approx(
            np.trace(dense), rel=1e-4 if probes > 24 else 0, abs=4 * error
        )
        assert (error > 0) is (probes < 24)
        assert found["gradient_norm"] > 0


@pytest.mark.parametrize("flat", [0.0, np.inf])
def test_a_cell_without_curvature_costs_the_others_nothing(make, flat):
    """A loss that is level, or whose derivatives are no numbers, in the second of two cells."""
    e = make(SMALL | {"hessian": {"eigenvalues": 2}})
    problem = problem_of(e)

    def loss(params, teacher, condition, *rest):
        return jax.lax.cond(
            condition == 1,
            lambda: flat * jnp.sum(jnp.square(params["head"])),
            lambda: problem.loss(params, teacher, condition, *rest),
        )

    grid = layout(1, replicas=1, batch=64)
    teachers = grid.spread(np.asarray(problem.teacher(0))[None])
    params = jax.tree.map(lambda w: np.broadcast_to(w, (1, 2, *w.shape)), problem.start(4))
    seen = observer(e, dataclasses.replace(problem, loss=loss, observe=None), grid, teachers)(
        params
    )
    assert set(seen[0, 0]) == {"hessian_1", "hessian_2", "hessian_trace", "hessian_trace_stderr"}
    assert seen[0, 1] == {}


def test_a_trace_is_as_far_from_the_truth_as_it_says():
    generator = np.random.default_rng(1)
    a = generator.normal(size=(60, 60)).astype(np.float32)
    matrix = a @ a.T / 60
    found = curvature(lambda v: matrix @ np.ravel(v), 60, 4, 30)
    np.testing.assert_allclose(found.eigenvalues, np.linalg.eigvalsh(matrix)[::-1][:4], rtol=1e-4)
    assert 0 < found.trace_stderr < 0.05 * np.trace(matrix)
    assert found.trace == pytest.approx(np.trace(matrix), abs=4 * found.trace_stderr)


def test_more_eigenvalues_than_parameters_are_refused():
    with pytest.raises(ValueError, match="6 eigenvalues of 6"):
        curvature(lambda v: jnp.ravel(v), 6, 6, 4)
