"""Bags, rules, interpolation and alignments: the worked examples, enumeration, the transducer."""

from __future__ import annotations

import io
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.alignments import alignments

from textmill import fst
from textmill.errors import DataError
from textmill.tasks.pronunciation import (
    PronunciationModel,
    RulePair,
    align_lexicon,
    bag_counts,
    foreign_phonemes,
    make_aligner,
    padded_targets,
    pair_weights,
    read_rules,
    sample_lexicon,
    windows_of,
)
from textmill.tasks.pronunciation.alignment import align_by_nodes
from textmill.tasks.pronunciation.windows import EncodedWords

TOY = ["texte/tEkst", "tete/tEt", "taxe/taks", "luxe/lyks", "reste/REst", "axe/aks", "cote/kot", "sec/sEk"]
PAIRS = [(list(word), list(sounds)) for word, sounds in (entry.split("/") for entry in TOY)]
RULES = b"x -> k s\ne -> E\ne ->\nt -> t\na -> a\nu -> y\nl -> l\nc -> k\ns -> s\no -> o\nr -> R\n"


def test_counts_of_the_worked_example() -> None:
    counts = bag_counts([(tuple("texte"), tuple("tEkst"))])
    expected = {("t", ""): 10, ("t", "t"): 4, ("t", "k"): 2, ("e", "E"): 2, ("x", ""): 5, ("e", ""): 10}
    expected |= {("", "t"): 10, ("", "k"): 5}
    assert {cell: counts[cell] for cell in expected} == expected
    assert sum(counts.values()) == 75
    assert sum(bag_counts([(tuple("texte"), tuple("tEkst"))], both_empty=True).values()) == 100


@given(x=st.text("abc", min_size=1, max_size=8), y=st.text("ABC", min_size=1, max_size=8))
def test_the_mass_of_an_entry_is_that_of_its_bags(x: str, y: str) -> None:
    n, m = len(x), len(y)
    assert sum(bag_counts([(x, y)]).values()) == (n + m) ** 2 - n * m
    assert sum(bag_counts([(x, y)], both_empty=True).values()) == (n + m) ** 2


def test_the_toy_lexicon_is_aligned_as_worked_out_by_hand() -> None:
    counts = bag_counts(PAIRS)
    assert sum(counts.values()) == 360
    links = pair_weights(counts, {}, (0.0, 0.9, 0.1))
    assert min(links.values()) == pytest.approx(0.1 / 109)
    aligner = make_aligner(links)
    best = aligner.nbest(PAIRS, 2)
    assert best[0][0].text() == "t:t e:E x:k t:s e:t"
    assert -best[0][0].log_probability == pytest.approx(20.0664, abs=5e-5)
    assert best[0][1].text() == "t:t e:E x:k _:s t:t e:_"
    assert -best[0][1].log_probability == pytest.approx(20.6284, abs=5e-5)
    assert (best[1][0].text(), round(-best[1][0].log_probability, 4)) == ("t:t e:E t:t e:_", 13.2708)
    assert (best[2][0].text(), round(-best[2][0].log_probability, 4)) == ("t:t a:a x:k e:s", 17.0752)


def test_rules_repair_the_alignments_of_the_toy_lexicon() -> None:
    rules = bag_counts((rule.letters, rule.phonemes) for rule in read_rules(io.BytesIO(RULES)))
    assert sum(rules.values()) == 35
    aligner = make_aligner(pair_weights(bag_counts(PAIRS), rules, (0.9, 0.09, 0.01)))
    best = aligner.nbest(PAIRS, 2)
    assert (best[0][0].text(), round(-best[0][0].log_probability, 4)) == ("t:t e:E x:k _:s t:t e:_", 19.5758)
    assert -best[0][1].log_probability == pytest.approx(19.5789, abs=5e-5)
    # tied exactly with "x:k e:_ _:s": the insertion comes first
    assert (best[2][0].text(), round(-best[2][0].log_probability, 4)) == ("t:t a:a x:k _:s e:_", 16.0664)
    assert (best[3][0].text(), round(-best[3][0].log_probability, 4)) == ("l:l u:y x:k _:s e:_", 16.1675)
    assert round(-best[1][0].log_probability, 4) == 13.4676


def test_the_number_of_alignments_is_that_of_the_paper() -> None:
    assert sum(1 for _ in alignments("texte", "tEkst")) == 1683
    assert sum(1 for _ in alignments("texte", "tEkst", max_insertions_per_gap=1)) == 462


@settings(max_examples=60, deadline=None)
@given(x=st.text("ab", min_size=1, max_size=5), y=st.text("AB", min_size=1, max_size=5), one=st.booleans())
def test_best_alignments_are_the_cheapest_of_all(x: str, y: str, one: bool) -> None:
    gap = 1 if one else None
    links = pair_weights(bag_counts([(x, y), ("ab", "A"), ("b", "BA")]), {}, (0.0, 0.8, 0.2))
    costs = [sum(-math.log(links[e]) for e in path) for path in alignments(x, y, max_insertions_per_gap=gap)]
    best = make_aligner(links, max_insertions_per_gap=gap).align([(x, y)])[0]
    if not costs:
        assert best is None
    else:
        assert best is not None
        assert -best.log_probability == pytest.approx(min(costs), abs=1e-9)


