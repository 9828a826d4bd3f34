"""launcher=ray on a real Ray cluster: two nodes on loopback, one of which is lost in mid-sweep."""

import json
import os
import subprocess
import sys
import time

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.cluster]


@pytest.fixture
def cluster(need):
    need(importable("ray"), "ray not installed (toydepth[cluster])")
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        yield cluster
    finally:
        cluster.shutdown()


def importable(name):
    from importlib.util import find_spec

    return find_spec(name) is not None


def report(folder):
    found = json.loads((folder / "report.json").read_text())
    keep = ("teacher", "objective", "sizes", "losses", "alpha", "local_alpha", "replicas")
    return [{name: regime[name] for name in keep} for regime in found["regimes"]]


def test_a_sweep_by_ray_reports_what_one_machine_does_also_when_a_node_is_lost(
    cluster, command, tmp_path, tiny
):
    words = ["-m", *tiny, "teacher=shared,independent", "student.depth=[2,3]"]
    words += ["train.steps=[20,400]"]
    whole = command(*words, "hydra.sweep.dir=whole", timeout=600)
    assert whole.returncode == 0, whole.stderr
    node = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    waiting = subprocess.Popen(
        [sys.executable, "-m", "toydepth.train", *words, "launcher=ray", "hydra.sweep.dir=sweep"],
        cwd=tmp_path,
        env=os.environ | {"RAY_ADDRESS": cluster.address},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        histories = [tmp_path / "sweep" / number / "history.jsonl" for number in "01"]
        deadline = time.monotonic() + 600
        while not all(h.exists() and '"size": 3' in h.read_text() for h in histories):
            assert waiting.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)
        cluster.remove_node(node, allow_graceful=False)
        said = waiting.communicate(timeout=600)[1]
    finally:
        waiting.kill()
    assert waiting.returncode == 0, said
    assert report(tmp_path / "sweep") == report(tmp_path / "whole")
    assert "job 0: shared teacher" in said and "job 1: independent teacher" in said
