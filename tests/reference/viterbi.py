"""Best label path by definition, in plain Python, over the weights of a model file."""

from __future__ import annotations

import numpy as np

from textmill.sequence import ChainWeights


def best_paths(weights: ChainWeights, X: list[object]) -> list[tuple[list[str], float]]:
    """The best labels and their score for every sequence; bigram tests do not fire at the first token."""
    data = weights.encoder.encode(X)
    mu, lam = weights.unigram.toarray(), weights.bigram.toarray()
    Y = len(weights.classes)
    found = []
    for first, end in zip(data.offsets[:-1], data.offsets[1:], strict=True):
        score = np.zeros(Y)
        back = []
        for t in range(first, end):
            unigram = sum_of(data.unigram, t, mu)
            if t > first:
                pairs = score[:, None] + sum_of(data.bigram, t, lam).reshape(Y, Y)
                back.append(pairs.argmax(0))
                score = pairs.max(0)
            score = score + unigram
        path = [int(score.argmax())]
        for pointers in reversed(back):
            path.append(int(pointers[path[-1]]))
        found.append(([weights.classes[y] for y in reversed(path)], float(score.max())))
    return found


def sum_of(rows, token, matrix):
    span = slice(rows.indptr[token], rows.indptr[token + 1])
    values = np.ones(span.stop - span.start) if rows.values is None else rows.values[span]
    return values @ matrix[rows.ids[span]]
