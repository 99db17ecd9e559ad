"""Annotations made by models that the user has trained, and by stated rules.

    sentences, tokens   as UAX #29 has them, but for abbreviations (Mr.) and lines that are wrapped (lines.py);
                        contractions cut as in the Penn Treebank (do n't, mill 's)
    tags                by a tagger, such as a `CRF` trained on words and tags
    trees               by a parser, such as a `TreebankGrammar`: an object with `parse(sentences, tags) -> trees`, or a
                        function; a sentence of more than 100 tokens is left without a tree
    entities            runs of proper nouns
    chains              rule: entities with the same last word corefer; a pronoun of the third person refers to the
                        nearest entity or noun before it, in its own or one of the two sentences before, that agrees:
                        he, she and their forms want a proper noun, they and its forms a plural or a proper noun, it and
                        its forms a singular noun; a pronoun without such a noun is in no chain
    roles               from trees, by the kernel of features: noun phrases below a clause are subjects, below a verb
                        phrase objects

The rules know nothing of gender or meaning; annotations of better tools can be read instead (annotations.py). A layer
is made only where it is missing. Cost: that of tagger and parser, else linear.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from textmill.corpus import Tree, sentence_spans, texts_of
from textmill.errors import DataError
from textmill.progress import track
from textmill.sequence import token_spans
from textmill.tasks.readability.documents import AnnotatedText, Mention
from textmill.tasks.readability.lines import unwrap_lines
from textmill.tasks.readability.resources import LanguageResources

__all__ = ["Annotator", "cut_text"]

_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
_CLITIC = re.compile(r"(?i)(?<=\w)(?:n['\u2019]t|['\u2019](?:s|m|d|re|ve|ll))$")
_CHUNK = 2000  # sentences that are tagged together
_PARSED = 256  # sentences that are parsed together
_LONGEST = 100  # tokens of a sentence that is parsed: the time grows with the third power
_NEAR = 2  # sentences before a pronoun in which its noun is looked for
_PERSONS = frozenset(("he", "him", "his", "himself", "she", "her", "hers", "herself"))
_MANY = frozenset(("they", "them", "their", "theirs", "themselves"))
_THINGS = frozenset(("it", "its", "itself"))


class Annotator:
    """Annotate texts.

    Parameters:
        tagger: Tags lists of words, `predict(sentences) -> lists of tags`; None for no tags.
        parser: Parses lists of words, `parse(sentences, tags) -> trees`, or a function; None for no trees.
        resources: Classes of tags.

    >>> class Tagger:
    ...     def predict(self, sentences):
    ...         in_class = {"Anna": "NNP", "mill": "NN", "She": "PRP"}
    ...         return [[in_class.get(word, "X") for word in words] for words in sentences]
    >>> text = Annotator(tagger=Tagger()).annotate(["Anna owns a mill. She is glad."])[0]
    >>> text.entities
    [Mention(sentence=0, begin=0, end=1, pronoun=False)]
    >>> [[mention.sentence for mention in chain] for chain in text.chains]
    [[0, 1]]
    """

    def __init__(self, *, tagger: Any = None, parser: Any = None, resources: LanguageResources | None = None) -> None:
        self.tagger = tagger
        self.parser = parser
        self.resources = LanguageResources() if resources is None else resources

    def annotate(
        self, texts: Iterable[str | AnnotatedText], *, ids: Sequence[str] | None = None
    ) -> list[AnnotatedText]:
        """Return texts with every layer that can be made; those that are annotated get what they lack."""
        documents = []
        for number, text in enumerate(texts_of(texts)):
            name = ids[number] if ids is not None else f"text {number + 1}"
            if not isinstance(text, AnnotatedText):
                text = cut_text(text, name=name, abbreviations=self.resources.stops())
            documents.append(text)
        documents = self._parsed(self._tagged(documents))
        return [self._completed(document) for document in track(documents, "annotating", unit="texts")]

    def _tagged(self, documents: list[AnnotatedText]) -> list[AnnotatedText]:
        bare = [document for document in documents if document.tags is None]
        if self.tagger is None or not bare:
            return documents
        sentences = [list(sentence) for document in bare for sentence in document.sentences]
        tags: list[Any] = []
        for first in track(range(0, len(sentences), _CHUNK), "tagging"):
            tags += [list(row) for row in self.tagger.predict(sentences[first : first + _CHUNK])]
        rows = iter(tags)
        return [
            replace(document, tags=[next(rows) for _ in document.sentences]) if document.tags is None else document
            for document in documents
        ]

    def _parsed(self, documents: list[AnnotatedText]) -> list[AnnotatedText]:
        if self.parser is None:
            return documents
        bare = [document for document in documents if document.trees is None and document.tags is not None]
        places = [
            (document, number)
            for document in bare
            for number, words in enumerate(document.sentences)
            if len(words) <= _LONGEST
        ]
        parse: Callable[..., Any] = getattr(self.parser, "parse", self.parser)
        trees: dict[int, list[Tree | None]] = {id(document): [None] * len(document.sentences) for document in bare}
        for first in track(range(0, len(places), _PARSED), "parsing"):
            some = places[first : first + _PARSED]
            words = [list(document.sentences[number]) for document, number in some]
            tags = [list((document.tags or ())[number]) for document, number in some]
            for (document, number), own, tree in zip(some, words, parse(words, tags), strict=True):
                if len(tree.leaves()) != len(own):
                    fault = f"the parser made {len(tree.leaves())} leaves of {len(own)} words"
                    raise DataError(fault, source=document.id or None)
                trees[id(document)][number] = tree
        return [
            replace(document, trees=trees[id(document)]) if id(document) in trees else document
            for document in documents
        ]

    def _completed(self, document: AnnotatedText) -> AnnotatedText:
        if document.tags is None:
            return document
        layers: dict[str, Any] = {}
        classes = self._classes(document)
        if document.entities is None:
            layers["entities"] = [m for i, row in enumerate(classes["proper"]) for m in _runs_of(i, row)]
        if document.chains is None:
            entities = document.entities if document.entities is not None else layers["entities"]
            layers["chains"] = _chains(document, entities, classes)
        return replace(document, **layers) if layers else document

    def _classes(self, document: AnnotatedText) -> dict[str, list[list[bool]]]:
        distinct = sorted({tag for row in document.tags or () for tag in row})
        flags = {}
        for name in ("proper", "nouns", "pronouns"):
            in_class = dict(zip(distinct, self.resources.in_class(name, distinct).tolist(), strict=True))
            flags[name] = [[in_class[tag] for tag in row] for row in document.tags or ()]
        return flags


def cut_text(text: str, *, name: str = "", abbreviations: Collection[str] = ()) -> AnnotatedText:
    """Cut a text into sentences and tokens, contractions apart; no sentence ends after `abbreviations`.

    >>> cut_text("The mill's wheel doesn't turn.").sentences
    [['The', 'mill', "'s", 'wheel', 'does', "n't", 'turn', '.']]
    """
    if not isinstance(text, str):
        raise DataError(f"a text must be a str, not a value of type {type(text).__name__}", source=name or None)
    text = unwrap_lines(text)
    sentences, paragraphs = [], []
    paragraph, at = 0, 0
    for begin, end in sentence_spans(text, abbreviations=abbreviations):
        paragraph += len(_BLANK_LINE.findall(text[at:begin]))
        at = begin
        part = text[begin:end]
        tokens = [token for a, b in token_spans(part) for token in _parted(part[a:b])]
        if tokens:
            sentences.append(tokens)
            paragraphs.append(paragraph)
    if not sentences:
        raise DataError("the text has no words; leave it out", source=name or None)
    return AnnotatedText(sentences, paragraphs=paragraphs if paragraph else None, id=name)


def _parted(token: str) -> list[str]:
    clitic = _CLITIC.search(token)
    return [token] if clitic is None else [token[: clitic.start()], token[clitic.start() :]]


def _runs_of(sentence: int, flags: Sequence[bool]) -> list[Mention]:
    mentions: list[Mention] = []
    for at, flag in enumerate(flags):
        if flag and at and flags[at - 1]:
            mentions[-1] = mentions[-1]._replace(end=at + 1)
        elif flag:
            mentions.append(Mention(sentence, at, at + 1))
    return mentions


def _chains(
    document: AnnotatedText, entities: Sequence[Mention], classes: dict[str, list[list[bool]]]
) -> list[list[Mention]]:
    """Chains by the rule of the module."""
    members: dict[str, list[Mention]] = {}  # by the last word
    named = {(m.sentence, t) for m in entities for t in range(m.begin, m.end)}
    ends = {(m.sentence, m.end - 1): m for m in entities}
    recent: list[tuple[Mention, str, bool, bool]] = []  # with its last word, whether it is a name, a plural
    for i, words in enumerate(document.sentences):
        while recent and recent[0][0].sentence < i - _NEAR:
            recent.pop(0)
        for t, word in enumerate(words):
            key = word.casefold()
            if (i, t) in ends:
                members.setdefault(key, []).append(ends[i, t])
                recent.append((ends[i, t], key, True, key.endswith("s")))
            elif classes["nouns"][i][t] and (i, t) not in named:
                plural = key.endswith("s") and not key.endswith("ss")
                recent.append((Mention(i, t, t + 1), key, False, plural))
            elif classes["pronouns"][i][t] and (referent := _referent(key, recent)) is not None:
                chain = members.setdefault(referent[1], [])
                chain += [mention for mention in (referent[0],) if mention not in chain]
                chain.append(Mention(i, t, t + 1, pronoun=True))
    return [chain for chain in members.values() if len(chain) > 1]


def _referent(pronoun: str, recent: list[tuple[Mention, str, bool, bool]]) -> tuple[Mention, str] | None:
    for mention, key, proper, plural in reversed(recent):
        fits = (
            (pronoun in _PERSONS and proper)
            or (pronoun in _MANY and (proper or plural))
            or (pronoun in _THINGS and not plural)
        )
        if fits:
            return mention, key
    return None
