"""Alignment by EM: the numbers of the papers, enumeration of all alignments, identities, bad input."""

from __future__ import annotations

import itertools
import math
import pickle
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reference import alignments as reference

import textmill
from textmill import fst
from textmill.corpus import SkippedRecords
from textmill.errors import DataError, ModelFileError
from textmill.fst import Alignment, Link, StringAligner, bag_counts, bag_weights, parse_alignment

W1 = [("ab", "AB"), ("b", "B"), ("ba", "BA")]
KANJI = [(["X", "Y"], ["a", "bu", "ka", "wa"]), (["Y", "Z"], ["ka", "wa", "da"]), (["W", "Z"], ["ta", "da"])]
CHANNEL: dict[str, Any] = {
    "max_output": 3,
    "deletions": False,
    "insertions": False,
    "normalization": "conditional",
    "tolerance": 0.0,
}
LEXICON = [
    ("texte", "tEkst"),
    ("tete", "tEt"),
    ("taxe", "taks"),
    ("luxe", "lyks"),
    ("reste", "REst"),
    ("axe", "aks"),
    ("cote", "kot"),
    ("sec", "sEk"),
]
RULES = [("x", "ks"), ("e", "E"), ("e", ""), ("t", "t"), ("a", "a"), ("u", "y"), ("l", "l"), ("c", "k"), ("s", "s")]
RULES += [("o", "o"), ("r", "R")]
SUBSTITUTION_INSERTION_DELETION = ("substitution", "insertion", "deletion")


def probabilities(aligner: StringAligner) -> dict[Link, float]:
    return dict(zip(aligner.links_, np.exp(aligner.log_probabilities_).tolist(), strict=True))


def link(inputs: str, outputs: str) -> Link:
    return (tuple(inputs), tuple(outputs))


# ---- the numbers of the papers


def test_em_has_the_likelihoods_and_probabilities_of_the_worked_example() -> None:
    aligner = StringAligner(max_iter=3, tolerance=0.0).fit(W1)
    assert aligner.trace_ == pytest.approx([-8.950461, -5.873600, -4.031729], abs=1e-6)
    one = StringAligner(max_iter=1).fit(W1)
    found = probabilities(one)
    assert one.counts_.sum() == pytest.approx(6.216949, abs=1e-6)
    assert found[link("b", "B")] == pytest.approx(0.346783, abs=1e-6)
    assert found[link("a", "A")] == pytest.approx(0.218103, abs=1e-6)
    assert found[link("b", "")] == found[link("", "B")] == pytest.approx(0.113959, abs=1e-6)
    assert found[link("a", "")] == found[link("", "A")] == pytest.approx(0.081788, abs=1e-6)
    assert found[link("a", "B")] == found[link("b", "A")] == pytest.approx(0.021810, abs=1e-6)
    two = probabilities(StringAligner(max_iter=2, tolerance=0.0).fit(W1))
    assert (two[link("b", "B")], two[link("a", "A")]) == pytest.approx((0.520297, 0.350509), abs=1e-6)
    three = probabilities(aligner)
    assert (three[link("b", "B")], three[link("a", "A")]) == pytest.approx((0.593247, 0.396790), abs=1e-6)
    limit = StringAligner(max_iter=100, tolerance=1e-12).fit(W1)
    assert limit.converged_
    assert limit.trace_[-1] == pytest.approx(-3.365058, abs=1e-6)
    found = probabilities(limit)
    assert (found[link("b", "B")], found[link("a", "A")]) == pytest.approx((0.6, 0.4))


def test_the_channel_of_readings_is_learned_as_in_the_worked_example() -> None:
    start = StringAligner(max_iter=0, **CHANNEL).fit(KANJI)
    readings = {u[0]: [] for u, _ in start.links_}
    for u, v in start.links_:
        readings[u[0]].append("".join(v))
    assert {kanji: sorted(found) for kanji, found in readings.items()} == {
        "X": ["a", "abu", "abuka"],
        "Y": ["bukawa", "ka", "kawa", "wa"],
        "Z": ["da", "wada"],
        "W": ["ta"],
    }

    def reading(aligner: StringAligner, kanji: str, syllables: str) -> float:
        return probabilities(aligner).get(((kanji,), tuple(syllables.split())), 0.0)

    one = StringAligner(max_iter=1, **CHANNEL).fit(KANJI)
    first = [reading(one, "Y", syllables) for syllables in ("bu ka wa", "ka wa", "wa", "ka")]
    assert first == pytest.approx([0.1667, 0.4167, 0.1667, 0.25], abs=1e-4)
    assert reading(one, "Z", "da") == pytest.approx(0.75)
    two = StringAligner(max_iter=2, **CHANNEL).fit(KANJI)
    assert reading(two, "X", "a bu") == pytest.approx(0.5556, abs=1e-4)
    assert reading(two, "Y", "ka wa") == pytest.approx(0.6944, abs=1e-4)
    assert reading(two, "Z", "da") == pytest.approx(0.9167, abs=1e-4)
    limit = StringAligner(max_iter=200, **CHANNEL).fit(KANJI)
    assert [reading(limit, *k) for k in (("X", "a bu"), ("Y", "ka wa"), ("Z", "da"))] == pytest.approx([1, 1, 1])


