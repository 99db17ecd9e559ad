"""Which words one corpus has more often than another: log-likelihood, effect size, counts on both sides.

    a, b    occurrences of a word in the two corpora, of c and d tokens; O the cells a, b, c - a, d - b
    E       what each cell would be with one rate for both corpora: E_a = c (a + b) / (c + d), ...
    G2      2 sum O log (O / E), the log-likelihood ratio of two rates against one; about chi-square with 1 df
    ratio   log2 of (a / c) / (b / d): 1 means twice as often; in place of a count of 0 stands 0.5, or half of what the
            rate of the other corpus would give, if that is less

G2 ranks words, because it asks for evidence: a word that occurs once, in one corpus alone, has a large ratio and a G2
below 1.4 in corpora of the same size. The ratio says how large a difference is that G2 shows to be there. Words of few
documents come in bursts, which G2 does not know: the numbers of documents tell them.

Cost: both corpora are counted in one pass each, then one visit per word.
References: Dunning (1993), Accurate Methods for the Statistics of Surprise and Coincidence; Hardie (2014), Log Ratio.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from textmill.arrays import Floats
from textmill.corpus import Vocabulary
from textmill.errors import DataError
from textmill.model import check_range
from textmill.numeric import special
from textmill.tables import Table

__all__ = ["KeyWords", "compare_words"]

_PER = 1e6  # tokens, of a rate


class KeyWords(Table):
    """Words of two corpora, those that tell most first; `tokens` are the sizes of the corpora.

    Attributes, an entry each: terms; first, second, the occurrences; first_documents, second_documents, the documents
    with the word; log_likelihood, G2; log_ratio, above 0 where the first corpus has the word more often.
    """

    def __init__(self, terms: list[str], table: dict[str, Any], tokens: tuple[int, int]) -> None:
        self.terms, self.tokens = terms, tokens
        self.first, self.second = table["first"], table["second"]
        self.first_documents, self.second_documents = table["first_documents"], table["second_documents"]
        self.log_likelihood, self.log_ratio = table["log_likelihood"], table["log_ratio"]

    def columns(self) -> dict[str, Any]:
        """Return the words with their counts, rates per million tokens, documents and both measures."""
        sides = zip((self.first, self.second), self.tokens, strict=True)
        rates = [_PER * counts / max(size, 1) for counts, size in sides]
        return {
            "term": self.terms,
            "first": self.first.tolist(),
            "second": self.second.tolist(),
            "first_per_million": rates[0].tolist(),
            "second_per_million": rates[1].tolist(),
            "first_documents": self.first_documents.tolist(),
            "second_documents": self.second_documents.tolist(),
            "log_likelihood": self.log_likelihood.tolist(),
            "log_ratio": self.log_ratio.tolist(),
        }

    def of_first(self, k: int | None = None) -> KeyWords:
        """The k words that tell most for the first corpus; of all, without k."""
        return self._at(np.flatnonzero(self.log_ratio > 0)[:k])

    def of_second(self, k: int | None = None) -> KeyWords:
        """The k words that tell most for the second corpus; of all, without k."""
        return self._at(np.flatnonzero(self.log_ratio < 0)[:k])

    def _at(self, places: Any) -> KeyWords:
        names = ("first", "second", "first_documents", "second_documents", "log_likelihood", "log_ratio")
        table = {name: getattr(self, name)[places] for name in names}
        return KeyWords([self.terms[i] for i in places.tolist()], table, self.tokens)


def compare_words(
    first: Iterable[Any], second: Iterable[Any], *, vocabulary: Vocabulary | None = None, min_count: int = 5
) -> KeyWords:
    """Compare the words of two corpora, each an iterable of texts or a fitted `Vocabulary` without pruning.

    `vocabulary` says how texts are cut and which stop words are left out; it is not fitted. Words that occur less than
    `min_count` times in both corpora together are left out.

    >>> words = compare_words(["the mill, the mill grinds", "a mill"] * 9, ["the sea", "the sea, a sea"] * 9)
    >>> words.terms[:2], words.first[:2].tolist(), words.second[:2].tolist()
    (['sea', 'mill'], [0, 27], [27, 0])
    >>> words.of_first(1).terms
    ['mill']
    """
    check_range("min_count", min_count, at_least=1, whole=True)
    plain = Vocabulary() if vocabulary is None else vocabulary
    if plain.stop_words == "auto":
        raise DataError("stop_words='auto' may find other words in each corpus; pass a list of words")
    one, two = (_counts_of(texts, plain) for texts in (first, second))
    other = one.mapping_to(two)
    only = np.ones(len(two), dtype=bool)
    only[other[other >= 0]] = False
    a = _joined(one.collection_frequency_, np.zeros(int(only.sum()), np.int64))
    b = _joined(np.where(other >= 0, two.collection_frequency_[other], 0), two.collection_frequency_[only])
    documents = _joined(one.document_frequency_, np.zeros(int(only.sum()), np.int64))
    others = _joined(np.where(other >= 0, two.document_frequency_[other], 0), two.document_frequency_[only])
    frequent = np.flatnonzero(a + b >= min_count)
    if not len(frequent):
        raise DataError(f"no word occurs {min_count} times; lower min_count")
    terms = [*one.terms_.to_list(), *two.terms_.take(np.flatnonzero(only)).to_list()]
    tokens = one.tokens_, two.tokens_
    evidence = _log_likelihood(a[frequent], b[frequent], *tokens)
    names = np.array([terms[i] for i in frequent.tolist()], dtype=object)
    ranked = np.lexsort((np.argsort(np.argsort(names)), -evidence.round(9)))  # equal ones by the alphabet
    order = frequent[ranked]
    table = {
        "first": a[order],
        "second": b[order],
        "first_documents": documents[order],
        "second_documents": others[order],
        "log_likelihood": evidence[ranked],
        "log_ratio": _log_ratio(a[order], b[order], *tokens),
    }
    return KeyWords([terms[i] for i in order.tolist()], table, tokens)


def _log_likelihood(a: Any, b: Any, c: int, d: int) -> Floats:
    """G2 of words that occur a times in c tokens and b times in d tokens.

    >>> _log_likelihood(np.array([10]), np.array([0]), 100, 100).round(2).tolist()
    [14.39]
    """
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    share = c / (c + d)
    cells = (a, share * (a + b)), (b, (1 - share) * (a + b))
    rest = (c - a, share * (c + d - a - b)), (d - b, (1 - share) * (c + d - a - b))
    total = sum(special.xlogy(seen, seen / np.where(due > 0, due, 1.0)) for seen, due in (*cells, *rest))
    return np.maximum(2 * np.asarray(total, np.float64), 0.0)


def _log_ratio(a: Any, b: Any, c: int, d: int) -> Floats:
    """How many times as often words occur in the first corpus, as a power of 2; see the module for counts of 0.

    >>> _log_ratio(np.array([40, 0]), np.array([10, 4]), 100, 100).tolist()
    [2.0, -3.0]
    """
    a, b = np.asarray(a, np.float64) / max(c, 1), np.asarray(b, np.float64) / max(d, 1)
    least = np.where(a > 0, a, np.minimum(0.5 / max(c, 1), b / 2))
    other = np.where(b > 0, b, np.minimum(0.5 / max(d, 1), a / 2))
    return np.asarray(np.log2(least) - np.log2(other))


def _counts_of(texts: Iterable[Any], plain: Vocabulary) -> Vocabulary:
    """The counts of a corpus, with the words that no rule has removed but stop words."""
    if isinstance(texts, Vocabulary):
        if texts.removed_.keys() - {"stop_words"}:
            rules = ", ".join(texts.removed_)
            raise DataError(f"words were removed from the vocabulary by {rules}; fit it without")
        return texts
    settings = {name: getattr(plain, name) for name in ("tokenizer", "ngrams", "stop_words", "memory", "n_jobs")}
    return Vocabulary(**settings).fit(texts)


def _joined(shared: Any, own: Any) -> Any:
    return np.concatenate([shared, own])
