"""Alignments, translation, primers and profiles of the examples, against their definitions."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from examples.fst.dna import CODONS, affine_alignment, align_sequences, find_primer, primer_search, translation
from examples.fst.profiles import profile_acceptor
from textmill import fst
from textmill.errors import DataError


def gotoh(a: str, b: str, match: float, mismatch: float, gap_open: float, gap_extend: float, local: bool) -> float:
    """Affine gaps by the recurrence of Gotoh."""
    inf = float("inf")
    m = [[inf] * (len(b) + 1) for _ in range(len(a) + 1)]
    x = [[inf] * (len(b) + 1) for _ in range(len(a) + 1)]
    y = [[inf] * (len(b) + 1) for _ in range(len(a) + 1)]
    best = inf
    for i in range(len(a) + 1):
        for j in range(len(b) + 1):
            if i == j == 0:
                m[0][0] = 0.0
            if local:
                m[i][j] = min(m[i][j], 0.0)
            if i and j:
                step = match if a[i - 1] == b[j - 1] else mismatch
                m[i][j] = min(m[i][j], step + min(m[i - 1][j - 1], x[i - 1][j - 1], y[i - 1][j - 1]))
            if i:
                x[i][j] = min(gap_open + min(m[i - 1][j], y[i - 1][j]), gap_extend + x[i - 1][j])
            if j:
                y[i][j] = min(gap_open + min(m[i][j - 1], x[i][j - 1]), gap_extend + y[i][j - 1])
            best = min(best, m[i][j])
    return best if local else min(m[-1][-1], x[-1][-1], y[-1][-1])


@pytest.mark.parametrize("local", [False, True])
def test_alignments_cost_what_gotoh_says(local: bool) -> None:
    rng = random.Random(8)
    costs = {"match": -1.0 if local else 0.0, "mismatch": 1.0, "gap_open": 2.0, "gap_extend": 0.5}
    machine = affine_alignment(**costs, local=local)
    for _ in range(40):
        a, b = ("".join(rng.choice("ACGT") for _ in range(rng.randint(0, 9))) for _ in range(2))
        cost, left, right = align_sequences(a, b, machine)
        assert cost == pytest.approx(gotoh(a, b, **costs, local=local))
        assert (left.replace("-", ""), right.replace("-", "")) == (a, b)


def test_translation_and_primers() -> None:
    assert fst.apply(translation(), ["ATGGCCTGA", "ATGG"]) == [[("MA*", 0.0)], []]
    assert len(CODONS) == 64
    rng = random.Random(9)
    code = {"N": "ACGT", "R": "AG", "Y": "CT"}
    for _ in range(40):
        sequence = "".join(rng.choice("ACGT") for _ in range(30))
        primer = "".join(rng.choice("ACGTNRY") for _ in range(rng.randint(1, 5)))
        limit = rng.randint(0, 2)
        expected = []
        for at in range(len(sequence) - len(primer) + 1):
            wrong = sum(base not in code.get(p, p) for base, p in zip(sequence[at:], primer, strict=False))
            if wrong <= limit:
                expected.append((at, wrong))
        assert find_primer(primer, sequence, max_mismatches=limit) == expected
    with pytest.raises(DataError, match="'X' at place 2"):
        primer_search("AX")


ALIGNMENT = ["AC-GT", "AC-GT", "A-TGA", "TC-G-"]


def test_the_probabilities_of_all_sequences_sum_to_one() -> None:
    profile = profile_acceptor(ALIGNMENT)
    assert fst.total_weight(profile) == pytest.approx(0.0, abs=1e-6)


def test_a_sequence_has_the_probability_of_all_its_paths() -> None:
    """The forward recursion over columns and letters, from the definition."""
    pseudo = 0.5
    columns = [k for k in range(5) if sum(row[k] != "-" for row in ALIGNMENT) >= 2]
    assert columns == [0, 1, 3, 4]
    paths = []
    for row in ALIGNMENT:
        path = [("M", 0)]
        for column, letter in enumerate(row):
            if column in columns:
                path.append(("D" if letter == "-" else "M", columns.index(column) + 1))
            elif letter != "-":
                path.append(("I", path[-1][1]))
        paths.append([*path, ("M", len(columns) + 1)])
    last = len(columns)

    def move(state: tuple[str, int], target: tuple[str, int]) -> float:
        k = state[1]
        targets = [("M", k + 1), ("I", k), *([("D", k + 1)] if k < last else [])]
        counts = [sum(pair == (state, t) for path in paths for pair in itertools.pairwise(path)) for t in targets]
        return (counts[targets.index(target)] + pseudo) / (sum(counts) + pseudo * len(targets))

    def emission(k: int, letter: str) -> float:
        seen = [row[columns[k - 1]] for row in ALIGNMENT if row[columns[k - 1]] != "-"]
        return (seen.count(letter) + pseudo) / (len(seen) + pseudo * 4)

    def probability(state: tuple[str, int], rest: str) -> float:
        k = state[1]
        total = 0.0
        if k == last:
            total += move(state, ("M", last + 1)) * (not rest)
        else:
            total += move(state, ("D", k + 1)) * probability(("D", k + 1), rest)
            if rest:
                following = ("M", k + 1)
                total += move(state, following) * emission(k + 1, rest[0]) * probability(following, rest[1:])
        if rest:
            total += move(state, ("I", k)) / 4 * probability(("I", k), rest[1:])
        return total

    profile = profile_acceptor(ALIGNMENT, pseudo=pseudo)
    for sequence in ("ACGT", "", "A", "ACTGT", "TTTTTT", "GGA"):
        found = fst.total_weight(fst.compose(fst.accep(sequence, semiring_name="log64"), profile))
        assert found == pytest.approx(-math.log(probability(("M", 0), sequence)), abs=1e-9)


@pytest.mark.parametrize(
    ("alignment", "options", "message"),
    [
        (["AC", "A"], {}, "sequence 2 has 1 columns"),
        (["AC", "AX"], {}, "sequence 2, column 2"),
        ([], {}, "a list of aligned"),
        (["AC"], {"gap": "A"}, "the gap"),
        (["AC"], {"pseudo": 0.0}, "pseudo"),
    ],
)
def test_bad_alignments_are_refused(alignment: list[str], options: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        profile_acceptor(alignment, **options)
