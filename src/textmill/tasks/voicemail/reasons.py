"""Why a tree said what it said: the tests on the way to a node, in words.

Of several tests of one column only the last is told, which says most; of a number the last from below and from above.
"""

from __future__ import annotations

from textmill.trees import CategoricalTree

__all__ = ["NodeReasons"]

_SHOWN = 4  # values that are written out


class NodeReasons:
    """The paths of a tree to its nodes, each made once.

    >>> tree = CategoricalTree(min_cases=1).fit([["a", 1], ["b", 1], ["b", 7]], [0, 1, 2])
    >>> reasons = NodeReasons(tree)
    >>> [reasons[node] for node in range(1, tree.n_nodes_)][:1]
    [('0 = a',)]
    """

    def __init__(self, tree: CategoricalTree) -> None:
        self._paths: dict[int, dict[tuple[str, str], str]] = {0: {}}
        self._tests: dict[int, tuple[int, tuple[str, str], str]] = {}
        columns = tree.columns_
        order = [c for c in columns if c.values is not None] + [c for c in columns if c.values is None]
        thresholds, seen_at = 0, 0
        firsts, children = tree.first_child_.tolist(), tree.n_children_.tolist()
        for node, attribute in enumerate(tree.attribute_.tolist()):
            count = int(tree.n_seen_[node])
            if attribute >= 0:
                column = order[attribute]
                if column.values is None:
                    limit = f"{tree.threshold_[thresholds]:g}"
                    thresholds += 1
                    self._tests[firsts[node]] = node, (column.name, "<="), f"{column.name} <= {limit}"
                    self._tests[firsts[node] + 1] = node, (column.name, ">"), f"{column.name} > {limit}"
                else:
                    branch = tree.branch_[seen_at : seen_at + count].tolist()
                    seen = tree.seen_[seen_at : seen_at + count].tolist()
                    for child in range(children[node]):
                        values = [column.values[v] for v, b in zip(seen, branch, strict=True) if b == child]
                        self._tests[firsts[node] + child] = node, (column.name, "in"), _test(column.name, values)
            seen_at += count

    def __getitem__(self, node: int) -> tuple[str, ...]:
        """The tests on the way to a node."""
        return tuple(self._path(node).values())

    def _path(self, node: int) -> dict[tuple[str, str], str]:
        if node not in self._paths:
            parent, key, test = self._tests[node]
            self._paths[node] = self._path(parent) | {key: test}
        return self._paths[node]


def _test(name: str, values: list[str]) -> str:
    if len(values) == 1:
        return f"{name} = {values[0]}"
    shown = ", ".join(values[:_SHOWN]) + (f", ... ({len(values)} values)" if len(values) > _SHOWN else "")
    return f"{name} in {{{shown}}}"
