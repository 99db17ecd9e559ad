"""Documents that are nearly the same: all pairs above a score, groups of them, and a page with both texts side by side.

Pairs are exact: each part of the collection is searched by itself (`Index.pairs`) and every two parts against each
other. On the page words that stand in both texts in the same order are plain, the others are marked.
"""

from __future__ import annotations

import difflib
import html
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from textmill.model import check_range
from textmill.numeric import csgraph, sparse
from textmill.report import Report
from textmill.tables import Rows
from textmill.tasks.similarity.methods import similarities

if TYPE_CHECKING:
    import os

    from textmill.tasks.similarity.collection import Collection

__all__ = ["NearPair", "duplicate_groups", "near_duplicates", "write_duplicates"]

_BLOCK = 1024  # rows that are asked together
_WORDS = 2000  # of a text on the page


class NearPair(NamedTuple):
    """Two documents and their score."""

    score: float
    left: str
    right: str


def near_duplicates(collection: Collection, *, threshold: float = 0.9, method: str | None = None) -> Rows[NearPair]:
    """Return all pairs of documents with at least this score, the highest first.

    >>> from textmill.tasks.similarity import Collection
    >>> from textmill.vectors import TextVectorizer, Weighting
    >>> words = TextVectorizer(weighting=Weighting(idf="smooth"))
    >>> library = Collection.create("twins", ["corn mill", "mill corn", "a storm"], methods={"words": words})
    >>> [(row.left, row.right) for row in near_duplicates(library)]
    [('0', '1')]
    """
    check_range("threshold", threshold, above=0, at_most=1)
    snapshot = collection.snapshot
    chosen = snapshot.method(method)
    # the score back to what an index is asked for: a cosine, or a distance
    limit = {"cosine": threshold, "hellinger": 1 - threshold, "euclidean": 1 / threshold - 1}[chosen.measure]
    pairs: list[tuple[float, int, int]] = []
    parts = [part for part in snapshot.parts if part.indexes]
    for i, part in enumerate(parts):
        numbers = part.numbers[part.alive]
        for begin in range(0, len(numbers), _BLOCK):
            some = numbers[begin : begin + _BLOCK]
            rows = part.indexes[chosen.name].vectors_of(some)
            for other in parts[i:]:
                deny = other.dead if len(other.dead) else None
                ranked = other.indexes[chosen.name].nearest(rows, threshold=limit, deny=deny)
                left = np.repeat(some, np.diff(ranked.offsets))
                later = ranked.ids > left
                scores = similarities(chosen.measure, ranked.keys[later])
                pairs += zip(scores.tolist(), left[later].tolist(), ranked.ids[later].tolist(), strict=True)
    pairs.sort(key=lambda pair: (-pair[0], pair[1], pair[2]))
    return Rows([NearPair(score, _name(collection, a), _name(collection, b)) for score, a, b in pairs], NearPair)


def duplicate_groups(pairs: Rows[NearPair]) -> list[list[str]]:
    """Return the groups of documents that pairs connect, the largest first.

    >>> duplicate_groups(Rows([NearPair(1.0, "a", "b"), NearPair(0.9, "b", "c")], NearPair))
    [['a', 'b', 'c']]
    """
    names = list(dict.fromkeys(name for pair in pairs for name in (pair.left, pair.right)))
    places = {name: place for place, name in enumerate(names)}
    left, right = ([places[name] for name in side] for side in (map(_left, pairs), map(_right, pairs)))
    graph = sparse.coo_matrix((np.ones(len(pairs)), (left, right)), shape=(len(names), len(names)))
    labels = csgraph.connected_components(graph, directed=False)[1] if names else []
    groups: dict[int, list[str]] = {}
    for name, label in zip(names, labels, strict=True):
        groups.setdefault(int(label), []).append(name)
    return sorted(groups.values(), key=lambda group: (-len(group), group))


def write_duplicates(
    collection: Collection, pairs: Rows[NearPair], path: str | os.PathLike[str], *, most: int = 50
) -> None:
    """Write a page with the pairs and, for the first of them, both texts side by side."""
    from markupsafe import Markup

    report = Report("Documents that are nearly the same", subtitle=collection.folder.name)
    report.facts([(str(len(pairs)), "pairs"), (str(len(duplicate_groups(pairs))), "groups")])
    report.table(["score", "left", "right"], list(pairs), caption="Pairs, the most similar first.")
    for pair in pairs[:most]:
        left, right = collection.get(pair.left), collection.get(pair.right)
        collection.snapshot.text(pair.left)  # an error if there are no texts to show
        report.heading(f"{pair.left} and {pair.right}", level=2)
        cells = "".join(
            f'<td style="vertical-align: top; width: 50%"><h4>{html.escape(article.title)}</h4><p>{text}</p></td>'
            for article, text in zip((left, right), _marked(left.words, right.words), strict=True)
        )
        report.html(Markup(f"<table><tr>{cells}</tr></table>"))
    report.write(path)


def _marked(left: str, right: str) -> tuple[str, str]:
    """Both texts as HTML, with marks around what only one of them has."""
    words = left.split()[:_WORDS], right.split()[:_WORDS]
    texts: tuple[list[str], list[str]] = ([], [])
    for tag, a, b, c, d in difflib.SequenceMatcher(None, *words, autojunk=False).get_opcodes():
        for side, (begin, end) in enumerate(((a, b), (c, d))):
            text = html.escape(" ".join(words[side][begin:end]))
            if text:
                texts[side].append(text if tag == "equal" else f"<mark>{text}</mark>")
    return " ".join(texts[0]), " ".join(texts[1])


def _left(pair: NearPair) -> str:
    return pair.left


def _right(pair: NearPair) -> str:
    return pair.right


def _name(collection: Collection, number: int) -> str:
    place = collection.snapshot.by_number(number)
    return place.part.documents.ids_[place.row]
