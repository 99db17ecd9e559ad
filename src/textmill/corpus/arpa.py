r"""ARPA files: back-off n-gram models as plain arrays.

    \data\               counts of each order
    \n-grams:            log10 p(w_n | w_1 ... w_n-1)   w_1 ... w_n   [log10 back-off weight of w_1 ... w_n]
    \end\

Every n-gram becomes a row of word ids. The file is read and parsed block by block; memory is the arrays. What the
numbers mean is for the packages above: `lm` computes with them, `fst` makes a grammar of them.

Reference: the ARPA MIT-LL format as SRILM's ngram-format(5) describes it.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import IO, TypeVar

import numpy as np
from numpy.typing import NDArray

from textmill._native import corpus as native
from textmill.corpus.streams import Source, open_bytes, source_name
from textmill.corpus.writers import binary_writer
from textmill.errors import DataError
from textmill.model import StringTable, effective_jobs

__all__ = ["Arpa", "ArpaOrder", "read_arpa", "write_arpa"]

T = TypeVar("T")

_BLOCK = 1 << 21
_SENT = 1 << 23  # bytes that go to the disk together
_COUNT = re.compile(rb"ngram\s+(\d+)\s*=\s*(\d+)")
_SECTION = re.compile(rb"\\(\d+)-grams:")


@dataclass(frozen=True, slots=True, eq=False)
class ArpaOrder:
    """The n-grams of one order: words (N, n) int32 ids, log10 probabilities (N,), log10 back-off weights (N,)."""

    words: NDArray[np.int32]
    log_probability: NDArray[np.float64]
    back_off: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Arpa:
    """A back-off model: its words by id, and its orders from 1 on.

    Ids follow the order of the 1-grams.
    """

    words: StringTable
    orders: tuple[ArpaOrder, ...]


def read_arpa(source: Source) -> Arpa:
    r"""Read an ARPA file, compressed or not.

    >>> import io
    >>> head = b"\\data\\\nngram 1=2\nngram 2=1\n\n"
    >>> body = b"\\1-grams:\n-0.3 a -0.1\n-0.3 b\n\n\\2-grams:\n-0.2 a b\n\n\\end\\\n"
    >>> model = read_arpa(io.BytesIO(head + body))
    >>> model.words.to_list(), model.orders[0].back_off.tolist(), model.orders[1].words.tolist()
    (['a', 'b'], [-0.1, 0.0], [[0, 1]])
    """
    name = source_name(source)
    with open_bytes(source) as stream:
        lines = _Lines(stream, name)
        counts = _read_counts(lines)
        table = native.TermTable()
        orders = tuple(_read_order(lines, order, count, table) for order, count in enumerate(counts, start=1))
        if lines.next_text() != b"\\end\\":
            raise lines.fault(r"'\end\' is missing behind the last n-gram; was the file cut?")
    names, offsets, *_ = table.terms_from(0)
    return Arpa(StringTable.from_arrays(names, offsets), orders)


def write_arpa(path: str | os.PathLike[str], model: Arpa, *, n_jobs: int | None = None) -> None:
    r"""Write an ARPA file, completely or not at all; numbers have as many digits as read back exactly.

    `n_jobs` threads format it, None for all cores; the file is the same.

    >>> import pathlib, tempfile
    >>> order = ArpaOrder(np.array([[0]], np.int32), np.array([-0.5]), np.array([0.0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_arpa(f"{folder}/tiny.arpa", Arpa(StringTable(["mill"]), (order,)))
    ...     pathlib.Path(folder, "tiny.arpa").read_text().split()
    ['\\data\\', 'ngram', '1=1', '\\1-grams:', '-0.5', 'mill', '\\end\\']
    """
    name = os.fspath(path)
    _check_words(model.words, name)
    last = len(model.orders)
    for n, order in enumerate(model.orders, start=1):
        if order.words.ndim != 2 or order.words.shape[1] != n:
            raise DataError(f"n-grams of order {n} have {order.words.shape[-1]} words", source=name)

    def lines(n: int, part: slice) -> NDArray[np.uint8]:
        order = model.orders[n - 1]
        words = np.ascontiguousarray(order.words[part], dtype=np.int32)
        numbers = (np.ascontiguousarray(x[part], np.float64) for x in (order.log_probability, order.back_off))
        text: NDArray[np.uint8] = native.format_ngrams(
            model.words.bytes, model.words.offsets, words, *numbers, n == last
        )
        return text

    with binary_writer(path) as out, ThreadPoolExecutor(1) as disk:
        on_disk = _Behind(out, disk)
        out.write(b"\\data\\\n")
        for n, order in enumerate(model.orders, start=1):
            out.write(b"ngram %d=%d\n" % (n, len(order.log_probability)))
        for n, order in enumerate(model.orders, start=1):
            out.write(b"\n\\%d-grams:\n" % n)
            step = max(1, _BLOCK // (32 * n))
            parts = [slice(start, start + step) for start in range(0, len(order.log_probability), step)]
            for text in _in_order(partial(lines, n), parts, effective_jobs(n_jobs)):
                on_disk.follow(out.write(text.data))
        out.write(b"\n\\end\\\n")


class _Behind:
    """Sends a file to the disk while it is written, so that there is little left to wait for in the end."""

    def __init__(self, file: IO[bytes], pool: ThreadPoolExecutor) -> None:
        self.file = file
        self.pool = pool
        self.rest = 0  # bytes since the last time
        self.sent: Future[None] | None = None

    def follow(self, size: int) -> None:
        """Note that so many bytes more were written."""
        self.rest += size
        if self.rest >= _SENT and (self.sent is None or self.sent.done()):
            self.rest = 0
            self.sent = self.pool.submit(os.fdatasync, self.file.fileno())  # whether it can is seen in the end


def _check_words(words: StringTable, source: str) -> None:
    """Refuse words that no reader of ARPA files would take for one: kenlm parts them at NUL, too."""
    part = np.isin(np.arange(256), np.frombuffer(b"\0\t\n\v\f\r ", dtype=np.uint8))
    if part[words.bytes].any():
        wrong = next(word for word in words if any(part[byte] for byte in word.encode()))
        raise DataError(f"the word {wrong!r} holds a blank or NUL, which part words in ARPA files", source=source)
    if not np.diff(words.offsets).all():
        raise DataError("a word is empty, which ARPA files cannot hold", source=source)


def _in_order(work: Callable[[slice], T], parts: Sequence[slice], threads: int) -> Iterator[T]:
    """What `work` makes of the parts, in their order; this thread takes the next part that no other has begun."""
    if threads == 1:
        yield from map(work, parts)
        return
    rest = iter(parts)
    waiting: deque[tuple[slice, Future[T]]] = deque()  # few at a time: memory is theirs
    with ThreadPoolExecutor(threads - 1) as pool:
        while True:
            waiting.extend((part, pool.submit(work, part)) for part in islice(rest, 2 * threads - len(waiting)))
            if not waiting:
                return
            if not waiting[0][1].done():
                own = next((i for i, (_, text) in enumerate(waiting) if text.cancel()), None)
                if own is not None:
                    part, text = waiting[own][0], Future[T]()
                    text.set_result(work(part))
                    waiting[own] = part, text
            yield waiting.popleft()[1].result()


class _Lines:
    """Lines of a stream, one by one or a section at a time, with the number of the line reached."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        self.stream = stream
        self.name = name
        self.number = 0

    def next_text(self) -> bytes:
        """The next line that is not blank, stripped; empty at the end."""
        while line := self.stream.readline():
            self.number += 1
            if stripped := line.strip():
                return stripped
        return b""

    def fault(self, message: str, line: int = 0, column: int | None = None) -> DataError:
        return DataError(message, source=self.name, line=line or self.number, column=column)

    def blocks(self, count: int) -> Iterator[bytes]:
        """The next `count` lines that are not blank, in blocks."""
        block: list[bytes] = []
        size = 0
        while count:
            line = self.stream.readline()
            if not line or line.startswith(b"\\"):
                raise self.fault(f"{count} n-grams of this order are missing; was the file cut?", self.number + 1)
            block.append(line)
            size += len(line)
            count -= not line.isspace()
            if size >= _BLOCK or not count:
                yield b"".join(block)
                self.number += len(block)
                block, size = [], 0


def _read_counts(lines: _Lines) -> list[int]:
    """Numbers of n-grams from order 1 on; the first section's heading stays unread but noted."""
    line = lines.next_text()
    while line and line != b"\\data\\":  # toolkits write remarks first
        line = lines.next_text()
    if not line:
        raise lines.fault(r"no ARPA file: '\data\' is missing", 1)
    counts: list[int] = []
    while match := _COUNT.fullmatch(line := lines.next_text()):
        if int(match[1]) != len(counts) + 1:
            raise lines.fault(f"the count of order {len(counts) + 1} is missing")
        counts.append(int(match[2]))
    if not counts:
        raise lines.fault("counts such as 'ngram 1=100' must follow")
    if line != b"\\1-grams:":
        raise lines.fault(rf"'\1-grams:' must follow the counts, got {line[:40].decode('utf-8', 'replace')!r}")
    return counts


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _read_order(lines: _Lines, order: int, count: int, table: native.TermTable) -> ArpaOrder:
    if order > 1:
        line = lines.next_text()
        match = _SECTION.fullmatch(line)
        if match is None or int(match[1]) != order:
            shown = line[:40].decode("utf-8", "replace")
            raise lines.fault(rf"'\{order}-grams:' must follow, got {shown!r}; are there more n-grams than announced?")
    parts: list[tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]] = []
    for block in lines.blocks(count):
        try:
            words, probabilities, back_offs, fault = table.parse_ngrams(block, order)
        except UnicodeDecodeError:  # in what it was to say of a field
            wrong = next(number for number, line in enumerate(block.split(b"\n"), 1) if not _is_utf8(line))
            raise lines.fault("the line is not UTF-8; was the file damaged?", lines.number + wrong) from None
        if fault is not None:
            raise lines.fault(fault[2], lines.number + fault[0] + 1, fault[1] + 1)
        parts.append((words, probabilities, back_offs))
    joined = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)] if parts else [np.zeros(0)] * 3
    return ArpaOrder(joined[0].astype(np.int32, copy=False).reshape(-1, order), joined[1], joined[2])
