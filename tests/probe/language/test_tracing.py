"""Causal tracing against a loop over samples, layers and tokens, one run at a time."""

import math

import numpy as np
import pytest
import torch
import transformers

from toydepth.probe.language import UnknownArchitecture, trace
from toydepth.probe.language.blocks import find_blocks, resume
from toydepth.probe.language.language_model import watched

PROMPT, SUBJECT, ANSWER = "the Eiffel Tower is in the city of", "Eiffel Tower", "Paris"


def blocks_of(model, kind):
    return {
        "gpt_neox": lambda: model.gpt_neox.layers,
        "opt": lambda: model.model.decoder.layers,
        "qwen2": lambda: model.model.layers,
        "llama": lambda: model.model.layers,
    }[kind]()


@torch.inference_mode()
def one_run(lm, kind, ids, noise=None, subject=None, clean=None, layers=(), token=None):
    """Probabilities of the next token, and the states after each block, of one text."""
    handles, states = [], []

    def corrupt(module, args, output):
        output = output.clone()
        output[0, subject[0] : subject[1]] += noise
        return output

    def after(layer):
        def hook(module, args, output):
            if layer in layers:
                output = output.clone()
                output[0, token] = clean[layer][token]
            states.append(output[0])
            return output

        return hook

    if noise is not None:
        handles.append(lm.model.get_input_embeddings().register_forward_hook(corrupt))
    for layer, block in enumerate(blocks_of(lm.model, kind)):
        handles.append(block.register_forward_hook(after(layer)))
    logits = lm.model(torch.tensor([ids]), use_cache=False).logits[0, -1]
    for handle in handles:
        handle.remove()
    return logits.softmax(-1).numpy(), states


