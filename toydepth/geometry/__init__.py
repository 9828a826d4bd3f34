"""What layers do to hidden states: angles, lengths, and kinds of tokens.

Arrays in, named tuples and frozen dataclasses out, from any residual network: hidden states are
`(layers + 1, tokens, width)`, before the first layer to after the last. The public API:

- `angle`     between vectors, in radians, exact near 0 and pi
- `measure`   angles of steps and of updates, norms, projections, of each token -> `Measures`
- `middle`    which layers are the middle ones
- `Stream`    the measures of any number of tokens, chunk by chunk -> `Summary`, `Sample`
- `Statistics`  one measure over tokens: mean, standard error, deviation, the `QUANTILES`
- `clusters`  tokens that move evenly and tokens that stop early -> `Clusters` of two `Cluster`
"""

from toydepth.geometry.angles import Measures, angle, measure
from toydepth.geometry.clusters import Cluster, Clusters, clusters
from toydepth.geometry.middle import middle
from toydepth.geometry.reservoir import Sample
from toydepth.geometry.state_stream import QUANTILES, Statistics, Stream, Summary

__all__ = [
    "QUANTILES",
    "Cluster",
    "Clusters",
    "Measures",
    "Sample",
    "Statistics",
    "Stream",
    "Summary",
    "angle",
    "clusters",
    "measure",
    "middle",
]
