"""Results as tables: columns, pandas, text and HTML are the same rows."""

from __future__ import annotations

import builtins
import pickle
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from textmill.corpus import Phrases, read_documents
from textmill.errors import DataError
from textmill.linear import LogisticRegression, MethodTable, OperatingCurve, choose_penalty
from textmill.lm import NGramModel, frequent_ngrams, next_words
from textmill.metrics import BinaryCounts, Confusion, LabelCounts
from textmill.model import load
from textmill.sequence import evaluate_tags
from textmill.strings import Matcher, Pairs
from textmill.tables import ROWS, Picked, Rows, Table, beginning, import_frames
from textmill.tasks import SimilarDocuments
from textmill.tasks.names import Gold, NameList, evaluate
from textmill.topics import LDA, LSA, cluster_documents, topic_difference, topic_trends
from textmill.vectors import Index, TextVectorizer, Weighting

NAMES = ["Ann Smith", "Anne Smith", "Tom Jones", "Ann Smyth"]
TEXTS = ["the mill grinds corn", "a storm at sea", "corn for the old mill", "the sea is rough", "old corn, old sea"]
TITLES = [
    {"id": "a", "title": "A title", "text": "corn and mills"},
    {"id": "b", "title": "", "text": "a very long text about the sea " * 20},
]
COUNTS = np.random.default_rng(0).integers(0, 5, (30, 8))


def matcher() -> Matcher:
    return Matcher(threshold=0.7).fit(NAMES)


def names() -> NameList:
    return NameList.of(NAMES, ids=["a", "b", "c", "d"])


def lda() -> LDA:
    return LDA(n_topics=3, random_state=0).fit(COUNTS)


RESULTS: dict[str, tuple[Any, list[str], int]] = {  # what, its columns, its rows
    "Pairs": (lambda: matcher().pairs(), ["score", "left_name", "right_name", "left", "right"], 2),
    "joined pairs": (lambda: matcher().join(["Jones Tom"]), ["score", "left_name", "right_name", "left", "right"], 1),
    "Pairs without names": (lambda: Pairs.of([(0, 1, 0.5)]), ["score", "left", "right"], 1),
    "no Pairs": (lambda: Pairs.of([]), ["score", "left", "right"], 0),
    "Clusters": (lambda: matcher().clusters(), ["cluster", "name", "canonical", "position"], 4),
    "Neighbor rows": (lambda: matcher().query("Ann Smith", 3), ["position", "id", "name", "score"], 3),
    "Evaluation": (
        lambda: evaluate(names(), Gold({("a", "b"): "pos"}), "jaro"),
        ["measure", "F1", "P", "R", "pairs", "threshold", "F0.5", "F2", "AP", "held-out F1"],
        1,
    ),
    "MatchCurve": (
        lambda: evaluate(names(), Gold({("a", "b"): "pos"}), "jaro").curve,
        ["pairs", "threshold", "precision", "recall", "f1"],
        None,
    ),
    "Neighbors": (lambda: Index().fit(np.eye(3)).query([[1, 0, 0]])[0], ["id", "score"], 3),
    "Answers": (lambda: Index().fit(np.eye(3)).query(np.eye(3), k=2), ["query", "id", "score"], 6),
    "Matches": (lambda: SimilarDocuments().fit(TEXTS).query(["corn"], k=2)[0], ["score", "id", "title"], 2),
    "topics": (lambda: lda().topics(4), ["topic", "rank", "term", "weight"], 12),
    "clusters of documents": (lambda: cluster_documents(lda(), COUNTS, 2), ["cluster", "label", "member"], 30),
    "Difference": (
        lambda: topic_difference(lda(), lda(), n_words=3),
        ["first", "second", "distance", "common", "lost", "gained"],
        3,
    ),
    "Trends": (lambda: topic_trends(np.eye(2), ["1848", "1849"]), ["period", "documents", "topic1", "topic2"], 2),
    "TagScores": (
        lambda: evaluate_tags([["B-NP", "O"]], [["B-NP", "O"]]),
        ["label", "precision", "recall", "f1", "hits", "gold", "predicted"],
        1,
    ),
    "token scores": (
        lambda: evaluate_tags([["A", "B"]], [["A", "A"]]),
        ["label", "precision", "recall", "f1", "hits", "gold", "predicted"],
        2,
    ),
    "LabelCounts": (
        lambda: LabelCounts.from_sets([{"cs"}, set()], [{"cs"}, {"sk"}]),
        ["label", "precision", "recall", "f1", "hits", "gold", "predicted"],
        2,
    ),
    "Confusion": (lambda: Confusion.from_labels("aab", "aba"), ["gold", "a", "b"], 2),
    "SentenceScores": (lambda: model().scores(TEXTS), ["log10", "words", "unknown"], 5),
    "next words": (lambda: next_words(model(), ["old"], k=2), ["word", "probability"], 2),
    "n-grams": (lambda: frequent_ngrams(model(), k=3), ["words", "count", "probability"], 3),
    "strongest weights": (lambda: classifier().strongest(2), ["label", "feature", "weight"], 2),
    "PenaltyScores": (
        lambda: choose_penalty(
            LogisticRegression(l1=0.1, l2=0.0), COUNTS, COUNTS[:, 0] > 2, values=(0.1, 0.01), n_folds=2
        ),
        ["penalty", "score", "error"],
        2,
    ),
    "OperatingCurve": (
        lambda: OperatingCurve([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 0]),
        ["threshold", "recall", "precision", "value", "claimed"],
        5,
    ),
    "MethodTable": (
        lambda: MethodTable({"likelihood": BinaryCounts(24, 75, 9, 300)}),
        ["method", "recall", "precision", "F 0.5", "F 0.75"],
        1,
    ),
    "phrases": (
        lambda: Phrases(min_count=1, threshold=-1).fit(TEXTS).best(2),
        ["phrase", "score", "count"],
        2,
    ),
}


