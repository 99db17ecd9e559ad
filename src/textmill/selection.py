r"""Choose between models by examples that they have not seen: folds, cross-validation, choices, paired tests.

    deal_folds     the fold of each example; of every label the numbers in two folds differ by at most one
    deal_groups    the same for examples that belong together: a group is never divided
    keep_apart     a share of the examples drawn at random, kept apart from the others
    splits         the rounds: train on all folds but one, test on that one
    held_out       for every example what a model says that has not seen it
    choose         the setting with the least held-out loss, or the simplest that is not worse by a standard error
    nested         held-out predictions with the choice made anew inside of every training part
    paired_test    is one model's loss smaller than another's on the same examples?
    ranks, spearman, kendall        correlation of two rankings

A choice made on the same folds that judge it flatters: `nested` chooses inside. A loss is a number for each example,
such as the squared error or -log p, so that losses add and tests are paired.

    kendall    tau_b = (concordant - discordant) / sqrt((n0 - n1)(n0 - n2))      n0 pairs, n1, n2 of them tied in x, y

Cost: one training a fold and setting; tau in n log n. References: Stone (1974); Breiman et al. (1984), section 3.4.3
for the rule of one standard error; Varma & Simon (2006) for nested choice; Knight (1966) for tau.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textmill.arrays import Floats, Ints
from textmill.errors import DataError
from textmill.metrics import Difference, paired_bootstrap
from textmill.model import check_range
from textmill.progress import track

__all__ = [
    "Choice",
    "Split",
    "choose",
    "deal_folds",
    "deal_groups",
    "held_out",
    "keep_apart",
    "kendall",
    "nested",
    "paired_test",
    "ranks",
    "spearman",
    "splits",
]


class Split(NamedTuple):
    """Positions of the examples to train with and to test with."""

    train: Ints
    test: Ints


def deal_folds(labels: ArrayLike, n_folds: int = 10, *, random_state: int | np.random.Generator = 0) -> Ints:
    """Return the fold of each example, every label spread evenly.

    >>> deal_folds([1, 1, 5, 5], 2).tolist()
    [0, 1, 1, 0]
    """
    check_range("n_folds", n_folds, at_least=2, whole=True)
    values = np.asarray(labels)
    if len(values) < n_folds:
        raise DataError(
            f"{len(values)} examples cannot be dealt into {n_folds} folds; pass fewer folds or more examples"
        )
    order = _generator(random_state).permutation(len(values))
    folds = np.empty(len(values), np.int64)
    begin = 0
    for value in np.unique(values):
        members = order[values[order] == value]
        folds[members] = (begin + np.arange(len(members))) % n_folds
        begin += len(members)  # the next label goes on where this one ended, so folds have equal sizes
    return folds


def deal_groups(groups: Sequence[Any], n_folds: int, *, random_state: int = 0) -> Ints:
    """Return the fold of each example: all of a group in one, numbers of groups as equal as can be.

    >>> folds = deal_groups(["a", "a", "b", "c"], 3)
    >>> bool(folds[0] == folds[1]), len(set(folds.tolist()))
    (True, 3)
    """
    check_range("n_folds", n_folds, at_least=2, whole=True)
    names = list(dict.fromkeys(groups))
    if len(names) < n_folds:
        raise DataError(f"there are {len(names)} groups for {n_folds} folds; pass fewer folds or more groups")
    order = np.random.default_rng(random_state).permutation(len(names))
    fold = {names[int(at)]: i % n_folds for i, at in enumerate(order)}
    return np.array([fold[group] for group in groups], dtype=np.int64)


def keep_apart(n_examples: int, share: float, *, random_state: int = 0) -> Split:
    """Return which of `n_examples` to train with, and which share of them, one at least, to test with.

    Pass all examples, before any is left out of training: a figure on those kept apart then counts what a model cannot
    learn from as well.

    >>> split = keep_apart(10, 0.2)
    >>> len(split.train), len(split.test)
    (8, 2)
    """
    check_range("share", share, above=0, below=1)
    size = max(1, round(share * n_examples))
    if size >= n_examples:
        raise DataError(
            f"held_out={share:g} leaves none of {n_examples:,} examples to train with; pass a smaller share"
        )
    order = np.random.default_rng(random_state).permutation(n_examples)
    return Split(np.sort(order[size:]), np.sort(order[:size]))


def splits(folds: ArrayLike) -> Iterator[Split]:
    """Yield the rounds of a cross-validation.

    >>> [split.test.tolist() for split in splits([0, 1, 0])]
    [[0, 2], [1]]
    """
    fold = np.asarray(folds, np.int64)
    for k in range(int(fold.max()) + 1):
        yield Split(np.flatnonzero(fold != k), np.flatnonzero(fold == k))


def held_out(predict: Callable[[Ints, Ints], ArrayLike], folds: ArrayLike) -> Floats:
    """Return for every example what `predict(train, test)`, a model of the other folds, says of it.

    >>> y = np.array([1.0, 2.0, 3.0, 6.0])
    >>> held_out(lambda train, test: np.full(len(test), y[train].mean()), [0, 0, 1, 1]).tolist()
    [4.5, 4.5, 1.5, 1.5]
    """
    result: Floats | None = None
    for train, test in track(list(splits(folds)), "folds", unit="folds"):
        part = np.asarray(predict(train, test), np.float64)
        if len(part) != len(test):
            raise DataError(f"a model gave {len(part)} predictions for {len(test)} examples; it must give one for each")
        if result is None:
            result = np.empty((len(np.asarray(folds)), *part.shape[1:]))
        result[test] = part
    assert result is not None
    return result


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """Mean held-out losses of settings, the simplest first, and the standard errors of the means.

    Attributes: settings, losses, errors; best, the place of the least loss; simplest, the first setting whose loss is
    not above the least by more than its standard error.
    """

    settings: list[Any]
    losses: Floats
    errors: Floats

    @property
    def best(self) -> int:
        """The place of the setting with the least loss; of equals the first."""
        return int(np.argmin(self.losses))

    @property
    def simplest(self) -> int:
        """The place of the first setting that is within one standard error of the best."""
        return int(np.argmax(self.losses <= self.losses[self.best] + self.errors[self.best]))


def choose(settings: Sequence[Any], loss: Callable[[Any, Ints, Ints], ArrayLike], folds: ArrayLike) -> Choice:
    """Compare settings by `loss(setting, train, test)`, the losses of test examples by a model of the others.

    >>> y = np.array([1.0, 2.0, 3.0, 6.0])
    >>> def loss(shrink, train, test):
    ...     return (y[test] - shrink * y[train].mean()) ** 2
    >>> choose([0.0, 0.5, 1.0], loss, [0, 1, 0, 1]).best
    2
    """
    if not len(settings):
        raise DataError("there is no setting to choose from; pass at least one")
    rows = [held_out(partial(loss, setting), folds) for setting in settings]
    table = np.stack(rows)
    if not np.isfinite(table).all():
        raise DataError("a held-out loss is not finite; let the loss be a finite number for every example")
    spread = table.std(axis=1, ddof=1) if table.shape[1] > 1 else np.zeros(len(table))
    return Choice(list(settings), table.mean(axis=1), spread / np.sqrt(table.shape[1]))


def nested(
    settings: Sequence[Any],
    loss: Callable[[Any, Ints, Ints], ArrayLike],
    predict: Callable[[Any, Ints, Ints], ArrayLike],
    labels: ArrayLike,
    *,
    n_folds: int = 5,
    inner: int = 5,
    random_state: int = 0,
) -> tuple[Floats, list[Any]]:
    """Return held-out predictions with the setting chosen inside of every training part, and the choices.

    >>> y = np.array([0.0, 1.0] * 10)
    >>> def predict(shrink, train, test):
    ...     return np.full(len(test), shrink * y[train].mean())
    >>> def loss(shrink, train, test):
    ...     return (y[test] - predict(shrink, train, test)) ** 2
    >>> predicted, chosen = nested([0.0, 1.0], loss, predict, y)
    >>> predicted.round(2).tolist() == [0.5] * 20, chosen
    (True, [1.0, 1.0, 1.0, 1.0, 1.0])
    """
    values = np.asarray(labels)
    chosen: list[Any] = []

    def judge(train: Ints, test: Ints) -> ArrayLike:
        folds = deal_folds(values[train], inner, random_state=random_state)
        choice = choose(settings, lambda one, a, b: loss(one, train[a], train[b]), folds)
        chosen.append(choice.settings[choice.best])
        return predict(chosen[-1], train, test)

    return held_out(judge, deal_folds(values, n_folds, random_state=random_state)), chosen


def paired_test(first: ArrayLike, second: ArrayLike, *, resamples: int = 1000, random_state: int = 0) -> Difference:
    """Test the difference of two mean losses over the same examples, by paired bootstrap.

    >>> paired_test([0.1] * 20, [0.4] * 20).p_value < 0.01
    True
    """
    one, two = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if one.shape != two.shape:
        raise DataError(f"{len(one)} losses against {len(two)}; pass those of the same examples in the same order")
    ones = np.ones(len(one))
    return paired_bootstrap(
        np.column_stack([one, ones]),
        np.column_stack([two, ones]),
        lambda sums: sums[..., 0] / sums[..., 1],
        resamples=resamples,
        random_state=random_state,
    )


def ranks(values: ArrayLike) -> Floats:
    """Return ranks from 1; equal values share their mean rank.

    >>> ranks([10, 20, 20, 5]).tolist()
    [2.0, 3.5, 3.5, 1.0]
    """
    _, places, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[places], dtype=np.float64)


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Return the correlation of ranks; NaN where all values of a side are equal.

    >>> spearman([1, 2, 3, 4], [1, 4, 9, 16])
    1.0
    """
    one, two = _paired(x, y)
    a, b = ranks(one), ranks(two)
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(np.clip(a @ b / size, -1.0, 1.0)) if size > 0 else float("nan")


