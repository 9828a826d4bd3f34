"""Which layers are the middle ones."""


def middle(layers: int, start: float = 0.25, stop: float = 0.75) -> slice:
    """The layers l of start <= (l + 1/2) / layers < stop, counted from 0.

    The default, from a quarter to three quarters, leaves out the first and the last layers, whose
    steps are large: the middle is where language models move evenly (arXiv 2602.05970).

    Raises ValueError unless 0 <= start < stop <= 1 and some layer lies between.
    """
    if not 0 <= start < stop <= 1:
        raise ValueError(
            f"the middle is from {start:g} to {stop:g}; 0 <= start < stop <= 1 is needed"
        )
    inside = [layer for layer in range(layers) if start * layers <= layer + 0.5 < stop * layers]
    if not inside:
        raise ValueError(f"no layer of {layers} lies from {start:g} to {stop:g} of the depth")
    return slice(inside[0], inside[-1] + 1)
