"""Annotated texts as arrays: tokens and tags become ids once, and kernels take it from there.

    type       folded token by id          syllables, letters, word, familiar   of each type
    documents  sentences of each text      sentences  tokens of each sentence
    place      word position of each token in its text: the number of words before it

A word has a letter or a digit and is no clitic (`'s`, `n't`). A layer is taken only if every text has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill._native import corpus as native_corpus
from textmill._native import tasks as native
from textmill.arrays import Ints
from textmill.errors import DataError
from textmill.model import StringTable, effective_jobs
from textmill.tasks.readability.documents import AnnotatedText, Mention
from textmill.tasks.readability.resources import LanguageResources

__all__ = ["Entities", "Layers", "offsets_of"]

_ROLES = {"S": 0, "O": 1}


class Entities:
    """Named entities, and the nouns outside of them, of all texts.

    `offsets` say where those of a text begin; `first` is the first token, `last` the last one, `named` whether it is a
    named entity, `key` the id of its folded string, of lemmas if every text has them; in the order of the text.
    """

    def __init__(self, offsets: Ints, first: Ints, last: Ints, named: NDArray[np.bool_], key: Ints, names: list[str]):
        self.offsets, self.first, self.last, self.named, self.key, self.names = offsets, first, last, named, key, names


class Layers:
    """The arrays of some texts; see the module."""

    def __init__(
        self, texts: Sequence[AnnotatedText], resources: LanguageResources | None = None, n_jobs: int | None = None
    ) -> None:
        if not texts:
            raise DataError("there are no texts; pass at least one")
        self.texts = texts
        self.resources = LanguageResources() if resources is None else resources
        self.threads = effective_jobs(n_jobs)
        rows = [s if type(s) is list else list(s) for text in texts for s in text.sentences]
        self.documents = offsets_of(len(text.sentences) for text in texts)
        table = native_corpus.TermTable()
        self.sentences, tokens = table.sequences(rows, None, grow=True, threads=self.threads, first=0)
        written = StringTable.from_arrays(*table.terms_from(0)[:2]).to_list()
        folded: dict[str, int] = {}
        fold = np.array([folded.setdefault(word.casefold(), len(folded)) for word in written], dtype=np.int32)
        self.names = list(folded)
        self.token = tokens  # ids of tokens as written
        self.written = written
        self.type: NDArray[np.int32] = fold[tokens]
        facts = self.resources.meter().facts(self.names)
        self.type_syllables, self.type_letters = facts[0], facts[1]
        self.type_word, self.type_familiar = facts[2].astype(bool), facts[3].astype(bool)
        self.word: NDArray[np.bool_] = self.type_word[self.type]
        self.bounds = self.sentences[self.documents]  # tokens of each text
        words_before = np.concatenate([[0], np.cumsum(self.word)])
        self.n_words: Ints = np.diff(words_before[self.bounds])
        if not self.n_words.all():
            at = int(np.argmin(self.n_words))
            raise DataError("the text has no words; leave it out", source=texts[at].id or f"text {at + 1}")
        self.place: Ints = words_before[:-1] - np.repeat(words_before[self.bounds[:-1]], np.diff(self.bounds))
        self.place = np.minimum(self.place, np.repeat(self.n_words, np.diff(self.bounds)) - 1)
        lettered = np.array([any(map(str.isalpha, name)) for name in self.names], dtype=bool)
        letters_before = np.concatenate([[0], np.cumsum(self.word & lettered[self.type])])
        flags = np.concatenate([[0], np.cumsum(np.diff(letters_before[self.sentences]) > 0)])
        self.n_sentences: Ints = np.maximum(np.diff(flags[self.documents]), 1)  # those with a word that is no number

    def has(self, layer: str) -> bool:
        """Whether every text has a layer."""
        if layer == "roles" and self.has("trees"):
            return True
        return all(getattr(text, layer) is not None for text in self.texts)

    def missing_in(self, layer: str) -> list[str]:
        """Ids of the texts that lack a layer."""
        return [t.id or f"text {i + 1}" for i, t in enumerate(self.texts) if getattr(t, layer) is None]

    def sums(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum over the tokens of each text."""
        return np.add.reduceat(values, self.bounds[:-1])

    @cached_property
    def tags(self) -> tuple[NDArray[np.int32], list[str]]:
        """The tag of each token, by number, and the names of tags."""
        table = native_corpus.TermTable()
        rows = [row if type(row) is list else list(row) for text in self.texts for row in text.tags or ()]
        _, ids = table.sequences(rows, None, grow=True, threads=self.threads, first=0)
        return ids, StringTable.from_arrays(*table.terms_from(0)[:2]).to_list()

    def in_class(self, name: str) -> NDArray[np.bool_]:
        """Whether the tag of each token belongs to a class."""
        ids, names = self.tags
        flags: NDArray[np.bool_] = self.resources.in_class(name, names)[ids]
        return flags

    def tally(self, classes: Sequence[NDArray[np.bool_]]) -> Ints:
        """Tokens, types, and types of sentences summed, of texts x classes x 3; each class is a flag of tokens."""
        mask = np.zeros(len(self.type), dtype=np.uint32)
        for bit, flags in enumerate(classes):
            mask |= flags.astype(np.uint32) << np.uint32(bit)
        out = np.empty((len(self.texts), len(classes), 3), dtype=np.int64)
        native.tally(self.documents, self.sentences, self.type, len(self.names), mask, out, threads=self.threads)
        return out

    @cached_property
    def sentence_of(self) -> Ints:
        """The sentence of each token, counted through all texts."""
        return np.repeat(np.arange(len(self.sentences) - 1), np.diff(self.sentences))

    @cached_property
    def text_of_sentence(self) -> Ints:
        """The text of each sentence."""
        return np.repeat(np.arange(len(self.texts)), np.diff(self.documents))

    def tokens_of(self, mentions: Sequence[Sequence[Mention]]) -> tuple[Ints, Ints, Ints]:
        """Where the mentions of texts begin, and the first and last token of each."""
        offsets = offsets_of(len(row) for row in mentions)
        flat = np.array([m[:3] for row in mentions for m in row], dtype=np.int64).reshape(-1, 3)
        sentence = np.repeat(self.documents[:-1], np.diff(offsets)) + flat[:, 0]
        return offsets, self.sentences[sentence] + flat[:, 1], self.sentences[sentence] + flat[:, 2] - 1

    @cached_property
    def named(self) -> tuple[Ints, Ints, Ints]:
        """Named entities: offsets by text, first and last tokens."""
        return self.tokens_of([sorted(text.entities or ()) for text in self.texts])

    @cached_property
    def in_entity(self) -> NDArray[np.bool_]:
        """Whether each token lies in a named entity."""
        _, first, last = self.named
        change = np.zeros(len(self.type) + 1, dtype=np.int64)
        np.add.at(change, first, 1)
        np.add.at(change, last + 1, -1)
        return np.asarray(np.cumsum(change)[:-1] > 0)

    @cached_property
    def entities(self) -> Entities:
        """Named entities and the nouns outside of them."""
        _, first, last = self.named
        nouns = np.flatnonzero(self.in_class("nouns") & ~self.in_entity)
        heads, tails = np.concatenate([first, nouns]), np.concatenate([last, nouns])
        named = np.arange(len(heads)) < len(first)
        order = np.argsort(heads, kind="stable")
        heads, tails, named = heads[order], tails[order], named[order]
        form, names = self._forms(np.unique(tails))
        key = form[tails]
        spelled = list(names)
        for at in np.flatnonzero(heads != tails):
            ids = [*self.type[heads[at] : tails[at]], key[at]]  # the last word in the form that it is compared in
            text = "_".join(spelled[i] for i in ids)
            key[at] = names.setdefault(text, len(names))
        offsets = np.searchsorted(heads, self.bounds)
        return Entities(offsets, heads, tails, named, key, list(names))

    def _forms(self, tokens: Ints) -> tuple[Ints, dict[str, int]]:
        """Ids of the strings that some tokens are compared by, in an array over all tokens, and the ids by string."""
        names = dict(zip(self.names, range(len(self.names)), strict=True))
        form = self.type.astype(np.int64)
        if self.has("lemmas"):
            lemmas = [lemma for text in self.texts for row in text.lemmas or () for lemma in row]
            for at in tokens.tolist():
                if lemmas[at] not in ("", "_"):  # what CoNLL-U writes where there is none
                    form[at] = names.setdefault(lemmas[at].casefold(), len(names))
        return form, names

    @cached_property
    def nodes(self) -> tuple[Any, ...]:
        """The nodes of all trees as arrays."""
        nodes: tuple[Any, ...] = native.flatten_trees([tree for text in self.texts for tree in text.trees or ()])
        return nodes

    @cached_property
    def roles(self) -> NDArray[np.uint8]:
        """The role of each token: 0 subject, 1 object, 2 other; as annotated, or from trees."""
        if all(text.roles is not None for text in self.texts):
            rows = [_ROLES.get(role, 2) for text in self.texts for row in text.roles or () for role in row]
            return np.array(rows, dtype=np.uint8)
        role = np.empty(len(self.type), dtype=np.uint8)
        native.tree_roles(self.documents, self.sentences, *self.nodes, role)
        return role

    @cached_property
    def paragraph(self) -> Ints:
        """The paragraph of each sentence; where it is not known, the text is one."""
        rows = [text.paragraphs or [0] * len(text.sentences) for text in self.texts]
        return np.array([number for row in rows for number in row], dtype=np.int64)


def offsets_of(lengths: Any) -> Ints:
    """Where runs of these lengths begin, and the end.

    >>> offsets_of([2, 0, 1]).tolist()
    [0, 2, 2, 3]
    """
    return np.cumsum([0, *lengths], dtype=np.int64)
