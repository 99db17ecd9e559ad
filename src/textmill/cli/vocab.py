"""Build and show vocabularies: the terms of a corpus with their frequencies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help=__doc__)


@app.command()
def build(
    sources: Annotated[list[str], typer.Argument(metavar="INPUT...", help="Files or folders, - for stdin.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The vocabulary file to write.")],
    text_field: Annotated[str | None, typer.Option(help="Field with the text, for JSONL and CSV.")] = None,
    min_df: Annotated[str, typer.Option(help="Least documents of a term, a number or a share such as 0.01.")] = "1",
    max_df: Annotated[str, typer.Option(help="Most documents of a term, a number or a share such as 0.1.")] = "1.0",
    min_count: Annotated[int, typer.Option(help="Least occurrences of a term.")] = 1,
    keep: Annotated[int | None, typer.Option(help="Keep only this many most frequent terms.")] = None,
    rank_by: Annotated[str, typer.Option(help="What --keep goes by: documents or occurrences.")] = "documents",
    stop_words: Annotated[Path | None, typer.Option(help="File with words to leave out, one a line.")] = None,
    order: Annotated[str, typer.Option(help="Ids by first appearance or sorted.")] = "appearance",
    characters: Annotated[
        tuple[int, int] | None, typer.Option(help="Character n-grams of these lengths instead of words.")
    ] = None,
    stem: Annotated[str | None, typer.Option(help="Snowball stemmer, such as english.")] = None,
    digits: Annotated[str, typer.Option(help="Tokens without letters: keep, drop or mask.")] = "keep",
    keep_compound: Annotated[list[str] | None, typer.Option(help="Compounds kept whole, such as dates.")] = None,
    split_compound: Annotated[list[str] | None, typer.Option(help="Compounds split into their parts.")] = None,
    memory: Annotated[str | None, typer.Option(help="Spill terms to disk beyond this, such as 512MB.")] = None,
    errors: Annotated[str, typer.Option(help="Bad records: strict or skip.")] = "strict",
    encoding: Annotated[str, typer.Option(help="Encoding of the input.")] = "utf-8",
    jobs: Annotated[int | None, typer.Option(help="Threads; default: all cores.")] = None,
) -> None:
    """Count the terms of documents and save them as a vocabulary.

    Example: textmill vocab build news.jsonl.gz --text-field body --min-df 5 --max-df 0.1 --keep 100000 -o news.mill
    """
    from textmill.corpus import CharacterNgrams, Tokenizer, Vocabulary, open_lines, read_documents

    words = Tokenizer(stem=stem, digits=digits, keep=keep_compound or (), split=split_compound or ())
    vocabulary = Vocabulary(
        tokenizer=words if characters is None else CharacterNgrams(lengths=characters),
        min_df=_count_or_share("--min-df", min_df),
        max_df=_count_or_share("--max-df", max_df),
        min_count=min_count,
        keep=keep,
        rank_by=rank_by,
        stop_words=[] if stop_words is None else [line.strip() for _, line in open_lines(stop_words) if line.strip()],
        order=order,
        memory=memory,
        n_jobs=jobs,
    )
    vocabulary.fit(read_documents(sources, text_field=text_field, errors=errors, encoding=encoding))
    vocabulary.save(output)
    typer.echo(vocabulary.summary())


@app.command()
def show(
    vocabulary: Annotated[Path, typer.Argument(help="Made by `textmill vocab build`.")],
    top: Annotated[int, typer.Option(help="Terms to show, the most frequent first; 0 for all.")] = 20,
    by: Annotated[str, typer.Option(help="documents, occurrences or id.")] = "documents",
    json: Annotated[bool, typer.Option("--json", help="A JSON object a line.")] = False,
) -> None:
    """Print terms with id, document frequency and collection frequency.

    Example: textmill vocab show news.mill --top 50 --by occurrences
    """
    from json import dumps

    import numpy as np

    from textmill.corpus import Vocabulary
    from textmill.model import check_choice, check_range, load

    check_choice("by", by, ["documents", "occurrences", "id"])
    check_range("top", top, at_least=0, whole=True)
    terms = load(vocabulary, expect=Vocabulary)
    documents, occurrences = terms.document_frequency_, terms.collection_frequency_
    key = {"documents": -documents, "occurrences": -occurrences, "id": np.arange(len(terms))}[by]
    order = np.argsort(key, kind="stable")[: top or None]
    if not json:
        typer.echo("id\tdocuments\toccurrences\tterm")
    for i in order.tolist():
        row = {"id": i, "documents": int(documents[i]), "occurrences": int(occurrences[i]), "term": terms.terms_[i]}
        typer.echo(dumps(row, ensure_ascii=False) if json else "\t".join(map(str, row.values())))


def _count_or_share(option: str, value: str) -> float:
    """`5` is a number of documents, `0.05` and `1.0` are shares of them."""
    from textmill.errors import DataError

    try:
        return float(value) if "." in value or "e" in value.lower() else int(value)
    except ValueError:
        raise DataError(f"{option} must be a number such as 5 or a share such as 0.05, got {value!r}") from None
