"""Where callers and names stand, callers and names by two systems, and numbers by four."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from papers._shared.recipe import Recipe, Rows, figure
from papers.voicemail.generate import VoicemailGenerator
from papers.voicemail.grammar_figures import grammar_figures
from papers.voicemail.recognizer import RecognizerChannel
from papers.voicemail.statistics import describe_messages
from papers.voicemail.taggers import SpanTagger
from textmill.tasks.voicemail import Message, VoicemailExtractor, evaluate_spans, plain_rules


@cache
def messages(quick: bool, part: str) -> list[Message]:
    """Made-up messages: to train on, and of people with other surnames to test on."""
    if part == "train":
        return list(VoicemailGenerator(random_state=1).generate(800 if quick else 8000))
    return list(VoicemailGenerator(callers="new", random_state=2).generate(200 if quick else 2000))


@cache
def trees(quick: bool) -> VoicemailExtractor:
    return VoicemailExtractor().fit(messages(quick, "train"))


def distributions(data: Path | None, quick: bool) -> Rows:
    statistics = describe_messages(messages(quick, "train"))
    return [
        {"distribution": name, "greatest": one.largest, "entropy": one.entropy}
        for name, one in statistics.distributions.items()
    ]


def callers(data: Path | None, quick: bool) -> Rows:
    rows = []
    test = messages(quick, "test")
    for label, criterion in (("caller", "name containment"), ("name", "strict")):
        tagger = SpanTagger(label).fit(messages(quick, "train")[:2000])
        for system, spans in (("log-linear", tagger.predict(test)), ("trees", trees(quick).predict(test))):
            scores = evaluate_spans(test, spans, label, criterion)
            name = f"{label}, {criterion}, {system}"
            rows.append({"system": name, "P": scores.precision, "R": scores.recall, "F": scores.f1})
    return rows


def numbers(data: Path | None, quick: bool) -> Rows:
    return _numbers(messages(quick, "test"), quick)


def garbled(data: Path | None, quick: bool) -> Rows:
    return _numbers(list(RecognizerChannel(0.23, random_state=3).garble(messages(quick, "test"))), quick)


def _numbers(test: list[Message], quick: bool) -> Rows:
    rows = []
    for system, spans in {**plain_rules(test), "trees": trees(quick).predict(test)}.items():
        scores = evaluate_spans(test, spans, "telno")
        rows.append({"system": system, "P": scores.precision, "R": scores.recall, "F": scores.f1})
    return rows


def candidates(data: Path | None, quick: bool) -> Rows:
    return [dict(grammar_figures(messages(quick, "test")))]


_MADE_UP = "made-up messages, other people call in those of the test"
RECIPES = [
    Recipe(
        "starts and lengths",
        "8,000 made-up messages; published: the real ones",
        distributions,
        [
            {"distribution": name, "greatest": greatest, "entropy": entropy}
            for name, greatest, entropy in (
                ("caller start", 135, 1.48),
                ("caller length", 47, 3.11),
                ("name start", 138, 2.20),
                ("name length", 8, 1.17),
            )
        ],
        {"callers come to the point": lambda rows: figure(rows, "caller start", "entropy") < 2},
    ),
    Recipe(
        "callers and names",
        _MADE_UP,
        callers,
        [{"system": "caller, name containment, trees", "P": 0.74, "R": 0.66, "F": 0.70}],
        {"two small trees find most names": lambda rows: figure(rows, "name, strict, trees", "F") > 0.6},
    ),
    Recipe(
        "phone numbers",
        _MADE_UP,
        numbers,
        [
            {"system": "digits", "P": 0.78, "R": 0.70, "F": 0.74},
            {"system": "grammar", "P": 0.30, "R": 0.96, "F": 0.45},
            {"system": "prune", "P": 0.59, "R": 0.96, "F": 0.73},
            {"system": "trees", "P": 0.94, "R": 0.94, "F": 0.94},
        ],
        {
            "the grammar alone misses little": lambda rows: figure(rows, "grammar", "R") > 0.9,
            "a tree beats all rules": lambda rows: all(
                figure(rows, "trees", "F") > row["F"] for row in rows if row["system"] != "trees"
            ),
        },
    ),
    Recipe("phone numbers in the output of a recognizer", f"{_MADE_UP}, 23 % of the words are wrong", garbled),
    Recipe(
        "candidates of the number grammar",
        _MADE_UP,
        candidates,
        shape={"few numbers are missed": lambda rows: rows[0]["recall"] > 0.9},
    ),
]
