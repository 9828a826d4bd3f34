"""Tiny random models in folders, each of another architecture, with a tokenizer of a few words."""

import importlib.util
import os

os.environ["HF_HUB_OFFLINE"] = "1"  # before the hub's client is imported, which reads it once

import pytest  # noqa: E402

if importlib.util.find_spec("transformers") is None:  # toydepth[llm] is optional
    collect_ignore_glob = ["test_*.py"]

LINES = [
    "the Eiffel Tower is in the city of Paris",
    "the Space Needle is in the city of Seattle",
    "each layer changes the state a little , and the loss falls with depth",
    "a longer text : the state of the residual network is a walk of many small steps",
]
VOCABULARY = 420


def configuration(kind, layers=3):
    """A small configuration; weights are drawn wide, so that no two layers are nearly equal."""
    import transformers

    sizes = {
        "vocab_size": VOCABULARY,
        "hidden_size": 32,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "max_position_embeddings": 64,
        "bos_token_id": 0,
        "eos_token_id": 0,
        "pad_token_id": 0,
    }
    sizes["init_std" if kind.startswith("opt") else "initializer_range"] = 0.2
    mlp, grouped = {"intermediate_size": 64}, {"num_key_value_heads": 2}
    build = {
        "gpt_neox": lambda: transformers.GPTNeoXConfig(**sizes, **mlp),
        "opt": lambda: transformers.OPTConfig(**sizes, ffn_dim=64, word_embed_proj_dim=32),
        # As OPT-350m: norms after the sublayers, none at the end, and a narrower embedding.
        "opt_350m": lambda: transformers.OPTConfig(
            **sizes, ffn_dim=64, word_embed_proj_dim=16, do_layer_norm_before=False
        ),
        "qwen2": lambda: transformers.Qwen2Config(**sizes, **mlp, **grouped),
        "llama": lambda: transformers.LlamaConfig(**sizes, **mlp, **grouped),
        # Logits are capped after the head, and every second layer looks back only so far.
        "gemma2": lambda: transformers.Gemma2Config(
            **sizes, **mlp, **grouped, head_dim=8, sliding_window=4
        ),
        "gpt2": lambda: transformers.GPT2Config(**sizes),
        "mamba": lambda: transformers.MambaConfig(**sizes, state_size=4),
        "bert": lambda: transformers.BertConfig(**sizes, **mlp),
        "t5": lambda: transformers.T5Config(vocab_size=VOCABULARY, d_model=32, num_layers=2),
    }
    return build[kind]()


def save(folder, kind, layers=3, dtype="float32"):
    """A random model of that kind, saved as a folder without a tokenizer."""
    import torch
    import transformers

    auto = {
        "bert": transformers.AutoModelForMaskedLM,
        "t5": transformers.AutoModelForSeq2SeqLM,
    }.get(kind, transformers.AutoModelForCausalLM)
    torch.manual_seed(0)
    model = auto.from_config(configuration(kind, layers)).to(getattr(torch, dtype))
    model.save_pretrained(folder)
    return folder


@pytest.fixture(params=["gpt_neox", "opt", "qwen2", "llama"])
def kind(request):
    return request.param


@pytest.fixture
def lines():
    return list(LINES)


@pytest.fixture(autouse=True)
def one_thread():
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tokenizer():
    """Byte-level BPE that puts <s> before a text, as Llama's does."""
    import tokenizers
    import transformers
    from tokenizers import decoders, models, pre_tokenizers, processors, trainers

    raw = tokenizers.Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    raw.train_from_iterator(
        LINES * 3,
        trainers.BpeTrainer(
            vocab_size=VOCABULARY,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            special_tokens=["<s>"],
            show_progress=False,
        ),
    )
    raw.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=raw, bos_token="<s>")


@pytest.fixture(scope="session")
def folder(tmp_path_factory, tokenizer):
    """folder("llama") -> a folder with a random model and the tokenizer, made once."""
    made = {}

    def get(kind, **options):
        key = (kind, *options.items())
        if key not in made:
            path = save(tmp_path_factory.mktemp(kind), kind, **options)
            tokenizer.save_pretrained(path)
            made[key] = path
        return str(made[key])

    return get


@pytest.fixture(scope="session")
def model(folder):
    """model("llama") -> the LanguageModel of that folder."""
    from toydepth.probe.language import load

    loaded = {}

    def get(kind, **options):
        key = (kind, *options.items())
        if key not in loaded:
            loaded[key] = load(folder(kind, **options), device="cpu")
        return loaded[key]

    return get


@pytest.fixture
def refusal():
    """refusal(function, *arguments): the SettingError, a line that any terminal can show."""
    from toydepth.settings import SettingError

    def get(function, *arguments, **options):
        with pytest.raises(SettingError) as caught:
            function(*arguments, **options)
        error = caught.value
        assert str(error).isprintable()
        assert str(error).startswith(f"{error.setting}=")
        assert len(str(error)) < 500
        return error

    return get
