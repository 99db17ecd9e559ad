"""Texts at three levels to try things on: the sample articles of the package, simplified by rule.

    hard      the article, with commas for semicolons
    middle    sentences are cut before `, and`, `, but`, `, which` and `, so`
    easy      they are also cut at every comma and before `and`, `because`, `while`; what stands in brackets is left
              out, and so are adverbs in -ly; only the first three quarters are kept

Versions of an article share its id as group. The rules know no grammar: the texts are for trying, not for reading.
"""

from __future__ import annotations

import re

from textmill.corpus import sample_articles, split_sentences
from textmill.model import check_range
from textmill.tasks.readability.graded import GradedTexts

__all__ = ["sample_graded_texts"]

_MIDDLE = re.compile(r",\s+(?:and|but|which|so)\s+")
_EASY = re.compile(r"[:,]\s+(?:and\s+|but\s+|which\s+|so\s+)?|\s+(?:and|because|while|although)\s+")
_BRACKETS = re.compile(r"\s*\([^)]*\)")
_ADVERB = re.compile(r"\b(?!only|early)[a-z]+ly\s+")
_FEWEST = 3  # words of a sentence


def sample_graded_texts(n_articles: int = 60) -> GradedTexts:
    """Return articles at three levels: easy, middle, hard.

    >>> graded = sample_graded_texts(2)
    >>> graded.levels, graded.order, len(set(graded.groups))
    (['easy', 'middle', 'hard', 'easy', 'middle', 'hard'], ['easy', 'middle', 'hard'], 2)
    """
    check_range("n_articles", n_articles, at_least=1, whole=True)
    articles = [article for article in sample_articles() if not article["id"].endswith("-copy")]
    step = max(1, len(articles) // n_articles)
    texts, levels, groups, ids = [], [], [], []
    for article in articles[::step][:n_articles]:
        sentences = split_sentences(article["text"].replace(";", ","))
        plain = [_ADVERB.sub("", _BRACKETS.sub("", sentence)) for sentence in sentences]
        easy = _cut(plain[: max(2, 3 * len(plain) // 4)], _EASY)
        for level, text in (("easy", easy), ("middle", _cut(sentences, _MIDDLE)), ("hard", " ".join(sentences))):
            texts.append(text)
            levels.append(level)
            groups.append(article["id"])
            ids.append(f"{article['id']}-{level}")
    return GradedTexts(texts, levels, groups, ids, ["easy", "middle", "hard"])


def _cut(sentences: list[str], marks: re.Pattern[str]) -> str:
    """Sentences cut at marks; pieces that are too short stay with what is before them."""
    parts = []
    for sentence in sentences:
        pieces: list[str] = []
        for piece in marks.split(sentence.rstrip(".!? \n")):
            if pieces and len(piece.split()) < _FEWEST:
                pieces[-1] += f" {piece}"
            elif piece:
                pieces.append(piece)
        parts += [f"{piece[0].upper()}{piece[1:]}." for piece in pieces]
    return " ".join(parts)
