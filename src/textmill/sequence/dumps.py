"""Dumps: the weights of a model as text that people can read, change and turn into a model again.

    #textmill dump {"classes": [...], "kind": "crf", "patterns": [...], ...}     what the weights belong to, as JSON
    test TAB y' TAB y TAB weight                                                 a line for each weight that is not 0

y' is # for a unigram weight. The weights are as in a dump of Wapiti, a blank line after each test. `read_dump` makes a
model of the whole file, with the weights as they are written: by default with all digits that matter, so it is the
same model; tests without a weight are gone, which changes no answer. `update_weights` puts single lines into a model.

Cost: linear in the number of weights.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from textmill.corpus import read_text, writer
from textmill.errors import DataError, ModelFileError, reason_of
from textmill.model import StringTable, check_range
from textmill.numeric import sparse
from textmill.sequence.encoder import Encoder
from textmill.sequence.formats import KINDS, ChainWeights, nonzero

__all__ = ["DUMP_HEADER", "read_dump", "update_weights", "write_dump"]

DUMP_HEADER = "#textmill dump "

_CUTS = re.compile("[\t\n\r]")  # what would cut a field in two


def read_dump(path: str | os.PathLike[str], *, function: Callable[..., str] | None = None) -> ChainWeights:
    """Read a whole dump as a model; `function` is what the %f of its patterns calls.

    >>> encoder = Encoder(patterns=["u:%x[0,0]"]).fit(["ab"])
    >>> unigram = sparse.csr_matrix([[0.1, 0], [0, 2]])
    >>> write_dump(ChainWeights("crf", ["A", "B"], encoder, unigram, sparse.csr_matrix((0, 4))), "weights.dump")
    >>> model = read_dump("weights.dump")
    >>> model.encoder.tests_.to_list(), model.unigram.toarray().tolist()
    (['u:a', 'u:b'], [[0.1, 0.0], [0.0, 2.0]])
    """
    place = os.fspath(path)
    try:
        text = Path(path).read_text("utf-8")
        return _model(text, place, function)
    except OSError as error:
        raise ModelFileError(f"{place}: {error.strerror or error}", reason="unreadable") from None
    except UnicodeDecodeError:
        raise ModelFileError(f"{place}: not a text in UTF-8, so no dump", reason="foreign") from None
    except DataError as error:
        raise ModelFileError(str(error), reason=reason_of(error)) from None


def write_dump(
    weights: ChainWeights, path: str | os.PathLike[str], *, precision: int | None = None, zeros: bool = False
) -> None:
    """Write the weights as text, to a file or `-`; `precision` digits after the point, all that matter by default.

    Weights that are 0, or shown as 0, are left out unless `zeros` asks for them.

    >>> encoder = Encoder(patterns=["*:%x[0,0]"]).fit(["a"])
    >>> unigram, bigram = sparse.csr_matrix([[0.5, 0]]), sparse.csr_matrix([[0, 0, 0, -1.0]])
    >>> write_dump(ChainWeights("crf", ["A", "B"], encoder, unigram, bigram), "dump.txt", precision=2)
    >>> print(Path("dump.txt").read_text().expandtabs(4))
    #textmill dump {"classes": ["A", "B"], "kind": "crf", "patterns": ["*:%x[0,0]"], "syntax": "textmill", "width": 1}
    *:a #   A   0.50
    *:a B   B   -1.00
    <BLANKLINE>
    <BLANKLINE>
    """
    if precision is not None:
        check_range("precision", precision, at_least=0, at_most=100, whole=True)
    if weights.encoder.hash_bits is not None:
        raise DataError("hashed tests have no names to be written; train without hash_bits")
    unigram, bigram = weights.encoder.numbers()
    classes, Y = weights.classes, len(weights.classes)
    mu, lam = nonzero(weights.unigram), nonzero(weights.bigram)
    _check_labels(weights)
    with writer(path) as out:
        out.write(f"{_header(weights)}\n")
        for test, u, b in zip(weights.encoder.tests_, unigram.tolist(), bigram.tolist(), strict=True):
            lines = []
            for matrix, row in ((mu, u), (lam, b)):
                for column, value in _row(matrix, row, zeros):
                    shown = repr(value) if precision is None else f"{value:.{precision}f}"
                    if zeros or float(shown) != 0:
                        before = "#" if matrix is mu else classes[column // Y]
                        lines.append(f"{test}\t{before}\t{classes[column % Y]}\t{shown}\n")
            if lines and _CUTS.search(test):
                raise DataError(f"test {test!r} holds a tab or a line end, which a dump cannot; write .mill instead")
            if lines:
                out.write("".join(lines) + "\n")


def update_weights(weights: ChainWeights, path: str | os.PathLike[str]) -> ChainWeights:
    """The model with the weights of a dump put in; a weight of 0 removes a feature.

    >>> encoder = Encoder(patterns=["u:%x[0,0]"]).fit(["a"])
    >>> weights = ChainWeights("crf", ["A", "B"], encoder, sparse.csr_matrix([[2.0, 1]]), sparse.csr_matrix((0, 4)))
    >>> _ = Path("patch.txt").write_text("u:a\\t#\\tB\\t0\\n")
    >>> update_weights(weights, "patch.txt").unigram.toarray().tolist()
    [[2.0, 0.0]]
    """
    place = os.fspath(path)
    unigram, bigram = weights.encoder.numbers()
    number = {label: i for i, label in enumerate(weights.classes)}
    table = weights.encoder._table()
    Y = len(weights.classes)
    mu, lam = sparse.dok_matrix(weights.unigram), sparse.dok_matrix(weights.bigram)
    for line, fields in _lines(read_text(place), place):
        test, before, after, value = _fields(fields, number, place, line)
        at = table.find(test)
        if at < 0:
            raise DataError(f"the model has no test {test!r}; an update changes only its own", source=place, line=line)
        one = _is_unigram(test, before, number)
        row = int(unigram[at] if one else bigram[at])
        if row < 0:
            raise _wrong_sort(test, one, place, line)
        if one:
            mu[row, number[after]] = value
        else:
            lam[row, number[before] * Y + number[after]] = value
    return replace(weights, unigram=nonzero(mu.tocsr()), bigram=nonzero(lam.tocsr()))


def _header(weights: ChainWeights) -> str:
    encoder = weights.encoder
    facts = {
        "classes": weights.classes,
        "kind": weights.kind,
        "patterns": encoder.patterns_,
        "syntax": encoder.syntax,
        "width": encoder.width_,
    }
    return DUMP_HEADER + json.dumps(facts, ensure_ascii=False)


def _check_labels(weights: ChainWeights) -> None:
    """An error if a line could be read in two ways."""
    for label in weights.classes:
        if _CUTS.search(label):
            raise DataError(f"label {label!r} holds a tab or a line end, which a dump cannot; write .mill instead")
    if "#" in weights.classes and any(test.startswith("*") for test in weights.encoder.tests_):
        raise DataError("label '#' of tests that begin with * could be taken for no label; write .mill instead")


def _is_unigram(test: str, before: str, number: dict[str, int]) -> bool:
    """Whether a line is about a label and not a pair; a label may be called # itself."""
    return before == "#" and not (before in number and test[:1].lower() == "b")