def classifier() -> LogisticRegression:
    return LogisticRegression(l1=0.01, l2=0.0).fit(COUNTS, COUNTS[:, 0] > 2)


def model() -> NGramModel:
    return NGramModel(order=2).fit(TEXTS)


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_is_the_same_table_in_all_forms(name: str) -> None:
    make, columns, rows = RESULTS[name]
    result = make()
    assert isinstance(result, Table)
    table = result.to_dict()
    assert list(table) == columns
    sizes = {len(values) for values in table.values()}
    assert len(sizes) == 1
    assert rows is None or sizes == {rows}
    plain = {type(value) for values in table.values() for value in values}
    assert plain <= {int, float, str, bool, list, tuple, type(None)}  # nothing of NumPy is left
    frame = result.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert {column: frame[column].tolist() for column in frame} == table
    text, html = repr(result), result._repr_html_()
    assert str(result) == text
    assert "array(" not in text
    shown = result.shown()
    assert all(column in text.splitlines()[1] for column in shown)
    assert html.count("<tr>") - html.split("</tbody>")[1].count("<tr>") == 1 + min(
        ROWS, len(next(iter(shown.values())))
    )


def test_numbers_of_a_column_stand_under_each_other() -> None:
    assert repr(matcher().pairs()).splitlines() == [
        "Pairs, 2 rows",
        " score  left_name  right_name  left  right",
        "0.8034  Ann Smith  Anne Smith     0      1",
        "0.7279  Ann Smith  Ann Smyth      0      3",
    ]


def test_names_stay_with_pairs_that_are_chosen_sorted_or_pickled() -> None:
    pairs = matcher().join(["Ann Smyth", "Tom Jonas"], threshold=0.6)
    best = pairs.by_score()
    assert best.score.tolist() == sorted(pairs.score.tolist(), reverse=True)
    for some in (best, pairs.where(pairs.score > 0), pickle.loads(pickle.dumps(best))):  # noqa: S301
        for row in zip(*some.to_dict().values(), strict=True):
            score, left, right, i, j = row
            assert (left, right) == (["Ann Smyth", "Tom Jonas"][i], NAMES[j])
    left, right, score = pairs  # still three arrays
    assert len(left) == len(right) == len(score)


def test_only_the_rows_that_are_shown_are_looked_up() -> None:
    asked: list[int] = []

    class Watched(list[str]):
        def __getitem__(self, i: Any) -> Any:
            asked.append(i)
            return f"name {i}"

    rows = [(i, i + 1, 0.5) for i in range(1000)]
    text = repr(Pairs.of(rows).named(Watched([""] * 1001)))
    assert text.endswith("... 990 more")
    assert text.startswith("Pairs, 1000 rows")
    assert 0 < len(asked) < 50


def test_topics_are_still_lists_and_show_a_row_for_each_topic() -> None:
    topics = lda().topics(2, terms=list("abcdefgh"))
    assert topics == [[(term, weight) for term, weight in topic] for topic in topics]
    assert len(repr(topics).splitlines()) == 2 + 3
    assert repr(topics).splitlines()[1].split() == ["topic", "strength", "terms"]
    first = topics.to_pandas().iloc[0]
    assert (first["topic"], first["rank"], first["term"]) == (1, 1, topics[0][0][0])


def test_a_table_says_why_it_is_empty_and_what_it_comes_to() -> None:
    assert repr(SimilarDocuments().fit(TEXTS).query(["opera"])[0]).endswith(
        "no word of the query is known to the model"
    )
    assert "no word of the query" in SimilarDocuments().fit(TEXTS).query(["opera"])[0]._repr_html_()
    scores = model().scores(TEXTS)
    assert repr(scores).endswith(f"perplexity {scores.perplexity():.2f}")
    assert repr(evaluate_tags([["B-NP"]], [["O"]])).endswith("token error 1.0000, sequence error 1.0000")


