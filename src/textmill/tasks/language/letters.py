"""What the letters of a word say of its language, for words that no dictionary has.

Words are cut into n-grams of up to k letters with the marks < and > around the word. For each script, and for the
languages written in it,

    p_n(c | h, L) = (w_L(hc) + tau p_{n-1}(c | h', L)) / (w_L(h) + tau)          h' = h without its first letter
    rel(hc, L)    = log p_n(c | h, L) - log mean_L' p_n(c | h, L')

with w_L the sum over the words of L of the square root of their counts, so that rare words are heard. Only n-grams that
are frequent in the mean over languages are kept, and of these the ones that tell more than the shorter n-gram that
would speak in their place,

    worth(hc) = sum_L w_L(hc) / w_L (log q_L(hc) - log q_L(h'c)) / bytes of its record     q_L = rel as a share of all L

which is the likelihood that a byte of the model earns (Stolcke 1998 prunes language models like this). The counts of
words are all that is needed, so they add as the counts do. Cost: a visit of each letter of each word and order.
Reference: Dunning, Statistical identification of language (1994).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from textmill._native import language as native
from textmill.model import StringTable
from textmill.tasks.language.counts import LanguageCounts
from textmill.tasks.language.relevance import entry_words

__all__ = ["LetterEvidence", "letter_evidence", "script_shares"]

_SEES = 0.01  # share of the words of a language from which on a script is one of its own
_NEAR = 0.12  # differences of relevance that are not worth a pair
_RECORD = 9.5  # bytes of a record beside its key and pairs, with its slot


@dataclass(frozen=True)
class LetterEvidence:
    """Relevances of n-grams: keys, the relevance to languages that are not listed, and pairs."""

    keys: StringTable
    rest: NDArray[np.float32]
    begin: NDArray[np.int64]
    languages: NDArray[np.uint8]
    values: NDArray[np.float32]


def script_shares(counts: LanguageCounts) -> NDArray[np.float32]:
    """log p(script | L), scripts x languages; what a language is not written in has a thousandth.

    >>> shares = script_shares(LanguageCounts.from_texts(["ja", "да"], ["de", "ru"]))
    >>> np.exp(shares[1:3]).astype(float).round(3).tolist()
    [[1.0, 0.001], [0.001, 1.0]]
    """
    scripts = native.scripts(counts.words_.bytes, counts.words_.offsets)
    number = len(native.script_names())
    weights = np.zeros((number, len(counts.languages_)))
    np.add.at(weights, (scripts[entry_words(counts)], counts.language_ids_), counts.counts_)
    shares = weights / np.maximum(weights.sum(axis=0), 1e-300)
    logs: NDArray[np.float32] = np.log(np.maximum(shares, 1e-3)).astype(np.float32)
    return logs


def letter_evidence(
    counts: LanguageCounts, *, order: int, min_share: float, prior: float, min_worth: float = 0.0
) -> LetterEvidence:
    """The n-grams of all scripts that more than one language is written in.

    `min_share` is the least mean share of an n-gram in the letters of the languages of its script, `min_worth` the
    least worth of one of two letters or more, 0 to keep all, `prior` is tau.
    """
    scripts = native.scripts(counts.words_.bytes, counts.words_.offsets)
    shares = np.exp(script_shares(counts))
    words = entry_words(counts)
    weights = np.sqrt(counts.counts_)
    keys: list[bytes] = []
    seen: set[bytes] = set()
    rest: list[NDArray[np.float32]] = []
    sizes: list[NDArray[np.int64]] = []
    languages: list[NDArray[np.uint8]] = []
    values: list[NDArray[np.float32]] = []
    for script in np.unique(scripts):
        own = np.flatnonzero(shares[script] >= _SEES)
        if script == 0 or own.size < 2:
            continue
        number = np.full(len(counts.languages_), -1, dtype=np.int32)
        number[own] = np.arange(own.size, dtype=np.int32)
        chosen = (scripts[words] == script) & (number[counts.language_ids_] >= 0)
        of_script, entry_of = np.unique(words[chosen], return_inverse=True)
        table = counts.words_.take(of_script)
        begin = np.zeros(len(table) + 1, dtype=np.int64)
        np.cumsum(np.bincount(entry_of, minlength=len(table)), out=begin[1:])
        data, offsets, weight = native.count_grams(
            table.bytes,
            table.offsets,
            begin,
            number[counts.language_ids_[chosen]],
            weights[chosen],
            own.size,
            order,
            min_share,
        )
        grams = [data[a:b].tobytes() for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]
        share = weight.reshape(len(grams), own.size).astype(np.float64)
        relevance = _relevances(grams, share, prior)
        middle = np.median(relevance, axis=1).astype(np.float32)
        listed = np.abs(relevance - middle[:, None]) > _NEAR
        # Marks, and letters of no script, belong to all of them: the first one has them.
        stay = np.array([bool(gram.strip(b"<>")) and gram not in seen for gram in grams])
        if min_worth > 0:
            sizes_of = np.diff(offsets) + _RECORD + np.minimum(2 * listed.sum(axis=1), own.max())
            stay &= _gains(grams, share, relevance) >= min_worth * sizes_of
        seen.update(grams)
        lettered = np.flatnonzero(stay)
        grams, relevance, middle, listed = [grams[i] for i in lettered], relevance[stay], middle[stay], listed[stay]
        rows, columns = np.nonzero(listed)
        keys += grams
        rest.append(middle)
        sizes.append(np.bincount(rows, minlength=len(grams)).astype(np.int64))
        languages.append(own[columns].astype(np.uint8))
        values.append(relevance[rows, columns].astype(np.float32))
    count = np.concatenate([np.zeros(1, dtype=np.int64), *sizes])
    return LetterEvidence(
        keys=_table(keys),
        rest=np.concatenate([np.zeros(0, dtype=np.float32), *rest]),
        begin=np.cumsum(count),
        languages=np.concatenate([np.zeros(0, dtype=np.uint8), *languages]),
        values=np.concatenate([np.zeros(0, dtype=np.float32), *values]),
    )


def _relevances(grams: list[bytes], weight: NDArray[np.float64], prior: float) -> NDArray[np.float64]:
    """rel of each n-gram and language; the shorter n-grams inside of one are all there, as they are as frequent."""
    letters = [gram.decode() for gram in grams]
    number = {gram: i for i, gram in enumerate(letters)}
    length = np.array([len(gram) for gram in letters])
    probability = np.zeros_like(weight)
    single = np.flatnonzero((length == 1) & np.array([gram != "<" for gram in letters]))
    alphabet = weight[single]
    probability[single] = (alphabet + 0.5) / (alphabet.sum(axis=0) + 0.5 * len(single))
    for size in range(2, int(length.max(initial=1)) + 1):
        here = np.flatnonzero(length == size)
        history = np.array([number[letters[i][:-1]] for i in here], dtype=np.intp)
        shorter = np.array([number[letters[i][1:]] for i in here], dtype=np.intp)
        probability[here] = (weight[here] + prior * probability[shorter]) / (weight[history] + prior)
    logs = np.log(np.maximum(probability, 1e-12))
    relevance: NDArray[np.float64] = logs - np.log(np.maximum(probability.mean(axis=1, keepdims=True), 1e-12))
    return np.clip(relevance, -8.0, 8.0)


def _gains(grams: list[bytes], weight: NDArray[np.float64], relevance: NDArray[np.float64]) -> NDArray[np.float64]:
    """What each n-gram adds to the log-likelihood of the languages beside the shorter one; all for single letters."""
    letters = [gram.decode() for gram in grams]
    number = {gram: i for i, gram in enumerate(letters)}
    shorter = np.array([number[gram[1:]] if len(gram) > 1 else -1 for gram in letters], dtype=np.intp)
    single = np.array([len(gram) == 1 and gram != "<" for gram in letters])
    total = weight[single].sum(axis=0)
    share = relevance - np.log(np.exp(relevance).mean(axis=1, keepdims=True))
    gains: NDArray[np.float64] = (weight / np.maximum(total, 1e-300) * (share - share[shorter])).sum(axis=1)
    gains[shorter < 0] = np.inf
    return gains


def _table(keys: list[bytes]) -> StringTable:
    offsets = np.zeros(len(keys) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, keys), np.int64, len(keys)), out=offsets[1:])
    return StringTable.from_arrays(np.frombuffer(b"".join(keys), dtype=np.uint8), offsets)
