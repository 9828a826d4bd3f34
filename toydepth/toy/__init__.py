"""The science: teachers, students and their blocks, objectives, and the stream of inputs."""

from toydepth.toy.layers import Mlp, mlp, rms_norm
from toydepth.toy.objectives import kl_divergence, mean_squared_error
from toydepth.toy.own import BUILT_IN, Block, Own, called, check_numbers, fingerprint
from toydepth.toy.problem import Problem, depth_problem, new_student
from toydepth.toy.problems import problem_of
from toydepth.toy.random import Purpose, key_for
from toydepth.toy.student import BLOCKS, Student, deepen
from toydepth.toy.teacher import KINDS, Teacher, draw_teacher, final_state, hidden_states

__all__ = [
    "BLOCKS",
    "BUILT_IN",
    "Block",
    "KINDS",
    "Mlp",
    "Own",
    "Problem",
    "Purpose",
    "Student",
    "Teacher",
    "called",
    "check_numbers",
    "deepen",
    "depth_problem",
    "draw_teacher",
    "final_state",
    "fingerprint",
    "hidden_states",
    "key_for",
    "kl_divergence",
    "mean_squared_error",
    "mlp",
    "new_student",
    "problem_of",
    "rms_norm",
]
