"""Default patterns: when they are taken, and that they are as good as sets made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from textmill.corpus import read_columns, read_conllu, sample_chunks
from textmill.errors import DataError
from textmill.sequence import CRF, Encoder, default_patterns, evaluate_tags, parse_patterns, split_labels


def test_words_and_rows_get_patterns_by_their_columns_and_attributes_none() -> None:
    data = split_labels(sample_chunks()[:20])
    for X, columns in (
        ([["the", "mill"]], 1),
        (["ab"], 1),
        ([[("the",), ("mill",)]], 1),
        (data.X, 2),
        ([[("the", "DT", "x"), ("mill", "NN", "y")]], 3),
        ([[], iter([("a", "b")])], 2),
    ):
        assert Encoder().fit(X).patterns_ == default_patterns(columns)
    for X in ([[{"w": "the"}]], [[["w=the", "p=DT"]]]):
        assert Encoder().fit(X).patterns_ == []
    assert Encoder(syntax="wapiti").fit([[("uthe", "b")]]).patterns_ == []


def test_patterns_read_the_columns_there_are_and_differ_in_name() -> None:
    for columns in range(1, 8):
        patterns = parse_patterns(default_patterns(columns))
        assert set().union(*(pattern.columns for pattern in patterns)) == set(range(columns))
        names = [pattern.text.partition("=")[0] for pattern in patterns]
        assert len(set(names)) == len(names)
    with pytest.raises(DataError, match="columns must be"):
        default_patterns(0)


def test_a_tagger_without_patterns_learns_is_saved_and_goes_on(tmp_path: Path) -> None:
    data, test = split_labels(sample_chunks()), split_labels(sample_chunks("test"))
    tagger = CRF(max_iter=40).fit(data.X, data.y)
    assert tagger.patterns is None
    assert evaluate_tags(test.y, tagger.predict(test.X)).f1 > 0.99
    tagger.save(tmp_path / "m.mill")
    import textmill

    assert textmill.load(tmp_path / "m.mill").predict(test.X) == tagger.predict(test.X)
    more = CRF(max_iter=3).fit(test.X, test.y, start=tagger)
    assert more.encoder_.patterns_ == default_patterns(2)


def columns(path: Path, keep: int) -> tuple[list[Any], list[Any]]:
    read = [list(sentence) for sentence in read_columns(path)]
    return [[row[:keep] for row in rows] for rows in read], [[row[-1] for row in rows] for rows in read]


@pytest.mark.slow
@pytest.mark.data
def test_defaults_hold_on_chunks_names_and_parts_of_speech(data: Path) -> None:
    def speech(part: str) -> tuple[list[Any], list[Any]]:
        read = list(read_conllu(data / "pos-ud" / f"en_ewt-{part}.conllu", words_only=True))
        return [list(s.column("form")) for s in read], [list(s.column("upos")) for s in read]

    for train, test, chunks, bar in (
        (columns(data / "conll2000/train.txt", 2), columns(data / "conll2000/test.txt", 2), True, 0.935),
        (columns(data / "conll2002/esp.train", 2), columns(data / "conll2002/esp.testb", 2), True, 0.795),
        (speech("dev"), speech("test"), False, 0.905),
    ):
        tagger = CRF(max_iter=80).fit(*train)
        scores = evaluate_tags(test[1], tagger.predict(test[0]), chunks=chunks)
        assert (scores.f1 if chunks else 1 - scores.token_error) > bar
