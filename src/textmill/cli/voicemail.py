"""Find who called and which number to call back in voicemail: spoken numbers, statistics, training, extraction."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from textmill.cli._options import Jobs, Json, JsonLines, Seed, answers
from textmill.cli._outputs import figure_option, output_option
from textmill.cli._tables import Printed

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)

_Marked = Annotated[
    list[str],
    typer.Argument(metavar="MESSAGES...", help="Marked messages, one per line; - for stdin."),
]
_Locale = Annotated[str, typer.Option(help="Words of the locale: us, gb or a TOML file.")]
_Fillers = Annotated[bool, typer.Option("--fillers", help="Pass over uh and um inside of numbers.")]


@app.command()
def generate(
    messages: Annotated[int, typer.Option(min=0, help="Number of messages.")] = 1000,
    output: Annotated[str, output_option("File to write, with mark-up; - for stdout.")] = "-",
    callers: Annotated[str, typer.Option(help="Who calls: known, or new (people with other surnames).")] = "known",
    background: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Sentences to fill messages with, one per line; default: our own."),
    ] = None,
    surnames: Annotated[
        str | None, typer.Option(metavar="FILE", help="Surnames, one per line; default: 2,000 of the US census.")
    ] = None,
    noise: Annotated[
        float, typer.Option(min=0, max=0.9, help="Word error rate of a recogniser that writes them down.")
    ] = 0.0,
    seed: Seed = 0,
) -> None:
    """Write made-up messages with gold mark-up, one per line.

    Example: textmill voicemail generate --messages 2000 --callers new --noise 0.23 -o noisy.txt
    """
    from textmill.corpus import open_lines, writer
    from textmill.tasks.voicemail import RecognizerChannel, VoicemailGenerator

    world = VoicemailGenerator(
        background=None if background is None else [line for _, line in open_lines(background)],
        callers=callers,
        surnames=None if surnames is None else [line.strip() for _, line in open_lines(surnames) if line.strip()],
        random_state=seed,
    )
    stream = world.generate(messages)
    if noise:
        stream = RecognizerChannel(noise, random_state=seed).garble(stream)
    with writer(output) as lines:
        for message in stream:
            lines.write(f"{message}\n")


@app.command()
def stats(
    messages: _Marked,
    kind: Annotated[
        str | None, typer.Option(help="Print one distribution, such as 'caller start' or 'name length'.")
    ] = None,
    plot: Annotated[Path | None, figure_option("Draw the distribution of --kind to this file.")] = None,
    json: Json = False,
) -> None:
    """Print counts of messages, callers, names and numbers, and how spans are distributed.

    Columns: figure and value; then for each distribution its entropy in bits and its greatest value. With --kind the
    values of one distribution: value, count, share, cumulative share.

    Example: textmill voicemail stats train.txt --kind 'caller start' --plot starts.svg
    """
    from textmill.cli._json import json_line
    from textmill.errors import DataError
    from textmill.plot import save
    from textmill.tasks.voicemail import describe_messages, draw_distribution, read_messages

    statistics = describe_messages(read_messages(messages))
    if plot is not None:
        if kind is None:
            raise DataError("--plot needs --kind: which distribution to draw")
        save(draw_distribution(statistics, kind), plot)
    if kind is not None:
        columns = statistics.distribution(kind).columns()
        if json:
            typer.echo(json_line(columns))
            return
        table = Printed({"value": "", "count": "", "share": ".4f", "cumulative": ".4f"})
        for row in zip(*columns.values(), strict=True):
            table.row(**dict(zip(columns, row, strict=True)))
        return
    figures: dict[str, float | None] = {**statistics.figures()}
    for name, distribution in statistics.distributions.items():
        figures[f"entropy of {name}"] = distribution.entropy
        figures[f"greatest {name}"] = distribution.largest
    if json:
        typer.echo(json_line(figures))
        return
    table = Printed({"figure": "", "value": ""})
    for name, value in figures.items():
        table.row(figure=name, value=f"{value:.4f}" if isinstance(value, float) else value)


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

    Example: echo 'call three two seven ten twenty five' | textmill voicemail grammar
    """
    from itertools import islice

    from textmill.corpus import open_lines
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
    name = "standard input" if source == "-" else source
    columns = ("message", "start", "end", "digits", "extension", "number", "amount", "words")
    table = Printed(dict.fromkeys(columns, ""), json=json)
    lines = open_lines(source)
    while chunk := list(islice(lines, 10_000)):
        messages = [parse_message(text, source=name, line=line) for line, text in chunk]
        for (line, _), message, numbers in zip(chunk, messages, rules.find_all(messages), strict=True):
            for start, end, digits, extension, _ in numbers:
                if len(digits) + len(extension) >= min_digits:
                    words = message.tokens[start:end]
                    table.row(
                        message=line,
                        start=start,
                        end=end,
                        digits=digits,
                        extension=extension,
                        number=format_number(digits, extension, locale),
                        amount=quantity(words, locale),
                        words=" ".join(words),
                    )
