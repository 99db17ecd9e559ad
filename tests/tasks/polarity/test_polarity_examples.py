"""The worked examples of the specification: stems, features, weights, annotators, baselines."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textmill.tasks.polarity import PolarityScorer, ReviewFeatures, Scale, evaluate_scores, porter_stem

STARS = Scale(1, 5)
SENTENCE = "I can't wait to read the next book in the series."
STEMS = {
    "one": "on",
    "ages": "ag",
    "buy": "bui",
    "only": "onli",
    "very": "veri",
    "highly": "highli",
    "harry": "harri",
    "waste": "wast",
    "example": "exampl",
    "excellent": "excel",
    "little": "littl",
    "is": "is",
    "sorcerer's": "sorcer's",
    "can't": "can't",
    "disappointing": "disappoint",
    "disappointed": "disappoint",
    "disappointment": "disappoint",
}
DEPARTURES = {"possibly": "possibl", "nobly": "nobli", "assemblies": "assembl", "psychology": "psycholog"}
DEPARTURES |= {"biology": "biologi", "trekking": "trek", "falling": "fall", "as": "as", "s": "s", "bubbly": "bubbl"}


@pytest.mark.parametrize(("word", "stem"), list(STEMS.items()))
def test_stems_are_those_of_the_paper(word: str, stem: str) -> None:
    assert ReviewFeatures()(word) == ["u:" + stem]


@pytest.mark.parametrize(("word", "stem"), list(DEPARTURES.items()))
def test_departures_of_porter_s_program(word: str, stem: str) -> None:
    assert porter_stem(word) == stem


def test_families_of_the_example_sentence() -> None:
    def features(*families: str) -> list[str]:
        return ReviewFeatures(families=families)(SENTENCE)

    words = ["i", "can't", "wait", "to", "read", "the", "next", "book", "in", "the", "seri"]
    assert features("unigram") == [f"u:{word}" for word in words]
    assert features("bigram") == [f"b:{a} {b}" for a, b in pairwise(words)]
    assert features("trigram")[0] == "t:i can't wait"
    assert features("trigram")[-1] == "t:in the seri"
    assert features("inbook") == [f"in:{word}" for word in words]
    around = features("aroundbook")
    assert {feature: around.count(feature) for feature in around} == {"ar:the": 2, "ar:next": 1, "ar:in": 1}
    assert features("unigram", "aroundbook") == features("unigram") + around


def test_options_of_the_families() -> None:
    two = "Good books. Bad end!"
    assert ReviewFeatures(families=["bigram"])(two) == ["b:good book", "b:bad end", "b:end !"]
    crossing = ReviewFeatures(families=["bigram"], cross_sentences=True)(two)
    assert crossing == ["b:good book", "b:book bad", "b:bad end", "b:end !"]
    assert ReviewFeatures(families=["inbook"], keep_target=False)(two) == ["in:good"]
    assert ReviewFeatures(families=["inbook"], match_stems=False)(two) == []
    assert ReviewFeatures(families=["inbook"], targets=["end"])(two) == ["in:bad", "in:end", "in:!"]
    assert ReviewFeatures(keep="")("Good!") == ["u:good"]
    negated = ReviewFeatures(families=["negated"], scope=2, stem=None)("It's not a good book. Fine.")
    assert negated == ["ng:a", "ng:good"]


def test_tags_and_entities_are_no_words_and_scripts_of_the_world_are() -> None:
    features = ReviewFeatures(stem=None)
    assert features("<b>Caf\u00e9</b> &amp; bar<br/>I\u2019m <3 it") == ["u:caf\u00e9", "u:bar", "u:i'm", "u:3", "u:it"]
    assert features("\u597d\u4e66") == ["u:\u597d", "u:\u4e66"]


@pytest.mark.parametrize(
    ("weighting", "rows"),
    [
        ("tf-idf", [(0.707107, 0.707107, 0, 0), (0, 0.346242, 0.938145, 0), (0.593876, 0, 0, 0.804557)]),
        ("tf", [(0.707107, 0.707107, 0, 0), (0, 0.707107, 0.707107, 0), (0.894427, 0, 0, 0.447214)]),
        ("binary", [(0.707107, 0.707107, 0, 0), (0, 0.707107, 0.707107, 0), (0.707107, 0, 0, 0.707107)]),
    ],
)
def test_weights_of_three_documents(weighting: str, rows: list[Any]) -> None:
    texts = ["good book", "bad book", "good good read"]
    scorer = PolarityScorer(kind="svr", weighting=weighting).fit(texts, [5, 1, 4])
    assert [str(term) for term in scorer.vectorizer_.terms_] == ["u:good", "u:book", "u:bad", "u:read"]
    assert scorer.vectorizer_.transform(texts).toarray() == pytest.approx(np.array(rows), abs=1e-4)


def test_both_reviews_of_the_paper_are_positive_but_not_equal() -> None:
    assert evaluate_scores([5, 4], [5.0, 4.0], STARS).binary_accuracy == 1.0
    texts = ["a must read, I can't wait", "not so bad, some interesting points", "a waste", "dull"] * 3
    model = PolarityScorer(kind="svr").fit(texts, [5, 4, 1, 2] * 3)
    first = model.predict(["I believe this is very good and a 'must read'. I can't wait to read the next book."])[0]
    second = model.predict(["This book is not so bad. You may find some interesting points in the book."])[0]
    assert first > second > 3


@given(st.text(alphabet="abz09'!?.- \n\t", max_size=40), st.sampled_from(["!", "", "!?"]))
def test_words_are_what_the_pattern_of_the_paper_finds(text: str, keep: str) -> None:
    marks = f"|[{keep}]" if keep else ""
    assert ReviewFeatures(keep=keep).words(text) == re.findall(rf"[a-z0-9]+(?:'[a-z]+)*{marks}", text)
