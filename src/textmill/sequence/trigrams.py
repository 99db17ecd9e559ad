"""Tests of three states: patterns that begin with t, for chains of order 2.

    t               the triple of states itself, true wherever there are two tokens before
    t:w=%x[0,0]     with what is observed there

An encoder knows tests of labels and of pairs; those of triples have an encoder of their own, in which they are tests of
pairs. Where both are needed together they are one list: bigram tests 0 .. B-1, trigram test i at B + i. The first two
tokens of a sequence have no trigram tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from textmill.arrays import Ints
from textmill.sequence.encoder import Encoder
from textmill.sequence.encoding import Active, Encoded

__all__ = ["seen_triples", "split_patterns", "trigram_tests", "with_trigrams", "without_trigrams"]


def split_patterns(patterns: str | Sequence[str]) -> tuple[list[str], list[str]]:
    """Patterns of labels and pairs, and those of triples.

    >>> split_patterns("u:%x[0,0]\\nt\\nb")
    (['u:%x[0,0]', 'b'], ['t'])
    """
    lines = patterns.splitlines() if isinstance(patterns, str) else list(patterns)
    triple = [isinstance(line, str) and line.strip()[:1] in ("t", "T") for line in lines]
    return (
        [line for line, three in zip(lines, triple, strict=True) if not three],
        [line.strip() for line, three in zip(lines, triple, strict=True) if three],
    )


def trigram_tests(
    encoder: Encoder | None, patterns: Sequence[str], X: list[Any], *, n_jobs: int | None = None
) -> tuple[Encoder | None, Active | None]:
    """An encoder of tests of three states and the tests of X; None for both where "t" is the only pattern.

    >>> encoder, active = trigram_tests(None, ["t:%x[0,0]"], ["abc"])
    >>> encoder.tests_.to_list(), active.ids.tolist()
    (['b:a', 'b:b', 'b:c'], [0, 1, 2])
    """
    if not [pattern for pattern in patterns if pattern.partition("#")[0].strip() not in ("t", "T")]:
        return None, None
    settings: dict[str, Any] = {} if encoder is None else encoder.get_params(deep=False)
    settings |= {"patterns": ["b" + pattern[1:] for pattern in patterns], "n_jobs": n_jobs}
    triples = Encoder(**settings)
    return triples, triples.fit_encode(X).bigram


def with_trigrams(data: Encoded, triples: Active | None, bigrams: int) -> Encoded:
    """Sequences whose bigram tests are followed by tests of three states; None for the triple alone.

    >>> tests = Active(np.arange(4), np.zeros(3, np.int32), None, 1)
    >>> with_trigrams(Encoded(np.array([0, 3]), tests, tests), None, 1).bigram.ids.tolist()
    [0, 0, 0, 1]
    """
    late = np.ones(data.tokens, bool)  # with two tokens before
    starts = data.offsets[:-1][np.diff(data.offsets) > 0]
    late[starts] = False
    seconds = data.offsets[:-1][np.diff(data.offsets) > 1] + 1
    late[seconds] = False
    if triples is None:
        triples = Active(np.arange(data.tokens + 1), np.zeros(data.tokens, np.int32), None, 1)
    pairs = data.bigram
    counts = np.diff(triples.indptr) * late
    indptr = pairs.indptr + np.concatenate([[0], np.cumsum(counts)])
    ids = np.empty(int(indptr[-1]), np.int32)
    extra = np.ones(len(ids), bool)
    places = np.arange(len(pairs.ids)) + np.repeat(indptr[:-1] - pairs.indptr[:-1], np.diff(pairs.indptr))
    extra[places] = False
    chosen = np.repeat(late, np.diff(triples.indptr))
    ids[places], ids[extra] = pairs.ids, triples.ids[chosen] + bigrams
    values = None
    if pairs.values is not None or triples.values is not None:
        values = np.ones(len(ids), np.float32)
        values[places] = 1.0 if pairs.values is None else pairs.values
        values[extra] = 1.0 if triples.values is None else triples.values[chosen]
    return replace(data, bigram=Active(indptr, ids, values, bigrams + triples.size))


def without_trigrams(data: Encoded, bigrams: int) -> Encoded:
    """The same sequences with their bigram tests alone.

    >>> tests = Active(np.arange(4), np.zeros(3, np.int32), None, 1)
    >>> data = Encoded(np.array([0, 3]), tests, tests)
    >>> without_trigrams(with_trigrams(data, None, 1), 1).bigram.ids.tolist()
    [0, 0, 0]
    """
    arcs = data.bigram
    pair = arcs.ids < bigrams
    counts = np.add.reduceat(np.append(pair, False), arcs.indptr[:-1]) * (np.diff(arcs.indptr) > 0)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    values = None if arcs.values is None else arcs.values[pair]
    return replace(data, bigram=Active(indptr, arcs.ids[pair], values, bigrams))


def seen_triples(data: Encoded, bigrams: int, counts: Ints) -> Ints:
    """Features of trigram tests whose three labels occurred with the test; those of all states of the labels.

    >>> tests = Active(np.arange(4), np.zeros(3, np.int32), None, 1)
    >>> data = with_trigrams(Encoded(np.array([0, 3]), tests, tests, np.array([0, 1, 0], np.int32)), None, 1)
    >>> seen_triples(data, 1, np.array([1, 1])).tolist()
    [2]
    """
    assert data.labels is not None
    arcs, labels = data.bigram, data.labels.astype(np.int64)
    token = np.repeat(np.arange(data.tokens), np.diff(arcs.indptr))
    triple = arcs.ids >= bigrams
    test, token = arcs.ids[triple].astype(np.int64) - bigrams, token[triple]
    rows = np.stack([test, labels[token - 2], labels[token - 1], labels[token]], axis=1)
    rows = np.unique(rows[(rows >= 0).all(axis=1)], axis=0)
    first, states = np.concatenate([[0], np.cumsum(counts)]), int(counts.sum())
    features = [
        ((test * states + np.arange(first[a], first[a + 1])[:, None, None]) * states
         + np.arange(first[b], first[b + 1])[:, None]) * states + np.arange(first[c], first[c + 1])
        for test, a, b, c in rows.tolist()
    ]  # fmt: skip
    return np.unique(np.concatenate([part.ravel() for part in features])) if features else np.empty(0, np.int64)
