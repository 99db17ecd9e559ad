"""Options that the commands of `textmill tag` share: how data become tests, and how a tagger is trained."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._options import ColumnEncoding, DocumentMark, LabelColumn
from textmill.cli._tag_kinds import KINDS

__all__ = ["Format", "Tests", "Training"]

Format = Annotated[str, typer.Option("--format", help="Data format: columns, tests or crfsuite.")]
_Patterns = Annotated[
    Path | None, typer.Option("--patterns", "-p", help="Pattern file; default: patterns for the number of columns.")
]
_WordsOnly = Annotated[
    bool,
    typer.Option(
        "--words-only",
        rich_help_panel="Data",
        help="Look only at the first column, so that running text can be labeled.",
    ),
]
_Syntax = Annotated[str, typer.Option(rich_help_panel="Data", help="Pattern syntax: textmill, wapiti or crf++.")]
_MinCount = Annotated[
    int, typer.Option(rich_help_panel="Data", help="Leave out tests that occur less often in the data.")
]
_Algorithm = Annotated[
    str | None,
    typer.Option(
        rich_help_panel="Training",
        help="Training algorithm: owlqn, lbfgs, cg, sgd_l1, sgd_l2, bcd, rprop or perceptron; default: owlqn, "
        "or lbfgs for hidden states.",
    ),
]
_Kind = Annotated[
    str,
    typer.Option(
        "--kind",
        help="Kind of model: crf, memm for a conditional Markov model, latent for hidden states, or semimarkov for "
        "segments.",
    ),
]
_L1 = Annotated[
    float | None,
    typer.Option(rich_help_panel="Training", help="L1 penalty; default: 0.5, or 0 if the algorithm has no L1 penalty."),
]
_L2 = Annotated[
    float | None,
    typer.Option(
        rich_help_panel="Training",
        help="L2 penalty (adds l2/2 times the squared norm); default: 1e-5, or 1 without L1.",
    ),
]
_MaxIter = Annotated[
    int | None, typer.Option(rich_help_panel="Training", help="Maximum number of iterations or epochs.")
]
_Rate = Annotated[
    float | None,
    typer.Option(
        rich_help_panel="Training",
        help="First learning rate of sgd_l1 and sgd_l2; default: the best of several on a part of the data.",
    ),
]
_Tolerance = Annotated[
    float | None,
    typer.Option(
        rich_help_panel="Training", help="Stop when the objective changes by less than this share; default: 1e-4."
    ),
]


@dataclass(frozen=True)
class Tests:
    """How data become labeled sequences, and their tokens tests."""

    patterns: _Patterns = None
    words_only: _WordsOnly = False
    syntax: _Syntax = "textmill"
    format: Format = "columns"
    min_count: _MinCount = 1
    document: DocumentMark = "-DOCSTART-"
    encoding: ColumnEncoding = "utf-8"
    label_column: LabelColumn = None

    def read(self, source: Any) -> Any:
        """The labeled sequences of a file."""
        from textmill.sequence import read_labeled

        return read_labeled(
            source,
            format=self.format,
            document=self.document,
            encoding=self.encoding,
            label_column=self.label_column,
        )

    def read_training(self, source: Any) -> Any:
        """The same of a file to learn from, whose labels must have something to learn."""
        from textmill.sequence import check_labels

        return check_labels(self.read(source), source)

    def encoder(self, hash_bits: int | None = None) -> Any:
        """The encoder, not yet fitted."""
        from textmill.sequence import Encoder, default_patterns

        if self.words_only and (self.patterns is not None or self.format != "columns"):
            raise typer.BadParameter("--words-only chooses patterns for columns; leave out -p and --format")
        if self.patterns is None and self.syntax != "textmill" and self.format == "columns":
            raise typer.BadParameter("--syntax is of a pattern file; pass -p FILE")
        syntax = "wapiti" if self.format == "tests" else self.syntax
        settings: dict[str, Any] = {"syntax": syntax, "min_count": self.min_count, "hash_bits": hash_bits}
        if self.patterns is not None:
            return Encoder.from_file(self.patterns, **settings)
        return Encoder(patterns=default_patterns(1) if self.words_only else None, **settings)

    def default_patterns(self, tagger: Any) -> str | None:
        """A line on the patterns that a trained tagger has by default; None if it has none."""
        from textmill.readable import counted
        from textmill.sequence import SemiMarkovCRF, describe_default

        if self.patterns is not None:
            return None
        if isinstance(tagger, SemiMarkovCRF):
            number = counted(len(tagger.patterns_), "patterns")
            return f"{number} by default, for {counted(tagger.width_, 'columns')}; -p FILE replaces them"
        if not tagger.encoder_.patterns_:
            return None
        number = counted(len(tagger.encoder_.patterns_), "patterns")
        columns = 1 if self.words_only else tagger.encoder_.width_
        return f"{number} by default: {describe_default(columns)}; --counts lists them, -p FILE replaces them"


@dataclass(frozen=True)
class Training:
    """How a tagger is trained."""

    kind: _Kind = "crf"
    algorithm: _Algorithm = None
    l1: _L1 = None
    l2: _L2 = None
    rate: _Rate = None
    max_iter: _MaxIter = None
    tolerance: _Tolerance = None

    def chosen(self) -> Any:
        """The algorithm: its name, or an object with the rate."""
        from textmill.model import check_range
        from textmill.sequence import ALGORITHMS

        name = self.algorithm or KINDS[self.kind].algorithm
        if self.rate is None:
            return name
        if name not in ("sgd_l1", "sgd_l2"):
            raise typer.BadParameter(f"--rate is of sgd_l1 and sgd_l2; {name} has no learning rate")
        check_range("rate", self.rate, above=0)
        algorithm: Any = ALGORITHMS[name]
        return algorithm(eta0=self.rate)

    def tagger(self, encoder: Any, **parameters: Any) -> Any:
        """The tagger, not yet trained."""
        from textmill.model import check_choice
        from textmill.sequence import TAGGERS

        check_choice("kind", self.kind, TAGGERS)
        return TAGGERS[self.kind](
            encoder=encoder,
            algorithm=self.chosen(),
            l1=self.l1,
            l2=self.l2,
            max_iter=self.max_iter,
            tolerance=self.tolerance,
            **parameters,
        )
