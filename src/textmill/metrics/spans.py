"""How well proposed spans match gold ones, by three criteria.

A span is (first token, one past the last token, label). A proposed span is right

    "strict"             if a gold span has the same label and the same edges
    "containment"        if it contains exactly one whole gold span of its label; more material around it is allowed
    "name containment"   if it contains at least one whole gold span of its label: gold spans are the names inside
                         phrases, and the phrase with the full name in it is right

and a gold span is matched if a right proposal has it:

    precision = right / proposed       recall = matched / gold       F = 2 precision recall / (precision + recall)

By the strict criterion right and matched are equal, and this is the F of conlleval. Two proposals that contain one gold
span are both right, but the span is matched once. Figures of spans in transcribed speech differ much between criteria:
print strict and containment side by side.

Cost: proposed times gold spans of a text. References: Huang, Zweig & Padmanabhan (2001); Jansche & Abney (2002).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from textmill.errors import DataError
from textmill.metrics._inputs import choice
from textmill.metrics.conventions import conventions, merged, signature

__all__ = ["SPAN_CRITERIA", "SpanCounts", "span_counts"]

SPAN_CRITERIA = ("strict", "containment", "name containment")

_Span: TypeAlias = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class SpanCounts:
    """Proposed spans and those that are right, gold spans and those that were matched; sums of texts add.

    >>> counts = SpanCounts(right=3780, proposed=4315, matched=3780, gold=4352)
    >>> [f"{100 * figure:.2f}" for figure in (counts.precision, counts.recall, counts.f1)]
    ['87.60', '86.86', '87.23']
    """

    right: int = 0
    proposed: int = 0
    matched: int = 0
    gold: int = 0
    conventions: str = ""

    def __post_init__(self) -> None:
        for part, whole in (("right", "proposed"), ("matched", "gold")):
            if not 0 <= getattr(self, part) <= getattr(self, whole):
                raise DataError(f"{part} is {getattr(self, part)} of {getattr(self, whole)} {whole} spans; check both")

    def __add__(self, other: SpanCounts) -> SpanCounts:
        return SpanCounts(
            self.right + other.right,
            self.proposed + other.proposed,
            self.matched + other.matched,
            self.gold + other.gold,
            merged(self.conventions, other.conventions),
        )

    @property
    def precision(self) -> float:
        """Share of the proposed spans that are right; 0 where there are none."""
        return self.right / self.proposed if self.proposed else 0.0

    @property
    def recall(self) -> float:
        """Share of the gold spans that were matched; 0 where there are none."""
        return self.matched / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    @property
    def signature(self) -> str:
        """Criterion and version, to print beside the figures."""
        name, *choices = (self.conventions or "spans").split("|")
        return signature(name, **dict(one.split(":", 1) for one in choices))


def span_counts(
    gold: Sequence[Iterable[_Span]], predicted: Sequence[Iterable[_Span]], criterion: str = "strict"
) -> SpanCounts:
    """Count the spans of some texts, gold and proposed ones of each.

    >>> gold, predicted = [[(2, 4, "caller")]], [[(1, 5, "caller")]]
    >>> [span_counts(gold, predicted, criterion).right for criterion in SPAN_CRITERIA]
    [0, 1, 1]
    """
    choice("criterion", criterion, SPAN_CRITERIA)
    if len(gold) != len(predicted):
        raise DataError(f"there are gold spans of {len(gold)} texts but proposed ones of {len(predicted)}; give both")
    right = proposed = matched = total = 0
    for number, (truth, answer) in enumerate(zip(gold, predicted, strict=True), 1):
        spans, claims = _checked(truth, number), _checked(answer, number)
        proposed += len(claims)
        total += len(spans)
        if criterion == "strict":
            both = len(set(spans) & set(claims))
            right, matched = right + both, matched + both
            continue
        covered: set[_Span] = set()
        for start, end, label in claims:
            inside = [span for span in spans if start <= span[0] and span[1] <= end and span[2] == label]
            if len(inside) == 1 or (inside and criterion == "name containment"):
                right += 1
                covered.update(inside)
        matched += len(covered)
    return SpanCounts(right, proposed, matched, total, conventions("spans", match=criterion.replace(" ", "-")))


def _checked(spans: Iterable[_Span], text: int) -> list[_Span]:
    """The spans of one text, each once."""
    checked = list(dict.fromkeys((int(start), int(end), str(label)) for start, end, label in spans))
    for start, end, label in checked:
        if not 0 <= start < end:
            raise DataError(f"text {text}: span ({start}, {end}, {label!r}) is empty; give first and one past the last")
    return checked
