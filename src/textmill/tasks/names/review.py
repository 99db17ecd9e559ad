"""A page on which a person judges pairs: one HTML file that needs nothing else.

    pairs, a fitted measure -> aligned parts of both names -> review.html.j2 inside the page of `report`

Aligned parts are shaded by their similarity and letters that differ are underlined. The page sorts and filters, takes
accept, reject and don't know by mouse and keyboard, keeps the decisions in the browser, and gives them as gold TSV
(`id1, id2, pos|neg|unk`) by a button; `read_gold` reads that, `Gold.merge` adds it. Rows are drawn two hundred at a
time, so that some ten thousand pairs are no burden.

Cost: one alignment a pair. The same pairs give the same bytes.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from textmill.readable import printable
from textmill.strings import Alignment, Normalize, checked_names, normalizer_of, places_in, spans_of
from textmill.strings.measure import Fitted
from textmill.tasks.names.gold import Gold
from textmill.tasks.names.pairfiles import PairRow

if TYPE_CHECKING:
    from jinja2 import Template

    from textmill.report import Report

__all__ = ["Proposal", "propose", "review_page"]

_Parts: TypeAlias = list[tuple[str, float, bool]]  # text, how alike its partner is, whether just this part differs
_LONGEST = 250_000  # cells of an alignment that is worth its time


class Proposal(NamedTuple):
    """A pair to be judged, its names in parts: text, similarity of the aligned (0: not aligned), whether it differs."""

    pair: PairRow
    left: _Parts
    right: _Parts
    reasons: Sequence[str] = ()  # lines that explain the score


def propose(pair: PairRow, fitted: Fitted, normalize: Normalize = None) -> Proposal:
    """Cut the names of a pair into the parts that a measure has aligned.

    With `normalize`, normalized names are aligned, and the parts are those of the names as they came.

    >>> from textmill.strings import parse_measure
    >>> fitted = parse_measure("ml(words, sub=jaro)").fit(["Ann Smith", "Anne Smith", "Tom"])
    >>> propose(PairRow("a", "b", 0.9, "Ann Smith", "Anne Smith"), fitted).right
    [('Ann', 0.92, False), ('e', 0.92, True), (' ', 0.0, False), ('Smith', 1.0, False)]
    >>> propose(PairRow("a", "b", 0.9, "ann smith", "ANNE Smith"), fitted, ["case"]).right
    [('ANN', 0.92, False), ('E', 0.92, True), (' ', 0.0, False), ('Smith', 1.0, False)]
    """
    if len(pair.name1) * len(pair.name2) > _LONGEST:  # pages of text, not names: shown whole
        strength = min(1.0, max(0.0, pair.score))
        return Proposal(pair, [(pair.name1, strength, False)], [(pair.name2, strength, False)])
    first, second = checked_names([pair.name1, pair.name2])
    normalizer = normalizer_of(normalize)
    left, right = (first, second) if normalizer is None else (normalizer(first), normalizer(second))
    return Proposal(pair, *_aligned(fitted.align(left, right), (first, second)))


def review_page(proposals: Iterable[Proposal], *, title: str = "Pairs to review", gold: Gold | None = None) -> Report:
    """The page, ready to be written; pairs that the gold knows are shown as decided.

    >>> page = review_page([Proposal(PairRow("a", "b", 0.5, "A", "B"), [("A", 0.0, False)], [("B", 0.0, False)])])
    >>> "Download decisions" in page.render()
    True
    """
    from markupsafe import Markup

    pairs = [
        {
            "ids": [printable(proposal.pair.id1), printable(proposal.pair.id2)],
            "score": proposal.pair.score,
            "left": [(printable(text), round(strength, 3), differs) for text, strength, differs in proposal.left],
            "right": [(printable(text), round(strength, 3), differs) for text, strength, differs in proposal.right],
            "reasons": [printable(line) for line in proposal.reasons],
            "label": None if gold is None else gold.label(proposal.pair.id1, proposal.pair.id2),
        }
        for proposal in proposals
    ]
    digest = hashlib.blake2b(repr([pair["ids"] for pair in pairs]).encode(), digest_size=8).hexdigest()
    from textmill.report import Report  # a score alone needs no page

    report = Report(title, subtitle=f"{len(pairs)} pairs, the most similar first.")
    report.html(Markup(_template().render(pairs=pairs, key=digest)))  # the template escapes all texts
    return report


@functools.cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    rules = Environment(autoescape=True, undefined=StrictUndefined)
    return rules.from_string(
        resources.files("textmill.tasks.names").joinpath("review.html.j2").read_text(encoding="utf-8")
    )


def _aligned(alignment: Alignment, names: tuple[str, str]) -> tuple[_Parts, _Parts]:
    """The parts of both names: features that are matched, with the letters in which they differ."""
    sides = ((alignment.left, alignment.left_features), (alignment.right, alignment.right_features))
    spans = [spans_of(text, features) for text, features in sides]
    strengths = [[0.0] * len(text) for text, _ in sides]
    differs = [[False] * len(text) for text, _ in sides]
    for edge in alignment.edges:
        if edge.left is None or edge.right is None or edge.similarity <= 0:
            continue
        (a, b), (c, d) = spans[0][edge.left], spans[1][edge.right]
        same = SequenceMatcher(None, alignment.left[a:b], alignment.right[c:d], autojunk=False).get_matching_blocks()
        for side, start, stop, blocks in (
            (0, a, b, [(m.a, m.size) for m in same]),
            (1, c, d, [(m.b, m.size) for m in same]),
        ):
            inside = {start + at + k for at, size in blocks for k in range(size)}
            for place in range(start, stop):
                strengths[side][place] = max(strengths[side][place], edge.similarity)
                differs[side][place] = place not in inside
    parts = []
    for name, (text, _), marks in zip(names, sides, zip(strengths, differs, strict=True), strict=True):
        parts.append(_runs(name, *(marks if name == text else _moved(name, text, *marks))))
    return parts[0], parts[1]


def _moved(name: str, text: str, strengths: list[float], differs: list[bool]) -> tuple[list[float], list[bool]]:
    """Marks of a normalized text, at the characters of the name that they come from."""
    strength, differ = [0.0] * len(name), [False] * len(name)
    for place, strong, other in zip(places_in(name, text), strengths, differs, strict=True):
        if place >= 0:
            strength[place], differ[place] = max(strength[place], strong), differ[place] or other
    return strength, differ


def _runs(text: str, strengths: list[float], differs: list[bool]) -> _Parts:
    """Neighboring characters of the same kind together."""
    parts: _Parts = []
    start = 0
    for place in range(1, len(text) + 1):
        end = place == len(text)
        if end or (strengths[place], differs[place]) != (strengths[start], differs[start]):
            parts.append((text[start:place], round(strengths[start], 2), differs[start]))
            start = place
    return parts
