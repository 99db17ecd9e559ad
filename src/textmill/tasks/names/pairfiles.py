r"""Files of matched pairs, written as they are found, and of the clusters they make.

    pairs     id1, id2, score (of a learned model: probability), name1, name2
    clusters  id, cluster (numbered from 1), canonical (the id of the name that stands for the cluster), name

    tsv       a header and one line for each row; tabs and line ends in names become spaces
    jsonl     one object for each line, with these fields
    parquet   these columns, a row group for every few ten thousand rows

Compressed if the suffix says so (news.tsv.gz). A file takes its name when all of it is written. Memory: one block.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

from textmill.corpus import binary_writer, read_records, writer
from textmill.errors import DataError
from textmill.model import check_choice
from textmill.strings.matcher import Clusters
from textmill.strings.pairs import Pairs
from textmill.tasks.names.collection import NameList

__all__ = ["PAIR_FORMATS", "ClusterRow", "PairRow", "read_pairs", "write_clusters", "write_pairs"]

PAIR_FORMATS = ("jsonl", "parquet", "tsv")

_ROWS = 1 << 15  # pairs in a row group
_Row: TypeAlias = "PairRow | _ProbabilityRow | ClusterRow"
_Write: TypeAlias = Callable[[Sequence["_Row"]], None]


class PairRow(NamedTuple):
    """A pair as files have it."""

    id1: str
    id2: str
    score: float
    name1: str
    name2: str


class _ProbabilityRow(NamedTuple):
    """A pair with the probability that it is a match."""

    id1: str
    id2: str
    probability: float
    name1: str
    name2: str


class ClusterRow(NamedTuple):
    """A name with its cluster, as files have it."""

    id: str
    cluster: int
    canonical: str
    name: str


def write_pairs(
    target: str | os.PathLike[str],
    blocks: Iterable[Pairs],
    names: NameList,
    other: NameList | None = None,
    *,
    format: str | None = None,  # noqa: A002
    score: str = "score",
) -> int:
    """Write blocks of pairs to a path or "-" (standard output) and return how many pairs there were.

    `format` is one of `PAIR_FORMATS`, by default that of the suffix, and TSV where there is none. `score` is what the
    column of scores is called: "score" or "probability".

    >>> names = NameList.of(["Ann Smith", "Anne Smith"], ids=["a", "b"])
    >>> write_pairs("-", [Pairs.of([(0, 1, 0.875)])], names, format="jsonl")
    {"id1": "a", "id2": "b", "score": 0.875, "name1": "Ann Smith", "name2": "Anne Smith"}
    1
    """
    kind = _kind(os.fspath(target), format)
    right = names if other is None else other
    count = 0
    check_choice("score", score, ["score", "probability"])
    row_type = PairRow if score == "score" else _ProbabilityRow
    with _writing(target, kind, row_type) as write:
        for block in blocks:
            rows = [
                row_type(names.ids[i], right.ids[j], score, names.names[i], right.names[j])
                for i, j, score in zip(block.left.tolist(), block.right.tolist(), block.score.tolist(), strict=True)
            ]
            write(rows)
            count += len(rows)
    return count


def write_clusters(
    target: str | os.PathLike[str],
    names: NameList,
    clusters: Clusters,
    *,
    format: str | None = None,  # noqa: A002
) -> int:
    """Write every name with its cluster, cluster by cluster, and return how many clusters have several names.

    >>> from textmill.strings import Matcher
    >>> names = NameList.of(["Ann Smith", "Tom Jones", "Anne Smith"], ids=["a", "b", "c"])
    >>> write_clusters("-", names, Matcher().fit(names).clusters(), format="jsonl")
    {"id": "a", "cluster": 1, "canonical": "c", "name": "Ann Smith"}
    {"id": "c", "cluster": 1, "canonical": "c", "name": "Anne Smith"}
    {"id": "b", "cluster": 2, "canonical": "b", "name": "Tom Jones"}
    1
    """
    groups = clusters.groups.tolist()
    rows = [
        ClusterRow(names.ids[i], groups[i] + 1, names.ids[clusters.names[groups[i]]], names.names[i])
        for i in sorted(range(len(names)), key=lambda i: (groups[i], i))
    ]
    with _writing(target, _kind(os.fspath(target), format), ClusterRow) as write:
        write(rows)
    return sum(size > 1 for size in Counter(groups).values())


def read_pairs(source: str | os.PathLike[str], *, errors: str = "strict") -> Iterator[PairRow]:
    r"""Yield the pairs of a file that `write_pairs` has written, or of any table with its fields.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pairs.tsv")
    ...     _ = path.write_text("id1\tid2\tscore\tname1\tname2\na\tb\t0.5\tA\tB\n")
    ...     list(read_pairs(path))
    [PairRow(id1='a', id2='b', score=0.5, name1='A', name2='B')]
    """
    for record in read_records(source, errors=errors):
        place: dict[str, Any] = {"source": record.source, "line": record.line}
        if "score" not in record.fields and "probability" in record.fields:
            record.fields["score"] = record.fields["probability"]
        for field in PairRow._fields:
            if record.fields.get(field) is None:
                names = ", ".join(record.fields)
                fault = f"no field {field!r}; the fields are {names}; pass a file made by `textmill match dedupe`"
                raise DataError(fault, **place)
        try:
            score = float(record.fields["score"])
        except (TypeError, ValueError):
            value = record.fields["score"]
            raise DataError(f"the score {value!r} is not a number", column="score", **place) from None
        texts = [str(record.fields[field]) for field in ("id1", "id2", "name1", "name2")]
        yield PairRow(texts[0], texts[1], score, texts[2], texts[3])


def _kind(name: str, format: str | None) -> str:  # noqa: A002
    if format is not None:
        if format not in PAIR_FORMATS:
            raise DataError(f"format must be one of {', '.join(PAIR_FORMATS)}, not {format!r}")
        return format
    stem, suffix = os.path.splitext(name.lower())
    if suffix in (".gz", ".bz2", ".xz", ".zst"):
        suffix = os.path.splitext(stem)[1]
    if suffix in ("", ".txt"):
        return "tsv"
    if suffix[1:] not in PAIR_FORMATS:
        raise DataError(f"pairs are not written as {suffix}; use .tsv, .jsonl or .parquet", source=name)
    return suffix[1:]


@contextmanager
def _writing(target: str | os.PathLike[str], kind: str, row_type: type[_Row]) -> Iterator[_Write]:
    """A function that writes rows, while the file is open."""
    if kind == "parquet":
        with _parquet(target, row_type) as write:
            yield write
        return
    with writer(target) as out:
        if kind == "tsv":
            out.write("\t".join(row_type._fields) + "\n")

        def write_lines(rows: Sequence[_Row]) -> None:
            if kind == "jsonl":
                out.writelines(json.dumps(row._asdict(), ensure_ascii=False) + "\n" for row in rows)
            else:
                out.writelines("\t".join(map(_cell, row)) + "\n" for row in rows)

        yield write_lines


@contextmanager
def _parquet(target: str | os.PathLike[str], row_type: type[_Row]) -> Iterator[_Write]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        name = os.fspath(target)
        raise DataError("Parquet needs the pyarrow library: pip install 'textmill[parquet]'", source=name) from None
    if os.fspath(target) == "-":
        raise DataError("Parquet cannot be written to standard output; name a file with -o")
    kinds = {"score": pyarrow.float64(), "probability": pyarrow.float64(), "cluster": pyarrow.int64()}
    schema = pyarrow.schema({field: kinds.get(field, pyarrow.string()) for field in row_type._fields})
    with binary_writer(target) as raw, pyarrow.parquet.ParquetWriter(raw, schema) as table:
        waiting: list[_Row] = []

        def flush(rows: Sequence[_Row]) -> None:
            columns = zip(*rows, strict=True) if rows else itertools.repeat([], len(schema))
            table.write_table(
                pyarrow.table(dict(zip(row_type._fields, map(list, columns), strict=True)), schema=schema)
            )

        def write_rows(rows: Sequence[_Row]) -> None:
            waiting.extend(rows)
            while len(waiting) >= _ROWS:
                flush(waiting[:_ROWS])
                del waiting[:_ROWS]

        yield write_rows
        flush(waiting)


def _cell(value: object) -> str:
    """A value in a line: a score by six decimals, a text without tabs and line ends."""
    return f"{value:.6f}" if isinstance(value, float) else re.sub(r"[\t\r\n]+", " ", str(value))
