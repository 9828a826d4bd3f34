"""A language model on texts: its hidden states, what each layer knows, and where a fact is."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from toydepth.geometry import Clusters, Sample, Stream, clusters
from toydepth.probe.language import (
    LanguageModel,
    LossSums,
    Trace,
    UnknownArchitecture,
    hidden_states,
    load,
    read_out,
    read_texts,
    trace,
)
from toydepth.probe.language.prompts import place
from toydepth.probe.probe_settings import Probe
from toydepth.probe.subject import Subject
from toydepth.settings import SettingError

TYPICAL = 8  # example tokens of each cluster


class Kind(NamedTuple):
    """A cluster of tokens: its share, examples, and theta at each layer (rows: tokens)."""

    share: float
    examples: list[str]
    theta: Float[np.ndarray, "members layers"]
    scores: Float[np.ndarray, "members 2"]


class TokenKinds(NamedTuple):
    """The two clusters of `geometry.clusters`, and their verdict."""

    even: Kind
    early: Kind
    found: Clusters


class Measured(NamedTuple):
    """What a probe of a language model found."""

    subject: Subject
    kinds: TokenKinds | None
    losses: LossSums | None
    trace: Trace | None
    notes: list[str]


@lru_cache(maxsize=1)  # a command checks its jobs before it runs them
def load_model(model: str, device: str | None, dtype: str | None) -> LanguageModel:
    return load(model, device=device, dtype=dtype)


def check(probe: Probe) -> None:
    """Loads the model and measures two tokens, so that what is wrong is said before a folder is.

    Raises SettingError, and ValueError in one line for states that cannot be measured.
    """
    lm = load_model(probe.model, probe.device, probe.dtype)
    stream = Stream(10, 0, (probe.middle_start, probe.middle_stop))
    for batch in _batches(lm, probe, tokens=2, batch_size=1):
        stream.add(batch.states)
    if probe.trace.prompt is not None:
        with _named():
            place(lm, probe.trace.prompt, probe.trace.subject, probe.trace.answer)


def probe_model(probe: Probe, show: Callable[[int, str], None]) -> Measured:
    """Runs the model over the texts; `show` is told how many tokens are done.

    Raises SettingError as `hidden_states` and `trace` do.
    """
    lm = load_model(probe.model, probe.device, probe.dtype)
    notes: list[str] = []
    reader, losses = None, None
    if probe.readout:
        try:
            reader, losses = read_out(lm), LossSums.none(lm.layers)
        except UnknownArchitecture as error:
            notes.append(error.allowed)
    stream = Stream(probe.sample, probe.seed, (probe.middle_start, probe.middle_stop))
    done = 0
    try:
        for batch in _batches(lm, probe, probe.tokens, probe.batch_size):
            names = list(zip(batch.ids.tolist(), batch.positions.tolist(), strict=True))
            stream.add(batch.states, names)
            if reader is not None and losses.tokens < probe.readout:
                losses = losses.plus(reader(batch))
            done += len(names)
            show(done, "tokens")
    except ValueError as error:  # far in, a bad line or a broken stream; what was read counts
        if not done:
            raise
        notes.append(f"the text ended after {done} tokens: {error}")
    subject = Subject("model", lm.name, {}, lm.layers, lm.width, stream.summary())
    if losses is not None and losses.tokens == 0:
        losses = None
    try:
        kinds = _kinds(lm, stream.sample())
    except (ValueError, ImportError) as error:
        kinds = None
        notes.append(f"no clusters of tokens: {error}")
    traced = None
    if probe.trace.prompt is not None:
        try:
            traced = _trace(lm, probe)
        except UnknownArchitecture as error:
            notes.append(error.allowed)
    return Measured(subject, kinds, losses, traced, notes)


def _batches(lm: LanguageModel, probe: Probe, tokens: int, batch_size: int):
    texts = read_texts(probe.text, column=probe.column)
    return hidden_states(lm, texts, length=probe.length, batch_size=batch_size, tokens=tokens)


def _kinds(lm: LanguageModel, sample: Sample) -> TokenKinds:
    """Clusters of the sampled tokens, but for each piece's first.

    The first token is where attention goes that has nowhere else to go: it is unlike all others
    in every model, and would be one of the two clusters by itself.
    """
    chosen = np.array([i for i, (_, position) in enumerate(sample.tokens) if position > 0], int)
    theta = sample.theta[chosen]
    found = clusters(theta)

    def kind(cluster) -> Kind:
        ids = [sample.tokens[chosen[i]][0] for i in cluster.members]
        words = dict.fromkeys(lm.tokenizer.decode([token]) for token in ids)
        scores = found.scores[cluster.members]
        return Kind(cluster.share, list(words)[:TYPICAL], theta[cluster.members], scores)

    return TokenKinds(kind(found.even), kind(found.early), found)


def _trace(lm: LanguageModel, probe: Probe) -> Trace:
    asked = probe.trace
    with _named():
        return trace(
            lm,
            asked.prompt,
            asked.subject,
            asked.answer,
            noise=asked.noise,
            samples=asked.samples,
            seed=probe.seed,
        )


@contextmanager
def _named() -> Iterator[None]:
    """Names the settings of a trace as the command line does."""
    try:
        yield
    except UnknownArchitecture:
        raise
    except SettingError as error:
        inside = ("prompt", "subject", "answer", "noise", "samples")
        setting = f"trace.{error.setting}" if error.setting in inside else error.setting
        raise SettingError(setting, error.value, error.allowed) from None
