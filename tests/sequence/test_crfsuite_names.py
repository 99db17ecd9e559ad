"""Users of CRFsuite and its wrappers: names of parameters, item sequences, generators, tuples of attributes."""

import pycrfsuite
import pytest
from sklearn.base import clone

from textmill.errors import DataError
from textmill.sequence import CRF, ConditionalMarkov, LatentCRF

ITEMS = [[["bias", "w=the"], ["bias", "w=Mill", "cap"]], [["bias", "w=a"], ["bias", "w=Hill", "cap"]]] * 3
LABELS = [["O", "B"], ["O", "B"]] * 3


@pytest.mark.parametrize("kind", [CRF, LatentCRF, ConditionalMarkov])
@pytest.mark.parametrize(
    ("name", "ours"), [("c1", "l1=c1"), ("c2", "l2=2"), ("max_iterations", "max_iter"), ("verbose", "shown_by")]
)
def test_names_of_parameters_are_answered_with_ours(kind, name, ours):
    with pytest.raises(TypeError, match=f"{kind.__name__} has no parameter '{name}'.*{ours}"):
        kind(**{name: 1})
    assert clone(kind(l2=2.0)).l2 == 2.0


@pytest.mark.parametrize(("theirs", "ours"), [("l2sgd", "sgd_l2"), ("pa", "perceptron"), ("arow", "perceptron")])
def test_names_of_algorithms_are_answered_with_ours(theirs, ours):
    with pytest.raises(DataError, match=f"name of CRFsuite; pass algorithm='{ours}'"):
        CRF(algorithm=theirs).fit(ITEMS, LABELS)


def test_generators_and_item_sequences_are_read_as_lists():
    expected = CRF(l1=0.1).fit(ITEMS, LABELS)
    generated = CRF(l1=0.1).fit(
        (list(x) for x in ITEMS), ((label for label in labels) for labels in LABELS), (x for x in ITEMS), iter(LABELS)
    )
    wrapped = CRF(l1=0.1).fit([pycrfsuite.ItemSequence(x) for x in ITEMS], LABELS)
    assert expected.encoder_.tests_.to_list() == generated.encoder_.tests_.to_list()
    assert set(wrapped.encoder_.tests_.to_list()) == set(expected.encoder_.tests_.to_list())
    for other in (generated, wrapped):
        assert other.predict(ITEMS) == expected.predict(ITEMS) == LABELS
    assert list(expected.predict(pycrfsuite.ItemSequence(x) for x in ITEMS)) == LABELS


def test_tuples_of_attributes_are_not_taken_for_columns():
    tuples = [[tuple(token) for token in x] for x in [[["bias", "w=the", "p=DT"], ["cap", "w=Mill", "p=NN"]]] * 3]
    with pytest.raises(DataError, match="look like attributes; pass lists"):
        CRF().fit(tuples, [["O", "B"]] * 3)
    CRF().fit([[("the", "DT"), ("http://a.b", "NN")]] * 3, [["O", "B"]] * 3)
