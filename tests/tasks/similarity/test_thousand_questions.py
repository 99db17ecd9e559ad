"""A thousand questions to a collection in several shards: lists, order and ties are those of all scores in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from textmill.tasks.similarity import Collection, Question
from textmill.tasks.similarity.articles import Article
from textmill.topics import LDA, LSA
from textmill.vectors import Index, TextVectorizer, Weighting

_QUESTIONS, _K = 1000, 10


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """Texts of some topics, many of them written twice, so that there are ties."""
    random = np.random.default_rng(11)
    topics = random.dirichlet(np.full(400, 0.05), 12)
    made = []
    for _ in range(1500):
        words = random.choice(400, random.integers(5, 40), p=random.dirichlet(np.full(12, 0.2)) @ topics)
        made.append(" ".join(f"w{word}" for word in words))
    return [*made, *made[::5]]


@pytest.fixture(scope="module")
def library(texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """A collection of four shards and what came since."""
    counts = TextVectorizer(weighting=Weighting(scheme="nnn"))
    methods = {
        "tfidf": TextVectorizer(weighting=Weighting(idf="n/d")),
        "lsa": LSA(n_topics=30, vectorizer=TextVectorizer(weighting=Weighting(idf="n/d")), random_state=0),
        "lda": LDA(n_topics=8, vectorizer=counts, max_iter=5, random_state=0),
    }
    made = Collection.create(tmp_path_factory.mktemp("thousand") / "library", texts[:900], methods=methods)
    made.upsert([{"id": f"later-{n}", "text": text} for n, text in enumerate(texts[900:])])
    return made


@pytest.mark.filterwarnings("ignore::textmill.tasks.similarity.StaleModel")
@pytest.mark.parametrize("name", ["tfidf", "lsa", "lda"])
def test_lists_are_those_of_all_scores(library: Collection, texts: list[str], name: str) -> None:
    random = np.random.default_rng(3)
    asked = [
        " ".join([*texts[i].split()[:12], *texts[j].split()[:4]])
        for i, j in random.integers(len(texts), size=(_QUESTIONS, 2))
    ]
    method = library.methods[name]
    answers = library.query_many([Question(text=text) for text in asked], method=name, k=_K)
    numbers = library.snapshot.numbers
    stored, rows = library.snapshot.vectors_of(name, numbers), method.rows([Article("", "", text) for text in asked])
    X, Q = ((some.toarray() if hasattr(some, "toarray") else some).astype(np.float64) for some in (stored, rows))
    keys = Q @ X.T if method.measure == "cosine" else -((Q[:, None] - X[None]) ** 2).sum(axis=2)
    ids = np.array(library.ids())
    for row, answer in zip(keys, answers, strict=True):
        order = np.lexsort((numbers, -row.round(12)))[:_K]
        order = order[row[order] > 0] if name == "tfidf" else order
        assert answer.ids == ids[order].tolist()
        scores = row[order] if method.measure == "cosine" else 1 - np.sqrt(np.maximum(-row[order], 0) / 2)
        np.testing.assert_allclose(answer.scores, scores, atol=1e-6)
    if name != "tfidf":  # vectors rounded to bytes, cells of a VA file and whole ones: the same lists
        lists = [
            Index(measure="cosine" if name == "lsa" else "euclidean", method=way).fit(X).query(Q, k=_K)
            for way in ("scan", "coarse", "va")
        ]
        for other in lists[1:]:
            np.testing.assert_array_equal(other.ids, lists[0].ids)
            np.testing.assert_array_equal(other.scores, lists[0].scores)
