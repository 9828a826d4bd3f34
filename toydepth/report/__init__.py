"""`python -m toydepth.report`: the page, the tables and the figures of any runs."""
