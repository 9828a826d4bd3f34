"""Causal tracing: where in a model a fact is, by what restores it."""

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from toydepth.probe.language.blocks import Blocks, find_blocks, resume
from toydepth.probe.language.language_model import LanguageModel, call, first, watched
from toydepth.probe.language.prompts import place
from toydepth.settings import SettingError

ENTRIES = 1 << 12  # tokens whose embeddings are measured at once


class Trace(NamedTuple):
    """Probabilities of an answer's first token after a prompt.

    Attributes:
      tokens: of the prompt, as text.
      subject: the subject's tokens, from the first to before the second.
      answer: the token whose probability is measured, as text.
      probability_clean: after the prompt as it is.
      probability_corrupted: with noise on the subject, averaged over its samples.
      corrupted_stderr: its standard error; NaN for one sample, as are the following.
      restored: with noise on the subject, but with the clean state of one token after one block;
        the first row is that after the first block. Averaged over the samples.
      restored_stderr: its standard errors.
    """

    tokens: list[str]
    subject: tuple[int, int]
    answer: str
    probability_clean: float
    probability_corrupted: float
    corrupted_stderr: float
    restored: Float[np.ndarray, "layers tokens"]
    restored_stderr: Float[np.ndarray, "layers tokens"]


def trace(
    lm: LanguageModel,
    prompt: str,
    subject: str,
    answer: str,
    *,
    noise: float = 3.0,
    samples: int = 10,
    seed: int = 0,
    batch_size: int = 32,
    window: int = 1,
    show: Callable[[int, int], None] | None = None,
) -> Trace:
    """Causal tracing of Meng et al. (2022); figure 6 of arXiv 2602.05970.

    Gaussian noise is added to the embeddings of the subject's tokens. Then, with the same noise,
    the clean state after one block is put back at one token, for all blocks and tokens in turn.
    Where that brings the answer back, the state carries the fact.

    The answer is tried with a space before it and without, unless prompt or answer has the space,
    and the one that is likelier after the clean prompt is taken.

    Args:
      subject: a part of the prompt; if it occurs more than once, its first occurrence.
      answer: what continues the prompt. Its first token is measured.
      noise: in standard deviations of the entries of the embedding matrix.
      samples: of the noise.
      seed: of the noise.
      batch_size: how many runs, each of one sample and one token, are made at once.
      window: after how many neighbouring blocks the state of the token is restored, those of a row
        in the middle; those that would be before the first or after the last are left out.
      show: is told how many runs are done, and of how many.

    Raises:
      SettingError: of `prompt`, `subject`, `answer`, `noise`, `samples`, `batch_size`, `window`.
      UnknownArchitecture: if the blocks are not known.
    """
    import torch

    if not 0 <= noise < math.inf:
        raise SettingError("noise", noise, "it must be a finite number from 0")
    for name, count in {"samples": samples, "batch_size": batch_size, "window": window}.items():
        if count < 1:
            raise SettingError(name, count, "it must be a whole number from 1")
    ids, (begin, end), answers = place(lm, prompt, subject, answer)
    tried = sorted({1, (lm.layers + 1) // 2, lm.layers})
    blocks = find_blocks(lm, "causal tracing", tried)

    row = torch.tensor([ids])
    clean, chances = _run(lm, blocks, row)
    answer_id = max(answers, key=lambda id: float(chances[0, id]))
    noises = _noises(lm, end - begin, noise, samples, seed)
    states, lost = [], []
    for part in noises.split(batch_size):
        with _noisy(lm, part, begin):
            part_states, part_chances = _run(lm, blocks, row.expand(len(part), -1))
        states.append(part_states)
        lost.append(part_chances[:, answer_id])
    corrupted, without = torch.cat(states, dim=1), torch.cat(lost).numpy()

    # What comes before the subject is not corrupted, so nothing is restored there.
    restored = np.tile(without[None, :, None], (lm.layers, 1, len(ids)))
    runs = np.array([(s, t) for s in range(samples) for t in range(begin, len(ids))])
    for layer in range(lm.layers):
        # The first block of the window is where the run begins: below it all is corrupted.
        low = max(0, layer - window // 2)
        high = min(lm.layers, layer - window // 2 + window)
        for done in range(0, len(runs), batch_size):
            sample, token = runs[done : done + batch_size].T
            state = corrupted[low, sample]
            state[range(len(token)), token] = clean[low, 0, token]
            rows = row.expand(len(token), -1)
            with _restoring(blocks, clean, token, range(low + 1, high)):
                logits = resume(lm, blocks, low + 1, state, rows, last_only=True)
            restored[layer, sample, token] = _chances(logits)[:, answer_id].numpy()
            if show is not None:
                show(layer * len(runs) + done + len(token), lm.layers * len(runs))
    return Trace(
        [lm.tokenizer.decode([id]) for id in ids],
        (begin, end),
        lm.tokenizer.decode([answer_id]),
        float(chances[0, answer_id]),
        float(without.mean()),
        float(_stderr(without[None])[0]),
        restored.mean(axis=1),
        _stderr(restored),
    )


def _stderr(values: Float[np.ndarray, "layers samples *tokens"]):
    """Of the mean over the samples."""
    if values.shape[1] < 2:
        return np.full((len(values), *values.shape[2:]), np.nan)
    return values.std(axis=1, ddof=1) / math.sqrt(values.shape[1])


def _run(lm: LanguageModel, blocks: Blocks, ids) -> tuple[Any, Any]:
    """(layers, batch, length, width) after each block, before any norm; (batch, vocabulary)."""
    import torch

    with watched(blocks.modules) as calls:
        logits = call(lm, ids, last_only=True).logits
    return torch.stack([first(output) for _, _, output in calls]), _chances(logits)


def _chances(logits):
    """Probabilities of the next token after the last one, on the host."""
    return logits[:, -1].float().softmax(dim=-1).cpu()


def _noises(lm: LanguageModel, tokens: int, noise: float, samples: int, seed: int):
    """(samples, tokens, embedding), the same for a seed on every device."""
    import torch

    embedding = lm.model.get_input_embeddings()
    count, total, squares, width = 0, 0.0, 0.0, 0
    with torch.inference_mode():
        # Through the module, not its weights: Gemma 3 multiplies them.
        for ids in torch.arange(lm.vocabulary(), device=embedding.weight.device).split(ENTRIES):
            entries = embedding(ids).float()
            count, width = count + entries.numel(), entries.shape[-1]
            total, squares = total + float(entries.sum()), squares + float((entries**2).sum())
    deviation = math.sqrt(max(squares / count - (total / count) ** 2, 0.0))
    generator = torch.Generator().manual_seed(seed)
    return noise * deviation * torch.randn((samples, tokens, width), generator=generator)


@contextmanager
def _noisy(lm: LanguageModel, noises, begin: int) -> Iterator[None]:
    """Adds noises (batch, tokens, embedding) to the embeddings of a batch, from token `begin`."""

    def add(module, args, output):
        output = output.clone()
        output[:, begin : begin + noises.shape[1]] += noises.to(output.device, output.dtype)
        return output

    handle = lm.model.get_input_embeddings().register_forward_hook(add)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def _restoring(blocks: Blocks, clean, token, layers: range) -> Iterator[None]:
    """Puts the clean state back after each of the layers, in row i of a batch at token[i]."""

    def restore(layer):
        def hook(module, args, output):
            state = first(output).clone()
            state[range(len(token)), token] = clean[layer, 0, token]
            return (state, *output[1:]) if isinstance(output, tuple) else state

        return hook

    with ExitStack() as stack:
        for layer in layers:
            handle = blocks.modules[layer].register_forward_hook(restore(layer))
            stack.callback(handle.remove)
        yield
