"""Classifiers by kind and options, and their evaluation: what the command line asks for."""

from __future__ import annotations

from typing import Any

import numpy as np

from textmill.errors import DataError
from textmill.linear.bayes import NaiveBayes
from textmill.linear.categorical import CategoricalBayes
from textmill.linear.classifier import LinearClassifier
from textmill.linear.expected_f import UtilityLogistic
from textmill.linear.grafting import CombinationLogistic
from textmill.linear.logistic import LogisticRegression
from textmill.metrics import Confusion
from textmill.model import check_choice
from textmill.model.estimators import constructor_parameters

__all__ = ["KINDS", "evaluate_classifier", "labels_with_probabilities", "make_classifier"]

KINDS: dict[str, type[LinearClassifier | NaiveBayes | CategoricalBayes]] = {
    "bayes": NaiveBayes,
    "categorical": CategoricalBayes,
    "combinations": CombinationLogistic,
    "logistic": LogisticRegression,
}


def make_classifier(kind: str, *, balanced: bool = False, **options: Any) -> Any:
    """Return a classifier of a kind, "logistic", "combinations", "bayes" or "categorical".

    An option that is None has its default. The default of l2 is 0 for a logistic regression with an L1 penalty. With
    `utility` a logistic regression is trained for that instead of likelihood.

    >>> make_classifier("logistic", l1=0.5), make_classifier("combinations", degree=3, balanced=True)
    (LogisticRegression(l1=0.5, l2=0.0), CombinationLogistic(degree=3, class_weight='balanced'))
    """
    check_choice("kind", kind, list(KINDS))
    parameters = {name: value for name, value in options.items() if value is not None}
    if "utility" in parameters and kind == "logistic":
        if balanced:
            raise DataError("the utility says what counts; leave out balanced, or choose another utility")
        for name in parameters.keys() - constructor_parameters(UtilityLogistic).keys():
            raise DataError(f"{name} is no option of a model trained for a utility; leave it out")
        return UtilityLogistic(**parameters)
    for name in parameters.keys() - constructor_parameters(KINDS[kind]).keys():
        raise DataError(f"{name} is no option of kind '{kind}'; leave it out")
    if kind == "logistic" and parameters.get("l1"):
        parameters.setdefault("l2", 0.0)
    if balanced and kind in ("bayes", "categorical"):
        parameters["class_prior"] = "uniform"
    elif balanced:
        parameters["class_weight"] = "balanced"
    return KINDS[kind](**parameters)


def evaluate_classifier(model: Any, X: Any, y: Any) -> Confusion:
    """Return the table of right and predicted labels.

    >>> model = LogisticRegression().fit([[1.0], [3.0]], ["a", "b"])
    >>> evaluate_classifier(model, [[0.0], [4.0]], ["a", "b"]).accuracy()
    1.0
    """
    classes = model.classes_.tolist()
    right = [label if label in classes else str(label) for label in y]
    return Confusion.from_labels(right, model.predict(X).tolist())


def labels_with_probabilities(model: Any, X: Any) -> tuple[list[Any], list[float]]:
    """Return the label of each row and its probability: calibrated where a model trained for a utility has that.

    >>> model = LogisticRegression().fit([[1.0], [3.0]], ["a", "b"])
    >>> labels_with_probabilities(model, [[0.0]])[0]
    ['a']
    """
    calibrated = isinstance(model, UtilityLogistic) and len(model.calibration_) > 0
    probabilities = model.calibrated(X) if calibrated else model.predict_proba(X)
    labels = model.predict(X) if calibrated else model.classes_[probabilities.argmax(axis=1)]
    places = np.searchsorted(model.classes_, labels)
    return labels.tolist(), probabilities[np.arange(len(places)), places].tolist()
