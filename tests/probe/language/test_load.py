"""Models from folders, GGUF files and the hub's cache; every refusal is one line."""

import importlib
import json
import logging
import os
import shutil
import socket
import subprocess
import sys

import numpy as np
import pytest
import torch

from toydepth.probe.language import hidden_states, hub, load
from toydepth.settings import SettingError

load_module = importlib.import_module(
    "toydepth.probe.language.load"
)  # the room's `load` is a function


@pytest.fixture
def copy(tmp_path, folder):
    """copy("llama") -> a copy of the folder, to be broken."""

    def get(kind, **options):
        return shutil.copytree(folder(kind, **options), tmp_path / kind)

    return get


def test_a_folder(folder, kind, capfd):
    path = folder(kind)
    capfd.readouterr()  # the fixture saved it
    lm = load(path)
    assert (lm.layers, lm.width) == (3, 32)
    assert lm.name.startswith(kind)
    assert not lm.model.training
    assert lm.model.dtype == torch.float32
    assert lm.model.device.type == ("cuda" if torch.cuda.is_available() else "cpu")
    assert capfd.readouterr() == ("", "")


def test_dtype_is_the_file_s_unless_asked(folder):
    half = folder("llama", dtype="bfloat16")
    assert load(half).model.dtype == torch.bfloat16
    assert load(half, dtype="float32").model.dtype == torch.float32
    assert load(folder("llama"), dtype="float16", device="cpu").model.dtype == torch.float16


def test_transformers_is_left_as_it_was(folder, monkeypatch):
    from transformers.utils import logging as theirs

    verbosity = theirs.get_verbosity()
    load(folder("opt"))
    assert theirs.get_verbosity() == verbosity
    assert "DISABLE_SAFETENSORS_CONVERSION" not in os.environ
    monkeypatch.setenv("DISABLE_SAFETENSORS_CONVERSION", "0")
    load(folder("opt"))
    assert os.environ["DISABLE_SAFETENSORS_CONVERSION"] == "0"
    assert logging.getLogger("transformers").handlers


@pytest.mark.parametrize("kind", ["bert", "t5"])
def test_models_that_are_not_causal(folder, refusal, kind):
    error = refusal(load, folder(kind))
    assert (error.setting, error.value) == ("model", folder(kind))
    assert "causal" in error.allowed


def edit(path, **changes):
    config = json.loads((path / "config.json").read_text()) | changes
    (path / "config.json").write_text(json.dumps(config))


def without_config(path):
    (path / "config.json").unlink()


def without_weights(path):
    (path / "model.safetensors").unlink()


def with_pickled_weights(path):
    (path / "model.safetensors").unlink()
    torch.save({"a": torch.ones(1)}, path / "pytorch_model.bin")


def without_tokenizer(path):
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (path / name).unlink()


