"""A method for any text: the cut that is most stable under changes of its granularity.

How fine a text is to be cut is not known beforehand: a stream of news has a boundary every hundred words, a volume of
chapters every few thousand, a chapter none. `stability` finds cuts from fine to coarse under three models of words, and
takes the one that changes least with the granularity and at whose boundaries words stop (`recurrence`). Where a number
of segments is given, the most probable cut of that many segments is taken (`probability`), in units of sentences, or of
20 tokens in long texts.

Cost: linear in the length of the text; with a number of segments that of `probability`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textmill.model import check_choice, check_range
from textmill.tasks.segmentation.c99 import C99
from textmill.tasks.segmentation.probability import MaximumProbability
from textmill.tasks.segmentation.segmenter import Proposal, Segmenter, gaps_of, unit_similarities
from textmill.tasks.segmentation.stability import BLOCK, stable_boundaries
from textmill.tasks.segmentation.texts import TokenizedText
from textmill.tasks.segmentation.tiling import Hearst, LSITiling, TextTiling

__all__ = ["METHODS", "TopicSegmenter", "segmenter_of"]

METHODS: dict[str, Callable[..., Segmenter]] = {
    "lsitiling": LSITiling,
    "optimal": lambda **options: LSITiling(search="optimal", **{"n_dimensions": "segments"} | options),
    "texttiling": TextTiling,
    "hearst": Hearst,
    "c99": C99,
    "c99-latent": lambda **options: C99(**{"n_dimensions": 20} | options),
    "probability": MaximumProbability,
}


class TopicSegmenter(Segmenter):
    """Cut a text by topic, as finely as the text itself suggests.

    Parameters:
        long_from: Tokens from which a given number of boundaries is looked for between runs of 20 tokens instead of
            sentences.
        tokenizer: A `Tokenizer`, or an object with `spans(text)`; None for words.

    >>> mill, sky = "The mill wheel grinds grain.", "A planet orbits its star."
    >>> TopicSegmenter().segment("\\n".join([mill] * 8 + [sky] * 8)).boundaries.tolist()
    [40]
    """

    horizon = BLOCK + BLOCK // 2  # a block takes a rest of less than half a block

    def __init__(self, *, long_from: int = 4000, tokenizer: Any = None) -> None:
        self.long_from = long_from
        self.tokenizer = tokenizer

    def _boundaries(self, text: TokenizedText, n_segments: int | None) -> Proposal:
        check_range("long_from", self.long_from, at_least=0, whole=True)
        units = text.pieces
        gaps = gaps_of(units[1:-1], unit_similarities(text, units[1:-1]))
        if n_segments is not None:
            long = len(text) > self.long_from
            places = MaximumProbability(units="sequence" if long else "sentence")._boundaries(text, n_segments)
            return Proposal(places.boundaries, gaps, {"chosen": "probability"})
        boundaries, names, blocks = stable_boundaries(text, units)
        details: dict[str, Any] = {"chosen": ", ".join(names)}
        return Proposal(boundaries, gaps, details | ({"blocks": blocks.tolist()} if len(blocks) > 1 else {}))


def segmenter_of(method: str, **options: Any) -> Segmenter:
    """The segmenter of a name: "auto" or one of `METHODS`.

    >>> segmenter_of("c99", neighborhood=9)
    C99(neighborhood=9)
    """
    check_choice("method", method, ["auto", *METHODS])
    return TopicSegmenter(**options) if method == "auto" else METHODS[method](**options)
