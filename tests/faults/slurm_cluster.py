"""A Slurm cluster of one node on this machine: munged, slurmctld and slurmd, with state of its own."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DAEMONS = ("munged", "slurmctld", "slurmd")
PATH = "/usr/sbin:/sbin:" + os.environ.get("PATH", "")


def missing() -> str:
    """Why there can be no such cluster here; empty if there can."""
    absent = [name for name in (*DAEMONS, "sbatch", "srun") if not shutil.which(name, path=PATH)]
    if absent:
        return f"{', '.join(absent)} not installed (Debian: slurm-wlm, munge)"
    return "" if os.geteuid() == 0 else "Slurm's daemons are started by root alone"


@contextmanager
def slurm(folder: Path, cores: int) -> Iterator[dict[str, str]]:
    """Starts the daemons, and stops them. Yields the environment in which sbatch finds them."""
    folder.mkdir()
    host = socket.gethostname()
    munge = folder / "munge.socket"
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    controller, node = _ports(2)
    lines = {
        "ClusterName": "loopback",
        "SlurmctldHost": f"{host}(127.0.0.1)",
        "SlurmctldPort": controller,
        "SlurmdPort": node,
        "SlurmUser": "root",
        "SlurmdUser": "root",
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={munge}",
        "CredType": "cred/munge",
        "StateSaveLocation": folder / "state",
        "SlurmdSpoolDir": folder / "spool",
        "SlurmctldPidFile": folder / "slurmctld.pid",
        "SlurmdPidFile": folder / "slurmd.pid",
        "SlurmctldLogFile": folder / "slurmctld.log",
        "SlurmdLogFile": folder / "slurmd.log",
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "JobAcctGatherType": "jobacct_gather/none",
        "AccountingStorageType": "accounting_storage/none",
        "SwitchType": "switch/none",
        "MpiDefault": "none",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_Core",
        "SchedulerParameters": "batch_sched_delay=1,sched_interval=1,requeue_delay=1",
        "ReturnToService": 2,
        "KillWait": 15,
        "JobRequeue": 1,
        "SlurmdParameters": "config_overrides",  # as many cores as we say
    }
    conf = folder / "slurm.conf"
    text = "".join(f"{name}={value}\n" for name, value in lines.items())
    text += f"NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} State=UNKNOWN\n"
    text += f"PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP\n"
    conf.write_text(text)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    env = os.environ | {"SLURM_CONF": str(conf), "PATH": PATH}
    commands = [
        [
            *("munged", "--foreground", "--force", f"--socket={munge}", f"--key-file={key}"),
            *(f"--{name}-file={folder / name}" for name in ("pid", "seed", "log")),
        ],
        ["slurmctld", "-D", "-c", "-f", str(conf)],
        ["slurmd", "-D", "-N", host, "-f", str(conf)],
    ]
    daemons = []
    try:
        for command in commands:
            with open(folder / f"{command[0]}.out", "w") as out:
                daemons.append(
                    subprocess.Popen(
                        command, env=env, stdout=out, stderr=out, start_new_session=True
                    )
                )
            if command[0] == "munged":
                _wait(munge.exists, folder)
        _wait(lambda: "idle" in _run(env, "sinfo", "-h", "-o", "%t"), folder)
        yield env
    finally:
        _run(env, "scancel", "--user", "root", "--full")
        for daemon in reversed(daemons):
            daemon.terminate()
        for daemon in daemons:
            try:
                daemon.wait(timeout=20)
            except subprocess.TimeoutExpired:
                daemon.kill()


def _run(env: dict[str, str], *command: str) -> str:
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60).stdout


def _wait(ready, folder: Path) -> None:
    deadline = time.monotonic() + 60
    while not ready():
        if time.monotonic() > deadline:
            logs = [path.read_text()[-2000:] for path in (*folder.glob("*.out"), *folder.glob("*.log"))]
            raise TimeoutError("the Slurm cluster does not start:\n" + "\n".join(logs))
        time.sleep(0.2)


def _ports(count: int) -> list[int]:
    """Free ports of the loopback interface."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
