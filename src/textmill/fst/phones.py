"""Pronunciation: lexicons of sounds, context dependency, phonological rules.

    context_dependency   C: reads phones and an end mark, writes each with its neighbors: a/b_c is b between a and c;
                         whole, or lazy for many phones and wide windows
    pronunciations       L: reads the phones of words, writes the words, with disambiguation symbols for homophones
    cascade              C o L o G, determinized and minimized after each step

For n phones and one neighbor on either side C has 1 + n + n^2 + 1 states and n + (n + n^2)(n + 1) arcs. The output is
delayed by the right context, so the end mark `$` closes the last phone. Phonological rules are `rewrite` rules over the
same symbols. Reference: Mohri, Pereira & Riley (2002), Weighted finite-state transducers in speech recognition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from textmill.errors import DataError
from textmill.fst.composition import compose
from textmill.fst.lazy.machine import CACHE, LazyFst, define
from textmill.fst.machine import Fst
from textmill.fst.optimization import optimize
from textmill.fst.rational import arcsort
from textmill.fst.symbols import SymbolTable
from textmill.model import check_range

__all__ = ["cascade", "context_dependency", "lazy_context_dependency", "pronunciations"]

_END = "$"
_NONE = "e"  # no phone: before the first
_MOST_ARCS = 1 << 24


def context_dependency(phones: Sequence[str], *, left: int = 1, right: int = 1, auxiliary: Iterable[str] = ()) -> Fst:
    """The transducer from phones to phones in context, with tables of symbols; `auxiliary` symbols loop at each state.

    A symbol of the output is left/phone_right, with `e` and `$` beyond the ends.

    >>> machine = context_dependency(["a", "b"])
    >>> machine.num_states, machine.num_arcs
    (8, 20)
    """
    windows = _Windows(phones, left, right, auxiliary)
    if len(phones) ** (left + right + 1) > _MOST_ARCS:
        size = left + right + 1
        raise DataError(
            f"{len(phones)} phones in a window of {size} have too many contexts; take lazy_context_dependency"
        )
    machine = Fst(input_symbols=windows.inputs, output_symbols=windows.outputs)
    numbers: dict[tuple[str, ...], int] = {}
    pending: list[tuple[str, ...]] = []

    def state(window: tuple[str, ...]) -> int:
        if window not in numbers:
            numbers[window] = machine.add_state()
            pending.append(window)
        return numbers[window]

    machine.start = state(windows.start())
    while pending:
        window = pending.pop()
        if windows.final(window) is not None:
            machine.set_final(numbers[window])
        for ilabel, olabel, weight, target in windows.arcs(window):
            machine.add_arc(numbers[window], ilabel, olabel, weight, state(target))
    return machine


def lazy_context_dependency(
    phones: Sequence[str], *, left: int = 1, right: int = 1, auxiliary: Iterable[str] = (), cache: int | None = CACHE
) -> LazyFst:
    """The same machine, whose contexts are made when they are asked for: for many phones and wide windows.

    The table of output symbols grows with the contexts that were looked at.

    >>> len(lazy_context_dependency([f"p{i}" for i in range(500)], left=2, right=2).arcs(0))
    500
    """
    windows = _Windows(phones, left, right, auxiliary)
    return define(windows, cache=cache, input_symbols=windows.inputs, output_symbols=windows.outputs)


class _Windows:
    """States are windows: the left context, then phones that wait for their right context."""

    def __init__(self, phones: Sequence[str], left: int, right: int, auxiliary: Iterable[str]) -> None:
        check_range("left", left, at_least=0)
        check_range("right", right, at_least=0)
        reserved = {_END, "<eps>"}
        for phone in phones:
            if not phone or phone in reserved or phone.split() != [phone]:
                raise DataError(f"{phone!r} cannot be the name of a phone")
        if len(set(phones)) != len(phones):
            raise DataError("a phone is named twice")
        self.phones, self.left, self.right, self.auxiliary = list(phones), left, right, list(auxiliary)
        self.inputs = SymbolTable(["<eps>", *self.phones, _END, *self.auxiliary])
        self.outputs = SymbolTable(["<eps>", *self.auxiliary])

    def start(self) -> tuple[str, ...]:
        return (_NONE,) * self.left

    def final(self, window: tuple[str, ...]) -> float | None:
        return 0.0 if len(window) > self.left and window[-1] == window[self.left] == _END else None

    def arcs(self, window: tuple[str, ...]) -> Iterator[tuple[int, int, None, tuple[str, ...]]]:
        left, right = self.left, self.right
        for name in self.auxiliary:
            yield self.inputs.key(name), self.outputs.key(name), None, window
        waiting = len(window) - left
        closing = waiting > 0 and window[-1] == _END
        if closing and window[left] == _END:
            return
        for name in [_END] if closing else [*self.phones, *([_END] if waiting or right == 0 else [])]:
            label = 0 if closing else self.inputs.key(name)
            longer = (*window, name)
            if name == _END and right == 0:
                yield label, 0, None, (*window[len(window) - left :], _END)
            elif len(longer) - left <= right:
                yield label, 0, None, longer
            else:
                around = f"{','.join(longer[:left])}/{longer[left]}"
                around += f"_{','.join(longer[left + 1 :])}" if right else ""
                target = longer[1:]
                if target[left:] and set(target[left:]) == {_END}:
                    target = (*(_NONE,) * left, _END)  # one end for all
                yield label, self.outputs.add(around), None, target


def pronunciations(
    words: Mapping[str, Iterable[str | tuple[str, float]]] | Iterable[tuple[str, str] | tuple[str, str, float]],
    *,
    disambiguate: bool = True,
    end: str | None = None,
) -> Fst:
    """The transducer from phones, in strings with blanks between them, to words, over and over.

    Words that sound the same get symbols #1, #2, ... behind their phones, so that the machine can be determinized. With
    `end` the phones of a sentence end with that symbol, as those of `context_dependency` do.

    >>> lexicon = pronunciations([("two", "t uw"), ("too", "t uw", 1.0), ("tea", "t iy")])
    >>> "#1" in lexicon.input_symbols
    True
    """
    rows: list[tuple[str, str, float]] = []
    if isinstance(words, Mapping):
        items = ((word, one) for word, many in words.items() for one in many)
        rows = [(word, one, 0.0) if isinstance(one, str) else (word, one[0], float(one[1])) for word, one in items]
    else:
        rows = [(row[0], row[1], float(row[2]) if len(row) > 2 else 0.0) for row in words]
    phones = sorted({phone for _, sounds, _ in rows for phone in sounds.split()})
    inputs = SymbolTable(["<eps>", *phones])
    outputs = SymbolTable(["<eps>", *dict.fromkeys(word for word, _, _ in rows)])
    seen: dict[str, int] = {}
    prefixes = {
        " ".join(sounds.split()[:k]) for _, sounds, _ in rows for k in range(len(sounds.split()))
    }  # of other words: these need a symbol as well
    machine = Fst(input_symbols=inputs, output_symbols=outputs)
    start = machine.start = machine.add_state()
    if end is None:
        machine.set_final(start)
    else:
        last = machine.add_state()
        machine.add_arc(start, inputs.add(end), 0, None, last)
        machine.set_final(last)
    homophones = Counter(" ".join(sounds.split()) for _, sounds, _ in rows)
    for number, (word, sounds, cost) in enumerate(rows, 1):
        labels = [inputs.key(phone) for phone in sounds.split()]
        if not labels:
            raise DataError(f"the word {word!r} has no phones", source="words", line=number)
        plain = " ".join(sounds.split())
        if disambiguate and (homophones[plain] > 1 or plain in prefixes):
            seen[plain] = seen.get(plain, 0) + 1
            labels.append(inputs.add(f"#{seen[plain]}"))
        state = start
        for position, label in enumerate(labels):
            target = start if position == len(labels) - 1 else machine.add_state()
            machine.add_arc(
                state, label, outputs.key(word) if position == 0 else 0, cost if position == 0 else None, target
            )
            state = target
    return machine


def cascade(*machines: Fst) -> Fst:
    """Machines composed from the right, the result optimized after each step.

    >>> from textmill.fst.strings import cross
    >>> cascade(cross("a", "b"), cross("b", "c")).num_states
    3
    """
    if not machines:
        raise DataError("there is no machine to compose")
    result = machines[-1]
    for machine in reversed(machines[:-1]):
        result = optimize(compose(machine, arcsort(result)))
    return result
