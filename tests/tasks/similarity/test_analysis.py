"""What a collection shows: classes, disagreement, duplicates, hubs, topics, languages, subjects, exports."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import textmill
from textmill.corpus import Document, read_documents, sample_path
from textmill.errors import DataError
from textmill.tasks import Collection
from textmill.tasks.similarity import (
    ClassScheme,
    FieldVectors,
    LanguageModels,
    NeighborTable,
    SubjectClassifier,
    bag_articles,
    codes_of,
    draw_mixture,
    duplicate_groups,
    evaluate_classes,
    explain_similarity,
    export_neighbors,
    feature_scores,
    fit_joint_space,
    mate_retrieval,
    mixture_parts,
    near_duplicates,
    score_matrix,
    source_statistics,
    topic_table,
    write_duplicates,
)
from textmill.topics import LDA, LSA
from textmill.vectors import TextVectorizer, Weighting

pytestmark = pytest.mark.filterwarnings("ignore::textmill.tasks.similarity.StaleModel")


def two_levels(seed: int, documents: int = 160, words: int = 60, length: int = 120) -> list[dict[str, object]]:
    """Documents of two top classes with three sub-classes each; half of each sub-class has a historical code instead.

    Words come from the topic of the sub-class, from that of the top class, and from all: a tree of topics.
    """
    generator = np.random.default_rng(seed)
    made = []
    subs = [("20", letter, 30 + i) for i, letter in enumerate("DKM")] + [
        ("05", letter, 60 + i) for i, letter in enumerate("ABC")
    ]
    for i in range(documents):
        top, letter, old = subs[i % len(subs)]
        code = f"{top}.{old}" if generator.random() < 0.5 else f"{top}{letter}xx"
        parts = generator.choice(3, length, p=[0.5, 0.2, 0.3])
        ranks = np.minimum(generator.geometric(0.08, length), words)
        pools = [f"{top}{letter}".lower(), f"top{top}", "all"]
        text = " ".join(f"{pools[part]}w{rank}" for part, rank in zip(parts, ranks, strict=True))
        made.append({"id": f"d{i}", "text": text, "msc": code, "twin": f"{top}{letter}xx", "top": top})
    return made


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    methods = {
        "tfidf": TextVectorizer(weighting=Weighting(idf="n/d")),
        "lsa": LSA(n_topics=12, vectorizer=TextVectorizer(weighting=Weighting(idf="n/d"))),
        "lda": LDA(n_topics=6, vectorizer=TextVectorizer(weighting=Weighting(scheme="nnn")), random_state=0),
    }
    return Collection.create(tmp_path_factory.mktemp("tree") / "tree", two_levels(1), methods=methods)


def test_codes_are_read_sorted_and_described() -> None:
    scheme = ClassScheme("msc")
    assert [scheme.sub(code) for code in ("20D05", "20-XX", "20", "20.92")] == ["20Dxx", "20", "20", "20.92"]
    assert scheme.describe("20.93").startswith("Semigroups")
    assert codes_of("20D05; 05C10") == ["20D05", "05C10"]
    with pytest.raises(DataError, match="no code of the scheme msc"):
        scheme.top("group theory")


def test_figures_of_classes_are_those_of_their_definitions(tree: Collection) -> None:
    rows = {(row.method, row.level): row for row in evaluate_classes(tree, "twin", k=5)}
    assert {level for _, level in rows} == {"top", "sub"}
    row = rows["tfidf", "sub"]
    classes = [str(one.fields["twin"]) for one in tree]
    scores = score_matrix(tree.snapshot, "tfidf", tree.snapshot.numbers)
    same = np.array([[a == b for b in classes] for a in classes])
    others = ~np.eye(len(classes), dtype=bool)
    precision, votes, average = [], [], []
    for i in range(len(classes)):
        order = [j for j in np.argsort(-scores[i], kind="stable") if j != i]
        precision.append(np.mean([same[i, j] for j in order[:5]]))
        tally: dict[str, float] = {}
        for j in order[:5]:
            tally[classes[j]] = tally.get(classes[j], 0) + scores[i, j]
        votes.append(max(sorted(tally), key=tally.__getitem__) == classes[i])
        hits = np.array([same[i, j] for j in order])
        average.append((hits * np.cumsum(hits) / np.arange(1, len(hits) + 1)).sum() / hits.sum())
    assert row.precision == pytest.approx(np.mean(precision))
    assert row.votes == pytest.approx(np.mean(votes))
    assert row.map == pytest.approx(np.mean(average))
    assert row.within == pytest.approx(scores[same & others].mean())
    assert row.between == pytest.approx(scores[~same].mean())
    from sklearn.metrics import silhouette_score

    distances = 1 - scores
    np.fill_diagonal(distances, 0.0)
    assert row.silhouette == pytest.approx(silhouette_score(np.maximum(distances, 0), classes, metric="precomputed"))
    assert rows["lsa", "sub"].precision > 0.9 > rows["lsa", "top"].between
    with pytest.raises(DataError, match="fewer than two documents have a class in the field 'none'"):
        evaluate_classes(tree, "none")


@pytest.mark.parametrize("method", ["tfidf", "lda"])
def test_duplicates_are_all_pairs_above_the_threshold(tree: Collection, method: str, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(tree.folder, tmp_path / "mine")
    mine = Collection.open(tmp_path / "mine")
    twin = mine.get("d3")
    mine.upsert(
        [{"id": "twin", "text": twin.text}, {"id": "<b>", "text": str(twin.text) + " <script>alert(1)</script>"}]
    )
    mine.delete(["d9"])
    limit = 0.6 if method == "tfidf" else 0.95
    pairs = near_duplicates(mine, threshold=limit, method=method)
    scores = score_matrix(mine.snapshot, method, mine.snapshot.numbers)
    names = mine.ids()
    wanted = {frozenset((names[i], names[j])) for i, j in zip(*np.nonzero(np.triu(scores >= limit, 1)), strict=True)}
    assert {frozenset((pair.left, pair.right)) for pair in pairs} == wanted
    assert [pair.score for pair in pairs] == sorted((pair.score for pair in pairs), reverse=True)
    assert frozenset(("d3", "twin")) in wanted
    assert any({"d3", "twin"} <= set(group) for group in duplicate_groups(pairs))
    write_duplicates(mine, pairs, tmp_path / "twins.html", most=3)
    page = (tmp_path / "twins.html").read_text()
    assert "<script>alert" not in page
    assert "<h4>" in page


def test_vectors_from_elsewhere(tmp_path: Path) -> None:
    documents = [{"id": f"{i}", "text": "", "v": [float(i == 0), 1.0, float(i)]} for i in range(4)]
    library = Collection.create(tmp_path / "given", documents, methods={"given": FieldVectors(field="v")})
    assert library.query(vector=[0, 1, 3], k=1).ids == ["3"]
    assert Collection.open(library.folder).query(id="3", k=1).ids == ["2"]
    library.upsert([{"id": "new", "text": "", "v": [0, 1, 2.9]}])
    assert library.query(id="3", k=1).ids == ["new"]
    for fields, message in [({"v": [1.0]}, "has 1 numbers"), ({}, "no list of numbers")]:
        with pytest.raises(DataError, match=message):
            library.upsert([{"id": "bad", "text": "", **fields}])
    with pytest.raises(DataError, match="ask by id or by vector"):
        library.query(text="words")


def test_mixtures_sum_to_a_hundred_and_topics_are_listed(tree: Collection) -> None:
    parts = mixture_parts([0.081, 0.231, 0.233, 0.164, 0.071, 0.04, 0.18])
    assert sum(round(part.percent * 10) for part in parts) == 1000
    superpseudoprimes = np.full(50, 0.158 / 48)
    superpseudoprimes[12], superpseudoprimes[30] = 0.718, 0.124
    assert [tuple(part) for part in mixture_parts(superpseudoprimes)] == [("13", 71.8), ("31", 12.4), ("other", 15.8)]
    assert draw_mixture(mixture_parts(superpseudoprimes)).axes
    generator = np.random.default_rng(0)
    for _ in range(50):
        assert sum(round(p.percent * 10) for p in mixture_parts(generator.dirichlet(np.full(30, 0.1)))) == 1000
    table = topic_table(tree.methods["lda"].model, n_words=10)
    assert [len(row.words) for row in table] == [10] * 6
    with pytest.raises(DataError, match="sum to 1"):
        mixture_parts([0.5, 0.1])
    with pytest.raises(DataError, match="has no topics"):
        topic_table(tree.methods["tfidf"].model)


def test_formulas_raise_precision_where_only_they_differ(tmp_path: Path) -> None:
    generator = np.random.default_rng(5)
    documents = []
    for i in range(120):
        forms = ["x^i", "i^x", "x/i", "i/x"]  # of the same letters
        formulas = [f"${forms[i % 4]}$" for _ in range(6)]
        words = [f"word{generator.integers(40)}" for _ in range(30)]
        documents.append({"id": f"{i}", "text": " ".join([*words, *formulas, "$(i)$"]), "topic": "GHKL"[i % 4]})
    figures = {}
    for formulas in (False, True):
        library = Collection.create(
            tmp_path / f"f{formulas}", documents, methods=["tfidf"], formulas=formulas, min_df=2, max_df=1.0
        )
        figures[formulas] = evaluate_classes(library, "topic")[0].precision
        vocabulary = library.methods["tfidf"].vocabulary
        assert vocabulary is not None
        assert ("$x^i$" in vocabulary, "$(i)$" in vocabulary) == (formulas, False)
    assert figures[True] > figures[False] + 0.3
    pairs = explain_similarity(library, "0", library.query(id="0", k=1).ids[0])
    assert pairs[0].kind == "formula"


def translated(seed: int, pairs: int) -> list[tuple[str, str]]:
    """Documents on mixed topics in two languages without a word in common."""
    generator = np.random.default_rng(seed)
    topics = generator.dirichlet(np.full(600, 0.02), 25)
    out = []
    for _ in range(pairs):
        mixture = generator.dirichlet(np.full(25, 0.1)) @ topics
        out.append(tuple(" ".join(f"{tongue}{w}" for w in generator.choice(600, 80, p=mixture)) for tongue in "xy"))
    return out


def test_mates_are_found_in_a_joint_space() -> None:
    pairs = translated(4, 700)
    model = fit_joint_space(pairs[:500], n_topics=60)
    left, right = zip(*pairs[500:], strict=True)
    assert mate_retrieval(model, left, right) >= 0.9
    assert mate_retrieval(model, right, left) >= 0.9
    separate = LSA(n_topics=60, vectorizer=TextVectorizer()).fit([text for pair in pairs[:500] for text in pair])
    assert mate_retrieval(separate, left, right) < 0.3
    with pytest.raises(DataError, match="at least two pairs"):
        fit_joint_space(pairs[:1])


def test_every_language_has_a_model_of_its_own(tmp_path: Path) -> None:
    texts = {"en": "the old mill on the river", "cs": "starý mlýn na řece", "de": "die alte Mühle am Fluss"}
    documents = [
        {"id": f"{name}{i}", "text": f"{text} {i}", "language": name} for name, text in texts.items() for i in range(4)
    ]
    prototypes = [
        TextVectorizer(weighting=Weighting(idf="smooth")),
        LSA(n_topics=2, vectorizer=TextVectorizer(weighting=Weighting(idf="smooth"))),
    ]
    for number, model in enumerate(prototypes):
        library = Collection.create(tmp_path / f"l{number}", documents, methods={"m": LanguageModels(model=model)})
        library = Collection.open(library.folder)
        assert library.methods["m"].model.languages() == ["cs", "de", "en"]
        for name in texts:
            assert {other[:2] for other in library.query(id=f"{name}0", k=3).ids} == {name}
        assert library.query(text="mlýn", k=1).ids[0][:2] == "cs"
    detector = LanguageModels(model=prototypes[0], detector=lambda text: "en" if "the" in text else "cs")
    assert detector.fit(["the mill", "the sea", "mlýn"], [None, None, None]).languages() == ["cs", "en"]  # type: ignore[list-item]
    assert detector.transform(["the mlýn"]).nnz == 1
    with pytest.raises(DataError, match="no field 'language'"):
        Collection.create(tmp_path / "n", ["text"], methods={"m": LanguageModels()})


@pytest.mark.parametrize("kind", ["logistic", "bayes", "knn"])
def test_subjects_are_learned_saved_and_ranked(kind: str, tmp_path: Path) -> None:
    documents = two_levels(7, documents=240)
    texts, codes = [str(one["text"]) for one in documents], [str(one["twin"]) for one in documents]
    model = SubjectClassifier(kind=kind, n_features=200).fit(texts[:160], codes[:160])
    assert len(model.features_) == 200
    assert model.score(texts[160:], codes[160:]) > 0.9
    ranked = model.suggest(texts[200], k=3)
    assert [row.confidence for row in ranked] == sorted((row.confidence for row in ranked), reverse=True)
    assert 0 <= ranked[-1].confidence <= ranked[0].confidence <= 1
    model.save(tmp_path / "m.mill")
    assert np.array_equal(
        textmill.load(tmp_path / "m.mill").decision_function(texts[160:]), model.decision_function(texts[160:])
    )
    tops = [str(one["top"]) for one in documents]
    assert SubjectClassifier(kind=kind).fit(texts[:160], tops[:160]).score(texts[160:], tops[160:]) > 0.95
    several = SubjectClassifier(kind=kind).fit(texts[:160], [[a, b] for a, b in zip(codes, tops, strict=True)][:160])
    chosen = several.predict(texts[160:])
    right = [set(some) == {a, b} for some, a, b in zip(chosen, codes[160:], tops[160:], strict=True)]
    assert np.mean(right) > 0.8
    assert several.predict(["nothing that is known"]).shape == (1,)


def test_neighbors_are_kept_as_sparse_rows(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    texts = [" ".join(f"w{w}" for w in generator.integers(0, 5000, 30)) for _ in range(600)]
    model = SubjectClassifier(kind="knn").fit(texts, [str(i % 3) for i in range(600)])
    model.save(tmp_path / "m.mill")
    assert (tmp_path / "m.mill").stat().st_size < 4 * 600 * len(model.features_) / 10


def test_shares_of_neighbors_are_those_of_all_scores() -> None:
    documents = two_levels(7, documents=60)
    texts = [str(one["text"]) for one in documents]
    codes = [[str(one["top"]), str(one["twin"])][: 1 + i % 2] for i, one in enumerate(documents)]
    model = SubjectClassifier(kind="knn", k=4).fit(texts[:50], codes[:50])
    rows = Weighting(scheme="atc", idf="smooth")
    counts = model.vocabulary_.transform(texts)[:, model.features_]
    X = rows.fit(counts[:50]).transform(counts).toarray()
    scores = X[50:] @ X[:50].T
    for row, got in zip(scores, model.decision_function(texts[50:]), strict=True):
        near = np.argsort(-row, kind="stable")[:4]
        expected = [sum(row[i] for i in near if code in codes[i]) / row[near].sum() for code in model.classes_]
        assert got == pytest.approx(expected, abs=1e-6)
    assert model.decision_function(["nothing known"])[0] == pytest.approx(1 / len(model.classes_))


def test_features_are_scored_as_scikit_learn_scores_them() -> None:
    from sklearn.feature_selection import mutual_info_classif

    generator = np.random.default_rng(0)
    X = sparse.csr_matrix(generator.random((200, 30)) < 0.2).astype(np.int32)
    y = generator.integers(2, size=200)
    Y = np.stack([y == 0, y == 1], axis=1)
    assert feature_scores(X, Y) == pytest.approx(mutual_info_classif(X, y, discrete_features=True), abs=1e-12)
    dense = X.toarray().astype(bool)
    from scipy.stats import chi2_contingency

    for t in range(5):
        table = np.array([[np.sum(dense[:, t] & (y == c)), np.sum(~dense[:, t] & (y == c))] for c in (0, 1)])
        assert feature_scores(X, Y, "chi_square")[t] == pytest.approx(
            chi2_contingency(table, correction=False).statistic
        )
    assert feature_scores(X, Y, "document_frequency").tolist() == dense.sum(axis=0).tolist()


def test_subjects_that_cannot_be_learned_are_refused() -> None:
    for texts, codes, message in [
        (["a b"], ["x"], "at least two codes"),
        (["a", "b"], ["x"], "2 texts and 1 codes"),
        (["", ""], ["x", "y"], "no words are left"),
    ]:
        with pytest.raises(DataError, match=message):
            SubjectClassifier().fit(texts, codes)
    with pytest.raises(DataError, match="kind must be"):
        SubjectClassifier(kind="tree").fit(["a"], ["x"])


def test_sources_have_statistics(tmp_path: Path) -> None:
    words = TextVectorizer(weighting=Weighting(idf="smooth"))
    sources = {"dml": ["corn mill", "old corn mill corn"], "numdam": ["a storm"]}
    library = Collection.create(tmp_path / "s", sources_with_ids(sources), methods={"w": words})
    rows = source_statistics(library.snapshot)
    assert [tuple(row) for row in rows] == [
        ("dml", 2, 6, 3, 5, pytest.approx(5 / 6)),
        ("numdam", 1, 2, 2, 2, 1.0),
        ("all", 3, 8, 5, 7, pytest.approx(7 / 15)),
    ]


def sources_with_ids(sources: dict[str, list[str]]) -> dict[str, list[dict[str, str]]]:
    return {
        name: [{"id": f"{name}-{i}", "text": text} for i, text in enumerate(texts)] for name, texts in sources.items()
    }


def test_bags_are_documents(tmp_path: Path) -> None:
    path = tmp_path / "tiny.mm"
    path.write_text("%%MatrixMarket matrix coordinate integer general\n3 4 4\n1 1 2\n1 3 1\n2 2 1\n3 1 1\n")
    (tmp_path / "terms.txt").write_text("corn\nU.S. mill\nsea\nstorm\n")
    articles = list(bag_articles(path, vocab=tmp_path / "terms.txt", source="bags"))
    assert [one.text for one in articles] == [["corn", "corn", "sea"], ["U.S. mill"], ["corn"]]
    library = Collection.create(
        tmp_path / "bags", articles, methods={"w": TextVectorizer(weighting=Weighting(idf="n/d"))}
    )
    assert library.query(id="1").ids == ["3"]
    path.write_text("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 0.5\n")
    with pytest.raises(DataError, match="counts of words are needed"):
        list(bag_articles(path))
    (tmp_path / "few.txt").write_text("")
    with pytest.raises(DataError, match="0 terms for 1 columns"):
        list(bag_articles(path, vocab=tmp_path / "few.txt"))


def test_neighbors_are_exported(tree: Collection, tmp_path: Path) -> None:
    assert export_neighbors(tree, tmp_path / "n.csv", methods=["lsa"], k=3) == 3 * len(tree)
    with (tmp_path / "n.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    first = tree.query(id="d0", method="lsa", k=3)
    assert [row["neighbor"] for row in rows[:3]] == first.ids
    assert [float(row["score"]) for row in rows[:3]] == first.scores.tolist()
    pyarrow = pytest.importorskip("pyarrow.parquet")
    export_neighbors(tree, tmp_path / "n.parquet", methods=["lsa"], k=3)
    assert pyarrow.read_table(tmp_path / "n.parquet").num_rows == len(rows)


def test_a_site_has_a_page_for_each_article_and_escapes_titles(tmp_path: Path) -> None:
    documents = list(read_documents(sample_path()))[:20]
    documents.append(
        Document("evil", documents[0].text, {"title": "<script>alert(1)</script>", "url": "javascript:x"}, "s", 1)
    )
    lda = LDA(n_topics=4, vectorizer=TextVectorizer(weighting=Weighting(scheme="nnn")), random_state=0)
    words = TextVectorizer(weighting=Weighting(idf="n/d"))
    library = Collection.create(tmp_path / "c", documents, methods={"words": words, "lda": lda})
    assert export_neighbors(library, tmp_path / "site", k=3) == 21
    pages = {path.name: path.read_text() for path in (tmp_path / "site").glob("*.html")}
    assert len(pages) == 22
    assert all("<script>alert" not in page for page in pages.values())
    assert 'href="20.html"' in pages["index.html"]
    assert "Similar articles by words" in pages["0.html"]
    assert "Topics of this article" in pages["0.html"]


def test_kept_neighbors_answer_and_follow_writes(tree: Collection, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(tree.folder, tmp_path / "mine")
    mine = Collection.open(tmp_path / "mine")
    mine.keep_neighbors(NeighborTable.build(mine, method="lsa", k=10))
    other = Collection.open(mine.folder)
    mine.upsert([{"id": "twin", "text": mine.get("d3").text}])
    mine.delete(["d4"])
    for library in (mine, other):
        library.refresh()
        for name in ("d3", "d10", "twin"):
            kept, asked = library.neighbors(name, method="lsa", k=7), library.query(id=name, method="lsa", k=7)
            assert (kept.ids, kept.scores.tolist(), kept.titles) == (asked.ids, asked.scores.tolist(), asked.titles)
    assert mine.neighbors("d3", method="tfidf", k=2).ids == mine.query(id="d3", method="tfidf", k=2).ids
