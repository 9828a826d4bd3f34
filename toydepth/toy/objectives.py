"""Objectives: how far a student's final state is from its teacher's, averaged over a batch."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def mean_squared_error(
    student: Float[Array, "batch width"], teacher: Float[Array, "batch width"]
) -> Float[Array, ""]:
    """Mean over batch and width of the squared difference of final normalised states."""
    return jnp.mean(jnp.square(student - teacher))


def kl_divergence(
    student_logits: Float[Array, "batch vocabulary"],
    teacher_logits: Float[Array, "batch vocabulary"],
) -> Float[Array, ""]:
    """KL(teacher || student) in nats, mean over the batch."""
    log_p = jax.nn.log_softmax(teacher_logits)
    log_q = jax.nn.log_softmax(student_logits)
    return jnp.mean(jnp.sum(jnp.exp(log_p) * (log_p - log_q), axis=-1))
