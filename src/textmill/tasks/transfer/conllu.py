"""Dependency trees of CoNLL-U as bracketed trees and back.

A word with its dependents is a constituent whose label is the word's relation; its children are the dependents'
constituents and the word itself, under its tag, in the order of the sentence. So a family such as

    nsubj obj: amod NOUN | NOUN amod

says where adjectives stand. Trees must be projective: a constituent is one stretch of words.
"""

from __future__ import annotations

from itertools import pairwise

from textmill.corpus import Sentence, Tree
from textmill.errors import DataError

__all__ = ["conllu_of", "tree_of"]


def tree_of(sentence: Sentence) -> Tree:
    """The bracketed tree of a sentence of `read_conllu`.

    >>> import io
    >>> from textmill.corpus import read_conllu
    >>> rows = ["1 old old ADJ _ _ 2 amod _ _", "2 man man NOUN _ _ 0 root _ _"]
    >>> (sentence,) = read_conllu(io.BytesIO("\\n".join(rows).replace(" ", "\\t").encode()))
    >>> print(tree_of(sentence))
    (root (amod (ADJ old)) (NOUN man))
    """
    rows = [row for row in sentence if row[0].isdecimal()]
    below: dict[int, list[int]] = {}
    for at, row in enumerate(rows):
        if not row[6].isdecimal() or int(row[6]) > len(rows):
            raise DataError(f"word {row[0]} has the head {row[6]!r}", source=sentence.source, line=sentence.line)
        below.setdefault(int(row[6]) - 1, []).append(at)
    if len(below.get(-1, ())) != 1:
        raise DataError("a sentence needs one root", source=sentence.source, line=sentence.line)
    done: dict[int, tuple[Tree, int, int]] = {}  # constituents with their stretches
    order, stack = [], [below[-1][0]]
    while stack:
        order.append(at := stack.pop())
        stack.extend(below.get(at, ()))
    for at in reversed(order):
        parts = [done[child] for child in below.get(at, ())]
        parts.append((Tree(rows[at][3], (rows[at][1],)), at, at + 1))
        parts.sort(key=lambda part: part[1])
        if any(left[2] != right[1] for left, right in pairwise(parts)):
            raise DataError(
                f"the dependents of word {at + 1} are not one stretch of words; leave out trees that cross",
                source=sentence.source,
                line=sentence.line,
            )
        done[at] = Tree(rows[at][7], tuple(part[0] for part in parts)), parts[0][1], parts[-1][2]
    if len(done) != len(rows):
        raise DataError("heads go round in a circle", source=sentence.source, line=sentence.line)
    return done[order[0]][0]


def conllu_of(tree: Tree) -> list[tuple[str, ...]]:
    """The rows of such a tree: id, form, and of the other columns tag, head and relation.

    >>> from textmill.corpus import parse_tree
    >>> [row[:2] + row[6:8] for row in conllu_of(parse_tree("(root (NOUN man) (amod (ADJ old)))"))]
    [('1', 'man', '0', 'root'), ('2', 'old', '1', 'amod')]
    """
    words: list[tuple[str, str, Tree]] = []  # form, tag, constituent that it is the head of
    above: dict[int, Tree | None] = {id(tree): None}
    head: dict[int, int] = {}
    stack: list[tuple[Tree, Tree | None]] = [(tree, None)]
    while stack:
        node, parent = stack.pop()
        if node.is_preterminal and parent is not None:
            if id(parent) in head:
                raise DataError(f"constituent {parent.label!r} has two words of its own; one is its head")
            head[id(parent)] = len(words)
            words.append((str(node.children[0]), node.label, parent))
            continue
        above[id(node)] = parent
        stack.extend((child, node) for child in reversed(node.children) if isinstance(child, Tree))
    rows: list[tuple[str, ...]] = []
    for number, (form, tag, node) in enumerate(words, 1):
        parent = above[id(node)]
        if parent is not None and id(parent) not in head:
            raise DataError(f"constituent {parent.label!r} has no word of its own to be its head")
        at = 0 if parent is None else head[id(parent)] + 1
        rows.append((str(number), form, "_", tag, "_", "_", str(at), node.label, "_", "_"))
    return rows
