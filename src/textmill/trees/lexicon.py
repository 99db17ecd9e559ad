"""Tags of words, known and unknown, as a chart parser needs them.

    p(t | w) = (n(w, t) + K p(t | s_m)) / (n(w) + K)              s_1 < s_2 < ... < s_m: shapes of the word w
    p(t | s_i) = (n(s_i, t) + K p(t | s_{i-1})) / (n(s_i) + K)

Shapes go from "any word" over what it is made of (capitals, digits, a hyphen) to that with its last 1, 2, 3, 4 letters.
They are counted over rare words, which is what unknown words are like, each word type once. A rule of the grammar draws
a tag t under a label P, and the tag its word; up to a factor that depends on the word alone,

    p(w | t, P) ~ p(t | w) / p(t)  *  p(P | t, w) / p(P | t)     p(P | t, w) = (n(w, t, P) + K p(P | t)) / (n(w, t) + K)

Cost: one look-up for each distinct word. References: Brants (2000), TnT, a statistical part-of-speech tagger; Klein &
Manning (2003), Accurate unlexicalized parsing, on tags with their parents.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

import numpy as np

from textmill.arrays import Floats, Ids

__all__ = ["RARE", "Lexicon", "shapes_of"]

RARE = 4  # words that occur so often at most stand for unknown words
STRENGTH = 1.0  # K of a word
SHAPE_STRENGTH = 3.0  # K of a shape
PARENT_STRENGTH = 30.0  # K of the label above
_SUFFIX = 4
_FAINT = 1e-4  # of the best tag of a word


def shapes_of(word: str) -> list[str]:
    """Shapes of a word, from the widest: what it is made of, then with its last letters.

    >>> shapes_of("Mills")
    ['', 'A', 'A:s', 'A:ls', 'A:lls', 'A:ills']
    >>> shapes_of("1-2")
    ['', '0-', '0-:2', '0-:-2', '0-:1-2']
    """
    letters = [letter for letter in word if letter.isalpha()]
    kind = ""
    if letters:
        kind = "a" if not word[:1].isupper() else "AA" if len(letters) > 1 and all(map(str.isupper, letters)) else "A"
    kind += "0" if any(map(str.isdigit, word)) else ""
    kind += "-" if "-" in word else ""
    kind = kind or "."
    tail = word.lower()
    return ["", kind, *(f"{kind}:{tail[-size:]}" for size in range(1, min(_SUFFIX, len(tail)) + 1))]


class Lexicon:
    """Counts of (word, tag, label above) with the distributions that they give.

    `tags` and `parents` are numbers of labels; entry i of `words`, `tag`, `parent`, `count` is one count.
    """

    def __init__(self, words: Iterable[str], tag: Ids, parent: Ids, count: Ids, labels: int) -> None:
        self._labels = labels
        self._known: dict[str, Counter[tuple[int, int]]] = defaultdict(Counter)
        self._tags = np.zeros(labels)
        self._above: dict[int, Counter[int]] = defaultdict(Counter)
        for word, t, p, n in zip(words, tag.tolist(), parent.tolist(), count.tolist(), strict=True):
            self._known[word][t, p] += n
            self._tags[t] += n
            self._above[t][p] += n
        shapes: dict[str, Floats] = defaultdict(lambda: np.zeros(labels))
        for word, entries in self._known.items():
            if entries.total() <= RARE:
                types = {t for t, _ in entries}
                for shape in shapes_of(word):
                    for t in types:
                        shapes[shape][t] += 1 / len(types)
        self._shapes = dict(shapes)
        self._memory: dict[str, Floats] = {}
        self._prior = self._tags / max(self._tags.sum(), 1.0)

    def tags_of(self, word: str) -> Floats:
        """The probability of each label as the tag of a word, known or not."""
        entries = self._known.get(word)
        out = self._of_shapes(shapes_of(word))
        if entries is None:
            return out
        counts = np.zeros(self._labels)
        for (t, _), n in entries.items():
            counts[t] += n
        return np.asarray((counts + STRENGTH * out) / (counts.sum() + STRENGTH))

    def weights(self, word: str | None, tag: int | None) -> tuple[list[int], list[float]]:
        """Tags of a word with p(t | w) / p(t); a tag that is known has 1. Without a word any tag is possible."""
        if tag is not None:
            return [tag], [1.0]
        chances = self._prior if word is None else self.tags_of(word)
        keep = np.flatnonzero((chances > _FAINT * chances.max()) & (self._prior > 0))
        return keep.tolist(), (chances[keep] / self._prior[keep]).tolist()

    def above(self, word: str | None, tag: int, parent: int) -> float:
        """log p(P | t, w) / p(P | t): what the word says about the label above its tag."""
        entries = self._known.get(word) if word is not None else None
        usual = self._above[tag][parent] if entries is not None else 0
        if entries is None or not usual:
            return 0.0
        own = sum(n for (t, _), n in entries.items() if t == tag)
        if not own:
            return 0.0
        prior = usual / float(self._tags[tag])
        return float(np.log((entries[tag, parent] + PARENT_STRENGTH * prior) / ((own + PARENT_STRENGTH) * prior)))

    def _of_shapes(self, shapes: list[str]) -> Floats:
        key = shapes[-1]
        if key not in self._memory:
            lower = self._of_shapes(shapes[:-1]) if len(shapes) > 1 else self._prior
            counts = self._shapes.get(key)
            if counts is None:
                return lower
            self._memory[key] = (counts + SHAPE_STRENGTH * lower) / (counts.sum() + SHAPE_STRENGTH)
        return self._memory[key]
