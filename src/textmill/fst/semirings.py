"""Semirings: how the weights of paths are multiplied along a path and added over paths.

    weight of a path     = w1 times w2 times ... times wn times final weight
    weight of a string   = plus over all paths that read it

    name                     weights                plus                    times     zero       one
    tropical, tropical64     numbers                min                     +         inf        0
    log, log64               -ln of masses          -ln(e^-a + e^-b)        +         inf        0
    real                     [0, inf)               +                       x         0          1
    boolean                  False, True            or                      and       False      True
    minmax                   numbers                min                     max       inf        -inf
    signed_log               (sign, -ln of size)    of signed numbers       x         (1, inf)   (1, 0)
    left_string, ...         tuples of labels       longest common prefix   concat    inf        ()
    intersect_union_set      sets of labels         intersection            union     ...        {}
    union_intersect_set      sets of labels         union                   inters.   {}         ...
    error                    False, True            refuses                 refuses   False      True
    product(A,B), power(A,n), sparse_power(A), lexicographic(A,B), expectation(A,n), union(A), gallic(A) and its
    variants (gallic_left, _right, _restricted, _min): made of others

A weight of product, lexicographic, power and expectation is a tuple; of gallic a pair (labels, weight), or a tuple of
such pairs for gallic(A) itself; of union(A) a frozenset; of sparse_power(A) a pair (default, ((key, weight), ...)); of
sets of labels a frozenset, or `...` for the set of all (also: restricted_set_intersect_union, which adds equal sets
only, and boolean_set).

`tropical` and `log` have 32-bit weights, as OpenFst's; the others of numbers have 64 bits, but for `minmax`.
Semirings that are made of others, and your own classes (`custom`), go through every operation too, only slower: their
weights are interned objects instead of machine numbers. Reference: Mohri (2009), Weighted automata algorithms.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Protocol

import numpy as np

from textmill._native import fst as native
from textmill.errors import DataError

__all__ = ["Semiring", "SemiringDefinition", "Weight", "arguments", "custom", "gallic", "semiring"]

Weight = Any  # a number, a tuple, or whatever a custom semiring uses

_COMPONENTS: dict[str, np.dtype[Any]] = {
    "tropical": np.dtype("f4"),
    "tropical64": np.dtype("f8"),
    "log": np.dtype("f4"),
    "log64": np.dtype("f8"),
    "real": np.dtype("f8"),
    "boolean": np.dtype("i1"),
    "minmax": np.dtype("f4"),
    "signed_log": np.dtype([("sign", "f8"), ("value", "f8")]),
}


class SemiringDefinition(Protocol):
    """What `custom` needs: two constants and two functions; values are hashable and not None.

    Optional: `left`, `right`, `commutative`, `idempotent`, `path` (flags), `divide(a, b, side)` (None if impossible),
    `approx_equal(a, b, delta)`, `quantize(a, delta)`, `reverse(a)`, `format(a)`, `parse(text)`.
    """

    zero: Hashable
    one: Hashable

    def plus(self, a: Any, b: Any) -> Any:
        """Join two alternatives."""

    def times(self, a: Any, b: Any) -> Any:
        """Put one weight after another."""


class Semiring:
    """One semiring; made by `semiring` or `custom`.

    >>> tropical = semiring("tropical")
    >>> tropical.plus(2.0, 3.0), tropical.times(2.0, 3.0), tropical.zero, tropical.one
    (2.0, 5.0, inf, 0.0)
    """

    __slots__ = ("_native", "commutative", "idempotent", "left", "name", "path", "right")

    def __init__(self, implementation: native.Semiring) -> None:
        self._native = implementation
        self.name: str = implementation.name
        self.left, self.right, self.commutative, self.idempotent, self.path = implementation.flags

    @property
    def zero(self) -> Weight:
        """The weight of what is impossible."""
        return self._native.zero

    @property
    def one(self) -> Weight:
        """The weight of the empty path."""
        return self._native.one

    @property
    def is_composite(self) -> bool:
        """Are its weights made of others, or of the user's own, and no plain numbers?"""
        return self.name not in _COMPONENTS

    @property
    def dtype(self) -> np.dtype[Any]:
        """How a weight lies in the arrays of `Fst.arc_array`; composite weights are numbers of interned values."""
        return _COMPONENTS.get(self.name, np.dtype("u4"))

    def plus(self, a: Weight, b: Weight) -> Weight:
        """Join two alternatives.

        >>> round(semiring("log64").plus(1.0, 1.0), 6)
        0.306853
        """
        return self._native.plus(a, b)

    def times(self, a: Weight, b: Weight) -> Weight:
        """Put one weight after another.

        >>> semiring("left_string").times((1, 2), (3,))
        (1, 2, 3)
        """
        return self._native.times(a, b)

    def divide(self, a: Weight, b: Weight, side: str = "any") -> Weight:
        """The c with b times c == a (`side="left"`) or c times b == a ("right"); None if there is none.

        >>> semiring("left_string").divide((1, 2, 3), (1,), "left")
        (2, 3)
        """
        return self._native.divide(a, b, side)

    def member(self, a: Weight) -> bool:
        """Is this one of its weights?

        >>> semiring("real").member(0.5), semiring("real").member(-1.0)
        (True, False)
        """
        try:
            self._native.format(a)
        except DataError:
            return False
        return True

    def less(self, a: Weight, b: Weight) -> bool:
        """Is a better than b in the natural order, where a plus b is a? A total order iff `path`.

        >>> semiring("tropical").less(1.0, 2.0), semiring("boolean").less(True, False)
        (True, True)
        """
        return bool(a != b and self.plus(a, b) == a)

    def approx_equal(self, a: Weight, b: Weight, delta: float = 1 / 1024) -> bool:
        """Are two weights equal up to delta?

        >>> semiring("real").approx_equal(0.5, 0.5001)
        True
        """
        return bool(self._native.approx_equal(a, b, delta))

    def quantize(self, a: Weight, delta: float = 1 / 1024) -> Weight:
        """The nearest multiple of delta.

        >>> semiring("real").quantize(0.26, 0.25)
        0.25
        """
        return self._native.quantize(a, delta)

    def reverse(self, a: Weight) -> Weight:
        """The weight of the path walked backwards, in `reversed`.

        >>> semiring("left_string").reverse((1, 2))
        (2, 1)
        """
        return self._native.reverse(a)

    def reversed(self) -> Semiring:
        """The semiring of paths walked backwards: itself if it commutes.

        >>> semiring("left_string").reversed().name
        'right_string'
        """
        return Semiring(self._native.reversed())

    def format(self, a: Weight) -> str:
        """The weight as text.

        >>> semiring("product(tropical,log64)").format((1.0, 2.5))
        '1,2.5'
        """
        return str(self._native.format(a))

    def parse(self, text: str) -> Weight:
        """The weight that a text means.

        >>> semiring("gallic(tropical)").parse("1_2,0.5")
        (((1, 2), 0.5),)
        """
        return self._native.parse(text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semiring) and self._native.same(other._native)

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"semiring({self.name!r})"


