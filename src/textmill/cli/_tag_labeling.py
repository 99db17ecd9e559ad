"""Labeling with hidden states: which search, its limits, and certificates as JSON lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from textmill.cli._json import json_line

__all__ = ["SearchOptions", "certified_lines", "read_tokens"]

BATCH = 1000  # sequences labeled together

_Search = Annotated[
    str | None,
    typer.Option(
        help="Hidden states: how to find the best labeling, label, hidden or hidden-exact, or viterbi for that of "
        "the best hidden path; default: label."
    ),
]
_Certificates = Annotated[
    bool,
    typer.Option(
        "--certificates", help="Hidden states: print a JSON line per sequence with its labelings and the proof."
    ),
]
_MaxExpansions = Annotated[int | None, typer.Option(help="Hidden states: limit of expanded prefixes per sequence.")]
_MaxPaths = Annotated[int | None, typer.Option(help="Hidden states: limit of hidden paths per sequence.")]
_MaxSeconds = Annotated[float | None, typer.Option(help="Hidden states: limit of seconds per sequence.")]


@dataclass(frozen=True)
class SearchOptions:
    """How models with hidden states search."""

    search: _Search = None
    certificates: _Certificates = False
    max_expansions: _MaxExpansions = None
    max_paths: _MaxPaths = None
    max_seconds: _MaxSeconds = None

    def checked(self, tagger: Any) -> str | None:
        """The search; an error where the tagger has no hidden states but one was asked for."""
        from textmill.errors import DataError
        from textmill.model import check_choice
        from textmill.sequence import SEARCHES, LatentCRF

        if self != SearchOptions() and not isinstance(tagger, LatentCRF):
            raise DataError("--search, --certificates and their limits are for models trained with --kind latent")
        if self.search is not None:
            check_choice("search", self.search, (*SEARCHES, "viterbi"))
        if not self.certificates and (self.max_expansions or self.max_paths or self.max_seconds):
            raise DataError("limits of a search leave answers that are not proved; pass --certificates to see which")
        return self.search


def read_tokens(tagger: Any, source: Any, **reading: Any) -> Any:
    """The sentences to label, with their lines; an error for text that was not cut into words."""
    from textmill.corpus import check_tagged, read_tagged
    from textmill.sequence import SemiMarkovCRF

    if isinstance(tagger, SemiMarkovCRF):
        names = [name for name in tagger.segment_labels_.tolist() if name != "O"]
        width, labels = tagger.width_, {"O", *(f"{place}-{name}" for name in names for place in "BIESLU")}
    else:
        width, labels = tagger.encoder_.width_, set(tagger.classes_.tolist())
        width = 0 if _reads_words_only(tagger) else width
    sentences = read_tagged(source, keep_lines=True, **reading)
    return check_tagged(sentences, labels, width=width) if _reads_columns(tagger) else sentences


def _reads_words_only(tagger: Any) -> bool:
    """Whether the patterns of a tagger read nothing but the first column, so that it does without the others."""
    from textmill.errors import DataError
    from textmill.sequence import check_words_only

    try:
        check_words_only(tagger)
    except DataError:
        return False
    return True


def _reads_columns(tagger: Any) -> bool:
    """Whether a tagger reads columns; the columns of one without patterns are tests, as many as a token has."""
    encoder = getattr(tagger, "encoder_", None)
    return encoder is None or bool(encoder.patterns_)


def certified_lines(
    tagger: Any,
    source: Any,
    format: str,  # noqa: A002
    options: Any,
    searching: SearchOptions,
    **reading: Any,
) -> Iterator[str]:
    """A JSON line per sequence: tokens, labelings with probabilities, certificate."""
    from itertools import islice

    from textmill.errors import DataError
    from textmill.progress import track
    from textmill.sequence import SearchLimits, split_sentence

    if format != "columns" or options.scores or options.posterior or options.maximize or options.search == "viterbi":
        raise DataError("--certificates goes with columns, --search, -k, --constrain and limits only")
    limits = SearchLimits(searching.max_expansions, searching.max_paths, searching.max_seconds)
    sentences = iter(track(read_tokens(tagger, source, **reading), "labeling", unit="sequences"))
    while batch := list(islice(sentences, BATCH)):
        split = [split_sentence(tagger, sentence, options.constrain) for sentence in batch]
        answers = tagger.predict_certified(
            [tokens for tokens, _ in split],
            options.k,
            search=options.search or "label",
            limits=limits,
            constraints=[labels for _, labels in split] if options.constrain else None,
        )
        for sentence, (paths, certificate) in zip(batch, answers, strict=True):
            labelings = [{"labels": labels, "probability": probability} for labels, probability in paths]
            facts = {"tokens": list(sentence.column(0)), "labelings": labelings, **certificate._asdict()}
            yield json_line(facts) + "\n"
