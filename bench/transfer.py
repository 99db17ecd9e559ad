"""Treebank transfer and parsing by a treebank's grammar, on the Wall Street Journal sample.

TEXTMILL_DATA=... python -m bench transfer [--repeats 3] [--quick] [--only TEXT]

    scan          a draw of target trees given the parameters, one thread, processor seconds for a million choices,
                  against the same sums and draws of the same forests in plain Python, without scaling
    parsing       the last 414 trees up to 40 words, one thread, from tags and from words, beside the bar of 100
                  sentences in a second

Behind the table: the hidden-grammar experiment. Each frequent rule of two or three children gets a random order that
it takes nine times in ten; half of the trees are sources, the tags of the other half, re-ordered, are the raw text.
Imputed trees are compared with the re-ordered ones, and so are the trees of grammars trained on either, on re-ordered
trees that were kept apart. `--quick` takes 300 source trees and 40 iterations.
"""

from __future__ import annotations

import random
import time
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bench.harness import Job, Options
from textmill.corpus import Tree, read_trees
from textmill.tasks.transfer import TreebankTransfer, WeakIdentification, evaluate, split_r_hat
from textmill.trees import OrderModel, TreebankGrammar, WovenForests, bare_tree, propose_families, weave

PACKAGES = ["numpy"]

_APART = 414
_RARE = 100  # nodes that a family needs
_USUAL = 0.9  # share of the order that a hidden family takes
_options = Options()


def jobs(options: Options) -> list[Job]:
    global _options
    _options = options
    scan = Job(
        "scan",
        lambda: _ours_scan(options),
        lambda: _python_scan(options),
        "plain Python",
        lambda: _sizes(options),
        figure="returned",
        bar=50.0,
    )
    parsing = [
        Job(
            f"parsing from {'tags' if tagged else 'words'}",
            lambda tagged=tagged: _parse(options, tagged)[0],
            lambda: len(_kept_apart(options)) / 100,
            "100 sentences/s",
            lambda tagged=tagged: f"bracket F1 {_parse(options, tagged)[1]:.4f}",
            figure="returned",
        )
        for tagged in (True, False)
    ]
    return [scan, *parsing]


@cache
def _trees(folder: Path) -> list[Tree]:
    files = sorted((folder / "treebank" / "combined").glob("*.mrg"))
    bare = (bare_tree(tree) for file in files for tree in read_trees(file))
    return [tree for tree in bare if tree is not None]


def _kept_apart(options: Options) -> list[Tree]:
    return [tree for tree in _trees(options.data)[-_APART:] if len(tree.leaves()) <= 40]


@cache
def _grammar(folder: Path) -> TreebankGrammar:
    return TreebankGrammar(n_jobs=1).fit(_trees(folder)[:-_APART])


def _parse(options: Options, tagged: bool) -> tuple[float, float]:
    grammar, trees = _grammar(options.data), _kept_apart(options)
    began = time.process_time()
    counts = grammar.evaluate(trees, tagged=tagged)
    return time.process_time() - began, counts.f1


@cache
def _forests(folder: Path, quick: bool) -> tuple[WovenForests, np.ndarray, np.ndarray]:
    trees = _trees(folder)[:300] if quick else _trees(folder)
    model = OrderModel(propose_families(_trees(folder), min_count=_RARE))
    woven = weave([model.forest(tree) for tree in trees])
    rng = np.random.default_rng(0)
    return woven, rng.random(model.n_parameters), rng.random(woven.n_events)


def _ours_scan(options: Options) -> float:
    woven, xi, events = _forests(options.data, options.quick)
    began = time.process_time()
    woven.sample(xi, events, trees=False, n_jobs=1)
    return (time.process_time() - began) / _n_choices(woven) * 1e6


def _n_choices(woven: WovenForests) -> int:
    return len(woven.native.arrays()[4])


