"""Sheets for people: sentences without labels in a random order, and what the judgments that come back are worth.

A sheet is a CSV file: number, sentence, and an empty column `right` for yes or no. Its key, a second file, says which
sentences were sampled, and stays with whoever made the sheet. Judges may be native speakers or not; each sends one file
back, and two of them can be compared by kappa.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from textmill.corpus import read_records, writer
from textmill.errors import DataError
from textmill.metrics import Confusion
from textmill.model import check_range
from textmill.tables import Rows
from textmill.tasks.fluency.evaluation import positives_of
from textmill.tasks.fluency.model import FluencyModel, seed_for

__all__ = ["Judgment", "judge_sheets", "write_sheet"]

_YES, _NO = ("yes", "y", "1", "true", "right", "+", "ok"), ("no", "n", "0", "false", "wrong", "-")


@dataclass(frozen=True, slots=True)
class Judgment:
    """What one judge made of a sheet: sentences judged, accuracy, shares of right ones and of samples called right."""

    judge: str
    sentences: int
    unanswered: int
    accuracy: float
    right_accepted: float
    samples_accepted: float
    kappa: float  # with the first judge, over sentences that both answered; NaN for the first


def write_sheet(
    model: FluencyModel,
    documents: Any,
    sheet: str | Path,
    key: str | Path,
    *,
    sentences: int = 100,
    random_state: int = 0,
) -> int:
    """Write a sheet and its key, half of it sentences of documents and half samples; returns the number of sentences.

    Unknown words stand as `<unk>` on both sides, so that they do not give positives away.
    """
    check_range("sentences", sentences, at_least=2, whole=True)
    positives = positives_of(model, documents)
    half = min(sentences // 2, positives.size)
    generator = np.random.Generator(np.random.Philox(seed_for(random_state, "sheet")))
    right = positives.take(np.sort(generator.permutation(positives.size)[:half]))
    wrong = model.draw(half, purpose="sheet", seen=set(positives.keys()), number=random_state)
    words = model.lm_.words_.to_list()
    rows = []
    for label, side in (("yes", right), ("no", wrong)):
        bounds, ids = side.offsets.tolist(), side.ids.tolist()
        rows += [(label, " ".join(words[i] for i in ids[bounds[s] : bounds[s + 1]])) for s in range(side.size)]
    order = generator.permutation(len(rows)).tolist()
    with writer(str(sheet)) as out, writer(str(key)) as answers:
        table, truth = csv.writer(out, lineterminator="\n"), csv.writer(answers, lineterminator="\n")
        table.writerow(["number", "sentence", "right"])
        truth.writerow(["number", "right"])
        for number, i in enumerate(order, 1):
            table.writerow([number, rows[i][1], ""])
            truth.writerow([number, rows[i][0]])
    return len(rows)


def judge_sheets(sheets: Mapping[str, str | Path] | Sequence[str | Path], key: str | Path) -> Rows[Judgment]:
    """Compare sheets that came back, by name of the judge or by file, with their key."""
    named = sheets if isinstance(sheets, Mapping) else {Path(sheet).stem: sheet for sheet in sheets}
    if not named:
        raise DataError("there are no sheets; pass at least one")
    truth = {number: answer for number, answer in _answers(key).items() if answer is not None}
    if len(set(truth.values())) < 2:
        raise DataError("the key has not both right and sampled sentences; pass the key of the sheet", source=str(key))
    rows = []
    first: dict[str, bool] | None = None
    for name, path in named.items():
        answers = _answers(path)
        strange = sorted(set(answers) - set(truth))
        if strange:
            raise DataError(f"number {strange[0]} is not in the key; pass the key of this sheet", source=str(path))
        judged = {number: answer for number, answer in answers.items() if answer is not None}
        if not judged:
            raise DataError("no sentence is judged; write yes or no into the column 'right'", source=str(path))
        accepted = {side: [judged[n] for n in judged if truth[n] is side] for side in (True, False)}
        both = [n for n in judged if first is not None and n in first]
        kappa = float("nan")
        if first is not None and both:
            kappa = Confusion.from_labels([first[n] for n in both], [judged[n] for n in both]).kappa()
        rows.append(
            Judgment(
                name,
                len(judged),
                len(truth) - len(judged),
                float(np.mean([judged[n] == truth[n] for n in judged])),
                float(np.mean(accepted[True])) if accepted[True] else float("nan"),
                float(np.mean(accepted[False])) if accepted[False] else float("nan"),
                kappa,
            )
        )
        first = judged if first is None else first
    return Rows(rows, Judgment)


def _answers(path: str | Path) -> dict[str, bool | None]:
    """Answers by number of the sentence; None where there is none."""
    answers: dict[str, bool | None] = {}
    for record in read_records(str(path), format="csv"):
        fields = record.fields
        if "number" not in fields or "right" not in fields:
            raise DataError("a sheet has the columns number and right", source=record.source, line=record.line)
        number, answer = str(fields["number"]).strip(), str(fields["right"] or "").strip().lower()
        if number in answers:
            raise DataError(f"number {number} comes twice", source=record.source, line=record.line)
        if answer not in ("", *_YES, *_NO):
            raise DataError(f"'{answer}' is no judgment; write yes or no", source=record.source, line=record.line)
        answers[number] = None if not answer else answer in _YES
    return answers
