"""A method for any text: short texts by maximum probability, long ones by a latent space and maximum probability.

Short texts (up to `long_from` tokens) are cut as `MaximumProbability` does, which finds the number of segments itself.
In a long text that prior finds every change of subject inside a chapter. There the number of segments is the number of
deep minima of a latent signal (contexts of 240 tokens, 10 dimensions, depth 0.8), and maximum probability says where
they are: it places a given number of boundaries better than minima do.

Cost: that of both. References: see `probability` and `tiling`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textmill.model import check_choice, check_range
from textmill.tasks.segmentation.baselines import EveryGap, Fixed, NoBoundary, Random
from textmill.tasks.segmentation.c99 import C99
from textmill.tasks.segmentation.probability import MaximumProbability
from textmill.tasks.segmentation.segmenter import Proposal, Segmenter
from textmill.tasks.segmentation.signals import Space
from textmill.tasks.segmentation.texts import TokenizedText
from textmill.tasks.segmentation.tiling import Hearst, LSITiling, TextTiling

__all__ = ["METHODS", "TopicSegmenter", "segmenter_of"]

METHODS: dict[str, Callable[..., Segmenter]] = {
    "lsitiling": LSITiling,
    "optimal": lambda **options: LSITiling(search="optimal", n_dimensions="segments", **options),
    "texttiling": TextTiling,
    "hearst": Hearst,
    "c99": C99,
    "c99-latent": lambda **options: C99(n_dimensions=20, **options),
    "probability": MaximumProbability,
    "fixed": Fixed,
    "random": Random,
    "none": NoBoundary,
    "all": EveryGap,
}


class TopicSegmenter(Segmenter):
    """Cut a text by topic, by the method that suits its length.

    Parameters:
        long_from: Tokens from which a text is long.
        tokenizer: A `Tokenizer`, or an object with `spans(text)`; None for words.

    >>> mill, sky = "The mill wheel grinds grain.", "A planet orbits its star."
    >>> TopicSegmenter().segment("\\n".join([mill] * 8 + [sky] * 8)).boundaries.tolist()
    [40]
    """

    def __init__(self, *, long_from: int = 4000, tokenizer: Any = None) -> None:
        self.long_from = long_from
        self.tokenizer = tokenizer

    space: Space | None = None  # of a text that comes in blocks (streams.py)

    def _boundaries(self, text: TokenizedText, n_segments: int | None) -> Proposal:
        check_range("long_from", self.long_from, at_least=0, whole=True)
        if len(text) <= self.long_from:
            proposal = MaximumProbability()._boundaries(text, n_segments)
            return Proposal(proposal.boundaries, None, {"chosen": "probability"})
        tiling = LSITiling(context=12, n_dimensions=10, threshold=0.8)
        tiling.space = self.space
        signal = tiling._boundaries(text, None)
        count = len(signal.boundaries) + 1 if n_segments is None else n_segments
        details = {"chosen": "probability, as many segments as the latent signal has"}
        if count == 1:
            return Proposal(signal.boundaries, signal.gaps, details)
        places = MaximumProbability(units="sequence")._boundaries(text, count)
        return Proposal(places.boundaries, signal.gaps, details)


def segmenter_of(method: str, **options: Any) -> Segmenter:
    """The segmenter of a name: "auto" or one of `METHODS`.

    >>> segmenter_of("fixed", n_tokens=100)
    Fixed(n_tokens=100)
    """
    check_choice("method", method, ["auto", *METHODS])
    return TopicSegmenter(**options) if method == "auto" else METHODS[method](**options)