_algebras: dict[str, Semiring] = {}
_STRINGS = {"left_string": "left", "right_string": "right", "restricted_string": "restricted"}
_SETS = ("intersect_union_set", "union_intersect_set", "restricted_set_intersect_union", "boolean_set")
_GALLIC = {
    "gallic": "general",
    "gallic_left": "left",
    "gallic_right": "right",
    "gallic_restricted": "restricted",
    "gallic_min": "min",
}


def semiring(name: str | Semiring) -> Semiring:
    """The semiring of a name; the same object for the same name.

    >>> semiring("lexicographic(tropical,tropical)").plus((1.0, 5.0), (1.0, 3.0))
    (1.0, 3.0)
    >>> semiring("expectation(real,1)").times((0.5, 2.0), (0.5, 0.0))
    (0.25, 1.0)
    """
    if isinstance(name, Semiring):
        return name
    if name not in _algebras:
        algebra = Semiring(_build(name))
        _algebras[name] = _algebras.setdefault(algebra.name, algebra)
    return _algebras[name]


def gallic(kind: str, weights: Semiring) -> Semiring:
    """The gallic semiring of a kind ("gallic", "gallic_left", ...) over another one, also over a custom one.

    >>> gallic("gallic_min", semiring("tropical")).name
    'gallic_min(tropical)'
    """
    if kind not in _GALLIC:
        raise DataError(f"no gallic semiring is called {kind!r}; there are {', '.join(_GALLIC)}")
    try:
        named = semiring(weights.name)
    except DataError:  # one of the user's own
        named = None
    if named == weights:
        return semiring(f"{kind}({weights.name})")
    return Semiring(native.gallic_semiring(_GALLIC[kind], weights._native))


