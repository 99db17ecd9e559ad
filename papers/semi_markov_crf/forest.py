"""Feature forests: and/or graphs that share what structures have in common, and sums over all structures in them.

    phi_c = exp(lambda . f(c)) prod_{d in daughters(c)} phi_d   phi_d = sum_{c in alternatives(d)} phi_c   Z = phi_root
    E[f_i] = sum_c f_i(c) P(c),    P(c) = phi_c psi_c / Z,         psi the outside sums (sums.py)

A disjunctive node picks one of its alternatives, conjunctive nodes; each has features and all of its daughters,
disjunctive nodes again. `FeatureForest.build` makes a forest from a function that says what follows a key; nodes with
the same key are one node, so the key says what the features further on can still see. Everything is computed in
logarithms, in topological order and without recursion; cost: nodes, edges and features.

AMIS's event files of forests (AmisTree) are read and written, forests are drawn as DOT.
References: Miyao & Tsujii (2002); the manual of AMIS 4.0.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from papers.semi_markov_crf.sums import Graph, best_structures, inside_outside, topological
from textmill.arrays import Floats, Ints
from textmill.corpus import Source, open_lines, source_name, writer
from textmill.errors import DataError
from textmill.model import check_range

__all__ = ["Alternative", "AmisEvent", "FeatureForest", "ForestSums", "read_amis", "write_amis"]

MOST_NODES = 10_000_000

Features = Mapping[str, float] | Sequence[str]

_BRACKETS = "{}()$_"  # after a backslash they are letters like any other, which these private characters stand for
_KEPT = 0xE000
_PLAIN = {_KEPT + ord(c): c for c in _BRACKETS}


class Alternative(NamedTuple):
    """A conjunctive node to be: its features, the keys of its daughters, and a name for pictures."""

    features: Features
    daughters: Sequence[Hashable] = ()
    name: str = ""


class ForestSums(NamedTuple):
    """log Z, and the probabilities of conjunctive and of disjunctive nodes."""

    log_z: float
    conjunctive: Floats
    disjunctive: Floats


@dataclass(frozen=True, slots=True)
class FeatureForest:
    """An and/or graph with features at its conjunctive nodes.

    >>> def labels(position):  # two tokens, three labels each, which do not see each other
    ...     return [] if position == 2 else [Alternative([f"{position}:{y}"], [position + 1]) for y in "ABC"]
    >>> forest = FeatureForest.build(0, lambda key: labels(key) or [Alternative([])])
    >>> forest.sizes(), round(forest.sums({}).log_z, 6)
    ({'disjunctive': 3, 'conjunctive': 7, 'edges': 13, 'features': 6, 'bytes': 284}, 2.197225)
    >>> forest.best({"0:B": 1.0, "1:C": 2.0})[0]
    (3.0, ['0:B', '1:C'])
    """

    alternatives: Ints  # [D + 1] offsets
    conjunctive: NDArray[np.int32]
    daughters: Ints  # [C + 1] offsets
    disjunctive: NDArray[np.int32]
    offsets: Ints  # [C + 1] features of conjunctive nodes
    features: NDArray[np.int32]
    values: Floats
    feature_names: list[str]
    names: list[str]  # of conjunctive nodes, may be empty texts
    root: int = 0

    @classmethod
    def build(
        cls, root: Hashable, expand: Callable[[Any], Iterable[Alternative]], *, max_nodes: int = MOST_NODES
    ) -> FeatureForest:
        """Make a forest from its root: `expand(key)` gives the alternatives of the node with this key.

        A forest of more than `max_nodes` conjunctive nodes is refused: the keys tell too much apart.
        """
        check_range("max_nodes", max_nodes, at_least=1, whole=True)
        number: dict[Hashable, int] = {root: 0}
        agenda: list[Hashable] = [root]
        feature_number: dict[str, int] = {}
        alternatives, daughters, disjunctive = [0], [0], []
        offsets, features, values, names = [0], [], [], []
        at = 0
        while at < len(agenda):
            for alternative in expand(agenda[at]):
                items = _items(alternative.features)
                features += [feature_number.setdefault(name, len(feature_number)) for name, _ in items]
                values += [value for _, value in items]
                offsets.append(len(features))
                names.append(alternative.name)
                for key in alternative.daughters:
                    if key not in number:
                        number[key] = len(agenda)
                        agenda.append(key)
                    disjunctive.append(number[key])
                daughters.append(len(disjunctive))
                if len(names) > max_nodes:
                    share = (at + 1) / len(agenda)
                    raise DataError(
                        f"the forest has more than {max_nodes} conjunctive nodes after {at + 1} of {len(agenda)} keys, "
                        f"about {len(names) / share:.0f} with those that wait; let the key tell less apart"
                    )
            alternatives.append(len(names))
            at += 1
        ids = np.arange(len(names), dtype=np.int32)
        forest = cls(
            np.array(alternatives, np.int64), ids, np.array(daughters, np.int64), np.array(disjunctive, np.int32),
            np.array(offsets, np.int64), np.array(features, np.int32), np.array(values, np.float64),
            list(feature_number), names,
        )  # fmt: skip
        forest.check()
        return forest

    def check(self) -> None:
        """Refuse a forest with a cycle, a node that is not there, or a value that is not finite."""
        if not np.isfinite(self.values).all():
            raise DataError("a feature of the forest has a value that is not finite; scale or remove it")
        if len(self.features) and not 0 <= self.features.min() <= self.features.max() < len(self.feature_names):
            raise DataError("a node of the forest names a feature that is not there")
        try:
            order = topological(self._graph())
        except ValueError as error:
            raise DataError(f"the forest is damaged: {error}") from None
        if not len(order):
            raise DataError("the forest has a cycle; a node must not be below itself")

    def sizes(self) -> dict[str, int]:
        """Numbers of nodes, edges and features, and the bytes of their arrays."""
        arrays = (self.alternatives, self.conjunctive, self.daughters, self.disjunctive, self.offsets, self.features)
        return {
            "disjunctive": len(self.alternatives) - 1,
            "conjunctive": len(self.daughters) - 1,
            "edges": len(self.conjunctive) + len(self.disjunctive),
            "features": len(self.features),
            "bytes": sum(array.nbytes for array in arrays) + self.values.nbytes,
        }

    def scores(self, weights: Mapping[str, float] | Floats) -> Floats:
        """The score of every conjunctive node: lambda . f(c)."""
        if isinstance(weights, Mapping):
            table = np.array([weights.get(name, 0.0) for name in self.feature_names], np.float64)
        else:
            table = np.asarray(weights, np.float64)
            if table.shape != (len(self.feature_names),):
                raise DataError(f"there are {len(self.feature_names)} features but {table.size} weights")
        if np.isnan(table).any() or np.isposinf(table).any():
            raise DataError("a weight is not a number or infinite; use finite weights")
        parts = table[self.features] * self.values if len(self.features) else np.empty(0)
        running = np.concatenate([[0.0], np.cumsum(np.where(np.isneginf(parts), 0.0, parts))])
        scores: Floats = running[self.offsets[1:]] - running[self.offsets[:-1]]
        impossible = np.concatenate([[0], np.cumsum(np.isneginf(parts))])
        scores[impossible[self.offsets[1:]] > impossible[self.offsets[:-1]]] = -np.inf
        return scores

    def sums(self, weights: Mapping[str, float] | Floats) -> ForestSums:
        """log Z and the probability of every node."""
        log_z, ands, ors = inside_outside(self._graph(), self.scores(weights))
        return ForestSums(log_z, np.exp(ands), np.exp(ors))

    def expectations(self, weights: Mapping[str, float] | Floats) -> dict[str, float]:
        """The expected value of every feature."""
        probability = np.repeat(self.sums(weights).conjunctive, np.diff(self.offsets))
        totals = np.bincount(self.features, probability * self.values, minlength=len(self.feature_names))
        return dict(zip(self.feature_names, totals.tolist(), strict=True))

    def best(self, weights: Mapping[str, float] | Floats, k: int = 1) -> list[tuple[float, list[str]]]:
        """The k best structures as scores and features, those with a value of 2 twice; best first."""
        return [
            (score, [name for node in nodes for name in self.features_of(node)])
            for score, nodes in self.best_nodes(weights, k)
        ]

    def best_nodes(self, weights: Mapping[str, float] | Floats, k: int = 1) -> list[tuple[float, list[int]]]:
        """The k best structures as scores and conjunctive nodes from the root down."""
        check_range("k", k, at_least=1, whole=True)
        return best_structures(self._graph(), self.scores(weights), k)

    def features_of(self, node: int) -> dict[str, float]:
        """The features of a conjunctive node with their values."""
        some = slice(int(self.offsets[node]), int(self.offsets[node + 1]))
        numbers, values = self.features[some].tolist(), self.values[some].tolist()
        return {self.feature_names[i]: value for i, value in zip(numbers, values, strict=True)}

    def to_dot(self, *, weights: Mapping[str, float] | Floats | None = None) -> str:
        """The forest as a graph for Graphviz; with weights, nodes show their probability."""
        sums = None if weights is None else self.sums(weights)
        lines = ["digraph forest {", "  rankdir=LR; node [fontsize=10];"]
        for d in range(len(self.alternatives) - 1):
            label = "" if sums is None else f"{sums.disjunctive[d]:.3f}"
            lines.append(f'  d{d} [shape=circle, label="{label}"];')
        for c in range(len(self.daughters) - 1):
            name = self.names[c] or " ".join(self.features_of(c))
            text = _dot_text(name) + ("" if sums is None else f"\\n{sums.conjunctive[c]:.3f}")
            lines.append(f'  c{c} [shape=box, label="{text}"];')
        for d, (begin, end) in enumerate(zip(self.alternatives[:-1], self.alternatives[1:], strict=True)):
            lines += [f"  d{d} -> c{c} [style=dashed, arrowhead=none];" for c in self.conjunctive[begin:end].tolist()]
        for c, (begin, end) in enumerate(zip(self.daughters[:-1], self.daughters[1:], strict=True)):
            lines += [f"  c{c} -> d{d};" for d in self.disjunctive[begin:end].tolist()]
        return "\n".join([*lines, "}"]) + "\n"

    def _graph(self) -> Graph:
        return Graph(self.alternatives, self.conjunctive, self.daughters, self.disjunctive, self.root)


def _items(features: Features) -> list[tuple[str, float]]:
    if isinstance(features, Mapping):
        return [(name, float(value)) for name, value in features.items()]
    counts: dict[str, float] = {}
    for name in features:
        counts[name] = counts.get(name, 0.0) + 1.0
    return list(counts.items())


def _dot_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


class AmisEvent(NamedTuple):
    """An event of AMIS: how often the observed structure was seen, its features, and the forest of all structures."""

    name: str
    frequency: int
    observed: dict[str, float]
    forest: FeatureForest


def read_amis(source: Source) -> list[AmisEvent]:
    """Read event files of AMIS in its format AmisTree: name, observed features and forest, a line for each.

    >>> import io
    >>> text = b"event_1\\n2 f1:2 f3\\n{ d1 ( n1 f1:2 { d2 ( n2 f2:3 ) ( n3 ) } { d3 $n2 ( n4 f3 ) } ) }\\n"
    >>> event = read_amis(io.BytesIO(text))[0]
    >>> event.frequency, event.observed, event.forest.sizes()["conjunctive"]
    (2, {'f1': 2.0, 'f3': 1.0}, 4)
    """
    events, block = [], []
    name = source_name(source)
    for number, line in open_lines(source):
        tokens = _tokens(line)
        if tokens:
            block.append((number, tokens))
        elif block:
            events.append(_event(block, name))
            block = []
    if block:
        events.append(_event(block, name))
    return events


def _tokens(line: str) -> list[str]:
    """Words of a line; a backslash keeps what follows, # begins a comment. Colons that part values become tabs."""
    words, word, begun = [], "", False
    at = 0
    while at < len(line):
        c = line[at]
        if c == "\\" and at + 1 < len(line):
            c = line[at + 1]
            word, begun, at = word + (chr(_KEPT + ord(c)) if c in _BRACKETS else c), True, at + 1
        elif c == "#":
            break
        elif c in " \t\r\n":
            if begun:
                words.append(word)
            word, begun = "", False
        else:
            word, begun = word + ("\t" if c == ":" else c), True
        at += 1
    return [*words, word] if begun else words


