"""The checks that decide whether the package is right: filters, minimality, stochasticity, back-off scores, endings."""

from __future__ import annotations

import math
import random
import re
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from reference.fst import arpa_score, backoff_acceptor, random_fst, relation, residuals

import textmill.fst as wfst
from textmill.corpus.arpa import Arpa, read_arpa
from textmill.errors import DataError
from textmill.lm import NGramModel, to_arpa

# ---- 5: filters


@pytest.mark.parametrize("cyclic", [False, True])
def test_filters_that_are_safe_give_one_total_weight_in_the_log_semiring(cyclic: bool) -> None:
    dice = random.Random(50)
    counted_twice = 0
    for _ in range(300):
        a, b = (
            wfst.arcmap(random_fst(dice, "log64", epsilon=0.4, cyclic=cyclic), "times", weight=3.0) for _ in range(2)
        )
        weights = {name: wfst.total_weight(wfst.compose(a, b, compose_filter=name)) for name in wfst.FILTERS}
        for name in ("auto", "alt_sequence", "match"):
            assert weights[name] == pytest.approx(weights["sequence"], abs=1e-12)
        # these count paths with epsilons on both sides several times, or not at all
        assert weights["trivial"] <= weights["no_match"] + 1e-12
        assert weights["no_match"] <= weights["sequence"] + 1e-12
        assert weights["null"] >= weights["sequence"] - 1e-12
        counted_twice += weights["trivial"] < weights["sequence"] - 1e-9
    assert counted_twice > 10


# ---- 6: minimality


@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_determinized_and_minimized_machines_have_a_state_for_each_residual_language(count: int) -> None:
    dice = random.Random(60)
    for _ in range(count):
        a = random_fst(dice, "boolean", states=7, arcs=16, acceptor=True, epsilon=0.1)
        words = {x for x, _ in relation(a)}
        made = wfst.minimize(wfst.determinize(wfst.rmepsilon(a)))
        assert made.num_states == (residuals(words) if words else 0)
        tropical = wfst.arcmap(wfst.convert(a, "tropical"), "rmweight")
        assert wfst.minimize(wfst.determinize(wfst.rmepsilon(tropical))).num_states == made.num_states


# ---- 7: stochasticity


@pytest.mark.parametrize("name", ["log64", "real"])
@pytest.mark.parametrize("cyclic", [False, True])
@pytest.mark.parametrize("states", [6, 100])
def test_every_state_sums_to_one_after_pushing(name: str, cyclic: bool, states: int) -> None:
    dice = random.Random(70)
    for _ in range(200 if states == 6 else 5):
        a = random_fst(dice, name, states=states, arcs=3 * states, cyclic=cyclic)
        degree = max(a.num_arcs_of(state) for state in range(states)) + 1
        share = math.log(degree * 4) if name == "log64" else 0.25 / degree
        a = wfst.connect(wfst.arcmap(a, "times", weight=share))
        if a.start < 0:
            continue
        made = wfst.push(a, remove_total_weight=True)
        for state in range(made.num_states):
            weights = [arc.weight for arc in made.arcs(state)] + [made.final(state)]
            masses = [math.exp(-w) for w in weights] if name == "log64" else weights
            assert abs(math.fsum(masses) - 1) < 1e-12
        assert wfst.rand_equivalent(a, wfst.push(a), npath=5, max_length=20, delta=1e-9)


# ---- 8: back-off scores


def check_scores(model: NGramModel, arpa: Arpa, sentences: list[list[str]]) -> None:
    ids = {word: i for i, word in enumerate(arpa.words.to_list())}
    begin, end, phi = ids["<s>"], ids["</s>"], len(ids) + 1
    machines = {name: backoff_acceptor(arpa, begin, end, phi, name) for name in ("log64", "tropical64")}
    expected = model.scores(sentences).log_probability * math.log(10)
    for i, sentence in enumerate(sentences):
        labels = [ids.get(word, ids["<unk>"]) for word in sentence]
        if i < 20:
            assert arpa_score(arpa, labels, begin, end) == pytest.approx(expected[i], abs=1e-9)
        for name, machine in machines.items():
            text = wfst.compile_text(
                "".join(f"{j} {j + 1} {label + 1} {label + 1}\n" for j, label in enumerate(labels))
                + f"{len(labels)}\n",
                semiring_name=name,
            )
            assert wfst.total_weight(wfst.compose(text, machine, phi=phi)) == pytest.approx(-expected[i], abs=1e-9)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_phi_scores_equal_the_arpa_definition_on_a_thousand_sentences(order: int, tmp_path: Path) -> None:
    dice = random.Random(80 + order)
    words = [f"w{i}" for i in range(30)]
    drawn = [dice.choices(words, weights=range(30, 0, -1), k=dice.randint(1, 8)) for _ in range(2000)]
    model = NGramModel(order=order).fit(drawn[:1000])
    to_arpa(model, tmp_path / "model.arpa")
    sentences = [[dice.choice([*sentence, "never-seen"]) for _ in sentence] for sentence in drawn[1000:]]
    check_scores(model, read_arpa(tmp_path / "model.arpa"), sentences)


