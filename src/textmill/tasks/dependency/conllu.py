"""CoNLL-U for a parser of bunsetsus: words are grouped into units on the way in, and get heads on the way out.

A unit begins with a word that MISC marks `BunsetuBILabel=B`, as in the Japanese treebanks of Universal Dependencies.
Where there are no such marks, it begins with any word that is neither adposition, auxiliary, conjunction, particle nor
punctuation: those follow their word, as in other languages whose heads come last. The word that carries the dependency
of a unit is the one whose head lies outside. Dependencies inside a unit stay as they are.

Cost: O(words). Reference: Universal Dependencies, CoNLL-U format (version 2); Asahara et al. (2018), UD Japanese.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from textmill.corpus import Bunsetsu, KnpSentence, Morpheme, Sentence
from textmill.errors import DataError

if TYPE_CHECKING:
    from textmill.tasks.dependency.parser import DependencyParser

__all__ = ["parse_conllu", "units_of", "with_unit_heads"]

_FOLLOWING = frozenset(["ADP", "AUX", "CCONJ", "PART", "PUNCT", "SCONJ"])
_MARK = "BunsetuBILabel="


def units_of(sentence: Sentence) -> KnpSentence:
    """The words of a sentence of `read_conllu` as bunsetsus with heads, -1 where there is none.

    >>> import io
    >>> from textmill.corpus import read_conllu
    >>> rows = ["1 犬 犬 NOUN _ _ 3 nsubj _ _", "2 が が ADP _ _ 1 case _ _", "3 鳴く 鳴く VERB _ _ 0 root _ _"]
    >>> (sentence,) = read_conllu(io.BytesIO("\\n".join(rows).replace(" ", "\\t").encode()))
    >>> [bunsetsu.text for bunsetsu in units_of(sentence).bunsetsus], units_of(sentence).heads
    (['犬が', '鳴く'], (1, -1))
    """
    rows, units = _grouped(sentence)
    carriers = _carriers(rows, units)
    heads = [int(rows[word][6]) if rows[word][6].isdecimal() else 0 for word in carriers]
    bunsetsus = tuple(
        Bunsetsu(
            tuple(_morpheme(row) for row, own in zip(rows, units, strict=True) if own == unit),
            units[head - 1] if head else -1,
        )
        for unit, head in enumerate(heads)
    )
    comments = (f"# S-ID:{sentence.metadata['sent_id']}",) if "sent_id" in sentence.metadata else ()
    return KnpSentence(bunsetsus, comments, sentence.source, sentence.line)


def with_unit_heads(sentence: Sentence, heads: Sequence[int]) -> Sentence:
    """The sentence with other heads of its units; a relation is kept where the head stays, else it is `dep` or `root`.

    >>> import io
    >>> from textmill.corpus import read_conllu
    >>> rows = ["1 犬 犬 NOUN _ _ 0 root _ _", "2 が が ADP _ _ 1 case _ _", "3 鳴く 鳴く VERB _ _ 1 acl _ _"]
    >>> (sentence,) = read_conllu(io.BytesIO("\\n".join(rows).replace(" ", "\\t").encode()))
    >>> changed = with_unit_heads(sentence, [1, -1])
    >>> changed.column("head"), changed.column("deprel")
    (('3', '1', '0'), ('dep', 'case', 'root'))
    """
    rows, units = _grouped(sentence)
    carriers = _carriers(rows, units)
    if len(heads) != len(carriers):
        fault = f"{len(heads)} heads for {len(carriers)} units; pass one for each"
        raise DataError(fault, source=sentence.source, line=sentence.line)
    changed: dict[str, tuple[str, str]] = {}  # head and relation by the id of a word
    for word, head in zip(carriers, heads, strict=True):
        row, target = rows[word], str(carriers[head] + 1) if head >= 0 else "0"
        if row[6] != target:
            changed[row[0]] = target, "dep" if head >= 0 else "root"
    ids, old_heads, relations = (sentence.column(name) for name in ("id", "head", "deprel"))
    values = [changed.get(at, (head, relation)) for at, head, relation in zip(ids, old_heads, relations, strict=True)]
    named = sentence.with_column([head for head, _ in values], "head")
    return named.with_column([relation for _, relation in values], "deprel")


def parse_conllu(parser: DependencyParser, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """Yield the sentences with the heads that a parser finds, in one pass over a stream."""
    waiting: deque[Sentence] = deque()

    def units() -> Iterator[KnpSentence]:
        for sentence in sentences:
            waiting.append(sentence)
            yield units_of(sentence)

    for parsed in parser.parse(units()):
        yield with_unit_heads(waiting.popleft(), parsed.heads)


def _grouped(sentence: Sentence) -> tuple[list[tuple[str, ...]], list[int]]:
    """The rows of the words, without multiword tokens and empty nodes, and the unit of each."""
    rows = [row for row in sentence if row[0].isdecimal()]
    marks = [_mark(row[9]) for row in rows]
    if None in marks:
        marks = ["I" if row[3] in _FOLLOWING else "B" for row in rows]
    units: list[int] = []
    for at, mark in enumerate(marks):
        units.append(units[-1] + (mark == "B") if at else 0)
    return rows, units


def _mark(misc: str) -> str | None:
    return next((part[len(_MARK) :] for part in misc.split("|") if part.startswith(_MARK)), None)


def _carriers(rows: list[tuple[str, ...]], units: list[int]) -> list[int]:
    """The word of each unit whose head lies outside; where there is none, the first."""
    carriers: list[int] = []
    for unit in range(units[-1] + 1 if units else 0):
        words = [word for word, own in enumerate(units) if own == unit]
        outside = [word for word in words if rows[word][6].isdecimal() and _unit(rows[word][6], units) != unit]
        carriers.append((outside or words)[0])
    return carriers


def _unit(head: str, units: list[int]) -> int:
    return -1 if head == "0" else units[int(head) - 1]


def _morpheme(row: tuple[str, ...]) -> Morpheme:
    _, form, lemma, upos, xpos, features = row[:6]
    values = (form if lemma == "_" else lemma, upos, "*" if xpos == "_" else xpos)
    return Morpheme(form, form, *values, "*", "*" if features == "_" else features)
