"""What hidden states have learned: their words and tags, how much each is used, which are alike, what follows what.

    a*_t = argmax_a P(h_t = a | x)                      the state of a token
    RltFreq(w, a) = count(w, a) / count(w)              share of the tokens of word w whose state is a
    entropy of a label = mean over its tokens of - sum_a P(a) log P(a), P over the states of the label

Words are listed by RltFreq, then by count; words that occur seldom say little and are left out (`min_count`). Two
states of a label whose weights point the same way (cosine above 0.95) are duplicates: fewer states would do. Names of
states are arbitrary: another seed gives another order. Cost: one labeling of the sequences.
References: Sun, Morency, Okanohara & Tsujii (2008), section 5; Rosenberg & Hirschberg (2007) for the V-measure.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.model import check_fitted, check_range
from textmill.sequence.latent import LatentCRF

if TYPE_CHECKING:
    from textmill.report import Report

__all__ = ["StateAnalysis", "StateUse", "StateWord", "analyze_states"]

ALIKE = 0.95  # cosine of the weights of duplicates


class StateWord(NamedTuple):
    """A word of a state: its most frequent tag there (None without tags), its relative frequency, its tokens there."""

    word: str
    tag: str | None
    share: float
    tokens: int


class StateUse(NamedTuple):
    """A state: its label, the tokens it is the most probable state of and their share of the label's, words, tests."""

    state: str
    label: str
    tokens: int
    share: float
    words: list[StateWord]
    tests: list[tuple[str, float]]


