"""The loop: devices, phases, divergence, and that a replica is what a run of its own would be."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from toydepth.engine import Checkpoints, Progress, layout, prepare_job, run
from toydepth.toy import Purpose, depth_problem

SMALL = {
    "teacher": {"depth": 6},
    "student": {"depth": [2, 4], "width": 8},
    "train": {"steps": 30, "batch_size": 32, "test_batches": 3, "tests": 2},
    "engine": {"chunk": 10},
    "optimizer": {"learning_rate": 3e-3},
}


def merged(changes):
    out = {group: dict(values) for group, values in SMALL.items()}
    for group, values in changes.items():
        out[group] = out.get(group, {}) | values if isinstance(values, dict) else values
    return out


def trained(
    e, folder, devices=1, problem=None, wrap=None, show=lambda *_: None, keep=lambda *_: None
):
    """The outcome of every rung, and every measurement."""
    records = []
    grid = layout(devices, replicas=e.replicas, batch=e.train.batch_size)
    job = prepare_job(e, problem or depth_problem(e), grid)
    if wrap is not None:  # notes each time that training asks the teachers
        ask = job.programs.targets

        def noted(*args):
            wrap.append(args)
            return ask(*args)

        job = dataclasses.replace(job, programs=job.programs._replace(targets=noted))
    with Checkpoints(folder) as checkpoints:
        at = run(job, checkpoints, Progress(), record=records.append, show=show, keep=keep)
    assert at.records == len(records)
    return at.rungs, records


def losses(rungs):
    return np.array([r["loss"] for r in rungs])


@pytest.mark.parametrize(
    "method, replicas, counts",
    [
        ("scratch", 1, (8,)),
        pytest.param("continuation", 2, (2, 4, 8), marks=pytest.mark.slow),
    ],
)
def test_any_number_of_devices_gives_the_numbers_of_one(make, tmp_path, method, replicas, counts):
    """Two replicas are split over two devices first, and over four or eight with their rows."""
    e = make(merged({"train": {"method": method}}) | {"replicas": replicas})
    one, records = trained(e, tmp_path / "1", 1)
    for devices in counts:
        found, more_records = trained(e, tmp_path / str(devices), devices)
        np.testing.assert_allclose(losses(found), losses(one), rtol=1e-5)
        measured = [[r["loss"] for r in rs] for rs in (records, more_records)]
        np.testing.assert_allclose(*measured, rtol=1e-5)


def test_replicas_and_temperatures_train_as_runs_of_their_own(make, tmp_path):
    kl = {"objective": {"kind": "kl", "head": "learned", "vocabulary": 16}}
    together, _ = trained(
        make(merged(kl | {"replicas": 2, "target": {"temperature": [0.1, 1.0]}})),
        tmp_path / "together",
        devices=4,
    )
    assert len(together) == 2 * 2 * 2  # rungs, replicas, temperatures
    for replica in (0, 1):
        for temperature in (0.1, 1.0):
            alone, _ = trained(
                make(
                    merged(kl | {"target": {"temperature": temperature}})
                    | {"teacher": {"depth": 6, "seed": replica}}
                ),
                tmp_path / f"alone-{replica}-{temperature}",
            )
            cell = [
                r for r in together if (r["replica"], r["temperature"]) == (replica, temperature)
            ]
            np.testing.assert_allclose(losses(cell), losses(alone), rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["scratch", "continuation"])
def test_a_rung_that_diverges_is_marked_and_the_others_stand(make, tmp_path, method):
    def breaks_at_depth_4(params, *rest):
        loss = problem.loss(params, *rest)
        moved = jnp.abs(params["layers"]["w_out"][...]).max()
        deep = params["layers"]["w_in"].shape[0] == 4
        return jnp.where(deep & (moved > 0.02), jnp.nan, loss)

    e = make(merged({"student": {"depth": [2, 4, 8]}, "train": {"method": method}}))
    problem = depth_problem(e)
    whole, _ = trained(e, tmp_path / "whole")
    broken = dataclasses.replace(problem, loss=breaks_at_depth_4)
    rungs, records = trained(e, tmp_path / "broken", problem=broken)

    by_depth = {r["size"]: r for r in rungs}
    assert [by_depth[d]["status"] for d in (2, 4, 8)] == ["completed", "diverged", "completed"]
    assert by_depth[2]["loss"] == whole[0]["loss"]
    assert by_depth[4]["loss"] is None
    bad = by_depth[4]["diverged_step"]
    assert 0 < bad < 30
    assert max(r["step"] for r in records if r["size"] == 4) == 10 * (bad // 10 + 1)
    assert np.isfinite(by_depth[8]["loss"])


def test_the_stream_is_the_same_however_many_rows_a_device_draws(make):
    problem = depth_problem(make(SMALL))
    key = problem.key(Purpose.TRAIN)
    whole = problem.inputs(key, 3, np.arange(32))
    parts = [problem.inputs(key, 3, np.arange(i, i + 4)) for i in range(0, 32, 4)]
    np.testing.assert_array_equal(whole, np.concatenate(parts))
    other = problem.inputs(problem.key(Purpose.TEST), 3, np.arange(32))
    assert not np.allclose(whole, other)
    assert abs(float(whole.mean())) < 0.3 and 0.8 < float(whole.std()) < 1.2


def test_layout_splits_replicas_first():
    grid = layout(8, replicas=2, batch=32)
    assert (grid.replica_shards, grid.row_shards) == (2, 4)
    assert grid.row_groups == [[0, 1, 2, 3], [4, 5, 6, 7]]
    values = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(grid.collect(grid.spread(values)), values)
    with pytest.raises(ValueError, match="cannot divide"):
        layout(8, replicas=1, batch=12)
    with pytest.raises(ValueError, match="this machine has 8"):
        layout(9, replicas=1, batch=9)
    assert len(layout(None, replicas=1, batch=12).devices) == 6


def test_the_target_cache_changes_no_number(make, tmp_path):
    calls = {}
    room_for_one = 1.1e-6 * 10 * 32 * 8 * 4 / 1e3  # gigabytes: a chunk of float32, and a tenth
    for gigabytes in (0.0, room_for_one, 2.0):
        e = make(merged({"engine": {"target_cache_gb": gigabytes, "chunk": 10}}))
        count = calls.setdefault(gigabytes, [])
        rungs, records = trained(e, tmp_path / str(gigabytes), wrap=count)
        calls[gigabytes] = (len(count), losses(rungs), [r["loss"] for r in records])
    # Two rungs of three chunks: the second rung finds none, one or all of the first's.
    assert [asked for asked, *_ in calls.values()] == [6, 5, 3]
    without, *cached = calls.values()
    for _, final, measured in cached:
        np.testing.assert_array_equal(without[1], final)
        assert without[2] == measured


@pytest.mark.parametrize("method", ["scratch", "continuation"])
def test_convergence_is_measured_by_doubling(make, tmp_path, method):
    train = {"converge": True, "tolerance": 0.2, "max_doublings": 2, "method": method}
    rungs, records = trained(make(merged({"train": train})), tmp_path)
    assert [r["size"] for r in rungs if r["size"] == 2] == [2]
    for rung in rungs:
        sequence = rung["annealed"]
        assert 2 <= len(sequence) <= 3 and sequence[-1] == pytest.approx(rung["loss"], rel=1e-6)
        assert rung["steps"] == 30 * (2 ** len(sequence) - 1)
        assert rung["converged"] is bool(abs(1 - sequence[-1] / sequence[-2]) < 0.2)
        assert rung["converged"] or len(sequence) == 3
        steps = [r["step"] for r in records if r["size"] == rung["size"] and r["kind"] == "train"]
        fine = {round(10 ** (k / 10)) for k in range(24)}  # early steps are told in finer parts
        ends = set(range(10, rung["steps"] + 1, 10))
        assert steps == sorted(ends | {m for m in fine if m <= rung["steps"]})


def test_a_budget_that_ends_is_said(make, tmp_path):
    train = {"converge": True, "tolerance": 0.0, "max_doublings": 1}
    rungs, _ = trained(make(merged({"train": train})), tmp_path)
    assert [r["converged"] for r in rungs] == [False, False]
    unmeasured, _ = trained(make(SMALL), tmp_path / "plain")
    assert [r["converged"] for r in unmeasured] == [None, None]


@pytest.mark.slow
def test_training_less_exactly_is_tested_exactly_and_says_what_it_costs(make, tmp_path):
    """A training loss that is twice the loss: the same minimum, and easy to tell apart."""
    e = make(SMALL)
    problem = depth_problem(e)
    twice = dataclasses.replace(problem, training_loss=lambda *args: 2 * problem.loss(*args))
    doubled, _ = trained(e, tmp_path / "twice", problem=twice)
    plain, _ = trained(e, tmp_path / "plain")
    for rung, exact in zip(doubled, plain, strict=True):
        assert exact["loss_as_trained"] is None
        assert rung["loss"] == pytest.approx(exact["loss"], rel=1e-3)  # Adam does not see the 2
        assert rung["loss_as_trained"] == pytest.approx(2 * rung["loss"], rel=1e-5)


@pytest.mark.slow
def test_bfloat16_training_differs_and_comes_close(make, tmp_path):
    low, _ = trained(make(merged({"train": {"precision": "bfloat16"}})), tmp_path / "low")
    high, _ = trained(make(SMALL), tmp_path / "high")
    for rung, exact in zip(low, high, strict=True):
        assert rung["loss"] != exact["loss"]
        assert rung["loss"] == pytest.approx(exact["loss"], rel=0.2)


@pytest.mark.slow
def test_one_rung_settles_while_another_trains_on(make, tmp_path):
    def slow_at_depth_4(params, *rest):
        loss = problem.loss(params, *rest)
        deep = params["layers"]["w_in"].shape[0] == 4
        return loss if deep else 1 + 1e-3 * loss  # depth 2's loss hardly falls

    e = make(merged({"train": {"converge": True, "method": "scratch", "tolerance": 0.02}}))
    problem = depth_problem(e)
    broken = dataclasses.replace(problem, loss=slow_at_depth_4)
    rungs, records = trained(e, tmp_path, problem=broken)
    settled, other = sorted(rungs, key=lambda r: r["size"])
    assert settled["converged"] is True and settled["steps"] == 90
    assert other["steps"] > 90
    assert max(r["step"] for r in records if r["size"] == 2) == 90


@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, 4])
def test_a_gpu_s_way_over_the_cells_gives_the_same(make, tmp_path, monkeypatch, devices):
    """A GPU maps over replicas and conditions with vmap; the numbers must be a CPU's."""
    kl = {"objective": {"kind": "kl", "head": "learned", "vocabulary": 16}}
    e = make(merged(kl | {"replicas": 2, "target": {"temperature": [0.1, 1.0]}}))
    one_by_one, _ = trained(e, tmp_path / "map", devices)
    monkeypatch.setattr("toydepth.engine.programs.over", lambda f, xs: jax.vmap(f)(xs))
    batched, _ = trained(e, tmp_path / "vmap", devices)
    np.testing.assert_allclose(losses(batched), losses(one_by_one), rtol=1e-4)


