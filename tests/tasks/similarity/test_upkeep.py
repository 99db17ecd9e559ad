"""How collections have changed, and what formulas bring."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from textmill.errors import DataError
from textmill.tasks.similarity import Collection, StaleModel, diagnose, write_diagnosis
from textmill.vectors import TextVectorizer, Weighting

_OLD = ["corn", "mill", "grain", "flour", "stone", "wheel"]
_NEW = ["storm", "sea", "wave", "boat", "sail", "wind"]


def _texts(n: int, words: list[str], seed: int) -> list[str]:
    generator = np.random.default_rng(seed)
    return [" ".join(generator.choice(words, 12)) for _ in range(n)]


def _library(folder: Path, texts: list[str], **options: object) -> Collection:
    rows = [{"id": f"d{i}", "text": text, "year": 2000 - i} for i, text in enumerate(texts)]
    return Collection.create(folder, rows, methods=["tfidf", "lda"], n_topics=2, max_df=1.0, random_state=0, **options)


def test_words_of_periods_are_counted_as_by_hand(tmp_path: Path) -> None:
    texts = [f"{text} rare{i}" for i, text in enumerate(_texts(37, _OLD + _NEW, 1))]
    library = _library(tmp_path / "library", texts, min_df=2)
    found = diagnose(library, n_periods=4)
    ends = [math.ceil(37 * (p + 1) / 4) for p in range(4)]
    for row, begin, end in zip(found.periods, [0, *ends], ends, strict=False):
        inside = Counter(word for text in texts[begin:end] for word in text.split())
        assert row.documents == end - begin
        assert row.words == sum(len(text.split()) for text in texts[:end])
        assert row.distinct == len({word for text in texts[:end] for word in text.split()})
        strange = sum(count for word, count in inside.items() if word.startswith("rare"))
        assert row.unknown == pytest.approx(strange / inside.total())
    c, b = found.heaps
    logs = np.log([[row.words, row.distinct] for row in found.periods])
    assert (b, math.log(c)) == pytest.approx(np.polyfit(logs[:, 0], logs[:, 1], 1))


@pytest.mark.parametrize("method", ["tfidf", "lda"])
def test_drift_is_above_chance_where_topics_change_and_not_elsewhere(tmp_path: Path, method: str) -> None:
    changing = _library(tmp_path / "changing", _texts(60, _OLD, 1) + _texts(60, _NEW, 2))
    drifts = [(row.drift, row.chance) for row in diagnose(changing, method=method, n_periods=4).periods]
    assert math.isnan(drifts[0][0])
    assert drifts[2][0] > 5 * drifts[2][1]  # the words change with the third quarter
    assert drifts[1][0] < 0.2 * drifts[2][0]
    steady = _library(tmp_path / "steady", _texts(120, _OLD + _NEW, 3))
    assert all(row.drift < 3 * row.chance + 0.01 for row in diagnose(steady, method=method, n_periods=4).periods[1:])
    vectors = changing.methods[method].vectors(list(changing))  # the definition, from the model
    X = np.asarray(vectors.toarray() if hasattr(vectors, "toarray") else vectors)
    before, here = X[:60].mean(axis=0), X[60:90].mean(axis=0)
    if method == "lda":
        expected = math.sqrt(0.5 * ((np.sqrt(before) - np.sqrt(here)) ** 2).sum())
    else:
        expected = 1 - before @ here / (np.linalg.norm(before) * np.linalg.norm(here))
    assert drifts[2][0] == pytest.approx(expected, abs=1e-5)


def test_periods_follow_a_field(tmp_path: Path) -> None:
    library = _library(tmp_path / "library", _texts(20, _OLD, 1) + _texts(20, _NEW, 2))
    (first, second) = diagnose(library, by="year", n_periods=2).periods
    assert (first.period, second.period) == ("1961 to 1980", "1981 to 2000")
    with pytest.raises(DataError, match="no document has one value in the field 'month'"):
        diagnose(library, by="month")
    with pytest.raises(DataError, match="40 documents are too few for 50 periods"):
        diagnose(library, n_periods=50)


def test_a_diagnosis_has_scores_and_duplicates(tmp_path: Path) -> None:
    texts = _texts(30, _OLD + _NEW, 1)
    library = _library(tmp_path / "library", [*texts, texts[3] + " " + texts[3]])
    with pytest.warns(StaleModel):
        library.upsert([{"id": f"n{i}", "text": "<b>unheard</b> of"} for i in range(25)])
    found = diagnose(library, n_periods=3)
    assert any({pair.left, pair.right} == {"d3", "d30"} for pair in found.duplicates)
    assert [sample.method for sample in found.scores] == ["tfidf", "lda"]
    assert all(sample.nearest.mean() > sample.random.mean() for sample in found.scores)
    assert found.stale[0].startswith("45% of the documents")
    page = tmp_path / "page.html"
    write_diagnosis(library, found, page)
    html = page.read_text()
    for words in ("Heaps", "random order", "45% of the documents", "d3, d30"):
        assert words in html
    assert html.count("<svg") >= 5
    first = page.read_bytes()
    write_diagnosis(library, diagnose(library, n_periods=3), page)
    assert page.read_bytes() == first


def test_one_method_and_words_that_nobody_knows(tmp_path: Path) -> None:
    words = TextVectorizer(weighting=Weighting(idf="n/d"))
    library = Collection.create(tmp_path / "library", ["a mill", "", "the sea"], methods={"words": words})
    found = diagnose(library, n_periods=3)
    assert [row.distinct for row in found.periods] == [2, 2, 4]
    assert found.periods[1].unknown == 0
    write_diagnosis(library, found, tmp_path / "page.html")
