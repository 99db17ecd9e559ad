"""Grammars: rewrite rules, spelling correction, text normalization and lexicons.

Rewrite rules: twenty rules of different kinds over 200 symbols, compiled and optimized, against Pynini's `cdrewrite`.
Spelling: 1,000 misspelled words against a lexicon of 100,000 within 2 edits, against Pynini (word o edits o lexicon,
five best; some of the words, and the time of all is what theirs take times the share) and against RapidFuzz over the
list. Normalization of the Reuters articles and the lexicon of a million words have a bar instead of a peer: 2 MB/s, and
twice the time that Python needs to sort the words.

    TEXTMILL_DATA=... python -m bench grammar
"""

from __future__ import annotations

import gzip
import json
import random
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

from bench.harness import Job, Options
from textmill import fst
from textmill.tasks import Normalizer

PACKAGES = ["pynini", "rapidfuzz"]
SYMBOLS = range(1, 201)
SYLLABLES = [a + b for a in "bcdfghklmnprstvw" for b in ("a", "e", "i", "o", "u", "an", "er", "is")]
DIRECTIONS = {"left-to-right": "ltr", "right-to-left": "rtl", "simultaneous": "sim"}


def rules() -> list[tuple[list[tuple[list[int], list[int]]], list[list[int]], list[list[int]], str, bool]]:
    """Targets and replacements, contexts, direction and whether the rule is optional, of twenty rules."""
    rng = random.Random(4)

    def string(least: int, most: int) -> list[int]:
        return [rng.choice(SYMBOLS) for _ in range(rng.randint(least, most))]

    kinds = []
    for number in range(20):
        pairs = [(string(1, 3), string(0, 3)) for _ in range(1 + number % 4)]
        lefts = [string(0 if number % 3 else 1, 2) for _ in range(1 + number % 5)]
        rights = [string(0 if number % 2 else 1, 2) for _ in range(1 + number % 3)]
        kinds.append((pairs, lefts, rights, list(DIRECTIONS)[number % 3], number % 5 == 4))
    return kinds


def string_of(labels: list[int]) -> str:
    """Labels as a string of code points."""
    return "".join(map(chr, labels))


