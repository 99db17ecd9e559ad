"""Strings and machines, and one machine applied to many strings."""

from __future__ import annotations

import random
import re
import signal
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from reference.fst import random_fst

import textmill.fst as wfst
from textmill.errors import DataError
from textmill.fst import Weight


def test_token_types() -> None:
    symbols = wfst.SymbolTable(["<eps>", "ab", "c"])
    for token_type, text, labels in (("utf8", "né", [110, 233]), ("byte", "é", [195, 169]), ("symbol", "c ab", [2, 1])):
        assert wfst.labels_of(text, token_type, symbols) == labels
        assert wfst.text_of(labels, token_type, symbols) == text
    with pytest.raises(DataError, match="'zz' is not in the table"):
        wfst.accep("zz", token_type="symbol", symbols=symbols)
    with pytest.raises(DataError, match="label 0"):
        wfst.accep("a\0b")
    with pytest.raises(DataError, match="not text"):
        wfst.text_of([200], "byte")


def test_maps_of_strings_share_prefixes_and_sum_equal_pairs() -> None:
    pairs = [("ab", "x", 1.0), ("ac", "x"), ("ab", "x", 0.5), ("", "yz", 2.0), ("ab", "", 3.0)]
    fst = wfst.string_map(pairs)
    assert (fst.num_states, fst.num_arcs, fst.start) == (8, 7, 0)
    found = {(x, y): weight for x, y, weight in wfst.strings(fst)}
    assert found == {("ab", "x"): 0.5, ("ac", "x"): 0.0, ("", "yz"): 2.0, ("ab", ""): 3.0}
    counts = wfst.string_map([("a", "b", 0.25)] * 3, semiring_name="real")
    assert [weight for _, _, weight in wfst.strings(counts)] == [0.75]
    dice = random.Random(2)
    many = [("".join(dice.choices("abc", k=dice.randint(0, 9))), dice.choice("xyz")) for _ in range(5000)]
    assert {(x, y) for x, y, _ in wfst.strings(wfst.string_map(many))} == set(many)
    assert list(wfst.strings(wfst.string_map([]))) == []
    for bad, message in (
        (("a",), "pairs:2: ('a',) is not"),
        (("a", "b", "heavy"), "pairs:2: 'heavy' is not a weight"),
        (("a\0", "b"), "pairs:2: the text holds label 0"),
        (("a", 3), "pairs:2: not a text but 3"),
        (("a", [1, -1]), "pairs:2: label -1 is below 0"),
    ):
        with pytest.raises(DataError, match=re.escape(message)):
            wfst.string_map([("x", "y"), bad])  # type: ignore[list-item]


def test_applying_is_composing_and_searching() -> None:
    dice = random.Random(1)
    words = ["".join(dice.choices("abc", k=dice.randint(1, 4))) for _ in range(40)]
    mapping = [
        (word, "".join(dice.choices("xyz", k=dice.randint(0, 3))), float(dice.randint(0, 3))) for word in words * 2
    ]
    machine = wfst.string_map(mapping)
    texts = [*words, "cccccc", ""]
    for n in (1, 3):
        found = wfst.apply(machine, texts, k=n)
        assert found == wfst.apply(machine, texts, k=n, n_jobs=2)
        for text, outputs in zip(texts, found, strict=True):
            best: dict[str, float] = {}
            for word, output, weight in mapping:
                if word == text:
                    best[output] = min(weight, best.get(output, weight))
            assert [weight for _, weight in outputs] == sorted(best.values())[:n]
            assert all(best[output] == weight for output, weight in outputs)


class Shortest:
    """Whole numbers that add up, the smaller the better; random machines have them from 1."""

    zero, one, commutative, idempotent, path = 10**9, 0, True, True, True

    def plus(self, a: int, b: int) -> int:
        return min(a, b)

    def times(self, a: int, b: int) -> int:
        return min(a + b, self.zero)


def one_by_one(fst: wfst.Fst, text: str, n: int, **special: int) -> list[tuple[str, Weight]]:
    """What `apply` is for, by the operations on machines."""
    found = wfst.compose(wfst.accep(text, semiring_name=fst.semiring), fst, connect=False, **special)
    if n > 1:
        found = wfst.project(found, "output")
    return [(y, weight) for _, y, weight in wfst.strings(wfst.shortest_path(found, n, unique=n > 1))]


