"""Devices: how many there are, and how a job is laid out over them."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.experimental.compilation_cache import compilation_cache
from jaxtyping import PyTree

from toydepth.config import row_shards
from toydepth.engine.compilations import KEPT, keep_compilations
from toydepth.engine.together import connect
from toydepth.processes import ALONE, Place

AXIS = "devices"  # the name of the mapped axis in every program


# What the numbers of a run depend on besides its settings.
# Matrix products are done in full float32 everywhere, so that a GPU gives the numbers of a CPU.
OURS = {
    "jax_default_matmul_precision": "highest",
    "jax_enable_x64": False,
    "jax_default_prng_impl": "threefry2x32",
    "jax_threefry_partitionable": True,
    "jax_numpy_dtype_promotion": "standard",
    "jax_numpy_rank_promotion": "allow",
    "jax_debug_nans": False,  # a rung that diverges is noted, and the others go on
    "jax_random_seed_offset": 0,
}
# Those that a user may have set for a block of code (`with jax.enable_x64(True)`), which wins over
# the process's configuration.
IN_BLOCKS = {
    "jax_default_matmul_precision": jax.default_matmul_precision,
    "jax_enable_x64": jax.enable_x64,
    "jax_default_prng_impl": jax.default_prng_impl,
    "jax_threefry_partitionable": jax.threefry_partitionable,
    "jax_numpy_dtype_promotion": jax.numpy_dtype_promotion,
    "jax_numpy_rank_promotion": jax.numpy_rank_promotion,
    "jax_debug_nans": jax.debug_nans,
}


def prepare_devices(devices: int | None, place: Place = ALONE) -> None:
    """Sets JAX up for the rest of a process, once: what a first job got, the next ones find.

    A CPU becomes as many virtual devices as it has cores, or as are asked for, which several
    processes share out evenly. What has been compiled is kept in the user's cache folder, for the
    next process with the same shapes.
    """
    if _set_up:
        return
    _set_up.append(True)
    _divide_cpu(max(1, devices // place.count) if devices else cores())
    _configure()
    connect(place)


@contextmanager
def borrowed_devices(devices: int | None) -> Iterator[None]:
    """The same while it lasts, where JAX is somebody else's: in a notebook, say.

    Its configuration is then what it was before. If JAX has been used already, its devices stay
    as they are; if not, a CPU is divided as by `prepare_devices`, which stays.
    """
    if _set_up:
        yield
        return
    config: Any = jax.config  # its settings are attributes that no checker knows
    outside = [name for name in (*OURS, *KEPT) if name not in IN_BLOCKS]
    before = {name: getattr(config, name) for name in outside}
    _set_up.append(True)
    try:
        with suppress(RuntimeError):  # JAX has been used already
            _divide_cpu(devices or cores())
        _note_compilations()
        with ExitStack() as ours:
            for name, setting in IN_BLOCKS.items():
                ours.enter_context(setting(OURS[name]))
            config.update("jax_random_seed_offset", OURS["jax_random_seed_offset"])
            keep_compilations()
            compilation_cache.reset_cache()  # or JAX would not look at where it is now
            yield
    finally:
        for name, value in before.items():
            config.update(name, value)
        compilation_cache.reset_cache()
        _set_up.clear()


_set_up: list[bool] = []  # holds one entry while JAX is set up


def _divide_cpu(count: int) -> None:
    """Makes a CPU that many devices; RuntimeError if JAX has been used already."""
    jax.config.update("jax_num_cpu_devices", count)
    # Small models need no GPU to themselves: its memory is taken as it is needed.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


def _configure() -> None:
    for name, value in OURS.items():
        jax.config.update(name, value)
    keep_compilations()
    _note_compilations()


def _note_compilations() -> None:
    if not _compilations:
        _compilations.append(0.0)
        jax.monitoring.register_event_duration_secs_listener(_note_compilation)


_compilations: list[float] = []  # seconds of each, after a first 0


def _note_compilation(event: str, seconds: float, **_: object) -> None:
    if event == "/jax/core/compile/backend_compile_duration":
        _compilations.append(seconds)


def cores() -> int:
    """Processors that this process may use; NPROC, which XLA's thread pool obeys, says fewer."""
    told = os.environ.get("NPROC", "")
    if told.isdecimal() and int(told) > 0:
        return int(told)
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
    def own(self) -> int:
        """Devices of the grid that each process has."""
        return self.replica_shards * self.row_shards // jax.process_count()

    @property
    def devices(self) -> list[jax.Device]:
        """All of the grid's, process after process."""
        processes = range(jax.process_count())
        return [device for p in processes for device in jax.local_devices(p)[: self.own]]

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
            whole = np.repeat(own, self.row_shards, axis=0)
            first = jax.process_index() * self.own
            return whole[first : first + self.own]

        put = jax.pmap(_same, axis_name=AXIS, devices=self.devices)
        return put(jax.tree.map(split, tree))

    def collect(self, tree: PyTree) -> PyTree:
        """The inverse of `spread`, as NumPy arrays, on all processes: they have to ask together."""
        if jax.process_count() > 1:
            tree = multihost_utils.process_allgather(tree, tiled=True)

        def join(x):
            x = np.asarray(x)[:: self.row_shards]
            return x.reshape(self.replicas, *x.shape[2:])

        return jax.tree.map(join, tree)

    def empty(self, tree: PyTree) -> PyTree:
        """Zeros in the structure that `collect` would return."""
        return jax.tree.map(lambda x: np.zeros((self.replicas, *x.shape[2:]), x.dtype), tree)


def _same(x):
    return x


def layout(devices: int | None, *, replicas: int, batch: int) -> Layout:
    """The grid for `devices` devices of all processes, or for as many as the job can use.

    Raises:
      ValueError: in words, if there are fewer devices, or they cannot divide the work.
    """
    processes = jax.process_count()
    available = processes * min(len(jax.local_devices(p)) for p in range(processes))
    if devices is None:
        counts = range(processes, available + 1, processes)
        usable = [n for n in counts if batch % row_shards(n, replicas) == 0]
        if not usable:
            words = f"{replicas} replicas and {batch} rows"
            raise ValueError(f"{processes} processes cannot divide {words} evenly")
        devices = usable[-1]
    if devices % processes:
        raise ValueError(f"{processes} processes need a multiple of {processes}")
    if devices > available:
        raise ValueError(f"this machine has {available}")
    shards = row_shards(devices, replicas)
    if batch % shards:
        raise ValueError(f"{devices} cannot divide {replicas} replicas and {batch} rows evenly")
    return Layout(replicas, devices // shards, shards)
