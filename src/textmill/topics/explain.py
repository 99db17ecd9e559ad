"""Why a text has its topics: every known word with the topic it most probably stands for, in colors.

    P(t | w, d) ~ theta_dt phi_tw          theta: the mixture of the text, phi: the words of the topics
                ~ exp(E log theta_dt + E log phi_tw)                              in LDA

`explain_text` finds the words, `Explanation.terminal` shows them by Rich, `Explanation.html` as markup for a page. The
topics that most words of the text belong to have colors of their own, in the order of their number of words; the words
of all others, and words that the model does not know, have none.

Cost: that of inferring one document. Reference: Blei, Ng & Jordan (2003), figure 8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from textmill.arrays import Floats
from textmill.corpus import Tokenizer
from textmill.errors import DataError
from textmill.model import check_fitted, check_range
from textmill.plot import COLORS
from textmill.topics.lda.model import LDA
from textmill.topics.model import TopicModel

if TYPE_CHECKING:
    from markupsafe import Markup
    from rich.text import Text

    from textmill.report import Report

__all__ = ["Explanation", "TopicWord", "explain_text"]


class TopicWord(NamedTuple):
    """A word of a text: where it begins and ends, its term, its topic and how probable that is."""

    begin: int
    end: int
    term: str
    topic: int
    probability: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """A text, its known words with their topics, its mixture (k,), and the first words of each topic."""

    text: str
    words: list[TopicWord]
    mixture: Floats
    labels: list[str]

    def topics(self) -> list[int]:
        """The topics of the words, that of most words first."""
        counts = np.bincount([word.topic for word in self.words], minlength=len(self.mixture))
        order = np.lexsort((-self.mixture, -counts))
        return [int(topic) for topic in order if counts[topic]]

    def terminal(self) -> Text:
        """The colored text with a legend, for a Rich console."""
        from rich.text import Text

        colors = self._colors()
        shown = Text(self.text)
        for word in self.words:
            if word.topic in colors:
                shown.stylize(f"bold {colors[word.topic]}", word.begin, word.end)
        shown.append("\n")
        for topic in self.topics():
            line = f"\n{self._legend(topic)}"
            shown.append(line, style=f"bold {colors[topic]}" if topic in colors else "dim")
        return shown

    def html(self) -> Markup:
        """The colored text and its legend as markup; a word tells its topic when the pointer rests on it."""
        from markupsafe import Markup

        colors = self._colors()
        parts, place = [], 0
        for word in self.words:
            style = f"border-bottom:.2em solid {colors[word.topic]}" if word.topic in colors else ""
            parts.append(Markup.escape(self.text[place : word.begin]))
            shown, title = self.text[word.begin : word.end], f"topic {word.topic + 1}: {word.probability:.0%}"
            parts.append(Markup('<span style="{}" title="{}">{}</span>').format(style, title, shown))
            place = word.end
        parts.append(Markup.escape(self.text[place:]))
        lines = [
            Markup('<li><span style="border-bottom:.2em solid {}">{}</span></li>').format(
                colors.get(topic, "transparent"), self._legend(topic)
            )
            for topic in self.topics()
        ]
        body, legend = Markup("").join(parts), Markup("").join(lines)
        return Markup('<p style="white-space:pre-wrap;line-height:1.9">{}</p><ul>{}</ul>').format(body, legend)

    def report(self, title: str = "The topics of a text") -> Report:
        """A page with the colored text and its mixture."""
        from textmill.report import Report

        page = Report(title)
        page.html(self.html())
        counts = np.bincount([word.topic for word in self.words], minlength=len(self.mixture))
        rows = [(t + 1, self.labels[t], float(self.mixture[t]), int(counts[t])) for t in self.topics()]
        page.table(["topic", "first words", "share", "words here"], rows, caption="Topics of the text")
        return page

    def _colors(self) -> dict[int, str]:
        return dict(zip(self.topics(), COLORS, strict=False))

    def _legend(self, topic: int) -> str:
        return f"topic {topic + 1} ({self.mixture[topic]:.0%}): {self.labels[topic]}"


def explain_text(model: TopicModel, text: str, *, n_words: int = 6) -> Explanation:
    """Find the topics of the words of a text; `n_words` are those that name a topic.

    >>> from textmill.topics.formats import from_matrix
    >>> lda = from_matrix([[3, 2, 0, 0], [0, 0, 1, 1]], terms=["sea", "ship", "sky", "bird"])
    >>> explanation = explain_text(lda, "The ship at sea, a bird", n_words=2)
    >>> [(word.term, word.topic) for word in explanation.words]
    [('ship', 0), ('sea', 0), ('bird', 1)]
    >>> explanation.terminal().plain.splitlines()[-1]
    'topic 2 (38%): sky bird'
    """
    check_range("n_words", n_words, at_least=1, whole=True)
    check_fitted(model)
    if not isinstance(text, str):
        raise DataError(f"explain_text takes one text, got {type(text).__name__}; join its words with blanks")
    if model.vectorizer_ is None:
        raise DataError("this model has no vectorizer, so it cannot read texts; train it with one")
    if model.components_.min(initial=0) < 0:
        raise DataError(f"the topics of {type(model).__name__} are directions, not distributions; use LDA or PLSA")
    mixture = np.asarray(model.transform([text]), dtype=np.float64)[0]
    shares = mixture / max(float(mixture.sum()), 1e-300)
    posteriors = _topics_of_terms(model, text, shares)
    words = []
    for begin, end, term in _tokens(text, model.vectorizer_.vocabulary_.tokenizer):
        if term in posteriors:
            topic = int(posteriors[term].argmax())
            words.append(TopicWord(begin, end, term, topic, float(posteriors[term][topic])))
    labels = [" ".join(word for word, _ in topic) for topic in model.topics(n_words)]
    return Explanation(text, words, shares, labels)


def _topics_of_terms(model: TopicModel, text: str, mixture: Floats) -> dict[str, Floats]:
    """P(t | w, d) of the known terms of a text."""
    assert model.vectorizer_ is not None
    if isinstance(model, LDA):
        bag, rows = model.word_topics([text])
        columns = bag.indices
    else:
        columns = model.vectorizer_.transform([text]).indices
        columns = columns[columns < model.components_.shape[1]]
        rows = model.components_[:, columns].T * mixture
    sums = rows.sum(axis=1)
    return {
        model.vectorizer_.terms_[int(column)]: row / total
        for column, row, total in zip(columns, rows, sums, strict=True)
        if total > 0
    }


def _tokens(text: str, tokenizer: Any) -> list[tuple[int, int, str]]:
    """The tokens of a text with their places; those of a tokenizer that tells no places are searched one by one."""
    cut = Tokenizer() if tokenizer is None else tokenizer
    if isinstance(cut, Tokenizer):
        spans = cut.spans(text)
        forms = cut.tokenize([text[begin:end] for begin, end in spans])
        return [(begin, end, form[0]) for (begin, end), form in zip(spans, forms, strict=True) if form]
    tokens, place, lowered = [], 0, text.lower() if len(text.lower()) == len(text) else text
    for token in cut(text):
        begin = lowered.find(token, place)
        begin = text.find(token, place) if begin < 0 else begin
        if begin >= 0:
            tokens.append((begin, begin + len(token), token))
            place = begin + len(token)
    return tokens
