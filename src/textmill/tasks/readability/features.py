"""Features of annotated texts that nothing has to be learned for: each with a name, a group and the layers it needs.

N words, S sentences with a word that is no number; words as in layers.py.

| group | features | needs |
|---|---|---|
| shallow (8) | syllables and letters per word, polysyllables, words not familiar, words per sentence, words | - |
| formulas (11) | formulas.py | - |
| pos (35) | nouns, verbs, adjectives, adverbs, prepositions (IN, TO), content and function words | tags |
| entity (16) | named entities, and nouns outside of them (the rest) | tags, entities |
| chains (6) | lexical chains (discourse.py) | tags, entities, WordNet |
| coreference (7) | chains of mentions | chains |
| grid (16) | pairs of roles of an entity in adjacent sentences | tags, entities, roles |
| parse (21) | SBAR, NP, VP and PP, height of trees, constituents, clauses | trees |

`FEATURES` says of each what it is. Content words are nouns, verbs, numerals, adjectives and adverbs, function words all
others. A feature whose layer is missing is NaN in every text, never 0; so is the grid of a text of one sentence. A
share of nothing is 0. Features that grow with the length of a text are marked, and can be left out. Perplexities and
unknown words have models of their own (perplexities.py).

Reference: Feng, Jansche, Huenerfauth & Elhadad (2010), A comparison of features for automatic readability assessment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from textmill._native import tasks as native
from textmill.arrays import Floats
from textmill.errors import DataError
from textmill.model import check_range
from textmill.tables import Table
from textmill.tasks.readability.discourse import chain_features, coreference_features, grid_features
from textmill.tasks.readability.formulas import FORMULAS, TextCounts
from textmill.tasks.readability.layers import Layers
from textmill.tasks.readability.wordnet import WordNet

__all__ = [
    "FEATURES",
    "GROUPS",
    "Feature",
    "FeatureTable",
    "chosen_features",
    "grows_with_length",
    "static_features",
    "subgroup_of",
    "subgroups",
]

_PARTED = ("pos", "parse", "lm", "relative", "external")  # groups that fall into parts
POS_CLASSES = ("nouns", "verbs", "adjectives", "adverbs", "prepositions", "content", "function")
PHRASES = ("SBAR", "NP", "VP", "PP")


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature: its name, which begins with its group; the layers it needs; whether it grows with the text."""

    name: str
    needs: tuple[str, ...] = ()
    length: bool = False
    text: str = ""

    @property
    def group(self) -> str:
        """The group: the name up to the first full stop."""
        return self.name.partition(".")[0]


def _registry() -> dict[str, Feature]:
    features: list[Feature] = []

    def add(group: str, needs: tuple[str, ...], lines: dict[str, str], length: Iterable[str] = ()) -> None:
        features.extend(Feature(f"{group}.{name}", needs, name in length, text) for name, text in lines.items())

    add(
        "shallow",
        (),
        {
            "syllables_per_word": "Y / N",
            "polysyllables": "words of 3 syllables or more / N",
            "polysyllables_per_sentence": "words of 3 syllables or more / S",
            "letters_per_word": "letters and digits / N",
            "difficult": "words that are not familiar / N",
            "words_per_sentence": "N / S",
            "flesch_kincaid": "grade of Flesch-Kincaid",
            "words": "N",
        },
        ["words"],
    )
    add("formulas", (), dict.fromkeys(FORMULAS, "see formulas.py"))
    for name in POS_CLASSES:
        lines = {
            "share": f"{name} / N",
            "types_per_word": f"different {name} / N",
            "types": f"different {name} / different words",
            "per_sentence": f"{name} / S",
            "unique_per_sentence": f"different {name} of a sentence, mean",
        }
        add(f"pos.{name}", ("tags",), lines, ["types_per_word"])
    add(
        "entity",
        ("tags", "entities"),
        {
            "mentions": "entities",
            "unique": "different entities",
            "per_sentence": "entities / S",
            "unique_per_sentence": "different entities of a sentence, mean",
            "named_per_word": "named entities / N",
            "named_per_word_of_sentence": "named entities of a sentence / its words, mean",
            "overlapping": "nouns inside of named entities / nouns",
            "rest_per_sentence": "nouns outside / S",
            "named": "named entities / entities",
            "rest": "nouns outside / entities",
            "nouns": "nouns / N",
            "nouns_per_sentence": "nouns / S",
            "rest_per_word": "nouns outside / N",
            "named_per_sentence": "named entities / S",
            "unique_named": "different named entities / named entities",
            "unique_rest": "different nouns outside / nouns outside",
        },
        ["mentions", "unique"],
    )
    spans = {
        "number": "chains",
        "length": "members of a chain, mean",
        "span": "words from the first to the last member, mean",
        "long": "chains over half of the text",
        "active_per_word": "chains that are open at a word, mean",
        "active_per_entity": "chains that are open at an entity, mean",
    }
    grows = ["number", "span", "long", "length"]
    add("chains", ("tags", "entities", "wordnet"), spans, grows)
    inference = {"inference": "words from a pronoun back to its noun, mean over chains"}
    add("coreference", ("chains",), {**spans, **inference}, grows)
    roles = {f"{a}{b}": f"share of pairs {a} {b}" for a in "SOX-" for b in "SOX-"}
    add("grid", ("tags", "entities", "roles"), roles)
    for phrase in PHRASES:
        lines = {
            "number": f"{phrase} in the text",
            "per_sentence": f"{phrase} / trees",
            "words": f"words of an {phrase}, mean",
            "letters": f"letters of an {phrase}, mean",
        }
        add(f"parse.{phrase}", ("trees",), lines, ["number"])
    trees = {
        "height": "edges from the root to the deepest word, mean",
        "constituents": "constituents above the tags / trees",
        "constituents_per_word": "constituents above the tags / N",
        "words": "N / trees",
        "clauses": "S and SBAR / trees",
    }
    add("parse.tree", ("trees",), trees)
    return {feature.name: feature for feature in features}


