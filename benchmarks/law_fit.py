"""Time and accuracy of fitting a law to Chinchilla's runs, against the published procedure.

    python benchmarks/law_fit.py [--baseline] [--data FILE] [--rounds 4] [--resamples 1000]
        [--steps 50000]

The free and the universal law in width, depth and data (millions of tokens), on the 203 runs that
stay when the 40 of highest loss are left out, and the bootstrap of either fit.

`--baseline` (needs the `bench` extra) interleaves the published procedure (arXiv 2602.05970) in
eager PyTorch: from one start, `--steps` steps of Adam, of which each round takes its share. Terms
are one vector and logarithms of sizes are taken once, which the published code does not do.
"""

import argparse
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from common import interleave, ratio, write

from toydepth.law.rows import exclude_highest, read_rows
from toydepth.scaling import Law, LawFit, bootstrap, fit_law
from toydepth.settings import SettingError

CHINCHILLA = Path(__file__).parents[2] / "shared" / "data" / "chinchilla.csv"
FREE = Law({"width": None, "depth": None, "data": None})
LAWS = {"free": FREE, "universal": FREE.universal()}
ADAM = {  # the settings of the paper's repository, liuyz0/DepthScaling
    "coefficients": (200.0, 200.0, 10.0),
    "exponents": (1.0, 1.0, 0.33),
    "floor": 1.69,
    "learning_rate": {"exponents": 5e-4, "log_coefficients": 5e-3, "floor": 5e-3},
    "depth_unit": 0.01,  # of a layer
    "objective_times": 100,
}
# What exponents and floor are kept in; log coefficients and data are float64.
PRECISIONS = {"as published": "float32", "in float64": "float64"}


