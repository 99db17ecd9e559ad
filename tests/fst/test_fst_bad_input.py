"""What is wrong is said and what is odd survived: empty, damaged, hostile, enormous, changed meanwhile, interrupted."""

from __future__ import annotations

import contextlib
import random
import signal
import struct
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference.fst import random_fst

import textmill.fst as wfst
from textmill.errors import DataError
from textmill.fst import Fst, SymbolTable

# every operation on one machine, with arguments that suit any
UNARY: dict[str, Callable[[Fst], Any]] = {
    "arcmap": lambda a: [wfst.arcmap(a, kind, weight=a.semiring.one) for kind in wfst.MAPS if kind != "power"],
    "arcsort": lambda a: (wfst.arcsort(a), wfst.arcsort(a, "olabel")),
    "arrays": lambda a: a.arrays(),
    "closure": lambda a: (wfst.closure(a), wfst.closure(a, star=False)),
    "complement": lambda a: wfst.complement(wfst.arcmap(wfst.project(a), "rmweight"), [1, 2]),
    "compose": lambda a: [wfst.compose(a, a, compose_filter=name) for name in wfst.FILTERS],
    "concat": lambda a: wfst.concat(a, a),
    "connect": wfst.connect,
    "copy": lambda a: a.copy(),
    "cross": lambda a: wfst.cross(wfst.project(a), wfst.project(a)),
    "decode": lambda a: wfst.decode(*wfst.encode(a, labels=True, weights=True)),
    "determinize": lambda a: [
        wfst.determinize(a, det_type=kind) for kind in ("functional", "nonfunctional", "disambiguate")
    ],
    "disambiguate": wfst.disambiguate,
    "epsnormalize": lambda a: (wfst.epsnormalize(a), wfst.epsnormalize(a, "output")),
    "equal": lambda a: wfst.equal(a, a),
    "equivalent": lambda a: wfst.equivalent(a, a),
    "info": wfst.info,
    "intersect": lambda a: wfst.intersect(wfst.project(a), wfst.project(a)),
    "invert": wfst.invert,
    "isomorphic": lambda a: wfst.isomorphic(a, a),
    "minimize": lambda a: wfst.minimize(a, allow_nondet=True),
    "optimize": wfst.optimize,
    "print": lambda a: wfst.compile_text(wfst.print_text(a), semiring_name=a.semiring),
    "project": lambda a: (wfst.project(a), wfst.project(a, "output")),
    "properties": lambda a: a.properties(),
    "prune": lambda a: (wfst.prune(a, weight=a.semiring.one), wfst.prune(a, max_states=1)),
    "push": lambda a: (wfst.push(a), wfst.push(a, to="final"), wfst.push(a, labels=True, remove_common_affix=True)),
    "push labels": lambda a: wfst.push(a, weights=False, labels=True, to="final"),
    "rand_equivalent": lambda a: wfst.rand_equivalent(a, a, npath=3, max_length=5),
    "randgen": lambda a: wfst.randgen(a, 3, max_length=20),
    "relabel": lambda a: wfst.relabel(a, input_pairs={1: 2}),
    "repeat": lambda a: (wfst.repeat(a, 0, 2), wfst.repeat(a, 2), wfst.repeat(a, 1, 1)),
    "replace": lambda a: wfst.replace({5: a, 2: wfst.accep("b", semiring_name=a.semiring)}, 5),
    "reverse": wfst.reverse,
    "reweight": lambda a: wfst.reweight(a, [a.semiring.one] * a.num_states),
    "rmepsilon": lambda a: (wfst.rmepsilon(a), wfst.rmepsilon(a, connect=False)),
    "shortest_distance": lambda a: (wfst.shortest_distance(a), wfst.shortest_distance(a, reverse=True)),
    "shortest_path": lambda a: [
        wfst.shortest_path(wfst.project(a), n, unique=unique) for n in (1, 3) for unique in (False, True)
    ],
    "statesort": lambda a: wfst.statesort(a, range(a.num_states)),
    "strings": lambda a: list(wfst.strings(a, most=10, max_length=5)),
    "svg": lambda a: (wfst.to_dot(a), wfst.to_svg(a)),
    "synchronize": wfst.synchronize,
    "topsort": wfst.topsort,
    "total_weight": wfst.total_weight,
    "union": lambda a: wfst.union(a, a),
    "verify": wfst.verify,
}


