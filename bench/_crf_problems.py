"""Problems of different shape on which CRF training is measured, 2 to 60 labels, with the same tests for every tool.

| name | labels | sequences | what |
|---|---|---|---|
| `copies` | 2 | 600 | generated: five columns that are nearly the same |
| `jnlpba-protein` | 3 | 5,000 | names of proteins in abstracts |
| `jnlpba-large` | 3 | 12,574 | the same in more of them |
| `conll2000-np` | 3 | 8,936 | noun phrases |
| `values` | 4 | 600 | generated: attributes with values from 0.01 to 100 |
| `long` | 6 | 20 | generated: sequences of 2,500 words, frequencies from 1 to 10^4 |
| `conll2002` | 9 | 4,000 | Spanish names |
| `jnlpba` | 11 | 3,000 | biomedical names |
| `pos-ud` | 17 | 2,001 | English parts of speech |
| `conll2000` | 22 | 8,936 | chunks |
| `nettalk` | 51 | 4,000 | letters to phonemes, with tests on pairs of labels |
| `brown` | 60 | 2,000 | English parts of speech |

All columns that a pattern needs (affixes, shapes) are made here, so the patterns have no command but %x, which Wapiti
knows too; CRFsuite gets the tests of the patterns that begin with u as attributes and has its own transitions, so its
counterpart has `unigram_patterns`. `values` has no patterns but attributes with values, which Wapiti does not know.
Each keeps one run of a peer, 60 iterations on one thread, within minutes; `quick` takes a tenth.
"""

from __future__ import annotations

import functools
import random
import re
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench._crf_peers import CHUNKS, Tags, columns, nettalk
from textmill.corpus import read_conllu
from textmill.sequence import Encoded, Encoder, FeatureLayout, label_ids

__all__ = ["PROBLEMS", "Problem", "attributes", "brown", "iob2", "problem"]

NAMES = [
    "b",
    *(f"u:w{i}=%x[{i},0]" for i in range(-2, 3)),
    "u:w-10=%x[-1,0]/%x[0,0]",
    "u:w01=%x[0,0]/%x[1,0]",
    "u:p=%x[0,1]",
    *(f"u:s{i}=%x[{i},2]" for i in range(-1, 2)),
    *(f"u:sh{i}=%x[{i},3]" for i in range(-1, 2)),
    "u:sh-10=%x[-1,3]/%x[0,3]",
]
WORDS = [
    "b",
    *(f"u:w{i}=%x[{i},0]" for i in range(-1, 2)),
    "u:p=%x[0,1]",
    *(f"u:s{i}=%x[{i},2]" for i in range(-1, 2)),
    "u:sh=%x[0,3]",
]
LETTERS = ["*", *(f"u:{i}=%x[{i},0]" for i in range(-2, 3)), "u:3=%x[-1,0]%x[0,0]%x[1,0]", "*:1=%x[0,0]"]
COPIES = ["b", *(f"u:{i}=%x[0,{i}]" for i in range(5)), "u:01=%x[0,0]/%x[0,1]"]
WINDOW = ["b", *(f"u:{i}=%x[{i},0]" for i in range(-2, 3)), "u:-10=%x[-1,0]/%x[0,0]"]


@dataclass(frozen=True)
class Problem:
    """Sequences, their labels, and the patterns that make tests of them; None where tokens bring their attributes."""

    name: str
    X: list[Any]
    y: Tags
    patterns: list[str] | None

    @functools.cached_property
    def classes(self) -> Any:
        """The labels in sorted order."""
        return np.array(sorted({label for labels in self.y for label in labels}))

    @property
    def unigram_patterns(self) -> list[str] | None:
        """What CRFsuite can have too: tests for one label, and the pairs of labels without a test."""
        return None if self.patterns is None else [*(p for p in self.patterns if p.startswith("u")), "b"]

    def encoded(self, patterns: list[str] | None) -> tuple[FeatureLayout, Encoded]:
        """Where the weights are, and the sequences as the training code takes them."""
        data = Encoder(patterns=patterns, n_jobs=1).fit_encode(self.X)
        data = data.with_labels(label_ids(self.y, data.offsets, self.classes))
        return FeatureLayout(len(self.classes), data.unigram.size, data.bigram.size), data

    def attributes(self) -> Iterator[list[Any]]:
        """The sequences as CRFsuite takes them."""
        if self.patterns is None:
            return iter(self.X)
        encoder = Encoder(patterns=[p for p in self.patterns if p.startswith("u")], n_jobs=1).fit(self.X)
        return attributes(encoder, self.X)

    def __str__(self) -> str:
        tokens = sum(map(len, self.y))
        return f"{self.name}: {len(self.classes)} labels, {len(self.y)} sequences, {tokens} tokens"


