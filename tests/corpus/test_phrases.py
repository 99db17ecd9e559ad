"""Phrases: against the definition, gensim, any number of threads; connectors, passes, files, faults."""

from __future__ import annotations

import math
import pickle
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import textmill
from textmill._native import corpus as native
from textmill.corpus import ENGLISH_CONNECTORS, Phrases, Tokenizer, Vocabulary, sample_texts
from textmill.errors import DataError

TOKENS = st.lists(st.lists(st.sampled_from(["a", "b", "c", "of", "the"]), max_size=12), min_size=1, max_size=8)
CONNECTORS = ["of", "the"]


def pairs(documents: list[list[str]], connectors: list[str]) -> tuple[Counter[str], Counter[tuple[str, ...]]]:
    """Words and pairs of words with what stands between them, straight from the definition."""
    words: Counter[str] = Counter()
    found: Counter[tuple[str, ...]] = Counter()
    for tokens in documents:
        places = [i for i, token in enumerate(tokens) if token not in connectors]
        words.update(tokens[i] for i in places)
        found.update(tuple(tokens[i : j + 1]) for i, j in pairwise(places))
    return words, found


@given(TOKENS, st.sampled_from([[], CONNECTORS]), st.integers(1, 3), st.sampled_from(["npmi", "llr"]))
def test_counts_and_scores_are_those_of_the_definition(
    documents: list[list[str]], connectors: list[str], least: int, scoring: str
) -> None:
    words, found = pairs(documents, connectors)
    n = sum(map(len, documents))
    phrases = Phrases(min_count=least, scoring=scoring, threshold=-1, connectors=connectors).fit(documents)
    expected = {}
    for run, count in found.items():
        if count < least:
            continue
        a, b = words[run[0]], words[run[-1]]
        score = math.log(count * n / (a * b)) / -math.log(count / n)
        if scoring == "llr":
            table = np.array([[count, a - count], [b - count, max(n - a - b + count, 0)]], dtype=float)
            rows, columns = np.array([[a], [n - a]]), np.array([[b, n - b]])
            with np.errstate(divide="ignore", invalid="ignore"):
                terms = np.where(table > 0, table * np.log(table * n / np.maximum(rows * columns, 1e-300)), 0)
            score = 2 * float(terms.sum()) * (1 if count * n >= a * b else -1)
        if score > -1:
            expected["_".join(run)] = (count, pytest.approx(score, rel=1e-9, abs=1e-9))
    rows = zip(phrases.counts_.tolist(), phrases.scores_.tolist(), strict=True)
    assert dict(zip(phrases.phrases_, rows, strict=True)) == expected


def test_llr_is_the_likelihood_ratio_of_scipy() -> None:
    from scipy.stats import chi2_contingency

    documents = [["a", "b"]] * 30 + [["a", "c"]] * 10 + [["d", "b"]] * 5 + [["e", "f"]] * 100
    phrases = Phrases(scoring="llr", threshold=0, min_count=1).fit(documents)
    n = 290
    expected = chi2_contingency([[30, 10], [5, n - 45]], correction=False, lambda_="log-likelihood").statistic
    assert phrases.scores_[phrases.phrases_.to_list().index("a_b")] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("connectors", [[], ENGLISH_CONNECTORS])
def test_phrases_and_joined_texts_are_those_of_gensim(connectors: list[str]) -> None:
    from gensim.models.phrases import Phrases as Peer

    documents = [Tokenizer()(text.replace("_", " ")) for text in sample_texts()]
    options = {"min_count": 2, "threshold": 0.4, "scoring": "npmi", "connector_words": frozenset(connectors)}
    first = Peer(documents, **options)
    pairs = [first[tokens] for tokens in documents]
    ours = Phrases(min_count=2, threshold=0.4, connectors=connectors).fit(documents)
    assert len(ours.phrases_) > 100
    assert dict(zip(ours.phrases_, ours.scores_, strict=True)) == pytest.approx(first.export_phrases(), rel=1e-12)
    assert ours.transform(documents) == pairs
    second = Peer(pairs, delimiter="+", **options)  # with _ it would take a pair for a phrase that is spelled alike
    longer = [[token.replace("+", "_") for token in second[tokens]] for tokens in pairs]
    ours.set_params(passes=2).fit(documents)
    assert ours.transform(documents) == longer
    assert max(token.count("_") for tokens in longer for token in tokens) >= 3


def test_threads_and_the_form_of_documents_change_nothing() -> None:
    texts = sample_texts() * 4
    whole = Phrases(min_count=2, passes=2, n_jobs=1).fit(texts)
    assert set(whole.levels_.tolist()) == {1, 2}
    for n_jobs in (2, 5):
        assert Phrases(min_count=2, passes=2, n_jobs=n_jobs).fit(texts).phrases_.to_list() == whole.phrases_.to_list()
    tokens = list(Tokenizer().tokenize(texts))
    given = Phrases(min_count=2, passes=2).fit(tokens)
    assert given.phrases_.to_list() == whole.phrases_.to_list()
    assert np.array_equal(given.scores_, whole.scores_)
    assert whole.transform(texts) == whole.transform(tokens) == list(whole.tokenize(iter(tokens), n_jobs=3))


