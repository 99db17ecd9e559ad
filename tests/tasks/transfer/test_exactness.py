"""The samplers of treebank transfer against enumeration, and against simulation from the joint distribution."""

from __future__ import annotations

import itertools
import math
import warnings
from functools import cache

import numpy as np
import pytest

from tests.reference.transfer import FAMILIES, source_tree, target_tree
from textmill.corpus import Tree, parse_tree
from textmill.tasks.transfer import FringeCounts, Rows, TreebankTransfer, WeakIdentification, effective_size
from textmill.trees import OrderModel, WovenForests, parse_families, weave

SMALL = "C: S v | v S\nS: a n | n a"
SOURCES = [
    parse_tree(text)
    for text in (
        "(C (S (a 1) (n 2)) (v 3))",
        "(C (S (n 2) (a 1)) (v 3))",
        "(C (v 3) (S (a 1) (n 2)))",
        "(C (v 3) (S (n 2) (a 1)))",
    )
]
TEXT = [["v", "n", "a"], ["v", "n", "a"], ["a", "n", "v"]]


def orders(tree: Tree) -> tuple[int, int]:
    """Which of its two orders the clause and the noun phrase have."""
    below = [child for child in tree.children if isinstance(child, Tree)]
    phrase = below[0] if below[0].label == "S" else below[1]
    first = phrase.children[0]
    assert isinstance(first, Tree)
    return int(below[0].label == "v"), int(first.label == "n")


def log_urn(alpha: dict[object, float], total: dict[object, float], drawn: list[tuple[object, object]]) -> float:
    """The log probability of (row, entry) pairs drawn one after the other, with all multinomials integrated out."""
    counts: dict[object, float] = {}
    rows: dict[object, float] = {}
    value = 0.0
    for row, entry in drawn:
        value += math.log(alpha[entry] + counts.get(entry, 0.0)) - math.log(total[row] + rows.get(row, 0.0))
        counts[entry] = counts.get(entry, 0.0) + 1.0
        rows[row] = rows.get(row, 0.0) + 1.0
    return value


def exact_means(sources: list[Tree], constant: float, full: bool) -> tuple[np.ndarray, dict[tuple[str, str], float]]:
    """Posterior means of Xi, and of n-grams, by enumeration of all target trees of all sources."""
    alpha: dict[object, float] = {}
    total: dict[object, float] = {}
    symbols = ("a", "n", "v", "$")
    for h in ("#", "a", "n", "v"):
        for w in symbols:
            seen = sum(list(zip(["#", *s], [*s, "$"], strict=True)).count((h, w)) for s in TEXT)
            alpha[h, w] = seen + constant
        total[h] = sum(alpha[h, w] for w in symbols)
    xi_alpha: dict[object, float] = {(r, s): 1.0 for r in range(4) for s in range(2)}
    xi_total: dict[object, float] = dict.fromkeys(range(4), 2.0)
    weights, xis, lams = [], [], []
    for targets in itertools.product(SOURCES, repeat=len(sources)):
        used, events = [], []
        for source, target in zip(sources, targets, strict=True):
            (s, p), (t, q) = orders(source), orders(target)
            used += [(t, (t, s)), (2 + q, (2 + q, p))]
            tags = target.tags()
            events += [(h, (h, w)) for h, w in zip(["#", *tags], [*tags, "$"], strict=True)]
        fixed = sum(math.log(alpha[e] / total[h]) for h, e in events)
        weights.append(log_urn(xi_alpha, xi_total, used) + (log_urn(alpha, total, events) if full else fixed))
        names, grams = [e for _, e in used], [e for _, e in events]
        rows = [r for r, _ in used]
        xis.append([(1 + names.count((r, s))) / (2 + rows.count(r)) for r in range(4) for s in range(2)])
        history = [h for h, _ in events]
        lams.append([(alpha[e] + grams.count(e)) / (total[e[0]] + history.count(e[0])) for e in alpha])  # type: ignore[index]
    share = np.exp(np.array(weights) - np.logaddexp.reduce(weights))
    return share @ np.array(xis), dict(zip(alpha, share @ np.array(lams), strict=True))  # type: ignore[arg-type]


@pytest.mark.parametrize(("method", "full"), [("gibbs", False), ("gibbs", True), ("collapsed", True)])
def test_posterior_means_are_those_of_enumeration(method: str, full: bool) -> None:
    sources = [SOURCES[0], SOURCES[2], SOURCES[0]]
    xi, lam = exact_means(sources, 0.5, full)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakIdentification)
        model = TreebankTransfer(
            families=SMALL, method=method, full=full, constant=0.5, max_iter=2500, burn_in=100, n_chains=2, n_jobs=1
        ).fit(sources, corpus=TEXT)
    np.testing.assert_allclose(model.parameters_, xi, atol=0.015)
    if full:
        for history, word, mean in zip(model.histories_, model.words_, model.weights_, strict=True):
            assert mean == pytest.approx(lam[history or "#", word], abs=0.015)


