"""The measures of any number of tokens, in one pass and in memory that does not grow."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from toydepth.geometry.angles import Measures, measure
from toydepth.geometry.histogram import Bins, Histogram
from toydepth.geometry.middle import middle
from toydepth.geometry.moments import Moments, join, moments
from toydepth.geometry.reservoir import Reservoir, Sample

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)

ANGLES = Bins(0.0, np.pi, 4096)  # 0.8 mrad
LENGTHS = Bins(1e-20, 1e40, 7680, logarithmic=True)  # 1.8 %
PROGRESS = Bins(-4.0, 5.0, 4608)  # 0.002
BINS = {
    "theta": ANGLES,
    "theta_updates": ANGLES,
    "norms": LENGTHS,
    "update_norms": LENGTHS,
    "to_last": ANGLES,
    "projection": PROGRESS,
}


@dataclasses.dataclass(frozen=True)
class Statistics:
    """One measure over tokens, at each layer, in the measure's units.

    `count` is of the tokens for which it is defined; of the others nothing else is kept.
    `quantiles` are those of `QUANTILES`, within a bin (0.8 mrad, 1.8 % of a length, 0.002 of the
    projection from -4 to 5). `stderr`, std / sqrt(count), takes tokens as independent, which
    those of one text are not quite. nan where there are too few tokens.
    """

    count: Int[np.ndarray, "layers"]
    mean: Float[np.ndarray, "layers"]
    stderr: Float[np.ndarray, "layers"]
    std: Float[np.ndarray, "layers"]
    quantiles: Float[np.ndarray, "quantiles layers"]


@dataclasses.dataclass(frozen=True)
class Summary:
    """Every measure of `Measures` at each layer, over `tokens` tokens.

    `middle_step` is theta in radians averaged over the layers `middle` (first, one past the last)
    and then over tokens; its standard error is of the tokens' averages.
    """

    tokens: int
    theta: Statistics
    theta_updates: Statistics
    norms: Statistics
    update_norms: Statistics
    to_last: Statistics
    projection: Statistics
    middle: tuple[int, int]
    middle_step: float
    middle_step_stderr: float


class Stream:
    """Takes chunks of states and keeps sums, counts and a sample of them.

        stream = Stream()
        for states, tokens in chunks:
            stream.add(states, tokens)
        summary, sample = stream.summary(), stream.sample()

    How the tokens are cut into chunks changes nothing but the last digits of means and variances.
    For 30 layers it holds 8 MB and the `sample` tokens' trajectories.
    """

    def __init__(
        self, sample: int = 2000, seed: int = 0, middle: tuple[float, float] = (0.25, 0.75)
    ):
        """`middle` is the part of the depth whose layers are the middle ones, as in `middle`.

        Raises ValueError for a sample of less than 1.
        """
        self._reservoir = Reservoir(sample, seed)
        self._part = middle
        self._layers: int | None = None
        self._steps = moments(np.empty((1, 0)))

    def add(
        self,
        states: Float[np.ndarray, "layers+1 tokens width"],
        tokens: Sequence[object] | None = None,
    ) -> None:
        """Measures the states; `tokens` are what to call them in the sample, of any type.

        Several hundred tokens at a time go fastest: 64 at a time take twice as long.

        Raises ValueError for what `measure` refuses, another number of layers than before, a
        number of names that is not that of tokens, or a middle without layers; nothing is added.
        """
        measures = measure(states)
        layers, count = measures.theta.shape
        if tokens is not None and len(tokens) != count:
            raise ValueError(f"{count} tokens but {len(tokens)} names")
        if self._layers is None:
            self._start(measures)
        elif layers != self._layers:
            raise ValueError(f"states of {layers} layers after states of {self._layers}")
        for name, values in measures._asdict().items():
            self._moments[name] = join(self._moments[name], moments(values))
            self._histograms[name].add(values)
        steps = measures.theta[self._middle].mean(axis=0, keepdims=True)
        self._steps = join(self._steps, moments(steps))
        self._reservoir.add(measures.theta, measures.theta_updates, tokens)

    def sample(self) -> Sample:
        """Tokens drawn uniformly from those without nan. Raises ValueError before the first."""
        return self._reservoir.sample()

    def summary(self) -> Summary:
        """Raises ValueError before the first token."""
        if self._layers is None:
            raise ValueError("no token was added yet")
        measures = {
            name: _statistics(of, self._histograms[name].quantiles(QUANTILES))
            for name, of in self._moments.items()
        }
        (step,), (stderr,), _ = _spread(self._steps)
        return Summary(
            tokens=self._reservoir.seen,
            middle=(self._middle.start, self._middle.stop),
            middle_step=float(step),
            middle_step_stderr=float(stderr),
            **measures,
        )

    def _start(self, measures: Measures) -> None:
        self._middle = middle(len(measures.theta), *self._part)
        self._layers = len(measures.theta)
        named = measures._asdict()
        self._moments = {name: moments(values[:, :0]) for name, values in named.items()}
        self._histograms = {
            name: Histogram(BINS[name], len(values)) for name, values in named.items()
        }


def _statistics(of: Moments, quantiles: Float[np.ndarray, "quantiles layers"]) -> Statistics:
    mean, stderr, std = _spread(of)
    return Statistics(of.known, mean, stderr, std, quantiles)


def _spread(of: Moments) -> tuple[Float[np.ndarray, "rows"], ...]:
    """Mean, standard error of the mean, standard deviation; nan of too few values."""
    mean = np.where(of.known > 0, of.mean, np.nan)
    std = np.where(of.known > 1, np.sqrt(of.squares / np.maximum(of.known - 1, 1)), np.nan)
    return mean, std / np.sqrt(np.maximum(of.known, 1)), std
