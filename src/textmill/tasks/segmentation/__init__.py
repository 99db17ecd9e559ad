"""Cutting texts by topic: where one subject ends and the next begins, and chunks for retrieval.

automatic     TopicSegmenter: the cut that suits a text; METHODS by name
stability     how fine a text is to be cut: the granularity at which little changes
tiling        TextTiling, LSITiling, Hearst: minima of a signal over the gaps, or the optimum in a latent space
c99           C99: ranks of the similarities of sentences
probability   MaximumProbability: the cut that makes the words most probable
segmenter     what all of them share: limits of length, snapping, cuts given in advance
segments      a text cut into segments, in every form
chunks        Chunker: chunks of at most n tokens
streams       a text of any length, in bounded memory
signals       similarities across gaps, smoothing, minima, depths
rules         which gaps are boundaries
texts         a text as numbered words
building      a text with known boundaries
evaluation    scores of segmenters
pages         pictures and pages
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.tasks.segmentation.automatic import METHODS, TopicSegmenter, segmenter_of
    from textmill.tasks.segmentation.building import Reference, reference_of
    from textmill.tasks.segmentation.c99 import C99
    from textmill.tasks.segmentation.chunks import Chunk, Chunker
    from textmill.tasks.segmentation.evaluation import SegmentationScores, evaluate_segmenters
    from textmill.tasks.segmentation.pages import draw_scores, draw_segments, scores_page, segments_page
    from textmill.tasks.segmentation.probability import MaximumProbability
    from textmill.tasks.segmentation.segmenter import Precut, Segmenter
    from textmill.tasks.segmentation.segments import Segments
    from textmill.tasks.segmentation.streams import segment_stream
    from textmill.tasks.segmentation.texts import TokenizedText, tokenized
    from textmill.tasks.segmentation.tiling import Hearst, LSITiling, TextTiling

__all__ = [
    "C99",
    "METHODS",
    "Chunk",
    "Chunker",
    "Hearst",
    "LSITiling",
    "MaximumProbability",
    "Precut",
    "Reference",
    "SegmentationScores",
    "Segmenter",
    "Segments",
    "TextTiling",
    "TokenizedText",
    "TopicSegmenter",
    "draw_scores",
    "draw_segments",
    "evaluate_segmenters",
    "reference_of",
    "scores_page",
    "segment_stream",
    "segmenter_of",
    "segments_page",
    "tokenized",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "automatic": "METHODS TopicSegmenter segmenter_of",
        "building": "Reference reference_of",
        "c99": "C99",
        "chunks": "Chunk Chunker",
        "evaluation": "SegmentationScores evaluate_segmenters",
        "pages": "draw_scores draw_segments scores_page segments_page",
        "probability": "MaximumProbability",
        "segmenter": "Precut Segmenter",
        "segments": "Segments",
        "streams": "segment_stream",
        "texts": "TokenizedText tokenized",
        "tiling": "Hearst LSITiling TextTiling",
    },
)
