"""Where callers say who they are, and how long they take: distributions of spans in marked messages.

    H = -sum_i n_i/N log2 n_i/N        entropy of start positions and of lengths, in bits

Few values and little entropy is what lets a classifier predict a start and a length as if they were words.
Cost: one pass. Reference: Jansche & Abney (2002), figures 1 to 4.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from textmill.errors import DataError
from textmill.tables import Table
from textmill.tasks.voicemail.messages import MarkedSpan, Message

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["SpanDistribution", "VoicemailStatistics", "describe_messages", "draw_distribution"]

_KINDS = ("caller start", "caller length", "name start", "name length", "number start", "number length")


class SpanDistribution(Table):
    """How often each start position, or each length, was seen.

    >>> lengths = SpanDistribution({2: 2, 3: 1, 4: 1})
    >>> lengths.entropy, lengths.largest, lengths.share_up_to(3)
    (1.5, 4, 0.75)
    """

    def __init__(self, counts: dict[int, int] | Counter[int]) -> None:
        self.counts = dict(sorted(counts.items()))
        self.total = sum(self.counts.values())

    @property
    def entropy(self) -> float:
        """Entropy in bits; 0 for nothing."""
        shares = [count / self.total for count in self.counts.values() if count]
        return max(0.0, -sum(share * math.log2(share) for share in shares))

    @property
    def largest(self) -> int | None:
        """The greatest value; None for nothing."""
        return max(self.counts, default=None)

    def share_up_to(self, value: int) -> float:
        """The share of spans with this value or less."""
        if not self.total:
            raise DataError("there are no spans, so they have no share; mark spans first")
        return sum(count for own, count in self.counts.items() if own <= value) / self.total

    def columns(self) -> dict[str, list[Any]]:
        """Return value, count, share and cumulative share."""
        sums = accumulate(self.counts.values())
        return {
            "value": list(self.counts),
            "count": list(self.counts.values()),
            "share": [count / self.total for count in self.counts.values()],
            "cumulative": [one / self.total for one in sums],
        }


@dataclass(frozen=True)
class VoicemailStatistics:
    """Counts of messages and spans; those of several files add.

    >>> from textmill.tasks.voicemail import parse_message
    >>> lines = ["", "<caller> it's me </caller>", "hi <caller> this is Pat </caller> call <telno> one two </telno>"]
    >>> statistics = describe_messages(map(parse_message, lines))
    >>> statistics.messages, statistics.empty, statistics.callers, statistics.names, statistics.numbers
    (3, 1, 2, 1, 1)
    >>> statistics.figures()["numbers per message"]
    0.5
    """

    messages: int = 0
    empty: int = 0
    words: int = 0
    callers: int = 0
    names: int = 0
    numbers: int = 0
    spans: dict[str, Counter[int]] = field(default_factory=lambda: {kind: Counter() for kind in _KINDS})

    def __add__(self, other: VoicemailStatistics) -> VoicemailStatistics:
        counts = {name: getattr(self, name) + getattr(other, name) for name in _COUNTS}
        return VoicemailStatistics(**counts, spans={kind: self.spans[kind] + other.spans[kind] for kind in _KINDS})

    def distribution(self, kind: str) -> SpanDistribution:
        """One of caller start, caller length, name start, name length, number start, number length."""
        if kind not in _KINDS:
            raise DataError(f"there is no distribution {kind!r}; there are {', '.join(_KINDS)}")
        return SpanDistribution(self.spans[kind])

    @property
    def distributions(self) -> dict[str, SpanDistribution]:
        """All of them by name."""
        return {kind: SpanDistribution(self.spans[kind]) for kind in _KINDS}

    def figures(self) -> dict[str, float]:
        """Counts and shares by name; shares of callers and numbers are of messages that are not empty."""
        spoken = self.messages - self.empty

        def share(part: int, whole: int) -> float:
            return part / whole if whole else 0.0

        return {
            "messages": self.messages,
            "empty": self.empty,
            "share empty": share(self.empty, self.messages),
            "words": self.words,
            "callers": self.callers,
            "share with caller": share(self.callers, spoken),
            "names": self.names,
            "share of callers with name": share(self.names, self.callers),
            "numbers": self.numbers,
            "numbers per message": share(self.numbers, spoken),
        }


_COUNTS = ("messages", "empty", "words", "callers", "names", "numbers")


def describe_messages(messages: Iterable[Message]) -> VoicemailStatistics:
    """Statistics of marked messages."""
    counts = dict.fromkeys(_COUNTS, 0)
    spans: dict[str, Counter[int]] = {kind: Counter() for kind in _KINDS}

    def add(kind: str, span: MarkedSpan) -> None:
        spans[f"{kind} start"][span.start] += 1
        spans[f"{kind} length"][span.end - span.start] += 1

    for message in messages:
        counts["messages"] += 1
        counts["empty"] += not message.tokens
        counts["words"] += len(message.tokens)
        caller, name = message.caller, message.name
        if caller is not None:
            counts["callers"] += 1
            add("caller", caller)
        if name is not None:
            counts["names"] += 1
            add("name", name)
        for number in message.marked("telno"):
            counts["numbers"] += 1
            add("number", number)
    return VoicemailStatistics(**counts, spans=spans)


def draw_distribution(statistics: VoicemailStatistics, kind: str, *, largest: int = 20) -> Figure:
    """Shares and cumulative shares of values up to `largest`, as curves."""
    from textmill.plot import lines

    distribution = statistics.distribution(kind)
    if not distribution.total:
        raise DataError(f"there are no spans of {kind.split()[0]}s to draw; mark some first")
    values = list(range(min(largest, distribution.largest or 0) + 1))
    shares = [distribution.counts.get(value, 0) / distribution.total for value in values]
    sums = [distribution.share_up_to(value) for value in values]
    title = f"{kind}: entropy {distribution.entropy:.2f} bits, at most {distribution.largest}"
    return lines(
        {"share": (values, shares), "up to here": (values, sums)}, x_label="words", y_label="share", title=title
    )