def test_a_last_viterbi_step_leaves_the_links_of_best_alignments() -> None:
    aligner = StringAligner(max_iter=2, method="em+viterbi", **CHANNEL).fit(KANJI)
    assert {(u[0], " ".join(v)) for u, v in aligner.links_} == {("X", "a bu"), ("Y", "ka wa"), ("Z", "da"), ("W", "ta")}
    assert aligner.log_probabilities_ == pytest.approx(0.0)


def test_a_name_of_four_syllables_and_two_characters_has_three_segmentations() -> None:
    aligner = StringAligner(max_iter=0, **CHANNEL).fit(KANJI)
    found = [a.text(within="+") for a in aligner.nbest(KANJI[:1], 10)[0]]
    assert sorted(found) == ["X:a Y:bu+ka+wa", "X:a+bu Y:ka+wa", "X:a+bu+ka Y:wa"]


def test_bag_counts_are_those_of_the_worked_example() -> None:
    counts = bag_counts([("texte", "tEkst")])
    expected = {"t:": 10, "t:t": 4, "t:k": 2, "e:E": 2, "x:": 5, "e:": 10, ":t": 10, ":k": 5}
    assert {name: counts[link(*name.split(":"))] for name in expected} == expected
    assert sum(counts.values()) == 75
    assert sum(bag_counts([("texte", "tEkst")], empty=True).values()) == 100


@settings(max_examples=40)
@given(st.lists(st.tuples(st.text("abc", max_size=6), st.text("xy", max_size=6)), max_size=5))
def test_the_mass_of_bags_follows_from_the_lengths(pairs: list[tuple[str, str]]) -> None:
    mass = sum((len(x) + len(y)) ** 2 - len(x) * len(y) for x, y in pairs)
    assert sum(bag_counts(pairs).values()) == mass
    assert sum(bag_counts(pairs, empty=True).values()) == mass + sum(len(x) * len(y) for x, y in pairs)


def bag_aligner(**options: Any) -> StringAligner:
    table = bag_weights(LEXICON, **options)
    return StringAligner.from_weights(table, ties=SUBSTITUTION_INSERTION_DELETION)


def shown(found: Alignment | None) -> tuple[str, float]:
    assert found is not None
    return found.text(empty="."), round(-found.log_probability, 4)


def test_bags_align_the_toy_lexicon_as_in_the_worked_example() -> None:
    assert sum(bag_counts(LEXICON).values()) == 360
    aligner = bag_aligner()
    assert len(aligner.links_) == 109
    texte, tete, taxe = ([shown(a) for a in found] for found in aligner.nbest([LEXICON[k] for k in (0, 1, 2)], 200))
    assert texte[:2] == [("t:t e:E x:k t:s e:t", 20.0664), ("t:t e:E x:k .:s t:t e:.", 20.6284)]
    assert tete[0] == ("t:t e:E t:t e:.", 13.2708)
    assert taxe[0] == ("t:t a:a x:k e:s", 17.0752)
    assert dict(taxe)["t:t a:a x:k .:s e:."] == 18.2030


def test_rules_repair_the_alignments_of_the_worked_example() -> None:
    assert sum(bag_counts(RULES).values()) == 35
    aligner = bag_aligner(rules=RULES, weights=(0.9, 0.09, 0.01))
    texte, tete, taxe, luxe = ([shown(a) for a in found] for found in aligner.nbest(LEXICON[:4], 2))
    assert texte == [("t:t e:E x:k .:s t:t e:.", 19.5758), ("t:t e:E .:k x:s t:t e:.", 19.5789)]
    assert taxe == [("t:t a:a x:k .:s e:.", 16.0664), ("t:t a:a x:k e:. .:s", 16.0664)]
    assert luxe[0] == ("l:l u:y x:k .:s e:.", 16.1675)
    assert tete[0] == ("t:t e:E t:t e:.", 13.4676)
    assert [shown(a) for a in aligner.align(LEXICON[:4])] == [found[0] for found in (texte, tete, taxe, luxe)]
    aligner.set_params(ties=("substitution", "deletion", "insertion"))
    assert shown(aligner.align([LEXICON[2]])[0])[0] == "t:t a:a x:k e:. .:s"


def test_rules_alone_leave_entries_that_are_reported() -> None:
    table = bag_weights(LEXICON, rules=RULES[:-1], weights=(1.0, 0.0, 0.0))
    with pytest.raises(DataError, match=r"pair 5 of 5 x 4 symbols has no alignment .* errors='skip'"):
        StringAligner(max_iter=0).fit(LEXICON, start=table)
    with pytest.warns(SkippedRecords, match="1 bad record skipped"):
        aligner = StringAligner(max_iter=0).fit(LEXICON, start=table, errors="skip")
    assert aligner.unaligned_.tolist() == [4]
    assert aligner.align(LEXICON)[4] is None