# ---- 11: what would never end


W3 = "0 1 1 1 1\n0 2 1 1 2\n1 1 2 2 3\n1 3 3 3 5\n2 2 2 2 4\n2 3 {} {} 6\n3\n"


def ring(name: str, weight: float, label: int, states: int = 100) -> wfst.Fst:
    """Too many states for elimination: summed by iteration."""
    fst = wfst.Fst(name)
    fst.add_states(states)
    fst.start = 0
    fst.set_final(0)
    for state in range(states):
        fst.add_arc(state, label, label, weight, (state + 1) % states)
    return fst


def gallic_loops() -> wfst.Fst:
    fst = wfst.Fst("gallic(tropical)")
    fst.add_states(2)
    fst.start = 0
    fst.set_final(1)
    for label in (1, 2):
        fst.add_arc(0, 0, 0, (((label,), 0.0),), 0)
    fst.add_arc(0, 1, 1, None, 1)
    return fst


def dense() -> wfst.Fst:
    dice = random.Random(1)
    fst = wfst.Fst()
    fst.add_states(300)
    fst.start = 0
    fst.set_final(5)
    for state in range(300):
        for _ in range(20):
            label = dice.randint(1, 3)
            fst.add_arc(state, label, label, dice.random(), dice.randrange(300))
    return fst


