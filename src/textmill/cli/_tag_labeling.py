"""Labelling with hidden states: which search, its limits, and certificates as JSON lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from textmill.cli._json import json_line

__all__ = ["SearchOptions", "certified_lines"]

BATCH = 1000  # sequences labelled together

_Search = Annotated[
    str | None,
    typer.Option(
        help="Hidden states: how to find the best labelling, label, hidden or hidden-exact, or viterbi for that of "
        "the best hidden path; default: label."
    ),
]
_Certificates = Annotated[
    bool,
    typer.Option(
        "--certificates", help="Hidden states: print a JSON line per sequence with its labellings and the proof."
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


def certified_lines(tagger: Any, source: str, format: str, options: Any, searching: SearchOptions) -> Iterator[str]:  # noqa: A002
    """A JSON line per sequence: tokens, labellings with probabilities, certificate."""
    from itertools import islice

    from textmill.corpus import read_columns
    from textmill.errors import DataError
    from textmill.progress import track
    from textmill.sequence import SearchLimits, split_sentence

    if format != "columns" or options.scores or options.posterior or options.maximise or options.search == "viterbi":
        raise DataError("--certificates goes with columns, --search, -k, --constrain and limits only")
    limits = SearchLimits(searching.max_expansions, searching.max_paths, searching.max_seconds)
    sentences = iter(track(read_columns(source), "labelling", unit="sequences"))
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
