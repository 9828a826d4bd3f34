"""The house: few loose modules, and no two of one name. (Which may import which: `make lint`.)"""

from collections import Counter
from pathlib import Path

HOUSE = Path(__file__).parents[1] / "toydepth"


def test_no_two_modules_have_one_name():
    names = Counter(path.stem for path in HOUSE.rglob("*.py") if not path.stem.startswith("__"))
    assert [name for name, count in names.items() if count > 1] == []


def test_at_most_ten_modules_are_loose():
    assert len(list(HOUSE.glob("*.py"))) <= 10
