"""The machinery: devices, schedules, the compiled programs, checkpoints and the loop."""

from toydepth.engine.checkpoint import Checkpoint, Checkpoints
from toydepth.engine.devices import (
    Layout,
    borrowed_devices,
    compile_seconds,
    layout,
    prepare_devices,
)
from toydepth.engine.loop import run
from toydepth.engine.optimizers import update_rule
from toydepth.engine.phases import Phase, plan
from toydepth.engine.programs import Programs, build
from toydepth.engine.schedule import learning_rates
from toydepth.engine.state import Job, Progress, Stopped, prepare_job, restore, start_rungs
from toydepth.engine.together import hear, tell

__all__ = [
    "Checkpoint",
    "Checkpoints",
    "Job",
    "Layout",
    "Phase",
    "Programs",
    "Progress",
    "Stopped",
    "borrowed_devices",
    "build",
    "compile_seconds",
    "hear",
    "layout",
    "learning_rates",
    "plan",
    "prepare_devices",
    "prepare_job",
    "restore",
    "run",
    "start_rungs",
    "tell",
    "update_rule",
]
