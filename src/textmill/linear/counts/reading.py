"""Counts from files: texts, bags of words, or tables whose columns are words.

    texts     plain text, CSV, TSV, JSONL, Parquet with a text field     words are counted, lengths are all their tokens
    bags      .mm, .svmlight, .ldac, .uci, .low, .mallet, .npz           lengths are the sums of rows
    tables    records whose fields are words and hold counts             lengths in a field, or the sums of whole texts

Cost: one pass; the counts are held in memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from textmill.arrays import Floats
from textmill.corpus import Vocabulary, read_bags, read_records
from textmill.errors import DataError, warn_caller
from textmill.linear.counts.tables import check_count_rows, check_counts
from textmill.numeric import sparse

__all__ = ["CountData", "counts_of_texts", "read_count_bags", "read_count_table"]


@dataclass(frozen=True)
class CountData:
    """Counts by text and word, the words, the length of each text, and labels; None where nothing says them."""

    X: Any
    terms: list[str]
    exposure: Floats | None
    labels: list[Any] | None


def counts_of_texts(
    texts: Iterable[str], *, vocabulary: Vocabulary | None = None, labels: list[Any] | None = None
) -> CountData:
    """Count the words of texts; a length has all tokens, also of words that the vocabulary leaves out.

    >>> data = counts_of_texts(["to be or not to be", "to do"], vocabulary=Vocabulary(min_df=2))
    >>> data.terms, data.X.toarray().tolist(), data.exposure.tolist()
    (['to'], [[2], [1]], [6.0, 2.0])
    """
    documents = list(texts)
    vocabulary = Vocabulary() if vocabulary is None else vocabulary
    X = vocabulary.fit_transform(documents)
    plain = Vocabulary(tokenizer=vocabulary.tokenizer, ngrams=vocabulary.ngrams, n_jobs=vocabulary.n_jobs)
    lengths = np.asarray(plain.fit_transform(documents).sum(axis=1), np.float64).ravel()
    return CountData(X, vocabulary.terms_.to_list(), lengths, labels)


def read_count_bags(path: str, *, format: str | None = None) -> CountData:  # noqa: A002
    """Read counts from a file of bags; words have their names if the file has them, else the numbers of columns."""
    bags = read_bags(path, format=format)
    parts = list(bags)
    if not parts:
        raise DataError("there are no documents", source=path)
    X = sparse.vstack(parts, format="csr")
    check_count_rows(X, path, first_column=bags.first_column)
    X = check_counts(X)
    numbers = range(bags.first_column, bags.first_column + X.shape[1])
    terms = [*map(str, numbers)] if bags.vocabulary is None else bags.vocabulary.terms_.to_list()
    return CountData(X, terms, np.asarray(X.sum(axis=1), np.float64).ravel(), None)


def read_count_table(
    sources: Sequence[str],
    *,
    words: Sequence[str] | None = None,
    label_field: str | None = None,
    exposure_field: str | None = None,
    whole_texts: bool = False,
    bounded: bool = True,
    id_field: str | None = None,
    format: str | None = None,  # noqa: A002
    encoding: str = "utf-8",
    delimiter: str = ",",
    errors: str = "strict",
) -> CountData:
    """Read records whose fields are words and hold their counts; an empty field is a missing count, an error.

    `words` are the fields to read; without them all are read but those that hold no number in the first record, which
    a warning names. Nothing but `exposure_field` says how long texts are, unless a row has the counts of all words of
    its text: then `whole_texts` takes the sums of rows. A count above its length is an error if lengths are `bounded`
    as those of texts are; a Poisson takes any span of time or space.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "a.csv").write_text("tokens,mill,sea\\n100,3,0\\n80,0,1\\n")
    ...     data = read_count_table([f"{folder}/a.csv"], exposure_field="tokens")
    >>> data.terms, data.X.toarray().tolist(), data.exposure.tolist()
    (['mill', 'sea'], [[3.0, 0.0], [0.0, 1.0]], [100.0, 80.0])
    """
    if whole_texts and exposure_field is not None:
        raise DataError("exposure_field names the lengths, and whole_texts sums rows; choose one of them")
    named = [name for name in (label_field, exposure_field, id_field, *(words or ())) if name is not None]
    columns: dict[str, int] = {}
    rows: list[dict[int, float]] = []
    lengths: list[float] = []
    labels: list[Any] = []
    without: list[str] = []
    for source in sources:
        settings: dict[str, Any] = {"format": format, "encoding": encoding, "delimiter": delimiter, "errors": errors}
        for record in read_records(source, **settings):
            place: dict[str, Any] = {"source": record.source, "line": record.line}
            for name in named:
                if name not in record.fields:
                    fields = ", ".join(map(str, record.fields))
                    raise DataError(f"no field '{name}'; the fields are {fields}", **place)
            if words is None and not rows:
                others = [name for name in record.fields if name not in named]
                without = [name for name in others if not _is_number(record.fields[name])]
            fields_of_words = words if words is not None else [n for n in record.fields if n not in (*named, *without)]
            row = {
                columns.setdefault(str(name), len(columns)): _count(record.fields[name], str(name), place)
                for name in fields_of_words
            }
            rows.append(row)
            if exposure_field is not None:
                length = _length(record.fields[exposure_field], exposure_field, place)
                word = max(row, key=lambda j: row[j], default=None)
                if word is not None and row[word] > length and (bounded or length == 0):
                    fault = f"count {row[word]:g} of '{list(columns)[word]}' is above the length {length:g}"
                    remedy = "only poisson and negbinom take such lengths, above 0"
                    raise DataError(f"{fault}; {remedy}", **place)
                lengths.append(length)
            if label_field is not None:
                labels.append(record.fields[label_field])
    if not rows:
        raise DataError(
            "there are no records; write a header of words and a line of counts per text", source=sources[0]
        )
    if not columns:
        raise DataError("no field holds counts; name fields of counts with words", source=sources[0])
    if without:
        warn_caller(f"fields without counts are left out: {', '.join(map(str, without))}")
    at = [i for i, row in enumerate(rows) for _ in row]
    where = [j for row in rows for j in row]
    values = [value for row in rows for value in row.values()]
    X = sparse.csr_matrix((values, (at, where)), shape=(len(rows), len(columns)))
    X.eliminate_zeros()
    exposure = None if exposure_field is None else np.array(lengths)
    if whole_texts:
        exposure = np.asarray(X.sum(axis=1), np.float64).ravel()
    return CountData(X, list(columns), exposure, labels if label_field is not None else None)


def _is_number(value: Any) -> bool:
    """Whether a field may be meant for a count: a number, right or wrong, or nothing."""
    try:
        float(value)
    except (TypeError, ValueError):
        return value is None or value == ""
    return True


def _length(value: Any, name: str, place: dict[str, Any]) -> float:
    """A field as a length, or as a span of time in which things were counted."""
    length = float(value) if _is_number(value) and value not in (None, "") else math.nan
    if not (math.isfinite(length) and length >= 0):
        raise DataError(f"'{name}' holds {value!r}, which is no length; write a number >= 0", **place)
    return length


def _count(value: Any, name: str, place: dict[str, Any]) -> float:
    """A field as a count."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not (math.isfinite(number) and number >= 0 and number == math.floor(number)):
        raise DataError(f"'{name}' holds {value!r}, which is no count; write a whole number >= 0", **place)
    return number
