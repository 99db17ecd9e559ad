"""What a machine is: sizes, epsilons, label multiplicity, access, components, properties.

    label multiplicity    sum over states and labels of (arcs with that label)^2, divided by the number of arcs
    connected states      those on a path from the start to a final state
    components            of the graph of the arcs that a filter lets pass

O(states + arcs), over the arrays of the machine. Reference: Tarjan (1972).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill.errors import DataError
from textmill.fst.machine import Fst
from textmill.fst.traversal import accessible, coaccessible, strongly_connected

__all__ = ["ARC_FILTERS", "info"]

ARC_FILTERS = ("any", "epsilon", "iepsilon", "oepsilon")


def info(fst: Fst, *, arc_filter: str = "any", test: bool = True) -> dict[str, object]:
    """Sizes, semiring, components and properties of a machine.

    For access and components only arcs count that pass the filter: "any", "epsilon" (both labels), "iepsilon" or
    "oepsilon". Without `test` there are only those properties that are known already.

    >>> from textmill.fst.strings import accep
    >>> facts = info(accep("ab"))
    >>> facts["states"], facts["connected states"], facts["acceptor"]
    (3, 3, True)
    """
    if arc_filter not in ARC_FILTERS:
        raise DataError(f"arc_filter is one of {', '.join(ARC_FILTERS)}, not {arc_filter!r}")
    properties = fst.properties(test=test)
    offsets, arcs, finals = fst.arrays()
    sources = np.repeat(np.arange(fst.num_states), np.diff(offsets))
    reads, writes = arcs["ilabel"] != 0, arcs["olabel"] != 0
    interned = finals.dtype == np.uint32  # weights that are no machine numbers: zero is the first of them
    is_final = finals != (0 if interned else np.array(fst.semiring.zero, dtype=finals.dtype))
    passed = {"any": reads | True, "epsilon": ~(reads | writes), "iepsilon": ~reads, "oepsilon": ~writes}[arc_filter]
    return {
        "semiring": fst.semiring.name,
        "mapped": fst.is_mapped,
        "input symbols": None if fst.input_symbols is None else fst.input_symbols.name,
        "output symbols": None if fst.output_symbols is None else fst.output_symbols.name,
        "start": fst.start,
        "states": fst.num_states,
        "arcs": fst.num_arcs,
        "final states": int(is_final.sum()),
        "double epsilons": int((~(reads | writes)).sum()),
        "input epsilons": int((~reads).sum()),
        "output epsilons": int((~writes).sum()),
        "input label multiplicity": _multiplicity(sources, arcs["ilabel"]),
        "output label multiplicity": _multiplicity(sources, arcs["olabel"]),
        **_components(fst, sources[passed], arcs["nextstate"][passed], np.flatnonzero(is_final)),
        **properties,
    }


def _multiplicity(sources: NDArray[np.int64], labels: NDArray[np.int32]) -> float:
    """How many arcs of its state share the label of an arc, itself included, on average."""
    if not len(labels):
        return 0.0
    order = np.lexsort((labels, sources))
    state, label = sources[order], labels[order]
    begins = np.flatnonzero(np.r_[True, (state[1:] != state[:-1]) | (label[1:] != label[:-1]), True])
    return float((np.diff(begins) ** 2).sum() / len(labels))


def _components(fst: Fst, sources: NDArray[Any], targets: NDArray[Any], finals: NDArray[Any]) -> dict[str, int]:
    """Access and components of the graph of some arcs."""
    directed = _graph(fst, sources, targets, finals)
    undirected = _graph(fst, np.r_[sources, targets], np.r_[targets, sources], finals)
    reached, ending = accessible(directed), coaccessible(directed)
    return {
        "accessible states": int(reached.sum()),
        "coaccessible states": int(ending.sum()),
        "connected states": int((reached & ending).sum()),
        "connected components": _count(strongly_connected(undirected)),
        "strongly connected components": _count(strongly_connected(directed)),
    }


def _graph(fst: Fst, sources: NDArray[Any], targets: NDArray[Any], finals: NDArray[Any]) -> Fst:
    """The states of a machine with other arcs, whose labels and weights say nothing."""
    labels = np.zeros(len(sources), np.int32)
    return Fst.from_arrays(
        "boolean",
        start=fst.start,
        sources=sources,
        ilabels=labels,
        olabels=labels,
        nextstates=targets,
        final_states=finals,
        states=fst.num_states,
    )


def _count(component: NDArray[np.int32]) -> int:
    """How many components there are, numbered from 0."""
    return int(component.max(initial=-1)) + 1
