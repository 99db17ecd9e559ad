"""Transcription: textmill against Phonetisaurus on pronunciations, one thread, and quality on names.

Times are processor seconds of one thread; those of Phonetisaurus are its programs run one after the other as its own
script does (phonetisaurus-align, estimate-ngram, phonetisaurus-arpa2wfst; phonetisaurus-g2pfst). The appendix trains
with one command for all languages, choices on development words, and reads the test once. Its parts can be had one by
one: --only languages, few (training words), large (the CMU dictionary), names, kanji.
"""

from __future__ import annotations

import itertools
import os
import resource
import subprocess
import sys
import tempfile
import unicodedata
import warnings
import zlib
from collections.abc import Callable, Iterable
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from bench import _kanji
from bench.harness import Job, Options
from textmill.lm import PairModel
from textmill.metrics import paired_bootstrap
from textmill.tasks.transcription import (
    Pairs,
    Transcriber,
    evaluate_transcriptions,
    read_transcriptions,
    script_pack,
)

PACKAGES = ["phonetisaurus"]
LANGUAGES = ("ady", "bul", "fre", "gre", "hin", "ice", "kor", "vie")
THREE = ("ady", "bul", "fre")
ORDER = 8  # Phonetisaurus's own
ALIGN = """
from textmill.lm import PairModel
from textmill.tasks.transcription import read_transcriptions

pairs = read_transcriptions({lexicon!r})
PairModel(max_input=2, n_jobs=1).aligner().fit(list(zip(pairs.words, pairs.outputs)), errors="skip")
"""
BLANK = "\u2423"  # stands for a blank within a word of Vietnamese
HEAD = "| {} | textmill | Phonetisaurus | difference, 95 % by bootstrap | p |\n|---|---|---|---|---|"

_appendix: list[Callable[[], str]] = []


def jobs(options: Options) -> list[Job]:
    """Training and decoding on the CMU dictionary, and the search on 3,600 words."""
    warnings.simplefilter("ignore")
    folder = Path(tempfile.mkdtemp(prefix="textmill-bench-"))
    cmu = options.data / "g2p-cmu"
    lexicon, words = cmu / "g014b2b.train", cmu / "g014b2b.words"
    if options.quick:
        some = lexicon.read_text(encoding="utf-8").splitlines(keepends=True)[::20]
        lexicon = folder / "some.train"
        lexicon.write_text("".join(some), encoding="utf-8")
    train = read_transcriptions(str(lexicon))
    names = words.read_text(encoding="utf-8").split()
    references = dict(zip(*read_transcriptions(str(cmu / "g014b2b.ref")).references(), strict=True))

    @cache
    def ours() -> PairModel:
        return PairModel(order=ORDER, n_jobs=1).fit(train.words, train.outputs)

    @cache
    def theirs() -> Path:
        Phonetisaurus(folder / "cmu").train(lexicon)
        return folder / "cmu"

    def quality() -> str:
        right = [ours().predict(names), Phonetisaurus(theirs()).best(words, names)[1]]
        errors = [
            100 * np.mean([tuple(y) not in references[w] for w, y in zip(names, ys, strict=True)]) for ys in right
        ]
        return f"word error {errors[0]:.2f} against {errors[1]:.2f} %"

    parts = {"languages": _languages, "few": _few, "large": _large, "names": _names, "kanji": _kanji_table}
    _appendix[:] = [partial(make, options.data) for name, make in parts.items() if options.wants(name)]
    french = options.data / "g2p-sigmorphon2020" / "fre_train.tsv"
    french_train = read_transcriptions(str(french))
    french_dev = read_transcriptions(str(french.with_name("fre_dev.tsv")))
    return [
        Job(
            "train on the CMU dictionary, order 8",
            lambda: seconds(lambda: PairModel(order=ORDER, n_jobs=1).fit(train.words, train.outputs)),
            lambda: Phonetisaurus(folder / "again").train(lexicon),
            "phonetisaurus",
            quality,
            figure="returned",
            bar=10.0,
        ),
        Job(
            "decode 12,000 words, best output",
            lambda: seconds(lambda: ours().predict(names)),
            lambda: Phonetisaurus(theirs()).best(words, names)[0],
            "phonetisaurus-g2pfst",
            figure="returned",
            bar=2.0,
        ),
        Job(
            "peak memory of the aligner, units 2 x 2",
            lambda: peak([sys.executable, "-c", ALIGN.format(lexicon=str(lexicon))], dict(os.environ)),
            lambda: Phonetisaurus(folder / "memory").memory(lexicon),
            "phonetisaurus-align",
            figure="returned",
            label="MB",
            bar=3.0,
        ),
        Job(
            "search on 3,600 words (at most 10 times)",
            lambda: seconds(
                lambda: Transcriber(n_jobs=1).fit(
                    french_train.words, french_train.outputs, french_dev.words, french_dev.outputs
                )
            ),
            lambda: Phonetisaurus(folder / "french").train(french),
            "phonetisaurus, training",
            figure="returned",
            bar=0.1,
        ),
    ]


