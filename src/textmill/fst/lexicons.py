r"""Word lists as minimal acceptors, and the words of one that are near to others.

    lexicon        the minimal deterministic acceptor of words, weighted or not, built word by word without a trie
    nearest        the words within some edits of others: word o edits o lexicon, searched and not built

Words may come in any order: they are sorted, then added one by one, and every state is merged with an equal one as soon
as no later word can change it, so memory is that of the result (native/fst/lexicon.h). Weights move towards the start.
Cost: sorting, plus O(characters). `nearest` walks the lexicon with one row of the table of edit distances
(native/fst/nearest.h). Reference: Daciuk, Mihov, Watson & Watson (2000); Mihov & Maurel (2001); Mihov & Schulz (2004).
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill._native import fst as native
from textmill.errors import DataError, warn_caller
from textmill.fst.machine import Fst
from textmill.model import check_choice, check_range, effective_jobs

__all__ = ["Neighbor", "lexicon", "nearest", "read_lexicon"]


class Neighbor(NamedTuple):
    """A word of a lexicon near to another: the edits between them, and their cost with the weight of the word."""

    word: str
    edits: int
    cost: float


def lexicon(
    words: Iterable[str] | Iterable[tuple[str, float]], *, token_type: str = "utf8", errors: str = "strict"
) -> Fst:
    """The minimal acceptor of words, or of pairs of a word and its weight.

    Empty words, words with blanks and words that come twice are a DataError; with errors="skip" the first two are left
    out, of equal words the least weight counts, and a warning says how many there were.

    >>> lexicon(["walking", "talking", "walked", "talked"]).num_states
    9
    """
    rows: list[Any] = list(words)
    weights = None
    if rows and not isinstance(rows[0], str):
        weights = [float(weight) for _, weight in rows]
        rows = [word for word, _ in rows]
    try:
        content = "\n".join([*rows, ""]).encode()
    except TypeError:
        line, wrong = next((i, row) for i, row in enumerate(rows, 1) if not isinstance(row, str))
        raise DataError(f"a word is a str, not {type(wrong).__name__}", source="words", line=line) from None
    except UnicodeEncodeError:
        raise DataError("a word holds a lone surrogate, which is no text", source="words") from None
    breaks = np.flatnonzero(np.frombuffer(content, dtype=np.uint8) == 10)
    if len(breaks) != len(rows):
        line = next(i for i, row in enumerate(rows, 1) if "\n" in row)
        raise DataError("the word has a line break in it", source="words", line=line)
    return _lexicon(content.replace(b"\n", b""), breaks - np.arange(len(breaks)), weights, token_type, errors, "words")


def read_lexicon(
    path: str | os.PathLike[str], *, token_type: str = "utf8", weights: str = "cost", errors: str = "strict"
) -> Fst:
    r"""The minimal acceptor of the words of a file, one per line, each with a number behind a tab or none.

    The file may be compressed, or "-" for standard input. Numbers are costs, or with weights="count" how often a word
    was seen, and the cost is -ln of its share.

    >>> from pathlib import Path
    >>> _ = Path("words.txt").write_text("to\ntea\nten\n")
    >>> read_lexicon("words.txt").num_states
    4
    """
    check_choice("weights", weights, ["cost", "count"])
    from textmill.corpus import open_bytes, source_name  # here: whoever uses machines only need not wait for it

    source = source_name(path)
    with open_bytes(path) as stream:
        content = stream.read()
    if content[:3] == b"\xef\xbb\xbf":
        content = content[3:]
    if token_type == "utf8":
        try:
            content.decode()
        except UnicodeDecodeError as fault:
            line = content.count(b"\n", 0, fault.start) + 1
            raise DataError(f"the file is not UTF-8 at byte {fault.start}", source=source, line=line) from None
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n")
    if content and not content.endswith(b"\n"):
        content += b"\n"
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        raise DataError("a word holds the character 0, which is epsilon", source=source, line=line)
    costs = None
    if b"\t" in content:
        content, costs = _columns(content, weights, source)
    breaks = np.flatnonzero(np.frombuffer(content, dtype=np.uint8) == 10)
    ends = breaks - np.arange(len(breaks))
    return _lexicon(content.replace(b"\n", b""), ends, costs, token_type, errors, source)


def _columns(content: bytes, weights: str, source: str) -> tuple[bytes, list[float]]:
    """Words, one per line, and the numbers behind them as costs."""
    words, numbers = list[bytes](), list[float]()
    for line, row in enumerate(content.split(b"\n")[:-1], 1):
        word, _, number = row.partition(b"\t")
        try:
            numbers.append(float(number) if number else (0.0 if weights == "cost" else 1.0))
        except ValueError:
            shown = number.decode("utf-8", "replace")
            raise DataError(f"{shown!r} behind the tab is not a number", source=source, line=line) from None
        if not np.isfinite(numbers[-1]) or (weights == "count" and numbers[-1] <= 0):
            raise DataError(
                f"a {weights} must be finite{' and above 0' * (weights == 'count')}", source=source, line=line
            )
        words.append(word)
    costs = np.asarray(numbers)
    if weights == "count":
        costs = -np.log(costs / costs.sum())
    return b"\n".join([*words, b""]), [float(cost) for cost in costs]


def _lexicon(
    text: bytes,
    ends: NDArray[np.int64],
    weights: list[float] | None,
    token_type: str,
    errors: str,
    source: str,
) -> Fst:
    check_choice("token_type", token_type, ["utf8", "byte"])
    check_choice("errors", errors, ["strict", "skip"])
    costs = np.asarray([] if weights is None else weights, dtype=np.float32)
    lengths = np.diff(ends, prepend=0)
    wrong = lengths == 0
    if any(blank in text for blank in (b" ", b"\t", b"\xc2\xa0", b"\0")):
        data = np.frombuffer(text, dtype=np.uint8)
        blanks = np.flatnonzero((data == 32) | (data == 9) | (data == 0))
        wrong |= np.bincount(np.searchsorted(ends, blanks, "right"), minlength=len(ends)).astype(bool)
    skipped = int(wrong.sum())
    if skipped and errors == "strict":
        place = int(np.flatnonzero(wrong)[0])
        fault = "the word is empty" if lengths[place] == 0 else "the word has a blank in it"
        raise DataError(f"{fault}; mend it, or pass errors='skip'", source=source, line=place + 1)
    if skipped:
        keep = np.repeat(~wrong, lengths)
        text = np.frombuffer(text, dtype=np.uint8)[keep].tobytes()
        ends = np.cumsum(lengths[~wrong])
        costs = costs[~wrong] if len(costs) else costs
    machine, duplicates = native.lexicon(text, np.ascontiguousarray(ends), costs, utf8=token_type == "utf8")
    if len(duplicates) and errors == "strict":
        number = int(duplicates.min())
        word = text[ends[number - 1] if number else 0 : ends[number]].decode("utf-8", "replace")
        raise DataError(f"the word {word!r} comes twice; pass errors='skip'", source=source, line=number + 1)
    if skipped or len(duplicates):
        twice = len(duplicates)
        warn_caller(f"{source}: skipped {skipped} words that are empty or have blanks, and {twice} that come twice")
    return Fst._of(machine, None, None)


def nearest(
    machine: Fst,
    words: Iterable[str],
    *,
    max_edits: int = 2,
    k: int = 10,
    swaps: bool = True,
    edit_cost: float = 1.0,
    n_jobs: int | None = None,
) -> list[list[Neighbor]]:
    """For each word the k cheapest of a lexicon within `max_edits` insertions, deletions and substitutions.

    With `swaps` two neighbors exchanged are one edit. The cost is edits times `edit_cost` plus the weight of the word.
    The lexicon is one of `lexicon`, or any deterministic acceptor without epsilons whose labels are code points.

    >>> nearest(lexicon(["walk", "talk", "tale"]), ["tlak"])[0][0]
    Neighbor(word='talk', edits=1, cost=1.0)
    """
    check_range("max_edits", max_edits, at_least=0, at_most=7)
    check_range("k", k, at_least=1)
    facts = machine.properties("acceptor", "input_deterministic", "input_sorted", "input_epsilons")
    if not facts["acceptor"] or not facts["input_deterministic"] or facts["input_epsilons"]:
        raise DataError("a lexicon to be searched is a deterministic acceptor without epsilons; call optimize first")
    sorted_machine = machine._native if facts["input_sorted"] else native.sort_arcs(machine._native, False)
    texts = list(words)
    points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype=np.int32)
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    counts, stops, labels, edits, costs = native.nearest(
        sorted_machine,
        points,
        ends,
        max_edits=max_edits,
        swaps=swaps,
        edit_cost=edit_cost,
        k=k,
        threads=effective_jobs(n_jobs),
    )
    text = labels.tobytes().decode("utf-32-le", "surrogatepass")
    begins = np.concatenate([[0], stops[:-1]]).tolist() if len(stops) else []
    rows = [
        Neighbor(text[begin:end], edit, cost)
        for begin, end, edit, cost in zip(begins, stops.tolist(), edits.tolist(), costs.tolist(), strict=True)
    ]
    offsets = np.concatenate([[0], np.cumsum(counts)]).tolist()
    return [rows[begin:end] for begin, end in itertools.pairwise(offsets)]
