"""The number grammar as a transducer, and the numbers of n-best lists and lattices with their posteriors.

    words of a message   ->   [digits x extension] [digits] ...        what is no number is left out

The transducer reads a token at a time and owes at most one digit ("twenty" is 20 unless a digit follows), so it has
few states and one path for every message: weights of a lattice pass through it unchanged. What it writes is what
`NumberGrammar.find_all` finds.

    P(number | lattice) = weight of the paths whose message says the number / weight of all paths

exactly: the paths are those of the lattice, composed with the transducer and with the automaton of all outputs that
hold the number. Which numbers to ask for comes from the best paths. Cost: a composition for each of k numbers.
Reference: Jansche & Abney (2002), section on future work; Mohri (2009) on composition.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from textmill.errors import DataError
from textmill.fst import (
    Fst,
    SymbolTable,
    arcsort,
    compose,
    convert,
    project,
    rmepsilon,
    shortest_path,
    strings,
    total_weight,
)
from textmill.model import check_range
from textmill.tasks.voicemail.numbers import NumberGrammar, message_texts

__all__ = [
    "NumberPosterior",
    "hypothesis_weights",
    "lattice_hypotheses",
    "number_transducer",
    "numbers_in_lattice",
    "numbers_in_nbest",
    "transduce",
]

_OUTPUT = ("<eps>", *"0123456789", "x", "[", "]")
_OTHER = "<other>"
_EDGES = '.,?!;:"()[]-'


class NumberPosterior(NamedTuple):
    """A number and the probability that it was said."""

    digits: str
    extension: str
    posterior: float


class _State(NamedTuple):
    open: bool = False  # a candidate has begun
    extension: bool = False  # its extension has
    after: bool = False  # "extension" was the last cue word
    tail: str = (
        "plain"  # count: hundred may follow; hundred: thousand may; owed: a zero is due; repeat2, ...: a digit is
    )


class _Word(NamedTuple):
    kind: str
    number: int = 0
    written: str = ""


def _step(state: _State, word: _Word, skip_fillers: bool) -> tuple[_State, str]:
    """The state behind a word, and what is written."""
    kind, number, written = word
    if kind == "filler":
        if skip_fillers:
            return state, ""
        kind = "none"
    if state.tail.startswith("repeat"):
        if kind == "digit":
            return _item(state, str(number) * int(state.tail[6:]), "count" if number else "plain", "")
        after, rest = _step(_State(), word, skip_fillers)
        return after, ("]" if state.open else "") + rest
    due = "0" if state.tail == "owed" else ""
    if kind == "digit":
        if due and number:
            return state._replace(tail="count"), str(number)
        return _item(state, str(number), "count" if number else "plain", due)
    if kind == "teen":
        return _item(state, str(number), "count", due)
    if kind == "tens":
        return _item(state, str(number // 10), "owed", due)
    if kind == "written":
        return _item(state, written, "plain", due)
    if kind == "repeat":
        return state._replace(tail=f"repeat{number}"), due
    if kind == "area":
        return state._replace(tail="plain"), due
    if kind == "extension":
        return state._replace(tail="plain", after=state.open), due
    if kind == "hundred" and state.tail in ("count", "owed"):
        return state._replace(tail="hundred"), due + "00"
    if kind == "thousand" and state.tail in ("count", "owed", "hundred"):
        return state._replace(tail="plain"), due + "000"
    return _State(), due + ("]" if state.open else "")


def _item(state: _State, digits: str, tail: str, due: str) -> tuple[_State, str]:
    if not state.open:
        return _State(True, tail=tail), "[" + digits
    mark = "x" if state.after and not state.extension else ""
    return _State(True, state.extension or state.after, tail=tail), due + mark + digits


def _words_of(grammar: NumberGrammar, token: str) -> list[_Word]:
    """A token as words of numbers, as the scanner takes it."""
    bare = message_texts([token])[0].lower().strip(_EDGES)
    spoken = grammar.locale.spoken
    if bare in spoken:
        return [_Word(*spoken[bare])]
    digits = "".join(letter for letter in bare if letter in "0123456789")
    marks = set(bare) - set("0123456789")
    if digits and bare[0] in "0123456789+" and marks <= set("-()+.") and ("." not in marks or len(digits) >= 7):
        return [_Word("written", 0, digits)]
    parts = [_Word(*spoken[part]) for part in bare.split("-") if part in spoken]
    kinds = [part.kind for part in parts]
    if len(parts) == bare.count("-") + 1 and (
        set(kinds) == {"digit"} or (kinds == ["tens", "digit"] and parts[1].number > 0)
    ):
        return parts
    return [_Word("none")]


def number_transducer(grammar: NumberGrammar, tokens: Iterable[str] = ()) -> Fst:
    """The transducer of a grammar. `tokens`: further ones that it should know, such as twenty-five and 555-1212.

    Input symbols are the words of the grammar, these tokens and <other>; output symbols are digits, "x" before an
    extension, and brackets around each number.

    >>> machine = number_transducer(NumberGrammar())
    >>> transduce(machine, "call three two seven ten twenty five")
    [('3271025', '')]
    """
    vocabulary = {_OTHER: [_Word("none")]}
    vocabulary |= {word: [_Word(*facts)] for word, facts in grammar.locale.spoken.items()}
    for token in tokens:
        words = _words_of(grammar, token)
        if token not in vocabulary and words[0].kind != "none":
            vocabulary[token] = words
    machine = Fst(input_symbols=SymbolTable(["<eps>", *vocabulary]), output_symbols=SymbolTable(_OUTPUT))
    label = {symbol: i for i, symbol in enumerate(_OUTPUT)}
    numbers = {_State(): machine.add_state()}
    machine.start = numbers[_State()]
    end = machine.add_state()
    machine.set_final(end)
    pending = [_State()]

    def connect(source: int, ilabel: int, written: str, target: int) -> None:
        """An arc, or a chain of arcs, that writes all of it."""
        for i, symbol in enumerate(written[:-1]):
            between = machine.add_state()
            machine.add_arc(source, ilabel if i == 0 else 0, label[symbol], None, between)
            source = between
        machine.add_arc(source, ilabel if len(written) < 2 else 0, label[written[-1]] if written else 0, None, target)

    while pending:
        state = pending.pop()
        source = numbers[state]
        for key, words in enumerate(vocabulary.values(), start=1):
            after, output = state, ""
            for word in words:
                after, more = _step(after, word, grammar.skip_fillers)
                output += more
            if after not in numbers:
                numbers[after] = machine.add_state()
                pending.append(after)
            connect(source, key, output, numbers[after])
        _, output = _step(state, _Word("none"), grammar.skip_fillers)
        connect(source, 0, output, end)
    return arcsort(machine)


def transduce(machine: Fst, text: str) -> list[tuple[str, str]]:
    """Digits and extension of each number that the transducer finds in a text.

    >>> transduce(number_transducer(NumberGrammar()), "extension five or double two")
    [('5', ''), ('22', '')]
    """
    symbols = machine.input_symbols
    assert symbols is not None
    labels = [_label(token, symbols) for token in message_texts([text])[0].split()]
    line = Fst()
    states = line.add_states(len(labels) + 1)
    line.start = 0
    line.set_final(states[-1])
    for i, number in enumerate(labels):
        line.add_arc(i, number, number, None, i + 1)
    line.input_symbols = line.output_symbols = symbols
    written = next(y for _, y, _ in strings(compose(line, machine), token_type="symbol"))
    return _split_numbers(written.replace(" ", ""))


def _label(token: str, symbols: SymbolTable) -> int:
    """The label of a token in a transducer: its own, that of the bare word, or that of all others."""
    bare = token.lower().strip(_EDGES)
    return symbols.key(token if token in symbols else bare if bare and bare in symbols else _OTHER)


def _split_numbers(written: str) -> list[tuple[str, str]]:
    pairs = [part.partition("x") for part in written.replace("[", "").split("]")[:-1]]
    return [(digits, extension) for digits, _, extension in pairs]


def numbers_in_nbest(
    hypotheses: Sequence[tuple[str, float]], grammar: NumberGrammar | None = None, *, min_digits: int = 4
) -> list[NumberPosterior]:
    """Numbers of an n-best list of texts and log probabilities, the most probable first.

    >>> nbest = [("call five five five one two", -1.0), ("call five nine five one two", -2.0)]
    >>> [(n.digits, round(n.posterior, 3)) for n in numbers_in_nbest(nbest)]
    [('55512', 0.731), ('59512', 0.269)]
    """
    grammar = grammar or NumberGrammar()
    weights = hypothesis_weights([score for _, score in hypotheses])
    sums: dict[tuple[str, str], float] = {}
    for spoken, weight in zip(grammar.find_all([text for text, _ in hypotheses]), weights, strict=True):
        for key in {(number.digits, number.extension) for number in spoken}:
            if len(key[0]) + len(key[1]) >= min_digits:
                sums[key] = sums.get(key, 0.0) + weight
    best = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    return [NumberPosterior(*key, min(posterior, 1.0)) for key, posterior in best]


def hypothesis_weights(scores: Sequence[float]) -> list[float]:
    """Log probabilities as shares of the sum of the probabilities.

    >>> [round(share, 3) for share in hypothesis_weights([-1.0, -2.0])]
    [0.731, 0.269]
    """
    if not scores:
        return []
    values = np.asarray(scores, dtype=np.float64)
    if not np.isfinite(values).all():
        raise DataError("scores of hypotheses must be log probabilities, finite numbers")
    shares = np.exp(values - values.max())
    return [float(share) for share in shares / shares.sum()]


def numbers_in_lattice(
    lattice: Fst, grammar: NumberGrammar | None = None, *, k: int = 10, min_digits: int = 4
) -> list[NumberPosterior]:
    """Numbers of a lattice of words with their exact posteriors, the most probable first.

    The lattice is an acceptor without cycles whose weights are minus log probabilities (tropical or log), with words
    as input symbols. `k`: numbers of the best paths to ask for.

    >>> from textmill.fst import SymbolTable, compile_text
    >>> words = SymbolTable(["<eps>", "call", "five", "nine", "two"])
    >>> text = "0 1 call\\n1 2 five 0.2\\n1 2 nine 1.7\\n2 3 two\\n3 4 two\\n4 5 two\\n5"
    >>> lattice = compile_text(text, acceptor=True, input_symbols=words)
    >>> [(n.digits, round(n.posterior, 3)) for n in numbers_in_lattice(lattice)]
    [('5222', 0.818), ('9222', 0.182)]
    """
    check_range("k", k, at_least=1)
    grammar = grammar or NumberGrammar()
    words, lattice = _checked_lattice(lattice)
    machine = number_transducer(grammar, words.values())
    symbols = machine.input_symbols
    assert symbols is not None
    labels = {key: _label(word, symbols) for key, word in words.items()}
    line = Fst("log")
    line.add_states(lattice.num_states)
    line.start = lattice.start
    for state, arc in lattice.iter_arcs():
        label = labels[arc.ilabel] if arc.ilabel else 0
        line.add_arc(state, label, label, arc.weight, arc.nextstate)
    for state in lattice.states():
        if lattice.is_final(state):
            line.set_final(state, lattice.final(state))
    machine.input_symbols = machine.output_symbols = None
    spoken = project(compose(line, convert(machine, "log")), "output")
    everything = float(total_weight(line))
    numbers = _best_numbers(spoken, k)
    out = []
    for number in numbers:
        digits, _, extension = number.partition("x")
        if len(digits) + len(extension) < min_digits:
            continue
        weight = float(total_weight(compose(spoken, _containing(f"[{number}]"))))
        out.append(NumberPosterior(digits, extension, min(math.exp(everything - weight), 1.0)))
    return sorted(out, key=lambda one: (-one.posterior, one.digits, one.extension))


def _checked_lattice(lattice: Fst) -> tuple[dict[int, str], Fst]:
    """The words of the labels of a lattice, and its weights in the log semiring."""
    if lattice.start < 0 or lattice.num_states == 0:
        raise DataError("the lattice is empty; it needs a start state and a path to a final one")
    if lattice.semiring.name not in ("tropical", "log", "log64"):
        raise DataError(f"the lattice must be tropical or log, not {lattice.semiring.name}; convert it first")
    if lattice.has("cyclic"):
        raise DataError("the lattice has a cycle, so that its messages have no end; give an acyclic one")
    if not lattice.has("acceptor"):
        raise DataError("the lattice must be an acceptor of words; project it to its words first")
    if lattice.input_symbols is None:
        raise DataError("the lattice has no input symbols; its labels must stand for words")
    labels = {arc.ilabel for _, arc in lattice.iter_arcs()} - {0}
    words = {label: lattice.input_symbols.symbol(label) for label in sorted(labels)}
    if not math.isfinite(float(total_weight(lattice))):
        raise DataError("no path of the lattice reaches a final state")
    return words, convert(lattice, "log")


def _best_numbers(spoken: Fst, k: int) -> list[str]:
    """The k numbers of the best paths: one number of a path is chosen, the others are left out."""
    chooser = Fst("log")
    before, inside, after = chooser.add_states(3)
    chooser.start = before
    chooser.set_final(after)
    for label, symbol in enumerate(_OUTPUT):
        if label:
            chooser.add_arc(before, label, 0, None, before)
            chooser.add_arc(after, label, 0, None, after)
            if symbol == "[":
                chooser.add_arc(before, label, 0, None, inside)
            elif symbol == "]":
                chooser.add_arc(inside, label, 0, None, after)
            else:
                chooser.add_arc(inside, label, label, None, inside)
    numbers = rmepsilon(convert(project(compose(spoken, arcsort(chooser)), "output"), "tropical"))
    if numbers.start < 0 or numbers.num_states == 0:
        return []
    paths = shortest_path(numbers, k, unique=True)
    paths.input_symbols = paths.output_symbols = SymbolTable(_OUTPUT)
    return [number.replace(" ", "") for number, _, _ in strings(paths, token_type="symbol")]


def _containing(pattern: str) -> Fst:
    """The deterministic acceptor of all outputs that hold a pattern."""
    machine = Fst("log")
    machine.add_states(len(pattern) + 1)
    machine.start = 0
    machine.set_final(len(pattern))
    for matched in range(len(pattern) + 1):
        for label, symbol in enumerate(_OUTPUT):
            if label == 0:
                continue
            if matched == len(pattern):
                target = matched
            else:
                tried = pattern[:matched] + symbol
                target = next(n for n in range(len(tried), -1, -1) if n == 0 or pattern.startswith(tried[-n:]))
            machine.add_arc(matched, label, label, None, target)
    return arcsort(machine)


def lattice_hypotheses(lattice: Fst, *, k: int = 20) -> list[tuple[str, float]]:
    """The k best messages of a lattice and their log probabilities, for extraction from an n-best list.

    >>> from textmill.fst import SymbolTable, compile_text
    >>> words = SymbolTable(["<eps>", "hi", "hey", "Pat"])
    >>> lattice = compile_text("0 1 hi 0.5\\n0 1 hey 1\\n1 2 Pat\\n2", acceptor=True, input_symbols=words)
    >>> lattice_hypotheses(lattice, k=1)
    [('hi Pat', -0.5)]
    """
    check_range("k", k, at_least=1)
    _, checked = _checked_lattice(lattice)
    checked.input_symbols = checked.output_symbols = lattice.input_symbols
    acceptor = rmepsilon(convert(checked, "tropical"))
    acceptor.input_symbols = acceptor.output_symbols = lattice.input_symbols
    paths = shortest_path(acceptor, k, unique=True)
    hypotheses = [(text, -float(weight)) for text, _, weight in strings(paths, token_type="symbol")]
    return sorted(hypotheses, key=lambda pair: -pair[1])
