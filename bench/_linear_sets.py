"""Binary classification problems of different shape for the benches of linear models.

| name | rows | features | shape |
|---|---|---|---|
| Reuters | 7,769 | 26,000 | news wire, acquisitions against the rest, tf-idf rows of length 1 |
| 20 News | 19,997 | 145,000 | posts, computing against the rest, tf-idf rows of length 1 |
| Reviews | 6,000 | 35,000 | good against bad reviews of three kinds of goods, tf-idf rows of length 1 |
| ppattach | 20,801 | 13,112 | attachment of prepositional phrases, four words as one-hot features |
| scaled | 10,000 | 2,000 | generated, values of columns spread over four orders of magnitude |
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, diags, random

from bench._corpora import texts
from bench.harness import Options
from textmill.corpus import NamedFeatures, Vocabulary, read_documents
from textmill.vectors import TextVectorizer, Weighting

NAMES = ("Reuters", "20 News", "Reviews", "ppattach", "scaled")


@cache
def binary_set(options: Options, name: str) -> tuple[csr_matrix, Any]:
    """Rows and labels, 0 or 1."""
    if name == "scaled":
        return _scaled(1000 if options.quick else 10_000)
    if name == "ppattach":
        events, labels = prepositions(options, "training")
        X = NamedFeatures().fit_transform(events)
        return (X[:2000], labels[:2000]) if options.quick else (X, labels)
    if name == "Reuters":
        records = read_documents(options.data / "reuters" / "reuters21578.jsonl.gz")
        chosen = [record for record in records if record.fields["split"] == "training"]
        documents = [record.text for record in chosen]
        labels = np.array(["acq" in record.fields["topics"] for record in chosen], dtype=int)
    elif name == "20 News":
        chosen = list(read_documents(options.data / "newsgroups" / "20news.jsonl.gz"))
        documents = [record.text for record in chosen]
        labels = np.array([record.fields["group"].startswith("comp.") for record in chosen], dtype=int)
    else:
        documents = texts(Options(repeats=options.repeats), name)
        labels = np.repeat([0, 1] * 3, 1000)
    if options.quick:
        documents, labels = documents[::10], labels[::10]
    X = TextVectorizer(vocabulary=Vocabulary(), weighting=Weighting(scheme="ntc")).fit_transform(documents)
    return csr_matrix(X, dtype=np.float64), labels


def prepositions(options: Options, part: str) -> tuple[list[dict[str, int]], Any]:
    """Events of attachment as features, and 1 for attachment to the noun."""
    lines = [line.split() for line in (options.data / "ppattach" / part).read_text(encoding="utf-8").splitlines()]
    slots = ("v", "n", "p", "m")
    events = [{f"{slot}={word.lower()}": 1 for slot, word in zip(slots, line[1:5], strict=True)} for line in lines]
    return events, np.array([line[5] == "N" for line in lines], dtype=int)


def _scaled(rows: int) -> tuple[csr_matrix, Any]:
    rng = np.random.default_rng(7)
    X = random(rows, 2000, density=0.02, format="csr", random_state=7, data_rvs=lambda size: rng.normal(size=size))
    weights = rng.normal(size=2000) * (rng.random(2000) < 0.1)
    labels = (X @ weights + 0.3 * rng.normal(size=rows) > 0).astype(int)
    return csr_matrix(X @ diags(10.0 ** rng.uniform(-2, 2, 2000))), labels
