"""Ways of training in several steps, on the sample chunks."""

from __future__ import annotations

import pytest

from textmill.corpus import sample_path
from textmill.sequence import CRF, LabeledSequences, evaluate_tags, read_labeled

BASE = ["*", "u:w=%x[0,0]", "u:p=%x[0,1]"]
MORE = ["u:2=%x[-1,1]/%x[0,0]"]


@pytest.fixture(scope="module")
def parts() -> tuple[LabeledSequences, LabeledSequences]:
    return read_labeled(sample_path("chunks-train.txt")), read_labeled(sample_path("chunks-test.txt"))


def error_of(crf: CRF, test: LabeledSequences) -> float:
    """Token error in percentage points."""
    return 100 * evaluate_tags(test.y, crf.predict(test.X)).token_error


def test_fine_tuning_adds_no_weight_and_stays_near_owlqn(parts: tuple[LabeledSequences, LabeledSequences]) -> None:
    train, test = parts
    settings = {"patterns": BASE, "algorithm": "sgd_l1", "max_iter": 10, "random_state": 0}
    before = CRF(**settings).fit(train.X, train.y)
    after = CRF(**settings, fine_tune=10).fit(train.X, train.y)
    quasi_newton = CRF(patterns=BASE, max_iter=40).fit(train.X, train.y)
    assert len(after.features_) <= len(before.features_)
    assert error_of(after, test) <= error_of(quasi_newton, test) + 0.5


def test_stages_make_fewer_tests_for_the_same_error(parts: tuple[LabeledSequences, LabeledSequences]) -> None:
    train, test = parts
    staged = CRF(patterns=BASE, stages=[(10, MORE, [1])], max_iter=40, compact=False).fit(train.X, train.y)
    whole = CRF(patterns=BASE + MORE, max_iter=40, compact=False).fit(train.X, train.y)
    assert len(staged.encoder_.tests_) < len(whole.encoder_.tests_)
    assert error_of(staged, test) <= error_of(whole, test) + 0.1
