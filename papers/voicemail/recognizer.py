"""A recognizer's errors on marked messages, at a word error rate of your choice.

    e(w) = r m(w)        m = 3 for names, 0.01 for words of numbers, 1 for others; r such that the mean of e is the rate

An error is a substitution (65 of 100), a deletion (20) or an insertion behind the word (15). Substitutes sound alike:
words with the same sounds in a rough code (consonants by the place where they are made, vowels as one), else words with
the same beginning. Spans move with their words; a span of which nothing is left is gone. Words in the place of a name
keep its capital, so that the mark-up still says where the name was; extraction does not look at capitals.

Message i of a seed has the same errors whatever stands before it. Cost: one pass.
Reference: Jansche & Abney (2002), section on recognizer output; Bacchiani (2001) for the task.
"""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator

from textmill.errors import DataError
from textmill.model import check_range
from textmill.strings import sound_code
from textmill.tasks.voicemail.locale import read_locale
from textmill.tasks.voicemail.messages import MarkedSpan, Message

__all__ = ["RecognizerChannel"]

NAMES, NUMBERS = 3.0, 0.01
SUBSTITUTED, DELETED = 0.65, 0.20  # the rest is inserted


class RecognizerChannel:
    """Garbles messages.

    `word_error_rate`: share of words with an error. `vocabulary`: texts whose words the recognizer knows; None for the
    words of the messages themselves.

    >>> from textmill.tasks.voicemail import parse_message
    >>> channel = RecognizerChannel(0.3, vocabulary=["the collar was hear four you"], random_state=1)
    >>> message = parse_message("<caller> this is Pat Caller </caller> I will be here for you")
    >>> str(next(channel.garble([message])))
    '<caller> this was The Caller </caller> I will be here was for you'
    """

    def __init__(
        self, word_error_rate: float = 0.23, *, vocabulary: Iterable[str] | None = None, random_state: int = 0
    ) -> None:
        check_range("word_error_rate", word_error_rate, at_least=0, at_most=0.9)
        self.word_error_rate = word_error_rate
        self.random_state = random_state
        self._spoken = frozenset(read_locale("us").spoken)
        self._codes: list[tuple[str, str]] | None = None
        self._words: list[str] = []
        self._sums: list[int] = []
        if vocabulary is not None:
            self._learn(vocabulary)

    def garble(self, messages: Iterable[Message]) -> Iterator[Message]:
        """Messages as the recognizer would write them."""
        every = list(messages)
        if self._codes is None:
            self._learn(message.text for message in every)
        weights = sum(self._factor(message, i, message.name) for message in every for i in range(len(message.tokens)))
        words = sum(len(message.tokens) for message in every)
        rate = self.word_error_rate * words / weights if words else 0.0
        for number, message in enumerate(every):
            yield self._garbled(message, rate, random.Random(f"{self.random_state} {number}"))

    def _factor(self, message: Message, i: int, name: MarkedSpan | None) -> float:
        if name is not None and name.start <= i < name.end:
            return NAMES
        return NUMBERS if message.tokens[i].lower() in self._spoken else 1.0

    def _learn(self, texts: Iterable[str]) -> None:
        counts = Counter(word.lower() for text in texts for word in text.split())
        for word in self._spoken:  # errors do not make up numbers
            counts.pop(word, None)
        if not counts:
            raise DataError("the recognizer's vocabulary is empty; give texts with words")
        self._words = sorted(counts)
        total = 0
        for word in self._words:
            total += counts[word]
            self._sums.append(total)
        self._codes = sorted((sound_code(word), word) for word in self._words)

    def _substitute(self, word: str, generator: random.Random) -> str:
        """A word that sounds alike; a shorter beginning where there is none."""
        assert self._codes is not None
        code = sound_code(word)
        lower = word.lower()
        for length in range(len(code), -1, -1):
            low = bisect_left(self._codes, (code[:length], ""))
            high = bisect_right(self._codes, (code[:length] + "\x7f", ""))
            if length == len(code):
                high = bisect_right(self._codes, (code, "\uffff"))
            others = [w for _, w in self._codes[low:high][:200] if w != lower]
            if others:
                return generator.choice(others)
        return lower

    def _garbled(self, message: Message, rate: float, generator: random.Random) -> Message:
        tokens: list[str] = []
        place = [0] * (len(message.tokens) + 1)  # where each token begins in the new message
        name = message.name
        for i, token in enumerate(message.tokens):
            place[i] = len(tokens)
            in_name = name is not None and name.start <= i < name.end
            if generator.random() >= min(0.95, rate * self._factor(message, i, name)):
                tokens.append(token)
                continue
            kind = generator.random()
            if kind < SUBSTITUTED or (in_name and kind >= SUBSTITUTED + DELETED):
                word = self._substitute(token, generator)
                tokens.append(word.capitalize() if in_name else word)
            elif kind >= SUBSTITUTED + DELETED:
                tokens += [token, generator.choices(self._words, cum_weights=self._sums)[0]]
        place[-1] = len(tokens)
        spans = [MarkedSpan(place[start], place[end], label) for start, end, label in message.spans]
        return Message(tuple(tokens), tuple(span for span in spans if span.start < span.end))
