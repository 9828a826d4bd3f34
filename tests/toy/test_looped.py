"""Students of one layer, repeated, through the engine: depths are not taken for one another."""

import jax
import numpy as np
import pytest

from toydepth.engine import Checkpoints, Progress, layout, prepare_job, run
from toydepth.toy import depth_problem

SMALL = {
    "teacher": {"depth": 6},
    "student": {"block": "looped", "depth": [2, 4], "width": 8},
    "train": {"steps": 20, "batch_size": 32, "test_batches": 3, "tests": 2},
    "engine": {"chunk": 10},
}


def nothing(*_):
    """Neither records nor shows."""


@pytest.mark.parametrize(
    "method", ["scratch", pytest.param("continuation", marks=pytest.mark.slow)]
)
def test_a_rung_of_a_ladder_is_what_it_is_alone(make, tmp_path, method):
    def trained(depths):
        """(what is known of the deepest rung, its parameters)"""
        groups = {"student": {"depth": depths}, "train": {"method": method}}
        e = make({name: values | groups.get(name, {}) for name, values in SMALL.items()})
        job = prepare_job(e, depth_problem(e), layout(1, replicas=1, batch=32))
        kept = {}
        with Checkpoints(tmp_path / str(len(depths))) as checkpoints:
            at = run(
                job,
                checkpoints,
                Progress(),
                record=nothing,
                show=nothing,
                keep=lambda depth, params: kept.update({depth: params}),
            )
        return at.rungs[-1], kept[4]

    ladder, params = trained([2, 4])
    alone, alone_params = trained([4])  # by continuation through a ramp of 2
    assert ladder["size"] == alone["size"] == 4
    assert ladder["parameters"] == 8 * 32 + 32 + 32 * 8
    assert ladder["loss"] == pytest.approx(alone["loss"], rel=1e-5)
    assert jax.tree.structure(params) == jax.tree.structure(alone_params)
    for one, other in zip(jax.tree.leaves(params), jax.tree.leaves(alone_params), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)
