r"""What is known about pairs of names: positive, negative, don't know; and names that are none.

    tsv, pairs      id1 <TAB> id2 <TAB> pos | neg | unk         id <TAB> <TAB> discard for a name that is none
    tsv, clusters   id <TAB> cluster: same cluster, same entity

A header is recognized by its first field, `id1` or `id`. Clusters give positive pairs only; a pair without a label is
negative for whoever evaluates, unless told otherwise. Pairs of one collection have no direction; those between two
collections go from the first to the second (`symmetric=False`), because both may use the same ids.

Cost: one pass; memory is the labeled pairs. Reference: Moreau, Yvon & Cappé (2008), section 4.1.
"""

from __future__ import annotations

import itertools
import os
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from textmill.corpus import BadRecords, open_lines, writer
from textmill.errors import DataError
from textmill.tasks.names.collection import NameList

__all__ = ["LABELS", "Gold", "read_gold", "write_gold"]

LABELS = ("pos", "neg", "unk")

_Pair: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Gold:
    """Labels of pairs by the ids of their names, and the ids of names that are to be left out.

    >>> gold = Gold({("b", "a"): "pos", ("a", "c"): "unk"})
    >>> gold.label("a", "b"), gold.label("b", "c"), gold.positives
    ('pos', None, [('a', 'b')])
    """

    labels: Mapping[_Pair, str] = field(default_factory=dict)
    discarded: frozenset[str] = frozenset()
    symmetric: bool = True

    def __post_init__(self) -> None:
        labels: dict[_Pair, str] = {}
        for (one, other), label in self.labels.items():
            if label not in LABELS:
                raise DataError(f"label {label!r} of the pair {one!r}, {other!r} is none of {', '.join(LABELS)}")
            pair = self._key(one, other)
            if labels.setdefault(pair, label) != label:
                raise DataError(f"the pair {one!r}, {other!r} is labeled {labels[pair]} and {label}; remove one")
        object.__setattr__(self, "labels", labels)

    @classmethod
    def from_clusters(cls, names: NameList, other: NameList | None = None) -> Gold:
        """Positive pairs of names in the same cluster, within a collection or between two.

        A collection of two relations gives only pairs between them; an empty cluster is none.

        >>> Gold.from_clusters(NameList.of(["A", "a", "B"], clusters=[1, 1, 2])).positives
        [('1', '2')]
        """
        if names.clusters is None or (other is not None and other.clusters is None):
            raise DataError("the names have no clusters; add a column 'cluster', or pass a file of gold pairs")
        if other is not None:
            right = _members(other)
            pairs = [(a, b) for key, of in _members(names).items() for a in of for b in right.get(key, ())]
            return cls(dict.fromkeys(pairs, "pos"), symmetric=False)
        crossing = len(set(names.relations or ())) == 2
        relation = dict(zip(names.ids, names.relations or itertools.repeat(""), strict=False))
        pairs = [
            pair
            for of in _members(names).values()
            for pair in itertools.combinations(of, 2)
            if not crossing or relation[pair[0]] != relation[pair[1]]
        ]
        return cls(dict.fromkeys(pairs, "pos"))

    def label(self, one: str, other: str) -> str | None:
        """The label of a pair, None if it has none."""
        return self.labels.get(self._key(one, other))

    @property
    def positives(self) -> list[_Pair]:
        """The positive pairs, sorted."""
        return sorted(pair for pair, label in self.labels.items() if label == "pos")

    def counts(self) -> dict[str, int]:
        """How many pairs have each label, and how many names are discarded.

        >>> Gold({("a", "b"): "neg"}).counts()
        {'pos': 0, 'neg': 1, 'unk': 0, 'discarded': 0}
        """
        counts = Counter(self.labels.values())
        return {label: counts[label] for label in LABELS} | {"discarded": len(self.discarded)}

    def merge(self, newer: Gold) -> Gold:
        """Both together; where they differ the newer label counts.

        >>> Gold({("a", "b"): "unk"}).merge(Gold({("b", "a"): "pos"})).labels
        {('a', 'b'): 'pos'}
        """
        if self.symmetric != newer.symmetric:
            raise DataError("labels within a collection and labels between two do not merge; they name other pairs")
        return Gold({**self.labels, **newer.labels}, self.discarded | newer.discarded, self.symmetric)

    def places(
        self, names: NameList, other: NameList | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int8]]:
        """Row, column and label (0 pos, 1 neg, 2 unk) of every pair whose names are not discarded, sorted.

        >>> gold = Gold({("b", "a"): "pos"})
        >>> [part.tolist() for part in gold.places(NameList.of(["A", "B"], ids=["a", "b"]))]
        [[0], [1], [0]]
        """
        left = names.positions()
        right = left if other is None else other.positions()
        rows = []
        for (one, two), label in self.labels.items():
            if one in self.discarded or two in self.discarded:
                continue
            for key, positions in ((one, left), (two, right)):
                if key not in positions:
                    raise DataError(f"gold pair {one!r}, {two!r}: no name has the id {key!r}; correct it or remove it")
            i, j = left[one], right[two]
            if other is None and i > j:
                i, j = j, i
            rows.append((i, j, LABELS.index(label)))
        table = np.array(sorted(rows), dtype=np.int64).reshape(-1, 3)
        return table[:, 0], table[:, 1], table[:, 2].astype(np.int8)

    def _key(self, one: str, other: str) -> _Pair:
        return (other, one) if self.symmetric and other < one else (one, other)


