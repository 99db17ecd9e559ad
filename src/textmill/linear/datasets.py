"""Labeled data from files: records of text, folders of classes, SVMlight rows, events of named features.

    records    CSV, TSV, JSONL, Parquet: a text and a label in named fields          texts, for a `TextVectorizer`
    folders    one folder for each label, with a file for each text                  texts
    svmlight   "label column:value ..." (.svmlight, .svm, .libsvm)                   rows of numbers
    events     "label feature feature ...", one event per line (.events)             mappings, for `NamedFeatures`
    vw         "label |namespace feature:value ..." of Vowpal Wabbit (.vw)           mappings

SVMlight and Vowpal Wabbit files are recognized by their first lines, too. Columns of SVMlight files keep the numbers
that they have in the file, from 1 or from 0, as names. Columns and features that a model was not trained with are left
out, counted and reported by one warning. A feature that an event names twice counts once, in Vowpal Wabbit files twice.

Cost: one pass; everything is held in memory.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from textmill.arrays import Ids
from textmill.corpus import NamedFeatures, open_lines, open_source, read_bags, read_documents
from textmill.errors import DataError, warn_caller
from textmill.linear.counts.tables import check_count_rows
from textmill.model import StringTable, check_range
from textmill.numeric import sparse
from textmill.readable import counted

__all__ = ["Labeled", "data_kind", "read_labeled", "split_labeled"]

_SUFFIXES = {".svmlight": "svmlight", ".svm": "svmlight", ".libsvm": "svmlight", ".events": "events", ".vw": "vw"}
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
_KINDS = {"svmlight": "rows", "events": "events", "vw": "events"}
_PAIRS = r"(\s+\d+:[-+.\deE]+)"
_IS_ROW = re.compile(rf"\s*[-+]?\d[-+.,\deE]*(\s+qid:\d+)?{_PAIRS}*\s*(#.*)?")
_HAS_PAIR = re.compile(_PAIRS)
_IS_EXAMPLE = re.compile(r"\s*([-+]?\d\S*(\s+[\d.]+)?(\s+'?[^\s|:]+)?\s*)?\|(\S*\s.*)?")
_MOST = np.iinfo(np.int32).max
_BEGINNING = 1 << 16  # bytes that tell the format
_NAMED = 8  # columns or features in a warning


@dataclass(frozen=True)
class Labeled:
    """Data as a classifier takes them: X, the labels y, None where there are none, ids, and what X holds.

    `columns` are the numbers of the columns of X in an SVMlight file, None for texts and events.
    """

    X: Any
    y: list[Any] | None
    ids: list[str]
    kind: str  # "texts", "rows" or "events"
    columns: Ids | None = None

    @property
    def names(self) -> NamedFeatures | None:
        """The columns by their numbers in the file, as a fitted vectorizer; None for texts and events."""
        if self.columns is None:
            return None
        names = NamedFeatures()
        names.names_ = StringTable(list(map(str, self.columns.tolist())))
        return names

    def without_empty_columns(self) -> Labeled:
        """The same data without the columns that no row has, which a model would hold in vain.

        >>> data = Labeled(sparse.csr_matrix([[0.0, 2.0]]), [1], ["1"], "rows", np.array([1, 2], np.int32))
        >>> data.without_empty_columns().names.names_.to_list()
        ['2']
        """
        if self.columns is None:
            return self
        used = np.unique(self.X.indices)
        return replace(self, X=_in_columns(self.X, used)[0], columns=self.columns[used])


def data_kind(source: str, format: str | None = None) -> str:  # noqa: A002
    """What a file holds, by its format, its suffix or its first lines: "texts", "rows" or "events".

    >>> data_kind("a.svmlight.gz"), data_kind("b.jsonl"), data_kind("c.txt", "events")
    ('rows', 'texts', 'events')
    """
    return _KINDS.get(_format_of(source, format) or "", "texts")


def _format_of(source: str, chosen: str | None) -> str | None:
    """The format that was chosen, or that of a file of rows or events; None for all others."""
    name = source
    for suffix in _COMPRESSED:
        name = name.removesuffix(suffix)
    suffix = os.path.splitext(name)[1]
    if chosen is not None or suffix in _SUFFIXES:
        return chosen or _SUFFIXES[suffix]
    if not os.path.isfile(source):
        return None
    with open_source(source) as opened:
        head = opened.stream.read(_BEGINNING) if opened.format == "txt" else b""
    lines = head.decode("utf-8", "replace").splitlines()
    if len(head) == _BEGINNING:
        lines.pop()  # it may be cut
    whole = [line for line in lines if line.strip() and not line.startswith("#")]
    if whole and all(map(_IS_ROW.fullmatch, whole)) and any(map(_HAS_PAIR.search, whole)):
        return "svmlight"
    return "vw" if whole and all(map(_IS_EXAMPLE.fullmatch, whole)) else None


def read_labeled(
    sources: Sequence[str],
    *,
    label_field: str | None = "label",
    columns: NamedFeatures | int | None = None,
    format: str | None = None,  # noqa: A002
    categorical: bool = False,
    counts: bool = False,
    **reading: Any,
) -> Labeled:
    """Read labeled data; `reading` goes to `read_documents` for records.

    `label_field` is None for records whose labels are not wanted. `columns` are those of a model: its vectorizer, or
    their number; what the data have beyond them is left out, with a warning that counts it. With `counts` rows must
    hold whole numbers >= 0. With `categorical` events are lists of their features, "v=eat", as `CategoricalBayes` takes
    them, and nothing else will do.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "a.events").write_text("N v=eat p=with\\nV v=see p=with p=with\\n")
    ...     data = read_labeled([f"{folder}/a.events"])
    >>> data.y, data.X[1]
    (['N', 'V'], {'v=see': 1, 'p=with': 1})
    """
    forms = {source: _format_of(source, format) for source in sources}
    kinds = {_KINDS.get(form or "", "texts") for form in forms.values()}
    if len(kinds) != 1:
        raise DataError(f"the files hold {' and '.join(sorted(kinds))}; pass files of one kind")
    kind = kinds.pop()
    if categorical:
        if kind != "events":
            raise DataError(f"naive Bayes over values takes events, 'label field=value ...', not {kind}; see --format")
        events = _events(forms, with_labels=True)
        return Labeled([list(event) for event in events.X], events.y, events.ids, kind)
    if kind == "texts":
        return _texts(list(sources), label_field, format, reading)
    if kind == "rows":
        return _rows(sources, columns, counts)
    events = _events(forms, with_labels=label_field is not None)
    if isinstance(columns, NamedFeatures):
        _report_unknown_features(events.X, columns)
    return events


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
    return Labeled(X, y, [data.ids[i] for i in chosen], data.kind, data.columns)


def _texts(sources: list[str], label_field: str | None, form: str | None, reading: dict[str, Any]) -> Labeled:
    texts, labels, ids = [], [], []
    folders = [os.path.join(source, "") for source in sources if os.path.isdir(source)]
    shared: dict[
        str, str
    ] = {}  # one string for each label: a million of them between the texts would hold their memory
    for document in read_documents(sources, format=form, **reading):
        if label_field is not None:
            label = document.fields.get(label_field)
            if label is None and label_field not in document.fields:
                label = _folder_of(document.source, folders)
            if label is None or isinstance(label, list | dict):
                raise _no_label(document, label_field, label, bool(folders))
            labels.append(label if isinstance(label, int) else shared.setdefault(str(label), str(label)))
        texts.append(document.text)
        ids.append(document.id)
    return Labeled(texts, labels if label_field is not None else None, ids, "texts")


def _folder_of(name: str, folders: Sequence[str]) -> str | None:
    """The name of the first folder on the way from one of `folders` to a file, which is the label of the file."""
    for folder in folders:
        if name.startswith(folder):
            below, *more = name.removeprefix(folder).split(os.sep)
            return below if more else None
    return None


def _no_label(document: Any, field: str, value: Any, in_folder: bool) -> DataError:
    """Why a document has no label."""
    place: dict[str, Any] = {"source": document.source, "line": document.line}
    if value is not None:
        remedy = "keep one, or train a model for each, on a file in which the label is yes or no"
        return DataError(f"the field '{field}' holds several labels; {remedy}", **place)
    names = ", ".join(map(str, document.fields))
    if not document.plain:
        return DataError(f"no label in the field '{field}'; the fields are {names}", **place)
    remedy = (
        "put the files into one folder for each label" if in_folder else "pass a file with fields, a folder for each"
    )
    if not in_folder:
        remedy += " label, or rows of numbers with --format svmlight"
    return DataError(f"no label: this is plain text, without a field '{field}'; {remedy}", **place)


def _events(forms: Mapping[str, str | None], *, with_labels: bool) -> Labeled:
    events: list[Mapping[str, float]] = []
    labels: list[Any] = []
    ids: list[str] = []
    label: Any
    for source, form in forms.items():
        for number, line in open_lines(source):
            if not line.strip():
                continue
            if form == "vw":
                label, event = _example(line, source, number)
                if label is None and with_labels:
                    raise DataError("no label before the |; write one, such as 1 or -1", source=source, line=number)
            else:
                label, *features = line.split()
                event = dict.fromkeys(features, 1)
            events.append(event)
            labels.append(label)
            ids.append(f"{source}:{number}")
    if not events:
        raise DataError("there are no events; write 'label feature feature ...' on each line", source=next(iter(forms)))
    return Labeled(events, labels if with_labels else None, ids, "events")


def _example(line: str, source: str, number: int) -> tuple[int | float | None, dict[str, float]]:
    """Label and features of a line of Vowpal Wabbit; features are named "namespace^feature", as its audit does."""
    place: dict[str, Any] = {"source": source, "line": number}
    head, bar, rest = line.partition("|")
    if not bar:
        raise DataError("no | between the label and the features of Vowpal Wabbit", **place)
    words = head.split()
    if words and (words[-1].startswith("'") or not head[-1:].isspace()) and not _number(words[-1]):
        words.pop()  # the tag of the example
    if any(":" in word or "," in word for word in words):
        remedy = "give each line one label, or train a model for each"
        raise DataError(f"several labels or costs, {head.strip()!r}; {remedy}", **place)
    numbers = [_number(word) for word in words]
    if None in numbers:
        raise DataError(f"{head.strip()!r} is no label of Vowpal Wabbit; write a number before the |", **place)
    if numbers[1:2] not in ([], [1.0]) or numbers[2:]:
        remedy = "leave it out, or repeat the line; in Python pass sample_weight"
        raise DataError(f"an importance or a base, {' '.join(words[1:])!r}, is not read; {remedy}", **place)
    event: dict[str, float] = {}
    for part in rest.split("|"):
        features = part.split()
        space, scale = _weighted(features.pop(0), place) if features and not part[0].isspace() else ("", 1.0)
        for feature in features:
            name, value = _weighted(feature, place)
            name = f"{space}^{name}" if space else name
            event[name] = event.get(name, 0.0) + scale * value
    if not numbers:
        return None, event
    label = numbers[0]
    assert label is not None
    return int(label) if label.is_integer() else label, event


def _weighted(word: str, place: Mapping[str, Any]) -> tuple[str, float]:
    """Name and value of "name:value"; a value that is not there is 1."""
    name, colon, text = word.rpartition(":")
    if not colon:
        return word, 1.0
    value = _number(text)
    if value is None:
        raise DataError(f"the value of {word!r} is no finite number", **place)
    return name, value


def _number(word: str) -> float | None:
    """The finite number that a word is."""
    try:
        value = float(word)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _rows(sources: Sequence[str], columns: NamedFeatures | int | None, counts: bool) -> Labeled:
    parts: list[Any] = []
    labels: list[Any] = []
    ids: list[str] = []
    for source in sources:
        before, first = len(labels), len(parts)
        for X, y in read_bags(source, format="svmlight", negative=True, columns=_MOST, first_column=0).labeled():
            parts.append(X)
            labels += [int(label) if float(label).is_integer() else float(label) for label in y]
        if counts and parts[first:]:
            check_count_rows(sparse.vstack(parts[first:], format="csr"), source, first_column=0)
        ids += [f"{source}:{number}" for number in range(1, len(labels) - before + 1)]
    if not parts:
        raise DataError("there are no rows; write 'label column:value ...' on each line", source=sources[0])
    X = sparse.vstack(parts, format="csr")  # column j is column j of the file
    if isinstance(columns, NamedFeatures):
        numbers = _column_numbers(columns, sources[0])
    else:
        first = int(not len(X.indices) or X.indices.min() > 0)
        end = int(X.indices.max(initial=first - 1)) + 1 if columns is None else first + columns
        numbers = np.arange(first, end, dtype=np.int32)
    X, unknown = _in_columns(X, numbers)
    if len(unknown):
        _report_unknown("columns", [str(j) for j in np.unique(unknown)], f"{counted(len(unknown), 'values')}")
    return Labeled(X, labels, ids, "rows", numbers)


def _column_numbers(names: NamedFeatures, source: str) -> Ids:
    """The numbers that are the names of a model's columns."""
    texts = names.names_.to_list()
    wrong = next((text for text in texts if not text.isdecimal()), None)
    if wrong is not None:
        raise DataError(f"the model takes named features, such as {wrong!r}, not numbered columns", source=source)
    return np.array(texts, np.int32)


