"""The blocks of a model, and how to run it from the state between two of them."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from toydepth.probe.language.language_model import (
    LanguageModel,
    block_list,
    call,
    first,
    plain_ids,
    run,
    watched,
)
from toydepth.settings import SettingError

EXAMPLE = "Each layer of a residual network changes the state a little."


class Blocks(NamedTuple):
    """The blocks of a model, known to do all that happens between its hidden states.

    Attributes:
      modules: one for each layer, in their order.
      outputs: how many values each returns, the state first; 0 for the state alone.
      dtype: of the state between them.
    """

    modules: list
    outputs: list[int]
    dtype: Any


class UnknownArchitecture(SettingError):
    """A measurement that steps inside the model does not know its parts.

    Hidden states and their angles need no such knowledge, and still come.
    """


def find_blocks(lm: LanguageModel, measurement: str, starts: Iterable[int]) -> Blocks:
    """Finds the blocks, and shows on an example that the model can be run from between them.

    Args:
      measurement: what needs them, for the error.
      starts: how many blocks shall be left out; each is tried.

    Raises:
      UnknownArchitecture: if there is no one list of the blocks, if the hidden states are not what
        the blocks receive, or if a run from between the blocks ends in other logits.
    """
    import torch

    words = f"{measurement} does not know this architecture; the angles still come"
    unknown = UnknownArchitecture("model", lm.name, words)
    modules = block_list(lm.model, lm.layers)
    if modules is None:
        raise unknown
    row = (plain_ids(lm, EXAMPLE) + [0, 0, 0])[:16]
    ids = torch.tensor([row, row[::-1]])
    mask = torch.ones_like(ids)
    mask[1, -2:] = 0
    with watched(modules) as calls:
        ran = run(lm, ids, mask)
    in_order = [module for module, _, _ in calls] == list(modules)
    if not in_order or not all(
        entered is not None and torch.equal(entered, state)
        for (_, entered, _), state in zip(calls, ran.states, strict=False)
    ):
        raise unknown
    blocks = Blocks(
        list(modules),
        [len(output) if isinstance(output, tuple) else 0 for _, _, output in calls],
        calls[0][1].dtype,
    )
    after = [first(output) for _, _, output in calls]
    # A batch of the same shape leaves rounding alone; half precision may still choose its sums.
    rounding = 1e-3 if blocks.dtype == torch.float32 else 3e-2
    real = mask.bool()
    logits = ran.logits[real.to(ran.logits.device)].float()
    for start in starts:
        state = after[start - 1] if start else ran.states[0]
        try:
            again = resume(lm, blocks, start, state, ids, mask)
        except Exception:  # of a block that hands more to the next one than its state
            raise unknown from None
        again = again[real.to(again.device)].float()
        if not (again - logits).abs().max() <= rounding * logits.abs().max():
            raise unknown
    return blocks


def resume(
    lm: LanguageModel, blocks: Blocks, start: int, state, ids, mask=None, *, last_only: bool = False
):
    """The logits from the state after `start` blocks on: remaining blocks, final norm and head.

    The model runs as always, on the same ids and mask, but its first `start` blocks do nothing
    except to return `state`. So whatever a model does around its blocks is done. With `start` 0
    nothing is left out, and `state` is not read.

    Args:
      state: (batch, length, width), in any precision.
      last_only: the logits of the last position alone, where the model can.

    Returns:
      (batch, length, vocabulary), or (batch, 1, vocabulary).
    """
    state = state.to(lm.model.get_input_embeddings().weight.device, blocks.dtype)
    with ExitStack() as stack:
        for module, outputs in zip(blocks.modules[:start], blocks.outputs, strict=False):
            stack.enter_context(_returning(module, (state, *[None] * (outputs - 1)), outputs))
        return call(lm, ids, mask, last_only=last_only).logits


@contextmanager
def _returning(module, values: tuple, outputs: int) -> Iterator[None]:
    """The module's forward replaced by one that returns the values, or the only one bare."""
    own = module.__dict__.get("forward")  # a library may have put its own there already
    module.forward = lambda *args, **kwargs: values if outputs else values[0]
    try:
        yield
    finally:
        if own is None:
            del module.forward
        else:
            module.forward = own