def read_gold(
    source: str | os.PathLike[str],
    *,
    names: NameList | None = None,
    other: NameList | None = None,
    errors: str = "strict",
) -> Gold:
    r"""Read labeled pairs or clusters. With `names` (and `other`, between two collections) every id must be there.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "gold.tsv")
    ...     _ = path.write_text("b\ta\tpos\nc\t\tdiscard\n")
    ...     gold = read_gold(path)
    >>> gold.labels, sorted(gold.discarded)
    ({('a', 'b'): 'pos'}, ['c'])
    """
    name = os.fspath(source)
    ids = [None if part is None else frozenset(part.ids) for part in (names, other or names)]
    labels: dict[_Pair, str] = {}
    discarded: set[str] = set()
    clusters: dict[str, str] = {}
    gold = Gold(symmetric=other is None)
    with BadRecords(errors, "stdin" if name == "-" else name) as bad:
        for line, row in _rows(name, bad):
            fault = _fault(row, ids, gold.symmetric)
            if fault is None and len(row) == 2:
                if other is not None:
                    fault = "a file of clusters is for one collection; pass pairs between two"
                elif clusters.setdefault(*row) != row[1]:
                    fault = f"id {row[0]!r} stands in cluster {clusters[row[0]]!r} above and in {row[1]!r} here"
                    fault += "; remove one"
            elif fault is None and row[2] == "discard":
                discarded.add(row[0])
            elif fault is None:
                pair = gold._key(row[0], row[1])
                if labels.setdefault(pair, row[2]) != row[2]:
                    fault = f"the pair {row[0]!r}, {row[1]!r} is labeled {labels[pair]} above and {row[2]} here"
                    fault += "; remove one"
            if fault is not None:
                bad(DataError(fault, source=bad.source, line=line))
    together = (
        Gold.from_clusters(NameList([*clusters], [*clusters], clusters=[*clusters.values()])) if clusters else gold
    )
    return Gold({**together.labels, **labels}, frozenset(discarded), gold.symmetric)


def write_gold(target: str | os.PathLike[str], gold: Gold) -> None:
    r"""Write labeled pairs as TSV, sorted, the discarded names at the end.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_gold(f"{folder}/gold.tsv", Gold({("b", "a"): "pos"}, frozenset(["z"])))
    ...     pathlib.Path(folder, "gold.tsv").read_text().split("\n")
    ['a\tb\tpos', 'z\t\tdiscard', '']
    """
    rows: Iterable[tuple[str, str, str]] = itertools.chain(
        ((*pair, label) for pair, label in sorted(gold.labels.items())),
        ((key, "", "discard") for key in sorted(gold.discarded)),
    )
    with writer(target) as out:
        for row in rows:
            if any(c in part for part in row for c in "\t\n\r"):
                raise DataError(f"the id {row[0]!r} or {row[1]!r} holds a tab or a line end; give the names other ids")
            out.write("\t".join(row) + "\n")


def _members(names: NameList) -> dict[str, list[str]]:
    """Ids by cluster."""
    members: dict[str, list[str]] = defaultdict(list)
    for key, cluster in zip(names.ids, names.clusters or (), strict=True):
        if cluster:
            members[cluster].append(key)
    return members


def _rows(name: str, bad: BadRecords) -> Iterator[tuple[int, list[str]]]:
    """Fields of the lines that are not blank, without blanks around them and without a header."""
    first = True
    for line, text in open_lines(name, errors=bad):
        if not text.strip():
            continue
        row = [field.strip() for field in text.split("\t")]
        if not (first and row[0] in ("id", "id1")):
            yield line, row
        first = False


def _fault(row: list[str], ids: list[frozenset[str] | None], symmetric: bool) -> str | None:
    """What is wrong with a row."""
    if len(row) not in (2, 3):
        return f"{len(row)} fields; a row is id1, id2 and a label, or id and cluster, parted by tabs"
    if not row[0]:
        return "the id is empty"
    if len(row) == 3 and row[2] not in (*LABELS, "discard"):
        return f"label {row[2]!r} is none of {', '.join(LABELS)}, discard"
    if len(row) == 3 and row[2] != "discard" and symmetric and row[0] == row[1]:
        return f"the pair of {row[0]!r} with itself says nothing; remove it"
    checked: Collection[str] = row[:2] if len(row) == 3 and row[2] != "discard" else row[:1]
    for key, side in zip(checked, ids, strict=False):
        if side is not None and key not in side:
            return f"no name has the id {key!r}; correct it, or remove the line"
    return None
