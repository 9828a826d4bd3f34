"""Which problem an experiment is: its student's block says."""

from toydepth.config import Experiment
from toydepth.toy.head import head_problem
from toydepth.toy.own import BUILT_IN, Own
from toydepth.toy.problem import Problem, depth_problem
from toydepth.toy.superposition import superposition_problem

PROBLEMS = {"head": head_problem, "autoencoder": superposition_problem}


def problem_of(e: Experiment, own: Own = BUILT_IN) -> Problem:
    """What the engine is given to train; blocks that are repeated make the problem of depth.

    Raises:
      SettingError: `e` names an object of one's own that is not in `own`.
    """
    if e.student.block in PROBLEMS:
        return PROBLEMS[e.student.block](e)
    return depth_problem(e, own)
