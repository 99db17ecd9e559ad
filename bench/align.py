"""String alignment: textmill against phonetisaurus-align on the CMU dictionary, one thread unless it says so.

TEXTMILL_DATA=... python -m bench align

Both learn links of up to two letters and two phonemes (one of them several on one side only), with silent letters and
without inserted phonemes, in eleven iterations, and write the best alignment of every word. Phonetisaurus is a wheel
with programs for Linux on x86-64, which are run as they are, on every sixth word.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import tempfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from bench.harness import Job, Options
from papers.letter_to_sound.nettalk import read_nettalk
from textmill.fst import StringAligner, parse_alignment, read_pairs

PACKAGES = ["phonetisaurus"]
ITERATIONS = 11


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    kept = tempfile.TemporaryDirectory()
    atexit.register(kept.cleanup)  # and keeps it as long as the jobs need it
    folder = Path(kept.name)
    lines = (options.data / "g2p-cmu" / "g014b2b.train").read_text(encoding="utf-8").splitlines(keepends=True)
    lexicon = folder / "lexicon.tsv"
    lexicon.write_text("".join(lines[:: 100 if options.quick else 1]), encoding="utf-8")
    part = folder / "part.tsv"  # for the peer, which takes minutes for all of it
    part.write_text("".join(lines[:: 100 if options.quick else 6]), encoding="utf-8")
    words = list(read_nettalk(options.data / "nettalk" / "nettalk.data"))[:: 20 if options.quick else 1]
    gold = folder / "nettalk.tsv"
    gold.write_text("".join(f"{w.word}\t{' '.join(w.phonemes.replace('-', ''))}\n" for w in words), encoding="utf-8")

    def ours(source: Path, *, threads: int = 1, longest: int = 2) -> StringAligner:
        """What the peer does: read, learn, align, write."""
        pairs = [(record.input, record.output) for record in read_pairs(source)]
        aligner = StringAligner(
            max_input=longest, max_output=longest, insertions=False, max_iter=ITERATIONS, tolerance=0.0, n_jobs=threads
        ).fit(pairs, errors="skip")
        with (folder / "ours.txt").open("w", encoding="utf-8") as out:
            out.writelines(f"{found.text() if found else ''}\n" for found in aligner.align(pairs))
        return aligner

    def peer(source: Path, *, longest: int = 2) -> None:
        phonetisaurus(source, folder / "theirs.txt", longest)

    def likelihoods() -> str:
        aligner = ours(part)
        pairs = [(record.input, record.output) for record in read_pairs(part)]
        peer(part)
        mine = [found for found in aligner.align(pairs) if found is not None]
        theirs = [parse_alignment(line, between="}") for line in _lines(folder / "theirs.txt")]
        return (
            f"{_bits(mine):.2f} and {_bits(theirs):.2f} bits per word, "
            f"{len(pairs) - len(mine)} and {len(pairs) - len(theirs)} of {len(pairs)} words not aligned"
        )

    def agreement() -> str:
        ours(gold, longest=1)
        peer(gold, longest=1)
        return (
            " and ".join(
                f"{_agreement([parse_alignment(line, between=sign) for line in _lines(folder / name)], words):.2%}"
                for name, sign in (("ours.txt", ":"), ("theirs.txt", "}"))
            )
            + " of letters as in the dictionary"
        )

    pairs = [(record.input, record.output) for record in read_pairs(lexicon)]
    trained = ours(lexicon)

    def learn(threads: int, **limits: Any) -> Callable[[], Any]:
        aligner = StringAligner(max_iter=ITERATIONS, tolerance=0.0, n_jobs=threads, **limits)
        return lambda: aligner.fit(pairs, errors="skip")

    two = {"max_input": 2, "max_output": 2, "insertions": False}

    def best(threads: int, n: int) -> Callable[[], Any]:
        encoded = trained._encoded(pairs)
        links, order = trained._links()[0], trained._order()
        return lambda: links.best(trained.log_probabilities_, *encoded.arrays(), order, n, threads)

    def expect(threads: int) -> Callable[[], Any]:
        encoded = trained._encoded(pairs)
        links, p = trained._links()[0], np.exp(trained.log_probabilities_)
        totals, counts = np.empty(len(pairs)), np.zeros(len(p))
        return lambda: links.expect(p, *encoded.arrays(), None, threads, totals, counts)

    one, both = "textmill, 1 thread", "2 threads"
    return [
        Job("learn and align, 2 x 2", lambda: ours(part), lambda: peer(part), "phonetisaurus-align", likelihoods),
        Job("NETtalk, 1 x 1", lambda: ours(gold, longest=1), lambda: peer(gold, longest=1), "phonetisaurus-align",
            agreement),
        Job(f"learn, 1 x 1, {both}", learn(2), learn(1), one),
        Job(f"learn, 2 x 2, {both}", learn(2, **two), learn(1, **two), one),
        Job(f"expected counts, 2 x 2, {both}", expect(2), expect(1), one, bar=1.6),
        Job(f"best alignments, 2 x 2, {both}", best(2, 1), best(1, 1), one, bar=1.6),
        Job(f"ten best alignments, 2 x 2, {both}", best(2, 10), best(1, 10), one, bar=1.6),
    ]  # fmt: skip


def phonetisaurus(source: Path, target: Path, longest: int) -> None:
    """Run the aligner of the wheel."""
    package = Path(str(metadata.distribution("phonetisaurus").locate_file("phonetisaurus")))
    program = package / "bin" / "x86_64" / "phonetisaurus-align"
    subprocess.run(
        [
            str(program),
            f"--input={source}",
            f"--ofile={target}",
            f"--iter={ITERATIONS}",
            "--thresh=-1",
            f"--seq1_max={longest}",
            f"--seq2_max={longest}",
            "--seq1_del=false",  # no phoneme without a letter
            "--seq2_del=true",
        ],
        env={**os.environ, "LD_LIBRARY_PATH": str(package / "lib" / "x86_64")},
        check=True,
        capture_output=True,
    )


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line]


def _bits(alignments: list[Any]) -> float:
    """Bits per word, by the frequencies of links in the alignments themselves."""
    numbers: dict[Any, int] = {}
    for found in alignments:
        for link in found.links:
            numbers[link] = numbers.get(link, 0) + 1
    counts = np.array(list(numbers.values()), dtype=float)
    return float(-(counts * np.log2(counts / counts.sum())).sum() / len(alignments))


def _agreement(alignments: list[Any], words: list[Any]) -> float:
    """Share of letters whose phoneme is that of the hand-made alignment; a word that is missing agrees nowhere."""
    gold = {(w.word, w.phonemes.replace("-", "")): w.phonemes for w in words}
    right = sum(
        sum(made == hand for made, hand in zip(("".join(v) or "-" for _, v in found.links), phonemes, strict=False))
        for found in alignments
        if (phonemes := gold.get(("".join(found.input), "".join(found.output)))) is not None
    )
    return right / sum(len(w.word) for w in words)