def read(path: Path) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Sizes and losses; a table that cannot be used ends the script in one line."""
    try:
        rows = exclude_highest(read_rows(path, FREE.variables), 40)
    except SettingError as error:
        sys.exit(f"law_fit.py: --data {path}: {error.allowed}")
    return {**rows.variables, "data": rows.variables["data"] / 1e6}, rows.losses


def adam(
    sizes: dict[str, np.ndarray], losses: np.ndarray, precision: str
) -> tuple[Callable[[int], None], Callable[[], np.ndarray]]:
    """A function that takes steps, and one that tells where they led, as `LawFit.values`."""
    import torch

    units = np.array([1.0, ADAM["depth_unit"], 1.0])
    log_sizes = torch.tensor(np.log(np.stack([sizes[v] for v in FREE.variables], 1) / units))
    log_losses = torch.tensor(np.log(losses))
    kept = {"dtype": getattr(torch, precision), "requires_grad": True}
    exponents = torch.tensor(ADAM["exponents"], **kept)
    floor = torch.tensor(ADAM["floor"], **kept)
    log_coefficients = torch.tensor(np.log(ADAM["coefficients"]), requires_grad=True)
    rates = ADAM["learning_rate"]
    optimizer = torch.optim.Adam(
        [
            {"params": [log_coefficients], "lr": rates["log_coefficients"]},
            {"params": [exponents], "lr": rates["exponents"]},
            {"params": [floor], "lr": rates["floor"]},
        ]
    )

    def advance(steps: int) -> None:
        for _ in range(steps):
            optimizer.zero_grad()
            parts = (log_coefficients - exponents * log_sizes).exp()
            residuals = log_losses - (parts.sum(1) + floor).log()
            (residuals.square().mean() * ADAM["objective_times"]).backward()
            optimizer.step()

    def values() -> np.ndarray:
        a = exponents.detach().numpy().astype(float)
        return np.concatenate(
            [a, log_coefficients.detach().numpy() + a * np.log(units), [floor.item()]]
        )

    return advance, values


def mean_squared(values: np.ndarray, sizes: dict[str, np.ndarray], losses: np.ndarray) -> float:
    """Of the log residuals of the free law."""
    log_sizes = np.log(np.stack([sizes[v] for v in FREE.variables], 1))
    fitted = np.exp(values[3:6] - values[:3] * log_sizes).sum(1) + values[6]
    return float(np.mean(np.log(losses / fitted) ** 2))


def exponents_and_floor(fit: LawFit) -> list[float]:
    return [fit.parameters[f"exponent_{v}"].value for v in fit.law.variables] + [fit.floor]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--baseline", action="store_true")
    parser.add_argument("--data", type=Path, default=CHINCHILLA)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=50_000)
    args = parser.parse_args()
    turns = args.rounds + 1  # of Adam's, the round that is not timed among them
    if args.steps % turns:
        parser.error(f"--steps must be a multiple of --rounds + 1 = {turns}")
    sizes, losses = read(args.data)
    fits = {name: fit_law(law, sizes, losses) for name, law in LAWS.items()}
    runs, published = {}, {}
    for name, fit in fits.items():
        runs[f"fit_law, {name}"] = lambda law=fit.law: fit_law(law, sizes, losses)
        runs[f"bootstrap, {name}"] = lambda fit=fit: bootstrap(fit, args.resamples)
    if args.baseline:
        for name, precision in PRECISIONS.items():
            advance, published[name] = adam(sizes, losses, precision)
            runs[f"Adam, {name}"] = lambda advance=advance: advance(args.steps // turns)
    seconds = interleave(runs, args.rounds)
    for name in published:  # of all steps
        seconds[f"Adam, {name}"] = [turns * s for s in seconds[f"Adam, {name}"]]

    figures = {
        "rows": len(losses),
        "rounds": args.rounds,
        "resamples": args.resamples,
        "seconds": {name: statistics.median(taken) for name, taken in seconds.items()},
        "fits": {},
    }
    print(f"{'':22}{'seconds':>9}{'mean sq. residual':>19}  exponents and floor")
    for name, fit in fits.items():
        found = {
            "mean_squared_log_residual": fit.mean_squared_log_residual,
            "exponents_and_floor": exponents_and_floor(fit),
            "starts": fit.solution.starts,
            "agreeing": fit.solution.agreeing,
            "gradient": fit.solution.gradient,
        }
        show(f"fit_law, {name}", figures, found)
    best, stderr = fits["free"].values, np.sqrt(np.diag(fits["free"].covariance))
    for name, values in published.items():
        at = values()
        off = dict(zip(FREE.fitted, ((at - best) / stderr).tolist(), strict=True))
        found = {
            "mean_squared_log_residual": mean_squared(at, sizes, losses),
            "exponents_and_floor": at[[0, 1, 2, 6]].tolist(),
            "values": dict(zip(FREE.fitted, at.tolist(), strict=True)),
            "standard_errors_off": off,
            "times_as_long_as_fit_law": ratio(seconds[f"Adam, {name}"], seconds["fit_law, free"]),
        }
        show(f"Adam, {name}", figures, found)
    for name in fits:
        taken = figures["seconds"][f"bootstrap, {name}"]
        each = f"{args.resamples} refits, {taken / args.resamples * 1e3:.2f} ms each"
        print(f"{f'bootstrap, {name}':22}{taken:9.4f}   {each}")
    if args.baseline:
        import torch

        figures["adam"] = {**ADAM, "steps": args.steps, "version": torch.__version__}
        table(figures, best, stderr)
    write("law_fit", figures)


def show(name: str, figures: dict, found: dict) -> None:
    """Keeps a fit among the figures, and prints its row."""
    figures["fits"][name] = found
    row = "".join(f"{value:8.4f}" for value in found["exponents_and_floor"])
    residual = found["mean_squared_log_residual"]
    print(f"{name:22}{figures['seconds'][name]:9.4f}{residual:19.4e}{row}")


def table(figures: dict, best: np.ndarray, stderr: np.ndarray) -> None:
    """Where Adam stopped, beside the minimum and in its standard errors."""
    stopped = {name: found for name, found in figures["fits"].items() if "values" in found}
    print(f"\n{'':22}{'minimum +- st. error':>22}" + "".join(f"{name:>24}" for name in stopped))
    for parameter, value, error in zip(FREE.fitted, best, stderr, strict=True):
        row = f"{parameter:22}{f'{value:.4f} +- {error:.4f}':>22}"
        for found in stopped.values():
            at, off = found["values"][parameter], found["standard_errors_off"][parameter]
            row += f"{f'{at:.4f} ({off:+.2f})':>24}"
        print(row)
    for name, found in stopped.items():
        largest = max(map(abs, found["standard_errors_off"].values()))
        print(
            f"{name}: {found['times_as_long_as_fit_law']:.0f} times as long as fit_law, "
            f"up to {largest:.2f} standard errors off"
        )


if __name__ == "__main__":
    main()
