"""Options that mean the same in every command: each is defined here once, with its help.

Where only the help differs, a function makes the option: `answers("Number of words to show.")` is -k everywhere.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

__all__ = [
    "Cluster",
    "ColumnEncoding",
    "DocumentMark",
    "Errors",
    "IdField",
    "Jobs",
    "Json",
    "JsonLines",
    "Keep",
    "LabelColumn",
    "MaxDf",
    "MaxIter",
    "MinCount",
    "MinDf",
    "Negative",
    "RankBy",
    "Seed",
    "TextField",
    "answers",
]


def _check_errors(value: str) -> str:
    """One of two words, whether or not anything is read."""
    if value not in ("strict", "skip"):
        from textmill.errors import DataError

        raise DataError(f"--errors must be 'strict' or 'skip', got {value!r}")
    return value


Cluster = Annotated[str | None, typer.Option(help="Address of a Dask scheduler, such as tcp://host:8786.")]
ColumnEncoding = Annotated[str, typer.Option("--encoding", help="Encoding of columns and texts, such as latin-1.")]
DocumentMark = Annotated[
    str,
    typer.Option(
        "--document",
        metavar="MARK",
        help="How lines between documents of a column file begin, such as ###MEDLINE:; '' for none.",
    ),
]
Errors = Annotated[
    str,
    typer.Option(callback=_check_errors, help="What to do with bad records: strict (stop) or skip (and count them)."),
]
IdField = Annotated[str | None, typer.Option(help="Field that holds the id, for JSONL and CSV.")]
Jobs = Annotated[int | None, typer.Option(help="Number of threads; default: all cores.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JsonLines = Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")]
Keep = Annotated[int | None, typer.Option(help="Keep only the most frequent terms, this many of them.")]
LabelColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Column of CoNLL-U that holds the labels, such as upos; of other columns it is the last."
    ),
]
MaxDf = Annotated[str, typer.Option(help="Leave out terms in more documents: a number, or a share such as 0.1.")]
MaxIter = Annotated[int, typer.Option(help="Maximum number of iterations.")]
MinCount = Annotated[int, typer.Option(help="Leave out terms that occur less often.")]
MinDf = Annotated[str, typer.Option(help="Leave out terms in fewer documents: a number, or a share such as 0.01.")]
Negative = Annotated[bool, typer.Option(help="Allow negative values.")]
RankBy = Annotated[str, typer.Option(help="Frequency that --keep goes by: documents or occurrences.")]
Seed = Annotated[int, typer.Option(help="Seed of the random numbers.")]
TextField = Annotated[str | None, typer.Option(help="Field that holds the text, for JSONL and CSV.")]


def answers(text: str) -> Any:
    """The option -k: how many answers are given."""
    return typer.Option("-k", min=1, help=text)
