"""Trees by recursion, as their definitions read; for small trees."""

from __future__ import annotations


def written(tree):
    if isinstance(tree, str):
        return tree
    return f"({tree.label} {' '.join(written(child) for child in tree.children)})"


def leaves(tree):
    return [tree] if isinstance(tree, str) else [leaf for child in tree.children for leaf in leaves(child)]


def subtrees(tree):
    return [] if isinstance(tree, str) else [tree, *(below for child in tree.children for below in subtrees(child))]


def size(tree):
    """How many nodes and leaves stand below the root."""
    return 0 if isinstance(tree, str) else sum(1 + size(child) for child in tree.children)


def spans(tree, start=0):
    """Constituents above the tags as (start, end, label), parents first, and where the tree ends."""
    if isinstance(tree, str) or (len(tree.children) == 1 and isinstance(tree.children[0], str)):
        return [], start + 1
    found, end = [], start
    for child in tree.children:
        below, end = spans(child, end)
        found += below
    return [(start, end, tree.label), *found], end


def without(tree, label):
    """The tree without the subtrees of that label, nor what they alone filled."""
    if isinstance(tree, str):
        return tree
    if tree.label == label:
        return None
    kept = tuple(child for child in (without(child, label) for child in tree.children) if child is not None)
    return type(tree)(tree.label, kept) if kept else None
