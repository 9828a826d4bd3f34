"""Devices: how many there are, and how a job is laid out over them."""

import os
from dataclasses import dataclass

import jax
import numpy as np
import platformdirs
from jaxtyping import PyTree

from toydepth.config import row_shards
from toydepth.engine.compiled import write_entries_whole

AXIS = "devices"  # the name of the mapped axis in every program


def prepare_devices(devices: int | None) -> None:
    """Sets JAX up, once in a process: what a first job got, the next ones find.

    A CPU becomes as many virtual devices as it has cores, or as are asked for. Matrix products
    are done in full float32 everywhere, so that a GPU gives the numbers of a CPU. What has been
    compiled is kept in the user's cache folder, for the next process with the same shapes.
    """
    if _compilations:
        return
    jax.config.update("jax_default_matmul_precision", "highest")
    jax.config.update("jax_num_cpu_devices", devices or cores())
    if jax.config.jax_compilation_cache_dir is None:  # JAX_COMPILATION_CACHE_DIR is the user's
        cache = platformdirs.user_cache_path("toydepth") / "compiled"
        jax.config.update("jax_compilation_cache_dir", str(cache))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
    write_entries_whole()
    _compilations.append(0.0)
    jax.monitoring.register_event_duration_secs_listener(_note_compilation)


_compilations: list[float] = []  # seconds of each; empty until JAX is set up


def _note_compilation(event: str, seconds: float, **_: object) -> None:
    if event == "/jax/core/compile/backend_compile_duration":
        _compilations.append(seconds)


def cores() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # Linux alone
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def compile_seconds() -> float:
    """Seconds that this process has spent in the compiler."""
    return sum(_compilations)


@dataclass(frozen=True)
class Layout:
    """Devices in a grid: replicas are split first, then the rows of the batch."""

    replicas: int
    replica_shards: int
    row_shards: int

    @property
    def devices(self) -> list[jax.Device]:
        return jax.local_devices()[: self.replica_shards * self.row_shards]

    @property
    def row_groups(self) -> list[list[int]]:
        """Devices that hold the same replicas, and so average their gradients."""
        count = self.replica_shards * self.row_shards
        return np.arange(count).reshape(self.replica_shards, self.row_shards).tolist()

    def spread(self, tree: PyTree) -> PyTree:
        """Arrays with a leading axis of replicas, put where they are used: (devices, own, ...)."""

        def split(x):
            x = np.asarray(x)
            own = x.reshape(self.replica_shards, self.replicas // self.replica_shards, *x.shape[1:])
            return np.repeat(own, self.row_shards, axis=0)

        put = jax.pmap(_same, axis_name=AXIS, devices=self.devices)
        return put(jax.tree.map(split, tree))

    def collect(self, tree: PyTree) -> PyTree:
        """The inverse of `spread`, as NumPy arrays."""

        def join(x):
            x = np.asarray(x)[:: self.row_shards]
            return x.reshape(self.replicas, *x.shape[2:])

        return jax.tree.map(join, tree)


def _same(x):
    return x


def layout(devices: int | None, *, replicas: int, batch: int) -> Layout:
    """The grid for `devices` devices, or for as many as the job can use.

    Raises:
      ValueError: in words, if there are fewer devices, or they cannot divide the work.
    """
    available = jax.local_device_count()
    if devices is None:
        devices = max(n for n in range(1, available + 1) if batch % row_shards(n, replicas) == 0)
    if devices > available:
        raise ValueError(f"this machine has {available}")
    shards = row_shards(devices, replicas)
    if batch % shards:
        raise ValueError(f"{devices} cannot divide {replicas} replicas and {batch} rows evenly")
    return Layout(replicas, devices // shards, shards)
