"""False documents to test detectors with, and to calibrate them: six kinds, seeded, of exact length.

    sentence-salad   sentences drawn at random from a pool of documents, each from another one
    word-salad       random sentences from a unigram model of the background documents
    markov           the same from an n-gram model (modified Kneser-Ney, drawn exactly)
    word-noise       a share of the content words of a true document replaced by words drawn evenly from the vocabulary
    word-stuffing    the same, with words of a short list
    chunk-blend      passages of several sentences, each from another document, as scraped pages have them

Lengths are in content words (content.py) and are met exactly: text is made until they are reached, then cut. Without
that the length alone would tell true from false. Document i of a kind depends on the seed, on i and on its length only.

Reference: Misra, Cappe & Yvon (2008), Using LDA to detect semantically incoherent documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill.corpus import FUNCTION_WORDS, Document, Tokenizer, Vocabulary
from textmill.errors import DataError
from textmill.lm import NGramModel
from textmill.model import check_choice, check_range
from textmill.tasks.coherence.content import ContentReader, sentences_of

__all__ = ["KINDS", "Forger", "choose_replacements", "kind_of"]

KINDS = ("sentence-salad", "word-salad", "markov", "word-noise", "word-stuffing", "chunk-blend")

_SENTENCES = 16  # drawn from a model at a time
_STREAM = 1 << 20  # sentences that a document may draw
_BARREN = 10_000  # sentences without a content word after which a model is given up
_RARE = 20  # words of the list with which documents are stuffed by default
_SAME_SOURCE = 100  # draws before a document may give a second sentence
_NO_DOCUMENTS = "there are no documents to forge from; pass at least one"
_NOTHING_IN_COMMON = "no document of the pool holds a word of the vocabulary; pass documents that it was made for"


def kind_of(name: str) -> str:
    """The kind of forgery that a name, or the beginning of only one, stands for.

    >>> kind_of("mark"), kind_of("sentence")
    ('markov', 'sentence-salad')
    """
    kinds = [kind for kind in KINDS if isinstance(name, str) and name and kind.startswith(name)]
    if len(kinds) != 1:
        check_choice("kind", name, KINDS)
    return kinds[0]


class Forger:
    """Makes false documents.

    `pool` holds the true documents whose sentences and lengths are used; `background` those that the language models
    learn from (by default the same); `order` is that of the Markov model.

    >>> from textmill.corpus import Vocabulary
    >>> pool = ["The old mill turns. Corn is ground.", "A comet passed the moon.", "Rye and oats were sold."]
    >>> forger = Forger(pool, ContentReader(Vocabulary(stop_words=["the", "a", "is"]).fit(pool)), random_state=1)
    >>> [len(text.split()) >= 6 for text in forger.make("sentence-salad", [6, 6])]
    [True, True]
    >>> forger.make("markov", [6, 6]) == forger.make("markov", [6, 6, 9])[:2]
    True
    """

    def __init__(
        self,
        pool: Iterable[str | Document],
        reader: ContentReader,
        *,
        background: Iterable[str | Document] | None = None,
        order: int = 3,
        random_state: int = 0,
    ) -> None:
        check_range("random_state", random_state, at_least=0, below=2**32, whole=True)
        check_range("order", order, at_least=1, whole=True)
        self.reader = reader
        self.order = order
        self.random_state = random_state
        self.pool = [_text(document) for document in pool]
        if not self.pool:
            raise DataError(_NO_DOCUMENTS)
        self._background = None if background is None else [_text(document) for document in background]

    @classmethod
    def of(cls, pool: Sequence[str], *, order: int = 3, random_state: int = 0) -> Forger:
        """Make a forger whose content words are all words of the pool but function words and numbers.

        >>> Forger.of(["The mill turns.", "Corn is ground."]).lengths.tolist()
        [2, 2]
        """
        if not pool:
            raise DataError(_NO_DOCUMENTS)
        vocabulary = Vocabulary(tokenizer=Tokenizer(digits="drop"), stop_words=FUNCTION_WORDS).fit(pool)
        return cls(pool, ContentReader(vocabulary, FUNCTION_WORDS), order=order, random_state=random_state)

    def make(
        self,
        kind: str,
        lengths: Sequence[int] | NDArray[np.int64] | None = None,
        *,
        level: float = 0.5,
        words: Sequence[str] | None = None,
    ) -> list[str]:
        """Make one document of a kind for each length in content words; by default those of the pool, paired.

        `level` is the share of words that noise and stuffing replace, `words` the list for stuffing (by default rare
        terms; the top words of a topic are another choice).
        """
        kind = kind_of(kind)
        check_range("level", level, at_least=0, at_most=1)
        wanted = self.lengths.tolist() if lengths is None else [int(length) for length in lengths]
        if wanted and min(wanted) < 0:
            raise DataError(f"lengths must not be negative, got {min(wanted)}")
        if kind in ("word-salad", "markov"):
            model = self.unigrams if kind == "word-salad" else self.ngrams
            return [self._drawn(model, i, length) for i, length in enumerate(wanted)]
        if kind in ("word-noise", "word-stuffing"):
            return list(self._replaced(kind, wanted, level, self._substitutes(kind, words)))
        few, many = (1, 1) if kind == "sentence-salad" else (3, 6)
        return [self._blended(self._random(kind, i), length, few, many) for i, length in enumerate(wanted)]

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Content words of the documents of the pool."""
        return self.reader.read(self.pool).lengths

    @cached_property
    def unigrams(self) -> NGramModel:
        """The model that word salad is drawn from."""
        return self._learned(1)

    @cached_property
    def ngrams(self) -> NGramModel:
        """The model that Markov text is drawn from."""
        return self._learned(self.order)

    def _learned(self, order: int) -> NGramModel:
        sentences = (s for text in (self._background or self.pool) for s in sentences_of(text))
        return NGramModel(order=order, tokenizer=self.reader.vocabulary.tokenizer).fit(sentences)

    def _random(self, kind: str, document: int) -> np.random.Generator:
        return np.random.default_rng([self.random_state, KINDS.index(kind), document])

    @cached_property
    def _sentences(self) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """All sentences of the pool that hold content words: texts, lengths, documents, places in their document."""
        parts = [sentences_of(text) for text in self.pool]
        texts = [sentence for part in parts for sentence in part]
        lengths = self.reader.read(texts).lengths
        if not lengths.sum():
            raise DataError(_NOTHING_IN_COMMON)
        owner = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        nonempty = np.flatnonzero(lengths > 0)
        first = np.searchsorted(owner[nonempty], owner[nonempty])
        return [texts[i] for i in nonempty], lengths[nonempty], owner[nonempty], np.arange(len(nonempty)) - first

    def _blended(self, random: np.random.Generator, length: int, few: int, many: int) -> str:
        """Passages of `few` to `many` sentences of different documents."""
        texts, lengths, owner, _ = self._sentences
        forgeries: list[str] = []
        used: set[int] = set()
        while length > 0:
            start = int(random.integers(len(texts)))
            for _ in range(_SAME_SOURCE):
                if int(owner[start]) not in used:
                    break
                start = int(random.integers(len(texts)))
            used.add(int(owner[start]))
            end = start + int(random.integers(few, many + 1))
            for i in range(start, min(end, len(texts))):
                if owner[i] != owner[start] or length <= 0:
                    break
                forgeries.append(texts[i] if lengths[i] <= length else self.reader.cut(texts[i], length) + ".")
                length -= int(lengths[i])
        return " ".join(forgeries)

    def _drawn(self, model: NGramModel, document: int, length: int) -> str:
        """Sentences of a model."""
        texts: list[str] = []
        sentence = 0
        while length > 0:
            drawn = model.sample(
                _SENTENCES, random_state=self.random_state, first=document * _STREAM + sentence, longest=500
            )
            sentence += _SENTENCES
            for tokens, count in zip(drawn, self.reader.read(drawn).lengths.tolist(), strict=True):
                if length > 0 and tokens:
                    text = " ".join(tokens)
                    texts.append((text if count <= length else self.reader.cut(text, length)) + ".")
                    length -= count
            if sentence >= _BARREN:
                raise DataError("the language model and the vocabulary share hardly a word; fit both to like documents")
        return " ".join(texts)

    def _substitutes(self, kind: str, words: Sequence[str] | None) -> list[str]:
        vocabulary = self.reader.vocabulary
        if kind == "word-noise":
            return vocabulary.terms_.to_list()
        if words is not None:
            if isinstance(words, str) or not words:
                raise DataError("words must be a list of at least one word to stuff documents with")
            return list(words)
        rare = np.argsort(vocabulary.collection_frequency_, kind="stable")[:_RARE]
        return vocabulary.terms_.take(rare).to_list()

    def _replaced(self, kind: str, lengths: Sequence[int], level: float, substitutes: list[str]) -> Iterator[str]:
        """True documents in turn, cut to length, with round(level x length) content words replaced by others."""
        if not self.lengths.sum():
            raise DataError(_NOTHING_IN_COMMON)
        number = {word: i for i, word in enumerate(substitutes)}
        for i, length in enumerate(lengths):
            tokens, content, ends = self._long_enough(i, length)
            own = np.array([number.get(tokens[at], -1) for at in content], dtype=np.int64)
            random = self._random(kind, i)
            picks = choose_replacements(np.array([0, len(own)]), own, level, len(substitutes), random)
            for at, pick in zip(content.tolist(), picks.tolist(), strict=True):
                if pick >= 0:
                    tokens[at] = substitutes[pick]
            yield " ".join(token + "." if end else token for token, end in zip(tokens, ends, strict=True))

    def _long_enough(self, source: int, length: int) -> tuple[list[str], NDArray[np.intp], list[bool]]:
        """Tokens of a document, and of the next ones if it is too short, cut to length; where content words stand, and
        which tokens end a sentence.
        """
        tokens: list[str] = []
        ends: list[bool] = []
        content: list[int] = []
        while len(content) < length:
            for words, terms in self.reader.tokens(sentences_of(self.pool[source % len(self.pool)])):
                content += [len(tokens) + int(at) for at in np.flatnonzero(terms >= 0)]
                tokens += words
                ends += [False] * (len(words) - 1) + [True] * bool(words)
            source += 1
        content = content[:length]
        end = content[-1] + 1 if content else 0
        return tokens[:end], np.array(content, dtype=np.intp), ends[:end]


