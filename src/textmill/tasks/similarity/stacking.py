"""Rows of several indexes under each other, dense or sparse, without preparing them again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from textmill.numeric import SparseRows, is_sparse

__all__ = ["stacked"]


def stacked(pieces: Sequence[Any]) -> Any:
    """Return the rows of all pieces, which are arrays or `SparseRows`.

    >>> stacked([np.ones((1, 2)), np.zeros((1, 2))]).tolist()
    [[1.0, 1.0], [0.0, 0.0]]
    """
    if len(pieces) == 1:
        return pieces[0]
    if not is_sparse(pieces[0]):
        return np.concatenate(pieces)
    offsets = [np.zeros(1, np.int64)]
    for piece in pieces:
        offsets.append(offsets[-1][-1] + piece.indptr[1:])
    return SparseRows(
        np.concatenate([piece.data for piece in pieces]),
        np.concatenate([piece.indices for piece in pieces]),
        np.concatenate(offsets),
        (sum(piece.shape[0] for piece in pieces), pieces[0].shape[1]),
    )
