"""A study from its command to law.json, on published runs and on tables with a known law."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from toydepth.law import law_command
from toydepth.law.prepared import prepare

DATA = Path(__file__).parents[3] / "shared" / "data"
QUICK = ("bootstrap.resamples=40", "robustness.exclude=[1,40]")


def refuse(constant):
    raise AssertionError(f"law.json holds {constant}, which is not JSON")


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """run("data.path=...", ...) -> (exit status, law.json or None, printed, said)."""
    monkeypatch.chdir(tmp_path)
    prepare.cache_clear()  # other tests have files of the same names

    def call(*words):
        monkeypatch.setattr("sys.argv", ["law", *words, "hydra.run.dir=out"])
        with pytest.raises(SystemExit) as stop:
            law_command.main()
        printed, said = capsys.readouterr()
        path = tmp_path / "out" / "law.json"
        found = json.loads(path.read_text(), parse_constant=refuse) if path.exists() else None
        return stop.value.code, found, printed, said

    return call


def published(name):
    path = DATA / f"{name}.csv"
    if not path.exists():
        pytest.skip(f"{path} is not there: the published runs lie beside the project")
    return f"data.path={path}"


def table(path, rows=120, noise=0.005, seed=0, count=False, **columns):
    """A table of runs of the law 400/m + 3/l + 1000/D^(1/3) + 1.8."""
    generator = np.random.default_rng(seed)
    m = generator.choice([256, 512, 1024, 2048, 4096], rows)
    depth = generator.choice([4, 8, 12, 24, 48], rows)
    tokens = np.exp(generator.uniform(np.log(1e9), np.log(1e12), rows))
    loss = 400 / m + 3 / depth + 1000 / tokens ** (1 / 3) + 1.8
    loss *= np.exp(noise * generator.normal(size=rows))
    columns = {"d_model": m, "n_layers": depth, "tokens": tokens, "loss": loss, **columns}
    if count:
        columns["params"] = 12 * m**2 * depth
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*(np.asarray(c).tolist() for c in columns.values()), strict=True))
    return f"data.path={path}"


def value(found, name):
    return found["parameters"][name]["value"]


def test_chinchilla_with_free_exponents(run):
    words = ("data=chinchilla", published("chinchilla"), "data.exclude_highest=40", "law=free")
    status, found, printed, _ = run(*words, *QUICK)
    assert status == 0 and found["status"] == "completed" and found["rows"] == 203
    known = {
        "exponent_width": 0.9455,
        "exponent_depth": 1.3251,
        "exponent_data": 0.2991,
        "floor": 1.7536,
    }
    for name, number in known.items():
        assert value(found, name) == pytest.approx(number, abs=1e-3)
    for variable, logarithm in (("width", 5.616), ("depth", 1.905), ("data", 2.139)):
        assert np.log(value(found, f"coefficient_{variable}")) == pytest.approx(logarithm, abs=1e-3)
    assert found["mean_squared_log_residual"] <= 3.02745e-5
    for name, error in (("exponent_width", 0.085), ("exponent_depth", 0.287), ("floor", 0.024)):
        assert found["parameters"][name]["stderr"] == pytest.approx(error, rel=0.01)
    assert found["fit"]["agreeing"] == found["fit"]["starts"] and found["fit"]["gradient"] < 1e-9
    comparison = found["comparison"]
    assert comparison["verdict"] == "holds" and 0.01 < comparison["p_value"] < 0.05
    held = comparison["held_out"]["leave_one_shape_out"]
    assert held["groups"] == 39 and held["fixed"] < held["free"]
    assert any("residuals of one shape are alike" in words for words in found["warnings"])
    scan = {row["count"]: row for row in found["robustness"]["exclude_highest"]}
    assert scan[40]["parameters"]["exponent_depth"]["value"] == value(found, "exponent_depth")
    assert scan[1]["rows"] == 244
    assert "warning: " in printed and "0.9455" in printed
    figures = {"terms", "observed_against_predicted", "exclusion_scan", "frontier", "shape_price"}
    assert set(found["figures"]) == figures
    assert all(Path("out", path).stat().st_size > 10_000 for path in found["figures"].values())


def test_chinchilla_with_universal_exponents(run):
    words = ("data=chinchilla", published("chinchilla"), "data.exclude_highest=40")
    status, found, _, _ = run(*words, "law=universal", *QUICK)
    assert status == 0
    for name, number in (
        ("coefficient_width", 387.64),
        ("coefficient_depth", 3.2527),
        ("coefficient_data", 10.643),
        ("floor", 1.7777),
    ):
        assert value(found, name) == pytest.approx(number, rel=1e-3)
    assert found["mean_squared_log_residual"] == pytest.approx(3.1686e-5, rel=1e-4)
    assert found["aspect_ratio"] == pytest.approx(59.6, abs=0.1)
    offsets = {row["offset"]: row for row in found["robustness"]["depth_offset"]}
    assert offsets[0]["aspect_ratio"]["value"] == pytest.approx(59.6, abs=0.1)
    assert offsets[2]["aspect_ratio"]["value"] == pytest.approx(71.1, abs=0.05)
    # By the bootstrap and to first order the interval is much the same.
    linear, drawn = offsets[0]["aspect_ratio"], found["planning"]["aspect_ratio"]
    assert linear["stderr"] == pytest.approx(drawn["stderr"], rel=0.4)
    # The papers' scalings, from the fit by itself.
    scalings = found["planning"]["scalings"]
    assert scalings["parameters_with_compute"]["value"] == pytest.approx(1 / 2, rel=0.01)
    assert scalings["width_part_to_depth_part"]["value"] == pytest.approx(2, rel=0.01)
    assert scalings["excess_loss_with_compute"]["value"] == pytest.approx(-1 / 6, rel=0.01)
    assert scalings["excess_loss_with_parameters"]["value"] == pytest.approx(-1 / 3, rel=0.01)
    ratio = found["planning"]["aspect_ratio"]
    assert ratio["low"] < ratio["value"] < ratio["high"] and ratio["at_parameters"] is None


def test_depth_counted_from_two(run):
    """N = 12 m^2 l does not hold for such a depth, so no model is planned with it."""
    words = ("data=chinchilla", published("chinchilla"), "data.exclude_highest=40")
    _, found, _, _ = run(*words, "law=universal", "data.depth_offset=2", *QUICK)
    assert found["aspect_ratio"] == pytest.approx(71.1, abs=0.05)
    assert found["planning"] is None
    assert "counts depth from an offset" in found["notes"][0]


def test_gemstones_reject_the_universal_exponents(run):
    status, found, printed, _ = run("data=gemstones", published("gemstones"), *QUICK)
    assert status == 0 and found["rows"] == 220
    assert "the universal exponents are rejected" in printed
    comparison = found["comparison"]
    assert comparison["verdict"] == "rejected" and comparison["p_value"] < 1e-6
    squares = comparison["mean_squared_log_residual"]
    assert squares["fixed"] / squares["free"] == pytest.approx(9.3, abs=0.1)
    assert squares["fixed"] * 220 == pytest.approx(0.0829 * 2, rel=1e-3)
    for variable, free, universal in (
        ("width", 0.32, 1),
        ("depth", 0.17, 1),
        ("data", 0.58, 1 / 3),
    ):
        exponent = comparison["exponents"][variable]
        assert exponent["free"]["value"] == pytest.approx(free, abs=0.01)
        assert exponent["difference"] == pytest.approx(exponent["free"]["value"] - universal)
        assert abs(exponent["in_standard_errors"]) > 3


def test_a_table_of_ones_own(run, tmp_path):
    path = table(tmp_path / "runs.csv", noise=1e-6)
    status, found, _, _ = run(path, "law=free", "export=[latex,csv]", *QUICK)
    assert status == 0
    assert value(found, "exponent_depth") == pytest.approx(1, abs=1e-3)
    assert value(found, "coefficient_data") == pytest.approx(1000, rel=1e-3)
    assert found["data"]["units"] == {"width": 1, "depth": 1, "data": 1}
    assert found["tables"] == ["parameters.tex", "parameters.csv", "rows.csv"]
    with open("out/rows.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 120 and rows[0]["line"] == "2"
    first = {name: float(cell) for name, cell in rows[0].items()}
    parts = sum(first[f"part_{name}"] for name in ("width", "depth", "data"))
    assert parts + value(found, "floor") == pytest.approx(first["fitted"])
    assert first["log_residual"] == pytest.approx(np.log(first["loss"] / first["fitted"]))
    tex = Path("out/parameters.tex").read_text()
    assert r"$c_{\ell}$ & $3" in tex and tex.count(r"\\") == 8


@pytest.mark.slow
def test_units_change_only_what_is_shown(run, tmp_path):
    path = table(tmp_path / "runs.csv")
    _, ones, _, _ = run(path, "law=universal", *QUICK)
    (tmp_path / "out").rename(tmp_path / "first")
    _, millions, _, _ = run(path, "law=universal", "data.units.data=1e6", *QUICK)
    assert value(ones, "coefficient_data") == pytest.approx(
        100 * value(millions, "coefficient_data")
    )
    one, other = (found["planning"]["budgets"][0]["tokens"]["value"] for found in (ones, millions))
    assert one == pytest.approx(other)
    assert ones["aspect_ratio"] == pytest.approx(millions["aspect_ratio"])


def test_one_exponent_fixed(run, tmp_path):
    status, found, printed, _ = run(table(tmp_path / "runs.csv"), "law.depth=1", *QUICK)
    assert status == 0 and found["law"]["exponents"] == {
        "width": "free",
        "depth": 1,
        "data": "free",
    }
    assert found["parameters"]["exponent_depth"]["fixed"]
    assert found["comparison"]["as_asked"]["numerator"] == 1
    assert "the law as asked" in printed


def test_a_law_without_a_shape(run, tmp_path):
    path = table(tmp_path / "runs.csv", count=True)
    status, found, _, _ = run(path, "law=chinchilla", *QUICK)
    assert status == 0 and found["aspect_ratio"] is None
    assert set(found["planning"]["budgets"][0]["parts"]) == {"parameters", "data"}
    assert found["robustness"]["depth_offset"] == [] and "shape_price" not in found["figures"]


@pytest.mark.slow
def test_a_law_that_cannot_be_planned_from(run, tmp_path):
    path = table(tmp_path / "runs.csv", tau=np.geomspace(1, 1e4, 120))
    words = ("law.width=null", "law.depth=free", "law.data=null", "law.time=free")
    status, found, _, _ = run(path, *words, *QUICK)
    assert status == 0 and found["planning"] is None
    assert any(words.startswith("no model is planned") for words in found["notes"])
    assert set(found["parameters"]) >= {"exponent_time", "coefficient_time"}


def test_targets_and_embeddings(run, tmp_path):
    words = ("law=universal", "plan.target_loss=2.2", "plan.vocabulary=32000", "plan.compute=1e21")
    status, found, printed, _ = run(table(tmp_path / "runs.csv"), *words, *QUICK)
    assert status == 0
    (target,) = found["planning"]["targets"]
    cheapest, built = target["cheapest"], target["buildable"]
    assert cheapest["loss"]["value"] == pytest.approx(2.2)
    assert target["smallest"]["parameters"]["value"] < cheapest["parameters"]["value"]
    assert built["width"] % 64 == 0 and built["depth"] == int(built["depth"])
    assert built["compute"] >= cheapest["compute"]["value"]
    width, depth = cheapest["width"]["value"], cheapest["depth"]["value"]
    assert cheapest["parameters"]["value"] == pytest.approx(12 * width**2 * depth + 32000 * width)
    assert "N = 12 m^2 l + 32000 m" in printed


def test_huber_shrugs_off_an_outlier(run, tmp_path):
    table(tmp_path / "runs.csv", noise=1e-4)
    lines = (tmp_path / "runs.csv").read_text().splitlines()
    *rest, loss = lines[5].split(",")
    lines[5] = ",".join([*rest, str(3 * float(loss))])
    (tmp_path / "runs.csv").write_text("\n".join(lines) + "\n")
    words = (f"data.path={tmp_path}/runs.csv", "law=universal", "robustness.exclude=null")
    _, found, _, _ = run(*words, "fit.loss=huber", "bootstrap.resamples=0")
    assert value(found, "coefficient_depth") == pytest.approx(3, rel=0.01)
    assert found["comparison"]["aic_difference"] is None
    assert found["planning"]["aspect_ratio"]["low"] is None  # no bootstrap, no interval


@pytest.mark.slow
def test_errors_alike_within_shapes(run, tmp_path):
    """A true universal law, on which each shape errs by 1 % in all its rows."""
    generator = np.random.default_rng(5)
    shapes = [(m, depth) for m in (256, 512, 1024, 2048, 4096) for depth in (4, 8, 16, 32, 64)]
    rows = [(m, depth, d) for m, depth in shapes for d in np.geomspace(1e9, 1e12, 12)]
    m, depth, tokens = np.array(rows).T
    effect = 0.01 * np.repeat(generator.normal(size=len(shapes)), 12)
    effect += 0.001 * generator.normal(size=len(m))
    loss = (400 / m + 3 / depth + 1000 / tokens ** (1 / 3) + 1.8) * np.exp(effect)
    columns = {"d_model": m, "n_layers": depth, "tokens": tokens, "loss": loss}
    path = table(tmp_path / "runs.csv", rows=len(m), **columns)
    _, by_rows, printed, _ = run(path, *QUICK)
    assert any("errors=shapes" in words for words in by_rows["warnings"])
    assert by_rows["comparison"]["p_value"] < 1e-3  # which takes the rows as independent
    assert by_rows["comparison"]["clustered_p_value"] > 1e-3
    assert by_rows["comparison"]["verdict"] != "rejected"
    (tmp_path / "out").rename(tmp_path / "rows")
    _, by_shapes, printed, _ = run(path, "errors=shapes", *QUICK)
    assert not any("alike" in words for words in by_shapes["warnings"])
    assert "95 % (by shapes)" in printed and "bootstrap of shapes" in printed
    for name in ("exponent_width", "exponent_depth"):
        rows, shapes = (found["parameters"][name] for found in (by_rows, by_shapes))
        assert rows["value"] == shapes["value"] and shapes["stderr"] > 1.5 * rows["stderr"]
        wide = shapes["bootstrap"]["high"] - shapes["bootstrap"]["low"]
        assert wide > 1.5 * (rows["bootstrap"]["high"] - rows["bootstrap"]["low"])
        assert shapes["low"] < 1 < shapes["high"]


def test_few_rows_are_said_to_be_few(run, tmp_path):
    status, found, printed, _ = run(table(tmp_path / "runs.csv", rows=7), *QUICK)
    assert status == 0 and found["parameters"]["floor"]["low"] is None
    assert any("no degree of freedom" in words for words in found["warnings"])
    assert any("not tested" in words for words in found["warnings"])
    assert found["comparison"] is None
    ends = [
        found["parameters"][name][kind][end]
        for name in ("exponent_width", "coefficient_data")
        for kind in ("jacobian", "profile", "bootstrap")
        for end in ("low", "high")
    ]
    assert ends == [None] * 12 and found["planning"]["aspect_ratio"]["high"] is None


@pytest.mark.slow
def test_a_target_that_many_draws_cannot_reach_has_no_upper_cost(run, tmp_path):
    path = table(tmp_path / "runs.csv", rows=60, noise=0.02)
    status, found, _, said = run(
        path, "law=universal", "bootstrap.resamples=100", "plan.compute=null"
    )
    assert status == 0, said
    floor = found["parameters"]["floor"]
    (tmp_path / "out").rename(tmp_path / "first")
    target = floor["value"] + 0.3 * floor["stderr"]
    words = (path, "law=universal", "bootstrap.resamples=100", f"plan.target_loss={target}")
    _, found, printed, _ = run(*words)
    compute = found["planning"]["targets"][0]["cheapest"]["compute"]
    assert compute["low"] > 0 and compute["high"] is None and compute["stderr"] is None
    assert "to no bound" in printed


@pytest.mark.slow
def test_losses_that_no_size_lowers(run, tmp_path):
    """Noise: terms that are not there have no exponent, and nothing is tested with them."""
    path = table(tmp_path / "runs.csv", loss=np.exp(np.random.default_rng(3).normal(size=120)))
    status, found, printed, _ = run(path, *QUICK)
    assert status == 0 and found["comparison"]["verdict"] == "cannot tell"
    dead = [v for v in ("width", "depth", "data") if value(found, f"coefficient_{v}") == 0]
    assert dead and all(value(found, f"exponent_{v}") is None for v in dead)
    assert found["planning"] is None


def test_plans_beyond_the_rows_are_flagged(run, tmp_path):
    words = ("law=universal", "plan.compute=[1e22,1e35]")
    _, found, _, _ = run(table(tmp_path / "runs.csv"), *words, *QUICK)
    assert any("plans for 1e+35 FLOP trust the law beyond them" in w for w in found["warnings"])


def test_dropped_rows_are_counted(run, tmp_path):
    table(tmp_path / "runs.csv")
    with open(tmp_path / "runs.csv", "a") as file:
        file.write("256,4,1e9,\n256,4,1e9,nan\n")
    words = (f"data.path={tmp_path}/runs.csv", "law=universal", "data.drop_invalid=true")
    _, found, printed, _ = run(*words, *QUICK)
    assert found["data"]["dropped"] == 2 and "2 invalid dropped" in printed


def write_bad(tmp_path):
    table(tmp_path / "runs.csv", rows=30)
    table(tmp_path / "one_width.csv", rows=30, d_model=np.full(30, 512))
    table(tmp_path / "two.csv", rows=2)
    table(tmp_path / "level.csv", rows=30, loss=np.full(30, 2.0))
    table(tmp_path / "twice.csv", rows=30, width=np.full(30, 512))
    (tmp_path / "no_loss.csv").write_text("d_model,n_layers,tokens\n1,2,3\n")
    (tmp_path / "zero.csv").write_text("d_model,n_layers,tokens,loss\n64,2,10,3\n64,0,10,3\n")
    (tmp_path / "runs.xls").write_text("")


@pytest.mark.parametrize(
    "words, line",
    [
        (["data.path=nowhere.csv"], "data.path=nowhere.csv is not allowed"),
        (["data.path=runs.xls"], "data.path=runs.xls is not allowed"),
        (["data.path=no_loss.csv"], "data.columns.loss=null is not allowed"),
        (["data.path=twice.csv"], "data.columns.width=null is not allowed"),
        (["data.path=zero.csv"], "line 3: n_layers is 0"),
        (["data.path=runs.csv", "data.columns.width=dim"], "data.columns.width=dim is not allowed"),
        (["data.path=runs.csv", "data.columns.time=tau"], "the law has no term in time"),
        (["data.path=runs.csv", "law=chinchilla"], "data.columns.parameters=null is not allowed"),
        (["data.path=runs.csv", "data.exclude_highest=30"], "data.exclude_highest=30"),
        (["data.path=runs.csv", "data.depth_offset=4"], "data.depth_offset=4"),
        (["data.path=one_width.csv"], "width has 1 distinct size; its term needs 3"),
        (["data.path=level.csv"], "every loss is 2: there is nothing to fit"),
        (["data.path=two.csv", "law=universal"], "2 points cannot give 4 parameters"),
        (["data.path=runs.csv", "plan.target_loss=1.2"], "plan.target_loss=1.2 is not allowed"),
        (
            ["data.path=runs.csv", "law.width=null", "law.depth=null", "errors=shapes"],
            "errors=shapes is not allowed",
        ),
        (
            ["data.path=runs.csv", "law.width=null", "plan.vocabulary=50000"],
            "plan.vocabulary=50000 is not allowed",
        ),
    ],
)
def test_refusals_are_one_line_and_leave_nothing(run, tmp_path, words, line):
    write_bad(tmp_path)
    status, found, printed, said = run(*words)
    assert status == 2 and found is None and printed == ""
    assert said.startswith("toydepth.law: ") and len(said.splitlines()) == 1
    assert line in said
    assert not (tmp_path / "out").exists()


def test_offline_says_where_to_put_the_file(run, monkeypatch, tmp_path):
    def unreachable(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr("urllib.request.urlopen", unreachable)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    from toydepth.law.published import fetch

    monkeypatch.setattr(
        "toydepth.law.prepared.fetch", lambda name: fetch(name, open_url=unreachable)
    )
    status, _, _, said = run("data=chinchilla")
    assert status == 2 and len(said.splitlines()) == 1
    assert "chinchilla.csv" in said and "data.path=FILE" in said


@pytest.mark.slow
def test_a_sweep_of_laws_as_a_command(command, tmp_path):
    path = table(tmp_path / "runs.csv")
    words = ("-m", path, "law=free,universal", "hydra.sweep.dir=out", *QUICK, "plan.compute=null")
    ended = command(*words, verb="law")
    assert ended.returncode == 0, ended.stderr
    laws = [json.loads((tmp_path / "out" / job / "law.json").read_text()) for job in "01"]
    lines = [line for line in ended.stderr.splitlines() if line.startswith("toydepth.law: ")]
    assert ["1 of 2 jobs" in lines[0], "2 of 2 jobs | job 1: " in lines[1]] == [True, True]
    assert [len(found["law"]["exponents"]) for found in laws] == [3, 3]
    assert laws[0]["comparison"]["p_value"] == pytest.approx(laws[1]["comparison"]["p_value"])
    ended = command(path, "data.exclude_highest=-1", verb="law")
    assert ended.returncode == 2 and len(ended.stderr.splitlines()) == 1