@pytest.mark.parametrize(("limit", "number"), [(None, 1683), (1, 462)])
def test_five_letters_and_five_phonemes_have_as_many_alignments_as_they_should(limit: int | None, number: int) -> None:
    aligner = StringAligner(max_iter=0, max_insertions_per_gap=limit).fit([("texte", "tEkst")])
    found = aligner.nbest([("texte", "tEkst")], 5000)[0]
    assert len(found) == len({a.links for a in found}) == number
    assert number == sum(1 for _ in reference.alignments("texte", "tEkst", max_insertions_per_gap=limit))


def test_the_delannoy_number_of_six_and_four() -> None:
    aligner = StringAligner(max_iter=0).fit([("abcdef", "wxyz")])
    assert len(aligner.nbest([("abcdef", "wxyz")], 5000)[0]) == 1289


# ---- against enumeration

LIMITS: list[dict[str, Any]] = [
    {},
    {"max_insertions_per_gap": 1},
    {"max_insertions_per_gap": 2, "max_output": 2},
    {"insertions": False, "max_output": 2},
    {"deletions": False, "max_input": 3},
    {"max_input": 2, "max_output": 2},
    {"max_input": 2, "max_output": 3, "many_to_many": True, "insertions": False, "deletions": False},
]


def weights_of(limits: dict[str, Any], pairs: list[tuple[str, str]], seed: int) -> dict[Link, float]:
    """Random weights, some of them equal and some missing, for the links of pairs."""
    rng = random.Random(seed)
    links = {link for x, y in pairs for found in reference.alignments(x, y, **limits) for link in found}
    return {link: rng.choice([0.5, 0.3, 0.07, rng.random()]) for link in sorted(links) if rng.random() < 0.9}


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_sums_counts_and_best_alignments_are_those_of_enumeration(limits: dict[str, Any]) -> None:
    rng = random.Random(1)
    ties_of = list(itertools.permutations(fst.align.KINDS))
    for seed in range(25):
        pairs = [("".join(rng.choices("ab", k=rng.randint(0, 5))), "".join(rng.choices("xy", k=rng.randint(0, 5))))]
        table = weights_of(limits, pairs, seed)
        if not table:
            continue
        ties = ties_of[seed % 6]
        aligner = StringAligner.from_weights(table, ties=ties, **limits)
        x, y = pairs[0]
        whole = reference.total(x, y, table, **limits)
        score = aligner.score_samples(pairs)[0]
        best = aligner.nbest(pairs, 10_000)[0]
        expected = reference.ranked(x, y, table, ties, **limits)
        assert [found.links for found in best] == expected
        for found in best:
            assert math.exp(found.log_probability) == pytest.approx(reference.weight(found.links, table))
        one = aligner.align(pairs)[0]
        if not whole:
            assert np.isneginf(score)
            assert one is None
            assert not aligner.posterior_counts(pairs).any()
            continue
        assert score == pytest.approx(math.log(whole), abs=1e-12)
        assert one == best[0]
        counts = dict(zip(aligner.links_, aligner.posterior_counts(pairs).tolist(), strict=True))
        by_hand = reference.expected_counts(x, y, table, **limits)
        assert {found: c for found, c in counts.items() if c} == pytest.approx({k: v for k, v in by_hand.items() if v})
        places: dict[Link, float] = {}
        for place in aligner.posteriors(pairs[0]):
            assert place.link[0] == tuple(x[place.input : place.input + len(place.link[0])])
            assert place.link[1] == tuple(y[place.output : place.output + len(place.link[1])])
            places[place.link] = places.get(place.link, 0.0) + place.probability
        assert places == pytest.approx({k: v for k, v in by_hand.items() if v})


@pytest.mark.parametrize("ties", list(itertools.permutations(fst.align.KINDS)))
def test_alignments_of_other_links_that_are_as_good_are_ties_too(ties: tuple[str, str, str]) -> None:
    rng = random.Random(4)
    limits = {"max_input": 2, "max_output": 2}
    for _ in range(20):
        x, y = "".join(rng.choices("ab", k=4)), "".join(rng.choices("xy", k=4))
        links = sorted({one for found in reference.alignments(x, y, **limits) for one in found})
        table = {one: 0.1 ** (len(one[0]) + len(one[1])) for one in links}  # all alignments have the same probability
        found = StringAligner.from_weights(table, ties=ties, **limits).align([(x, y)])[0]
        assert found is not None
        assert found.links == reference.ranked(x, y, table, ties, **limits)[0]


