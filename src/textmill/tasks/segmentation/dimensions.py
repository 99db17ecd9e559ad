"""How many dimensions the latent space of a text is to have, from the space itself.

    spread      up to the largest gap between neighboring singular values, from the second on
    clustered   as many as there are clusters of contexts: of 2 .. most clusters by spherical k-means the number with
                the largest mean silhouette

The silhouette of a context is (b - a) / max(a, b), with a its distance (1 - cosine) from the center of its own cluster
and b that from the nearest other center. Contexts that do not overlap are clustered, at most 400 of them.

Cost: O(most * contexts * dimensions) for each number of clusters. Reference: Rousseeuw (1987), Silhouettes.
"""

from __future__ import annotations

import numpy as np

from textmill.arrays import Floats
from textmill.topics import cluster_rows

__all__ = ["clustered_dimensions", "spread_dimensions"]

_CONTEXTS = 400  # that are clustered at most


def spread_dimensions(singular_values: Floats) -> int:
    """The number of dimensions before the largest gap, two or more where there are.

    >>> spread_dimensions(np.array([9.0, 5.0, 4.8, 1.0, 0.9]))
    3
    """
    s = singular_values
    return int(np.argmax(s[1:-1] - s[2:])) + 2 if len(s) > 3 else len(s)


def clustered_dimensions(vectors: Floats, step: int) -> int:
    """The number of clusters of every `step`-th row, two or more where there are as many dimensions.

    >>> clustered_dimensions(np.repeat(np.eye(4), 5, axis=0) + 0.01, 1)
    4
    """
    most = int(vectors.shape[1])
    rows = vectors[:: max(step, -(-len(vectors) // _CONTEXTS))]
    rows = rows[np.linalg.norm(rows, axis=1) > 0]
    if most <= 2 or len(rows) < 4:
        return min(2, most)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    numbers = range(2, min(most, len(rows) // 2) + 1)
    silhouettes = [_silhouette(unit, k) for k in numbers]
    return numbers[int(np.argmax(silhouettes))]


def _silhouette(unit: Floats, clusters: int) -> float:
    labels, members = cluster_rows(unit, clusters, random_state=0, n_jobs=1)
    centers = np.array([unit[part].mean(axis=0) for part in members])
    centers /= np.maximum(1e-12, np.linalg.norm(centers, axis=1, keepdims=True))
    away = 1 - unit @ centers.T
    own = away[np.arange(len(unit)), labels]
    away[np.arange(len(unit)), labels] = np.inf
    nearest = away.min(axis=1)
    return float(((nearest - own) / np.maximum(1e-12, np.maximum(nearest, own))).mean())
