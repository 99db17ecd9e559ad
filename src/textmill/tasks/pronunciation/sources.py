"""Made-up words and how they sound, to try things with."""

from __future__ import annotations

import numpy as np

from textmill.tasks.pronunciation.lexicon import Entry

__all__ = ["pronounce_by_rules", "sample_lexicon"]

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
