"""Files of taggers as they were written by format 1, with the answers that they gave then."""

from __future__ import annotations

from pathlib import Path

import pytest

from textmill import load
from textmill.corpus import TypedSegments, sample_path
from textmill.sequence import CRF, OWLQN, SGDL1, ChainModel, ConditionalMarkov, Encoder, SemiMarkovCRF, read_labeled

PATTERNS = "u:w=%x[0,0]\nu:p=%x[0,1]\nu:p-1=%x[-1,1]\n*"
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


def test_parameters_of_format_1_become_objects() -> None:
    crf = load(FILES / "crf-1.mill", expect=CRF)
    assert crf.algorithm == OWLQN(memory=7, gradient_tolerance=1e-4, window=3)
    assert (crf.tolerance, crf.l1, crf.max_iter, crf.fine_tune, crf.random_state) == (1e-3, 1.0, 20, 2, 3)
    assert crf.patterns is None
    assert crf.encoder.get_params() == Encoder(patterns=PATTERNS, min_count=4).get_params()
    assert (crf.n_iter_, crf.converged_, crf.stop_reason_) == (22, False, "iteration limit")
    assert crf.objective_ == pytest.approx(81.58739907175163)
    assert len(crf.trace_) == 0
    stochastic = load(FILES / "crf-sgd-1.mill", expect=CRF)
    assert stochastic.algorithm == SGDL1(eta0=0.2, alpha=0.85)
    assert (stochastic.patterns, stochastic.encoder) == ([*PATTERNS.split("\n")[:3], "b"], None)
    memm = load(FILES / "memm-1.mill", expect=ConditionalMarkov)
    assert (memm.algorithm, memm.tolerance, memm.start_label) == ("lbfgs", None, True)
    assert (memm.encoder.syntax, memm.encoder.hash_bits) == ("crf++", 8)


def test_a_tagger_of_format_1_is_trained_on_and_saved_again(tmp_path: Path) -> None:
    crf = load(FILES / "crf-1.mill", expect=CRF)
    data = read_labeled(sample_path("chunks-test.txt"))
    more = CRF(encoder=crf.encoder, algorithm=crf.algorithm, l1=1.0, max_iter=5).fit(data.X, data.y, start=crf)
    assert more.score(data.X, data.y) > crf.score(data.X, data.y)
    crf.save(tmp_path / "again.mill")
    assert load(tmp_path / "again.mill").algorithm == crf.algorithm


def test_segments_of_format_1_have_the_cost_of_before(tmp_path: Path) -> None:
    tagger = load(FILES / "semimarkov-1.mill", expect=SemiMarkovCRF, verify=True)
    X, y = TypedSegments(60, seed=4, first=60).labeled()
    assert tagger.cost_ == 0.4
    assert tagger.score(X, y) == pytest.approx(0.528, abs=1e-12)
    tagger.save(tmp_path / "again.mill")
    assert load(tmp_path / "again.mill").predict(X) == tagger.predict(X)
