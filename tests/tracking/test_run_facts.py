"""What a run is called where many are compared."""

import pytest

from toydepth.commands.command_line import read_command
from toydepth.tracking import run_facts
from toydepth.train.training_command import VERB


@pytest.mark.parametrize(
    "words, group, name",
    [
        (
            ["teacher=mixed", "teacher.rho=0.5", "student.depth=[2,3]"],
            "mixed (rho = 0.5)-mse-width=16",
            "mixed (rho = 0.5) mse, depth 2-3, width 16, teacher seed 0",
        ),
        (
            ["student=looped", "student.depth=[2,3]", "replicas=3", "teacher.seed=4"],
            "shared-mse-looped-width=16",
            "shared mse looped, depth 2-3, width 16, teacher seeds 4 to 6",
        ),
        (
            ["experiment=width_scaling", "student.width=[4,8]"],
            "features (features = 2000, skew = 0, active = 1)-mse-autoencoder",
            "features (features = 2000, skew = 0, active = 1) mse autoencoder, width 4-8, "
            "teacher seed 0",
        ),
        (
            ["experiment=time_scaling", "target.temperature=0.1", "optimizer.learning_rate=0.1"],
            "head-kl-learned-head-T=0.1-width=32",
            "head kl learned head, width 32, T 0.1, teacher seed 0",
        ),
        (
            ["experiment=time_scaling"],
            "head-kl-learned-head-width=32",
            "head kl learned head, width 32, T 0.001 to 1 (8), rate 0.001 to 1 (12), "
            "teacher seed 0",
        ),
    ],
)
def test_group_and_name(words, group, name):
    (e,) = read_command(VERB, words).jobs
    assert run_facts.group(e) == group
    assert run_facts.name(e) == name
