"""Weighted transducers: textmill against OpenFst (by its Python wrapper) and rustfst, same machines, one thread.

TEXTMILL_DATA=... python -m bench fst

Three machines, each through composition, determinization, minimization, epsilon removal, best path, 10 best paths and
pushing: a lexicon of CMUdict (letters to phones, letters to words); a 3-gram back-off model of the Brown corpus; a
random acyclic machine of a million arcs. States and arcs of both results stand beside the times: the 10 best paths are
a tree for OpenFst and separate paths here, and where sums are rounded in another order a few states more or less are
merged. With the words of OpenFst's own example, "The War of the Worlds", in TEXTMILL_DATA/wotw/wotw.syms, its lexicon
too.
Memory: what a process holds after reading a machine, and what an operation adds to that at its peak.
"""

from __future__ import annotations

import atexit
import functools
import math
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import textmill.fst as wfst
from bench import _fst_batch
from bench import _fst_machines as made
from bench import _fst_operations as packages
from bench.harness import Job, Options
from textmill.lm import NGramModel

PACKAGES = ["pynini", "rustfst-python"]


class Bench:
    """Makes the jobs; keeps the machines as files, for whoever reads them, and the times, for their mean."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.operations = {
            "textmill": packages.textmill(),
            "OpenFst": packages.openfst(),
            "rustfst": packages.rustfst(),
        }
        self.machines: dict[tuple[str, str], Any] = {}
        self.seconds: dict[tuple[str, str], list[float]] = {}

    def add(self, name: str, fst: wfst.Fst) -> wfst.Fst:
        """A machine, by its name."""
        self.machines["textmill", name] = fst
        wfst.write_fst(fst, self.file(name))
        return fst

    def file(self, name: str) -> Path:
        return self.folder / f"{name}.fst"

    def machine(self, package: str, name: str) -> Any:
        """The machine as the package has it."""
        if (package, name) not in self.machines:
            self.machines[package, name] = self.operations[package]["read"](str(self.file(name)))
        return self.machines[package, name]

    def job(self, operation: str, *names: str, peer: str = "OpenFst") -> Job:
        """An operation on machines."""
        title = f"{operation}: {' o '.join(names)}"
        sizes: dict[str, tuple[int, int]] = {}

        def run(package: str) -> float:
            arguments = [self.machine(package, name) for name in names]
            start = time.perf_counter()
            result = self.operations[package][operation](*arguments)
            seconds = time.perf_counter() - start
            if peer == "OpenFst":
                self.seconds.setdefault((package, title), []).append(seconds)
            if package not in sizes:
                sizes[package] = packages.size(result)
            return 1000 * seconds

        return Job(
            title,
            lambda: run("textmill"),
            lambda: run(peer),
            peer,
            lambda: f"states, arcs {sizes['textmill']}, peer {sizes[peer]}",
            figure="returned",
            label="ms",
            bar=1.2 if peer == "OpenFst" else None,
        )

    def mean(self, package: str) -> float:
        """The geometric mean of the medians so far, in milliseconds."""
        medians = [statistics.median(times) for (who, _), times in self.seconds.items() if who == package]
        return 1000 * statistics.geometric_mean(medians) if medians else math.nan

    def memory(self, operation: str, *names: str) -> Job:
        """What an operation, or holding the machines, takes in a process of its own."""

        @functools.cache
        def bytes_of(package: str) -> tuple[int, int, int]:
            command = [sys.executable, "-m", "bench._fst_operations", package, operation]
            done = subprocess.run(
                [*command, *(str(self.file(name)) for name in names)], capture_output=True, text=True, check=True
            )
            held, peak, arcs = map(int, done.stdout.split())
            return held, peak, arcs

        def figure(package: str) -> float:
            held, peak, arcs = bytes_of(package)
            return held / arcs if operation == "hold" else peak / 2**20

        return Job(
            f"memory, {operation}: {' o '.join(names)}",
            lambda: figure("textmill"),
            lambda: figure("openfst"),
            "OpenFst",
            lambda: f"{bytes_of('textmill')[2]} arcs",
            figure="returned",
            label="B/arc" if operation == "hold" else "MB",
            bar=1.0,
        )


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)  # and keeps it as long as the jobs need it
    bench = Bench(Path(folder.name))
    words = made.lexicon(options.data, 3000 if options.quick else 100_000)
    add_lexicon(bench, words)
    exact = add_model(bench, options)
    arcs = 100_000 if options.quick else 1_000_000
    random = bench.add("random", made.random_machine(arcs))
    bench.add("random, deterministic", wfst.determinize(random))
    bench.add("random, epsilons", made.random_machine(arcs, epsilons=0.1))
    bench.add("rewriter", made.random_rewriter(4, 1000))
    rows = [
        ("compose", "spelling", "letter model"), ("compose", "words", "lexicon, sorted"),
        ("determinize", "lexicon"), ("determinize", "phones, encoded"),
        ("minimize", "lexicon, deterministic"), ("minimize", "phones, deterministic"),
        ("remove epsilons", "lexicon, closure"),
        ("best path", "scored"), ("10 best paths", "scored"), ("push weights", "scored"),
        ("compose", "lattice", "Brown"),
        ("determinize", "Brown, encoded"), ("minimize", "Brown, encoded"), ("minimize", "Brown, phi"),
        ("remove epsilons", "Brown, part"),
        ("best path", "Brown"), ("10 best paths", "Brown"), ("push weights", "Brown"),
        ("compose", "random", "rewriter"),
        ("determinize", "random"), ("minimize", "random, deterministic"), ("remove epsilons", "random, epsilons"),
        ("best path", "random"), ("10 best paths", "random"), ("push weights", "random"),
    ]  # fmt: skip
    table = options.data / "wotw" / "wotw.syms"  # the example of OpenFst's documentation: its words, if they are there
    if table.exists():
        add_novel(bench, [symbol for _, symbol in wfst.SymbolTable.read(table).items()][1:])
        rows += [("remove epsilons", "novel"), ("determinize", "novel, no epsilons"),
                 ("minimize", "novel, deterministic"), ("determinize", "novel, encoded")]  # fmt: skip
    against_rustfst = [
        ("compose", "spelling", "letter model"), ("compose", "lattice", "Brown"), ("determinize", "lexicon, part"),
        ("minimize", "phones, deterministic"), ("remove epsilons", "lexicon, closure"), ("best path", "Brown"),
        ("best path", "random"), ("10 best paths", "random"),
    ]  # fmt: skip
    memory = [
        ("hold", "lexicon"), ("hold", "Brown"), ("hold", "random"),
        ("compose", "random", "rewriter"), ("determinize", "lexicon"), ("minimize", "Brown, phi"),
        ("remove epsilons", "Brown, part"), ("best path", "Brown"), ("10 best paths", "Brown"),
        ("push weights", "Brown"),
    ]  # fmt: skip
    return [
        *(bench.job(*row) for row in rows),
        Job("geometric mean of all rows above", lambda: bench.mean("textmill"), lambda: bench.mean("OpenFst"),
            "OpenFst", figure="returned", label="ms", bar=1.5),
        bench.job("sort arcs", "random"),
        exact,
        *(bench.job(*row, peer="rustfst") for row in against_rustfst),
        *(bench.memory(*row) for row in memory),
        *_fst_batch.jobs(options, words, bench.machine("textmill", "lexicon, sorted"), made.random_machine),
    ]  # fmt: skip


def add_lexicon(bench: Bench, words: made.Words) -> None:
    """Letters to words, letters to phones, and the letters alone, scored by a model of theirs."""
    lexicon = bench.add("lexicon", made.letters_to_words(words))
    bench.add("lexicon, part", made.letters_to_words(words[::10]))
    tree = bench.add("lexicon, deterministic", wfst.determinize(lexicon))
    bench.add("lexicon, sorted", wfst.arcsort(tree))
    bench.add("lexicon, closure", wfst.arcsort(wfst.closure(wfst.minimize(tree))))
    coded = bench.add("phones, encoded", wfst.encode(made.letters_to_phones(words), labels=True)[0])
    bench.add("phones, deterministic", wfst.determinize(coded))
    bench.add("words", wfst.project(wfst.minimize(wfst.determinize(made.letters_to_words(words[::5])))))
    spelling = bench.add("spelling", wfst.arcsort(wfst.project(lexicon), "olabel"))
    bench.add("scored", wfst.compose(spelling, bench.add("letter model", made.letter_model(words))))


def add_novel(bench: Bench, words: list[str]) -> None:
    """The lexicon of "The War of the Worlds", for running text."""
    lexicon = wfst.rmepsilon(bench.add("novel", made.running_text(words)))
    bench.add("novel, no epsilons", lexicon)
    bench.add("novel, deterministic", wfst.determinize(lexicon))
    bench.add("novel, encoded", wfst.encode(lexicon, labels=True)[0])


def add_model(bench: Bench, options: Options) -> Job:
    """A 3-gram model of Brown, and a lattice of its sentences; a small one that does not explode without epsilons.

    The job composes with exact back-off, for which the wrapper of OpenFst has no matcher.
    """
    sentences = list(made.brown(options.data))
    model = NGramModel(n_jobs=1).fit(sentences[: 2000 if options.quick else None])
    fst = bench.add("Brown", made.backing_off(model, 0))
    phi = len(model.words_) + 1
    exact = bench.add("Brown, phi", made.backing_off(model, phi))
    bench.add("Brown, encoded", wfst.encode(fst, labels=True, weights=True)[0])
    bench.add("Brown, part", made.backing_off(NGramModel(min_count=5, n_jobs=1).fit(sentences[:1000]), 0))
    lattice = bench.add("lattice", made.confusions(model, sentences[1000:1400], 10))

    def quality() -> str:
        weights = [
            wfst.total_weight(wfst.compose(lattice, exact, phi=phi)),
            wfst.total_weight(wfst.compose(lattice, fst)),
        ]
        return "best path {:.3f}, peer {:.3f}".format(*weights)

    return Job("compose: lattice o Brown, phi", lambda: wfst.compose(lattice, exact, phi=phi),
               lambda: wfst.compose(lattice, fst), "textmill, epsilons", quality,
               figure="processor", bar=0.67)  # fmt: skip
