r"""Collections of names, and the files they come from.

    tsv            id <TAB> name [<TAB> type [<TAB> count]], or any columns under a header that names them
    csv, jsonl, parquet     the fields id, name, type, count, cluster; all but the name may be missing
    txt            a name a line; the id is the line number
    secondstring   relation <TAB> key <TAB> name: equal keys are one entity, which makes the cluster; the id is the line

A header is recognized by a field "name" in the first line of a TSV file. Ids are unique and names not empty; a record
that breaks this is raised, or left out and counted (errors="skip"). The paper keeps names that occur at least twice and
those of three types: `NameList.filter`.

Cost: one pass. Reference: Moreau, Yvon & Cappé, Robust similarity measures for named entities matching (2008), section
4.1, for the collections; README of SecondString for its format.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textmill.corpus import BadRecords, open_lines, read_records
from textmill.errors import DataError
from textmill.strings import Normalize, normalizer_of

__all__ = ["FORMATS", "NameList", "read_names"]

FORMATS = ("csv", "jsonl", "ndjson", "parquet", "secondstring", "tsv", "txt")

_Rows: TypeAlias = Iterator[tuple[int, dict[str, Any]]]
_POSITIONS = ("id", "name", "type", "count")  # columns of a TSV file without a header


@dataclass(frozen=True, slots=True, eq=False)
class NameList:
    """Names with their ids; types, counts, clusters (same value, same entity) and relations where they are known.

    >>> names = NameList.of(["J. Smith", "John Smith", "ACME"], types=["person", "person", "organization"])
    >>> len(names), names.ids, names.filter(types=["person"]).names
    (3, ['1', '2', '3'], ['J. Smith', 'John Smith'])
    """

    ids: list[str]
    names: list[str]
    types: list[str] | None = None
    counts: NDArray[np.int64] | None = None
    clusters: list[str] | None = None
    relations: list[str] | None = None

    def normalized(self, normalize: Normalize) -> NameList:
        """The names as they are compared, after steps of `textmill.strings.STEPS` or a function.

        >>> NameList.of(["ANN Smith"]).normalized(["case"]).names
        ['ann smith']
        """
        normalizer = normalizer_of(normalize)
        return self if normalizer is None else replace(self, names=[normalizer(name) for name in self.names])

    @classmethod
    def of(
        cls,
        names: Iterable[str],
        *,
        ids: Iterable[object] | None = None,
        types: Iterable[str] | None = None,
        counts: ArrayLike | None = None,
        clusters: Iterable[object] | None = None,
    ) -> NameList:
        """A collection from columns: lists, arrays, series, Arrow columns; ids are 1, 2, 3, ... unless they are given.

        Blanks around ids, types and clusters do not count.

        >>> NameList.of(["Jean Dupré", "J. Dupré"], clusters=[7, 7]).clusters
        ['7', '7']
        """
        names, ids, types, clusters = (_column(column) for column in (names, ids, types, clusters))
        texts = list(names)
        for number, text in enumerate(texts, 1):
            if not isinstance(text, str):
                raise DataError(f"name {number} is a {type(text).__name__}, not text; convert it or leave it out")
        count = len(texts)
        keys = [str(i).strip() for i in (range(1, count + 1) if ids is None else ids)]
        _check_length("ids", len(keys), count)
        for i, first in _repeated(keys):
            raise DataError(f"id {keys[i]!r} of name {i + 1} is also that of name {first + 1}; ids must be unique")
        columns = [None if column is None else [str(v).strip() for v in column] for column in (types, clusters)]
        for what, column in zip(("types", "clusters"), columns, strict=True):
            if column is not None:
                _check_length(what, len(column), count)
        numbers = None if counts is None else np.asarray(_column(counts), dtype=np.int64)
        if numbers is not None:
            _check_length("counts", numbers.size, count)
            if count and numbers.min() < 1:
                raise DataError(f"counts holds {int(numbers.min())}; a name that is there occurs at least once")
        return cls(keys, texts, columns[0], numbers, columns[1])

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def positions(self) -> dict[str, int]:
        """Where each id stands.

        >>> NameList.of(["A", "B"], ids=["x", "y"]).positions()
        {'x': 0, 'y': 1}
        """
        return {name: i for i, name in enumerate(self.ids)}

    def select(self, places: Iterable[int]) -> NameList:
        """The names at these places, in this order.

        >>> NameList.of(["A", "B", "C"]).select([2, 0]).ids
        ['3', '1']
        """
        chosen = [int(i) for i in places]

        def pick(column: list[str] | None) -> list[str] | None:
            return None if column is None else [column[i] for i in chosen]

        return NameList(
            [self.ids[i] for i in chosen],
            [self.names[i] for i in chosen],
            pick(self.types),
            None if self.counts is None else self.counts[chosen],
            pick(self.clusters),
            pick(self.relations),
        )

    def filter(
        self, *, min_count: int = 1, types: Sequence[str] | None = None, without: Iterable[str] = ()
    ) -> NameList:
        """The names that occur often enough, are of one of these types, and whose ids are not in `without`.

        >>> NameList.of(["A", "B", "C"], counts=[1, 2, 5]).filter(min_count=2, without=["3"]).names
        ['B']
        """
        if min_count > 1 and self.counts is None:
            raise DataError("the names have no counts, so min_count cannot be applied; add a column 'count'")
        if types is not None and self.types is None:
            raise DataError("the names have no types, so none can be chosen; add a column 'type'")
        dropped = set(without)
        return self.select(
            i
            for i, key in enumerate(self.ids)
            if key not in dropped
            and (self.counts is None or self.counts[i] >= min_count)
            and (types is None or self.types is None or self.types[i] in types)
        )

    def split(self) -> tuple[NameList, NameList]:
        """The two relations of a SecondString file, in the order of their first names.

        >>> both = NameList(["1", "2"], ["A", "B"], relations=["left", "right"])
        >>> [part.names for part in both.split()]
        [['A'], ['B']]
        """
        relations = list(dict.fromkeys(self.relations or ()))
        if len(relations) != 2 or self.relations is None:
            raise DataError(f"the names come from {len(relations)} relations; two are needed to match one with another")
        first, second = ([i for i, of in enumerate(self.relations) if of == one] for one in relations)
        return self.select(first), self.select(second)


def read_names(
    source: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
    name_field: str = "name",
    id_field: str = "id",
    delimiter: str = ",",
    encoding: str = "utf-8",
    errors: str = "strict",
) -> NameList:
    r"""Read a collection from a path or "-" (standard input); `format` is one of `FORMATS`, by default the suffix.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "people.tsv")
    ...     _ = path.write_text("a\tJohn Smith\tperson\t3\nb\tJ. Smith\tperson\t1\n")
    ...     people = read_names(path)
    >>> people.ids, people.names, people.types, people.counts.tolist()
    (['a', 'b'], ['John Smith', 'J. Smith'], ['person', 'person'], [3, 1])
    """
    if format is not None and format not in FORMATS:
        raise DataError(f"format must be one of {', '.join(FORMATS)}, not {format!r}")
    name = os.fspath(source)
    kind = format or ("txt" if name == "-" else _suffix(name))
    with BadRecords(errors, "stdin" if name == "-" else name) as bad:
        if kind == "tsv":
            rows = _tsv(name, bad, encoding, name_field)
        elif kind == "secondstring":
            rows = _secondstring(name, bad, encoding)
        elif kind == "txt":
            rows = (
                (n, {id_field: str(n), name_field: line}) for n, line in _lines(name, bad, encoding) if line.strip()
            )
        else:
            records = read_records(name, format=kind, delimiter=delimiter, encoding=encoding, errors=errors)
            rows = ((record.line, record.fields) for record in records)
        return _collect(rows, bad, name_field, id_field)


def _suffix(name: str) -> str | None:
    """The format a file name tells; None leaves it to `read_records`, which says what it does not know."""
    stem, suffix = os.path.splitext(name.lower())
    if suffix in (".gz", ".bz2", ".xz", ".zst"):
        suffix = os.path.splitext(stem)[1]
    return suffix[1:] if suffix[1:] in FORMATS else None


def _collect(rows: _Rows, bad: BadRecords, name_field: str, id_field: str) -> NameList:
    """Check the rows and make columns of them."""
    ids: dict[str, int] = {}
    names: list[str] = []
    counts: list[int] = []
    more: dict[str, list[str]] = {"type": [], "cluster": [], "relation": []}
    seen: set[str] = set()
    for line, fields in rows:
        fault = _fault(fields, name_field, id_field)
        key = str(fields.get(id_field, line)).strip()
        if fault is None and key in ids:
            fault = f"id {key!r} is also that of line {ids[key]}; ids must be unique", id_field
        if fault is not None:
            bad(DataError(fault[0], source=bad.source, line=line, column=fault[1]))
            continue
        ids[key] = line
        names.append(fields[name_field])
        counts.append(int(fields.get("count") or 1))
        for field, column in more.items():
            value = fields.get(field)
            column.append("" if value is None else str(value).strip())
        seen.update(fields)
    columns = {field: values if field in seen else None for field, values in more.items()}
    numbers = np.array(counts, dtype=np.int64) if "count" in seen else None
    return NameList(list(ids), names, columns["type"], numbers, columns["cluster"], columns["relation"])


def _fault(fields: dict[str, Any], name_field: str, id_field: str) -> tuple[str, str] | None:
    """What is wrong with a record, and in which field."""
    if name_field not in fields:
        names = ", ".join(map(repr, list(fields)[:10])) or "none"
        return f"no field {name_field!r}; the fields are {names}; name the right one with name_field", name_field
    name = fields[name_field]
    if not isinstance(name, str) or not name.strip():
        what = "empty" if name is None or isinstance(name, str) else f"a {type(name).__name__}, not text"
        return f"the name is {what}; complete or remove it, or pass errors='skip'", name_field
    key = fields.get(id_field)
    if id_field in fields and (key is None or not str(key).strip()):
        return "the id is empty; give every name its own, or leave the column out", id_field
    count = fields.get("count")
    try:
        if count not in (None, "") and (int(count) != float(count) or int(count) < 1):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        return f"the count {count!r} is not a whole number of at least 1", "count"
    return None


def _lines(name: str, bad: BadRecords, encoding: str) -> Iterator[tuple[int, str]]:
    return open_lines(name, encoding=encoding, errors=bad)


def _tsv(name: str, bad: BadRecords, encoding: str, name_field: str) -> _Rows:
    """Rows of tab-separated fields, by a header or by position; all must have as many as the first."""
    columns: Sequence[str] = ()
    for line, text in _lines(name, bad, encoding):
        if not text.strip():
            continue
        row = text.split("\t")
        if not columns:
            if name_field in row and len(set(row)) == len(row):
                columns = row
                continue
            columns = _POSITIONS[: len(row)]
        if not 2 <= len(row) <= 4 and columns == _POSITIONS[: len(columns)]:
            fault = f"{len(row)} fields; a row is id, name and perhaps type and count, parted by tabs"
            bad(DataError(f"{fault}; pass format='txt' for a name a line", source=bad.source, line=line))
        elif len(row) != len(columns):
            fault = f"{len(row)} fields where the first row has {len(columns)}; is a tab missing or inside a name?"
            bad(DataError(fault, source=bad.source, line=line))
        else:
            yield line, dict(zip(columns, row, strict=True))


def _secondstring(name: str, bad: BadRecords, encoding: str) -> _Rows:
    """Rows of relation, key and name; more fields belong to the name."""
    for line, text in _lines(name, bad, encoding):
        if not text.strip():
            continue
        row = text.split("\t")
        if len(row) < 3:
            fault = f"{len(row)} fields; a row is relation, key and name, parted by tabs"
            bad(DataError(fault, source=bad.source, line=line))
        else:
            key = row[1].strip().strip('"').strip()
            yield line, {"id": str(line), "name": " ".join(row[2:]).strip(), "relation": row[0], "cluster": key}


def _column(values: Any) -> Any:
    """The values of a column, those of Arrow as Python has them."""
    return values.to_pylist() if hasattr(values, "to_pylist") else values


def _check_length(what: str, length: int, expected: int) -> None:
    if length != expected:
        raise DataError(f"{what} has {length} entries for {expected} names; pass one a name")


def _repeated(keys: list[str]) -> Iterator[tuple[int, int]]:
    """Places of keys that stood before, with their first place."""
    first: dict[str, int] = {}
    for i, key in enumerate(keys):
        if first.setdefault(key, i) != i:
            yield i, first[key]
