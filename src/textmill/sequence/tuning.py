"""Settings of a tagger by trying: a grid of them, each scored on development sequences.

Every combination of the values is trained and labels the development sequences; the best by F1 of chunks, or by token
accuracy where labels are no chunks, wins, and of equals the first. Values are tried in the order given, so put cheap
and plain ones first. Cost: one training for each combination.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from time import process_time
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from textmill.errors import DataError
from textmill.sequence.evaluation import evaluate_tags
from textmill.sequence.reports import kept_iteration
from textmill.sequence.semimarkov import SemiMarkovCRF
from textmill.sequence.trainable import TrainableChain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["TunedCell", "best_cell", "draw_tuning", "refit_tagger", "tune_taggers", "write_tuning"]


class TunedCell(NamedTuple):
    """One combination: its settings, how good it is, what it cost, and the tagger."""

    settings: dict[str, Any]
    figure: float  # F1 of chunks, or token accuracy
    token_accuracy: float
    objective: float | None
    iterations: int
    seconds: float  # of processor time
    tagger: TrainableChain | SemiMarkovCRF


def tune_taggers(
    make: Callable[..., TrainableChain | SemiMarkovCRF],
    grid: Mapping[str, Sequence[Any]],
    X: Sequence[Any],
    y: Sequence[Sequence[str]],
    X_dev: Sequence[Any],
    y_dev: Sequence[Sequence[str]],
) -> Iterator[TunedCell]:
    """Train a tagger, made by `make(**settings)`, for every combination of the grid.

    >>> from textmill.sequence import LatentCRF
    >>> X, y = [["a", "b"]] * 4, [["A", "B"]] * 4
    >>> cells = tune_taggers(lambda **s: LatentCRF(patterns=["u:%x[0,0]"], **s), {"l2": [0.1, 10.0]}, X, y, X, y)
    >>> best_cell(list(cells)).settings
    {'l2': 0.1}
    """
    if not grid or not all(grid.values()):
        raise DataError("the grid is empty; give at least one value for a setting")
    for values in product(*grid.values()):
        settings = dict(zip(grid, values, strict=True))
        began = process_time()
        tagger = make(**settings).fit(X, y, X_dev, y_dev)
        seconds = process_time() - began
        scores = evaluate_tags(y_dev, tagger.predict(X_dev))
        accuracy = 1.0 - scores.token_error
        figure = scores.f1 if scores.chunks is not None else accuracy
        yield TunedCell(settings, figure, accuracy, tagger.objective_, tagger.n_iter_, seconds, tagger)


def best_cell(cells: Sequence[TunedCell]) -> TunedCell:
    """The combination with the best figure; of equals the first.

    >>> best_cell([])
    Traceback (most recent call last):
    textmill.errors.DataError: no combination was tried; give at least one
    """
    if not cells:
        raise DataError("no combination was tried; give at least one")
    return max(cells, key=lambda cell: cell.figure)


def refit_tagger(
    tagger: TrainableChain | SemiMarkovCRF, X: Sequence[Any], y: Sequence[Sequence[str]]
) -> TrainableChain | SemiMarkovCRF:
    """A tagger that was chosen on development sequences, trained on with all sequences.

    It begins with the weights of the chosen one, so hidden states keep what they stand for, and has the tests of all
    sequences. A model of segments has no states to keep: it is trained anew, for as many iterations as the one chosen.

    >>> from textmill.sequence import LatentCRF
    >>> X, y = [["a", "b"], ["b", "c"]], [["A", "B"], ["B", "A"]]
    >>> chosen = LatentCRF(patterns=["u:%x[0,0]"], states=2, restarts=3, random_state=0).fit(X[:1], y[:1])
    >>> refit_tagger(chosen, X, y).predict(X)
    [['A', 'B'], ['B', 'A']]
    """
    if isinstance(tagger, SemiMarkovCRF):
        settings = tagger.get_params(deep=False) | {"max_iter": kept_iteration(tagger) or tagger.n_iter_}
        return SemiMarkovCRF(**settings).fit(X, y)
    again = type(tagger)(**tagger.get_params(deep=False))
    if getattr(tagger, "restarts", 1) > 1:
        again.set_params(restarts=1)
    return again.fit(X, y, start=tagger)


def write_tuning(cells: Sequence[TunedCell], file: TextIO) -> None:
    """Write the combinations as CSV, one per line.

    >>> import sys
    >>> write_tuning([], sys.stdout)
    """
    if not cells:
        return
    names = list(cells[0].settings)
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow([*names, "figure", "token_accuracy", "objective", "iterations", "seconds"])
    for cell in cells:
        figures = [f"{cell.figure:.6f}", f"{cell.token_accuracy:.6f}", cell.objective, cell.iterations]
        rows.writerow([*(cell.settings[name] for name in names), *figures, f"{cell.seconds:.2f}"])


def draw_tuning(cells: Sequence[TunedCell]) -> Figure:
    """Draw the figures: a heat map over the first two settings, or bars where there is one.

    >>> cell = TunedCell({"l2": 1.0}, 0.9, 0.9, None, 1, 0.0, None)
    >>> draw_tuning([cell]).axes[0].get_ylabel()
    'l2'
    """
    from textmill import plot

    names = list(best_cell(cells).settings)
    rows = list(dict.fromkeys(str(cell.settings[names[0]]) for cell in cells))
    columns = list(dict.fromkeys(str(cell.settings[names[1]]) for cell in cells)) if len(names) > 1 else [""]
    table = [[float("nan")] * len(columns) for _ in rows]
    for cell in cells:
        at = rows.index(str(cell.settings[names[0]]))
        to = columns.index(str(cell.settings[names[1]])) if len(names) > 1 else 0
        if not table[at][to] >= 100 * cell.figure:
            table[at][to] = 100 * cell.figure
    return plot.heat_map(
        table, rows=rows, columns=columns, x_label=names[1] if len(names) > 1 else "", y_label=names[0]
    )
