"""Matching without labels: made-up lists and a public one, what carries over, and what the model will not claim."""

from __future__ import annotations

import csv
import itertools
import math
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from textmill.errors import DataError
from textmill.tasks.names import (
    FellegiSunter,
    FieldLeftOut,
    RecordList,
    UndecidedError,
    fellegi_sunter,
    generate_names,
    plain_form,
)
from textmill.tasks.names.generate import People, generate_people
from textmill.tasks.names.record_matcher import RecordEstimator

FIELDS = ["forename", "surname", "street", "city", "postcode:exact", "born:exact"]


def figures(matcher: RecordEstimator, made: People) -> tuple[float, float]:
    """Precision and recall of the pairs of a list."""
    pairs = matcher.pairs(made.records)
    found = set(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))
    truth = true_pairs(made.clusters)
    hits = len(found & truth)
    return hits / max(1, len(found)), hits / len(truth)


def true_pairs(clusters: list[int]) -> set[tuple[int, int]]:
    members: dict[int, list[int]] = {}
    for at, cluster in enumerate(clusters):
        members.setdefault(cluster, []).append(at)
    return {pair for group in members.values() for pair in itertools.combinations(group, 2)}


@pytest.fixture(scope="module")
def people() -> People:
    return generate_people(600, random_state=3)


@pytest.fixture(scope="module")
def trained(people: People) -> FellegiSunter:
    return FellegiSunter(fields=FIELDS).fit(people.records)


def test_people_of_a_made_up_list_are_found(people: People, trained: FellegiSunter) -> None:
    precision, recall = figures(trained, people)
    assert precision > 0.98
    assert recall > 0.95
    size = len(people.records)
    assert trained.share_ == pytest.approx(len(true_pairs(people.clusters)) / (size * (size - 1) / 2), rel=0.1)
    assert trained.per_record_ == pytest.approx(trained.share_ * (size - 1) / 2)


def test_cities_and_their_postcodes_do_not_count_twice(trained: FellegiSunter) -> None:
    names = trained.fields_.to_list()
    edges = {frozenset((names[v], names[p])) for v, p in enumerate(trained.parents_.tolist()) if p >= 0}
    assert edges == {frozenset(("city", "postcode"))}
    assert any(line.endswith(("counted beside city", "counted beside postcode")) for line in trained.lines())


def test_agreement_on_rare_values_counts_more(people: People, trained: FellegiSunter) -> None:
    columns = {name: list(map(plain_form, values)) for name, values in people.records.columns.items()}
    candidates = trained.candidates(people.records)
    positions = np.arange(0, len(candidates), 7)
    with_rarity = trained.explain(people.records, positions, candidates=candidates)
    trained.set_params(term_frequency=False)
    without = trained.explain(people.records, positions, candidates=candidates)
    trained.set_params(term_frequency=True)
    seen = Counter(value for value in columns["surname"] if value)
    chance = sum(count**2 for count in seen.values()) / seen.total() ** 2
    rises = 0
    for one, two in zip(with_rarity, without, strict=True):
        gain = one.by_field()["surname"] - two.by_field()["surname"]
        value = columns["surname"][one.left]
        if not value or value != columns["surname"][one.right]:
            assert gain == 0.0
            continue
        assert gain == pytest.approx(math.log(chance / (seen[value] / seen.total())))
        rises += gain > 0
    assert rises > 10


def test_a_long_list_is_learned_from_a_sample_as_from_all_pairs(
    people: People, trained: FellegiSunter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fellegi_sunter, "_COUNTED", 1000)
    monkeypatch.setattr(fellegi_sunter, "_DRAWN", 50_000)
    sampled = FellegiSunter(fields=FIELDS).fit(people.records)
    assert sampled.share_ == pytest.approx(trained.share_, rel=0.05)
    assert sampled.trace_.tolist() != trained.trace_.tolist()
    precision, recall = figures(sampled, people)
    assert precision > 0.98
    assert recall > 0.95


def test_a_model_serves_a_list_of_another_length(trained: FellegiSunter) -> None:
    for size, duplicates in ((60, 0.3), (1500, 0.05)):
        other = generate_people(size, duplicates=duplicates, random_state=8)
        precision, recall = figures(trained, other)
        assert precision > 0.97
        assert recall > 0.93


