"""N-gram machines, search automata, context dependency, UTF-8 and DNA: worked examples, definitions, peers."""

from __future__ import annotations

import functools
import io
import itertools
import math
import random
import unicodedata

import numpy as np
import pytest

from textmill import fst
from textmill.corpus import Arpa, ArpaOrder, read_arpa
from textmill.errors import DataError
from textmill.lm import NGramModel, arpa_of
from textmill.model import StringTable


def sentence_weight(machine: fst.NGramMachine, sentence: list[str], semiring: str = "tropical") -> float:
    """The weight of a sentence in the machine of a model."""
    text = fst.accep(" ".join(sentence), token_type="symbol", symbols=machine.fst.input_symbols, semiring_name=semiring)
    return float(fst.total_weight(fst.compose(text, machine.fst, phi=machine.phi)))


# ---- n-gram models


def kneser_ney() -> Arpa:
    """The model of {a b, a c, b a b} with interpolated Kneser-Ney, D = 3/4, by hand."""
    words = StringTable(["<s>", "</s>", "a", "b", "c"])
    unigrams = {"</s>": 2 / 7, "a": 2 / 7, "b": 2 / 7, "c": 1 / 7}
    counts = {
        ("<s>", "a"): 2,
        ("<s>", "b"): 1,
        ("a", "b"): 2,
        ("a", "c"): 1,
        ("b", "</s>"): 2,
        ("b", "a"): 1,
        ("c", "</s>"): 1,
    }
    totals = {h: sum(c for (first, _), c in counts.items() if first == h) for h in ("<s>", "a", "b", "c")}
    kinds = {h: sum(first == h for first, _ in counts) for h in totals}
    alpha = {h: 0.75 * kinds[h] / totals[h] for h in totals}
    number = {word: i for i, word in enumerate(words)}
    bigrams = {pair: (c - 0.75) / totals[pair[0]] + alpha[pair[0]] * unigrams[pair[1]] for pair, c in counts.items()}
    first = ArpaOrder(
        np.array([[number[w]] for w in words], dtype=np.int32),
        np.array([math.log10(unigrams[w]) if w in unigrams else -99.0 for w in words]),
        np.array([math.log10(alpha[w]) if w in alpha else 0.0 for w in words]),
    )
    second = ArpaOrder(
        np.array([[number[a], number[b]] for a, b in bigrams], dtype=np.int32),
        np.log10(np.array(list(bigrams.values()))),
        np.zeros(len(bigrams)),
    )
    return Arpa(words, (first, second))


def test_worked_example_of_back_off_and_its_trap() -> None:
    exact = fst.ngram_machine(kneser_ney(), semiring_name="log64")
    assert sentence_weight(exact, ["b", "a", "b"], "log64") == pytest.approx(4.134094, abs=1e-6)
    assert math.exp(-sentence_weight(exact, ["b", "a", "b"], "log64")) == pytest.approx(0.0160172, abs=1e-7)
    trap = fst.ngram_machine(kneser_ney(), back_off="epsilon", semiring_name="log64")
    assert sentence_weight(trap, ["b", "a", "b"], "log64") == pytest.approx(2.700218, abs=1e-6)
    written_out = fst.ngram_machine(kneser_ney(), back_off="expanded", semiring_name="log64")
    assert written_out.phi is None
    assert sentence_weight(written_out, ["b", "a", "b"], "log64") == pytest.approx(4.134094, abs=1e-6)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_machines_score_as_the_model_does(order: int) -> None:
    rng = random.Random(order)
    words = [f"w{i}" for i in range(30)]
    sentences = [[words[min(29, int(rng.expovariate(0.15)))] for _ in range(rng.randint(1, 9))] for _ in range(400)]
    model = NGramModel(order=order).fit(sentences[:300])
    asked = [[word for word in s if model.id_of(word) > 0] or ["w0"] for s in sentences] * 3
    expected = -model.scores(asked[:1000]).log_probability * math.log(10)
    for back_off in ("phi", "expanded"):
        machine = fst.ngram_machine(arpa_of(model), back_off=back_off, semiring_name="log64")
        count = 1000 if back_off == "phi" else 60
        scores = [sentence_weight(machine, sentence, "log64") for sentence in asked[:count]]
        assert np.abs(np.array(scores) - expected[:count]).max() < 1e-9


