"""What the recognizer is made of: presets by quality, settings by language.

    counted    a chain by counting and naive Bayes; trains in a second, adds and merges
    strong     conditional random fields over bare and over full tags, and logistic regression; trains in minutes

Languages change what is known to differ between them: Spanish has a list of words of football, whose sentences have
other names; Dutch tells five shapes of words apart where others tell capitals. Without a language nothing is assumed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from textmill.errors import DataError
from textmill.linear import LogisticRegression
from textmill.sequence import CRF, CountedMarkov, default_chain
from textmill.tasks.entities.phrases import PhraseFeatures

__all__ = ["LANGUAGES", "PRESETS", "Language", "Parts", "parts_of_preset"]

_FOOTBALL = (
    "fútbol futbolista futbolistas liga copa gol goles equipo equipos partido partidos jugador jugadores entrenador "
    "árbitro portero delantero defensa centrocampista selección vestuario penalti eliminatoria"
)


class Language(NamedTuple):
    """What differs for a language."""

    shape: str | None = None  # of words, in the chain of counts; None for whether they begin with a capital
    keywords: tuple[str, ...] = ()
    first: int = 3
    last: int = 3
    before: int = 2
    after: int = 1


LANGUAGES = {
    "es": Language(keywords=tuple(_FOOTBALL.split())),
    "nl": Language(shape="%shape[{at},0]", before=2, after=2),
}
PRESETS = ("counted", "strong")


class Parts(NamedTuple):
    """What a recognizer is made of."""

    extractor: Any  # phase 1
    chain: Any  # over full tags; None for none
    features: PhraseFeatures
    classifier: Any  # phase 2; None for the classifier that counts


def parts_of_preset(preset: str, language: str | None, n_jobs: int | None) -> Parts:
    """New parts of a preset.

    >>> parts = parts_of_preset("counted", "es", 1)
    >>> type(parts.extractor).__name__, "fútbol" in parts.features.keywords, parts.chain, parts.classifier
    ('CountedMarkov', True, None, None)
    """
    if preset not in PRESETS:
        raise DataError(f"there is no preset '{preset}'; choose from {', '.join(PRESETS)}")
    if language is not None and language not in LANGUAGES:
        names = ", ".join(sorted(LANGUAGES))
        raise DataError(f"there are no settings for the language '{language}', only {names}; leave it out for others")
    chosen = Language() if language is None else LANGUAGES[language]
    shapes = {"first": chosen.first, "last": chosen.last, "before": chosen.before, "after": chosen.after}
    shapes |= {"keywords": chosen.keywords, "n_jobs": n_jobs}  # type: ignore[dict-item]
    if preset == "counted":
        chain = default_chain() if chosen.shape is None else default_chain(chosen.shape)
        features = PhraseFeatures(views=("lower", "shape"), **shapes)  # type: ignore[arg-type]
        return Parts(CountedMarkov(patterns=chain, n_jobs=n_jobs), None, features, None)
    shapes |= {"before": max(chosen.before, 2), "after": max(chosen.after, 2)}
    features = PhraseFeatures(
        views=("lower", "shape", "suffix", "prefix"),
        whole=True,
        **shapes,  # type: ignore[arg-type]
    )
    return Parts(CRF(n_jobs=n_jobs), CRF(n_jobs=n_jobs), features, LogisticRegression(l2=1.0, n_jobs=n_jobs))
