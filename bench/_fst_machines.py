"""The machines of the transducer benchmark: a lexicon of CMUdict, n-gram models with back-off, random ones."""

from __future__ import annotations

import itertools
import math
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import textmill.fst as wfst
from textmill.lm import NGramModel
from textmill.lm.counting import BEGIN, END

Words = list[tuple[str, list[str]]]


def lexicon(folder: Path, words: int) -> Words:
    """Words of CMUdict with their phones."""
    lines = (folder / "g2p-cmu" / "g014b2b.train").read_text(encoding="utf-8").splitlines()
    rows = [line.split() for line in lines if len(line.split()) > 1]
    return [(row[0], row[1:]) for row in rows[:words]]


def paths(rows: list[tuple[list[int], list[int]]]) -> wfst.Fst:
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


def letters_to_phones(words: Words) -> wfst.Fst:
    keys: dict[str, int] = {}
    rows = [(list(map(ord, word)), [keys.setdefault(p, len(keys) + 1) for p in phones]) for word, phones in words]
    return paths(rows)


def letters_to_words(words: Words) -> wfst.Fst:
    """Letters to the number of the word, written at its first letter."""
    distinct = dict.fromkeys(word for word, _ in words)
    return paths([(list(map(ord, word)), [i + 1]) for i, word in enumerate(distinct)])


def running_text(words: list[str]) -> wfst.Fst:
    """Letters to words of running text: a word, then a blank, digit or sign of punctuation, again and again."""
    signs = [chr(code) for code in range(32, 127) if not chr(code).isalpha()]
    between = wfst.Fst.from_arrays(
        "tropical",
        start=0,
        sources=[0] * len(signs),
        ilabels=list(map(ord, signs)),
        olabels=[0] * len(signs),
        nextstates=[1] * len(signs),
        final_states=[1],
    )
    return wfst.closure(wfst.concat(paths([(list(map(ord, word)), [i + 1]) for i, word in enumerate(words)]), between))


def letter_model(words: Words) -> wfst.Fst:
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
    return wfst.arcsort(fst)


def brown(folder: Path) -> Iterator[list[str]]:
    """Sentences of the Brown corpus in small letters, without their tags."""
    texts = {}
    with tarfile.open(
        folder / "brown" / "brown.tar.gz"
    ) as archive:  # in its own order: going back starts from the front
        for member in archive:
            file = archive.extractfile(member)
            if file is not None and len(name := Path(member.name).name) == 4:
                texts[name] = file.read().decode("latin-1").lower()
    for name in sorted(texts):
        for line in texts[name].splitlines():
            if words := [token.rpartition("/")[0] for token in line.split()]:
                yield words


def backing_off(model: NGramModel, back_off: int) -> wfst.Fst:
    """The model as an acceptor: a state a context, word w is label w + 1, `back_off` leads to a shorter context."""
    levels, word, suffix = model.levels_, model.last_words_.astype(np.int64), model.suffixes_.astype(np.int64)
    nodes, inner = len(word), int(levels[-2])
    families = np.diff(model.children_[: inner + 1])
    parent = np.concatenate([[-1], np.repeat(np.arange(inner), families)])
    is_state = np.concatenate([families > 0, np.zeros(nodes - inner, dtype=bool)])
    target = np.arange(nodes)
    while not is_state[target].all():  # contexts that nothing follows are the same as shorter ones
        target = np.where(is_state[target], target, suffix[target])
    number = np.cumsum(is_state) - 1
    cost, penalty = -math.log(10) * model.log_probability_, -math.log(10) * model.log_back_off_
    arcs = np.flatnonzero((word >= 0) & (word != BEGIN) & (word != END))
    ends = np.flatnonzero(word == END)
    shorter = np.flatnonzero(is_state)[1:]
    start = np.flatnonzero((parent == 0) & (word == BEGIN))[0]
    labels = np.concatenate([word[arcs] + 1, np.full(len(shorter), back_off)])
    fst = wfst.Fst.from_arrays(
        "tropical",
        start=int(number[target[start]]),
        sources=np.concatenate([number[parent[arcs]], number[shorter]]),
        ilabels=labels,
        olabels=labels,
        nextstates=np.concatenate([number[target[arcs]], number[target[suffix[shorter]]]]),
        weights=np.concatenate([cost[arcs], penalty[shorter]]).astype(np.float32),
        final_states=number[parent[ends]],
        final_weights=cost[ends].astype(np.float32),
        states=int(is_state.sum()),
    )
    return wfst.arcsort(fst)


def confusions(model: NGramModel, sentences: list[list[str]], choices: int) -> wfst.Fst:
    """The sentences one after another, a lattice: at each place the word that stands there and others at random."""
    dice = np.random.default_rng(2)
    words = np.array([model.id_of(word) for sentence in sentences for word in sentence])
    labels = dice.integers(3, len(model.words_), (len(words), choices))
    labels[:, 0] = words
    labels = np.sort(labels + 1, axis=1)
    places = np.repeat(np.arange(len(words)), choices)
    return wfst.Fst.from_arrays(
        "tropical",
        start=0,
        sources=places,
        ilabels=labels.ravel(),
        olabels=labels.ravel(),
        nextstates=places + 1,
        weights=dice.random(labels.size).astype(np.float32),
        final_states=[len(words)],
    )


def random_machine(arcs: int, epsilons: float = 0.0) -> wfst.Fst:
    """Acyclic: a chain through all states, and arcs that lead up to fifty states ahead."""
    dice = np.random.default_rng(1)
    states = arcs // 5
    chain = np.arange(states - 1)
    sources = dice.integers(0, states - 1, arcs - len(chain))
    targets = np.minimum(sources + 1 + dice.integers(0, 50, len(sources)), states - 1)
    labels = np.concatenate([chain % 100 + 1, dice.integers(1, 1000, len(sources))])
    labels[dice.random(arcs) < epsilons] = 0
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


def random_rewriter(states: int, labels: int) -> wfst.Fst:
    """Reads every label in every state, writes some other."""
    dice = np.random.default_rng(3)
    size = states * labels
    return wfst.Fst.from_arrays(
        "tropical",
        start=0,
        sources=np.repeat(np.arange(states), labels),
        ilabels=np.tile(np.arange(1, labels + 1), states),
        olabels=dice.integers(1, labels + 1, size),
        nextstates=dice.integers(0, states, size),
        weights=dice.random(size).astype(np.float32),
        final_states=list(range(states)),
    )