def test_two_records_have_the_share_that_is_expected(people: People, trained: FellegiSunter) -> None:
    clusters = people.clusters
    two = next(at for at in range(len(clusters) - 1) if clusters[at] == clusters[at + 1])
    for start in (two, two - 1):
        columns = {name: values[start : start + 2] for name, values in people.records.columns.items()}
        pair = RecordList.of(columns)
        candidates = trained.candidates(pair).including(np.array([0]), np.array([1]))
        score = float(trained.scores(pair, candidates=candidates)[1][0])
        assert (score > 0.9) == (clusters[start] == clusters[start + 1])


def test_the_order_of_the_list_does_not_matter(people: People) -> None:
    turned = RecordList(
        people.records.ids[::-1], {name: values[::-1] for name, values in people.records.columns.items()}
    )
    found = []
    for records in (people.records, turned):
        pairs = FellegiSunter(fields=FIELDS).fit(records).pairs(records)
        keys = [frozenset((records.ids[i], records.ids[j])) for i, j in zip(pairs.left, pairs.right, strict=True)]
        found.append(dict(zip(keys, pairs.score.tolist(), strict=True)))
    assert found[0].keys() == found[1].keys()
    assert [found[0][key] for key in found[0]] == pytest.approx([found[1][key] for key in found[0]], abs=1e-6)


def test_two_lists_are_joined(people: People) -> None:
    sides = []
    for rest in (0, 1):
        rows = [at for at in range(len(people.clusters)) if at % 2 == rest]
        columns = {name: [values[at] for at in rows] for name, values in people.records.columns.items()}
        sides.append((RecordList.of(columns), [people.clusters[at] for at in rows]))
    (left, one), (right, two) = sides
    matcher = FellegiSunter(fields=FIELDS).fit(left, other=right)
    pairs = matcher.join(left, right)
    hits = sum(one[i] == two[j] for i, j in zip(pairs.left, pairs.right, strict=True))
    truth = sum(a == b for a in one for b in two)
    assert hits / len(pairs.left) > 0.98
    assert hits / truth > 0.95
    assert matcher.share_ == pytest.approx(truth / (len(left) * len(right)), rel=0.15)


# what it does not claim


def test_a_list_without_duplicates_is_not_matched() -> None:
    for seed in (0, 1):
        alone = generate_people(700, duplicates=0.0, random_state=seed)
        with pytest.raises(UndecidedError, match=r"label some pairs \(`match train --suggest FILE` chooses them\)"):
            FellegiSunter(fields=FIELDS).fit(alone.records)


def test_fields_of_which_matches_share_too_few_are_named() -> None:
    rng = np.random.default_rng(1)
    team = rng.integers(0, 12, 300)
    columns = {"team": [f"team {t}" for t in team], "hall": [f"hall {t} east" for t in team]}
    columns["key"] = [f"{rng.integers(100):06d}" for _ in range(300)]
    columns["other"] = [f"{rng.integers(50):02d} {rng.integers(10**4)} x" for _ in range(300)]
    with pytest.raises(UndecidedError, match=r"two|agree on|likely match"):
        FellegiSunter(fields=["team", "hall", "key:exact", "other"]).fit(RecordList.of(columns))


def test_matches_that_chain_all_records_together_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fellegi_sunter, "find_parents", lambda halves, sizes: ([-1] * len(sizes), 1.0))
    monkeypatch.setattr(fellegi_sunter, "unlike_fields", lambda model: [False])
    cells = list(itertools.product(range(6), repeat=3))  # a record is like those of its row, its column, its floor
    names = [f"{a * 7 + 3}{b} {a + 20 * b}" for a, b in itertools.product(range(6), repeat=2)]
    columns = {f"field {v} {twice}": [names[cell[v] + 6 * v] for cell in cells] for v in range(3) for twice in (0, 1)}
    with pytest.raises(UndecidedError, match=r"matches contradict each other: .* would join 216 records to one group"):
        FellegiSunter(fields=[f"{name}:exact" for name in columns]).fit(RecordList.of(columns))


def test_large_groups_are_no_contradiction_and_are_found_beyond_the_blocks() -> None:
    made = generate_people(20, duplicates=0.98, errors=0.3, random_state=1)  # each with some sixty records
    fields = ["forename", "surname", "street", "city", "born:exact"]
    matcher = FellegiSunter(fields=fields, blocks=["born:exact", "street:exact"]).fit(made.records)
    truth = true_pairs(made.clusters)
    blocked = matcher.pairs(made.records, candidates=matcher.candidates(made.records))
    among = set(zip(blocked.left.tolist(), blocked.right.tolist(), strict=True))
    precision, recall = figures(matcher, made)
    assert precision > 0.98
    assert recall > 0.8
    assert recall > len(among & truth) / len(truth) + 0.1