def test_broken_models_are_refused() -> None:
    head = b"\\data\\\nngram 1=3\nngram 2=1\n\n\\1-grams:\n-99 <s> -0.3\n-0.3 </s>\n-0.3 a -0.2\n\n\\2-grams:\n"
    whole = head + b"-0.1 <s> a\n\n\\end\\\n"
    assert fst.ngram_machine(read_arpa(io.BytesIO(whole))).fst.num_states == 3
    with pytest.raises(DataError, match="no <s>"):
        fst.ngram_machine(read_arpa(io.BytesIO(whole.replace(b"<s>", b"<x>"))))
    with pytest.raises(DataError):
        read_arpa(io.BytesIO(whole.replace(b"ngram 2=1", b"ngram 2=5")))
    missing = Arpa(
        StringTable(["<s>", "</s>", "a"]),
        (
            ArpaOrder(np.array([[0], [1]], dtype=np.int32), np.zeros(2), np.zeros(2)),
            ArpaOrder(np.array([[2, 1]], dtype=np.int32), np.zeros(1), np.zeros(1)),
        ),
    )
    with pytest.raises(DataError, match="'a </s>' has no entry for its context"):
        fst.ngram_machine(missing)


# ---- patterns


def test_worked_examples_of_pattern_matching() -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    wanted = ["he", "she", "his", "hers"]
    search = fst.search_automaton(wanted, letters)
    assert (search.num_states, search.num_arcs) == (5, 130)
    determinized = fst.determinize(fst.rmepsilon(fst.concat(fst.sigma_star(map(ord, letters)), fst.string_map(wanted))))
    assert (determinized.num_states, determinized.num_arcs) == (10, 260)
    assert fst.aho_corasick(wanted, phi=1000).num_states == 10
    suffixes = fst.suffix_automaton("abcbc")
    assert (suffixes.num_states, suffixes.num_arcs) == (8, 9)
    factors = fst.factor_automaton("abcbc")
    assert (factors.num_states, factors.num_arcs) == (6, 7)


def test_search_automata_agree_with_strings() -> None:
    rng = random.Random(2)
    for _ in range(60):
        text = "".join(rng.choice("abc") for _ in range(rng.randint(0, 8)))
        patterns = sorted({"".join(rng.choice("abc") for _ in range(rng.randint(1, 3))) for _ in range(3)})
        failing = fst.aho_corasick(patterns, phi=1000)
        search = fst.search_automaton(patterns, "abc")
        ends = text.endswith(tuple(patterns))
        assert (fst.compose(fst.accep(text), failing, phi=1000, phi_loop=True, phi_finals=False).start >= 0) == ends
        assert (fst.compose(fst.accep(text), search).start >= 0) == ends
        suffixes = {string for string, _, _ in fst.strings(fst.suffix_automaton(text))}
        assert suffixes == {text[i:] for i in range(len(text) + 1)}
        factors = {string for string, _, _ in fst.strings(fst.factor_automaton(text))}
        assert factors == {text[i:j] for i in range(len(text) + 1) for j in range(i, len(text) + 1)}
    with pytest.raises(DataError, match="empty"):
        fst.aho_corasick([""], phi=5)


# ---- sounds


def test_worked_examples_of_context_dependency() -> None:
    small = fst.context_dependency(["a", "b"])
    assert (small.num_states, small.num_arcs) == (8, 20)
    assert small.output_symbols is not None
    assert len(small.output_symbols) - 1 == 18
    text = fst.accep("a b a $", token_type="symbol", symbols=small.input_symbols)
    outputs = [y for _, y, _ in fst.strings(fst.compose(text, small), token_type="symbol")]
    assert outputs == ["e/a_b a/b_a b/a_$"]
    large = fst.context_dependency([f"p{i}" for i in range(40)])
    assert (large.num_states, large.num_arcs) == (1642, 67280)


