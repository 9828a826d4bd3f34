"""A causal language model from a folder, a GGUF file or the hub, or one line why not."""

import contextlib
import io
import os
import re
from pathlib import Path
from typing import Any

from toydepth.probe.language.hub import INSTALL, unreachable
from toydepth.probe.language.language_model import LanguageModel, plain_ids, run, text_config
from toydepth.settings import SettingError, listed, reason, show

DTYPES = ("float32", "bfloat16", "float16")

# The owner may be left out, as of "gpt2"; a branch, tag or commit may follow an @.
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?(@[\w./-]+)?")


def load(model: str, *, device: str | None = None, dtype: str | None = None) -> LanguageModel:
    """Loads a model with its tokenizer, and checks that it is causal and shows its states.

    No code that comes with a model is run, and no pickled weights are read: from a folder or the
    hub, weights have to be safetensors.

    Args:
      model: a folder as `save_pretrained` writes it, a file that ends in .gguf, or an id of the
        hub, such as EleutherAI/pythia-70m or EleutherAI/pythia-70m@step3000.
      device: of PyTorch; "cuda" if there is one, else "cpu".
      dtype: float32, bfloat16 or float16; that of the file if None.

    Raises:
      SettingError: of `model`, `device` or `dtype`.
    """
    _require(model)
    path = Path(os.path.expanduser(model))
    device = _device(device)
    options = {"trust_remote_code": False, "local_files_only": True}
    weights: dict[str, Any] = {"dtype": _dtype(dtype)}
    there = bool(model) and os.path.exists(path)  # pathlib raises for a name that is too long
    if there and path.suffix.lower() == ".gguf":
        _check_gguf(model, path)
        source, name = str(path.parent), path.stem
        options["gguf_file"] = path.name
        weights |= _unpacked()
    elif there:
        _check_folder(model, path)
        source, name = str(path), path.resolve().name
        weights["use_safetensors"] = True
    else:
        source, name = _hub_id(model, path), model
        source, _, revision = source.partition("@")
        if revision:
            options["revision"] = revision
        options["local_files_only"] = unreachable() is not None
        weights["use_safetensors"] = True
    try:
        network, tokenizer = _load(model, source, options, weights, device)
    except SettingError:
        raise
    except Exception as error:  # a broken file can raise anything inside the libraries
        raise _refusal(model, source, options, error) from None
    return _checked(model, name, network, tokenizer)


def _require(model: str) -> None:
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError:
        raise SettingError(
            "model", model, f"language models need transformers and PyTorch: {INSTALL}"
        ) from None


def _device(device: str | None) -> str:
    import torch

    if device is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(1, device=device).cpu()
    except Exception as error:  # of AssertionError too, where PyTorch has no CUDA
        raise SettingError(
            "device", device, f"PyTorch cannot use it ({reason(error, brief=True)})"
        ) from None
    return device


def _dtype(dtype: str | None):
    import torch

    if dtype is None:
        return "auto"
    if dtype not in DTYPES:
        raise SettingError("dtype", dtype, f"it must be one of {', '.join(DTYPES)}")
    return getattr(torch, dtype)


def _unpacked() -> dict:
    """Weights as plain matrices: for packed ones transformers would fetch kernels, which is code.

    Versions of transformers that know no packed weights unpack them anyway.
    """
    import transformers

    config = getattr(transformers, "GgufConfig", None)
    return {} if config is None else {"quantization_config": config(dequantize=True)}


def _check_gguf(model: str, path: Path) -> None:
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise SettingError("model", model, f"it cannot be read ({show(error.strerror)})") from None
    if magic != b"GGUF":
        raise SettingError("model", model, "it is not a GGUF file")
    try:
        import accelerate  # noqa: F401
        import gguf  # noqa: F401
    except ImportError:
        raise SettingError(
            "model", model, f"GGUF files need gguf and accelerate: {INSTALL}"
        ) from None


def _check_folder(model: str, path: Path) -> None:
    if not path.is_dir():
        raise SettingError("model", model, "it is neither a folder nor a file that ends in .gguf")
    names = sorted(file.name for file in path.iterdir())
    if "config.json" not in names:
        packed = [name for name in names if name.lower().endswith(".gguf")]
        what = f"give one of its files: {listed(packed)}" if packed else "it is not a model"
        raise SettingError("model", model, f"it is a folder without config.json; {what}")
    if not any(name.endswith(".safetensors") for name in names):
        pickled = [name for name in names if name.endswith((".bin", ".pt", ".pth", ".ckpt"))]
        found = f"; {listed(pickled)} may hold code, and is not read" if pickled else ""
        raise SettingError(
            "model", model, f"it has no weights in safetensors (*.safetensors){found}"
        )


def _hub_id(model: str, path: Path) -> str:
    if path.suffix.lower() == ".gguf" or not HUB_ID.fullmatch(model):
        raise SettingError(
            "model", model, "there is no such folder or file, and it is not an id of the hub"
        )
    return model


