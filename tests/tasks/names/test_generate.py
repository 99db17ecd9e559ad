"""Synthetic names: seeded, distinct, by the recipe, and as hard as published."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from textmill.errors import DataError
from textmill.metrics.edits import edit_table
from textmill.tasks.names import Gold, evaluate, generate_names
from textmill.tasks.names.generate import SCENARIOS, spoil_accents, spoil_letters, transliterate


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_same_seed_gives_the_same_names(scenario: str) -> None:
    one, other, third = (generate_names(200, scenario=scenario, random_state=seed) for seed in (5, 5, 6))
    assert one.names == other.names
    assert one.ids == other.ids
    assert one.names != third.names


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_names_are_distinct_and_variants_stand_in_the_cluster_of_their_base(scenario: str) -> None:
    names = generate_names(500, scenario=scenario, random_state=2)
    assert len(set(names.names)) == len(set(names.ids)) == len(names)
    sizes = Counter(names.clusters)
    assert set(sizes.values()) == {1, 2, 3}
    assert 1.85 * 500 < len(names) < 2.05 * 500
    assert names.types is not None
    assert set(names.types) == {"person", "organization"}
    assert all(name.strip() for name in names)


def test_a_slip_is_one_edit() -> None:
    random = Random(0)
    kinds: Counter[int] = Counter()
    for _ in range(2000):
        word = random.choice(["Rumyantsev", "Al", "X", "Weatherby"])
        spoilt = spoil_letters(word, random)
        kinds[len(spoilt) - len(word)] += 1
        swap = sorted(word.lower()) == sorted(spoilt.lower())
        assert edit_table([word.lower()], [spoilt.lower()])[0, :3].sum() <= (2 if swap else 1)
        assert spoilt
    assert set(kinds) == {-1, 0, 1}


def test_scenarios_have_their_own_marks() -> None:
    random = Random(1)
    assert any(transliterate("Elbaradei", random) == "Elbaradey" for _ in range(500))
    assert "El-Haddad" in {transliterate("Al-Haddad", random) for _ in range(500)}
    french = {spoil_accents("Hélène", random) for _ in range(100)}
    assert {"Helene", "HÃ©lÃ¨ne"} <= french
    assert any("Ã" in name for name in generate_names(300, scenario="french"))


def test_organizations_alone_and_persons_alone() -> None:
    assert set(generate_names(20, persons=0.0).types or ()) == {"organization"}
    assert set(generate_names(20, persons=1.0).types or ()) == {"person"}


def test_small_stocks_do_not_run_dry() -> None:
    names = generate_names(6000, scenario="french", persons=0.0, random_state=1)
    assert len(set(names.clusters or ())) == 6000


WORDS = 'words(split="regex")'
LADDER = [
    f"cosine({WORDS})",
    f"tfidf({WORDS})",
    f"softtfidf({WORDS}, sub=tfidf(trigrams), theta=0)",
    f'ml({WORDS}, sub=ml(trigrams, sub=context), transpositions="extended")',
]


def best_f1(bases: int, seed: int) -> list[float]:
    names = generate_names(bases, random_state=seed)
    folded = replace(names, names=[name.lower() for name in names])
    return [100 * evaluate(folded, Gold.from_clusters(folded), measure).curve.best().f for measure in LADDER]


def test_measures_stand_in_the_order_of_the_paper() -> None:
    cosine, weighted, soft, aligned = np.mean([best_f1(250, seed) for seed in range(2)], axis=0)
    assert weighted > cosine + 3
    assert soft > weighted + 5
    assert aligned > soft


@pytest.mark.slow
def test_gaps_between_measures_are_those_of_the_paper() -> None:
    gaps = np.diff(np.mean([best_f1(950, seed) for seed in range(5)], axis=0))
    assert gaps[0] >= 5
    assert gaps[1] >= 5
    assert gaps[2] >= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scenario": "dutch"}, "scenario must be one of typos"),
        ({"bases": 0}, "bases is 0"),
        ({"persons": 2}, "share"),
        ({"random_state": -1}, "random_state must be a whole number of at least 0"),
    ],
)
def test_wrong_parameters_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        generate_names(**arguments)  # type: ignore[arg-type]
