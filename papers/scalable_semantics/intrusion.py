"""Do people see what topics mean? Tasks with an intruder to find, and the scores of their answers.

    word intrusion    the five most probable words of a topic and one that is improbable in it but probable in another;
                      model precision of a topic: share of people who find it
    topic intrusion   a document, its three most probable topics and one that is improbable in it;
                      log odds: mean over people of log theta(true intruder) - log theta(chosen), 0 at best

Reference: Chang, Boyd-Graber, Gerrish, Wang & Blei (2009), Reading tea leaves: how humans interpret topic models.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from textmill.errors import DataError
from textmill.tables import Rows

__all__ = ["IntrusionTask", "score_topic_intrusion", "score_word_intrusion", "topic_intrusion", "word_intrusion"]

_WORDS, _TOPICS = 5, 3


class IntrusionTask(NamedTuple):
    """A question: what is shown (of a topic or a document), the choices, and the place of the intruder among them."""

    name: str
    choices: list[str]
    intruder: int
    shown: str = ""


def word_intrusion(model: Any, *, random_state: int = 0) -> Rows[IntrusionTask]:
    """Return one task for each topic of a model."""
    phi = _topics(model)
    terms = model.vectorizer_.terms_
    generator = np.random.default_rng(random_state)
    tasks = []
    for topic, row in enumerate(phi):
        best = np.argsort(-row, kind="stable")[:_WORDS]
        low = row <= np.median(row)
        others = np.delete(phi, topic, axis=0)
        if not len(others):
            raise DataError("a task needs at least two topics to take an intruder from")
        candidates = np.argsort(-np.where(low, others.max(axis=0), -np.inf), kind="stable")[:_WORDS]
        candidates = candidates[~np.isin(candidates, best)]
        intruder = int(generator.choice(candidates))
        order = generator.permutation(_WORDS + 1)
        words = [terms[int(t)] for t in [*best, intruder]]
        choices = [words[int(i)] for i in order]
        tasks.append(IntrusionTask(f"topic {topic + 1}", choices, choices.index(terms[intruder])))
    return Rows(tasks, IntrusionTask)


def topic_intrusion(
    model: Any, documents: Iterable[tuple[str, Any]], *, n_words: int = 8, random_state: int = 0
) -> Rows[IntrusionTask]:
    """Return one task for each document, given as pairs of an id and a text."""
    phi = _topics(model)
    if len(phi) <= _TOPICS:
        raise DataError(
            f"a task shows {_TOPICS} topics and an intruder, but the model has {len(phi)}; use one with more"
        )
    words = [" ".join(term for term, _ in topic) for topic in model.topics(n_words=n_words)]
    generator = np.random.default_rng(random_state)
    tasks = []
    for name, text in documents:
        theta = np.abs(model.transform([text])[0])
        order = np.argsort(-theta, kind="stable")
        intruder = int(generator.choice(order[max(_TOPICS, len(order) // 2) :]))
        shuffled = generator.permutation([*order[:_TOPICS].tolist(), intruder]).tolist()
        shown = text if isinstance(text, str) else " ".join(text)
        choices = [f"{topic + 1}: {words[topic]}" for topic in shuffled]
        tasks.append(IntrusionTask(name, choices, shuffled.index(intruder), shown[:1000]))
    return Rows(tasks, IntrusionTask)


def score_word_intrusion(tasks: Sequence[IntrusionTask], answers: Iterable[tuple[str, str]]) -> dict[str, float]:
    """Return the model precision of each topic, from pairs of a task and the word that somebody chose.

    >>> task = IntrusionTask("topic 1", ["corn", "mill", "sea"], 2)
    >>> score_word_intrusion([task], [("topic 1", "sea"), ("topic 1", "mill")])
    {'topic 1': 0.5}
    """
    by_name = {task.name: task for task in tasks}
    hits: dict[str, list[bool]] = {}
    for name, choice in answers:
        if name not in by_name or choice not in by_name[name].choices:
            raise DataError(f"there is no choice '{choice}' in a task '{name}'; check the answers")
        hits.setdefault(name, []).append(by_name[name].choices.index(choice) == by_name[name].intruder)
    return {name: sum(right) / len(right) for name, right in hits.items()}


def score_topic_intrusion(
    model: Any, tasks: Sequence[IntrusionTask], texts: Sequence[Any], answers: Iterable[tuple[str, str]]
) -> dict[str, float]:
    """Return the mean log odds of each document; `texts` are those of the tasks."""
    by_name = {task.name: (task, text) for task, text in zip(tasks, texts, strict=True)}
    odds: dict[str, list[float]] = {}
    for name, choice in answers:
        if name not in by_name or choice not in by_name[name][0].choices:
            raise DataError(f"there is no choice '{choice}' in a task '{name}'; check the answers")
        task, text = by_name[name]
        theta = np.abs(model.transform([text])[0])
        true, chosen = (int(one.split(":")[0]) - 1 for one in (task.choices[task.intruder], choice))
        odds.setdefault(name, []).append(math.log(max(theta[true], 1e-12)) - math.log(max(theta[chosen], 1e-12)))
    return {name: float(np.mean(some)) for name, some in odds.items()}


def _topics(model: Any) -> Any:
    if getattr(model, "vectorizer_", None) is None or not hasattr(model, "components_"):
        raise DataError("topics with words are needed; name a topic model, such as lda")
    return np.abs(model.components_)
