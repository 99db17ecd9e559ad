"""Machines for DNA: alignment with affine gaps, translation, search for primers.

    alignment      three states: match, gap in the one, gap in the other; opening a gap costs more than making it longer
    local          the same between free ends of both strings
    translation    codons to amino acids, in one reading frame
    primer_search  Sigma* P within some mismatches, where letters of IUPAC's code stand for several bases

Scores are costs, the least is the best; with a negative cost for a match local alignments pay. Reference: Gotoh (1982);
Smith & Waterman (1981); Durbin, Eddy, Krogh & Mitchison (1998).

python examples/fst/dna.py ACGTT ACT
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from textmill.errors import DataError
from textmill.fst import EPSILON, Fst, accep, apply, arcsort, best_alignment, compose, shortest_path

__all__ = ["CODONS", "affine_alignment", "align_sequences", "find_primer", "primer_search", "translation"]

_BASES = "ACGT"
_ACIDS = "KNKNTTTTRSRSIIMIQHQHPPPPRRRRLLLLEDEDAAAAGGGGVVVV*Y*YSSSS*CWCLFLF"
CODONS: Mapping[str, str] = {
    a + b + c: _ACIDS[16 * i + 4 * j + k]
    for i, a in enumerate(_BASES)
    for j, b in enumerate(_BASES)
    for k, c in enumerate(_BASES)
}
_CODE = {
    **{base: base for base in _BASES},
    "R": "AG",
    "Y": "CT",
    "S": "CG",
    "W": "AT",
    "K": "GT",
    "M": "AC",
    "B": "CGT",
    "D": "AGT",
    "H": "ACT",
    "V": "ACG",
    "N": "ACGT",
}


def affine_alignment(
    *,
    match: float = 0.0,
    mismatch: float = 1.0,
    gap_open: float = 2.0,
    gap_extend: float = 0.5,
    local: bool = False,
    alphabet: str = _BASES,
) -> Fst:
    """The transducer of alignments: a gap of n costs gap_open + (n - 1) gap_extend.

    With `local` what stands before and behind the aligned parts of both strings is free; give `match` a negative cost.

    >>> affine_alignment().num_states
    3
    """
    machine = Fst()
    same, deleted, inserted = machine.add_states(3)
    machine.start = same
    for state in (same, deleted, inserted):
        machine.set_final(state)
        for x in map(ord, alphabet):
            for y in map(ord, alphabet):
                machine.add_arc(state, x, y, match if x == y else mismatch, same)
            machine.add_arc(state, x, EPSILON, gap_extend if state == deleted else gap_open, deleted)
            machine.add_arc(state, EPSILON, x, gap_extend if state == inserted else gap_open, inserted)
    if local:
        before, after = machine.add_states(2)
        machine.start = before
        machine.set_final(after)
        for x in map(ord, alphabet):
            for state in (before, after):
                machine.add_arc(state, x, EPSILON, 0.0, state)
                machine.add_arc(state, EPSILON, x, 0.0, state)
        machine.add_arc(before, EPSILON, EPSILON, 0.0, same)
        machine.add_arc(same, EPSILON, EPSILON, 0.0, after)
        for state in (deleted, inserted, same):  # an end is reached through `after` alone
            machine.set_final(state, float("inf"))
    return machine


def align_sequences(left: str, right: str, edits: Fst | None = None) -> tuple[float, str, str]:
    """The cost of the best alignment of two sequences, and both with - for gaps.

    >>> align_sequences("ACGTT", "ACT")
    (2.5, 'ACGTT', 'AC--T')
    """
    machine = affine_alignment() if edits is None else edits
    pairs = best_alignment(left, right, machine)
    path = shortest_path(compose(compose(accep(left), arcsort(machine)), accep(right)))
    cost = float(path.final(_last(path)))
    state = path.start
    while arcs := path.arcs(state):
        cost += float(arcs[0].weight)
        state = arcs[0].nextstate
    return cost, "".join(x or "-" for x, _ in pairs), "".join(y or "-" for _, y in pairs)


def _last(path: Fst) -> int:
    state = path.start
    while arcs := path.arcs(state):
        state = arcs[0].nextstate
    return state


def translation(codons: Mapping[str, str] = CODONS) -> Fst:
    """The transducer from bases to amino acids, a letter for three bases; * is a stop.

    >>> apply(translation(), ["ATGGCCTAA"])
    [[('MA*', 0.0)]]
    """
    machine = Fst()
    start = machine.start = machine.add_state()
    machine.set_final(start)
    states: dict[str, int] = {"": start}
    for codon, acid in sorted(codons.items()):
        if len(codon) != 3 or len(acid) != 1:
            raise DataError(f"a codon has three letters and an acid one, not {codon!r} and {acid!r}")
        for k in (1, 2):
            if codon[:k] not in states:
                states[codon[:k]] = machine.add_state()
                machine.add_arc(states[codon[: k - 1]], ord(codon[k - 1]), EPSILON, None, states[codon[:k]])
        machine.add_arc(states[codon[:2]], ord(codon[2]), ord(acid), None, start)
    return arcsort(machine)


def primer_search(primer: str, *, max_mismatches: int = 0) -> Fst:
    """The acceptor of sequences that end with a primer, each mismatch at a cost of 1.

    >>> primer_search("ACN").num_states
    4
    """
    if not primer:
        raise DataError("the primer is empty; it would be everywhere")
    for place, letter in enumerate(primer, 1):
        if letter not in _CODE:
            raise DataError(f"{letter!r} at place {place} is no base and no letter of IUPAC's code for several")
    machine = Fst()
    rows = min(max_mismatches, len(primer)) + 1
    grid = {(row, i): machine.add_state() for row in range(rows) for i in range(len(primer) + 1) if row <= i}
    machine.start = grid[0, 0]
    for label in map(ord, _BASES):
        machine.add_arc(machine.start, label, label, None, machine.start)
    for (row, i), state in grid.items():
        if i == len(primer):
            machine.set_final(state)
            continue
        for base in _BASES:
            if base in _CODE[primer[i]]:
                machine.add_arc(state, ord(base), ord(base), None, grid[row, i + 1])
            elif row + 1 < rows:
                machine.add_arc(state, ord(base), ord(base), 1.0, grid[row + 1, i + 1])
    return arcsort(machine)


def find_primer(primer: str, sequence: str, *, max_mismatches: int = 0) -> list[tuple[int, int]]:
    """Where a primer stands in a sequence, and the mismatches there; the sets of states are followed base by base.

    >>> find_primer("ACN", "TTACGACT", max_mismatches=0)
    [(2, 0), (5, 0)]
    """
    machine = primer_search(primer, max_mismatches=max_mismatches)
    arcs: list[dict[int, list[tuple[int, int]]]] = [{} for _ in range(machine.num_states)]  # label: targets and costs
    for state in range(machine.num_states):
        for arc in machine.arcs(state):
            arcs[state].setdefault(arc.ilabel, []).append((arc.nextstate, int(arc.weight)))
    finals = {state for state in range(machine.num_states) if machine.is_final(state)}
    active = {machine.start: 0}
    places = []
    for end, base in enumerate(sequence, 1):
        following: dict[int, int] = {}
        for state, cost in active.items():
            for target, more in arcs[state].get(ord(base), ()):
                following[target] = min(cost + more, following.get(target, cost + more))
        active = following
        ends = [cost for state, cost in active.items() if state in finals]
        if ends:
            places.append((end - len(primer), min(ends)))
        active.setdefault(machine.start, 0)
    return places


if __name__ == "__main__":
    one, other = sys.argv[1:] or ("ACGTT", "ACT")
    cost, upper, lower = align_sequences(one, other)
    print(f"aligned at a cost of {cost:g}:\n{upper}\n{lower}")
    local = affine_alignment(match=-1.0, local=True)
    print(f"best part in common: {-align_sequences('TTTACGT', 'GGACGTGG', local)[0]:g} bases")
    print(f"ATGGCCTAA is translated into {apply(translation(), ['ATGGCCTAA'])[0][0][0]}")
    for place, wrong in find_primer("ACN", "TTACGAGT", max_mismatches=1):
        print(f"ACN stands at {place} of TTACGAGT with {wrong} mismatches")
