"""Equivalent machines that are smaller or faster to use: without epsilons, deterministic, minimal, encoded.

    rmepsilon     arcs'(p) = plus over q of d(p, q) times arcs of q that are not epsilon     d: sums over epsilon paths
    determinize   subsets of (state, output still to be written, weight still to be paid)
    minimize      weights and outputs pushed to the start, then states that cannot be told apart merged
    encode        labels and weights of an arc as one label, so that the others can treat them as one

Determinisation ends for acyclic machines and those with the twins property; when a result grows suspiciously large
the property is tested, and a machine without it is a DataError that names a string. Weights that differ by less than
`delta` count as equal when states are compared; the weights of the result are not rounded. Reference: Mohri (1997;
2000; 2002).
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from textmill._native import fst as native
from textmill.errors import DataError
from textmill.files import replacing
from textmill.fst.machine import Fst
from textmill.fst.semirings import Semiring, Weight, semiring
from textmill.model import check_range

__all__ = ["Encoder", "decode", "determinize", "disambiguate", "encode", "minimize", "optimize", "rmepsilon"]

_DELTA = 1 / 1024


def rmepsilon(fst: Fst, *, connect: bool = True, weight: Weight | None = None, max_states: int | None = None) -> Fst:
    """Without arcs that read and write nothing; pruned if `weight` or `max_states` is given.

    >>> from textmill.fst.formats import compile_text
    >>> rmepsilon(compile_text("0 1 0 0 2\\n1 2 1 1 1\\n2")).arcs(0)[0].weight
    3.0
    """
    result = native.remove_epsilons(fst._native, connect)
    if weight is not None or max_states is not None:
        result = native.prune(result, weight, max_states)
    return fst._like(result)


def determinize(
    fst: Fst,
    *,
    det_type: str = "functional",
    delta: float = _DELTA,
    weight: Weight | None = None,
    max_states: int = 1 << 27,
    subsequential_label: int = 0,
    increment_subsequential_label: bool = False,
) -> Fst:
    """An equivalent machine in which no state has two arcs with the same input label.

    Of a transducer with several outputs for one input: a DataError that names the input ("functional"), all of them
    ("nonfunctional"), or the best ("disambiguate"). Outputs that are left at the end are written behind
    `subsequential_label`. With `weight` only what is on paths not worse than that times the best.

    >>> from textmill.fst.formats import compile_text
    >>> determinize(compile_text("0 1 1 1 1\\n0 2 1 1 2\\n1\\n2")).num_arcs
    1
    """
    check_range("max_states", max_states, at_least=1)
    machine = native.determinize(
        fst._native,
        outputs=det_type,
        delta=delta,
        weight=weight,
        most_states=max_states,
        label=subsequential_label,
        increment=increment_subsequential_label,
    )
    return fst._like(machine)


def disambiguate(fst: Fst, *, delta: float = _DELTA, max_states: int = 1 << 27) -> Fst:
    """An equivalent machine in which no two paths read the same string: the best of them stays (path semirings).

    It can be done for some machines that cannot be determinised. Every arc has to read something.

    >>> from textmill.fst.formats import compile_text
    >>> disambiguate(compile_text("0 1 1 5 1\\n0 2 1 6 2\\n1\\n2")).num_arcs
    1
    """
    check_range("max_states", max_states, at_least=1)
    return fst._like(native.disambiguate(fst._native, delta, max_states))


def minimize(fst: Fst, *, delta: float = _DELTA, allow_nondet: bool = False) -> Fst:
    """The equivalent machine with the fewest states, of a deterministic one; others only get smaller (`allow_nondet`).

    >>> from textmill.fst.formats import compile_text
    >>> minimize(compile_text("0 1 1 1\\n0 2 2 2\\n1 3 3 3\\n2 4 3 3\\n3\\n4")).num_states
    3
    """
    return fst._like(native.minimize(fst._native, delta, allow_nondet))


def optimize(fst: Fst) -> Fst:
    """Remove epsilons, then determinise and minimise with labels and weights encoded: always possible, often enough.

    >>> from textmill.fst.rational import union
    >>> from textmill.fst.strings import accep
    >>> optimize(union(accep("ab"), accep("cb"))).num_states
    3
    """
    plain = rmepsilon(fst)
    weighted = plain.has("weighted") and plain.has("cyclic")
    if plain.has("acceptor") and not weighted:
        return minimize(determinize(plain))
    coded, encoder = encode(plain, labels=True, weights=weighted)
    return decode(minimize(determinize(coded)), encoder)


class Encoder:
    """A table of codes, made by `encode`; codes count from 1.

    >>> from textmill.fst.formats import compile_text
    >>> _, encoder = encode(compile_text("0 1 5 7 .5\\n1"), labels=True)
    >>> encoder.codes()
    [(5, 7, 0.0)]
    """

    __slots__ = ("_native",)

    def __init__(self, semiring_name: str | Semiring, *, labels: bool, weights: bool) -> None:
        if not labels and not weights:
            raise DataError("encode labels, weights or both")
        self._native = native.Encoder(semiring(semiring_name)._native, labels, weights)

    @property
    def labels(self) -> bool:
        """Are output labels encoded?"""
        return bool(self._native.flags[0])

    @property
    def weights(self) -> bool:
        """Are weights encoded?"""
        return bool(self._native.flags[1])

    def codes(self) -> Sequence[tuple[int, int, Weight]]:
        """Input label, output label and weight of each code.

        >>> Encoder("tropical", labels=True, weights=False).codes()
        []
        """
        return list(self._native.codes())

    def __len__(self) -> int:
        return len(self._native)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the table as JSON lines: the head, then a code a line with its weight as text.

        >>> Encoder("tropical", labels=True, weights=False).write("codes.jsonl"); len(Encoder.read("codes.jsonl"))
        0
        """
        algebra = Semiring(self._native.semiring)
        lines = [{"semiring": algebra.name, "labels": self.labels, "weights": self.weights}]
        rows = [json.dumps(line) for line in lines] + [
            json.dumps([ilabel, olabel, algebra.format(weight)]) for ilabel, olabel, weight in self.codes()
        ]
        with replacing(path) as file:
            file.write("".join(row + "\n" for row in rows).encode())

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Encoder:
        """Read a table.

        >>> Encoder("log64", labels=True, weights=True).write("codes.jsonl"); Encoder.read("codes.jsonl").weights
        True
        """
        content = Path(path).read_bytes()
        try:
            rows = content.decode().splitlines()
            head = json.loads(rows[0])
            algebra = semiring(str(head["semiring"]))
            made = cls(algebra, labels=head["labels"], weights=head["weights"])
            for row in rows[1:]:
                ilabel, olabel, weight = json.loads(row)
                made._native.add(ilabel, olabel, algebra.parse(weight))
        except (IndexError, KeyError, RecursionError, TypeError, ValueError) as fault:
            raise DataError(f"not a table of codes: {fault}", source=os.fspath(path)) from None
        return made


def encode(
    fst: Fst, *, labels: bool = False, weights: bool = False, encoder: Encoder | None = None
) -> tuple[Fst, Encoder]:
    """Labels, weights or both of each arc as one label; the codes are in the encoder, which may be used again.

    >>> from textmill.fst.formats import compile_text
    >>> coded, encoder = encode(compile_text("0 1 5 7 .5\\n1"), labels=True, weights=True)
    >>> coded.has("acceptor"), coded.has("weighted"), decode(coded, encoder).arcs(0)[0].olabel
    (True, False, 7)
    """
    used = Encoder(fst.semiring, labels=labels, weights=weights) if encoder is None else encoder
    return Fst._of(native.encode(fst._native, used._native), None, None), used


def decode(fst: Fst, encoder: Encoder) -> Fst:
    """What `encode` has put together, taken apart again.

    >>> from textmill.fst.formats import compile_text
    >>> coded, encoder = encode(compile_text("0 1 5 7 .5\\n1"), labels=True)
    >>> decode(coded, encoder).arcs(0)[0].ilabel
    5
    """
    return Fst._of(native.decode(fst._native, encoder._native), None, None)
