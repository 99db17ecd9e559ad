"""Judges by features and kernel, and accuracy by the number of sentences they learn from."""

from __future__ import annotations

import re
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

from papers._shared.recipe import Recipe, Rows, figure
from papers.discriminative_lm.learning_curve import learning_curve
from textmill.tasks import FluencyModel
from textmill.tasks.fluency import CorpusSplit, SentenceDocument, evaluate_fluency, sample_documents, split_corpus

JUDGES: dict[str, dict[str, Any]] = {
    "words, linear": {"features": "word:3", "kernel": "linear"},
    "words, cubic": {"features": "word:3", "degree": 3},
    "classes, linear": {"features": "class:2", "kernel": "linear"},
    "classes, cubic": {"features": "class:2", "degree": 3},
}


@cache
def split(data: Path | None, quick: bool) -> CorpusSplit:
    if quick or data is None:
        return split_corpus(sample_documents(60))
    documents = []
    with tarfile.open(data / "brown" / "brown.tar.gz") as archive:
        for member in sorted(archive.getmembers(), key=lambda one: one.name):
            name = Path(member.name).name
            file = archive.extractfile(member)
            if file is not None and re.fullmatch(r"c[a-r]\d\d", name):
                rows = [line.split() for line in file.read().decode("latin-1").split("\n") if line.strip()]
                documents.append(SentenceDocument(name, [[word.rsplit("/", 1)[0] for word in row] for row in rows]))
    return split_corpus(documents)


def judges(data: Path | None, quick: bool) -> Rows:
    parts = split(data, quick)
    rows = []
    for name, settings in JUDGES.items():
        small: dict[str, Any] = {"n_classes": 8, "min_count": 1} if quick else {}
        model = FluencyModel(**small, **settings).fit(parts)
        result = evaluate_fluency(model, parts.test)
        rows.append({"judge": name, "accuracy": 100 * result.accuracy, "features": result.n_features})
    return rows


def curve(data: Path | None, quick: bool) -> Rows:
    sizes = (60, 600) if quick else (3000, 6000, 12000, 24000)
    model = FluencyModel(features="word:1") if quick else FluencyModel()
    points = learning_curve(model, split(data, quick), sizes)
    return [{"sentences": point.sentences, "accuracy": 100 * point.accuracy} for point in points]


_NEEDS = ["brown"]
RECIPES = [
    Recipe(
        "judges by features and kernel",
        "Brown corpus, test part and as many samples; published: British National Corpus; quick: made-up documents",
        judges,
        [
            {"judge": "words, linear", "accuracy": 51.28, "features": 15_773_230},
            {"judge": "words, cubic", "accuracy": 73.65, "features": 15_773_230},
            {"judge": "classes, linear", "accuracy": 51.79, "features": 9_335},
            {"judge": "classes, cubic", "accuracy": 67.11, "features": 9_335},
        ],
        {
            "a cubic judge of words beats a linear one": lambda rows: (
                figure(rows, "words, cubic", "accuracy") > figure(rows, "words, linear", "accuracy") + 10
            )
        },
        needs=_NEEDS,
    ),
    Recipe(
        "accuracy by number of sentences",
        "the same, the default judge",
        curve,
        shape={"more sentences help": lambda rows: rows[-1]["accuracy"] > rows[0]["accuracy"]},
        needs=_NEEDS,
    ),
]
