"""Settings by trying them on development sentences: one at a time, each kept if F rises.

    phase 2   first, last, before and after (how many words of a phrase and around it), smoothing
    phase 1   of a chain that counts: its smoothing and strength, and what it knows of the shape of a word

A model that counts trains in a second, so that a whole search takes less than training one CRF. F on the development
sentences is that of the best of many and a little too good.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from textmill.errors import DataError
from textmill.progress import track
from textmill.sequence import CountedMarkov, default_chain
from textmill.tasks.entities.presets import parts_of_preset
from textmill.tasks.entities.recognizer import EntityRecognizer

__all__ = ["TunedSetting", "tune_entities"]

_STEPS: list[tuple[str, list[Any]]] = [
    ("first", [1, 2, 3, 6]),
    ("last", [1, 2, 3]),
    ("before", [1, 2, 3]),
    ("after", [1, 2, 3]),
    ("smoothing", [0.003, 0.01, 0.03, 0.1]),
    ("chain", ["capitals", "shapes"]),
    ("strength", [0.5, 1.0, 3.0]),
]


class TunedSetting(NamedTuple):
    """A setting that was tried, and F on the development sentences."""

    name: str
    value: str
    f1: float
    better: bool


def tune_entities(
    model: EntityRecognizer, X: Sequence[Any], y: Sequence[Sequence[str]], X_dev: Sequence[Any], y_dev: Sequence[Any]
) -> tuple[EntityRecognizer, list[TunedSetting]]:
    """Return the recognizer with the best settings, trained on X, and all settings that were tried.

    >>> X, y = [["Ana", "ve", "Lima"]] * 5, [["B-PER", "O", "B-LOC"]] * 5
    >>> best, tried = tune_entities(EntityRecognizer(), X, y, X, y)
    >>> best.score(X, y), tried[0]
    (1.0, TunedSetting(name='preset', value='counted', f1=1.0, better=True))
    """
    if model.preset != "counted" or model.extractor is not None:
        raise DataError("only the preset 'counted' is tuned, since it trains in a second; leave the extractor out")
    best = type(model)(**model.get_params(deep=False)).fit(X, y)
    f1 = best.score(X_dev, y_dev)
    tried = [TunedSetting("preset", model.preset, f1, True)]
    for name, value in track(list(_trials()), "tuning"):
        trial = _changed(best, name, value)
        if trial is None:
            continue
        score = trial.fit(X, y).score(X_dev, y_dev)
        tried.append(TunedSetting(name, str(value), score, score > f1))
        if score > f1:
            best, f1 = trial, score
    return best, tried


def _trials() -> Iterator[tuple[str, Any]]:
    for name, values in _STEPS:
        for value in values:
            yield name, value


def _changed(model: EntityRecognizer, name: str, value: Any) -> EntityRecognizer | None:
    """A recognizer with one other setting; None where it is the same."""
    settings = model.get_params(deep=False)
    parts = parts_of_preset(model.preset, model.language, model.n_jobs)
    features, extractor = model.features or parts.features, model.extractor or parts.extractor
    if name == "smoothing":
        if model.smoothing == value:
            return None
        settings["smoothing"] = value
    elif name in ("chain", "strength"):
        chain = {"capitals": default_chain(), "shapes": default_chain("%shape[{at},0]")}
        change = {"patterns": chain[value]} if name == "chain" else {"strength": value}
        if all(getattr(extractor, key) == new for key, new in change.items()):
            return None
        settings["extractor"] = CountedMarkov(**(extractor.get_params(deep=False) | change))
    else:
        if getattr(features, name) == value:
            return None
        settings["features"] = type(features)(**(features.get_params(deep=False) | {name: value}))
    return type(model)(**settings)
