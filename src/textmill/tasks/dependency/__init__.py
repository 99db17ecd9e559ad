"""A dependency parser that can be read: which bunsetsu of a Japanese sentence depends on which.

attributes   what is said of a bunsetsu, and the features of a question about two of them
conllu       the same for CoNLL-U files
parser       DependencyParser: a deterministic parser that asks a sparse classifier
evaluation   dependency and sentence accuracy, by distance, and what was taken for what
sample       sentences for demonstrations
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.tasks.dependency.attributes import SHAPES, Encoded, attributes_of, encode
    from textmill.tasks.dependency.conllu import parse_conllu, units_of, with_unit_heads
    from textmill.tasks.dependency.evaluation import (
        DependencyError,
        DependencyScores,
        error_page,
        evaluate,
        find_errors,
    )
    from textmill.tasks.dependency.parser import DependencyParser, Events, extract_events
    from textmill.tasks.dependency.sample import sample_sentences

__all__ = [
    "SHAPES",
    "DependencyError",
    "DependencyParser",
    "DependencyScores",
    "Encoded",
    "Events",
    "attributes_of",
    "encode",
    "error_page",
    "evaluate",
    "extract_events",
    "find_errors",
    "parse_conllu",
    "sample_sentences",
    "units_of",
    "with_unit_heads",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "attributes": "Encoded SHAPES attributes_of encode",
        "conllu": "parse_conllu units_of with_unit_heads",
        "evaluation": "DependencyError DependencyScores error_page evaluate find_errors",
        "parser": "DependencyParser Events extract_events",
        "sample": "sample_sentences",
    },
)
