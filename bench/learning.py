"""Weights learned from pairs of strings: sums over all paths of a pair against OpenFst's operations, one thread.

python -m bench learning

OpenFst has no such learner: its side composes input, machine and output and asks for the shortest distance in the log
semiring, which is ln Z alone; ours is timed for ln Z, and for a whole iteration of EM beside it. Three machines of
different shape: one state and all edits of 26 letters, three states that remember the kind of the last edit, and a
list of words that are spelled with errors. Pairs are drawn with errors, seeded.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.harness import Job, Options
from textmill import fst

PACKAGES = ["pynini"]
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    count = 500 if options.quick else 4000
    rows = []
    for name, machine, pairs in _problems(count):
        part = pairs[::10]  # OpenFst is slow
        sums = {"textmill": np.zeros(0), "openfst": np.zeros(0)}

        def ours(machine: fst.Fst = machine, part: Any = part, sums: Any = sums) -> None:
            sums["textmill"] = fst.pair_log_likelihoods(machine, part, n_jobs=1)

        def quality(sums: Any = sums) -> str:
            return f"largest difference of ln Z {np.abs(sums['textmill'] - sums['openfst']).max():.1e}"

        rows.append(
            Job(f"ln Z, {name}", ours, _openfst(machine, part, sums), "OpenFst", quality, "processor", claim="ln Z")
        )
        rows.append(
            Job(f"EM, {name}", _em(machine, part, 1), _openfst(machine, part, sums), "OpenFst, ln Z only",
                figure="processor", claim="an iteration of EM"),
        )  # fmt: skip
        rows.append(
            Job(f"EM, {name}, 2 threads", _em(machine, pairs, 2), _em(machine, pairs, 1), "1 thread",
                figure="busiest", bar=1.6),
        )  # fmt: skip
    return rows


def _problems(count: int) -> list[tuple[str, fst.Fst, list[tuple[str, str]]]]:
    draw = random.Random(5)
    words = ["".join(draw.choices(LETTERS, k=draw.randint(4, 12))) for _ in range(count)]
    pairs = [(word, _noisy(word, draw)) for word in words]
    codes = [0, *map(ord, LETTERS)]
    edits = [(a, b, 0.02 if a == b else 0.0005) for a in codes for b in codes if a or b]
    one = "\n".join([*(f"0 0 {a} {b} {p}" for a, b, p in edits), "0 .1"])
    kinds = [(1 if not a else 2 if not b else 0, a, b, p) for a, b, p in edits]
    three = "\n".join(
        [*(f"{s} {t} {a} {b} {p}" for s in range(3) for t, a, b, p in kinds), *(f"{s} .1" for s in range(3))]
    )
    listed = sorted(set(words))[:: max(1, count // 300)]
    spelled = fst.convert(fst.string_map(listed, semiring_name="log64"), "real")
    lexicon = fst.compose(fst.arcsort(spelled, "olabel"), fst.arcsort(fst.compile_text(one, semiring_name="real")))
    known = [(word, _noisy(word, draw)) for word in draw.choices(listed, k=count)]
    return [
        ("one state", fst.compile_text(one, semiring_name="real"), pairs),
        ("three states", fst.compile_text(three, semiring_name="real"), pairs),
        ("a list of words", lexicon, known),
    ]


def _noisy(word: str, draw: random.Random) -> str:
    result = []
    for letter in word:
        kind = draw.random()
        result += [letter] if kind < 0.85 else [draw.choice(LETTERS)] if kind < 0.9 else []
        result += [letter, draw.choice(LETTERS)] if kind > 0.95 else []
    return "".join(result)


def _em(machine: fst.Fst, pairs: list[tuple[str, str]], threads: int) -> Callable[[], Any]:
    """Two sums with counts, a normalization, and the start."""
    return lambda: fst.learn_weights(machine, pairs, max_iter=1, errors="skip", n_jobs=threads)


def _openfst(machine: fst.Fst, pairs: list[tuple[str, str]], sums: dict[str, Any]) -> Callable[[], Any]:
    import pynini
    import pywrapfst

    theirs = pywrapfst.Fst.read_from_string(fst.to_bytes(fst.convert(machine, "log64"))).arcsort()

    def run() -> None:
        totals = []
        for x, y in pairs:
            inputs, outputs = pynini.accep(x, arc_type="log64"), pynini.accep(y, arc_type="log64")
            paths = pywrapfst.compose(pywrapfst.compose(inputs, theirs).arcsort("olabel"), outputs)
            distance = pywrapfst.shortestdistance(paths, reverse=True)
            totals.append(-float(str(distance[paths.start()])) if paths.start() >= 0 else -np.inf)
        sums["openfst"] = np.array(totals)

    return run