def _feature(token: str, source: str, line: int) -> tuple[str, float]:
    name, tab, value = token.translate(_PLAIN).partition("\t")
    try:
        number = float(value) if tab else 1.0
    except ValueError:
        raise DataError(f"feature {name!r} has the value {value!r}, no number", source=source, line=line) from None
    if not name or not np.isfinite(number):
        raise DataError(f"feature {name!r} needs a name and a finite value", source=source, line=line)
    return name, number


def _event(block: list[tuple[int, list[str]]], source: str) -> AmisEvent:
    line = block[0][0]
    if len(block) < 3:
        raise DataError("an event has three lines: name, observed features, forest", source=source, line=line)
    count = block[1][1][0]
    if not count.isdecimal():
        raise DataError(f"the frequency {count!r} is no whole number", source=source, line=block[1][0])
    observed: dict[str, float] = {}
    for token in block[1][1][1:]:
        feature, value = _feature(token, source, block[1][0])
        observed[feature] = observed.get(feature, 0.0) + value
    tokens = [(number, token) for number, some in block[2:] for token in some]
    return AmisEvent(
        " ".join(block[0][1]).translate(_PLAIN).replace("\t", ":"), int(count), observed, _Reader(source).forest(tokens)
    )


class _Reader:
    """A forest from its tokens, without recursion: open nodes stand on a stack."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.ors: list[list[int]] = []
        self.ands: list[tuple[dict[str, float], list[int]]] = []
        self.node_names: list[str] = []
        self.named: dict[str, tuple[str, int]] = {}
        self.open: list[tuple[str, int, str]] = []

    def forest(self, tokens: list[tuple[int, str]]) -> FeatureForest:
        at, root = 0, None
        while at < len(tokens):
            line, token = tokens[at]
            if root is not None and not self.open:
                raise self._fault(f"{token!r} follows the end of the forest", line)
            if token in "{(" and token:
                if at + 1 >= len(tokens):
                    raise self._fault("the forest ends before a node has its name", line)
                node = self._begin(token, tokens[at + 1][1].replace("\t", ":"), line)
                root = node if root is None else root
                at += 2
                continue
            if token in ("}", ")"):
                self._end(token, line)
            elif token.startswith("$"):
                self._attach(*self._reference(token[1:].replace("\t", ":"), line), line)
            else:
                self._add_feature(token, line)
            at += 1
        if self.open or root is None:
            raise self._fault("the forest ends before its nodes are closed", tokens[-1][0] if tokens else None)
        return self._forest()

    def _begin(self, bracket: str, name: str, line: int) -> int:
        kind = "or" if bracket == "{" else "and"
        number = len(self.ors) if kind == "or" else len(self.ands)
        if not self.open and kind == "and":
            raise self._fault("a forest begins with a disjunctive node, {", line)
        if self.open:
            self._attach(kind, number, line)
        if kind == "or":
            self.ors.append([])
        else:
            self.ands.append(({}, []))
            self.node_names.append("" if name == "_" else name)
        if name != "_":
            if name in self.named:
                raise self._fault(f"there are two nodes called {name!r}", line)
            self.named[name] = (kind, number)
        self.open.append((kind, number, name))
        return number

    def _end(self, bracket: str, line: int) -> None:
        kind = "or" if bracket == "}" else "and"
        if not self.open or self.open[-1][0] != kind:
            raise self._fault(f"{bracket} closes no node", line)
        self.open.pop()

    def _reference(self, name: str, line: int) -> tuple[str, int]:
        if name not in self.named:
            raise self._fault(f"${name} refers to no node before it", line)
        if any(open_name == name for _, _, open_name in self.open):
            raise self._fault(f"${name} is inside the node of that name: a cycle", line)
        return self.named[name]

    def _attach(self, kind: str, number: int, line: int) -> None:
        if not self.open:
            raise self._fault("a forest begins with a disjunctive node, {", line)
        above, at, _ = self.open[-1]
        if above == kind:
            raise self._fault("disjunctive and conjunctive nodes take turns; one is inside another of its kind", line)
        (self.ors[at] if above == "or" else self.ands[at][1]).append(number)

    def _add_feature(self, token: str, line: int) -> None:
        if not self.open or self.open[-1][0] == "or":
            raise self._fault(f"{token!r} stands where a conjunctive node must be", line)
        name, value = _feature(token, self.source, line)
        features = self.ands[self.open[-1][1]][0]
        features[name] = features.get(name, 0.0) + value

    def _forest(self) -> FeatureForest:
        number: dict[str, int] = {}
        features = [number.setdefault(name, len(number)) for some, _ in self.ands for name in some]
        forest = FeatureForest(
            _offsets(self.ors), np.array([c for some in self.ors for c in some], np.int32),
            _offsets([below for _, below in self.ands]),
            np.array([d for _, below in self.ands for d in below], np.int32),
            _offsets([list(some) for some, _ in self.ands]), np.array(features, np.int32),
            np.array([value for some, _ in self.ands for value in some.values()], np.float64), list(number),
            self.node_names,
        )  # fmt: skip
        forest.check()
        return forest

    def _fault(self, message: str, line: int | None) -> DataError:
        return DataError(message, source=self.source, line=line)


def _offsets(lists: Sequence[Sequence[Any]]) -> Ints:
    return np.concatenate([[0], np.cumsum([len(one) for one in lists])]).astype(np.int64)


def write_amis(events: Iterable[AmisEvent], target: str | os.PathLike[str]) -> None:
    """Write events in AMIS's format AmisTree; nodes that are shared have names, the others _."""
    with writer(target) as out:
        for event in events:
            observed = " ".join(_written(name, value) for name, value in event.observed.items())
            out.write(f"{_escaped(event.name) or '_'}\n{event.frequency}\t{observed}\n")
            out.write(" ".join(_forest_tokens(event.forest)) + "\n\n")


