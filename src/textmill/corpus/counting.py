"""From batches of documents to counts of terms: what `Vocabulary` and its bags are made with.

A `Cutter` turns documents into what the kernel takes: texts with the rules by which to cut them, or lists of tokens.
A `TermCounter` counts them. Given a limit of memory it writes its terms to a temporary file, sorted, whenever they
exceed it, and merges these runs in the end; the counts and the order of first appearance come out exactly as without
a limit.

Cost with a limit: every distinct term of a run is sorted, written and read once.
"""

from __future__ import annotations

import errno
import re
import tempfile
from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from textmill._native import corpus as native
from textmill.corpus.readers import Documents
from textmill.corpus.tokenize import CharacterNgrams, Rules, Tokenizer, normalizer, text_batches
from textmill.errors import DataError
from textmill.model import StringTable, check_range, effective_jobs
from textmill.numeric import SparseRows

__all__ = [
    "Counted",
    "Cutter",
    "TermCounter",
    "TermCounts",
    "TokenizerLike",
    "add_counts",
    "byte_count",
    "check_ngrams",
    "count_piece",
    "single_words",
    "texts_of",
    "token_list",
]

_TOKENS = (list, tuple, str, bytes)

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_RULES = ("stop_words", "max_df", "min_df", "min_count")

TokenizerLike: TypeAlias = "Tokenizer | CharacterNgrams | Callable[[str], Iterable[str]] | None"
Terms: TypeAlias = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


class Cutter:
    """How documents become what the kernel takes.

    `tokenizer` is a `Tokenizer`, a `CharacterNgrams`, fitted `Phrases`, any function from a text to tokens, or None for
    `Tokenizer()`. `ngrams` are the shortest and the longest run of tokens that is a term, its words with blanks between
    them; `phrases` are joined before that.
    """

    def __init__(
        self,
        tokenizer: TokenizerLike,
        n_jobs: int | None,
        *,
        ngrams: tuple[int, int] = (1, 1),
        phrases: native.PhraseTable | None = None,
    ) -> None:
        if hasattr(tokenizer, "phrase_table"):  # Phrases, which are made with a Cutter themselves
            learned: Any = tokenizer
            phrases, tokenizer = learned.phrase_table(), learned.tokenizer
        self.tokenizer = Tokenizer() if tokenizer is None else tokenizer
        self.threads = effective_jobs(n_jobs)
        self.rules: Rules | None = None
        if isinstance(self.tokenizer, Tokenizer | CharacterNgrams):
            self.rules = self.tokenizer.rules()
        self.normalize = normalizer(self.tokenizer)
        self.ngrams = check_ngrams(ngrams)
        self.phrases = phrases
        self.combines = phrases is not None or self.ngrams != (1, 1)
        self.forget()

    def forget(self) -> None:
        """Drop what is remembered of tokens that were normalized."""
        # Tokens as written are counted in a table of their own, so that each is normalized once.
        self.written = native.TermTable()
        self.form_ids = np.zeros(0, dtype=np.int32)  # by number of the written token; -1: no term
        self.dropped = np.zeros(0, dtype=bool)  # by number of the written token: the normalizer wants it gone
        self.written_forms = native.Forms()  # the same for tokens that are combined, by name

    def normalizes(self, batch: list[Any]) -> bool:
        """Say whether `count_forms` has to normalize this batch; lists of tokens are taken as they are, and where
        tokens are combined the kernel itself puts forms in their place.
        """
        return self.normalize is not None and isinstance(batch[0], str) and not self.combines

    def cut(self, batch: list[Any]) -> tuple[list[Any], Any]:
        """Return the batch and the rules by which the kernel cuts it; no rules: it is cut already."""
        documents, rules = self._cut(batch)
        if not self.combines:
            return documents, rules
        forms = None
        if self.normalize is not None and isinstance(batch[0], str):
            before = len(self.written)
            self.written.count(documents, rules, threads=self.threads, rows=False, first=0)
            tokens = StringTable.from_arrays(*self.written.terms_from(before)[:2]).to_list()
            self.written_forms.insert(tokens, [self.normalize(token) or None for token in tokens])
            forms = self.written_forms
        shortest, longest = self.ngrams
        rules = native.TokenRules(cut=rules, forms=forms, phrases=self.phrases, shortest=shortest, longest=longest)
        return documents, rules

    def _cut(self, batch: list[Any]) -> tuple[list[Any], Rules | None]:
        if not isinstance(batch[0], str):
            return [doc if type(doc) is list else token_list(doc) for doc in batch], None  # a call for each costs more
        if self.rules is not None:
            return batch, self.rules
        tokenizer: Any = self.tokenizer
        if hasattr(tokenizer, "tokenize"):
            return list(tokenizer.tokenize(batch, n_jobs=self.threads)), None
        return [list(tokenizer(document)) for document in batch], None

    def forms(self, batch: list[Any]) -> list[list[str]]:
        """Return the normalized tokens of a batch of texts."""
        tokenizer: Any = self.tokenizer  # only a Tokenizer has a normalizer
        return list(tokenizer.tokenize(batch, n_jobs=self.threads))

    def sequences(self, batch: list[Any], first: int, table: native.TermTable, *, grow: bool) -> tuple[Any, Any]:
        """Return where each document begins, and the numbers in `table` of all tokens in their order; -1 for tokens
        that are not there, unless the table may grow.
        """
        cut, rules = (self.forms(batch), None) if self.normalizes(batch) else self.cut(batch)
        offsets, ids = table.sequences(cut, rules, grow=grow, threads=self.threads, first=first)
        return offsets, ids

    def count_forms(self, batch: list[Any], first: int, table: native.TermTable, *, grow: bool) -> tuple[Any, int]:
        """Return rows of the normalized tokens by the terms of `table`, to which new ones are added if it may grow,
        and how many tokens are no terms.
        """
        normalize: Any = self.normalize
        cut, rules = self.cut(batch)
        offsets, terms, counts = self.written.count(cut, rules, threads=self.threads, rows=True, first=first)
        names, ends, *_ = self.written.terms_from(len(self.form_ids))
        forms = [normalize(token) or None for token in StringTable.from_arrays(names, ends)]
        if grow:
            ids = table.insert(forms)
        else:
            ids = np.array([-1 if form is None else table.find(form) for form in forms], dtype=np.int32)
        self.form_ids = np.concatenate([self.form_ids, ids])
        self.dropped = np.concatenate([self.dropped, np.array([form is None for form in forms], dtype=bool)])
        unknown = int(counts[((self.form_ids < 0) & ~self.dropped)[terms]].sum(dtype=np.int64))
        return native.remap(offsets, terms, counts, self.form_ids, threads=self.threads), unknown


