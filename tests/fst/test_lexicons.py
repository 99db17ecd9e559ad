"""Lexicons against their definition, nearest words against brute force, edit transducers."""

from __future__ import annotations

import gzip
import io
import random
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from textmill import fst
from textmill.cli.app import app
from textmill.errors import DataError


def random_words(rng: random.Random, count: int, letters: str = "abcé", longest: int = 8) -> list[str]:
    """Distinct words in no order."""
    words = {"".join(rng.choice(letters) for _ in range(rng.randint(1, longest))) for _ in range(count)}
    return rng.sample(sorted(words), len(words))


@pytest.mark.parametrize("token_type", ["utf8", "byte"])
def test_lexicons_are_minimal_and_have_the_words(token_type: str) -> None:
    rng = random.Random(5)
    for _ in range(30):
        words = random_words(rng, rng.randint(1, 60))
        machine = fst.lexicon(words, token_type=token_type)
        assert {text for text, _, _ in fst.strings(machine, token_type=token_type)} == set(words)
        reference = fst.optimize(fst.string_map(words, token_type=token_type))
        assert machine.num_states == reference.num_states
        assert machine.num_arcs == reference.num_arcs


def test_weighted_lexicons_have_the_weights_and_few_states() -> None:
    rng = random.Random(6)
    for _ in range(30):
        words = {word: rng.randint(0, 12) / 4 for word in random_words(rng, rng.randint(1, 60))}
        machine = fst.lexicon(words.items())
        assert {text: weight for text, _, weight in fst.strings(machine)} == pytest.approx(words)
        reference = fst.minimize(fst.determinize(fst.rmepsilon(fst.string_map([(w, w, x) for w, x in words.items()]))))
        assert machine.num_states == reference.num_states


def test_bad_words_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"words:2: the word has a blank"):
        fst.lexicon(["a", "b c"])
    with pytest.raises(DataError, match=r"words:1: the word is empty"):
        fst.lexicon([""])
    with pytest.raises(DataError, match=r"words:3: the word 'a' comes twice"):
        fst.lexicon(["a", "b", "a"])
    with pytest.warns(UserWarning, match="skipped 2 words that are empty or have blanks, and 1 that come twice"):
        machine = fst.lexicon([("b", 1.0), ("", 0.0), ("a c", 0.0), ("b", 0.5)], errors="skip")
    assert list(fst.strings(machine)) == [("b", "b", 0.5)]
    file = tmp_path / "words.txt"
    file.write_bytes(b"one\ntw\xffo\n")
    with pytest.raises(DataError, match=r"words.txt:2: the file is not UTF-8"):
        fst.read_lexicon(file)
    file.write_bytes(b"one\t1\ntwo\tx\n")
    with pytest.raises(DataError, match=r"words.txt:2: 'x' behind the tab"):
        fst.read_lexicon(file)
    file.write_bytes(b"one\none\n")
    assert CliRunner().invoke(app, ["fst", "lexicon", str(file), "-o", str(tmp_path / "l.fst")]).exit_code == 1


def test_files_of_words_become_machines(tmp_path: Path) -> None:
    file, target = tmp_path / "words.txt", tmp_path / "l.fst"
    file.write_bytes(b"\xef\xbb\xbfto\r\ntea\r\nten")
    assert CliRunner().invoke(app, ["fst", "lexicon", str(file), "-o", str(target)]).exit_code == 0
    assert {text for text, _, _ in fst.strings(fst.read_fst(target))} == {"to", "tea", "ten"}
    file.write_text("a\t3\nb\t1\n")
    weights = {text: weight for text, _, weight in fst.strings(fst.read_lexicon(file, weights="count"))}
    assert weights == pytest.approx({"a": -np.log(0.75), "b": -np.log(0.25)})
    file.write_text("")
    assert fst.read_lexicon(file).num_arcs == 0


