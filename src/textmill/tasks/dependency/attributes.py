"""What a parser sees: attributes of bunsetsus, and the features of the question whether one depends on another.

Of a bunsetsu: its head word (the last that is neither particle, suffix, auxiliary nor punctuation): lemma, part of
speech, subtype, inflection and form; its last word, which says what it can modify: the same but for the inflection,
which tells nothing beside the form; its particles; whether it has a comma, a full stop, a bracket that opens or closes.

Of a question (j, i): those attributes of the units in their roles, how far apart they are, whether only one follows.

    modifier:    j, all attributes                   after-modifier:  j + 1  \
    head:        i, all attributes                   before-head:     i - 1   > parts of speech, last word, particles
    between:     all between, particles and signs    after-head:      i + 1  /
    dependent:   those between that depend on i already, particles and last word

About 40 of them are active. Attributes of a morpheme are worked out once for each distinct one; which features a
question has is looked up by native code. Reference: Uchimoto, Sekine & Isahara (1999); Kudo & Matsumoto (2002).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from textmill.arrays import Ids, Ints
from textmill.corpus import Bunsetsu, KnpSentence, Morpheme

__all__ = ["ROLES", "SHAPES", "Encoded", "attributes_of", "column_table", "encode", "feature_names"]

_SIGNS = frozenset(
    ["特殊", "記号", "補助記号", "空白", "PUNCT", "SYM"]
)  # of JUMAN, IPA, UniDic and Universal Dependencies
_FUNCTION = frozenset(["助詞", "助動詞", "判定詞", "接尾辞", "接尾", "ADP", "AUX", "CCONJ", "PART", "SCONJ"])
_PARTICLES = frozenset(["助詞", "ADP"])
_COMMAS, _STOPS = frozenset("、，,､"), frozenset("。．.？！?!｡")
_OPENING, _CLOSING = frozenset("「『（(［[【〈《〔“｢"), frozenset("」』）)］]】〉》〕”｣")
_KINDS_OF_SIGNS = (("comma", _COMMAS), ("stop", _STOPS), ("opens", _OPENING), ("closes", _CLOSING))

_NEAR = frozenset(["pos", "subpos", "last", "last.pos", "last.form", "particle", "comma"])
_BETWEEN = frozenset(["particle", "comma", "opens", "closes"])
ROLES: dict[str, frozenset[str] | None] = {  # the kinds of attributes that count in a role, None for all; as in C++
    "modifier": None,
    "head": None,
    "after-modifier": _NEAR,
    "before-head": _NEAR,
    "after-head": _NEAR,
    "between": _BETWEEN,
    "dependent": frozenset(["particle", "last"]),
}
SHAPES = ("distance=1", "distance=2-5", "distance=6+", "one follows")


class Encoded(NamedTuple):
    """Sentences as numbers: first unit of each sentence, first attribute of each unit, attributes."""

    sentences: Ints
    offsets: Ints
    attributes: Ids


class _Facts(NamedTuple):
    """What a morpheme adds to its bunsetsu: attributes as its head word, as its last word, and in any place."""

    content: bool
    word: bool
    head: tuple[Any, ...]
    last: tuple[Any, ...]
    own: tuple[Any, ...]


class _Lexicon(dict[Morpheme, _Facts]):
    """The facts of morphemes, worked out once for each distinct one, and what part of speech and forms say once for
    each of those; `lookup` gives what stands for an attribute, None to leave it out."""

    def __init__(self, lookup: Callable[[str], Any]) -> None:
        super().__init__()
        self._lookup = lookup
        self._by_grammar: dict[tuple[str, ...], _Facts] = {}

    def __missing__(self, morpheme: Morpheme) -> _Facts:
        grammar = morpheme[3:7]
        if (facts := self._by_grammar.get(grammar)) is None:
            facts = self._by_grammar[grammar] = self._of_grammar(*grammar)
        surface, lemma, pos = morpheme.surface, morpheme.lemma, morpheme.pos
        content, word, head, last, own = facts
        if (number := self._lookup(f"word={lemma}")) is not None:
            head = (number, *head)
        if (number := self._lookup(f"last={surface if morpheme.inflection == '*' else lemma}")) is not None:
            last = (number, *last)
        if pos in _PARTICLES:
            own = self._those([f"particle={surface}"])
        elif not word:
            own = self._those([kind for kind, signs in _KINDS_OF_SIGNS if surface in signs])
        facts = self[morpheme] = _Facts(content, word, head, last, own)
        return facts

    def _of_grammar(self, pos: str, subpos: str, inflection: str, form: str) -> _Facts:
        head, last = [f"pos={pos}"], [f"last.pos={pos}"]
        if subpos != "*":
            head.append(f"subpos={subpos}")
            last.append(f"last.subpos={subpos}")
        if inflection != "*":
            head.append(f"inflection={inflection}")
        if form != "*":
            head.append(f"form={form}")
            last.append(f"last.form={form}")
        word = pos not in _SIGNS
        return _Facts(word and pos not in _FUNCTION, word, self._those(head), self._those(last), ())

    def _those(self, names: list[str]) -> tuple[Any, ...]:
        return tuple(number for number in map(self._lookup, names) if number is not None)


def attributes_of(bunsetsu: Bunsetsu) -> list[str]:
    """The attributes of a bunsetsu by name.

    >>> dog, topic = Morpheme("犬", "いぬ", "犬", "名詞", "普通名詞"), Morpheme("は", "は", "は", "助詞", "副助詞")
    >>> attributes_of(Bunsetsu((dog, topic)))
    ['word=犬', 'pos=名詞', 'subpos=普通名詞', 'last=は', 'last.pos=助詞', 'last.subpos=副助詞', 'particle=は']
    """
    facts = _Lexicon(lambda name: name)
    return list(_gathered([facts[morpheme] for morpheme in bunsetsu.morphemes]))


def encode(sentences: Iterable[KnpSentence], lookup: Callable[[str], int | None]) -> Encoded:
    """Sentences as numbers; `lookup` gives the number of an attribute, None to leave it out.

    >>> dog = Bunsetsu((Morpheme("犬", "いぬ", "犬", "名詞", "普通名詞"),))
    >>> encode([KnpSentence((dog, dog))], {"word=犬": 0, "pos=名詞": 1}.get).offsets.tolist()
    [0, 2, 4]
    """
    facts = _Lexicon(lookup)
    attributes: list[int] = []  # one flat list: containers per unit would keep the garbage collector busy
    offsets, ends = [0], [0]
    for sentence in sentences:
        for bunsetsu in sentence.bunsetsus:
            attributes.extend(_gathered([facts[morpheme] for morpheme in bunsetsu.morphemes]))
            offsets.append(len(attributes))
        ends.append(len(offsets) - 1)
    return Encoded(np.array(ends, np.int64), np.array(offsets, np.int64), np.array(attributes, np.int32))


def feature_names(attributes: Sequence[str]) -> list[str | None]:
    """The names of all features of a question, role by role and then its shape; None for those that do not count.

    >>> feature_names(["word=犬", "comma"])[:4], feature_names(["word=犬", "comma"])[-4:]
    (['modifier:word=犬', 'modifier:comma', 'head:word=犬', 'head:comma'], [...])
    """
    kinds = [name.partition("=")[0] for name in attributes]
    return [
        *(
            f"{role}:{name}" if wanted is None or kind in wanted else None
            for role, wanted in ROLES.items()
            for name, kind in zip(attributes, kinds, strict=True)
        ),
        *SHAPES,
    ]


def column_table(features: Sequence[str]) -> tuple[dict[str, int], Ids]:
    """The numbers of the attributes of named features, and the column of each attribute in each role, -1 for none.

    >>> attributes, columns = column_table(["distance=1", "head:comma", "modifier:comma"])
    >>> attributes, columns.tolist()
    ({'comma': 0}, [2, 1, -1, -1, -1, -1, -1, 0, -1, -1, -1])
    """
    parts = [(c, *name.partition(":")[::2]) for c, name in enumerate(features) if name not in SHAPES]
    attributes: dict[str, int] = {}
    for _, _, name in parts:
        attributes.setdefault(name, len(attributes))
    table = np.full((len(ROLES), len(attributes)), -1, np.int32)
    roles = {role: number for number, role in enumerate(ROLES)}
    for c, role, name in parts:
        table[roles[role], attributes[name]] = c
    shapes = {name: c for c, name in enumerate(features) if name in SHAPES}
    return attributes, np.concatenate([table.ravel(), np.array([shapes.get(s, -1) for s in SHAPES], np.int32)])


def _gathered(morphemes: Sequence[_Facts]) -> tuple[Any, ...]:
    """The attributes of a bunsetsu from those of its morphemes."""
    head = last = None
    own: tuple[Any, ...] = ()
    for facts in morphemes:
        content, word, of_head, _, of_any = facts
        if content:
            head = of_head
        if word:
            last = facts
        if of_any:
            own += of_any
    if last is None:  # nothing but signs
        last = morphemes[-1]
    if len(own) > 1:
        own = tuple(dict.fromkeys(own))
    return (last.head if head is None else head) + last.last + own