FEATURES: dict[str, Feature] = _registry()
GROUPS: tuple[str, ...] = tuple(dict.fromkeys(feature.group for feature in FEATURES.values()))


class FeatureTable(Table):
    """Features of texts: `values` is (texts, features), NaN where a value is missing."""

    def __init__(self, names: Sequence[str], values: Floats, ids: Sequence[str] | None = None) -> None:
        self.names, self.values = list(names), values
        self.ids = [str(i + 1) for i in range(len(values))] if ids is None else list(ids)

    def columns(self) -> dict[str, Any]:
        """Return the id and one column for each feature."""
        return {"id": self.ids, **{name: self.values[:, i] for i, name in enumerate(self.names)}}

    def missing(self) -> list[str]:
        """Return the names of features that no text has."""
        return [name for name, column in zip(self.names, self.values.T, strict=True) if np.isnan(column).all()]

    def choose(self, names: Iterable[str]) -> FeatureTable:
        """Return the table of some features, in this order.

        >>> FeatureTable(["a.x", "b.y"], np.array([[1.0, 2.0]])).choose(["b.y"]).values.tolist()
        [[2.0]]
        """
        place = {name: i for i, name in enumerate(self.names)}
        wanted = list(names)
        strange = [name for name in wanted if name not in place]
        if strange:
            raise DataError(f"there is no feature {strange[0][:80]!r} among {len(place)}; train the model anew")
        return FeatureTable(wanted, self.values[:, [place[name] for name in wanted]], self.ids)

    def joined(self, other: FeatureTable) -> FeatureTable:
        """Return the features of both tables.

        >>> FeatureTable(["a.x"], np.array([[1.0]])).joined(FeatureTable(["b.y"], np.array([[2.0]]))).names
        ['a.x', 'b.y']
        """
        return FeatureTable([*self.names, *other.names], np.hstack([self.values, other.values]), self.ids)


def grows_with_length(name: str) -> bool:
    """Say whether a feature grows with the length of a text; shares of types do."""
    return FEATURES[name].length if name in FEATURES else name.startswith("oov.type")


def chosen_features(names: Sequence[str], wanted: Sequence[str], *, length: bool = True) -> list[str]:
    """Return the features that begin with one of the names wanted, groups or whole names; a `-` in front leaves out.

    >>> chosen_features(["pos.nouns.share", "pos.verbs.share", "shallow.words"], ["pos", "-pos.verbs"])
    ['pos.nouns.share']
    """
    taken: dict[str, None] = {}
    for one in wanted:
        prefix = one.removeprefix("-")
        own = [name for name in names if name == prefix or name.startswith(f"{prefix}.")] if prefix != "all" else names
        if not own:
            groups = ", ".join(dict.fromkeys(name.partition(".")[0] for name in names))
            raise DataError(f"there is no feature or group {prefix!r}; there are {groups}")
        for name in own:
            if one.startswith("-"):
                taken.pop(name, None)
            else:
                taken[name] = None
    return [name for name in names if name in taken and (length or not grows_with_length(name))]