def odd(name: str, algebra: str) -> Fst:
    """Machines at the borders of what a machine may be."""
    fst = Fst(algebra)
    if name == "nothing":
        return fst
    fst.add_states(3)
    match name:
        case "no start":
            fst.add_arc(0, 1, 1, None, 1)
            fst.set_final(1)
            return fst
        case "no final state":
            fst.add_arc(0, 1, 1, None, 1)
        case "unreachable final state":
            fst.add_arc(0, 1, 2, None, 1)
            fst.set_final(2)
        case "loops everywhere":
            heavy = {"boolean": True, "real": 0.125, "left_string": (1,)}.get(algebra, 2.0)
            for state in range(3):
                fst.add_arc(state, 1, 2, heavy, state)
                fst.add_arc(state, 2, 0, heavy, (state + 1) % 3)
                fst.set_final(state)
        case "one state":
            fst.delete_states([1, 2])
            fst.set_final(0)
        case "parallel arcs":
            for _ in range(4):
                fst.add_arc(0, 1, 1, None, 1)
                fst.add_arc(0, 0, 0, None, 1)
            fst.set_final(1)
        case "weights of zero":
            fst.add_arc(0, 1, 1, fst.semiring.zero, 1)
            fst.add_arc(0, 0, 0, fst.semiring.zero, 0)
            fst.set_final(1)
        case "largest labels":
            fst.add_arc(0, 0x7FFFFFFF, 0x7FFFFFFF, None, 1)
            fst.add_arc(0, 0x7FFFFFFE, 0x7FFFFFFF, None, 1)
            fst.set_final(1)
    fst.start = 0
    return fst


ODD = (
    "nothing",
    "no start",
    "no final state",
    "unreachable final state",
    "loops everywhere",
    "one state",
    "parallel arcs",
    "weights of zero",
    "largest labels",
)


@pytest.mark.parametrize("algebra", ["tropical", "log64", "real", "boolean", "left_string"])
@pytest.mark.parametrize("name", ODD)
def test_odd_machines_go_through_every_operation(name: str, algebra: str) -> None:
    """Either there is a result or a DataError of one line: nothing else, and in no time."""
    refused = {}
    for key, call in UNARY.items():
        try:
            call(odd(name, algebra))
        except DataError as fault:
            refused[key] = str(fault)
    assert not any("\n" in message for message in refused.values())
    if name in ("nothing", "one state") and algebra in ("tropical", "boolean"):
        assert not refused


def test_strings_can_be_taken_away_that_have_the_largest_label() -> None:
    a = odd("largest labels", "tropical")
    b = wfst.determinize(wfst.project(wfst.compile_text("0 1 2147483647 2147483647\n1\n")))
    left = wfst.difference(wfst.project(a), b)
    assert [arc.ilabel for _, arc in left.iter_arcs()] == [0x7FFFFFFE]


# ---- enormous

CHAIN = 1_000_000


@pytest.fixture(scope="module")
def chain() -> Fst:
    """A million states in a row, some with a loop of epsilons and of two states."""
    states = np.arange(CHAIN, dtype=np.int64)
    return Fst.from_arrays(
        "tropical",
        start=0,
        sources=states,
        ilabels=states % 7 + 1,
        olabels=states % 7 + 1,
        weights=np.ones(CHAIN),
        nextstates=states + 1,
        final_states=[CHAIN],
    )


