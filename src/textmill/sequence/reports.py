"""What people see of a training run: a table while it goes on, a summary at its end, a picture of its course.

TrainingTable      shown_by(TrainingTable(print)): a line for every iteration
summary_of         numbers of a trained model, as a line or as JSON: TrainingSummary, SegmentSummary
draw_training      objective, active features and development error over the iterations
write_training_log a CSV file with a row for every iteration
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from textmill import plot
from textmill.files import replacing
from textmill.model import check_fitted
from textmill.readable import counted
from textmill.sequence.semimarkov import SemiMarkovCRF
from textmill.sequence.trainable import TrainableChain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "SegmentSummary",
    "TrainingSummary",
    "TrainingTable",
    "draw_training",
    "kept_iteration",
    "summary_of",
    "write_training_log",
]


class TrainingTable:
    """A line for every iteration of training, given to `write`; a listener for `progress.shown_by`.

    >>> from types import SimpleNamespace
    >>> figures = {"objective": 12.5, "active": 40.0, "cpu_seconds": 0.75}
    >>> step = SimpleNamespace(description="training", step=1, done=3, seconds=0.5, figures=figures)
    >>> TrainingTable(lambda line: print(line.strip()))(step)
    iteration      objective      active   dev error      time       cpu
    3           12.5          40           -      0.5s      0.8s
    """

    def __init__(self, write: Callable[[str], Any]) -> None:
        self.write = write
        self.announced = set[int]()  # loops whose size was said
        self.iterations: dict[int, int] = {}  # by the number of the loop: the last iteration that was shown

    def __call__(self, progress: Any) -> None:
        """Show a step of a loop, if it is a new iteration of training."""
        shown = self.iterations.get(progress.step) == progress.done
        if progress.description != "training" or not progress.figures or shown:
            return
        if "objective" not in progress.figures:  # before the first iteration
            if progress.step not in self.announced:
                self.announced.add(progress.step)
                features, size = (progress.figures[name] for name in ("features", "bytes"))
                self.write(f"{features:,.0f} features; training takes at least {math.ceil(size / 1e6):,} MB")
            return
        if not self.iterations:
            self.write(" iteration      objective      active   dev error      time       cpu")
        self.iterations[progress.step] = progress.done
        columns = ["objective", "active", "dev_error", "cpu_seconds"]
        objective, active, error, cpu = (progress.figures.get(name) for name in columns)
        value = "-" if objective is None else f"{objective:.6g}"
        percent = "-" if error is None else f"{error:.2f}%"
        times = f"{f'{progress.seconds:.1f}s':>9} {f'{cpu or 0.0:.1f}s':>9}"
        self.write(f"{progress.done:>10} {value:>14} {int(active or 0):>11} {percent:>11} {times}")


@dataclass(frozen=True, slots=True)
class TrainingSummary:
    """What a model was trained on and became; `objective` and `active` are those of the weights that were kept.

    >>> from textmill.sequence import CRF
    >>> tagger = CRF(patterns=["u:%x[0,0]"], l1=0.1, max_iter=7).fit(["ab"] * 9, [["A", "B"]] * 9)
    >>> print(TrainingSummary.of(tagger, 9))
    sequences 9, labels 2, tests 2, features 4, active tests 2, active 4, 7 iterations, objective 1.09927, \