@pytest.mark.parametrize(("left", "right"), [(0, 1), (1, 0), (2, 1), (1, 2), (2, 2)])
def test_windows_of_any_size_write_the_neighbors(left: int, right: int) -> None:
    machine = fst.context_dependency(["a", "b"], left=left, right=right)
    for length in range(1, 5):
        for phones in itertools.product("ab", repeat=length):
            text = fst.accep(" ".join(phones) + " $", token_type="symbol", symbols=machine.input_symbols)
            expected = []
            padded = ["e"] * left + list(phones) + ["$"] * right
            for i in range(length):
                around = f"{','.join(padded[i : i + left])}/{phones[i]}"
                expected.append(around + (f"_{','.join(padded[i + left + 1 : i + left + 1 + right])}" if right else ""))
            outputs = [y for _, y, _ in fst.strings(fst.compose(text, machine), token_type="symbol")]
            assert outputs == [" ".join(expected)]


@pytest.mark.parametrize(("left", "right"), [(1, 1), (0, 1), (2, 0), (0, 0), (1, 2)])
def test_lazy_contexts_are_those_of_the_whole_machine(left: int, right: int) -> None:
    phones = ["a", "b", "c"]
    whole = fst.context_dependency(phones, left=left, right=right, auxiliary=["#1"])
    on_demand = fst.lazy_context_dependency(phones, left=left, right=right, auxiliary=["#1"]).expand()
    assert on_demand.output_symbols is not None
    renamed = fst.relabel_symbols(on_demand, output_symbols=whole.output_symbols)
    assert fst.isomorphic(renamed, whole)


def test_contexts_of_many_phones_are_made_where_they_are_read() -> None:
    phones = [f"p{i}" for i in range(400)]
    with pytest.raises(DataError, match="lazy_context_dependency"):
        fst.context_dependency(phones, left=2, right=2)
    machine = fst.lazy_context_dependency(phones, left=2, right=2)
    symbols = machine.input_symbols
    word = fst.compile_text("0 1 p7\n1 2 p9\n2 3 p1\n3 4 $\n4", acceptor=True, input_symbols=symbols)
    read = fst.lazy.compose(word, machine).expand()
    names = [machine.output_symbols.symbol(arc.olabel) for s in range(read.num_states) for arc in read.arcs(s)
             if arc.olabel]  # fmt: skip
    assert names == ["e,e/p7_p9,p1", "e,p7/p9_p1,$", "p7,p9/p1_$,$"]


def test_pronunciations_with_homophones_can_be_determinized() -> None:
    words = [("two", "t uw"), ("too", "t uw", 1.0), ("tea", "t iy"), ("tease", "t iy z")]
    machine = fst.pronunciations(words)
    small = fst.minimize(fst.determinize(fst.rmepsilon(machine)))
    read = fst.accep("t uw #1 t iy #1", token_type="symbol", symbols=machine.input_symbols)
    outputs = [y for _, y, _ in fst.strings(fst.compose(read, fst.arcsort(small)), token_type="symbol")]
    assert outputs == ["two tea"]
    with pytest.raises(DataError, match="no phones"):
        fst.pronunciations([("x", " ")])


def test_the_cascade_of_contexts_lexicon_and_grammar_reads_sounds_in_context() -> None:
    lexicon = fst.pronunciations([("two", "t uw"), ("too", "t uw"), ("tea", "t iy"), ("see", "s iy")], end="$")
    model = NGramModel(order=2).fit([["two", "see"], ["see", "tea"], ["tea", "too"]] * 3)
    grammar, phi = fst.ngram_machine(arpa_of(model))
    words = fst.relabel_symbols(lexicon, output_symbols=grammar.input_symbols)
    composed = fst.optimize(fst.compose(words, grammar, phi=phi))
    auxiliary = [symbol for symbol in lexicon.input_symbols if symbol.startswith("#")]
    context = fst.context_dependency(["t", "uw", "iy", "s"], auxiliary=auxiliary)
    context = fst.relabel_symbols(context, input_symbols=lexicon.input_symbols)
    graph = fst.cascade(fst.invert(context), composed)
    sounds = "e/s_iy s/iy_t iy/t_iy t/iy_$"
    heard = fst.accep(sounds, token_type="symbol", symbols=graph.input_symbols)
    best = fst.shortest_path(fst.compose(heard, fst.arcsort(graph)))
    assert [text for _, text, _ in fst.strings(best, token_type="symbol")] == ["see tea"]