def choose_replacements(
    offsets: NDArray[np.int64], own: NDArray[Any], level: float, choices: int, random: np.random.Generator
) -> NDArray[np.int64]:
    """Choose round(level x length) words of each document and a substitute for each: its number, -1 for words kept.

    `own` is the number of each word itself among the substitutes, -1 if it is none; it is never its own substitute.
    All words of a document are equally likely to be chosen, all substitutes equally likely to be taken.

    >>> random = np.random.default_rng(0)
    >>> picks = choose_replacements(np.array([0, 4, 6]), np.array([0, 1, 2, 3, 4, 5]), 0.5, 6, random)
    >>> int((picks[:4] >= 0).sum()), int((picks[4:] >= 0).sum())
    (2, 1)
    """
    lengths = np.diff(offsets)
    document = np.repeat(np.arange(len(lengths)), lengths)
    order = np.lexsort((random.random(len(own)), document))
    rank = np.empty(len(own), dtype=np.int64)
    rank[order] = np.arange(len(own)) - offsets[:-1][document]
    chosen = rank < np.rint(level * lengths).astype(np.int64)[document]
    others = choices - (own >= 0)
    chosen &= others > 0
    picks = random.integers(np.maximum(others, 1))
    picks += (own >= 0) & (picks >= own)
    return np.where(chosen, picks, -1)


def _text(document: str | Document) -> str:
    return document.text if isinstance(document, Document) else document
