"""One probe: the hidden states of a run's networks or of a language model, measured.

- `toy.py`       the teachers and the trained rungs of a run
- `language.py`  a language model on texts
- `summary.py`   probe.json
- `drawing.py`, `printing.py`  the same for eyes and a terminal
- `compare.py`   the steps of many networks against their depth
- `run.py`       all of it, into one folder
"""

from toydepth.probing.compare import CompareError, compare
from toydepth.probing.run import prepare, run
from toydepth.probing.summary import sentence

__all__ = ["CompareError", "compare", "prepare", "run", "sentence"]
