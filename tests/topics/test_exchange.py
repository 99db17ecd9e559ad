"""Files of MALLET and LDA-C: written, read back, and refused when they are broken."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from textmill.errors import DataError
from textmill.topics import LDA, LSA, infer_topics
from textmill.topics.exchange import (
    read_ldac,
    read_mallet_state,
    write_ldac,
    write_mallet_keys,
    write_mallet_state,
)
from textmill.vectors import TextVectorizer, Weighting

TEXTS = ["the cat sat", "a cat ran", "stocks fell", "stocks rose and fell", "the cat and the cat"] * 4


@pytest.fixture(scope="module")
def lda() -> LDA:
    vectorizer = TextVectorizer(weighting=Weighting(scheme="nnn"))
    return LDA(n_topics=2, alpha=0.1, eta=0.1, random_state=0, vectorizer=vectorizer, dtype="float64").fit(TEXTS)


def test_lda_c_files_bring_the_topics_back(lda: LDA, tmp_path: Path) -> None:
    write_ldac(lda, tmp_path / "final")
    assert (tmp_path / "final.other").read_text().split() == [
        "num_topics", "2", "num_terms", str(lda.components_.shape[1]), "alpha", "0.1000000000"
    ]  # fmt: skip
    logs = np.loadtxt(tmp_path / "final.beta")
    assert logs == pytest.approx(np.log(lda.components_), abs=1e-9)
    back = read_ldac(tmp_path / "final", terms=lda.vectorizer_.terms_.to_list())  # type: ignore[union-attr]
    assert back.components_ == pytest.approx(lda.components_, abs=1e-8)
    assert back.alpha_ == pytest.approx(lda.alpha_)
    assert [topic[0][0] for topic in back.topics(1)] == [topic[0][0] for topic in lda.topics(1)]
    theirs, ours = (model.transform(TEXTS[:2]).argmax(axis=1) for model in (back, lda))
    assert theirs.tolist() == ours.tolist()


def test_a_mallet_state_holds_every_token_once_and_comes_back(lda: LDA, tmp_path: Path) -> None:
    path = tmp_path / "state.gz"
    write_mallet_state(lda, TEXTS, path)
    with gzip.open(path, "rt") as file:
        lines = file.read().splitlines()
    assert lines[0] == "#doc source pos typeindex type topic"
    assert lines[1] == "#alpha : 0.1 0.1"
    assert lines[2] == "#beta : 0.1"
    tokens = [line.split(" ") for line in lines[3:]]
    assert len(tokens) == sum(len(text.split()) for text in TEXTS)
    assert sorted(token[4] for token in tokens if token[0] == "4") == sorted(TEXTS[4].split())
    assert [int(token[2]) for token in tokens if token[0] == "4"] == [0, 1, 2, 3, 4]
    back = read_mallet_state(path)
    assert back.documents_ == len(TEXTS)
    assert back.words_ == len(tokens)
    assert back.alpha_.tolist() == [0.1, 0.1]
    X = lda.vectorizer_.transform(TEXTS)  # type: ignore[union-attr]
    theta, phi = lda.transform(X), lda.components_.T
    shares = theta[:, None, :] * phi[None, :, :]
    expected = X.toarray()[:, :, None] * shares / shares.sum(axis=2, keepdims=True)
    assert np.abs(back.term_topics_ - expected.sum(axis=0)).max() < len(TEXTS)
    assert back.term_topics_.T.sum(axis=0) == pytest.approx(np.asarray(X.sum(axis=0)).ravel())


def test_keys_are_a_line_a_topic(lda: LDA, tmp_path: Path) -> None:
    write_mallet_keys(lda, tmp_path / "keys.txt", n_words=3)
    lines = (tmp_path / "keys.txt").read_text().splitlines()
    assert [line.split("\t")[:2] for line in lines] == [["0", "0.10000"], ["1", "0.10000"]]
    assert [line.split("\t")[2].split(" ") for line in lines] == [[w for w, _ in topic] for topic in lda.topics(3)]


def test_a_state_that_mallet_wrote_is_read(tmp_path: Path) -> None:
    (tmp_path / "state").write_text(
        "#doc source pos typeindex type topic\n#alpha : 0.5 1.5 \n#beta : 0.01\n"
        "0 a.txt 0 0 mill 1\n0 a.txt 1 1 text 0\n1 b.txt 0 0 mill 1\n1 b.txt 1 3 wind 1\n"
    )
    model = read_mallet_state(tmp_path / "state")
    assert model.vectorizer_ is not None
    assert model.vectorizer_.terms_.to_list() == ["mill", "text", "wind"]
    assert model.term_topics_.T.tolist() == [[0, 1, 0], [2, 0, 1]]
    assert model.components_[1, 0] == pytest.approx(2.01 / 3.03)
    assert model.alpha_.tolist() == [0.5, 1.5]
    assert infer_topics(model.vectorizer_.transform(["mill wind"]), model.components_.T).theta[0, 1] > 0.9


@pytest.mark.parametrize(
    ("beta", "other", "message"),
    [
        ("-1 -1\n", "num_topics 1\nnum_terms 3\nalpha 1\n", "final.beta:1: 2 numbers for 3 terms"),
        ("-1 -1\n", "num_topics 2\nnum_terms 2\n", "1 lines for 2 topics"),
        ("-1 x\n", "num_topics 1\nnum_terms 2\n", "final.beta:1: 'x' is no number"),
        ("-1 nan\n", "num_topics 1\nnum_terms 2\n", "'nan' is no number"),
        ("3 -1\n", "num_topics 1\nnum_terms 2\n", "above 0"),
        ("-1 -1\n", "num_terms 2\n", "says no num_topics"),
        ("-1 -1\n", "num_topics 1\nnum_terms 2\nalpha -2\n", "alpha"),
    ],
)
def test_broken_lda_c_files_are_told_in_one_line(tmp_path: Path, beta: str, other: str, message: str) -> None:
    (tmp_path / "final.beta").write_text(beta)
    (tmp_path / "final.other").write_text(other)
    with pytest.raises(DataError, match=message) as caught:
        read_ldac(tmp_path / "final")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no complete state"),
        ("#alpha : 1\n#beta : 0.1\n", "no tokens"),
        ("#alpha : 1\n#beta : 0.1\n0 NA 0 0 mill 1\n", "topic 1 has no alpha"),
        ("0 NA 0 0 mill 0\n", "topic 0 has no alpha"),
        ("#alpha : 1\n#beta : 0.1\n0 NA 0 mill 0\n", "no line of a state"),
        ("#alpha : 1\n#beta : 0.1\n0 NA 0 -1 mill 0\n", "no line of a state"),
        ("#alpha : 1\n#beta : 0.1\n0 NA 0 0 mill 0\n0 NA 1 0 wind 0\n", "type 0 is 'wind' here"),
        ("#alpha : one\n", "'one' is no number"),
        ("#alpha : 1\n#beta : 0\n0 NA 0 0 mill 0\n", "eta must be finite and above 0"),
    ],
)
def test_broken_states_are_told_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "state").write_text(text)
    with pytest.raises(DataError, match=message) as caught:
        read_mallet_state(tmp_path / "state")
    assert "\n" not in str(caught.value)


def test_what_cannot_be_written_is_told(lda: LDA, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no distributions"):
        write_ldac(LSA(n_topics=1).fit(np.array([[1.0, -1.0]])), tmp_path / "final")
    spaced = TextVectorizer(weighting=Weighting(scheme="nnn")).fit([["two words"]])
    model = LDA(n_topics=1, vectorizer=spaced).fit([["two words"]])
    with pytest.raises(DataError, match="cut at blanks"):
        write_mallet_state(model, [["two words"]], tmp_path / "state")
    assert not list(tmp_path.iterdir())
