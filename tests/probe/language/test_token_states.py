"""The states are those of a plain run of each text by itself, whatever batches they came in."""

import types

import numpy as np
import pytest
import torch

from toydepth.probe.language import hidden_states, read_texts


def joined(batches):
    """All batches as one: states, ids, positions, next_ids."""
    parts = list(batches)
    states = np.concatenate([part.states for part in parts], axis=1)
    return states, *(np.concatenate([part[i] for part in parts]) for i in (1, 2, 3))


def direct(lm, ids):
    """The hidden states of one text, run alone: (layers + 1, tokens, width)."""
    with torch.inference_mode():
        output = lm.model(torch.tensor([ids]), output_hidden_states=True, use_cache=False)
    return np.stack([state[0].float().numpy() for state in output.hidden_states])


@pytest.mark.parametrize("batch_size", [1, 3, 8])
def test_states_are_those_of_each_text_alone(model, kind, lines, batch_size):
    lm = model(kind)
    assert (lm.layers, lm.width) == (3, 32)
    states, ids, positions, next_ids = joined(
        hidden_states(lm, lines, batch_size=batch_size, length=64)
    )
    texts = [lm.tokenizer(line)["input_ids"] for line in lines]
    assert len({len(text) for text in texts}) > 1  # so there is padding to ignore
    assert ids.tolist() == sum(texts, [])
    assert positions.tolist() == sum((list(range(len(text))) for text in texts), [])
    assert next_ids.tolist() == sum(([*text[1:], -1] for text in texts), [])
    assert states.dtype == np.float32
    expected = np.concatenate([direct(lm, text) for text in texts], axis=1)
    np.testing.assert_allclose(states, expected, atol=1e-4, rtol=1e-4)


def test_half_precision_is_measured_in_float32(model, folder, lines, kind):
    lm = model(kind, dtype="bfloat16")
    assert lm.model.dtype == torch.bfloat16
    (batch,) = hidden_states(lm, lines[:1], length=64)
    assert batch.states.dtype == np.float32
    np.testing.assert_array_equal(batch.states, direct(lm, batch.ids.tolist()))


def test_a_text_is_cut_to_its_beginning(model, lines):
    lm = model("llama")
    plain = lm.tokenizer(lines[3], add_special_tokens=False)["input_ids"]
    _, ids, positions, next_ids = joined(hidden_states(lm, lines[3:], length=8))
    assert ids.tolist() == [0, *plain[:7]]
    assert next_ids.tolist() == [*plain[:7], -1]  # what follows the piece is not known to it


def test_a_whole_text_is_cut_into_pieces(model, lines, tmp_path):
    lm = model("llama")
    (tmp_path / "book.txt").write_text(lines[3])
    texts = read_texts(str(tmp_path / "book.txt"))
    plain = lm.tokenizer(lines[3], add_special_tokens=False)["input_ids"]
    length = next(n for n in range(5, 12) if len(plain) % (n - 1) == 1)  # leaves a piece of one
    _, ids, positions, _ = joined(hidden_states(lm, texts, length=length, batch_size=2))
    room = length - 1
    pieces = [plain[i : i + room] for i in range(0, len(plain) - 1, room)]
    assert len(pieces) > 2
    assert ids.tolist() == sum(([0, *piece] for piece in pieces), [])
    assert positions.tolist() == [*range(length)] * len(pieces)


def test_it_stops_after_exactly_so_many_tokens(model, lines):
    lm = model("gpt_neox")
    everything = joined(hidden_states(lm, lines, batch_size=2, length=64))
    for tokens in (1, 5, 17, len(everything[1]), 10**6):
        told = []
        found = joined(
            hidden_states(lm, lines, batch_size=2, length=64, tokens=tokens, show=told.append)
        )
        count = min(tokens, len(everything[1]))
        assert told[-1] == len(found[1]) == count
        assert told == sorted(told)
        for some, all_of_it in zip(found, everything, strict=True):
            expected = all_of_it[:, :count] if all_of_it.ndim == 3 else all_of_it[:count]
            np.testing.assert_allclose(some, expected, atol=1e-4)


