"""Phase 1: the spans of sentences that a chain finds probable, also of training sentences by a chain without them.

A chain over the bare tags B, I and O gives P(span). A chain over full tags gives P(span, type), found for one type
after the other. Training sentences are cut into stretches, and the candidates of each come from a chain that did not
see it (jackknife): counts are subtracted, other chains are trained once more for each stretch.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from textmill._native import entities as native
from textmill._native import sequence as chains
from textmill.arrays import Ids, Ints
from textmill.model import effective_jobs
from textmill.progress import track
from textmill.sequence import CountedMarkov
from textmill.tasks.entities.candidates import Found, concatenate_found, join_chains

__all__ = ["find_candidates", "jackknife_by_training", "jackknife_counts"]

_BATCH = 2_000  # sentences whose steps are in memory together
_FINER = 0.25  # candidates of one chain that another may know better: down to this share of the least probability


def find_candidates(
    extractor: Any, chain: Any, words: Any, types: Sequence[str], least: float, n_jobs: int | None
) -> Found:
    """Probable spans of sentences by a chain over bare tags and, if it is not None, by one over full tags.

    `words` are lists of words, or the cells of a chain that counts.
    """
    if chain is None:
        return _spans(extractor, words, [""], least, n_jobs)[0]
    bare = _spans(extractor, words, [""], _FINER * least, n_jobs)[0]
    full = _spans(chain, words, [f"-{name}" for name in types], _FINER * least, n_jobs)
    return join_chains(bare, full, least)


def jackknife_counts(extractor: CountedMarkov, data: Any, folds: Ints, least: float, n_jobs: int | None) -> Found:
    """Candidates of training sentences by the counts without those of their fold; `data` is what was counted."""
    tests = data.offsets, data.bigram.indptr, data.bigram.ids
    begin, inside = _letters(extractor, "")
    arrays = native.jackknife_candidates(
        extractor.table(), tests, data.labels, folds, begin, inside, least, effective_jobs(n_jobs)
    )
    return Found(*arrays)


def jackknife_by_training(
    train: Callable[[int, int], tuple[Any, Any]],
    words: list[list[str]],
    types: Sequence[str],
    folds: Ints,
    least: float,
    n_jobs: int | None,
) -> Found:
    """Candidates of every fold by the chains that `train(first, last)` gives, trained without these sentences."""
    parts = []
    for first, last in track(list(itertools.pairwise(folds.tolist())), "jackknife"):
        parts.append(find_candidates(*train(first, last), words[first:last], types, least, n_jobs))
    return concatenate_found(parts)


def _letters(chain: Any, suffix: str) -> tuple[int, int]:
    """Numbers of B and I with a suffix; one past the labels stands for an I that never occurred."""
    names = chain.classes_.tolist()
    inside = f"I{suffix}"
    return names.index(f"B{suffix}"), names.index(inside) if inside in names else len(names)


def _spans(chain: Any, words: Any, suffixes: list[str], least: float, n_jobs: int | None) -> list[Found]:
    """The probable spans with each suffix of tags."""
    threads = effective_jobs(n_jobs)
    chain.n_jobs = n_jobs
    names = chain.classes_.tolist()
    if isinstance(chain, CountedMarkov):
        source, offsets = chain.steps(words)
        sources, sizes = [source], [len(offsets) - 1]
    else:
        batches = [words[begin : begin + _BATCH] for begin in range(0, len(words), _BATCH)]
        sources = (_source(chain, batch) for batch in batches)  # type: ignore[assignment]
        sizes = list(map(len, batches))
    parts: list[list[Found]] = [[] for _ in suffixes]
    for source, size in zip(sources, sizes, strict=True):
        for suffix, part in zip(suffixes, parts, strict=True):
            if f"B{suffix}" in names:  # a fold may have no names
                arrays = native.find_candidates(source, *_letters(chain, suffix), least, threads)
                part.append(Found(*arrays))
            else:
                none: Ids = np.empty(0, np.int32)
                part.append(Found(np.zeros(size + 1, np.int64), none, none, np.empty(0)))
    return [concatenate_found(part) for part in parts]


def _source(chain: Any, words: Any) -> chains.StepSource:
    """The steps of a chain that is no chain of counts."""
    steps = chain.next_labels(words)
    offsets = np.cumsum([0, *map(len, steps)]).astype(np.int64)
    size = len(chain.classes_)
    flat = np.concatenate(steps) if steps else np.empty((0, size, size))
    return chains.StepSource((size, size, 1, 0), offsets, np.ascontiguousarray(flat))
