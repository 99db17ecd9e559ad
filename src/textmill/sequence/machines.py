"""CRFs as weighted transducers: a tagger of `textmill.fst` with the same weights.

    cost of a tagging = - (sum of the weights of all tests that are true along it)      best path = best tagging

The input of the machine are tokens: rows of columns, known beforehand. Each command of a pattern (%x[-1,0], a regular
expression, a suffix ...) is one column of values of the tagger; each test with a weight becomes features of the tokens
whose values spell it. Tokens that were not given have no features, and absolute positions ([@1,0]) cannot be expressed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from scipy import sparse

from textmill.errors import DataError
from textmill.fst import LinearFeature, LinearTagger
from textmill.sequence.chainmodel import ChainModel
from textmill.sequence.encoder import Encoder
from textmill.sequence.patterns import Command, Pattern, boundaries, parse_patterns
from textmill.sequence.regexes import function_of

__all__ = ["tagger_machine", "token_symbol"]

Source = tuple[str, bool, int, str | None]  # a command without its offset


def token_symbol(token: str | Sequence[str]) -> str:
    """The name of a token as an input symbol: its columns with | between them.

    >>> token_symbol(["the", "DT"])
    'the|DT'
    """
    return token if isinstance(token, str) else "|".join(token)


def tagger_machine(model: ChainModel, tokens: Iterable[str | Sequence[str]]) -> LinearTagger:
    """The machine of a CRF for these tokens; `LinearTagger.machine` runs it along a lattice of them.

    A token is the list of its columns, or its symbol, which has | between them if the patterns look at several.

    >>> from textmill.sequence import CRF, Encoder
    >>> X, y = [["the", "dog"], ["a", "dog"], ["the", "cat"]], [["D", "N"], ["D", "N"], ["D", "N"]]
    >>> crf = CRF(encoder=Encoder(patterns=["u:w=%x[0,0]", "b"]), l1=0.01).fit([[[w] for w in s] for s in X], y)
    >>> tagger_machine(crf, ["the", "cat", "dog"]).best(["the", "cat"])
    ['D', 'N']
    """
    weights = model.to_weights()
    encoder = weights.encoder
    if weights.kind != "crf":
        raise DataError(f"a linear machine has the sums of a CRF, not the distributions of a {weights.kind}")
    if encoder.hash_bits is not None or not encoder.patterns_:
        raise DataError("the machine needs patterns and the names of tests; train with patterns and without hash_bits")
    patterns = parse_patterns(encoder.patterns_, syntax=encoder.syntax)
    commands = [part for pattern in patterns for part in pattern.parts if isinstance(part, Command)]
    if any(command.absolute for command in commands):
        raise DataError("a pattern looks at the first or the last token of the sequence, which a machine cannot do")
    sources = _Sources(commands, encoder)
    rows = {token_symbol(token): sources.row(token) for token in tokens}
    words = {name: sources.values(row) for name, row in rows.items()}
    left, right = ([sources.border(name) for name in names] for names in boundaries(encoder.syntax))
    columns = [set(column) for column in zip(*words.values(), *left, *right, strict=True)]
    features = list(_features(weights.unigram, weights.bigram, encoder, weights.classes, patterns, sources, columns))
    return LinearTagger.from_features(features, words or {"": ("",)}, tags=weights.classes, borders=(left, right))


class _Sources:
    """The different commands but for their offsets: columns of the tagger."""

    def __init__(self, commands: list[Command], encoder: Encoder) -> None:
        self.number: dict[Source, int] = {}
        self.functions = []
        self.columns = []
        for command in commands:
            if self.key(command) not in self.number:
                self.number[self.key(command)] = len(self.number)
                self.functions.append(function_of(command, encoder.syntax, encoder.function))
                self.columns.append(command.column)
        if not self.number:  # patterns without a command: one column that nobody looks at
            self.functions, self.columns = [None], [0]

    @staticmethod
    def key(command: Command) -> Source:
        return command.name, command.lower, command.column, command.argument

    def row(self, token: str | Sequence[str]) -> tuple[str, ...]:
        """The columns of a token; of a symbol as many as the patterns look at."""
        return tuple(token.rsplit("|", max(self.columns)) if isinstance(token, str) else token)

    def values(self, row: Sequence[str]) -> tuple[str, ...]:
        """What the commands give for a token."""
        if max(self.columns) >= len(row):
            raise DataError(f"a token has {len(row)} columns, but a pattern looks at column {max(self.columns)}")
        return tuple(
            row[column] if function is None else function(row[column])
            for function, column in zip(self.functions, self.columns, strict=True)
        )

    def border(self, name: str) -> tuple[str, ...]:
        """What they give beyond the sequence."""
        return tuple(name if function is None else function(name) for function in self.functions)


def _features(
    unigram: sparse.csr_matrix,
    bigram: sparse.csr_matrix,
    encoder: Encoder,
    classes: list[str],
    patterns: list[Pattern],
    sources: _Sources,
    columns: list[set[str]],
) -> Iterator[LinearFeature]:
    """The features of all tests with a weight, for each pattern and all values that spell the test."""
    unigrams, bigrams = (numbers.tolist() for numbers in encoder.numbers())
    for number, test in enumerate(encoder.tests_):
        ones = _row(unigram, unigrams[number])
        twos = _row(bigram, bigrams[number])
        if not ones and not twos:
            continue
        for pattern in patterns:
            for values in _spellings(pattern.parts, test, sources, columns):
                for label, weight in ones if pattern.kind & 1 else ():
                    yield LinearFeature(classes[label], weight, values)
                for pair, weight in twos if pattern.kind & 2 else ():
                    before, label = divmod(pair, len(classes))
                    yield LinearFeature(classes[label], weight, values, (classes[before],))


def _row(matrix: sparse.csr_matrix, row: int) -> list[tuple[int, float]]:
    if row < 0:
        return []
    part = slice(matrix.indptr[row], matrix.indptr[row + 1])
    pairs = zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True)
    return [(column, weight) for column, weight in pairs if weight]


def _spellings(
    parts: tuple[str | Command, ...], text: str, sources: _Sources, columns: list[set[str]]
) -> Iterator[dict[int | tuple[int, int], str]]:
    """All values of the commands with which a pattern spells the text."""
    if not parts:
        if not text:
            yield {}
        return
    first, rest = parts[0], parts[1:]
    if isinstance(first, str):
        if text.startswith(first):
            yield from _spellings(rest, text[len(first) :], sources, columns)
        return
    column = sources.number[sources.key(first)]
    slot = (first.offset, column)
    for length in range(len(text) + 1) if rest else (len(text),):
        value = text[:length]
        if value in columns[column]:
            for values in _spellings(rest, text[length:], sources, columns):
                if values.get(slot, value) == value:
                    yield {**values, slot: value}