@pytest.mark.parametrize("longest", [4, pytest.param(6, marks=pytest.mark.slow)])
@pytest.mark.parametrize("limit", [None, 1])
def test_a_thousand_best_costs_are_the_least_of_all_alignments(limit: int | None, longest: int) -> None:
    rng = random.Random(5)
    pairs = [
        ("".join(rng.choices("abc", k=rng.randint(0, longest))), "".join(rng.choices("xyz", k=rng.randint(0, longest))))
        for _ in range(1000)
    ]
    table = {link(x, y): rng.random() for x in ["", *"abc"] for y in ["", *"xyz"] if x or y}
    aligner = StringAligner.from_weights(table, max_insertions_per_gap=limit)
    cache: dict[tuple[str, str], float] = {}
    for pair, found in zip(pairs, aligner.align(pairs), strict=True):
        if pair not in cache:
            found_weights = (
                reference.weight(a, table) for a in reference.alignments(*pair, max_insertions_per_gap=limit)
            )
            cache[pair] = max(found_weights, default=0.0)
        if found is None:
            assert cache[pair] == 0.0
        else:
            assert math.exp(found.log_probability) == pytest.approx(cache[pair], rel=1e-12)


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_the_best_path_of_a_composition_is_the_best_alignment(limits: dict[str, Any]) -> None:
    rng = random.Random(2)
    pairs = [
        ("".join(rng.choices("abc", k=rng.randint(1, 6))), "".join(rng.choices("xyz", k=rng.randint(1, 5))))
        for _ in range(60)
    ]
    with warnings.catch_warnings(action="ignore"):
        aligner = StringAligner(max_iter=2, **limits).fit(pairs, errors="skip")
    machine = aligner.to_fst()
    log_machine = aligner.to_fst("log64")
    for pair, found, score in zip(pairs, aligner.align(pairs), aligner.score_samples(pairs), strict=True):
        lattices = []
        for made in (machine, log_machine):
            left = fst.accep(
                " ".join(pair[0]), token_type="symbol", symbols=made.input_symbols, semiring_name=made.semiring.name
            )
            right = fst.accep(
                " ".join(pair[1]), token_type="symbol", symbols=made.output_symbols, semiring_name=made.semiring.name
            )
            lattices.append(fst.compose(fst.compose(left, made), right))
        if found is None:
            assert lattices[0].num_states == 0
            continue
        assert fst.total_weight(lattices[0]) == pytest.approx(-found.log_probability, abs=1e-9)
        assert fst.total_weight(lattices[1]) == pytest.approx(-score, abs=1e-9)
        [(u, v, _)] = fst.strings(fst.shortest_path(lattices[0]), token_type="symbol")
        assert (u.split(), v.split()) == (list(found.input), list(found.output))


# ---- identities of training


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.text("abc", max_size=5), st.text("xyz", max_size=5)), min_size=1, max_size=6),
    st.sampled_from(LIMITS),
    st.sampled_from(["joint", "conditional"]),
)
def test_the_likelihood_never_falls(pairs: list[tuple[str, str]], limits: dict[str, Any], normalization: str) -> None:
    aligner = StringAligner(max_iter=12, tolerance=0.0, normalization=normalization, **limits)
    with warnings.catch_warnings(action="ignore"):
        try:
            aligner.fit(pairs, errors="skip")
        except DataError:  # no pair has an alignment, or only pairs of empty strings
            assume(False)
    assert np.isfinite(aligner.trace_).all()
    assert (np.diff(aligner.trace_) > -1e-9).all()
    found = probabilities(aligner)
    groups: dict[Any, float] = {}
    for one, p in found.items():
        group = one[0] if normalization == "conditional" else None
        groups[group] = groups.get(group, 0.0) + p
    assert list(groups.values()) == pytest.approx([1.0] * len(groups))


def test_smoothing_and_priors_raise_their_own_objective_and_keep_every_link() -> None:
    prior = {link("c", "C"): 2.0, link("a", "A"): 0.5}
    pairs = [*W1, ("abab", "ABB")]
    objectives = []
    for iterations in range(1, 8):
        aligner = StringAligner(max_iter=iterations, tolerance=0.0, smoothing=0.1).fit(pairs, prior=prior)
        found = probabilities(aligner)
        assert len(found) == 9
        assert link("c", "C") in found
        by_hand = sum((0.1 + prior.get(one, 0.0)) * math.log(p) for one, p in found.items())
        objectives.append(aligner.score_samples(pairs).sum() + by_hand)
    assert (np.diff(objectives) > -1e-9).all()
    counts = aligner.counts_ + [0.1 + prior.get(one, 0.0) for one in aligner.links_]
    assert list(found.values()) == pytest.approx(counts / counts.sum())


def test_weights_of_pairs_count_like_repeated_pairs() -> None:
    repeated = StringAligner(max_iter=4, tolerance=0.0).fit([W1[0]] * 3 + W1[1:])
    weighted = StringAligner(max_iter=4, tolerance=0.0).fit(W1, sample_weight=[3, 1, 1])
    assert repeated.links_ == weighted.links_
    assert repeated.log_probabilities_ == pytest.approx(weighted.log_probabilities_)
    assert repeated.posterior_counts([W1[0]] * 3) == pytest.approx(repeated.posterior_counts(W1[:1], sample_weight=[3]))


