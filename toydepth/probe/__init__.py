"""`python -m toydepth.probe`: hidden states of a run's networks or of a language model, measured.

- `toy_states.py`    the teachers and the trained rungs of a run
- `model_states.py`  a language model on texts, by `language/`
- `probe_summary.py`, `probe_figures.py`, `probe_printing.py`  the same for probe.json, eyes, a
  terminal
- `depth_comparison.py`  the steps of many networks against their depth
- `run_probe.py`     all of it, into one folder
"""
