"""One study of a scaling law: a table of runs in, law.json, figures and tables out.

Data flows one way:

- `prepared.py`  the table and the law that the settings ask for, checked, and the fit
- `analysis.py`  intervals, comparison with the universal exponents, robustness
- `planning.py`  models and budgets that follow from the fit
- `drawing.py`, `printing.py`, `export.py`  the same for eyes, a terminal, a paper
- `run.py`       all of it, into one folder
"""

from toydepth.study.prepared import Prepared, prepare
from toydepth.study.printing import sentence
from toydepth.study.run import run

__all__ = ["Prepared", "prepare", "run", "sentence"]
