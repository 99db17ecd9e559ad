"""Synthetic corpora of any length: seeded, endless if wished, in constant memory, open at every document.

A stream is iterated in chunks of bags of words (CSR, documents x terms), again and again with the same result; it also
gives its documents as term numbers, words or texts. Document i depends on the seed, on i and on the parameters of its
distribution, and on nothing else: not on the chunks, on where reading starts or on how many documents there are.

    lengths        n_i = max(1, round(exp(N(mu, spread^2)))),  mu = log(length) - spread^2 / 2;  some n_i = 0 if wished
    ZipfStream     p(term r) ~ (r + 1 + shift)^-exponent,  r = 0 .. vocabulary - 1      (Zipf-Mandelbrot)
    TopicStream    beta_k ~ Dirichlet(eta),  theta_i ~ Dirichlet(alpha);  for each token z ~ theta_i, term ~ beta_z
    DriftingStream the same with beta, or alpha, of the time t = i / period: those of phase floor(t) when the drift is
                   abrupt; when gradual, those of the next phase with weight t - floor(t)

Random numbers come from the counter-based generator Philox, keyed by the seed and the purpose, with the counter set to
the number of a block of documents. Terms are found by bisection in cumulated probabilities: O(log vocabulary) a token,
and memory for a block, a chunk and the probabilities.

References: Mandelbrot (1953); Blei, Ng & Jordan (2003); Salmon, Moraes, Dror & Shaw (2011) for Philox.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from enum import IntEnum
from functools import lru_cache
from itertools import chain, count, islice, product
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from textmill.arrays import Floats, Ids, Ints
from textmill.errors import DataError
from textmill.numeric import sparse

__all__ = ["DriftingStream", "TopicStream", "ZipfStream"]


_BLOCK_TOKENS = 1 << 16  # about as many are drawn at once
_SYLLABLES = [consonant + vowel for consonant in "bdfghjklmnprstvz" for vowel in "aeiou"]


class _Purpose(IntEnum):
    """What random numbers are for; each has its own sequence."""

    LENGTHS = 0
    TOKENS = 1
    MIXTURES = 2
    TOPICS = 3
    POPULARITY = 4


@dataclass(frozen=True, eq=False)
class _Stream(ABC):
    documents: int | None = None
    _: KW_ONLY
    vocabulary: int = 100_000
    length: float = 200.0
    spread: float = 0.6
    empty: float = 0.0
    words: str = "numbered"
    chunk_size: int = 1024
    seed: int = 0

    def __post_init__(self) -> None:
        _check_whole("documents", self.documents or 0, 0, 1 << 62)
        _check_whole("vocabulary", self.vocabulary, 1, (1 << 31) - 1)
        _check("length", self.length, 1, 1e8)
        _check("spread", self.spread, 0, 3)
        _check("empty", self.empty, 0, 1)
        _check_whole("chunk_size", self.chunk_size, 1, 1 << 31)
        _check_whole("seed", self.seed, 0, (1 << 64) - 1)
        if self.words not in ("numbered", "syllables"):
            raise DataError(f"words must be 'numbered' or 'syllables', not {self.words!r}")

    def __len__(self) -> int:
        return -(-self._document_count() // self.chunk_size)

    def __iter__(self) -> Iterator[sparse.csr_matrix]:
        return (self._csr(terms, lengths) for terms, lengths in self._chunks())

    def chunk(self, start: int, stop: int) -> sparse.csr_matrix:
        """Documents start to stop (exclusive) as counts: int32, columns sorted."""
        return self._csr(*self._read(start, stop, self._block))

    def document(self, number: int) -> Ids:
        """The terms of one document, token by token. Costs as much as a block of documents."""
        return self._read(number, number + 1, self._block)[0]

    def tokens(self) -> Iterable[list[str]]:
        """All documents as lists of words; can be read again and again."""
        return _Tokens(self)

    def texts(self) -> Iterable[str]:
        """All documents as words with blanks between; can be read again and again."""
        return _Texts(self)

    @property
    def columns(self) -> int:
        """The number of columns of every chunk: the vocabulary."""
        return self.vocabulary

    @property
    def names(self) -> Sequence[str]:
        """The words by term: `w0`, `w1` and so on, or syllables that can be spoken, fewer for the first terms."""
        return _names(self.vocabulary, self.words)

    @abstractmethod
    def _terms(self, block: int, lengths: Ints) -> Ints:
        """The terms of all tokens of a block."""

    @property
    def _block_documents(self) -> int:
        """How many documents are drawn together: a power of two, so that chunks often end where a block does."""
        return 1 << max(0, min(12, (_BLOCK_TOKENS // max(1, int(self.length))).bit_length() - 1))

    def _random(self, purpose: _Purpose, number: int) -> np.random.Generator:
        return _philox(self.seed, purpose, number)

    def _document_count(self) -> int:
        if self.documents is None:
            raise TypeError("an endless stream has no length")
        return self.documents

    def _check_range(self, start: int, stop: int) -> None:
        if not 0 <= start <= stop or (self.documents is not None and stop > self.documents):
            has = "only counts up from 0" if self.documents is None else f"has {self.documents} documents"
            raise DataError(f"documents {start} to {stop} were asked for; the stream {has}")

    def _block(self, block: int) -> tuple[Ids, Ints]:
        """Terms and document lengths of one block."""
        random = self._random(_Purpose.LENGTHS, block)
        exponent = self.spread * random.standard_normal(self._block_documents) - self.spread**2 / 2
        lengths = np.maximum(1, np.rint(self.length * np.exp(exponent))).astype(np.int64)
        lengths[random.random(self._block_documents) < self.empty] = 0
        return self._terms(block, lengths).astype(np.int32), lengths

    def _read(self, start: int, stop: int, read: Callable[[int], tuple[Ids, Ints]]) -> tuple[Ids, Ints]:
        """Terms and lengths of a range of documents."""
        self._check_range(start, stop)
        size = self._block_documents
        terms: list[Ids] = [np.empty(0, np.int32)]
        lengths: list[Ints] = [np.empty(0, np.int64)]
        for block in range(start // size, -(-stop // size)):
            all_terms, all_lengths = read(block)
            ends = np.concatenate([[0], np.cumsum(all_lengths)])
            low, high = max(start - block * size, 0), min(stop - block * size, size)
            terms.append(all_terms[ends[low] : ends[high]])
            lengths.append(all_lengths[low:high])
        return np.concatenate(terms), np.concatenate(lengths)

    def _chunks(self) -> Iterator[tuple[Ids, Ints]]:
        read = lru_cache(maxsize=1)(self._block)  # a block that two chunks share is drawn once
        starts = count(0, self.chunk_size) if self.documents is None else range(0, self.documents, self.chunk_size)
        for start in starts:
            stop = start + self.chunk_size
            yield self._read(start, stop if self.documents is None else min(stop, self.documents), read)

    def _csr(self, terms: Ids, lengths: Ints) -> sparse.csr_matrix:
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        ones = np.ones(len(terms), np.int32)
        counts = sparse.csr_matrix((ones, terms, offsets), shape=(len(lengths), self.vocabulary))
        counts.sum_duplicates()
        return counts


@dataclass(frozen=True, eq=False)
class ZipfStream(_Stream):
    """Independent words from a Zipf-Mandelbrot distribution; term 0 is the most frequent.

    Parameters: documents (None: endless); vocabulary, exponent (>= 0), shift (> -1); length (mean) and spread (of the
    logarithm) of the documents in tokens, empty (share of documents without any); words (of `tokens` and `texts`:
    numbered or syllables); chunk_size (documents per chunk); seed.

    >>> stream = ZipfStream(2000, vocabulary=50, length=8, seed=1)
    >>> [chunk.shape for chunk in stream], len(stream)
    ([(1024, 50), (976, 50)], 2)
    >>> stream.document(7).tolist(), stream.chunk(7, 8).indices.tolist()
    ([0, 31, 22, 6], [0, 6, 22, 31])
    >>> next(iter(stream.texts()))
    'w0 w47 w42 w19 w32 w16 w4 w39 w41 w34 w0 w11'
    """

    exponent: float = 1.0
    shift: float = 2.7

    def __post_init__(self) -> None:
        super().__post_init__()
        _check("exponent", self.exponent, 0, 100)
        if not -1 < self.shift < np.inf:
            raise DataError(f"shift must be above -1 and finite, not {self.shift!r}")

    @property
    def probabilities(self) -> Floats:
        """The probability of each term."""
        return np.diff(_zipf(self.vocabulary, self.exponent, self.shift), prepend=0.0)

    def _terms(self, block: int, lengths: Ints) -> Ints:
        uniform = self._random(_Purpose.TOKENS, block).random(lengths.sum())
        return _search(_zipf(self.vocabulary, self.exponent, self.shift), uniform)


@dataclass(frozen=True, eq=False)
class TopicStream(_Stream):
    """Documents of the latent Dirichlet allocation model, with the topics and mixtures they were drawn from.

    Parameters: topics (how many to draw, or their probabilities, topics x terms), alpha (a number, or one for each
    topic), eta (of topics that are drawn), vocabulary (that of the topics, if they are given); others as ZipfStream.

    >>> stream = TopicStream(3, topics=[[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]], alpha=0.1, length=20, seed=1)
    >>> stream.mixtures(0, 3).round(2).tolist()
    [[0.0, 1.0], [0.0, 1.0], [0.92, 0.08]]
    >>> stream.chunk(0, 3).toarray().tolist()
    [[0, 0, 19, 12], [0, 0, 12, 14], [5, 9, 0, 0]]
    """

    vocabulary: int = 2000
    topics: int | ArrayLike = 20
    alpha: float | Sequence[float] = 0.1
    eta: float = 0.01
    _own_topics: _Topics | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        if np.ndim(self.topics):
            topics = _checked_topics(self.topics)
            object.__setattr__(self, "_own_topics", topics)
            object.__setattr__(self, "vocabulary", topics.probabilities.shape[1])
        super().__post_init__()
        if self._own_topics is None:
            _check_whole("topics", self.topics, 1, 1 << 20)
        _check("eta", self.eta, 1e-6, 1e6)
        if np.shape(self.alpha) not in ((), (self._topic_count,)):
            raise DataError(f"alpha must be a number or one for each of {self._topic_count} topics")
        for alpha in (np.min(self.alpha), np.max(self.alpha)):
            _check("alpha", float(alpha), 1e-6, 1e6)

    def topics_at(self, document: int = 0) -> Floats:
        """The topics from which the words of a document were drawn: topics x terms."""
        return self._at("topics", document, lambda phase: self._topics(phase).probabilities)

    def popularity_at(self, document: int = 0) -> Floats:
        """The parameters of the Dirichlet distribution from which the mixture of a document was drawn."""
        return self._at("popularity", document, self._popularity)

    def mixtures(self, start: int, stop: int) -> Floats:
        """The mixtures of documents start to stop (exclusive): documents x topics."""
        self._check_range(start, stop)
        size = self._block_documents
        blocks = range(start // size, -(-stop // size))
        parts = [self._mixtures(block)[max(start - block * size, 0) : stop - block * size] for block in blocks]
        return np.concatenate([np.empty((0, self._topic_count)), *parts])

    @property
    def _topic_count(self) -> int:
        return int(self.topics) if self._own_topics is None else len(self._own_topics.probabilities)  # type: ignore[arg-type]

    def _when(self, what: str, documents: Ints) -> tuple[Ints, Floats]:
        """The phase of each document, and the weight of the phase after it, in what regards topics or popularity."""
        return np.zeros_like(documents), np.zeros(len(documents))

    def _topics(self, phase: int) -> _Topics:
        return self._own_topics or _drawn_topics(self.seed, phase, self._topic_count, self.vocabulary, self.eta)

    def _popularity(self, phase: int) -> Floats:
        return np.broadcast_to(np.asarray(self.alpha, np.float64), self._topic_count)

    def _at(self, what: str, document: int, of_phase: Callable[[int], Floats]) -> Floats:
        self._check_range(document, document + 1)
        values: Floats = self._blend(what, np.array([document]), of_phase)[0]
        return values

    def _blend(self, what: str, documents: Ints, of_phase: Callable[[int], Floats]) -> Floats:
        """What `of_phase` gives at the time of each document."""
        phases, weights = self._when(what, documents)
        first, last = int(phases.min()), int(phases.max())
        values = np.stack([of_phase(phase) for phase in range(first, last + 1 + bool(weights.any()))])
        blend: Floats = values[phases - first]
        if weights.any():
            weights = weights.reshape(-1, *[1] * (blend.ndim - 1))
            blend = (1 - weights) * blend + weights * values[phases - first + 1]
        return blend

    def _mixtures(self, block: int) -> Floats:
        documents = np.arange(self._block_documents) + block * self._block_documents
        alpha = self._blend("popularity", documents, self._popularity)
        return _dirichlet(self._random(_Purpose.MIXTURES, block), alpha)

    def _terms(self, block: int, lengths: Ints) -> Ints:
        documents = np.arange(self._block_documents)
        owners = np.repeat(documents, lengths)
        random = self._random(_Purpose.TOKENS, block)
        topics = _pick(_cumulated(self._mixtures(block)), owners, random.random(len(owners)))
        uniform = random.random(len(owners))
        phases, weights = self._when("topics", documents + block * self._block_documents)
        phases = phases[owners] + (random.random(len(owners)) < weights[owners])
        terms = np.empty(len(owners), np.int64)
        for phase in np.unique(phases):
            chosen = phases == phase
            terms[chosen] = _pick(self._topics(int(phase)).cumulated, topics[chosen], uniform[chosen])
        return terms


@dataclass(frozen=True, eq=False)
class DriftingStream(TopicStream):
    """Documents of topics that change for ever: every `period` documents other topics, or other popular ones, rule.

    Parameters: period (documents a phase); drift (abrupt: the change comes at once; gradual: the words, or the
    popularity, of the next phase mix in more and more); changes (topics, or popularity: then the topics stay and alpha
    is spread anew, with the same sum); others as TopicStream.

    >>> stream = DriftingStream(topics=5, vocabulary=100, period=1000, seed=3)
    >>> same = [bool((stream.topics_at(0) == stream.topics_at(document)).all()) for document in (999, 1000)]
    >>> same
    [True, False]
    """

    period: int = 10_000
    drift: str = "abrupt"
    changes: str = "topics"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_whole("period", self.period, 1, 1 << 62)
        if self.drift not in ("abrupt", "gradual"):
            raise DataError(f"drift must be 'abrupt' or 'gradual', not {self.drift!r}")
        if self.changes not in ("topics", "popularity"):
            raise DataError(f"changes must be 'topics' or 'popularity', not {self.changes!r}")
        if self.changes == "topics" and self._own_topics is not None:
            raise DataError("topics that change must be drawn; give their number, or pass changes='popularity'")

    def _when(self, what: str, documents: Ints) -> tuple[Ints, Floats]:
        if what != self.changes:
            return super()._when(what, documents)
        phases, past = np.divmod(documents, self.period)
        return phases, past / self.period if self.drift == "gradual" else np.zeros(len(documents))

    def _popularity(self, phase: int) -> Floats:
        alpha = super()._popularity(phase)
        if self.changes != "popularity":
            return alpha
        spread: Floats = alpha.sum() * _dirichlet(self._random(_Purpose.POPULARITY, phase), np.ones(len(alpha)))
        return spread


@dataclass(frozen=True, slots=True)
class _Tokens:
    """The documents of a stream as lists of words."""

    stream: _Stream

    def __len__(self) -> int:
        return self.stream._document_count()

    def __iter__(self) -> Iterator[list[str]]:
        names = self.stream.names
        for terms, lengths in self.stream._chunks():
            words = [names[term] for term in terms.tolist()]
            end = 0
            for length in lengths.tolist():
                start, end = end, end + length
                yield words[start:end]


@dataclass(frozen=True, slots=True)
class _Texts:
    """The documents of a stream as strings."""

    stream: _Stream

    def __len__(self) -> int:
        return self.stream._document_count()

    def __iter__(self) -> Iterator[str]:
        return map(" ".join, _Tokens(self.stream))


class _Topics(NamedTuple):
    """Topics x terms, and what `_pick` needs to draw from them."""

    probabilities: Floats
    cumulated: Floats


@lru_cache(maxsize=3)  # a block of documents seldom touches more phases
def _drawn_topics(seed: int, phase: int, topics: int, vocabulary: int, eta: float) -> _Topics:
    probabilities = _dirichlet(_philox(seed, _Purpose.TOPICS, phase), np.full((topics, vocabulary), eta))
    probabilities.flags.writeable = False
    return _Topics(probabilities, _cumulated(probabilities))


def _checked_topics(topics: ArrayLike) -> _Topics:
    try:
        probabilities = np.array(topics, np.float64)
    except ValueError:
        raise DataError("topics must be a number or an array of numbers, topics x terms") from None
    if probabilities.ndim != 2 or not probabilities.size:
        raise DataError(f"topics must have two dimensions, topics x terms, not the shape {probabilities.shape}")
    if not (probabilities >= 0).all() or not np.allclose(probabilities.sum(axis=1), 1, rtol=0, atol=1e-6):
        raise DataError("topics must be probabilities: not negative, each row with the sum 1")
    probabilities.flags.writeable = False
    return _Topics(probabilities, _cumulated(probabilities))


@lru_cache(maxsize=4)
def _zipf(vocabulary: int, exponent: float, shift: float) -> Floats:
    """Cumulated Zipf-Mandelbrot probabilities."""
    cumulated: Floats = np.cumsum((np.arange(1, vocabulary + 1) + shift) ** -exponent)
    cumulated /= cumulated[-1]
    return cumulated


@lru_cache(maxsize=4)
def _names(vocabulary: int, words: str) -> tuple[str, ...]:
    if words == "numbered":
        return tuple(f"w{term}" for term in range(vocabulary))
    spoken = chain.from_iterable(product(_SYLLABLES, repeat=syllables) for syllables in count(1))
    return tuple(map("".join, islice(spoken, vocabulary)))


def _philox(seed: int, purpose: _Purpose, number: int) -> np.random.Generator:
    key, counter = np.array([seed, purpose], np.uint64), np.array([0, 0, 0, number], np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=counter))


def _dirichlet(random: np.random.Generator, alpha: Floats) -> Floats:
    """A draw for each row of alpha. Gamma(a) = Gamma(a + 1) U^(1/a), in logarithms: for small a it underflows."""
    logs = np.log(random.standard_gamma(alpha + 1)) + np.log1p(-random.random(alpha.shape)) / alpha
    draws: Floats = np.exp(logs - logs.max(axis=-1, keepdims=True))
    draws /= draws.sum(axis=-1, keepdims=True)
    return draws


def _cumulated(probabilities: Floats) -> Floats:
    """Row k holds the cumulated probabilities plus k, so that one sorted array serves all rows."""
    sums: Floats = np.cumsum(probabilities, axis=1)
    sums /= sums[:, -1:]
    sums += np.arange(len(sums))[:, None]
    return sums


def _pick(cumulated: Floats, rows: Ints, uniform: Floats) -> Ints:
    """A column for each row number, by one uniform number each."""
    width = cumulated.shape[1]
    columns: Ints = _search(cumulated.ravel(), rows + uniform) - rows * width
    np.minimum(columns, width - 1, out=columns)  # rows + uniform may have been rounded up to the next row
    return columns


def _search(cumulated: Floats, keys: Floats) -> Ints:
    """The number of entries up to each key; asked in order, which the processor's caches like far better."""
    order = np.argsort(keys)
    positions = np.empty(len(keys), np.int64)
    positions[order] = np.searchsorted(cumulated, keys[order], side="right")
    return positions


def _check(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise DataError(f"{name} must be between {low:g} and {high:g}, not {value!r}")


def _check_whole(name: str, value: object, low: int, high: int) -> None:
    if not isinstance(value, int | np.integer) or not low <= value <= high:
        raise DataError(f"{name} must be a whole number between {low} and {high}, not {value!r}")
