"""Documents as lists of sentences, sentences as lists of words; and which document serves for what.

    vocabulary   15 %   says which words are known, and nothing else
    lm           50 %   the text that negatives are sampled from, and that classes are learned from
    train        25 %   sentences that are right, to learn from
    dev           4 %   thresholds and probabilities
    test          6 %   what is reported

A split goes by document: two sentences of one document share words and phrases. The vocabulary has documents of its own
because a sampled sentence has as many unknown words as the text it was sampled from, so words must be unknown as often
there as in the sentences that are right. Documents with the same sentences go to the same part.

Cost: one pass. Reference: Okanohara & Tsujii (2007), A discriminative language model with pseudo-negative samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from textmill.corpus import Document, PatternTokenizer, TokenizerLike, split_sentences
from textmill.errors import DataError
from textmill.model import check_choice, check_range
from textmill.readable import noun

__all__ = ["PARTS", "SHARES", "WORDS", "CorpusSplit", "SentenceDocument", "read_sentences", "split_corpus", "words_of"]

PARTS = ("vocabulary", "lm", "train", "dev", "test")
SHARES = {"vocabulary": 0.15, "lm": 0.5, "train": 0.25, "dev": 0.04, "test": 0.06}
# Letters that each count as a word, where no blanks stand between words: Thai, Lao, Burmese, Khmer, hiragana, Chinese;
# and the marks above and below them.
_ALONE = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u3096\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0003ffff"
)
_ABOVE = r"\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd\u102b-\u103e\u17b4-\u17d3\u3099\u309a"
# Accents, vowel signs and joiners, which belong to the letter before: Latin, Hebrew, Arabic, the scripts of India.
_MARKS = (
    r"\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    r"\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0900-\u0963\u0966-\u0dff\u200c\u200d"
)
_WORD = rf"(?:[^\W{_ALONE}]+[{_MARKS}]*)+"
WORDS = rf"{_WORD}(?:[.'\u2019-]{_WORD})*|[{_ALONE}][{_ABOVE}]*|[^\w\s]"


class SentenceDocument(NamedTuple):
    """A document: its id, and its sentences, each a list of words."""

    id: str
    sentences: list[list[str]]


@dataclass(frozen=True, slots=True)
class CorpusSplit:
    """Documents by what they serve for.

    >>> split = split_corpus([[[f"w{i}", "is"]] for i in range(10)], min_words=1)
    >>> sorted(split.counts().items())
    [('dev', 1), ('lm', 5), ('test', 1), ('train', 2), ('vocabulary', 1)]
    """

    vocabulary: list[SentenceDocument]
    lm: list[SentenceDocument]
    train: list[SentenceDocument]
    dev: list[SentenceDocument]
    test: list[SentenceDocument]

    def __post_init__(self) -> None:
        owner: dict[tuple[tuple[str, ...], ...], tuple[str, str]] = {}
        for part in PARTS:
            for document in getattr(self, part):
                text = tuple(map(tuple, document.sentences))
                first = owner.setdefault(text, (part, document.id))
                if first[0] != part and text:
                    raise DataError(
                        f"document {document.id!r} is in part {part}, and with the same sentences as {first[1]!r} in "
                        f"part {first[0]}; each document may serve for one thing only"
                    )

    def sentences(self, part: str) -> list[list[str]]:
        """Return the sentences of a part."""
        check_choice("part", part, PARTS)
        return [sentence for document in getattr(self, part) for sentence in document.sentences]

    def counts(self) -> dict[str, int]:
        """Return the number of sentences of each part."""
        return {part: sum(len(document.sentences) for document in getattr(self, part)) for part in PARTS}


def words_of(texts: Iterable[Any], tokenizer: TokenizerLike = None) -> Iterator[list[str]]:
    """Yield the words of sentences: texts are cut, lists are taken as they are.

    Without a tokenizer words keep their case, and marks of punctuation are words; in scripts without blanks between
    words, each letter is one.

    >>> list(words_of(["Is it old?", ["to", "be"], "古い水車。"]))
    [['Is', 'it', 'old', '?'], ['to', 'be'], ['古', 'い', '水', '車', '。']]
    """
    cut: Any = PatternTokenizer(pattern=WORDS, case="keep") if tokenizer is None else tokenizer
    for text in texts:
        if isinstance(text, str):
            yield list(cut(text))
        elif isinstance(text, list | tuple):
            yield list(text)
        else:
            raise DataError(f"a sentence is a text or a list of words, not {type(text).__name__}")


def read_sentences(
    documents: Iterable[Any], *, tokenizer: TokenizerLike = None, split: str = "sentences"
) -> list[SentenceDocument]:
    """Turn documents into sentences of words.

    A document is a text, a `Document`, a `SentenceDocument` or a list of sentences. `split` says how texts are cut:
    into "sentences", or "lines", a sentence on each.

    >>> read_sentences(["It is old. It turns."])[0].sentences
    [['It', 'is', 'old', '.'], ['It', 'turns', '.']]
    """
    check_choice("split", split, ["sentences", "lines"])
    if isinstance(documents, str):
        raise DataError("documents is one text; pass a list of texts")
    result = []
    for number, document in enumerate(documents):
        if isinstance(document, SentenceDocument):
            result.append(document)
            continue
        name = document.id if isinstance(document, Document) else str(number)
        text = document.text if isinstance(document, Document) else document
        parts: Iterable[Any] = text
        if isinstance(text, str):
            parts = split_sentences(text) if split == "sentences" else text.splitlines()
        elif not isinstance(text, list | tuple):
            raise DataError(f"document {number} is {type(text).__name__}; pass texts or lists of sentences")
        result.append(SentenceDocument(name, [words for words in words_of(parts, tokenizer) if words]))
    return result


def split_corpus(
    documents: Iterable[Any],
    *,
    shares: Mapping[str, float] | None = None,
    method: str = "document",
    min_words: int = 5,
    max_words: int = 200,
    tokenizer: TokenizerLike = None,
    split: str = "sentences",
    random_state: int = 0,
) -> CorpusSplit:
    """Share out documents at random, so that each part has its share of the sentences of `min_words` to `max_words`.

    `shares` says how much each part gets, 0 for none; by default `SHARES`. `method="sentence"` shares out sentences
    instead, as in the published experiments: figures are then higher than on new documents.

    >>> documents = [[[f"w{i}", "is", "a", "mill", "."]] for i in range(20)]
    >>> split_corpus(documents).counts()
    {'vocabulary': 3, 'lm': 10, 'train': 5, 'dev': 1, 'test': 1}
    """
    check_choice("method", method, ["document", "sentence"])
    check_range("min_words", min_words, at_least=1, whole=True)
    check_range("max_words", max_words, at_least=min_words, whole=True)
    wanted = _checked_shares(SHARES if shares is None else shares)
    items = []
    longest = -1
    for document in read_sentences(documents, tokenizer=tokenizer, split=split):
        longest = max(longest, *map(len, document.sentences), -1)
        sentences = [words for words in document.sentences if min_words <= len(words) <= max_words]
        if sentences and method == "document":
            items.append(SentenceDocument(document.id, sentences))
        else:
            items += [SentenceDocument(f"{document.id}#{i}", [words]) for i, words in enumerate(sentences, 1)]
    groups: dict[tuple[tuple[str, ...], ...], list[SentenceDocument]] = {}
    for item in items:  # those with the same sentences stay together
        groups.setdefault(tuple(map(tuple, item.sentences)), []).append(item)
    if not groups and longest >= 0:
        raise DataError(
            f"no sentence has {min_words} to {max_words} words, the longest has {longest}; pass other limits, or text "
            "with blanks between words"
        )
    if len(groups) < len(wanted):
        by_document = method == "document"
        kind = "documents with sentences" if by_document else "sentences"
        raise DataError(
            f"{len(groups)} different {noun(len(groups), kind)} of {min_words} to {max_words} words cannot fill "
            f"{len(wanted)} parts; pass more text"
            + (", or share out sentences with method='sentence'" if by_document else "")
        )
    return _shared_out(list(groups.values()), wanted, random_state)


def _checked_shares(shares: Mapping[str, float]) -> dict[str, float]:
    for part, share in shares.items():
        check_choice("part", part, PARTS)
        check_range(f"share of {part}", share, at_least=0.0, at_most=1.0)
    wanted = {part: float(shares[part]) for part in PARTS if shares.get(part, 0.0) > 0.0}
    if not wanted:
        raise DataError("all shares are 0; give at least one part a share")
    total = sum(wanted.values())
    return {part: share / total for part, share in wanted.items()}


def _shared_out(groups: list[list[SentenceDocument]], wanted: dict[str, float], random_state: int) -> CorpusSplit:
    """Give each group, in a random order, to the part that misses most."""
    order = np.random.Generator(np.random.Philox(random_state)).permutation(len(groups))
    sizes = [sum(len(document.sentences) for document in group) for group in groups]
    total = sum(sizes)
    missing = {part: share * total for part, share in wanted.items()}
    parts: dict[str, list[int]] = {part: [] for part in wanted}
    for rank, i in enumerate(order.tolist()):
        empty = [part for part in wanted if not parts[part]]
        choice = empty if len(order) - rank <= len(empty) else list(wanted)  # the last ones fill what is empty
        part = max(choice, key=lambda name: missing[name])
        parts[part].append(i)
        missing[part] -= sizes[i]
    documents = {part: [one for i in sorted(numbers) for one in groups[i]] for part, numbers in parts.items()}
    return CorpusSplit(**{part: documents.get(part, []) for part in PARTS})