# ---- Unicode


def test_the_acceptor_takes_exactly_the_scalar_values() -> None:
    machine = fst.utf8_acceptor(zero=256)
    counts = np.zeros(machine.num_states, dtype=object)
    counts[machine.start] = 1
    total = 0
    while counts.any():
        following = np.zeros_like(counts)
        for state in range(machine.num_states):
            if counts[state]:
                total += counts[state] if machine.is_final(state) and machine.num_arcs_of(state) == 0 else 0
                for arc in machine.arcs(state):
                    following[arc.nextstate] += counts[state]
        counts = following
    assert total == 1_112_064


@pytest.mark.slow
def test_the_acceptor_takes_all_scalar_values_and_no_other_bytes() -> None:
    check_bytes(range(0x110000), 1_000_000)


def test_the_acceptor_takes_some_scalar_values_and_no_other_bytes() -> None:
    check_bytes(range(1, 0x110000, 97), 20_000)


def check_bytes(points: range, invalid: int) -> None:
    machine = fst.utf8_acceptor(zero=256)
    arcs = [{arc.ilabel: arc.nextstate for arc in machine.arcs(s)} for s in range(machine.num_states)]

    def accepts(content: bytes) -> bool:
        state = machine.start
        for byte in content:
            state = arcs[state].get(byte or 256, -1)
            if state < 0:
                return False
        return machine.is_final(state)

    for point in points:
        assert accepts(chr(point).encode("utf-8", "surrogatepass")) == (not 0xD800 <= point < 0xE000)
    rng = random.Random(7)
    checked = 0
    while checked < invalid:
        content = rng.randbytes(rng.randint(1, 4))
        try:
            valid = len(content.decode()) == 1
        except UnicodeDecodeError:
            valid = False
        assert accepts(content) == valid
        checked += not valid


def test_case_and_normal_forms_agree_with_python() -> None:
    folding, decomposed = fst.case_folding(), fst.decomposition()
    latin = [chr(point) for point in range(0xC0, 0x250)]
    composed = fst.recomposition(latin)
    for text in ("Straße ΣΊΣΥΦΟΣ İstanbul", "Ångström café ǖ 한국 ﬁ", "".join(latin[:100]), "plain"):
        assert fst.apply(folding, [text], token_type="byte")[0][0][0] == text.casefold()
        assert fst.apply(decomposed, [text], token_type="byte")[0][0][0] == unicodedata.normalize("NFD", text)
    for letter in latin:
        answer = fst.apply(composed, [unicodedata.normalize("NFD", letter) + "x"], token_type="byte")
        assert answer[0][0][0] == letter + "x"
    points = fst.bytes_to_code_points("aé€")
    read = fst.accep("é€a", token_type="byte")
    assert [outputs for _, outputs, _ in fst.strings(fst.project(fst.compose(read, points), "output"))] == ["é€a"]


# ---- DNA


def test_many_machines_are_joined_as_one_by_one():
    machines = [fst.accep(text) for text in ("ab", "", "b", "abc")]
    machines.append(fst.closure(fst.accep("d")))
    machines.insert(2, fst.Fst())  # without a start
    for order in (machines, machines[::-1]):
        one_by_one = functools.reduce(fst.union, order)
        assert fst.equivalent(fst.optimize(fst.union(*order)), fst.optimize(one_by_one))
    with_start = [machine for machine in machines if machine.num_states]
    assert fst.equal(fst.concat(*with_start), functools.reduce(fst.concat, with_start))
    assert fst.concat(*machines).start == -1
    assert fst.equal(fst.union(machines[0]), machines[0])
    with pytest.raises(DataError, match="different semirings, tropical and log"):
        fst.union(machines[0], machines[1], fst.convert(machines[0], "log"))


def test_a_hundred_thousand_machines_are_joined_at_once():
    joined = fst.union(*(fst.accep(str(i)) for i in range(100_000)))
    assert joined.num_arcs == 99_999 + sum(len(str(i)) for i in range(100_000))
    assert [len(answer) for answer in fst.apply(joined, ["77777", "100000"])] == [1, 0]