def _lines(text: str, place: str) -> Iterator[tuple[int, list[str]]]:
    """The lines of weights with their numbers, cut into four fields."""
    for line, content in enumerate(text.split("\n"), 1):
        if not content or content.startswith("#"):
            continue
        fields = content.split("\t")
        if len(fields) != 4:
            fault = f"found {len(fields)} fields, expected test, label or #, label and weight parted by tabs"
            raise DataError(fault, source=place, line=line)
        yield line, fields


def _fields(fields: list[str], number: dict[str, int], place: str, line: int) -> tuple[str, str, str, float]:
    """Test, label before or #, label and weight of a line, checked."""
    test, before, after, shown = fields
    unknown = [label for label in (before, after) if label not in number and not (label == "#" and label is before)]
    if unknown:
        raise DataError(f"the model has no label {unknown[0]!r}", source=place, line=line)
    try:
        value = float(shown)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"{shown!r} is no weight; write a finite number", source=place, line=line)
    return test, before, after, value


def _wrong_sort(test: str, one: bool, place: str, line: int) -> DataError:
    sort = "unigram" if one else "bigram"
    return DataError(f"test {test!r} has no {sort} weights", source=place, line=line)


def _model(text: str, place: str, function: Callable[..., str] | None) -> ChainWeights:
    facts = _facts(text.partition("\n")[0], place)
    classes: list[str] = facts["classes"]
    number = {label: i for i, label in enumerate(classes)}
    rows: dict[str, list[tuple[bool, int, float]]] = {}  # by test: a label or a pair, its column, its weight
    for line, fields in _lines(text, place):
        test, before, after, value = _fields(fields, number, place, line)
        one = _is_unigram(test, before, number)
        if test[:1].lower() not in (("u", "*") if one else ("b", "*")) or (
            before == "#" and not one and "#" not in number
        ):
            raise _wrong_sort(test, one, place, line)
        column = number[after] if one else number[before] * len(classes) + number[after]
        rows.setdefault(test, []).append((one, column, value))
    encoder = Encoder(patterns=facts["patterns"] or None, syntax=facts["syntax"], function=function)
    encoder.patterns_, encoder.width_ = facts["patterns"], facts["width"]
    encoder.tests_ = StringTable(list(rows))
    encoder.verify()
    matrices = []
    counts = encoder.feature_counts(len(classes))
    sizes = ((counts.unigrams, len(classes)), (counts.bigrams, len(classes) ** 2))
    for wanted, rank, shape in zip((True, False), encoder.numbers(), sizes, strict=True):
        entries = [
            (row, column, value)
            for row, weights in zip(rank.tolist(), rows.values(), strict=True)
            for one, column, value in weights
            if one is wanted
        ]
        at, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
        matrices.append(sparse.csr_matrix((values, (at, columns)), shape=shape, dtype=float))
    return ChainWeights(facts["kind"], classes, encoder, *matrices)


