"""What pruning costs: decoding with a beam against exact decoding, on random probabilities.

    gap      exact expectation of the exact set minus the pruned expectation of the pruned set
    same     share of vectors for which both are the same set
    regret   exact expectation of the exact set minus that of the pruned set: what is lost

With a beam of 1 the answer is the labeling of greatest probability, and so the same set only where a threshold of one
half is best. Reference: Jansche (2007), section 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.model import check_range
from textmill.sequence.expected_utility import decode_f, expected_f_curve
from textmill.tables import Table

__all__ = ["PruningReport", "compare_pruning"]


class PruningReport(Table):
    """Mean gap, share of same sets, mean and largest regret, a row for each distribution and beam."""

    def __init__(self, rows: Sequence[tuple[str, str, Floats]]) -> None:
        if not rows:
            raise DataError("there is nothing to compare; name a distribution and a beam")
        self.rows = list(rows)  # distribution, beam, and for each vector gap, same, regret

    def columns(self) -> dict[str, Any]:
        """Return distribution, beam, gap, same, regret and most regret."""
        return {
            "distribution": [name for name, _, _ in self.rows],
            "beam": [beam for _, beam, _ in self.rows],
            "gap": [float(figures[:, 0].mean()) for *_, figures in self.rows],
            "same": [float(figures[:, 1].mean()) for *_, figures in self.rows],
            "regret": [float(figures[:, 2].mean()) for *_, figures in self.rows],
            "most regret": [float(figures[:, 2].max()) for *_, figures in self.rows],
        }


def compare_pruning(
    *,
    lengths: Sequence[int] = range(1, 51),
    runs: int = 10,
    beams: Sequence[str] = ("1", "2n"),
    beta: float = 1.0,
    random_state: int = 0,
) -> PruningReport:
    """Compare pruned and exact decoding; a beam is a number, or a number and n for so many times the length.

    Probabilities are uniform, and of a Beta(1/2, 1/2) distribution, as of a classifier that is too sure.

    >>> report = compare_pruning(lengths=[3, 6], runs=5, beams=["1", "100"]).to_dict()
    >>> report["regret"][1], report["same"][1]
    (0.0, 1.0)
    """
    check_range("runs", runs, at_least=1, whole=True)
    rng = np.random.default_rng(random_state)
    vectors = {
        "uniform": [rng.random(n) for n in lengths for _ in range(runs)],
        "beta": [rng.beta(0.5, 0.5, n) for n in lengths for _ in range(runs)],
    }
    return PruningReport([(name, beam, _figures(some, beam, beta)) for name, some in vectors.items() for beam in beams])


def _figures(vectors: list[Floats], beam: str, beta: float) -> Floats:
    figures = np.empty((len(vectors), 3))
    factor = beam.removesuffix("n") or "1"
    if not factor.isdigit() or int(factor) < 1:
        raise DataError(f"beam '{beam}' is neither a number from 1 nor one with n behind it, such as 2n")
    for row, p in zip(figures, vectors, strict=True):
        width = int(factor) * (len(p) if beam.endswith("n") else 1)
        exact, pruned = decode_f(p, beta), decode_f(p, beta, method="pruned", beam=width)
        curve = expected_f_curve(p, beta)
        regret = float(curve.max() - curve[pruned.size])
        row[:] = curve.max() - pruned.value, np.array_equal(exact.labels, pruned.labels), regret
    return figures
