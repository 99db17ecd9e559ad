"""What textmill's models share with scikit-learn: parameters, tags and scores, without importing it.

An estimator stores its keyword parameters untouched in `__init__`; `fit` checks and resolves them. That contract is all
that `sklearn.base.clone`, `Pipeline`, `GridSearchCV` and `cross_val_score` need, besides `get_params`, `set_params` and
`__sklearn_tags__`, which builds scikit-learn's own objects only when scikit-learn asks for them.

    class LDA(Transformer, Model):            # Model (base.py) adds save and load
        def __init__(self, *, topics: int = 100) -> None:
            self.topics = topics

        def fit(self, X, y=None):
            check_range("topics", self.topics, at_least=1, whole=True)

Reference: Buitinck et al. (2013), API design for machine learning software.
"""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Self

import numpy as np

from textmill.errors import DataError
from textmill.model.cores import available_cores
from textmill.model.options import Options
from textmill.model.output import Framed, framed

__all__ = [
    "Classifier",
    "Estimator",
    "Regressor",
    "Transformer",
    "check_choice",
    "check_owners",
    "check_range",
    "constructor_parameters",
    "effective_jobs",
    "given_parameters",
]

_MANY, _SHOWN = 10, 5  # items of a parameter that are too many for its text, and that are shown then

_INPUTS: dict[str, dict[str, bool]] = {  # scikit-learn's words for what an estimator takes
    "rows": {"sparse": True},
    "counts": {"sparse": True, "positive_only": True},
    "texts": {"string": True, "two_d_array": False},
    "mappings": {"dict": True, "two_d_array": False},
    "sequences": {"two_d_array": False},  # lists of tokens, or whatever else a class says
}


class Estimator:
    """Parameters that can be read, set, shown and cloned.

    >>> class Shift(Transformer):
    ...     def __init__(self, *, by: float = 0.0, inner: Estimator | None = None) -> None:
    ...         self.by = by
    ...         self.inner = inner
    >>> Shift(inner=Shift()).set_params(by=2.0, inner__by=1.5)
    Shift(by=2.0, inner=Shift(by=1.5))
    """

    takes: ClassVar[str] = "rows"  # what X is, one of _INPUTS, for scikit-learn

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's parameters by name; with `deep` also `a__b` for those that are estimators."""
        parameters: dict[str, Any] = {}
        for name in constructor_parameters(type(self)):
            value = parameters[name] = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                parameters.update((f"{name}__{inner}", item) for inner, item in value.get_params().items())
        return parameters

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, those of nested estimators and options as `a__b`; returns the estimator itself."""
        parameters = constructor_parameters(type(self))
        nested: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            name, inside, inner = key.partition("__")
            if name not in parameters:
                raise DataError(f"{type(self).__name__} has no parameter '{name}'; it has {sorted(parameters)}")
            if inside:
                nested.setdefault(name, {})[inner] = value
            else:
                setattr(self, name, value)
        for name, inner_params in nested.items():  # last, so that they meet an estimator set in the same call
            inner_estimator = getattr(self, name)
            if isinstance(inner_estimator, Options):
                setattr(self, name, inner_estimator.replace(**inner_params))
                continue
            if not hasattr(inner_estimator, "set_params"):
                first = f"{name}__{next(iter(inner_params))}"
                raise DataError(f"cannot set '{first}': parameter '{name}' is no estimator but {inner_estimator!r}")
            inner_estimator.set_params(**inner_params)
        return self

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={_brief(value)}" for name, value in given_parameters(self).items())
        return f"{type(self).__name__}({shown})"

    def _repr_html_(self) -> str:
        """The estimator as scikit-learn draws its own in a notebook."""
        from sklearn.utils import estimator_html_repr

        return str(estimator_html_repr(self))

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        inputs = InputTags(**_INPUTS[self.takes])
        return Tags(estimator_type=None, target_tags=TargetTags(required=False), input_tags=inputs)


class Transformer(Framed, Estimator):
    """Turns documents into rows of numbers: `fit`, then `transform`; `set_output` makes them data frames.

    >>> class Lengths(Transformer):
    ...     def fit(self, X, y=None):
    ...         return self
    ...     def transform(self, X):
    ...         return [[len(text)] for text in X]
    >>> Lengths().fit_transform(["a", "bee"])
    [[1], [3]]
    """

    @framed
    def fit_transform(self, X: Any, y: Any = None, **options: Any) -> Any:
        """Fit to X and return it transformed; `options` go to `fit`."""
        estimator: Any = self  # fit and transform belong to the subclass
        return estimator.fit(X, y, **options).transform(X)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import TransformerTags

        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags()
        return tags


class Classifier(Estimator):
    """Predicts one label per row; `classes_` holds the labels in sorted order and is saved with the model.

    >>> class Always(Classifier):
    ...     def predict(self, X):
    ...         return ["en"] * len(X)
    >>> Always().score(["a", "b"], ["en", "cs"])
    0.5
    """

    layout: ClassVar[Mapping[str, str]] = {"classes_": "class: label"}

    def score(self, X: Any, y: Any) -> float:
        """Return the share of rows whose predicted label is the given one."""
        right, predicted = _aligned(self, X, y)
        return float(np.mean(right == predicted))

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags()
        tags.target_tags.required = True
        return tags


class Regressor(Estimator):
    """Predicts a number a row.

    >>> class Half(Regressor):
    ...     def predict(self, X):
    ...         return [x / 2 for x in X]
    >>> Half().score([2, 4, 6], [1, 2, 3])
    1.0
    """

    def score(self, X: Any, y: Any) -> float:
        """Return R^2 = 1 - sum (y - f)^2 / sum (y - mean y)^2; for a constant y 1 when it is met, else 0."""
        right, predicted = (values.astype(float) for values in _aligned(self, X, y))
        missed = float(np.sum((right - predicted) ** 2))
        spread = float(np.sum((right - right.mean()) ** 2))
        if spread == 0.0:
            return 1.0 if missed == 0.0 else 0.0
        return 1.0 - missed / spread

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import RegressorTags

        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor"
        tags.regressor_tags = RegressorTags()
        tags.target_tags.required = True
        return tags


def _aligned(estimator: Any, X: Any, y: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The right answers and the predicted ones, as two arrays of one shape with at least one entry."""
    right, predicted = np.asarray(y), np.asarray(estimator.predict(X))
    if right.shape != predicted.shape:
        raise DataError(f"X gave predictions of shape {predicted.shape} but y has {right.shape}; pass one y a row")
    if not right.size:
        raise DataError("nothing to score: X has no rows; pass at least one")
    return right, predicted


