"""Words into symbols of a grammar, its best trees, and their brackets into trees.

The search is native/trees/chart.h; here each distinct word gets its tags once, and brackets become trees.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill._native import trees as native
from textmill.arrays import Ids, Ints
from textmill.corpus import Tree
from textmill.trees.lexicon import Lexicon
from textmill.trees.rules import ROOT, CoarseRules, RuleArrays

__all__ = ["ChartParser", "ScoredTree"]

_BEAM = 7.0  # a label less probable than the best in its place by a factor of exp(7) is not tried


class ScoredTree(NamedTuple):
    """A tree and its log probability with the words, up to a constant of the sentence."""

    tree: Tree
    log_probability: float


class ChartParser:
    """The native parser of a grammar: `fine`, the rules, `plain`, those of the last resort, and the coarse ones.

    Arrays that do not hold together are a ValueError.
    """

    def __init__(
        self, labels: list[str], fine: RuleArrays, plain: RuleArrays, coarse: CoarseRules, lexicon: Lexicon
    ) -> None:
        self._labels, self._lexicon, self._coarse = labels, lexicon, [np.ascontiguousarray(table) for table in coarse]
        self._number = {label: at for at, label in enumerate(labels)}
        if ROOT not in self._number:
            raise ValueError("the label of whole sentences is missing")
        self._parents = len(coarse.stop)
        self._fine, self._plain = _Rules(fine, labels), _Rules(plain, labels)
        self._symbols: dict[int, list[tuple[int, int]]] = {}  # of a label, with the label above
        for symbol, (label, group) in enumerate(zip(fine.label.tolist(), fine.group.tolist(), strict=True)):
            self._symbols.setdefault(label, []).append((symbol, int(fine.above[group])))
        self._plain_symbols = {label: symbol for symbol, label in enumerate(plain.label.tolist())}

    def parse(
        self, sentences: Sequence[tuple[Sequence[str], Sequence[str] | None]], share: float, k: int, n_jobs: int
    ) -> Iterator[list[ScoredTree]]:
        """The k best trees of words with or without their tags."""
        numbers: dict[tuple[str, str | None], int] = {}
        words = [
            numbers.setdefault(pair, len(numbers))
            for sentence, tags in sentences
            for pair in zip(sentence, tags or itertools.repeat(None), strict=False)
        ]
        ends = np.concatenate([[0], np.cumsum([len(sentence) for sentence, _ in sentences])]).astype(np.int64)
        scores, last_resort, tree_at, bracket_at, brackets = native.parse(
            self._fine.native,
            self._plain.native,
            self._parents,
            self._number[ROOT],
            *self._coarse,
            *self._tags(list(numbers)),
            ends,
            np.array(words, np.int32),
            share,
            _BEAM,
            k,
            n_jobs,
        )
        rows = brackets.reshape(-1, 4).tolist()
        for s, (sentence, tags) in enumerate(sentences):
            trees = []
            for t in range(tree_at[s], tree_at[s + 1]):
                rules = self._plain if last_resort[t] else self._fine
                tree = self._tree(rules, rows[bracket_at[t] : bracket_at[t + 1]], sentence, tags)
                trees.append(ScoredTree(tree, float(scores[t])))
            yield trees

    def _tags(self, words: Sequence[tuple[str, str | None]]) -> list[NDArray[Any]]:
        """Tags of distinct words as labels, as symbols and as symbols of the last resort."""
        parts: list[tuple[list[int], list[int], list[float]]] = [([0], [], []) for _ in range(3)]
        labels, symbols, plain = parts
        for word, tag in words:
            number = None if tag is None else self._number.get(tag)
            for label, weight in zip(*self._lexicon.weights(word, number), strict=True):
                score = float(np.log(weight))
                labels[1].append(label)
                labels[2].append(weight)
                plain[1].append(self._plain_symbols[label])
                plain[2].append(score)
                for symbol, parent in self._symbols.get(label, ()):
                    symbols[1].append(symbol)
                    symbols[2].append(score + self._lexicon.above(word, label, parent))
            for offsets, ids, _ in parts:
                offsets.append(len(ids))
        kinds = (np.int64, np.int32, np.float64)
        return [np.array(values, kind) for part in parts for values, kind in zip(part, kinds, strict=True)]

    def _tree(self, rules: _Rules, rows: list[list[int]], words: Sequence[str], tags: Sequence[str] | None) -> Tree:
        """The tree of brackets, parents first: built from the last to the first."""
        ready: list[tuple[int, Tree]] = []  # trees that wait for a parent, the leftmost last, with their ends
        for start, end, symbol, chain in reversed(rows):
            if end == start + 1:  # rules of one child are in chains
                tree = Tree(rules.names[symbol] if tags is None else tags[start], (words[start],))
            else:
                children = []
                while ready and ready[-1][0] <= end:
                    children.append(ready.pop()[1])
                tree = Tree(rules.names[symbol], tuple(children))
            for above in reversed(rules.chains[chain] if chain >= 0 else ()):
                if above != ROOT:
                    tree = Tree(above, (tree,))
            ready.append((end, tree))
        return ready[0][1]


class _Rules:
    """A native grammar with the names of its symbols and the labels of its chains."""

    def __init__(self, arrays: RuleArrays, labels: list[str]) -> None:
        fields = arrays._asdict()
        at, ids, above = fields.pop("chain_label_at"), fields.pop("chain_label"), fields.pop("above")
        for numbers in (arrays.label, ids, above):
            if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < len(labels):
                raise ValueError("there are labels that are not there")
        if len(at) != len(arrays.chain) + 1 or at[0] != 0 or (np.diff(at) < 0).any() or at[-1] != len(ids):
            raise ValueError("the labels of chains do not hold together")
        self.native = native.Rules(len(labels), len(above), 0, *map(np.ascontiguousarray, fields.values()))
        self.names = [labels[label] for label in arrays.label.tolist()]
        self.chains = _chain_labels(at, ids, labels)


def _chain_labels(at: Ints, ids: Ids, labels: list[str]) -> list[list[str]]:
    names = [labels[label] for label in ids.tolist()]
    return [names[begin:end] for begin, end in itertools.pairwise(at.tolist())]
