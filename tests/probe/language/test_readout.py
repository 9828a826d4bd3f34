"""The read-out is the last block, the final norm and the head, written out for each kind."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from toydepth.probe.language import LossSums, UnknownArchitecture, hidden_states, read_out, readout


def tail(model, kind, state):
    """The logits (tokens, vocabulary) for a state (tokens, width) before the last block."""
    x, places = state[None], torch.arange(len(state))[None]
    if kind == "gpt_neox":
        base = model.gpt_neox
        x = base.layers[-1](x, attention_mask=None, position_embeddings=base.rotary_emb(x, places))
        return model.get_output_embeddings()(base.final_layer_norm(x))[0]
    if kind in ("opt", "opt_350m"):
        base = model.model.decoder
        x = base.layers[-1](x, attention_mask=None)
        x = base.final_layer_norm(x) if base.final_layer_norm else x
        x = base.project_out(x) if base.project_out else x
        return model.lm_head(x)[0]
    base = model.model
    rotary = base.rotary_emb(x, places)
    if kind == "gemma2":
        # Causal, and no further back than the window of 4.
        distance = places.T - places
        mask = torch.where((distance >= 0) & (distance < 4), 0.0, -torch.inf)[None, None]
        if base.config.layer_types[-1] == "full_attention":
            mask = torch.where(distance >= 0, 0.0, -torch.inf)[None, None]
        x = base.layers[-1](x, attention_mask=mask, position_embeddings=rotary)
        return 30 * torch.tanh(model.lm_head(base.norm(x))[0] / 30)
    x = base.layers[-1](x, attention_mask=None, position_embeddings=rotary)
    return model.lm_head(base.norm(x))[0]


@torch.inference_mode()
def direct(lm, kind, ids):
    """Cross-entropies (layers, tokens - 1) of one text, run alone."""
    states = lm.model(torch.tensor([ids]), output_hidden_states=True).hidden_states
    return np.stack(
        [
            cross_entropy(
                tail(lm.model, kind, state[0])[:-1], torch.tensor(ids[1:]), reduction="none"
            )
            for state in states[:-1]
        ]
    )


def check(lm, kind, lines, **options):
    losses = read_out(lm)
    for batch in hidden_states(lm, lines, length=64, **options):
        found = losses(batch)
        assert found.shape == (lm.layers, len(batch.ids))
        np.testing.assert_array_equal(np.isnan(found), np.tile(batch.next_ids < 0, (lm.layers, 1)))
        starts = np.flatnonzero(batch.positions == 0)
        for start, end in zip(starts, [*starts[1:], len(batch.ids)], strict=True):
            ids = batch.ids[start:end].tolist()
            expected = direct(lm, kind, ids)
            np.testing.assert_allclose(found[:, start : end - 1], expected, atol=2e-4, rtol=1e-4)
    return losses


def test_read_out_is_the_last_block_norm_and_head(model, kind, lines):
    check(model(kind), kind, lines, batch_size=3)


@pytest.mark.parametrize("kind", ["opt_350m", "gemma2"])
def test_what_else_a_model_does_around_its_blocks_is_done(model, kind, lines):
    check(model(kind), kind, lines)


def test_one_layer(model, lines):
    check(model("llama", layers=1), "llama", lines)


def test_pieces_are_grouped_by_what_fits_in_memory(model, lines, monkeypatch):
    monkeypatch.setattr(readout, "LOGITS", 420 * 30)  # two short texts, or one long one
    check(model("qwen2"), "qwen2", lines)


def test_the_last_is_the_model_s_own(model, kind, lines):
    lm = model(kind)
    (batch,) = hidden_states(lm, lines[:1], length=64)
    ids = torch.tensor([batch.ids.tolist()])
    own = float(lm.model(ids, labels=ids).loss.detach())
    assert np.nanmean(read_out(lm)(batch)[-1]) == pytest.approx(own, rel=1e-5)


def test_a_batch_cut_within_a_text_knows_what_follows(model, lines):
    lm = model("llama")
    losses = read_out(lm)
    (all_of_it,) = hidden_states(lm, lines, length=64)
    (cut,) = hidden_states(lm, lines, length=64, tokens=15)
    assert cut.next_ids[-1] >= 0
    np.testing.assert_allclose(losses(cut), losses(all_of_it)[:, :15], atol=1e-4)


def test_half_precision(model, lines, kind):
    lm = model(kind, dtype="bfloat16")
    (batch,) = hidden_states(lm, lines[:1], length=64)
    ids = torch.tensor([batch.ids.tolist()])
    with torch.inference_mode():
        logits = lm.model(ids).logits[0, :-1].float()
    expected = cross_entropy(logits, ids[0, 1:], reduction="none")
    np.testing.assert_allclose(read_out(lm)(batch)[-1, :-1], expected, atol=1e-5)


def test_nothing_is_left_behind_in_the_model(model, lines):
    lm = model("llama")
    read_out(lm)
    for module in lm.model.modules():
        assert "forward" not in module.__dict__
        assert not module._forward_pre_hooks


def test_sums_give_mean_and_error(model, lines):
    lm = model("opt")
    losses = read_out(lm)
    sums, everything = LossSums.none(lm.layers), []
    for batch in hidden_states(lm, lines, length=64, batch_size=1):
        everything.append(losses(batch))
        sums = sums.plus(everything[-1])
    known = np.concatenate(everything, axis=1).astype(float)
    known = known[:, ~np.isnan(known[0])]
    assert sums.tokens == known.shape[1]
    np.testing.assert_allclose(sums.mean(), known.mean(axis=1), rtol=1e-12)
    error = known.std(axis=1, ddof=1) / np.sqrt(known.shape[1])
    np.testing.assert_allclose(sums.stderr(), error, rtol=1e-9)


def test_an_error_needs_two_tokens():
    sums = LossSums.none(2).plus(np.array([[1.0, np.nan], [2.0, np.nan]]))
    assert sums.mean().tolist() == [1.0, 2.0]
    assert np.isnan(sums.stderr()).all()


def test_mamba_begins_with_its_embedding(model, lines):
    lm = model("mamba")
    (batch,) = hidden_states(lm, lines, length=64)
    with torch.inference_mode():
        embedded = lm.model.get_input_embeddings()(torch.from_numpy(batch.ids)).numpy()
    np.testing.assert_array_equal(batch.states[0], embedded)
    (alone,) = hidden_states(lm, lines[:1], length=64)
    ids = torch.tensor([alone.ids.tolist()])
    own = float(lm.model(ids, labels=ids).loss.detach())
    assert np.nanmean(read_out(lm)(alone)[-1]) == pytest.approx(own, rel=1e-5)


def test_blocks_that_hand_on_more_than_a_state(folder, lines, refusal):
    from toydepth.probe.language import load

    lm = load(folder("llama"), device="cpu")
    # The last block looks back at what the first one left.
    first, last, kept = lm.model.model.layers[0], lm.model.model.layers[-1], {}
    first.mlp.register_forward_hook(lambda module, args, output: kept.update(mlp=output))
    last.mlp.register_forward_hook(lambda module, args, output: output + kept.pop("mlp"))
    assert list(hidden_states(lm, lines, length=64))
    error = refusal(read_out, lm)
    assert isinstance(error, UnknownArchitecture)
    assert error.allowed.startswith("the read-out does not know this architecture")


def test_two_lists_of_as_many_modules(folder, refusal):
    from toydepth.probe.language import load

    lm = load(folder("llama"), device="cpu")
    lm.model.model.towers = torch.nn.ModuleList([torch.nn.Identity() for _ in range(3)])
    assert "the angles still come" in refusal(read_out, lm).allowed
