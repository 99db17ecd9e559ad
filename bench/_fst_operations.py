"""The same operations of textmill, OpenFst (pywrapfst) and rustfst, by one name, and what they take in memory.

python -m bench._fst_operations PACKAGE OPERATION FILE... prints the bytes that the machines of the files take, those
that the operation takes beyond them at its peak, its result included, and the number of arcs of the machines.

Operations that change their argument get a copy; OpenFst makes it when it is first written to.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Operations = dict[str, Callable[..., Any]]


def textmill() -> Operations:
    import textmill.fst as wfst

    return {
        "read": lambda path: wfst.read_fst(path, map_file=False),
        "compose": wfst.compose,
        "determinise": wfst.determinize,
        "minimise": wfst.minimize,
        "remove epsilons": wfst.rmepsilon,
        "best path": wfst.shortest_path,
        "10 best paths": lambda a: wfst.shortest_path(a, 10),
        "push weights": wfst.push,
        "sort arcs": wfst.arcsort,
    }


def openfst() -> Operations:
    import pywrapfst

    return {
        "read": pywrapfst.Fst.read,
        "compose": pywrapfst.compose,
        "determinise": pywrapfst.determinize,
        "minimise": _on_a_copy("minimize"),
        "remove epsilons": _on_a_copy("rmepsilon"),
        "best path": pywrapfst.shortestpath,
        "10 best paths": lambda a: pywrapfst.shortestpath(a, nshortest=10),
        "push weights": lambda a: pywrapfst.push(a, push_weights=True),
        "sort arcs": _on_a_copy("arcsort"),
    }


def rustfst() -> Operations:
    """Without pushing, which its Python package has not."""
    from rustfst import VectorFst
    from rustfst.algorithms.shortest_path import ShortestPathConfig

    return {
        "read": VectorFst.read,
        "compose": VectorFst.compose,
        "determinise": VectorFst.determinize,
        "minimise": _on_a_copy("minimize"),
        "remove epsilons": _on_a_copy("rm_epsilon"),
        "best path": VectorFst.shortest_path,
        "10 best paths": lambda a: a.shortest_path(ShortestPathConfig(10)),
        "sort arcs": _on_a_copy("tr_sort"),
    }


def _on_a_copy(method: str) -> Callable[[Any], Any]:
    def change(a: Any) -> Any:
        copy = a.copy()
        getattr(copy, method)()
        return copy

    return change


def size(fst: Any) -> tuple[int, int]:
    """States and arcs of anybody's machine."""
    if isinstance(fst.num_states, int):
        return fst.num_states, fst.num_arcs
    count = fst.num_arcs if hasattr(fst, "num_arcs") else fst.num_trs
    return fst.num_states(), sum(map(count, fst.states()))


def main() -> None:
    package, operation, *files = sys.argv[1:]
    operations = {"textmill": textmill, "openfst": openfst}[package]()
    before = _resident()
    machines = [operations["read"](path) for path in files]
    held, arcs = _resident() - before, sum(size(machine)[1] for machine in machines)
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # forgets the peak so far
    before = _memory("VmRSS")
    made = operations[operation](*machines) if operation != "hold" else None
    peak = _memory("VmHWM") - before
    del made
    print(held, peak, arcs)


def _memory(field: str) -> int:
    """A field of the process's status, in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024


def _resident() -> int:
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what was freed does not count
    return _memory("VmRSS")


if __name__ == "__main__":
    main()
