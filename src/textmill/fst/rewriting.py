"""Context-dependent rewrite rules as transducers.

    phi -> psi / lambda _ rho        what stands between lambda and rho and is phi becomes psi; all else is copied

    left-to-right    lambda is looked for in what was written, rho in the input      a -> b / b _ :  baaa -> bbbb
    right-to-left    lambda in the input, rho in what was written, from the end               baaa -> bbaa
    simultaneous     both in the input                                                        baaa -> bbaa

Where the rule applies it must be applied (or may be: `optional`). Matches do not overlap; of several that begin at one
place each is taken, so that rules may have several outputs. phi may be the empty string, which is then written once at
a place. Weights of the rule are those of its target; contexts have none.

The rule is built in one product of two automata of contexts and the target, over classes of symbols that it does not
tell apart (native/fst/rewrite.h), where the usual compiler composes five transducers over the whole alphabet.
Reference: Kaplan & Kay (1994); Mohri & Sproat (1996).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from textmill._native import fst as native
from textmill.errors import DataError
from textmill.fst.grammar import END, START, acceptor_of, alphabet_of, current_reading, one_of, promote
from textmill.fst.machine import Fst
from textmill.fst.optimization import optimize
from textmill.fst.rational import arcsort, connect, reverse
from textmill.fst.strings import cross
from textmill.fst.transform import arcmap

__all__ = ["DIRECTIONS", "boundary", "rewrite"]

DIRECTIONS = ("left-to-right", "right-to-left", "simultaneous")
_MOST_STATES = 1 << 22


def boundary(side: str = "start") -> Fst:
    """The "start" or the "end" of a string, for the contexts of rewrite rules.

    >>> boundary("end").num_states
    2
    """
    if side not in ("start", "end"):
        raise DataError(f"a boundary is the 'start' or the 'end' of a string, not {side!r}")
    return one_of([START if side == "start" else END])


def rewrite(
    target: Fst | str,
    replacement: Fst | str | None = None,
    *,
    left: Fst | str = "",
    right: Fst | str = "",
    alphabet: str | Iterable[int] | Fst | None = None,
    direction: str = "left-to-right",
    optional: bool = False,
) -> Fst:
    """The transducer of a rule: `target` becomes `replacement` between `left` and `right`.

    Without a replacement the target is a transducer that says what becomes what. `alphabet`, a text, labels or a
    machine, is that of the current `reading` if there is none; symbols of the rule are added to it.

    >>> from textmill.fst.strings import apply
    >>> rule = rewrite("a", "b", left="c", right="d", alphabet="abcd")
    >>> apply(rule, ["cadcac"])
    [[('cbdcac', 0.0)]]
    """
    if direction not in DIRECTIONS:
        raise DataError(f"direction is one of {', '.join(map(repr, DIRECTIONS))}, not {direction!r}")
    first = promote(target)
    algebra = first.semiring
    tau = first if replacement is None else cross(first, promote(replacement, algebra))
    contexts = [
        arcmap(acceptor_of(context, f"the {side} context", algebra), "rmweight")
        for side, context in (("left", left), ("right", right))
    ]
    labels = _labels(alphabet)
    bounds = [START, END]
    if direction == "right-to-left":
        tau, bounds = reverse(tau), bounds[::-1]
        contexts = [reverse(context) for context in reversed(contexts)]
    machine, classes = native.rewrite(
        tau._native,
        contexts[0]._native,
        contexts[1]._native,
        np.asarray(labels, dtype=np.int32),
        bounds,
        obligatory=not optional,
        simultaneous=direction == "simultaneous",
        most_states=_MOST_STATES,
    )
    result = connect(Fst._of(machine, tau.input_symbols, tau.output_symbols))
    if direction == "right-to-left":
        result = reverse(result)
    small = optimize(result)
    return arcsort(small._like(native.expand_classes(small._native, classes)))


def _labels(alphabet: str | Iterable[int] | Fst | None) -> list[int]:
    if alphabet is None:
        return list(current_reading().alphabet)
    if isinstance(alphabet, str):
        return alphabet_of(promote(alphabet))
    if isinstance(alphabet, Fst):
        return alphabet_of(alphabet)
    labels = [int(label) for label in alphabet]
    if any(not 0 < label < START for label in labels):
        raise DataError(f"labels of an alphabet are from 1 to {START - 1:,}")
    return labels