def _in_columns(X: Any, numbers: Ids) -> tuple[Any, Ids]:
    """The rows over the columns of these numbers, and the numbers of all other entries."""
    low, high = int(X.indices.min(initial=_MOST)), int(X.indices.max(initial=0))
    if len(numbers) and np.all(np.diff(numbers) == 1) and (not X.nnz or (low >= numbers[0] and high <= numbers[-1])):
        entries = np.asarray(X.data, np.float64), X.indices - numbers[0], X.indptr
        return sparse.csr_matrix(entries, shape=(X.shape[0], len(numbers))), numbers[:0]
    order = np.argsort(numbers)
    places = np.searchsorted(numbers, X.indices, sorter=order)
    places[places == len(numbers)] = 0
    places = order[places] if len(numbers) else places
    inside = numbers[places] == X.indices if len(numbers) else np.zeros(len(places), bool)
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(inside)])[X.indptr]
    entries = X.data[inside].astype(np.float64), places[inside].astype(np.int32), ends
    rows = sparse.csr_matrix(entries, shape=(X.shape[0], len(numbers)))
    rows.sort_indices()
    return rows, X.indices[~inside]


def _report_unknown_features(events: Sequence[Mapping[str, float]], columns: NamedFeatures) -> None:
    """Warn of features that a model was not trained with."""
    names = set(columns.names_)
    unknown = [name for event in events for name in event if name not in names]
    if unknown:
        _report_unknown("features", sorted(set(unknown)), f"{counted(len(unknown), 'values')}")


def _report_unknown(what: str, names: Sequence[str], values: str) -> None:
    """One warning of columns or features that are left out."""
    shown = ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
    warn_caller(f"{counted(len(names), what)} that training did not have, {shown}: {values} left out")
