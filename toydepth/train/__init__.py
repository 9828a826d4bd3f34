"""`python -m toydepth.train`: one job in its folder, resumed, in sweeps, stopped by signals."""