def _facts(line: str, place: str) -> dict[str, Any]:
    """What the first line says, checked."""
    if not line.startswith(DUMP_HEADER):
        fault = f"a dump that begins with {DUMP_HEADER!r} is needed, else labels and patterns are not known"
        raise ModelFileError(f"{place}: {fault}; write it with `write_tagger` or `textmill tag dump`", reason="damaged")
    try:
        facts = json.loads(line.removeprefix(DUMP_HEADER))
    except ValueError:
        facts = None
    kinds = {"classes": list, "kind": str, "patterns": list, "syntax": str, "width": int}
    if not isinstance(facts, dict) or not all(isinstance(facts.get(name), kind) for name, kind in kinds.items()):
        raise ModelFileError(f"{place}: the first line is damaged", reason="damaged")
    labels = facts["classes"]
    texts = all(isinstance(text, str) for text in (*labels, *facts["patterns"]))
    if not texts or not labels or len(set(labels)) < len(labels) or facts["kind"] not in KINDS or facts["width"] < 0:
        raise ModelFileError(f"{place}: the first line is damaged", reason="damaged")
    return facts


def _row(matrix: sparse.csr_matrix, row: int, zeros: bool) -> Iterable[tuple[int, float]]:
    """Columns and weights of a row; of no row where it is -1."""
    if row < 0:
        return ()
    span = slice(matrix.indptr[row], matrix.indptr[row + 1])
    stored = zip(matrix.indices[span].tolist(), matrix.data[span].tolist(), strict=True)
    if not zeros:
        return stored
    return enumerate(matrix[[row]].toarray()[0].tolist())
