"""Maximum probability segmentation: the cut that makes the words of the text most probable.

With n_i tokens in segment i, f_i(w) of them the word w, and V different words in a text of n tokens,

    P(text | segments) = prod_i prod_{w in i} (f_i(w) + 1) / (n_i + V)        P(segments) = n^-m

so that the best cut is the shortest path through a graph whose arc for a segment costs

    log n + n_i log(n_i + V) - sum_w f_i(w) log(f_i(w) + 1)

Nothing is learned beforehand, and there is nothing to set: the number of segments follows from the text. Best for short
texts, where a context of fixed size is too coarse. Units are sentences, or runs of tokens in long texts.

Cost: O(units * tokens). Reference: Utiyama & Isahara (2001), A statistical model for domain-independent text
segmentation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from textmill._native import tasks as native
from textmill.arrays import Floats
from textmill.model import check_choice, check_range
from textmill.tasks.segmentation.segmenter import Proposal, Segmenter
from textmill.tasks.segmentation.texts import TokenizedText

__all__ = ["MaximumProbability", "laplace"]

_UNLIMITED = 2**62


class MaximumProbability(Segmenter):
    """Find the segmentation under which the words of a text are most probable.

    Parameters:
        units: "sentence" (long ones in pieces), or "sequence" for runs of `sequence_tokens` tokens.
        sequence_tokens: Tokens of a sequence.
        penalty: Cost of a segment; None for the logarithm of the number of tokens, as the prior has it.
        tokenizer: A `Tokenizer`, or an object with `spans(text)`; None for words.

    >>> mill, sky = "The mill wheel grinds grain.", "A planet orbits its star."
    >>> MaximumProbability().segment("\\n".join([mill] * 8 + [sky] * 8)).boundaries.tolist()
    [40]
    """

    def __init__(
        self, *, units: str = "sentence", sequence_tokens: int = 20, penalty: float | None = None, tokenizer: Any = None
    ) -> None:
        self.units = units
        self.sequence_tokens = sequence_tokens
        self.penalty = penalty
        self.tokenizer = tokenizer

    def _boundaries(self, text: TokenizedText, n_segments: int | None) -> Proposal:
        check_choice("units", self.units, ["sentence", "sequence"])
        check_range("sequence_tokens", self.sequence_tokens, at_least=1, whole=True)
        units = text.pieces if self.units == "sentence" else text.sequences(self.sequence_tokens)
        ids, offsets, vocabulary = text.content(units)
        if self.penalty is not None:
            check_range("penalty", self.penalty, at_least=0)
        penalty = float(np.log(max(1, len(ids)))) if self.penalty is None else float(self.penalty)
        gain, length = laplace(len(ids), vocabulary)
        cuts, _ = native.probable_cuts(
            ids, offsets, vocabulary, units, rows=np.zeros(vocabulary, np.int64), gain=gain, length=length,
            penalty=penalty, segments=min(len(units) - 1, n_segments or 0), shortest=0, longest=_UNLIMITED,
        )  # fmt: skip
        return Proposal(units[cuts])


def laplace(tokens: int, vocabulary: int) -> tuple[Floats, Floats]:
    """What one more token of a word adds, and what a segment of n tokens costs: add-one smoothing."""
    f = np.arange(tokens + 1.0)
    return (f + 1) * np.log(f + 2) - f * np.log(f + 1), f * np.log(np.maximum(1, f + vocabulary))