def test_viterbi_training_counts_best_alignments() -> None:
    pairs = [("abc", "ABC"), ("ab", "AB"), ("c", "C"), ("cab", "CAB")]
    aligner = StringAligner(method="viterbi", max_iter=10, tolerance=0.0).fit(pairs)
    assert (np.diff(aligner.trace_) > -1e-9).all()
    assert {"".join(u) + "".join(v) for u, v in aligner.links_} == {"aA", "bB", "cC"}
    assert aligner.counts_.sum() == 9


def test_restarts_keep_the_best_run() -> None:
    pairs = [("ab", "xy"), ("ba", "yx"), ("aab", "xy"), ("b", "yy")]
    one = StringAligner(max_iter=50).fit(pairs)
    many = StringAligner(max_iter=50, restarts=8, random_state=3).fit(pairs)
    assert many.score(pairs) >= one.score(pairs) - 1e-9
    again = StringAligner(max_iter=50, restarts=8, random_state=3).fit(pairs)
    assert again.fingerprint() == many.fingerprint()


def test_a_table_of_allowed_links_is_obeyed() -> None:
    allowed = [link("a", "x"), link("b", "y"), link("b", ""), link("", "z")]
    with pytest.warns(SkippedRecords):
        aligner = StringAligner().fit([("ab", "xy"), ("bb", "yz"), ("a", "y")], start=allowed, errors="skip")
    assert set(aligner.links_) <= set(allowed)
    assert aligner.unaligned_.tolist() == [2]
    again = StringAligner(max_iter=3).fit([("ab", "x")], start=aligner)
    assert set(again.links_) <= set(aligner.links_)


def test_the_first_step_with_deletions_only_scatters_epsilons() -> None:
    pairs = [("abc", "x"), ("ab", "xy")]
    aligner = StringAligner(insertions=False, max_iter=1).fit(pairs)
    by_hand: dict[Link, float] = {}
    for x, y in pairs:
        every = list(reference.alignments(x, y, insertions=False))
        for found in every:
            for one in found:
                by_hand[one] = by_hand.get(one, 0.0) + 1 / len(every)
    assert dict(zip(aligner.links_, aligner.counts_, strict=True)) == pytest.approx(by_hand)


def random_pairs(number: int, seed: int = 0) -> list[tuple[str, str]]:
    rng = random.Random(seed)
    return [
        ("".join(rng.choices("abcdefgh", k=rng.randint(1, 12))), "".join(rng.choices("stuvwxyz", k=rng.randint(1, 9))))
        for _ in range(number)
    ]


@pytest.mark.parametrize("training", ["em", "viterbi", "em+viterbi"])
def test_models_and_alignments_have_the_same_bytes_for_any_number_of_threads(training: str) -> None:
    pairs = random_pairs(3000)
    made = []
    for jobs in (1, 2, 5):
        aligner = StringAligner(max_input=2, max_output=2, max_iter=4, method=training, n_jobs=jobs).fit(pairs)
        aligner.set_params(n_jobs=None)
        made.append((aligner.fingerprint(), aligner.encode(pairs).links.tobytes(), aligner.nbest(pairs[:300], 3)))
    assert made[0] == made[1] == made[2]


def test_the_order_of_pairs_changes_nothing_but_the_last_bits() -> None:
    pairs = random_pairs(200)
    one, two = (StringAligner(max_iter=5).fit(order) for order in (pairs, pairs[::-1]))
    assert one.links_ == two.links_
    assert one.log_probabilities_ == pytest.approx(two.log_probabilities_, rel=1e-9)


def test_batches_of_pairs_change_nothing_but_the_last_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = random_pairs(500)
    whole = StringAligner(max_iter=3).fit(pairs)
    monkeypatch.setattr("textmill.fst.links._BATCH", 64)
    cut = StringAligner(max_iter=3).fit(pairs)
    assert whole.log_probabilities_ == pytest.approx(cut.log_probabilities_, rel=1e-9)
    assert whole.encode(pairs).links.tolist() == cut.encode(pairs).links.tolist()
    assert whole.nbest(pairs, 2) == [
        [Alignment(a.links, pytest.approx(a.log_probability)) for a in found] for found in cut.nbest(pairs, 2)
    ]


# ---- forms


def test_encoded_alignments_are_the_alignments() -> None:
    pairs = [*random_pairs(50), ("", ""), ("é", "s")]
    aligner = StringAligner().fit(pairs[:50])
    encoded, named = aligner.encode(pairs), aligner.links_
    for k, found in enumerate(aligner.align(pairs)):
        links = tuple(named[e] for e in encoded.links[encoded.begin[k] : encoded.begin[k + 1]])
        assert found == (
            None if np.isneginf(encoded.log_probabilities[k]) else Alignment(links, encoded.log_probabilities[k])
        )
    assert found is None
    assert aligner.align([("", "")]) == [Alignment((), 0.0)]


