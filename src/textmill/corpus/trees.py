r"""Bracketed trees, as in the Penn Treebank: `(S (NP (DT the) (NN dog)) (VP (VBZ barks)))`.

    tree  = "(" label child+ ")"          the outermost label may be missing: ( (S ...) )
    child = tree | leaf                   labels and leaves: anything without blanks and round brackets

Leaves are kept as the file writes them (`-LRB-`, `1\/2`); `Tree.words` undoes the escapes, and a round bracket in a
word is escaped when it is written. An unlabeled outer bracket around one tree is dropped, around several it becomes a
tree with the label "". Any blanks and line ends, lone carriage returns too, may stand between tokens.

No algorithm here is recursive: a tree may be as deep as memory allows. Cost: linear in the size of the tree.
Reference: Marcus, Santorini & Marcinkiewicz (1993).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from sys import intern
from typing import NamedTuple, TypeAlias, TypeVar, cast

from textmill.corpus.iob import Span
from textmill.corpus.streams import BadRecords, Source, open_lines, source_name
from textmill.errors import DataError

__all__ = ["Production", "Tree", "parse_tree", "read_trees"]

_T = TypeVar("_T")
_Event: TypeAlias = "tuple[str] | str | None"  # a bracket with its label opens, a leaf, a bracket closes

_TOKENS = re.compile(r"[()]|[^() \t\r\f\v]+")
_UNWRITABLE = re.compile(r"[ \t\r\n\f\v]|^$")
_FUNCTIONS = re.compile(r"^([^-=]+)[-=].*")
_ESCAPES = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}", "\\/": "/", "\\*": "*"}
_ESCAPE = re.compile("|".join(map(re.escape, _ESCAPES)))


class Production(NamedTuple):
    """A label and what stands below it: labels, or words if `lexical`."""

    label: str
    children: tuple[str, ...]
    lexical: bool


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tree:
    """A label over one or more children, which are trees or leaves (`str`).

    Trees are immutable, compare and hash by what they hold, and can be pickled at any depth.

    >>> tree = Tree("S", (Tree("NP", (Tree("NN", ("dogs",)),)), Tree("VP", (Tree("VBP", ("bark",)),))))
    >>> print(tree)
    (S (NP (NN dogs)) (VP (VBP bark)))
    >>> tree == parse_tree(str(tree))
    True
    """

    label: str
    children: tuple[Tree | str, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.children, tuple):
            object.__setattr__(self, "children", tuple(self.children))
        if not self.children:
            raise DataError(f"tree {self.label!r} has no children; a leaf is a plain string")

    @property
    def is_preterminal(self) -> bool:
        """Whether this is a tag over one word.

        >>> Tree("NN", ("dog",)).is_preterminal
        True
        """
        return len(self.children) == 1 and isinstance(self.children[0], str)

    def subtrees(self) -> Iterator[Tree]:
        """This tree and all below it, parents before children, left to right.

        >>> [tree.label for tree in parse_tree("(S (NP (NN dogs)) (VP (VBP bark)))").subtrees()]
        ['S', 'NP', 'NN', 'VP', 'VBP']
        """
        return (node for node in _preorder(self) if isinstance(node, Tree))

    def fold(self, node: Callable[[Tree, list[_T]], _T], leaf: Callable[[str], _T]) -> _T:
        """Compute from the leaves up: `node` gets a tree and the values of its children.

        >>> parse_tree("(S (NP (NN dogs)) (VP (VBP bark)))").fold(lambda tree, below: 1 + max(below), lambda word: 0)
        3
        """
        order: list[Tree | str] = []
        stack: list[Tree | str] = [self]
        while stack:
            order.append(top := stack.pop())
            if isinstance(top, Tree):
                stack.extend(top.children)
        values: list[_T] = []
        for current in reversed(order):  # children left to right, then their parent
            if isinstance(current, str):
                values.append(leaf(current))
            else:
                below = values[-len(current.children) :]
                del values[-len(current.children) :]
                values.append(node(current, below))
        return values[0]

    def leaves(self) -> list[str]:
        r"""The leaves from left to right, as written in the file.

        >>> parse_tree(r"(NP (-LRB- -LRB-) (CD 1\/2))").leaves()
        ['-LRB-', '1\\/2']
        """
        return [node for node in _preorder(self) if isinstance(node, str)]

    def words(self) -> list[str]:
        r"""The leaves as running text has them: `-LRB-` is `(`, `\/` is `/`.

        >>> parse_tree(r"(NP (-LRB- -LRB-) (CD 1\/2))").words()
        ['(', '1/2']
        """
        return [_ESCAPE.sub(lambda match: _ESCAPES[match[0]], leaf) for leaf in self.leaves()]

    def tags(self) -> list[str]:
        """The tag of every leaf; a leaf that has none, as in `(NP the (NN dog))`, is a DataError.

        >>> parse_tree("(S (NP (NN dogs)) (VP (VBP bark)))").tags()
        ['NN', 'VBP']
        """
        tags = []
        for tree in self.subtrees():
            if tree.is_preterminal:
                tags.append(tree.label)
            elif bare := [child for child in tree.children if isinstance(child, str)]:
                raise DataError(f"leaf {bare[0]!r} stands directly under {tree.label!r}; tags need one leaf each")
        return tags

    def spans(self) -> list[Span]:
        """(start, end, label) of every constituent above the tags, parents first; positions count leaves.

        >>> parse_tree("(S (NP (NN dogs)) (VP (VBP bark)))").spans()
        [(0, 2, 'S'), (0, 1, 'NP'), (1, 2, 'VP')]
        """
        spans: list[Span] = []
        unfinished: list[int] = []
        position = 0
        stack: list[Tree | str | None] = [self]
        while stack:
            node = stack.pop()
            if node is None:
                start, _, label = spans[at := unfinished.pop()]
                spans[at] = (start, position, label)
            elif isinstance(node, str) or node.is_preterminal:
                position += 1
            else:
                unfinished.append(len(spans))
                spans.append((position, position, node.label))
                stack.append(None)
                stack.extend(reversed(node.children))
        return spans

    def productions(self) -> list[Production]:
        """The rule used at each node, parents first; words beside constituents under one node are a DataError.

        >>> parse_tree("(NP (DT the) (NN dog))").productions()[:2]
        [Production(label='NP', children=('DT', 'NN'), lexical=False), \
Production(label='DT', children=('the',), lexical=True)]
        """
        rules = []
        for tree in self.subtrees():
            labels = tuple(child.label for child in tree.children if isinstance(child, Tree))
            words = tuple(child for child in tree.children if isinstance(child, str))
            if labels and words:
                raise DataError(f"{tree.label!r} has both words ({words[0]!r}) and constituents ({labels[0]!r})")
            rules.append(Production(tree.label, labels or words, lexical=bool(words)))
        return rules

    def without_empty(self, label: str = "-NONE-") -> Tree | None:
        """The tree without traces and other empty elements, nor what only they filled; None if nothing is left.

        >>> print(parse_tree("(S (NP (-NONE- *)) (VP (VB go)))").without_empty())
        (S (VP (VB go)))
        """

        def keep(tree: Tree, below: list[Tree | str | None]) -> Tree | str | None:
            children = tuple(child for child in below if child is not None)
            return Tree(tree.label, children) if children and tree.label != label else None

        rest = self.fold(keep, lambda leaf: leaf)
        return rest if isinstance(rest, Tree) else None

    def without_functions(self) -> Tree:
        """The tree without function tags and indices in its labels; labels like `-NONE-` stay.

        >>> print(parse_tree("(S (NP-SBJ-1 (-NONE- *)) (VP=2 (VB go)))").without_functions())
        (S (NP (-NONE- *)) (VP (VB go)))
        """

        def bare(tree: Tree, below: list[Tree | str]) -> Tree | str:
            return Tree(_FUNCTIONS.sub(r"\1", tree.label), tuple(below))

        return cast(Tree, self.fold(bare, lambda leaf: leaf))

    def pretty(self, width: int = 100) -> str:
        """The tree over several lines: what fits into `width` columns stays on one, else one child per line.

        >>> print(parse_tree("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))").pretty(width=30))
        (S
          (NP (DT the) (NN dog))
          (VP (VBZ barks)))
        """
        size: dict[int, int] = {}  # characters of the one-line form, by identity: equal objects are equal text

        def measure(tree: Tree, below: list[int]) -> int:
            size[id(tree)] = len(tree.label) + 2 + len(below) + sum(below)
            return size[id(tree)]

        self.fold(measure, len)
        parts: list[str] = []
        stack: list[tuple[Tree | str | None, int]] = [(self, 0)]
        while stack:
            node, depth = stack.pop()
            indent = min(2 * depth, width // 2)  # or very deep trees would be mostly blanks
            if node is None:
                parts.append(")")
            elif isinstance(node, str):
                parts.append(f"\n{' ' * indent}{_written(node)}")
            elif indent + size[id(node)] <= width or node.is_preterminal:
                parts.append(f"\n{' ' * indent}{node}")
            else:
                parts.append(f"\n{' ' * indent}({_written(node.label) if node.label else ''}")
                stack.append((None, depth))
                stack.extend((child, depth + 1) for child in reversed(node.children))
        return "".join(parts)[1:]

    def __str__(self) -> str:
        parts = []
        for event in _events(self):
            if event is None:
                parts.append(")")
            elif isinstance(event, str):
                parts.append(f" {_written(event)}")
            else:
                parts.append(f" ({_written(event[0]) if event[0] else ''}")
        return "".join(parts)[1:]

    def __repr__(self) -> str:
        return f"parse_tree({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        # no balanced sequence is the beginning of another, so the shorter one cannot run out unnoticed
        return self is other or all(a == b for a, b in zip(_events(self), _events(other), strict=False))

    def __hash__(self) -> int:
        return hash(tuple(_events(self)))

    def __reduce__(self) -> tuple[object, ...]:
        return _from_events, (tuple(_events(self)),)


def parse_tree(text: str) -> Tree:
    """The one tree in a text; faults are placed by line and character.

    >>> parse_tree("( (S (NP (NN dogs)) (VP (VBP bark))) )").label
    'S'
    >>> parse_tree("(S (NN dogs)))")
    Traceback (most recent call last):
    textmill.errors.DataError: 1:14: ')' without an opening bracket
    """
    trees = []
    for tree in _parse(enumerate(text.split("\n"), 1), None, [], by_layout=False):
        if isinstance(tree, DataError):
            raise tree
        trees.append(tree)
    if len(trees) != 1:
        raise DataError(f"one tree was expected, the text holds {len(trees) or 'none'}; read_trees reads many")
    return trees[0]


def read_trees(source: Source, *, errors: str = "strict", encoding: str = "utf-8") -> Iterable[Tree]:
    """Stream the trees of a file (a path, `-` for standard input, or an open binary file).

    The trees of a file can be read again and again, those of standard input and open files once. With `errors="skip"`
    faulty trees are left out, and a SkippedRecords warning at the end says how many. No bracket tells where a faulty
    tree was meant to end, so skipping goes by the layout: a line that starts with a bracket begins a tree, and only
    such a line.

    >>> import io
    >>> [str(tree) for tree in read_trees(io.BytesIO(b"( (S (UH Yes)) )\\n(S\\n  (UH No))\\n"))]
    ['(S (UH Yes))', '(S (UH No))']
    """
    trees = _Trees(source, errors, encoding)
    if isinstance(source, str | os.PathLike) and source != "-" and os.path.isfile(source):
        return trees
    return iter(trees)


@dataclass(frozen=True, slots=True)
class _Trees:
    """The trees of a file, read anew by every iteration."""

    source: Source
    errors: str
    encoding: str

    def __iter__(self) -> Iterator[Tree]:
        name = source_name(self.source)
        unreadable: list[DataError] = []

        def keep_place(error: DataError, line: str) -> str:
            if self.errors == "strict":
                raise error
            unreadable.append(error)
            return line

        with BadRecords(self.errors, name) as bad:
            lines = open_lines(self.source, encoding=self.encoding, errors=keep_place)
            for tree in _parse(lines, name, unreadable, by_layout=self.errors == "skip"):
                if isinstance(tree, DataError):
                    bad(tree)
                else:
                    yield tree


def _parse(
    lines: Iterable[tuple[int, str]], source: str | None, unreadable: list[DataError], *, by_layout: bool
) -> Iterator[Tree | DataError]:
    """The trees, and in the place of each that is none what is wrong with it."""
    labels: list[str] = []  # of the open brackets
    below: list[list[Tree | str]] = []  # their children so far
    fresh = False  # a bracket was just opened
    begin = 0  # line of the outermost bracket
    suspect = 0  # a later line that looks like the beginning of another tree
    resting = False  # from a fault to the next beginning of a tree
    for number, line in lines:
        if line.startswith("("):
            resting = False
            if labels:
                suspect = suspect or number
                if by_layout:
                    yield _unclosed(source, begin, len(labels), suspect)
                    labels, below, fresh, suspect = [], [], False, 0
        fault: tuple[int, str] | None = None  # number of the token, and what is wrong with it
        for at, token in enumerate(() if resting or unreadable else _TOKENS.findall(line)):
            if token == "(":
                if fresh and len(labels) > 1:
                    fault = at, "a label is expected, found '('"
                    break
                begin = begin if labels else number
                labels.append("")
                below.append([])
                fresh = True
            elif token == ")":
                if not labels:
                    fault = at, "')' without an opening bracket"
                    break
                label, children = labels.pop(), tuple(below.pop())
                if not children:
                    fault = at, f"nothing stands under {label!r}" if label else "nothing stands between the brackets"
                    break
                fresh = False
                if labels:
                    below[-1].append(Tree(label, children))
                    continue
                suspect = 0
                only = children[0]
                yield only if not label and len(children) == 1 and isinstance(only, Tree) else Tree(label, children)
            elif fresh:
                labels[-1] = intern(token)
                fresh = False
            elif labels and labels[-1]:
                below[-1].append(intern(token))
            else:
                fault = at, f"{token!r} stands outside of a labeled bracket"
                break
        if fault:
            column = [match.start() + 1 for match in _TOKENS.finditer(line)][fault[0]]
            yield DataError(fault[1], source=source, line=number, column=column)
        elif unreadable:
            yield unreadable.pop()
        else:
            continue
        labels, below, fresh, suspect = [], [], False, 0
        resting = True
    if labels:
        yield _unclosed(source, begin, len(labels), suspect)


def _unclosed(source: str | None, line: int, missing: int, suspect: int) -> DataError:
    brackets = "1 closing bracket is" if missing == 1 else f"{missing} closing brackets are"
    hint = f"; line {suspect} looks like the beginning of the next" if suspect else ""
    return DataError(f"the tree that begins here does not end, {brackets} missing{hint}", source=source, line=line)


def _preorder(tree: Tree) -> Iterator[Tree | str]:
    stack: list[Tree | str] = [tree]
    while stack:
        yield (node := stack.pop())
        if isinstance(node, Tree):
            stack.extend(reversed(node.children))


def _events(tree: Tree) -> Iterator[_Event]:
    stack: list[Tree | str | None] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, Tree):
            yield (node.label,)
            stack.append(None)
            stack.extend(reversed(node.children))
        else:
            yield node


def _from_events(events: Iterable[_Event]) -> Tree:
    labels: list[str] = []
    below: list[list[Tree | str]] = [[]]
    for event in events:
        if isinstance(event, tuple):
            labels.append(event[0])
            below.append([])
        else:
            child = Tree(labels.pop(), tuple(below.pop())) if event is None else event
            below[-1].append(child)
    return cast(Tree, below[0][0])


def _written(text: str) -> str:
    """A label or leaf as it can stand in a file."""
    if _UNWRITABLE.search(text):
        raise DataError(f"{text!r} cannot be written in a bracketed tree; it is empty or holds blanks")
    return text.replace("(", "-LRB-").replace(")", "-RRB-")
