"""Which problem an experiment is: its student's block says."""

from toydepth.config import Experiment
from toydepth.toy.head import head_problem
from toydepth.toy.problem import Problem, depth_problem
from toydepth.toy.superposition import superposition_problem

PROBLEMS = {"head": head_problem, "autoencoder": superposition_problem}


def problem_of(e: Experiment) -> Problem:
    """What the engine is given to train; blocks that are repeated make the problem of depth."""
    return PROBLEMS.get(e.student.block, depth_problem)(e)
