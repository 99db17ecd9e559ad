"""Texts with what is known of them: sentences of tokens, and layers of annotation that may be missing.

    sentences   tokens of each sentence                    tags       part of speech of each token
    lemmas      base form of each token                    trees      constituents of each sentence
    entities    spans of named entities                    chains     mentions that refer to the same
    roles       S, O, X or "" for each token               paragraphs number of the paragraph of each sentence

A layer that is None is missing, and so is every feature that needs it; an empty layer says that there is nothing.
Positions are (sentence, first token, behind the last token), from 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from textmill.corpus import Tree
from textmill.errors import DataError

__all__ = ["AnnotatedText", "Mention"]


class Mention(NamedTuple):
    """Tokens `begin` to `end` of a sentence, and whether they are a pronoun."""

    sentence: int
    begin: int
    end: int
    pronoun: bool = False


@dataclass(frozen=True, slots=True)
class AnnotatedText:
    """A text as sentences of tokens, with the layers that are known.

    >>> text = AnnotatedText([["The", "mill", "turns", "."]], tags=[["DT", "NN", "VBZ", "."]])
    >>> text.layers()
    ['tags']
    """

    sentences: Sequence[Sequence[str]]
    tags: Sequence[Sequence[str]] | None = None
    lemmas: Sequence[Sequence[str]] | None = None
    trees: Sequence[Tree | None] | None = None
    entities: Sequence[Mention] | None = None
    chains: Sequence[Sequence[Mention]] | None = None
    roles: Sequence[Sequence[str]] | None = None
    paragraphs: Sequence[int] | None = None
    id: str = ""

    def __post_init__(self) -> None:
        if not any(self.sentences):
            raise DataError("a text needs at least one token; leave empty ones out", source=self.id or None)
        lengths = [len(sentence) for sentence in self.sentences]
        for layer in ("tags", "lemmas", "roles"):
            values = getattr(self, layer)
            if values is not None and [len(row) for row in values] != lengths:
                self._differ(layer, [len(row) for row in values], lengths)
        if self.trees is not None:
            if len(self.trees) != len(lengths):
                raise DataError(f"{len(lengths)} sentences but {len(self.trees)} trees", source=self.id or None)
            for number, tree in enumerate(self.trees):
                if tree is not None and len(leaves := tree.leaves()) != lengths[number]:
                    raise DataError(
                        f"sentence {number + 1} has {lengths[number]} tokens but its tree has {len(leaves)} leaves; "
                        "take empty elements out of the tree, or cut tokens as the parser did",
                        source=self.id or None,
                    )
        if self.paragraphs is not None and len(self.paragraphs) != len(lengths):
            raise DataError(f"{len(lengths)} sentences but {len(self.paragraphs)} paragraphs", source=self.id or None)
        for mention in [*(self.entities or ()), *(one for chain in self.chains or () for one in chain)]:
            inside = 0 <= mention.sentence < len(lengths)
            if not inside or not 0 <= mention.begin < mention.end <= lengths[mention.sentence]:
                raise DataError(f"{mention} is outside of the text", source=self.id or None)

    def layers(self) -> list[str]:
        """Return the names of the layers that are there."""
        names = ("tags", "lemmas", "trees", "entities", "chains", "roles", "paragraphs")
        return [name for name in names if getattr(self, name) is not None]

    def without_sentence(self, number: int) -> AnnotatedText:
        """Return the text without one of its sentences.

        >>> AnnotatedText([["One", "."], ["Two", "."]]).without_sentence(0).sentences
        [['Two', '.']]
        """
        keep = [i for i in range(len(self.sentences)) if i != number]

        def moved(mentions: Sequence[Mention]) -> list[Mention]:
            return [m._replace(sentence=m.sentence - (m.sentence > number)) for m in mentions if m.sentence != number]

        def some(layer: Sequence[Any] | None) -> list[Any] | None:
            return None if layer is None else [layer[i] for i in keep]

        return AnnotatedText(
            [self.sentences[i] for i in keep],
            tags=some(self.tags),
            lemmas=some(self.lemmas),
            trees=some(self.trees),
            entities=None if self.entities is None else moved(self.entities),
            chains=None if self.chains is None else [rest for chain in self.chains if len(rest := moved(chain)) > 1],
            roles=some(self.roles),
            paragraphs=some(self.paragraphs),
            id=self.id,
        )

    def _differ(self, layer: str, sizes: list[int], lengths: list[int]) -> None:
        at = next((i for i, pair in enumerate(zip(sizes, lengths, strict=False)) if pair[0] != pair[1]), None)
        if at is None:
            raise DataError(f"{len(lengths)} sentences but {layer} of {len(sizes)}", source=self.id or None)
        fault = f"sentence {at + 1} has {lengths[at]} tokens but {sizes[at]} {layer}; give one for each token"
        raise DataError(fault, source=self.id or None)
