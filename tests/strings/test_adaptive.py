"""The default measure: what it reads from a list, and that its joins are exact."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import textmill
from textmill.strings import Auto, Matcher, parse_measure
from textmill.strings.adaptive import Evidence

FIRST = "Anna Boris Clara David Elena Franz Greta Heiko Irina Jonas Klara Lukas".split()  # noqa: SIM905


def surnames(count: int) -> list[str]:
    """Words that are not alike."""
    dice = random.Random(1)
    return ["".join(dice.choice(letters) for letters in ("bdfgklmnprstvz", "aeiou") * 4) for _ in range(count)]


def people(*, misspelled: bool = False, turned: bool = False) -> list[str]:
    """Each person twice, the second time with a middle name, and misspelled or turned."""
    dice = random.Random(2)
    names = []
    for at, (family, house) in enumerate(zip(surnames(60), surnames(120)[60:], strict=True)):
        other = house[:3] + house[4:] if misspelled and at % 2 else house
        words = [dice.choice(FIRST), family, other]
        names += [f"{FIRST[at % 12]} {family} {house}", " ".join(words[::-1] if turned and at % 2 else words)]
    return names


@pytest.mark.parametrize(
    ("misspelled", "turned", "chosen"),
    [
        (False, False, 'ml(words(split="regex"), sub=power(jaro, 6), transpositions="extended")'),
        (True, False, 'ml(words(split="regex"), sub=tfidf(trigrams), transpositions="extended")'),
        (False, True, 'assignment(words(split="regex"), sub=power(jaro, 6))'),
        (True, True, 'assignment(words(split="regex"), sub=tfidf(trigrams))'),
    ],
)
def test_the_measure_is_what_the_list_needs(misspelled: bool, turned: bool, chosen: str) -> None:
    names = people(misspelled=misspelled, turned=turned)
    fitted = Auto().fit(names)
    assert str(fitted.measure) == chosen
    assert fitted.reason.startswith(f"measure {chosen}: in ")
    assert " pairs that share a rare word spelling " in fitted.reason
    assert ("hardly" not in fitted.reason) == misspelled
    assert ("change their order" in fitted.reason) == turned
    assert isinstance(fitted.evidence, Evidence)


def test_rare_words_weigh_less_where_related_names_lose_them() -> None:
    families, houses = surnames(60), surnames(120)[60:]
    cities = "Rome Oslo Bonn Bern Cork Lyon Kiel Graz Riga Nice".split()  # noqa: SIM905
    names = []
    for at, family in enumerate(families):  # the same person has two houses, each of which others have too
        names += [f"{FIRST[at % 12]} {family} {houses[(at + turn) % 60]} {cities[at % 10]}" for turn in (0, 1)]
    fitted = Auto().fit(names)
    assert fitted.evidence is not None
    assert fitted.evidence.rarity > 0.5
    assert "rare words are lost as often as common ones" in fitted.reason
    damped = 'ml(words(split="regex"), sub=power(jaro, 6), weights="damped", transpositions="extended")'
    assert str(fitted.measure) == damped
    assert fitted.similarity(*names[:2]) > parse_measure(damped.replace("damped", "idf")).fit(names).similarity(
        *names[:2]
    )
    kept = Auto().fit(people())
    assert kept.evidence is not None
    assert kept.evidence.rarity < -0.5
    assert "rare words are lost less often than common ones" in kept.reason


@pytest.mark.parametrize("names", [[], [""], ["Ann"], ["Ann Smith", "Anne Smith", "Tom Jones"], ["...", "?!", "東京"]])
def test_a_short_list_tells_nothing(names: list[str]) -> None:
    fitted = Auto().fit(names)
    assert "too few names" in fitted.reason
    assert str(fitted.measure) == 'ml(words, sub=power(jaro, 3), transpositions="extended")'


def test_a_matcher_says_what_it_chose_and_keeps_it(tmp_path: Path) -> None:
    names = people(misspelled=True, turned=True)
    matcher = Matcher(n_jobs=1).fit(names)
    assert matcher.measure == "auto"
    assert matcher.measure_ == 'assignment(words(split="regex"), sub=tfidf(trigrams))'
    assert "words change their order" in matcher.reason_
    matcher.add(["Zoe Unheard"] * 3, ids=["x", "y", "z"])
    matcher.save(tmp_path / "m.mill")
    again = textmill.load(tmp_path / "m.mill", expect=Matcher)
    assert (again.measure_, again.reason_) == (matcher.measure_, matcher.reason_)
    assert Matcher(measure="jaro").fit(names).reason_ == ""


@pytest.mark.parametrize("misspelled", [False, True])
def test_pairs_of_the_default_are_those_of_all_scores_for_any_number_of_threads(misspelled: bool) -> None:
    names = [name.lower() for name in people(misspelled=misspelled, turned=True)]
    scores = np.triu(parse_measure("auto").fit(names).matrix(names), 1)
    expected = {(int(i), int(j)) for i, j in np.argwhere(scores >= 0.6 + 1e-6)}
    assert expected
    results = [Matcher(n_jobs=jobs).fit(names).pairs() for jobs in (1, 2, 5)]
    for pairs in results:
        assert expected <= {*zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)}
        assert pairs.score == pytest.approx(scores[pairs.left, pairs.right], abs=1e-6)
        assert pairs.score.tobytes() == results[0].score.tobytes()
