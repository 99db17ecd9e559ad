"""Table 4: hidden states against none, and the best label path against the best hidden path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from papers._shared.recipe import Recipe, Rows, figure
from papers.latent_crf.hidden_chains import HiddenChain
from textmill.sequence import Encoder, LatentCRF, evaluate_tags, read_labeled

WORDS = [*(f"u:w{i}=%x[{i},0]" for i in range(-2, 3)), "u:w-10=%x[-1,0]/%x[0,0]", "u:w01=%x[0,0]/%x[1,0]", "b"]


def noun_phrases(data: Path, part: str) -> tuple[Any, Any]:
    read = read_labeled(data / "conll2000" / f"{part}.txt")
    return read.X, [[tag if tag.endswith("-NP") else "O" for tag in row] for row in read.y]


def searches(data: Path | None, quick: bool) -> Rows:
    if quick or data is None:
        chain = HiddenChain({"O": 2, "B-NP": 2}, vocabulary=12, concentration=0.1, shared=0.8, random_state=0)
        train, test = chain.sample(250, length=12), chain.sample(150, length=12, first=250)
        X, y, X_test, y_test = train.X, train.y, test.X, test.y
        settings: dict[str, Any] = {"patterns": ["u:%x[0,0]", "b"], "max_iter": 60}
    else:
        (X, y), (X_test, y_test) = noun_phrases(data, "train"), noun_phrases(data, "test")
        settings = {"encoder": Encoder(patterns=WORDS, min_count=11)}
    states = 2 if quick else 4
    rows = []
    models = {k: LatentCRF(states=k, l2=1.0, random_state=0, **settings).fit(X, y) for k in (1, states)}
    for name, model, search in (
        ("LDCRF-BLP", models[states], "label"),
        ("LDCRF-BHP", models[states], "viterbi"),
        ("CRF", models[1], "viterbi"),
    ):
        predicted = model.predict(X_test, search=search)
        scores = evaluate_tags(y_test, predicted)
        right = sum(a == b for gold, own in zip(y_test, predicted, strict=True) for a, b in zip(gold, own, strict=True))
        rows.append({"model": name, "token accuracy": 100 * right / sum(map(len, y_test)), "F1": 100 * scores.f1})
    return rows


RECIPES = [
    Recipe(
        "table 4, noun phrases by words",
        "CoNLL-2000 (conll2000); quick: a chain of hidden states",
        searches,
        [
            {"model": "LDCRF-BLP", "token accuracy": 97.01, "F1": 89.61},
            {"model": "LDCRF-BHP", "token accuracy": 96.52, "F1": 89.22},
            {"model": "CRF", "token accuracy": 96.11, "F1": 88.08},
        ],
        {
            "hidden states help": lambda rows: (
                figure(rows, "LDCRF-BLP", "token accuracy") > figure(rows, "CRF", "token accuracy")
            )
        },
        needs=["conll2000"],
    ),
]
