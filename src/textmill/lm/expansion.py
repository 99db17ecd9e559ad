"""A polynomial kernel as weights of conjunctions: the same margins, or nearly, in a fraction of the time.

    (1 + r)^d = sum_s c_d(s) binom(r, s)         f(x) = sum over subsets T of x, |T| <= d, of W(T)

    slices      exact: conjunctions of the most frequent features in tables, the index for the others
    pruned      all conjunctions with |W(T)| >= min_weight, in a hash table; 0 keeps all and is exact

Slices are for scoring with no loss. Pruning is for small or readable models: what is left out adds up to an error that
`margins` of both shows. Cost and memory: native/lm/expansion.h. References: Kudo & Matsumoto (2003), Fast methods for
kernel-based text analysis; Yoshinaga & Kitsuregawa (2010), Kernel slicing: scalable online training with conjunctive
features.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill._native import lm as native
from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.lm.discriminative import PassiveAggressive
from textmill.model import check_range, effective_jobs

__all__ = ["ExpandedKernel"]

FREQUENT = {1: 65_536, 2: 2_048, 3: 192, 4: 64}  # features with tables, by degree: up to 20 MB


class ExpandedKernel:
    """Predict like a `PassiveAggressive` with a polynomial kernel, faster.

    Parameters:
        model: A trained model; later training does not change what was expanded.
        n_frequent: Features whose conjunctions have tables; None for 65536, 2048, 192 or 64 by degree.
        min_weight: Leave out conjunctions of smaller weight; None for exact slices.

    Attributes: bytes, its size; n_conjunctions, how many have a weight, None for slices.

    >>> model = PassiveAggressive(kernel="polynomial").fit([[1, 1, 0], [1, 0, 1]] * 2, [1, 0] * 2)
    >>> fast = ExpandedKernel(model)
    >>> bool(np.allclose(fast.decision_function([[0, 1, 1]]), model.decision_function([[0, 1, 1]])))
    True
    """

    def __init__(
        self, model: PassiveAggressive, *, n_frequent: int | None = None, min_weight: float | None = None
    ) -> None:
        if model.kernel != "polynomial":
            raise DataError(f"only a polynomial kernel can be expanded, not {model.kernel!r}; train with one")
        frequent = FREQUENT[int(model.degree)] if n_frequent is None else n_frequent
        check_range("n_frequent", frequent, at_least=0, at_most=65_536, whole=True)
        if min_weight is not None:
            check_range("min_weight", min_weight, at_least=0.0)
        self._model = model
        try:
            self._native = native.Expanded(
                model.native_learner(),
                averaged=bool(model.averaged),
                frequent=int(frequent),
                least=min_weight,
                threads=effective_jobs(model.n_jobs),
            )
        except (MemoryError, RuntimeError, ValueError) as error:
            raise DataError(f"the kernel cannot be expanded: {error}; use slices (min_weight=None)") from None
        self.bytes = int(self._native.bytes())
        self.n_conjunctions = None if min_weight is None else int(self._native.size())

    def decision_function(self, X: Any) -> Floats:
        """Return the margin of each example."""
        offsets, keys, _ = self._model.examples(X)
        margins: Floats = self._native.margins(offsets, keys, threads=effective_jobs(self._model.n_jobs))
        return margins

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each example."""
        return self._model.classes_[(self.decision_function(X) > 0).astype(np.int64)]