def test_targets_without_empty_ones_give_back_the_outputs() -> None:
    aligner = StringAligner(max_insertions_per_gap=1).fit(LEXICON)
    for (x, y), found in zip(LEXICON, aligner.align(LEXICON), strict=True):
        assert found is not None
        letters, phonemes = found.padded()
        assert len(letters) == len(phonemes) == 2 * len(x) + 1
        assert "".join(phonemes).replace(".", "") == y
        assert "".join(found.input) == x
    with pytest.raises(DataError, match="two outputs, 'a' and 'b', in one gap; pass max_insertions_per_gap=1"):
        parse_alignment("x:a _:a _:b").padded()
    with pytest.raises(DataError, match="joins several symbols"):
        parse_alignment("x:a|b").padded()


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(
            st.lists(st.text(min_size=1, max_size=3), max_size=2), st.lists(st.text(min_size=1, max_size=3), max_size=2)
        )
        .map(lambda sides: (tuple(sides[0]), tuple(sides[1])))
        .filter(lambda sides: sides[0] or sides[1]),
        max_size=4,
    ),
    st.sampled_from([(":", "|", "_"), ("}", "|", "_"), ("=", "+", ".")]),
)
def test_an_alignment_is_written_and_read_back(links: list[Link], signs: tuple[str, str, str]) -> None:
    options = dict(zip(("between", "within", "empty"), signs, strict=True))
    written = Alignment(tuple(links)).text(**options)
    assert not set("\t\n\r") & set(written)
    assert parse_alignment(written, **options).links == tuple(links)


@pytest.mark.parametrize("text", ["a", "a:b:c", ":b", "a:", "_:_", "a||b:c", "a|_:b", "a:b  c:d"])
def test_text_that_is_no_alignment_is_an_error(text: str) -> None:
    with pytest.raises(DataError, match="is not input:output; write _ for no symbol"):
        parse_alignment(text)


def test_signs_that_could_not_be_read_back_are_refused() -> None:
    for signs in ({"between": "|"}, {"empty": ""}, {"within": " "}, {"between": "\\"}, {"empty": "ab"}):
        with pytest.raises(DataError, match="three different characters"):
            Alignment(()).text(**signs)
    with pytest.raises(DataError, match="cannot be the letters"):
        parse_alignment("", empty="n")


def test_tables_show_wide_letters_and_escape_what_html_would_read() -> None:
    found = Alignment(((("大",), ("o", "o")), (("<b>",), ())))
    assert str(found).splitlines() == ["大  <b>", "oo  ·"]
    assert (
        found._repr_html_()
        == "<table><tr><td>大</td><td>&lt;b&gt;</td></tr><tr><td>o o</td><td>&middot;</td></tr></table>"
    )
    assert str(Alignment(())) == ""


def test_a_model_is_saved_loaded_and_pickled(tmp_path: Path) -> None:
    aligner = StringAligner(max_input=2, max_output=2, insertions=False).fit(LEXICON)
    aligner.save(tmp_path / "a.mill")
    loaded = textmill.load(tmp_path / "a.mill", expect=StringAligner)
    assert loaded.align(LEXICON) == aligner.align(LEXICON)
    assert loaded.ties == aligner.ties
    loaded.save(tmp_path / "b.mill")
    assert (tmp_path / "a.mill").read_bytes() == (tmp_path / "b.mill").read_bytes()
    assert pickle.loads(pickle.dumps(aligner)).align(LEXICON) == aligner.align(LEXICON)  # noqa: S301


@pytest.mark.parametrize("fault", ["log_probabilities_", "inputs_", "limits", "twice"])
def test_a_model_file_with_wrong_values_is_refused(tmp_path: Path, fault: str) -> None:
    aligner = StringAligner().fit(W1)
    if fault == "log_probabilities_":
        aligner.log_probabilities_[0] = np.nan
    elif fault == "inputs_":
        aligner.inputs_[0] = 99
    elif fault == "limits":
        aligner.deletions = False
    else:
        aligner.inputs_[-1], aligner.outputs_[-1] = aligner.inputs_[-2], aligner.outputs_[-2]
    with pytest.raises(ModelFileError):
        aligner.verify()


def test_scikit_learn_can_tune_it() -> None:
    from sklearn.model_selection import GridSearchCV

    search = GridSearchCV(StringAligner(max_iter=3), {"smoothing": [0.01, 1.0]}, cv=2).fit(random_pairs(40))
    assert search.best_params_["smoothing"] in (0.01, 1.0)


def test_symbols_may_hold_separators_and_names_of_epsilon() -> None:
    pairs = [(["a b", "<eps>", "_"], ["x:y", "|"]), (["<eps>"], ["|"])]
    aligner = StringAligner().fit(pairs)
    found = aligner.align(pairs)[0]
    assert found is not None
    assert parse_alignment(found.text()).links == found.links
    assert aligner.to_fst().input_symbols is not None
    assert "<<eps>>" in aligner.to_fst().input_symbols  # type: ignore[operator]


def test_machines_are_made_over_numbers_only() -> None:
    aligner = StringAligner().fit(W1)
    assert fst.total_weight(fst.compose(fst.accep("", semiring_name="real"), aligner.to_fst("real"))) >= 1.0
    with pytest.raises(DataError, match="semiring_name must be one of 'tropical'"):
        aligner.to_fst("minmax")


