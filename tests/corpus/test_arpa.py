"""ARPA files: round trips, what toolkits write, and files that lie."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.corpus.arpa import Arpa, ArpaOrder, read_arpa, write_arpa
from textmill.errors import DataError
from textmill.model import StringTable

SMALL = """some remark

\\data\\
ngram 1=4
ngram 2=2

\\1-grams:
-1.2041\t<unk>
-99\t<s>\t-0.30103
-0.6021 wörd  -0.1
-0.9\t</s>

\\2-grams:
-0.3\t<s> wörd
-0.1761\twörd </s>

\\end\\
"""


def model(words: list[str], orders: int, size: int, seed: int) -> Arpa:
    rng = np.random.default_rng(seed)
    made = []
    for n in range(1, orders + 1):
        count = len(words) if n == 1 else size
        ids = np.arange(count)[:, None] if n == 1 else rng.integers(0, len(words), (count, n))
        last = n == orders
        back_off = np.zeros(count) if last else -rng.exponential(size=count)
        made.append(ArpaOrder(ids.astype(np.int32), -rng.exponential(size=count), back_off))
    return Arpa(StringTable(words), tuple(made))


WORDS = st.lists(
    st.text(alphabet="abcé<>\u00a0'", min_size=1, max_size=4).filter(lambda w: w.split() == [w]),
    min_size=1,
    unique=True,
)


@given(WORDS, st.integers(1, 4), st.integers(0, 9), st.integers(0, 99), st.sampled_from(["", ".gz", ".xz"]))
@settings(max_examples=60)
def test_reading_gives_back_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], orders: int, size: int, seed: int, packed: str
) -> None:
    folder = tmp_path_factory.mktemp("arpa")
    written = model(words, orders, size, seed)
    write_arpa(folder / f"a.arpa{packed}", written)
    read = read_arpa(folder / f"a.arpa{packed}")
    assert read.words == written.words
    for ours, theirs in zip(read.orders, written.orders, strict=True):
        assert np.array_equal(ours.words, theirs.words)
        assert np.array_equal(ours.log_probability, theirs.log_probability)
        assert np.array_equal(ours.back_off, theirs.back_off)
    write_arpa(folder / f"b.arpa{packed}", read)
    if not packed:
        assert (folder / "a.arpa").read_bytes() == (folder / "b.arpa").read_bytes()


def test_blanks_tabs_and_remarks_as_toolkits_write_them(tmp_path: Path) -> None:
    (tmp_path / "a.arpa").write_text(SMALL, encoding="utf-8")
    read = read_arpa(tmp_path / "a.arpa")
    assert read.words.to_list() == ["<unk>", "<s>", "wörd", "</s>"]
    assert read.orders[0].log_probability.tolist() == [-1.2041, -99, -0.6021, -0.9]
    assert read.orders[0].back_off.tolist() == [0, -0.30103, -0.1, 0]
    assert read.orders[1].words.tolist() == [[1, 2], [2, 3]]


def test_blocks_are_cut_between_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textmill.corpus.arpa._BLOCK", 40)
    written = model([f"w{i}" for i in range(50)], 3, 80, 1)
    write_arpa(tmp_path / "a.arpa", written)
    assert np.array_equal(read_arpa(tmp_path / "a.arpa").orders[2].words, written.orders[2].words)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (SMALL, "", r"1: no ARPA file: '\\data\\' is missing"),
        ("ngram 1=4\nngram 2=2\n", "", "3?.*counts such as|must follow"),
        ("ngram 1=4\n", "", "4: the count of order 1 is missing"),
        ("\\1-grams:", "\\2-grams:", r"7: '\\1-grams:' must follow the counts"),
        ("ngram 1=4", "ngram 1=5", "8: 1 n-grams of this order are missing; was the file cut"),
        ("ngram 1=4", "ngram 1=3", r"11: '\\2-grams:' must follow, got '-0.9.*more n-grams than announced"),
        ("\\end\\", "", "is missing behind the last n-gram; was the file cut"),
        ("-0.1761\twörd </s>", "-0.1761\twörd", "15:.*: the line holds 1 words, not 2"),
        ("-0.1761\twörd </s>", "-0.1761\twörd house", "15:.*: the word 'house' is not among the 1-grams"),
        ("</s>\n\n", "<s>\n\n", "11:.*: the word '<s>' occurs twice"),
        ("-0.9\t</s>", "zero\t</s>", "11:.*: 'zero' is no log probability"),
        ("-0.9\t</s>", "0.9\t</s>", "11:.*: a log probability above 0"),
        ("-0.9\t</s>", "nan\t</s>", "11:.*: 'nan' is no log probability"),
        ("wörd  -0.1\n", "wörd  -0.1 x\n", "10:.*: the line goes on"),
        ("wörd  -0.1\n", "wörd  b\n", "10:.*: 'b' is no back-off weight"),
    ],
)
def test_files_that_lie_are_refused_with_their_place(old: str, new: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.arpa"
    assert old in SMALL
    path.write_text(SMALL.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DataError, match=message) as caught:
        read_arpa(path)
    assert str(caught.value).startswith(str(path))


def test_words_with_blanks_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="'New York' holds a blank"):
        write_arpa(tmp_path / "a.arpa", model(["New York"], 1, 0, 0))
    with pytest.raises(DataError, match="holds a blank or NUL"):  # kenlm would part it there
        write_arpa(tmp_path / "a.arpa", model(["a\0b"], 1, 0, 0))
    with pytest.raises(DataError, match="is empty"):
        write_arpa(tmp_path / "a.arpa", model(["a", ""], 1, 0, 0))
    assert not list(tmp_path.iterdir())
    write_arpa(tmp_path / "a.arpa", model(["10\u00a0000", "x\u3000y", "\x1f"], 1, 0, 0))  # no blanks to any reader
    assert read_arpa(tmp_path / "a.arpa").words.to_list() == ["10\u00a0000", "x\u3000y", "\x1f"]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_any_number_of_threads_writes_the_same_file(
    threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = model(["a", "Straße", "日本"], 3, 300, seed=5)
    write_arpa(tmp_path / "whole.arpa", written, n_jobs=1)
    monkeypatch.setattr("textmill.corpus.arpa._BLOCK", 1_000)
    write_arpa(tmp_path / "blocks.arpa", written, n_jobs=threads)
    assert (tmp_path / "blocks.arpa").read_bytes() == (tmp_path / "whole.arpa").read_bytes()
