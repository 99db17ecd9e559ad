"""Words through a tree: what it says at each position, where they end up, how often that is wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from textmill._native import tasks as native
from textmill.arrays import Floats, Ids
from textmill.model import StringTable, effective_jobs
from textmill.tasks.pronunciation.alignment import AlignedLexicon
from textmill.tasks.pronunciation.windows import EDGE, EMPTY, EncodedWords
from textmill.trees import CategoricalTree

__all__ = [
    "extra_of",
    "path_probabilities",
    "position_nodes",
    "shown_letters",
    "sound_name",
    "spoken_lines",
    "wrong_share",
]

_PATH = 1.0  # weight of the parent's distribution at a node, in cases


def sound_name(name: str, names: Sequence[str]) -> str:
    """A sound as the tree calls it: nothing is ".", or "<none>" where that is a phoneme."""
    if name:
        return name
    return EMPTY if EMPTY not in names else "<none>"


def shown_letters(letters: Sequence[str]) -> list[str]:
    """Letters as rules show them: those that look like the signs for edge and nothing are quoted."""
    return [f"'{letter}'" if letter in (EDGE, EMPTY) else letter for letter in letters]


def spoken_lines(
    tree: CategoricalTree,
    silent: str,
    words: EncodedWords,
    extra: Ids,
    marks: tuple[int, int],
    context: int,
    n_jobs: int | None,
) -> list[str]:
    """The phonemes of words, with blanks between them; `silent` is the class that says nothing."""
    texts = StringTable(["" if name == silent else name for name in tree.classes_.tolist()])
    lines = native.sound_words(
        tree.walker(),
        words.offsets,
        words.letters,
        extra,
        context,
        *marks,
        texts.offsets,
        texts.bytes,
        len(texts),
        effective_jobs(n_jobs),
    )
    return str(lines, "utf-8").split("\n")[:-1]


def extra_of(tree: CategoricalTree, tags: list[str] | None, count: int) -> Ids:
    """The attribute of each word as a value of the tree's last column."""
    if tags is None:
        return np.zeros((count, 0), np.int32)
    place = {kind: i for i, kind in enumerate(tree.columns_[-1].values or ())}
    return np.array([[place.get(tag, -1)] for tag in tags], np.int32).reshape(count, 1)


def position_nodes(
    tree: CategoricalTree,
    letters: list[str],
    words: EncodedWords,
    tags: list[str] | None,
    context: int,
    n_jobs: int | None,
) -> Ids:
    """The node of the tree that each position of words reaches."""
    nodes = np.empty(int(words.positions[-1]), np.int32)
    extra = extra_of(tree, tags, len(words))
    native.position_nodes(
        tree.walker(),
        words.offsets,
        words.letters,
        extra,
        context,
        len(letters),
        len(letters) + 1,
        nodes,
        effective_jobs(n_jobs),
    )
    return nodes


def wrong_share(
    tree: CategoricalTree,
    lexicon: AlignedLexicon,
    pairs: list[tuple[list[str], tuple[str, ...]]],
    tags: list[str] | None,
    context: int,
    n_jobs: int | None,
) -> float:
    """Share of words whose output is none of their pronunciations."""
    codes = {letter: i for i, letter in enumerate(lexicon.letters)}
    words = EncodedWords.encode((own for own, _ in pairs), codes)
    marks = len(lexicon.letters), len(lexicon.letters) + 1
    silent = sound_name("", lexicon.names)
    lines = spoken_lines(tree, silent, words, extra_of(tree, tags, len(pairs)), marks, context, n_jobs)
    accepted: dict[tuple[str, ...], set[str]] = {}
    for own, phonemes in pairs:
        accepted.setdefault(tuple(own), set()).add(" ".join(phonemes))
    return sum(line not in accepted[tuple(own)] for line, (own, _) in zip(lines, pairs, strict=True)) / len(pairs)


def path_probabilities(tree: CategoricalTree, names: Sequence[str]) -> Floats:
    """P(class | node), each node's counts smoothed by the distribution of its parent, (nodes, names)."""
    counts = tree.node_counts()
    first, children = tree.first_child_.tolist(), tree.n_children_.tolist()
    share = np.empty_like(counts)
    total = counts.sum(axis=1)
    share[0] = (counts[0] + _PATH / counts.shape[1]) / (total[0] + _PATH)
    for node, (begin, count) in enumerate(zip(first, children, strict=True)):
        if count:
            below = slice(begin, begin + count)
            share[below] = (counts[below] + _PATH * share[node]) / (total[below] + _PATH)[:, None]
    place = {name: i for i, name in enumerate(tree.classes_.tolist())}
    table = np.full((len(share), len(names)), 1e-9)
    for column, name in enumerate(names):
        if name in place:
            table[:, column] = share[:, place[name]]
    return table
