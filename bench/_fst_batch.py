"""The rows of `bench.fst` that are about many strings and about files.

Programs of OpenFst are measured as processes on files, less what they take for an empty file; where they are not on the
path (Debian: `apt install libfst-tools`) their rows are left out, and the run says so.
"""

from __future__ import annotations

import atexit
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import textmill.fst as wfst
from bench.harness import Job, Options

Words = list[tuple[str, list[str]]]


def jobs(options: Options, words: Words, lookup: wfst.Fst, random_machine: Callable[[int], wfst.Fst]) -> list[Job]:
    """All of them. `lookup` maps the words to something, sorted by input."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)  # and keeps it as long as the jobs may need it
    return [
        *_strings(options, words, lookup),
        *_text(Path(folder.name), random_machine(100_000 if options.quick else 1_000_000)),
        *_binary(Path(folder.name), random_machine(100_000 if options.quick else 10_000_000)),
    ]


def _theirs(fst: wfst.Fst) -> Any:
    import pywrapfst as openfst

    return openfst.Fst.read_from_string(wfst.to_bytes(fst))


def _strings(options: Options, words: Words, lookup: wfst.Fst) -> list[Job]:
    import pywrapfst as openfst
    from rustfst import VectorFst

    queries = [word for word, _ in words[: 500 if options.quick else 10_000]]
    letters = sorted({letter for word in queries for letter in word})
    dice = random.Random(1)
    known = [word for word, _ in words[:: 10 if len(words) > 10_000 else 1]]
    misspelled = []
    for word in dice.sample(known, 100 if options.quick else 1000):
        at = dice.randrange(len(word))
        misspelled.append(word[:at] + dice.choice(letters) + word[at + dice.randrange(2) :])
    acceptor = wfst.minimize(wfst.determinize(wfst.string_map([(word, word) for word in known])))
    corrector = wfst.arcsort(wfst.compose(wfst.arcsort(one_edit(letters), "olabel"), acceptor))
    t_lookup, t_corrector = _theirs(lookup), _theirs(corrector)
    r_lookup = VectorFst.from_bytes(wfst.to_bytes(lookup))

    def inputs(texts: list[str]) -> list[Any]:
        return [_theirs(wfst.accep(text)) for text in texts]  # not counted: theirs has no strings of code points

    t_queries, t_misspelled = inputs(queries), inputs(misspelled)
    r_queries = [VectorFst.from_bytes(wfst.to_bytes(wfst.accep(text))) for text in queries]

    def one_by_one(texts: list[Any], machine: Any) -> None:
        for text in texts:
            openfst.shortestpath(openfst.compose(text, machine))

    def several_one_by_one(texts: list[Any], machine: Any) -> None:
        for text in texts:
            found = openfst.compose(text, machine).project("output").rmepsilon()
            openfst.shortestpath(found, nshortest=5, unique=True)

    def rust_one_by_one() -> None:
        for text in r_queries:
            text.compose(r_lookup).shortest_path()

    def ours(machine: wfst.Fst, texts: list[str], n: int = 1) -> Callable[[], Any]:
        return lambda: wfst.apply(machine, texts, k=n, n_jobs=1)

    def two_threads(name: str, machine: wfst.Fst, texts: list[str], n: int = 1) -> Job:
        """A call takes milliseconds, which one disturbance doubles: the median of thirty."""

        def milliseconds(threads: int) -> float:
            times = []
            for _ in range(30):
                start = time.perf_counter()
                found = wfst.apply(machine, texts, k=n, n_jobs=threads)
                times.append(time.perf_counter() - start)
                del found  # not while the clock runs
            return 1000 * statistics.median(times)

        return Job(f"{name}, 2 threads", lambda: milliseconds(2), lambda: milliseconds(1), "textmill, 1 thread",
                   figure="returned", label="ms", bar=1.7)  # fmt: skip

    def found() -> str:
        best = [outputs[0][1] for outputs in wfst.apply(corrector, misspelled)]
        totals = [
            openfst.shortestdistance(openfst.compose(text, t_corrector), reverse=True)[0] for text in t_misspelled
        ]
        same = sum(float(total) == weight for total, weight in zip(totals, best, strict=True))
        return f"{same} of {len(best)} weights equal"

    name, many = "look up many words", f"{len(queries)} strings"
    return [
        Job(name, ours(lookup, queries), lambda: one_by_one(t_queries, t_lookup), "OpenFst", lambda: many, bar=5.0),
        Job(name, ours(lookup, queries), rust_one_by_one, "rustfst", lambda: many, bar=5.0),
        two_threads(name, lookup, queries),
        Job("correct words", ours(corrector, misspelled), lambda: one_by_one(t_misspelled, t_corrector), "OpenFst",
            found, bar=5.0),
        two_threads("correct words", corrector, misspelled),
        Job("correct words, 5 best", ours(corrector, misspelled, n=5),
            lambda: several_one_by_one(t_misspelled, t_corrector), "OpenFst", bar=5.0),
        two_threads("correct words, 5 best", corrector, misspelled, 5),
    ]  # fmt: skip


def one_edit(letters: list[str]) -> wfst.Fst:
    """A string to itself, or to one with a letter replaced, put in or left out, which costs one."""
    fst = wfst.Fst()
    fst.add_states(2)
    fst.start = 0
    fst.set_final(0)
    fst.set_final(1)
    points = list(map(ord, letters))
    for x in points:
        fst.add_arc(0, x, x, None, 0)
        fst.add_arc(1, x, x, None, 1)
        fst.add_arc(0, x, 0, 1.0, 1)
        fst.add_arc(0, 0, x, 1.0, 1)
        for y in points:
            if x != y:
                fst.add_arc(0, x, y, 1.0, 1)
    return fst


def _text(folder: Path, fst: wfst.Fst) -> list[Job]:
    if shutil.which("fstcompile") is None:
        print("no fstcompile on the path: rows of text are left out (Debian: apt install libfst-tools)")
        return []
    names = wfst.SymbolTable(["<eps>", *(f"word{i}" for i in range(1, 1001))])
    names.write(folder / "names.txt")
    wfst.write_text(fst, folder / "numbers.txt")
    wfst.write_text(fst, folder / "symbols.txt", input_symbols=names, output_symbols=names)
    wfst.write_fst(fst, folder / "vector.fst")
    wfst.write_fst(wfst.Fst(), folder / "empty.fst")
    (folder / "empty.txt").touch()
    tables = [f"--isymbols={folder / 'names.txt'}", f"--osymbols={folder / 'names.txt'}"]
    content = {name: (folder / name).read_bytes() for name in ("numbers.txt", "symbols.txt")}

    def process(*command: str) -> float:
        start = time.perf_counter()
        subprocess.run(command, check=True)
        return time.perf_counter() - start

    def program(name: str, source: str, *flags: str) -> Callable[[], float]:
        def run(source: str) -> float:
            return process(name, *flags, str(folder / source), str(folder / "out"))

        return lambda: run(source) - run(f"empty{Path(source).suffix}")

    def timed(work: Callable[[], object]) -> Callable[[], float]:
        def run() -> float:
            start = time.perf_counter()
            work()
            return time.perf_counter() - start

        return run

    def some_lines() -> str:
        lines = b"\n".join(content["numbers.txt"].split(b"\n", 340_000)[:340_000])
        return f"{size}; 340,000 lines in {timed(lambda: wfst.compile_text(lines))():.2f} s, asked: 0.5"

    whole = "import sys, textmill.fst as fst; fst.write_fst(fst.read_text(sys.argv[1]), sys.argv[2])"
    size = f"{fst.num_arcs} arcs, {len(content['numbers.txt']) / 1e6:.0f} MB"
    return [
        Job("compile text", timed(lambda: wfst.compile_text(content["numbers.txt"])),
            program("fstcompile", "numbers.txt"), "fstcompile", some_lines, figure="returned", bar=3.0),
        Job("compile text with symbols",
            timed(lambda: wfst.compile_text(content["symbols.txt"], input_symbols=names, output_symbols=names)),
            program("fstcompile", "symbols.txt", *tables), "fstcompile", lambda: size, figure="returned", bar=3.0),
        Job("compile a file to a file, whole process",
            lambda: process(sys.executable, "-c", whole, str(folder / "numbers.txt"), str(folder / "ours")),
            lambda: process("fstcompile", str(folder / "numbers.txt"), str(folder / "theirs")), "fstcompile",
            lambda: f"same bytes: {(folder / 'ours').read_bytes()[66:] == (folder / 'theirs').read_bytes()[66:]}",
            figure="returned"),
        Job("print text", timed(lambda: wfst.print_text(fst)), program("fstprint", "vector.fst"), "fstprint",
            lambda: size, figure="returned"),
    ]  # fmt: skip


# Resident memory that a machine adds, in a process of its own, divided by its arcs.
_MEMORY = """
import os, sys
def resident():
    with open("/proc/self/statm") as file: return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
