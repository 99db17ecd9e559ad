"""Parse Japanese sentences into dependencies: train, apply, evaluate, explain."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._json import json_line
from textmill.cli._options import Errors, Jobs, Json, JsonLines, Seed, answers
from textmill.cli._outputs import further_output, output_option
from textmill.cli._tables import Printed

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)

_DATA = "Sentences as KNP writes them, or CoNLL-U (.conllu): files, folders with .knp files, - for stdin."
_Data = Annotated[list[str], typer.Argument(metavar="DATA...", help=_DATA)]
_Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Parser made by `textmill parse train`.")]
_Documents = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Read only sentences of the documents with these ids, one per line."),
]
_Encoding = Annotated[str, typer.Option(help="Encoding of the sentences.")]
_Format = Annotated[str | None, typer.Option("--format", help="Format of DATA: knp or conllu; default: by suffix.")]


@app.command()
def train(
    data: _Data,
    output: Annotated[Path, output_option("The model file to write.")],
    dev: Annotated[
        list[str] | None, typer.Option(metavar="DATA", help="Sentences to choose the penalty by; may be repeated.")
    ] = None,
    documents: _Documents = None,
    dev_documents: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The same for --dev; alone, --dev is DATA.")
    ] = None,
    l1: Annotated[
        float | None, typer.Option(help="Penalty of a weight; default: 4, 2 or 1, whichever parses --dev best.")
    ] = None,
    l2: Annotated[
        float, typer.Option(help="Further penalty, by which combinations share weight; 0 for fewer ones.")
    ] = 10.0,
    degree: Annotated[int, typer.Option(help="Features in a combination at most.")] = 2,
    keep: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Share of the combinations that stay, those of largest weight; default: 1 with --l1, else 0.38, 0.5 "
            "or 1, the least that parses --dev as well.",
        ),
    ] = None,
    held_out: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of DATA kept apart to choose the penalty by, without --dev.")
    ] = 0.1,
    tolerance: Annotated[float, typer.Option(help="Duality gap that ends training, relative to the objective.")] = 1e-4,
    errors: Errors = "strict",
    encoding: _Encoding = "utf-8",
    format: _Format = None,  # noqa: A002
    jobs: Jobs = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Train a parser on sentences with heads, of a language whose heads come last, such as Japanese.

    Sentences with a head in front of its dependent, or with crossing dependencies, are left out; more than a fifth of
    them is an error. Accuracy on sentences kept apart counts all of those.

    Example: textmill parse train knp/ --documents train.id --dev-documents dev.id -o parser.mill
    """
    from textmill.readable import counted
    from textmill.tasks.dependency import DependencyParser

    reading = {"errors": errors, "encoding": encoding, "format": format}
    sentences = list(_read(data, documents, **reading))
    apart = list(_read(dev or data, dev_documents, **reading)) if dev or dev_documents is not None else None
    parser = DependencyParser(
        l1=l1, l2=l2, degree=degree, keep=keep, held_out=held_out, tolerance=tolerance, random_state=seed, n_jobs=jobs
    )
    parser.fit(sentences, X_dev=apart)
    parser.save(output)
    weights = parser.classifier_.counts_by_degree()
    if json:
        facts: dict[str, Any] = {
            "sentences": parser.n_sentences_,
            "skipped": parser.n_skipped_,
            "events": parser.n_events_,
        }
        facts |= {"l1": parser.l1_, "weights": weights, "accuracy_by_l1": parser.scores_}
        typer.echo(json_line(facts))
        return
    skipped = f" ({counted(parser.n_skipped_, 'sentences')} left out)" if parser.n_skipped_ else ""
    sizes = f"{counted(parser.n_sentences_, 'sentences')}{skipped}, {counted(parser.n_events_, 'questions')}"
    by_degree = ", ".join(f"{count} of {size}" for size, count in enumerate(weights, 1))
    typer.echo(f"{output}: {sizes}; l1 {parser.l1_:g}; {counted(sum(weights), 'combinations')} by size: {by_degree}")
    for value, accuracy in parser.scores_.items():
        typer.echo(f"l1 {value}: dependency accuracy {accuracy:.4f} on sentences kept apart")


@app.command()
def apply(
    model: _Model,
    data: Annotated[list[str] | None, typer.Argument(metavar="[DATA]...", help=_DATA)] = None,
    output: Annotated[str, output_option("The file to write; - for stdout.")] = "-",
    documents: _Documents = None,
    errors: Errors = "strict",
    encoding: _Encoding = "utf-8",
    format: _Format = None,  # noqa: A002
    jobs: Jobs = None,
) -> None:
    """Write the sentences with the heads that the parser finds, in the same format.

    Example: textmill parse apply parser.mill news.knp -o parsed.knp
    """
    from itertools import chain

    from textmill.corpus import read_conllu, write_columns, write_knp
    from textmill.progress import track
    from textmill.tasks.dependency import parse_conllu

    parser, sources = _load(model, jobs), data or ["-"]
    formats = {_format(source, format) for source in sources}
    if formats == {"conllu"}:
        _refuse_documents(documents)
        rows = chain.from_iterable(read_conllu(source, errors=errors, encoding=encoding) for source in sources)
        parsed = parse_conllu(parser, track(rows, "parsing", unit="sentences"))
        write_columns(parsed, output, separator="\t", encoding=encoding)
        return
    if len(formats) > 1:
        raise typer.BadParameter(
            "DATA are of several formats, which cannot be written to one file; apply one at a time"
        )
    sentences = _read(sources, documents, errors=errors, encoding=encoding, format=format)
    write_knp(parser.parse(track(sentences, "parsing", unit="sentences")), output, encoding=encoding)


