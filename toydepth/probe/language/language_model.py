"""A language model, and one run of it: where every measurement starts."""

import inspect
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from toydepth.settings import SettingError, reason


class LanguageModel(NamedTuple):
    """A causal model of transformers with its tokenizer.

    Attributes:
      model: a PreTrainedModel with a head over the vocabulary, in evaluation mode.
      tokenizer: a PreTrainedTokenizerBase.
      layers: how many blocks; a run has one hidden state more.
      width: of a hidden state.
      name: what to call the model.
    """

    model: Any
    tokenizer: Any
    layers: int
    width: int
    name: str

    def positions(self) -> int | None:
        """How many tokens the model takes at most, None if its configuration does not say."""
        count = getattr(text_config(self.model), "max_position_embeddings", None)
        return count if isinstance(count, int) and count > 0 else None

    def vocabulary(self) -> int:
        """How many tokens have an embedding."""
        return self.model.get_input_embeddings().weight.shape[0]


class Run(NamedTuple):
    """What a model gives for one batch, as torch tensors in the model's own precision.

    Attributes:
      states: after 0, 1, ..., layers blocks, each (batch, length, width). That after the last
        block has passed the final norm, as transformers gives it.
      logits: (batch, length, vocabulary); of the last position alone, (batch, 1, vocabulary), if
        only that was asked for and the model can.
    """

    states: tuple
    logits: Any


def text_config(model):
    """The configuration of the text model, which is not the whole of a multimodal model's."""
    return model.config.get_text_config(decoder=True)


def block_list(model, layers: int):
    """The outermost list of `layers` modules, None if there is no such list, or more than one."""
    import torch

    found = [
        (name.count("."), module)
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.ModuleList) and len(module) == layers
    ]
    outermost = min((depth for depth, _ in found), default=0)
    found = [module for depth, module in found if depth == outermost]
    return found[0] if len(found) == 1 else None


def first(output):
    """The hidden state in what a block returns: some return it with attention weights or caches."""
    return output[0] if isinstance(output, tuple) else output


def call(lm: LanguageModel, ids, mask=None, *, last_only: bool = False, **options):
    """The model's output for token ids (batch, length), without a cache and without gradients.

    Raises:
      SettingError: of `model`, if it has no embedding for one of the tokens.
    """
    import torch

    if int(ids.max()) >= lm.vocabulary():
        raise SettingError(
            "model",
            lm.name,
            f"its tokenizer gives token {int(ids.max())}, but it has {lm.vocabulary()} embeddings",
        )
    device = lm.model.get_input_embeddings().weight.device
    if last_only and "logits_to_keep" in inspect.signature(lm.model.forward).parameters:
        options["logits_to_keep"] = 1
    mask = torch.ones_like(ids) if mask is None else mask
    with torch.inference_mode():
        return lm.model(
            input_ids=ids.to(device), attention_mask=mask.to(device), use_cache=False, **options
        )


def run(lm: LanguageModel, ids, mask=None, *, last_only: bool = False) -> Run:
    """Hidden states and logits for token ids (batch, length).

    Args:
      ids: a tensor of token ids; on the right it may be padded with anything.
      mask: 1 for a token, 0 for padding.
      last_only: leave out the logits of all positions but the last, where the model can.

    Raises:
      SettingError: of `model`, if it gives no hidden states, of one width.
    """
    with watched(block_list(lm.model, lm.layers) or []) as calls:
        output = call(lm, ids, mask, last_only=last_only, output_hidden_states=True)
    states = getattr(output, "hidden_states", None)
    logits = getattr(output, "logits", None)
    if not states or len(states) < 2 or any(state is None for state in states):
        raise SettingError("model", lm.name, "it gives no hidden states")
    if logits is None:
        raise SettingError("model", lm.name, "it has no head over its vocabulary")
    states, entered = list(states), [state for _, state, _ in calls]
    if len(entered) == len(states) - 1 and all(_fits(state, ids) for state in entered):
        # The same tensors, but for Mamba's, which begin after the first block.
        states[:-1] = entered
        if states[-1].shape != states[0].shape:
            # OPT-350m goes back to the narrower width of its embedding after the last block.
            states[-1] = first(calls[-1][2])
    if any(not _fits(state, ids) or state.shape != states[0].shape for state in states):
        raise SettingError("model", lm.name, "its hidden states are not one vector for each token")
    return Run(tuple(states), logits)


def _fits(state, ids) -> bool:
    return state is not None and state.ndim == 3 and state.shape[:2] == ids.shape


@contextmanager
def watched(modules) -> Iterator[list]:
    """Collects (module, state that it received, what it returned) of each call, in their order."""
    calls, entered = [], {}

    def before(module, args, kwargs):
        entered[module] = args[0] if args else kwargs.get("hidden_states")

    def after(module, args, output):
        calls.append((module, entered[module], output))

    with ExitStack() as stack:
        for module in modules:
            stack.callback(module.register_forward_pre_hook(before, with_kwargs=True).remove)
            stack.callback(module.register_forward_hook(after).remove)
        yield calls


def plain_ids(lm: LanguageModel, text: str) -> list[int]:
    """The tokens of a text, without those that mark its beginning and end.

    Raises:
      SettingError: of `model`, if its tokenizer cannot read the text.
    """
    try:
        # A long text is cut after it is tokenised, of which some tokenizers would warn.
        return list(lm.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])
    except Exception as error:
        raise SettingError(
            "model", lm.name, f"its tokenizer does not take the text ({reason(error, brief=True)})"
        ) from None


def special_ids(lm: LanguageModel) -> tuple[list[int], list[int]]:
    """The tokens that the tokenizer puts before and after a text by default, such as <s>."""
    marked = list(lm.tokenizer("a")["input_ids"])
    plain = plain_ids(lm, "a")
    for start in range(len(marked) - len(plain) + 1):
        if marked[start : start + len(plain)] == plain:
            return marked[:start], marked[start + len(plain) :]
    return [], []
