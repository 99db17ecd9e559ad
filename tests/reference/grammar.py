"""Trees of a sentence by enumeration: every derivation of a grammar of native/trees/chart.h, with its score."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from textmill.trees.rules import RuleArrays

Derivation = tuple[float, tuple[tuple[int, int, int, int], ...]]  # score; brackets (start, end, symbol, chain)


def derivations(rules: RuleArrays, words: list[list[tuple[int, float]]]) -> list[Derivation]:
    """All derivations of a sentence whose words have these symbols and scores, best first."""

    @cache
    def tops(i: int, j: int) -> dict[int, list[Derivation]]:
        out: dict[int, list[Derivation]] = {}
        for symbol, below in bases(i, j).items():
            for score, brackets in below:
                out.setdefault(symbol, []).append((score, ((i, j, symbol, -1), *brackets)))
                for c in range(rules.chain_at[symbol], rules.chain_at[symbol + 1]):
                    top = int(rules.chain_top[c])
                    out.setdefault(top, []).append((score + rules.chain[c], ((i, j, symbol, c), *brackets)))
        return out

    @cache
    def bases(i: int, j: int) -> dict[int, list[Derivation]]:
        if j == i + 1:
            return {symbol: [(score, ())] for symbol, score in words[i]}
        out: dict[int, list[Derivation]] = {}
        for state, score, brackets in states(i, j):
            if np.isfinite(rules.stop[state]):
                symbol = int(rules.state_symbol[state])
                out.setdefault(symbol, []).append((score + rules.stop[state], brackets))
        return out

    def states(i: int, j: int) -> Iterator[tuple[int, float, tuple[tuple[int, int, int, int], ...]]]:
        """Unfinished rules of two children or more."""
        for k in range(i + 1, j):
            for before, score, brackets in [*states(i, k), *firsts(i, k)]:
                for e in range(rules.step_at[before], rules.step_at[before + 1]):
                    for symbol, below in tops(k, j).items():
                        if (
                            rules.label[symbol] == rules.step_label[e]
                            and rules.group[symbol] == rules.state_group[before]
                        ):
                            for own, inner in below:
                                yield int(rules.step_next[e]), score + own + rules.step[e], (*brackets, *inner)

    def firsts(i: int, j: int) -> Iterator[tuple[int, float, tuple[tuple[int, int, int, int], ...]]]:
        for symbol, below in tops(i, j).items():
            for b in range(rules.begin_at[symbol], rules.begin_at[symbol + 1]):
                for score, brackets in below:
                    yield int(rules.begin_state[b]), score + rules.begin[b], brackets

    return sorted(tops(0, len(words)).get(0, []), key=lambda item: -item[0])
