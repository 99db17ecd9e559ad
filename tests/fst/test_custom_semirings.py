"""Semirings written in Python: the same operations, and whatever their functions do wrong comes out as an exception."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from reference.fst import random_fst, relation, same

import textmill.fst as wfst
from textmill.errors import DataError
from textmill.fst import Fst, Semiring


class Least:
    """The tropical semiring over fractions, with everything a definition may have."""

    zero, one = "none", Fraction(0)
    commutative = idempotent = path = True

    def plus(self, a: Any, b: Any) -> Any:
        return min((x for x in (a, b) if x != "none"), default="none")

    def times(self, a: Any, b: Any) -> Any:
        return "none" if "none" in (a, b) else a + b

    def divide(self, a: Any, b: Any, side: str) -> Any:
        return None if b == "none" else "none" if a == "none" else a - b

    def approx_equal(self, a: Any, b: Any, delta: float) -> bool:
        return bool(a == b)

    def quantize(self, a: Any, delta: float) -> Any:
        return a

    def format(self, a: Any) -> str:
        return str(a)

    def parse(self, text: str) -> Any:
        return text if text == "none" else Fraction(text)


LEAST = wfst.custom(Least())


def fractions(fst: Fst) -> Fst:
    return wfst.map_weights(fst, LEAST, lambda w: Fraction(w))


def numbers(fst: Fst) -> Fst:
    return wfst.map_weights(fst, "tropical64", float)


SAME: dict[str, Callable[[Fst], Fst]] = {
    "closure": wfst.closure,
    "compose": lambda a: wfst.compose(a, a),
    "concat": lambda a: wfst.concat(a, a),
    "connect": wfst.connect,
    "cross": lambda a: wfst.cross(wfst.project(a), wfst.project(a)),
    "determinize": lambda a: wfst.determinize(wfst.rmepsilon(wfst.project(a))),
    "disambiguate": lambda a: wfst.disambiguate(wfst.rmepsilon(wfst.project(a))),
    "encode": lambda a: wfst.decode(*wfst.encode(a, labels=True, weights=True)),
    "epsnormalize": wfst.epsnormalize,
    "minimize": lambda a: wfst.minimize(wfst.determinize(wfst.rmepsilon(wfst.project(a)))),
    "prune": lambda a: wfst.prune(a, weight=a.semiring.one),
    "push": wfst.push,
    "push to final": lambda a: wfst.push(a, to="final", labels=True),
    "repeat": lambda a: wfst.repeat(a, 1, 2),
    "replace": lambda a: wfst.replace({5: wfst.relabel(a, output_pairs={1: 9}), 9: a}, 5),
    "reverse": wfst.reverse,
    "rmepsilon": wfst.rmepsilon,
    "shortest_path": lambda a: wfst.shortest_path(a, 3),
    "synchronize": wfst.synchronize,
    "text": lambda a: wfst.compile_text(wfst.print_text(a), semiring_name=a.semiring),
    "topsort": wfst.topsort,
    "unique": lambda a: wfst.shortest_path(wfst.project(a), 3, unique=True),
}


@pytest.mark.parametrize("name", SAME)
def test_operations_do_the_same_as_on_the_semiring_of_numbers(name: str) -> None:
    dice = random.Random(name)
    for _ in range(40):
        plain = random_fst(dice, "tropical64", states=4, arcs=7)
        made, expected = SAME[name](fractions(plain)), SAME[name](plain)
        assert wfst.equal(numbers(made), expected, delta=1e-9) or same(
            relation(numbers(made), 8), relation(expected, 8), expected.semiring, 1e-9
        )
    assert wfst.total_weight(fractions(plain)) in (Least.zero, wfst.total_weight(plain))
    best = wfst.apply(fractions(wfst.string_map([("a", "x", 2.0), ("a", "y", 1.0)])), ["a"])
    assert best == [[("y", Fraction(1))]]


class TroubleError(Exception):
    """What a definition of the test raises."""


def broken(method: str, behavior: Callable[[], Any]) -> Semiring:
    """The semiring above, with one method that goes wrong."""
    return wfst.custom(type("Broken", (Least,), {method: lambda self, *arguments: behavior()})())


def diamond(algebra: Semiring) -> Fst:
    fst = Fst(algebra)
    fst.add_states(4)
    fst.start = 0
    for source, label, weight, target in ((0, 1, 1, 1), (0, 1, 2, 2), (1, 2, 3, 3), (2, 2, 4, 3), (0, 0, 1, 3)):
        fst.add_arc(source, label, label, Fraction(weight), target)
    fst.set_final(3, Fraction(1))
    return fst


USES: dict[str, list[Callable[[Fst], Any]]] = {
    "plus": [wfst.total_weight, wfst.determinize, wfst.push, lambda a: wfst.shortest_path(a, 2)],
    "times": [
        wfst.total_weight,
        lambda a: wfst.compose(a, a),
        wfst.determinize,
        wfst.rmepsilon,
        lambda a: list(wfst.strings(a)),
        wfst.epsnormalize,
    ],
    "divide": [wfst.determinize, wfst.push],
    "quantize": [wfst.determinize, lambda a: wfst.arcmap(a, "quantize")],
    "approx_equal": [lambda a: wfst.equal(a, wfst.arcmap(a, "times", weight=Fraction(1)))],
    "format": [wfst.print_text, wfst.to_dot],
}


def trouble() -> Any:
    raise TroubleError("as asked")


@pytest.mark.parametrize("method", USES)
def test_exceptions_of_a_definition_come_out_as_they_are(method: str) -> None:
    for use in USES[method]:
        fst = diamond(broken(method, trouble))
        with pytest.raises(TroubleError, match="as asked"):
            use(fst)
        assert fst.num_arcs == 5


@pytest.mark.parametrize(
    ("garbage", "words"),
    [
        (lambda: None, "None is not a weight of the semiring broken"),
        (lambda: [1], "must be hashable"),
        (lambda: ({},), "must be hashable"),
        (lambda: float("nan"), "NaN is not a weight of the semiring broken"),
    ],
)
@pytest.mark.parametrize("method", ["plus", "times", "quantize"])
def test_what_is_no_weight_is_refused_with_the_name_of_the_function(
    method: str, garbage: Callable[[], Any], words: str
) -> None:
    for use in USES[method]:
        with pytest.raises(DataError, match=rf"{words}.*returned by {method}"):
            use(diamond(broken(method, garbage)))


def test_division_may_be_impossible() -> None:
    with pytest.raises(DataError, match="cannot be divided"):
        wfst.determinize(diamond(broken("divide", lambda: None)))
    with pytest.raises(DataError, match="has no division"):
        wfst.determinize(
            diamond(
                wfst.custom(
                    type(
                        "Plain", (), {"zero": Least.zero, "one": Least.one, "plus": Least.plus, "times": Least.times}
                    )()
                )
            )
        )


def test_texts_must_be_texts_and_flags_may_be_any_truth() -> None:
    with pytest.raises(DataError, match="format of the semiring broken must return a string, but returned 7"):
        wfst.print_text(diamond(broken("format", lambda: 7)))
    with pytest.raises(DataError, match="text:1:field 5: '3' is not a weight"):
        wfst.compile_text("0 1 1 1 3\n1\n", semiring_name=broken("parse", lambda: None))
    assert wfst.custom(type("Counted", (Least,), {"commutative": 1})()).commutative is True


def test_a_definition_that_changes_the_machine_meanwhile_does_no_harm() -> None:
    class Emptying(Least):
        fst: Fst | None = None

        def times(self, a: Any, b: Any) -> Any:
            if self.fst is not None:
                self.fst.delete_states()
            return super().times(a, b)

    for use in (lambda a: list(wfst.strings(a)), wfst.total_weight, lambda a: wfst.compose(a, a), wfst.determinize):
        definition = Emptying()
        fst = diamond(wfst.custom(definition))
        definition.fst = fst
        use(fst)
        assert fst.num_states == 0
        definition.fst = None  # or they would keep each other alive


def test_a_definition_that_loses_its_mind_does_not_crash() -> None:
    """Answers at random: any machine or a DataError will do, and right definitions are served as before."""
    dice = random.Random(3)
    ended: Counter[str] = Counter()

    class Mad(Least):
        def plus(self, a: Any, b: Any) -> Any:
            return dice.choice([a, b, Fraction(dice.randint(-3, 3)), "none"])

        def times(self, a: Any, b: Any) -> Any:
            return dice.choice([a, b, Fraction(dice.randint(-3, 3))])

    algebra = wfst.custom(Mad())
    for _ in range(30):
        fst = wfst.map_weights(random_fst(dice, "tropical64", states=5, arcs=12), algebra, Fraction)
        for use in SAME.values():
            try:
                use(fst)
            except DataError:
                ended["refused"] += 1
            else:
                ended["answered"] += 1
    assert ended.total() == 30 * len(SAME)
    assert min(ended["refused"], ended["answered"]) > 0
    assert wfst.total_weight(diamond(LEAST)) == 2


def test_values_that_are_not_weights_are_refused_at_the_door() -> None:
    fst = Fst(LEAST)
    fst.add_state()
    for weight, words in ((float("nan"), "NaN"), ([1], "hashable")):
        with pytest.raises(DataError, match=words):
            fst.set_final(0, weight)
    with pytest.raises(DataError, match="must differ"):
        wfst.custom(type("Flat", (Least,), {"zero": 0, "one": 0})())
    for value in (None, float("nan"), []):
        with pytest.raises(DataError):
            wfst.custom(type("Bad", (Least,), {"zero": value})())