def test_names_alone_are_compared_with_their_rivals() -> None:
    names = generate_names(150, random_state=4)
    records = RecordList.of_names(names)
    matcher = FellegiSunter().fit(records)
    assert matcher.lines()[0].startswith("share of matches among candidates")
    ids = {key: at for at, key in enumerate(dict.fromkeys(names.clusters or ()))}
    precision, recall = figures(matcher, People(records, [ids[key] for key in names.clusters or ()]))
    assert 2 * precision * recall / (precision + recall) > 0.85
    candidates, scores = matcher.scores(records)
    for explained in matcher.explain(records, np.arange(0, len(candidates), 9), candidates=candidates):
        at = candidates.positions(np.array([explained.left]), np.array([explained.right]))[0]
        odds = explained.start + sum(part.weight for part in explained.contributions)
        assert 1 / (1 + math.exp(-odds)) == pytest.approx(scores[at], abs=1e-12)


@pytest.mark.filterwarnings("ignore::textmill.tasks.names.FieldLeftOut")
@pytest.mark.parametrize(
    ("columns", "fault"),
    [
        ({"name": ["", "", ""], "city": ["", "-", "?"]}, "'name' is empty everywhere; the field 'city' is empty"),
        (
            {"name": ["Ann"] * 10_000, "city": ["Rome"] * 10_000},
            "no field tells records apart: the field 'name' has the",
        ),
        ({"name": ["Ann Lee", "Tom Fox"], "city": ["Rome", "Oslo"]}, "1 pair, all alike"),
    ],
)
def test_lists_that_teach_nothing_are_refused_in_one_line(columns: dict[str, list[str]], fault: str) -> None:
    with pytest.raises(DataError, match=fault) as error:
        FellegiSunter(fields=list(columns)).fit(RecordList.of(columns))
    assert "\n" not in str(error.value)


def test_fields_that_tell_nothing_are_said_and_left_out(people: People, trained: FellegiSunter) -> None:
    size = len(people.records)
    columns = people.records.columns | {
        "note": [""] * size,
        "land": ["UK"] * size,
        "key": [f"k{n}" for n in range(size)],
    }
    with pytest.warns(FieldLeftOut) as said:
        matcher = FellegiSunter(fields=[*FIELDS, "note", "land", "key"]).fit(RecordList.of(columns))
    assert [str(one.message) for one in said] == [
        "the field 'note' is empty everywhere; it is left out",
        "the field 'land' has the one value 'uk' only; it is left out",
        "the field 'key' has another value in every record, as an id has; it is left out",
    ]
    assert matcher.m_.tolist() == trained.m_.tolist()
    assert len(matcher.pairs(RecordList.of(columns)).left) > 100


def test_a_duplicate_of_every_record_is_found() -> None:
    once = generate_people(250, duplicates=0.0, random_state=5).records
    twice = RecordList.of({name: values + values for name, values in once.columns.items()})
    pairs = FellegiSunter(fields=FIELDS).fit(twice).pairs(twice)
    found = set(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))
    assert len(found & {(n, n + 250) for n in range(250)}) >= 248
    assert len(found) <= 252


def test_a_value_of_a_hundred_kilobytes_is_compared(people: People) -> None:
    columns = {name: values[:] for name, values in people.records.columns.items()}
    columns["street"][3] = "x" * 100_000
    matcher = FellegiSunter(fields=FIELDS, blocks=["born:exact", "surname:exact"]).fit(RecordList.of(columns))
    assert matcher.converged_


@pytest.mark.data
def test_the_people_of_a_public_file_are_found() -> None:
    path = Path(os.environ["TEXTMILL_DATA"], "records", "fake-1000.csv")
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    fields = ["first_name", "surname", "dob:exact", "city", "email"]
    records = RecordList.of({name.split(":")[0]: [row[name.split(":")[0]] for row in rows] for name in fields})
    made = People(records, [int(row["cluster"]) for row in rows])
    precision, recall = figures(FellegiSunter(fields=fields).fit(records), made)
    assert precision >= 0.98
    assert 2 * precision * recall / (precision + recall) >= 0.97
