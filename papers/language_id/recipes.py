"""Texts of three lengths, by what came before and by the dictionary."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from papers._shared.recipe import Recipe, Rows, figure
from papers.language_id.baselines import (
    CommonWordsIdentifier,
    InterpolatedIdentifier,
    MarkovIdentifier,
    PPMIdentifier,
    RankOrderIdentifier,
)
from papers.language_id.building import build_corpus, build_tests
from textmill.tasks.language import LanguageIdentifier

SYSTEMS: dict[str, Any] = {
    "common words": CommonWordsIdentifier,
    "rank order": RankOrderIdentifier,
    "Markov": MarkovIdentifier,
    "PPM": PPMIdentifier,
    "interpolated": InterpolatedIdentifier,
    "dictionary": LanguageIdentifier,
}
LETTERS = {"aa": "aeiotnsrk", "bb": "aouklmptv", "cc": "eiudgnszh"}  # of made-up languages
NINE = ("cs", "de", "en", "es", "fr", "it", "pl", "sk", "sl")


def made_up(letters: str) -> list[str]:
    """Sentences of words that are frequent as in a language."""
    draw = random.Random(letters)
    words = ["".join(draw.choice(letters) for _ in range(draw.randint(2, 8))) for _ in range(400)]
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    return [" ".join(draw.choices(words, weights, k=draw.randint(4, 15))) + "." for _ in range(300)]


def of_lengths(data: Path | None, quick: bool) -> Rows:
    if quick or data is None:
        texts = {code: made_up(letters) for code, letters in LETTERS.items()}
    else:
        folder = data / "language" / "sentences"
        texts = {code: (folder / f"{code}.txt").read_text(encoding="utf-8").split("\n") for code in NINE}
    corpora = {code: build_corpus(own, held_out=0.5) for code, own in texts.items()}
    train = [(text, code) for code, (own, _) in corpora.items() for text in own]
    tests = build_tests({code: own for code, (_, own) in corpora.items()}, k=20 if quick else 60)
    rows = []
    for name, kind in SYSTEMS.items():
        model = kind().fit([text for text, _ in train], [code for _, code in train])
        row: dict[str, Any] = {"system": name}
        for length in ("small", "medium", "large"):
            own = [(text, code) for code, size, text in tests if size == length]
            answers = model.predict([text for text, _ in own])
            row[length] = 100 * sum(a == code for a, (_, code) in zip(answers, own, strict=True)) / len(own)
        rows.append(row)
    return rows


RECIPES = [
    Recipe(
        "languages told right, in percent, by length",
        "sentences in nine languages (language/sentences), the second half; published: precision on Wikipedia; "
        "quick: made-up languages",
        of_lengths,
        [
            {"system": "interpolated", "small": 83.0, "medium": 98.2, "large": 99.4},
            {"system": "dictionary", "small": 75.6, "medium": 92.2, "large": 97.5},
        ],
        {
            "every system knows the language of a long text": lambda rows: all(row["large"] > 90 for row in rows),
            "short texts are harder": lambda rows: all(row["small"] <= row["large"] for row in rows),
            "the dictionary is right about texts of medium length": lambda rows: (
                figure(rows, "dictionary", "medium") > 95
            ),
        },
        needs=["language/sentences"],
    )
]
