"""What is said of a text: its best language, the languages that are asserted, how sure that is, and why.

A language L is asserted of a text of n words when

    score(d, L)  >=  t_L(n)                                        enough of what is known speaks for it
    total(d, L) / n + w share  >=  b - c / sqrt(n)                 enough of the text is known, and agrees (support)
    P(L | text)  >=  ambiguity * the largest P                     no other language of the model is much more probable

and nothing at all unless the best language is among those, and they are more probable together than all others:

    sum of P(L | text) over those L  >=  1/2

A text may be in several languages: then each is asserted by its own parts, and its probability is its share of the
words (mixture.py). Repeated words count once they say nothing new (there, too).

Above, the score counts words of the dictionary, the total also what letters say of the others, and the share is that of
words of the dictionary. The second rule was learned from texts of other languages (thresholds.py); a model that has
seen none goes without. Languages that were not asked for are no answers, but a text that is in one of them is not
asserted to be in another, and neither is source code (code.py). Of a text that has nothing but single letters a
language is asserted only if it is the only one in that script: `x` may be any of a hundred. Scripts without blanks
between words are excepted, as a letter is a word there.

The best language is the one with the largest sum and prior, the first by its code where several are equal. There is
none when nothing speaks: no words, or words that say the same of all languages and speak for none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill._native import language as native
from textmill.errors import warn_caller

__all__ = [
    "NEVER",
    "Assertion",
    "LanguageAnswer",
    "LanguageScores",
    "RelativeAccepted",
    "WordEvidence",
    "answers_of",
    "hinted",
    "languages_of_letters",
    "warn_of_relatives",
    "word_evidence",
]

Floats = NDArray[np.float64]
_SOURCES = ("none", "dictionary", "letters")
NEVER = -1e6  # the sum of a language that is no answer
_PAIR = re.compile(r"[^\W\d_]{2}")  # two letters, in nearly every text
_PAIR_OF_BYTES = re.compile(rb"[A-Za-z]{2}")
_UNSPACED = frozenset(native.unspaced_scripts())
_SEES = np.log(0.01)  # share of the words of a language from which on a script is one of its own
_SPEAKS = np.float32(1e-4)  # of a word, that says something and is not rounding, as in native/language/identify.cpp
_FEW = 10  # texts of another language, of which nothing follows
_ACCEPTED = 0.1  # share of them that is no accident any more


class RelativeAccepted(UserWarning):
    """Texts of a language that the identifier does not know are taken for one that it knows."""


@dataclass(frozen=True, slots=True)
class LanguageAnswer:
    """What is said of one text.

    language: the best single language, the first by code of equal ones, None without any evidence; confidence: its
    probability; languages: those that are asserted, best first, none for an unknown language; ranking: (language,
    score, probability), best first; words and words of the dictionary.
    """

    language: str | None
    confidence: float
    languages: tuple[str, ...]
    ranking: tuple[tuple[str, float, float], ...]
    words: int
    dictionary_words: int


@dataclass(frozen=True, slots=True)
class WordEvidence:
    """One word of a text: where it stands, what it says of each language, and whether dictionary or letters say it."""

    word: str
    begin: int
    end: int
    source: str
    relevance: dict[str, float]


@dataclass(frozen=True)
class LanguageScores:
    """Sums of relevances of many texts: rows are texts, columns languages."""

    dictionary: NDArray[np.float32]  # of words of the dictionary
    total: NDArray[np.float32]  # with what letters say of the others
    words: NDArray[np.int64]
    dictionary_words: NDArray[np.int64]

    @property
    def scores(self) -> Floats:
        """Mean relevance over all words."""
        result: Floats = self.dictionary / np.maximum(self.words, 1)[:, None].astype(np.float64)
        return result


@dataclass(frozen=True, slots=True)
class Assertion:
    """What is needed to assert a language (see the module)."""

    thresholds: Floats
    length_part: float
    ambiguity: float
    support: Sequence[float]  # w, b and c, or nothing
    answered: NDArray[np.bool_]  # languages that may be asserted

    def __call__(self, sums: LanguageScores, share: Floats) -> NDArray[np.bool_]:
        """Whether each language is asserted of each text, by the sums and probabilities of all languages."""
        asserted: NDArray[np.bool_] = self.possible(sums)
        asserted &= share >= self.ambiguity * share.max(axis=1, keepdims=True)
        return asserted

    def settle(self, asserted: NDArray[np.bool_], total: Floats, share: Floats) -> None:
        """Assert nothing of texts whose best language is not asserted, or that are more probably in another one."""
        best = np.where(self.answered, total, NEVER).argmax(axis=1)
        certain = asserted[np.arange(len(asserted)), best] & (np.where(asserted, share, 0.0).sum(axis=1) >= 0.5)
        asserted[~certain] = False

    def possible(self, sums: LanguageScores) -> NDArray[np.bool_]:
        """Whether enough speaks for each language, however probable another one is."""
        words = np.maximum(sums.words, 1).astype(np.float64)
        root = 1 / np.sqrt(words)[:, None]
        scores = sums.scores
        asserted: NDArray[np.bool_] = scores >= self.thresholds - self.length_part * root
        asserted &= (scores > 0) & (sums.words > 0)[:, None]
        if len(self.support):
            weight, least, part = self.support
            coverage = (sums.dictionary_words / words)[:, None]
            asserted &= sums.total / words[:, None] + weight * coverage >= least - part * root
        return asserted & self.answered


def answers_of(
    sums: LanguageScores, total: Floats, share: Floats, asserted: NDArray[np.bool_], codes: list[str], k: int
) -> list[LanguageAnswer]:
    """One answer for each text: `total` is what languages are ranked by, with `NEVER` for those that are no answers."""
    same = np.ptp(sums.total, axis=1) == 0
    silent = (sums.words == 0) | (same & (sums.total[:, 0] < _SPEAKS * sums.words))  # nothing can be said
    top = np.argsort(-total, axis=1, kind="stable")[:, :k]
    scores = sums.scores
    answers = []
    for i in range(len(total)):
        ranking = tuple((codes[j], float(scores[i, j]), float(share[i, j])) for j in top[i] if total[i, j] > NEVER / 2)
        chosen = sorted(np.flatnonzero(asserted[i]), key=lambda j: (-total[i, j], j))
        spoken = bool(ranking) and not silent[i]
        answers.append(
            LanguageAnswer(
                ranking[0][0] if spoken else None,
                ranking[0][2] if spoken else 0.0,
                tuple(codes[j] for j in chosen),
                ranking if spoken else (),
                int(sums.words[i]),
                int(sums.dictionary_words[i]),
            )
        )
    return answers


def languages_of_letters(text: str | bytes, script: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Which languages may be asserted of a text by its letters; `script` is log p(script | L), scripts x languages.

    All of them, or of a text that has nothing but single letters the one that is alone in its script.
    """
    everyone = np.ones(script.shape[1], dtype=bool)
    pair = _PAIR.search(text) if isinstance(text, str) else _PAIR_OF_BYTES.search(text)
    if pair is not None:
        return everyone
    keys = [key for key in native.keys(native.Texts([text]), 0, False) if key]
    if any(len(key) > 1 for key in keys):
        return everyone
    data = [key.encode() for key in keys]
    ends = np.cumsum([0, *map(len, data)], dtype=np.int64)
    for number in np.unique(native.scripts(np.frombuffer(b"".join(data), dtype=np.uint8), ends)):
        if native.script_names()[number] not in _UNSPACED:
            written = script[number] > _SEES
            everyone &= written & (written.sum() == 1)
    return everyone


