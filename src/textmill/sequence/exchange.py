"""Taggers from and into files of any kind, recognized by their first bytes or their suffix.

.mill             our own, with everything; `textmill.load` and `save`
#mdl#...          a model file of Wapiti
lCRF...           a model file of CRFsuite
FILEHEADER = {    a dump of CRFsuite; read only
#textmill dump    a dump of ours: text, one weight a line
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from textmill.errors import ModelFileError
from textmill.model import check_choice, load
from textmill.sequence.chainmodel import ChainModel
from textmill.sequence.crf import CRF
from textmill.sequence.crfsuite import read_crfsuite, write_crfsuite
from textmill.sequence.dumps import DUMP_HEADER, read_dump, write_dump
from textmill.sequence.formats import ChainWeights, read_crfsuite_dump, read_wapiti, write_wapiti
from textmill.sequence.latent import LatentCRF
from textmill.sequence.markov import ConditionalMarkov

__all__ = ["TAGGERS", "TAGGER_FORMATS", "read_tagger", "tagger_of", "write_tagger"]

TAGGERS: dict[str, type[CRF | ConditionalMarkov | LatentCRF]] = {
    cls.kind: cls for cls in (CRF, ConditionalMarkov, LatentCRF)
}
TAGGER_FORMATS = ("mill", "wapiti", "crfsuite", "dump")

_DUMP_LINE = re.compile(rb"[uUbB*][^\t\n]*\t[^\t\n]+\t[^\t\n]+\t-?[0-9.e+-]+\r?\n")


def read_tagger(path: str | os.PathLike[str], *, function: Callable[..., str] | None = None) -> ChainModel:
    """Read a tagger from a file of textmill, Wapiti or CRFsuite, or from a dump of textmill or CRFsuite.

    `function` is what the %f of its patterns calls.

    >>> CRF(patterns=["u:%x[0,0]"], l1=0.1).fit([[("a",), ("b",)]] * 3, [["A", "B"]] * 3).save("ab.mill")
    >>> read_tagger("ab.mill").predict([[("b",)]])
    [['B']]
    """
    with open(path, "rb") as file:
        head = file.read(4096)
    if head.startswith(b"#mdl#"):
        return tagger_of(read_wapiti(path))
    if head.startswith(b"lCRF"):
        return tagger_of(read_crfsuite(path))
    if head.startswith(b"FILEHEADER = {"):
        return tagger_of(read_crfsuite_dump(path))
    if head.startswith(DUMP_HEADER.encode()) or _DUMP_LINE.match(head):
        return tagger_of(read_dump(path, function=function))
    functions: dict[str, Any] = {}
    if function is not None:
        functions = {"encoder__function": function, "encoder___function": function}
    model = load(path, **functions)
    if not isinstance(model, ChainModel):
        raise ModelFileError(f"{os.fspath(path)}: holds a {type(model).__name__}, not a tagger", reason="other kind")
    return model


def tagger_of(weights: ChainWeights) -> ChainModel:
    """The estimator that weights belong to: a CRF, or a conditional Markov model.

    >>> from scipy.sparse import csr_matrix
    >>> from textmill.sequence import Encoder
    >>> encoder = Encoder(patterns=["u:%x[0,0]"]).fit(["ab"])
    >>> weights = ChainWeights("crf", ["A", "B"], encoder, csr_matrix([[1.0, 0], [0, 1.0]]), csr_matrix((0, 4)))
    >>> tagger_of(weights).predict(["ba"])
    [['B', 'A']]
    """
    return TAGGERS[weights.kind].from_weights(weights)


def write_tagger(model: ChainModel, path: str | os.PathLike[str], *, format: str | None = None) -> None:  # noqa: A002
    """Write a tagger; without `format` the suffix decides: .mill, .wapiti, .crfsuite or .dump.

    >>> tagger = CRF(patterns=["u:%x[0,0]"], l1=0.1).fit([[("a",), ("b",)]] * 3, [["A", "B"]] * 3)
    >>> write_tagger(tagger, "ab.wapiti")
    >>> read_tagger("ab.wapiti").predict([[("b",)]])
    [['B']]
    """
    chosen = Path(path).suffix.removeprefix(".") if format is None else format
    check_choice("format", chosen, TAGGER_FORMATS)
    if chosen == "mill":
        model.save(path)
    elif chosen == "wapiti":
        write_wapiti(model.to_weights(), path)
    elif chosen == "crfsuite":
        write_crfsuite(model.to_weights(), path)
    else:
        write_dump(model.to_weights(), path)