LONG: dict[str, Callable[[Fst], Any]] = {
    "arcsort": wfst.arcsort,
    "compose": lambda a: wfst.compose(a, a).num_states == CHAIN + 1,
    "connect": lambda a: wfst.connect(a).num_states == CHAIN + 1,
    "cycle": lambda a: wfst.connect(wfst.closure(a)).num_states == CHAIN + 2,
    "determinize": lambda a: wfst.determinize(a).num_states == CHAIN + 1,
    "disambiguate": lambda a: wfst.disambiguate(a).num_states == CHAIN + 1,
    "distances of a cycle": lambda a: wfst.total_weight(wfst.closure(a)) == 0.0,
    "encode": lambda a: wfst.decode(*wfst.encode(a, labels=True, weights=True)).num_arcs == CHAIN,
    "epsilons": lambda a: wfst.rmepsilon(wfst.relabel(a, input_pairs={1: 0}, output_pairs={1: 0})).num_arcs < CHAIN,
    "equivalent": lambda a: wfst.equivalent(a, a),
    "isomorphic": lambda a: wfst.isomorphic(a, a),
    "minimize": lambda a: wfst.minimize(a).num_states == CHAIN + 1,
    "minimize a transducer": lambda a: wfst.minimize(wfst.relabel(a, output_pairs={1: 9})).num_arcs == CHAIN,
    "minimize a cycle": lambda a: wfst.minimize(wfst.rmepsilon(wfst.closure(a))).num_arcs > 0,
    "n best": lambda a: wfst.shortest_path(a, 2).num_arcs == CHAIN,
    "n best, unique": lambda a: wfst.shortest_path(a, 2, unique=True).num_arcs == CHAIN,
    "prune": lambda a: wfst.prune(a, weight=1.0).num_arcs == CHAIN,
    "push": lambda a: wfst.push(a).num_arcs == CHAIN,
    "randgen": lambda a: wfst.randgen(a).num_arcs == CHAIN,
    "reverse": lambda a: wfst.reverse(a).num_states == CHAIN + 2,
    "shortest_path": lambda a: wfst.shortest_path(a).num_arcs == CHAIN,
    "strings": lambda a: len(next(wfst.strings(a))[0]) == CHAIN,
    "synchronize": lambda a: wfst.synchronize(a).num_arcs == CHAIN,
    "epsnormalize": lambda a: wfst.epsnormalize(a).num_arcs == CHAIN,
    "topsort": lambda a: wfst.topsort(wfst.statesort(a, range(CHAIN, -1, -1))).start == 0,
    "total": lambda a: wfst.total_weight(a) == float(CHAIN),
}


@pytest.mark.parametrize("name", LONG)
def test_a_million_states_in_a_row_need_no_deep_stack(name: str, chain: Fst) -> None:
    assert LONG[name](chain)


def test_numbers_of_states_beyond_all_lines_are_refused() -> None:
    assert wfst.compile_text("4000000000 1 1 1\n1\n").num_states == 2
    for number in ("4000000000", "2000000000"):
        with pytest.raises(DataError, match="text:1:field 1: state"):
            wfst.compile_text(f"{number} 1 1 1\n1\n", keep_state_numbering=True)
    names = SymbolTable(["begin"])
    names.add("far", 1 << 40)
    with pytest.raises(DataError, match="text:2:field 1: state"):
        wfst.compile_text("begin begin 1 1\nfar\n", state_symbols=names, keep_state_numbering=True)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda a: wfst.relabel(a, input_pairs={1: 1 << 40}), "label 1099511627776 is not a whole number from 0"),
        (lambda a: wfst.relabel(a, output_pairs={-1: 1}), "label -1"),
        (lambda a: wfst.compose(a, a, phi=1 << 40), "label"),
        (lambda a: wfst.compose(a, a, phi=0), "above 0"),
        (lambda a: wfst.compose(a, a, compose_filter="best"), "no filter is called 'best'"),
        (lambda a: wfst.determinize(a, subsequential_label=-3), "label -3"),
        (lambda a: wfst.determinize(a, delta=0.0), "delta"),
        (lambda a: wfst.determinize(a, det_type="maybe"), "det_type"),
        (lambda a: wfst.replace({1 << 40: a}, 1 << 40), "label 1099511627776"),
        (lambda a: wfst.replace({0: a}, 0), "above 0"),
        (lambda a: wfst.replace({5: a}, 5, return_label=-1), "label -1"),
        (lambda a: wfst.replace({5: a}, 6), "root label 6"),
        (lambda a: wfst.statesort(a, [0]), "the order has 1 numbers"),
        (lambda a: wfst.statesort(a, [0, 1 << 40]), "1099511627776 is wrong"),
        (lambda a: wfst.repeat(a, -1), "impossible"),
        (lambda a: wfst.repeat(a, 3, 2), "impossible"),
        (lambda a: wfst.repeat(a, 0, 10**9), "repeat less often"),
        (lambda a: wfst.reweight(a, [1.0] * 5), "5 potentials for 2 states"),
        (lambda a: wfst.reweight(a, [float("nan")]), "is not a weight"),
        (lambda a: list(wfst.strings(a, max_length=0)), "max_length"),
        (lambda a: wfst.randgen(a, 0), "npath"),
        (lambda a: wfst.shortest_path(a, 0), "k must be"),
        (lambda a: wfst.prune(a), "weight= or max_states="),
        (lambda a: wfst.prune(a, max_states=-1), "max_states"),
        (lambda a: wfst.prune(a, weight=float("nan")), "is not a weight"),
        (lambda a: wfst.arcmap(a, "upside_down"), "no map is called"),
        (lambda a: wfst.arcmap(a, "times", weight="x"), "is not a weight"),
        (lambda a: wfst.minimize(a, delta=-1.0), "delta"),
        (lambda a: wfst.project(a, "both"), "input"),
        (lambda a: wfst.decode(a, wfst.Encoder("tropical", labels=True, weights=False)), "is not one of the 0"),
        (lambda a: wfst.encode(a, encoder=wfst.Encoder("log64", labels=True, weights=False)), "another semiring"),
        (lambda a: a.add_states(-1), "below 0"),
        (lambda a: a.add_states(1 << 40), "at most 2,147,483,647 states"),
        (
            lambda a: Fst.from_arrays(
                "tropical", start=0, sources=[0], ilabels=[1 << 40], olabels=[1], nextstates=[0], final_states=[]
            ),
            "2,147,483,647",
        ),
        (
            lambda a: Fst.from_arrays(
                "tropical", start=0, sources=[0], ilabels=[1], olabels=[1], nextstates=[7], final_states=[], states=1
            ),
            "arc 0 leads from state 0 to 7",
        ),
        (
            lambda a: Fst.from_arrays(
                "real",
                start=0,
                sources=[0],
                ilabels=[1],
                olabels=[1],
                nextstates=[0],
                weights=[float("nan")],
                final_states=[0],
            ),
            "weight 0 is not in the semiring",
        ),
    ],
)
def test_wrong_arguments_say_what_is_wrong(call: Callable[[Fst], Any], words: str) -> None:
    with pytest.raises(DataError, match=words):
        call(wfst.compile_text("0 1 1 1 0.5\n1\n"))


