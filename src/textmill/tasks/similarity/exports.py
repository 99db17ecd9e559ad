"""Neighbors for others: a table in CSV or Parquet, or a site of static pages, one for each document."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from textmill.errors import DataError, warn_caller
from textmill.files import check_folder, replacing
from textmill.model import check_choice
from textmill.progress import track
from textmill.readable import counted
from textmill.report import Report
from textmill.tasks.similarity.mixtures import mixture_parts
from textmill.tasks.similarity.neighbors import NeighborTable

if TYPE_CHECKING:
    from textmill.tasks.similarity.collection import Collection
    from textmill.tasks.similarity.documents import SimilarDocuments

__all__ = ["NeighborRow", "export_neighbors", "neighbor_rows", "table_rows", "write_site"]

_GROUP = 1 << 16  # rows of a table that are held at a time


class NeighborRow(NamedTuple):
    """A document, a method, a rank from 1, the neighbor of that rank and its score.

    A document without neighbors has one row, of rank 0, with None for neighbor and score.
    """

    id: str
    method: str
    rank: int
    neighbor: str | None
    score: float | None


def neighbor_rows(
    collection: Collection, *, methods: Sequence[str] | None = None, k: int = 10, n_jobs: int | None = None
) -> Iterator[NeighborRow]:
    """Yield the neighbors of all documents by every method.

    Every document has a row: one that is empty, or has no word that the method knows, is near nothing, and says so by a
    row of rank 0.
    """
    for method in methods or list(collection.methods):
        yield from table_rows(NeighborTable.build(collection, method=method, k=k, n_jobs=n_jobs), collection)


def table_rows(table: NeighborTable, source: Collection | SimilarDocuments) -> Iterator[NeighborRow]:
    """Yield the rows of one table, as `neighbor_rows` does."""
    alone = 0
    for name in source.ids():
        matches = table.matches(source, name)
        if not len(matches):
            alone += 1
            yield NeighborRow(name, table.method_, 0, None, None)
        for rank, (other, score) in enumerate(zip(matches.ids, matches.scores.tolist(), strict=True), 1):
            yield NeighborRow(name, table.method_, rank, other, score)
    if alone:
        warn_caller(f"{counted(alone, 'documents')} without neighbors by {table.method_}: it knows no word of theirs")


def export_neighbors(
    collection: Collection,
    path: str | os.PathLike[str],
    *,
    to: str | None = None,
    methods: Sequence[str] | None = None,
    k: int = 10,
    n_jobs: int | None = None,
) -> int:
    """Write the neighbors of all documents, and return the number of rows or pages.

    `to` is "csv", "parquet" or "site" (a folder of pages); None takes it from the name.
    """
    suffix = Path(path).suffix.lower()
    to = to or {".csv": "csv", ".parquet": "parquet"}.get(suffix, "site")
    check_choice("to", to, ["csv", "parquet", "site"])
    if to == "site":
        return write_site(collection, path, methods=methods, k=k, n_jobs=n_jobs)
    rows = neighbor_rows(collection, methods=methods, k=k, n_jobs=n_jobs)
    count = 0
    with replacing(path) as file:
        if to == "csv":
            text = io.TextIOWrapper(file, encoding="utf-8", newline="")
            writer = csv.writer(text)
            writer.writerow(NeighborRow._fields)
            for row in rows:
                writer.writerow(row)
                count += 1
            text.flush()
            text.detach()
        else:
            count = _write_parquet(rows, file)
    return count


def write_site(
    collection: Collection,
    folder: str | os.PathLike[str],
    *,
    methods: Sequence[str] | None = None,
    k: int = 10,
    n_jobs: int | None = None,
) -> int:
    """Write one page for each document, with the lists of all methods, and an index of them; returns their number.

    The pages need no server and load nothing from elsewhere.
    """
    check_folder(folder)
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    names = list(methods or collection.methods)
    tables = {name: NeighborTable.build(collection, method=name, k=k, n_jobs=n_jobs) for name in names}
    pages = {name: f"{number}.html" for number, name in collection.snapshot.names()}
    index = Report(f"Articles of {collection.folder.name}")
    index.facts([(str(len(collection)), "articles"), (", ".join(names), "methods")])
    index.links((pages[article.id], article.title or article.id) for article in collection)
    index.write(place / "index.html")
    for article in track(collection, "writing pages", unit="pages", total=len(collection)):
        page = Report(article.title or article.id, subtitle=f"{article.id}, {article.source}".strip(", "))
        if article.fields:
            rows = [(name, _cell(value)) for name, value in article.fields.items()]
            page.table(["field", "value"], rows, caption="About this article.")
        for name in names:
            matches = tables[name].matches(collection, article.id)
            page.heading(f"Similar articles by {name}")
            if not len(matches):
                page.text("None: it has nothing in common with the others.")
                continue
            scores = zip(matches.scores.tolist(), matches.ids, matches.titles, strict=True)
            page.links((pages[other], f"{score:.3f}  {title or other}") for score, other, title in scores)
            _add_mixture(page, collection.methods[name].model, article)
        page.links([("index.html", "all articles")])
        page.write(place / pages[article.id])
    return len(pages)


def _add_mixture(page: Report, model: Any, article: Any) -> None:
    """The topics of a document, where its method has mixtures of them."""
    if type(model).__name__ not in ("LDA", "PLSA", "MultinomialMixture") or not article.text:
        return
    words = [" ".join(term for term, _ in topic) for topic in model.topics(n_words=5)]
    labels = [f"{number}: {some}" for number, some in enumerate(words, 1)]
    parts = mixture_parts(model.transform([article.text])[0], names=labels)
    page.table(["topic", "percent"], list(parts), caption="Topics of this article.")


def _write_parquet(rows: Iterator[NeighborRow], file: Any) -> int:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise DataError("Parquet needs pyarrow; install it with: pip install 'textmill[parquet]'") from None
    types = zip(NeighborRow._fields, ("string", "string", "int64", "string", "float64"), strict=True)
    schema = pyarrow.schema([(name, pyarrow.type_for_alias(kind)) for name, kind in types])
    count = 0
    with pyarrow.parquet.ParquetWriter(file, schema) as writer:
        while group := list(islice(rows, _GROUP)):
            columns = [list(column) for column in zip(*group, strict=True)]
            writer.write_table(pyarrow.table(columns, schema=schema))
            count += len(group)
    return count


def _cell(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
