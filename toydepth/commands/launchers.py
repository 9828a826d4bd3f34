"""Who runs the jobs of a sweep: plugins of Hydra's, configured in conf/launcher."""

from importlib.util import find_spec
from multiprocessing import active_children

from toydepth.settings import SettingError

PLUGINS = {
    "joblib": "hydra_plugins.hydra_joblib_launcher",
    "slurm": "hydra_plugins.hydra_submitit_launcher",
    "ray": "hydra_plugins.hydra_ray_launcher",
}
ELSEWHERE = ("slurm", "ray")  # their jobs may run on other machines, and print there


def require(launcher: str) -> None:
    """Refuses a launcher whose plugin is not installed.

    Raises:
      SettingError: naming the extra that has it.
    """
    plugin = PLUGINS.get(launcher)
    if plugin and not (find_spec("hydra_plugins") and find_spec(plugin)):
        raise SettingError("launcher", launcher, "it needs pip install 'toydepth[cluster]'")


def workers() -> list[int]:
    """The processes that work for this one, as Joblib's do; they are multiprocessing's children."""
    return [child.pid for child in active_children() if child.pid is not None]
