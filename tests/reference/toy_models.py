"""Small models that use every declaration of textmill.model, in a module that exists only while tests run.

`install()` puts them where a public package would be, `textmill.toys`, so that the rule "only public names of textmill"
is met and not bent.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import NamedTuple

import numpy as np

from textmill.errors import DataError, ModelFileError
from textmill.model import (
    Classifier,
    Model,
    Regressor,
    StringTable,
    Transformer,
    check_fitted,
    check_range,
)


class Words(Model):
    """A vocabulary: no estimator, so it keeps its content when it is a parameter that gets cloned."""

    __module__ = "textmill.toys"
    format_version = 1
    layout = {"terms": "term: str", "counts": "term: int64"}

    def __init__(self, terms, counts):
        self.terms = StringTable(terms)
        self.counts = np.asarray(counts, dtype=np.int64)


class Bayes(Classifier, Model):
    """Naive Bayes as the style guide writes it: two lines say what is saved."""

    __module__ = "textmill.toys"
    format_version = 1
    layout = {"word_counts_": "class word", "document_counts_": "class"}

    def __init__(self, *, smoothing=1.0):
        self.smoothing = smoothing

    def fit(self, X, y):
        check_range("smoothing", self.smoothing, above=0)
        self.classes_ = np.unique(y)
        self.word_counts_ = np.zeros((len(self.classes_), X.shape[1]))
        self.document_counts_ = np.zeros(len(self.classes_))
        return self.partial_fit(X, y)

    def partial_fit(self, X, y):
        check_fitted(self)
        self.make_writable()
        member = np.equal.outer(self.classes_, np.asarray(y)).astype(float)
        self.word_counts_ += member @ X
        self.document_counts_ += member.sum(axis=1)
        return self

    def predict(self, X):
        check_fitted(self)
        theta = self.word_counts_ + self.smoothing
        log_theta = np.log(theta / theta.sum(axis=1, keepdims=True))
        log_pi = np.log(self.document_counts_ / self.document_counts_.sum())
        return self.classes_[np.argmax(X @ log_theta.T + log_pi, axis=1)]


class Line(Regressor, Model):
    """Least squares through the origin."""

    __module__ = "textmill.toys"
    format_version = 1
    layout = {"weights_": "column"}

    def fit(self, X, y):
        self.weights_ = np.linalg.lstsq(np.asarray(X, float), np.asarray(y, float), rcond=None)[0]
        return self

    def predict(self, X):
        check_fitted(self)
        return np.asarray(X) @ self.weights_


class Arcs(NamedTuple):
    source: np.ndarray
    target: np.ndarray


class Everything(Transformer, Model):
    """Each kind of declaration once."""

    __module__ = "textmill.toys"
    format_version = 2
    layout = {
        "weights_": "class term: float32 | float64",
        "columns_": "entry: int32",
        "rows_": "class+1: int64",
        "flags_": "term: bool",
        "terms_": "term: str",
        "bias_": "class: float64 | None",
        "scale_": ": float64",
        "arcs_.source": "arc: int32",
        "arcs_.target": "arc: int32",
        "finals_": "state: bool",
    }
    indices = {"columns_": "term", "arcs_.source": "state", "arcs_.target": "state"}
    offsets = {"rows_": "entry"}
    records = {"arcs_": Arcs}
    state = {"alpha_": float, "seen_": int, "note_": str | None, "path_": list[int]}
    parts = {"words_": "toys.Words"}

    def __init__(
        self, *, size=3, window=(1, 2), stop=frozenset(), limit=float("inf"), split=None, words=None, inner=None
    ):
        self.size = size
        self.window = window
        self.stop = stop
        self.limit = limit
        self.split = split
        self.words = words
        self.inner = inner

    def fit(self, X, y=None):
        check_range("size", self.size, at_least=1, whole=True)
        rng = np.random.default_rng(self.size)
        self.weights_ = rng.normal(size=(2, self.size))
        self.rows_ = np.array([0, 1, 3])
        self.columns_ = rng.integers(0, self.size, 3).astype(np.int32)
        self.flags_ = rng.random(self.size) < 0.5
        self.terms_ = StringTable(f"Wörtchen {i}" for i in range(self.size))
        self.bias_ = None if self.size % 2 else np.array([0.5, -0.0])
        self.scale_ = np.array(2.5)
        self.arcs_ = Arcs(np.array([0, 1, 1], np.int32), np.array([1, 0, 1], np.int32))
        self.finals_ = np.array([False, True])
        self.alpha_ = np.float64(1.0)
        self.seen_ = 7
        self.note_ = None
        self.path_ = [1, 2]
        self.words_ = self.words
        return self

    def transform(self, X):
        check_fitted(self)
        return np.asarray(X, float) * self.scale_

    def check_values(self):
        if self.words_ is not None and len(self.words_.terms) == 13:
            raise ModelFileError("thirteen words bring bad luck", reason="damaged")

    @classmethod
    def upgrade(cls, saved):
        saved.arrays["weights_"] = saved.arrays.pop("W")  # what format 1 called them
        return saved


class Shy(Model):
    """A model that its module does not list."""

    __module__ = "textmill.toys"
    format_version = 1


def install() -> ModuleType:
    """Make textmill.toys importable and return it."""
    module = ModuleType("textmill.toys")
    for cls in (Words, Bayes, Line, Everything, Shy, DataError):
        setattr(module, cls.__name__, cls)
    module.Arcs = Arcs
    module.__all__ = ["Arcs", "Bayes", "DataError", "Everything", "Line", "Words"]
    sys.modules["textmill.toys"] = module
    return module


def examples() -> dict[str, Model]:
    """One fitted model of every kind."""
    X = np.array([[2.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 3.0, 1.0]])
    words = Words(["Mühle", "", "čas"], [3, 1, 2])
    inner = Everything(size=4, words=words, stop=frozenset({"a", "b"})).fit(None)
    return {
        "words": words,
        "bayes": Bayes(smoothing=0.5).fit(X, ["en", "cs", "cs"]),
        "numbers": Bayes().fit(X, [3, 1, 1]),
        "line": Line().fit(X, [1.0, 2.0, 3.0]),
        "everything": Everything(inner=inner, words=words, limit=-0.0).fit(None),
    }
