"""Turn numbers, dates, money and abbreviations into words, and back."""

from __future__ import annotations

from typing import Annotated

import typer

from textmill.cli._lines import read_lines, record_line
from textmill.cli._options import Jobs, JsonLines, TextField
from textmill.cli._outputs import output_option

app = typer.Typer(add_completion=False)

_BLOCK = 1 << 20


@app.command()
def normalize(
    source: Annotated[str, typer.Argument(metavar="[TEXT]", help="The text, a file or - for stdin.")] = "-",
    output: Annotated[str, output_option("File to write; - for stdout.")] = "-",
    inverse: Annotated[bool, typer.Option("--inverse", help="From words to how they are written.")] = False,
    language: Annotated[str, typer.Option(help="The language of the text.")] = "english",
    grammar: Annotated[str, typer.Option(help="A grammar of your own, with 'tokens byte'.")] = "",
    rule: Annotated[str, typer.Option(help="The rule of the grammar; default: the last that is exported.")] = "",
    convention: Annotated[
        list[str] | None,
        typer.Option("--convention", metavar="NAME=CHOICE", help="Settle what is right either way, as thousands=none."),
    ] = None,
    text_field: TextField = None,
    json: JsonLines = False,
    jobs: Jobs = None,
) -> None:
    """Write out what is not written as it is spoken, line by line; the rest of the text stays as it is.

    Of JSONL, CSV and Parquet the text of each record is rewritten, and a line of JSON written with all its fields.
    With --json, each line of the text becomes an object with its stretches: which characters became which words.

    Example: echo 'Dr. Smith paid $3.50.' | textmill normalize
    """
    import sys

    from textmill.corpus import binary_writer, open_source, writer
    from textmill.progress import track
    from textmill.tasks.normalization import Normalizer

    name = "standard input" if source == "-" else source
    chosen = _chosen(convention or [])
    normalizer = Normalizer(
        language, inverse=inverse, grammar=grammar or None, rule=rule or None, conventions=chosen, n_jobs=jobs
    )
    if json:
        with writer(output) as lines:
            for document in track(read_lines(source, text_field), "normalizing", unit="lines"):
                text = document.text
                changes = [
                    {"start": change.start, "end": change.end, "input": change.input, "output": change.output}
                    for change in normalizer.changes(text)
                ]
                answer = {"output": normalizer.normalize(text), "changes": changes}
                lines.write(record_line(document, **answer))
        return
    with open_source(source, text_field=text_field) as opened:
        if opened.format != "txt":
            field = text_field or "text"
            with writer(output) as lines:
                for document in track(opened.documents(), "normalizing", unit="records"):
                    lines.write(record_line(document, **{field: normalizer.normalize(document.text)}))
            return
        blocks = iter(lambda: opened.stream.read(_BLOCK), b"")
        results = normalizer.normalize_stream(track(blocks, "normalizing", unit="MB"), name)
        if output == "-":
            for result in results:
                sys.stdout.buffer.write(result)
            sys.stdout.buffer.flush()
        else:
            with binary_writer(output) as out:
                for result in results:
                    out.write(result)


def _chosen(settings: list[str]) -> dict[str, str]:
    pairs = [setting.partition("=") for setting in settings]
    for name, sign, _ in pairs:
        if not sign:
            raise typer.BadParameter(f"'{name}' has no choice; write NAME=CHOICE", param_hint="--convention")
    return {name: choice for name, _, choice in pairs}
