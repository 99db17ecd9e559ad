"""How good topics are, judged by their most probable words.

    P(w), P(v, w)    shares of the documents, or of sliding windows, that hold w, or both v and w
    pmi(v, w)        log (P(v, w) + e) / (P(v) P(w)),  e = 1e-12
    npmi(v, w)       pmi(v, w) / -log(P(v, w) + e)

    umass    mean of log (P(v, w) + e) / P(w) over pairs in which w is the more probable word; documents
    uci      mean of pmi over pairs; windows of 10 tokens
    npmi     mean of npmi over pairs; windows of 10
    c_v      mean over words v of cos(a_v, sum_w a_w), a_v = (npmi(v, w) for each word w of the topic); windows of 110

    diversity      share of distinct words among the words of all topics
    exclusivity    mean over the words of a topic of phi_tw / sum_s phi_sw

A word that the documents do not have says nothing about a topic: it is left out, counted and named in a warning. A
topic that keeps fewer than two words has no coherence, NaN. Values are those of gensim's `CoherenceModel`, except that
a word is in a window as long as any of its occurrences is (gensim takes it out with the first one that leaves), and
that npmi of words which share every window is 1.

Cost: one pass over the documents; only windows of words of one topic are counted, whole ranges of them at a time.
References: Mimno et al. (2011), Optimizing semantic coherence in topic models; Newman et al. (2010), Automatic
evaluation of topic coherence; Roder, Both & Hinneburg (2015), Exploring the space of topic coherence measures; Dieng,
Ruiz & Blei (2020), Topic modeling in embedding spaces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill._native import corpus as native_corpus
from textmill._native import topics as native
from textmill.arrays import Floats
from textmill.corpus import BagFile, Documents, Tokenizer, check_bags, text_batches
from textmill.errors import DataError, warn_caller
from textmill.model import check_choice, check_fitted, check_range, effective_jobs
from textmill.numeric import sparse
from textmill.progress import track
from textmill.topics.model import TopicModel

__all__ = ["MEASURES", "topic_coherence", "topic_diversity", "topic_exclusivity"]


MEASURES = {"umass": 0, "uci": 10, "npmi": 10, "c_v": 110}  # and their windows; 0 is a whole document

_LITTLE = 1e-12  # e


def topic_coherence(
    topics: TopicModel | Sequence[Sequence[str]],
    documents: Any,
    *,
    measure: str = "c_v",
    n_words: int = 10,
    window: int | None = None,
    terms: Sequence[str] | None = None,
    tokenizer: Any = None,
    n_jobs: int | None = None,
) -> Floats:
    """Return the coherence of each topic in documents: the larger, the better.

    `topics` is a model, of which the first `n_words` terms of each topic count, or lists of words. `documents` are
    texts or lists of tokens, cut by `tokenizer`, by default as the model's vectorizer does it; or counts, a matrix or a
    file of bags, whose columns `terms` names if the model does not, and which have no windows. `window` is the number
    of tokens of a window, 0 for whole documents, by default that of the measure. Words that the documents do not have
    are left out, with a warning; NaN for a topic that has fewer than two others.

    >>> texts = ["the cat sat", "the cat ran", "a dog ran", "a dog sat"]
    >>> topic_coherence([["cat", "the"], ["cat", "dog"]], texts, measure="npmi").round(3).tolist()
    [1.0, -0.95]
    >>> import warnings
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     topic_coherence([["cat", "the"], ["Cat", "the"]], texts, measure="npmi").round(3).tolist()
    [1.0, nan]
    >>> print(str(caught[0].message).partition("; ")[0])
    1 of 3 words is in no document and is left out ('Cat')
    """
    check_choice("measure", measure, list(MEASURES))
    if window is not None:
        check_range("window", window, at_least=0, whole=True)
    lists = _word_lists(topics, n_words, terms)
    names = list(dict.fromkeys(chain.from_iterable(lists)))
    ids = {name: number for number, name in enumerate(names)}
    counted = _Counts([[ids[word] for word in words] for words in lists], len(names))
    size = MEASURES[measure] if window is None else window
    if hasattr(documents, "shape") or isinstance(documents, BagFile):
        if measure != "umass" and size:
            raise DataError(f"counts have no windows; pass texts for {measure!r}, or window=0 to count whole documents")
        columns = _columns(topics, terms, names)
        for part in documents if isinstance(documents, BagFile) else [check_bags(documents)]:
            counted.add_bags(part, columns)
    else:
        cut = _tokenizer(topics) if tokenizer is None else tokenizer
        counted.add_tokens(_token_lists(documents, cut, n_jobs), names, size, effective_jobs(n_jobs))
    if not counted.windows:
        raise DataError("there are no documents to count words in; pass at least one")
    values = np.array([_coherence(measure, *counted.shares(topic)) for topic in range(len(lists))])
    unknown = [name for name, count in zip(names, counted.words, strict=True) if not count]
    if unknown:
        warn_caller(_unknown_words(unknown, len(names), int(np.isnan(values).sum()), len(lists)))
    return values


def topic_diversity(topics: TopicModel | Sequence[Sequence[str]], *, n_words: int = 25) -> float:
    """Return the share of distinct words among the first `n_words` words of all topics: 1 if no two share any.

    >>> topic_diversity([["a", "b"], ["b", "c"]])
    0.75
    """
    lists = _word_lists(topics, n_words, None)
    total = sum(len(words) for words in lists)
    if not total:
        raise DataError("the topics have no words; pass at least one")
    return len(set(chain.from_iterable(lists))) / total


def topic_exclusivity(topics: TopicModel | NDArray[Any], *, n_words: int = 10) -> Floats:
    """Return for each topic (rows of words that sum to 1) how much its first words belong to it alone: 1/k to 1.

    >>> topic_exclusivity(np.array([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]]), n_words=2).tolist()
    [0.75, 0.75]
    """
    check_range("n_words", n_words, at_least=1, whole=True)
    rows = np.asarray(_components(topics) if isinstance(topics, TopicModel) else topics, dtype=np.float64)
    if isinstance(topics, TopicModel) and rows.min(initial=0) < 0:
        raise DataError(f"the topics of {type(topics).__name__} are directions, not distributions; use LDA or PLSA")
    if rows.ndim != 2 or not rows.size or not np.isfinite(rows).all() or rows.min() < 0:
        raise DataError("topics must be rows of finite numbers that are not negative, one row a topic")
    shares = rows / np.maximum(rows.sum(axis=0), 1e-300)
    first = np.argsort(-rows, axis=1, kind="stable")[:, :n_words]
    means: Floats = np.take_along_axis(shares, first, axis=1).mean(axis=1)
    return means


class _Counts:
    """Windows of words and of pairs of words that a topic has both of."""

    def __init__(self, topics: list[list[int]], words: int) -> None:
        pairs = sorted({(min(v, w), max(v, w)) for topic in topics for v, w in combinations(topic, 2)})
        self.topics = topics
        self.pairs = {pair: number for number, pair in enumerate(pairs)}
        self.words = np.zeros(words, dtype=np.int64)
        self.together = np.zeros(len(pairs), dtype=np.int64)
        self.windows = 0

    def add_bags(self, X: sparse.csr_matrix, columns: list[int]) -> None:
        """Count documents of a matrix; `columns` are those of the words, -1 for none."""
        present = np.flatnonzero(np.array(columns, dtype=np.int64) >= 0)
        chosen = np.array(columns, dtype=np.int64)[present]
        if len(chosen) and chosen.max() >= X.shape[1]:
            raise DataError(
                f"the matrix has {X.shape[1]} columns, but terms have a column {chosen.max()}; pass its terms"
            )
        held = X[:, chosen].astype(bool).astype(np.int64)
        held.eliminate_zeros()
        self.windows += X.shape[0]
        self.words[present] += np.asarray(held.sum(axis=0)).ravel()
        both = sparse.csr_matrix(held.T @ held)
        place = {int(word): number for number, word in enumerate(present)}
        wanted = [(place[v], place[w], number) for (v, w), number in self.pairs.items() if v in place and w in place]
        if wanted:
            rows, others, numbers = (np.array(part) for part in zip(*wanted, strict=True))
            self.together[numbers] += np.asarray(both[rows, others]).ravel()

    def add_tokens(self, batches: Iterable[list[list[str]]], names: list[str], window: int, threads: int) -> None:
        """Count windows of documents given as tokens."""
        table = native_corpus.TermTable()
        table.insert(names)  # gets the numbers 0, 1, ...; other words larger ones
        firsts = np.array([v for v, _ in self.pairs], dtype=np.int64)
        partners = np.array([w for _, w in self.pairs], dtype=np.int32)
        pair_offsets = np.searchsorted(firsts, np.arange(len(names) + 1)).astype(np.int64)
        for batch in batches:
            offsets = np.cumsum([0, *map(len, batch)], dtype=np.int64)
            tokens = table.insert(list(chain.from_iterable(batch)))
            self.windows += native.count_windows(
                offsets, tokens, window, pair_offsets, partners, self.words, self.together, threads
            )

    def shares(self, topic: int) -> tuple[Floats, Floats]:
        """P(w) of the words of a topic that the documents have, and P(v, w) of all their pairs."""
        words = [word for word in self.topics[topic] if self.words[word]]
        single = self.words[words] / self.windows
        both = np.diag(single)
        for (i, v), (j, w) in combinations(enumerate(words), 2):
            both[i, j] = both[j, i] = self.together[self.pairs[min(v, w), max(v, w)]] / self.windows
        return single, both


def _coherence(measure: str, single: Floats, both: Floats) -> float:
    """The coherence of one topic of which P(w) and P(v, w) are known."""
    if len(single) < 2:
        return float("nan")
    later, earlier = np.tril_indices(len(single), -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        if measure == "umass":
            return float(np.log((both[later, earlier] + _LITTLE) / single[earlier]).mean())
        pmi = np.log((both + _LITTLE) / np.outer(single, single))
        if measure == "uci":
            return float(pmi[later, earlier].mean())
        npmi = np.where(both < 1, pmi / -np.log(both + _LITTLE), 1.0)
        if measure == "npmi":
            return float(npmi[later, earlier].mean())
        whole = npmi.sum(axis=0)
        cosines = npmi @ whole / (np.linalg.norm(npmi, axis=1) * np.linalg.norm(whole))
    return float(np.nan_to_num(cosines).mean())


def _unknown_words(unknown: list[str], words: int, without: int, topics: int) -> str:
    """What to say of words that no document has."""
    names = ", ".join(map(repr, unknown[:3])) + (", ..." if len(unknown) > 3 else "")
    verbs = "is in no document and is" if len(unknown) == 1 else "are in no document and are"
    said = f"{len(unknown)} of {words} words {verbs} left out ({names})"
    if without:
        ends = "has fewer than two others, its" if without == 1 else "have fewer than two others, their"
        said += f"; {without} of {topics} topics {ends} coherence is NaN"
    return said


def _word_lists(
    topics: TopicModel | Sequence[Sequence[str]], n_words: int, terms: Sequence[str] | None
) -> list[list[str]]:
    check_range("n_words", n_words, at_least=1, whole=True)
    if isinstance(topics, TopicModel):
        lists = [[word for word, _ in words] for words in topics.topics(n_words, terms)]
    else:
        if isinstance(topics, str) or any(isinstance(words, str) for words in topics):
            raise DataError("topics must be a model or lists of words, one list per topic")
        lists = [list(dict.fromkeys(words))[:n_words] for words in topics]
    if not lists:
        raise DataError("there are no topics to judge; pass at least one")
    return lists


def _components(model: TopicModel) -> Floats:
    check_fitted(model)
    return model.components_


def _columns(topics: Any, terms: Sequence[str] | None, names: list[str]) -> list[int]:
    """The columns of words in a matrix of counts; -1 for words it does not have."""
    if terms is None and isinstance(topics, TopicModel):
        if topics.vectorizer_ is None:
            return [int(name) for name in names]  # topics() names columns by their numbers
        terms = topics.vectorizer_.terms_.to_list()
    if terms is None:
        raise DataError("the columns of the matrix have no names; pass terms, or texts instead of the matrix")
    place = {term: column for column, term in enumerate(terms)}
    return [place.get(name, -1) for name in names]


def _tokenizer(topics: Any) -> Any:
    vectorizer = topics.vectorizer_ if isinstance(topics, TopicModel) else None
    tokenizer = None if vectorizer is None else vectorizer.vocabulary_.tokenizer
    return Tokenizer() if tokenizer is None else tokenizer


def _token_lists(documents: Any, tokenizer: Any, n_jobs: int | None) -> Iterator[list[list[str]]]:
    """Documents as lists of tokens, in batches."""
    if isinstance(documents, str | bytes | dict) or not isinstance(documents, Iterable):
        raise DataError(f"documents must be texts, lists of tokens or a matrix, got {type(documents).__name__}")
    texts = documents.texts() if isinstance(documents, Documents) else documents
    for batch in track(text_batches(texts), "counting", unit="batches"):
        if not isinstance(batch[0], str):
            yield [list(tokens) for tokens in batch]
        elif hasattr(tokenizer, "tokenize"):
            yield list(tokenizer.tokenize(batch, n_jobs=n_jobs))
        else:
            yield [tokenizer(text) for text in batch]
