"""Lazy transducers: look-ahead composition and lazy best paths against OpenFst, one thread.

TEXTMILL_DATA=... python -m bench lookahead

A lexicon of the words of the Brown corpus (letters to words, deterministic, so that words are written late) composed
with a 3-gram back-off model of it: with look-ahead on the labels that the lexicon can write, weights and labels pushed,
as OpenFst's machines with output look-ahead do. Then the best path of sentences without blanks, with letters confused
at a cost, through both, searched in the lazy composition: states that were written out stand beside the times.
OpenFst's side is a small C++ program (bench/_openfst_lookahead.cpp), compiled here against the headers of libfst-dev,
that times itself; our figures are processor time too.
"""

from __future__ import annotations

import atexit
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import textmill.fst as wfst
from bench import _fst_machines as made
from bench.harness import Job, Options
from textmill.fst import lazy
from textmill.lm import NGramModel

PACKAGES: list[str] = []
PROGRAM = Path(__file__).with_name("_openfst_lookahead.cpp")
SENTENCES = (17, 101, 1003, 1500)  # whose letters are searched


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    bench = Bench(Path(folder.name))
    sentences = list(made.brown(options.data))
    model = NGramModel(n_jobs=1).fit(sentences[: 500 if options.quick else 6000])
    bench.add("grammar", made.backing_off(model, 0))
    words = {word: number + 1 for number, word in enumerate(model.words_) if not word.startswith("<")}
    bench.add("lexicon", lexicon(words, blank=True))
    spelling = lexicon(words, blank=False)
    rows = [bench.compose("compose"), bench.compose("prepare")]
    for number in SENTENCES[: 2 if options.quick else None]:
        letters = confused("".join(word for word in sentences[number] if word in words), number)
        bench.add(f"sentence {number}", wfst.arcsort(wfst.compose(letters, spelling), "olabel"))
        rows += bench.search(f"sentence {number}")
    return rows


def lexicon(words: dict[str, int], *, blank: bool) -> wfst.Fst:
    """Letters to words, with a blank behind each or without: deterministic as far as that goes, for running text."""
    rows = [([*map(ord, word), *([32] if blank else [])], [number]) for word, number in words.items()]
    tree = wfst.determinize(made.paths(rows), det_type="nonfunctional")
    return wfst.arcsort(wfst.rmepsilon(wfst.closure(tree)), "olabel" if blank else "ilabel")


def confused(text: str, seed: int) -> wfst.Fst:
    """A text in which each letter may be one of three others, at a cost, or left out."""
    dice = random.Random(seed)
    fst = wfst.Fst()
    fst.add_states(len(text) + 1)
    fst.start = 0
    fst.set_final(len(text))
    for place, letter in enumerate(text):
        fst.add_arc(place, ord(letter), ord(letter), 0.0, place + 1)
        fst.add_arc(place, ord(letter), 0, 4.0, place + 1)
        for other in dice.sample("etaoinshrdlu", 3):
            if other != letter:
                fst.add_arc(place, ord(letter), ord(other), 2.0, place + 1)
    return fst


class Bench:
    """Makes the jobs; keeps the machines as files for OpenFst."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.machines: dict[str, wfst.Fst] = {}
        if shutil.which("g++") is None or not Path("/usr/include/fst/fstlib.h").exists():
            raise SystemExit("the bench compiles a program with g++ against OpenFst's headers: install libfst-dev")
        self.program = folder / "openfst"
        command = ["g++", "-std=c++17", "-O3", "-DNDEBUG", "-w", "-o", str(self.program), str(PROGRAM), "-lfst", "-ldl"]
        subprocess.run(command, check=True)

    def add(self, name: str, fst: wfst.Fst) -> wfst.Fst:
        """A machine, by its name."""
        self.machines[name] = fst
        wfst.write_fst(fst, self.folder / f"{name}.fst")
        return fst

    def openfst(self, job: str, first: str) -> list[float]:
        """Milliseconds and two figures of OpenFst's program."""
        files = [str(self.folder / f"{name}.fst") for name in (first, "grammar")]
        done = subprocess.run([str(self.program), job, *files], capture_output=True, text=True, check=True)
        return [float(figure) for figure in done.stdout.split()]

    def compose(self, job: str) -> Job:
        """The whole composition, with or without what look-ahead needs beforehand."""
        sizes: dict[str, tuple[int, int]] = {}

        def ours() -> float:
            ahead = None if job == "prepare" else self._ahead("lexicon", cache=0)
            start = time.process_time()
            whole = (ahead or self._ahead("lexicon", cache=0)).expand()
            milliseconds = 1000 * (time.process_time() - start)
            sizes["ours"] = (whole.num_states, whole.num_arcs)
            return milliseconds

        def peer() -> float:
            milliseconds, states, arcs = self.openfst(job, "lexicon")
            sizes["peer"] = (int(states), int(arcs))
            return milliseconds

        title = "look-ahead: lexicon o grammar" + (", with preparation" if job == "prepare" else "")
        return Job(title, ours, peer, "OpenFst", lambda: f"states, arcs {sizes['ours']}, peer {sizes['peer']}",
                   figure="returned", label="ms", bar=1.2)  # fmt: skip

    def search(self, name: str) -> list[Job]:
        """The best path of a lazy composition: time, and states written out."""
        weights: dict[str, float] = {}

        def ours(figure: int) -> float:
            ahead, counts = self._ahead(name, cache=None), []
            start = time.process_time()
            best = lazy.shortest_path(ahead, counted=counts.append)
            milliseconds = 1000 * (time.process_time() - start)
            weights["ours"] = float(wfst.total_weight(best))
            return milliseconds if figure == 0 else counts[0]

        def peer(figure: int) -> float:
            figures = self.openfst("search", name)
            weights["peer"] = figures[2]
            return figures[figure]

        def job(what: str, figure: int, label: str, bar: float) -> Job:
            return Job(f"{what}: {name}", _fixed(ours, figure), _fixed(peer, figure), "OpenFst",
                       lambda: "best path {ours:.3f}, peer {peer:.3f}".format(**weights),
                       figure="returned", label=label, bar=bar)  # fmt: skip

        return [job("lazy best path", 0, "ms", 1.0), job("states written out", 1, "", 1.0)]

    def _ahead(self, name: str, cache: int | None) -> lazy.LazyFst:
        first, second = self.machines[name], self.machines["grammar"]
        return lazy.compose(first, second, look_ahead="output", push="both", cache=cache)


def _fixed(function: Callable[[int], float], figure: int) -> Callable[[], Any]:
    return lambda: function(figure)
