"""Figures of losses along training and of exponents over two settings."""

import numpy as np
import pytest

from toydepth.figures import Cell, Training, exponent_map, loss_over_training, png
from toydepth.scaling import read_course


def test_a_window_is_drawn_where_it_is():
    times = np.geomspace(1, 1e3, 31)
    losses = times ** (-1 / 3)
    window = read_course(times, losses).window
    figure = loss_over_training([Training("T = 0.003", times, losses, window)])
    (axes,) = figure.axes
    thick = [line for line in axes.lines if line.get_linewidth() == 4]
    assert len(thick) == 1 and len(thick[0].get_xdata()) == 31
    assert "0.33" in axes.get_legend().get_texts()[0].get_text()
    assert any("1/3" in text.get_text() for text in axes.texts)
    assert png(figure).startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="nothing to draw"):
        loss_over_training([])


def test_a_map_has_a_cell_for_each_pair():
    cells = [Cell(x, y, 0.1 * x + y, y > 1) for x in (1.0, 2.0, 4.0) for y in (0.2, 1.5)]
    cells[0] = cells[0]._replace(exponent=None)
    figure = exponent_map(cells, xlabel="rate", ylabel="temperature", expected=1 / 3)
    axes = figure.axes[0]
    shown = {text.get_position(): text for text in axes.texts}
    assert len(shown) == 5 and (0, 0) not in shown
    assert shown[2, 1].get_text() == "1.90" and shown[2, 1].get_fontweight() == "bold"
    assert shown[2, 0].get_fontweight() == "normal"
    assert png(figure).startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="two values"):
        exponent_map(cells[:1], xlabel="", ylabel="", expected=1 / 3)
