"""Files of taggers as they were written by format 1, with the answers that they gave then."""

from __future__ import annotations

from pathlib import Path

import pytest

from textmill import load
from textmill.corpus import sample_path
from textmill.sequence import ChainModel, read_labeled

FILES = Path(__file__).parent.parent / "files" / "sequence"


@pytest.mark.parametrize(
    ("name", "weights", "score"),
    [("crf-1", 249, 0.9669038045159295), ("crf-sgd-1", 623, 0.9706155273739561), ("memm-1", 396, 0.9443241571296009)],
)
def test_a_tagger_of_format_1_labels_as_before(name: str, weights: int, score: float) -> None:
    tagger = load(FILES / f"{name}.mill", expect=ChainModel, verify=True)
    data = read_labeled(sample_path("chunks-test.txt"))
    assert len(tagger.weights_) == weights
    assert tagger.score(data.X, data.y) == pytest.approx(score, abs=1e-12)
