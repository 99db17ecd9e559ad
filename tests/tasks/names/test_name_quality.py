"""How well measures find the matches of the SecondString sets: the figures of reference runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from textmill.strings import parse_measure
from textmill.tasks.names import read_names
from textmill.tasks.names.generate import generate_names

WORDS = "words(split='regex')"
MEASURES = {
    "cosine": f"cosine({WORDS})",
    "tfidf": f"tfidf({WORDS}, documents='tokens')",  # each name of each relation was a document there
    "soft/3g": f"softtfidf({WORDS}, sub=tfidf(trigrams), symmetry='mean', documents='tokens')",
    "ml/context": f"ml({WORDS}, sub=ml(trigrams, sub=context), documents='tokens')",
    "ext/context": f"ml({WORDS}, sub=ml(trigrams, sub=context), transpositions='extended', documents='tokens')",
}
# best F1 in percent of cosine, tfidf, soft/3g, ext/context
FIGURES = {
    "parks": (87.7, 94.5, 96.6, 96.8),
    "restaurant": (86.5, 96.4, 96.8, 97.8),
    "business": (64.5, 86.6, 87.1, 87.0),
    "gameExtracted": (76.3, 77.1, 78.0, 79.1),
    "vaUniv": (80.0, 76.1, 88.8, 88.4),
    "ucdPeopleMatch": (98.9, 98.9, 98.9, 98.9),
}


def best_f1(scores: Any, truth: Any) -> float:
    """In percent, over cuts between distinct scores: 2 hits / (taken + positives)."""
    cuts = np.unique(scores[truth])
    taken = len(scores) - np.searchsorted(np.sort(scores), cuts)
    hits = truth.sum() - np.searchsorted(np.sort(scores[truth]), cuts)
    return float(100 * (2 * hits / (taken + truth.sum())).max())


def figure(measure: str, names: list[str], truth: Any, counted: Any) -> float:
    names = [name.lower() for name in names]
    scores = parse_measure(MEASURES[measure]).fit(names).matrix(names, n_jobs=2)
    return best_f1(scores[counted].round(9), truth[counted])


def labeled(data: Path, name: str) -> tuple[list[str], Any, Any]:
    made = read_names(data / "names" / f"{name}.txt", format="secondstring")
    assert made.clusters is not None
    assert made.relations is not None
    rows = zip(made.relations, made.names, made.clusters, strict=True)
    once = {
        (relation, name): cluster for relation, name, cluster in reversed(list(rows))
    }  # each name once, its first key
    relations, names = (np.array(column) for column in zip(*once, strict=True))
    clusters = np.array(list(once.values()))
    truth = np.equal.outer(clusters, clusters)
    counted = np.triu(np.ones_like(truth), 1)
    if len(set(made.relations)) == 2:
        counted &= np.not_equal.outer(relations, relations)
    return names.tolist(), truth, counted


@pytest.mark.data
@pytest.mark.parametrize("name", FIGURES)
def test_best_f1_is_that_of_the_reference_runs(data: Path, name: str) -> None:
    names, truth, counted = labeled(data, name)
    for measure, expected in zip(("cosine", "tfidf", "soft/3g", "ext/context"), FIGURES[name], strict=True):
        assert figure(measure, names, truth, counted) == pytest.approx(expected, abs=0.5), measure


@pytest.mark.data
def test_extended_transpositions_find_reversed_names(data: Path) -> None:
    names, truth, counted = labeled(data, "ucdPeopleMatch")
    gain = figure("ext/context", names, truth, counted) - figure("ml/context", names, truth, counted)
    assert gain >= 10


@pytest.mark.parametrize("seeds", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_measures_are_ordered_on_synthetic_names_as_in_the_paper(seeds: int) -> None:
    figures = []
    for seed in range(seeds):
        made = generate_names(random_state=seed)
        truth = np.equal.outer(np.array(made.clusters), np.array(made.clusters))
        counted = np.triu(np.ones_like(truth), 1)
        figures.append([figure(m, made.names, truth, counted) for m in ("cosine", "tfidf", "soft/3g", "ext/context")])
    gaps = np.diff(np.mean(figures, axis=0))
    assert (gaps >= [5, 5, 1]).all(), gaps