stopped: iteration limit
    """

    sequences: int
    labels: int
    tests: int
    features: int
    active_tests: int
    active: int
    iterations: int
    kept_iteration: int | None
    objective: float | None
    stop_reason: str
    patterns: list[dict[str, Any]]

    @classmethod
    def of(cls, model: TrainableChain, sequences: int) -> TrainingSummary:
        """The summary of a model that has just been trained on this many sequences."""
        check_fitted(model)
        best = kept_iteration(model) if not model.fine_tune else None
        sums = {name: sum(row[name] for row in model.pattern_counts_) for name in ("tests", "features", "active_tests")}
        return cls(
            sequences=sequences,
            labels=len(model.classes_),
            **sums,
            active=len(model.features_),
            iterations=model.n_iter_,
            kept_iteration=best,
            objective=model.objective_ if best is None else float(model.trace_[best - 1]),
            stop_reason=model.stop_reason_,
            patterns=model.pattern_counts_,
        )

    def to_json(self) -> dict[str, Any]:
        """Everything, for machines."""
        return _without_none(self)

    def pattern_table(self) -> Iterator[str]:
        """Lines with the number of tests and features of every pattern, separated by tabs, after a header."""
        yield "tests\tfeatures\tactive tests\tactive\tpattern"
        for name, *numbers in (row.values() for row in self.patterns):
            yield "\t".join(map(str, [*numbers, name]))

    def __str__(self) -> str:
        names = ("sequences", "labels", "tests", "features", "active_tests", "active")
        sizes = ", ".join(f"{name.replace('_', ' ')} {getattr(self, name)}" for name in names)
        return f"{sizes}, {_ending(self)}"


@dataclass(frozen=True, slots=True)
class SegmentSummary:
    """What a model of segments was trained on and became.

    >>> tagger = SemiMarkovCRF(filter=None, max_length=2, max_iter=3).fit([["a", "B"]] * 2, [["O", "B-X"]] * 2)
    >>> print(summary_of(tagger, 2))  # doctest: +ELLIPSIS
    2 sequences, 1 label, ... tests, ... features, 6 of 6 candidates; 3 iterations, objective ..., stopped: ...
    """

    sequences: int
    labels: int
    tests: int
    features: int
    candidates: int
    all_candidates: int
    long_segments: int
    bytes: int
    iterations: int
    kept_iteration: int | None
    objective: float | None
    stop_reason: str

    def to_json(self) -> dict[str, Any]:
        """Everything, for machines."""
        return _without_none(self)

    def __str__(self) -> str:
        sizes = ", ".join(counted(getattr(self, name), name) for name in ("sequences", "labels", "tests", "features"))
        return f"{sizes}, {self.candidates} of {self.all_candidates} candidates; {_ending(self)}"


def summary_of(model: TrainableChain | SemiMarkovCRF, sequences: int) -> TrainingSummary | SegmentSummary:
    """The summary of a tagger that has just been trained on this many sequences."""
    if isinstance(model, TrainableChain):
        return TrainingSummary.of(model, sequences)
    check_fitted(model)
    return SegmentSummary(**model.training_summary_, kept_iteration=kept_iteration(model))


def _without_none(summary: Any) -> dict[str, Any]:
    return {name: value for name, value in asdict(summary).items() if name != "kept_iteration" or value is not None}


def _ending(summary: TrainingSummary | SegmentSummary) -> str:
    """How the training went."""
    done = counted(summary.iterations, "iterations")
    if summary.kept_iteration is not None:
        done = f"kept iteration {summary.kept_iteration} of {summary.iterations}"
    objective = "" if summary.objective is None else f", objective {summary.objective:.6g}"
    return f"{done}{objective}, stopped: {summary.stop_reason}"


def draw_training(model: TrainableChain | SemiMarkovCRF) -> Figure:
    """Draw objective, active features and development error over the iterations, as shares of the first.

    >>> from textmill.sequence import CRF
    >>> tagger = CRF(patterns=["u:%x[0,0]"], l1=0.1).fit(["ab"] * 9, [["A", "B"]] * 9)
    >>> draw_training(tagger).axes[0].get_xlabel()
    'iteration'
    """
    check_fitted(model)
    log = model.training_log_
    curves = {
        name: ([entry["iteration"] for entry in log], [entry[name] / (log[0][name] or 1.0) for entry in log])
        for name in ("objective", "active", "dev_error")
        if all(name in entry for entry in log)
    }
    return plot.lines(curves, x_label="iteration", y_label="share of the first iteration", y_scale="log")


def write_training_log(model: TrainableChain | SemiMarkovCRF, path: str | os.PathLike[str]) -> None:
    """Write the objective, the norm of its gradient and the seconds so far after every iteration, as CSV.

    >>> from textmill.sequence import CRF
    >>> tagger = CRF(patterns=["u:%x[0,0]"], l1=0.1).fit(["ab"] * 9, [["A", "B"]] * 9)
    >>> write_training_log(tagger, "log.csv")
    >>> with open("log.csv") as file:
    ...     file.readline().strip()
    'iteration,objective,gradient_norm,active,seconds,cpu_seconds'
    """
    check_fitted(model)
    names = ["iteration", "objective", "gradient_norm", "active", "seconds", "cpu_seconds", "dev_error"]
    names = [name for name in names if any(name in entry for entry in model.training_log_)]
    with replacing(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(names)
        rows.writerows(
            [[f"{entry[name]:.10g}" if name in entry else "" for name in names] for entry in model.training_log_]
        )
        text.detach()


def kept_iteration(model: TrainableChain | SemiMarkovCRF) -> int | None:
    """The iteration whose weights are kept: the first with the lowest error on the development sequences."""
    errors = [entry["dev_error"] for entry in model.training_log_ if "dev_error" in entry]
    return 1 + errors.index(min(errors)) if errors else None
