"""What each layer already knows: its state read by the last block, the final norm and the head."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from toydepth.probe.language.blocks import find_blocks, resume
from toydepth.probe.language.language_model import LanguageModel
from toydepth.probe.language.token_states import Batch

LOGITS = 1 << 26  # logits at once, 256 MB of them in float32


def read_out(lm: LanguageModel) -> Callable[[Batch], Float[np.ndarray, "layers tokens"]]:
    """The layer read-out of arXiv 2602.05970, as a function of a batch of hidden states.

    For l = 0, ..., layers - 1 the state after l blocks (l = 0: the embedding) passes the last
    block, the final norm and the head, and its cross-entropy against the next token is measured.
    The last block's own input is l = layers - 1: its cross-entropy is the model's.

    That the parts of the model are known is shown here, on an example, before any text is read.
    The function returns nats, NaN for tokens that none follows; the head, which is most of the
    work, runs once for each layer. `LossSums` adds up what it returns.

    Raises:
      UnknownArchitecture: if the last block cannot be run by itself.
    """
    blocks = find_blocks(lm, "the read-out", [lm.layers - 1])

    def losses(batch: Batch) -> Float[np.ndarray, "layers tokens"]:
        found = np.full((lm.layers, len(batch.ids)), np.nan, np.float32)
        for tokens in _groups(batch, lm.vocabulary()):
            found[:, tokens] = _losses(
                lm, blocks, Batch(batch.states[:, tokens], *_cut(batch, tokens))
            )
        return found

    return losses


@dataclass(frozen=True)
class LossSums:
    """Sums of the read-out over a stream of batches: what a mean and its error need.

    Attributes:
      tokens: how many were predicted.
      total: the sum of the cross-entropies, nats, for each layer.
      squares: the sum of their squares.
    """

    tokens: int
    total: Float[np.ndarray, "layers"]
    squares: Float[np.ndarray, "layers"]

    @classmethod
    def none(cls, layers: int) -> "LossSums":
        return cls(0, np.zeros(layers), np.zeros(layers))

    def plus(self, losses: Float[np.ndarray, "layers tokens"]) -> "LossSums":
        """These sums and those of one more batch, of which NaN is left out."""
        known = losses[:, ~np.isnan(losses).all(axis=0)].astype(np.float64)
        return LossSums(
            self.tokens + known.shape[1],
            self.total + known.sum(axis=1),
            self.squares + (known**2).sum(axis=1),
        )

    def mean(self) -> Float[np.ndarray, "layers"]:
        """Nats per token."""
        return self.total / self.tokens

    def stderr(self) -> Float[np.ndarray, "layers"]:
        """The standard error of the mean, as if tokens were independent; NaN for fewer than 2."""
        if self.tokens < 2:
            return np.full(len(self.total), np.nan)
        spread = np.maximum(self.squares - self.total**2 / self.tokens, 0.0)
        return np.sqrt(spread / (self.tokens - 1) / self.tokens)


def _cut(batch, tokens):
    return batch.ids[tokens], batch.positions[tokens], batch.next_ids[tokens]


def _groups(batch: Batch, vocabulary: int) -> list[slice]:
    """The batch as slices of whole pieces, whose logits fit in memory if one piece's do."""
    starts = [*np.flatnonzero(batch.positions == 0), len(batch.ids)]
    groups, begin = [], 0
    while begin < len(starts) - 1:
        end, longest = begin, 0
        while end < len(starts) - 1:
            longest = max(longest, starts[end + 1] - starts[end])
            if end > begin and (end + 1 - begin) * longest * vocabulary > LOGITS:
                break
            end += 1
        groups.append(slice(starts[begin], starts[end]))
        begin = end
    return groups


def _losses(lm, blocks, batch: Batch) -> Float[np.ndarray, "layers tokens"]:
    import torch

    rows = np.cumsum(batch.positions == 0) - 1
    place = (torch.from_numpy(rows), torch.from_numpy(batch.positions))
    shape = (rows[-1] + 1, batch.positions.max() + 1)
    ids, mask = torch.zeros(shape, dtype=torch.long), torch.zeros(shape, dtype=torch.long)
    ids[place], mask[place] = torch.from_numpy(batch.ids), 1
    known = torch.from_numpy(np.flatnonzero(batch.next_ids >= 0))
    targets = torch.from_numpy(batch.next_ids)[known]
    found = np.full((lm.layers, len(rows)), np.nan, np.float32)
    for layer in range(lm.layers):
        state = torch.zeros((*shape, batch.states.shape[-1]))
        state[place] = torch.from_numpy(batch.states[layer])
        logits = resume(lm, blocks, lm.layers - 1, state, ids, mask)
        logits = logits[tuple(index[known].to(logits.device) for index in place)].float()
        entropy = torch.nn.functional.cross_entropy(
            logits, targets.to(logits.device), reduction="none"
        )
        found[layer, known.numpy()] = entropy.cpu().numpy()
    return found
