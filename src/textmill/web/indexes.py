"""Articles of index files: ids, titles and neighbors; each file is one method beside the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from textmill.web.library import Entry

__all__ = ["IndexSource", "Near", "near_of"]

_NOTHING = "no document has anything in common with the question"


class Near(NamedTuple):
    """A neighbor: id, title and score."""

    id: str
    title: str
    score: float


class IndexSource:
    """One index as a method: what is near to a document or to a text.

    >>> import tempfile
    >>> from textmill.tasks import SimilarDocuments
    >>> from textmill.web.library import open_entry
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     SimilarDocuments().fit(["old mill", "the sea", "mill and sea"]).save(f"{folder}/words.mill")
    ...     source = IndexSource(open_entry("words", f"{folder}/words.mill"))
    >>> source.neighbors("0", 5)[0].title
    'mill and sea'
    """

    def __init__(self, entry: Entry) -> None:
        self._index: Any = entry.value
        alive = self._index.index_.ids_[self._index.index_.alive_]
        self._rows = dict(zip(self._index.names_.take(alive), alive.tolist(), strict=True))

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, id: str) -> bool:  # noqa: A002
        return id in self._rows

    def is_quick(self, k: int) -> bool:
        """Whether neighbors are there already; here they are searched."""
        return False

    def title(self, id: str) -> str:  # noqa: A002
        """What is shown of a document."""
        return str(self._index.titles_[self._rows[id]])

    def listed(self, search: str, first: int, count: int) -> tuple[int, list[tuple[str, str]]]:
        """Ids and titles that contain some letters, and how many there are."""
        wanted = search.casefold().strip()
        if not wanted:
            ids = list(self._rows)[first : first + count]
            return len(self._rows), [(one, self.title(one)) for one in ids]
        fitting = [one for one in self._rows if wanted in one.casefold() or wanted in self.title(one).casefold()]
        return len(fitting), [(one, self.title(one)) for one in fitting[first : first + count]]

    def neighbors(self, id: str, k: int) -> list[Near]:  # noqa: A002
        """The documents nearest to one."""
        return self._related(near_of(self._index.query_ids([id], k=k)[0]))

    def search(self, texts: Sequence[str], k: int) -> list[tuple[list[Near], str | None]]:
        """The documents nearest to each text, and why there are none."""
        answers = [(self._related(near_of(one)), one.reason) for one in self._index.query(texts, k=k)]
        return [(near, reason if near or reason else _NOTHING) for near, reason in answers]

    def _related(self, near: list[Near]) -> list[Near]:
        """Without those that have nothing in common with the question: a cosine of 0."""
        return [one for one in near if one.score != 0.0] if self._index.measure == "cosine" else near


def near_of(matches: Any) -> list[Near]:
    """The rows of an answer."""
    titles = matches.titles or [""] * len(matches.ids)
    scores = matches.scores.tolist()
    return [Near(*one) for one in zip(matches.ids, titles, scores, strict=True)]
