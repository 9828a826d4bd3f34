"""The learning rate of every step of a rung, built from Optax's schedules."""

import jax
import numpy as np
import optax
from jaxtyping import Float, Int

from toydepth.config import Optimizer, Schedule


def learning_rates(
    optimizer: Optimizer,
    schedule: Schedule,
    at: Int[np.ndarray, "asked"],
    *,
    size: int,
    steps: int,
) -> Float[np.ndarray, "asked"]:
    """Linear warm-up, a plateau at learning_rate / size^depth_exponent, then the fall.

    The rate reaches `schedule.final` of the peak at the end, that is, one step past the last.

    Args:
      at: the steps that are asked for, out of `steps`, which may be more than memory holds.
    """
    peak = optimizer.learning_rate * size**-optimizer.depth_exponent
    warmup = round(schedule.warmup * steps)
    plateau = max(warmup, round(schedule.constant * steps))
    rates = optax.schedules.join_schedules(
        [
            optax.schedules.linear_schedule(peak / (warmup + 1), peak, warmup),
            optax.schedules.constant_schedule(peak),
            FALLS[schedule.fall](peak, schedule.final, steps - plateau),
        ],
        [warmup, plateau],
    )
    with jax.default_device(jax.local_devices(backend="cpu")[0]):
        return np.asarray(jax.vmap(rates)(at), np.float32)


FALLS = {
    "linear": lambda peak, share, steps: optax.schedules.linear_schedule(peak, share * peak, steps),
    "cosine": lambda peak, share, steps: optax.schedules.cosine_decay_schedule(
        peak, max(steps, 1), alpha=share
    ),
}
