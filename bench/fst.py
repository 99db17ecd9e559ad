"""Weighted transducers: textmill against OpenFst (by its Python wrapper), same machines, one thread unless it says so.

TEXTMILL_DATA=... python -m bench fst

The machines: a lexicon of CMUdict, letters to phones and letters to words; a back-off bigram model of its letters; a
random acyclic machine of a million arcs.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

import textmill.fst as wfst
from bench import _fst_batch
from bench.harness import Job, Options

PACKAGES = ["pynini", "rustfst-python"]


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    import pywrapfst as openfst

    def theirs(fst: wfst.Fst) -> Any:
        return openfst.Fst.read_from_string(wfst.to_bytes(fst))

    def size(fst: Any) -> tuple[int, int]:
        if isinstance(fst, wfst.Fst):
            return fst.num_states, fst.num_arcs
        return fst.num_states(), sum(fst.num_arcs(state) for state in fst.states())

    def job(name: str, ours: Callable[[], Any], peer: Callable[[], Any], bar: float = 1.2) -> Job:
        return Job(name, ours, peer, "OpenFst", lambda: f"states/arcs {size(ours())}, peer {size(peer())}", bar=bar)

    words = lexicon(options)
    phones = linear_lexicon(words)
    letters, _ = wfst.encode(phones, labels=True)
    coded = wfst.determinize(letters)
    tokens = word_lexicon(words)
    tree = wfst.determinize(tokens)
    loop = wfst.arcsort(wfst.closure(wfst.minimize(tree)))
    model = wfst.arcsort(letter_model(words))
    spelt = wfst.arcsort(wfst.project(tokens), "olabel")
    random = random_machine(100_000 if options.quick else 1_000_000)
    t_letters, t_coded, t_tokens, t_tree, t_loop, t_model, t_spelt, t_random = map(
        theirs, (letters, coded, tokens, tree, loop, model, spelt, random)
    )
    return [
        job("determinise lexicon, encoded", lambda: wfst.determinize(letters), lambda: openfst.determinize(t_letters)),
        job("minimise lexicon, encoded", lambda: wfst.minimize(coded), lambda: t_coded.copy().minimize()),
        job("determinise lexicon, transducer", lambda: wfst.determinize(tokens), lambda: openfst.determinize(t_tokens)),
        job("minimise lexicon, transducer", lambda: wfst.minimize(tree), lambda: t_tree.copy().minimize()),
        job("remove epsilons, closure of lexicon", lambda: wfst.rmepsilon(loop), lambda: t_loop.copy().rmepsilon()),
        job("compose lexicon and letter model", lambda: wfst.compose(spelt, model),
            lambda: openfst.compose(t_spelt, t_model)),
        job("best path, random machine", lambda: wfst.shortest_path(random), lambda: openfst.shortestpath(t_random)),
        job("10 best paths, random machine", lambda: wfst.shortest_path(random, 10),
            lambda: openfst.shortestpath(t_random, nshortest=10)),
        job("push weights, random machine", lambda: wfst.push(random),
            lambda: openfst.push(t_random, push_weights=True)),
        job("sort arcs, random machine", lambda: wfst.arcsort(random), lambda: t_random.copy().arcsort()),
        *_fst_batch.jobs(options, words, wfst.arcsort(tree), random_machine),
    ]  # fmt: skip


def lexicon(options: Options) -> list[tuple[str, list[str]]]:
    """Words of CMUdict with their phones."""
    lines = (options.data / "g2p-cmu" / "g014b2b.train").read_text(encoding="utf-8").splitlines()
    rows = [line.split() for line in lines if len(line.split()) > 1]
    return [(row[0], row[1:]) for row in rows[: 3000 if options.quick else 100_000]]


def machine(rows: list[tuple[list[int], list[int]]]) -> wfst.Fst:
    """A path for each pair of label sequences."""
    sources, ilabels, olabels, nextstates, finals, count = [], [], [], [], [], 1
    for inputs, outputs in rows:
        state = 0
        for i in range(max(len(inputs), len(outputs))):
            sources.append(state)
            ilabels.append(inputs[i] if i < len(inputs) else 0)
            olabels.append(outputs[i] if i < len(outputs) else 0)
            nextstates.append(count)
            state, count = count, count + 1
        finals.append(state)
    return wfst.Fst.from_arrays(
        "tropical",
        start=0,
        sources=sources,
        ilabels=ilabels,
        olabels=olabels,
        nextstates=nextstates,
        final_states=finals,
    )


def linear_lexicon(words: list[tuple[str, list[str]]]) -> wfst.Fst:
    """Letters to phones."""
    keys: dict[str, int] = {}
    rows = [(list(map(ord, word)), [keys.setdefault(p, len(keys) + 1) for p in phones]) for word, phones in words]
    return machine(rows)


def word_lexicon(words: list[tuple[str, list[str]]]) -> wfst.Fst:
    """Letters to the number of the word, written at its first letter."""
    distinct = dict.fromkeys(word for word, _ in words)
    return machine([(list(map(ord, word)), [i + 1]) for i, word in enumerate(distinct)])


def letter_model(words: list[tuple[str, list[str]]]) -> wfst.Fst:
    """A bigram model of letters with back-off by epsilon, discounted by 1/2."""
    pairs: Counter[tuple[int, int]] = Counter()
    singles: Counter[int] = Counter()
    for word, _ in words:
        labels = list(map(ord, word))
        pairs.update(itertools.pairwise(labels))
        singles.update(labels)
    states = {label: i + 1 for i, label in enumerate(sorted(singles))}
    fst = wfst.Fst()
    fst.add_states(len(states) + 1)
    fst.start = 0
    total = sum(singles.values())
    follows: Counter[int] = Counter()
    for (a, b), count in pairs.items():
        fst.add_arc(states[a], b, b, -math.log((count - 0.5) / singles[a]), states[b])
        follows[a] += 1
    for label, state in states.items():
        fst.add_arc(0, label, label, -math.log(singles[label] / total), state)
        fst.add_arc(state, 0, 0, -math.log((0.5 * follows[label] + 1) / (singles[label] + 1)), 0)
        fst.set_final(state)
    fst.set_final(0)
    return fst


def random_machine(arcs: int) -> wfst.Fst:
    """Acyclic: a chain through all states, and arcs that lead up to fifty states ahead."""
    dice = np.random.default_rng(1)
    states = arcs // 5
    chain = np.arange(states - 1)
    sources = dice.integers(0, states - 1, arcs - len(chain))
    targets = np.minimum(sources + 1 + dice.integers(0, 50, len(sources)), states - 1)
    labels = np.concatenate([chain % 100 + 1, dice.integers(1, 1000, len(sources))])
    return wfst.Fst.from_arrays(
        "tropical",
        start=0,
        sources=np.concatenate([chain, sources]),
        ilabels=labels,
        olabels=labels,
        nextstates=np.concatenate([chain + 1, targets]),
        weights=dice.random(arcs).astype(np.float32),
        final_states=[states - 1],
        states=states,
    )
