"""Where the language of a text changes: pieces with their languages, offsets and confidence.

    method "viterbi"      the path with the best sum of relevances, each change at a price, a lower one where a sentence
                          or a line ends; exact, with "unknown" as one more language and confidence from the sum over
                          all paths (native/language/segment.h); the default. Words that the dictionary does not have
                          speak for "unknown", too: one of them among others stays with its neighbors, codes or letters
                          at random become a piece without a language
    method "smoothing"    running medians, cuts at local minima, sets of languages, merging and absorption: the
                          procedure of the paper, whose pieces may have several languages
    method "letters"      the best path letter by letter under character models, slow and exact: the n-grams of the
                          identifier (letterpaths.py), or models of your own

Pieces join to the text, and two neighbors never have the same language. O(words x languages), O(letters x languages)
for letters. Reference: Rehurek & Kolkus (2009); Teahan, Text classification and segmentation using minimum
cross-entropy (2000).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill._native import language as native
from textmill.model import Estimator, check_choice, check_range, effective_jobs
from textmill.tasks.language.identifier import LanguageIdentifier
from textmill.tasks.language.letterpaths import IdentifierLetters

__all__ = ["LanguageSegment", "LanguageSegmenter", "language_shares"]

_LETTERS = 15.0  # price of a change between letters, in bits
_OWN_LETTERS = 12.0  # the same for the n-grams of an identifier


@dataclass(frozen=True, slots=True)
class LanguageSegment:
    """A piece of a text: characters [begin, end), words [first_word, last_word), its languages, the best one first."""

    begin: int
    end: int
    first_word: int
    last_word: int
    languages: tuple[str, ...]
    confidence: float

    @property
    def language(self) -> str | None:
        """The best language, None when it is unknown."""
        return self.languages[0] if self.languages else None


class LanguageSegmenter(Estimator):
    """Cut texts where their language changes.

    Parameters:
        identifier: A fitted `LanguageIdentifier`; None for the bundled one.
        method: "viterbi", "smoothing" or "letters".
        languages: Those that are asked for; None for all.
        penalty: Price of a change of language, of viterbi and letters; None for 1.75 times the range of relevances.
        break_penalty: Share of that price where a sentence or a line ends, of viterbi.
        unknown: Relevance of a word to no language, of viterbi.
        unseen: What is added to it for a word that the dictionary does not have, as a share of the largest relevance.
        half_width: Words on either side in the medians of smoothing.
        min_words: Shortest piece of smoothing.
        min_unknown: Shortest piece without a language of smoothing.
        models: Fitted character models, of letters; None for the n-grams of the identifier.
        n_jobs: Threads; None for all cores.

    >>> identifier = LanguageIdentifier(min_count=1, held_out=0, order=0)
    >>> identifier = identifier.fit(["the cat sat on the mat", "pes a kočka spí doma"], ["en", "cs"])
    >>> text = "The cat sat. Pes spí doma."
    >>> [(piece.language, text[piece.begin : piece.end]) for piece in LanguageSegmenter(identifier=identifier,
    ...     penalty=1.0).segments(text)]
    [('en', 'The cat sat. '), ('cs', 'Pes spí doma.')]
    """

    def __init__(
        self,
        *,
        identifier: LanguageIdentifier | None = None,
        method: str = "viterbi",
        languages: Sequence[str] | None = None,
        penalty: float | None = None,
        break_penalty: float = 0.6,
        unknown: float = 0.0,
        unseen: float = 0.4,
        half_width: int = 2,
        min_words: int = 3,
        min_unknown: int = 5,
        models: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.identifier = identifier
        self.method = method
        self.languages = languages
        self.penalty = penalty
        self.break_penalty = break_penalty
        self.unknown = unknown
        self.unseen = unseen
        self.half_width = half_width
        self.min_words = min_words
        self.min_unknown = min_unknown
        self.models = models
        self.n_jobs = n_jobs

    def fit(self, X: Any = None, y: Any = None) -> LanguageSegmenter:
        """Nothing is learned here: the identifier comes trained."""
        self._check()
        return self

    def segments(self, text: str | bytes) -> list[LanguageSegment]:
        """The pieces of a text; offsets count characters of a string and bytes of bytes."""
        return self.segments_many([text])[0]

    def segments_many(self, texts: Iterable[str | bytes]) -> list[list[LanguageSegment]]:
        """The pieces of many texts."""
        self._check()
        batch = list(texts)
        if self.method == "viterbi":
            return self._viterbi(batch)
        return [self._smoothed(text) if self.method == "smoothing" else self._by_letters(text) for text in batch]

    def transform(self, X: Iterable[str | bytes]) -> list[list[LanguageSegment]]:
        """The same under scikit-learn's name."""
        return self.segments_many(X)

    def only(self, text: str, languages: Sequence[str]) -> str:
        """The parts of a text in these languages, one after the other: what is worth indexing."""
        wanted = self._identifier().check_languages(languages)
        return "".join(text[piece.begin : piece.end] for piece in self.segments(text) if piece.language in wanted)

    def _check(self) -> None:
        check_choice("method", self.method, ("viterbi", "smoothing", "letters"))
        if self.penalty is not None:
            check_range("penalty", self.penalty, at_least=0)
        check_range("break_penalty", self.break_penalty, at_least=0)
        check_range("unseen", self.unseen, at_least=0)
        check_range("half_width", self.half_width, at_least=0, whole=True)
        check_range("min_words", self.min_words, at_least=0, whole=True)
        check_range("min_unknown", self.min_unknown, at_least=0, whole=True)

    def _identifier(self) -> LanguageIdentifier:
        if self.identifier is not None:
            return self.identifier
        if not hasattr(self, "_bundled"):
            self._bundled = LanguageIdentifier.bundled()
        return self._bundled

    def _letter_models(self) -> Any:
        if self.models is not None:
            return self.models
        identifier = self._identifier()
        made_for = identifier, None if self.languages is None else tuple(self.languages)
        if getattr(self, "_letters", (None, None))[0] != made_for:
            self._letters = made_for, IdentifierLetters(identifier, self.languages)
        return self._letters[1]

    def _viterbi(self, texts: list[str | bytes]) -> list[list[LanguageSegment]]:
        identifier = self._identifier()
        chosen = identifier._chosen(self.languages, answers=False)
        offsets, spans, labels, confidence = native.segment(
            identifier._native,
            native.Texts(texts),
            chosen,
            _usual_penalty(identifier) if self.penalty is None else self.penalty,
            self.unknown,
            self.unseen * _largest(identifier, int(chosen.sum())),
            self.break_penalty,
            effective_jobs(self.n_jobs),
        )
        codes = [
            (code,) if not decoy else () for code, decoy in zip(identifier._codes(), identifier.decoy_, strict=True)
        ]
        codes.append(())
        place: list[Any] = spans.reshape(-1, 4).tolist()
        pieces = [
            LanguageSegment(place[i][0], place[i][1], place[i][2], place[i][3], codes[label], float(sure))
            for i, (label, sure) in enumerate(zip(labels.tolist(), confidence.tolist(), strict=True))
        ]
        return [_joined(pieces[a:b]) for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]

    def _smoothed(self, text: str | bytes) -> list[LanguageSegment]:
        identifier = self._identifier()
        chosen = identifier._chosen(self.languages, answers=True)
        spans, kinds, _, _, rows = native.signal(identifier._native, native.Texts([text]), 0, chosen)
        columns = np.flatnonzero(chosen)
        rows = np.maximum(rows.reshape(len(kinds), len(chosen))[:, columns], 0.0)
        begins = spans[::2].tolist()
        if not begins:
            return [LanguageSegment(0, len(text), 0, 0, (), 0.0)]
        thresholds = _smoothing_thresholds(identifier)[columns].astype(np.float32)
        cuts, offsets, languages = native.smoothed_pieces(
            np.ascontiguousarray(rows), thresholds, self.half_width, self.min_words, self.min_unknown
        )
        codes = [identifier._codes()[column] for column in columns]
        pieces = []
        for i in range(len(cuts) - 1):
            first, last = int(cuts[i]), int(cuts[i + 1])
            begin = 0 if i == 0 else begins[first]
            end = len(text) if last == len(begins) else begins[last]
            named = tuple(codes[j] for j in languages[offsets[i] : offsets[i + 1]])
            means = rows[first:last].mean(axis=0)
            share = float(means.max() / means.sum()) if means.sum() > 0 else 0.0
            pieces.append(LanguageSegment(begin, end, first, last, named, share))
        return pieces

    def _by_letters(self, text: str | bytes) -> list[LanguageSegment]:
        string = text if isinstance(text, str) else text.decode("utf-8", "replace")
        if not string:
            return [LanguageSegment(0, 0, 0, 0, (), 0.0)]
        codes, scores = self._letter_models().letter_scores(string)
        usual = _OWN_LETTERS if self.models is None else _LETTERS
        penalty = usual if self.penalty is None else self.penalty
        path = native.switching_path(np.ascontiguousarray(scores, dtype=np.float32), penalty)
        cuts = [0, *(np.flatnonzero(np.diff(path)) + 1).tolist(), len(string)]
        words = np.searchsorted(native.word_begins(native.Texts([string]), 0), cuts).tolist()
        return [
            LanguageSegment(begin, end, first, last, (codes[path[begin]],), 1.0)
            for (begin, end), (first, last) in zip(itertools.pairwise(cuts), itertools.pairwise(words), strict=True)
        ]


