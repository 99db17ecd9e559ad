"""Damaged files of every kind that is read: each is read still, or refused by an error that says where.

Models have their own mutants (model/test_model_fuzz.py), and so have binary machines, tables of symbols and archives
(fst/test_fst_formats.py, fst/test_fst_bad_input.py) and grammars (fst/test_grammar_language.py).
"""

from __future__ import annotations

import random
import warnings
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import sparse

from papers.semi_markov_crf.forest import read_amis
from textmill import fst
from textmill.corpus import (
    read_bags,
    read_choi,
    read_columns,
    read_conllu,
    read_dictionary,
    read_documents,
    read_terms,
    read_trees,
    write_bags,
)
from textmill.corpus.arpa import read_arpa
from textmill.errors import DataError, ModelFileError
from textmill.lm import NGramModel, read_model, to_arpa
from textmill.sequence import CRF, read_attributes, read_labeled, read_wapiti
from textmill.sequence.crfsuite import read_crfsuite
from textmill.sequence.dumps import read_dump
from textmill.sequence.exchange import read_tagger, write_tagger
from textmill.tasks.names import read_gold, read_names
from textmill.tasks.voicemail import read_messages


class Loader(NamedTuple):
    """A kind of file: its suffix, a good one, and who reads it to the end."""

    suffix: str
    write: Callable[[Path], object]
    read: Callable[[Path], object]


def text(*lines: str) -> Callable[[Path], object]:
    return lambda path: path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def through(read: Callable[..., Any], **options: Any) -> Callable[[Path], object]:
    """Read what is read lazily to its end."""
    return lambda path: deque(read(path, **options), maxlen=0)


def bags(suffix: str) -> Loader:
    matrix = sparse.csr_matrix(np.random.default_rng(11).integers(0, 3, (12, 7)))
    columns = 7 if suffix in (".svmlight", ".ldac") else None
    return Loader(suffix, lambda path: write_bags(path, matrix), lambda path: read_bags(path, columns=columns).load())


def language_model(path: Path) -> None:
    to_arpa(NGramModel(order=2).fit(["to be", "to do", "to be or not to be"]), path)


def tagger(path: Path, kind: str) -> None:
    X, y = [["the", "old", "mill"], ["a", "storm"]] * 2, [["D", "A", "N"], ["D", "N"]] * 2
    write_tagger(CRF(patterns=["u:%x[0,0]", "b"], max_iter=5, tolerance=0.0).fit(X, y), path, format=kind)


PAGE = (
    "<page><title>{0}</title><ns>0</ns><id>1</id><revision>"
    "<text>'''{0}''' [[mill|mills]] {{{{x}}}}</text></revision></page>"
)
AMIS = "event_1\n2 f1:2 f3\n{ d1 ( n1 f1:2 { d2 ( n2 f2:3 ) ( n3 ) } { d3 $n2 ( n4 f3 ) } ) }\n"
PATIENT = {"attributes", "html", "terms"}  # any text will do