def test_composition_and_shortest_path_cost_what_the_alignment_costs() -> None:
    entries = sample_lexicon(60)
    pairs = [(list(entry.word), list(entry.phonemes)) for entry in entries]
    aligner = make_aligner(pair_weights(bag_counts(pairs), {}, (0.0, 0.9, 0.1)))
    machine = aligner.to_fst()
    for (letters, phonemes), best in zip(pairs, aligner.align(pairs), strict=True):
        left = _string(letters, machine.input_symbols)
        right = _string(phonemes, machine.output_symbols)
        path = fst.shortest_path(fst.compose(fst.compose(left, machine), right))
        assert best is not None
        assert float(fst.total_weight(path)) == pytest.approx(-best.log_probability, abs=1e-9)


def _string(symbols: list[str], table: fst.SymbolTable | None) -> fst.Fst:
    assert table is not None
    machine = fst.Fst("tropical64")
    machine.input_symbols = machine.output_symbols = table
    states = machine.add_states(len(symbols) + 1)
    machine.start = 0
    for i, symbol in enumerate(symbols):
        label = table.key(symbol)
        machine.add_arc(states[i], label, label, None, states[i + 1])
    machine.set_final(states[-1])
    return machine


def test_windows_of_the_worked_example() -> None:
    alignment = fst.parse_alignment("t:t e:E x:k _:s t:t e:_")
    targets = padded_targets(alignment)
    assert [target or "." for target in targets] == [".", "t", ".", "E", ".", "k", "s", "t", ".", ".", "."]
    rows = [" ".join(window) + " -> " + target for window, target in windows_of("texte", targets, 1)]
    assert rows == [
        "$ . t -> .",
        "$ t e -> t",
        "t . e -> .",
        "t e x -> E",
        "e . x -> .",
        "e x t -> k",
        "x . t -> s",
        "x t e -> t",
        "t . e -> .",
        "t e $ -> .",
        "e . $ -> .",
    ]


@pytest.mark.parametrize("method", ["bag", "em", "bigram", "trigram"])
def test_targets_of_every_entry_spell_its_phonemes(method: str) -> None:
    entries = sample_lexicon(150)
    pairs = [(list(entry.word), list(entry.phonemes)) for entry in entries]
    lexicon = align_lexicon(pairs, method=method)
    for i in lexicon.aligned.tolist():
        own = lexicon.targets[lexicon.words.positions[i] : lexicon.words.positions[i + 1]]
        assert [lexicon.names[t] for t in own.tolist() if t] == pairs[i][1]
    assert len(lexicon.aligned) > 145


def test_an_entry_with_too_many_phonemes_is_listed_or_joined() -> None:
    pairs = [(["a"], ["A"]), (["a"], list("ABCD")), (["a", "b"], list("AB"))]
    lexicon = align_lexicon(pairs, method="bag")
    assert lexicon.aligned.tolist() == [0, 2]
    joined = align_lexicon(pairs, method="bag", max_insertions_per_gap=None)
    own = [joined.names[t] for t in joined.targets[3:6].tolist()]
    assert " ".join(filter(None, own)) == "A B C D"
    with pytest.warns(UserWarning, match="1 of 3 entries cannot be aligned"):
        model = PronunciationModel(context=0).fit(["a", "z", "ab"], ["A", "A B C D", "A B"])
    assert model.unaligned_.to_list() == ["z"]


def test_alignment_by_trees_is_the_best_of_all_positions() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        n, m, classes = int(rng.integers(1, 4)), int(rng.integers(1, 5)), 3
        words = EncodedWords(np.array([0, n]), np.zeros(n, np.int32))
        table = rng.dirichlet(np.ones(classes), 2 * n + 1)
        sounds = [str(v) for v in rng.integers(1, classes, m)]
        nodes = np.arange(2 * n + 1, dtype=np.int32)
        names = {"": 0, "1": 1, "2": 2}
        targets, scores = align_by_nodes(words, [sounds], names, nodes, np.log(table), 0, 1)
        best = -math.inf
        for choice in itertools.product(range(classes), repeat=2 * n + 1):
            if [str(c) for c in choice if c] == sounds:
                best = max(best, sum(math.log(table[s, c]) for s, c in enumerate(choice)))
        assert scores[0] == pytest.approx(best) if best > -math.inf else scores[0] == -math.inf
        if best > -math.inf:
            assert [str(t) for t in targets.tolist() if t] == sounds
            assert sum(math.log(table[s, c]) for s, c in enumerate(targets.tolist())) == pytest.approx(best)


def test_rules_are_read_with_contexts_comments_and_empty_sides() -> None:
    text = "ch -> S / a _ e # soft\n# a comment\n\nx\tk s\nh\t\ne → ∅\n".encode()
    assert read_rules(io.BytesIO(text)) == [
        RulePair(("c", "h"), ("S",)),
        RulePair(("x",), ("k", "s")),
        RulePair(("h",), ()),
        RulePair(("e",), ()),
    ]
    with pytest.raises(DataError, match=":1: expected 'letters -> phonemes"):
        read_rules(io.BytesIO(b"nonsense\n"))
    with pytest.raises(DataError, match="needs letters on its left side"):
        read_rules(io.BytesIO(b" -> k\n"))
    assert foreign_phonemes([RulePair(("x",), ("ks",))], [("k", "s")]) == ["ks"]


def test_weights_must_be_a_distribution_and_rules_there() -> None:
    with pytest.raises(DataError, match="sum to 1"):
        pair_weights(bag_counts(PAIRS), {}, (0.5, 0.2, 0.1))
    with pytest.raises(DataError, match="there are no rules"):
        pair_weights(bag_counts(PAIRS), {}, (0.5, 0.4, 0.1))
