"""Tables of chapter 5: segmenters on texts put together from passages, and on those of Choi; neighbors of chapter 6."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from pathlib import Path

from papers._shared.recipe import Recipe, Rows, figure
from papers.scalable_semantics.baselines import Fixed, NoBoundary, Random
from papers.scalable_semantics.building import beginnings, concatenations
from papers.scalable_semantics.comparison import compare_methods
from papers.scalable_semantics.hubs import find_hubs
from papers.scalable_semantics.passages import choi_texts, passages
from textmill.corpus import sample_articles, sample_texts
from textmill.tasks import Collection
from textmill.tasks.segmentation import C99, Hearst, LSITiling, Reference, Segmenter, TextTiling, evaluate_segmenters
from textmill.tasks.similarity import evaluate_classes

METHODS: dict[str, Segmenter] = {
    "LSITiling": LSITiling(),
    "TextTiling": TextTiling(),
    "C99": C99(),
    "Random": Random(),
    "Hearst": Hearst(),
    "Fixed": Fixed(),
    "none": NoBoundary(),
}


def of_passages(data: Path | None, quick: bool) -> Rows:
    if quick or data is None:
        subjects: dict[str, list[str]] = defaultdict(list)
        for article in sample_articles():
            subjects[article["subject"]].append(article["text"])
        return scored(concatenations(["\n".join(texts) for texts in subjects.values()], 8, segments=(3, 6)))
    return scored(concatenations(passages(data), 140))


def of_choi(data: Path | None, quick: bool) -> Rows:
    if quick or data is None:
        return scored(beginnings(sample_texts(), 9, sentences=(3, 5)))
    return scored(choi_texts(data))


def scored(references: list[Reference]) -> Rows:
    figures = [scores.to_json() for scores in evaluate_segmenters(METHODS, references)]
    return [{"method": one["method"], "WindowDiff": one["window_diff"], "P_k": one["pk"]} for one in figures]


def of_classes(data: Path | None, quick: bool) -> Rows:
    """By words and by latent topics: neighbors of the same subject, and how uneven their lists are."""
    with tempfile.TemporaryDirectory() as folder:
        library = Collection.create(Path(folder) / "library", sample_articles(), methods=["tfidf", "lsa"])
        agreed = {row.method: row for row in evaluate_classes(library, "subject")}
        overlap = compare_methods(library, "tfidf", "lsa").overlap
        rows = []
        for method in library.methods:
            hubs = find_hubs(library, method=method)
            rows.append(
                {
                    "method": method,
                    "precision": agreed[method].precision,
                    "skewness": hubs.skewness,
                    "corrected": hubs.corrected_skewness,
                    "shared with the other": overlap,
                }
            )
        return rows


def published(figures: dict[str, float]) -> Rows:
    return [{"method": method, "WindowDiff": value} for method, value in figures.items()]


RECIPES = [
    Recipe(
        "WindowDiff on corpus 1",
        "140 texts of 1 to 14 passages; quick: sample articles",
        of_passages,
        published(
            {"LSITiling": 0.345, "TextTiling": 0.374, "C99": 0.566, "Random": 0.567, "Hearst": 0.95, "Fixed": 0.995}
        ),
        {
            "LSITiling is better than any cut that does not read": lambda rows: all(
                figure(rows, "LSITiling", "WindowDiff") < figure(rows, other, "WindowDiff")
                for other in ("Random", "Fixed", "none")
            ),
            "Hearst's rule cuts too often": lambda rows: (
                figure(rows, "Hearst", "WindowDiff") > figure(rows, "LSITiling", "WindowDiff")
            ),
        },
        needs=["brown", "language/udhr", "reviews", "jnlpba"],
    ),
    Recipe(
        "WindowDiff on corpus 2",
        "200 texts of Choi (segmentation-choi); quick: beginnings of sample articles",
        of_choi,
        published(
            {"C99": 0.175, "LSITiling": 0.345, "TextTiling": 0.372, "Random": 0.378, "Fixed": 0.388, "Hearst": 0.442}
        ),
        {
            "C99 is best on texts of ten short parts": lambda rows: all(
                figure(rows, "C99", "WindowDiff") < row["WindowDiff"] for row in rows if row["method"] != "C99"
            )
        },
        needs=["segmentation-choi"],
    ),
    Recipe(
        "neighbors of articles by two methods",
        "308 sample articles of eleven subjects",
        of_classes,
        shape={
            "neighbors share subjects more often than chance": lambda rows: min(row["precision"] for row in rows) > 0.2,
            "correction makes lists more even": lambda rows: all(row["corrected"] < row["skewness"] for row in rows),
            "the two methods disagree": lambda rows: rows[0]["shared with the other"] < 0.9,
        },
    ),
]