def test_progress_tells_of_iterations_and_likelihoods() -> None:
    heard: list[Any] = []
    with textmill.progress.reporting(heard.append):
        StringAligner(max_iter=3, tolerance=0.0, restarts=1, random_state=0).fit(W1)
    told = [p for p in heard if p.description == "learning links"]
    assert max(p.done for p in told) == 3
    assert told[-1].figures["log_likelihood"] < 0
    assert any(p.description == "trying starts" for p in heard)


def test_a_generator_is_enough() -> None:
    assert StringAligner().fit(pair for pair in W1).fingerprint() == StringAligner().fit(W1).fingerprint()
    assert (
        StringAligner().fit([(iter(x), iter(y)) for x, y in W1]).fingerprint() == StringAligner().fit(W1).fingerprint()
    )


# ---- long strings


def test_strings_too_long_for_plain_probabilities_are_summed_by_logarithms() -> None:
    x, y = "ab" * 130, "xy" * 125
    table = {link("a", "x"): 1e-3, link("b", "y"): 1e-3, link("a", ""): 1e-4, link("", "x"): 1e-4, link("b", ""): 1e-4}
    aligner = StringAligner.from_weights(table)
    score = aligner.score_samples([(x, y)])[0]
    row = np.full(len(y) + 1, -np.inf)
    logs = {one: math.log(p) for one, p in table.items()}
    for i in range(len(x) + 1):  # the recurrence, with logarithms
        above, row = row, np.full(len(y) + 1, -np.inf)
        for j in range(len(y) + 1):
            terms = [0.0] if i == j == 0 else []
            if i and j:
                terms.append(above[j - 1] + logs.get(link(x[i - 1], y[j - 1]), -np.inf))
            if i:
                terms.append(above[j] + logs.get(link(x[i - 1], ""), -np.inf))
            if j:
                terms.append(row[j - 1] + logs.get(link("", y[j - 1]), -np.inf))
            row[j] = np.logaddexp.reduce(terms)
    assert score == pytest.approx(row[-1], rel=1e-12)
    counts = aligner.posterior_counts([(x, y)])
    read = sum(len(u) * c for (u, _), c in zip(aligner.links_, counts, strict=True))
    assert read == pytest.approx(260, rel=1e-9)
    best = aligner.align([(x, y)])[0]
    assert best is not None
    assert best.log_probability <= score


def test_conditional_weights_that_overflow_are_summed_by_logarithms() -> None:
    aligner = StringAligner.from_weights({link("a", "x"): 1e200, link("a", ""): 1e200})
    assert aligner.score_samples([("aaaa", "xxx")])[0] == pytest.approx(4 * math.log(1e200) + math.log(4))


def test_five_thousand_symbols_are_aligned_in_bounded_memory() -> None:
    x, y = "ab" * 1000, "xy" * 2500
    aligner = StringAligner(max_output=4).fit([("ab", "xyxyy"), ("a", "xy"), ("ba", "xxyy"), ("", "x"), ("b", "")])
    found = aligner.align([(x, y)])[0]
    assert found is not None
    assert (len(found.input), len(found.output)) == (2000, 5000)


def test_a_pair_that_would_take_too_much_memory_is_a_clear_error() -> None:
    aligner = StringAligner().fit(W1)
    long = "a" * 6000
    for use in (aligner.align, aligner.score_samples, aligner.posterior_counts, StringAligner().fit):
        with pytest.raises(DataError, match=r"pair 2 has 6000 x 6000 symbols, .*; cut it into shorter parts"):
            use([("a", "A"), (long, long)])


@pytest.mark.slow
def test_more_best_alignments_than_memory_holds_are_a_clear_error() -> None:
    aligner = StringAligner(max_iter=1).fit(W1)
    with pytest.raises(DataError, match=r"pair 1 has more than 8388608 partial .*; ask for fewer best ones"):
        aligner.nbest([("ab" * 15, "AB" * 15)], 10**9)


# ---- bad input


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([], "there are no pairs to learn from"),
        (["ab"], r"pair 1 is 'ab', not \(input, output\)"),
        ([("a", "b"), ("a",)], r"pair 2 is \('a',\), not \(input, output\)"),
        ([("a", math.nan)], "pair 1 holds nan, not a string or a list of symbols"),
        ([("a", "b"), ("a", [math.nan])], "pair 2: symbol nan is not a string"),
        ([("a", [["b"]])], "pair 1: a symbol is not a string"),
        ([("a", [""])], "pair 1: symbol '' is not a string with something in it"),
        ([("", "")], "there is nothing to learn"),
        ([(["\ud800"], "b")], "lone surrogate"),
    ],
)
def test_pairs_that_cannot_be_used_are_named(pairs: list[Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        StringAligner().fit(pairs)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_input": 0}, "max_input must be a whole number at least 1 and at most 255"),
        ({"max_output": 300}, "max_output"),
        ({"max_insertions_per_gap": 0}, "max_insertions_per_gap"),
        ({"normalization": "both"}, "normalization must be one of 'joint', 'conditional'"),
        ({"method": "soft"}, "method must be one of"),
        ({"smoothing": math.nan}, "smoothing"),
        ({"smoothing": -1.0}, "smoothing"),
        ({"max_iter": -1}, "max_iter"),
        ({"tolerance": -1.0}, "tolerance"),
        ({"restarts": -1}, "restarts"),
        ({"ties": ("substitution", "deletion")}, "ties must name substitution, deletion, insertion once each"),
    ],
)
def test_parameters_out_of_range_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        StringAligner(**options).fit(W1)


