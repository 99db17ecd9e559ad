"""Linear chains by definition: every labeling enumerated, and the toy problems of the specification."""

from __future__ import annotations

import itertools
import math

import numpy as np

from textmill.sequence import Active, Encoded, FeatureLayout


def active(rows, size, values=None):
    """Tests of tokens from lists of ids."""
    indptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    ids = np.array([i for row in rows for i in row], np.int32)
    flat = None if values is None else np.array([v for row in values for v in row], np.float32)
    return Active(indptr, ids, flat, size)


def token_scores(layout, data, theta, sequence):
    """Unary [T, Y] and pair [T, Y, Y] scores of one sequence, straight from the definition."""
    Y, begin, end = layout.labels, int(data.offsets[sequence]), int(data.offsets[sequence + 1])
    unary, pairs = np.zeros((end - begin, Y)), np.zeros((end - begin, Y, Y))
    mu = theta[: layout.unigrams * Y].reshape(-1, Y)
    start = theta[layout.unigrams * Y : layout.rows * Y].reshape(-1, Y)
    lam = theta[layout.rows * Y :].reshape(-1, Y, Y)

    def tests(rows, t):
        chosen = range(int(rows.indptr[t]), int(rows.indptr[t + 1]))
        return [(int(rows.ids[e]), 1.0 if rows.values is None else float(rows.values[e])) for e in chosen]

    for t in range(begin, end):
        for u, value in tests(data.unigram, t):
            unary[t - begin] += value * mu[u]
        for b, value in tests(data.bigram, t):
            if t > begin:
                pairs[t - begin] += value * lam[b]
            elif layout.start:
                unary[0] += value * start[b]
    return unary, pairs


def path_score(unary, pairs, path):
    return sum(unary[t, y] + (pairs[t, path[t - 1], y] if t else 0.0) for t, y in enumerate(path))


def all_paths(unary, pairs, allowed=None):
    """Every labeling with its score, best first."""
    T, Y = unary.shape
    paths = [
        p
        for p in itertools.product(range(Y), repeat=T)
        if allowed is None or all(allowed[t][y] for t, y in enumerate(p))
    ]
    return sorted(((path_score(unary, pairs, p), p) for p in paths), key=lambda item: (-item[0], item[1]))


def enumerate_chain(unary, pairs, allowed=None):
    """log Z, marginals [T, Y] and pair marginals [T, Y, Y] by enumeration."""
    T, Y = unary.shape
    scored = all_paths(unary, pairs, allowed)
    most = scored[0][0]
    total = sum(math.exp(s - most) for s, _ in scored)
    single, double = np.zeros((T, Y)), np.zeros((T, Y, Y))
    for s, path in scored:
        p = math.exp(s - most) / total
        for t, y in enumerate(path):
            single[t, y] += p
            if t:
                double[t, path[t - 1], y] += p
    return most + math.log(total), single, double


def log_domain_z(unary, pairs):
    """log Z by the plain recursion in logarithms."""
    a = unary[0]
    for t in range(1, len(unary)):
        a = unary[t] + np.logaddexp.reduce(a[:, None] + pairs[t], axis=0)
    return float(np.logaddexp.reduce(a))


def lattice_example():
    """Worked example of a lattice: x = (a, b, a), its weights, labels (0, 1, 0)."""
    data = Encoded(
        np.array([0, 3]), active([[0], [1], [0]], 2), active([[0], [1], [0]], 2), np.array([0, 1, 0], np.int32)
    )
    theta = np.array([0.5, -0.2, 0.1, 0.3, 0.4, 0, 0, -0.3, 0, 0.7, 0, 0])
    return FeatureLayout(2, 2, 2), data, theta


def known_optimum():
    """The seven sequences whose optima are known: unigrams for a, b, c, the plain pair, bigrams for a, b, c."""
    words = [("ab", "00"), ("cb", "11"), ("abb", "000"), ("cbb", "111"), ("cab", "100"), ("acbb", "0111"), ("bc", "01")]
    letters = ["abc".index(c) for word, _ in words for c in word]
    labels = np.array([int(c) for _, given in words for c in given], np.int32)
    offsets = np.cumsum([0, *(len(word) for word, _ in words)])
    data = Encoded(offsets, active([[c] for c in letters], 3), active([[0, c + 1] for c in letters], 4), labels)
    return FeatureLayout(2, 3, 4), data


def random_problem(seed, labels=3, start=False, values=False, unigrams=4, bigrams=3, sequences=3, longest=6):
    """A small random data set and sparse weights."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest + 1, sequences)
    tokens = int(lengths.sum())

    def rows(size):
        chosen = [rng.choice(size, rng.integers(0, size + 1), replace=False).tolist() for _ in range(tokens)]
        return active(chosen, size, [rng.normal(size=len(c)).tolist() for c in chosen] if values else None)

    given = rng.integers(0, labels, tokens).astype(np.int32)
    data = Encoded(np.concatenate([[0], np.cumsum(lengths)]), rows(unigrams), rows(bigrams), given)
    layout = FeatureLayout(labels, unigrams, bigrams, start)
    theta = rng.normal(0, 1.5, layout.size) * (rng.random(layout.size) < 0.4)
    return layout, data, theta


def block_derivatives(layout, data, theta, unigram, bigram):
    """First and diagonal second derivatives of one block, unigram [Y] and bigram [Y, Y], by enumeration."""
    Y = layout.labels
    single = [np.zeros(Y), np.zeros(Y)]
    double = [np.zeros((Y, Y)), np.zeros((Y, Y))]
    for s in range(data.sequences):
        begin, end = int(data.offsets[s]), int(data.offsets[s + 1])
        _, p, pairs = enumerate_chain(*token_scores(layout, data, theta, s))
        for t in range(begin, end):
            if unigram in data.unigram.ids[data.unigram.indptr[t] : data.unigram.indptr[t + 1]]:
                single[0] += p[t - begin] - (np.arange(Y) == data.labels[t])
                single[1] += p[t - begin] * (1 - p[t - begin])
            if t > begin and bigram in data.bigram.ids[data.bigram.indptr[t] : data.bigram.indptr[t + 1]]:
                double[0] += pairs[t - begin]
                double[0][data.labels[t - 1], data.labels[t]] -= 1
                double[1] += pairs[t - begin] * (1 - pairs[t - begin])
    return single, double


def kappa_update(theta, g, h, l1, l2, kappa=1.5):
    """New weights of one part of a block whose second derivatives are stretched by kappa max(1, max |g / h|)."""
    h = np.maximum(h, 1e-12)
    h = kappa * max(1.0, float(np.abs(g / h).max())) * h
    z = h * theta - g
    return np.sign(z) * np.maximum(np.abs(z) - l1, 0) / (h + l2)