def kendall(x: ArrayLike, y: ArrayLike) -> float:
    """Return Kendall's tau_b; NaN where all values of a side are equal.

    >>> round(kendall([1, 2, 2, 3], [1, 3, 2, 4]), 4)
    0.9129
    """
    a, b = (np.unique(side, return_inverse=True)[1].ravel() for side in _paired(x, y))
    pairs = len(a) * (len(a) - 1) // 2
    both = _ties(a * (int(b.max()) + 1) + b) if len(b) else 0
    tied_a, tied_b = _ties(a), _ties(b)
    size = float(pairs - tied_a) * float(pairs - tied_b)
    if size <= 0:
        return float("nan")
    discordant = _inversions(b[np.lexsort((b, a))])  # among equal x, y rises: no pair of them is counted
    agreeing = pairs - tied_a - tied_b + both - 2 * discordant
    return float(np.clip(agreeing / np.sqrt(size), -1.0, 1.0))


def _ties(numbers: NDArray[np.int64]) -> int:
    counts = np.unique(numbers, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())


def _inversions(numbers: NDArray[np.int64]) -> int:
    """How many pairs stand in falling order, bit by bit: among numbers with the same higher bits a 1 before a 0."""
    total = 0
    for bit in range(int(numbers.max()).bit_length() if len(numbers) else 0):
        higher = numbers >> (bit + 1)
        order = np.argsort(higher, kind="stable")
        ones = (numbers[order] >> bit) & 1
        seen = np.cumsum(ones)
        first = np.searchsorted(higher[order], higher[order])
        before = np.append(0, seen)[first]
        total += int((seen - before)[ones == 0].sum())
    return total


def _paired(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    one, two = np.asarray(x, np.float64).ravel(), np.asarray(y, np.float64).ravel()
    if len(one) != len(two) or len(one) < 2:
        raise DataError(f"{len(one)} and {len(two)} values; a correlation needs at least two pairs of values")
    return one, two


def _generator(random_state: int | np.random.Generator) -> np.random.Generator:
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.Generator(np.random.Philox(random_state))
