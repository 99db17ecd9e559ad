"""Models of other tools: Wapiti's model files, CRFsuite's dumps.

A model passes through as `ChainWeights`: an encoder with the tests, the labels, and two sparse matrices,

    unigram [U, Y]        mu[u, y]
    bigram  [B, Y * Y]    lambda[b, y', y] in column y' Y + y

Wapiti's model file is text: `#mdl#<type>#<active>` (0 maxent, 1 memm, 2 crf), `#rdr#<patterns>/<columns>/<prefix>` and
the patterns, `#qrk#<n>` and the labels, `#qrk#<n>` and the tests, all as netstrings `length:text,`; then a line
`index=weight` in hexadecimal for each weight that is not 0. Tests in order, each has Y unigram weights (u, *) and then
Y^2 bigram weights (b, *). Everything is checked, as the file may come from anywhere.

Dumps of weights as text are in dumps.py, model files of CRFsuite in crfsuite.py.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from textmill.errors import DataError, ModelFileError, reason_of
from textmill.files import replacing
from textmill.model import StringTable
from textmill.numeric import sparse
from textmill.sequence.encoder import Encoder
from textmill.sequence.patterns import Command, parse_patterns
from textmill.sequence.regexes import raw_bytes, raw_text

__all__ = ["KINDS", "ChainWeights", "nonzero", "read_crfsuite_dump", "read_wapiti", "write_wapiti"]

KINDS = ("maxent", "memm", "crf")
_MODEL = re.compile(rb"#mdl#(?:([012])#)?(\d{1,18})\n")
_READER = re.compile(rb"#rdr#(\d{1,9})/(\d{1,9})(?:/([01]))?\n")
_TABLE = re.compile(rb"#qrk#(\d{1,10})\n")
_LENGTH = re.compile(rb"(\d{1,9}):")


@dataclass(frozen=True, slots=True)
class ChainWeights:
    """What a linear-chain model has learned.

    >>> encoder = Encoder(patterns=["u:%x[0,0]", "b"]).fit(["ab"])
    >>> weights = ChainWeights("crf", ["A", "B"], encoder, sparse.csr_matrix((2, 2)), sparse.csr_matrix((1, 4)))
    >>> weights.active
    0
    """

    kind: str  # crf, memm or maxent
    classes: list[str]
    encoder: Encoder
    unigram: sparse.csr_matrix
    bigram: sparse.csr_matrix

    def __post_init__(self) -> None:
        Y = len(self.classes)
        counts = self.encoder.feature_counts(Y)
        if self.unigram.shape != (counts.unigrams, Y) or self.bigram.shape != (counts.bigrams, Y * Y):
            raise DataError(
                f"weights of {self.unigram.shape} and {self.bigram.shape} do not fit {counts.unigrams} unigram tests, "
                f"{counts.bigrams} bigram tests and {Y} labels"
            )

    @property
    def active(self) -> int:
        """Number of weights that are not 0."""
        return int(np.count_nonzero(self.unigram.data) + np.count_nonzero(self.bigram.data))

    def compact(self) -> ChainWeights:
        """The same model without the tests that have no weight.

        >>> encoder = Encoder(patterns=["u:%x[0,0]"]).fit(["ab"])
        >>> weights = ChainWeights("crf", ["A"], encoder, sparse.csr_matrix([[0.0], [2.0]]), sparse.csr_matrix((0, 1)))
        >>> weights.compact().encoder.tests_.to_list()
        ['u:b']
        """
        unigram, bigram = self.encoder.numbers()
        has_unigram = np.diff(nonzero(self.unigram).indptr) > 0
        has_bigram = np.diff(nonzero(self.bigram).indptr) > 0
        keep = _flags(has_unigram, unigram) | _flags(has_bigram, bigram)
        return replace(
            self,
            encoder=self.encoder.select(keep),
            unigram=nonzero(self.unigram)[unigram[keep & (unigram >= 0)]],
            bigram=nonzero(self.bigram)[bigram[keep & (bigram >= 0)]],
        )


def read_wapiti(path: str | os.PathLike[str]) -> ChainWeights:
    """Read a model file of Wapiti (1.0 to 1.5).

    >>> text = "#mdl#2#1\\n#rdr#1/0/0\\n9:u:%x[0,0],\\n#qrk#1\\n1:A,\\n#qrk#1\\n3:u:a,\\n0=0x1p+1\\n"
    >>> _ = Path("tiny.wapiti").write_text(text)
    >>> model = read_wapiti("tiny.wapiti")
    >>> model.classes, model.encoder.tests_.to_list(), model.unigram.toarray().tolist()
    (['A'], ['u:a'], [[2.0]])
    """
    place = os.fspath(path)
    try:
        data = Path(path).read_bytes()
        head = _MODEL.match(data)
        if head is None:
            raise ModelFileError(
                "not a Wapiti model, which begins with #mdl#; load a .mill file with textmill.load", reason="foreign"
            )
        kind = KINDS[int(head[1])] if head[1] is not None else "crf"
        reader = _READER.match(data, head.end())
        if reader is None:
            raise ModelFileError("there is no #rdr# line after the first; the file is damaged", reason="damaged")
        patterns, at = _netstrings(data, reader.end(), int(reader[1]))
        labels, at = _table(data, at)
        tests, at = _table(data, at)
        if reader[3] == b"1":  # the tool writes a u before every test of its own accord
            patterns = ["u" + pattern for pattern in patterns]
        if not labels or not tests:
            raise ModelFileError("there are no labels or no tests", reason="damaged")
        encoder = Encoder(patterns=patterns or None, syntax="wapiti")
        encoder.patterns_ = [p.text for p in parse_patterns(patterns, syntax="wapiti")] if patterns else []
        encoder.tests_ = StringTable(tests)
        encoder.width_ = 0
        encoder.verify()
        unigram, bigram = _weights(data, at, int(head[2]), encoder, len(labels))
    except OSError as error:
        raise ModelFileError(f"{place}: {error.strerror or error}", reason="unreadable") from None
    except (ModelFileError, DataError) as error:
        raise ModelFileError(f"{place}: {error}", reason=reason_of(error)) from None
    return ChainWeights(kind, labels, encoder, unigram, bigram)


def write_wapiti(weights: ChainWeights, path: str | os.PathLike[str]) -> None:
    """Write a model file of Wapiti 1.5.

    Only patterns that mean the same there can be written: those of the syntax "wapiti", and plain %x of ours. Tokens
    with attributes of their own are unknown there.

    >>> encoder = Encoder(patterns=["u:%x[0,0]"]).fit(["a"])
    >>> weights = ChainWeights("crf", ["A"], encoder, sparse.csr_matrix([[2.0]]), sparse.csr_matrix((0, 1)))
    >>> write_wapiti(weights, "t.mdl")
    >>> Path("t.mdl").read_text().splitlines()
    ['#mdl#2#1', '#rdr#1/0/0', '9:u:%x[0,0],', '#qrk#1', '1:A,', '#qrk#1', '3:u:a,', '0=0x1.0000000000000p+1']
    """
    encoder = weights.encoder
    if encoder.hash_bits is not None:
        raise DataError("hashed tests have no names, so Wapiti cannot find them; train without hash_bits")
    if not encoder.patterns_ and encoder.syntax != "wapiti":
        raise DataError(
            "Wapiti knows no tokens with attributes of their own (dictionaries, lists), so it could not label them; "
            "write .crfsuite or .mill, or train with patterns"
        )
    columns = 0
    for pattern in parse_patterns(encoder.patterns_, syntax=encoder.syntax) if encoder.patterns_ else []:
        columns = max([columns, *pattern.columns])
        commands = [part for part in pattern.parts if isinstance(part, Command)]
        plain = encoder.syntax == "textmill" and all(part.name == "x" and not part.lower for part in commands)
        if encoder.syntax != "wapiti" and not plain:
            raise DataError(f"pattern {pattern.text!r} means something else to Wapiti; train with syntax='wapiti'")
    out = [f"#mdl#{KINDS.index(weights.kind)}#{weights.active}\n#rdr#{len(encoder.patterns_)}/{columns}/0\n".encode()]
    out += map(_netstring, encoder.patterns_)
    for table in (weights.classes, encoder.tests_):
        out.append(b"#qrk#%d\n" % len(table))
        out += map(_netstring, table)
    with replacing(path) as file:
        file.writelines(out)
        index, values = _flat(weights)
        file.writelines(
            b"%d=%s\n" % (i, v.hex().encode()) for i, v in zip(index.tolist(), values.tolist(), strict=True)
        )


_FEATURE = re.compile(r"  \((\d+)\) (.*) --> (.*): (-?[0-9.eE+-]+|-?inf|-?nan)")


def read_crfsuite_dump(path: str | os.PathLike[str]) -> ChainWeights:
    """Read what `crfsuite dump` or python-crfsuite's `Tagger.dump` writes; weights have its six digits.

    >>> text = "LABELS = {\\n      0: A\\n}\\nATTRIBUTES = {\\n      0: w=the\\n}\\n"
    >>> text += "TRANSITIONS = {\\n  (1) A --> A: 0.250000\\n}\\n"
    >>> text += "STATE_FEATURES = {\\n  (0) w=the --> A: 1.500000\\n}\\n"
    >>> _ = Path("crf.dump").write_text(text)
    >>> model = read_crfsuite_dump("crf.dump")
    >>> model.encoder.tests_.to_list(), model.unigram.toarray().tolist(), model.bigram.toarray().tolist()
    (['b', 'uw=the'], [[1.5]], [[0.25]])
    """
    place = os.fspath(path)
    sections: dict[str, list[tuple[int, str]]] = {}
    section: list[tuple[int, str]] | None = None
    for line, text in enumerate(_text_lines(path, place), 1):
        if text.endswith(" = {"):
            section = sections.setdefault(text[:-4], [])
        elif text == "}":
            section = None
        elif section is not None:
            section.append((line, text))
    if not {"LABELS", "ATTRIBUTES", "TRANSITIONS", "STATE_FEATURES"} <= sections.keys():
        raise ModelFileError(
            f"{place}: not a dump of CRFsuite; write one with `crfsuite dump` or Tagger.dump", reason="foreign"
        )
    classes = [text.split(": ", 1)[-1] for _, text in sections["LABELS"]]
    attributes = [text.split(": ", 1)[-1] for _, text in sections["ATTRIBUTES"]]
    encoder = Encoder()
    encoder.patterns_, encoder.width_ = [], 0
    encoder.tests_ = StringTable(["b", *("u" + attribute for attribute in attributes)])
    label = {name: i for i, name in enumerate(classes)}
    attribute_number = {name: i for i, name in enumerate(attributes)}
    Y = len(classes)
    matrices = []
    for name, first, shape in (
        ("STATE_FEATURES", attribute_number, (len(attributes), Y)),
        ("TRANSITIONS", label, (1, Y * Y)),
    ):
        rows, columns, values = [], [], []
        for line, text in sections[name]:
            match = _FEATURE.fullmatch(text)
            value = float(match[4]) if match else math.nan
            if match is None or match[2] not in first or match[3] not in label or not math.isfinite(value):
                raise ModelFileError(
                    f"{place}:{line}: {text.strip()!r} is no feature of this model; the dump is damaged",
                    reason="damaged",
                )
            from_, to = first[match[2]], label[match[3]]
            rows.append(from_ if name == "STATE_FEATURES" else 0)
            columns.append(to if name == "STATE_FEATURES" else from_ * Y + to)
            values.append(value)
        matrices.append(sparse.csr_matrix((values, (rows, columns)), shape=shape))
    encoder.verify()
    return ChainWeights("crf", classes, encoder, *matrices)


def _text_lines(path: str | os.PathLike[str], place: str) -> Iterator[str]:
    try:
        yield from Path(path).read_text("utf-8").splitlines()
    except OSError as error:
        raise ModelFileError(f"{place}: {error.strerror or error}", reason="unreadable") from None
    except UnicodeDecodeError:
        raise ModelFileError(
            f"{place}: not a text; a dump is what `crfsuite dump` prints, not the model file", reason="damaged"
        ) from None


def _flags(rows: NDArray[np.bool_], number: NDArray[np.int32]) -> NDArray[np.bool_]:
    """For each test, whether the row of its number is flagged."""
    flags = np.zeros(len(number), np.bool_)
    flags[number >= 0] = rows[number[number >= 0]]
    return flags


def nonzero(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    """A copy without stored zeros, columns in order.

    >>> nonzero(sparse.csr_matrix(([0.0, 2.0], [1, 0], [0, 2]))).data.tolist()
    [2.0]
    """
    copy = sparse.csr_matrix(matrix, dtype=np.float64, copy=True)
    copy.eliminate_zeros()
    copy.sort_indices()
    return copy


def _netstring(text: str) -> bytes:
    data = raw_bytes(text)
    return b"%d:%s,\n" % (len(data), data)


def _netstrings(data: bytes, at: int, count: int) -> tuple[list[str], int]:
    strings = []
    for _ in range(count):
        length = _LENGTH.match(data, at)
        end = length.end() + int(length[1]) if length else len(data)
        if length is None or data[end : end + 2] != b",\n":
            raise ModelFileError(
                f"byte {at} should begin one of {count} strings `length:text,`; the file is damaged", reason="damaged"
            )
        strings.append(raw_text(data[length.end() : end]))
        at = end + 2
    return strings, at


def _table(data: bytes, at: int) -> tuple[list[str], int]:
    head = _TABLE.match(data, at)
    if head is None:
        raise ModelFileError(f"byte {at} should begin a table #qrk#; the file is damaged", reason="damaged")
    return _netstrings(data, head.end(), int(head[1]))


def _layout(encoder: Encoder, Y: int) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Where the weights of each unigram and each bigram test begin among all of a Wapiti model, and their number."""
    unigram, bigram = encoder.numbers()
    sizes = (unigram >= 0) * Y + (bigram >= 0) * Y * Y
    begin = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    return begin[:-1][unigram >= 0], (begin[:-1] + (unigram >= 0) * Y)[bigram >= 0], int(begin[-1])


