"""A prompt as tokens: which are the subject's, and which one would begin the answer."""

from typing import NamedTuple

from toydepth.probe.language.language_model import LanguageModel, plain_ids, special_ids
from toydepth.settings import SettingError


class Prompt(NamedTuple):
    """A prompt, ready for tracing.

    Attributes:
      ids: its tokens, with what the tokenizer puts before a text.
      subject: those of the subject, from the first to before the second.
      answers: tokens that would begin the answer; more than one if it may follow with or without
        a space.
    """

    ids: list[int]
    subject: tuple[int, int]
    answers: list[int]


def place(lm: LanguageModel, prompt: str, subject: str, answer: str) -> Prompt:
    """Finds subject and answer among the tokens.

    Spaces at the end of the prompt are the answer's, as tokenizers have them.

    Raises:
      SettingError: of `prompt`, `subject` or `answer`.
    """
    text = prompt.rstrip(" ")
    start = text.find(subject)
    if not subject.strip() or start < 0:
        raise SettingError("subject", subject, "it is not a part of the prompt")
    ids = plain_ids(lm, text)
    if len(ids) < 2:
        raise SettingError("prompt", prompt, "at least two tokens are needed")
    before, _ = special_ids(lm)
    positions = lm.positions()
    if positions is not None and len(before) + len(ids) > positions:
        raise SettingError("prompt", prompt, f"the model takes at most {positions} tokens")
    begin, end = _span(lm, text, ids, start, start + len(subject))
    if begin >= end:
        raise SettingError("subject", subject, "no token of the prompt is its own")
    answers = _answers(lm, text, ids, prompt[len(text) :], answer)
    return Prompt([*before, *ids], (len(before) + begin, len(before) + end), answers)


def _span(lm, text: str, ids: list[int], start: int, end: int) -> tuple[int, int]:
    """The tokens that hold some of the characters from `start` to before `end`."""
    if getattr(lm.tokenizer, "is_fast", False):
        spans = lm.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        spans = spans["offset_mapping"]
        held = [i for i, (low, high) in enumerate(spans) if low < end and start < high]
        return (held[0], held[-1] + 1) if held else (0, 0)
    first, _ = _shared(lm, text[:start], ids)
    last, inside = _shared(lm, text[:end], ids)
    return first, last if inside else last + 1


def _shared(lm, text: str, ids: list[int]) -> tuple[int, bool]:
    """How many of the text's tokens begin `ids`, and whether they are all of the text's."""
    part = plain_ids(lm, text)
    count = 0
    while count < len(part) and count < len(ids) and part[count] == ids[count]:
        count += 1
    return count, count == len(part)


def _answers(lm, text: str, ids: list[int], gap: str, answer: str) -> list[int]:
    if not answer.strip():
        raise SettingError("answer", answer, "it is empty")
    if gap or answer[0].isspace():
        joined = [gap + answer]
    else:
        joined = [" " + answer, answer]
    found = []
    for continuation in joined:
        longer = plain_ids(lm, text + continuation)
        # A tokenizer may join the prompt's last letters with the answer's first.
        if longer[: len(ids)] == ids and len(longer) > len(ids):
            found.append(longer[len(ids)])
    # A space that is a token of its own says nothing about the answer.
    found = [id for id in dict.fromkeys(found) if lm.tokenizer.decode([id]).strip()]
    if not found:
        raise SettingError("answer", answer, "it begins within a token, or with a blank one")
    return found