def test_texts_are_read_no_further_than_needed(model, lines):
    read = []

    def endless():
        while True:
            read.append(lines[0])
            yield lines[0]

    list(hidden_states(model("opt"), endless(), batch_size=2, length=64, tokens=3))
    assert len(read) == 2


def test_texts_that_are_too_short_are_left_out(model, lines):
    lm = model("llama")
    found = joined(hidden_states(lm, ["", "a", lines[0], "b"], length=64))
    assert found[1].tolist() == lm.tokenizer(lines[0])["input_ids"]


@pytest.mark.parametrize("texts", [[], [""], ["a", "b"]])
def test_too_little_text(model, refusal, texts):
    error = refusal(list, hidden_states(model("llama"), texts, length=64))
    assert (error.setting, error.allowed) == ("text", "at least two tokens are needed")


def test_too_short_a_file_is_named(model, refusal, tmp_path):
    (tmp_path / "a.txt").write_text("a")
    texts = read_texts(str(tmp_path / "a.txt"))
    error = refusal(list, hidden_states(model("llama"), texts, length=64))
    assert error.value == str(tmp_path / "a.txt")


@pytest.mark.parametrize(
    ("options", "allowed"),
    [
        ({"length": 2}, "from 3"),  # <s> and two of the text
        ({"length": 65}, "at most 64 tokens"),
        ({"length": 64, "batch_size": 0}, "from 1"),
        ({"length": 64, "tokens": 0}, "from 1"),
    ],
)
def test_numbers_are_checked_at_once(model, refusal, lines, options, allowed):
    error = refusal(hidden_states, model("llama"), lines, **options)
    assert error.setting in options
    assert allowed in error.allowed


def test_states_of_opt_350m_have_one_width(model, lines):
    lm = model("opt_350m")
    assert (lm.layers, lm.width) == (3, 32)  # the embedding has 16
    (batch,) = hidden_states(lm, lines[:1], length=64)
    kept = []
    handle = lm.model.model.decoder.layers[-1].register_forward_hook(
        lambda module, args, output: kept.append(output)
    )
    alone = lm.model(torch.tensor([batch.ids.tolist()]), output_hidden_states=True)
    handle.remove()
    np.testing.assert_allclose(batch.states[-1], kept[0][0].detach(), atol=1e-5)
    for measured, state in zip(batch.states[:-1], alone.hidden_states, strict=False):
        np.testing.assert_allclose(measured, state[0].detach(), atol=1e-5)


class Silent(torch.nn.Module):
    """A network that keeps its hidden states to itself, or gives others."""

    def __init__(self, states):
        super().__init__()
        self.embedding, self.states = torch.nn.Embedding(420, 8), states
        self.config = types.SimpleNamespace(get_text_config=lambda **_: types.SimpleNamespace())

    def get_input_embeddings(self):
        return self.embedding

    def forward(self, input_ids, **options):
        return types.SimpleNamespace(hidden_states=self.states, logits=self.embedding(input_ids))


@pytest.mark.parametrize("states", [None, (), (torch.ones(1, 2, 8), torch.ones(1, 2, 9))])
def test_models_without_hidden_states(model, refusal, lines, states):
    lm = model("llama")._replace(model=Silent(states), name="silent")
    error = refusal(list, hidden_states(lm, lines))
    assert (error.setting, error.value) == ("model", "silent")
    assert "hidden states" in error.allowed


def test_a_tokenizer_of_another_model(model, refusal, lines):
    lm = model("llama")
    lm = lm._replace(tokenizer=lambda text, **_: {"input_ids": [1000, 1, 2]})
    error = refusal(list, hidden_states(lm, lines, length=64))
    assert "token 1000" in error.allowed
