"""Find named entities: train on tagged sentences, label, evaluate, explain, merge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._json import json_line, json_page
from textmill.cli._lines import holds_records, record_line
from textmill.cli._options import ColumnEncoding, DocumentMark, Jobs, Json, JsonLines, LabelColumn, TextField, answers
from textmill.cli._outputs import further_output, output_option
from textmill.cli._tables import Printed, warn_of_nothing

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)

_Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model made by `textmill entities train`.")]


@app.command()
def train(
    data: Annotated[str, typer.Argument(metavar="TRAIN", help="Column file: words first, IOB tags last.")],
    output: Annotated[Path, output_option("The model file to write.")],
    preset: Annotated[
        str, typer.Option(help="Quality: counted (a second) or strong (a CRF and logistic regression, minutes).")
    ] = "counted",
    language: Annotated[str | None, typer.Option(help="Settings for a language: es or nl; default: any.")] = None,
    phrases: Annotated[
        str, typer.Option(help="What phase 2 learns from: jackknife (candidates of phase 1) or gold (phrases).")
    ] = "jackknife",
    default_label: Annotated[
        str | None, typer.Option(help="Type to give only where no other type is likely, such as MISC.")
    ] = None,
    dev: Annotated[str | None, typer.Option(metavar="FILE", help="Tagged file to evaluate or tune on.")] = None,
    tune: Annotated[bool, typer.Option("--tune", help="Try settings on --dev and keep the best (counted).")] = False,
    document: DocumentMark = "-DOCSTART-",
    encoding: ColumnEncoding = "utf-8",
    label_column: LabelColumn = None,
    jobs: Jobs = None,
) -> None:
    """Train a recognizer on tagged sentences; the model file holds everything needed to label further text.

    Example: textmill entities train esp.train --language es --dev esp.testa -o names.mill
    """
    from textmill.corpus import spans_of
    from textmill.readable import counted
    from textmill.tasks.entities import EntityRecognizer, read_entities, tune_entities

    if tune and dev is None:
        raise typer.BadParameter("--tune needs --dev, a tagged file to try settings on")
    reading: dict[str, Any] = {"document": document, "encoding": encoding, "label_column": label_column}
    X, y = read_entities(data, **reading)
    model = EntityRecognizer(
        preset=preset, language=language, phrases=phrases, default_label=default_label, n_jobs=jobs
    )
    held_out = None if dev is None else read_entities(dev, **reading)
    if tune and held_out is not None:
        model, tried = tune_entities(model, X, y, *held_out)
        table = Printed({"setting": "", "value": "", "f1": ".4f", "better": ""})
        for one in tried:
            table.row(setting=one.name, value=one.value, f1=one.f1, better="yes" if one.better else "no")
    else:
        model.fit(X, y)
    model.save(output)
    names = sum(len(spans_of(tags, lenient=True)) for tags in y)
    types = ", ".join(map(str, model.classes_.tolist()))
    typer.echo(f"{counted(len(X), 'sentences')}, {counted(names, 'names')} of the types {types}")
    if held_out is not None:
        typer.echo(f"F on {dev}: {100 * model.score(*held_out):.2f}")


@app.command()
def label(
    model: _Model,
    data: Annotated[str, typer.Argument(metavar="[DATA]", help="Column file, or - for stdin.")] = "-",
    output: Annotated[str, output_option("File to write; default: stdout.")] = "-",
    text: Annotated[
        bool, typer.Option("--text", help="DATA is running text; print the names with their places.")
    ] = False,
    json: JsonLines = False,
    document: DocumentMark = "-DOCSTART-",
    encoding: ColumnEncoding = "utf-8",
    text_field: TextField = None,
    jobs: Jobs = None,
) -> None:
    """Label sentences: the columns of the input and one more with tags, or the names as JSON.

    Of CoNLL-U the words are labeled. Of JSONL, CSV and Parquet the text of each record is labeled as running text,
    and the record written with its names.

    Example: textmill entities label names.mill esp.testb -o esp.labeled
    """
    from textmill.corpus import check_tagged, open_source, read_tagged, writer
    from textmill.model import load
    from textmill.tasks.entities import EntityRecognizer, label_entities

    recognizer: Any = load(model, expect=EntityRecognizer)
    recognizer.set_params(n_jobs=jobs)
    with open_source(data, encoding=encoding, text_field=text_field) as opened, writer(output) as out:
        lines: Iterable[str]
        types = Counter[str]()  # names by their types
        if holds_records(opened):
            lines = _labeled_records(recognizer, opened.documents(), types)
        elif text:
            lines = _names_of_text(recognizer, opened.stream, encoding, json, types)
        else:
            sentences = read_tagged(opened, document=document, encoding=encoding)
            tags = {"O", *(f"{place}-{name}" for name in recognizer.classes_.tolist() for place in "BIESLU")}
            lines = _labeled_lines(label_entities(recognizer, check_tagged(sentences, tags)), json, types)
        for line in lines:
            out.write(line + "\n")
    if not types.total():
        warn_of_nothing("no name was found; is the text in the language of the training data, and cut and cased alike?")


@app.command()
def evaluate(
    model: _Model,
    data: Annotated[str, typer.Argument(metavar="DATA", help="Column file: words first, IOB tags last.")],
    report: Annotated[Path | None, further_output("Page to write: both phases, and errors with context.")] = None,
    json: Json = False,
    document: DocumentMark = "-DOCSTART-",
    encoding: ColumnEncoding = "utf-8",
    label_column: LabelColumn = None,
    jobs: Jobs = None,
) -> None:
    """Score a model on tagged sentences: extraction, classification, and both together, as conlleval counts.

    Example: textmill entities evaluate names.mill esp.testb --report names.html
    """
    from textmill.model import load
    from textmill.tasks.entities import EntityRecognizer, entity_report, evaluate_entities, read_entities

    recognizer: Any = load(model, expect=EntityRecognizer)
    recognizer.set_params(n_jobs=jobs)
    X, y = read_entities(data, document=document, encoding=encoding, label_column=label_column)
    result = evaluate_entities(recognizer, X, y)
    if report is not None:
        entity_report(result).write(report)
    if json:
        page = {"figures": result.figures(), "errors": result.kinds(), "tags": result.full.to_json()}
        typer.echo(json_page(page))
    else:
        typer.echo(result.report())


@app.command()
def explain(
    model: _Model,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A sentence, or - to read one from stdin.")],
    k: Annotated[int, answers("Number of features shown for each phrase.")] = 5,
    json: JsonLines = False,
) -> None:
    """Say why phrases of a sentence are names and of which type: candidates, probabilities, features that decide.

    Example: textmill entities explain names.mill "El presidente de Banco Central , Luis Peña , viajó a Lima ."
    """
    from textmill.corpus import read_text
    from textmill.model import load
    from textmill.sequence import token_spans
    from textmill.tasks.entities import EntityRecognizer, explain_entities

    recognizer: Any = load(model, expect=EntityRecognizer)
    sentence = read_text("-").strip() if text == "-" else text
    words = [sentence[a:b] for a, b in token_spans(sentence)]
    columns = {"phrase": "", "chosen": "", "span": ".3f", "name": ".3f", "type": "", "share": ".3f", "because": ""}
    table = Printed(columns, json=json)
    for one in explain_entities(recognizer, words, k):
        best = max(one.types, key=lambda name: one.types[name])
        because = [f"{feature} {weight:+.2f}" for feature, weight in one.features]
        table.row(
            phrase=one.text, chosen="yes" if one.chosen else "no", span=one.span, name=one.name, type=best,
            share=one.types[best], because=because,
        )  # fmt: skip


@app.command()
def merge(
    models: Annotated[list[Path], typer.Argument(metavar="MODELS...", help="Models with the preset counted.")],
    output: Annotated[Path, output_option("The model file to write.")],
) -> None:
    """Add up models that were trained on parts of the data; with --phrases gold it is the model of all data.

    Example: textmill entities merge monday.mill tuesday.mill -o week.mill
    """
    from functools import reduce

    from textmill.model import load
    from textmill.readable import counted
    from textmill.tasks.entities import EntityRecognizer

    parts: list[Any] = [load(path, expect=EntityRecognizer) for path in models]
    whole = reduce(EntityRecognizer.merge, parts)
    whole.save(output)
    typer.echo(f"{counted(len(parts), 'models')}, {counted(whole.extractor_.sequences_, 'sentences')}")


def _labeled_lines(labeled: Iterable[Any], json: bool, types: Counter[str]) -> Iterator[str]:
    for sentence, tags, names in labeled:
        types.update(name.label for name in names)
        if json:
            entities = [name._asdict() for name in names]
            yield json_line({"words": list(sentence.column(0)), "entities": entities})
            continue
        if sentence.document is not None:
            yield from (sentence.document, "")
        yield from (" ".join((*row, tag)) for row, tag in zip(sentence, tags, strict=True))
        yield ""


def _labeled_records(recognizer: Any, documents: Iterable[Any], types: Counter[str]) -> Iterator[str]:
    """A line of JSON for each record: its fields, and the names in its text."""
    from textmill.tasks.entities import label_running_text

    for document in documents:
        names = label_running_text(recognizer, document.text)
        types.update(name.label for name in names)
        yield record_line(document, entities=[name._asdict() for name in names]).rstrip("\n")


def _names_of_text(recognizer: Any, data: Any, encoding: str, json: bool, types: Counter[str]) -> Iterator[str]:
    from textmill.corpus import read_text
    from textmill.tasks.entities import label_running_text

    names = label_running_text(recognizer, read_text(data, encoding=encoding))
    types.update(name.label for name in names)
    if not json:
        yield "\t".join(("begin", "end", "label", "probability", "text"))
    for name in names:
        shown = " ".join(name.text.split())
        yield (
            json_line(name._asdict())
            if json
            else f"{name.begin}\t{name.end}\t{name.label}\t{name.probability:.4f}\t{shown}"
        )