def language_shares(segments: Iterable[LanguageSegment]) -> dict[str | None, float]:
    """The share of the words of a text in each language, the main one first; None for what is unknown.

    >>> language_shares([LanguageSegment(0, 9, 0, 3, ("en",), 1.0), LanguageSegment(9, 12, 3, 4, (), 0.5)])
    {'en': 0.75, None: 0.25}
    """
    words: dict[str | None, int] = {}
    for piece in segments:
        words[piece.language] = words.get(piece.language, 0) + piece.last_word - piece.first_word
    total = sum(words.values())
    return {code: n / total for code, n in sorted(words.items(), key=lambda item: -item[1])} if total else {}


def _smoothing_thresholds(identifier: LanguageIdentifier) -> NDArray[np.float64]:
    """Those of the identifier where scores have no negative parts either; else a quarter of the largest relevance."""
    if identifier.evidence == "positive":
        return identifier.thresholds_
    languages = len(identifier.classes_)
    return np.full(languages, _largest(identifier, languages) / 4)


def _usual_penalty(identifier: LanguageIdentifier) -> float:
    """1.75 times what the strongest word can say for one language and against another."""
    least = np.log(identifier.alpha) if identifier.evidence == "all" else 0.0
    return float(1.75 * (_largest(identifier, len(identifier.classes_)) - least))


def _largest(identifier: LanguageIdentifier, languages: int) -> float:
    """The relevance of a word that only one of so many languages has."""
    return float(np.log(identifier.alpha + (1 - identifier.alpha) * languages))


def _joined(pieces: list[LanguageSegment]) -> list[LanguageSegment]:
    """Neighbors of the same languages as one: two decoys beside each other are both unknown."""
    joined: list[LanguageSegment] = []
    for piece in pieces:
        if joined and joined[-1].languages == piece.languages:
            last = joined.pop()
            words = last.last_word - last.first_word, piece.last_word - piece.first_word
            sure = (last.confidence * words[0] + piece.confidence * words[1]) / max(sum(words), 1)
            piece = LanguageSegment(last.begin, piece.end, last.first_word, piece.last_word, piece.languages, sure)
        joined.append(piece)
    return joined
