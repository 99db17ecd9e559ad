"""Answers before a message has ended, and answers from several readings of it.

partial transcripts   the words so far are a message: each further piece gives an answer of its own
n-best lists          P(name) = sum of the probabilities of the readings that give the name, times its confidence
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from textmill.tasks.voicemail.extractor import VoicemailExtractor
from textmill.tasks.voicemail.numbers import format_number
from textmill.tasks.voicemail.transducer import hypothesis_weights

__all__ = ["NbestAnswer", "PartialText", "answer_nbest", "partial_texts"]


class PartialText(NamedTuple):
    """A message by its number (from 1), its words so far, and whether that is all of it."""

    message: int
    text: str
    complete: bool


class NbestAnswer(NamedTuple):
    """Names and numbers of an n-best list with their probabilities, the most probable first."""

    names: tuple[tuple[str, float], ...]
    numbers: tuple[tuple[str, float], ...]


def partial_texts(lines: Iterable[str]) -> Iterator[PartialText]:
    """What has been said after each line; an empty line ends a message.

    >>> [text for _, text, _ in partial_texts(["hi this", "is Pat", "", "hello"])]
    ['hi this', 'hi this is Pat', 'hi this is Pat', 'hello', 'hello']
    """
    message, text = 1, ""
    for line in lines:
        if line.strip():
            text = f"{text} {line.strip()}".strip()
            yield PartialText(message, text, False)
        elif text:
            yield PartialText(message, text, True)
            message, text = message + 1, ""
    if text:
        yield PartialText(message, text, True)


def answer_nbest(model: VoicemailExtractor, hypotheses: Sequence[tuple[str, float]]) -> NbestAnswer:
    """Names and numbers of a message from several readings with their log probabilities.

    >>> from textmill.tasks.voicemail import sample_messages
    >>> model = VoicemailExtractor().fit(sample_messages())
    >>> nbest = [("hi this is Pat Caller bye", -1.0), ("hi this is Pet Caller bye", -1.5)]
    >>> [name for name, _ in answer_nbest(model, nbest).names]
    ['Pat Caller', 'Pet Caller']
    """
    names: dict[str, float] = {}
    numbers: dict[str, float] = {}
    weights = hypothesis_weights([score for _, score in hypotheses])
    for answer, weight in zip(model.extract([text for text, _ in hypotheses]), weights, strict=True):
        if answer.name is not None:
            names[answer.name.text] = names.get(answer.name.text, 0.0) + weight * answer.name.confidence
        for number in answer.callbacks:
            written = format_number(number.digits, number.extension, model.locale_)
            numbers[written] = numbers.get(written, 0.0) + weight * number.confidence

    def ranked(sums: dict[str, float]) -> tuple[tuple[str, float], ...]:
        return tuple(sorted(sums.items(), key=lambda item: (-item[1], item[0])))

    return NbestAnswer(ranked(names), ranked(numbers))
