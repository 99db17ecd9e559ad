"""Find who called and which number to call back in voicemail transcripts: train, extract, evaluate."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._lines import read_lines, record_fields
from textmill.cli._options import Jobs, JsonLines, TextField, answers
from textmill.cli._outputs import output_option
from textmill.cli._tables import Printed

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)

_Marked = Annotated[
    list[str],
    typer.Argument(metavar="MESSAGES...", help="Marked messages, one per line; - for stdin."),
]
_Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model made by `textmill voicemail train`.")]
_Locale = Annotated[str, typer.Option(help="Words of the locale: us, gb or a TOML file.")]
_Fillers = Annotated[bool, typer.Option("--fillers", help="Pass over uh and um inside of numbers.")]


@app.command()
def sample(
    output: Annotated[str, output_option("The file to write, with mark-up; - for stdout.")] = "-",
    part: Annotated[str, typer.Option(help="train (1,000 messages) or test (200, other people call).")] = "train",
) -> None:
    """Write made-up messages with gold mark-up, one per line, to try the other commands with.

    Example: textmill voicemail sample --part test -o test.txt
    """
    from textmill.corpus import writer
    from textmill.tasks.voicemail import sample_messages

    messages = sample_messages(part)
    with writer(output) as lines:
        for message in messages:
            lines.write(f"{message}\n")


@app.command()
def train(
    messages: _Marked,
    output: Annotated[Path, output_option("The model file to write.")],
    locale: _Locale = "us",
    confidence: Annotated[
        float | None, typer.Option(help="Confidence of pruning; smaller trees below 0.25; default: choose it.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="Least probability of a caller or name; default: choose it.")
    ] = None,
    number_threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="Least probability of a number; default: choose it.")
    ] = None,
    jobs: Jobs = None,
) -> None:
    """Train a model on marked messages.

    Thresholds and pruning that are not given are those of the greatest F on messages that the trees did not see.

    Example: textmill voicemail train train.txt -o calls.mill
    """
    from textmill.readable import counted
    from textmill.tasks import VoicemailExtractor
    from textmill.tasks.voicemail import read_messages

    model = VoicemailExtractor(
        locale=locale, confidence=confidence, threshold=threshold, number_threshold=number_threshold, n_jobs=jobs
    )
    marked = _marked(read_messages(messages))
    model.fit(marked).save(output)
    least = ", ".join(
        f"{name} {value:.2f}"
        for name, value in zip(("callers", "names", "numbers"), model.thresholds_.tolist(), strict=True)
    )
    typer.echo(f"{counted(len(marked), 'messages')}; least probabilities: {least}")


@app.command()
def extract(
    model: _Model,
    source: Annotated[
        str, typer.Argument(metavar="[MESSAGES]", help="A file with one message per line, or - for stdin.")
    ] = "-",
    contacts: Annotated[
        str | None, typer.Option(metavar="FILE", help="A table of contacts with the fields name and number.")
    ] = None,
    partial: Annotated[
        bool,
        typer.Option("--partial", help="Lines are pieces of a message, ended by an empty line: an answer after each."),
    ] = False,
    reasons: Annotated[bool, typer.Option("--reasons", help="Add the tests that led to an answer.")] = False,
    text_field: TextField = None,
    jobs: Jobs = None,
) -> None:
    """Print who called and which numbers to call back, one JSON object per message, as messages are read.

    A message is a line of text, or the text of a record of JSONL, CSV or Parquet, whose other fields stay.

    Marks in the input are not looked at. Keys: message, sender, confidence, anonymous, numbers, spans, reasons; with
    --contacts also contacts, with --partial also complete.

    Example: textmill voicemail extract calls.mill new.txt --contacts people.csv
    """
    import sys
    from itertools import count, islice

    from textmill.cli._json import json_line
    from textmill.tasks.voicemail import parse_message, partial_texts, read_contacts

    loaded = _load(model, jobs)
    people = None if contacts is None else read_contacts(contacts)

    def show(number: int, answer: Any, /, **more: Any) -> None:
        result = {**more, "message": number, **answer.to_dict()}
        if people is not None:
            result["contacts"] = [
                {"name": one.contact.name, "probability": round(one.probability, 4), "evidence": one.evidence}
                for one in people.identify(answer)
            ]
        typer.echo(json_line(result))

    lines, numbers = read_lines(source, text_field), count(1)
    if partial:
        for piece in partial_texts(document.text for document in lines):
            show(piece.message, loaded.extract([piece.text], reasons=reasons)[0], complete=piece.complete)
            sys.stdout.flush()
        return
    while chunk := list(islice(lines, 1000 if source != "-" else 1)):
        messages = [parse_message(one.text, source=one.source, line=one.line) for one in chunk]
        for document, answer in zip(chunk, loaded.extract(messages, reasons=reasons), strict=True):
            show(next(numbers), answer, **({} if document.plain else record_fields(document)))


@app.command()
def evaluate(
    model: _Model,
    messages: _Marked,
    k: Annotated[int, answers("Number of errors to print, the surest of each kind first.")] = 10,
    list_errors: Annotated[
        bool, typer.Option("--list-errors", help="Print errors in context instead of figures.")
    ] = False,
    json: JsonLines = False,
    jobs: Jobs = None,
) -> None:
    """Print precision, recall and F of a model on marked messages, by several criteria, with 95 % intervals.

    Callers, names and numbers (telno) strictly, by containment, and for callers by containment of the name; then the
    number grammar alone: grammar takes all its candidates, prune those of four digits or more, digits is the baseline.
    With --list-errors: kind, label, message, gold, proposed, confidence, context.

    Example: textmill voicemail evaluate calls.mill test.txt --list-errors -k 20
    """
    from itertools import groupby, islice

    from textmill.tasks.voicemail import evaluate_answers, evaluate_spans, plain_rules, read_messages

    loaded = _load(model, jobs)
    marked = _marked(read_messages(messages))
    result = evaluate_answers(marked, loaded.extract(marked))
    if list_errors:
        columns = ("kind", "label", "message", "gold", "proposed", "confidence", "context")
        table = Printed(dict.fromkeys(columns, "") | {"confidence": ".3f"}, json=json)
        for _, group in groupby(result.errors, key=lambda error: error.kind):
            for error in islice(group, k):
                table.row(**error._asdict() | {"message": error.message + 1})
        return
    figures = dict.fromkeys(("precision", "recall", "f1", "low", "high"), ".4f")
    table = Printed({"system": "", "label": "", "criterion": "", **figures, "proposed": "", "gold": ""}, json=json)
    for row in result.rows:
        table.row(system="trees", **row._asdict())
    for system, spans in plain_rules(marked, loaded.locale_).items():
        table.row(system=system, **evaluate_spans(marked, spans, "telno")._asdict())


@app.command()
def rules(
    model: _Model,
    tree: Annotated[
        str, typer.Option(help="caller start, caller length, name start, name length or number.")
    ] = "number",
    json: JsonLines = False,
) -> None:
    """Print a tree of a model as rules, in the order of its leaves.

    Columns: cases and errors of training, label, rule. Of numbers label 1 is to be called; a start of -1 is no caller.

    Example: textmill voicemail rules calls.mill --tree 'name length'
    """
    table = Printed({"cases": "g", "errors": "g", "label": "", "rule": ""}, json=json)
    for rule in _load(model, None).rules(tree):
        table.row(cases=float(rule.cases), errors=float(rule.errors), label=str(rule.label), rule=str(rule))


@app.command()
def grammar(
    source: Annotated[
        str, typer.Argument(metavar="[TEXT]", help="A file with one message per line, or - for stdin.")
    ] = "-",
    locale: _Locale = "us",
    fillers: _Fillers = False,
    min_digits: Annotated[int, typer.Option(min=1, help="Leave out numbers of fewer digits.")] = 1,
    lattice: Annotated[
        bool, typer.Option("--lattice", help="The file is a lattice of words: numbers with their posteriors.")
    ] = False,
    k: Annotated[int, answers("With --lattice: how many numbers to ask for.")] = 10,
    output: Annotated[
        Path | None, output_option("Write the grammar as a transducer in OpenFst's format instead, and leave.")
    ] = None,
    json: JsonLines = False,
    jobs: Jobs = None,
) -> None:
    """Print the spoken numbers of messages as digits.

    Columns: message, first word, one past the last word, digits, extension, the number as it is written, the same words
    read as an amount, and the words. With --lattice: digits, extension, the number as it is written, and posterior.

    Example: echo 'call ten twenty five' | textmill voicemail grammar
    """
    from itertools import count, islice

    from textmill.fst import read_fst, write_fst
    from textmill.tasks.voicemail import NumberGrammar, format_number, numbers_in_lattice, parse_message, quantity

    rules = NumberGrammar(locale, skip_fillers=fillers, n_jobs=jobs)
    if output is not None:
        write_fst(rules.transducer(), output)
        return
    if lattice:
        table = Printed({"digits": "", "extension": "", "number": "", "posterior": ".4f"}, json=json)
        for one in numbers_in_lattice(read_fst(source), rules, k=k, min_digits=min_digits):
            written = format_number(one.digits, one.extension, locale)
            table.row(digits=one.digits, extension=one.extension, number=written, posterior=one.posterior)
        return
    columns = ("message", "start", "end", "digits", "extension", "number", "amount", "words")
    table = Printed(dict.fromkeys(columns, ""), json=json)
    lines, places = read_lines(source, None), count(1)
    while chunk := list(islice(lines, 10_000)):
        messages = [parse_message(one.text, source=one.source, line=one.line) for one in chunk]
        for message, numbers in zip(messages, rules.find_all(messages), strict=True):
            number = next(places)
            for start, end, digits, extension, _ in numbers:
                if len(digits) + len(extension) >= min_digits:
                    words = message.tokens[start:end]
                    table.row(
                        message=number,
                        start=start,
                        end=end,
                        digits=digits,
                        extension=extension,
                        number=format_number(digits, extension, locale),
                        amount=quantity(words, locale),
                        words=" ".join(words),
                    )


def _marked(messages: Iterable[Any]) -> list[Any]:
    """The messages; an error if none has a mark, as in a file of plain text or without any."""
    from textmill.errors import DataError

    marked = list(messages)
    if not any(message.spans for message in marked):
        raise DataError("no message has a mark; put callers and numbers between tags such as <caller> and </caller>")
    return marked


def _load(path: Path, jobs: int | None) -> Any:
    from textmill.model import load
    from textmill.tasks import VoicemailExtractor

    return load(path, expect=VoicemailExtractor).set_params(n_jobs=jobs)
