"""A topic model by the name of its kind, with parameters in one flat list: what commands and tables of settings need.

    make_model("lda", n_topics=50, method="gibbs", burn_in=20)      LDA(n_topics=50, method=Gibbs(burn_in=20))

A parameter belongs to the class of the kind or, for lda, to the engine that `method` names. One that belongs to neither
is refused rather than ignored; None stands for the default.
"""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from typing import Any

from textmill.corpus import Vocabulary
from textmill.errors import DataError
from textmill.model import check_choice, constructor_parameters
from textmill.topics.model import TopicModel
from textmill.vectors import TextVectorizer, Weighting

__all__ = ["KINDS", "make_model", "make_vectorizer"]

# kind -> class, and the weights of terms that suit it
KINDS = {
    "lda": ("LDA", "nnn"),
    "lsa": ("LSA", "ntc"),
    "mixture": ("MultinomialMixture", "nnn"),
    "nmf": ("NMF", "ntc"),
    "pca": ("PCA", "ntc"),
    "plsa": ("PLSA", "nnn"),
}


def make_model(kind: str, **parameters: Any) -> TopicModel:
    """Return an unfitted model of a kind: "lda", "lsa", "mixture", "nmf", "pca" or "plsa".

    >>> make_model("lda", n_topics=2, method="gibbs", burn_in=20, loss=None)
    LDA(n_topics=2, method=Gibbs(burn_in=20, thin=10, n_chains=1, collapsed=True))
    >>> make_model("lsa", loss="kl")
    Traceback (most recent call last):
    textmill.errors.DataError: loss='kl' is no parameter of a model of kind lsa; leave it out
    """
    check_choice("kind", kind, list(KINDS))
    cls: type[TopicModel] = getattr(import_module("textmill.topics"), KINDS[kind][0])
    settings = {name: value for name, value in parameters.items() if value is not None}
    own = constructor_parameters(cls)
    others = {name: settings.pop(name) for name in settings.keys() - own.keys()}
    owner = f"a model of kind {kind}"
    if kind == "lda":
        from textmill.topics.lda.model import ENGINES

        method = settings.get("method", "online")
        check_choice("method", method, list(ENGINES))
        engine, owner = ENGINES[method], f"{owner} by {method}"
        names = [field.name for field in fields(engine) if field.name in others]  # type: ignore[arg-type]
        if names:
            settings["method"] = engine(**{name: others.pop(name) for name in names})
    for name in sorted(others):
        raise DataError(f"{name}={others[name]!r} is no parameter of {owner}; leave it out")
    return cls(**settings)


def make_vectorizer(kind: str, vocabulary: Vocabulary, scheme: str | None = None) -> TextVectorizer:
    """Return a vectorizer with weights that suit a kind of model, or those of a scheme; fitted if the vocabulary is.

    >>> make_vectorizer("lda", Vocabulary()).weighting
    Weighting(scheme='nnn')
    """
    check_choice("kind", kind, list(KINDS))
    weighting = Weighting(scheme=scheme or KINDS[kind][1])
    if vocabulary.__sklearn_is_fitted__():
        return TextVectorizer.of(vocabulary, weighting)
    return TextVectorizer(vocabulary=vocabulary, weighting=weighting)
