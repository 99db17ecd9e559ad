"""Features beside words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import textmill
from textmill.corpus import NamedFeatures, Vocabulary
from textmill.errors import DataError

ROWS = st.lists(st.dictionaries(st.sampled_from("abcé"), st.floats(-9, 9) | st.integers(-9, 9)), max_size=6)


@given(ROWS)
def test_rows_are_those_of_scikit_learn(rows: list[dict[str, float]]) -> None:
    from sklearn.feature_extraction import DictVectorizer

    ours = NamedFeatures().fit_transform(iter(rows))
    if any(rows):
        assert ours.toarray().tolist() == DictVectorizer(sparse=False).fit_transform(rows).tolist()
    else:
        assert ours.shape == (len(rows), 0)


def test_features_stand_beside_terms_and_are_saved(tmp_path: Path) -> None:
    texts, extra = ["to be", "or not"], [{"year": 1603}, {"year": 1998, "stars": 4.5}]
    features = NamedFeatures()
    X = sparse.hstack([Vocabulary().fit_transform(texts), features.fit_transform(extra)], format="csr")
    assert X.toarray().tolist() == [[1, 1, 0, 0, 0, 1603], [0, 0, 1, 1, 4.5, 1998]]
    features.save(tmp_path / "f.mill")
    assert textmill.load(tmp_path / "f.mill").get_feature_names_out().tolist() == ["stars", "year"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"colour": "red"}], "document:1:colour: 'red' is no finite number; .* 'colour=red': 1"),
        ([{}, {"x": float("nan")}], "document:2:x: nan is no finite number"),
        ([{"x": None}], "None is no finite number"),
        ([{3: 1}], "the feature name 3 is no text"),
        (["text"], "document:1: features must be a mapping, got str"),
    ],
)
def test_what_is_no_number_is_refused(rows: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        NamedFeatures().fit(rows)
