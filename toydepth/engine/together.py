"""Processes that train one job together: how they connect, and what they agree on.

All of them run the same programs in the same order, so whatever steers the loop (whether to save,
whether to stop, where to go on from) has to be the same for all; the first process alone writes.
"""

import jax
import numpy as np
from jax.experimental import multihost_utils

from toydepth.processes import Place

LEAVING_SECONDS = 10  # longest wait for the other processes when this one ends


def connect(place: Place) -> None:
    """Waits until all processes of the job have found each other; before any device is used."""
    if place.count == 1:
        return
    # Otherwise JAX aborts all processes as soon as one is missing, before any can say why.
    jax.config.update("jax_enable_recoverability", True)
    jax.distributed.initialize(
        coordinator_address=place.coordinator,
        num_processes=place.count,
        process_id=place.index,
        shutdown_timeout_seconds=LEAVING_SECONDS,
    )


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
