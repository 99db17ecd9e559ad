"""Training text, and test texts of three lengths.

A corpus is prepared as the paper does it: sentences, each once, those with letters outside a script left out, a part of
them kept for tests; no stemming. Test texts are runs of words from the part kept apart: small 2-5 words, medium 6-50,
large more than 50.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence

from textmill._native import language as native
from textmill.corpus import split_sentences
from textmill.errors import DataError
from textmill.model import StringTable

__all__ = ["build_corpus", "build_tests"]


_WORDS = {"small": (2, 5), "medium": (6, 50), "large": (51, 120)}


def build_corpus(
    texts: Iterable[str], *, script: str | None = None, held_out: float = 0.1
) -> tuple[list[str], list[str]]:
    """Sentences of texts for training and those kept apart: each once, without those that leave the script.

    >>> build_corpus(["Ahoj. Ahoj. Мир!"], script="Latin", held_out=0)
    (['Ahoj.'], [])
    """
    names = native.script_names()
    if script is not None and script not in names:
        raise DataError(f"the script {script!r} is not one of {', '.join(names[1:])}")
    seen: set[str] = set()
    sentences: tuple[list[str], list[str]] = ([], [])
    for text in texts:
        for sentence in split_sentences(text):
            sentence = " ".join(sentence.split())
            if not sentence or sentence in seen:
                continue
            seen.add(sentence)
            if script is not None and _scripts(sentence) - {0, names.index(script)}:
                continue
            number = len(sentences[0]) + len(sentences[1]) + 1
            sentences[int(int(number * held_out) > int((number - 1) * held_out))].append(sentence)
    return sentences


def build_tests(
    sentences: Mapping[str, Sequence[str]], *, k: int = 1000, pruned: Iterable[str] = (), random_state: int = 0
) -> list[tuple[str, str, str]]:
    """(language, class, text): k texts of each language and class, cut from sentences; `pruned` ones are left out."""
    bad = set(pruned)
    tests = []
    for language in sorted(sentences):
        words = [word for sentence in sentences[language] for word in sentence.split()]
        for name, (least, most) in _WORDS.items():
            draw = random.Random(f"{random_state} {language} {name}")
            for _ in range(k):
                size = draw.randint(least, most)
                if size >= len(words):
                    break
                start = draw.randrange(len(words) - size)
                text = " ".join(words[start : start + size])
                if text not in bad:
                    tests.append((language, name, text))
    return tests


def _scripts(text: str) -> set[int]:
    """Numbers of the scripts of the letters of a text."""
    letters = StringTable(character for character in text if character.isalpha())
    return set(native.scripts(letters.bytes, letters.offsets).tolist())