@dataclass(frozen=True, slots=True)
class StateAnalysis:
    """What the states of a model have learned, from `analyze_states`.

    `transitions` [states, states] is how often a state follows another, as shares of the first; `entropy` that of the
    states of each label in nats, 0 where a token's state is always certain; `duplicates` pairs of states and their
    cosine; `trace` the objective after every iteration of training. `v_measure` says how far the states are the tags of
    the tokens under other names, from 0 to 1: the harmonic mean of the shares of what states tell about tags, and tags
    about states; None without tags.
    """

    states: list[StateUse]
    transitions: Floats
    entropy: dict[str, float]
    duplicates: list[tuple[str, str, float]]
    trace: Floats
    v_measure: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Everything, for machines."""
        return {
            "states": [
                {**use._asdict(), "words": [word._asdict() for word in use.words], "tests": use.tests}
                for use in self.states
            ],
            "transitions": self.transitions.round(6).tolist(),
            "entropy": self.entropy,
            "duplicates": [list(pair) for pair in self.duplicates],
            "objective": self.trace.tolist(),
            **({} if self.v_measure is None else {"v_measure": self.v_measure}),
        }

    def report(self, title: str = "Hidden states") -> Report:
        """All of it on one page: words, tests, a heat map of transitions, duplicates, the course of training."""
        from textmill import plot
        from textmill.report import Report

        page = Report(title)
        unused = [use.state for use in self.states if not use.tokens]
        facts = [
            (str(len(self.states)), "states"),
            (str(len(self.entropy)), "labels"),
            (str(len(unused)), "states that no token has"),
            (str(len(self.duplicates)), "pairs of states that are alike"),
        ]
        if self.v_measure is not None:
            facts.append((f"{self.v_measure:.3f}", "V-measure of states and tags"))
        page.facts(facts)
        page.heading("Words of the states")
        page.table(
            ["state", "label", "tokens", "share of the label", "words"],
            [(use.state, use.label, use.tokens, use.share, _listed(use.words)) for use in self.states],
            caption="The words with the largest share of their tokens in a state, with their most frequent tag.",
        )
        page.table(
            ["label", "entropy"],
            list(self.entropy.items()),
            caption="How undecided the states of a token's label are, in nats.",
        )
        page.heading("Tests that speak for a state")
        page.table(
            ["state", "tests"],
            [(use.state, ", ".join(f"{test} {weight:+.2f}" for test, weight in use.tests)) for use in self.states],
            caption="The largest weights of every state, less the mean of the other states of its label.",
        )
        page.heading("Which state follows which")
        names = [use.state for use in self.states]
        page.figure(
            plot.heat_map(self.transitions, columns=names, rows=names, x_label="next state", y_label="state"),
            caption="Shares of the tokens of a state that are followed by another.",
        )
        if self.duplicates:
            page.table(
                ["state", "state like it", "cosine"],
                self.duplicates,
                caption="States whose weights are nearly the same.",
            )
        if len(self.trace) > 1:
            page.heading("Training")
            curve = {"objective": (list(range(1, len(self.trace) + 1)), self.trace.tolist())}
            page.figure(
                plot.lines(curve, x_label="iteration", y_label="objective"), caption="The objective while training."
            )
        return page


def analyze_states(
    model: LatentCRF,
    X: Iterable[Any],
    *,
    tags: Sequence[Sequence[str]] | None = None,
    min_count: int = 15,
    k: int = 3,
) -> StateAnalysis:
    """Find out what the states of a model stand for in sequences, whose `tags` may be given beside them.

    Words are the first columns of tokens. `k` words and tests are listed for each state.

    >>> X, y = [["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]]
    >>> model = LatentCRF(patterns=["u:%x[0,0]"], states=2, noise=1.0, random_state=0).fit(X, y)
    >>> analysis = analyze_states(model, X, tags=y, min_count=1)
    >>> sum(use.tokens for use in analysis.states), analysis.states[0].label
    (4, 'D')
    """
    check_fitted(model)
    check_range("min_count", min_count, at_least=1, whole=True)
    check_range("k", k, at_least=1, whole=True)
    X = list(X)
    probabilities = model.predict_states(X)
    words = [[_word(token) for token in sequence] for sequence in X]
    if tags is not None and [len(row) for row in tags] != [len(row) for row in words]:
        raise DataError("tags must be one for each token of the sequences; give as many")
    names, owner = model.state_names_, model.owner_
    states = [part.argmax(axis=1) for part in probabilities]
    by_word: Counter[str] = Counter(word for row in words for word in row)
    pairs: Counter[tuple[str, int]] = Counter()
    tag_counts: defaultdict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    steps = np.zeros((len(names), len(names)))
    for s, (row, path) in enumerate(zip(words, states, strict=True)):
        for t, (word, state) in enumerate(zip(row, path.tolist(), strict=True)):
            pairs[word, state] += 1
            if tags is not None:
                tag_counts[word, state][tags[s][t]] += 1
        np.add.at(steps, (path[:-1], path[1:]), 1.0)
    used = np.bincount(np.concatenate(states) if states else np.empty(0, int), minlength=len(names))
    of_label = np.bincount(owner, weights=used)
    unigram = _unigram_weights(model)
    uses = []
    for state, name in enumerate(names):
        ranked = sorted(
            ((-count / by_word[word], -count, word) for (word, at), count in pairs.items()
             if at == state and by_word[word] >= min_count)
        )[:k]  # fmt: skip
        listed = []
        for share, count, word in ranked:
            common = tag_counts[word, state].most_common(1)
            listed.append(StateWord(word, common[0][0] if common else None, -share, -count))
        total = of_label[owner[state]]
        uses.append(
            StateUse(
                name,
                str(model.classes_[owner[state]]),
                int(used[state]),
                float(used[state] / total) if total else 0.0,
                listed,
                _strongest(model, unigram, state, k),
            )
        )
    return StateAnalysis(
        uses,
        np.divide(
            steps,
            steps.sum(axis=1, keepdims=True),
            out=np.zeros_like(steps),
            where=steps.sum(axis=1, keepdims=True) > 0,
        ),
        _entropies(model, probabilities),
        _duplicates(model, unigram),
        np.asarray(model.trace_, np.float64),
        None if tags is None else _v_measure(states, tags),
    )


def _v_measure(states: list[NDArray[Any]], tags: Sequence[Sequence[str]]) -> float:
    """Harmonic mean of homogeneity 1 - H(tag | state) / H(tag) and completeness 1 - H(state | tag) / H(state)."""
    paths = zip(states, tags, strict=True)
    joint = Counter(pair for path, row in paths for pair in zip(path.tolist(), row, strict=True))
    sums: list[Counter[Any]] = [Counter(), Counter()]
    for pair, count in joint.items():
        for side, value in zip(sums, pair, strict=True):
            side[value] += count

    def entropy(counts: Counter[Any]) -> float:
        shares = np.fromiter(counts.values(), np.float64, len(counts)) / max(1, counts.total())
        return float(-(shares * np.log(shares)).sum())

    both, (state, tag) = entropy(joint), (entropy(side) for side in sums)
    homogeneity = 1 - (both - state) / tag if tag > 0 else 1.0
    completeness = 1 - (both - tag) / state if state > 0 else 1.0
    total = homogeneity + completeness
    return 2 * homogeneity * completeness / total if total > 0 else 0.0


def _word(token: Any) -> str:
    """The word of a token: itself, or its first column."""
    if isinstance(token, str):
        return token
    if isinstance(token, dict):
        return str(next(iter(token.values()), ""))
    return str(token[0]) if len(token) else ""


def _unigram_weights(model: LatentCRF) -> Floats:
    """Weights of unigram tests, [tests, states]."""
    layout = model.feature_layout_
    parts = layout.split(model.features_)
    table = np.zeros((layout.unigrams, layout.labels))
    plain = ~parts.bigram
    table[parts.test[plain], parts.label[plain]] = model.weights_[plain]
    return table


def _strongest(model: LatentCRF, unigram: Floats, state: int, k: int) -> list[tuple[str, float]]:
    """The tests whose weight for a state exceeds most the mean of the other states of the label."""
    if model.encoder_.hash_bits is not None or not len(unigram):
        return []
    owner = model.owner_
    others = np.flatnonzero((owner == owner[state]) & (np.arange(len(owner)) != state))
    lead = unigram[:, state] - (unigram[:, others].mean(axis=1) if len(others) else 0.0)
    numbers, _ = model.encoder_.numbers()
    name = np.flatnonzero(numbers >= 0)[np.argsort(numbers[numbers >= 0])]  # test of each row
    best = np.argsort(-lead, kind="stable")[:k]
    return [(model.encoder_.tests_[int(name[row])], float(lead[row])) for row in best if lead[row] > 0]


def _entropies(model: LatentCRF, probabilities: list[Floats]) -> dict[str, float]:
    first = np.concatenate([[0], np.cumsum(model.states_)])
    table = np.concatenate(probabilities) if probabilities else np.zeros((0, int(first[-1])))
    entropy = {}
    for y, label in enumerate(model.classes_.tolist()):
        part = table[:, first[y] : first[y + 1]]
        mass = part.sum(axis=1)
        share = np.divide(part, mass[:, None], out=np.zeros_like(part), where=mass[:, None] > 0)
        each = -np.sum(share * np.log(np.where(share > 0, share, 1.0)), axis=1)
        total = float(mass.sum())
        entropy[str(label)] = float((mass * each).sum() / total) if total > 0 else 0.0
    return entropy


def _duplicates(model: LatentCRF, unigram: Floats) -> list[tuple[str, str, float]]:
    names, owner = model.state_names_, model.owner_
    norms = np.sqrt((unigram**2).sum(axis=0))
    alike = []
    for a in range(len(names)):
        for b in range(a + 1, len(names)):
            if owner[a] == owner[b] and norms[a] > 0 and norms[b] > 0:
                cosine = float(unigram[:, a] @ unigram[:, b] / (norms[a] * norms[b]))
                if cosine > ALIKE and math.isfinite(cosine):
                    alike.append((names[a], names[b], cosine))
    return alike


def _listed(words: list[StateWord]) -> str:
    return ", ".join(f"{word.word}{f' {word.tag}' if word.tag else ''} ({word.share:.2f})" for word in words)