@pytest.mark.parametrize("count", [60, pytest.param(2_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "name", ["tropical", "tropical64", "minmax", "boolean", "lexicographic(tropical,tropical)", "custom"]
)
def test_applying_gives_what_composing_and_searching_give_one_by_one(name: str, count: int) -> None:
    """Path for path, with all its ties: epsilons on both sides, cycles of them, ambiguity, labels that match all."""
    algebra = wfst.custom(Shortest()) if name == "custom" else name
    dice = random.Random(f"{name} {count}")
    compared = 0
    for _ in range(count):
        fst = wfst.arcsort(
            random_fst(
                dice,
                algebra,
                states=dice.randint(1, 7),
                arcs=dice.randint(1, 25),
                labels=3,
                epsilon=dice.choice([0.0, 0.2, 0.6]),
                cyclic=dice.random() < 0.6,
            )
        )
        special = {dice.choice(["sigma", "rho", "phi"]): 3} if dice.random() < 0.4 else {}
        n = dice.choice([1, 1, 2, 5])
        texts = ["".join(chr(dice.randint(1, 3)) for _ in range(dice.randint(0, 6))) for _ in range(8)]
        try:
            expected = [one_by_one(fst, text, n, **special) for text in texts]
        except DataError:  # cycles that get better for ever, phi that leads round
            continue
        compared += sum(map(len, expected))
        for jobs in (1, 2):
            assert wfst.apply(fst, texts, k=n, n_jobs=jobs, **special) == expected
    assert compared > count


def test_every_number_of_threads_gives_the_same_outputs_in_the_order_of_the_texts() -> None:
    dice = random.Random(5)
    words = sorted({"".join(dice.choices("abcd", k=dice.randint(2, 7))) for _ in range(300)})
    corrector = wfst.arcsort(wfst.compose(edits("abcd"), wfst.string_map([(word, word) for word in words])))
    texts = ["".join(dice.choices("abcd", k=dice.randint(0, 8))) for _ in range(500)]
    for n in (1, 4):
        found = wfst.apply(corrector, texts, k=n, n_jobs=1)
        assert all(found == wfst.apply(corrector, texts, k=n, n_jobs=jobs) for jobs in (2, 5))
        assert [outputs[0][1] for outputs in found[:40]] == [
            min(levenshtein(text, word) for word in words) for text in texts[:40]
        ]


def edits(letters: str) -> wfst.Fst:
    """Any string to any other, one per letter that is replaced, put in or left out."""
    fst = wfst.Fst()
    fst.start = fst.add_state()
    fst.set_final(0)
    for x in [0, *map(ord, letters)]:
        for y in [0, *map(ord, letters)]:
            if x or y:
                fst.add_arc(0, x, y, float(x != y), 0)
    return fst


def levenshtein(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        before, row = row, [i + 1]
        for j, y in enumerate(b):
            row.append(min(before[j] + (x != y), before[j + 1] + 1, row[j] + 1))
    return row[-1]


def test_edits_that_put_letters_in_need_no_search_through_their_loops() -> None:
    fst = wfst.arcsort(edits("abc"))
    assert wfst.apply(fst, ["", "abcab"]) == [[("", 0.0)], [("abcab", 0.0)]]
    assert [weight for _, weight in wfst.apply(fst, ["a"], k=4)[0]] == [0.0, 1.0, 1.0, 1.0]


def test_a_back_off_model_is_applied_exactly_by_phi() -> None:
    phi = 1
    model = wfst.compile_text("1 2 97 97 .5\n1 0 1 1 2\n2 0 1 1 3\n0 2 97 97 4\n0 2 98 98 5\n2 .25\n")
    texts = ["a", "ab", "aa", "b", "c", ""]
    found = wfst.apply(model, texts, phi=phi)
    expected = {"a": 0.75, "ab": 8.75, "aa": 7.75, "b": 7.25}
    assert found == [[(text, expected[text])] if text in expected else [] for text in texts]
    with pytest.raises(DataError, match="above 0"):
        wfst.apply(model, texts, phi=0)


def test_texts_of_every_kind_and_length() -> None:
    copy = wfst.arcsort(wfst.sigma_star([*range(1, 256), 0x4E2D, 0x1F600, 0xDC80]))
    texts = ["", "plain", "né\xa0e", "中文中", "\U0001f600", "a\udc80", "x" * 100_000]
    allowed = [text if all(ord(c) < 256 or c in "中\U0001f600\udc80" for c in text) else None for text in texts]
    assert wfst.apply(copy, texts) == [[] if text is None else [(text, 0.0)] for text in allowed]
    assert wfst.apply(copy, [texts[2], texts[3]], token_type="byte") == [[(texts[2], 0.0)], [(texts[3], 0.0)]]
    letters = wfst.SymbolTable(["<eps>", "ab", "中", "c"])
    named = wfst.Fst(input_symbols=letters, output_symbols=letters)
    named.start = named.add_state()
    named.set_final(0)
    for key in (1, 2, 3):
        named.add_arc(0, key, key % 3 + 1, 1.0, 0)
    assert wfst.apply(named, ["ab\u3000中 \tc", ""], token_type="symbol") == [[("中 c ab", 3.0)], [("", 0.0)]]
    assert wfst.apply(copy, []) == []
    assert wfst.apply(wfst.Fst(), ["a"]) == [[]]


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        (["a", "b\0"], {}, "texts:2: the text holds label 0"),
        (["a", 7], {}, "texts:2: not a text but 7"),
        (["a"], {"token_type": "word"}, "token_type is 'utf8', 'byte' or 'symbol', not 'word'"),
        (["a"], {"token_type": "symbol"}, "token_type='symbol' needs a machine with tables"),
        (["a", "a\ud800"], {"token_type": "byte"}, "texts:2: the text holds the lone surrogate"),
        (["a"], {"k": 0}, "k must be"),
    ],
)
def test_texts_that_cannot_be_read_are_named(texts: list[str], options: dict[str, Any], message: str) -> None:
    fst = wfst.string_map([("a", "b")])
    with pytest.raises(DataError, match=re.escape(message)):
        wfst.apply(fst, texts, **options)


def test_outputs_that_are_no_text_are_named() -> None:
    fst = wfst.compile_text("0 1 97 2000000\n1\n")
    with pytest.raises(DataError, match="texts:1: the machine writes label 2000000, which is no code point"):
        wfst.apply(fst, ["a"])
    with pytest.raises(DataError, match="no byte"):
        wfst.apply(fst, ["a"], token_type="byte")
    with pytest.raises(DataError, match="not UTF-8"):
        wfst.apply(wfst.compile_text("0 1 97 200\n1\n"), ["a"], token_type="byte")
    letters = wfst.SymbolTable(["<eps>", "a"])
    named = wfst.compile_text("0 1 1 7\n1\n")
    named.input_symbols = named.output_symbols = letters
    with pytest.raises(DataError, match="label 7 is not in the table of output symbols"):
        wfst.apply(named, ["a"], token_type="symbol")


def test_a_symbol_that_is_in_no_table_is_read_by_no_arc_but_by_sigma() -> None:
    letters = wfst.SymbolTable(["<eps>", "a", "any", "b"])
    fst = wfst.compile_text("0 1 1 3\n1\n")
    fst.input_symbols = fst.output_symbols = letters
    assert wfst.apply(fst, ["", "zz", "a"], token_type="symbol") == [[], [], [("b", 0.0)]]
    any_letter = wfst.compile_text("0 1 2 3\n1\n")
    any_letter.input_symbols = any_letter.output_symbols = letters
    assert wfst.apply(any_letter, ["zz", "a zz"], token_type="symbol", sigma=2) == [[("b", 0.0)], []]


def test_a_stream_of_texts_is_answered_as_it_comes() -> None:
    fst = wfst.string_map([("a", "x"), ("b", "y", 2.0)])
    taken = 0

    def texts() -> Iterator[str]:
        nonlocal taken
        for _ in range(100_000):
            taken += 1
            yield "ab"[taken % 2]

    found = wfst.apply_stream(fst, texts())
    assert [next(found), next(found)] == [[("y", 2.0)], [("x", 0.0)]]
    assert taken < 10_000
    assert sum(1 for _ in found) == 99_998
    with pytest.raises(DataError, match="texts:20001: the text holds label 0"):
        list(wfst.apply_stream(fst, [*["a"] * 20_000, "\0"]))


def test_applying_can_be_interrupted() -> None:
    fst = wfst.arcsort(edits("abcdefghij"))

    def ring(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(TimeoutError):
            wfst.apply(fst, ["abcdefghij" * 30] * 100_000, n_jobs=2)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_tables_are_not_changed_while_another_thread_reads_them() -> None:
    table = wfst.SymbolTable(["<eps>", *(f"w{i}" for i in range(1, 1000))])
    text = "".join(f"0 0 w{i % 999 + 1} w{i % 7 + 1}\n" for i in range(200_000)) + "0\n"
    refused = 0
    with ThreadPoolExecutor(2) as pool:
        read = [pool.submit(wfst.compile_text, text, input_symbols=table, output_symbols=table) for _ in range(4)]
        while not all(future.done() for future in read):
            try:
                table.add(f"new{len(table)}")
            except DataError:
                refused += 1
    assert all(future.result().num_arcs == 200_000 for future in read)
    assert refused > 0
    assert table.add("at last") == len(table) - 1


@pytest.mark.slow
def test_a_million_texts_take_no_more_memory_than_some_thousands() -> None:
    fst = wfst.arcsort(wfst.string_map([("a", "x"), ("b", "y", 2.0)]))

    def peak(count: int) -> int:
        tracemalloc.start()
        assert sum(weight for ((_, weight),) in wfst.apply_stream(fst, ("ab"[i % 2] for i in range(count)))) == count
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    assert peak(1_000_000) < 1.2 * peak(30_000)


def test_applying_needs_the_path_property() -> None:
    with pytest.raises(DataError, match="path property"):
        wfst.apply(wfst.string_map([("a", "b")], semiring_name="log64"), ["a"])


def test_cross_products_map_everything_to_everything() -> None:
    left, right = wfst.union(wfst.accep("a"), wfst.accep("bc")), wfst.union(wfst.accep("x"), wfst.accep(""))
    pairs = {(x, y) for x, y, _ in wfst.strings(wfst.cross(left, right))}
    assert pairs == {("a", "x"), ("a", ""), ("bc", "x"), ("bc", "")}


def test_random_paths_follow_the_weights() -> None:
    fst = wfst.compile_text("0 1 97 97 .75\n0 1 98 98 .25\n1\n", semiring_name="real")
    drawn = wfst.randgen(fst, 4000, select="log_prob", weighted=True)
    shares = {text: weight for text, _, weight in wfst.strings(drawn)}
    assert shares["a"] == pytest.approx(0.75, abs=0.03)
    assert sum(shares.values()) == pytest.approx(1.0)
    assert wfst.print_text(drawn) == wfst.print_text(wfst.randgen(fst, 4000, select="log_prob", weighted=True))
    uniform = wfst.randgen(fst, 4000, weighted=True, random_state=1)
    assert {text: w for text, _, w in wfst.strings(uniform)}["a"] == pytest.approx(0.5, abs=0.03)
    unnormalized = wfst.arcmap(wfst.convert(fst, "log64"), "times", weight=2.0)
    assert wfst.sample(unnormalized, 10).num_arcs == 10


def test_special_labels_match_as_they_say() -> None:
    word = wfst.accep("abz")
    sigma = wfst.compile_text("0 1 97 97\n1 2 999 999\n2 3 122 122\n3\n")
    assert [y for _, y, _ in wfst.strings(wfst.compose(word, sigma, sigma=999))] == ["abz"]
    rho = wfst.compile_text("0 0 97 65\n0 0 999 999 1\n0\n")
    assert [(y, w) for _, y, w in wfst.strings(wfst.compose(word, rho, rho=999))] == [("Abz", 2.0)]
    assert [(x, w) for x, _, w in wfst.strings(wfst.compose(wfst.invert(rho), word, rho=999, special="left"))] == [
        ("Abz", 2.0)
    ]
    phi = wfst.compile_text("0 1 97 97\n1 2 999 999 3\n2 2 98 98\n2 2 122 122\n2\n")
    assert [w for _, _, w in wfst.strings(wfst.compose(word, phi, phi=999))] == [3.0]
    loop = wfst.compile_text("0 0 999 999\n0\n")
    with pytest.raises(DataError, match="phi arcs"):
        wfst.compose(word, loop, phi=999)


def test_a_dictionary_is_a_map_of_its_items() -> None:
    colours = wfst.string_map({"colour": "color", "grey": "gray"})
    assert wfst.apply(colours, ["colour", "grey", "color"]) == [[("color", 0.0)], [("gray", 0.0)], []]


def test_a_string_in_a_map_is_its_own_output() -> None:
    pynini = pytest.importorskip("pynini")
    for words in (["ab", "cd"], ["abc", "a"], ["ab", ("ab", "x"), ["c", "d", 2.0]]):
        machine = wfst.string_map(words)
        peer = pynini.string_map([word if isinstance(word, str) else [str(part) for part in word] for word in words])
        assert sorted((x, y, float(w)) for x, y, w in wfst.strings(machine)) == sorted(
            (x, y, float(w)) for x, y, w in peer.paths().items()
        )
    assert wfst.apply(wfst.string_map(["ab", "cd"]), ["ab", "a"]) == [[("ab", 0.0)], []]
    for bad in ("ab", b"ab"):
        with pytest.raises(DataError, match="pairs is one string"):
            wfst.string_map(bad)
    with pytest.raises(DataError, match=r"pairs:2: {'ab'} is not \(input, output\)"):
        wfst.string_map(["ab", {"ab"}])


def test_one_string_is_not_taken_for_a_list_of_letters() -> None:
    machine = wfst.string_map([("a", "x"), ("abc", "y")])
    for give in (wfst.apply, lambda *given: list(wfst.apply_stream(*given))):
        with pytest.raises(DataError, match=r"texts is one string, 'abc'; pass a list of strings: \['abc'\]"):
            give(machine, "abc")
        assert give(machine, ["abc"]) == [[("y", 0.0)]]
