"""Tables 1 and 6, and the sizes of the three packings of section 3."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from papers._shared.recipe import Recipe, Rows, figure
from papers.semi_markov_crf.lengths import segment_lengths
from papers.semi_markov_crf.segment_forests import PACKINGS, forest_size
from textmill.corpus import TypedSegments
from textmill.sequence import LongSegments, SemiMarkovCRF, all_candidates, evaluate_tags, read_labeled

MARK = "###MEDLINE:"  # begins a line between documents


def labeled(data: Path | None, quick: bool, part: str) -> tuple[Any, Any]:
    if quick or data is None:
        return TypedSegments(300, seed=1, first=0 if part == "train" else 300).labeled()
    read = read_labeled(data / "jnlpba" / f"{part}.iob2", document=MARK)
    return read.X, read.y


def lengths(data: Path | None, quick: bool) -> Rows:
    counts = segment_lengths(labeled(data, quick, "train")[1]).lengths
    shares = {n: 100 * counts[n] / counts.total() for n in range(1, 9)}
    return [{"length": n, "%": share} for n, share in shares.items()] + [
        {"length": ">8", "%": 100 - sum(shares.values())}
    ]


def sizes(data: Path | None, quick: bool) -> Rows:
    sentence = all_candidates(np.array([0, 25]), 10)
    return [
        {"packing": packing, "conjunctive nodes": forest_size(sentence, 5, packing=packing).conjunctive}
        for packing in PACKINGS
    ]


def systems(data: Path | None, quick: bool) -> Rows:
    X, y = labeled(data, quick, "train")
    X_test, y_test = labeled(data, quick, "test")
    rows = []
    for name, settings in (
        ("L < 3" if quick else "L < 5", {"max_length": 2 if quick else 4, "history": "none"}),
        ("L = 10", {"max_length": 10, "history": "none"}),
        ("L = 10, with preceding entity", {"max_length": 10, "history": "entity"}),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LongSegments)  # those beyond L are left out
            tagger = SemiMarkovCRF(max_iter=40 if quick else 100, **settings).fit(X, y)
        scores = evaluate_tags(y_test, tagger.predict(X_test))
        rows.append({"system": name, "R": 100 * scores.recall, "P": 100 * scores.precision, "F": 100 * scores.f1})
    return rows


RECIPES = [
    Recipe(
        "table 1, lengths of entities",
        "training part of JNLPBA-2004 (jnlpba); quick: made-up sentences",
        lengths,
        [
            {"length": length, "%": share}
            for length, share in zip(
                [*range(1, 9), ">8"], [42.19, 30.10, 14.68, 6.83, 2.69, 1.43, 0.80, 0.49, 0.79], strict=True
            )
        ],
        {"more than 97 % have at most 8 tokens": lambda rows: rows[-1]["%"] < 3},
        needs=["jnlpba"],
    ),
    Recipe(
        "section 3, sizes of a forest",
        "a sentence of 25 tokens, 5 classes, segments of at most 10 tokens",
        sizes,
        shape={
            "each packing is smaller than the one before": lambda rows: (
                figure(rows, "factored", "conjunctive nodes")
                < figure(rows, "packed", "conjunctive nodes")
                < figure(rows, "unpacked", "conjunctive nodes")
            )
        },
    ),
    Recipe(
        "table 6, test data",
        "JNLPBA-2004, words alone (the paper has parts of speech and chunks as well); quick: made-up sentences",
        systems,
        [
            {"system": "L < 5", "R": 64.33, "P": 65.51, "F": 64.92},
            {"system": "L = 10", "R": 72.59, "P": 70.16, "F": 71.36},
            {"system": "L = 10, with preceding entity", "R": 72.65, "P": 70.35, "F": 71.48},
        ],
        {"long segments are worth their cost": lambda rows: rows[1]["F"] > rows[0]["F"]},
        needs=["jnlpba"],
    ),
]
