"""The strongest weights, against a plain search through all of them."""

from __future__ import annotations

import pytest

from textmill.corpus import sample_chunks
from textmill.errors import DataError
from textmill.sequence import CRF, Encoder, FeatureWeight, split_labels, top_features

PATTERNS = ["u:w=%x[0,0]", "u:W-1=%X[-1,0]", "u:s=%suffix[0,0,3]", "u:p=%x[0,1]", "*:pp=%x[-1,1]/%x[0,1]", "*"]


@pytest.fixture(scope="module")
def tagger() -> CRF:
    data = split_labels(sample_chunks()[:200])
    return CRF(patterns=PATTERNS, max_iter=25, l1=0.2).fit(data.X, data.y)


def every_weight(tagger: CRF) -> list[FeatureWeight]:
    """All weights, found through the matrices."""
    weights = tagger.to_weights()
    unigram, bigram = (numbers.tolist() for numbers in weights.encoder.numbers())
    found = []
    for test, u, b in zip(weights.encoder.tests_, unigram, bigram, strict=True):
        for matrix, row in ((weights.unigram, u), (weights.bigram, b)):
            for column in matrix[[row]].indices if row >= 0 else []:
                source, label = divmod(int(column), len(weights.classes))
                before = None if matrix is weights.unigram else weights.classes[source]
                found.append(FeatureWeight(float(matrix[row, column]), test, before, weights.classes[label]))
    return sorted(found, key=lambda feature: -feature.weight)


def strongest(features: list[FeatureWeight], k: int) -> set[FeatureWeight]:
    return {*[f for f in features if f.weight > 0][:k], *[f for f in features if f.weight < 0][-k:]}


def test_strongest_weights_are_those_of_a_plain_search(tagger: CRF) -> None:
    everything = every_weight(tagger)
    assert len(everything) == len(tagger.features_)
    for k in (1, 7, 10**6):
        rows = top_features(tagger, k=k)
        assert set(rows) == strongest(everything, k)
        assert [row.weight for row in rows] == sorted((row.weight for row in rows), reverse=True)
    for label in ("B-NP", "O"):
        assert set(top_features(tagger, label=label, k=5)) == strongest([f for f in everything if f.label == label], 5)
    pairs = [f for f in everything if f.test == "*" and f.before is not None]
    assert set(top_features(tagger, transitions=True, k=4)) == strongest(pairs, 4)
    into = [f for f in pairs if f.label == "B-NP" and f.before == "B-PP"]
    assert top_features(tagger, transitions=True, label="B-NP", before="B-PP", k=4) == into
    assert set(top_features(tagger, test="u:p=NN", k=9)) == strongest([f for f in everything if f.test == "u:p=NN"], 9)


def test_a_word_has_the_tests_that_its_patterns_make_of_it(tagger: CRF) -> None:
    rows = top_features(tagger, word="mills", k=10**6)
    assert {row.test for row in rows} <= {"u:w=mills", "u:W-1=mills", "u:s=lls"}
    capital = {row.test for row in top_features(tagger, word="The", k=10**6)}
    assert capital <= {"u:w=The", "u:W-1=the", "u:s=The"}
    assert "u:W-1=the" in capital
    attributes = CRF(l1=0.05).fit([[{"w": "la", "p": "D"}], [{"w": "casa", "p": "N"}]] * 3, [["A"], ["B"]] * 3)
    assert {row.test for row in top_features(attributes, word="casa")} == {"uw:casa"}


def test_the_start_label_has_a_name() -> None:
    tagger = CRF(patterns=["u:%x[0,0]", "b"], start_label=True, algorithm="lbfgs").fit(["ab"] * 5, [["A", "B"]] * 5)
    first = top_features(tagger, before="<start>", k=1)[0]
    assert (first.test, first.before, first.label) == ("b", "<start>", "A")


def test_what_the_tagger_does_not_have_is_named(tagger: CRF) -> None:
    with pytest.raises(DataError, match="no label 'B-XX'; it has B-ADJP, "):
        top_features(tagger, label="B-XX")
    with pytest.raises(DataError, match="no test 'u:w=nothing'"):
        top_features(tagger, test="u:w=nothing")
    with pytest.raises(DataError, match="k must be"):
        top_features(tagger, k=0)
    hashed = CRF(encoder=Encoder(patterns=["u:%x[0,0]"], hash_bits=8), l1=0.1).fit(["ab"] * 3, [["A", "B"]] * 3)
    with pytest.raises(DataError, match="hashed tests have no names"):
        top_features(hashed)