def test_the_share_of_the_work_counts_sizes_and_targets_asked_for_the_first_time(make, tmp_path):
    e = make(merged({"train": {"steps": [10, 30]}}))
    shares = []
    trained(e, tmp_path, show=lambda step, label, loss, share: shares.append(share))
    target = 6 / 3  # a teacher of depth 6, forward only
    first, second = 10 * (2 + target), 30 * 4 + 20 * target
    done = [first, first + 10 * 4, first + 20 * 4 + 10 * target, first + second]
    np.testing.assert_allclose(shares, np.array(done) / (first + second))


def test_the_share_of_the_work_reaches_one_when_convergence_takes_longer_than_it_must(
    make, tmp_path
):
    e = make(merged({"train": {"converge": True, "tolerance": 0.0, "max_doublings": 2}}))
    shares = []
    trained(e, tmp_path, show=lambda step, label, loss, share: shares.append(share))
    first_rung = shares[: 3 * (1 + 2 + 4)]  # three chunks a round, the rounds doubling
    assert 0 < min(first_rung) and max(first_rung) < 1
    assert max(shares) == shares[-1] == 1


@pytest.mark.parametrize(
    "method", ["scratch", pytest.param("continuation", marks=pytest.mark.slow)]
)
def test_every_reported_rung_is_kept_as_it_was_tested(make, tmp_path, method):
    """The kept weights give the loss that was written down."""
    e = make(merged({"train": {"method": method}}) | {"replicas": 2})
    kept = {}
    problem = depth_problem(e)
    rungs, _ = trained(e, tmp_path, keep=lambda size, params: kept.update({size: params}))
    assert list(kept) == [2, 4]
    for rung in rungs:
        if not rung["reported"]:
            continue
        teacher = problem.teacher(e.teacher.seed + rung["replica"])
        params = jax.tree.map(lambda x, r=rung: x[r["replica"], 0], kept[rung["size"]])
        found = []
        for batch in range(e.train.test_batches):
            rows = jnp.arange(e.train.batch_size)
            x = problem.inputs(problem.key(Purpose.TEST), batch, rows)
            target = problem.targets(teacher, x)
            found.append(problem.loss(params, teacher, problem.conditions[0], x, target))
        assert np.mean(found) == pytest.approx(rung["loss"], rel=1e-5)
