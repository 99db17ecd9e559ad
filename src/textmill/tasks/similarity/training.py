"""Models for a collection, trained on the documents in its shards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from textmill.errors import DataError
from textmill.model import Estimator
from textmill.tasks.similarity.articles import Article
from textmill.tasks.similarity.methods import Method, as_methods, counting_method, make_method

__all__ = ["StoredArticles", "StoredTexts", "fit_methods", "unfitted", "unknown_share"]

_KINDS = ("tfidf", "lsa")  # unless told
_SAMPLE = 2000  # documents whose words are counted


class StoredTexts:
    """The texts of shards, as often as they are asked for.

    >>> from textmill.tasks.similarity.articles import Article
    >>> from textmill.tasks.similarity.shards import DocumentShard
    >>> list(StoredTexts([DocumentShard.of([Article("a", "A", "to be")], [0])]))
    ['to be']
    """

    def __init__(self, shards: Sequence[Any]) -> None:
        self._shards = shards

    def __iter__(self) -> Iterator[Any]:
        for shard in self._shards:
            yield from shard.texts()

    def articles(self) -> StoredArticles:
        """The whole documents, as often as they are asked for."""
        return StoredArticles(self._shards)


class StoredArticles:
    """The documents of shards, as often as they are asked for."""

    def __init__(self, shards: Sequence[Any]) -> None:
        self._shards = shards

    def __iter__(self) -> Iterator[Article]:
        for shard in self._shards:
            yield from (shard.article(row) for row in range(len(shard)))


def fit_methods(
    methods: Any, settings: dict[str, Any], shards: Sequence[Any], n_jobs: int | None
) -> tuple[list[Method], dict[str, Any] | None]:
    """Return fitted methods, and the recipe by which they can be made again if they were named by their kinds."""
    texts = StoredTexts(shards)
    recipe = None
    if methods is None or (not isinstance(methods, Mapping) and all(isinstance(one, str) for one in methods)):
        kinds = list(_KINDS if methods is None else methods)
        documents = sum(map(len, shards))
        recipe = _recipe(kinds, settings)
        named: Iterable[Method] = [
            make_method(kind, n_documents=documents, n_jobs=n_jobs, **settings) for kind in kinds
        ]
    else:
        if settings:
            raise DataError(f"{min(settings)} belongs to methods that are named by their kinds; set it in the model")
        named = as_methods(methods)
    return [_fitted(method, texts) for method in as_methods(named)], recipe


def unfitted(method: Method) -> Method:
    """Return the same method with a model that is still to be fitted.

    >>> from textmill.vectors import TextVectorizer
    >>> unfitted(Method("tfidf", TextVectorizer().fit(["to be"]), "cosine")).model.__sklearn_is_fitted__()
    False
    """
    return replace(method, model=_clone(method.model))


def unknown_share(methods: Iterable[Method], shards: Sequence[Any]) -> float:
    """Return the share of words in documents that a model leaves out though it was trained on them, from a sample.

    >>> from textmill.tasks.similarity.shards import DocumentShard
    >>> from textmill.vectors import TextVectorizer
    >>> shard = DocumentShard.of([Article("a", "", "to be or"), Article("b", "", "to")], [0, 1])
    >>> unknown_share([Method("words", TextVectorizer().fit(["to be"]), "cosine")], [shard])
    0.25
    """
    counting = counting_method(methods)
    if counting is None:
        return 0.0
    step = -(-sum(map(len, shards)) // _SAMPLE)
    places = [(shard, row) for shard in shards for row in range(len(shard))][::step]
    counts = counting.count_words([Article("", "", shard.text(row)) for shard, row in places])
    return counts[1] / sum(counts) if sum(counts) else 0.0


def _fitted(method: Method, texts: StoredTexts) -> Method:
    if not method.model.__sklearn_is_fitted__():
        if hasattr(method.model, "fit_articles"):
            method.model.fit_articles(texts.articles())
        else:
            method.model.fit(texts)
    if method.vocabulary is not None and not len(method.vocabulary):
        raise DataError(
            f"no words are left for the method '{method.name}': the texts are empty, or min_df and max_df leave none; "
            "pass other limits"
        )
    return method


def _clone(model: Any) -> Any:
    parameters = model.get_params(deep=False)
    return type(model)(
        **{name: _clone(value) if isinstance(value, Estimator) else value for name, value in parameters.items()}
    )


def _recipe(kinds: list[str], settings: dict[str, Any]) -> dict[str, Any] | None:
    """Kinds and settings as the description of a collection keeps them; None where a setting is an object."""
    chosen = {name: value for name, value in settings.items() if value is not None}
    plain = all(isinstance(value, str | int | float) for value in chosen.values())
    return {"kinds": kinds, "settings": chosen} if plain else None
