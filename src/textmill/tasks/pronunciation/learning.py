"""How a lexicon becomes a tree: aligned, cut into windows, its settings chosen, aligned anew by trees.

    choose    context and weights of evidence with the fewest errors on words kept apart
    grow      a tree of the windows of some entries
    realign   targets by trees of the other folds, while errors on these words fall

Cost: that of a tree for each fold and choice. Reference: Jansche (2001), Re-engineering letter-to-sound rules, NAACL.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from textmill.arrays import Floats, Ids, Ints
from textmill.errors import DataError
from textmill.model import effective_jobs
from textmill.tasks.pronunciation.alignment import AlignedLexicon, align_by_nodes, align_lexicon
from textmill.tasks.pronunciation.evidence import RulePair, check_weights
from textmill.tasks.pronunciation.walking import (
    path_probabilities,
    position_nodes,
    shown_letters,
    sound_name,
    wrong_share,
)
from textmill.tasks.pronunciation.windows import EDGE, EMPTY, column_names, window_codes
from textmill.trees import CategoricalTree, EncodedRows

__all__ = ["LEXICON_ONLY", "Chosen", "Learner", "SpelledPair"]

SpelledPair = tuple[list[str], tuple[str, ...]]  # letters and phonemes of an entry

LEXICON_ONLY = (0.0, 0.9, 0.1)
WEIGHT_GRID = ((0.9, 0.09, 0.01), (0.5, 0.45, 0.05), (0.2, 0.7, 0.1), (0.05, 0.85, 0.1))
_CONTEXTS = (1, 2, 3, 4, 5)
_CHOOSING = 20000  # entries up to which choices are made by cross-validation
_FOLDS = 5


class Chosen(NamedTuple):
    """What was chosen by errors on words kept apart."""

    context: int
    weights: tuple[float, ...]


class Learner(NamedTuple):
    """Settings of learning, as in `PronunciationModel`."""

    alignment: str
    max_insertions_per_gap: int | None
    both_empty: bool
    min_cases: float
    subsets: bool
    confidence: float | None
    raising: bool
    n_jobs: int | None

    def align(self, pairs: list[SpelledPair], rules: Sequence[RulePair], weights: tuple[float, ...]) -> AlignedLexicon:
        """The entries with the target of every position."""
        return align_lexicon(
            pairs,
            method=self.alignment,
            rules=rules,
            weights=weights,
            max_insertions_per_gap=self.max_insertions_per_gap,
            both_empty=self.both_empty,
            n_jobs=self.n_jobs,
        )

    def choose(
        self,
        pairs: list[SpelledPair],
        tags: list[str] | None,
        rules: Sequence[RulePair],
        dev: list[SpelledPair] | None,
        *,
        context: int | None,
        weights: Sequence[float] | None,
    ) -> Chosen:
        """Context and weights: what is given, or what makes the fewest errors on words kept apart.

        Those are all words, a fifth at a time (of a large lexicon one tenth), and the words of `dev`. Rules that make
        more errors on `dev` than the lexicon alone are not taken, whatever they gain elsewhere.
        """
        grid: list[tuple[float, ...]] = [LEXICON_ONLY]
        if weights is not None:
            grid = [check_weights(weights)]
        elif rules:
            grid += WEIGHT_GRID
        contexts = list(_CONTEXTS) if context is None else [context]
        if len(grid) == len(contexts) == 1 or len(pairs) < 20:
            return Chosen(contexts[0] if len(contexts) == 1 else 2, grid[0])
        folds = _FOLDS if len(pairs) <= _CHOOSING else 1
        fold = np.random.default_rng(0).permutation(len(pairs)) % (_FOLDS if folds > 1 else 10)
        chosen = Chosen(contexts[0], grid[0])
        best = own_dev = limit = np.inf  # errors of the best choice, in all and on dev; at most so many on dev
        for some in grid:
            lexicon = self.align(pairs, rules, some)
            aligned = lexicon.aligned
            for size in contexts:
                wrong = dev_wrong = 0.0
                for f in range(folds):
                    train, apart = aligned[fold[aligned] != f], np.flatnonzero(fold == f)
                    if not len(train) or not len(apart):
                        continue
                    tree = self.grow(lexicon, train, size, tags)
                    own = [pairs[i] for i in apart.tolist()]
                    own_tags = None if tags is None else [tags[i] for i in apart.tolist()]
                    wrong += len(own) * wrong_share(tree, lexicon, own, own_tags, size, self.n_jobs)
                if dev is not None and len(aligned):
                    tree = self.grow(lexicon, aligned, size, tags)
                    dev_tags = None if tags is None else [""] * len(dev)
                    dev_wrong = len(dev) * wrong_share(tree, lexicon, dev, dev_tags, size, self.n_jobs)
                    wrong += dev_wrong
                if wrong < best and dev_wrong <= limit and len(aligned):  # smaller contexts and no rules win ties
                    best, own_dev, chosen = wrong, dev_wrong, Chosen(size, some)
            if some == LEXICON_ONLY:
                limit = own_dev
        return chosen

    def grow(
        self, lexicon: AlignedLexicon, entries: Ints, context: int, tags: list[str] | None, targets: Ids | None = None
    ) -> CategoricalTree:
        """A tree of the windows of some entries; its classes are names of sounds."""
        edge, empty = len(lexicon.letters), len(lexicon.letters) + 1
        words = lexicon.words.take(entries)
        codes = window_codes(words, context, edge, empty)
        values: list[Sequence[str]] = [[*shown_letters(lexicon.letters), EDGE, EMPTY]] * (2 * context + 1)
        names = column_names(context)
        if tags is not None:
            kinds = sorted(set(tags))
            place = {kind: i for i, kind in enumerate(kinds)}
            own = np.array([place[tags[i]] for i in entries.tolist()], np.int32)
            codes = np.column_stack([codes, np.repeat(own, np.diff(words.positions))])
            values = [*values, kinds]
            names = [*names, "attribute"]
        labels = (lexicon.targets if targets is None else targets)[lexicon.position_rows(entries)]
        tree = CategoricalTree(
            min_cases=self.min_cases,
            subsets=self.subsets,
            confidence=self.confidence,
            raising=self.raising,
            n_jobs=self.n_jobs,
        )
        # Codes in the order of their names: the classes are these names then.
        shown = np.array([sound_name(name, lexicon.names) for name in lexicon.names])
        order = np.argsort(shown)
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order))
        tree.fit(EncodedRows(codes, values=values, names=names), rank[labels])
        tree.classes_ = shown[order][tree.classes_]
        return tree

    def realign(
        self, lexicon: AlignedLexicon, pairs: list[SpelledPair], tags: list[str] | None, context: int, rounds: int
    ) -> Floats:
        """Let trees of the other folds align each fold, kept while errors out of fold fall; returns these errors."""
        if self.max_insertions_per_gap != 1:
            raise DataError("rounds of re-alignment need max_insertions_per_gap=1")
        aligned = lexicon.aligned
        fold = np.random.default_rng(0).permutation(len(aligned)) % _FOLDS
        number = {name: i for i, name in enumerate(lexicon.names)}
        trace: list[float] = []
        best = lexicon.targets.copy()
        for step in range(rounds + 1):
            targets = lexicon.targets.copy()
            wrong = 0.0
            for f in range(_FOLDS):
                mine, others = aligned[fold == f], aligned[fold != f]
                if not len(mine) or not len(others):
                    continue
                tree = self.grow(lexicon, others, context, tags)
                words = lexicon.words.take(mine)
                own = [pairs[i] for i in mine.tolist()]
                own_tags = None if tags is None else [tags[i] for i in mine.tolist()]
                wrong += len(mine) * wrong_share(tree, lexicon, own, own_tags, context, self.n_jobs)
                nodes = position_nodes(tree, lexicon.letters, words, own_tags, context, self.n_jobs)
                table = path_probabilities(tree, [sound_name(name, lexicon.names) for name in lexicon.names])
                new, _ = align_by_nodes(
                    words, [p for _, p in own], number, nodes, np.log(table), 0, effective_jobs(self.n_jobs)
                )
                targets[lexicon.position_rows(mine)] = new
            trace.append(wrong / len(aligned))
            if len(trace) > 1 and trace[-1] >= min(trace[:-1]):
                break
            best = lexicon.targets.copy()
            if step < rounds:
                lexicon.targets = np.where(targets < 0, lexicon.targets, targets).astype(np.int32)
        lexicon.targets = best
        return np.array(trace)
