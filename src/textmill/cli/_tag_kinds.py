"""Kinds of taggers that `textmill tag` trains: one row each, and the options that only some of them have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

__all__ = ["KINDS", "Kind", "ModelOptions", "check_kind_options", "states_of"]


class Kind(NamedTuple):
    """A kind of tagger: the algorithm it is trained with by default, and the options that not all kinds have."""

    algorithm: str
    options: tuple[str, ...]


_TRAINING = ("fine_tune", "rate", "stages", "model", "cluster", "counts")
_CHAIN = ("start_label", "features", "hash_bits", "syntax", "format", *_TRAINING)
_HIDDEN = ("states", "order", "start", "noise", "restarts")
_SEGMENTS = ("max_length", "filter_recall", "history", "preset", "keep_long", "word_list")

KINDS: dict[str, Kind] = {
    "crf": Kind("owlqn", _CHAIN),
    "memm": Kind("owlqn", _CHAIN),
    "latent": Kind("lbfgs", (*_CHAIN, *_HIDDEN)),
    "semimarkov": Kind("lbfgs", _SEGMENTS),
}
_PARTED = {name for kind in KINDS.values() for name in kind.options}
_HIDDEN_PANEL = "Options of --kind latent (hidden states)"
_SEGMENTS_PANEL = "Options of --kind semimarkov (segments)"

_States = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBERS",
        rich_help_panel=_HIDDEN_PANEL,
        help="Hidden states per label, such as 4 or B=4,I=2,O=1; default: 4.",
    ),
]
_Order = Annotated[
    int | None, typer.Option(rich_help_panel=_HIDDEN_PANEL, help="1, or 2 for tests of three states; default: 1.")
]
_Start = Annotated[
    str | None,
    typer.Option(rich_help_panel=_HIDDEN_PANEL, help="Where training starts, random, crf or split; default: random."),
]
_Noise = Annotated[
    float | None,
    typer.Option(rich_help_panel=_HIDDEN_PANEL, help="Standard deviation of random start weights; default: 0.05."),
]
_Restarts = Annotated[
    int | None,
    typer.Option(
        rich_help_panel=_HIDDEN_PANEL, help="Number of trainings; the best on development data is kept; default: 1."
    ),
]
_MaxLength = Annotated[
    int | None,
    typer.Option(rich_help_panel=_SEGMENTS_PANEL, help="Number of tokens of the longest segment; default: 10."),
]
_Recall = Annotated[
    float | None,
    typer.Option(
        rich_help_panel=_SEGMENTS_PANEL,
        help="Share of the segments that the filter of candidates must keep, 1 for no filter; default: 0.995.",
    ),
]
_History = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=_SEGMENTS_PANEL, help="What a segment follows: none, label or entity; default: entity."
    ),
]
_Preset = Annotated[
    str | None,
    typer.Option(rich_help_panel=_SEGMENTS_PANEL, help="Patterns without -p, rich or table3; default: rich."),
]
_KeepLong = Annotated[
    bool,
    typer.Option(
        "--keep-long", rich_help_panel=_SEGMENTS_PANEL, help="Train on segments longer than --max-length, too."
    ),
]
_WordList = Annotated[
    list[Path] | None,
    typer.Option(rich_help_panel=_SEGMENTS_PANEL, help="File with names, one per line, to compare segments with."),
]


def check_kind_options(kind: str, options: Mapping[str, Any]) -> None:
    """Refuse a kind that is not there, and options that were given (not None, False or 0) but that it does not have."""
    from textmill.model import check_choice

    check_choice("kind", kind, KINDS)
    for name, value in options.items():
        if name in _PARTED and name not in KINDS[kind].options and value not in (None, False, 0):
            kinds = ", ".join(other for other, row in KINDS.items() if name in row.options)
            raise typer.BadParameter(f"--{name.replace('_', '-')} is not an option of --kind {kind} but of {kinds}")


@dataclass(frozen=True)
class ModelOptions:
    """Options of models with hidden states, and of models of segments."""

    states: _States = None
    order: _Order = None
    start: _Start = None
    noise: _Noise = None
    restarts: _Restarts = None
    max_length: _MaxLength = None
    filter_recall: _Recall = None
    history: _History = None
    preset: _Preset = None
    keep_long: _KeepLong = False
    word_list: _WordList = None

    def tagger(
        self, tests: Any, training: Any, *, chain: Mapping[str, Any] | None = None, hash_bits: int | None = None,
        **shared: Any,
    ) -> Any:  # fmt: skip
        """The tagger, not yet trained; `chain` are parameters that only chains of labels have."""
        options = {field.name: getattr(self, field.name) for field in fields(self)}
        also = {
            "syntax": tests.syntax != "textmill",
            "format": tests.format != "columns",
            "hash_bits": hash_bits,
            "rate": training.rate,
        }
        check_kind_options(training.kind, {**options, **also})
        if training.kind == "semimarkov":
            return self._segments(tests, training, **shared)
        own = {name: options[name] for name in _HIDDEN if options[name] is not None}
        if "states" in own:
            own["states"] = states_of(own["states"])
        encoder, chain = tests.encoder(hash_bits), dict(chain or {})
        if (every := chain.pop("stages", None)) is not None:
            encoder, chain["stages"] = staged(encoder, every)
        return training.tagger(encoder, **chain, **own, **shared)

    def _segments(self, tests: Any, training: Any, **shared: Any) -> Any:
        from textmill.corpus import open_lines
        from textmill.sequence import SemiMarkovCRF, parse_segment_patterns, segment_patterns

        own: dict[str, Any] = {"patterns": self.preset, "history": self.history, "max_length": self.max_length}
        if tests.patterns is not None:
            if self.preset is not None or tests.words_only:
                raise typer.BadParameter("-p has the patterns; leave out --preset and --words-only")
            own["patterns"] = "\n".join(line for _, line in open_lines(tests.patterns))
            parse_segment_patterns(own["patterns"], source=str(tests.patterns))
        elif tests.words_only:
            own["patterns"] = segment_patterns(self.preset or "rich", 1)
        if self.filter_recall is not None:
            own |= {"filter": None} if self.filter_recall == 1 else {"filter_recall": self.filter_recall}
        lists = {path.stem: [line for _, line in open_lines(path) if line.strip()] for path in self.word_list or ()}
        algorithm = training.algorithm or ("owlqn" if training.l1 else KINDS["semimarkov"].algorithm)
        return SemiMarkovCRF(
            **{name: value for name, value in own.items() if value is not None or name == "filter"},
            long_segments="keep" if self.keep_long else "drop",
            min_count=tests.min_count,
            word_lists=lists or None,
            algorithm=algorithm,
            l1=training.l1,
            l2=training.l2,
            max_iter=training.max_iter,
            tolerance=training.tolerance,
            **shared,
        )


def staged(encoder: Any, every: int) -> tuple[Any, Any]:
    """The encoder with the patterns that contain no other, and stages that add the others."""
    from textmill.sequence import nest_patterns

    if encoder.patterns is None:
        raise typer.BadParameter("--stages adds the patterns of a file one after the other; pass -p FILE")
    if encoder.hash_bits is not None:
        raise typer.BadParameter("--stages needs the names of tests; leave out --hash-bits")
    first, stages = nest_patterns(encoder.patterns, every, syntax=encoder.syntax, source=encoder.source)
    return type(encoder)(**{**encoder.get_params(deep=False), "patterns": first}), stages


def states_of(text: str) -> int | dict[str, int]:
    """One number of states, or one for each label."""
    from textmill.errors import DataError

    try:
        if "=" not in text:
            return int(text)
        pairs = [part.rpartition("=") for part in text.split(",")]
        return {label.strip(): int(number) for label, _, number in pairs}
    except ValueError:
        raise DataError(f"--states must be a number, or numbers such as B=4,I=2,O=1, got '{text}'") from None
