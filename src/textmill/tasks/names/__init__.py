"""Lists of names that mean the same: pairs, groups, labels, measures compared.

jobs    find pairs within a list or between two, group them, compare measures on labels, prepare pairs for labels
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.tasks.names.jobs import (
        MEASURES_TO_COMPARE,
        Found,
        compare,
        curves,
        dedupe,
        evaluate_measures,
        join,
        normalised,
        pool,
        review,
        review_pairs,
    )

__all__ = [
    "MEASURES_TO_COMPARE",
    "Found",
    "compare",
    "curves",
    "dedupe",
    "evaluate_measures",
    "join",
    "normalised",
    "pool",
    "review",
    "review_pairs",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "jobs": "MEASURES_TO_COMPARE Found compare curves dedupe evaluate_measures join normalised pool review "
        "review_pairs",
    },
)
