"""Alignments: which features of two strings were matched, and what each match gave.

    G = (V, E),  V = features of the left and of the right string,  E = edges (i, j, weight)
    score = f(sum of weights) / normalizer

An alignment is the explanation of a score: `print(alignment)` shows it as text, with alignments of the sub-measure
inside, and `alignment.html()` draws it as a fragment of a page, without any library.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from textmill.strings.normalize import places_in

__all__ = ["Alignment", "Edge", "spans_of"]


@dataclass(frozen=True)
class Edge:
    """Left feature i matched with right feature j; None stands for the null vertex.

    `weight` is what the edge adds to the objective, `similarity` that of the two features by the sub-measure, and
    `nested` its alignment, where the sub-measure has one.
    """

    left: int | None
    right: int | None
    weight: float
    similarity: float
    nested: Alignment | None = None


@dataclass(frozen=True)
class Alignment:
    """Two strings, their features, the edges between them and the score these give."""

    measure: str
    left: str
    right: str
    left_features: tuple[str, ...]
    right_features: tuple[str, ...]
    edges: tuple[Edge, ...]
    score: float
    normalizer: float = field(default=1.0)

    @property
    def unmatched_left(self) -> tuple[int, ...]:
        """Positions of left features without an edge."""
        matched = {edge.left for edge in self.edges}
        return tuple(i for i in range(len(self.left_features)) if i not in matched)

    @property
    def unmatched_right(self) -> tuple[int, ...]:
        """Positions of right features without an edge."""
        matched = {edge.right for edge in self.edges}
        return tuple(j for j in range(len(self.right_features)) if j not in matched)

    def with_null_edges(self) -> Alignment:
        """Return the same alignment with every unmatched feature linked to the null vertex by an edge of weight 0."""
        null = [Edge(i, None, 0.0, 0.0) for i in self.unmatched_left]
        null += [Edge(None, j, 0.0, 0.0) for j in self.unmatched_right]
        return Alignment(
            self.measure,
            self.left,
            self.right,
            self.left_features,
            self.right_features,
            (*self.edges, *null),
            self.score,
            self.normalizer,
        )

    def restored(self, left: str, right: str) -> Alignment:
        """The alignment of names that were normalized, with the names as they came, and their parts.

        >>> alignment = Alignment("exact", "ann lee", "ann", ("ann", "lee"), ("ann",), (), 0.5)
        >>> alignment.restored("ANN  Lee", "Ann").left_features
        ('ANN', 'Lee')
        """
        sides = ((left, self.left, self.left_features), (right, self.right, self.right_features))
        x, y = (_restored(name, text, features) for name, text, features in sides)
        return replace(self, left=left, right=right, left_features=x, right_features=y)

    def contributions(self) -> list[float]:
        """Return what each edge adds to the score: its weight divided by the normalizer."""
        return [edge.weight / self.normalizer if self.normalizer else 0.0 for edge in self.edges]

    def __str__(self) -> str:
        return "\n".join(self._lines(""))

    def _lines(self, indent: str) -> Iterator[str]:
        yield f"{indent}{self.left!r} ~ {self.right!r}: {self.score:.6f} by {self.measure}"
        for edge, share in zip(self.edges, self.contributions(), strict=True):
            left = "-" if edge.left is None else self.left_features[edge.left]
            right = "-" if edge.right is None else self.right_features[edge.right]
            yield f"{indent}  {left} ~ {right}  similarity {edge.similarity:.6f}, adds {share:.6f}"
            if edge.nested is not None and edge.similarity < 1.0:
                yield from edge.nested._lines(indent + "    ")
        for side, features, unmatched in (
            ("left", self.left_features, self.unmatched_left),
            ("right", self.right_features, self.unmatched_right),
        ):
            if unmatched:
                yield f"{indent}  only {side}: {', '.join(features[k] for k in unmatched)}"

    def html(self) -> str:
        """Return a drawing as an SVG element: features in two rows, edges between them, stronger ones darker."""
        from html import escape

        place: list[list[float]] = []
        width = 0.0
        for features in (self.left_features, self.right_features):
            at, row = 10.0, []
            for feature in features:
                extent = 14.0 + 8.5 * max(1, len(feature))
                row.append(at + extent / 2)
                at += extent + 8
            place.append(row)
            width = max(width, at)
        parts = [f'<svg xmlns="http://www.w3.org/2000/svg" class="alignment" viewBox="0 0 {width:.0f} 120" ']
        parts[0] += f'width="{width:.0f}" height="120" role="img"><title>{escape(str(self))}</title>'
        for edge in self.edges:
            if edge.left is None or edge.right is None:
                continue
            opacity = 0.15 + 0.85 * min(1.0, max(0.0, edge.similarity))
            parts.append(
                f'<line x1="{place[0][edge.left]:.1f}" y1="34" x2="{place[1][edge.right]:.1f}" y2="86" '
                f'stroke="#1f5fa8" stroke-width="2" stroke-opacity="{opacity:.2f}"/>'
            )
        rows = ((self.left_features, self.unmatched_left, 24), (self.right_features, self.unmatched_right, 102))
        for row, (features, unmatched, y) in zip(place, rows, strict=True):
            for k, (x, feature) in enumerate(zip(row, features, strict=True)):
                color = "#999" if k in unmatched else "#111"
                parts.append(
                    f'<text x="{x:.1f}" y="{y}" text-anchor="middle" font-family="monospace" font-size="14" '
                    f'fill="{color}">{escape(feature)}</text>'
                )
        return "".join([*parts, "</svg>"])


def _restored(name: str, text: str, features: tuple[str, ...]) -> tuple[str, ...]:
    """Features of a normalized text as the name has them; those that are not found stay as they are."""
    if name == text:
        return features
    places = places_in(name, text)
    shown = []
    for feature, (start, end) in zip(features, spans_of(text, features), strict=True):
        inside = [place for place in places[start:end] if place >= 0]
        shown.append(name[min(inside) : max(inside) + 1] if inside and feature in text else feature)
    return tuple(shown)


def spans_of(text: str, features: tuple[str, ...]) -> list[tuple[int, int]]:
    """Where the features stand; neighbors may overlap, as n-grams do, and ^ and $ around a text are not in it."""
    spans, at = [], 0
    overlapping = sum(map(len, features)) > len(text)  # n-grams do
    for feature in features:
        plain = feature if feature in text else feature.removeprefix("^").removesuffix("$")
        start = text.find(plain, at)
        if start < 0:
            start = max(0, text.find(plain))
        spans.append((start, min(len(text), start + len(plain))))
        at = start + (1 if overlapping else len(plain))
    return spans
