"""Names for the array types of the house: what a signature takes and gives, in one word.

    Floats   sums, gradients, statistics            float64
    Singles  stored vectors and similarities        float32
    Ints     offsets, counts, positions             int64
    Ids      ids of terms, labels, symbols, states  int32
    Bytes    text and flags on their way to C++     uint8
    Masks    what is in and what is out             bool

An annotation says the type and not the shape; shapes stand in the docstring.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bytes", "Floats", "Ids", "Ints", "Masks", "Singles"]

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]
Ids = NDArray[np.int32]
Ints = NDArray[np.int64]
Masks = NDArray[np.bool_]
Singles = NDArray[np.float32]
