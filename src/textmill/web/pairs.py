"""Pairs of names to review: a list that was read once, aligned page by page when somebody looks at it."""

from __future__ import annotations

from typing import Any

from textmill.strings import DEFAULT_MEASURE, DEFAULT_STEPS, parse_measure
from textmill.tasks.names import NameList, PairRow, Proposal, propose, read_pairs

__all__ = ["PairList"]

_MOST = 200_000  # pairs of a list, the most similar ones


class PairList:
    r"""The pairs of a file, the most similar first.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pairs.tsv")
    ...     _ = path.write_text("id1\tid2\tscore\tname1\tname2\na\tb\t0.5\tAnn\tAnne\n")
    ...     pairs = PairList(str(path))
    >>> len(pairs), pairs.proposals(0, 5)[0].right[0]
    (1, ('Ann', 0.77, False))
    """

    def __init__(self, path: str) -> None:
        rows = sorted(read_pairs(path), key=lambda row: -row.score)[:_MOST]
        self.rows: list[PairRow] = rows
        self._places = {(row.id1, row.id2): place for place, row in enumerate(rows)}
        self._fitted: Any = None

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, pair: tuple[str, str]) -> bool:
        return pair in self._places

    def proposals(self, first: int, count: int) -> list[Proposal]:
        """Some pairs with their names aligned."""
        return [self.proposal(row) for row in self.rows[first : first + count]]

    def proposal(self, row: PairRow) -> Proposal:
        """One pair with its names aligned by a measure that has learned from the names of this list."""
        if self._fitted is None:
            names = dict.fromkeys(name for one in self.rows for name in (one.name1, one.name2))
            self._fitted = parse_measure(DEFAULT_MEASURE).fit(NameList.of(names).normalized(DEFAULT_STEPS))
        return propose(row, self._fitted, DEFAULT_STEPS)
