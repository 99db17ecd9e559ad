"""Scores by all orders in one pass: those of models that were trained with each order."""

from __future__ import annotations

import numpy as np
import pytest

from textmill.lm import LeaveOneOut, NGramModel

SENTENCES = [
    "the mill turns",
    "the mill stands still",
    "a mill turns in the wind",
    "the wind turns the wheel",
    "in the mill the wheel turns",
    "a wheel stands in the wind",
]


@pytest.mark.parametrize("smoothing", ["witten-bell", "katz", "good-turing", "absolute", "jelinek-mercer"])
@pytest.mark.parametrize("min_counts", [1, (1, 1, 2)])
def test_orders_are_those_of_their_own_models(smoothing: str, min_counts: int | tuple[int, ...]) -> None:
    own = {"smoothing": smoothing, "min_counts": min_counts}
    held_out = LeaveOneOut(NGramModel(order=4, **own)).fit(SENTENCES)
    parts = [(SENTENCES[:1], SENTENCES[:2]), ([], ["the unknown wheel"]), (SENTENCES[3:5], SENTENCES[4:])]
    for (removed, scored), by_order in zip(parts, held_out.scores_by_order(parts), strict=True):
        rest = [sentence for sentence in SENTENCES if sentence not in removed]
        for order, scores in enumerate(by_order, 1):
            counts = min_counts if isinstance(min_counts, int) else min_counts[:order]
            alone = NGramModel(order=order, smoothing=smoothing, min_counts=counts).fit(rest).scores(scored)
            assert scores.log_probability == pytest.approx(alone.log_probability, rel=1e-10)
            assert np.array_equal(scores.unknown, alone.unknown)


def test_continuation_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="without continuation counts"):
        LeaveOneOut(NGramModel(order=2)).fit(SENTENCES).scores_by_order([([], SENTENCES)])
