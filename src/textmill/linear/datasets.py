"""Labeled data from files: records of text, SVMlight rows, events of named features.

    records    CSV, TSV, JSONL, Parquet: a text and a label in named fields          texts, for a `TextVectorizer`
    svmlight   "label column:value ..." (.svmlight, .svm, .libsvm)                   rows of numbers
    events     "label feature feature ..." one event a line (.events)                mappings, for `NamedFeatures`

A feature that an event names twice counts once. Cost: one pass; everything is held in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from textmill.corpus import open_lines, read_bags, read_documents, widened
from textmill.errors import DataError
from textmill.linear.counts.tables import check_count_rows
from textmill.model import check_range
from textmill.numeric import sparse

__all__ = ["Labeled", "data_kind", "read_labeled", "split_labeled"]

_SUFFIXES = {".svmlight": "svmlight", ".svm": "svmlight", ".libsvm": "svmlight", ".events": "events"}
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")


@dataclass(frozen=True)
class Labeled:
    """Data as a classifier takes them: X, the labels y, None where there are none, ids, and what X holds."""

    X: Any
    y: list[Any] | None
    ids: list[str]
    kind: str  # "texts", "rows" or "events"


def data_kind(source: str, format: str | None = None) -> str:  # noqa: A002
    """What a file holds, by its format or its suffix: "texts", "rows" or "events".

    >>> data_kind("a.svmlight.gz"), data_kind("b.jsonl"), data_kind("c.txt", "events")
    ('rows', 'texts', 'events')
    """
    name = source
    for suffix in _COMPRESSED:
        name = name.removesuffix(suffix)
    form = format or next((kind for suffix, kind in _SUFFIXES.items() if name.endswith(suffix)), None)
    return {"svmlight": "rows", "events": "events"}.get(form or "", "texts")


def read_labeled(
    sources: Sequence[str],
    *,
    label_field: str | None = "label",
    columns: int | None = None,
    format: str | None = None,  # noqa: A002
    categorical: bool = False,
    counts: bool = False,
    **reading: Any,
) -> Labeled:
    """Read labeled data; `reading` goes to `read_documents` for records.

    `label_field` is None for records whose labels are not wanted. `columns` is the number of columns that rows of
    numbers must have; shorter ones are filled up. With `counts` rows must hold whole numbers >= 0. With `categorical`
    events are lists of their features, "v=eat", as `CategoricalBayes` takes them, and nothing else will do.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "a.events").write_text("N v=eat p=with\\nV v=see p=with p=with\\n")
    ...     data = read_labeled([f"{folder}/a.events"])
    >>> data.y, data.X[1]
    (['N', 'V'], {'v=see': 1, 'p=with': 1})
    """
    kinds = {data_kind(source, format) for source in sources}
    if len(kinds) != 1:
        raise DataError(f"the files hold {' and '.join(sorted(kinds))}; pass files of one kind")
    kind = kinds.pop()
    if categorical:
        if kind != "events":
            raise DataError(f"naive Bayes over values takes events, 'label field=value ...', not {kind}; see --format")
        events = _events(sources)
        return Labeled([list(event) for event in events.X], events.y, events.ids, kind)
    if kind == "texts":
        return _texts(list(sources), label_field, format, reading)
    return _events(sources) if kind == "events" else _rows(sources, columns, counts)


def split_labeled(data: Labeled, *, share: float = 0.2, random_state: int = 0) -> tuple[Labeled, Labeled]:
    """Deal labeled data at random into a part to train on and a `share` to measure on; both keep the order.

    >>> data = Labeled(["a", "b", "c", "d", "e"], [1, 2, 1, 2, 1], ["1", "2", "3", "4", "5"], "texts")
    >>> train, test = split_labeled(data, random_state=1)
    >>> len(train.ids), len(test.X), sorted(train.X + test.X)
    (4, 1, ['a', 'b', 'c', 'd', 'e'])
    """
    check_range("share", share, above=0, below=1)
    size = len(data.ids)
    measured = round(share * size)
    if not 0 < measured < size:
        raise DataError(f"{size} rows cannot be dealt into two parts; pass more of them, or both parts")
    order = np.random.Generator(np.random.Philox(random_state)).permutation(size)
    return _part(data, np.sort(order[measured:])), _part(data, np.sort(order[:measured]))


def _part(data: Labeled, rows: Any) -> Labeled:
    chosen = rows.tolist()
    X = data.X[rows] if data.kind == "rows" else [data.X[i] for i in chosen]
    y = None if data.y is None else [data.y[i] for i in chosen]
    return Labeled(X, y, [data.ids[i] for i in chosen], data.kind)


def _texts(sources: list[str], label_field: str | None, form: str | None, reading: dict[str, Any]) -> Labeled:
    texts, labels, ids = [], [], []
    shared: dict[
        str, str
    ] = {}  # one string for each label: a million of them between the texts would hold their memory
    for document in read_documents(sources, format=form, **reading):
        if label_field is not None:
            label = document.fields.get(label_field)
            if label is None or isinstance(label, list | dict):
                names = ", ".join(map(str, document.fields)) or "none: this is plain text"
                raise DataError(
                    f"no label in the field '{label_field}'; the fields are {names}",
                    source=document.source,
                    line=document.line,
                )
            labels.append(label if isinstance(label, int) else shared.setdefault(str(label), str(label)))
        texts.append(document.text)
        ids.append(document.id)
    return Labeled(texts, labels if label_field is not None else None, ids, "texts")


def _events(sources: Sequence[str]) -> Labeled:
    events, labels, ids = [], [], []
    for source in sources:
        for number, line in open_lines(source):
            label, *features = line.split() or [""]
            if not label:
                continue
            events.append(dict.fromkeys(features, 1))
            labels.append(label)
            ids.append(f"{source}:{number}")
    if not events:
        raise DataError("there are no events; write 'label feature feature ...' on each line", source=sources[0])
    return Labeled(events, labels, ids, "events")


def _rows(sources: Sequence[str], columns: int | None, counts: bool) -> Labeled:
    parts: list[Any] = []
    labels: list[Any] = []
    ids: list[str] = []
    for source in sources:
        before, first = len(labels), len(parts)
        for X, y in read_bags(source, format="svmlight", negative=True).labeled():
            parts.append(X)
            labels += [int(label) if float(label).is_integer() else float(label) for label in y]
        if counts and parts[first:]:
            most = max(part.shape[1] for part in parts[first:])
            check_count_rows(sparse.vstack([widened(part, most) for part in parts[first:]], format="csr"), source)
        ids += [f"{source}:{number}" for number in range(1, len(labels) - before + 1)]
    if not parts:
        raise DataError("there are no rows; write 'label column:value ...' on each line", source=sources[0])
    most = max(part.shape[1] for part in parts)
    if columns is not None and most > columns:
        raise DataError(f"rows have {most} columns but the model has {columns}", source=sources[0])
    whole = columns or most
    X = sparse.vstack([widened(sparse.csr_matrix(part, dtype=np.float64), whole) for part in parts], format="csr")
    return Labeled(X, labels, ids, "rows")
