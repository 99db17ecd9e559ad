"""How many candidates the number grammar proposes for each number there is, and how many numbers it misses."""

from __future__ import annotations

from collections.abc import Sequence

from textmill.metrics import span_counts
from textmill.tasks.voicemail.messages import MarkedSpan, Message
from textmill.tasks.voicemail.numbers import NumberGrammar

__all__ = ["grammar_figures"]


def grammar_figures(
    messages: Sequence[Message], grammar: NumberGrammar | None = None, *, min_digits: int = 1
) -> dict[str, float]:
    """Recall of the number grammar, its candidates for each number there is, and its precision, strictly.

    >>> from textmill.tasks.voicemail import parse_message
    >>> grammar_figures([parse_message("at two call <telno> five five five one </telno>")])
    {'candidates': 2, 'numbers': 1, 'recall': 1.0, 'ratio': 2.0, 'precision': 0.5}
    """
    numbers = (grammar or NumberGrammar()).find_all(messages)
    spans = [
        [MarkedSpan(n.start, n.end, "telno") for n in own if len(n.digits) + len(n.extension) >= min_digits]
        for own in numbers
    ]
    counts = span_counts([message.marked("telno") for message in messages], spans)
    ratio = counts.proposed / counts.gold if counts.gold else 0.0
    return {
        "candidates": counts.proposed,
        "numbers": counts.gold,
        "recall": counts.recall,
        "ratio": ratio,
        "precision": counts.precision,
    }
