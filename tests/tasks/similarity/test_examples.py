"""The nine titles of Deerwester et al., with every number that was worked out for them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from textmill.tasks import Collection
from textmill.tasks.similarity import explain_similarity, pair_scores, score_matrix
from textmill.topics import LDA, LSA
from textmill.vectors import Index, TextVectorizer, Weighting, pairwise_matrix

TERMS = [
    "human",
    "interface",
    "computer",
    "user",
    "system",
    "response",
    "time",
    "EPS",
    "survey",
    "trees",
    "graph",
    "minors",
]
NAMES = ["c1", "c2", "c3", "c4", "c5", "m1", "m2", "m3", "m4"]
COUNTS = np.array(
    [
        [1, 0, 0, 1, 0, 0, 0, 0, 0],
        [1, 0, 1, 0, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0, 0, 0, 0],
        [0, 1, 1, 0, 1, 0, 0, 0, 0],
        [0, 1, 1, 2, 0, 0, 0, 0, 0],
        [0, 1, 0, 0, 1, 0, 0, 0, 0],
        [0, 1, 0, 0, 1, 0, 0, 0, 0],
        [0, 0, 1, 1, 0, 0, 0, 0, 0],
        [0, 1, 0, 0, 0, 0, 0, 0, 1],
        [0, 0, 0, 0, 0, 1, 1, 1, 0],
        [0, 0, 0, 0, 0, 0, 1, 1, 1],
        [0, 0, 0, 0, 0, 0, 0, 1, 1],
    ]
)
BAGS = [[term for term, count in zip(TERMS, column, strict=True) for _ in range(count)] for column in COUNTS.T]
PAIRS = {
    ("c1", "c2"): (0.2357, 0.2565, 0.9142),
    ("c1", "c3"): (0.2887, 0.3297, 1.0000),
    ("c1", "c4"): (0.2357, 0.2840, 0.9948),
    ("c1", "c5"): (0, 0, 0.8799),
    ("m1", "m4"): (0, 0, 0.9848),
    ("m2", "m3"): (0.8165, 0.7185, 1.0000),
    ("c2", "m4"): (0.2357, 0.2791, 0.3945),
    ("c1", "m3"): (0, 0, -0.1600),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    counts = TextVectorizer(weighting=Weighting(scheme="nnn"))
    methods = {
        "counts": counts,
        "tfidf": TextVectorizer(weighting=Weighting(idf="n/d")),
        "lsa": LSA(
            n_topics=2,
            vectorizer=TextVectorizer(weighting=Weighting(scheme="nnn")),
            method="one_pass",
            oversampling=7,
            chunk_method="dense",
        ),
        "lsa_tfidf": LSA(
            n_topics=2,
            vectorizer=TextVectorizer(weighting=Weighting(idf="n/d")),
            method="one_pass",
            oversampling=7,
            chunk_method="dense",
        ),
    }
    documents = [{"id": name, "text": bag} for name, bag in zip(NAMES, BAGS, strict=True)]
    return Collection.create(tmp_path_factory.mktemp("titles") / "titles", documents, methods=methods)


def number(library: Collection, name: str) -> int:
    return library.snapshot.place(name).number


@pytest.mark.parametrize("pair", PAIRS)
def test_pairs_have_the_scores_of_the_table(library: Collection, pair: tuple[str, str]) -> None:
    left, right = (np.array([number(library, name)]) for name in pair)
    for method, expected in zip(("counts", "tfidf", "lsa"), PAIRS[pair], strict=True):
        assert pair_scores(library.snapshot, method, left, right)[0] == pytest.approx(expected, abs=5.1e-5)
        matrix = score_matrix(library.snapshot, method, [int(left[0]), int(right[0])])
        assert matrix[0, 1] == pytest.approx(expected, abs=5.1e-5)


def test_lsa_of_tfidf(library: Collection) -> None:
    assert library.methods["lsa_tfidf"].model.singular_values_ == pytest.approx([1.5936, 1.4763], abs=5.1e-5)
    for pair, expected in {("c1", "c5"): 0.9988, ("m1", "m4"): 0.9516, ("c2", "m4"): 0.3336}.items():
        left, right = (np.array([number(library, name)]) for name in pair)
        assert pair_scores(library.snapshot, "lsa_tfidf", left, right)[0] == pytest.approx(expected, abs=5.1e-5)


def test_singular_vectors_and_the_unscaled_space() -> None:
    X = sparse.csr_matrix(COUNTS.T)
    model = LSA(n_topics=9, method="one_pass", oversampling=7, chunk_method="dense").fit(X)
    values = [3.3409, 2.5417, 2.3539, 1.6445, 1.5048, 1.3064, 0.8459, 0.5601, 0.3637]
    assert model.singular_values_ == pytest.approx(values, abs=5.1e-5)
    V = np.abs(
        LSA(n_topics=2, method="one_pass", oversampling=7, chunk_method="dense").fit(X).transform(X, scaled=True)
    )
    expected = [(0.197, 0.056), (0.606, 0.166), (0.463, 0.127), (0.542, 0.232), (0.279, 0.107)]
    expected += [(0.004, 0.193), (0.015, 0.438), (0.024, 0.615), (0.082, 0.530)]
    assert pytest.approx(np.array(expected), abs=5.1e-4) == V


def test_a_question_in_both_spaces(library: Collection) -> None:
    scores = {"c1": 0.9981, "c2": 0.9375, "c3": 0.9984, "c4": 0.9866, "c5": 0.9076}
    scores |= {"m1": -0.1242, "m2": -0.1064, "m3": -0.0988, "m4": 0.0500}
    found = library.query(vector=library.methods["lsa"].model.transform([["human", "computer"]]), method="lsa", k=9)
    assert dict(zip(found.ids, found.scores.tolist(), strict=True)) == pytest.approx(scores, abs=5.1e-5)
    model = library.methods["lsa"].model
    unscaled = (
        Index()
        .fit(model.transform(BAGS, scaled=True))
        .query(model.transform([["human", "computer"]], scaled=True), k=9)[0]
    )
    expected = [0.9969, 0.8945, 0.9974, 0.9786, 0.8464, -0.1760, -0.1626, -0.1569, -0.0433]
    assert unscaled.scores[np.argsort(unscaled.ids)] == pytest.approx(expected, abs=5.1e-5)


def test_weights_of_one_title() -> None:
    row = COUNTS.T[3]
    for scheme, expected in {
        "nnc": (0.4082, 0.8165, 0.4082),
        "ntn": (1.0986, 1.6219, 1.0986),
        "ntc": (0.4892, 0.7221, 0.4892),
        "btc": (0.6269, 0.4627, 0.6269),
        "ann": (0.75, 1, 0.75),
        "atc": (0.5804, 0.5712, 0.5804),
        "lnn": (0.6931, 1.0986, 0.6931),
        "ltc": (0.5448, 0.6374, 0.5448),
    }.items():
        weights = Weighting(scheme=scheme).fit(sparse.csr_matrix(COUNTS.T)).transform(sparse.csr_matrix(row[None]))
        assert weights.toarray()[0, [0, 4, 7]] == pytest.approx(expected, abs=5.1e-5)


def test_hellinger_on_the_printed_mixtures() -> None:
    first = np.array([0.87, 0.92, 0.90, 0.90, 0.87, 0.25, 0.17, 0.13, 0.13])
    X = np.stack([first, 1 - first], axis=1)
    H = pairwise_matrix(X, X, measure="hellinger")
    for (i, j), expected in {(0, 1): 0.0580, (0, 4): 0.0, (0, 5): 0.4705, (0, 7): 0.5722}.items():
        assert H[i, j] == pytest.approx(expected, abs=5.1e-5)
    assert pairwise_matrix(X, X, measure="cosine")[0, 7] == pytest.approx(0.2923, abs=5.1e-5)


def test_lda_has_the_two_groups(tmp_path: Path) -> None:
    documents = [{"id": name, "text": bag} for name, bag in zip(NAMES, BAGS, strict=True)]
    right = []
    for seed in range(8):  # some of them end in another optimum
        counts = TextVectorizer(weighting=Weighting(scheme="nnn"))
        model = LDA(n_topics=2, alpha=0.5, eta=0.5, method="batch", random_state=seed, max_iter=200, vectorizer=counts)
        library = Collection.create(tmp_path / f"lda{seed}", documents, methods={"lda": model})
        lists = {name: library.query(id=name, k=3).ids for name in NAMES}
        right.append(all(other[0] == name[0] for name, others in lists.items() for other in others))
    assert any(right)


def test_parts_of_an_explanation_add_up(library: Collection) -> None:
    terms = explain_similarity(library, "c1", "c2", method="tfidf", k=20)
    assert sum(row.part for row in terms) == pytest.approx(0.2565, abs=5.1e-5)
    assert [row.name for row in terms] == ["computer"]
    both = explain_similarity(library, "c1", "c5", method="lsa", k=20)
    for kind in ("term", "topic"):
        assert sum(row.part for row in both if row.kind == kind) == pytest.approx(0.8799, abs=5.1e-5)
