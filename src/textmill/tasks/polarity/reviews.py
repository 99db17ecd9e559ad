"""Reviews with scores: read, balance, describe.

A review is a text and a score, from CSV, TSV, JSONL, Parquet or star-review files (`corpus.reviews`). The score is in
`score_field`, or in the first of score, stars, rating, label and target that a record has.

    balance     the same number of reviews of each score, drawn in a seeded order: as many as the rarest score has
    describe    reviews, words and sentences for each score

Reference: Okanohara & Tsujii (2005), Table 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from textmill.arrays import Floats, Ints
from textmill.corpus import BadRecords, read_documents
from textmill.errors import DataError
from textmill.model import check_range
from textmill.tasks.polarity.scale import STAR_NAMES, Scale, parse_scale

__all__ = ["SCORE_FIELDS", "Reviews", "balance", "read_reviews"]

SCORE_FIELDS = ("score", "stars", "rating", "label", "target")
_FACTOR, _STARS = 4, 10  # scores that differ by this factor, the higher above this, may be of different scales
_MOST = 2 / 3  # share of the reviews below such a gap from which on they are


@dataclass(frozen=True)
class Reviews:
    """Texts with their scores, ids and places, on one scale."""

    texts: list[str]
    scores: Floats
    ids: list[str]
    places: list[str]
    scale: Scale

    @classmethod
    def of(cls, texts: Sequence[str], scores: ArrayLike, scale: Scale | None = None) -> Reviews:
        """Reviews that are in memory; their ids are their numbers.

        >>> len(Reviews.of(["good", "bad"], [5, 1]))
        2
        """
        values = np.asarray(scores, dtype=np.float64)
        names = [str(number) for number in range(len(texts))]
        return cls(list(texts), values, names, names, Scale.of(values) if scale is None else scale)

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, rows: Any) -> Reviews:
        """Some of the reviews, by number."""
        chosen = [int(i) for i in rows]
        return Reviews(
            [self.texts[i] for i in chosen],
            self.scores[chosen],
            [self.ids[i] for i in chosen],
            [self.places[i] for i in chosen],
            self.scale,
        )


def read_reviews(
    sources: Any,
    *,
    score_field: str | None = None,
    scale: Scale | str | None = None,
    errors: str = "strict",
    **reading: Any,
) -> Reviews:
    r"""Read reviews with scores; `reading` goes to `corpus.read_documents`.

    `scale` is a `Scale`, or what `parse_scale` takes; None finds it in the scores. A review without text or score, or
    with one that is not on the scale, is an error that names its place, or left out and counted (errors="skip").

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "mills.csv")
    ...     _ = path.write_text("stars,text\n5,A fine mill.\n1,It broke.\n")
    ...     reviews = read_reviews(path)
    >>> reviews.scores.tolist(), reviews.scale
    ([5.0, 1.0], Scale(1, 5))
    """
    wanted = parse_scale(scale) if isinstance(scale, str) else scale
    documents = read_documents(sources, errors=errors, **reading)
    named = Scale(1.0, 5.0, names=STAR_NAMES)
    texts, scores, ids, places, files = [], [], [], [], []
    lines: list[int | None] = []
    first = documents.sources[0]
    words = False
    with BadRecords(errors, first) as bad:
        for document in documents:
            try:
                value = _score(document.fields, score_field)
                if wanted is not None:
                    score = wanted.read(value)
                elif isinstance(value, str) and " ".join(value.lower().split()) in STAR_NAMES:
                    score, words = named.read(value), True
                else:
                    score = _UNBOUNDED.read(value)
                if not document.text.strip():
                    raise DataError("the review is empty; write its text, or leave it out")
            except DataError as fault:
                bad(DataError(fault.message, source=document.source, line=document.line))
                continue
            texts.append(document.text)
            scores.append(score)
            ids.append(document.id)
            places.append(document.place)
            files.append(document.source)
            lines.append(document.line)
    if not texts:
        raise DataError("there are no reviews with scores", source=first)
    values = np.array(scores)
    if wanted is None:
        _check_files(files, values)
        _check_gap(values, files, lines)
        wanted = named if words and values.max() <= named.high else Scale.of(values)
    return Reviews(texts, values, ids, places, wanted)


_UNBOUNDED = Scale(-1e300, 1e300, whole=False)


def balance(scores: ArrayLike, *, n_reviews: int | None = None, random_state: int = 0) -> Ints:
    """Numbers of the reviews of a balanced sample: `n_reviews` of each score, None for as many as the rarest has.

    >>> scores = [1, 5, 5, 5, 1, 3]
    >>> sorted(scores[i] for i in balance(scores))
    [1, 3, 5]
    """
    values = np.asarray(scores, dtype=np.float64)
    distinct, counts = np.unique(values, return_counts=True)
    least = int(counts.min()) if n_reviews is None else n_reviews
    check_range("n_reviews", least, at_least=1, whole=True)
    if least > counts.min():
        rare = distinct[int(counts.argmin())]
        raise DataError(
            f"there are {counts.min()} reviews of score {rare:g}, fewer than {least}; pass a smaller n_reviews"
        )
    generator = np.random.Generator(np.random.Philox(random_state))
    order = generator.permutation(len(values))
    chosen = [order[values[order] == score][:least] for score in distinct]
    return np.sort(np.concatenate(chosen)).astype(np.int64)


def _score(fields: dict[str, Any], score_field: str | None) -> Any:
    """What the score field of a record holds."""
    names = SCORE_FIELDS if score_field is None else (score_field,)
    for name in names:
        if name in fields:
            if fields[name] is None or not str(fields[name]).strip():
                raise DataError(f"the review has no score: its field '{name}' is empty; give it one, or leave it out")
            return fields[name]
    fields_held = ", ".join(map(str, fields)) or "none"
    wanted = "score field" if score_field is None else f"field '{score_field}'"
    raise DataError(f"the review has no {wanted}; the fields are {fields_held}; name the right one with score_field")


def _check_gap(values: Floats, files: list[str], lines: list[int | None]) -> None:
    """Refuse scores of which most could be stars and some are far above all of these."""
    distinct = np.unique(values)
    for lower, higher in pairwise(distinct.tolist()):
        few = (values >= higher).mean() <= 1 - _MOST and lower > distinct[0]
        if few and 0 < lower <= _STARS < higher and higher >= _FACTOR * lower:
            first = int(np.argmax(values >= higher))
            raise DataError(
                f"the score {values[first]:g} is far above most others, which go up to {lower:g}: these may be "
                f"different scales; correct it, or pass the right scale, such as {distinct[0]:g}-{distinct[-1]:g}",
                source=files[first],
                line=lines[first],
            )


def _check_files(files: list[str], values: Floats) -> None:
    """Refuse files whose scores cannot be of one scale."""
    highest: dict[str, float] = {}
    for name, score in zip(files, values.tolist(), strict=True):
        highest[name] = max(highest.get(name, score), score)
    least, most = min(highest, key=lambda n: highest[n]), max(highest, key=lambda n: highest[n])
    if highest[most] > _STARS and highest[most] >= _FACTOR * max(highest[least], 1e-9):
        raise DataError(
            f"its scores go up to {highest[most]:g}, those of {least} to {highest[least]:g}: these are different "
            "scales; bring them to one, or read the files apart",
            source=most,
        )
