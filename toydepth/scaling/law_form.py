"""Scaling laws as data: which sizes a loss depends on, and which exponents are fitted."""

import dataclasses
import math
from collections.abc import Mapping

# arXiv 2606.25008: width by superposition, depth by averaging, data and training time by the
# softmax; at the best shape and N = 12 m^2 l, width and depth together give N^-1/3.
UNIVERSAL_EXPONENTS = {
    "width": 1.0,
    "depth": 1.0,
    "data": 1 / 3,
    "time": 1 / 3,
    "parameters": 1 / 3,
}


@dataclasses.dataclass(frozen=True)
class Law:
    """L = sum over variables v of c_v / x_v^a_v, + L0 if `floor`.

    `exponents` maps a variable's name to a fixed exponent a_v, or to None where a_v is
    fitted. The coefficients c_v and the floor L0 are fitted and never negative.

        Law({"width": None, "depth": None, "data": None})     # free, arXiv 2602.05970
        Law({"width": 1, "depth": 1, "data": 1 / 3})          # universal, arXiv 2606.25008
        Law({"parameters": None, "data": None})               # Chinchilla, arXiv 2203.15556
        Law({"depth": None}, floor=False)                     # one power law

    Raises ValueError for a law without a term or an exponent that is not positive and finite.

    >>> toydepth.Law({"width": None, "depth": 1}).free
    ('width',)
    """

    exponents: Mapping[str, float | None]
    floor: bool = True

    def __post_init__(self):
        if not self.exponents:
            raise ValueError("a law needs a term: {'depth': None}")
        for variable, exponent in self.exponents.items():
            if exponent is not None and not 0 < exponent < math.inf:
                raise ValueError(f"the exponent of {variable} is {exponent}; it must be positive")

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(self.exponents)

    @property
    def free(self) -> tuple[str, ...]:
        """The variables whose exponent is fitted."""
        return tuple(v for v, exponent in self.exponents.items() if exponent is None)

    @property
    def fitted(self) -> tuple[str, ...]:
        """What a fit solves for, in the order of its covariance."""
        names = [f"exponent_{v}" for v in self.free]
        names += [f"log_coefficient_{v}" for v in self.variables]
        return (*names, "floor") if self.floor else tuple(names)

    def freed(self) -> "Law":
        """The same terms, with every exponent fitted."""
        return Law(dict.fromkeys(self.exponents), self.floor)

    def universal(self) -> "Law":
        """The same terms, with the exponents of arXiv 2606.25008.

        Raises KeyError for a variable that the paper does not speak of.
        """
        return Law({v: UNIVERSAL_EXPONENTS[v] for v in self.exponents}, self.floor)

    def __str__(self) -> str:
        terms = [
            f"c/{v}^{'a' if exponent is None else f'{exponent:.3g}'}"
            for v, exponent in self.exponents.items()
        ]
        return " + ".join([*terms, "L0"] if self.floor else terms)
