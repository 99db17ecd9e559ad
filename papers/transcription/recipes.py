"""How many right and wrong pairs mining accepts, and what a model gains from those that it accepts."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path

from papers._shared.recipe import Recipe, Rows, figure
from papers.transcription.mining import mine, mining_estimate
from textmill.tasks.transcription import Pairs, Transcriber, evaluate_transcriptions, sample_names

PARTS = ("train", "wild", "dev")


@cache
def pairs(data: Path | None, quick: bool) -> dict[str, Pairs]:
    """A tenth to train on, a tenth to measure on, and the rest to mine."""
    if quick or data is None:
        words, outputs = sample_names()
    else:
        lines = (data / "transliteration" / "wd_katakana_16").read_text(encoding="utf-8").splitlines()
        columns = [line.replace(" ", "").split("\t") for line in lines]
        words, outputs = [row[0] for row in columns], [row[1] for row in columns]
    own = {part: [i for i in range(len(words)) if i % 10 == last] for part, last in (("train", 0), ("dev", 5))}
    places = {**own, "wild": [i for i in range(len(words)) if i % 5]}
    return {part: Pairs([words[i] for i in places[part]], [outputs[i] for i in places[part]]) for part in PARTS}


@cache
def model(data: Path | None, quick: bool) -> Transcriber:
    return _fitted(pairs(data, quick)["train"])


def accepted(data: Path | None, quick: bool) -> Rows:
    rows = []
    for k in (1, 10):
        right, wrong = mining_estimate(model(data, quick), pairs(data, quick)["dev"], k=k)
        rows.append({"k": k, "right pairs": right, "shuffled pairs": wrong})
    return rows


def gained(data: Path | None, quick: bool) -> Rows:
    given, wild, dev = (pairs(data, quick)[part] for part in PARTS)
    mined = mine(model(data, quick), wild).pairs
    more = Pairs([*given.words, *mined.words], [*given.outputs, *mined.outputs])
    rows = []
    for name, transcriber, size in (
        ("without", model(data, quick), len(given.words)),
        ("with mined pairs", _fitted(more), len(more.words)),
    ):
        best = transcriber.predict_best(dev.words, 10, cached=False)
        scores = evaluate_transcriptions([[one.output for one in row] for row in best], [[o] for o in dev.outputs])
        rows.append({"run": name, "pairs": size, "accuracy": scores.mean("accuracy"), "F": scores.mean("f")})
    return rows


def _fitted(given: Pairs) -> Transcriber:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # symbols of which a few pairs say little
        return Transcriber(search=False).fit(given.words, given.outputs)


_NEEDS = ["transliteration/wd_katakana_16"]
RECIPES = [
    Recipe(
        "pairs that mining accepts",
        "katakana names of Wikidata (transliteration); quick: made-up names",
        accepted,
        shape={
            "right pairs are accepted, shuffled ones are not": lambda rows: all(
                row["right pairs"] > 2 * row["shuffled pairs"] for row in rows
            )
        },
        needs=_NEEDS,
    ),
    Recipe(
        "what mined pairs bring",
        "the same; published: Hindi, 11,674 mined pairs",
        gained,
        [{"run": "without", "accuracy": 0.415, "F": 0.858}, {"run": "with mined pairs", "accuracy": 0.424, "F": 0.862}],
        {
            "mined pairs do no harm": lambda rows: (
                figure(rows, "with mined pairs", "accuracy") > figure(rows, "without", "accuracy") - 0.02
            )
        },
        needs=_NEEDS,
    ),
]