def test_weights_that_cannot_be_used_are_named() -> None:
    with pytest.raises(DataError, match=r"the weight of link .* is nan, not a number of 0 or more"):
        StringAligner().fit(W1, start={link("a", "A"): math.nan})
    with pytest.raises(DataError, match="a link is a pair of tuples"):
        StringAligner().fit(W1, start={("a", "A"): 1.0})  # type: ignore[dict-item]
    with pytest.raises(DataError, match="no link is within the limits"):
        StringAligner.from_weights({link("aa", "A"): 1.0})
    with pytest.raises(DataError, match="sample_weight must be 3 numbers of 0 or more"):
        StringAligner().fit(W1, sample_weight=[1.0, math.nan, 1.0])
    with pytest.raises(DataError, match="no pair has an alignment"):
        StringAligner(deletions=False, insertions=False).fit([("a", "")], errors="skip")
    with pytest.raises(DataError, match="three of 0 or more with sum 1"):
        bag_weights(LEXICON, weights=(0.5, 0.5, 0.5))
    with pytest.raises(DataError, match=r"rules have weight 0\.5 but there are none"):
        bag_weights(LEXICON, weights=(0.5, 0.5, 0.0))
    with pytest.raises(DataError, match=r"pairs have weight 0\.9"):
        bag_weights([])
    with pytest.raises(DataError, match="not fitted yet"):
        StringAligner().align(W1)
    with pytest.raises(DataError, match="nothing to score"):
        StringAligner().fit(W1).score([])


def test_pairs_are_read_from_lines(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("box\tB AA K S\t2\n\ne\t\t1\nno tab\nox\tx\tnan\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"pairs.tsv:4: 'no tab' has no tab between input, output and weight"):
        list(fst.read_pairs(path, weighted=True))
    with pytest.warns(SkippedRecords, match="2 bad records"):
        found = list(fst.read_pairs(path, weighted=True, errors="skip"))
    assert [(r.input, r.output, r.weight, r.line) for r in found] == [
        ("box", ["B", "AA", "K", "S"], 2.0, 1),
        ("e", [], 1.0, 3),
    ]
    with pytest.raises(DataError, match="inputs must be one of"):
        list(fst.read_pairs(path, inputs="letters"))


# ---- real data


@pytest.mark.data
def test_alignments_of_nettalk_agree_with_the_hand_made_ones(data: Path) -> None:
    from papers.letter_to_sound.nettalk import read_nettalk

    words = list(read_nettalk(data / "nettalk" / "nettalk.data"))
    pairs = [(word.word, word.phonemes.replace("-", "")) for word in words]
    aligner = StringAligner(insertions=False).fit(pairs)
    right = total = 0
    for word, found in zip(words, aligner.align(pairs), strict=True):
        assert found is not None
        made = "".join(v[0] if v else "-" for _, v in found.links)
        right += sum(a == b for a, b in zip(made, word.phonemes, strict=True))
        total += len(made)
    assert right / total > 0.95


@pytest.mark.data
def test_composition_and_alignment_agree_on_a_thousand_entries(data: Path) -> None:
    records = itertools.islice(fst.read_pairs(data / "g2p-cmu" / "g014b2b.train"), 20_000)
    pairs = [(record.input, record.output) for record in records][::20]
    aligner = StringAligner.from_weights(bag_weights(pairs))
    machine = aligner.to_fst()
    for (x, y), found in zip(pairs, aligner.align(pairs), strict=True):
        left = fst.accep(" ".join(x), token_type="symbol", symbols=machine.input_symbols, semiring_name="tropical64")
        right = fst.accep(" ".join(y), token_type="symbol", symbols=machine.output_symbols, semiring_name="tropical64")
        assert found is not None
        lattice = fst.compose(fst.compose(left, machine), right)
        assert fst.total_weight(lattice) == pytest.approx(-found.log_probability, abs=1e-9)


def test_a_file_of_the_first_format_still_loads() -> None:
    aligner = textmill.load(Path(__file__).parent.parent / "files" / "fst" / "aligner-1.mill", verify=True)
    assert (aligner.tolerance, aligner.method) == (1e-4, "em+viterbi")
    assert aligner.trace_[[0, -1]].tolist() == pytest.approx([-65.51821708, -26.72012483])
    assert (aligner.n_iter_, aligner.converged_) == (10, True)
    assert aligner.align([("fox", ["F", "AA", "K", "S"])])[0].text() == "f:F|AA o:_ x:K|S"
