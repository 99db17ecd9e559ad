"""Kinds of false documents, numbers of topics, and documents cut short."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from papers._shared.recipe import Recipe, Rows, figure
from papers.incoherent_documents.experiments import ErrorRow, Scorer, by_kind, by_length, by_topics, make_sets
from textmill.corpus import FUNCTION_WORDS, Tokenizer, Vocabulary, read_documents
from textmill.tasks.coherence import Content, ContentReader, Forger, MixtureScorer, TopicScorer, sample_pages
from textmill.topics import LDA, MultinomialMixture


@dataclass(frozen=True)
class Setting:
    """Bags to train on, true documents, false ones of the same lengths, and topics."""

    X: Any
    true: Content
    false: dict[str, Content]
    topics: TopicScorer
    terms: int


@cache
def setting(data: Path | None, quick: bool) -> Setting:
    if quick or data is None:
        train, test = ([page.text for page in sample_pages(n, random_state=s)] for n, s in ((250, 0), (80, 1)))
        number, rounds, shortest = 12, 60, 1
    else:
        documents = list(read_documents(data / "reuters" / "reuters21578.jsonl.gz"))
        train, test = ([one.text for one in documents if one.fields["split"] == part] for part in ("training", "test"))
        number, rounds, shortest = 50, 200, 80
    vocabulary = Vocabulary(tokenizer=Tokenizer(digits="drop"), stop_words=FUNCTION_WORDS).fit(train)
    reader = ContentReader(vocabulary, FUNCTION_WORDS)
    content = reader.read(test)
    true = content.take(content.lengths >= shortest)
    X = reader.read(train).bags(reader.terms)
    model = LDA(n_topics=number, method="gibbs", alpha=1.0, eta=0.1, max_iter=rounds, random_state=0).fit(X)
    false = make_sets(Forger(test, reader, background=train), lengths=true.lengths)
    return Setting(X, true, false, TopicScorer(model.components_), reader.terms)


def kinds(data: Path | None, quick: bool) -> Rows:
    one = setting(data, quick)
    mixture = MultinomialMixture(n_topics=12 if quick else 50, random_state=0).fit(one.X)
    scorers: dict[str, Scorer] = {"mixture": MixtureScorer(mixture), "LDA": one.topics}
    return _table(by_kind(scorers, one.true, one.false, one.terms))


def topics(data: Path | None, quick: bool) -> Rows:
    one = setting(data, quick)
    numbers, rounds = ((1, 8), 20) if quick else ((10, 50, 100, 200), 200)
    false = {"sentence-salad": one.false["sentence-salad"]}
    return _table(by_topics(one.X, one.true, false, numbers, max_iter=rounds))


def lengths(data: Path | None, quick: bool) -> Rows:
    one = setting(data, quick)
    cuts = (10, 30, 90) if quick else (20, 50, 100, 150, 200)
    return _table(by_length(one.topics, one.true, one.false, one.terms, cuts))


def _table(rows: list[ErrorRow]) -> Rows:
    """Rows with both scores beside each other, in percent."""
    cells: dict[tuple[Any, str], dict[str, Any]] = {}
    for row in rows:
        cell = cells.setdefault((row.case, row.kind), {"case": f"{row.case}, {row.kind}"})
        cell["LLPW" if row.score == "llpw" else row.score] = 100 * row.error
    return list(cells.values())


_NEEDS = ["reuters"]
RECIPES = [
    Recipe(
        "equal error rates by kind",
        "Reuters-21578, test documents of 80 content words or more, forgeries of the same lengths; quick: sample pages",
        kinds,
        [
            {"case": f"{model}, {kind}", "LLPW": llpw, "entropy": entropy}
            for model, kind, llpw, entropy in (
                ("mixture", "sentence-salad", 15.3, 48.8),
                ("mixture", "word-salad", 9.3, 35.8),
                ("mixture", "markov", 17.6, 38.9),
                ("LDA", "sentence-salad", 18.9, 0.88),
                ("LDA", "word-salad", 9.9, 0.13),
                ("LDA", "markov", 25.0, 0.28),
            )
        ],
        {
            "the entropy of several topics tells what that of one topic cannot": lambda rows: all(
                figure(rows, f"LDA, {kind}", "entropy") < figure(rows, f"mixture, {kind}", "entropy") / 2
                for kind in ("sentence-salad", "word-salad", "markov")
            )
        },
        needs=_NEEDS,
    ),
    Recipe(
        "sentence salad by number of topics",
        "the same",
        topics,
        [
            {"case": f"{number:.1f}, sentence-salad", "LLPW": llpw, "entropy": entropy}
            for number, llpw, entropy in ((10, 27.9, 1.88), (50, 18.9, 0.88), (100, 16.0, 0.93), (200, 14.8, 0.90))
        ],
        {"few topics are too few": lambda rows: rows[0]["entropy"] > rows[1]["entropy"]},
        needs=_NEEDS,
    ),
    Recipe(
        "documents cut short",
        "the same, each document cut to its first content words",
        lengths,
        shape={"long documents are told more surely": lambda rows: rows[-1]["entropy"] < rows[0]["entropy"]},
        needs=_NEEDS,
    ),
]
