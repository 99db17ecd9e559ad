"""LDA on Reuters-21578: perplexities of the table of the specification, and the precision of the statistics."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from papers._shared.presets import preset
from textmill.topics import make_model
from textmill.topics.lda.perplexity import split_words


@pytest.fixture(scope="module")
def reuters(data: Path) -> tuple[csr_matrix, csr_matrix]:
    """Training documents, and 999 of the test documents."""
    with gzip.open(data / "reuters" / "reuters21578.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    X = csr_matrix(preset("reuters").fit_transform([row["text"] for row in rows]))
    training = np.array([row["split"].startswith("train") for row in rows])
    train, test = (part[part.getnnz(axis=1) > 0] for part in (X[training], X[~training]))
    assert train.shape == (7764, 8490)
    return train, test[:999]


def learned(reuters: tuple[csr_matrix, csr_matrix], seed: int, **options: Any) -> float:
    train, test = reuters
    return make_model("lda", **{"n_topics": 50, "random_state": seed} | options).fit(train).perplexity(test)


@pytest.mark.data
def test_default_schedule_reaches_the_perplexities_that_are_asked_for(reuters: Any) -> None:
    one = np.mean([learned(reuters, seed, max_iter=1) for seed in range(3)])
    three = np.mean([learned(reuters, seed, max_iter=3) for seed in range(3)])
    assert one <= 1560
    assert three <= 1480
    paper = learned(reuters, 0, max_iter=1, learning_offset=1)
    assert one <= 0.88 * paper


@pytest.mark.data
def test_float32_and_float64_train_alike(reuters: Any) -> None:
    single, double = (learned(reuters, 0, max_iter=2, dtype=dtype) for dtype in ("float32", "float64"))
    assert single == pytest.approx(double, rel=0.01)


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"method": "batch", "max_iter": 1}, 2223),
        ({"method": "batch", "max_iter": 3}, 1656),
        ({"method": "batch", "max_iter": 8}, 1481),
        ({"learning_offset": 1, "max_iter": 1}, 1748),
        ({"learning_offset": 1, "max_iter": 3}, 1698),
        ({"learning_offset": 1, "max_iter": 1, "chunk_size": 256, "update_every": 4}, 1748),
        ({"learning_offset": 1, "max_iter": 1, "chunk_size": 256}, 2059),
        ({"learning_offset": 1, "max_iter": 1, "chunk_size": 256, "learning_decay": 0.7}, 1970),
        ({"learning_decay": 0.7, "max_iter": 1}, 1729),
        ({"learning_decay": 0.7, "max_iter": 2}, 1556),
        ({"learning_decay": 0.7, "max_iter": 3}, 1494),
        ({"learning_decay": 0.7, "max_iter": 1, "chunk_size": 256}, 1554),
        ({"learning_decay": 0.7, "max_iter": 1, "chunk_size": 256, "learning_offset": 65}, 1683),
        ({"learning_offset": 2, "max_iter": 1}, 1637),
        ({"max_iter": 1}, 1514),
        ({"max_iter": 3}, 1440),
    ],
)
def test_perplexities_are_those_of_the_table(reuters: Any, options: dict[str, Any], expected: float) -> None:
    # made comparable by the unigram model, which has 2873 there; a lower perplexity is no fault
    train, test = reuters
    frequency = np.asarray(train.sum(axis=0)).ravel() + 1e-9
    rest = split_words(test)[1]
    unigram = np.exp(-(rest @ np.log(frequency / frequency.sum())).sum() / rest.sum())
    found = np.mean([learned(reuters, seed, **options) for seed in range(3)])
    assert 0.92 * expected <= found * 2873 / unigram <= 1.03 * expected
