"""How good default patterns are: beside sets made by hand for each task, on the same data with the same training.

TEXTMILL_DATA=... python -m bench defaults [--quick]

The figures are errors (token error, or 100 - F1 of chunks), so lower is better and a ratio above 1 means that the
default is better. Each task has the columns that are named; `hand` are the sets of `bench.tagging`, with the part of
speech of the token and its neighbors where a task of names has that column. Every run is made once, whatever
`--repeats` says: it is deterministic.

The default was chosen from six sets by their figures on the usual test files (CoNLL-2000, CoNLL-2002 testb, JNLPBA, UD
English test), so none of those is tested on here: the sentences that are had no part in the choice.
"""

from __future__ import annotations

import functools
import random
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench._crf_problems import brown, iob2
from bench.harness import Job, Options
from bench.tagging import CHUNKS, LETTERS, NAMES, WORDS
from papers.letter_to_sound.nettalk import read_nettalk
from textmill.corpus import read_columns, read_conllu
from textmill.sequence import CRF, evaluate_tags

PACKAGES: list[str] = []
ITERATIONS = 80

Pairs = list[list[tuple[Any, str]]]  # sequences of tokens, which are tuples of columns, with their labels

TAGGED_NAMES = [*NAMES, *(f"u:p{i}=%x[{i},1]" for i in (-1, 0, 1))]


def jobs(options: Options) -> list[Job]:
    """One for every task."""
    data = options.data
    names, chunks = data / "conll2002", data / "conll2000" / "train.txt"
    tasks: dict[str, tuple[Callable[[], Pairs], Callable[[], Pairs], list[str], bool]] = {
        "parts of speech, English (UD), words": (
            lambda: _speech(data / "pos-ud/en_ewt-test.conllu"), lambda: _speech(data / "pos-ud/en_ewt-dev.conllu"),
            WORDS, False,
        ),
        "parts of speech, English (Brown), words": (
            lambda: _brown(data)[:6000], lambda: _brown(data)[6000:8000], WORDS, False,
        ),
        "parts of speech, Japanese (KWDLC), words": (
            lambda: _japanese(data)[:6000], lambda: _japanese(data)[6000:8000], WORDS, False,
        ),
        "chunks, English, words and tags": (
            lambda: _columns(chunks, 2)[:7000], lambda: _columns(chunks, 2)[7000:], CHUNKS, True,
        ),
        "chunks, English, words": (
            lambda: _columns(chunks, 1)[:7000], lambda: _columns(chunks, 1)[7000:], NAMES, True,
        ),
        "names, Spanish, words and tags": (
            lambda: _columns(names / "esp.train", 2), lambda: _columns(names / "esp.testa", 2), TAGGED_NAMES, True,
        ),
        "names, Spanish, words": (
            lambda: _columns(names / "esp.train", 1), lambda: _columns(names / "esp.testa", 1), NAMES, True,
        ),
        "names, biomedical, words": (
            lambda: _biomedical(data / "jnlpba/train.iob2")[:6000],
            lambda: _biomedical(data / "jnlpba/train.iob2")[6000:8000],
            NAMES, True,
        ),
        "letters to phonemes (Nettalk)": (
            lambda: _letters(data)[:4000], lambda: _letters(data)[4000:6000], LETTERS["3-grm"], False,
        ),
    }  # fmt: skip
    return [_job(options, name, *task) for name, task in tasks.items()]


def _job(
    options: Options,
    name: str,
    train: Callable[[], Pairs],
    test: Callable[[], Pairs],
    hand: list[str],
    is_chunks: bool,
) -> Job:
    @functools.cache
    def read() -> tuple[Pairs, Pairs]:
        part = 10 if options.quick else 1
        learn, check = train(), test()
        return learn[: len(learn) // part], check[: len(check) // part]

    @functools.cache
    def run(by_default: bool) -> tuple[float, int]:
        learn, check = read()
        tagger = CRF(patterns=None if by_default else hand, max_iter=ITERATIONS, n_jobs=2, random_state=0)
        tagger.fit(*_split(learn))
        X, y = _split(check)
        scores = evaluate_tags(y, tagger.predict(X), chunks=is_chunks)
        return 100 * ((1 - scores.f1) if is_chunks else scores.token_error), len(tagger.features_)

    return Job(
        name,
        lambda: run(True)[0],
        lambda: run(False)[0],
        "hand",
        lambda: f"weights {run(True)[1]} and {run(False)[1]}",
        figure="returned",
        label="100 - F1" if is_chunks else "% error",
        claim="letters" if name.startswith("letters") else "words",
    )


def _split(pairs: Pairs) -> tuple[list[Any], list[list[str]]]:
    return [[row for row, _ in pair] for pair in pairs], [[label for _, label in pair] for pair in pairs]


def _columns(path: Path, keep: int) -> Pairs:
    return [[(tuple(row[:keep]), row[-1]) for row in sentence] for sentence in read_columns(path)]


def _speech(path: Path) -> Pairs:
    sentences = read_conllu(path, words_only=True)
    return [[((word,), tag) for word, tag in zip(s.column("form"), s.column("upos"), strict=True)] for s in sentences]


def _biomedical(path: Path) -> Pairs:
    sentences = [[((word,), tag) for word, tag in sentence] for sentence in iob2(path)]
    random.Random(1).shuffle(sentences)
    return sentences


@functools.cache
def _brown(data: Path) -> Pairs:
    sentences = [[((word,), tag[:2]) for word, tag in sentence] for sentence in brown(data / "brown" / "brown.tar.gz")]
    random.Random(1).shuffle(sentences)
    return sentences


@functools.cache
def _letters(data: Path) -> Pairs:
    words = list(read_nettalk(data / "nettalk" / "nettalk.data"))
    random.Random(1).shuffle(words)
    return [[((letter,), phoneme) for letter, phoneme in zip(w.word, w.phonemes, strict=True)] for w in words]


@functools.cache
def _japanese(data: Path) -> Pairs:
    sentences = list(_knp(data / "kwdlc" / "kwdlc.tar.gz"))
    random.Random(1).shuffle(sentences)
    return sentences


def _knp(path: Path) -> Iterator[list[tuple[Any, str]]]:
    """Words and parts of speech of files of KNP."""
    with tarfile.open(path) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.name.endswith(".knp") else None
            rows: list[tuple[Any, str]] = []
            for line in file.read().decode("utf-8").splitlines() if file is not None else []:
                if line == "EOS":
                    if rows:
                        yield rows
                    rows = []
                elif line[:1] not in "#*+":
                    fields = line.split(" ")
                    rows.append(((fields[0],), fields[3]))
