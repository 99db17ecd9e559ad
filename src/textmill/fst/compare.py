"""Comparing machines, and drawing random paths.

    equal            the same states and arcs in the same order
    isomorphic       the same up to the numbers of states and the order of arcs
    equivalent       the same weighted strings: decided for deterministic acceptors without epsilons (Hopcroft & Karp)
    rand_equivalent  the same weights for the strings of random paths of both: for any machines, may be fooled

A random path chooses at each state among its arcs and, if it is final, the end: uniformly, or by weights as
probabilities.
"""

from __future__ import annotations

from textmill._native import fst as native
from textmill.errors import DataError
from textmill.fst.composition import compose
from textmill.fst.machine import Fst
from textmill.fst.paths import push, total_weight
from textmill.model import check_range

__all__ = ["equal", "equivalent", "isomorphic", "rand_equivalent", "randgen", "sample", "verify"]

_DELTA = 1 / 1024


def equal(a: Fst, b: Fst, *, delta: float = _DELTA) -> bool:
    """Do two machines have the same states and arcs in the same order, weights within `delta`?

    >>> from textmill.fst.strings import accep
    >>> equal(accep("ab"), accep("ab")), equal(accep("ab"), accep("ac"))
    (True, False)
    """
    return bool(native.equal(a._native, b._native, delta))


def isomorphic(a: Fst, b: Fst, *, delta: float = _DELTA) -> bool:
    """Are two machines the same up to the numbers of their states and the order of arcs?

    >>> from textmill.fst.rational import statesort
    >>> from textmill.fst.strings import accep
    >>> isomorphic(accep("ab"), statesort(accep("ab"), [2, 0, 1]))
    True
    """
    return bool(native.isomorphic(a._native, b._native, delta))


def equivalent(a: Fst, b: Fst, *, delta: float = _DELTA) -> bool:
    """Do two deterministic acceptors without epsilons have the same strings with the same weights?

    >>> from textmill.fst.formats import compile_text
    >>> equivalent(compile_text("0 1 1 1 1\\n1 2"), compile_text("0 1 1 1 3\\n1"))
    True
    """
    return bool(native.equivalent(a._native, b._native, delta))


def randgen(
    fst: Fst,
    npath: int = 1,
    *,
    select: str = "uniform",
    max_length: int | None = None,
    random_state: int = 0,
    weighted: bool = False,
) -> Fst:
    """Random paths, as a machine whose start has a way out for each; those longer than `max_length` arcs are left out.

    `select`: "uniform", or "log_prob" by weights as probabilities at each state. With `weighted` equal paths come once,
    with their share of all paths as weight.

    >>> from textmill.fst.strings import accep
    >>> randgen(accep("ab"), 3).num_arcs
    6
    """
    check_range("npath", npath, at_least=1)
    if select not in ("uniform", "log_prob"):
        raise DataError(f"select is 'uniform' or 'log_prob', not {select!r}")
    machine = native.random_paths(
        fst._native,
        paths=npath,
        longest=0x7FFFFFFF if max_length is None else max_length,
        seed=random_state,
        by_weight=select == "log_prob",
        weighted=weighted,
    )
    return fst._like(machine)


def sample(fst: Fst, npath: int = 1, *, max_length: int | None = None, random_state: int = 0) -> Fst:
    """Random paths, each as likely as its weight says: pushed, then drawn by `randgen`. For log and real weights.

    >>> from textmill.fst.strings import accep
    >>> sample(accep("ab", semiring_name="log64")).num_arcs
    2
    """
    if fst.semiring.name not in ("log", "log64", "real"):
        raise DataError(f"paths of {fst.semiring.name} have no probabilities; convert the machine to 'log64' first")
    stochastic = push(fst, remove_total_weight=True)
    return randgen(stochastic, npath, select="log_prob", max_length=max_length, random_state=random_state)


def rand_equivalent(
    a: Fst,
    b: Fst,
    *,
    npath: int = 100,
    max_length: int = 50,
    random_state: int = 0,
    select: str = "uniform",
    delta: float = _DELTA,
) -> bool:
    """Have the strings of random paths of both machines, drawn as by `randgen`, the same weights in both?

    >>> from textmill.fst.strings import accep
    >>> rand_equivalent(accep("ab"), accep("ab")), rand_equivalent(accep("ab"), accep("ac"))
    (True, False)
    """
    algebra = a.semiring
    if a.semiring != b.semiring:
        raise DataError(f"the machines have different semirings, {a.semiring.name} and {b.semiring.name}")
    seen: set[tuple[tuple[int, ...], tuple[int, ...]]] = set()
    for fst, other_state in ((a, random_state), (b, random_state ^ 1)):
        if fst.start >= 0:
            drawn = randgen(fst, npath, select=select, max_length=max_length, random_state=other_state)
            seen.update((inputs, outputs) for inputs, outputs, _ in native.paths(drawn._native, npath, 0))
    for inputs, outputs in seen:
        weights = []
        for fst in (a, b):
            read = Fst._of(native.linear(algebra._native, inputs, inputs, None), None, None)
            written = Fst._of(native.linear(algebra._native, outputs, outputs, None), None, None)
            plain = Fst._of(fst._native, None, None)
            weights.append(total_weight(compose(compose(read, plain), written)))
        if not algebra.approx_equal(weights[0], weights[1], delta):
            return False
    return True


def verify(fst: Fst) -> None:
    """A DataError unless labels have symbols in the tables of the machine; arcs and weights are checked when made.

    >>> from textmill.fst.strings import accep
    >>> verify(accep("ab"))
    """
    fst.properties("acceptor")  # looks through a mapped machine
    for name, field, symbols in (
        ("input", "ilabel", fst.input_symbols),
        ("output", "olabel", fst.output_symbols),
    ):
        if symbols is not None:
            keys = {key for key, _ in symbols.items()}
            missing = sorted(set(fst.arrays()[1][field].tolist()) - keys - {0})
            if missing:
                raise DataError(f"label {missing[0]} has no symbol in the table of {name} symbols; add it")
