"""launcher=slurm on a real Slurm of one node: munged, slurmctld and slurmd, started for it."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.cluster]

PATH = f"/usr/sbin:/sbin:{os.environ['PATH']}"
NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "srun")
CONF = """
ClusterName=loopback
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=1,sched_interval=1
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=15
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


@pytest.fixture(scope="module")
def slurm(tmp_path_factory, need):
    """The environment in which the cluster's commands find it."""
    absent = [name for name in NEEDED if not shutil.which(name, path=PATH)]
    need(not absent, f"{', '.join(absent)} not installed (Debian: slurm-wlm, munge)")
    need(os.geteuid() == 0, "Slurm's daemons are started by root alone")
    pytest.importorskip("hydra_plugins.hydra_submitit_launcher")
    folder = tmp_path_factory.mktemp("slurm")
    host = socket.gethostname()
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        ports = [one.getsockname()[1], other.getsockname()[1]]
    (folder / "slurm.conf").write_text(CONF.format(host=host, ports=ports, folder=folder))
    (folder / "munge.key").write_bytes(os.urandom(1024))
    (folder / "munge.key").chmod(0o400)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    munge = ["munged", "--foreground", "--force", f"--socket={folder}/munge.socket"]
    munge += [f"--{name}-file={folder}/munge.{name}" for name in ("key", "pid", "seed", "log")]
    controller = ["slurmctld", "-D", "-c", "-f", f"{folder}/slurm.conf"]
    node = ["slurmd", "-D", "-N", host, "-f", f"{folder}/slurm.conf"]
    env = os.environ | {"SLURM_CONF": f"{folder}/slurm.conf", "PATH": PATH}
    daemons = []

    def until(ready, what):
        deadline = time.monotonic() + 60
        while not ready():
            logs = [path.read_text()[-2000:] for path in folder.glob("*.out")]
            assert time.monotonic() < deadline, "\n".join([what, *logs])
            time.sleep(0.2)

    def start(command):
        with open(folder / f"{command[0]}.out", "w") as out:
            daemons.append(subprocess.Popen(command, env=env, stdout=out, stderr=out))

    try:
        start(munge)
        until((folder / "munge.socket").exists, "munged does not start")
        start(controller)
        start(node)
        until(lambda: "idle" in ask(env, "sinfo", "-h", "-o", "%t"), "the node does not come up")
        yield env
    finally:
        ask(env, "scancel", "--user=root", "--full")
        for daemon in reversed(daemons):
            daemon.terminate()
            try:
                daemon.wait(timeout=20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


def ask(env, *command):
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60).stdout


SWEEP = ["teacher=shared,independent", "student.depth=[2,3]", "train.steps=[20,400]"]


@pytest.fixture
def sweep(command, tmp_path, tiny):
    """sweep(argument, ...) -> the numbers of the report, and of each job's result, of one sweep."""

    def call(folder, *arguments, env=None, words=SWEEP):
        done = command(
            "-m", *tiny, *words, *arguments, f"hydra.sweep.dir={folder}", env=env, timeout=600
        )
        assert done.returncode == 0, done.stderr
        return report(tmp_path / folder), done

    return call


def report(folder):
    found = json.loads((folder / "report.json").read_text())
    keep = ("teacher", "objective", "sizes", "losses", "alpha", "local_alpha", "replicas")
    return [{name: regime[name] for name in keep} for regime in found["regimes"]]


def test_a_sweep_by_slurm_reports_what_one_machine_does_also_when_a_job_is_requeued(
    sweep, slurm, tmp_path, tiny
):
    whole, _ = sweep("whole")
    words = ["-m", *tiny, *SWEEP, "launcher=slurm", "hydra.sweep.dir=sweep"]
    waiting = subprocess.Popen(
        [sys.executable, "-m", "toydepth.train", *words],
        cwd=tmp_path,
        env=os.environ | slurm,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        history = tmp_path / "sweep" / "1" / "history.jsonl"
        deadline = time.monotonic() + 600
        while not (history.exists() and '"size": 3' in history.read_text()):
            assert waiting.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)
        queue = ask(slurm, "squeue", "-h", "-r", "-o", "%F_%K").split()
        (job,) = [task for task in queue if task.endswith("_1")]
        subprocess.run(["scontrol", "requeue", job], env=slurm, check=True)
        while waiting.poll() is None:  # Slurm lets a requeued job wait for minutes
            ask(slurm, "scontrol", "update", f"JobId={job}", "StartTime=now")
            assert time.monotonic() < deadline + 300
            time.sleep(1)
        said = waiting.stderr.read()
    finally:
        waiting.kill()
    assert waiting.returncode == 0, said
    assert report(tmp_path / "sweep") == whole
    assert "job 0: shared teacher" in said and "job 1: independent teacher" in said
    logs = [path.read_text() for path in (tmp_path / "sweep" / ".submitit").rglob("*.err")]
    assert any("going on from step" in log for log in logs)


def test_the_tasks_of_a_slurm_job_train_it_together(sweep, slurm, tmp_path):
    words = ["student.depth=[2,3]", "train.steps=50"]
    whole, _ = sweep("whole", "parallel.devices=2", words=words)
    two = ["launcher=slurm", "hydra.launcher.tasks_per_node=2", "parallel.devices=2"]
    found, _ = sweep("sweep", *two, env=slurm, words=words)
    for regime, expected in zip(found, whole, strict=True):
        assert regime["losses"] == pytest.approx(expected["losses"], rel=1e-5)
    logs = [path.read_text() for path in (tmp_path / "sweep" / ".submitit").rglob("*.err")]
    assert sum("Rank 1 is connected" in log for log in logs) <= 1
    assert sum("trained for" in log for log in logs) == 1  # by the first alone