if sys.argv[1] == "ours":
    import textmill.fst as fst
    read = fst.read_fst
else:
    import pywrapfst
    read = pywrapfst.Fst.read
read(sys.argv[3])
before = resident()
machine = read(sys.argv[2])
print((resident() - before) / int(sys.argv[4]))
"""


def _binary(folder: Path, fst: wfst.Fst) -> list[Job]:
    import pywrapfst as openfst
    from rustfst import VectorFst

    mapped, vector, small = (str(folder / name) for name in ("large.const.fst", "large.vector.fst", "small.fst"))
    wfst.write_fst(fst, mapped, fst_type="const", align=True)
    wfst.write_fst(fst, vector)
    wfst.write_fst(wfst.accep("small"), small)
    arcs = fst.num_arcs

    def milliseconds(work: Callable[[], object]) -> Callable[[], float]:
        def run() -> float:
            start = time.perf_counter()
            kept = work()
            took = 1000 * (time.perf_counter() - start)
            del kept
            return took

        return run

    def memory(side: str) -> Callable[[], float]:
        command = [sys.executable, "-c", _MEMORY, side, vector, small, str(arcs)]
        return lambda: float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    def use(machine: wfst.Fst) -> wfst.Fst:
        machine.num_arcs_of(0)
        return machine

    size = f"{arcs} arcs"
    return [
        Job("open a mapped machine", milliseconds(lambda: wfst.read_fst(mapped)),
            milliseconds(lambda: openfst.Fst.read(mapped)), "OpenFst", lambda: f"{size}; asked: below 10 ms",
            "returned", "ms"),
        Job("open a mapped machine and use it", milliseconds(lambda: use(wfst.read_fst(mapped))),
            milliseconds(lambda: openfst.Fst.read(mapped)), "OpenFst", lambda: f"{size}, all checked", "returned",
            "ms"),
        Job("read a vector file", lambda: wfst.read_fst(vector), lambda: openfst.Fst.read(vector), "OpenFst",
            lambda: size),
        Job("read a vector file", lambda: wfst.read_fst(vector), lambda: VectorFst.read(vector), "rustfst",
            lambda: size),
        Job("memory of a machine, bytes per arc", memory("ours"), memory("theirs"), "OpenFst", lambda: size, "returned",
            "B", 1.0),
    ]  # fmt: skip
