"""Further verbs of `textmill topics`: judge topics, compare models, explain texts, exchange files with other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._json import json_line
from textmill.cli._options import Jobs, JsonLines
from textmill.cli._outputs import figure_option, further_output, output_option
from textmill.cli._reading import Reading, with_options
from textmill.cli._tables import Printed
from textmill.cli._topic_options import ModelFile, Sources, load_model, read_input

app = typer.Typer(add_completion=False)

EXPORTS = ["pyldavis", "mallet-state", "mallet-keys", "ldac", "matrix"]
IMPORTS = ["mallet-state", "ldac", "matrix"]


@app.command()
@with_options
def coherence(
    model: ModelFile,
    sources: Sources,
    measure: Annotated[str, typer.Option(help="Measure of coherence: c_v, npmi, uci or umass.")] = "c_v",
    words: Annotated[int, typer.Option(help="Number of terms per topic.")] = 10,
    window: Annotated[
        int | None,
        typer.Option(help="Number of tokens in a window; 0: whole documents; default: what suits the measure."),
    ] = None,
    *,
    reading: Reading,
    jobs: Jobs = None,
    json: JsonLines = False,
) -> None:
    """Judge topics by how often their words occur together in documents, and by how few topics share them.

    Example: textmill topics coherence news.mill news.jsonl.gz --measure npmi
    """
    from textmill.topics import topic_coherence, topic_diversity, topic_exclusivity

    loaded = load_model(model, jobs)
    exclusive = topic_exclusivity(loaded, n_words=words)  # first: it refuses models without distributions of words
    documents = read_input(sources, reading)
    options: dict[str, Any] = {"measure": measure, "n_words": words, "window": window, "n_jobs": jobs}
    scores = topic_coherence(loaded, documents, **options)
    lists = [" ".join(word for word, _ in topic) for topic in loaded.topics(words)]
    table = Printed({"topic": "", measure: ".4f", "exclusivity": ".4f", "terms": ""}, json=json)
    for number, (score, share, topic) in enumerate(zip(scores.tolist(), exclusive.tolist(), lists, strict=True)):
        table.row(**{"topic": number + 1, measure: score, "exclusivity": share, "terms": topic.split(" ")})
    if not json:
        diversity = topic_diversity(loaded, n_words=words)
        values = scores[scores == scores]  # NaN: a topic of words that the documents do not have
        mean = f"{values.mean():.4f}" if len(values) else "nan"
        of = "" if len(values) == len(scores) else f" of {len(values)} topics"
        typer.echo(f"mean{of}\t{mean}\t{exclusive.mean():.4f}\tdiversity {diversity:.4f}")


@app.command()
def diff(
    model: ModelFile,
    other: Annotated[Path, typer.Argument(metavar="OTHER", help="A second model, perhaps of later documents.")],
    measure: Annotated[str, typer.Option(help="Distance of topics: hellinger, js, kl or jaccard.")] = "hellinger",
    words: Annotated[int, typer.Option(help="Number of terms per topic.")] = 10,
    plot: Annotated[
        Path | None, figure_option("Draw the distances of all topics to this file (.png, .svg or .pdf).")
    ] = None,
    json: JsonLines = False,
) -> None:
    """Pair the topics of two models: how far apart they are, which words they share, which were lost and gained.

    Example: textmill topics diff may.mill june.mill --plot drift.png
    """
    from textmill.plot import heat_map, save
    from textmill.topics import topic_difference

    difference = topic_difference(load_model(model), load_model(other), measure=measure, n_words=words)
    table = Printed({"topic": "", "other": "", measure: ".4f", "common": "", "lost": "", "gained": ""}, json=json)
    for pair in difference.pairs:
        numbers = {"topic": pair.first + 1, "other": pair.second + 1, measure: pair.distance}
        table.row(**numbers, common=pair.common, lost=pair.lost, gained=pair.gained)
    if plot is not None:
        names = [[str(t + 1) for t in range(size)] for size in difference.distances.shape]
        figure = heat_map(
            difference.distances, x_label=f"topics of {other.name}", y_label=f"topics of {model.name}",
            columns=names[1], rows=names[0],
        )  # fmt: skip
        save(figure, plot)


@app.command()
def explain(
    model: ModelFile,
    text: Annotated[str, typer.Option(help="The text; - for stdin.")],
    words: Annotated[int, typer.Option(help="Number of terms that name a topic.")] = 6,
    report: Annotated[Path | None, further_output("Write an HTML page instead of printing.")] = None,
    json: JsonLines = False,
) -> None:
    """Show the topic of each word of a text: in colors, as a page, or as JSON.

    Example: textmill topics explain news.mill --text "The bank raised its rates." --report why.html
    """
    import sys

    from textmill.topics.explain import explain_text

    explanation = explain_text(load_model(model), sys.stdin.read() if text == "-" else text, n_words=words)
    if not explanation.words:
        typer.echo("textmill: no word of the text is known to the model, so there is nothing to explain", err=True)
    if report is not None:
        explanation.report().write(report)
    elif json:
        for word in explanation.words:
            facts = {"begin": word.begin, "end": word.end, "term": word.term, "topic": word.topic + 1}
            typer.echo(json_line(facts | {"probability": word.probability}))
    else:
        from rich.console import Console

        Console(soft_wrap=True, highlight=False).print(explanation.terminal())


@app.command()
@with_options
def export(
    model: ModelFile,
    output: Annotated[str, typer.Option("--output", "-o", help="The file to write; ldac: its name without suffix.")],
    to: Annotated[str, typer.Option(help=f"Format: {', '.join(EXPORTS)}.")],
    sources: Annotated[
        list[str] | None, typer.Argument(metavar="[INPUT...]", help="The documents, for pyldavis and mallet-state.")
    ] = None,
    words: Annotated[int, typer.Option(help="Number of terms per topic, for mallet-keys.")] = 20,
    *,
    reading: Reading,
    jobs: Jobs = None,
) -> None:
    """Write topics for other tools: JSON for pyLDAvis, MALLET's state and keys, LDA-C's files, a NumPy array.

    Example: textmill topics export news.mill news.jsonl.gz --to mallet-state -o state.gz
    """
    from textmill.errors import DataError
    from textmill.files import check_target
    from textmill.model import check_choice
    from textmill.topics import exchange

    check_choice("--to", to, EXPORTS)
    check_target(f"{output}.beta" if to == "ldac" else output)
    if (to in ("pyldavis", "mallet-state")) != bool(sources):
        raise DataError("pyldavis and mallet-state need INPUT, the others take none; see --to")
    loaded = load_model(model, jobs)
    documents = None if not sources else read_input(sources, reading, again=True)
    if to == "pyldavis":
        exchange.write_pyldavis(loaded, documents, output)
    elif to == "mallet-state":
        exchange.write_mallet_state(loaded, documents, output)
    elif to == "mallet-keys":
        exchange.write_mallet_keys(loaded, output, n_words=words)
    elif to == "ldac":
        exchange.write_ldac(loaded, output)
    else:
        exchange.write_matrix(loaded, output)


@app.command(name="import")
def import_(
    source: Annotated[
        str, typer.Argument(metavar="FILE", help="The file to read; ldac: the name of its two files without suffix.")
    ],
    output: Annotated[Path, output_option("The model file to write.")],
    from_format: Annotated[str, typer.Option("--from", help=f"Format: {', '.join(IMPORTS)}.")],
    terms: Annotated[
        str | None, typer.Option(help="File with the terms of the columns, one per line; not for mallet-state.")
    ] = None,
    alpha: Annotated[float | None, typer.Option(help="matrix: the prior of topics in documents.")] = None,
) -> None:
    """Make a model from the topics of another tool: MALLET's state, LDA-C's files, a NumPy array of topics x terms.

    Example: textmill topics import final --from ldac --terms vocab.txt -o topics.mill
    """
    from textmill.corpus import read_terms
    from textmill.errors import DataError
    from textmill.model import check_choice
    from textmill.readable import counted
    from textmill.topics import exchange

    check_choice("--from", from_format, IMPORTS)
    if from_format == "mallet-state" and terms is not None:
        raise DataError("a state holds its terms; leave out --terms")
    if from_format != "matrix" and alpha is not None:
        raise DataError("--alpha belongs to --from matrix; the other files have their own")
    names = None if terms is None else read_terms(terms).terms_.to_list()
    if from_format == "mallet-state":
        model = exchange.read_mallet_state(source)
    elif from_format == "ldac":
        model = exchange.read_ldac(source, terms=names)
    else:
        model = exchange.read_matrix(source, alpha=alpha, terms=names)
    model.save(output)
    rows, columns = model.components_.shape
    typer.echo(f"{counted(rows, 'topics')} of {counted(columns, 'terms')}")