def _flat(weights: ChainWeights) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Indices in Wapiti's order, and weights that are not 0."""
    begins = _layout(weights.encoder, len(weights.classes))[:2]
    matrices = (nonzero(weights.unigram).tocoo(), nonzero(weights.bigram).tocoo())
    index = np.concatenate([begin[m.row] + m.col for begin, m in zip(begins, matrices, strict=True)])
    values = np.concatenate([m.data for m in matrices])
    order = np.argsort(index, kind="stable")
    return index[order], values[order]


def _weights(data: bytes, at: int, count: int, encoder: Encoder, Y: int) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    lines = data[at:].split()
    if len(lines) != count:
        raise ModelFileError(
            f"there are {len(lines)} weights, but the first line says {count}; the file is damaged", reason="damaged"
        )
    index, values = np.empty(count, np.int64), np.empty(count)
    unigram_begin, bigram_begin, total = _layout(encoder, Y)
    for i, line in enumerate(lines):
        left, _, right = line.partition(b"=")
        try:
            index[i], values[i] = int(left), float.fromhex(right.decode("ascii"))
        except (ValueError, OverflowError):
            raise ModelFileError(
                f"{line[:40]!r} is no weight `index=number`; the file is damaged", reason="damaged"
            ) from None
    if count and (index.min() < 0 or index.max() >= total or not np.isfinite(values).all()):
        raise ModelFileError(
            f"a weight is not finite or beyond the {total} that the tests have; the file is damaged", reason="damaged"
        )
    matrices = []
    for begin, width in ((unigram_begin, Y), (bigram_begin, Y * Y)):
        row = np.searchsorted(begin, index, side="right") - 1
        column = index - begin[row] if len(begin) else np.full(count, width)
        mine = (row >= 0) & (column < width)
        matrices.append(sparse.csr_matrix((values[mine], (row[mine], column[mine])), shape=(len(begin), width)))
    return matrices[0], matrices[1]
