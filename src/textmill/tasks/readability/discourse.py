"""Features of discourse: lexical chains, coreference, and the grid of entities.

Lexical chains (Galley & McKeown 2003): nouns are linked to earlier ones through their senses, one sense is chosen for
each noun, chains are what hangs together then. A link weighs, for 1 sentence / 3 sentences / the paragraph / further:

    same sense          1    1    0.5  0.5
    sense above, below  1    0.5  0.3  0.3
    sense with the same sense above   1    0.3  0.2  0

The sense of a noun is the one whose links weigh most, of several the most frequent. A noun without senses is linked to
itself only. The index of a member is its word position; a chain is open from its first to its last member.

Grid (Barzilay & Lapata 2008): p(r r') = pairs of roles of an entity in adjacent sentences / (entities x (S - 1)), with
the highest of S (subject), O (object), X (other), - (absent) where it has several.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from textmill._native import tasks as native
from textmill.arrays import Floats
from textmill.tasks.readability.layers import Entities, Layers, offsets_of
from textmill.tasks.readability.wordnet import WordNet

__all__ = ["chain_features", "coreference_features", "grid_features"]

_FIGURES = ("number", "length", "span", "long", "active_per_word", "active_per_entity", "inference")
_PAIRS = tuple(f"{a}{b}" for a in "SOX-" for b in "SOX-")


def chain_features(layers: Layers, wordnet: WordNet | None) -> dict[str, Floats]:
    """Return the six features of lexical chains; without WordNet a noun is linked to itself only."""
    entities = layers.entities
    keys, noun = np.unique(entities.key, return_inverse=True)
    senses = [() if wordnet is None else wordnet.senses(entities.names[key]) for key in keys.tolist()]
    flat = np.array([sense for own in senses for sense in own], dtype=np.int32)
    none = np.zeros(1, np.int64), np.zeros(0, np.int32)
    above_offsets, above = none if wordnet is None else (wordnet.above_offsets, wordnet.above)
    sentence = layers.sentence_of[entities.first]
    chain = np.empty(len(noun), dtype=np.int32)
    native.lexical_chains(
        entities.offsets,
        noun.astype(np.int32),
        sentence.astype(np.int32),
        layers.paragraph[sentence].astype(np.int32),
        offsets_of(len(own) for own in senses),
        flat,
        above_offsets,
        above,
        chain,
        threads=layers.threads,
    )
    place = layers.place[entities.first].astype(np.int32)
    return _figures(layers, entities.offsets, chain, place, np.zeros(len(chain), np.uint8), (entities.offsets, place))


def coreference_features(layers: Layers) -> dict[str, Floats]:
    """Return the seven features of coreference; per entity is over entities, or over mentions if those are missing."""
    members = [[one for chain in text.chains or () for one in chain] for text in layers.texts]
    offsets, first, _ = layers.tokens_of(members)
    chain = [i for text in layers.texts for i, own in enumerate(text.chains or ()) for _ in own]
    pronoun = np.array([one.pronoun for row in members for one in row], dtype=np.uint8)
    place = layers.place[first].astype(np.int32)
    marks = offsets, place
    if layers.has("entities") and layers.has("tags"):
        entities: Entities = layers.entities
        marks = entities.offsets, layers.place[entities.first].astype(np.int32)
    return _figures(layers, offsets, np.array(chain, dtype=np.int32), place, pronoun, marks)


def _figures(layers: Layers, offsets: Any, chain: Any, place: Any, pronoun: Any, marks: Any) -> dict[str, Floats]:
    out = np.empty((len(layers.texts), len(_FIGURES)))
    words = layers.n_words.astype(np.int32)
    native.chain_figures(offsets, chain, place, pronoun, words, *marks, out, threads=layers.threads)
    return {name: np.ascontiguousarray(out[:, i]) for i, name in enumerate(_FIGURES)}


def grid_features(layers: Layers, *, salience: int = 1) -> dict[str, Floats]:
    """Return the 16 probabilities of pairs of roles, of entities with at least `salience` mentions."""
    entities = layers.entities
    text = np.repeat(np.arange(len(layers.texts)), np.diff(entities.offsets))
    number = np.empty(len(text), dtype=np.int32)
    for begin, end in zip(entities.offsets[:-1], entities.offsets[1:], strict=True):
        number[begin:end] = np.unique(entities.key[begin:end], return_inverse=True)[1]
    roles = layers.roles
    # of an entity of several words that which stands highest
    lowest = np.array([roles[a : b + 1].min() for a, b in zip(entities.first, entities.last, strict=True)], np.int32)
    sentence = (layers.sentence_of[entities.first] - layers.documents[text]).astype(np.int32)
    out = np.empty((len(layers.texts), 16))
    native.grid(
        entities.offsets,
        number,
        sentence,
        lowest,
        np.diff(layers.documents).astype(np.int32),
        salience=salience,
        out=out,
        threads=layers.threads,
    )
    return {name: np.ascontiguousarray(out[:, i]) for i, name in enumerate(_PAIRS)}