def problem(name: str, data: Path, *, quick: bool = False) -> Problem:
    """One of PROBLEMS, from the folder of real data; `quick` takes a tenth of it."""
    found = PROBLEMS[name](data)
    size = max(10, len(found.y) // 10) if quick else len(found.y)
    return Problem(name, found.X[:size], found.y[:size], found.patterns)


def attributes(encoder: Encoder, X: list[Any]) -> Iterator[list[list[str]]]:
    """The unigram tests of every token by their names, as CRFsuite's attributes."""
    names, data = encoder.tests_.to_list(), encoder.encode(X)
    number = [name for name, u in zip(names, encoder.numbers()[0].tolist(), strict=True) if u >= 0]
    ends = data.unigram.indptr.tolist()
    tests = [number[i] for i in data.unigram.ids.tolist()]
    for begin, end in zip(data.offsets[:-1].tolist(), data.offsets[1:].tolist(), strict=True):
        yield [tests[ends[t] : ends[t + 1]] for t in range(begin, end)]


def iob2(path: Path) -> Iterator[list[tuple[str, str]]]:
    """Words and tags of the sentences; lines that name an abstract are left out."""
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        rows = [line.split("\t") for line in block.splitlines() if line.strip() and not line.startswith("###MEDLINE")]
        if rows:
            yield [(row[0], row[-1]) for row in rows]


def brown(path: Path) -> Iterator[list[tuple[str, str]]]:
    """Words and tags of the sentences of the Brown corpus, its texts in the order of their names."""
    texts = {}
    with tarfile.open(path) as archive:
        for member in archive:  # in its own order: going back starts from the front
            file = archive.extractfile(member)
            if file is not None and len(name := Path(member.name).name) == 4:
                texts[name] = file.read().decode("latin-1")
    for name in sorted(texts):
        for line in texts[name].splitlines():
            pairs = [(token.rpartition("/")[0], token.rpartition("/")[2]) for token in line.split()]
            if pairs:
                yield pairs


def _sample(sentences: list[Any], size: int) -> list[Any]:
    """Some sentences, always the same, in a random order."""
    random.Random(1).shuffle(sentences)
    return sentences[:size]


def _row(word: str) -> tuple[str, str, str, str]:
    """The word in small letters, its first and last three letters, its shape."""
    shape = re.sub(r"(.)\1+", r"\1", re.sub(r"[^\W\d_]", "x", re.sub(r"[A-Z]", "X", re.sub(r"\d", "0", word))))
    return word.lower(), word[:3], word[-3:], shape


def _words(name: str, sentences: list[list[tuple[str, str]]], patterns: list[str]) -> Problem:
    X = [[_row(word) for word, _ in sentence] for sentence in sentences]
    return Problem(name, X, [[tag for _, tag in sentence] for sentence in sentences], patterns)


def _jnlpba(data: Path) -> Problem:
    return _words("jnlpba", _sample(list(iob2(data / "jnlpba" / "train.iob2")), 3000), NAMES)


def _proteins(data: Path, name: str, size: int) -> Problem:
    sentences = _sample(list(iob2(data / "jnlpba" / "train.iob2")), size)
    keep = ("B-protein", "I-protein")
    single = [[(word, tag if tag in keep else "O") for word, tag in sentence] for sentence in sentences]
    return _words(name, single, NAMES)


def _conll2002(data: Path) -> Problem:
    X, y = columns(data / "conll2002" / "esp.train")
    sentences = [[(row[0], tag) for row, tag in zip(*pair, strict=True)] for pair in zip(X, y, strict=True)]
    return _words("conll2002", _sample(sentences, 4000), NAMES)


def _conll2000(data: Path) -> Problem:
    return Problem("conll2000", *columns(data / "conll2000" / "train.txt"), CHUNKS)


def _conll2000_np(data: Path) -> Problem:
    X, y = columns(data / "conll2000" / "train.txt")
    keep = ("B-NP", "I-NP")
    return Problem("conll2000-np", X, [[tag if tag in keep else "O" for tag in tags] for tags in y], CHUNKS)


def _brown_tags(data: Path) -> Problem:
    """Tags without the marks of titles, headlines, negation and clitics; those of fewer than 40 words are one."""
    sentences = _sample(list(brown(data / "brown" / "brown.tar.gz")), 2000)
    base = [[(word, re.split(r"(?<=.)[-+*]", tag)[0][:3]) for word, tag in sentence] for sentence in sentences]
    count = Counter(tag for sentence in base for _, tag in sentence)
    often = [[(word, tag if count[tag] >= 40 else "other") for word, tag in sentence] for sentence in base]
    return _words("brown", often, WORDS)


def _nettalk(data: Path) -> Problem:
    return Problem("nettalk", *nettalk(data, 4000), LETTERS)


def _pos_ud(data: Path) -> Problem:
    sentences = list(read_conllu(data / "pos-ud" / "en_ewt-dev.conllu", words_only=True))
    tagged = [
        [(word.replace(" ", "_"), tag) for word, tag in zip(s.column("form"), s.column("upos"), strict=True)]
        for s in sentences
    ]
    return _words("pos-ud", tagged, WORDS)


def _zipf(rng: np.random.Generator, labels: int, types: int, length: int) -> tuple[list[str], list[str]]:
    """A random sequence: labels by a chain that likes to stay, words by rank from 1/r, mostly of their label."""
    rank = np.minimum(rng.zipf(1.3, length), types)
    stay = rng.random(length) < 0.7
    label = rng.integers(labels, size=length)
    for t in range(1, length):
        label[t] = label[t - 1] if stay[t] else label[t]
    own = np.where(rng.random(length) < 0.6, label, rng.integers(labels, size=length))
    return [f"{r}.{o if r % 3 else 0}" for r, o in zip(rank, own, strict=True)], [f"L{y}" for y in label]


def _copies(_: Path) -> Problem:
    """Four columns repeat the first, each with another one in fifty replaced: nearly singular."""
    rng = np.random.default_rng(7)
    X, y = [], []
    for _sequence in range(600):
        words, labels = _zipf(rng, 2, 3000, 40)
        copies = [np.where(rng.random(40) < 0.02, "other", words).tolist() for _ in range(4)]
        X.append(list(zip(words, *copies, strict=True)))
        y.append(labels)
    return Problem("copies", X, y, COPIES)


def _long(_: Path) -> Problem:
    """Few long sequences of words whose frequencies span four orders of magnitude."""
    rng = np.random.default_rng(8)
    sequences = [_zipf(rng, 6, 20_000, 2500) for _ in range(20)]
    return Problem("long", [[(word,) for word in words] for words, _ in sequences], [y for _, y in sequences], WINDOW)


def _values(_: Path) -> Problem:
    """Attributes with values whose scales span four orders of magnitude."""
    rng = np.random.default_rng(9)
    scale = np.logspace(-2, 2, 40)
    mean = rng.normal(size=(4, 40))
    X, y = [], []
    for _sequence in range(600):
        words, labels = _zipf(rng, 4, 500, 25)
        number = [int(label[1:]) for label in labels]
        values = scale * (0.5 * mean[number] + rng.normal(size=(25, 40)))
        X.append(
            [
                {f"w={word}": 1.0, **{f"v{j}": float(np.float32(v)) for j, v in enumerate(row)}}
                for word, row in zip(words, values, strict=True)
            ]
        )
        y.append(labels)
    return Problem("values", X, y, None)


PROBLEMS: dict[str, Callable[[Path], Problem]] = {
    "copies": _copies,
    "jnlpba-protein": functools.partial(_proteins, name="jnlpba-protein", size=5000),
    "jnlpba-large": functools.partial(_proteins, name="jnlpba-large", size=12_574),
    "conll2000-np": _conll2000_np,
    "values": _values,
    "long": _long,
    "conll2002": _conll2002,
    "jnlpba": _jnlpba,
    "pos-ud": _pos_ud,
    "conll2000": _conll2000,
    "nettalk": _nettalk,
    "brown": _brown_tags,
}
