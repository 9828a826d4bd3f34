"""What happens when the last job of a Hydra multirun ends: the jobs are gathered in a report."""

from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig

from toydepth.cli import say
from toydepth.settings import reason


class Gather(Callback):
    """Fits an exponent for each regime of a sweep, and names the jobs that failed."""

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        from toydepth.report import build_report, print_report

        folder = Path(config.hydra.sweep.dir)
        try:
            print_report(build_report([folder], folder))
        except Exception as error:  # the jobs' results stand; Hydra would print a warning's lines
            say("train", f"{folder} has no report: {reason(error)}")