class Counted(NamedTuple):
    """Terms (bytes, offsets, document and collection frequencies) by first appearance, and totals over all of them.

    `words` are the tokens without those that are n-grams of several words.
    """

    terms: Terms
    tokens: int
    words: int
    nonzeros: int
    removed: dict[str, dict[str, int]]


class TermCounter:
    """Counts batches of documents into a growing table of terms, within a limit of memory if one is given.

    >>> with TermCounter(Cutter(None, 1), memory=1) as counter:
    ...     for batch in (["to be"], ["or not"], ["to be"]):
    ...         counter.add(batch)
    ...     counted = counter.result()
    >>> StringTable.from_arrays(*counted.terms[:2]).to_list(), counted.terms[2].tolist()
    (['to', 'be', 'or', 'not'], [2, 2, 1, 1])
    """

    def __init__(self, cutter: Cutter, *, memory: int | str | None = None) -> None:
        self.cutter = cutter
        self.table = native.TermTable()
        self.documents = 0
        self.memory = None if memory is None else byte_count(memory)
        self.runs: list[str] = []
        self._base = 0  # how many terms, counted as often as they were seen anew, the runs hold
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> TermCounter:
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def add(self, batch: list[Any]) -> None:
        """Count a batch."""
        self._count(batch, rows=False)
        if self.memory is not None and self.table.memory() > self.memory:
            self._spill()

    def add_rows(self, batch: list[Any]) -> SparseRows:
        """Count a batch and return its bags over the terms known so far."""
        offsets, terms, counts = self._count(batch, rows=True)
        return SparseRows(counts, terms, offsets, (len(offsets) - 1, len(self.table)))

    def result(
        self,
        stop_words: Collection[str] = (),
        most_documents: float = float("inf"),
        least_documents: float = 0,
        least_occurrences: int = 0,
    ) -> Counted:
        """Return all terms. If some were spilled, terms that the rules remove are removed while runs are merged."""
        if not self.runs:
            terms = self.table.terms_from(0)
            tokens = int(terms[3].sum())
            words = int(terms[3][single_words(terms[0], terms[1])].sum()) if self._any_word else tokens
            return Counted(terms, tokens, words, int(terms[2].sum()), {})
        if len(self.table):
            self._spill()
        stop_table = native.TermTable()
        stop_table.insert(list(stop_words))
        names, offsets, documents, occurrences, first, removed, tokens, nonzeros, words = native.merge_runs(
            self.runs,
            stop_words=stop_table,
            any_word=self._any_word,
            most_documents=most_documents,
            least_documents=least_documents,
            least_occurrences=least_occurrences,
            threads=self.cutter.threads,
        )
        order = np.argsort(first)
        table = StringTable.from_arrays(names, offsets).take(order)
        return Counted(
            (table.bytes, table.offsets, documents[order], occurrences[order]),
            tokens,
            words,
            nonzeros,
            {
                rule: {"types": types, "tokens": lost}
                for rule, (types, lost) in zip(_RULES, removed, strict=True)
                if types
            },
        )

    @property
    def _any_word(self) -> bool:
        """Whether terms are n-grams, which a stop word in them removes."""
        return self.cutter.ngrams[1] > 1

    def _count(self, batch: list[Any], *, rows: bool) -> Any:
        first = self.documents
        if self.cutter.normalizes(batch):
            counts, _ = self.cutter.count_forms(batch, first, self.table, grow=True)
            self.table.tally(*counts[1:])
        else:
            cut, rules = self.cutter.cut(batch)
            counts = self.table.count(cut, rules, threads=self.cutter.threads, rows=rows, first=first)
        self.documents += len(batch)
        return counts

    def _spill(self) -> None:
        """Write the terms to a run of their own and start with an empty table."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="textmill-")
        path = f"{self._folder.name}/{len(self.runs)}.run"
        try:
            self.table.write_run(path, base=self._base, threads=self.cutter.threads)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            folder = self._folder.name
            raise DataError(f"no room for terms in {folder}; free some, or set TMPDIR to a larger folder") from None
        self.runs.append(path)
        self._base += len(self.table)
        self.table = native.TermTable()
        self.cutter.forget()


class TermCounts(NamedTuple):
    """Terms by first appearance with their frequencies, as arrays that travel and add."""

    terms: Terms
    documents: int


def count_piece(
    piece: Iterable[Any], tokenizer: TokenizerLike, n_jobs: int | None, ngrams: tuple[int, int] = (1, 1)
) -> TermCounts:
    """Count the terms of one piece of a corpus; pure, so it runs unchanged on a worker.

    >>> count_piece(["to be", "to do"], None, 1).terms[2].tolist()
    [2, 1, 1]
    """
    with TermCounter(Cutter(tokenizer, n_jobs, ngrams=ngrams)) as counter:
        for batch in text_batches(texts_of(piece)):
            counter.add(batch)
        return TermCounts(counter.result().terms, counter.documents)


def add_counts(left: TermCounts, right: TermCounts) -> TermCounts:
    """Return the counts of both pieces, terms of the left one first.

    >>> both = add_counts(count_piece(["to be"], None, 1), count_piece(["be good"], None, 1))
    >>> StringTable.from_arrays(*both.terms[:2]).to_list(), both.terms[2].tolist(), both.documents
    (['to', 'be', 'good'], [1, 2, 1], 2)
    """
    table = native.TermTable()
    table.absorb(*left.terms)
    table.absorb(*right.terms)
    return TermCounts(table.terms_from(0), left.documents + right.documents)


def byte_count(memory: int | str) -> int:
    """Read an amount of memory: a number of bytes, or a text such as 512MB, 2 GiB, 1.5g.

    >>> byte_count("512MB"), byte_count("2 GiB"), byte_count(4096)
    (512000000, 2147483648, 4096)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?", str(memory).strip().lower())
    if match is None or match[2] not in _UNITS:
        raise DataError(f"memory must be a number of bytes or such as '512MB' or '2GiB', got {memory!r}")
    return int(float(match[1]) * _UNITS[match[2]])


