"""Do formulas help? The same documents compared with formulas as terms, with formulas of less weight, and without.

Each weight gets models of its own, trained on all documents in a folder that is removed afterwards. Formulas are cut
out of the texts in all of them, so that those of weight 0 do not come back as words; then neighbors are judged by the
subject classes of a field (`evaluate_classes`), and topics by the coherence of their first words (NPMI, `topics`).
Cost: that of training and of the lists of all documents, once for each weight.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from textmill.corpus import is_formula
from textmill.errors import DataError
from textmill.model import check_range
from textmill.progress import track
from textmill.tables import Rows
from textmill.tasks.similarity.agreement import evaluate_classes
from textmill.topics import topic_coherence

if TYPE_CHECKING:
    from textmill.tasks.similarity.classes import ClassScheme
    from textmill.tasks.similarity.collection import Collection

__all__ = ["FormulaEffect", "formula_ablation"]


class FormulaEffect(NamedTuple):
    """How good a method is with formulas of some weight.

    `formulas` is the number of formulas among its terms; `coherence` the mean over topics, NaN where there are none.
    """

    method: str
    weight: float
    level: str
    formulas: int
    precision: float
    votes: float
    map: float
    coherence: float


def formula_ablation(
    collection: Collection,
    field: str,
    *,
    methods: Sequence[str] | None = None,
    weights: Sequence[float] = (0.0, 1.0),
    k: int = 10,
    scheme: ClassScheme | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    **settings: Any,
) -> Rows[FormulaEffect]:
    """Return how well neighbors share classes and topics hang together, for each weight of formulas.

    `methods` are kinds such as "tfidf" and "lda", None for those of the collection; `settings` go to `make_method`, by
    default those that the collection was made with.

    >>> from textmill.tasks.similarity import Collection
    >>> rows = [{"text": f"let $x^{i % 2}$ be a number", "topic": f"{i % 2}"} for i in range(8)]
    >>> library = Collection.create("algebra", rows, methods=["tfidf"], formulas=True)
    >>> [(row.weight, row.formulas, row.precision) for row in formula_ablation(library, "topic", k=3)]
    [(0.0, 0, 0.0), (1.0, 2, 1.0)]
    """
    for weight in weights:
        check_range("weights", weight, at_least=0, below=np.inf)
    recipe = collection.snapshot.manifest.get("recipe")
    if methods is None:
        if recipe is None:
            raise DataError("the collection was made with models, not kinds of methods; name methods, such as tfidf")
        methods = recipe["kinds"]
    chosen = dict(recipe["settings"] if recipe else {}) | {"random_state": random_state} | settings
    rows = []
    with tempfile.TemporaryDirectory(prefix="textmill-") as folder:
        for weight in track(list(weights), "training with formulas", unit="weights"):
            with_weight = chosen | {"formulas": True, "formula_weight": float(weight)}
            articles = collection.snapshot.articles()
            name = Path(folder) / f"weight-{weight}"
            trained = type(collection).create(name, articles, methods=list(methods), n_jobs=n_jobs, **with_weight)
            agreements = evaluate_classes(trained, field, k=k, scheme=scheme, random_state=random_state, n_jobs=n_jobs)
            facts = {method: _facts(trained, method) for method in trained.methods}
            for one in agreements:
                formulas, coherence = facts[one.method]
                counted = formulas if weight else 0
                rows.append(
                    FormulaEffect(
                        one.method, float(weight), one.level, counted, one.precision, one.votes, one.map, coherence
                    )
                )
    rows.sort(key=lambda row: (list(methods).index(row.method), row.level, row.weight))
    return Rows(rows, FormulaEffect)


def _facts(collection: Collection, method: str) -> tuple[int, float]:
    """The number of formulas among the terms of a method, and the mean coherence of its topics."""
    chosen = collection.methods[method]
    vocabulary = chosen.vocabulary
    formulas = 0 if vocabulary is None else sum(map(is_formula, vocabulary.terms_))
    if not hasattr(chosen.model, "topics"):
        return formulas, float("nan")
    texts = [article.text for article in collection.snapshot.articles()]
    values = topic_coherence(chosen.model, texts, measure="npmi")
    there = values[np.isfinite(values)]
    return formulas, float(there.mean()) if len(there) else float("nan")
