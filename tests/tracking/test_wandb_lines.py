"""What W&B is told of runs over a width, with several temperatures and rates side by side."""

import pytest

from toydepth.tracking.wandb_lines import course_lines, loss_chart, metrics, summary


def rung(temperature=0.1, peak_rate=0.01, width=32, loss=0.5, replica=0):
    known = {"size": width, "replica": replica, "temperature": temperature, "loss": loss}
    return known | {"peak_rate": peak_rate, "loss_stderr": 0.01, "steps": 10, "status": "completed"}


def test_the_rate_of_a_measurement_is_in_its_names():
    line = rung() | {"kind": "train", "rung": 0, "step": 5, "total_step": 5, "tau": 0.05}
    line = {k: v for k, v in line.items() if k in ("kind", "rung", "step", "total_step", "tau",
            "size", "replica", "temperature", "peak_rate", "loss")}  # fmt: skip
    named = {"train/width_32/loss/T=0.1/rate=0.01": 0.5, "train/width_32/tau/T=0.1/rate=0.01": 0.05}
    assert metrics(line, "width", replicas=1) == named
    assert all(name.endswith("/replica_0") for name in metrics(line, "width", replicas=2))
    one = {k: v for k, v in line.items() if k != "peak_rate"} | {"temperature": None}
    assert set(metrics(one, "width", replicas=1)) == {"train/width_32/loss", "train/width_32/tau"}


def test_each_temperature_and_rate_has_its_mean_loss():
    rungs = [rung(heat, rate, loss=heat + rate + r, replica=r)
             for heat in (0.1, 1.0) for rate in (0.01, 0.02) for r in (0, 1)]  # fmt: skip
    found = summary({"status": "completed", "alpha": None, "rungs": rungs}, "width")
    losses = {name: value for name, value in found.items() if name.startswith("loss/")}
    assert losses == pytest.approx(
        {
            "loss/width_32/T=0.1/rate=0.01": 0.61,
            "loss/width_32/T=0.1/rate=0.02": 0.62,
            "loss/width_32/T=1/rate=0.01": 1.51,
            "loss/width_32/T=1/rate=0.02": 1.52,
        }
    )
    # What does not differ is not named.
    found = summary({"status": "completed", "alpha": None, "rungs": rungs[:2]}, "width")
    assert found["loss/width_32"] == pytest.approx(0.61)


def test_alpha_along_training_is_apart_by_what_differs():
    course = [
        {"share": share, "value": 1.0, "temperature": 0.1, "peak_rate": rate}
        for rate in (0.01, 0.02)
        for share in (0.5, 1.0)
    ]
    lines = course_lines(course, {})
    names = [*(set(line) - {"training_share"} for line in lines)]
    first, second = ({f"alpha_over_training/value/rate={rate}"} for rate in (0.01, 0.02))
    assert names == [first, first, second, second]


def test_the_chart_has_a_line_for_each_rate():
    rungs = [rung(peak_rate=rate, width=width) for rate in (0.01, 0.02) for width in (8, 16)]
    table = loss_chart({"rungs": rungs}, "width").table
    assert table.columns == ["width", "replica", "temperature", "peak_rate", "loss", "loss_stderr",
                             "steps", "converged", "status"]  # fmt: skip
    assert [(row[0], row[3]) for row in table.data] == [
        (8, 0.01),
        (16, 0.01),
        (8, 0.02),
        (16, 0.02),
    ]
    alone = loss_chart({"rungs": [{"size": 8, "replica": 0, "loss": 1.0}]}, "width").table
    assert "peak_rate" not in alone.columns
    assert loss_chart({"rungs": []}, "width") is None