def custom(definition: SemiringDefinition, name: str | None = None) -> Semiring:
    """A semiring of your own: every operation takes it, at the speed of its Python functions.

    >>> class Count:
    ...     zero, one, commutative = 0, 1, True
    ...     def plus(self, a, b): return a + b
    ...     def times(self, a, b): return a * b
    >>> custom(Count()).plus(2, 3)
    5
    """
    for attribute in ("zero", "one", "plus", "times"):
        if not hasattr(definition, attribute):
            raise DataError(
                f"a semiring needs zero, one, plus and times; {type(definition).__name__} has no {attribute}"
            )
    return Semiring(native.python_semiring(definition, name or type(definition).__name__.lower()))


def arguments(name: str) -> tuple[str, list[str]]:
    """What a name of a semiring is made of: product(A,B) is product of A and B.

    >>> arguments("product(tropical,power(real,2))")
    ('product', ['tropical', 'power(real,2)'])
    """
    kind, bracket, inside = name.partition("(")
    if bracket and not inside.endswith(")"):
        raise DataError(f"the name {name!r} of a semiring has no closing parenthesis")
    return kind.strip(), _split(inside[:-1]) if bracket else []


def _build(name: str) -> native.Semiring:
    kind, parts = arguments(name)
    bracket = "(" in name
    if kind in _SETS and not bracket:
        return native.set_semiring(kind)
    if kind == "error" and not bracket:
        return native.error_semiring()
    if not bracket:
        return native.string_semiring(_STRINGS[kind]) if kind in _STRINGS else native.number_semiring(kind)
    if kind in _GALLIC and len(parts) == 1:
        return native.gallic_semiring(_GALLIC[kind], semiring(parts[0])._native)
    if kind == "union" and len(parts) == 1:
        return native.union_semiring(semiring(parts[0])._native)
    if kind == "sparse_power" and len(parts) == 1:
        return native.sparse_power_semiring(semiring(parts[0])._native)
    if kind in ("product", "lexicographic") and len(parts) >= 2:
        return native.tuple_semiring(kind, [semiring(part)._native for part in parts])
    if kind in ("power", "expectation") and len(parts) == 2 and parts[1].isdigit() and 0 < int(parts[1]) <= 10_000:
        copies = int(parts[1]) + (kind == "expectation")
        return native.tuple_semiring(kind, [semiring(parts[0])._native] * copies)
    raise DataError(
        f"no semiring is called {name!r}; "
        "write product(A,B), lexicographic(A,B), power(A,n), sparse_power(A), expectation(A,n), union(A) or gallic(A)"
    )


def _split(inside: str) -> list[str]:
    """Cut at the commas outside parentheses."""
    parts, depth = [""], 0
    for letter in inside:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        elif not letter.isspace():
            parts[-1] += letter
    return parts