def static_features(
    layers: Layers, *, wordnet: WordNet | None = None, groups: Sequence[str] = GROUPS, salience: int = 1
) -> FeatureTable:
    """Return the features of groups that nothing has to be learned for; NaN where a layer is missing.

    The grid is that of entities with at least `salience` mentions in a text.
    """
    check_range("salience", salience, at_least=1, whole=True)
    makers: dict[str, Callable[[], dict[str, Floats]]] = {
        "shallow": lambda: _shallow(layers),
        "formulas": lambda: _counts(layers).formulas(),
        "pos": lambda: _pos(layers),
        "entity": lambda: _entity(layers),
        "chains": lambda: chain_features(layers, wordnet),
        "coreference": lambda: coreference_features(layers),
        "grid": lambda: grid_features(layers, salience=salience),
        "parse": lambda: _parse(layers),
    }
    values: dict[str, Floats] = {}
    for group in groups:
        names = [feature for feature in FEATURES.values() if feature.group == group]
        needs = names[0].needs
        there = all(wordnet is not None if need == "wordnet" else layers.has(need) for need in needs)
        columns = makers[group]() if there else {}
        absent = np.full(len(layers.texts), np.nan)
        values.update({feature.name: columns.get(feature.name.partition(".")[2], absent) for feature in names})
    return FeatureTable(list(values), np.column_stack(list(values.values())), [text.id for text in layers.texts])


def _ratio(top: Any, below: Any) -> Floats:
    """A quotient; a share of nothing is 0."""
    top, below = np.asarray(top, dtype=np.float64), np.asarray(below, dtype=np.float64)
    return np.asarray(np.divide(top, below, out=np.zeros(np.broadcast(top, below).shape), where=below != 0))


def _counts(layers: Layers) -> TextCounts:
    """Counts of the words of annotated texts."""
    word, kind = layers.word, layers.type
    syllables, letters = layers.type_syllables[kind] * word, layers.type_letters[kind] * word
    strange = word & ~layers.type_familiar[kind]
    types = layers.tally([strange])[:, 0, 1]
    return TextCounts(
        layers.n_words,
        layers.n_sentences,
        layers.sums(syllables.astype(np.int64)),
        layers.sums((syllables >= 3).astype(np.int64)),
        layers.sums(letters.astype(np.int64)),
        layers.sums(strange.astype(np.int64)),
        types,
        layers.sums((letters >= 7).astype(np.int64)),
    )


def _shallow(layers: Layers) -> dict[str, Floats]:
    counts = _counts(layers)
    N, S = counts.words, counts.sentences
    return {
        "syllables_per_word": counts.syllables / N,
        "polysyllables": counts.polysyllables / N,
        "polysyllables_per_sentence": counts.polysyllables / S,
        "letters_per_word": counts.letters / N,
        "difficult": counts.difficult / N,
        "words_per_sentence": N / S,
        "flesch_kincaid": counts.formula("flesch_kincaid"),
        "words": N.astype(np.float64),
    }


def _pos(layers: Layers) -> dict[str, Floats]:
    flags = {name: layers.in_class(name) & layers.word for name in POS_CLASSES[:5]}
    content = flags["nouns"] | flags["verbs"] | flags["adjectives"] | flags["adverbs"]
    content |= layers.in_class("numerals") & layers.word
    classes = {**flags, "content": content, "function": layers.word & ~content}
    tally = layers.tally([*classes.values(), layers.word]).astype(np.float64)
    N, S, types = layers.n_words, layers.n_sentences, tally[:, -1, 1]
    values = {}
    for at, name in enumerate(classes):
        tokens, distinct, within = tally[:, at].T
        values[f"{name}.share"] = tokens / N
        values[f"{name}.types_per_word"] = distinct / N
        values[f"{name}.types"] = distinct / types
        values[f"{name}.per_sentence"] = tokens / S
        values[f"{name}.unique_per_sentence"] = within / S
    return values


