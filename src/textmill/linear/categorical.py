"""Naive Bayes over features that have names for values: what is the first word, the word before, the shape?

    log P(c | row) = log P(c) + sum over features (t, v) of the row  log P(v | t, c) + const
    P(v | t, c)    = (N_tvc + a_t) / (N_tc + a_t (V_t + 1))

A feature has a template t ("first word") and a value v ("banco"). N_tvc counts value v in rows of class c, N_tc all
values of the template there, V_t the distinct values of the template that were seen; one more stands for all others. A
value that was never seen in training is skipped, and so is a template that a row does not have. A template may have
several values in a row, as the set of words of a phrase has.

The counts add: whatever the chunks of `partial_fit`, and whether models are merged, the model is that of all rows, to
the byte where weights are whole numbers. a_t is chosen for each template so that values are predicted best from the
counts of all other occurrences, of every occurrence left out in turn,

    L(a) = sum_vc N_tvc log [(N_tvc - 1 + a) / (N_tc - 1 + a (V_t + 1))]

which needs nothing but the counts.

Cost: one visit of every feature. References: Jansche (2002), phase 2; Ney, Essen & Kneser (1995) for leaving one out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textmill._native import linear as native
from textmill.arrays import Floats, Ids, Ints
from textmill.corpus import array_like
from textmill.errors import DataError, ModelFileError
from textmill.linear.classifier import Weights, checked_weights, labels_of
from textmill.model import Classifier, Model, StringTable, check_choice, check_fitted, check_range, effective_jobs
from textmill.numeric import special

__all__ = ["CategoricalBayes"]

_NONE = np.empty((0, 0))
_SMOOTHINGS = 10.0 ** np.arange(-4, 1.01, 0.25)  # among which that of a template is chosen


class CategoricalBayes(Classifier, Model):
    """Classify rows by features that have names for values.

    Rows are mappings from templates to a value or a list of values (texts, numbers or truth values, compared as they
    are written), lists of texts "template=value", or rows of whole numbers, where column j is template "j" and numbers
    below 0 are left out.

    Parameters:
        smoothing: a for all templates; None chooses it for each template by leaving one out.
        class_prior: "estimated" from the training rows, or "uniform".
        n_jobs: Threads; None for all cores. The model is the same for any number.

    Attributes:
        classes_: Labels, sorted, (K,).
        templates_: Names of templates, sorted, (T,).
        values_: Values, sorted by template and value, (F,); template_of_ has the template of each.
        counts_: How often each value was seen in each class, (K, F).
        rows_: Rows of each class, (K,).
        smoothing_: a of each template, (T,).

    >>> rows = [{"first": "banco", "words": ["banco", "central"]}, {"first": "juan", "words": ["juan", "ruiz"]}]
    >>> model = CategoricalBayes(smoothing=0.1).fit(rows, ["ORG", "PER"])
    >>> model.predict([{"first": "banco", "words": ["banco", "nuevo"]}, {"first": "juan", "after": "dijo"}]).tolist()
    ['ORG', 'PER']
    """

    takes: ClassVar[str] = "mappings"
    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {
        "templates_": "template: str",
        "values_": "value: str",
        "template_of_": "value: int32",
        "counts_": "class value",
        "rows_": "class",
        "smoothing_": "template",
    }
    indices: ClassVar[dict[str, str]] = {"template_of_": "template"}

    templates_: StringTable
    values_: StringTable
    template_of_: Ids
    counts_: Floats
    rows_: Floats
    smoothing_: Floats

    def __init__(
        self, *, smoothing: float | None = None, class_prior: str = "estimated", n_jobs: int | None = None
    ) -> None:
        self.smoothing = smoothing
        self.class_prior = class_prior
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Count the values of all rows by class."""
        self._check_parameters()
        return self._take(self._count(X, y, sample_weight))

    def partial_fit(
        self, X: Any, y: Any, classes: Sequence[Any] | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add rows; templates, values and classes may be new. The model is that of all rows so far.

        >>> model = CategoricalBayes().partial_fit([{"word": "in"}], ["a"]).partial_fit([{"word": "on"}], ["b"])
        >>> model.classes_.tolist(), model.counts_.tolist()
        (['a', 'b'], [[1.0, 0.0], [0.0, 1.0]])
        """
        self._check_parameters()
        counted = self._count(X, y, sample_weight, classes)
        return self._take(_added(self._counted(), counted) if self.__sklearn_is_fitted__() else counted)

    @classmethod
    def from_counts(
        cls,
        classes: NDArray[Any],
        features: tuple[Sequence[str], Ids, StringTable],
        counts: Floats,
        rows: Floats,
        **parameters: Any,
    ) -> CategoricalBayes:
        """Make the model of counts that are at hand: [classes, features] and, of rows, [classes].

        `features` are names of templates, sorted, the template of each feature, and its value; features are sorted by
        template and value. `parameters` are those of the class.

        >>> features = ["word"], np.zeros(2, np.int32), StringTable(["in", "on"])
        >>> model = CategoricalBayes.from_counts(np.array(["a", "b"]), features, np.eye(2), np.ones(2))
        >>> model.predict([{"word": "on"}]).tolist()
        ['b']
        """
        model = cls(**parameters)
        model._check_parameters()
        templates, template_of, values = features
        if len(template_of) != len(values) or counts.shape != (len(classes), len(values)) or len(rows) != len(classes):
            raise DataError("classes, features, counts and rows do not belong together; give one count for each pair")
        used = np.bincount(template_of, minlength=len(templates)) > 0
        place = np.cumsum(used, dtype=np.int32) - 1
        model.classes_, model.counts_, model.rows_ = classes, np.ascontiguousarray(counts, np.float64), rows
        model.templates_ = StringTable([name for name, there in zip(templates, used, strict=True) if there])
        model.template_of_, model.values_ = place[template_of].astype(np.int32), values
        return model._smooth()

    def decision_rows(self, offsets: Ints, ids: Ids) -> Floats:
        """Return the decision function of rows given by the numbers of their features, those of row i from offsets[i].

        >>> model = CategoricalBayes(smoothing=1.0).fit([{"word": "in"}, {"word": "on"}], ["a", "b"])
        >>> model.decision_rows(np.array([0, 1]), np.array([0], np.int32)).round(3).tolist()
        [[-1.386, -2.079]]
        """
        check_fitted(self)
        scores = np.zeros((1, len(offsets) - 1, len(self.classes_)))
        native.score_counts(
            0, True, False, _NONE, _NONE, _NONE, self._weights(), offsets, ids, np.ones(len(ids)),
            np.zeros(len(offsets) - 1), np.zeros(len(self.values_), np.int32), scores, effective_jobs(self.n_jobs),
        )  # fmt: skip
        return np.asarray(scores[0] + self._log_prior())

    def merge(self, other: CategoricalBayes) -> CategoricalBayes:
        """Return the model of the rows of both.

        >>> one = CategoricalBayes().fit([{"word": "in"}], ["a"])
        >>> one.merge(CategoricalBayes().fit([{"word": "on"}], ["b"])).counts_.tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        for part in (self, other):
            check_fitted(part)
        if self.smoothing != other.smoothing or self.class_prior != other.class_prior:
            raise DataError(f"the models differ in their parameters, {self!r} and {other!r}; use the same")
        both = CategoricalBayes(**self.get_params(deep=False))
        return both._take(_added(self._counted(), other._counted()))

    def decision_function(self, X: Any) -> Floats:
        """Return log P(c) + the sum of log P(v | t, c), (rows, classes).

        >>> model = CategoricalBayes(smoothing=1.0).fit([{"word": "in"}, {"word": "on"}], ["a", "b"])
        >>> model.decision_function([{"word": "in"}, {"word": "at"}]).round(3).tolist()
        [[-1.386, -2.079], [-0.693, -0.693]]
        """
        check_fitted(self)
        return self.decision_rows(*self._encode(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable label of each row."""
        best = self.decision_function(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[best]
        return labels

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class; features are taken as independent, so most are near 0 or 1."""
        rows: Floats = special.softmax(self.decision_function(X), axis=1)
        return rows

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithms of the probabilities."""
        rows: Floats = special.log_softmax(self.decision_function(X), axis=1)
        return rows

    def strongest(self, k: int = 20) -> Weights:
        """Return the features that speak most for each class: log P(v | t, c) above that of the other classes, ranked
        by that times the share of rows of the class that have them.

        >>> CategoricalBayes().fit([["word=in"], ["word=on"]], ["a", "b"]).strongest(1).features
        ['word=in', 'word=on']
        """
        check_fitted(self)
        gains = self._weights()
        share = self.counts_ / np.maximum(self.rows_, 1e-300)[:, None]
        labels, features, weights = [], [], []
        for c in range(len(self.classes_)):
            others = np.delete(gains, c, axis=1)
            above = gains[:, c] - (others.max(axis=1) if others.size else 0.0)
            ranked = share[c] * above
            for j in np.argsort(-ranked, kind="stable")[:k]:
                if ranked[j] > 0:
                    labels.append(self._label(c))
                    features.append(self._feature(j))
                    weights.append(float(above[j]))
        return Weights(labels, features, weights)

    def explain(self, row: Any) -> Weights:
        """Return what each feature of one row says for the best class against the second best, the strongest first.

        >>> model = CategoricalBayes(smoothing=1.0).fit([{"word": "in"}, {"word": "on"}], ["a", "b"])
        >>> model.explain({"word": "in"}).to_dict()
        {'label': ['a'], 'feature': ['word=in'], 'weight': [0.6931471805599453]}
        """
        scores = self.decision_function([row])[0]
        if len(scores) < 2:
            raise DataError("the model has one class only, so there is nothing to explain")
        second, best = np.argsort(scores, kind="stable")[-2:]
        _, ids = self._encode([row])
        weights = self._weights()[ids]
        weights = weights[:, best] - weights[:, second]
        order = np.argsort(-np.abs(weights), kind="stable")
        labels = [self._label(best)] * len(order)
        return Weights(labels, [self._feature(ids[j]) for j in order], [float(weights[j]) for j in order])

    def _label(self, place: int) -> Any:
        label = self.classes_[place]
        return label.item() if hasattr(label, "item") else label

    def _feature(self, number: int) -> str:
        template, value = self.templates_[int(self.template_of_[number])], self.values_[int(number)]
        return f"{template}={value}" if template else value

    def check_values(self) -> None:
        """Check that counts and smoothing lie where they can be."""
        for name, values in (("counts_", self.counts_), ("rows_", self.rows_)):
            if not (np.isfinite(values).all() and (values >= 0).all()):
                raise ModelFileError(f"'{name}' holds what is no count", reason="damaged")
        if not (np.isfinite(self.smoothing_).all() and (self.smoothing_ > 0).all()):
            raise ModelFileError("'smoothing_' must be above 0", reason="damaged")
        if (np.diff(self.template_of_) < 0).any():
            raise ModelFileError("'template_of_' must rise", reason="damaged")

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def _check_parameters(self) -> None:
        check_choice("class_prior", self.class_prior, ("estimated", "uniform"))
        if self.smoothing is not None:
            check_range("smoothing", self.smoothing, above=0, below=np.inf)

    def _count(self, X: Any, y: Any, sample_weight: ArrayLike | None, classes: Any = None) -> _Counted:
        """The counts of some rows."""
        features = list(_features(X))
        labels = np.unique(np.asarray(y if classes is None else classes))
        places = labels_of(y, len(features), labels)
        weights = checked_weights(sample_weight, len(features))
        if not features:
            raise DataError("X is empty: 0 sample(s) while a minimum of 1 is required; pass rows")
        numbers: dict[tuple[str, str], int] = {}
        offsets, ids = _numbered(features, numbers, grow=True)
        occurrences = np.zeros((len(labels), len(numbers)))
        native.class_sums(
            len(numbers), offsets, ids, np.ones(len(ids)), places, weights, occurrences, np.empty_like(occurrences),
            effective_jobs(self.n_jobs),
        )  # fmt: skip
        rows = np.bincount(places, weights=weights, minlength=len(labels)).astype(np.float64)
        return _ordered(labels, list(numbers), occurrences, rows)

    def _counted(self) -> _Counted:
        templates, values = self.templates_.to_list(), self.values_.to_list()
        keys = [(templates[t], v) for t, v in zip(self.template_of_.tolist(), values, strict=True)]
        return self.classes_, keys, self.counts_, self.rows_

    def _take(self, counted: _Counted) -> Self:
        """Keep counts and choose the smoothing."""
        for name in ("_numbers", "_cache"):
            vars(self).pop(name, None)
        self.classes_, keys, self.counts_, self.rows_ = counted
        templates = sorted({template for template, _ in keys})
        places = {template: place for place, template in enumerate(templates)}
        self.templates_ = StringTable(templates)
        self.values_ = StringTable([value for _, value in keys])
        self.template_of_ = np.array([places[template] for template, _ in keys], np.int32)
        return self._smooth()

    def _smooth(self) -> Self:
        """Set the smoothing of every template, given or chosen."""
        templates = self.templates_
        if self.smoothing is not None:
            self.smoothing_ = np.full(len(templates), float(self.smoothing))
        else:
            self.smoothing_ = self._chosen()
        return self

    def _by_template(self) -> tuple[Floats, Floats]:
        """Values of each template in each class, (K, T), and the number of distinct values, (T,)."""
        size = len(self.templates_)
        totals = np.stack([np.bincount(self.template_of_, weights=row, minlength=size) for row in self.counts_])
        distinct = np.zeros(size)
        np.add.at(distinct, self.template_of_, 1.0)
        return np.asarray(totals, np.float64), distinct

    def _chosen(self) -> Floats:
        """a of each template by leaving one occurrence out."""
        size = len(self.templates_)
        totals, distinct = self._by_template()
        place, column = np.nonzero(self.counts_)
        count, template = self.counts_[place, column], self.template_of_[column]
        left = np.maximum(count - 1.0, 0.0)
        gains = np.empty((len(_SMOOTHINGS), size))
        for i, a in enumerate(_SMOOTHINGS):
            below = np.maximum(totals - 1.0, 0.0) + a * (distinct + 1.0)
            gains[i] = np.bincount(template, weights=count * np.log(left + a), minlength=size)
            gains[i] -= (totals * np.log(below)).sum(axis=0)
        return np.asarray(_SMOOTHINGS[gains.argmax(axis=0)])

    def feature_weights(self) -> Floats:
        """Return log P(v | t, c) of every feature, (F, K).

        >>> CategoricalBayes(smoothing=1.0).fit([{"word": "in"}], ["a"]).feature_weights().round(3).tolist()
        [[-0.405]]
        """
        check_fitted(self)
        return self._weights()

    def _weights(self) -> Floats:
        """log P(v | t, c), (F, K)."""
        cached: Floats | None = vars(self).get("_cache")
        if cached is None:
            totals, distinct = self._by_template()
            below = totals + self.smoothing_ * (distinct + 1.0)
            cached = np.log(self.counts_ + self.smoothing_[self.template_of_])
            cached -= np.log(below)[:, self.template_of_]
            cached[:, self.counts_.sum(axis=0) == 0] = 0.0  # never seen
            cached = np.ascontiguousarray(cached.T)
            self._cache = cached
        return cached

    def _log_prior(self) -> Floats:
        if self.class_prior == "uniform":
            return np.full(len(self.classes_), -np.log(len(self.classes_)))
        return np.asarray(np.log(np.maximum(self.rows_, 1e-300) / max(self.rows_.sum(), 1e-300)))

    def _encode(self, X: Any) -> tuple[Ints, Ids]:
        """The features of rows by number; those never seen are left out."""
        numbers: dict[tuple[str, str], int] | None = vars(self).get("_numbers")
        if numbers is None:
            numbers = {key: number for number, key in enumerate(self._counted()[1])}
            self._numbers = numbers
        return _numbered(_features(X), numbers, grow=False)


_Counted = tuple[NDArray[Any], list[tuple[str, str]], Floats, Floats]  # labels, features, counts, rows by class


def _features(X: Any) -> Iterable[list[tuple[str, str]]]:
    """The (template, value) pairs of each row."""
    X = array_like(X)
    if isinstance(X, np.ndarray) and X.dtype.kind in "iub" and X.ndim == 2:
        names = [str(j) for j in range(X.shape[1])]
        for numbers in X.tolist():
            yield [(name, str(int(value))) for name, value in zip(names, numbers, strict=True) if value >= 0]
        return
    if isinstance(X, Mapping) or not isinstance(X, Iterable):
        raise DataError("X must be a list of mappings from templates to values, one per row")
    for number, row in enumerate(X):
        if isinstance(row, list | tuple):
            yield [_split(feature, number) for feature in row]
            continue
        if not isinstance(row, Mapping):
            raise DataError(f"row {number} must be a mapping from templates to values, got {type(row).__name__}")
        pairs: list[tuple[str, str]] = []
        for template, value in row.items():
            if isinstance(value, str):
                pairs.append((template, value))
            elif isinstance(value, list | tuple | set | frozenset):
                pairs += [(template, _written(one, number, template)) for one in value]
            elif value is not None:
                pairs.append((template, _written(value, number, template)))
        yield pairs


def _split(feature: Any, row: int) -> tuple[str, str]:
    """ "template=value" taken apart; a text without = is a value of the template without a name."""
    if not isinstance(feature, str):
        raise DataError(f"row {row}: {feature!r} is no text 'template=value'; pass texts, or a mapping")
    template, mark, value = feature.partition("=")
    return (template, value) if mark else ("", feature)


def _written(value: Any, row: int, template: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float | np.generic) and value == value:
        return str(value)
    raise DataError(f"row {row}, '{template}': {value!r} is no text, number or truth value; pass one, or leave it out")


def _numbered(
    rows: Iterable[list[tuple[str, str]]], numbers: dict[tuple[str, str], int], *, grow: bool
) -> tuple[Ints, Ids]:
    """Numbers of features, row after row; with `grow` new ones get the next number, else they are left out."""
    offsets, ids = [0], []
    for pairs in rows:
        if grow:
            ids += [numbers.setdefault(pair, len(numbers)) for pair in pairs]
        else:
            ids += [numbers[pair] for pair in pairs if pair in numbers]
        offsets.append(len(ids))
    return np.array(offsets, np.int64), np.array(ids, np.int32)


def _ordered(labels: NDArray[Any], keys: list[tuple[str, str]], counts: Floats, rows: Floats) -> _Counted:
    """The same with features in sorted order, so that the order of rows does not matter."""
    if not all(isinstance(template, str) for template, _ in keys):
        raise DataError("names of templates must be texts")
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return labels, [keys[i] for i in order], np.ascontiguousarray(counts[:, order]), rows


def _added(one: _Counted, two: _Counted) -> _Counted:
    """The counts of both, over all classes and features of either."""
    if one[0].dtype.kind != two[0].dtype.kind and "U" in (one[0].dtype.kind, two[0].dtype.kind):
        raise DataError(f"labels are {one[0].tolist()} here and {two[0].tolist()} there; use one type")
    labels = np.union1d(one[0], two[0])
    keys = sorted({*one[1], *two[1]})
    numbers = {key: number for number, key in enumerate(keys)}
    counts, rows = np.zeros((len(labels), len(keys))), np.zeros(len(labels))
    for part_labels, part_keys, part_counts, part_rows in (one, two):
        places = np.searchsorted(labels, part_labels)
        columns = np.fromiter((numbers[key] for key in part_keys), np.int64, len(part_keys))
        counts[np.ix_(places, columns)] += part_counts
        rows[places] += part_rows
    return labels, keys, counts, rows
