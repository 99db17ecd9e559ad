r"""A text as numbered words with their places, and the units that can be kept together.

    sequences   runs of equally many tokens, whatever sentences and paragraphs do; a last one below half is joined on
    sentences   those of `sentence_spans`; where nearly every line ends like a sentence and holds one, the lines
    breaks      tokens that begin a paragraph (after a blank line), a sentence or a line

A boundary is the number of the token it stands before; the characters between two tokens belong to the segment of the
first, so that segments put together are the text. Cost: one pass, O(characters).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Ids, Ints, Masks
from textmill.corpus import FUNCTION_WORDS, Tokenizer, function_words_of, normalizer, sentence_spans
from textmill.errors import DataError
from textmill.model import check_choice

__all__ = ["TokenizedText", "tokenized", "unit_counts"]

_PARAGRAPH = re.compile(r"\n(?:[^\S\n]*\n)+")
_LINE = re.compile(r"\n")
_LINE_END = re.compile(r"[.!?;:\"'”’。！？।)\]]\s*$")
_LINES_LIKE_SENTENCES = 0.8
_SENTENCES_A_LINE = 1.5
_LONGEST, _PIECE = 60, 30  # tokens of a sentence that is kept whole, and of the pieces of others
_CONTENT = 0.75  # share of tokens above which function words were not recognized
_LITTLE = 0.2  # share of tokens below which a text has too few words to tell which of them are function words
_PARTS = 10  # of a text, over which function words are spread
_ENGLISH = 0.25  # share of English function words that only English texts have


@dataclass(frozen=True, slots=False, eq=False)
class TokenizedText:
    """A text, its tokens as numbers, and where each is."""

    text: str
    terms: list[str]
    ids: Ids
    starts: Ints
    ends: Ints

    def __len__(self) -> int:
        return len(self.ids)

    def sequences(self, n_tokens: int) -> Ints:
        """First token of each run of `n_tokens` tokens, and the number of tokens.

        >>> tokenized("a b c d e f g").sequences(3).tolist()
        [0, 3, 7]
        """
        offsets = [*range(0, len(self), n_tokens), len(self)]
        if len(offsets) > 2 and 2 * (offsets[-1] - offsets[-2]) < n_tokens:
            del offsets[-2]
        return np.array(offsets, np.int64)

    @cached_property
    def sentences(self) -> Ints:
        """First token of each sentence that has tokens, and the number of tokens."""
        lines = [line for line in self.text.split("\n") if line.strip()]
        spans = sentence_spans(self.text)
        ends = sum(map(bool, map(_LINE_END.search, lines)))
        if (
            len(lines) > 1
            and len(spans) <= _SENTENCES_A_LINE * len(lines)
            and ends >= _LINES_LIKE_SENTENCES * len(lines)
        ):
            return self._units(match.end() for match in _LINE.finditer(self.text))
        return self._units(begin for begin, _ in spans)

    @cached_property
    def pieces(self) -> Ints:
        """First token of each sentence, those of more than 60 tokens in pieces of about 30; the number of tokens.

        What has no marks (a transcript, a table) is one long sentence.
        """
        lengths = np.diff(self.sentences)
        parts = np.where(lengths > _LONGEST, np.round(lengths / _PIECE), 1).astype(np.int64)
        within = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
        starts = np.repeat(self.sentences[:-1], parts) + within * np.repeat(lengths, parts) // np.repeat(parts, parts)
        return np.append(starts, len(self)).astype(np.int64)

    def breaks(self, kind: str) -> Ints:
        """Tokens that begin a paragraph, sentence or line, but for the first token of the text."""
        check_choice("snap", kind, ["paragraph", "sentence", "line"])
        if kind == "sentence":
            return self.sentences[1:-1]
        pattern = _PARAGRAPH if kind == "paragraph" else _LINE
        return self._units(match.end() for match in pattern.finditer(self.text))[1:-1]

    def _units(self, characters: Iterable[int]) -> Ints:
        places = np.searchsorted(self.starts, np.fromiter(characters, np.int64), side="left")
        return np.unique(np.concatenate([[0], places, [len(self)]])).astype(np.int64)

    def content(self, units: Ints) -> tuple[Ids, Ints, int]:
        """Tokens that are no function words, as stems: their numbers, the first in each unit, how many differ.

        Function words are recognized from the text itself, as `Vocabulary(stop_words="auto")` does from a corpus, with
        a unit in the place of a document; in texts too short for that, frequent words that are spread evenly are left
        out. Stems are those of English where the function words are.
        """
        content, terms = self._words(units)
        forms: dict[str, int] = {}
        form = np.fromiter((forms.setdefault(term, len(forms)) for term in terms), np.int32, len(terms))
        words = form[self.ids[content]]
        first = np.full(len(forms), len(words), np.int64)
        first[words[::-1]] = np.arange(len(words) - 1, -1, -1)  # of equal places the last one stays
        number = np.empty(len(forms), np.int32)
        number[np.argsort(first, kind="stable")] = np.arange(len(forms), dtype=np.int32)
        renumbered: Ids = number[words]
        before = np.concatenate([[0], np.cumsum(content)])
        return renumbered, before[units].astype(np.int64), int((first < len(words)).sum())

    def _words(self, units: Ints) -> tuple[Masks, list[str]]:
        count = np.bincount(self.ids, minlength=len(self.terms))
        listed = np.fromiter((term in _FUNCTION_WORDS for term in self.terms), bool, len(self.terms))
        english = len(self) > 0 and count[listed].sum() >= _ENGLISH * len(self)
        dropped = listed if english else self._recognized(units, count)
        if not english and len(self) and count[~dropped].sum() > _CONTENT * len(self):
            dropped |= self._spread(count)
        if not english and len(self) and count[~dropped].sum() < _LITTLE * len(self):
            dropped = self._parts() >= 0.8 * _PARTS
            dropped &= not dropped.all()
        terms = self.terms
        if english:
            terms = _stems(terms)
        return ~dropped[self.ids], terms

    def _recognized(self, units: Ints, count: Ints) -> Masks:
        """Function words by their spread over units."""
        unit = np.repeat(np.arange(len(units) - 1), np.diff(units))
        pairs = np.unique(unit * len(self.terms) + self.ids) % max(1, len(self.terms))
        spread = np.bincount(pairs, minlength=len(self.terms))
        words = frozenset(function_words_of(self.terms, spread, count, len(units) - 1, len(self)))
        return np.fromiter((term in words for term in self.terms), bool, len(self.terms))

    def _spread(self, count: Ints) -> Masks:
        """Words that are frequent and in about as many tenths of the text as chance would put them in."""
        expected = _PARTS * (1 - (1 - 1 / _PARTS) ** count)
        frequent = (count >= 4) & (count >= 0.003 * len(self))
        spread: Masks = frequent & (self._parts() >= 0.8 * expected)
        return spread

    def _parts(self) -> Ints:
        """In how many tenths of the text each word is."""
        part = np.arange(len(self)) * _PARTS // len(self)
        pairs = np.unique(part * len(self.terms) + self.ids) % len(self.terms)
        return np.bincount(pairs, minlength=len(self.terms))


def tokenized(text: str | TokenizedText, tokenizer: Any = None) -> TokenizedText:
    """Number the tokens of a text; the tokenizer is a `Tokenizer`, or anything with `spans(text)`.

    >>> text = tokenized("To be, or not to be.")
    >>> text.terms, text.ids.tolist(), text.starts.tolist()
    (['to', 'be', 'or', 'not'], [0, 1, 2, 3, 0, 1], [0, 3, 7, 10, 14, 17])
    """
    if isinstance(text, TokenizedText):
        return text
    if not isinstance(text, str):
        raise DataError(f"a text is needed, not a value of type {type(text).__name__}")
    tokenizer = Tokenizer() if tokenizer is None else tokenizer
    if isinstance(tokenizer, Tokenizer):
        return TokenizedText(text, *tokenizer.number(text))
    spans = tokenizer.spans(text)
    tokens = tokenizer(text) if callable(tokenizer) else []
    if len(tokens) != len(spans):  # a normalizer dropped some: one at a time
        tokens = ["".join(tokenizer(text[begin:end])) for begin, end in spans] if callable(tokenizer) else []
    if not callable(tokenizer):
        tokens = [text[begin:end].casefold() for begin, end in spans]
    places = np.array(spans, np.int64).reshape(-1, 2)
    there = np.fromiter(map(bool, tokens), bool, len(tokens))
    numbers: dict[str, int] = {}
    ids = np.fromiter((numbers.setdefault(token, len(numbers)) for token in tokens if token), np.int32)
    return TokenizedText(text, list(numbers), ids, places[there, 0], places[there, 1])


_FUNCTION_WORDS = frozenset(FUNCTION_WORDS)
_KNOWN: dict[str, str] = {}
_MOST_KNOWN, _LONGEST_KNOWN = 100_000, 30


def _stems(terms: list[str]) -> list[str]:
    """Stems of English words; those of words that were met before are remembered, so that threads need not wait."""
    stem = normalizer(Tokenizer(stem="english"))  # one for each call: a stemmer is not to be shared by threads
    assert stem is not None
    stems = []
    for term in terms:
        form = _KNOWN.get(term)
        if form is None:
            form = stem(term) or term
            if len(term) <= _LONGEST_KNOWN:
                if len(_KNOWN) >= _MOST_KNOWN:
                    _KNOWN.clear()
                _KNOWN[term] = form
        stems.append(form)
    return stems


def unit_counts(ids: Ids, offsets: Ints, vocabulary: int) -> Any:
    """Sparse matrix of how often each word is in each unit."""
    from scipy import sparse

    data: NDArray[np.float64] = np.ones(len(ids))
    counts = sparse.csr_matrix((data, ids, offsets), copy=True, shape=(len(offsets) - 1, vocabulary))
    counts.sum_duplicates()
    return counts