def with_cut_weights(path):
    weights = (path / "model.safetensors").read_bytes()
    (path / "model.safetensors").write_bytes(weights[: len(weights) // 2])


def with_text_for_weights(path):
    (path / "model.safetensors").write_text("not weights")


def with_other_shapes(path):
    edit(path, hidden_size=64)


def with_another_layer(path):
    edit(path, num_hidden_layers=4)


def with_own_code(path):
    edit(
        path, model_type="mine", auto_map={"AutoConfig": "mine.C", "AutoModelForCausalLM": "mine.M"}
    )
    (path / "mine.py").write_text("raise SystemExit('code was run')")


def with_unknown_kind(path):
    edit(path, model_type="of tomorrow")


def with_broken_config(path):
    (path / "config.json").write_text("{")


def as_packed(path):
    shutil.rmtree(path)
    path.mkdir()
    (path / "small.gguf").write_bytes(b"GGUF")


@pytest.mark.parametrize(
    ("breakage", "allowed"),
    [
        (without_config, "without config.json; it is not a model"),
        (without_weights, "no weights in safetensors"),
        (with_pickled_weights, "pytorch_model.bin may hold code, and is not read"),
        (without_tokenizer, "tokenizer"),
        (with_cut_weights, "cannot be loaded"),
        (with_text_for_weights, "cannot be loaded"),
        (with_other_shapes, ""),
        (with_another_layer, "lacks weights"),
        (with_own_code, "needs code of its own, which is not run"),
        (with_unknown_kind, "cannot be loaded"),
        (with_broken_config, "cannot be loaded"),
        (as_packed, "give one of its files: small.gguf"),
    ],
)
def test_broken_folders(copy, refusal, capfd, breakage, allowed):
    path = copy("llama")
    breakage(path)
    error = refusal(load, str(path))
    assert (error.setting, error.value) == ("model", str(path))
    assert allowed in error.allowed
    assert capfd.readouterr() == ("", "")


def test_a_model_without_its_head(tmp_path, folder, tokenizer, refusal):
    import transformers

    transformers.AutoModel.from_pretrained(folder("gpt_neox")).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    assert "lacks weights of a causal language model" in refusal(load, str(tmp_path)).allowed


@pytest.mark.parametrize(
    ("options", "allowed"),
    [
        ({"dtype": "int8"}, "float32, bfloat16, float16"),
        ({"device": "abacus"}, "PyTorch cannot use it"),
        ({"device": "cuda:99"}, "PyTorch cannot use it"),
    ],
)
def test_devices_and_dtypes(folder, refusal, options, allowed):
    error = refusal(load, folder("llama"), **options)
    assert error.setting in options
    assert allowed in error.allowed


@pytest.mark.parametrize(
    "model",
    [
        "./nowhere",
        "/nowhere/at/all",
        "nowhere.gguf",
        "a/b/c",
        "",
        "two words",
        "new\nline",
        "x" * 3000 + "/",
    ],
)
def test_models_that_are_nowhere(tmp_path, monkeypatch, refusal, model):
    monkeypatch.chdir(tmp_path)
    assert "no such folder or file" in refusal(load, model).allowed


def test_a_file_that_is_no_model(tmp_path, refusal):
    (tmp_path / "model.bin").write_bytes(b"")
    assert "neither a folder" in refusal(load, str(tmp_path / "model.bin")).allowed


@pytest.fixture(scope="module")
def packed(tmp_path_factory, model):
    """The random Llama as a GGUF file, as llama.cpp would convert it."""
    gguf = pytest.importorskip("gguf")
    lm = model("llama")
    config, weights = lm.model.config, lm.model.state_dict()
    path = tmp_path_factory.mktemp("packed") / "small.gguf"
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(config.vocab_size)
    tokenizer = json.loads(lm.tokenizer.backend_tokenizer.to_str())
    writer.add_tokenizer_model("gpt2")
    words = sorted(lm.tokenizer.get_vocab().items(), key=lambda item: item[1])
    writer.add_token_list([word for word, _ in words])
    writer.add_token_types([3 if word == "<s>" else 1 for word, _ in words])
    writer.add_token_merges([" ".join(merge) for merge in tokenizer["model"]["merges"]])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(0)
    names = {
        "input_layernorm": "attn_norm",
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "post_attention_layernorm": "ffn_norm",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
    }
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    for layer in range(config.num_hidden_layers):
        for theirs, ours in names.items():
            matrix = weights[f"model.layers.{layer}.{theirs}.weight"].numpy()
            if ours in heads:  # llama.cpp pairs neighbours in its rotation, transformers halves
                pairs = matrix.reshape(heads[ours], 2, -1, matrix.shape[1]).swapaxes(1, 2)
                matrix = np.ascontiguousarray(pairs).reshape(matrix.shape)
            writer.add_tensor(f"blk.{layer}.{ours}.weight", matrix)
    for theirs, ours in {
        "model.embed_tokens": "token_embd",
        "model.norm": "output_norm",
        "lm_head": "output",
    }.items():
        writer.add_tensor(f"{ours}.weight", weights[f"{theirs}.weight"].numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_gguf_file(packed, model, lines, capfd):
    lm = load(str(packed), device="cpu")
    assert (lm.layers, lm.width, lm.name) == (3, 32, "small")
    assert capfd.readouterr() == ("", "")
    original = model("llama")
    ids = lm.tokenizer(lines[0], add_special_tokens=False)["input_ids"]
    assert ids == original.tokenizer(lines[0], add_special_tokens=False)["input_ids"]
    original = original._replace(tokenizer=lm.tokenizer)
    (found,) = hidden_states(lm, lines[:1], length=64)
    (expected,) = hidden_states(original, lines[:1], length=64)
    np.testing.assert_allclose(found.states, expected.states, atol=1e-4)


@pytest.mark.parametrize("share", [0.0005, 0.02, 0.3, 0.95])
def test_a_gguf_file_that_was_cut(packed, tmp_path, refusal, capfd, share):
    content = packed.read_bytes()
    path = tmp_path / "cut.gguf"
    path.write_bytes(content[: int(share * len(content))])
    error = refusal(load, str(path))
    assert error.value == str(path)
    assert "cannot be loaded" in error.allowed
    assert capfd.readouterr() == ("", "")


def test_what_is_called_gguf_and_is_not(tmp_path, refusal):
    (tmp_path / "a.gguf").write_bytes(b"PK\x03\x04")
    assert refusal(load, str(tmp_path / "a.gguf")).allowed == "it is not a GGUF file"
    (tmp_path / "b.gguf").mkdir()
    assert "cannot be read" in refusal(load, str(tmp_path / "b.gguf")).allowed


@pytest.fixture
def cache(tmp_path, monkeypatch, folder):
    """cache("owner/name", "llama"): the model lies in the hub's cache."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))

    def put(name, kind, revision="main"):
        place = tmp_path / f"models--{name.replace('/', '--')}"
        commit = "0123456789" * 4
        shutil.copytree(folder(kind), place / "snapshots" / commit)
        (place / "refs").mkdir()
        (place / "refs" / revision).write_text(commit)
        return place / "snapshots" / commit

    return put


@pytest.mark.parametrize("name", ["owner/name", "owner/name@step3000", "small"])
def test_an_id_of_the_hub_from_the_cache(cache, name):
    model, _, revision = name.partition("@")
    cache(model, "qwen2", revision or "main")
    lm = load(name)
    assert (lm.layers, lm.name) == (3, name)


@pytest.mark.parametrize("name", ["owner/name", "owner/name@step3000", "gpt2"])
def test_no_network_for_an_id(cache, refusal, capfd, name):
    error = refusal(load, name)
    assert error.value == name
    model = name.partition("@")[0]
    assert "HF_HUB_OFFLINE forbids the network" in error.allowed
    assert f"hf download {model} --local-dir FOLDER" in error.allowed
    assert "HF_HOME" in error.allowed
    assert capfd.readouterr() == ("", "")


def test_a_cache_with_half_of_it(cache, refusal):
    (cache("owner/name", "llama") / "model.safetensors").unlink()
    assert "no whole copy is in the cache" in refusal(load, "owner/name").allowed


def hub_error(kind, message="first line\nsecond line"):
    """An error of the hub, as transformers passes it on: inside one of its own."""
    import httpx
    from huggingface_hub import errors

    cause = getattr(errors, kind)(
        message, response=httpx.Response(404, request=httpx.Request("GET", "https://hub"))
    )
    error = OSError("owner/name is not a local folder")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "allowed"),
    [
        ("RepositoryNotFoundError", "nor such a model on the hub"),
        ("GatedRepoError", "it is gated"),
        ("RevisionNotFoundError", "not this revision"),
        (OSError("it does not appear to have a file named model.safetensors"), "@refs/pr/1"),
        (ImportError("needs sentencepiece"), "pip install 'toydepth[llm]'"),
        (KeyError("rope\x1b"), "KeyError: 'rope\\x1b'"),
        (RuntimeError(""), "it cannot be loaded (RuntimeError)"),
    ],
)
def test_what_the_hub_may_answer(monkeypatch, refusal, error, allowed):
    import transformers

    def refuse(*arguments, **options):
        assert not options["local_files_only"]
        assert options["use_safetensors"]
        assert not options["trust_remote_code"]
        raise hub_error(error) if isinstance(error, str) else error

    monkeypatch.setattr(load_module, "unreachable", lambda: None)
    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", refuse)
    found = refusal(load, "owner/name@a-branch").allowed
    assert allowed in found
    assert "second line" not in found


def test_the_hub_is_looked_up_before_it_is_asked(monkeypatch):
    import huggingface_hub

    assert "HF_HUB_OFFLINE" in hub.unreachable()
    monkeypatch.setattr(huggingface_hub, "is_offline_mode", lambda: False)
    monkeypatch.setattr(hub, "getproxies", dict)
    asked = []
    monkeypatch.setattr(socket, "getaddrinfo", lambda *address: asked.append(address))
    assert hub.unreachable() is None
    assert asked == [("huggingface.co", 443)]

    def unknown(*address):
        raise socket.gaierror("name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert "huggingface.co is not found" in hub.unreachable()
    monkeypatch.setattr(hub, "getproxies", lambda: {"https": "proxy"})
    assert hub.unreachable() is None


def test_packages_are_not_installed(monkeypatch, folder, packed, refusal):
    for name, model in [
        ("transformers", folder("llama")),
        ("torch", "gpt2"),
        ("gguf", str(packed)),
    ]:
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, name, None)
            error = refusal(load, model)
            assert (error.setting, error.value) == ("model", model)
            assert "pip install 'toydepth[llm]'" in error.allowed


def test_the_room_is_imported_without_them():
    code = (
        "import sys, toydepth.probe.language as room; "
        "found = {'torch', 'transformers', 'datasets', 'huggingface_hub'} & set(sys.modules); "
        "assert not found, found"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_errors_are_lines():
    error = SettingError("model", "a\x1b[31m\nb" + "c" * 100, "it is not one")
    assert str(error).isprintable()
    assert str(error).startswith("model=a\\x1b[31m\\nbccc")
    assert str(error).endswith("... is not allowed: it is not one")
