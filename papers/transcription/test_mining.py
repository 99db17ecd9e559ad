"""Pairs from elsewhere, and characters that sound alike."""

from __future__ import annotations

from papers.transcription.mining import homophone_map, mine, mining_estimate, normalize_homophones
from textmill.tasks.transcription import (
    Pairs,
    Transcriber,
    sample_names,
)

WORDS, OUTPUTS = sample_names()
TRAIN = [i for i in range(len(WORDS)) if i % 7]


DEV = [i for i in range(len(WORDS)) if i % 7 == 0]


def some(values, rows):
    return [values[i] for i in rows]


def test_mining_accepts_what_the_model_would_write():
    model = Transcriber(search=False, n_jobs=1).fit(some(WORDS, TRAIN), some(OUTPUTS, TRAIN))
    wild = Pairs(["kitano", "kitano", "nakano"], ["キタノ", "トヨタ", "ナカノ"])
    mined = mine(model, wild)
    assert list(zip(*mined.pairs, strict=True)) == [("kitano", "キタノ"), ("nakano", "ナカノ")]
    assert mined.ranks[0] == 1
    assert mined.ranks[1] == 0
    assert len(mine(model, Pairs(["kitano"] * 2, ["キタノ", "キタノ"]), per_word=1).pairs.words) == 1
    right, wrong = mining_estimate(model, Pairs(some(WORDS, DEV), some(OUTPUTS, DEV)))
    assert right > 0.95
    assert wrong < 0.2


def test_homophones_become_the_predominant_character():
    readings = {"博": "bo2", "伯": "bo2", "德": "de2", "得": "de2", "x": "x1"}
    table = homophone_map(["伯", "伯德"], readings)
    assert table == {"博": "伯", "得": "德"}
    assert homophone_map(["伯", "伯德"], readings, min_count=2) == {"博": "伯"}
    assert normalize_homophones(["博得x"], table) == ["伯德x"]