def brute_force(lm, kind, subject, answer_id, noise, samples, seed, window=1):
    """Clean, corrupted (samples) and restored (layers, samples, tokens) probabilities."""
    ids = lm.tokenizer(PROMPT)["input_ids"]
    clean, clean_states = one_run(lm, kind, ids)
    weight = lm.model.get_input_embeddings().weight.detach()
    draws = torch.randn(
        (samples, subject[1] - subject[0], weight.shape[1]),
        generator=torch.Generator().manual_seed(seed),
    )
    draws = draws * noise * weight.std(correction=0)
    corrupted = np.array([one_run(lm, kind, ids, draw, subject)[0][answer_id] for draw in draws])
    restored = np.zeros((lm.layers, samples, len(ids)))
    for layer in range(lm.layers):
        around = range(layer - window // 2, layer - window // 2 + window)
        for sample, draw in enumerate(draws):
            for token in range(len(ids)):
                chances, _ = one_run(lm, kind, ids, draw, subject, clean_states, around, token)
                restored[layer, sample, token] = chances[answer_id]
    return clean[answer_id], corrupted, restored


@pytest.mark.parametrize("window", [1, 2, 3])
def test_trace_is_the_loop(model, kind, window):
    lm = model(kind)
    told = []
    found = trace(
        lm,
        PROMPT,
        SUBJECT,
        ANSWER,
        samples=3,
        seed=5,
        batch_size=4,
        window=window,
        show=lambda done, of: told.append((done, of)),
    )
    assert "".join(found.tokens) == "<s>" + PROMPT
    assert "".join(found.tokens[slice(*found.subject)]).strip() == SUBJECT
    ids = lm.tokenizer(PROMPT)["input_ids"]
    ways = [lm.tokenizer(PROMPT + end)["input_ids"][len(ids)] for end in (" Paris", "Paris")]
    answer_id = max(ways, key=one_run(lm, kind, ids)[0].__getitem__)
    assert found.answer == lm.tokenizer.decode([answer_id])
    clean, corrupted, restored = brute_force(lm, kind, found.subject, answer_id, 3.0, 3, 5, window)
    assert found.probability_clean == pytest.approx(clean, rel=1e-4)
    assert found.probability_corrupted == pytest.approx(corrupted.mean(), rel=1e-4)
    assert found.corrupted_stderr == pytest.approx(corrupted.std(ddof=1) / math.sqrt(3), rel=1e-3)
    np.testing.assert_allclose(found.restored, restored.mean(axis=1), rtol=1e-3, atol=1e-7)
    error = restored.std(axis=1, ddof=1) / math.sqrt(3)
    np.testing.assert_allclose(found.restored_stderr, error, rtol=1e-2, atol=1e-6)
    assert np.ptp(found.restored) > 0.1 * clean  # there is something to compare
    assert told[-1][0] == told[-1][1] == 3 * 3 * (len(found.tokens) - found.subject[0])
    assert told == sorted(told)


def test_the_last_state_of_the_last_token_is_all(model, kind):
    found = trace(model(kind), PROMPT, SUBJECT, ANSWER, samples=2)
    assert found.restored[-1, -1] == pytest.approx(found.probability_clean, rel=1e-5)
    assert found.restored_stderr[-1, -1] == pytest.approx(0, abs=1e-7)


def test_restoring_every_token_gives_the_clean_logits(model, kind):
    lm = model(kind)
    ids = torch.tensor([lm.tokenizer(PROMPT)["input_ids"]])
    blocks = find_blocks(lm, "this test", [1, 2, 3])
    with torch.inference_mode(), watched(blocks.modules) as calls:
        clean = lm.model(ids, use_cache=False).logits
    for start, (_, _, state) in enumerate(calls, start=1):
        again = resume(lm, blocks, start, state, ids.flip(1))  # other tokens come to nothing
        np.testing.assert_allclose(again, clean, atol=1e-4, rtol=1e-4)


def test_no_noise_is_no_corruption(model, kind):
    found = trace(model(kind), PROMPT, SUBJECT, ANSWER, noise=0.0, samples=2)
    assert found.probability_corrupted == pytest.approx(found.probability_clean, rel=1e-5)
    np.testing.assert_allclose(found.restored, found.probability_clean, rtol=1e-4)


def test_a_seed_is_a_result(model):
    first, again, other = (
        trace(model("llama"), PROMPT, SUBJECT, ANSWER, samples=2, seed=seed, batch_size=size)
        for seed, size in [(1, 32), (1, 3), (2, 32)]
    )
    np.testing.assert_allclose(first.restored, again.restored, rtol=1e-4)
    assert not np.allclose(first.restored, other.restored, rtol=1e-2)


def test_one_sample_has_no_error(model):
    found = trace(model("llama"), PROMPT, SUBJECT, ANSWER, samples=1)
    assert math.isnan(found.corrupted_stderr)
    assert found.restored_stderr.shape == found.restored.shape
    assert np.isnan(found.restored_stderr).all()


def test_half_precision(model):
    found = trace(model("llama", dtype="bfloat16"), PROMPT, SUBJECT, ANSWER, samples=2)
    assert found.restored[-1, -1] == pytest.approx(found.probability_clean, rel=0.05)


def test_tokens_before_the_subject_restore_nothing(model):
    found = trace(model("qwen2"), PROMPT, "city", ANSWER, samples=2)
    begin, end = found.subject
    assert "".join(found.tokens[begin:end]).strip() == "city"
    np.testing.assert_array_equal(found.restored[:, :begin], found.probability_corrupted)
    np.testing.assert_array_equal(found.restored_stderr[:, :begin], found.corrupted_stderr)


@pytest.mark.parametrize("subject", ["Eiffel", "iffel Tow", "of", "the Eiffel Tower is in"])
def test_the_subject_s_tokens_hold_its_characters(model, subject):
    found = trace(model("llama"), PROMPT, subject, ANSWER, samples=1)
    assert subject in "".join(found.tokens[slice(*found.subject)])
    assert subject not in "".join(found.tokens[found.subject[0] + 1 : found.subject[1]])
    assert subject not in "".join(found.tokens[found.subject[0] : found.subject[1] - 1])


def test_the_space_before_the_answer(model):
    lm = model("llama")
    ids = lm.tokenizer(PROMPT)["input_ids"]
    with torch.inference_mode():
        chances = lm.model(torch.tensor([ids])).logits[0, -1].softmax(-1)
    spaced, bare = (
        lm.tokenizer(PROMPT + end)["input_ids"][len(ids)] for end in (" Paris", "Paris")
    )
    assert spaced != bare
    for prompt, answer, expected in [
        (PROMPT, " Paris", chances[spaced]),
        (PROMPT + " ", "Paris", chances[spaced]),
        (PROMPT, "Paris", max(chances[spaced], chances[bare])),
    ]:
        found = trace(lm, prompt, SUBJECT, answer, samples=1)
        assert found.probability_clean == pytest.approx(float(expected), rel=1e-4)
        assert "".join(found.tokens) == "<s>" + PROMPT


class Letters(transformers.PreTrainedTokenizer):
    """A tokenizer in Python, a token for two letters, which knows no offsets."""

    def __init__(self, **options):
        self.tokens = []
        super().__init__(**options)

    @property
    def vocab_size(self):
        return 420

    def get_vocab(self):
        return {token: id for id, token in enumerate(self.tokens)}

    def _tokenize(self, text):
        return [text[i : i + 2] for i in range(0, len(text), 2)]

    def _convert_token_to_id(self, token):
        if token not in self.tokens:
            self.tokens.append(token)
        return self.tokens.index(token)

    def _convert_id_to_token(self, index):
        return self.tokens[index]

    def convert_tokens_to_string(self, tokens):
        return "".join(tokens)


@pytest.mark.parametrize(
    ("subject", "tokens"),
    [
        ("Eiff", (2, 4)),
        ("iff", (2, 4)),
        ("ff", (3, 4)),
        ("el Tow", (4, 7)),
        ("e", (1, 2)),
        ("r", (7, 8)),
    ],
)
def test_a_tokenizer_without_offsets(model, subject, tokens):
    lm = model("llama")._replace(tokenizer=Letters())
    assert not lm.tokenizer.is_fast
    found = trace(lm, "the Eiffel Tower", subject, "is", samples=1)
    assert found.tokens == ["th", "e ", "Ei", "ff", "el", " T", "ow", "er"]
    assert found.subject == tokens
    assert found.answer in ("is", " i")


@pytest.mark.parametrize(
    ("changes", "setting", "allowed"),
    [
        ({"subject": "Big Ben"}, "subject", "not a part of the prompt"),
        ({"subject": ""}, "subject", "not a part of the prompt"),
        ({"answer": ""}, "answer", "it is empty"),
        ({"answer": " "}, "answer", "it is empty"),
        ({"prompt": "a", "subject": "a"}, "prompt", "at least two tokens"),
        ({"prompt": "", "subject": "a"}, "subject", "not a part of the prompt"),
        ({"prompt": "the city of " * 30, "subject": "city"}, "prompt", "at most 64 tokens"),
        ({"noise": -1.0}, "noise", "from 0"),
        ({"noise": math.nan}, "noise", "from 0"),
        ({"samples": 0}, "samples", "from 1"),
        ({"batch_size": 0}, "batch_size", "from 1"),
        ({"window": 0}, "window", "from 1"),
    ],
)
def test_what_cannot_be_traced(model, refusal, changes, setting, allowed):
    given = {"prompt": PROMPT, "subject": SUBJECT, "answer": ANSWER, "samples": 1} | changes
    error = refusal(trace, model("llama"), **given)
    assert error.setting == setting
    assert allowed in error.allowed


def test_an_answer_that_begins_within_a_token(model, refusal):
    # "state" ends in other tokens than "stat": nothing that follows the prompt is the answer's.
    lm = model("llama")
    prompt = "the Eiffel stat"
    joined = lm.tokenizer(prompt + "e")["input_ids"]
    assert joined[: len(lm.tokenizer(prompt)["input_ids"])] != lm.tokenizer(prompt)["input_ids"]
    lm = lm._replace(tokenizer=Joining(lm.tokenizer))
    assert refusal(trace, lm, prompt, "Eiffel", "e").setting == "answer"


class Joining:
    """The tokenizer, for which a space makes no difference."""

    is_fast = True

    def __init__(self, tokenizer):
        self.tokenizer, self.decode = tokenizer, tokenizer.decode

    def __call__(self, text, **options):
        return self.tokenizer(text.replace(" e", "e"), **options)


def test_an_unknown_architecture(folder, refusal):
    from toydepth.probe.language import load

    lm = load(folder("llama"), device="cpu")
    lm.model.model.towers = torch.nn.ModuleList([torch.nn.Identity() for _ in range(3)])
    error = refusal(trace, lm, PROMPT, SUBJECT, ANSWER)
    assert isinstance(error, UnknownArchitecture)
    assert error.allowed.startswith("causal tracing does not know this architecture")