def constructor_parameters(cls: type) -> dict[str, inspect.Parameter]:
    """Parameters of the constructor of `cls` by name, in order, without `self`.

    >>> class Shift(Estimator):
    ...     def __init__(self, *, by: float = 0.5) -> None:
    ...         self.by = by
    >>> {name: parameter.default for name, parameter in constructor_parameters(Shift).items()}
    {'by': 0.5}
    """
    constructor: Any = cls
    if constructor.__init__ is object.__init__:
        return {}
    return dict(list(inspect.signature(constructor.__init__).parameters.items())[1:])


def given_parameters(estimator: Estimator) -> dict[str, Any]:
    """Parameters that are not at their default, by name.

    >>> class Shift(Estimator):
    ...     def __init__(self, *, by: float = 0.5, fill: object = None) -> None:
    ...         self.by, self.fill = by, fill
    >>> given_parameters(Shift(by=0.5, fill=np.zeros(2)))
    {'fill': array([0., 0.])}
    """
    parameters = constructor_parameters(type(estimator))
    values = {name: getattr(estimator, name) for name in parameters}
    return {name: value for name, value in values.items() if not _is_same(value, parameters[name].default)}


def _is_same(value: Any, default: Any) -> bool:
    """Is it the default? Compared by texts, because arrays have no single truth value."""
    if value is default:
        return True
    if isinstance(value, Estimator) or type(value) is not type(default):
        return False
    return repr(value) == repr(default)


