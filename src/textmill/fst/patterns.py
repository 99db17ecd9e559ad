"""Automata that look for strings in others.

    aho_corasick       a trie of patterns with failure arcs: where no arc fits, phi leads to the longest suffix that
                       is a prefix of a pattern; final states end a pattern
    search_automaton   Sigma* P over an alphabet, deterministic and minimal
    suffix_automaton   all suffixes of a string, deterministic and minimal, in O(length)
    factor_automaton   all substrings of a string, deterministic and minimal
    counting_transducer   a path for each occurrence of a pattern; with the weights of a lattice, expected numbers

Reference: Aho & Corasick (1975); Blumer et al. (1985), The smallest automaton recognizing the subwords of a text.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable

from textmill.errors import DataError
from textmill.fst.composition import compose, sigma_star
from textmill.fst.grammar import alphabet_of, current_reading, promote
from textmill.fst.machine import Fst
from textmill.fst.optimization import determinize, minimize, rmepsilon
from textmill.fst.paths import total_weight
from textmill.fst.rational import arcsort, concat, union
from textmill.fst.strings import labels_of
from textmill.fst.transform import arcmap, convert

__all__ = [
    "aho_corasick",
    "counting_transducer",
    "expected_occurrences",
    "factor_automaton",
    "search_automaton",
    "suffix_automaton",
]


def aho_corasick(patterns: Iterable[str], *, phi: int) -> Fst:
    """The trie of patterns with failure arcs labeled `phi`; compose with that phi and `phi_loop=True`.

    The start has a phi arc to itself, which takes a symbol that begins no pattern. A state is final if a pattern ends
    there, also one that is a suffix of the string of the state.

    >>> aho_corasick(["he", "she", "his", "hers"], phi=1000).num_states
    10
    """
    children: list[dict[int, int]] = [{}]
    ends = [False]
    for pattern in patterns:
        state = 0
        labels = _labels(pattern)
        if not labels:
            raise DataError("a pattern is empty; it would be everywhere")
        if phi in labels:
            raise DataError(f"label {phi} is a symbol of the pattern {pattern!r}; choose another phi")
        for label in labels:
            if label not in children[state]:
                children[state][label] = len(children)
                children.append({})
                ends.append(False)
            state = children[state][label]
        ends[state] = True
    failures = [0] * len(children)
    queue = deque(children[0].values())
    while queue:
        state = queue.popleft()
        ends[state] = ends[state] or ends[failures[state]]
        for label, child in children[state].items():
            back = failures[state]
            while back and label not in children[back]:
                back = failures[back]
            failures[child] = children[back].get(label, 0)
            queue.append(child)
    machine = Fst()
    machine.add_states(len(children))
    machine.start = 0
    for state, arcs in enumerate(children):
        if ends[state]:
            machine.set_final(state)
        for label, child in sorted(arcs.items()):
            machine.add_arc(state, label, label, None, child)
        machine.add_arc(state, phi, phi, None, failures[state])
    return arcsort(machine)


def search_automaton(patterns: Fst | Iterable[str], alphabet: str | Iterable[int]) -> Fst:
    """The minimal deterministic acceptor of all strings that end with a pattern: strings, or those of a machine.

    >>> search_automaton(["he", "she", "his", "hers"], "abcdefghijklmnopqrstuvwxyz").num_arcs
    130
    """
    labels = _labels(alphabet) if isinstance(alphabet, str) else list(alphabet)
    wanted = patterns if isinstance(patterns, Fst) else union(*(promote(pattern) for pattern in patterns))
    return minimize(determinize(rmepsilon(concat(sigma_star([*labels, *alphabet_of(wanted)]), wanted))))


def suffix_automaton(text: str) -> Fst:
    """The minimal deterministic acceptor of the suffixes of a string, the empty one among them.

    >>> suffix_automaton("abcbc").num_arcs
    9
    """
    arcs, links, last = _online(text)
    finals = set[int]()
    while last >= 0:
        finals.add(last)
        last = links[last]
    return _machine(arcs, finals)


def factor_automaton(text: str) -> Fst:
    """The minimal deterministic acceptor of all substrings of a string.

    >>> factor_automaton("abcbc").num_arcs
    7
    """
    arcs, _, _ = _online(text)
    return minimize(_machine(arcs, set(range(len(arcs)))))


def counting_transducer(pattern: Fst | str, alphabet: str | Iterable[int]) -> Fst:
    """Sigma*:0 P Sigma*:0: a path for each occurrence of a pattern in what it reads, of which it writes the occurrence.

    >>> from textmill.fst.composition import compose
    >>> from textmill.fst.strings import accep, strings
    >>> [text for _, text, _ in strings(compose(accep("abab"), counting_transducer("ab", "ab")))]
    ['ab', 'ab']
    """
    labels = _labels(alphabet) if isinstance(alphabet, str) else list(alphabet)
    wanted = promote(pattern)
    around = arcmap(sigma_star(sorted({*labels, *alphabet_of(wanted)}), wanted.semiring.name), "output_epsilon")
    return arcsort(concat(around, wanted, around))


def expected_occurrences(lattice: Fst, pattern: Fst | str) -> float:
    """How often a pattern is expected in a string that is drawn from a lattice, by the weights of all its paths.

    The lattice is one of the log, real or tropical semiring, whose costs count as -ln of probabilities; they need not
    sum to one. Paths of the pattern have no weights, and each of its strings one path.

    >>> from textmill.fst.formats import compile_text
    >>> coins = compile_text("0 0 104 .693147\\n0 .693147", acceptor=True, semiring_name="log64")
    >>> round(expected_occurrences(coins, "h"), 4)
    1.0
    """
    name = lattice.semiring.name
    if name not in ("tropical", "log", "log64", "real"):
        raise DataError(f"weights of {name} are no probabilities; convert the lattice to 'log64'")
    weighed = convert(convert(lattice, "log64") if name == "tropical" else lattice, "log64")
    wanted = convert(arcmap(promote(pattern), "rmweight"), "log64")
    counting = counting_transducer(wanted, alphabet_of(weighed))
    total = float(total_weight(weighed))
    if total == float("inf"):
        raise DataError("the lattice has no path, so nothing can be expected of it")
    return math.exp(total - float(total_weight(compose(weighed, counting))))


def _labels(text: str) -> list[int]:
    now = current_reading()
    return labels_of(text, now.token_type, now.symbols, generated=now.generated)


def _online(text: str) -> tuple[list[dict[int, int]], list[int], int]:
    """Arcs, suffix links and the last state of the automaton, one symbol after the other."""
    arcs: list[dict[int, int]] = [{}]
    links, lengths, last = [-1], [0], 0
    for label in _labels(text):
        state = len(arcs)
        arcs.append({})
        lengths.append(lengths[last] + 1)
        links.append(0)
        at = last
        while at >= 0 and label not in arcs[at]:
            arcs[at][label] = state
            at = links[at]
        if at >= 0:
            target = arcs[at][label]
            if lengths[target] == lengths[at] + 1:
                links[state] = target
            else:  # the target has longer strings as well: a copy for the shorter ones
                clone = len(arcs)
                arcs.append(dict(arcs[target]))
                lengths.append(lengths[at] + 1)
                links.append(links[target])
                while at >= 0 and arcs[at].get(label) == target:
                    arcs[at][label] = clone
                    at = links[at]
                links[target] = links[state] = clone
        last = state
    return arcs, links, last


def _machine(arcs: list[dict[int, int]], finals: set[int]) -> Fst:
    machine = Fst()
    machine.add_states(len(arcs))
    machine.start = 0
    for state, steps in enumerate(arcs):
        if state in finals:
            machine.set_final(state)
        for label, target in sorted(steps.items()):
            machine.add_arc(state, label, label, None, target)
    return machine
