"""What people agree on: an annotator's scores, judged as those of a machine are.

A file holds either a confusion matrix, one row for each gold score from the lowest to the highest, numbers between
blanks, commas or tabs,

    12  7  0  1  0
     7  8  4  1  0
     ...

or two scores on each line, the gold one and the assigned one. A file of two columns is a matrix only if it has just two
rows and `scale` two scores. Lines that begin with # are comments, and a first line without numbers is a header.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from textmill.arrays import Floats
from textmill.corpus import open_lines
from textmill.errors import DataError
from textmill.tasks.polarity.evaluation import PolarityEvaluation, evaluate_scores
from textmill.tasks.polarity.scale import Scale

__all__ = ["evaluate_annotator", "read_annotations"]


def evaluate_annotator(confusion: ArrayLike, scale: Scale) -> PolarityEvaluation:
    """Evaluate a confusion matrix, gold x assigned scores.

    >>> evaluate_annotator([[8, 2], [1, 9]], Scale(1, 2)).accuracy
    0.85
    """
    table = np.asarray(confusion)
    steps = scale.scores()
    if table.shape != (len(steps), len(steps)):
        raise DataError(f"the confusion matrix is {table.shape}, but the scale {scale} has {len(steps)} scores")
    if table.min() < 0 or (table != np.floor(table)).any():
        raise DataError("a confusion matrix holds numbers of reviews, whole and not negative")
    counts = table.astype(np.int64).ravel()
    gold, assigned = (np.repeat(side.ravel(), counts) for side in np.meshgrid(steps, steps, indexing="ij"))
    return evaluate_scores(gold, assigned, scale)


def read_annotations(source: str, scale: Scale) -> tuple[Floats, Floats]:
    """Gold and assigned scores of a file: pairs of scores, or a confusion matrix.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "annotator.txt")
    ...     _ = path.write_text("gold assigned\\n1 2\\n5 5\\n")
    ...     gold, assigned = read_annotations(str(path), Scale(1, 5))
    >>> gold.tolist(), assigned.tolist()
    ([1.0, 5.0], [2.0, 5.0])
    """
    rows: list[tuple[int, list[float]]] = []
    for number, line in open_lines(source):
        cells = [cell for cell in re.split(r"[,;\s]+", line.strip()) if cell]
        if not cells or cells[0].startswith("#"):
            continue
        try:
            rows.append((number, [float(cell) for cell in cells]))
        except ValueError:
            if rows:
                raise DataError(f"'{line.strip()}' holds what is no number", source=source, line=number) from None
    if not rows:
        raise DataError("there are no scores; write a gold and an assigned score on each line", source=source)
    steps = scale.scores()
    widths = {len(row) for _, row in rows}
    if widths == {len(steps)} and len(rows) == len(steps):
        return _from_table([row for _, row in rows], steps, source)
    for number, row in rows:
        if len(row) != 2:
            raise DataError(
                f"{len(row)} numbers; write a gold and an assigned score on each line, or a matrix of {len(steps)} "
                f"rows and columns for the scale {scale}",
                source=source,
                line=number,
            )
        for score in row:
            try:
                scale.check(score)
            except DataError as fault:
                raise DataError(fault.message, source=source, line=number) from None
    return np.array([row[0] for _, row in rows]), np.array([row[1] for _, row in rows])


def _from_table(rows: Sequence[Sequence[float]], steps: list[float], source: str) -> tuple[Floats, Floats]:
    table = np.array(rows)
    if table.min() < 0 or (table != np.floor(table)).any():
        raise DataError("a confusion matrix holds numbers of reviews, whole and not negative", source=source)
    gold, assigned = np.meshgrid(steps, steps, indexing="ij")
    counts = table.astype(np.int64).ravel()
    return np.repeat(gold.ravel(), counts), np.repeat(assigned.ravel(), counts)
