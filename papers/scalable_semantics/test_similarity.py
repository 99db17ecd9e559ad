"""Maps of classes, methods side by side, hubs, intruders, formulas."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import textmill
from papers.scalable_semantics.ablation import formula_ablation
from papers.scalable_semantics.class_map import block_means, class_map, draw_class_map, linked_classes
from papers.scalable_semantics.comparison import compare_methods, draw_differences
from papers.scalable_semantics.hubs import correct_hubs, find_hubs
from papers.scalable_semantics.intrusion import (
    score_topic_intrusion,
    score_word_intrusion,
    topic_intrusion,
    word_intrusion,
)
from textmill.errors import DataError
from textmill.tasks.similarity import (
    ClassScheme,
    Collection,
    FieldVectors,
    NeighborTable,
    score_matrix,
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


def test_historical_codes_are_linked_to_their_twins(tree: Collection, tmp_path: Path) -> None:
    twins = {str(one.fields["msc"]): str(one.fields["twin"]) for one in tree}
    for top in ("20", "05"):
        block = class_map(tree, "msc", top, method="lsa")
        assert block.classes == sorted(block.classes, key=ClassScheme().key)
        assert np.allclose(np.diag(block.scores), 1.0)
        links = linked_classes(block)
        for code in set(block.classes):
            if ClassScheme().is_historical(code):
                assert links[code] == twins[code]
        names, means = block_means(block)
        members = [i for i, code in enumerate(block.classes) if code == names[0]]
        inner = block.scores[np.ix_(members, members)]
        expected = (inner.sum() - len(members)) / (len(members) * (len(members) - 1))
        assert means[0, 0] == pytest.approx(expected)
        figure = draw_class_map(block, contrast=2.0, boxes=[(names[0], names[1])])
        textmill.plot.save(figure, tmp_path / "map.png")
        textmill.plot.save(figure, tmp_path / "map.svg")
        image = figure.axes[0].images[0].get_array()
        assert np.allclose(np.diag(image), 1.0)  # white
    with pytest.raises(DataError, match="no document has a code of class '99'"):
        class_map(tree, "msc", "99")


def test_a_planted_disagreement_is_found(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    words = {topic: [f"{topic}{i}" for i in range(30)] for topic in ("life", "ring", "graph")}
    texts = [" ".join(generator.choice(words[topic], 25)) for topic in ("life", "ring", "graph") for _ in range(40)]
    texts += [" ".join(words["life"][:8]), " ".join(words["life"][20:28])]  # alike only through others
    methods = {
        "tfidf": TextVectorizer(weighting=Weighting(idf="smooth")),
        "lsa": LSA(n_topics=3, vectorizer=TextVectorizer(weighting=Weighting(idf="smooth"))),
    }
    library = Collection.create(tmp_path / "planted", texts, methods=methods)
    result = compare_methods(library, "tfidf", "lsa", k=50, n_pairs=5000)
    worst = result.worst[0]
    assert {worst.left, worst.right} == {"120", "121"}
    assert (worst.one, worst.other > 0.9) == (0.0, True)
    assert -1 <= result.correlation <= 1
    assert 0 < result.overlap < 1
    assert result.counts.sum() == 5000
    matrices = [score_matrix(library.snapshot, name, library.snapshot.numbers) for name in ("tfidf", "lsa")]
    difference = (matrices[1] - matrices[0])[~np.eye(len(texts), dtype=bool)]
    assert result.mean == pytest.approx(difference.mean(), abs=0.02)
    assert result.deviation == pytest.approx(difference.std(), abs=0.02)
    assert draw_differences(result).axes
    same = compare_methods(library, "lsa", "lsa", n_pairs=100)
    assert (same.mean, same.overlap, round(same.correlation, 9)) == (0.0, 1.0, 1.0)


def test_hubs_are_counted_and_corrected(tree: Collection) -> None:
    report = find_hubs(tree, method="lsa", k=5)
    table = NeighborTable.build(tree, method="lsa", k=25)
    counts = np.bincount(table.neighbors_[:, :5].ravel(), minlength=len(tree))
    assert report.hubs[0].lists == counts.max()
    assert report.orphans == pytest.approx(np.mean(counts == 0))
    deviation = counts - 5
    assert report.skewness == pytest.approx(np.mean(deviation**3) / np.mean(deviation**2) ** 1.5)
    members, corrected = correct_hubs(table, 5)
    usual = table.scores()[:, :5].mean(axis=1)
    row = int(np.flatnonzero(table.neighbors_[0] == members[0, 0])[0])
    assert corrected[0, 0] == pytest.approx(2 * table.scores()[0, row] - usual[0] - usual[members[0, 0]])
    assert (np.diff(corrected, axis=1) <= 0).all()


def test_correction_takes_hubs_away(tmp_path: Path) -> None:
    generator = np.random.default_rng(2)
    X = generator.normal(size=(400, 60)) + 0.6 * generator.normal(size=60)
    documents = [{"text": "x", "v": row.tolist()} for row in X]
    library = Collection.create(tmp_path / "hubs", documents, methods={"given": FieldVectors(field="v")})
    report = find_hubs(library, k=10)
    assert report.corrected_skewness < 0.7 * report.skewness
    assert report.corrected_orphans <= report.orphans


def test_intruders_are_hidden_and_found(tree: Collection) -> None:
    model = tree.methods["lda"].model
    tasks = word_intrusion(model, random_state=3)
    for topic, task in enumerate(tasks):
        words = [word for word, _ in model.topics(n_words=5)[topic]]
        assert len(task.choices) == 6
        assert set(task.choices) - {task.choices[task.intruder]} == set(words)
    perfect = [(task.name, task.choices[task.intruder]) for task in tasks]
    assert set(score_word_intrusion(tasks, perfect).values()) == {1.0}
    documents = [(one.id, one.text) for one in list(tree)[:5]]
    questions = topic_intrusion(model, documents)
    texts = [text for _, text in documents]
    best = score_topic_intrusion(model, questions, texts, [(q.name, q.choices[q.intruder]) for q in questions])
    worst = score_topic_intrusion(model, questions, texts, [(q.name, q.choices[q.intruder - 1]) for q in questions])
    assert set(best.values()) == {0.0}
    assert all(score < 0 for score in worst.values())
    with pytest.raises(DataError, match="no choice 'x'"):
        score_word_intrusion(tasks, [("topic 1", "x")])


_OLD = ["corn", "mill", "grain", "flour", "stone", "wheel"]


_NEW = ["storm", "sea", "wave", "boat", "sail", "wind"]


def _texts(n: int, words: list[str], seed: int) -> list[str]:
    generator = np.random.default_rng(seed)
    return [" ".join(generator.choice(words, 12)) for _ in range(n)]


def _library(folder: Path, texts: list[str], **options: object) -> Collection:
    rows = [{"id": f"d{i}", "text": text, "year": 2000 - i} for i, text in enumerate(texts)]
    return Collection.create(folder, rows, methods=["tfidf", "lda"], n_topics=2, max_df=1.0, random_state=0, **options)


def test_formulas_are_judged_with_and_without(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    rows = []
    for i in range(48):
        words = generator.choice(_OLD if i % 2 else _NEW, 15)
        # two of four classes have the same words and differ by their formulas only
        formulas = [f"${'xyzw'[i % 4]}_{j}$" for j in range(4)] + ["$(i)$"]
        rows.append({"id": f"{i}", "text": " ".join([*words, *formulas]), "topic": "abcd"[i % 4]})
    library = Collection.create(tmp_path / "library", rows, methods=["tfidf", "lda"], n_topics=4, random_state=0)
    before = sorted(path.name for path in library.folder.iterdir())
    found = formula_ablation(library, "topic", weights=(0.0, 1.0, 2.0))
    assert [(row.method, row.weight) for row in found] == [(m, w) for m in ("tfidf", "lda") for w in (0.0, 1.0, 2.0)]
    without, once, twice = found[:3]
    assert without.precision < 0.65 < once.precision <= twice.precision
    assert once.precision > without.precision + 0.3
    assert (without.formulas, once.formulas, twice.formulas) == (0, 16, 16)
    assert all(math.isnan(row.coherence) for row in found[:3])
    assert all(-1 <= row.coherence <= 1 for row in found[3:])
    assert sorted(path.name for path in library.folder.iterdir()) == before
    words = Collection.create(
        tmp_path / "given", rows, methods={"words": TextVectorizer(weighting=Weighting(idf="n/d"))}
    )
    with pytest.raises(DataError, match="name methods, such as tfidf"):
        formula_ablation(words, "topic")
    assert [row.weight for row in formula_ablation(words, "topic", methods=["tfidf"])] == [0.0, 1.0]
    with pytest.raises(DataError, match="weights"):
        formula_ablation(library, "topic", weights=(-1.0,))
