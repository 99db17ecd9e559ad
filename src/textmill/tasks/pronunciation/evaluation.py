"""How well a model pronounces: counts that add, sweeps over settings, speed against another system.

    accuracy    positions (letters and gaps) with the right target               of a given alignment
    precision   right phonemes / phonemes given,  recall   right phonemes / phonemes wanted      micro-averaged
    words       words whose output is the wanted string (any of several), and words whose positions are all right
    error rate  edits / phonemes wanted, against the nearest pronunciation

A shifted alignment costs positions although the pronunciation is right, so look at both. Reference: Jansche (2001).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from textmill.errors import DataError
from textmill.fst import Alignment
from textmill.metrics import EditCounts
from textmill.plot import bars, heat_map
from textmill.tables import Table
from textmill.tasks.pronunciation.lexicon import Entry, as_phonemes, group_entries
from textmill.tasks.pronunciation.model import PronunciationModel
from textmill.tasks.pronunciation.windows import padded_targets

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "ContextErrors",
    "LinkTable",
    "PronunciationCounts",
    "WorstEntries",
    "context_errors",
    "draw_alignment",
    "draw_links",
    "evaluate_pronunciations",
    "letter_node",
    "link_table",
    "model_size",
    "split_lexicon",
    "word_interval",
    "worst_entries",
]


@dataclass(frozen=True)
class PronunciationCounts:
    """Counts of an evaluation; sums of them are counts of all their words."""

    positions: int = 0
    right_positions: int = 0
    hits: int = 0
    answered: int = 0
    wanted: int = 0
    words: int = 0
    right_words: int = 0
    aligned_words: int = 0
    right_aligned: int = 0
    edits: int = 0
    phonemes: int = 0

    def __add__(self, other: PronunciationCounts) -> PronunciationCounts:
        mine, theirs = vars(self), vars(other)
        return PronunciationCounts(**{name: mine[name] + theirs[name] for name in mine})

    @property
    def accuracy(self) -> float:
        """Share of positions with the right target."""
        return self.right_positions / self.positions if self.positions else 0.0

    @property
    def precision(self) -> float:
        """Share of the phonemes given that are right."""
        return self.hits / self.answered if self.answered else 0.0

    @property
    def recall(self) -> float:
        """Share of the phonemes wanted that are given."""
        return self.hits / self.wanted if self.wanted else 0.0

    @property
    def word_accuracy(self) -> float:
        """Share of words whose output is one of their pronunciations."""
        if not self.words:
            raise DataError("there are no words to evaluate; pass at least one")
        return self.right_words / self.words

    @property
    def aligned_word_accuracy(self) -> float:
        """Share of aligned words whose positions are all right."""
        return self.right_aligned / self.aligned_words if self.aligned_words else 0.0

    @property
    def phoneme_error_rate(self) -> float:
        """Edits for each phoneme wanted."""
        return self.edits / self.phonemes if self.phonemes else 0.0

    def to_dict(self) -> dict[str, float]:
        """Return the figures by name."""
        return {
            "words": self.words,
            "word_accuracy": self.word_accuracy,
            "phoneme_error_rate": self.phoneme_error_rate,
            "aligned_word_accuracy": self.aligned_word_accuracy,
            "accuracy": self.accuracy,
            "precision": self.precision,
            "recall": self.recall,
        }


def evaluate_pronunciations(model: PronunciationModel, entries: Iterable[Entry]) -> PronunciationCounts:
    """Compare what a model says with a lexicon, in which a word may have several pronunciations.

    >>> model = PronunciationModel(context=0).fit(["ab", "ba"], ["A B", "B A"])
    >>> counts = evaluate_pronunciations(model, [Entry("abb", ("A", "B", "B")), Entry("a", ("E",))])
    >>> counts.word_accuracy, counts.phoneme_error_rate
    (0.5, 0.25)
    """
    of_words = group_entries(entries)
    words = list(of_words)
    if not words:
        raise DataError("there are no words to evaluate; pass at least one")
    spoken = [tuple(own) for own in model.predict(words)]
    right = sum(own in of_words[word] for word, own in zip(words, spoken, strict=True))
    edits = EditCounts.from_alternatives([of_words[word] for word in words], spoken, unit="symbol")
    gold = [best[0] if best else None for best in model.align(words, [of_words[word][0] for word in words])]
    counts = PronunciationCounts(words=len(words), right_words=right, edits=edits.errors, phonemes=edits.reference)
    for wanted, spoken_links in zip(gold, model.targets(words), strict=True):
        if wanted is not None:
            counts += _positions(wanted, spoken_links)
    return counts


def _positions(wanted: Alignment, answer: Alignment) -> PronunciationCounts:
    pairs = list(zip(padded_targets(wanted), _padded_answer(answer), strict=True))
    right = sum(a == b for a, b in pairs)
    return PronunciationCounts(
        positions=len(pairs),
        right_positions=right,
        hits=sum(a == b != "" for a, b in pairs),
        answered=sum(b != "" for _, b in pairs),
        wanted=sum(a != "" for a, _ in pairs),
        aligned_words=1,
        right_aligned=int(right == len(pairs)),
    )


def _padded_answer(alignment: Alignment) -> list[str]:
    targets = [""]
    for inputs, outputs in alignment.links:
        if inputs:
            targets += [" ".join(outputs), ""]
        else:
            targets[-1] = f"{targets[-1]} {outputs[0]}".strip()
    return targets


def model_size(model: PronunciationModel) -> int:
    """Return the bytes of the model's file.

    >>> model_size(PronunciationModel(context=0).fit(["ab", "ba"], ["A B", "B A"])) < 20_000
    True
    """
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.mill")
        model.save(path)
        return os.path.getsize(path)


class WorstEntries(Table):
    """Entries by the score of their alignment, the least probable first: where a lexicon has its mistakes."""

    def __init__(self, rows: list[tuple[float, str, str, str]]) -> None:
        self.rows = rows

    def columns(self) -> dict[str, list[Any]]:
        """Return score, word, phonemes and alignment."""
        return {
            name: [row[i] for row in self.rows] for i, name in enumerate(("score", "word", "phonemes", "alignment"))
        }


def worst_entries(model: PronunciationModel, entries: Sequence[Entry], k: int = 20) -> WorstEntries:
    """Return the k entries whose best alignment is least probable for its length, those without one first.

    The score is the log probability of the best alignment divided by letters + phonemes.

    >>> model = PronunciationModel(context=0).fit(["ab", "ba", "a"], ["A B", "B A", "A"])
    >>> worst_entries(model, [Entry("ab", ("A", "B")), Entry("ab", ("B", "B"))], 1).to_dict()["phonemes"]
    ['B B']
    """
    best = model.align([e.word for e in entries], [e.phonemes for e in entries])
    rows = []
    for entry, alignments in zip(entries, best, strict=True):
        length = len(entry.word) + len(entry.phonemes)
        score = alignments[0].log_probability / length if alignments else -np.inf
        text = alignments[0].text() if alignments else ""
        rows.append((float(score), entry.word, " ".join(entry.phonemes), text))
    return WorstEntries(sorted(rows)[:k])


class ContextErrors(Table):
    """Errors by letter and its right neighbor: positions, errors, share, and what was said instead of what."""

    def __init__(self, rows: list[tuple[str, int, int, str]]) -> None:
        self.rows = rows

    def columns(self) -> dict[str, list[Any]]:
        """Return letter, positions, errors, share and most frequent confusion."""
        return {
            "letter": [row[0] for row in self.rows],
            "positions": [row[1] for row in self.rows],
            "errors": [row[2] for row in self.rows],
            "share": [row[2] / row[1] for row in self.rows],
            "mostly": [row[3] for row in self.rows],
        }

    def draw(self, n_bars: int = 20, title: str | None = None) -> Figure:
        """Draw the contexts with most errors.

        >>> ContextErrors([("c", 10, 2, "k for s")]).draw() is not None
        True
        """
        rows = self.rows[:n_bars]
        return bars(
            [row[0] for row in rows], {"errors": [float(row[2]) for row in rows]}, x_label="errors", title=title
        )


def context_errors(model: PronunciationModel, entries: Iterable[Entry], *, neighbors: int = 0) -> ContextErrors:
    """Count errors by letter, with `neighbors` letters at each side.

    >>> model = PronunciationModel(context=0).fit(["ab", "ba"], ["A B", "B A"])
    >>> context_errors(model, [Entry("ab", ("B", "B"))]).to_dict()["mostly"]
    ['A for B', '']
    """
    of_words = group_entries(entries)
    words = list(of_words)
    gold = model.align(words, [of_words[word][0] for word in words])
    positions: dict[str, int] = {}
    errors: dict[str, dict[str, int]] = {}
    for best, answer in zip(gold, model.targets(words), strict=True):
        if not best:
            continue
        letters = list(best[0].input)
        wanted, said = padded_targets(best[0]), _padded_answer(answer)
        for i, letter in enumerate(letters):
            left = "".join(letters[max(0, i - neighbors) : i])
            right = "".join(letters[i + 1 : i + 1 + neighbors])
            name = f"{left}[{letter}]{right}" if neighbors else letter
            positions[name] = positions.get(name, 0) + 1
            a = " ".join(filter(None, wanted[2 * i + 1 : 2 * i + 3]))
            b = " ".join(filter(None, said[2 * i + 1 : 2 * i + 3]))
            if a != b:
                confusion = f"{b or 'nothing'} for {a or 'nothing'}"
                own = errors.setdefault(name, {})
                own[confusion] = own.get(confusion, 0) + 1
    rows = []
    for name, count in positions.items():
        own = errors.get(name, {})
        mostly = min(own, key=lambda c: (-own[c], c)) if own else ""
        rows.append((name, count, sum(own.values()), mostly))
    return ContextErrors(sorted(rows, key=lambda row: (-row[2], row[0])))


def draw_alignment(model: PronunciationModel, word: str, phonemes: Any, *, title: str | None = None) -> Figure:
    """Draw how probable it is that a letter of a word goes with a phoneme; the last row and column are nothing.

    >>> model = PronunciationModel(context=0).fit(["ab", "ba"], ["A B", "B A"])
    >>> draw_alignment(model, "ab", "A B") is not None
    True
    """
    letters, sounds = model._spelling().letters(word), as_phonemes(phonemes)
    table = np.zeros((len(letters) + 1, len(sounds) + 1))
    for i, j, (x, y), share in model.aligner().posteriors((letters, sounds)):
        table[i if x else len(letters), j if y else len(sounds)] += share
    return heat_map(
        np.round(table, 2),
        columns=[*sounds, "(none)"],
        rows=[*letters, "(gap)"],
        x_label="phoneme",
        y_label="letter",
        title=title,
    )


def draw_links(model: PronunciationModel, *, title: str | None = None) -> Figure:
    """Draw how letters go with sounds: P(sound | letter) of the links, a row for each letter.

    >>> draw_links(PronunciationModel(context=0).fit(["ab", "ba"], ["A B", "B A"])) is not None
    True
    """
    letters = [*model.letters_.to_list(), "(gap)"]
    sounds = [name or "(none)" for name in model.sounds_.to_list()]
    weights = np.asarray(model.links_, float)
    shares = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
    return heat_map(np.round(shares, 2), columns=sounds, rows=letters, x_label="sound", y_label="letter", title=title)


class LinkTable(Table):
    """Links of letters and sounds with the share of each sound among those of its letter."""

    def __init__(self, rows: list[tuple[str, str, float]]) -> None:
        self.rows = rows

    def columns(self) -> dict[str, list[Any]]:
        """Return letter, sound and share."""
        return {name: [row[i] for row in self.rows] for i, name in enumerate(("letter", "sound", "share"))}


def link_table(model: PronunciationModel, letter: str | None = None) -> LinkTable:
    """Return how letters, or one letter, go with sounds, the most frequent first; "_" is nothing.

    >>> link_table(PronunciationModel(context=0).fit(["ab", "ba"], ["A B", "B A"]), "a").to_dict()["sound"][0]
    'A'
    """
    letters = [*model.letters_.to_list(), "_"]
    if letter is not None and letter not in letters:
        raise DataError(f"the model has no letter {letter!r}; it has {' '.join(letters[:-1])}")
    weights = np.asarray(model.links_, float)
    rows = []
    for i, name in enumerate(letters):
        total = weights[i].sum()
        if total > 0 and letter in (None, name):
            order = np.argsort(-weights[i], kind="stable")
            sounds = model.sounds_.to_list()
            rows += [
                (name, sounds[j] or "_", weights[i, j] / total) for j in order.tolist() if weights[i, j] > 1e-4 * total
            ]
    return LinkTable(rows)


def letter_node(model: PronunciationModel, letter: str) -> int:
    """Return the highest node below which only this letter is decided: the root where there is none.

    >>> model = PronunciationModel(context=0, min_cases=1, confidence=None).fit(["ab", "ba"], ["A B", "B A"])
    >>> model.tree_.text(letter_node(model, "a"))
    'A (2)'
    """
    if letter not in model.letters_.to_list():
        raise DataError(f"the model has no letter {letter!r}; it has {' '.join(model.letters_.to_list())}")
    tree, code, center = model.tree_, model.letters_.to_list().index(letter), model.context_
    begin = np.concatenate([[0], np.cumsum(tree.n_seen_, dtype=np.int64)])
    node = 0
    while int(tree.attribute_[node]) == center:
        seen = tree.seen_[begin[node] : begin[node + 1]].tolist()
        if code not in seen:
            break
        branch = int(tree.branch_[begin[node] + seen.index(code)])
        node = int(tree.first_child_[node]) + branch
    return node


def split_lexicon(entries: Sequence[Entry], share: float, *, random_state: int = 0) -> tuple[list[Entry], list[Entry]]:
    """Split a lexicon by words, all pronunciations of a word together: the larger part and the share.

    >>> entries = [Entry(word, ("A",)) for word in "abcdefghij"]
    >>> [len(part) for part in split_lexicon(entries, 0.2)]
    [8, 2]
    """
    words = sorted({entry.word for entry in entries})
    order = np.random.default_rng(random_state).permutation(len(words))
    apart = {words[i] for i in order[: round(share * len(words))].tolist()}
    return [e for e in entries if e.word not in apart], [e for e in entries if e.word in apart]


def word_interval(
    model: PronunciationModel, entries: Iterable[Entry], *, rounds: int = 1000, random_state: int = 0
) -> tuple[float, float]:
    """Return a 95 % bootstrap interval of the word accuracy, words drawn anew.

    >>> model = PronunciationModel(context=0).fit(["ab", "ba"], ["A B", "B A"])
    >>> word_interval(model, [Entry("ab", ("A", "B"))])
    (1.0, 1.0)
    """
    of_words = group_entries(entries)
    spoken = model.predict(list(of_words))
    right = np.array([tuple(own) in of_words[word] for word, own in zip(of_words, spoken, strict=True)], float)
    rng = np.random.default_rng(random_state)
    shares = rng.binomial(len(right), right.mean(), rounds) / len(right)  # means of draws of zeros and ones
    low, high = np.quantile(shares, [0.025, 0.975])
    return float(low), float(high)
