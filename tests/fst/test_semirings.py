"""The laws of semirings, for every semiring there is."""

from __future__ import annotations

import random
from typing import Any

import pytest
from reference.fst import random_fst, random_weight, relation, same

import textmill.fst as wfst
from textmill.errors import DataError
from textmill.fst import Semiring, custom, semiring

NAMES = [
    "tropical",
    "tropical64",
    "log",
    "log64",
    "real",
    "boolean",
    "minmax",
    "signed_log",
    "left_string",
    "right_string",
    "gallic(tropical)",
    "product(tropical,log64)",
    "lexicographic(tropical,tropical)",
    "power(real,2)",
    "expectation(real,1)",
    "gallic_left(tropical)",
    "gallic_right(tropical)",
    "gallic_min(tropical)",
    "intersect_union_set",
    "union_intersect_set",
    "boolean_set",
    "union(tropical)",
    "sparse_power(real)",
]


def close(algebra: Semiring, a: Any, b: Any) -> bool:
    return algebra.approx_equal(a, b, 1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_laws(name: str) -> None:
    dice = random.Random(1)
    k = semiring(name)
    for _ in range(300):
        a, b, c = (random_weight(name, dice) for _ in range(3))
        assert close(k, k.plus(a, b), k.plus(b, a))
        assert close(k, k.plus(k.plus(a, b), c), k.plus(a, k.plus(b, c)))
        assert close(k, k.times(k.times(a, b), c), k.times(a, k.times(b, c)))
        assert k.plus(a, k.zero) == a
        assert k.times(a, k.one) == a == k.times(k.one, a)
        assert k.times(a, k.zero) == k.zero == k.times(k.zero, a)
        if k.left:
            assert close(k, k.times(a, k.plus(b, c)), k.plus(k.times(a, b), k.times(a, c)))
        if k.right:
            assert close(k, k.times(k.plus(a, b), c), k.plus(k.times(a, c), k.times(b, c)))
        if k.commutative:
            assert close(k, k.times(a, b), k.times(b, a))
        if k.idempotent:
            assert k.plus(a, a) == a
        if k.path:
            assert k.plus(a, b) in (a, b)
        other = k.reversed()
        assert close(other, k.reverse(k.times(a, b)), other.times(k.reverse(b), k.reverse(a)))
        assert other.reverse(k.reverse(a)) == a
        assert close(k, k.parse(k.format(a)), a)
        if not name.startswith("expectation") and (left := k.divide(k.times(a, b), a, "left")) is not None:
            assert close(k, k.times(a, left), k.times(a, b))


@pytest.mark.parametrize("name", ["nothing", "product(tropical)", "power(real,0)", "gallic(", "lexicographic(log,log)"])
def test_names_that_mean_nothing_are_refused(name: str) -> None:
    with pytest.raises(DataError):
        semiring(name)


@pytest.mark.parametrize(
    ("name", "weight"),
    [("tropical", float("nan")), ("real", -1.0), ("boolean", 2), ("left_string", (0,)), ("signed_log", 1.0)],
)
def test_weights_that_are_not_in_the_set_are_refused(name: str, weight: Any) -> None:
    k = semiring(name)
    with pytest.raises(DataError, match="is not a weight of the semiring"):
        k.plus(weight, k.one)


def test_variants_of_gallic_weights_differ_in_plus() -> None:
    a, b = ((1, 2), 1.0), ((1, 3), 2.0)
    assert semiring("gallic_left(tropical)").plus(a, b) == ((1,), 1.0)
    assert semiring("gallic_right(tropical)").plus(a, b) == ((), 1.0)
    assert semiring("gallic_min(tropical)").plus(a, b) == a
    assert semiring("gallic(tropical)").plus((a,), (b,)) == (a, b)
    with pytest.raises(DataError, match="not functional"):
        semiring("gallic_restricted(tropical)").plus(a, b)


def test_a_semiring_of_ones_own_says_what_it_lacks() -> None:
    class Words:
        zero, one = frozenset(), frozenset([""])

        def plus(self, a: Any, b: Any) -> Any:
            return a | b

        def times(self, a: Any, b: Any) -> Any:
            return frozenset(x + y for x in a for y in b)

    k = custom(Words())
    assert k.times(frozenset(["a"]), frozenset(["b", "c"])) == frozenset(["ab", "ac"])
    with pytest.raises(DataError, match="divide"):
        k.divide(frozenset(["a"]), frozenset(["b"]))
    with pytest.raises(DataError, match="has no zero"):
        custom(object())  # type: ignore[arg-type]


def test_restricted_weights_are_added_to_equal_ones_only() -> None:
    sets, strings = semiring("restricted_set_intersect_union"), semiring("restricted_string")
    a = frozenset([1, 2])
    assert sets.plus(a, a) == a
    assert sets.plus(a, sets.zero) == a
    assert sets.times(a, frozenset([3])) == frozenset([1, 2, 3])
    with pytest.raises(DataError, match="different labels"):
        sets.plus(a, frozenset([1]))
    assert strings.plus((1, 2), (1, 2)) == (1, 2)
    assert strings.times((1,), (2,)) == (1, 2)
    with pytest.raises(DataError, match="not functional"):
        strings.plus((1,), (2,))


def test_sets_are_joined_and_cut() -> None:
    a, b = frozenset([1, 2]), frozenset([2, 3])
    both, either = semiring("intersect_union_set"), semiring("union_intersect_set")
    assert (both.plus(a, b), both.times(a, b)) == (frozenset([2]), frozenset([1, 2, 3]))
    assert (either.plus(a, b), either.times(a, b)) == (frozenset([1, 2, 3]), frozenset([2]))
    assert (both.zero, both.one, either.zero, either.one) == (..., frozenset(), frozenset(), ...)
    assert both.divide(frozenset([1, 2, 3]), b) == frozenset([1])
    assert both.divide(a, b) is None
    assert both.format(both.parse("3_1")) == "1_3"
    assert [both.format(weight) for weight in (..., frozenset())] == ["UnivSet", "EmptySet"]
    assert semiring("boolean_set").plus(..., frozenset([7])) == frozenset()


def test_unions_hold_all_weights() -> None:
    k = semiring("union(tropical)")
    assert k.plus(frozenset([1.0]), frozenset([2.0])) == frozenset([1.0, 2.0])
    assert k.times(frozenset([1.0, 2.0]), frozenset([0.0, 1.0])) == frozenset([1.0, 2.0, 3.0])
    assert k.zero == frozenset()
    assert k.parse("(1),(2.5)") == frozenset([1.0, 2.5])
    nested = semiring("union(product(tropical,real))")
    assert nested.parse(nested.format(frozenset([(1.0, 0.5)]))) == frozenset([(1.0, 0.5)])


def test_sparse_vectors_are_added_component_by_component() -> None:
    k = semiring("sparse_power(real)")
    a, b = (0.0, ((1, 2.0), (5, 3.0))), (0.0, ((5, 4.0), (7, 1.0)))
    assert k.plus(a, b) == (0.0, ((1, 2.0), (5, 7.0), (7, 1.0)))
    assert k.times(a, b) == (0.0, ((5, 12.0),))
    assert k.one == (1.0, ())
    assert k.format(a) == "0,1,2,5,3"
    assert k.parse("0,1,2,5,3") == a
    with pytest.raises(DataError, match="rising keys"):
        k.plus((0.0, ((5, 1.0), (1, 1.0))), a)


def test_errors_cannot_be_calculated_with() -> None:
    k = semiring("error")
    assert k.plus(True, k.zero) is True
    assert k.times(True, k.one) is True
    with pytest.raises(DataError, match="are errors"):
        k.plus(True, True)


@pytest.mark.parametrize("name", ["intersect_union_set", "union(tropical)", "sparse_power(real)"])
def test_machines_have_such_weights(name: str) -> None:
    dice = random.Random(2)
    for _ in range(30):
        fst = random_fst(dice, name, acceptor=True, epsilon=0.3)
        assert same(relation(wfst.rmepsilon(fst)), relation(fst), fst.semiring)
        assert same(relation(wfst.compile_text(wfst.print_text(fst), semiring_name=name)), relation(fst), fst.semiring)
