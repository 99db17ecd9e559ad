"""The worked example of treebank transfer and its target language; weights of trees straight from the definition."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from textmill.corpus import Tree, parse_tree

FAMILIES = "C: S v O | S O v | v S O\nS O: a n | n a"
SOURCE = parse_tree("(C (S (a a1) (n n1)) (v v) (O (a a2) (n n2)))")
BIGRAMS = {
    "#": {"a": "1/5", "n": "1/5", "v": "3/5"},
    "a": {"a": "1/10", "n": "3/10", "v": "3/10", "$": "3/10"},
    "n": {"a": "5/10", "n": "2/10", "v": "1/10", "$": "2/10"},
    "v": {"a": "2/10", "n": "6/10", "v": "1/10", "$": "1/10"},
}
CHANNEL = {"Sv": (0.90, 0.05, 0.05), "SO": (0.85, 0.10, 0.05), "vS": (0.80, 0.05, 0.15)}


def parameters() -> list[Fraction]:
    """Parameters of the example from x1 .. x8, in the order of OrderModel."""
    x = [Fraction(value) for value in ("7/10", "3/5", "1/2", "1/2", "2/5", "1/2", "4/5", "3/10")]
    out = []
    for first, second in ((x[0], x[1]), (x[2], x[3]), (x[4], x[5])):
        out += [first, (1 - first) * second, (1 - first) * (1 - second)]
    return [*out, x[6], 1 - x[6], x[7], 1 - x[7]]


def fringe_weight(tags: list[str]) -> Fraction:
    """p(T | Lam) of a fringe."""
    total = Fraction(1)
    for before, after in zip(["#", *tags], [*tags, "$"], strict=True):
        total *= Fraction(BIGRAMS[before].get(after, "0"))
    return total


def target_tree(rng: np.random.Generator) -> Tree:
    """A tree of the target language of the recovery experiment."""

    def phrase(label: str, number: int) -> Tree:
        a, n = Tree("a", (f"a{number}",)), Tree("n", (f"n{number}",))
        return Tree(label, (a, n) if rng.random() < 0.15 else (n, a))

    s, o, v = phrase("S", 1), phrase("O", 2), Tree("v", ("v",))
    return Tree("C", [(s, v, o), (s, o, v), (v, s, o)][rng.choice(3, p=[0.1, 0.1, 0.8])])


def source_tree(target: Tree, rng: np.random.Generator) -> Tree:
    """What the channel makes of a target tree."""

    def phrase(own: Tree) -> Tree:
        before = [child.label for child in own.children if isinstance(child, Tree)] == ["a", "n"]
        a, n = sorted((child for child in own.children if isinstance(child, Tree)), key=lambda child: child.label)
        return Tree(own.label, (a, n) if rng.random() < (0.95 if before else 0.90) else (n, a))

    below = {child.label: child for child in target.children if isinstance(child, Tree)}
    s, o, v = phrase(below["S"]), phrase(below["O"]), below["v"]
    row = CHANNEL["".join(child.label for child in target.children if isinstance(child, Tree))[:2]]
    return Tree("C", [(s, v, o), (s, o, v), (v, s, o)][rng.choice(3, p=row)])