LOADERS = {
    "jsonl": Loader(".jsonl", text(*['{"id": 1, "text": "the mill", "n": [1, 2.5, null]}'] * 4),
                    through(read_documents)),
    "csv": Loader(".csv", text("id,text", '1,"a ""b"", c"', "2,d") , through(read_documents)),
    "tsv": Loader(".tsv", text("id\ttext", "1\ta b", "2\td"), through(read_documents)),
    "html": Loader(".html", text("<html><head><title>t</title></head><body><p>mill &amp; sea</p></body></html>"),
                   through(read_documents)),
    "xml": Loader(".xml", text('<?xml version="1.0"?><a><text>mill &amp; sea</text><text>b</text></a>'),
                  through(read_documents)),
    "wikipedia": Loader(".xml", text(f"<mediawiki>{PAGE.format('A')}{PAGE.format('B')}</mediawiki>"),
                        through(read_documents)),
    "columns": Loader(".txt", text("the D B-NP", "mill N I-NP", "", "sea N B-NP"), through(read_columns)),
    "labeled columns": Loader(".txt", text("the D B-NP", "mill N I-NP", "", "sea N B-NP"), read_labeled),
    "conllu": Loader(".conllu", text("# id = 1", "1\tthe\tthe\tDET\tD\tA=b\t2\tdet\t_\t_",
                                     "2\tmill\tmill\tNOUN\tN\t_\t0\troot\t_\t_", ""), through(read_conllu)),
    "trees": Loader(".mrg", text("(S (NP (D the) (N mill)) (VP (V turns)))", "(S (N sea))"), through(read_trees)),
    "choi": Loader(".ref", text("==========", "a b c .", "d e .", "==========", "f g .", "=========="), read_choi),
    "dictionary": Loader(".txt", text("3", "0\tmill\t2", "1\tsea\t1"), read_dictionary),
    "terms": Loader(".txt", text("mill", "sea", "storm"), read_terms),
    "mm": bags(".mm"),
    "svmlight": bags(".svmlight"),
    "ldac": bags(".ldac"),
    "uci": bags(".uci"),
    "npz": bags(".npz"),
    "arpa": Loader(".arpa", language_model, read_arpa),
    "language model": Loader(".arpa", language_model, read_model),
    "machine text": Loader(".txt", text("0 1 97 98 0.5", "1 2 98 0", "2 1.5"), fst.read_text),
    "jsgf": Loader(".jsgf", text("#JSGF V1.0;", "grammar a;", "public <a> = (call | ring) [the] <b>*;", "<b> = mill;"),
                   fst.read_jsgf),
    "thrax": Loader(".grm", text('export A = ("a" : "b")* | Optimize["c"];'), fst.read_thrax),
    "lexicon": Loader(".dict", text("mill\t0.5", "sea\t1"), lambda path: fst.read_lexicon(path)),
    "amis": Loader(".amis", lambda path: path.write_text(AMIS, encoding="utf-8"), read_amis),
    "attributes": Loader(".txt", text("N\tw=mill:0.5\tp=D", "D\tw=the", "", "N\tw=sea"), through(read_attributes)),
    "wapiti": Loader(".wapiti", lambda path: tagger(path, "wapiti"), read_wapiti),
    "crfsuite": Loader(".crfsuite", lambda path: tagger(path, "crfsuite"), read_crfsuite),
    "crfsuite dump": Loader(".dump", lambda path: tagger(path, "dump"), read_dump),
    "foreign tagger": Loader(".wapiti", lambda path: tagger(path, "wapiti"), read_tagger),
    "gold": Loader(".tsv", text("a\tb\tpos", "c\td\tneg"), read_gold),
    "names": Loader(".tsv", text("id\tname", "1\tAnn Smith", "2\tTom Jones"), read_names),
    "messages": Loader(".txt", text("hi <caller> ann </caller> call <telno> six </telno>"), through(read_messages)),
}  # fmt: skip


def mutate(dice: random.Random, content: bytes) -> bytes:
    """One to three changes: bytes, cuts, repetitions, and what stands between fields."""
    for _ in range(dice.choice([1, 1, 2, 3])):
        made = bytearray(content or b"\0")
        at = dice.randrange(len(made))
        match dice.randrange(6):
            case 0:
                made[at] ^= 1 << dice.randrange(8)
            case 1:
                made[at] = dice.randrange(256)
            case 2:
                del made[at:]
            case 3:
                del made[at : at + dice.randint(1, 9)]
            case 4:
                to = min(len(made), at + dice.randint(1, 40))
                made[at:at] = made[at:to]
            case _:
                made[at:at] = dice.choice(
                    [
                        b"\n",
                        b"\t",
                        b" ",
                        b'"',
                        b"\\",
                        b"<",
                        b"(",
                        b"-1",
                        b"99999999999999999999",
                        b"nan",
                        b"\xff\xfe",
                        b"\0",
                    ]
                )
        content = bytes(made)
    return content


def good(kind: str, path: Path) -> bytes:
    with warnings.catch_warnings(action="ignore"):
        LOADERS[kind].write(path)
    return path.read_bytes()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", LOADERS)
def test_the_good_file_is_read(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"good{LOADERS[kind].suffix}"
    assert good(kind, path)
    LOADERS[kind].read(path)


@pytest.mark.parametrize("count", [150, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", LOADERS)
def test_mutants_are_read_or_refused_in_one_line(kind: str, count: int, tmp_path: Path) -> None:
    loader, refused = LOADERS[kind], 0
    original = good(kind, tmp_path / f"good{loader.suffix}")
    path, dice = tmp_path / f"mutant{loader.suffix}", random.Random(f"{kind} {count}")
    with warnings.catch_warnings(action="ignore"):
        for number in range(count):
            content = mutate(dice, original)
            path.write_bytes(content)
            fault = ""
            try:
                loader.read(path)
            except (DataError, ModelFileError) as error:
                refused, fault = refused + 1, str(error)
            except Exception as error:
                raise AssertionError(f"mutant {number}: {type(error).__name__}: {error}: {content!r}") from error
            assert "\n" not in fault, (number, content)
    assert refused or kind in PATIENT, "no mutant was damaged enough"
