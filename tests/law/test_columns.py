"""Columns are found by the names that people use, or as the user says."""

import pytest

from toydepth.law.rows import read_rows
from toydepth.settings import SettingError

COMMON = {
    "width": "d_model width hidden_size n_embd embed_dim model_dim dim hidden_dim",
    "depth": "n_layers num_layers depth n_layer layers num_hidden_layers",
    "data": "num_tokens tokens n_tokens training_tokens train_tokens dataset_size data D",
    "time": "tau time training_time sum_lr",
    "parameters": "model_size params parameters n_params num_params num_parameters N",
}
LOSSES = "loss final_loss test_loss val_loss eval_loss validation_loss"


def read(tmp_path, names, wanted, *given, **options):
    """A file whose column number i holds i + 1."""
    path = tmp_path / "runs.csv"
    path.write_text(",".join(names) + "\n" + ",".join(str(i + 1) for i in range(len(names))))
    return read_rows(path, wanted, *given, **options)


@pytest.mark.parametrize(
    ("variable", "name"), [(v, name) for v, names in COMMON.items() for name in names.split()]
)
def test_finds_common_names(tmp_path, variable, name):
    rows = read(tmp_path, ["n", "d", name, "loss"], [variable])
    assert rows.columns == {variable: name, "loss": "loss"}
    assert (rows.variables[variable], rows.losses) == ([3], [4])


@pytest.mark.parametrize("name", LOSSES.split())
def test_finds_common_names_of_the_loss(tmp_path, name):
    assert read(tmp_path, ["FLOP", name], []).columns == {"loss": name}


@pytest.mark.parametrize(
    ("variable", "name"),
    [
        ("width", "D_MODEL"),
        ("width", "d-model"),
        ("width", "Hidden Size"),
        ("depth", "nLayers"),
        ("data", "numTokens"),
        ("time", "sum-LR"),
        ("parameters", "Model Size"),
    ],
)
def test_case_and_separators_make_no_difference(tmp_path, variable, name):
    assert read(tmp_path, [name, "Loss"], [variable]).columns == {variable: name, "loss": "Loss"}


@pytest.mark.parametrize(("variable", "letter"), [("data", "d"), ("parameters", "n")])
def test_a_small_letter_is_not_the_papers_letter(tmp_path, variable, letter):
    with pytest.raises(
        SettingError, match=f"data.columns.{variable}=null .* name one of {letter}, l"
    ):
        read(tmp_path, [letter, "loss"], [variable])
    rows = read(tmp_path, [letter, letter.upper(), "loss"], [variable])
    assert rows.columns[variable] == letter.upper()


def test_given_beats_preferred_beats_common(tmp_path):
    names = ["width", "emb", "dim", "loss", "smoothed"]
    prefer = {"width": "emb", "loss": "absent"}
    rows = read(tmp_path, names, ["width"], {"width": None}, prefer=prefer)
    assert rows.columns == {"width": "emb", "loss": "loss"}
    given = {"width": "dim", "loss": "smoothed"}
    rows = read(tmp_path, names, ["width"], given, prefer=prefer)
    assert rows.columns == given
    assert (rows.variables["width"], rows.losses) == ([3], [5])


def test_a_given_column_is_not_taken_for_another_variable(tmp_path):
    names = ["depth", "layers", "loss"]
    rows = read(tmp_path, names, ["depth", "data"], {"data": "depth"})
    assert rows.columns == {"depth": "layers", "data": "depth", "loss": "loss"}


@pytest.mark.parametrize(
    ("names", "given", "setting", "value", "allowed"),
    [
        (
            ["dim", "d_model", "loss"],
            {},
            "data.columns.width",
            None,
            "name one of the columns dim, d_model",
        ),
        (
            ["loss", "Loss", "dim"],
            {},
            "data.columns.loss",
            None,
            "name one of the columns loss, Loss",
        ),
        (
            ["size", "loss"],
            {},
            "data.columns.width",
            None,
            "no column has a usual name of the width; name one of size, loss",
        ),
        (
            ["width"],
            {},
            "data.columns.loss",
            None,
            "no column has a usual name of the loss; name one of width",
        ),
        (
            ["dim", "loss"],
            {"width": "Dim"},
            "data.columns.width",
            "Dim",
            "the file has the columns dim, loss",
        ),
        (
            ["dim", "loss"],
            {"width": "dim", "loss": "dim"},
            "data.columns.loss",
            "dim",
            "it is the column of width too",
        ),
        (
            ["dim", "loss"],
            {"width": "loss"},
            "data.columns.loss",
            None,
            "no column has a usual name of the loss; name one of dim",
        ),
    ],
)
def test_refuses(tmp_path, names, given, setting, value, allowed):
    with pytest.raises(SettingError) as caught:
        read(tmp_path, names, ["width"], given)
    error = caught.value
    assert (error.setting, error.value, error.allowed) == (setting, value, allowed)


def test_cuts_a_long_list_of_columns(tmp_path):
    with pytest.raises(SettingError, match="c0, c1, .*c11, and 988 more$"):
        read(tmp_path, [f"c{i}" for i in range(1000)], ["width"])


def test_only_wanted_variables_are_looked_at(tmp_path):
    rows = read(tmp_path, ["dim", "width", "N", "loss"], ["parameters"], {"depth": "absent"})
    assert rows.variables.keys() == {"parameters"}