def test_phrases_are_joined_from_left_to_right_with_connectors_inside_only() -> None:
    documents = [["bank", "of", "america"], ["new", "york", "city"]] * 3
    phrases = Phrases(min_count=2, threshold=0, connectors=["of", "the"]).fit(documents)
    assert sorted(phrases.phrases_) == ["bank_of_america", "new_york", "york_city"]
    text = "of the bank of America of the New York City the bank of the America of"
    expected = "of the bank_of_america of the new_york city the bank of the america of"
    assert phrases(text) == expected.split()


def test_joining_is_that_of_its_definition_whatever_tokens_hold() -> None:
    words = ["a", "b", "of", "é", "日本", "", "_", "a_b", "b_of", "word_of_more_than_eight_bytes"]
    for seed in range(60):
        rng = random.Random(seed)
        levels = [["_".join(rng.choices(words, k=rng.randint(1, 3))) for _ in range(25)] for _ in range(2)]
        connectors = rng.choice([[], ["of"], ["of", "_"]])
        documents = [rng.choices(words, k=rng.randint(0, 12)) for _ in range(20)]
        joined = native.join_tokens(documents, native.PhraseTable(levels, connectors), threads=2, first=0)
        assert joined == [_joined(tokens, levels, connectors) for tokens in documents]


def _joined(tokens: list[str], levels: list[list[str]], connectors: list[str]) -> list[str]:
    """Each token with the next one that is no connector, and those between, if they are a phrase; from the left."""
    for phrases in levels:
        result, i = [], 0
        while i < len(tokens):
            ends = (k for k in range(i + 1, len(tokens)) if tokens[k] not in connectors)
            end = next(ends, i) if tokens[i] not in connectors else i
            run = tokens[i : end + 1] if "_".join(tokens[i : end + 1]) in phrases and end > i else [tokens[i]]
            result.append("_".join(run))
            i += len(run)
        tokens = result
    return tokens


def test_a_token_that_stays_single_is_the_same_object() -> None:
    phrases = Phrases(min_count=1, threshold=0).fit([["a", "b"]])
    token = "".join(["long", "token"])
    assert phrases.transform([[token, "a", "b"]])[0][0] is token


def test_forgetting_rare_pairs_keeps_frequent_ones() -> None:
    documents = [["new", "york", f"x{i}", f"y{i}"] for i in range(60_000)]
    small = Phrases(min_count=100, memory="1MB").fit(documents)
    assert small.lost_ > 1
    assert Phrases(min_count=100).fit(documents).lost_ == 0
    assert "new_york" in small.phrases_.to_list()


def test_save_load_pickle_and_clone(tmp_path: Path) -> None:
    from sklearn.base import clone

    phrases = Phrases(min_count=2, connectors=["of"], tokenizer=Tokenizer(stem="english")).fit(sample_texts())
    phrases.save(tmp_path / "p.mill")
    pickled = pickle.loads(pickle.dumps(phrases))  # noqa: S301
    for other in (textmill.load(tmp_path / "p.mill"), pickled, clone(phrases)):
        assert other.transform(sample_texts()[:20]) == phrases.transform(sample_texts()[:20])
        assert other.fingerprint() == phrases.fingerprint()


def test_a_pipeline_learns_phrases_and_counts_them() -> None:
    from sklearn.pipeline import make_pipeline

    pipeline = make_pipeline(Phrases(min_count=2), Vocabulary())
    X = pipeline.fit_transform(["New York is large", "he left New York"])
    assert X.toarray().tolist() == [[1, 1, 1, 0, 0], [1, 0, 0, 1, 1]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scoring": "pmi"}, "scoring"),
        ({"min_count": 0}, "min_count"),
        ({"passes": 0}, "passes"),
        ({"threshold": 2}, "threshold"),
        ({"connectors": "of"}, "list of words"),
        ({"tokenizer": Phrases()}, "passes=2"),
        ({"memory": "much"}, "memory"),
    ],
)
def test_wrong_parameters_are_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Phrases(**options).fit(["a b"])  # type: ignore[arg-type]


def test_wrong_input_is_named() -> None:
    with pytest.raises(DataError, match="no documents"):
        Phrases().fit([])
    with pytest.raises(DataError, match="passes"):
        Phrases(passes=2).fit(iter(["a b"]))
    with pytest.raises(DataError, match="not fitted"):
        Phrases().transform(["a b"])
    with pytest.raises(DataError, match="must be a str"):
        Phrases().fit([["a", 3]])
    assert Phrases().fit(["", "a"]).transform(["", "a b"]) == [[], ["a", "b"]]