def check_ngrams(ngrams: Any) -> tuple[int, int]:
    """Return the shortest and the longest n-gram, once they are two such numbers.

    >>> check_ngrams([1, 3])
    (1, 3)
    """
    if isinstance(ngrams, int | str) or len(ngrams) != 2:
        raise DataError(f"ngrams must be the shortest and the longest, such as (1, 3), got {ngrams!r}")
    check_range("ngrams[0]", ngrams[0], at_least=1, whole=True)
    check_range("ngrams[1]", ngrams[1], at_least=ngrams[0], at_most=100, whole=True)
    return int(ngrams[0]), int(ngrams[1])


def single_words(names: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say which n-grams are of one word: those without a blank.

    >>> table = StringTable(["to", "to be", "be"])
    >>> single_words(table.bytes, table.offsets).tolist()
    [True, False, True]
    """
    blanks = np.concatenate([np.zeros(1, np.int64), np.cumsum(names == ord(" "))])
    return np.asarray(np.diff(blanks[offsets]) == 0)


def texts_of(documents: Iterable[Any]) -> Iterable[Any]:
    """Return the texts or token lists of what a caller passed as documents.

    >>> texts_of("one text")
    Traceback (most recent call last):
    textmill.errors.DataError: documents must be an iterable of texts, got one text; pass [text]
    """
    if isinstance(documents, str):
        raise DataError("documents must be an iterable of texts, got one text; pass [text]")
    if hasattr(documents, "columns") and hasattr(documents, "shape"):
        raise DataError("documents must be texts, got a table; pass the column that holds them, such as frame['text']")
    return documents.texts() if isinstance(documents, Documents) else documents


def token_list(document: Any) -> Any:
    """Return a list or tuple of tokens, also of one that is some other collection; what is none, the kernel will name.

    >>> token_list(word for word in ["to", "be"])
    ['to', 'be']
    """
    if isinstance(document, _TOKENS):  # first: to ask whether something is iterable costs more than its tokens
        return document
    return list(document) if isinstance(document, Iterable) else document
