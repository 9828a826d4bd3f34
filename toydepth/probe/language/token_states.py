"""Hidden states of texts, as plain arrays of their tokens."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from toydepth.probe.language.language_model import LanguageModel, plain_ids, run, special_ids
from toydepth.probe.language.texts import Texts
from toydepth.settings import SettingError


class Batch(NamedTuple):
    """The tokens of some pieces of text, one piece after the other, without padding.

    Attributes:
      states: after 0, 1, ..., layers blocks; float32 whatever the model's precision.
      ids: the tokens.
      positions: of each token in its piece, from 0.
      next_ids: the token that follows in the piece, -1 after its last.
    """

    states: Float[np.ndarray, "layers+1 tokens width"]
    ids: Int[np.ndarray, "tokens"]
    positions: Int[np.ndarray, "tokens"]
    next_ids: Int[np.ndarray, "tokens"]


def hidden_states(
    lm: LanguageModel,
    texts: Texts | Iterable[str],
    *,
    length: int = 256,
    batch_size: int = 8,
    tokens: int | None = None,
    show: Callable[[int], None] | None = None,
) -> Iterator[Batch]:
    """Runs the model over the texts, and gives what it holds after every block.

    A text is cut to its first `length` tokens, as in the depth paper; `Texts` that are `whole`
    give all their consecutive pieces of `length` tokens. Each piece has the tokens that the
    tokenizer puts around a text by default, and those are measured with the others. Pieces with
    fewer than two tokens of text are left out.

    The state after the last block is the one that transformers gives, which has passed the final
    norm; so the last angle is that of block and norm together.

    Args:
      length: of a piece, with the tokens around it.
      batch_size: how many pieces run at once.
      tokens: ends after exactly that many; at the end of the texts if None.
      show: is told how many tokens are done, after every batch.

    Raises:
      SettingError: of `length`, `batch_size`, `tokens`; of `text`, at the end, if no piece had
        two tokens; of `model`, if it gives no hidden states.
    """
    before, after = special_ids(lm)
    _check(lm, length, len(before) + len(after) + 2, batch_size, tokens)
    return _batches(lm, texts, (before, after), length, batch_size, tokens, show)


def _check(lm, length, shortest, batch_size, tokens):
    if not shortest <= length:
        raise SettingError("length", length, f"it must be a whole number from {shortest}")
    positions = lm.positions()
    if positions is not None and length > positions:
        raise SettingError("length", length, f"the model takes at most {positions} tokens")
    if batch_size < 1:
        raise SettingError("batch_size", batch_size, "it must be a whole number from 1")
    if tokens is not None and tokens < 1:
        raise SettingError("tokens", tokens, "it must be a whole number from 1")


def _batches(lm, texts, around, length, batch_size, tokens, show) -> Iterator[Batch]:
    pieces = _pieces(lm, texts, around, length)
    done = 0
    while tokens is None or done < tokens:
        rows = list(islice(pieces, batch_size))
        if not rows:
            break
        batch = _measure(lm, rows, None if tokens is None else tokens - done)
        done += len(batch.ids)
        yield batch
        if show is not None:
            show(done)
    if not done:
        source = texts.source if isinstance(texts, Texts) else None
        raise SettingError("text", source, "at least two tokens are needed")


def _pieces(lm, texts, around, length) -> Iterator[list[int]]:
    before, after = around
    room = length - len(before) - len(after)
    whole = isinstance(texts, Texts) and texts.whole
    for text in texts:
        ids = plain_ids(lm, text)
        for start in range(0, len(ids) if whole else min(len(ids), 1), room):
            piece = ids[start : start + room]
            if len(piece) >= 2:
                yield [*before, *piece, *after]


def _measure(lm: LanguageModel, rows: list[list[int]], most: int | None) -> Batch:
    """The states of the pieces, of the first `most` tokens."""
    import torch

    longest = max(map(len, rows))
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    states = run(lm, ids, mask, last_only=True).states
    real = torch.nonzero(mask.flatten()).flatten()[:most].to(states[0].device)
    measured = np.empty((len(states), len(real), states[0].shape[-1]), np.float32)
    for layer, state in enumerate(states):
        measured[layer] = state.flatten(0, 1)[real].float().cpu().numpy()
    return Batch(
        measured,
        np.concatenate(rows)[:most],
        np.concatenate([np.arange(len(row)) for row in rows])[:most],
        np.concatenate([[*row[1:], -1] for row in rows])[:most],
    )