@pytest.mark.parametrize("full", [False, True], ids=["reduced", "full"])
def test_the_whole_sampler_agrees_with_simulation_from_the_joint_distribution(full: bool) -> None:
    """Geweke (2004): parameters and trees drawn forward, against a chain that draws sources, trees and parameters.

    Fringe weights do not sum to 1 over target trees, so that p(Lam) of the joint distribution has the factor Z(Lam)^n,
    Z the sum of the fringe weights of all target trees: forward draws of Lam are weighed by it.
    """
    n, rounds, rng = 2, 3000, np.random.default_rng(4)
    model = OrderModel(parse_families(SMALL))
    counts = FringeCounts(TEXT, order=2, constant=0.5)

    @cache
    def woven_of(sources: tuple[int, ...]) -> tuple[WovenForests, Rows]:
        woven = weave([model.forest(SOURCES[s]) for s in sources])
        row, alpha, total = counts.prior(woven.events)
        listed = np.bincount(row, alpha, minlength=len(total))
        return woven, Rows(row, alpha, np.maximum(total - listed, 0.0))

    woven, events = woven_of((0,) * n)
    rows = Rows.even(model.row, 1.0)
    names = {event: at for at, event in enumerate(woven.events)}
    grams = []
    for tree in SOURCES:
        tags = tree.tags()
        pairs = zip([(), *((tag,) for tag in tags)], [*tags, "$"], strict=True)
        grams.append([names[history, word] for history, word in pairs])
    fixed = events.mean(np.zeros(woven.n_events))

    # forward: Lam, Xi, then trees
    lams = np.array([events.draw(np.zeros(woven.n_events), rng) if full else fixed for _ in range(rounds)])
    xis = np.array([rows.draw(np.zeros(8), rng) for _ in range(rounds)])
    fringe = np.stack([lams[:, own].prod(axis=1) for own in grams], axis=1)
    weight = fringe.sum(axis=1) ** n if full else np.ones(rounds)
    targets = np.array([[rng.choice(4, p=p / p.sum()) for _ in range(n)] for p in fringe])
    ahead = np.column_stack([xis, lams[:, grams[3]], (targets == 3).sum(axis=1), (targets == 0).sum(axis=1)])

    # in turn: sources given trees and Xi; trees given sources, by the sampler; Xi and Lam given counts, by the sampler
    xi, lam, trees = xis[0], lams[0], list(targets[0])
    chain = []
    for iteration in range(rounds):
        sources = []
        for tree in trees:
            t, q = orders(SOURCES[tree])
            s = int(rng.random() < xi[2 * t + 1])
            p = int(rng.random() < xi[4 + 2 * q + 1])
            sources.append(next(at for at in range(4) if orders(SOURCES[at]) == (s, p)))
        own, prior = woven_of(tuple(sources))
        at = [names[event] for event in own.events]
        drawn = own.sample(xi, lam[at], random_state=5, iteration=iteration, n_jobs=1)
        trees = [
            next(i for i in range(4) if orders(SOURCES[i]) == orders(own.forests[s].tree(d)))
            for s, d in enumerate(drawn.derivations)
        ]
        xi = rows.draw(drawn.parameter_counts, rng)
        if full:
            lam = lam.copy()
            lam[at] = prior.draw(drawn.event_counts, rng)
        chain.append([*xi, *lam[grams[3]], trees.count(3), trees.count(0)])
    after = np.array(chain)
    weight = weight / weight.sum()
    for power in (1, 2):
        f, g = ahead**power, after**power
        mean = weight @ f
        error = np.sqrt((weight**2) @ (f - mean) ** 2 + g.var(axis=0) / effective_size(g[None]))
        z = np.abs(mean - g.mean(axis=0)) / np.maximum(error, 1e-12)
        assert (z < 4).all(), z


def perplexity(model: TreebankTransfer, text: list[list[str]]) -> float:
    events = zip(model.histories_, model.words_, strict=True)
    p = {(history or "#", word): weight for (history, word), weight in zip(events, model.weights_, strict=True)}
    logs = [math.log(p[event]) for s in text for event in zip(["#", *s], [*s, "$"], strict=True)]
    return math.exp(-sum(logs) / len(logs))


def test_a_few_trees_teach_the_full_model_n_grams_and_many_mislead_it() -> None:
    """Weights of fringes do not sum to 1 over trees: many trees outweigh the text and make the n-grams narrow."""
    lower, higher = 0, 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        text = [target_tree(rng).tags() for _ in range(5)]
        sources = [source_tree(target_tree(rng), rng) for _ in range(400)]
        kept = [target_tree(rng).tags() for _ in range(500)]
        values = []
        for full, size in ((False, 5), (True, 5), (True, 400)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", WeakIdentification)
                model = TreebankTransfer(
                    families=FAMILIES, full=full, constant=1.0, max_iter=80, burn_in=20, n_chains=2, n_jobs=1
                ).fit(sources[:size], corpus=text)
            values.append(perplexity(model, kept))
        lower += values[1] < values[0]
        higher += values[2] > values[0]
    assert lower == 4
    assert higher == 4
