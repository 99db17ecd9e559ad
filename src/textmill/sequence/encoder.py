"""From tokens to tests: the dictionary of a model's observation tests and how they are found.

With patterns, tokens are rows of columns and the patterns say which tests are true (patterns.py). Without, words and
rows (texts, tuples, sentences) get the patterns of defaults.py, and other tokens bring their own attributes, as
CRFsuite's users write them: dicts or lists of strings, with values; each attribute `a` becomes the unigram test `ua`,
and every token has the bigram test `b`, the pair of labels.

    fit_encode(X)       learns the tests of X and encodes it
    encode(X)           encodes by known tests; the others are left out
    extend_encode(X)    adds tests of more patterns, all of them or those whose parent test is active

Columns are interned, functions and regular expressions run once per distinct value, everything else is native and
threaded. Numbers of tests follow their first appearance, for any number of threads.
Cost: one hash look-up per token and pattern. With `hash_bits` the number of a test is its hash and nothing is stored.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from textmill._native import extract as native
from textmill.corpus import Sentence, open_lines
from textmill.errors import DataError, ModelFileError, reason_of
from textmill.model import Estimator, Model, StringTable, check_choice, check_fitted, check_range, effective_jobs
from textmill.sequence.defaults import default_patterns_of
from textmill.sequence.encoding import Active, Encoded
from textmill.sequence.patterns import SYNTAXES, Command, Pattern, boundaries, parse_patterns
from textmill.sequence.regexes import function_of

__all__ = ["Encoder", "FeatureCounts"]

_MOST_REMEMBERED = 1 << 20  # values of a function

_Rows: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int32]]


class FeatureCounts(NamedTuple):
    """How large a model is.

    >>> FeatureCounts(27, 27, 27, 71604).features
    71604
    """

    tests: int
    unigrams: int  # tests with a weight per label
    bigrams: int  # tests with a weight per pair of labels
    features: int  # weights, K


class Encoder(Estimator, Model):
    """Turn sequences of tokens into arrays of test ids.

    Parameters:
        patterns: Text of a pattern file or list of patterns; None for the default ones or for tokens with attributes
            of their own.
        syntax: "textmill", "wapiti" or "crf++", see patterns.py; without patterns, "wapiti" means that attributes begin
            with u, b or * themselves.
        function: What %f calls.
        min_count: How often a test must occur to be kept.
        hash_bits: Number tests by a hash of this many bits and keep no names; None to number them one by one.
        source: Name of the file that patterns come from, for messages.
        n_jobs: Number of threads; None for all cores.

    Attributes:
        tests_: Tests as strings, (tests,).
        width_: Number of columns of tokens; 0 for attributes.
        patterns_: Patterns, as they were read.

    >>> encoder = Encoder(patterns=["u:w=%x[0,0]", "b"])
    >>> data = encoder.fit_encode([[["the"], ["dog"]], [["the"]]])
    >>> encoder.tests_.to_list(), data.unigram.ids.tolist(), data.bigram.ids.tolist()
    (['u:w=the', 'b', 'u:w=dog'], [0, 1, 0], [0, 0, 0])
    >>> encoder.encode([["a"], ["dog"]]).unigram.ids.tolist()
    [1]
    """

    takes: ClassVar[str] = "sequences"
    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {"tests_": "test: str"}
    state: ClassVar[dict[str, type]] = {"width_": int, "patterns_": list}

    tests_: StringTable
    width_: int
    patterns_: list[str]

    def __init__(
        self,
        *,
        patterns: str | Sequence[str] | None = None,
        syntax: str = "textmill",
        function: Callable[..., str] | None = None,
        min_count: int = 1,
        hash_bits: int | None = None,
        source: str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.patterns = patterns
        self.syntax = syntax
        self.function = function
        self.min_count = min_count
        self.hash_bits = hash_bits
        self.source = source
        self.n_jobs = n_jobs

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], **parameters: Any) -> Encoder:
        """An encoder with the patterns of a file, whose name messages give; `parameters` are those of the class.

        >>> with open("patterns.txt", "w") as file:
        ...     _ = file.write("u:w=%x[0,0]  # the word")
        >>> Encoder.from_file("patterns.txt", min_count=2).fit([["a"], ["a"]]).tests_.to_list()
        ['u:w=a']
        """
        text = "\n".join(line for _, line in open_lines(path))
        return cls(patterns=text, source=os.fspath(path), **parameters)

    def fit(self, X: Iterable[Any], y: object = None) -> Encoder:
        """Learn the tests of the sequences."""
        self.fit_encode(X)
        return self

    def fit_encode(self, X: Iterable[Any] | native.Cells) -> Encoded:
        """Learn the tests of the sequences, and encode them.

        >>> data = Encoder().fit_encode([[{"word": "the", "length": 3, "capital": False}, ["word:dog"]]])
        >>> data.unigram.ids.tolist(), data.unigram.values.tolist()
        ([0, 1, 2], [1.0, 3.0, 1.0])
        """
        check_choice("syntax", self.syntax, SYNTAXES)
        check_range("min_count", self.min_count, at_least=1, whole=True)
        if self.hash_bits is not None:
            check_range("hash_bits", self.hash_bits, at_least=1, at_most=30, whole=True)
            if self.min_count > 1:
                raise DataError("hashed tests are not counted; use min_count=1 or hash_bits=None")
        if not isinstance(X, native.Cells):
            X = _sequences(X)
        by_default = default_patterns_of(X) if self.syntax == "textmill" and self.patterns is None else None
        chosen = by_default if self.patterns is None else self.patterns
        patterns = [] if chosen is None else parse_patterns(chosen, syntax=self.syntax, source=self.source)
        self._compiled = _Compiled(patterns, self.syntax, self.function) if patterns else None
        self._links: list[Any] = []
        self.patterns_ = [pattern.text for pattern in patterns]
        self._tests = native.Tests()
        self.width_ = 0
        data = self._encode(X, "fresh")
        if not data.tokens:
            raise DataError("there are no tokens to learn from; pass at least one sequence that is not empty")
        self._take_tests()
        return data if self.min_count == 1 else self._cut(data)

    def encode(self, X: Iterable[Any] | native.Cells) -> Encoded:
        """Encode sequences by the tests that are known."""
        check_fitted(self)
        return self._encode(X, "known")

    def cells(self, X: Iterable[Any]) -> native.Cells:
        """Intern the columns that the patterns read; `fit_encode` and `encode` take the cells in the place of X.

        For those who look at the words themselves, too, and would intern them again.

        >>> encoder = Encoder(patterns=["u:%x[0,0]"])
        >>> cells = encoder.cells([["a", "b"], ["a"]])
        >>> cells.distinct(0), encoder.fit_encode(cells).unigram.ids.tolist()
        (['a', 'b'], [0, 1, 0])
        """
        if self._compiled_patterns() is None:
            raise DataError("without patterns there are no columns to intern; pass patterns")
        sequences = _sequences(X)
        try:
            return self._cells(sequences)
        except DataError as fault:
            raise _data_error(fault, sequences) from None

    def extend_encode(
        self,
        X: Iterable[Any],
        patterns: str | Sequence[str] = (),
        *,
        parents: Sequence[int | None] = (),
        active: NDArray[np.bool_] | None = None,
    ) -> Encoded:
        """Add patterns and the tests that all patterns make on X; known tests keep their numbers.

        New tests must occur `min_count` times in X. `parents` gives for each new pattern the number of an older one
        (counted from 0, over all patterns): a test is then made, in this and in later calls, only where the older
        pattern's test is already known and, by `active` [tests], has a weight.

        >>> encoder = Encoder(patterns=["u:1=%x[0,0]"]).fit(["ab"])
        >>> data = encoder.extend_encode(["ab", "cb"], ["u:2=%x[-1,0]%x[0,0]"], parents=[0])
        >>> encoder.tests_.to_list()
        ['u:1=a', 'u:1=b', 'u:2=_x-1a', 'u:2=ab', 'u:1=c', 'u:2=cb']
        """
        check_fitted(self)
        if (self.hash_bits is not None or not self.patterns_) and patterns:
            raise DataError("patterns can be added only to an encoder that has some and does not hash")
        if self.hash_bits is not None:
            return self.encode(X)
        old = parse_patterns(self.patterns_, syntax=self.syntax) if self.patterns_ else []
        new = parse_patterns(patterns, syntax=self.syntax) if patterns else []
        if len(parents) not in (0, len(new)):
            raise DataError(f"there are {len(new)} new patterns but {len(parents)} parents; give one or None for each")
        before_these = getattr(self, "_links", [])  # tests of older patterns, too, only under their parents
        links = before_these + [-1] * (len(old) - len(before_these))
        links += [-1 if parent is None else parent for parent in parents or [None] * len(new)]
        for child, parent in enumerate(links):
            if not -1 <= parent < child:
                raise DataError(f"parent {parent} of pattern {child} must be a pattern before it")
        if active is not None and len(active) != len(self.tests_):
            raise DataError(f"active has {len(active)} entries but there are {len(self.tests_)} tests")
        self._table()
        before = len(self.tests_)
        try:
            self._compiled = _Compiled([*old, *new], self.syntax, self.function, links) if old else None
            data = self._encode(X, "fresh", active)
        finally:
            self._compiled = None  # parents matter only while tests are added
        self._links = links
        self.patterns_ = [pattern.text for pattern in (*old, *new)]
        self._take_tests()
        return data if self.min_count == 1 else self._cut(data, before)

    def select(self, keep: NDArray[np.bool_]) -> Encoder:
        """An encoder with the tests for which `keep` [tests] is true; they are numbered anew, in the old order.

        >>> encoder = Encoder(patterns=["u:1=%x[0,0]"]).fit(["abc"])
        >>> encoder.select(np.array([True, False, True])).tests_.to_list()
        ['u:1=a', 'u:1=c']
        """
        check_fitted(self)
        if len(keep) != len(self.tests_):
            raise DataError(f"keep has {len(keep)} entries but there are {len(self.tests_)} tests")
        smaller = Encoder(**self.get_params(deep=False))
        smaller.tests_ = self.tests_.take(np.flatnonzero(keep))
        smaller.width_, smaller.patterns_ = self.width_, self.patterns_
        return smaller

    def numbers(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """For each test the number of its unigram weights and of its bigram weights, -1 for none; or for each hash.

        >>> [ids.tolist() for ids in Encoder(patterns=["u:%x[0,0]", "*"]).fit(["ab"]).numbers()]
        [[0, 1, 2], [-1, 0, -1]]
        """
        if self.hash_bits is not None:
            hashes = np.arange(1 << self.hash_bits, dtype=np.int32)
            return hashes, hashes
        _, _, unigram, bigram = self._table().arrays()
        return unigram, bigram

    def feature_counts(self, labels: int) -> FeatureCounts:
        """Numbers of tests and of features K for this many labels: one per unigram test and label, and so on.

        >>> Encoder(patterns=["*", "*:1=%x[0,0]"]).fit(["ab"]).feature_counts(3)
        FeatureCounts(tests=3, unigrams=3, bigrams=3, features=36)
        """
        unigrams, bigrams = self._sizes()
        return FeatureCounts(len(self.tests_), unigrams, bigrams, unigrams * labels + bigrams * labels**2)

    def check_values(self) -> None:
        """Check what the layout cannot say of an encoder from a file."""
        try:
            self._tests = native.Tests(self.tests_.bytes, self.tests_.offsets)
        except ValueError as error:
            raise ModelFileError(str(error), reason=reason_of(error)) from None
        if not all(isinstance(pattern, str) for pattern in self.patterns_):
            raise ModelFileError("a pattern is not a text", reason="damaged")
        if self.patterns_:
            try:
                parse_patterns(self.patterns_, syntax=self.syntax)
            except DataError as error:
                raise ModelFileError(str(error), reason=reason_of(error)) from None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_tests", "_compiled")}

    def _table(self) -> native.Tests:
        check_fitted(self)
        if getattr(self, "_tests", None) is None:
            self._tests = native.Tests(self.tests_.bytes, self.tests_.offsets)
        return self._tests

    def _sizes(self) -> tuple[int, int]:
        if self.hash_bits is not None:
            return 1 << self.hash_bits, 1 << self.hash_bits
        unigrams, bigrams = self._table().sizes()
        return unigrams, bigrams

    def _take_tests(self) -> None:
        data, offsets, _, _ = self._tests.arrays()
        self.tests_ = StringTable.from_arrays(data, offsets)

    def _encode(self, X: Iterable[Any] | native.Cells, method: str, active: NDArray[np.bool_] | None = None) -> Encoded:
        sequences = X if isinstance(X, native.Cells) else _sequences(X)
        if method == "known":
            self._table()
        try:
            if self.patterns_:
                offsets, unigram, bigram = self._by_patterns(sequences, method, active)
            else:
                kinds = self.syntax == "wapiti"
                lists = [list(s) if isinstance(s, Sentence) else s for s in sequences]
                offsets, unigram, bigram = native.encode_attributes(
                    lists, self._tests, grow=method == "fresh", bits=self.hash_bits or 0, kinds=kinds
                )
        except DataError as fault:
            raise _data_error(fault, [] if isinstance(sequences, native.Cells) else sequences) from None
        if method == "fresh":
            sizes = (1 << self.hash_bits,) * 2 if self.hash_bits else self._tests.sizes()
        else:
            sizes = self._sizes()
        return Encoded(
            offsets,
            Active(unigram[0], unigram[1], unigram[2] if len(unigram) > 2 else None, sizes[0]),
            Active(bigram[0], bigram[1], bigram[2] if len(bigram) > 2 else None, sizes[1]),
        )

    def _compiled_patterns(self) -> _Compiled | None:
        """The patterns as native code takes them; None for tokens with attributes of their own."""
        if getattr(self, "_compiled", None) is None:
            chosen = getattr(self, "patterns_", self.patterns)
            if chosen:
                patterns = parse_patterns(chosen, syntax=self.syntax)
                self._compiled = _Compiled(patterns, self.syntax, self.function)
        return getattr(self, "_compiled", None)

    def _cells(self, sequences: list[Any]) -> native.Cells:
        compiled = self._compiled_patterns()
        assert compiled is not None
        first = next((s for s in sequences if len(s)), None)
        width = 0 if first is None else _width(first)
        if width:
            self._check_width(width, first)
        cells = native.Cells(compiled.columns)
        for sequence in sequences:
            if isinstance(sequence, Sentence):
                cells.add_columns(sequence.columns)
            else:
                cells.add_rows(sequence)
        cells.finish(effective_jobs(self.n_jobs))
        return cells

    def _by_patterns(
        self, sequences: list[Any] | native.Cells, method: str, active: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.int64], _Rows, _Rows]:
        compiled = self._compiled_patterns()
        assert compiled is not None
        threads = effective_jobs(self.n_jobs)
        cells = sequences if isinstance(sequences, native.Cells) else self._cells(sequences)
        if method == "fresh":
            self.width_ = max(cells.width, self.width_)
        sources = compiled.sources()
        if self.hash_bits is not None:
            rows = compiled.extractor.hashed(cells, sources, self.hash_bits, threads)
        elif method == "known":
            rows = compiled.extractor.known(cells, self._tests, sources, threads)
        else:
            flags = np.ones(len(self._tests), np.uint8) if active is None else active.astype(np.uint8)
            rows = compiled.extractor.fresh(cells, self._tests, sources, flags, threads)
        return cells.offsets(), *rows

    def _check_width(self, width: int, first: Any) -> None:
        """An error unless tokens have the columns learned from, or fewer of them but all that the patterns read."""
        assert self._compiled is not None
        missing = self._compiled.missing(width)
        learned_from = getattr(self, "width_", 0)
        if width <= (learned_from or width) and missing is None:
            return
        fault = "" if missing is None else f"pattern {missing[0].place} asks for column {missing[1]}"
        learned = learned_from not in (0, width)
        if learned:
            have = "one column" if width == 1 else f"{width} columns"
            more = f", and {fault}" if fault else ""
            fault = f"tokens have {have}, but those learned from had {learned_from}{more}; give the same columns"
        else:
            fault += ", but the tokens have " + ("only column 0" if width == 1 else f"columns 0 to {width - 1}")
        place = (first.source, first.line) if learned and isinstance(first, Sentence) else (None, None)
        raise DataError(fault, source=place[0], line=place[1])

    def _cut(self, data: Encoded, first: int = 0) -> Encoded:
        """Leave out tests that are too rare, but for the first ones, which were known before."""
        unigram, bigram = self.numbers()
        counts = np.zeros(len(unigram), np.int64)
        for rows, number in ((data.unigram, unigram), (data.bigram, bigram)):
            occurrences = np.bincount(rows.ids, minlength=rows.size)
            counts = np.where(number >= 0, occurrences[np.maximum(number, 0)] if rows.size else 0, counts)
        keep = counts >= self.min_count
        keep[:first] = True
        smaller = self.select(keep)
        self.tests_, self._tests = smaller.tests_, smaller._table()
        return Encoded(
            data.offsets,
            _remap(data.unigram, unigram, keep),
            _remap(data.bigram, bigram, keep),
        )


class _Compiled:
    """Patterns as the native core takes them."""

    def __init__(
        self,
        patterns: list[Pattern],
        syntax: str,
        function: Callable[..., str] | None,
        parents: Sequence[int] | None = None,
    ) -> None:
        self.patterns = patterns
        self.columns = sorted(set().union(*(pattern.columns for pattern in patterns)))
        left, right = boundaries(syntax)
        self.boundaries = [*left, *right]
        self.extractor = native.Extractor(len(left), len(right))
        self.functions: list[tuple[int, Callable[[str], str] | None]] = []  # [source] slot and function
        number: dict[tuple[str, bool, int, str | None], int] = {}
        for pattern, parent in zip(patterns, parents or [-1] * len(patterns), strict=True):
            items = []
            for part in pattern.parts:
                if isinstance(part, Command):
                    key = (part.name, part.lower, part.column, part.argument)
                    if key not in number:
                        number[key] = len(self.functions)
                        try:
                            compute = function_of(part, syntax, function)
                        except DataError as error:
                            raise DataError(f"pattern {pattern.place}: {error}") from None
                        self.functions.append((self.columns.index(part.column), compute))
                    items.append((number[key], part.offset, part.absolute, ""))
                else:
                    items.append((-1, 0, False, part))
            self.extractor.add_pattern(pattern.kind, parent, items)
        self.memos = [
            None if compute is None else native.FunctionMemo(compute, self.boundaries, _MOST_REMEMBERED)
            for _, compute in self.functions
        ]

    def missing(self, width: int) -> tuple[Pattern, int] | None:
        """A pattern and a column that it reads though tokens have fewer; None if there is none."""
        pairs = ((pattern, column) for pattern in self.patterns for column in sorted(pattern.columns))
        return next(((pattern, column) for pattern, column in pairs if column >= width), None)

    def sources(self) -> list[tuple[int, native.FunctionMemo | list[str], bool]]:
        """Every function, which remembers what it gave for the distinct values of its column; or the boundaries."""
        return [
            (slot, self.boundaries if memo is None else memo, memo is None)
            for (slot, _), memo in zip(self.functions, self.memos, strict=True)
        ]


def _sequences(X: Iterable[Any]) -> list[Any]:
    """Sequences that have a length and can be read again; an `ItemSequence` of python-crfsuite gives its items."""
    X = (s.items() if type(s).__name__ == "ItemSequence" else s for s in X)
    return [s if isinstance(s, list | tuple | Sentence) else list(s) for s in X]


def _width(sequence: Any) -> int:
    if isinstance(sequence, Sentence):
        return len(sequence.columns)
    first = next(iter(sequence))
    return 1 if isinstance(first, str) else len(first) if isinstance(first, list | tuple) else 0


def _data_error(fault: DataError, sequences: list[Any]) -> DataError:
    """A fault with the place that the user knows: the line of a file, or the numbers of sequence and token.

    The kernel names a sequence as a document and its token as a column; any other fault stays as it is.
    """
    if fault.source != "document" or fault.line is None or not isinstance(fault.column, int):
        return fault
    at = sequences[fault.line - 1] if fault.line <= len(sequences) else None
    if isinstance(at, Sentence) and at.line is not None:
        return DataError(fault.message, source=at.source, line=at.line + fault.column - 1)
    return DataError(f"sequence {fault.line}, token {fault.column}: {fault.message}")


def _remap(rows: Active, number: NDArray[np.int32], keep: NDArray[np.bool_]) -> Active:
    """The rows without the tests that are not kept, the others numbered anew."""
    in_use = keep[number >= 0]
    new = np.cumsum(in_use, dtype=np.int32) - 1
    stays = in_use[rows.ids]
    running = np.concatenate(([0], np.cumsum(stays, dtype=np.int64)))
    values = None if rows.values is None else rows.values[stays]
    return Active(running[rows.indptr], new[rows.ids[stays]], values, int(in_use.sum()))
