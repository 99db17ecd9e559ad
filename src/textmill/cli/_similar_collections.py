"""Collections on the command line: make one, write to it, ask it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._json import json_line
from textmill.cli._options import Jobs, Seed
from textmill.cli._outputs import check_output, folder_option
from textmill.cli._reading import Reading, with_options
from textmill.cli._tables import Printed
from textmill.cli._topic_options import is_bags

__all__ = ["NO_PAIR", "Documents", "app", "is_collection", "open_library", "show_matches"]

NO_PAIR = "no two documents are that similar; pass a --threshold that lets more through"

app = typer.Typer()

_Sources = Annotated[
    list[str],
    typer.Argument(metavar="INPUT...", help="Files or folders, - for stdin; NAME=INPUT gives a source its name."),
]
Documents = Annotated[
    list[str] | None,
    typer.Option(metavar="INPUT", help="Of an index: the documents it was made of, for their texts and fields."),
]


@app.command(rich_help_panel="Collections")
@with_options
def collect(
    sources: _Sources,
    output: Annotated[Path, folder_option("The folder of the collection, which is made.")],
    method: Annotated[
        list[str] | None,
        typer.Option(help="How to compare: tfidf, lsa, lda, nmf, plsa, pca; repeat it for more; default: tfidf, lsa."),
    ] = None,
    model: Annotated[
        list[Path] | None,
        typer.Option(help="Trained model to compare by, under the name of its file; repeat it for more."),
    ] = None,
    topics: Annotated[int | None, typer.Option(help="Number of topics; default: by the number of documents.")] = None,
    min_df: Annotated[
        int | None, typer.Option(help="Leave out words in fewer documents; default: 5, or 1 below 100 documents.")
    ] = None,
    max_df: Annotated[
        float | None,
        typer.Option(help="Leave out words in a larger share of documents; default: 0.3, or 1 below 100 documents."),
    ] = None,
    formulas: Annotated[bool, typer.Option("--formulas", help="Count formulas in TeX or MathML as terms.")] = False,
    formula_weight: Annotated[float, typer.Option(help="With --formulas: factor of the weights of formulas.")] = 1.0,
    vocab: Annotated[
        Path | None, typer.Option(help="For bags such as Matrix Market: a vocabulary, or a file with a term per line.")
    ] = None,
    seed: Seed = 0,
    *,
    reading: Reading,
    jobs: Jobs = None,
) -> None:
    """Make a collection: documents with titles and fields, models trained on them, their vectors.

    Example: textmill similar collect dml=articles.jsonl numdam=texts/ -o library --method tfidf --method lsa
    """
    from textmill.errors import DataError
    from textmill.model import load
    from textmill.readable import counted
    from textmill.tasks import Collection

    named: Any = method
    settings: dict[str, Any] = {"n_topics": topics, "min_df": min_df, "max_df": max_df, "random_state": seed}
    settings |= {"formulas": formulas, "formula_weight": formula_weight}
    if model:
        if method or any(value is not None for value in (topics, min_df, max_df)):
            raise DataError("--model brings a trained model; leave out --method and the options of training")
        named, settings = {path.stem: load(path) for path in model}, {}
    documents: dict[str, Any] = {}
    for name, source in _named(sources):
        documents[name] = chain(documents.get(name, ()), _read(source, reading, vocab, name))
    library = Collection.create(output, documents, methods=named, n_jobs=jobs, **settings)
    typer.echo(f"{counted(len(library), 'documents')} in {output}, compared by {', '.join(library.methods)}")


@app.command(rich_help_panel="Collections")
@with_options
def upsert(
    index: Annotated[Path, typer.Argument(metavar="INDEX", help="Collection, or index file; it is changed.")],
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="INPUT...",
            help="Files or folders, - for stdin; NAME=INPUT gives a source its name. With --rebuild there may be none.",
        ),
    ] = None,
    vocab: Annotated[
        Path | None, typer.Option(help="For bags such as Matrix Market: a vocabulary, or a file with a term per line.")
    ] = None,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Then train the models anew on all documents, with the same settings.")
    ] = False,
    *,
    reading: Reading,
    jobs: Jobs = None,
) -> None:
    """Write documents into a collection or an index, in place of those with the same ids.

    Others may ask a collection meanwhile.

    Example: textmill similar upsert library today.jsonl
    """
    from warnings import catch_warnings, simplefilter

    from textmill.errors import DataError
    from textmill.readable import counted
    from textmill.tasks import Collection
    from textmill.tasks.similarity import StaleModel

    if not sources and not rebuild:
        raise DataError("there is nothing to write; name files or folders, or pass --rebuild alone")
    sources = sources or []
    if not is_collection([index]):
        if vocab is not None or rebuild:
            raise DataError(f"{'--rebuild' if rebuild else '--vocab'} is for collections; leave it out")
        _upsert_index(index, sources, reading, jobs)
        return
    library = Collection.open(index, n_jobs=jobs)
    with catch_warnings():
        if rebuild:
            simplefilter("ignore", StaleModel)
        written = sum(library.upsert(_read(path, reading, vocab, name), source=name) for name, path in _named(sources))
    if rebuild:
        library.rebuild()
    typer.echo(f"{counted(written, 'documents')} written, {len(library)} in all")


def _upsert_index(index: Path, sources: Sequence[str], reading: Reading, jobs: int | None) -> None:
    from textmill.model import load
    from textmill.readable import counted
    from textmill.tasks import SimilarDocuments

    check_output(index)
    similar = load(index, expect=SimilarDocuments).set_params(n_jobs=jobs)
    written = similar.upsert(reading.documents(sources))
    similar.save(index)
    typer.echo(f"{counted(written, 'documents')} written, {len(similar)} in all")


def open_library(path: Path, documents: Sequence[str] | None = None, others: Sequence[Path] = ()) -> Any:
    """A collection, or index files as one."""
    from textmill.corpus import read_documents
    from textmill.errors import DataError
    from textmill.tasks import Collection

    if not is_collection([path, *others]):
        named = None if documents is None else read_documents(list(documents))
        return Collection.of_indexes([path, *others], documents=named)
    if documents is not None:
        raise DataError("--documents belongs to an index; a collection has its texts and fields")
    return Collection.open(path)


def is_collection(paths: Sequence[Path]) -> bool:
    """Whether a collection is named, alone."""
    from textmill.errors import DataError

    folders = [path for path in paths if path.is_dir()]
    if folders and len(paths) > 1:
        raise DataError("a collection is asked alone; name one", source=str(folders[0]))
    return bool(folders)


def show_matches(
    library: Any,
    asked: Sequence[tuple[str, str | None, str | None]],
    *,
    k: int,
    method: list[str] | None,
    where: list[str] | None,
    like: list[str] | None,
    unlike: list[str] | None,
    json: bool,
) -> None:
    """Ask a collection and print what it found; `asked` are names, texts and ids of questions."""
    from textmill.tasks.similarity import Question, parse_filters

    questions = [
        Question(id=identifier, text=text, like=tuple(like or ()), unlike=tuple(unlike or ()))
        for _, text, identifier in asked
    ]
    methods: Any = method[0] if method and len(method) == 1 else method or None
    answers = library.query_many(questions, method=methods, k=k, where=parse_filters(where or ()))
    columns = {"query": ""} if len(asked) > 1 else {}
    table = None if json else Printed(columns | {"score": ".4f", "id": "", "title": ""})
    for (name, _, _), matches in zip(asked, answers, strict=True):
        rows = [
            dict(zip(("score", "id", "title"), row, strict=True))
            for row in zip(*matches.to_dict().values(), strict=True)
        ]
        if table is None:
            typer.echo(json_line({"query": name, "found": rows, "reason": matches.reason}))
            continue
        if matches.reason is not None:
            typer.echo(f"{name}: nothing found: {matches.reason}", err=True)
        for row in rows:
            table.row(query=name, **row)


def _read(source: str, reading: Reading, vocab: Path | None, name: str) -> Any:
    """The documents of a source, which may be a file of bags."""
    from textmill.tasks.similarity import bag_articles

    if is_bags([source]):
        reading.refuse("this is a file of bags")
        return bag_articles(source, vocab=vocab, source=name)
    return reading.documents([source])


def _named(sources: Sequence[str]) -> list[tuple[str, str]]:
    """Sources with their names: what stands before =, or the name of the file or folder."""
    pairs = []
    for source in sources:
        name, mark, path = source.partition("=")
        if mark and not Path(source).exists():
            pairs.append((name, path))
        else:
            pairs.append(("stdin" if source == "-" else Path(source).name or source, source))
    return pairs
