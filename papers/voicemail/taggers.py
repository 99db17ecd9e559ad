"""The tagger that trees are compared with: a log-linear tagger over B, I and O with trigrams of words and of tags.

A tag is predicted from the words around it and the two tags before: the labels of the chain are pairs of tags, so that
a pair of labels spans three. With so short a memory the tagger cannot know how long the number is that it is building,
and a thousand trigrams of digits are sparse; `collapse` makes all words of numbers one word, which helps the second but
not the first. It has an open vocabulary, so it knows the names of those who called before.

Cost: that of `sequence.ConditionalMarkov`. Reference: Jansche & Abney (2002), the rows "log-linear".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

from textmill.corpus import spans_of, tags_of
from textmill.errors import DataError, NotFittedError
from textmill.sequence import ConditionalMarkov
from textmill.tasks.voicemail.locale import read_locale
from textmill.tasks.voicemail.messages import MarkedSpan, Message

__all__ = ["SpanTagger"]

_PATTERNS = (
    ["b"]
    + [f"u:w{i}=%x[{i},0]" for i in (-2, -1, 0, 1, 2)]
    + [f"u:p{i}=%x[{i},0]/%x[{i + 1},0]" for i in (-2, -1, 0, 1)]
    + [f"u:t{i}=%x[{i},0]/%x[{i + 1},0]/%x[{i + 2},0]" for i in (-2, -1, 0)]
)


class SpanTagger:
    """A tagger of callers, names or numbers.

    `label` is caller, name or telno. `collapse`: all words of numbers of the locale are one word to it.

    >>> from textmill.tasks.voicemail import parse_message
    >>> marked = ["hi <caller> this is Pat </caller> bye", "hi <caller> it's Kim </caller>"]
    >>> SpanTagger("caller").fit(map(parse_message, marked * 5)).predict(["hi this is Kim bye"])
    [[MarkedSpan(start=1, end=4, label='caller')]]
    """

    def __init__(
        self, label: str = "telno", *, collapse: bool = False, locale: str = "us", n_jobs: int | None = None
    ) -> None:
        if label not in ("caller", "name", "telno"):
            raise DataError(f"a tagger finds 'caller', 'name' or 'telno', not {label!r}")
        self.label = label
        self.collapse = collapse
        self.n_jobs = n_jobs
        self._spoken = read_locale(locale).spoken
        self._model: ConditionalMarkov | None = None

    def fit(self, messages: Iterable[Message]) -> Self:
        """Learn from marked messages."""
        X, y = [], []
        for message in messages:
            if not message.tokens:
                continue
            name = message.name
            spans: Sequence[MarkedSpan] = (
                ([name] if name is not None else []) if self.label == "name" else message.marked(self.label)
            )
            tags = [tag[0] for tag in tags_of(spans, len(message.tokens))]
            X.append(self._words(message.tokens))
            y.append([before + tag for before, tag in zip(["O", *tags], tags, strict=False)])
        if not X:
            raise DataError("there are no messages with words to learn from")
        model = ConditionalMarkov(patterns=list(_PATTERNS), algorithm="lbfgs", l2=0.3, max_iter=60, n_jobs=self.n_jobs)
        self._model = model.fit(X, y)
        return self

    def predict(self, messages: Iterable[Message | str]) -> list[list[MarkedSpan]]:
        """Spans of each message."""
        if self._model is None:
            raise NotFittedError("the tagger is not fitted; call fit first")
        tokens = [m.tokens if isinstance(m, Message) else tuple(m.split()) for m in messages]
        spoken = [i for i, own in enumerate(tokens) if own]
        spans: list[list[MarkedSpan]] = [[] for _ in tokens]
        labels = self._model.predict([self._words(tokens[i]) for i in spoken]) if spoken else []
        for i, pairs in zip(spoken, labels, strict=True):
            tags = [f"{pair[-1]}-{self.label}" if pair[-1] != "O" else "O" for pair in pairs]
            spans[i] = [MarkedSpan(*span) for span in spans_of(tags, lenient=True)]
        return spans

    def _words(self, tokens: Sequence[str]) -> list[tuple[str]]:
        words = [token.lower() for token in tokens]
        if self.collapse:
            words = ["<number>" if self._spoken.get(word, ("", 0))[0] in _NUMBERS else word for word in words]
        return [(word,) for word in words]


_NUMBERS = ("digit", "teen", "tens", "hundred", "thousand", "repeat")
