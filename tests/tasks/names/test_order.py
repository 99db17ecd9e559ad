"""The same pairs with the same scores, whatever the order of the list."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.tasks.names import FellegiSunter, Gold, LearnedMatcher, RecordList, RecordMatcher, fellegi_sunter
from textmill.tasks.names.generate import generate_people
from textmill.tasks.names.record_matcher import RecordEstimator

FIELDS = ["forename", "surname", "street", "city", "postcode:exact", "born:exact"]
DIRECTED = "monge_elkan(words, sub=jaro)"  # each word of the left value with its best of the right one


def ordered(records: RecordList, order: list[int]) -> RecordList:
    columns = {name: [values[at] for at in order] for name, values in records.columns.items()}
    return RecordList([records.ids[at] for at in order], columns)


def found(matcher: RecordEstimator, records: RecordList) -> dict[frozenset[str], float]:
    left, right, score = matcher.pairs(records, threshold=0.3)
    ends = zip(left.tolist(), right.tolist(), strict=True)
    return {frozenset((records.ids[i], records.ids[j])): p for (i, j), p in zip(ends, score.tolist(), strict=True)}


@settings(max_examples=10)
@given(st.integers(0, 1000), st.randoms(use_true_random=False))
def test_a_mean_of_measures_does_not_depend_on_the_order(seed, random):
    people = generate_people(30, duplicates=0.5, random_state=seed).records
    order = random.sample(range(len(people)), len(people))
    matcher = RecordMatcher(fields=["forename", f"street:{DIRECTED}", "city"], n_jobs=1)
    one, two = found(matcher, people), found(matcher, ordered(people, order))
    assert one
    assert one == two


@settings(max_examples=5)
@given(st.integers(0, 1000), st.randoms(use_true_random=False), st.booleans())
def test_what_is_learned_without_labels_does_not_depend_on_the_order(seed, random, sampled):
    people = generate_people(150, duplicates=0.4, random_state=seed).records
    turned = ordered(people, random.sample(range(len(people)), len(people)))
    with pytest.MonkeyPatch.context() as patch:
        if sampled:
            patch.setattr(fellegi_sunter, "_COUNTED", 1000)
            patch.setattr(fellegi_sunter, "_DRAWN", 20_000)
        one, two = (FellegiSunter(fields=FIELDS, n_jobs=1).fit(records) for records in (people, turned))
    assert one.m_.tolist() == two.m_.tolist()
    pairs = found(one, people)
    assert len(pairs) > 20
    assert pairs == found(two, turned)


def test_what_is_learned_from_labels_does_not_depend_on_the_order():
    made = generate_people(150, duplicates=0.4, random_state=1)
    people, ids = made.records, made.records.ids
    candidates = LearnedMatcher(fields=FIELDS).candidates(people)
    labels = {
        (ids[i], ids[j]): "pos" if made.clusters[i] == made.clusters[j] else "neg"
        for i, j in zip(candidates.left[::3].tolist(), candidates.right[::3].tolist(), strict=True)
    }
    turned = ordered(people, np.random.default_rng(2).permutation(len(people)).tolist())
    one, two = (found(LearnedMatcher(fields=FIELDS).fit(one, Gold(labels)), one) for one in (people, turned))
    assert len(one) > 20
    assert one.keys() == two.keys()
    assert [one[key] for key in one] == pytest.approx([two[key] for key in one], abs=1e-6)