def _load(model, source, options, weights, device):
    """The network and its tokenizer; quiet, but for the progress of a download."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    local = options["local_files_only"]
    with _quiet(all_of_it=local):
        network, info = AutoModelForCausalLM.from_pretrained(
            source, output_loading_info=True, **options, **weights
        )
        missing = sorted(info["missing_keys"])
        if missing:  # transformers would draw them at random
            raise SettingError(
                "model",
                model,
                f"its file lacks weights of a causal language model: {listed(missing, 3)}",
            )
        try:
            tokenizer = AutoTokenizer.from_pretrained(source, **options)
        except Exception as error:
            raise SettingError(
                "model", model, f"its tokenizer cannot be loaded ({reason(error, brief=True)})"
            ) from None
    return network.to(device).eval(), tokenizer


@contextlib.contextmanager
def _quiet(all_of_it: bool):
    """No warnings of transformers, no conversions on the hub; no progress bars if `all_of_it`."""
    from transformers.utils import logging

    verbosity, asked = logging.get_verbosity(), os.environ.get("DISABLE_SAFETENSORS_CONVERSION")
    logging.set_verbosity_error()
    # Without this, transformers asks a service to convert pickled weights, in public.
    os.environ["DISABLE_SAFETENSORS_CONVERSION"] = "1"
    try:
        # One of the bars of GGUF listens to no setting.
        with contextlib.redirect_stderr(io.StringIO()) if all_of_it else contextlib.nullcontext():
            yield
    finally:
        logging.set_verbosity(verbosity)
        if asked is None:
            del os.environ["DISABLE_SAFETENSORS_CONVERSION"]
        else:
            os.environ["DISABLE_SAFETENSORS_CONVERSION"] = asked


def _refusal(model: str, source: str, options: dict, error: Exception) -> SettingError:
    """Which of the many ways to fail it was, in one line."""
    from huggingface_hub import errors

    if "Unrecognized configuration class" in str(error):
        return SettingError("model", model, "it is not a causal language model")
    if "trust_remote_code" in str(error):
        return SettingError("model", model, "it needs code of its own, which is not run")
    if isinstance(error, ImportError):
        return SettingError(
            "model", model, f"a package is missing ({reason(error, brief=True)}); {INSTALL}"
        )
    causes: list[BaseException] = []
    while error is not None and error not in causes:
        causes.append(error)
        error = error.__cause__ or error.__context__

    def caused_by(kind) -> bool:
        return any(isinstance(cause, kind) for cause in causes)

    lacking = "does not appear to have a file named" in str(causes[0])
    if caused_by(errors.GatedRepoError):
        why = "it is gated: accept its terms on the hub, then run hf auth login"
    elif caused_by(errors.RevisionNotFoundError):
        why = "the hub has this model, but not this revision of it"
    elif caused_by(errors.RepositoryNotFoundError):
        why = (
            "there is no such folder, nor such a model on the hub (hf auth login, if it is private)"
        )
    elif caused_by(errors.LocalEntryNotFoundError) or (lacking and options["local_files_only"]):
        why = (
            f"{unreachable() or 'the hub does not answer'}, and no whole copy is in the cache: run "
            f"hf download {source} --local-dir FOLDER elsewhere and give the folder, or set "
            "HF_HOME to a cache that has it"
        )
    elif lacking and "safetensors" in str(causes[0]):
        why = (
            "the hub has no weights of it in safetensors, and pickled ones may hold code and are "
            f"not read; give a revision that has them, such as {source}@refs/pr/1"
        )
    else:
        why = f"it cannot be loaded ({reason(causes[0], brief=True)})"
    return SettingError("model", model, why)


def _checked(model: str, name: str, network, tokenizer) -> LanguageModel:
    """What was loaded, if a short run of it shows hidden states that only look back."""
    import torch

    layers = getattr(text_config(network), "num_hidden_layers", 0)
    lm = LanguageModel(network, tokenizer, layers, 0, name)
    try:
        ids = plain_ids(lm, "one two three")[:3] or [0]
        ids = [id for id in ids if id < lm.vocabulary()]
        other = [*ids, 1 % lm.vocabulary()]
        ran = run(lm, torch.tensor([[*ids, 0], other]))
        before = ran.logits[:, : len(ids)].float()
    except SettingError as error:
        raise SettingError("model", model, error.allowed) from None
    except Exception as error:
        raise SettingError(
            "model", model, f"it cannot be run ({reason(error, brief=True)})"
        ) from None
    # The rows may differ by rounding; an encoder's differ by more even before it is trained.
    rounding = 1e-4 if ran.logits.dtype == torch.float32 else 2e-2
    if (before[0] - before[1]).abs().max() > rounding * before.std():
        raise SettingError("model", model, "it is not causal: its states depend on later tokens")
    return lm._replace(layers=len(ran.states) - 1, width=ran.states[0].shape[-1])
