"""Dumps are read back into the same model, and refused where they could not be."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path
from typing import Any

import pytest

from textmill.corpus import sample_chunks
from textmill.errors import DataError, ModelFileError
from textmill.sequence import (
    CRF,
    ConditionalMarkov,
    Encoder,
    read_dump,
    read_tagger,
    split_labels,
    update_weights,
    write_dump,
    write_tagger,
)

PATTERNS = ["u:w=%x[0,0]", "u:s=%suffix[0,0,3]", "*:p=%x[-1,1]/%x[0,1]", "b"]


@pytest.mark.parametrize("kind", [CRF, ConditionalMarkov])
def test_a_dump_is_read_back_as_the_same_model(kind: Any, tmp_path: Path) -> None:
    data, test = split_labels(sample_chunks()[:100]), split_labels(sample_chunks("test")[:40])
    tagger = kind(patterns=PATTERNS, max_iter=10, l1=0.2).fit(data.X, data.y)
    write_tagger(tagger, tmp_path / "m.dump")
    again = read_tagger(tmp_path / "m.dump")
    assert type(again) is kind
    assert again.predict_best(test.X, 2) == tagger.predict_best(test.X, 2)
    assert again.classes_.tolist() == tagger.classes_.tolist()
    write_tagger(again, tmp_path / "n.dump")
    assert (tmp_path / "m.dump").read_bytes() == (tmp_path / "n.dump").read_bytes()


def test_regular_expressions_keep_their_syntax_in_a_dump(tmp_path: Path) -> None:
    data, test = split_labels(sample_chunks()[:60]), split_labels(sample_chunks("test")[:30])
    encoder = Encoder(patterns=[r'u:s=%m[0,0,"\a\a*"]', "b"], syntax="wapiti")
    tagger = CRF(encoder=encoder, max_iter=10, l1=0.1).fit(data.X, data.y)
    write_tagger(tagger, tmp_path / "m.dump")
    assert read_tagger(tmp_path / "m.dump").predict_best(test.X, 1) == tagger.predict_best(test.X, 1)


def test_dictionaries_and_functions_go_through_a_dump(tmp_path: Path) -> None:
    X = [[{"w": "the mill", "n": 2}, {"w": "\u2028x\u0085"}]] * 3
    tagger = CRF(l1=0.1).fit(X, [["#", "B"]] * 3)
    write_tagger(tagger, tmp_path / "m.dump")
    assert read_tagger(tmp_path / "m.dump").predict_best(X, 2) == tagger.predict_best(X, 2)
    loud = CRF(encoder=Encoder(patterns=["u:%f[0,0]"], function=str.upper), l1=0.1).fit(["ab"] * 3, [["A", "B"]] * 3)
    write_tagger(loud, tmp_path / "f.dump")
    assert read_tagger(tmp_path / "f.dump", function=str.upper).predict(["ba"]) == [["B", "A"]]


def test_a_label_called_hash_is_told_from_no_label(tmp_path: Path) -> None:
    tagger = CRF(patterns=["u:%x[0,0]", "b"], l1=0.02).fit([["a", "b", "a"]] * 9, [["#", "B", "B"]] * 9)
    assert "b\t#\tB\t" in (write_tagger(tagger, tmp_path / "m.dump") or (tmp_path / "m.dump").read_text())
    assert read_tagger(tmp_path / "m.dump").predict(["aba"]) == tagger.predict(["aba"]) == [["#", "B", "B"]]
    both = CRF(patterns=["*:%x[0,0]"], l1=0.1).fit([["a", "b"]] * 3, [["#", "B"]] * 3)
    with pytest.raises(DataError, match="taken for no label"):
        write_tagger(both, tmp_path / "n.dump")


def test_what_would_cut_a_line_is_not_written(tmp_path: Path) -> None:
    for X, y in (([[["a\tb"]], [["c"]]], [["A"], ["B"]]), ([[["a"]], [["c"]]], [["A\n"], ["B"]])):
        tagger = CRF(l1=0.01).fit(X * 3, y * 3)
        with pytest.raises(DataError, match="holds a tab or a line end"):
            write_tagger(tagger, tmp_path / "m.dump")
    assert not (tmp_path / "m.dump").exists()


def test_dictionaries_are_not_written_for_wapiti(tmp_path: Path) -> None:
    tagger = CRF(l1=0.1).fit([[{"w": "la"}, {"w": "casa"}]] * 3, [["A", "B"]] * 3)
    with pytest.raises(DataError, match="Wapiti knows no tokens with attributes of their own"):
        write_tagger(tagger, tmp_path / "m.wapiti")
    assert not (tmp_path / "m.wapiti").exists()
    rows = CRF(encoder=Encoder(syntax="wapiti"), l1=0.1).fit([[["u1", "b"], ["u2", "b"]]] * 3, [["A", "B"]] * 3)
    write_tagger(rows, tmp_path / "m.wapiti")
    assert read_tagger(tmp_path / "m.wapiti").predict([[["u2"], ["u1"]]]) == rows.predict([[["u2"], ["u1"]]])


def test_damaged_dumps_are_errors(tmp_path: Path) -> None:
    tagger = CRF(patterns=["u:%x[0,0]", "b"], l1=0.05).fit(["ab", "a"] * 5, [["A", "B"], ["A"]] * 5)
    write_tagger(tagger, tmp_path / "m.dump")
    text = (tmp_path / "m.dump").read_text()
    broken = tmp_path / "broken.dump"
    for old, new, fault in (
        ("#textmill dump", "#", "is needed, else labels and patterns"),
        ('"classes"', '"classe"', "the first line is damaged"),
        ('["A", "B"]', '["A", "A"]', "the first line is damaged"),
        ("\tA\t", "\tC\t", "no label 'C'"),
        ("u:a\t#", "u:a\tB", "broken.dump:2: test 'u:a' has no bigram weights"),
        ("u:a\t#\tA\t", "u:a\t#\tA\tx", "is no weight"),
        ("u:%x[0,0]", "u:%x[0]", "is no command"),
    ):
        assert old in text
        broken.write_text(text.replace(old, new, 1))
        with pytest.raises(ModelFileError, match=fault.replace("[", r"\[")):
            read_dump(broken)
    with pytest.raises(ModelFileError, match="No such file"):
        read_dump(tmp_path / "none")
    rng = random.Random(1)
    for _ in range(300):
        data = bytearray(text.encode())
        data[rng.randrange(len(data))] = rng.randrange(256)
        broken.write_bytes(data[: rng.randrange(len(data))] if rng.random() < 0.3 else data)
        with contextlib.suppress(ModelFileError):
            read_tagger(broken)


def test_a_dump_without_its_first_line_says_what_is_missing(tmp_path: Path) -> None:
    tagger = CRF(patterns=["u:%x[0,0]"], l1=0.05).fit(["ab"] * 5, [["A", "B"]] * 5)
    write_dump(tagger.to_weights(), tmp_path / "m.dump")
    body = (tmp_path / "m.dump").read_text().partition("\n")[2]
    (tmp_path / "body").write_text(body)
    with pytest.raises(ModelFileError, match="labels and patterns are not known; write it with `write_tagger`"):
        read_tagger(tmp_path / "body")
    assert (update_weights(tagger.to_weights(), tmp_path / "body").unigram != tagger.to_weights().unigram).nnz == 0