def peak(command: list[str], environment: dict[str, str]) -> float:
    """The most memory that a program has at once, in megabytes."""
    program = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(program.pid, 0)
    program.returncode = os.waitstatus_to_exitcode(status)
    if program.returncode:
        raise SystemExit(f"{command[0]} failed with {program.returncode}")
    return used.ru_maxrss / 1024


def seconds(work: Any) -> float:
    """Processor seconds of this process."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    work()
    after = resource.getrusage(resource.RUSAGE_SELF)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


class Phonetisaurus:
    """The programs of its wheel, in a folder for their files."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        package = Path(str(metadata.distribution("phonetisaurus").locate_file("phonetisaurus")))
        self.programs = package / "bin" / "x86_64"
        self.environment = {**os.environ, "LD_LIBRARY_PATH": str(package / "lib" / "x86_64")}

    def run(self, program: str, *arguments: str) -> tuple[float, str]:
        """Processor seconds and what was printed."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [str(self.programs / program), *arguments]
        done = subprocess.run(command, env=self.environment, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        return spent, done.stdout.decode("utf-8", "replace")

    def memory(self, lexicon: Path) -> float:
        """Megabytes that the aligner has at most."""
        arguments = [f"--input={lexicon}", f"--ofile={self.folder / 'corpus'}", "--seq1_del=false"]
        return peak([str(self.programs / "phonetisaurus-align"), *arguments], self.environment)

    def train(self, lexicon: Path) -> float:
        """Processor seconds of training."""
        corpus, arpa = self.folder / "corpus", self.folder / "model.arpa"
        return (
            self.run("phonetisaurus-align", f"--input={lexicon}", f"--ofile={corpus}", "--seq1_del=false")[0]
            + self.run("estimate-ngram", "-o", str(ORDER), "-t", str(corpus), "-wl", str(arpa))[0]
            + self.run("phonetisaurus-arpa2wfst", f"--lm={arpa}", f"--ofile={self.folder / 'model.fst'}")[0]
        )

    def best(self, wordlist: Path, words: list[str]) -> tuple[float, list[list[str]]]:
        """Processor seconds, and the best output of each word."""
        model = f"--model={self.folder / 'model.fst'}"
        spent, text = self.run("phonetisaurus-g2pfst", model, f"--wordlist={wordlist}", "--nbest=1")
        answers = {line.split("\t")[0]: line.split("\t")[-1].split() for line in text.splitlines() if line}
        return spent, [answers.get(word, []) for word in words]


def appendix() -> str:
    """Word error of all languages by one command, with paired intervals; names in katakana and Arabic; kanji."""
    return "\n\n".join(make() for make in _appendix)


def _languages(data: Path) -> str:
    """All languages of SIGMORPHON 2020."""
    lines = ["sigmorphon 2020, word error %, choices on dev, test read once", "", HEAD.format("language")]
    errors: dict[str, tuple[float, float]] = {}
    for language in LANGUAGES:
        wrong = _wrong(*(_part(data, language, part) for part in ("train", "dev", "test")))
        errors[language] = (100 * wrong[0].mean(), 100 * wrong[1].mean())
        lines.append(_row(language, *wrong))
    for name, some in (("ady, bul, fre", THREE), ("all", LANGUAGES)):
        means = np.mean([errors[language] for language in some], axis=0)
        lines.append(f"| mean of {name} | {means[0]:.2f} | {means[1]:.2f} | | |")
    return "\n".join(lines)


def _few(data: Path) -> str:
    """The same languages with few training words; tested on 600 further words of the training files."""
    lines = ["few training words, word error %", "", HEAD.format("words to learn from and to choose by")]
    for size, apart in ((100, 50), (300, 100), (1000, 150)):
        sides: list[list[Any]] = [[], []]
        for language in LANGUAGES:
            pairs = _part(data, language, "train")
            order = np.random.default_rng(0).permutation(len(pairs.words))
            ends = (0, size, size + apart, size + apart + 600)
            wrong = _wrong(*(_some(pairs, order[first:end]) for first, end in itertools.pairwise(ends)))
            sides[0].append(wrong[0])
            sides[1].append(wrong[1])
            lines.append(_row(f"{language}, {size} and {apart}", *wrong))
        lines.append(_row(f"all, {size} and {apart}", *(np.concatenate(side) for side in sides)))
    return "\n".join(lines)


def _large(data: Path) -> str:
    """The CMU dictionary by the same command, a word in twenty kept apart to choose by."""
    folder = data / "g2p-cmu"
    pairs = read_transcriptions(str(folder / "g014b2b.train"))
    kept = np.array([zlib.crc32(word.encode()) % 20 == 0 for word in pairs.words])
    test = read_transcriptions(str(folder / "g014b2b.ref"))
    wrong = _wrong(_some(pairs, np.flatnonzero(~kept)), _some(pairs, np.flatnonzero(kept)), test, whole=pairs)
    return "\n".join([HEAD.format("dictionary"), _row("CMU, 12,000 test words", *wrong)])


def _kanji_table(data: Path) -> str:
    return "\n".join(["kanji of surnames from their readings", "", *_kanji.table()])


def _part(data: Path, language: str, part: str) -> Pairs:
    return read_transcriptions(str(data / "g2p-sigmorphon2020" / f"{language}_{part}.tsv"))


def _some(pairs: Pairs, rows: Iterable[int]) -> Pairs:
    numbers = list(rows)
    return Pairs([pairs.words[i] for i in numbers], [pairs.outputs[i] for i in numbers])


def _row(name: str, ours: Any, theirs: Any) -> str:
    """Word errors, and the difference with an interval over words."""
    first, second = (np.column_stack([side, np.ones(len(side))]) for side in (ours, theirs))
    p = paired_bootstrap(first, second, lambda sums: sums[..., 0] / sums[..., 1]).p_value
    apart = 100 * (ours - theirs)
    draws = np.random.default_rng(0).integers(0, len(apart), (2000, len(apart)))
    low, high = np.percentile(apart[draws].mean(axis=1), [2.5, 97.5])
    interval = f"{apart.mean():+.2f} [{low:+.2f}, {high:+.2f}]"
    return f"| {name} | {100 * ours.mean():.2f} | {100 * theirs.mean():.2f} | {interval} | {p:.3f} |"


def _wrong(train: Pairs, dev: Pairs, test: Pairs, whole: Pairs | None = None) -> tuple[Any, Any]:
    """Which test words are wrong, by us and by Phonetisaurus (in NFD, with a sign for blanks).

    Phonetisaurus learns from `whole`, where it is passed, as it chooses nothing.
    """
    words, references = test.references()
    model = Transcriber().fit(train.words, train.outputs, dev.words, dev.outputs)
    ours = [row[0].output if row else [] for row in model.predict_best(words, 1, cached=False)]
    with tempfile.TemporaryDirectory() as place:
        peer = Phonetisaurus(Path(place))
        lexicon, wordlist = Path(place) / "lexicon", Path(place) / "words"
        plain = [unicodedata.normalize("NFD", word).replace(" ", BLANK) for word in words]
        rows = zip(*(whole or train), strict=True)
        text = "".join(f"{unicodedata.normalize('NFD', w).replace(' ', BLANK)}\t{' '.join(o)}\n" for w, o in rows)
        lexicon.write_text(text, encoding="utf-8")
        wordlist.write_text("\n".join(plain) + "\n", encoding="utf-8")
        peer.train(lexicon)
        theirs = peer.best(wordlist, plain)[1]
    sides = (ours, theirs)
    return tuple(  # type: ignore[return-value]
        np.array([tuple(y) not in right for y, right in zip(ys, references, strict=True)], float) for ys in sides
    )


def _names(data: Path) -> str:
    """Accuracy of pair models on names: katakana directly and as sounds, Arabic."""
    lines = ["| names | order | ACC | top 3 | top 10 | F | MRR |", "|---|---|---|---|---|---|---|"]
    for name, notation, order in (
        ("katakana", None, 6), ("katakana", "katakana", 6), ("katakana", "katakana", 2), ("arabic", None, 6),
    ):  # fmt: skip
        folder = data / "transliteration"
        train, test = (
            read_transcriptions(str(folder / f"wd_{name}_{part}"), outputs="characters") for part in ("64", "20")
        )
        words, references = test.references()
        pack = None if notation is None else script_pack(notation)
        outputs = train.outputs if pack is None else [pack.encode(output) for output in train.outputs]
        model = PairModel(order=order, max_output=2 if pack is None else 3).fit(train.words, outputs)
        acceptor = None if pack is None else pack.acceptor(model.output_symbols_)
        rows = model.predict_best(words, 10, acceptor=acceptor)
        texts = [[one.output if pack is None else pack.decode(one.output) for one in row] for row in rows]
        scores = evaluate_transcriptions(
            [[text for text in row if text is not None] for row in texts], [list(right) for right in references]
        )
        lines.append(
            f"| {name}, {'as sounds' if pack else 'direct'} | {order} | {scores.mean('accuracy'):.3f} | "
            f"{scores.top(3):.3f} | {scores.top(10):.3f} | {scores.mean('f'):.3f} | {scores.mean('mrr'):.3f} |"
        )
    return "\n".join(lines)
