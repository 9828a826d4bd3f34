import pytest

from toydepth.geometry import middle


@pytest.mark.parametrize(
    "layers, inside",
    [(2, [0]), (3, [1]), (4, [1, 2]), (12, [*range(3, 9)]), (30, [*range(7, 22)])],
)
def test_from_a_quarter_to_three_quarters(layers, inside):
    assert [*range(layers)][middle(layers)] == inside


def test_any_part():
    assert middle(10, 0, 1) == slice(0, 10)
    assert middle(10, 0.5, 0.75) == slice(5, 7)


@pytest.mark.parametrize("start, stop", [(0.5, 0.5), (0.7, 0.3), (-0.1, 0.5), (0.5, 1.1)])
def test_refuses_no_part(start, stop):
    with pytest.raises(ValueError, match="0 <= start < stop <= 1"):
        middle(10, start, stop)


def test_refuses_a_part_without_layers():
    with pytest.raises(ValueError, match="no layer of 4 lies from 0.4 to 0.6"):
        middle(4, 0.4, 0.6)
