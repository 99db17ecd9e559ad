"""How long segments are, and what comes before them."""

from __future__ import annotations

import pytest

from papers.semi_markov_crf.lengths import segment_lengths


def test_lengths_and_what_comes_before():
    lengths = segment_lengths([["B-A", "I-A", "B-A", "O", "B-B"], ["O", "B-A"]])
    assert lengths.lengths == {2: 1, 1: 3}
    assert lengths.labels == {"A": 3, "B": 1}
    assert lengths.after_o == 3
    assert "75.00%" in lengths.note()


@pytest.mark.data
def test_statistics_of_jnlpba(data):
    from textmill.sequence import read_labeled

    train = read_labeled(data / "jnlpba" / "train.iob2", document="###MEDLINE:")
    lengths = segment_lengths(train.y)
    assert lengths.lengths.total() == 51_301
    assert lengths.labels == {"protein": 30_269, "DNA": 9_533, "cell_type": 6_718, "cell_line": 3_830, "RNA": 951}
    table = [21_646, 15_442, 7_530, 3_505, 1_379, 732, 409, 252]
    for n, expected in enumerate(table, 1):
        assert lengths.lengths[n] / 51_301 == pytest.approx(expected / 51_301, abs=0.003)
    assert lengths.after_o / 51_301 == pytest.approx(0.98, abs=0.002)
    test = read_labeled(data / "jnlpba" / "test.iob2", document="###MEDLINE:")
    assert segment_lengths(test.y).lengths.total() == 8_662
