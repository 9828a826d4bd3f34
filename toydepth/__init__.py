"""toydepth: how a residual network's loss falls with its depth, and why."""

__version__ = "0.1.0"