def test_text_in_html_is_escaped_and_cut() -> None:
    pairs = Pairs.of([(0, 1, 0.5)]).named(["<script>", "x " * 100])
    assert "<script>" not in pairs._repr_html_()
    assert "&lt;script&gt;" in pairs._repr_html_()
    assert max(map(len, repr(pairs).splitlines())) < 100
    assert pairs.to_dict()["right_name"] == ["x " * 100]


def test_rows_keep_their_columns_when_cut() -> None:
    @dataclass
    class Point:
        x: int
        y: int

    rows = Rows([Point(1, 2), Point(3, 4), Point(5, 6)], Point)
    assert rows[1:].to_dict() == {"x": [3, 5], "y": [4, 6]}
    assert rows[0] == Point(1, 2)
    assert rows == [Point(1, 2), Point(3, 4), Point(5, 6)]
    assert Rows([], Point).to_dict() == {"x": [], "y": []}
    assert list(Picked("abc", np.array([2, 0]))[:1]) == ["c"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("short", "short"),
        ("a\nb\tc", "a b c"),
        ("word " * 30, "word word word …"),
        ("x" * 50, "x" * 19 + "…"),
        ("", ""),
    ],
)
def test_the_beginning_of_a_text_is_one_line_cut_at_a_blank(text: str, expected: str) -> None:
    assert beginning(text, 20) == expected


def test_without_pandas_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **options: Any) -> Any:
        if name.partition(".")[0] == "pandas":
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    monkeypatch.setattr(builtins, "__import__", without)
    for use in (lambda: matcher().pairs().to_pandas(), lambda: import_frames("pandas")):
        with pytest.raises(DataError, match=re.escape("pip install pandas")):
            use()
    with pytest.raises(DataError, match=re.escape("pip install pandas")):
        LSA(n_topics=2).set_output(transform="pandas").fit_transform(COUNTS)


def test_titles_of_documents_are_kept_with_the_index(tmp_path: Any) -> None:
    (tmp_path / "d.jsonl").write_text("\n".join(map(__import__("json").dumps, TITLES)), encoding="utf-8")
    similar = SimilarDocuments().fit(read_documents(tmp_path / "d.jsonl"))
    similar.add(["sea,\nsea, sea"])
    similar.save(tmp_path / "i.mill")
    again = load(tmp_path / "i.mill", expect=SimilarDocuments)
    assert again.titles_.to_list()[0] == "A title"
    assert again.titles_.to_list()[1].startswith("a very long text about the sea")
    assert again.titles_.to_list()[1].endswith("…")
    assert len(again.titles_.to_list()[1]) <= 80
    assert again.query(["sea"], k=1)[0].titles == ["sea, sea, sea"]
    assert again.model is None
    assert again.query(["corn"], k=1)[0].ids == ["a"]


def test_an_index_of_before_there_were_titles_still_answers_and_grows(tmp_path: Any) -> None:
    similar = load(Path(__file__).parent / "files" / "similar-1.mill", expect=SimilarDocuments)
    found = similar.query(["corn mill"], k=2)[0]
    assert found.ids == ["0", "2"]
    assert found.to_dict()["title"] == ["", ""]
    assert similar.add(["a rough sea"]) == 1
    similar.save(tmp_path / "new.mill")
    assert load(tmp_path / "new.mill").titles_.to_list() == ["", "", "", "a rough sea"]


def test_an_index_whose_model_was_saved_under_other_names_still_answers(tmp_path: Any) -> None:
    similar = load(Path(__file__).parent / "files" / "similar-2.mill", expect=SimilarDocuments)
    assert similar.query(["the moon"], k=1)[0].ids == ["0"]
    similar.save(tmp_path / "new.mill")
    again = load(tmp_path / "new.mill")
    assert again.query(["money"], k=2)[0].ids == ["2", "3"]
    other = load(Path(__file__).parent / "files" / "similar-1.mill").model
    with pytest.raises(DataError, match="do not belong together"):
        again.set_params(model=other).query(["money"])


def test_an_index_without_a_model_needs_documents_that_can_be_read_again() -> None:
    with pytest.raises(DataError, match="SimilarDocuments without a model needs 2 passes"):
        SimilarDocuments().fit(text for text in TEXTS)
    given = SimilarDocuments(model=TextVectorizer(weighting=Weighting(idf="n/d")).fit(TEXTS)).fit(iter(TEXTS))
    ours = SimilarDocuments().fit(TEXTS)
    for one, other in zip(given.query(TEXTS), ours.query(TEXTS), strict=True):
        assert one.ids == other.ids
        assert np.allclose(one.scores, other.scores)
    assert given.model_ is None


def test_documents_say_where_they_come_from(tmp_path: Any) -> None:
    for name in "abcde":
        (tmp_path / f"{name}.jsonl").write_text('{"body": "x"}\n', encoding="utf-8")
    one = read_documents(tmp_path / "a.jsonl", text_field="body", errors="skip")
    assert repr(one) == f"Documents('{tmp_path}/a.jsonl', errors='skip', text_field='body')"
    assert repr(read_documents(tmp_path)).endswith("c.jsonl', ... 5 sources in all)")
