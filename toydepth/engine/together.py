"""Processes that train one job together: how they connect, and what they agree on.

All of them run the same programs in the same order, so whatever steers the loop (whether to save,
whether to stop, where to go on from) has to be the same for all; the first process alone writes.
"""

import itertools
from collections.abc import Sequence
from functools import partial

import jax
import numpy as np
from jax._src import distributed
from jax.experimental import multihost_utils

from toydepth.processes import Place
from toydepth.settings import SettingError, reason

LEAVING_SECONDS = 10  # longest wait for the other processes when this one ends
MEETING_SECONDS = 600  # and until they have come as far as this one, before they train


def connect(place: Place) -> None:
    """Waits until all processes of the job have found each other; before any device is used.

    Raises:
      SettingError: they have not, in some minutes.
    """
    if place.count == 1:
        return
    # Otherwise JAX aborts all processes as soon as one is missing, before any can say why, and
    # takes SIGTERM for itself.
    jax.config.update("jax_enable_recoverability", True)
    jax.config.update("jax_enable_preemption_service", False)
    try:
        jax.distributed.initialize(
            coordinator_address=place.coordinator,
            num_processes=place.count,
            process_id=place.index,
            shutdown_timeout_seconds=LEAVING_SECONDS,
        )
        jax.devices()
    except Exception as error:  # whatever JAX, gRPC and the network have at hand
        words = f"process {place.index} of {place.count} has not met the others there "
        where = place.coordinator or "Slurm"
        raise SettingError(
            "parallel.coordinator", where, f"{words}({reason(error)[:200]})"
        ) from None


def meet(devices: Sequence[jax.Device], groups: list[list[int]]) -> None:
    """Lets the processes exchange something for the first time, at the same time.

    The first exchange connects them, and waits for half a minute only; but they may have imported
    and compiled for longer than that, one more than the other.

    Args:
      devices, groups: which of the devices exchange what they have in training.
    """
    if jax.process_count() == 1:
        return
    mean = partial(jax.lax.pmean, axis_name="all", axis_index_groups=groups)
    first = jax.pmap(mean, axis_name="all", devices=devices)
    own = [device for device in devices if device.process_index == jax.process_index()]
    for exchange in (lambda: anywhere(False), lambda: first(np.ones(len(own)))):
        _barrier()
        jax.block_until_ready(exchange())


def tell(go: bool) -> None:
    """The first process lets the others know whether there is something to train."""
    _client().key_value_set("toydepth goes", str(go))
    if not go:
        _barrier()  # or it would have left, and its words with it, before they are heard


def hear() -> bool:
    """What the first process tells, on the others."""
    go = _client().blocking_key_value_get("toydepth goes", MEETING_SECONDS * 1000) == "True"
    if not go:
        _barrier()
    return go


_barriers = itertools.count()


def _barrier() -> None:
    """Returns when all processes have come here, without an exchange between devices."""
    _client().wait_at_barrier(f"toydepth {next(_barriers)}", MEETING_SECONDS * 1000)


def _client():
    """JAX's link to the first process; `multihost_utils` offers exchanges between devices alone."""
    return distributed.global_state.client


def anywhere(flag: bool) -> bool:
    """Whether any process of the job says so. All of them have to ask."""
    if jax.process_count() == 1:
        return flag
    return bool(multihost_utils.process_allgather(np.array(flag)).any())


def from_first(content: bytes) -> bytes:
    """What the first process has, on all of them. They have to ask together."""
    if jax.process_count() == 1:
        return content
    size = int(multihost_utils.broadcast_one_to_all(np.int32(len(content))))
    own = np.zeros(size, np.uint8)  # bytes, since a sum over processes would lose the sign of -0.0
    if jax.process_index() == 0:
        own[:] = np.frombuffer(content, np.uint8)
    return np.asarray(multihost_utils.broadcast_one_to_all(own)).tobytes()
