"""Push-down transducers: machines with arcs that open and close parentheses.

    a path counts if every parenthesis it opens is closed by its own partner, the last opened first

So a finite machine describes a context-free language: brackets, nested clauses, a grammar whose rules call each other
without end (`replace_to_pushdown`). Such a machine is composed with finite ones, searched for its best paths without
being written out, or written out as far as it goes (`expand`).

    compose         O(states x states), as for finite machines; parentheses are carried along
    shortest_path   O(e (arcs + pairs of calls and returns) log) with e states that opening parentheses lead to
    expand          as many states as there are stacks; a limit of weight, depth or states ends what has no end

With several stacks (`stacks`), each pair of parentheses belongs to one: a multi-push-down transducer, which is
composed, expanded and reversed. `restriction` says when stack i may be read (closed) or written (opened): always, or
only while all stacks in front of it are empty.

Reference: Allauzen & Riley (2012), A pushdown transducer extension for the OpenFst library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from textmill._native import fst as native
from textmill.errors import DataError
from textmill.files import replacing
from textmill.fst import composition, rational
from textmill.fst.lazy.machine import CACHE, LazyFst, as_lazy
from textmill.fst.machine import Fst
from textmill.fst.semirings import Weight
from textmill.fst.symbols import SymbolTable
from textmill.model import check_choice, check_range

__all__ = ["PushdownFst", "read_parentheses", "replace_to_pushdown", "write_parentheses"]

_MOST_STATES = 2**31 - 1
_RESTRICTIONS = ["none", "read", "write"]
Pairs = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class PushdownFst:
    """A machine and its parentheses: pairs of an opening and a closing label, on both sides of their arcs.

    >>> from textmill.fst import compile_text, strings
    >>> machine = compile_text("0 0 3 3\\n0 1 1 1\\n1 1 4 4\\n1")
    >>> brackets = PushdownFst(machine, [(3, 4)])  # ( ( ... a ... ) )
    >>> brackets.expand(max_depth=2, keep_parentheses=True).num_states
    6
    """

    fst: Fst
    parentheses: Pairs
    stacks: Sequence[int] = ()  # of each pair, from 1; all the same without it
    restriction: str = "none"

    def __post_init__(self) -> None:
        check_choice("restriction", self.restriction, _RESTRICTIONS)
        object.__setattr__(self, "parentheses", tuple((int(a), int(b)) for a, b in self.parentheses))
        object.__setattr__(self, "stacks", tuple(int(stack) for stack in self.stacks))
        self._native().check(self.fst._native)

    def _native(self) -> native.Parentheses:
        return native.Parentheses(list(self.parentheses), list(self.stacks), self.restriction)

    def _with(self, fst: Fst) -> PushdownFst:
        return replace(self, fst=fst)

    # ---- with finite machines

    def compose(self, other: Fst, *, compose_filter: str = "auto", connect: bool = True) -> PushdownFst:
        """What this machine writes, read by a finite one.

        >>> from textmill.fst import accep, compile_text
        >>> once = PushdownFst(compile_text("0 1 3 3\\n1 2 97 97\\n2 3 4 4\\n3"), [(3, 4)])
        >>> once.compose(accep("a")).expand().num_states
        4
        """
        return self._composed(self.fst, other, compose_filter, connect, left=True)

    def compose_after(self, other: Fst, *, compose_filter: str = "auto", connect: bool = True) -> PushdownFst:
        """What a finite machine writes, read by this one.

        >>> from textmill.fst import accep, compile_text
        >>> once = PushdownFst(compile_text("0 1 3 3\\n1 2 97 97\\n2 3 4 4\\n3"), [(3, 4)])
        >>> once.compose_after(accep("b")).expand().num_states
        0
        """
        return self._composed(other, self.fst, compose_filter, connect, left=False)

    def _composed(self, a: Fst, b: Fst, compose_filter: str, connect: bool, *, left: bool) -> PushdownFst:
        """As if parentheses read or wrote nothing; then they stand on both sides again."""
        silent = {label: 0 for pair in self.parentheses for label in pair}
        if left:
            a = rational.relabel(a, output_pairs=silent)
        else:
            b = rational.relabel(b, input_pairs=silent)
        result = composition.compose(a, b, compose_filter=compose_filter, connect=connect)
        echoed = native.pushdown_echo(result._native, self._native(), not left)
        return self._with(result._like(echoed))

    # ---- without parentheses

    def expand(
        self,
        *,
        weight: Weight | None = None,
        max_depth: int | None = None,
        keep_parentheses: bool = False,
        connect: bool = True,
        max_states: int = _MOST_STATES,
    ) -> Fst:
        """The finite machine of all balanced paths; parentheses become epsilons unless they are kept.

        There may be no end of them: `weight` leaves out paths that are worse than the best one times it, `max_depth`
        paths with more parentheses open at the same time, and more than `max_states` are an error.

        >>> from textmill.fst import compile_text, strings
        >>> nested = PushdownFst(compile_text("0 0 3 3 1\\n0 1 97 97\\n1 1 4 4\\n1"), [(3, 4)])
        >>> sorted(w for _, _, w in strings(nested.expand(weight=2.5)))
        [0.0, 1.0, 2.0]
        """
        check_range("max_states", max_states, at_least=1)
        if weight is None:
            lazy = self.expand_lazily(max_depth=max_depth, keep_parentheses=keep_parentheses)
            return lazy.expand(connect=connect, max_states=max_states)
        if max_depth is not None:
            raise DataError("limit the expansion by weight or by max_depth, not by both")
        machine = native.pushdown_expand_pruned(
            self.fst._native, self._native(), weight=weight, keep=keep_parentheses, most=max_states
        )
        return self.fst._like(machine)

    def expand_lazily(
        self, *, max_depth: int | None = None, keep_parentheses: bool = False, cache: int | None = CACHE
    ) -> LazyFst:
        """The same as a lazy machine, whose states are made when they are asked for.

        >>> from textmill.fst import compile_text
        >>> endless = PushdownFst(compile_text("0 0 3 3\\n0 1 1 1\\n1 1 4 4\\n1"), [(3, 4)])
        >>> len(endless.expand_lazily().arcs(0))
        2
        """
        for name, value in (("max_depth", max_depth), ("cache", cache)):
            if value is not None:
                check_range(name, value, at_least=0)
        lazy = as_lazy(self.fst)
        return lazy._like(
            native.pushdown_expand(lazy._native, self._native(), keep=keep_parentheses, depth=max_depth, limit=cache)
        )

    def shortest_path(self, n_paths: int = 1, *, keep_parentheses: bool = False, max_states: int = _MOST_STATES) -> Fst:
        """The best balanced paths, side by side.

        >>> from textmill.fst import compile_text, strings
        >>> nested = PushdownFst(compile_text("0 0 3 3 1\\n0 1 97 97 2\\n1 1 4 4\\n1"), [(3, 4)])
        >>> sorted(w for _, _, w in strings(nested.shortest_path(2)))
        [2.0, 3.0]
        """
        check_range("n_paths", n_paths, at_least=1)
        check_range("max_states", max_states, at_least=1)
        machine = native.pushdown_best(
            self.fst._native, self._native(), n=n_paths, keep=keep_parentheses, most=max_states
        )
        return self.fst._like(machine)

    # ---- other

    def reverse(self) -> PushdownFst:
        """All paths backwards: what closed opens. A restriction to read becomes one to write, and the other way round.

        >>> from textmill.fst import compile_text
        >>> once = PushdownFst(compile_text("0 1 3 3\\n1 2 97 97\\n2 3 4 4\\n3"), [(3, 4)])
        >>> once.reverse().expand().num_states
        5
        """
        exchanged = {a: b for pair in self.parentheses for a, b in (pair, pair[::-1])}
        turned = {"read": "write", "write": "read"}.get(self.restriction, self.restriction)
        fst = rational.relabel(rational.reverse(self.fst), input_pairs=exchanged, output_pairs=exchanged)
        return replace(self, fst=fst, restriction=turned)

    def info(self) -> dict[str, int]:
        """Sizes, and how parentheses are used.

        >>> from textmill.fst import compile_text
        >>> PushdownFst(compile_text("0 1 3 3\\n1 2 4 4\\n2"), [(3, 4)]).info()["opening arcs"]
        1
        """
        used = native.pushdown_facts(self.fst._native, self._native())
        names = [
            "opening arcs",
            "closing arcs",
            "opening parentheses used",
            "closing parentheses used",
            "states that opening arcs lead to",
            "states that closing arcs leave",
        ]
        return {
            "states": self.fst.num_states,
            "arcs": self.fst.num_arcs,
            "pairs of parentheses": len(self.parentheses),
            "stacks": max(self.stacks, default=1),
            **dict(zip(names, used, strict=True)),
        }


def replace_to_pushdown(machines: Mapping[int, Fst], root: int, *, first_label: int | None = None) -> PushdownFst:
    """One machine of several that call each other by their output labels, in a circle if they like.

    Each machine is there once. A call opens a parenthesis and coming back closes it; parentheses are new labels, from
    `first_label` on (above all others without it), with symbols `(0`, `)0`, ... if the root has symbols.

    >>> from textmill.fst import compile_text
    >>> clause = compile_text("0 1 1 1\\n1 2 9 9 1\\n2\\n1")  # S = a | a S
    >>> recursive = replace_to_pushdown({9: clause}, 9)
    >>> recursive.parentheses, recursive.fst.num_states
    (((10, 11),), 3)
    """
    if root not in machines:
        raise DataError(f"the root label {root} has no machine")
    if first_label is None:
        columns = [fst.arrays()[1] for fst in machines.values()]
        labels = [int(arcs[side].max()) for arcs in columns if len(arcs) for side in ("ilabel", "olabel")]
        tables = [t for fst in machines.values() for t in (fst.input_symbols, fst.output_symbols) if t is not None]
        first_label = max([0, *machines, *labels, *(table.available_key - 1 for table in tables)]) + 1
    check_range("first_label", first_label, at_least=1)
    pairs = [(root, machines[root]._native), *((k, fst._native) for k, fst in machines.items() if k != root)]
    joined, parentheses = native.pushdown_replace(pairs, first_label)
    result = machines[root]._like(joined)
    result.input_symbols = _with_parentheses(result.input_symbols, parentheses)
    result.output_symbols = _with_parentheses(result.output_symbols, parentheses)
    return PushdownFst(result, parentheses)


def _with_parentheses(table: SymbolTable | None, parentheses: Pairs) -> SymbolTable | None:
    if table is None:
        return None
    result = table.copy()
    for number, pair in enumerate(parentheses):
        for bracket, label in zip("()", pair, strict=True):
            result.add(f"{bracket}{number}", label)
    return result


def read_parentheses(path: str | PathLike[str]) -> tuple[list[tuple[int, int]], list[int]]:
    """Pairs of parentheses from a text file, one per line, and their stacks where a third column has them.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_parentheses(f"{folder}/pairs.txt", [(3, 4)], [2])
    ...     read_parentheses(f"{folder}/pairs.txt")
    ([(3, 4)], [2])
    """
    pairs: list[tuple[int, int]] = []
    stacks: list[int] = []
    text = Path(path).read_bytes().decode("utf-8", "replace")
    for number, line in enumerate(text.split("\n"), 1):
        fields = line.split()
        if not fields:
            continue
        wanted = 3 if stacks else 2
        numbers = [int(field) for field in fields if field.isascii() and field.isdecimal() and len(field) < 11]
        if len(numbers) != len(fields) or len(fields) not in ((2, 3) if not pairs else (wanted,)):
            raise DataError(
                "a line of parentheses has two labels, such as '3 4', and all lines or none have a stack",
                source=str(path),
                line=number,
            )
        pairs.append((numbers[0], numbers[1]))
        stacks += numbers[2:]
    return pairs, stacks


def write_parentheses(path: str | PathLike[str], parentheses: Pairs, stacks: Sequence[int] = ()) -> None:
    """Write pairs of parentheses, one per line, with their stacks if they have some.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_parentheses(f"{folder}/pairs.txt", [(3, 4), (5, 6)])
    ...     pathlib.Path(f"{folder}/pairs.txt").read_text()
    '3 4\\n5 6\\n'
    """
    rows = zip(parentheses, stacks, strict=True) if stacks else ((pair, None) for pair in parentheses)
    text = "".join(f"{a} {b}\n" if stack is None else f"{a} {b} {stack}\n" for (a, b), stack in rows)
    with replacing(path) as file:
        file.write(text.encode())
