"""Cutting texts by topic: speed against NLTK, scores on Choi's texts and on long texts of many passages.

TEXTMILL_DATA=... python -m bench segmentation

    TextTiling, 20,000 tokens      the same text through NLTK's TextTilingTokenizer, which needs blank lines
    LSITiling, 50,000 tokens       seconds beside half a second, what is asked
    retrieval, ...                 questions without the right answer, in hundred, beside those of whole documents
    Choi, ... and long, ...        WindowDiff beside the bar; a ratio of 1 or more keeps to it
    Choi, with ...                 contexts are compared in a latent space of 1,500 posts of 20 Newsgroups,
                                   or of Brown, too (background model, LSA of 100 dimensions)

Choi's texts are parts of Brown: a model that has read Brown has read them, and its rows stand apart. Long texts are 1
to 14 of 30 passages: single texts of Brown, declarations in five languages, reviews, abstracts, one with the errors of
a bad scan and one table. No method has seen them: nothing is learned beforehand.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bench._corpora import texts
from bench.harness import Job, Options
from papers.scalable_semantics.baselines import EveryGap, Fixed, NoBoundary, Random
from papers.scalable_semantics.building import concatenations
from papers.scalable_semantics.passages import choi_texts, passages
from textmill.tasks.segmentation import (
    C99,
    Chunker,
    Hearst,
    LSITiling,
    MaximumProbability,
    Reference,
    Segmenter,
    TextTiling,
    TopicSegmenter,
    evaluate_segmenters,
)
from textmill.topics import LSA
from textmill.vectors import TextVectorizer, Weighting

PACKAGES = ["nltk"]
OPTIMAL = LSITiling(search="optimal", n_dimensions="segments")
# segmenter, whether the number of segments is given, the largest WindowDiff (P_k for C99) that is asked, 0 for none
CHOI: dict[str, tuple[Segmenter, bool, float]] = {
    "C99": (C99(), False, 0.13),
    "C99, number given": (C99(), True, 0.11),
    "maximum probability": (MaximumProbability(), False, 0.10),
    "maximum probability, number given": (MaximumProbability(), True, 0.09),
    "default": (TopicSegmenter(), False, 0),
    "LSITiling, w=10 d=10, number given": (LSITiling(sequence_tokens=10, n_dimensions=10), True, 0.28),
    "TextTiling, number given": (TextTiling(), True, 0),
    "Hearst": (Hearst(), False, 0),
    "none": (NoBoundary(), False, 0),
    "all": (EveryGap(), False, 0),
}
LONG: dict[str, tuple[Segmenter, bool, float]] = {
    "default": (TopicSegmenter(), False, 0),
    "LSITiling": (LSITiling(), False, 0.30),
    "TextTiling": (TextTiling(), False, 0),
    "none": (NoBoundary(), False, 0),
    "random": (Random(), False, 0),
    "Hearst": (Hearst(), False, 0),
    "fixed": (Fixed(), False, 0),
    "default, number given": (TopicSegmenter(), True, 0),
    "maximum probability, number given": (MaximumProbability(units="sequence"), True, 0),
    "optimal, number given": (OPTIMAL, True, 0.13),
    "LSITiling, number given": (LSITiling(), True, 0),
    "TextTiling, number given": (TextTiling(), True, 0),
}


def jobs(options: Options) -> list[Job]:
    text = "\n\n".join(passages(_data()))
    short = _paragraphs(text, 2_000 if options.quick else 20_000)
    long = " ".join((text + text).split()[: 5_000 if options.quick else 51_549])
    rows = [
        Job(f"TextTiling, {len(short.split()):,} tokens", lambda: TextTiling().segment(short), lambda: _nltk(short),
            "NLTK TextTilingTokenizer", figure="processor", bar=500.0),
        Job(f"LSITiling, {len(long.split()):,} tokens", lambda: LSITiling().segment(long),
            lambda: MaximumProbability(units="sequence").segment(long), "MaximumProbability", figure="processor"),
    ]  # fmt: skip
    rows += [
        Job(f"retrieval, {name}", lambda name=name: _misses(options, name), lambda: _misses(options, "whole documents"),
            "whole documents", figure="returned", label="% missed", bar=1.0)
        for name in ("chunks of at most 200 tokens", "blocks of 200 tokens")
    ]  # fmt: skip
    for title, table in (("Choi", CHOI), ("long", LONG)):
        for name, (segmenter, number_given, limit) in table.items():
            rows.append(_score(title, name, segmenter, number_given, limit, options))
    for corpus, title in (("20 News", "Choi, with 20 News"), ("Brown", "Choi, with Brown, which has these texts")):
        for name, weight in (("background alone", 1.0), ("LSITiling and background", 0.5)):
            segmenter = LSITiling(
                sequence_tokens=10, n_dimensions=10, background=_Background(options, corpus), background_weight=weight
            )
            rows.append(_score(title, f"{name}, w=10 d=10, number given", segmenter, True, 0, options))
    return rows


class _Background:
    """A latent space of a corpus, made when it is first needed."""

    def __init__(self, options: Options, corpus: str) -> None:
        self.options, self.corpus = options, corpus

    def transform(self, contexts: list[str]) -> Any:
        return _embedded(self.options, self.corpus, tuple(contexts))


@cache
def _embedded(options: Options, corpus: str, contexts: tuple[str, ...]) -> Any:
    vectorizer, space = _latent_space(options, corpus)
    return space.transform(vectorizer.transform(contexts))


@cache
def _latent_space(options: Options, corpus: str) -> tuple[TextVectorizer, LSA]:
    vectorizer = TextVectorizer(weighting=Weighting(scheme="ntc", idf="smooth"))
    found = texts(options, corpus)
    rows = vectorizer.fit_transform(found[:: max(1, len(found) // 1500)])
    return vectorizer, LSA(n_topics=100).fit(rows)


def _score(title: str, name: str, segmenter: Segmenter, number_given: bool, limit: float, options: Options) -> Job:
    @cache
    def figures() -> tuple[float, float]:
        [scores] = evaluate_segmenters({name: segmenter}, references(title, options.quick), number_given=number_given)
        return float(scores.window_diff.mean()), float(scores.pk.mean())

    def ours() -> float:
        return figures()[1 if name.startswith("C99") else 0]

    label = "P_k" if name.startswith("C99") else "WindowDiff"
    return Job(
        f"{title}: {name}", ours, lambda: limit or ours(), "asked" if limit else "-", figure="returned", label=label,
        bar=1.0 if limit else None,
    )  # fmt: skip


@cache
def _misses(options: Options, name: str) -> float:
    """Share of questions (the first 30 words of a post) whose best answer is not the document with the rest of it.

    A document is ten posts, one after the other; a document is as good as its best part.
    """
    posts = [
        body for body in (post.partition("\n\n")[2] for post in texts(options, "20 News")) if len(body.split()) > 150
    ]
    random = np.random.default_rng(3)
    chosen = random.permutation(len(posts))[: 500 if options.quick else 4000]
    questions = [" ".join(posts[i].split()[:30]) for i in chosen]
    rests = [re.split(r"\s+", posts[i], maxsplit=30)[-1] for i in chosen]
    volumes = ["\n\n".join(rests[i : i + 10]) for i in range(0, len(rests), 10)]
    if name == "whole documents":
        parts = [[volume] for volume in volumes]
    else:
        segmenter = Fixed(n_tokens=200) if name.startswith("blocks") else None
        snap = None if name.startswith("blocks") else "sentence"
        parts = Chunker(max_tokens=200, segmenter=segmenter, snap=snap).transform(volumes)
    owner = np.repeat(np.arange(len(parts)), list(map(len, parts)))
    vectorizer = TextVectorizer(weighting=Weighting(scheme="ntc"))
    rows = vectorizer.fit_transform([part for some in parts for part in some])
    best = np.asarray((vectorizer.transform(questions) @ rows.T).argmax(axis=1)).ravel()
    return max(1e-6, 100.0 * float(np.mean(owner[best] != np.arange(len(questions)) // 10)))


@cache
def references(title: str, quick: bool) -> list[Reference]:
    """Texts with known segments."""
    if title.startswith("Choi"):
        return choi_texts(_data())[:: 20 if quick else 1]
    return concatenations(passages(_data()), 14 if quick else 140)


def _paragraphs(text: str, tokens: int) -> str:
    words = text.split()[:tokens]
    return "\n\n".join(" ".join(words[i : i + 100]) for i in range(0, len(words), 100))


def _nltk(text: str) -> Any:
    from nltk.tokenize import TextTilingTokenizer

    return TextTilingTokenizer(stopwords=["the", "of", "and", "to", "in", "a"]).tokenize(text)


def _data() -> Path:
    return Path(os.environ["TEXTMILL_DATA"])
