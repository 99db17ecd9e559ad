"""Profiles of families of sequences: hidden Markov models with a match, an insert and a delete state per column.

    M_k reads one letter of column k, I_k letters between columns k and k + 1, D_k leaves column k out
    P(letter | M_k) = (count + pseudo) / (sum + pseudo A)      A letters in the alphabet; inserted letters are uniform
    P(s -> s')      = (count + pseudo) / (sum + 3 pseudo)      M, I, D of the next column (I of this one); 2 at the end

Columns in which at least half of the sequences have a letter are match columns. The machine is an acceptor of letters
whose weights are -ln P, so that the weights of all paths of a sequence sum to its probability, and those of all
sequences to one. Reference: Krogh, Brown, Mian, Sjölander & Haussler (1994); Durbin, Eddy, Krogh & Mitchison (1998).

python examples/fst/profiles.py ACGT TTTT
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Sequence

from textmill.errors import DataError
from textmill.fst import EPSILON, Fst, accep, arcsort, compose, total_weight

__all__ = ["profile_acceptor"]

_MATCH, _INSERT, _DELETE = 0, 1, 2


def profile_acceptor(alignment: Sequence[str], *, alphabet: str = "ACGT", gap: str = "-", pseudo: float = 1.0) -> Fst:
    """The profile of aligned sequences, all of one length, in which `gap` stands for nothing.

    >>> profile = profile_acceptor(["ACG", "ACG", "A-G"])
    >>> near, far = (total_weight(compose(accep(x, semiring_name="log64"), profile)) for x in ("ACG", "TTT"))
    >>> near < far
    True
    """
    if pseudo <= 0:
        raise DataError(f"pseudo must be a number above 0, got {pseudo!r}")
    rows = _rows_of(alignment, alphabet, gap)
    columns = [k for k in range(len(rows[0])) if 2 * sum(row[k] != gap for row in rows) >= len(rows)]
    emitted, moved = _counts(rows, columns, gap)
    machine = Fst("log64")
    last = len(columns)  # states: 3 k + kind, M_0 is the start; then the end
    machine.add_states(3 * (last + 1) + 1)
    machine.start, end = 0, 3 * (last + 1)
    machine.set_final(end)

    def cost(count: float, total: float, choices: int) -> float:
        return -math.log((count + pseudo) / (total + pseudo * choices))

    for k in range(last + 1):
        for kind in (_MATCH, _INSERT, _DELETE):
            if (k, kind) == (0, _DELETE):
                continue
            source = 3 * k + kind
            targets = (_MATCH, _INSERT, _DELETE) if k < last else (_MATCH, _INSERT)
            total = sum(moved[k, kind, target] for target in targets)
            for target in targets:
                step = cost(moved[k, kind, target], total, len(targets))
                if target == _INSERT:
                    for letter in alphabet:
                        machine.add_arc(source, ord(letter), ord(letter), step + math.log(len(alphabet)), 3 * k + 1)
                elif k == last:
                    machine.add_arc(source, EPSILON, EPSILON, step, end)
                elif target == _DELETE:
                    machine.add_arc(source, EPSILON, EPSILON, step, 3 * (k + 1) + 2)
                else:
                    seen = emitted[k + 1]
                    for letter in alphabet:
                        read = cost(seen[letter], seen.total(), len(alphabet))
                        machine.add_arc(source, ord(letter), ord(letter), step + read, 3 * (k + 1))
    return arcsort(machine)


def _rows_of(alignment: Sequence[str], alphabet: str, gap: str) -> list[str]:
    if len(gap) != 1 or gap in alphabet or not alphabet or len(set(alphabet)) != len(alphabet):
        raise DataError("the alphabet has different letters, and the gap is one character that is none of them")
    rows = list(alignment)
    if not rows or isinstance(alignment, str):
        raise DataError("a profile needs a list of aligned sequences")
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise DataError(f"sequence {number} has {len(row)} columns, the first {len(rows[0])}; align them first")
        for place, letter in enumerate(row, 1):
            if letter != gap and letter not in alphabet:
                raise DataError(f"sequence {number}, column {place}: {letter!r} is neither in the alphabet nor the gap")
    return rows


def _counts(
    rows: list[str], columns: list[int], gap: str
) -> tuple[dict[int, Counter[str]], Counter[tuple[int, int, int]]]:
    """Letters of match columns, and moves (column, kind, next kind), of the paths that the alignment says."""
    number = {column: k for k, column in enumerate(columns, 1)}
    emitted = {k: Counter[str]() for k in number.values()}
    moved: Counter[tuple[int, int, int]] = Counter()
    for row in rows:
        k, kind = 0, _MATCH
        for column, letter in enumerate(row):
            following = number.get(column)
            if following is None:
                if letter == gap:
                    continue
                target = _INSERT
            else:
                target = _DELETE if letter == gap else _MATCH
                if letter != gap:
                    emitted[following][letter] += 1
            moved[k, kind, target] += 1
            k, kind = following or k, target
        moved[k, kind, _MATCH] += 1  # the end stands where the next match would
    return emitted, moved


if __name__ == "__main__":
    family = profile_acceptor(["ACG-T", "ACGAT", "A-G-T"])
    for sequence in sys.argv[1:] or ("ACGT", "TTTT"):
        cost = total_weight(compose(accep(sequence, semiring_name="log64"), family))
        print(f"{sequence}: probability {math.exp(-cost):.3g}")