ENDLESS: dict[str, tuple[Callable[[], Any], str]] = {
    "twins": (lambda: wfst.determinize(wfst.compile_text(W3.format(4, 4))), "the string 1 leads to the states"),
    "factors that pile up": (
        lambda: wfst.factor_weight(wfst.compile_text("0 0 1 1 1_2\n0\n", semiring_name="left_string")),
        "hold more labels than it has arcs",
    ),
    "twins of a dense machine": (lambda: wfst.determinize(dense()), "the string .* leads to the states"),
    "twins, disambiguated": (
        lambda: wfst.disambiguate(wfst.compile_text(W3.format(3, 3))),
        "the string 1 leads to the states 1 and 2",
    ),
    "outputs that grow apart": (
        lambda: wfst.determinize(wfst.compile_text("0 1 1 2\n0 2 1 3\n1 1 1 2\n2 2 1 3\n1 3 4 4\n2 3 5 5\n3\n")),
        "after the input 1 1 1 .* output labels are still undecided",
    ),
    "outputs that multiply": (
        lambda: wfst.determinize(wfst.compile_text("0 0 1 2\n0 0 1 3\n0\n"), det_type="nonfunctional"),
        "after the input 1 1 1 .* outputs are still possible",
    ),
    "two outputs": (
        lambda: wfst.determinize(wfst.compile_text("0 1 1 2\n0 1 1 3\n1 2 4 4\n2\n")),
        "not functional: the input 1",
    ),
    "mass one": (lambda: wfst.total_weight(wfst.compile_text("0 0 1 1 0\n0\n", semiring_name="log64")), "state 0"),
    "mass one, many states": (lambda: wfst.total_weight(ring("log64", 0.0, 1)), "no limit"),
    "mass above one, many states": (lambda: wfst.total_weight(ring("log64", -1.0, 1)), "no limit"),
    "mass above one, real": (lambda: wfst.total_weight(ring("real", 1.5, 1)), "no limit"),
    "epsilons of mass one": (lambda: wfst.rmepsilon(ring("log64", 0.0, 0, 5)), "no limit"),
    "epsilons of mass one, many states": (lambda: wfst.rmepsilon(ring("log64", 0.0, 0)), "no limit"),
    "pushing mass one": (lambda: wfst.push(ring("real", 1.0, 1)), "no limit"),
    "negative cycle": (lambda: wfst.shortest_path(ring("tropical", -1.0, 1)), "negative cycle"),
    "negative cycle, n best": (lambda: wfst.shortest_path(ring("tropical", -1.0, 1), 5), "negative cycle"),
    "negative cycle, pruned": (lambda: wfst.prune(ring("tropical", -1.0, 1), weight=1.0), "negative cycle"),
    "cyclic replacement": (
        lambda: wfst.replace({5: wfst.compile_text("0 1 6 6\n1\n"), 6: wfst.compile_text("0 1 5 5\n1\n")}, 5),
        "label 5 calls itself",
    ),
    "unbounded delay": (
        lambda: wfst.synchronize(wfst.concat(wfst.compile_text("0 0 1 0\n0 0 2 0\n0\n"), wfst.accep("a" * 60))),
        "the input .* leads to state",
    ),
    "unbounded delay of the output": (lambda: wfst.synchronize(wfst.compile_text("0 1 7 7\n1 1 0 1\n1\n")), "input 7 "),
    "outputs without input": (
        lambda: wfst.epsnormalize(wfst.compile_text("0 1 7 7\n1 1 0 1\n1 1 0 2\n1\n")),
        "input 7 ",
    ),
    "outputs held back": (
        lambda: wfst.epsnormalize(wfst.compile_text("0 0 7 7\n0 1 1 2\n0 1 1 4\n1 0 0 3\n1 0 0 5\n0\n")),
        "a cycle writes more than it reads.* input .* leads to state",
    ),
    "strings of a cycle": (lambda: list(wfst.strings(wfst.compile_text("0 0 1 1\n0\n"))), "max_length"),
    "sets of strings that grow": (lambda: wfst.rmepsilon(gallic_loops()), "no limit"),
    "sets that grow inside of others": (lambda: wfst.epsnormalize(gallic_loops()), "no limit"),
    "sum of sets that grow": (lambda: wfst.total_weight(gallic_loops()), "no limit"),
    "a path that hardly ends": (
        lambda: wfst.randgen(wfst.compile_text("0 0 1 1 0\n0 60\n"), select="log_prob"),
        "pass max_length",
    ),
    "a million repetitions of a large machine": (lambda: wfst.repeat(dense(), 10**7), "states"),
}


@pytest.mark.parametrize("case", ENDLESS)
def test_what_would_never_end_is_refused(case: str) -> None:
    call, words = ENDLESS[case]
    with pytest.raises(DataError, match=words):
        call()


def test_paths_that_lead_nowhere_are_left_alone() -> None:
    """Negative or endless cycles behind which there is no end belong to no path."""
    dead = wfst.compile_text("0 1 0 0\n1 1 0 0 -1\n0 0 3 3 1\n0\n", semiring_name="tropical64")
    assert [w for _, _, w in wfst.strings(wfst.shortest_path(dead, 3, unique=True))] == [0.0, 1.0, 2.0]
    assert [w for _, _, w in wfst.strings(wfst.shortest_path(dead, 3))] == [0.0, 1.0, 2.0]
    caught = wfst.compile_text("0 1 1 1\n1 1 1 1\n0\n")
    assert 0 < wfst.randgen(caught, 40).num_states < 40
    assert wfst.synchronize(wfst.compile_text("0 1 1 0\n1 1 1 0\n0\n")).num_states == 1
    assert wfst.epsnormalize(wfst.compile_text("0 1 0 1\n1 1 0 1\n0\n")).num_states == 1


@pytest.mark.data
def test_phi_scores_equal_the_arpa_definition_on_real_sentences(data: Path, tmp_path: Path) -> None:
    sentences: list[list[str]] = []
    with tarfile.open(data / "brown" / "brown.tar.gz") as archive:
        for member in archive:
            if len(sentences) >= 2000:
                break
            if re.fullmatch(r".*/c[a-r]\d\d", member.name):
                text = archive.extractfile(member).read().decode()  # type: ignore[union-attr]
                rows = ([token.rpartition("/")[0] for token in line.split()] for line in text.splitlines())
                sentences += [row for row in rows if row]
    model = NGramModel(order=3).fit(sentences[:1000])
    to_arpa(model, tmp_path / "model.arpa")
    check_scores(model, read_arpa(tmp_path / "model.arpa"), sentences[1000:2000])