def _python_scan(options: Options) -> float:
    """Inside weights and one draw of each sentence, with lists and dictionaries."""
    woven, xi, events = _forests(options.data, options.quick)
    structure, node_at, event, choice_at, left, right, parameter, *_ = (
        array.tolist() for array in woven.native.arrays()
    )
    weights, of_events, rng = xi.tolist(), events.tolist(), random.Random(0)
    began = time.process_time()
    visited = 0
    for s in structure:
        first, inside = node_at[s], []
        visited += choice_at[node_at[s + 1]] - choice_at[first]
        for node in range(first, node_at[s + 1]):
            if event[node] >= 0:
                inside.append(of_events[event[node]])
                continue
            total = 0.0
            for c in range(choice_at[node], choice_at[node + 1]):
                value = inside[left[c]] * (weights[parameter[c]] if parameter[c] >= 0 else 1.0)
                total += value * inside[right[c]] if right[c] >= 0 else value
            inside.append(total)
        stack = [node_at[s + 1] - first - 1]
        while stack:
            local = stack.pop()
            node = first + local
            if event[node] >= 0:
                continue
            rest = rng.random() * inside[local]
            for c in range(choice_at[node], choice_at[node + 1]):
                value = inside[left[c]] * (weights[parameter[c]] if parameter[c] >= 0 else 1.0)
                rest -= value * inside[right[c]] if right[c] >= 0 else value
                if rest < 0:
                    break
            if right[c] >= 0:
                stack.append(right[c])
            stack.append(left[c])
    return (time.process_time() - began) / visited * 1e6


def _sizes(options: Options) -> str:
    woven, *_ = _forests(options.data, options.quick)
    choices = _n_choices(woven)
    rate = 1.0 / _ours_scan(options)
    sizes = f"{len(woven.forests)} forests, {choices / 1e6:.2f} M choices, {woven.n_bytes / 1e6:.0f} MB"
    return f"{sizes}, {rate:.0f} M choices/s"


def appendix() -> str:
    """The hidden-grammar experiment."""
    options = _options
    if not options.wants("hidden grammar"):
        return ""
    trees = _trees(options.data)
    train, test = trees[:-_APART], trees[-_APART:]
    families = propose_families(train, min_count=_RARE)
    rng = np.random.default_rng(0)
    usual = {id(family): int(rng.integers(len(family.orders))) for family in families}

    def reordered(tree: Tree) -> Tree:
        def node(own: Tree, below: list[Any]) -> Any:
            labels = [child.label for child in below if isinstance(child, Tree)]
            for family in families if len(labels) == len(below) else ():
                source = family.source_order(own.label, labels)
                if source is not None:
                    favorite = rng.random() < _USUAL
                    order = usual[id(family)] if favorite else int(rng.integers(len(family.orders)))
                    return Tree(own.label, tuple(below[at] for at in family.placed(source, order)))
            return Tree(own.label, tuple(below))

        out: Tree = tree.fold(node, lambda leaf: leaf)
        return out

    sources = train[::2][:300] if options.quick else train[::2]
    gold = [reordered(tree) for tree in sources]
    text = [reordered(tree).tags() for tree in train[1::2]]
    right = [tree for tree in map(reordered, test) if len(tree.leaves()) <= 40]
    lines = [
        f"hidden grammar: {len(families)} families, {len(sources)} source trees, {len(text)} sentences of raw text"
    ]
    lines.append("| trees | exact match | bracket F1 | F1 of a grammar trained on them, from tags |")
    lines.append("|---|---|---|---|")

    def row(name: str, imputed: list[Tree]) -> str:
        scores = evaluate(gold, imputed)
        f1 = TreebankGrammar().fit(imputed).evaluate(right, tagged=True).f1
        return f"| {name} | {scores.exact_match:.3f} | {scores.brackets.f1:.3f} | {f1:.3f} |"

    lines.append(row("sources, copied", sources))
    notes = []
    for method, iterations in (("gibbs", 200), ("collapsed", 100), ("em", 50), ("variational", 50)):
        count = iterations // 5 if options.quick else iterations
        model = TreebankTransfer(
            families="\n".join(map(str, families)), method=method, n_chains=2, max_iter=count, burn_in=count // 2
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WeakIdentification)
            model.fit(sources, corpus=text)
        lines.append(row(f"{method}, most probable", [best[0][0] for best in model.best()]))
        if model.draws_.shape[1]:
            lines.append(row(f"{method}, one sample", model.sample(1)[0]))
            weak = np.array(model.summary().to_dict()["weak"])
            r_hat = split_r_hat(model.draws_)
            apart = f"{np.mean(r_hat[~weak] > 1.1):.3f}" if (~weak).any() else "-"
            notes.append(
                f"{method}: {np.mean(weak):.2f} of parameters weak; of the others {apart} have R-hat above 1.1"
            )
    lines.append(row("right target trees", gold))
    return "\n".join([*lines, "", *notes])
