"""`python -m toydepth.law`: one law on one table of training runs.

Data flows one way:

- `table_files.py`, `columns.py`, `rows.py`, `published.py`  a file in, checked arrays out
- `prepared.py`     the table and the law that the settings ask for, and the fit
- `analysis.py`     intervals, comparison with the universal exponents, robustness
- `model_plans.py`  models and budgets that follow from the fit
- `law_summary.py`, `law_figures.py`, `law_printing.py`, `export.py`  the same for law.json, eyes, a
  terminal, a paper
- `study.py`        all of it, into one folder
"""