def test_weights_too_small_for_their_type_are_zero_and_too_large_ones_are_refused() -> None:
    assert wfst.compile_text("0 1 1 1 1e-60\n1\n").arcs(0)[0].weight == 0.0
    assert wfst.compile_text("0 1 1 1 -1e-400\n1\n", semiring_name="log64").arcs(0)[0].weight == 0.0
    for text in ("1e60", "-1e60", "1e-60x", "--1"):
        with pytest.raises(DataError, match="text:1:field 5"):
            wfst.compile_text(f"0 1 1 1 {text}\n1\n")


# ---- damaged files


def mutated(dice: random.Random, content: bytes) -> bytes:
    made = bytearray(content)
    match dice.randrange(4):
        case 0:
            del made[dice.randrange(len(made)) :]
        case 1:
            for _ in range(dice.randint(1, 4)):
                made[dice.randrange(len(made))] = dice.randrange(256)
        case 2:
            at = dice.randrange(max(len(made) - 8, 1))
            value = dice.choice([-1, 1 << 31, 1 << 62, (1 << 63) - 1, -(1 << 63), 0, 255])
            made[at : at + 8] = struct.pack("<q", value)
        case _:
            at, to = sorted(dice.randrange(len(made) + 1) for _ in range(2))
            made[at:at] = made[at:to]
    return bytes(made)