def _forest_tokens(forest: FeatureForest) -> Iterator[str]:
    """A forest from its root, depth first; a node that was written is referred to."""
    uses = {"d": np.bincount(forest.disjunctive, minlength=len(forest.alternatives) - 1)}
    uses["c"] = np.bincount(forest.conjunctive, minlength=len(forest.daughters) - 1)
    begun: set[tuple[str, int]] = set()
    stack: list[tuple[str, int] | str] = [("d", forest.root)]
    while stack:
        top = stack.pop()
        if isinstance(top, str):
            yield top
            continue
        kind, node = top
        if top in begun:
            yield f"${kind}_{node}"
            continue
        begun.add(top)
        yield "{" if kind == "d" else "("
        yield f"{kind}_{node}" if uses[kind][node] > 1 else "_"
        if kind == "d":
            some = forest.conjunctive[forest.alternatives[node] : forest.alternatives[node + 1]].tolist()
            stack.append("}")
            stack += [("c", c) for c in reversed(some)]
        else:
            yield from (_written(name, value) for name, value in forest.features_of(node).items())
            some = forest.disjunctive[forest.daughters[node] : forest.daughters[node + 1]].tolist()
            stack.append(")")
            stack += [("d", d) for d in reversed(some)]


def _written(name: str, value: float) -> str:
    return _escaped(name) if value == 1.0 else f"{_escaped(name)}:{value:.17g}"


def _escaped(text: str) -> str:
    """Special characters after a backslash, and names that would be taken for brackets or references."""
    out = "".join(f"\\{c}" if c in "\\:# \t" else c for c in text)
    return f"\\{out}" if text in ("{", "}", "(", ")", "_") or text.startswith("$") else out