def distance(a: str, b: str, swaps: bool) -> int:
    """Optimal string alignment, by its recurrence."""
    table = [[i + j if i * j == 0 else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (a[i - 1] != b[j - 1]))
            if swaps and i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                table[i][j] = min(table[i][j], table[i - 2][j - 2] + 1)
    return table[-1][-1]


@pytest.mark.parametrize("swaps", [False, True])
@pytest.mark.parametrize("max_edits", [0, 1, 2, 3])
def test_nearest_words_are_those_of_brute_force(swaps: bool, max_edits: int) -> None:
    rng = random.Random(max_edits)
    for _ in range(25):
        words = random_words(rng, rng.randint(1, 80), "abc", 7)
        weights = {word: rng.randint(0, 3) / 2 for word in words}
        machine = fst.lexicon(weights.items())
        asked = [*random_words(rng, 8, "abcd", 7), "", *words[:2]]
        for query, answers in zip(
            asked,
            fst.nearest(machine, asked, max_edits=max_edits, swaps=swaps, k=1000, edit_cost=2.0, n_jobs=2),
            strict=True,
        ):
            expected = sorted(
                (2.0 * distance(query, word, swaps) + weights[word], distance(query, word, swaps), word)
                for word in words
                if distance(query, word, swaps) <= max_edits
            )
            assert [(cost, edits, word) for word, edits, cost in answers] == expected
    few = fst.nearest(machine, asked, max_edits=max_edits, swaps=swaps, k=2, n_jobs=1)
    many = fst.nearest(machine, asked, max_edits=max_edits, swaps=swaps, k=100, n_jobs=2)
    assert few == [answers[:2] for answers in many]


def test_nearest_refuses_machines_that_are_no_lexicons() -> None:
    with pytest.raises(DataError, match="deterministic acceptor"):
        fst.nearest(fst.cross("a", "b"), ["a"])
    with pytest.raises(DataError, match="max_edits"):
        fst.nearest(fst.lexicon(["a"]), ["a"], max_edits=8)


def test_worked_example_of_edit_distance() -> None:
    assert fst.edit_distance("kitten", "sitting") == 3
    flower = fst.edit_transducer("kittensitting")
    assert flower.num_arcs == (len(set("kittensitting")) + 1) ** 2 - 1
    whole = fst.compose(fst.compose(fst.accep("kitten"), fst.arcsort(flower)), fst.accep("sitting"))
    assert (whole.num_states, whole.num_arcs) == (56, 139)


def test_factored_edits_are_the_flower() -> None:
    left, right = fst.edit_factors("abc", insert=1.5, delete=0.5, substitute=1.25)
    flower = fst.edit_transducer("abc", insert=1.5, delete=0.5, substitute=1.25)
    rng = random.Random(1)
    for _ in range(50):
        a, b = ("".join(rng.choice("abc") for _ in range(rng.randint(0, 5))) for _ in range(2))
        both = fst.compose(left, right)
        assert fst.edit_distance(a, b, both) == pytest.approx(fst.edit_distance(a, b, flower))


def test_bounded_edits_and_swaps() -> None:
    bounded = fst.edit_transducer("abc", max_edits=1)
    assert fst.edit_distance("abc", "acb", bounded) == float("inf")
    assert fst.edit_distance("abc", "ac", bounded) == 1
    assert fst.edit_distance("abc", "acb", fst.edit_transducer("abc", swap=0.75)) == 0.75
    assert fst.best_alignment("abc", "ac") == [("a", "a"), ("b", ""), ("c", "c")]
    with pytest.raises(DataError, match="edit_factors"):
        fst.edit_transducer(range(1, 5000))


def test_word_lists_come_compressed_and_from_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "words.gz").write_bytes(gzip.compress(b"tea\nten\n"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"tea\nten\n")))
    for source in (tmp_path / "words.gz", "-"):
        assert [text for text, _, _ in fst.strings(fst.read_lexicon(source))] == ["tea", "ten"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"tea\n\xff\n")))
    with pytest.raises(DataError, match="stdin:2: the file is not UTF-8"):
        fst.read_lexicon("-")
