"""Verb of `textmill fst` that applies a machine to strings."""

from __future__ import annotations

from itertools import tee
from typing import Annotated

import typer

from textmill.cli import _fst_files as files
from textmill.cli._fst_program import Program
from textmill.cli._json import json_line
from textmill.cli._options import Jobs, JsonLines
from textmill.cli._outputs import output_argument

app = typer.Typer(add_completion=False)


@app.command("apply", cls=Program)
def apply_machine(
    machine: Annotated[str, typer.Argument(metavar="IN.FST", help="The machine.")],
    source: Annotated[str, typer.Argument(metavar="TEXT", help="Strings, one per line; - or none for stdin.")] = "",
    target: Annotated[str, output_argument("File to write; - or none for stdout.", "OUT")] = "",
    k: Annotated[
        int, typer.Option("-k", min=1, max=files.MOST, help="Number of distinct outputs per string, the best first.")
    ] = 1,
    token_type: Annotated[str, typer.Option(help="What labels stand for: utf8, byte or symbol.")] = "utf8",
    isymbols: Annotated[str, typer.Option(help="File with the table of input symbols.")] = "",
    osymbols: Annotated[str, typer.Option(help="File with the table of output symbols.")] = "",
    show_weight: Annotated[bool, typer.Option(help="Add the weight of each output.")] = False,
    jobs: Jobs = None,
    json: JsonLines = False,
) -> None:
    """Look up strings: the best outputs of a machine for each line of a text.

    Prints one line per output: the string, a tab and the output. A string without outputs is a line without a tab.

    Example: textmill fst apply -k 3 --show_weight speller.fst words.txt
    """
    from textmill.corpus import open_lines, writer
    from textmill.fst.strings import apply_stream
    from textmill.progress import track

    fst = files.read_machine(machine)
    fst.input_symbols = files.read_symbols(isymbols) or fst.input_symbols
    fst.output_symbols = files.read_symbols(osymbols) or fst.output_symbols
    texts, asked = tee(line for _, line in open_lines(source or "-"))
    name = "standard input" if files.is_stream(source) else source
    answers = apply_stream(fst, asked, k=k, token_type=token_type, n_jobs=jobs, source=name)
    form = fst.semiring.format
    with writer(target or "-") as out:
        for text, outputs in track(zip(texts, answers, strict=True), "looking up", unit="strings"):
            if json:
                rows = [{"output": output, "weight": form(weight)} for output, weight in outputs]
                out.write(json_line({"input": text, "outputs": rows}) + "\n")
            elif not outputs:
                out.write(f"{text}\n")
            else:
                for output, weight in outputs:
                    out.write(f"{text}\t{output}\t{form(weight)}\n" if show_weight else f"{text}\t{output}\n")