@pytest.mark.parametrize("count", [2_000, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["binary table", "text table", "sttable", "stlist", "machine text", "encoder"])
def test_damaged_files_are_read_or_refused(kind: str, count: int, tmp_path: Path) -> None:
    if kind != "binary table":
        count //= 10  # through files
    dice = random.Random(kind)
    path, path2 = tmp_path / "seed", tmp_path / "mutant"
    table = SymbolTable(["<eps>", "a", "bb"], name="letters")
    table.add("far", 70)
    fst = random_fst(dice, "log64", cyclic=True)
    fst.input_symbols = table
    match kind:
        case "binary table" | "text table":
            table.write(path, binary=kind == "binary table")
        case "sttable" | "stlist":
            wfst.write_archive(path, {"one": fst, "two": random_fst(dice)}, far_type=kind)
        case "machine text":
            fst.input_symbols = None
            wfst.write_text(fst, path)
        case _:
            wfst.encode(fst, labels=True, weights=True)[1].write(path)
    seed = path.read_bytes()
    refused = 0
    for _ in range(count):
        content = mutated(dice, seed)
        try:
            if kind == "binary table":
                read: Any = SymbolTable._of(wfst.symbols.native.SymbolTable.from_bytes(content))
                read.add("another")
                assert len(read.items()) == len(read)
            elif kind == "machine text":
                wfst.connect(wfst.compile_text(content, semiring_name="log64", keep_state_numbering=True))
            else:
                path2.write_bytes(content)
                if kind == "text table":
                    SymbolTable.read(path2).add("another")
                elif kind == "encoder":
                    wfst.Encoder.read(path2).codes()
                else:
                    archive = wfst.Archive(path2)
                    for key in archive:
                        wfst.connect(archive[key]).properties()
        except DataError:
            refused += 1
    assert refused > count // 5


def test_a_mapped_file_is_looked_through_before_it_is_followed(tmp_path: Path) -> None:
    fst = random_fst(random.Random(1), states=6, arcs=20, cyclic=True)
    path = tmp_path / "m.fst"
    wfst.write_fst(fst, path, fst_type="const", align=True)
    content = bytearray(path.read_bytes())
    content[-4:] = struct.pack("<i", 99)  # the last arc leads to state 99
    path.write_bytes(content)
    for name, call in UNARY.items():
        if name == "copy":  # which follows nothing
            continue
        damaged = wfst.read_fst(path)
        assert damaged.is_mapped
        with pytest.raises(DataError, match="damaged"):
            call(damaged)
        with pytest.raises(DataError, match="damaged"):
            damaged.add_state()


# ---- meanwhile


def test_machines_may_be_changed_while_other_threads_work_with_them() -> None:
    """Each operation sees the machine of one moment; nothing is torn."""
    fst, other = wfst.accep("ab" * 50), wfst.accep("ab" * 50)
    encoder = wfst.Encoder("tropical", labels=True, weights=True)
    symbols = SymbolTable(["<eps>"])
    faults: list[BaseException] = []
    done = threading.Event()

    def change() -> None:
        dice = random.Random(0)
        for i in range(1500):
            for machine in (fst, other):
                state = dice.randrange(machine.num_states)
                machine.add_arc(state, 97, 98, float(i), state)
                machine.set_final(state, 0.5)
                if i % 100 == 99:
                    machine.delete_arcs(state)
            with contextlib.suppress(DataError):  # refused while the table is read
                symbols.add(f"s{i}")
        done.set()

    def use() -> None:
        try:
            while not done.is_set():
                for made in (
                    wfst.union(fst, other),
                    wfst.concat(other, fst),
                    wfst.compose(wfst.accep("ab"), other, connect=False),
                    wfst.replace({5: fst, 200: other}, 5),
                    wfst.decode(wfst.encode(fst, encoder=encoder)[0], encoder),
                    wfst.arcsort(fst),
                    wfst.compile_text("0 1 <eps> <eps>\n1\n", input_symbols=symbols, output_symbols=symbols),
                ):
                    made.properties()
                    assert made.num_arcs == sum(made.num_arcs_of(state) for state in range(made.num_states))
                len(encoder.codes())
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=target) for target in (change, use, use)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults


def test_iterators_notice_changes() -> None:
    fst = wfst.accep("abc")
    with pytest.raises(DataError, match="changed while"):
        deque(fst.add_arc(state, 1, 1, None, 0) for state in fst.states())
    with pytest.raises(DataError, match="changed while"):
        deque(fst.delete_states([0]) for _ in fst.iter_arcs())


def test_weights_that_change_the_machine_while_they_are_read_do_no_harm() -> None:
    class Number:
        def __init__(self, fst: Fst) -> None:
            self.fst = fst

        def __float__(self) -> float:
            self.fst.delete_states()
            return 1.0

    for call in (
        lambda fst, w: fst.set_final(2, w),
        lambda fst, w: fst.add_arc(0, 1, 1, w, 2),
        lambda fst, w: fst.set_arc(0, 0, (1, 1, w, 2)),
    ):
        fst = wfst.accep("ab")
        with pytest.raises(DataError, match="state"):
            call(fst, Number(fst))
        assert fst.num_states == 0


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_comes_through_and_leaves_everything_usable(tmp_path: Path) -> None:
    program = tmp_path / "long.py"
    program.write_text(
        "import os, signal, threading, textmill.fst as w\n"
        "fst = w.accep('abcdefgh' * 2000)\n"
        "threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "try:\n"
        "    while True: w.compose(w.closure(fst), fst)\n"
        "except KeyboardInterrupt:\n"
        "    print('stopped', fst.num_states, w.shortest_path(fst).num_arcs)\n"
    )
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "stopped 16001 16000\n", done.stderr
    assert done.returncode != -signal.SIGSEGV


@pytest.mark.parametrize("text", [5, None, b"ab", ["a", "b"]])
def test_a_string_of_symbols_is_a_str(text):
    with pytest.raises(DataError, match="must be a str, not"):
        wfst.accep(text)
