"""Annotated texts from files: bracketed trees, CoNLL-U, and the XML of Stanford CoreNLP.

    trees      a tree for each sentence: tokens, tags, trees; empty elements and function tags are taken out
    CoNLL-U    tokens, tags (xpos, or upos where that is missing), lemmas, roles (nsubj: S; obj, iobj: O); entities from
               the MISC field `NE=B-LOC`, or runs of proper nouns by `Annotator`
    CoreNLP    tokens, tags, lemmas, named entities (runs of one NER label), trees, coreference; roles from the
               dependencies if they are there, else from the trees

A file is one text. Cost: linear. References: Marcus et al. (1993); Universal Dependencies; Manning et al. (2014).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from textmill.corpus import Tree, open_bytes, parse_tree, read_conllu, read_trees, spans_of
from textmill.errors import DataError
from textmill.tasks.readability.documents import AnnotatedText, Mention

__all__ = ["read_annotated", "read_annotated_conllu", "read_annotated_trees", "read_corenlp"]

SUFFIXES = (".conllu", ".xml", ".mrg", ".parse", ".trees", ".txt.parse")
_PRONOUNS = "PRP"
_TAG = re.compile("[BIESLU]-.")
_SUBJECTS, _OBJECTS = ("nsubj", "csubj"), ("obj", "dobj", "iobj")


def read_annotated(path: str | os.PathLike[str], *, name: str | None = None) -> AnnotatedText:
    """Read one annotated text; the suffix of the file says how: .conllu, .xml, else bracketed trees."""
    place = Path(os.fspath(path))
    read = {".conllu": read_annotated_conllu, ".xml": read_corenlp}.get(place.suffix, read_annotated_trees)
    return read(str(place), name=place.stem if name is None else name)


def read_annotated_trees(source: Any, *, name: str = "") -> AnnotatedText:
    r"""Read the trees of a text.

    >>> import io
    >>> text = read_annotated_trees(io.BytesIO(b"(S (NP (NN Time)) (VP (VBZ flies)))\n"))
    >>> text.sentences, text.tags
    ([['Time', 'flies']], [['NN', 'VBZ']])
    """
    trees = [rest.without_functions() for tree in read_trees(source) if (rest := tree.without_empty()) is not None]
    return _from_trees(trees, name or None)


def _from_trees(trees: Sequence[Tree], name: str | None) -> AnnotatedText:
    if not trees:
        raise DataError("the file holds no tree", source=name)
    return AnnotatedText(
        [tree.words() for tree in trees], tags=[tree.tags() for tree in trees], trees=list(trees), id=name or ""
    )


def read_annotated_conllu(source: Any, *, name: str = "") -> AnnotatedText:
    r"""Read a text in CoNLL-U.

    >>> import io
    >>> lines = b"1\tTime\ttime\tNOUN\tNN\t_\t2\tnsubj\t_\t_\n2\tflies\tfly\tVERB\tVBZ\t_\t0\troot\t_\t_\n\n"
    >>> read_annotated_conllu(io.BytesIO(lines)).roles
    [['S', 'X']]
    """
    words, tags, lemmas, roles, paragraphs = [], [], [], [], []
    entities: list[Mention] = []
    marked, paragraph = False, 0
    for number, sentence in enumerate(read_conllu(source)):
        paragraph += any(line.startswith("# newpar") for line in sentence.comments) and number > 0
        words.append(list(sentence.column("form")))
        lemmas.append(list(sentence.column("lemma")))
        upos, xpos = sentence.column("upos"), sentence.column("xpos")
        tags.append([u if x == "_" else x for u, x in zip(upos, xpos, strict=True)])
        roles.append([_role(label) for label in sentence.column("deprel")])
        paragraphs.append(paragraph)
        labels = [_entity_label(misc) for misc in sentence.column("misc")]
        marked = marked or any(label is not None for label in labels)
        entities += [Mention(number, a, b) for a, b in _runs([label or "O" for label in labels])]
    if not words:
        raise DataError("the file holds no sentence", source=name or None)
    return AnnotatedText(
        words,
        tags=tags,
        lemmas=lemmas,
        roles=roles,
        entities=entities if marked else None,
        paragraphs=paragraphs if paragraph else None,
        id=name,
    )


def read_corenlp(source: Any, *, name: str = "") -> AnnotatedText:
    """Read a text from the XML that Stanford CoreNLP writes."""
    place = name or (os.fspath(source) if isinstance(source, str | os.PathLike) else None)
    try:
        with open_bytes(source) as file:
            root = ElementTree.parse(file).getroot()
    except ElementTree.ParseError as fault:
        raise DataError(f"this is no XML: {fault}; write it anew with CoreNLP", source=place) from None
    nodes = root.findall("./document/sentences/sentence")
    if not nodes:
        raise DataError("there is no <sentence> below <document><sentences>; is it from CoreNLP?", source=place)
    words: list[list[str]] = []
    columns: dict[str, list[list[str]]] = {"POS": [], "lemma": [], "NER": []}
    trees: list[Tree | None] = []
    roles: list[list[str]] = []
    for node in nodes:
        tokens = node.findall("./tokens/token")
        words.append([token.findtext("word", "") for token in tokens])
        for field, values in columns.items():
            values.append([token.findtext(field, "") for token in tokens])
        parse = node.findtext("parse")
        trees.append(None if parse is None or not parse.strip() else parse_tree(parse))
        roles.append(_dependency_roles(node, len(tokens)))

    def layer(field: str) -> list[list[str]] | None:
        return columns[field] if all(all(row) for row in columns[field]) else None

    tags, labels = layer("POS"), layer("NER")
    entities = None
    if labels is not None:
        entities = [Mention(i, a, b) for i, row in enumerate(labels) for a, b in _runs(row)]
    chains = None
    if (coreference := root.find("./document/coreference")) is not None:
        chains = [chain for node in coreference.findall("coreference") if len(chain := _chain(node, tags)) > 1]
    return AnnotatedText(
        words,
        tags=tags,
        lemmas=layer("lemma"),
        trees=trees if any(tree is not None for tree in trees) else None,
        entities=entities,
        chains=chains,
        roles=roles if any(any(row) for row in roles) else None,
        id=name,
    )


def _chain(node: Any, tags: list[list[str]] | None) -> list[Mention]:
    chain = []
    for mention in node.findall("mention"):
        sentence, begin, end = (int(mention.findtext(key, "1")) - 1 for key in ("sentence", "start", "end"))
        pronoun = tags is not None and end - begin == 1 and tags[sentence][begin].startswith(_PRONOUNS)
        chain.append(Mention(sentence, begin, end, pronoun))
    return sorted(chain)


def _dependency_roles(node: Any, size: int) -> list[str]:
    roles = [""] * size
    kinds = ("basic-dependencies", "collapsed-dependencies")
    arcs = next((one for kind in kinds if (one := node.find(f"./dependencies[@type='{kind}']")) is not None), None)
    for arc in () if arcs is None else arcs.findall("dep"):
        dependent = arc.find("dependent")
        at = 0 if dependent is None else int(dependent.get("idx", "0"))
        if 0 < at <= size:
            roles[at - 1] = min(roles[at - 1] or "X", _role(arc.get("type", "")), key="SOX".index)
    return roles


def _role(label: str) -> str:
    relation = label.partition(":")[0]
    relation = relation.removesuffix("pass") if relation.startswith(_SUBJECTS) else relation
    return "S" if relation in _SUBJECTS else "O" if relation in _OBJECTS else "X"


def _entity_label(misc: str) -> str | None:
    for part in misc.split("|"):
        if part.startswith("NE="):
            return part[3:]
    return None


def _runs(labels: Iterable[str]) -> list[tuple[int, int]]:
    """Where names begin and end: runs of one label, or what tags of any scheme say; O and _ are none."""
    tags = ["O" if label in ("O", "_", "") else label if _TAG.match(label) else f"I-{label}" for label in labels]
    return [(begin, end) for begin, end, _ in spans_of(tags, lenient=True)]
