"""Which column of a file holds which variable."""

from collections.abc import Collection, Mapping, Sequence

from toydepth.settings import SettingError, listed

# What others call them.
NAMES = {
    "width": "d_model width hidden_size n_embd embed_dim model_dim dim hidden_dim".split(),
    "depth": "n_layers num_layers depth n_layer layers num_hidden_layers".split(),
    "data": "num_tokens tokens n_tokens training_tokens train_tokens dataset_size data D".split(),
    "time": "tau time training_time sum_lr steps train_steps training_steps num_steps".split(),
    "parameters": "model_size params parameters n_params num_params num_parameters N".split(),
    "loss": "loss final_loss test_loss val_loss eval_loss validation_loss".split(),
}


def find_columns(
    names: Sequence[str],
    variables: Sequence[str],
    given: Mapping[str, str | None],
    prefer: Mapping[str, str],
) -> dict[str, str]:
    """The column of each variable: the one given, else the one preferred, else by common names.

    Args:
      names: the columns of the file.
      variables: keys of `NAMES`.
      given: columns that the user named; they are not taken for another variable too.
      prefer: columns to take where the file has them.

    Raises:
      SettingError: of `data.columns.VARIABLE`, where the file has no such column, or more than one.
    """
    columns: dict[str, str] = {}
    for variable in variables:
        name = given.get(variable)
        if name is None:
            continue
        if name not in names:
            raise _error(variable, name, f"the file has the columns {listed(names, 12)}")
        if name in columns.values():
            other = next(v for v, column in columns.items() if column == name)
            raise _error(variable, name, f"it is the column of {other} too")
        columns[variable] = name
    free = [name for name in names if name not in columns.values()]
    for variable in variables:
        if variable not in columns:
            columns[variable] = _by_name(variable, free, prefer.get(variable))
    return {variable: columns[variable] for variable in variables}


def _by_name(variable: str, names: Collection[str], preferred: str | None) -> str:
    if preferred in names:
        return preferred
    known = {_key(name) for name in NAMES[variable]}
    found = [name for name in names if _key(name) in known]
    if len(found) > 1:
        raise _error(variable, None, f"name one of the columns {listed(found, 12)}")
    if not found:
        raise _error(
            variable,
            None,
            f"no column has a usual name of the {variable}; name one of {listed(names, 12)}",
        )
    return found[0]


def _key(name: str) -> str:
    """Case and separators make no difference, but in one letter: `n` and `d` are seldom N and D."""
    return name if len(name) == 1 else name.translate({ord(c): None for c in "_- "}).lower()


def _error(variable: str, name: str | None, allowed: str) -> SettingError:
    return SettingError(f"data.columns.{variable}", name, allowed)