def bracketed(labels: list[int]) -> str:
    """Labels as Pynini writes them."""
    return "".join(f"[{label}]" for label in labels)


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    kinds = rules()[: 4 if options.quick else 20]
    some = 20 if options.quick else 100

    def our_rules() -> list[fst.Fst]:
        machines = []
        for pairs, lefts, rights, direction, optional in kinds:
            machines.append(
                fst.rewrite(
                    fst.string_map([(string_of(a), string_of(b)) for a, b in pairs]),
                    left=fst.optimize(fst.string_map([string_of(x) for x in lefts])),
                    right=fst.optimize(fst.string_map([string_of(x) for x in rights])),
                    alphabet=SYMBOLS,
                    direction=direction,
                    optional=optional,
                )
            )
        return machines

    @cache
    def sigma() -> Any:
        import pynini

        return pynini.union(*(f"[{label}]" for label in SYMBOLS)).closure().optimize()

    def their_rules() -> list[Any]:
        import pynini

        return [
            pynini.cdrewrite(
                pynini.union(*(pynini.cross(bracketed(a), bracketed(b)) for a, b in pairs)),
                pynini.union(*map(bracketed, lefts)),
                pynini.union(*map(bracketed, rights)),
                sigma(),
                direction=DIRECTIONS[direction],
                mode="opt" if optional else "obl",
            ).optimize()
            for pairs, lefts, rights, direction, optional in kinds
        ]

    def rule_sizes() -> str:
        ours, theirs = our_rules(), their_rules()
        larger = sum(a.num_states > b.num_states() for a, b in zip(ours, theirs, strict=True))
        states = sum(a.num_states for a in ours), sum(b.num_states() for b in theirs)
        return f"{states[0]} and {states[1]} states, {larger} of {len(kinds)} machines larger than the peer's"

    @cache
    def million() -> list[str]:
        rng = random.Random(1)
        words: set[str] = set()
        while len(words) < (20_000 if options.quick else 1_000_000):
            words.add("".join(rng.choice(SYLLABLES) for _ in range(rng.randint(2, 5))))
        return rng.sample(sorted(words), len(words))

    @cache
    def word_list() -> list[str]:
        return million()[: 5_000 if options.quick else 100_000]

    @cache
    def misspelled() -> list[str]:
        rng = random.Random(2)
        words = rng.sample(word_list(), 1000)
        return ["".join(rng.choice("abcdefghik") if rng.random() < 0.15 else x for x in word) for word in words]

    @cache
    def our_lexicon() -> fst.Fst:
        return fst.lexicon(word_list())

    @cache
    def their_search() -> Any:
        import pynini
        from pynini.lib import edit_transducer

        edits = edit_transducer.EditTransducer(list("abcdefghijklmnopqrstuvwxyz"), bound=2)
        return edits._e_i, (edits._e_o @ pynini.string_map(word_list()).optimize()).optimize(True)

    def search() -> list[Any]:
        return fst.nearest(our_lexicon(), misspelled(), max_edits=2, k=5, swaps=False, n_jobs=1)

    def by_pynini() -> float:
        import pynini

        edits, lexicon = their_search()
        begin = time.process_time()
        for word in misspelled()[: some // 10]:
            lattice = (word @ edits) @ lexicon
            pynini.shortestpath(lattice.project("output").rmepsilon(), nshortest=5, unique=True)
        return (time.process_time() - begin) * len(misspelled()) / (some // 10)

    def by_rapidfuzz() -> float:
        from rapidfuzz import process
        from rapidfuzz.distance import Levenshtein

        begin = time.process_time()
        for word in misspelled()[:some]:
            process.extract(word, word_list(), scorer=Levenshtein.distance, score_cutoff=2, limit=5)
        return (time.process_time() - begin) * len(misspelled()) / some

    def seconds(work: Any) -> float:
        begin = time.process_time()
        work()
        return time.process_time() - begin

    def same_words() -> str:
        from rapidfuzz import process
        from rapidfuzz.distance import Levenshtein

        asked = misspelled()[:some]
        ours = fst.nearest(our_lexicon(), asked, max_edits=2, k=100_000, swaps=False)
        equal = sum(
            {near.word for near in answers}
            == {w for w, *_ in process.extract(q, word_list(), scorer=Levenshtein.distance, score_cutoff=2, limit=None)}
            for q, answers in zip(asked, ours, strict=True)
        )
        return f"the same words as RapidFuzz for {equal} of {len(asked)}"

    @cache
    def articles() -> bytes:
        with gzip.open(options.data / "reuters" / "reuters21578.jsonl.gz") as lines:
            text = b"".join(json.loads(line)["text"].encode() + b"\n" for line in lines)
        return text[: 500_000 if options.quick else None]

    def normalizer() -> Normalizer:  # a new one has an empty table of outputs
        return Normalizer(n_jobs=1)

    def normalize() -> float:
        text = articles()
        blocks = [text[i : i + (1 << 20)] for i in range(0, len(text), 1 << 20)]
        fresh = normalizer()
        begin = time.process_time()
        for _ in fresh.normalize_stream(blocks):
            pass
        return (time.process_time() - begin) / len(text) * 1e6

    def rewritten() -> str:
        text = articles()[: 1 << 20]
        return f"{len(normalizer().rewriter.rewrite_bytes(text)[1]) * 1e6 / len(text):.0f} stretches rewritten per MB"

    @cache
    def word_file() -> str:
        path = Path(tempfile.mkdtemp()) / "words.txt"
        path.write_text("\n".join(million()) + "\n")
        return str(path)

    def lexicon_size() -> str:
        machine = fst.read_lexicon(word_file())
        return f"{machine.num_states} states, {machine.num_arcs} arcs"

    return [
        Job(f"compile {len(kinds)} rewrite rules, 200 symbols", our_rules, their_rules, "Pynini cdrewrite", rule_sizes,
            "processor", bar=3.0, prepare=sigma),
        Job("1,000 words within 2 edits of 100,000", lambda: seconds(search), by_pynini, "Pynini", same_words,
            "returned", bar=5.0, prepare=lambda: (our_lexicon(), misspelled(), their_search())),
        Job("the same", lambda: seconds(search), by_rapidfuzz, "RapidFuzz process.extract", figure="returned", bar=2.0,
            prepare=lambda: (our_lexicon(), misspelled())),
        Job("normalize Reuters, seconds per MB", normalize, lambda: 0.5, "asked", rewritten, "returned", bar=1.0,
            prepare=articles),
        Job("minimal lexicon of a million words, file", lambda: fst.read_lexicon(word_file()),
            lambda: sorted(million()), "sorting them", lexicon_size, "processor", bar=0.5,
            prepare=lambda: (million(), word_file())),
    ]  # fmt: skip
