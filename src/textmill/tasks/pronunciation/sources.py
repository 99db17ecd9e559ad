"""Where lexicons come from: words of a text, another program that pronounces them, made-up words."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterable, Sequence

import numpy as np

from textmill.corpus import Source, open_source
from textmill.errors import DataError
from textmill.tasks.pronunciation.lexicon import Entry

__all__ = ["ask_program", "pronounce_by_rules", "read_words", "sample_lexicon"]

_ONSETS = [
    "b",
    "c",
    "ch",
    "d",
    "f",
    "g",
    "gn",
    "j",
    "l",
    "ll",
    "m",
    "n",
    "p",
    "ph",
    "qu",
    "r",
    "s",
    "ss",
    "t",
    "v",
    "x",
]
_VOWELS = ["a", "e", "i", "o", "u", "ou", "ai", "é", "au"]
_ENDS = ["", "", "", "e", "e", "n", "r", "t", "s", "x"]
# letters, sounds; the first that fits is taken. "<" and ">" stand for vowels at the left and the right.
_VOWEL_SIGNS = "aeiouéh"
_SOUNDS: list[tuple[str, tuple[str, ...]]] = [
    ("ch", ("S",)),
    ("gn", ("J",)),
    ("ph", ("f",)),
    ("qu", ("k",)),
    ("ll", ("l",)),
    ("ss", ("s",)),
    ("ou", ("u",)),
    ("ai", ("E",)),
    ("au", ("o",)),
]
_SINGLE = {
    "a": ("a",),
    "b": ("b",),
    "d": ("d",),
    "f": ("f",),
    "i": ("i",),
    "j": ("Z",),
    "l": ("l",),
    "m": ("m",),
    "n": ("n",),
    "o": ("o",),
    "p": ("p",),
    "r": ("R",),
    "t": ("t",),
    "u": ("y",),
    "v": ("v",),
    "x": ("k", "s"),
    "é": ("e",),
}


def read_words(sources: Iterable[Source]) -> list[str]:
    """Return the words of running text, with periods inside (M.D.) and hyphens as they are.

    >>> import io
    >>> read_words([io.BytesIO(b"Le chat, dit-il.")])
    ['Le', 'chat', 'dit-il']
    """
    words: list[str] = []
    for source in sources:
        with open_source(source) as opened:
            for token in (token for document in opened.documents() for token in document.text.split()):
                bare = token.strip(".,;:!?\"'()[]{}«»“”„…–-")
                if bare:
                    words.append(token.strip(",;:!?\"'()[]{}«»“”„…–-") if "." in bare else bare)
    return words


def ask_program(command: str, words: Sequence[str]) -> dict[str, str]:
    """Run a program that reads words, one per line, and prints a line of phonemes for each.

    >>> ask_program("cat", ["a", "b"])
    {'a': 'a', 'b': 'b'}
    """
    try:
        run = subprocess.run(
            shlex.split(command), input="\n".join(words) + "\n", capture_output=True, text=True, check=False
        )
    except (OSError, ValueError) as fault:
        raise DataError(f"the program {command!r} cannot be run: {fault}") from None
    if run.returncode:
        last = run.stderr.strip().split("\n")[-1]
        raise DataError(f"the program {command!r} ended with {run.returncode}: {last}")
    lines = run.stdout.split("\n")
    lines = lines[:-1] if lines and not lines[-1] else lines
    if len(lines) != len(words):
        raise DataError(
            f"the program {command!r} printed {len(lines)} lines for {len(words)} words; it must print one each"
        )
    return {word: line.strip() for word, line in zip(words, lines, strict=True)}


def sample_lexicon(n_words: int = 2000, *, random_state: int = 0) -> list[Entry]:
    """Return made-up words, pronounced by rules that look at most two letters away, somewhat as in French.

    >>> [entry.text() for entry in sample_lexicon(2)]  # doctest: +ELLIPSIS
    ['...\\t...', '...\\t...']
    """
    rng = np.random.default_rng(random_state)
    words: dict[str, None] = {}
    while len(words) < n_words:
        syllables = int(rng.integers(1, 4))
        word = "".join(
            _ONSETS[int(rng.integers(len(_ONSETS)))] + _VOWELS[int(rng.integers(len(_VOWELS)))]
            for _ in range(syllables)
        )
        words[word + _ENDS[int(rng.integers(len(_ENDS)))]] = None
    return [Entry(word, pronounce_by_rules(word)) for word in words]


def pronounce_by_rules(word: str) -> tuple[str, ...]:
    """Pronounce a made-up word.

    >>> pronounce_by_rules("gichaxe")
    ('Z', 'i', 'S', 'a', 'k', 's')
    """
    sounds: list[str] = []
    i = 0
    while i < len(word):
        pair = next((own for own in _SOUNDS if word.startswith(own[0], i)), None)
        left, right = word[i - 1 : i], word[i + 1 : i + 2]
        if pair is not None:
            sounds += pair[1]
            i += len(pair[0])
            continue
        letter = word[i]
        if letter in "cg":
            soft = right in ("e", "i", "é") and right != ""
            sounds.append({"c": "s", "g": "Z"}[letter] if soft else {"c": "k", "g": "g"}[letter])
        elif letter == "s":
            between = left in tuple(_VOWEL_SIGNS) and right in tuple(_VOWEL_SIGNS) and bool(left and right)
            if right or not left:
                sounds.append("z" if between else "s")
        elif letter == "e":
            if right:
                sounds.append("@")
        elif letter in "tx" and not right:
            pass  # silent at the end
        else:
            sounds += _SINGLE[letter]
        i += 1
    return tuple(sounds) or ("@",)
