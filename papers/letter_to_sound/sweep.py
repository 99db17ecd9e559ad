"""Accuracy, nodes and bytes of a model for every context and every triple of weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from textmill.tables import Table
from textmill.tasks.pronunciation.evaluation import evaluate_pronunciations, model_size
from textmill.tasks.pronunciation.evidence import RulePair
from textmill.tasks.pronunciation.lexicon import Entry
from textmill.tasks.pronunciation.model import PronunciationModel

if TYPE_CHECKING:
    pass

__all__ = ["SweepTable", "sweep"]


class SweepTable(Table):
    """One row for each setting: context, weights, figures, nodes and bytes."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows

    def columns(self) -> dict[str, list[Any]]:
        """Return the figures by column."""
        return {name: [row[name] for row in self.rows] for name in self.rows[0]} if self.rows else {}


def sweep(
    train: Sequence[Entry],
    test: Sequence[Entry],
    *,
    contexts: Sequence[int] = (0, 1, 2, 3),
    weights: Sequence[Sequence[float]] = ((0.0, 0.9, 0.1),),
    rules: Sequence[RulePair] = (),
    **parameters: Any,
) -> SweepTable:
    """Train and evaluate a model for every context and every triple of weights.

    >>> entries = [Entry("ab", ("A", "B")), Entry("ba", ("B", "A"))]
    >>> sweep(entries, entries, contexts=[0, 1]).to_dict()["word_accuracy"]
    [1.0, 1.0]
    """
    rows = []
    for triple in weights:
        for context in contexts:
            model = PronunciationModel(**{**parameters, "context": context, "weights": tuple(triple)})
            model.fit([e.word for e in train], [e.phonemes for e in train], rules=rules)
            counts = evaluate_pronunciations(model, test)
            rows.append(
                {
                    "context": context,
                    "rules": triple[0],
                    "lexicon": triple[1],
                    "uniform": triple[2],
                    "accuracy": counts.accuracy,
                    "precision": counts.precision,
                    "recall": counts.recall,
                    "aligned_words": counts.aligned_word_accuracy,
                    "word_accuracy": counts.word_accuracy,
                    "phoneme_errors": counts.phoneme_error_rate,
                    "nodes": model.tree_.n_nodes_,
                    "kB": model_size(model) / 1000,
                }
            )
    return SweepTable(rows)
