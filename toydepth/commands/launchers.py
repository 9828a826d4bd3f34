"""Who runs the jobs of a sweep: plugins of Hydra's, configured in conf/launcher."""

from importlib.util import find_spec

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
    """The processes in which Joblib runs the jobs of this one."""
    try:
        from joblib.externals.loky import reusable_executor
    except ImportError:
        return []
    executor = reusable_executor._executor
    return list(executor._processes or ()) if executor else []
