"""Tables of neighbors: equal to brute force and to single questions, kept up to date, resumed, made on a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import textmill
from textmill.corpus import read_documents, sample_path
from textmill.errors import DataError
from textmill.tasks import Collection, SimilarDocuments
from textmill.tasks.similarity import Method, NeighborTable, building
from textmill.topics import LDA, LSA, PCA
from textmill.vectors import Index, Searched, TextVectorizer, Weighting

pytestmark = pytest.mark.filterwarnings("ignore::textmill.tasks.similarity.StaleModel")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """The sample, half of it in shards, half of it written later, some deleted, some written twice."""
    documents = list(read_documents(sample_path()))
    words = Weighting(idf="n/d")
    methods = {
        "tfidf": TextVectorizer(weighting=words),
        "lsa": LSA(n_topics=12, vectorizer=TextVectorizer(weighting=words)),
        "lda": LDA(n_topics=4, vectorizer=TextVectorizer(weighting=Weighting(scheme="nnn")), random_state=0),
    }
    made = Collection.create(tmp_path_factory.mktemp("neighbors") / "library", documents[:150], methods=methods)
    made.upsert(documents[140:])
    made.delete([documents[7].id, documents[200].id])
    made.upsert([{"id": "nothing", "text": "xyzzy"}, {"id": "copy", "text": documents[0].text}])
    return made


def brute(library: Collection, method: str, k: int) -> tuple[list[int], list[list[int]]]:
    """Lists by exact keys of the stored vectors, in plain NumPy, ordered by key, then by number."""
    numbers = library.snapshot.numbers
    rows = library.snapshot.vectors_of(method, numbers)
    X = (rows.toarray() if hasattr(rows, "toarray") else rows).astype(np.float64)
    keys = X @ X.T if library.methods[method].measure == "cosine" else -((X[:, None] - X[None]) ** 2).sum(axis=2)
    lists = []
    for i, row in enumerate(keys):
        order = [j for j in np.lexsort((numbers, -row.round(12))) if j != i and (method != "tfidf" or row[j] > 0)]
        lists.append([] if not X[i].any() else numbers[order][:k].tolist())
    return numbers.tolist(), lists


@pytest.mark.parametrize("method", ["tfidf", "lsa", "lda"])
def test_the_table_is_what_brute_force_finds(library: Collection, method: str) -> None:
    table = NeighborTable.build(library, method=method, k=10)
    numbers, lists = brute(library, method, 10)
    found = [members.tolist() for members, _ in table.lists(library, numbers)]
    assert found == lists
    name = library.ids()[5]
    one = library.query(id=name, method=method, k=10)
    assert (table.matches(library, name).ids, table.matches(library, name).scores.tolist()) == (
        one.ids,
        one.scores.tolist(),
    )


@pytest.mark.parametrize("method", ["tfidf", "lsa", "lda"])
def test_scores_of_a_pair_are_equal_and_copies_are_found(library: Collection, method: str) -> None:
    table = NeighborTable.build(library, method=method, k=len(library))
    pairs = {
        (number, int(other)): key
        for number, (members, keys) in zip(table.numbers_.tolist(), table.lists(library, table.numbers_), strict=True)
        for other, key in zip(members, keys, strict=True)
    }
    assert all(a != b for a, b in pairs)
    empty = {
        a
        for a, (members, _) in zip(table.numbers_, table.lists(library, table.numbers_), strict=True)
        if not len(members)
    }
    assert library.snapshot.place("nothing").number in empty or method == "lda"
    assert all(pairs[b, a] == key for (a, b), key in pairs.items() if b not in empty)
    first = library.ids()[0]
    assert table.matches(library, first).ids[0] == "copy"
    assert table.matches(library, "copy").ids[0] == first
    assert table.matches(library, first).scores[0] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("kind", ["cosine", "euclidean", "hellinger"])
@pytest.mark.parametrize(("size", "columns", "k"), [(1, 3, 2), (40, 1, 3), (300, 7, 1), (2500, 19, 10)])
def test_lists_by_tiles_are_those_of_single_searches(kind: str, size: int, columns: int, k: int) -> None:
    generator = np.random.default_rng(size + columns)
    X = np.round(generator.random((size, columns)) * 3) + (kind == "hellinger")  # many ties and copies
    X = X / X.sum(axis=1, keepdims=True) if kind == "hellinger" else X - 1
    index = Index(measure=kind).fit(X)
    parts = [Searched(index)]
    table = NeighborTable()
    table.numbers_, table.measure_ = index.ids_, kind
    results = []
    for jobs in (1, 2, 5):
        work = building.Building(table, parts, k, None, jobs)
        work.by_tiles()
        results.append((work.neighbors, work.keys))
    expected = building.search_lists(parts, index.ids_, k)
    for members, keys in results:
        assert np.array_equal(members, expected[0])
        assert np.array_equal(keys, expected[1])


def copied(library: Collection, folder: Path) -> Collection:
    import shutil

    shutil.copytree(library.folder, folder)
    return Collection.open(folder)


@pytest.mark.parametrize("method", ["tfidf", "lsa", "lda"])
def test_after_every_write_the_lists_are_those_of_a_build(library: Collection, method: str, tmp_path: Path) -> None:
    mine = copied(library, tmp_path / "mine")
    table = NeighborTable.build(mine, method=method, k=5)
    generator = np.random.default_rng(3)
    documents = list(mine)
    for step in range(12):
        if step % 4 == 3:
            mine.delete([str(name) for name in generator.choice(mine.ids(), 3, replace=False)])
        elif step % 4 == 1:
            changed = documents[int(generator.integers(len(documents)))]
            mine.upsert([{"id": changed.id, "text": changed.words + " moon sea"}])
        else:
            texts = [
                " ".join(generator.choice(documents[int(generator.integers(9))].words.split(), 30)) for _ in range(2)
            ]
            mine.upsert([{"id": f"s{step}-{i}", "text": text} for i, text in enumerate(texts)])
        table.update(mine)
        if step % 3 == 2:
            mine.compact()
    rebuilt = NeighborTable.build(mine, method=method, k=5)
    numbers = mine.snapshot.numbers
    for (one, one_keys), (other, other_keys) in zip(
        table.lists(mine, numbers), rebuilt.lists(mine, numbers), strict=True
    ):
        assert one.tolist() == other.tolist()
        assert one_keys.tolist() == other_keys.tolist()
    table.settle(mine)
    assert np.array_equal(table.numbers_, rebuilt.numbers_)
    assert np.array_equal(table.neighbors_, rebuilt.neighbors_)
    table.save(tmp_path / "table.mill")
    loaded = textmill.load(tmp_path / "table.mill")
    mine.upsert([{"id": "last", "text": "the moon"}])
    loaded.update(mine)
    again = NeighborTable.build(mine, method=method, k=5)
    assert [x.tolist() for x, _ in loaded.lists(mine, mine.snapshot.numbers)] == [
        x.tolist() for x, _ in again.lists(mine, mine.snapshot.numbers)
    ]


def test_many_new_documents_make_a_new_table(library: Collection, tmp_path: Path) -> None:
    mine = copied(library, tmp_path / "mine")
    table = NeighborTable.build(mine, method="lsa", k=3)
    mine.upsert([{"id": f"n{i}", "text": f"moon sea {i}"} for i in range(100)])
    table.update(mine)
    assert np.array_equal(table.neighbors_, NeighborTable.build(mine, method="lsa", k=3).neighbors_)


@pytest.mark.parametrize("method", ["tfidf", "lsa"])
def test_an_interrupted_build_goes_on(
    library: Collection, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = NeighborTable.build(library, method=method, k=4)
    monkeypatch.setattr(building, "SECONDS", 0.0)
    monkeypatch.setattr(building, "TILE", 64)
    monkeypatch.setattr(building, "STRETCH", 64)
    checkpoint = tmp_path / "work.mill"
    saved = building.Building.save

    def stop(work: Any) -> None:
        saved(work)
        if work.done == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(building.Building, "save", stop)
    with pytest.raises(KeyboardInterrupt):
        NeighborTable.build(library, method=method, k=4, checkpoint=checkpoint)
    assert checkpoint.exists()
    with pytest.raises(DataError, match="a checkpoint of other work"):
        NeighborTable.build(library, method=method, k=5, checkpoint=checkpoint)
    monkeypatch.setattr(building.Building, "save", saved)
    begun: list[int] = []
    marked = building.Building._mark
    monkeypatch.setattr(
        building.Building, "_mark", lambda work, step, size: (begun.append(work.done), marked(work, step, size))
    )
    table = NeighborTable.build(library, method=method, k=4, checkpoint=checkpoint)
    assert begun[0] == 2
    assert not checkpoint.exists()
    assert np.array_equal(table.neighbors_, whole.neighbors_)
    assert np.array_equal(table.keys_, whole.keys_)


@pytest.mark.parametrize("method", ["tfidf", "lsa", "lda"])
def test_a_cluster_makes_the_same_table(
    library: Collection, method: str, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "STRETCH", 50)
    here = NeighborTable.build(library, method=method, k=6)
    there = NeighborTable.build(library, method=method, k=6, cluster=client)
    assert np.array_equal(here.neighbors_, there.neighbors_)
    assert np.array_equal(here.keys_, there.keys_)


def test_an_index_has_a_table_as_well(client: Any) -> None:
    documents = list(read_documents(sample_path()))[:60]
    for model in (
        None,
        PCA(n_topics=5, vectorizer=TextVectorizer(weighting=Weighting(idf="n/d"))).fit([one.text for one in documents]),
    ):
        similar = SimilarDocuments(model=model).fit(documents)
        table = NeighborTable.build(similar, k=3)
        for one in documents[:9]:
            expected = similar.query_ids([one.id], k=3)[0]
            assert table.matches(similar, one.id).ids == [
                name
                for name, score in zip(expected.ids, expected.scores, strict=True)
                if score > 0 or model is not None
            ]
    with pytest.raises(DataError, match="cannot be searched by others"):
        NeighborTable.build(similar, k=3, cluster=client)


def test_a_table_of_an_old_model_is_refused(library: Collection, tmp_path: Path) -> None:
    mine = copied(library, tmp_path / "mine")
    table = NeighborTable.build(mine, method="tfidf")
    assert table.fits(mine)
    mine.rebuild()
    assert not table.fits(mine)
    with pytest.raises(DataError, match="trained anew"):
        table.update(mine)


def test_reach_is_what_all_keys_say() -> None:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(3000, 20))
    S = sparse.random(3000, 50, 0.1, format="csr", random_state=0)
    P = generator.dirichlet(np.ones(6), 3000)
    cases = [(X, "cosine", "auto"), (X, "euclidean", "auto"), (P, "hellinger", "auto"), (S, "cosine", "auto")]
    cases += [(S, "euclidean", "auto"), (X, "cosine", "scan"), (X, "euclidean", "scan")]
    for rows, measure, method in cases:
        index = Index(measure=measure, method=method).fit(rows[:2900])
        index.add(rows[2900:])
        index.remove([5, 2950])
        question = index.vectors_of([17])
        keys = {int(i): key for i, key in zip(*index.nearest(question, k=3000)[1:], strict=True)}
        least = generator.permutation(np.array([keys.get(int(i), 0.0) for i in index.ids_]))
        ids, reached = index.reach(question, least)
        wanted = [
            int(i) for i, floor in zip(index.ids_, least, strict=True) if int(i) in keys and keys[int(i)] >= floor
        ]
        assert ids.tolist() == wanted
        assert reached.tolist() == [keys[i] for i in wanted]


def test_methods_are_checked() -> None:
    with pytest.raises(DataError, match="cannot name a method"):
        Collection.create("nowhere", ["a"], methods={"documents": TextVectorizer()})
    with pytest.raises(DataError, match="must be one of textmill"):
        Collection.create("nowhere", ["a"], methods={"x": object()})
    assert Method("x", TextVectorizer(), "cosine").vocabulary is None
