"""Perplexities by other corpora: does a text look more like this encyclopedia, or like its version for children?

    external.R.G.n   perplexity of the text by the model of corpus G, order n; R is `mixed` (the words that tell the
                     corpora apart by information gain, all others as their part of speech), or `words` without a tagger

The corpora have nothing to do with the texts that are graded, so nothing has to be held out. Pairs of a simple and a
complex version of the same content work best. Cost: one pass over the corpora for each order. Reference: Schwarm &
Ostendorf (2005), Reading level assessment using support vector machines and statistical language models.
"""

from __future__ import annotations

from textmill.tasks.readability.annotator import Annotator
from textmill.tasks.readability.graded import GradedTexts
from textmill.tasks.readability.layers import Layers
from textmill.tasks.readability.perplexities import LevelModels

__all__ = ["external_models"]


def external_models(
    corpora: GradedTexts,
    *,
    annotator: Annotator | None = None,
    reduce: bool = False,
    order: int = 3,
    n_words: int = 300,
    smoothing: str = "witten-bell",
    n_jobs: int | None = None,
) -> LevelModels:
    """Return n-gram models of other corpora, for `ReadabilityGrader(external=...)` and `cross_validate`.

    The level of each text is the name of its corpus. With an annotator that tags, words that do not tell the corpora
    apart are replaced by their tags; texts to grade need the same tagger then. `reduce` as in `ReadabilityGrader`.

    >>> corpora = GradedTexts(["It is old. It turns.", "It has been turning."], ["simple", "complex"], None, ["1", "2"],
    ...                       ["simple", "complex"])
    >>> external_models(corpora, order=2).feature_names
    ['external.words.simple.1', 'external.words.simple.2', 'external.words.complex.1', 'external.words.complex.2']
    """
    texts = corpora.reduced() if reduce else corpora
    layers = Layers((Annotator() if annotator is None else annotator).annotate(texts.texts), n_jobs=n_jobs)
    models = LevelModels(
        order=order,
        representations=("mixed",) if layers.has("tags") else ("words",),
        smoothing=smoothing,
        n_words=n_words,
        common=(),
        family="external",
        n_jobs=n_jobs,
    )
    return models.fit(layers, texts.levels, range(len(texts)), texts.order)
