"""Build and show vocabularies: the terms of a corpus with their frequencies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from textmill.cli._json import json_page
from textmill.cli._options import Cluster, Jobs, Json, JsonLines, Keep, MaxDf, MinCount, MinDf, RankBy
from textmill.cli._outputs import output_option
from textmill.cli._reading import Reading, StopWords, Terms, describe_stop_words, read_stop_words, with_options
from textmill.cli._tables import Printed

if TYPE_CHECKING:
    from textmill.corpus import Vocabulary

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)


@app.command()
@with_options
def build(
    sources: Annotated[list[str], typer.Argument(metavar="INPUT...", help="Files or folders, - for stdin.")],
    output: Annotated[Path, output_option("The vocabulary file to write.")],
    min_df: MinDf = "1",
    max_df: MaxDf = "1.0",
    min_count: MinCount = 1,
    keep: Keep = None,
    rank_by: RankBy = "documents",
    order: Annotated[str, typer.Option(help="Order of the ids: appearance or sorted.")] = "appearance",
    characters: Annotated[
        tuple[int, int] | None, typer.Option(help="Count character n-grams of these lengths instead of words.")
    ] = None,
    keep_compound: Annotated[
        list[str] | None,
        typer.Option(help="Kind of compound to keep whole, such as dates; repeat the option for more."),
    ] = None,
    split_compound: Annotated[
        list[str] | None, typer.Option(help="Kind of compound to split into its parts; repeat the option for more.")
    ] = None,
    memory: Annotated[
        str | None, typer.Option(help="Limit of memory, such as 512MB; beyond it terms are counted on disk.")
    ] = None,
    cluster: Cluster = None,
    *,
    terms: Terms,
    reading: Reading,
    jobs: Jobs = None,
) -> None:
    """Count the terms of documents and save them as a vocabulary.

    Example: textmill vocab build news.jsonl.gz --text-field body --min-df 5 --max-df 0.1 --keep 100000 -o news.mill
    """
    from textmill.corpus import CharacterNgrams, Tokenizer

    tokenizer: Any = Tokenizer(
        stem=terms.stem, digits=terms.digits or "keep", keep=keep_compound or (), split=split_compound or ()
    )
    if characters is not None:
        terms.refuse("--characters counts character n-grams")
        tokenizer = CharacterNgrams(lengths=characters)
    least, most = _count_or_share("--min-df", min_df), _count_or_share("--max-df", max_df)
    documents = reading.documents(sources, again=terms.phrases)
    vocabulary = terms.vocabulary(
        documents,
        tokenizer=tokenizer,
        min_df=least,
        max_df=most,
        min_count=min_count,
        keep=keep,
        rank_by=rank_by,
        order=order,
        memory=memory,
        jobs=jobs,
    )
    _save(vocabulary.fit(documents, cluster=cluster), output)
    if (line := describe_stop_words(vocabulary)) is not None:
        typer.echo(line)


@app.command()
def show(
    vocabulary: Annotated[Path, typer.Argument(help="Vocabulary made by `textmill vocab build`.")],
    k: Annotated[int, typer.Option("-k", min=0, help="Number of terms to show, the most frequent first; 0: all.")] = 20,
    by: Annotated[str, typer.Option(help="Order: documents, occurrences or id.")] = "documents",
    json: JsonLines = False,
) -> None:
    """Print terms with id, document frequency and collection frequency.

    Example: textmill vocab show news.mill -k 50 --by occurrences
    """
    import numpy as np

    from textmill.corpus import Vocabulary
    from textmill.model import check_choice, load

    check_choice("by", by, ["documents", "occurrences", "id"])
    terms = load(vocabulary, expect=Vocabulary)
    documents, occurrences = terms.document_frequency_, terms.collection_frequency_
    key = {"documents": -documents, "occurrences": -occurrences, "id": np.arange(len(terms))}[by]
    order = np.argsort(key, kind="stable")[: k or None]
    table = Printed({"id": "", "documents": "", "occurrences": "", "term": ""}, json=json)
    for i in order.tolist():
        table.row(id=i, documents=int(documents[i]), occurrences=int(occurrences[i]), term=terms.terms_[i])


def _save(vocabulary: Vocabulary, output: Path) -> None:
    """Write a vocabulary and print its summary; one without terms would only fail later, and elsewhere."""
    from textmill.errors import DataError

    if not len(vocabulary):
        raise DataError(f"no term is left, so nothing was written: {vocabulary.summary()}")
    vocabulary.save(output)
    typer.echo(vocabulary.summary())


def _count_or_share(option: str, value: str) -> float:
    """`5` is a number of documents, `0.05` and `1.0` are shares of them."""
    from textmill.errors import DataError

    try:
        return float(value) if "." in value or "e" in value.lower() else int(value)
    except ValueError:
        raise DataError(f"{option} must be a number such as 5 or a share such as 0.05, got {value!r}") from None


@app.command()
def merge(
    vocabularies: Annotated[list[Path], typer.Argument(help="Vocabularies that were not pruned.")],
    output: Annotated[Path, output_option("The vocabulary file to write.")],
) -> None:
    """Add the counts of vocabularies of several parts of a corpus, exactly.

    Example: textmill vocab merge part1.mill part2.mill -o whole.mill
    """
    from functools import reduce

    from textmill.corpus import Vocabulary
    from textmill.model import load

    parts = [load(path, expect=Vocabulary) for path in vocabularies]
    merged = reduce(Vocabulary.merge, parts)
    _save(merged, output)


@app.command()
def prune(
    vocabulary: Annotated[Path, typer.Argument(help="Vocabulary made by `textmill vocab build`.")],
    output: Annotated[Path, output_option("The vocabulary file to write.")],
    min_df: MinDf = "1",
    max_df: MaxDf = "1.0",
    min_count: MinCount = 1,
    keep: Keep = None,
    rank_by: RankBy = "documents",
    stop_words: StopWords = None,
) -> None:
    """Remove terms by rules, without counting again.

    Example: textmill vocab prune all.mill --min-df 5 --max-df 0.1 -o some.mill
    """
    from textmill.corpus import Vocabulary
    from textmill.model import load

    smaller = load(vocabulary, expect=Vocabulary).prune(
        min_df=_count_or_share("--min-df", min_df),
        max_df=_count_or_share("--max-df", max_df),
        min_count=min_count,
        keep=keep,
        rank_by=rank_by,
        stop_words=read_stop_words(stop_words or "none"),
    )
    _save(smaller, output)


@app.command()
@with_options
def report(
    vocabulary: Annotated[Path, typer.Argument(help="Vocabulary made by `textmill vocab build`.")],
    sources: Annotated[list[str], typer.Argument(metavar="INPUT...", help="Files or folders, - for stdin.")],
    *,
    reading: Reading,
    json: Json = False,
) -> None:
    """Report density, empty documents, unknown tokens and memory of documents under a vocabulary.

    Example: textmill vocab report news.mill news.jsonl.gz
    """
    from textmill.corpus import Vocabulary, corpus_report
    from textmill.model import load

    terms = load(vocabulary, expect=Vocabulary)
    figures = corpus_report(reading.documents(sources), terms)
    typer.echo(json_page(figures.as_dict()) if json else str(figures))