@app.command()
def evaluate(
    model: _Model,
    data: _Data,
    documents: _Documents = None,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Add a 95 % bootstrap interval over sentences.")
    ] = False,
    show_errors: Annotated[bool, typer.Option("--show-errors", help="Add wrong heads with their sentences.")] = False,
    k: Annotated[int, answers("Number of errors to show.")] = 10,
    report: Annotated[
        Path | None, further_output("Also write a page: accuracy by distance, weights, wrong heads.")
    ] = None,
    errors: Errors = "strict",
    encoding: _Encoding = "utf-8",
    format: _Format = None,  # noqa: A002
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Score a parser on sentences with right heads: dependency and sentence accuracy, and accuracy by distance.

    Example: textmill parse evaluate parser.mill knp/ --documents test.id --intervals
    """
    from itertools import islice

    from textmill.tasks import dependency as task

    parser = _load(model, jobs)
    sentences = list(_read(data, documents, errors=errors, encoding=encoding, format=format))
    heads = parser.predict(sentences)
    scores = task.evaluate(sentences, heads)
    if report is not None:
        task.error_page(parser, sentences, heads).write(report)
    interval = scores.interval() if intervals else None
    if json:
        facts = scores.to_json()
        if interval is not None:
            facts["interval"] = [interval.low, interval.high]
        if show_errors:
            facts["errors"] = [error._asdict() for error in islice(task.find_errors(sentences, heads), k)]
        typer.echo(json_line(facts))
        return
    typer.echo(f"dependency accuracy {scores.dependencies.accuracy:.4f} of {scores.dependencies.items} bunsetsus")
    typer.echo(f"sentence accuracy {scores.sentences.accuracy:.4f} of {scores.sentences.items} sentences")
    if interval is not None:
        typer.echo(f"dependency accuracy lies in [{interval.low:.4f}, {interval.high:.4f}]  {interval.signature}")
    table = Printed({"distance": "", "correct": "", "total": "", "accuracy": ".4f"})
    for distance, counts in scores.by_distance.items():
        table.row(distance=distance, correct=counts.correct, total=counts.items, accuracy=counts.accuracy)
    if show_errors:
        table = Printed(dict.fromkeys(task.DependencyError._fields, ""))
        for error in islice(task.find_errors(sentences, heads), k):
            table.row(**error._asdict())


@app.command()
def explain(
    model: _Model,
    k: Annotated[int, answers("Number of weights to show.")] = 20,
    json: JsonLines = False,
) -> None:
    """Print the strongest weights of a parser: which features of two bunsetsus speak for and against a dependency.

    Example: textmill parse explain parser.mill -k 10
    """
    weights = _load(model, None).strongest(k)
    table = Printed({"label": "", "feature": "", "weight": ".4f"}, json=json)
    for label, feature, weight in zip(weights.labels, weights.features, weights.weights, strict=True):
        table.row(label=label, feature=feature, weight=weight)


@app.command()
def sample(
    output: Annotated[str, output_option("The file to write; - for stdout.")] = "-",
    k: Annotated[int, answers("Number of sentences.")] = 500,
    seed: Seed = 0,
) -> None:
    """Write sentences with right heads, made by a small grammar, to try the other commands with.

    Example: textmill parse sample -k 600 -o train.knp
    """
    from textmill.corpus import write_knp
    from textmill.tasks.dependency import sample_sentences

    write_knp(sample_sentences(k, random_state=seed), output)


def _load(path: Path, jobs: int | None) -> Any:
    from textmill.model import load
    from textmill.tasks.dependency import DependencyParser

    return load(path, expect=DependencyParser).set_params(n_jobs=jobs)


def _read(data: list[str], documents: Path | None, *, format: str | None, **reading: Any) -> Iterator[Any]:  # noqa: A002
    """The sentences of all sources."""
    from textmill.corpus import read_conllu, read_knp, read_text
    from textmill.tasks.dependency import units_of

    ids = None if documents is None else frozenset(read_text(documents).split())
    for source in data:
        if _format(source, format) == "conllu":
            _refuse_documents(documents)
            yield from map(units_of, read_conllu(source, **reading))
        else:
            yield from read_knp(source, documents=ids, **reading)


def _format(source: str, format: str | None) -> str:  # noqa: A002
    from textmill.model import check_choice

    if format is not None:
        check_choice("format", format, ("knp", "conllu"))
        return format
    return "conllu" if ".conllu" in Path(source).suffixes else "knp"


def _refuse_documents(documents: Path | None) -> None:
    if documents is not None:
        raise typer.BadParameter("--documents names documents of KNP files; leave it out for CoNLL-U")