def hinted(hints: Sequence[str | None], codes: list[str], weight: float) -> Floats:
    """What a language that somebody named for each text adds to its sum, texts x languages; unknown names add nothing.

    >>> hinted(["cs", None, "xx"], ["cs", "en"], 1.5).tolist()
    [[1.5, 0.0], [0.0, 0.0], [0.0, 0.0]]
    """
    added = np.zeros((len(hints), len(codes)))
    for i, hint in enumerate(hints):
        if hint in codes:
            added[i, codes.index(hint)] = weight
    return added


def warn_of_relatives(answers: Sequence[LanguageAnswer], labels: Sequence[str]) -> None:
    """Warn of each language (of texts in languages that are not known) that is often taken for a known one."""
    for label in sorted(set(labels)):
        own = [answer for answer, of_text in zip(answers, labels, strict=True) if of_text == label]
        taken = [answer.languages[0] for answer in own if answer.languages]
        if len(own) >= _FEW and len(taken) > _ACCEPTED * len(own):
            mostly = max(sorted(set(taken)), key=taken.count)
            warn_caller(
                f"{len(taken) / len(own):.0%} of the held-out texts in '{label}' are taken for a language that is "
                f"known, mostly '{mostly}'; give texts of '{label}' to the training, as a decoy",
                RelativeAccepted,
            )


def word_evidence(model: Any, text: str | bytes, chosen: NDArray[np.uint8], codes: list[str]) -> list[WordEvidence]:
    """What each word of a text says of the chosen languages; `model` is the native one."""
    spans, kinds, keys, ends, rows = native.signal(model, native.Texts([text]), 0, chosen)
    relevance = rows.reshape(len(kinds), len(chosen))
    data = keys.tobytes()
    evidence = []
    for i, kind in enumerate(kinds):
        begin, end = int(spans[2 * i]), int(spans[2 * i + 1])
        order = [j for j in np.argsort(-relevance[i], kind="stable") if chosen[j] and relevance[i, j] != 0]
        said = {codes[j]: float(relevance[i, j]) for j in order}
        key = data[ends[i] : ends[i + 1]].decode()
        evidence.append(WordEvidence(key or _piece(text, begin, end), begin, end, _SOURCES[kind], said))
    return evidence


def _piece(text: str | bytes, begin: int, end: int) -> str:
    piece = text[begin:end]
    return piece if isinstance(piece, str) else piece.decode("utf-8", "replace")