def _brief(value: Any) -> str:
    """The text of a parameter; of long collections only the beginning and the size.

    >>> _brief(list(range(100))), _brief({"a"})
    ('[0, 1, 2, 3, 4, ... 100 in all]', "{'a'}")
    """
    if isinstance(value, list | tuple | set | frozenset | dict) and len(value) > _MANY:
        ordered = sorted(value, key=repr) if isinstance(value, set | frozenset) else list(value)
        first = [f"{item!r}: {value[item]!r}" if isinstance(value, dict) else repr(item) for item in ordered[:_SHOWN]]
        left, right = ("(", ")") if isinstance(value, tuple) else ("[", "]") if isinstance(value, list) else ("{", "}")
        return f"{left}{', '.join(first)}, ... {len(value)} in all{right}"
    return repr(value)


def check_range(
    name: str,
    value: float,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    above: float | None = None,
    below: float | None = None,
    whole: bool = False,
) -> None:
    """Raise DataError unless `value` is a number within the bounds; `whole` also asks for an integer.

    >>> check_range("topics", 20, at_least=1, whole=True)
    >>> check_range("smoothing", 0.0, above=0)
    Traceback (most recent call last):
    textmill.errors.DataError: smoothing must be a number above 0, got 0.0
    """
    within = (
        isinstance(value, numbers.Integral if whole else numbers.Real)
        and not isinstance(value, bool)
        and not math.isnan(value)
        and (at_least is None or value >= at_least)
        and (above is None or value > above)
        and (at_most is None or value <= at_most)
        and (below is None or value < below)
    )
    if not within:
        bounds = {"at least": at_least, "above": above, "at most": at_most, "below": below}
        limits = " and ".join(f"{words} {bound}" for words, bound in bounds.items() if bound is not None)
        raise DataError(f"{name} must be a {'whole ' if whole else ''}number {limits}".rstrip() + f", got {value!r}")


def check_choice(name: str, value: object, choices: Collection[object]) -> None:
    """Raise DataError unless `value` is one of `choices`.

    >>> check_choice("idf", "smooth", ["n/d", "smooth"])
    >>> check_choice("idf", "smoth", ["n/d", "smooth"])
    Traceback (most recent call last):
    textmill.errors.DataError: idf must be one of 'n/d', 'smooth', got 'smoth'
    """
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        raise DataError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def check_owners(
    estimator: Estimator, chooser: str, owners: Mapping[str, Collection[str]], chosen: str | None = None
) -> None:
    """Raise DataError when a parameter is set that only other choices read, so that none is swallowed.

    `owners` has for each such parameter the values of the parameter `chooser` that read it; `chosen` is the value in
    force where that is not the parameter's own ("auto"). A parameter at its default is not set.

    >>> class Shift(Estimator):
    ...     def __init__(self, *, method: str = "all", by: float = 0.5) -> None:
    ...         self.method, self.by = method, by
    >>> check_owners(Shift(by=0.5), "method", {"by": ("some",)})
    >>> check_owners(Shift(by=2.0), "method", {"by": ("some", "few")})
    Traceback (most recent call last):
    textmill.errors.DataError: by=2.0 belongs to method='some' or 'few', not to 'all'; leave it out or change method
    """
    choice = getattr(estimator, chooser) if chosen is None else chosen
    for name, value in given_parameters(estimator).items():
        if choice not in owners.get(name, (choice,)):
            users = " or ".join(map(repr, owners[name]))
            raise DataError(
                f"{name}={value!r} belongs to {chooser}={users}, not to {choice!r}; leave it out or change {chooser}"
            )


def effective_jobs(n_jobs: int | None) -> int:
    """Number of threads that `n_jobs` asks for on the cores this process may use.

    None and -1 mean all of them (`available_cores`), -2 all but one and so on, a positive number itself.

    >>> effective_jobs(3)
    3
    >>> effective_jobs(None) == effective_jobs(-1)
    True
    >>> effective_jobs(0)
    Traceback (most recent call last):
    textmill.errors.DataError: n_jobs must be a whole number other than 0, or None for all cores, got 0
    """
    whole = isinstance(n_jobs, numbers.Integral) and not isinstance(n_jobs, bool)
    if n_jobs is not None and (not whole or n_jobs == 0):
        raise DataError(f"n_jobs must be a whole number other than 0, or None for all cores, got {n_jobs!r}")
    if n_jobs is not None and n_jobs > 0:
        return int(n_jobs)
    return max(1, available_cores() + 1 + int(-1 if n_jobs is None else n_jobs))