def _entity(layers: Layers) -> dict[str, Floats]:
    entities = layers.entities
    N, S = layers.n_words, layers.n_sentences
    nouns = layers.in_class("nouns")
    all_nouns, inside = layers.sums(nouns.astype(np.int64)), layers.sums((nouns & layers.in_entity).astype(np.int64))
    text = np.repeat(np.arange(len(N)), np.diff(entities.offsets))
    sentence = layers.sentence_of[entities.first]

    def per_text(which: Any) -> Floats:
        return np.bincount(text[which], minlength=len(N)).astype(np.float64)

    def distinct(which: Any, place: Any, owner: Any = None) -> Floats:
        size = max(len(entities.names), 1)  # place and key in one number: much faster than rows of two
        places = np.unique(place[which].astype(np.int64) * size + entities.key[which]) // size
        return np.bincount(places if owner is None else owner[places], minlength=len(N)).astype(np.float64)

    every, named, rest = np.ones(len(text), bool), entities.named, ~entities.named
    NE, RN = per_text(named), per_text(rest)
    E = NE + RN
    words = np.add.reduceat(layers.word.astype(np.int64), layers.sentences[:-1][np.diff(layers.sentences) > 0])
    in_sentence = np.bincount(sentence[named], minlength=len(layers.sentences) - 1)[np.diff(layers.sentences) > 0]
    owner = layers.text_of_sentence[np.diff(layers.sentences) > 0]
    shares = np.bincount(owner, _ratio(in_sentence, words), len(N))
    return {
        "mentions": E,
        "unique": distinct(every, text),
        "per_sentence": E / S,
        "unique_per_sentence": distinct(every, sentence, layers.text_of_sentence) / S,
        "named_per_word": NE / N,
        "named_per_word_of_sentence": shares / S,
        "overlapping": _ratio(inside, all_nouns),
        "rest_per_sentence": RN / S,
        "named": _ratio(NE, E),
        "rest": _ratio(RN, E),
        "nouns": all_nouns / N,
        "nouns_per_sentence": all_nouns / S,
        "rest_per_word": RN / N,
        "named_per_sentence": NE / S,
        "unique_named": _ratio(distinct(named, text), NE),
        "unique_rest": _ratio(distinct(rest, text), RN),
    }


def _parse(layers: Layers) -> dict[str, Floats]:
    sums = np.empty((len(layers.texts), 16))
    native.tree_sums(
        layers.documents,
        layers.sentences,
        *layers.nodes,
        layers.type_letters[layers.type],
        layers.word.view(np.uint8),
        sums,
        threads=layers.threads,
    )
    trees, heights, constituents, clauses = sums[:, 0], sums[:, 1], sums[:, 2], sums[:, 15]
    values = {}
    for at, phrase in enumerate(PHRASES):
        number, words, letters = sums[:, 3 + 3 * at : 6 + 3 * at].T
        values[f"{phrase}.number"] = number
        values[f"{phrase}.per_sentence"] = _ratio(number, trees)
        values[f"{phrase}.words"] = _ratio(words, number)
        values[f"{phrase}.letters"] = _ratio(letters, number)
    values["tree.height"] = _ratio(heights, trees)
    values["tree.constituents"] = _ratio(constituents, trees)
    values["tree.constituents_per_word"] = constituents / layers.n_words
    values["tree.words"] = _ratio(layers.n_words, trees)
    values["tree.clauses"] = _ratio(clauses, trees)
    return values


def subgroups(names: Sequence[str]) -> list[str]:
    """Return the groups of features in their order, each once; see `subgroup_of`.

    >>> subgroups(["pos.nouns.share", "pos.nouns.types", "shallow.words", "lm.words.easy.1"])
    ['pos.nouns', 'shallow', 'lm.words']
    """
    return list(dict.fromkeys(subgroup_of(name) for name in names))


def subgroup_of(name: str) -> str:
    """Return the group of a feature: the first two parts of its name for groups that fall into parts, else the first.

    >>> subgroup_of("pos.nouns.share"), subgroup_of("shallow.words")
    ('pos.nouns', 'shallow')
    """
    parts = name.split(".")
    return ".".join(parts[:2]) if parts[0] in _PARTED and len(parts) > 2 else parts[0]
