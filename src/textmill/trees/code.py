"""A tree as C: static tables and one function, without libraries and without memory of its own.

    int NAME_label(const int *codes, const double *numbers);

`codes` are the positions of the values in the tables NAME_values_0, NAME_values_1, ... (-1 for any other value),
`numbers` the cells of numeric columns; the result is a position in NAME_labels. The code compiles as C99 and as C++.
"""

from __future__ import annotations

import json
import re

import numpy as np

from textmill.arrays import Ints
from textmill.errors import DataError
from textmill.model import check_fitted
from textmill.trees.categorical import CategoricalTree

__all__ = ["tree_code"]


def tree_code(tree: CategoricalTree, name: str = "tree") -> str:
    """Return the tree as C source; `name` begins every name in it.

    >>> tree = CategoricalTree(min_cases=1).fit([["a"], ["b"]], ["k", "s"])
    >>> [line for line in tree_code(tree).splitlines() if "labels" in line]
    ['static const char *const tree_labels[] = {"k", "s"};']
    """
    check_fitted(tree)
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise DataError(f"{name!r} cannot begin the names of C code; use letters, digits and _")
    valued = [column for column in tree.columns_ if column.values is not None]
    seen_begin = np.concatenate([[0], np.cumsum(tree.n_seen_, dtype=np.int64)])
    threshold = np.zeros(len(tree.attribute_))
    threshold[tree.attribute_ >= len(valued)] = tree.threshold_
    lines = [
        f"/* A decision tree of {tree.n_nodes_} nodes, written by textmill. */",
        f"static const char *const {name}_labels[] = {{{', '.join(_string(str(c)) for c in tree.classes_)}}};",
    ]
    for i, column in enumerate(valued):
        values = ", ".join(_string(value) for value in column.values or ())
        lines.append(f"static const char *const {name}_values_{i}[] = {{{values}}}; /* {_comment(column.name)} */")
    lines += [
        _table(name, "attribute", tree.attribute_.astype(np.int64)),
        _table(name, "label", tree.label_.astype(np.int64)),
        _table(name, "first", tree.first_child_),
        _table(name, "seen_begin", seen_begin),
        _table(name, "seen", tree.seen_.astype(np.int64)),
        _table(name, "branch", tree.branch_.astype(np.int64)),
        f"static const double {name}_threshold[] = {{{', '.join(repr(float(t)) for t in threshold)}}};",
        f"""
static int {name}_label(const int *codes, const double *numbers) {{
  int node = 0;
  for (;;) {{
    const int attribute = {name}_attribute[node];
    int low, high, child = -1;
    if (attribute < 0) return {name}_label_table[node];
    if (attribute >= {len(valued)}) {{
      node = {name}_first[node] + (numbers[attribute - {len(valued)}] <= {name}_threshold[node] ? 0 : 1);
      continue;
    }}
    low = {name}_seen_begin[node];
    high = {name}_seen_begin[node + 1];
    while (low < high) {{
      const int middle = low + (high - low) / 2;
      if ({name}_seen[middle] < codes[attribute]) low = middle + 1; else high = middle;
    }}
    if (low < {name}_seen_begin[node + 1] && {name}_seen[low] == codes[attribute]) child = {name}_branch[low];
    if (child < 0) return {name}_label_table[node];
    node = {name}_first[node] + child;
  }}
}}
""",
    ]
    return "\n".join(lines).replace(f"{name}_label[]", f"{name}_label_table[]")


def _table(name: str, what: str, values: Ints) -> str:
    largest = int(np.abs(values).max()) if len(values) else 0
    kind = "signed char" if largest < 128 else "short" if largest < 1 << 15 else "int"
    cells = ", ".join(map(str, values.tolist())) or "0"
    return f"static const {kind} {name}_{what}[] = {{{cells}}};"


def _string(text: str) -> str:
    """A C string: JSON's escapes of ASCII signs are C's; bytes above are octal, so that no digit can follow wrongly."""
    out = []
    for byte in text.encode():
        if 32 <= byte < 127:
            out.append(json.dumps(chr(byte))[1:-1].replace("?", "\\?"))
        else:
            out.append(f"\\{byte:03o}")
    return '"' + "".join(out) + '"'


def _comment(text: str) -> str:
    return text.replace("*/", "* /")
