"""Pronounce words by a decision tree: each letter, and each gap between letters, becomes one phoneme or nothing.

    word -> 2n + 1 windows of letters -> the tree -> phonemes               one pass, no search

Training (learning.py) aligns the lexicon, cuts it into windows and learns one tree for all positions
(trees.CategoricalTree). What is not set is chosen by cross-validation: the size of the windows, and with rules the
weights of their evidence, of which "no rules" is always one choice. `rounds` of re-alignment let trees of the other
words (out of fold) say where each phoneme belongs, and are kept while the errors on those words fall. Words that the
finished tree gets wrong can be kept as exceptions.

Cost: O(height of the tree) a position; millions of letters a second on one core. Reference: Jansche (2001),
Re-engineering letter-to-sound rules, NAACL.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from textmill._native import tasks as native
from textmill.arrays import Floats, Ids
from textmill.errors import DataError, ModelFileError, warn_caller
from textmill.fst import Alignment, Link, StringAligner
from textmill.model import Estimator, Model, StringTable, check_choice, check_fitted, check_range, effective_jobs
from textmill.tasks.pronunciation.alignment import METHODS, AlignedLexicon
from textmill.tasks.pronunciation.entries import checked_attributes, checked_entries, checked_words, encode_codepoints
from textmill.tasks.pronunciation.evidence import RulePair, check_weights, foreign_phonemes, make_aligner
from textmill.tasks.pronunciation.inflections import Inflection, ending_of, phonemes_before
from textmill.tasks.pronunciation.learning import Learner
from textmill.tasks.pronunciation.lexicon import Spelling, as_phonemes
from textmill.tasks.pronunciation.walking import (
    path_probabilities,
    sound_name,
    spoken_lines,
)
from textmill.tasks.pronunciation.windows import EncodedWords
from textmill.trees import CategoricalTree

__all__ = ["PronunciationModel", "Sounding"]


class Sounding(NamedTuple):
    """One pronunciation of a word and its probability."""

    phonemes: tuple[str, ...]
    probability: float


class PronunciationModel(Estimator, Model):
    """Learn to pronounce words from a lexicon.

    Parameters:
        context: Letters at each side of a position; None to choose from 1 to 5.
        alignment: "bag", "em", "bigram" or "trigram", see alignment.py.
        weights: Weights of rules, lexicon and uniform distribution; None for (0, 0.9, 0.1), or with rules to choose.
        max_insertions_per_gap: Phonemes between two letters at most; None for any number, joined to one sound.
        both_empty: Whether the cell (nothing, nothing) of the bags is counted.
        rounds: Rounds of re-alignment by trees at most; they end when errors no longer fall.
        exceptions: Whether words of training that the tree gets wrong are kept with their pronunciations.
        units: Letters are "codepoints" or grapheme "clusters".
        form: Unicode form of words: "NFC", "NFD", "NFKC", "NFKD", "none", or "auto" (NFD for Hangul, else NFC).
        fold: Whether case is ignored.
        min_cases: See `trees.CategoricalTree`.
        subsets: See `trees.CategoricalTree`.
        confidence: See `trees.CategoricalTree`.
        raising: See `trees.CategoricalTree`.
        n_jobs: Threads; None for all cores. The model is the same for any number.

    Attributes:
        tree_: The tree.
        context_: Letters at each side.
        weights_: Weights of rules, lexicon and uniform distribution.
        form_: Unicode form.
        letters_: Letters of the lexicon.
        sounds_: Sounds of the lexicon, "" for none.
        links_: Weights of letters (rows; last: none) with sounds, (letters + 1, sounds).
        unaligned_: Words that could not be aligned and were not learned.
        trace_: Share of words with an error out of fold, before each round of re-alignment.

    >>> words = ["texte", "tete", "taxe", "luxe", "reste", "axe", "cote", "sec"]
    >>> sounds = ["t E k s t", "t E t", "t a k s", "l y k s", "R E s t", "a k s", "k o t", "s E k"]
    >>> model = PronunciationModel(context=1, min_cases=1, confidence=None).fit(words, sounds)
    >>> model.predict(["sexe", "tacot"])[0]
    ['s', 'E', 'k', 's']
    """

    takes: ClassVar[str] = "texts"
    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {
        "letters_": "letter: str",
        "sounds_": "sound: str",
        "links_": "row sound: float32",
        "weights_": "weight",
        "unaligned_": "unaligned: str",
        "exception_words_": "exception: str",
        "exception_sounds_": "exception: str",
        "attributes_": "attribute: str",
        "trace_": "round",
    }
    state: ClassVar[dict[str, Any]] = {"context_": int, "form_": str}
    parts: ClassVar[dict[str, str]] = {"tree_": "trees.CategoricalTree"}

    letters_: StringTable
    sounds_: StringTable
    links_: Any
    weights_: Floats
    unaligned_: StringTable
    exception_words_: StringTable
    exception_sounds_: StringTable
    attributes_: StringTable
    trace_: Floats
    context_: int
    form_: str
    tree_: CategoricalTree

    def __init__(
        self,
        *,
        context: int | None = None,
        alignment: str = "em",
        weights: Sequence[float] | None = None,
        max_insertions_per_gap: int | None = 1,
        both_empty: bool = False,
        rounds: int = 0,
        exceptions: bool = False,
        units: str = "codepoints",
        form: str = "auto",
        fold: bool = False,
        min_cases: float = 2,
        subsets: bool = True,
        confidence: float | None = 0.25,
        raising: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        self.context = context
        self.alignment = alignment
        self.weights = weights
        self.max_insertions_per_gap = max_insertions_per_gap
        self.both_empty = both_empty
        self.rounds = rounds
        self.exceptions = exceptions
        self.units = units
        self.form = form
        self.fold = fold
        self.min_cases = min_cases
        self.subsets = subsets
        self.confidence = confidence
        self.raising = raising
        self.n_jobs = n_jobs

    # ---- learning

    def fit(
        self,
        X: Iterable[str],
        y: Iterable[Any] | None = None,
        *,
        rules: Sequence[RulePair] = (),
        X_dev: Sequence[str] | None = None,
        y_dev: Sequence[Any] | None = None,
        attributes: Sequence[str] | None = None,
    ) -> Self:
        """Learn from words and pronunciations, strings parted at blanks or lists of phonemes.

        Choices are made by cross-validation, and on `X_dev` and `y_dev` where they are given. `attributes`: one more
        value for each word, such as its part of speech, which the tree may ask for; `predict` then needs them, too.
        """
        self._check()
        words, phonemes = checked_entries(X, y)
        tags = checked_attributes(attributes, len(words))
        spelling = Spelling.chosen(self.units, self.form, self.fold, words)
        self.form_ = spelling.form
        foreign = foreign_phonemes(rules, phonemes)
        if foreign:
            warn_caller(
                f"the rules use {len(foreign)} phonemes that the lexicon lacks ({' '.join(foreign[:8])}): links to "
                "them never help; write the rules in the phonemes of the lexicon"
            )
        pairs = [(spelling.letters(word), own) for word, own in zip(words, phonemes, strict=True)]
        dev = None
        if X_dev is not None:
            dev_words, dev_phonemes = checked_entries(X_dev, y_dev)
            dev = [(spelling.letters(word), own) for word, own in zip(dev_words, dev_phonemes, strict=True)]
        gaps = self.max_insertions_per_gap
        if gaps is not None and all(len(own) > (gaps + 1) * len(letters) + gaps for letters, own in pairs):
            raise DataError(
                f"no entry can be aligned: every pronunciation is longer than {gaps + 1}n + {gaps} for n letters; "
                "raise max_insertions_per_gap, None for any number, or see whether words and phonemes stand in the "
                "right columns"
            )
        learner = self._learner()
        chosen = learner.choose(pairs, tags, rules, dev, context=self.context, weights=self.weights)
        self.context_, self.weights_ = chosen.context, np.array(chosen.weights)
        lexicon = learner.align(pairs, rules, chosen.weights)
        aligned = lexicon.aligned
        if not len(aligned):
            raise DataError("no entry can be aligned with these weights; give the uniform distribution a share")
        if len(aligned) < len(pairs):
            lost = np.setdiff1d(np.arange(len(pairs)), aligned)
            self.unaligned_ = StringTable([words[i] for i in lost.tolist()])
            first = ", ".join(words[i] for i in lost[:3].tolist())
            warn_caller(
                f"{len(lost)} of {len(pairs)} entries cannot be aligned and are not learned ({first}); they are listed "
                "in unaligned_, see also max_insertions_per_gap"
            )
        else:
            self.unaligned_ = StringTable()
        self.trace_ = np.zeros(0)
        if self.rounds:
            self.trace_ = learner.realign(lexicon, pairs, tags, self.context_, int(self.rounds))
        self._keep(lexicon, tags)
        self._set_exceptions(words, phonemes, tags)
        return self

    def _check(self) -> None:
        check_choice("alignment", self.alignment, METHODS)
        check_range("rounds", self.rounds, at_least=0, whole=True)
        if self.context is not None:
            check_range("context", self.context, at_least=0, at_most=64, whole=True)
        if self.max_insertions_per_gap is not None:
            check_range("max_insertions_per_gap", self.max_insertions_per_gap, at_least=1, whole=True)
        if self.weights is not None:
            check_weights(self.weights)

    def _learner(self) -> Learner:
        return Learner(
            self.alignment,
            self.max_insertions_per_gap,
            self.both_empty,
            self.min_cases,
            self.subsets,
            self.confidence,
            self.raising,
            self.n_jobs,
        )

    def _keep(self, lexicon: AlignedLexicon, tags: list[str] | None) -> None:
        self.tree_ = self._learner().grow(lexicon, lexicon.aligned, self.context_, tags)
        self.letters_ = StringTable(lexicon.letters)
        self.sounds_ = StringTable(lexicon.names)
        self.attributes_ = StringTable(sorted(set(tags)) if tags is not None else [])
        rows = {letter: i for i, letter in enumerate(lexicon.letters)}
        columns = {name: i for i, name in enumerate(lexicon.names)}
        links = np.zeros((len(lexicon.letters) + 1, len(lexicon.names)), np.float32)
        for (x, y), weight in lexicon.links.items():
            if (not x or x[0] in rows) and (not y or y[0] in columns):
                links[rows[x[0]] if x else -1, columns[y[0]] if y else 0] = weight
        self.links_ = links
        for name in ("_exceptions", "_aligner"):
            vars(self).pop(name, None)

    def _set_exceptions(self, words: list[str], phonemes: list[tuple[str, ...]], tags: list[str] | None) -> None:
        self.exception_words_ = self.exception_sounds_ = StringTable()
        if not self.exceptions or tags is not None:
            return
        accepted: dict[str, list[str]] = {}
        for word, own in zip(words, phonemes, strict=True):
            accepted.setdefault(word, []).append(" ".join(own))
        distinct = sorted(accepted)
        spoken = self._lines(distinct, None)
        wrong = [word for word, line in zip(distinct, spoken, strict=True) if line not in accepted[word]]
        self.exception_words_ = StringTable(wrong)
        self.exception_sounds_ = StringTable([accepted[word][0] for word in wrong])

    # ---- pronouncing

    def predict(
        self,
        X: Iterable[str],
        *,
        attributes: Sequence[str] | None = None,
        inflections: Sequence[Inflection] = (),
        after: Callable[[list[list[str]]], list[list[str]]] | None = None,
    ) -> list[list[str]]:
        """Return the phonemes of each word.

        `inflections` overrule the tree at the ends of words with that attribute. `after` is a step over all words in
        their order, for what happens between words, such as liaison.
        """
        check_fitted(self)
        words = checked_words(X)
        lines = self.predict_lines(words, attributes=attributes)
        spoken = [line.split(" ") if line else [] for line in lines]
        if inflections:
            spoken = self._inflected(words, attributes, list(inflections), spoken)
        return spoken if after is None else after(spoken)

    def predict_lines(self, X: Iterable[str], *, attributes: Sequence[str] | None = None) -> list[str]:
        """Return the phonemes of each word in one string, separated by blanks: the quickest way.

        >>> model = PronunciationModel(context=0).fit(["ab", "ba"], ["A B", "B A"])
        >>> model.predict_lines(["abba"])
        ['A B B A']
        """
        check_fitted(self)
        words = checked_words(X)
        lines = self._lines(words, self._checked_tags(attributes, len(words)))
        if len(self.exception_words_):
            table = self._exception_table()
            lines = [table.get(word, line) for word, line in zip(words, lines, strict=True)]
        return lines

    def nbest(self, X: Iterable[str], k: int = 5, *, attributes: Sequence[str] | None = None) -> list[list[Sounding]]:
        """Return the k most probable pronunciations of each word, best first.

        Probabilities of positions are those of the nodes, each smoothed by the node above it. Exceptions come first,
        with probability 1, and what the tree says behind them with 0.

        >>> model = PronunciationModel(context=0).fit(["ab", "ba", "a"], ["A B", "B A", "E"])
        >>> [sounding.phonemes for sounding in model.nbest(["a"], 2)[0]]
        [('A',), ('E',)]
        """
        check_range("k", k, at_least=1, whole=True)
        check_fitted(self)
        words = checked_words(X)
        encoded = self._encode(words)
        names = self.tree_.classes_.tolist()
        table = path_probabilities(self.tree_, names)
        silent = names.index(sound_name("", self.sounds_.to_list())) if self._has_silence() else -1
        offsets, probabilities, begin, classes = native.best_sounds(
            self.tree_.walker(),
            encoded.offsets,
            encoded.letters,
            self._extra(self._checked_tags(attributes, len(words)), len(words)),
            self.context_,
            *self._marks(),
            np.log(table),
            silent,
            k,
            max(4 * k, 16),
            effective_jobs(self.n_jobs),
        )
        texts = [self._class_text(name).split() for name in names]
        flat, bounds, shares = classes.tolist(), begin.tolist(), probabilities.tolist()
        exceptions = self._exception_table()
        out = []
        for word, (first, end) in zip(words, itertools.pairwise(offsets.tolist()), strict=True):
            row = [
                Sounding(tuple(p for c in flat[bounds[i] : bounds[i + 1]] for p in texts[c]), shares[i])
                for i in range(first, end)
            ]
            out.append(_excepted(row, exceptions[word], k) if word in exceptions else row)
        return out

    def targets(self, X: Iterable[str], *, attributes: Sequence[str] | None = None) -> list[Alignment]:
        """Return for each word which letter, or gap, gave which phoneme.

        >>> model = PronunciationModel(context=0).fit(["ab", "ba"], ["A B", "B A"])
        >>> model.targets(["ab"])[0].text()
        'a:A b:B'
        """
        check_fitted(self)
        words = checked_words(X)
        encoded = self._encode(words)
        spelling = self._spelling()
        nodes = self._positions(encoded, self._checked_tags(attributes, len(words)))
        texts = [self._class_text(name) for name in self.tree_.classes_.tolist()]
        sounds = self.tree_.label_[nodes].tolist()
        out = []
        for word, begin in zip(words, encoded.positions.tolist(), strict=False):
            links: list[Link] = []
            for i, letter in enumerate([*spelling.letters(word), None]):
                inserted = texts[sounds[begin + 2 * i]].split()
                links += [((), (phoneme,)) for phoneme in inserted]
                if letter is not None:
                    own = texts[sounds[begin + 2 * i + 1]]
                    links.append(((letter,), (own,) if own else ()))
            out.append(Alignment(tuple(links)))
        return out

    # ---- alignments of a lexicon

    def align(self, X: Iterable[str], y: Iterable[Any], k: int = 1) -> list[list[Alignment]]:
        """Return the k best alignments of words with pronunciations by the weights of links; none where there is none.

        >>> model = PronunciationModel(context=0).fit(["ab", "ba"], ["A B", "B A"])
        >>> model.align(["aab"], ["A B"])[0][0].text()
        'a:A a:_ b:B'
        """
        check_fitted(self)
        words, phonemes = checked_entries(X, y)
        spelling = self._spelling()
        pairs = [(spelling.letters(word), own) for word, own in zip(words, phonemes, strict=True)]
        return self.aligner().nbest(pairs, k)

    def aligner(self) -> StringAligner:
        """Return the aligner of the weights of links; `aligner().to_fst()` is its transducer."""
        check_fitted(self)
        if "_aligner" not in vars(self):
            letters, names = self.letters_.to_list(), self.sounds_.to_list()
            links: dict[Link, float] = {}
            for i, j in zip(*np.nonzero(self.links_), strict=True):
                x = (letters[i],) if i < len(letters) else ()
                links[x, (names[j],) if names[j] else ()] = float(self.links_[i, j])
            self._aligner = make_aligner(links, max_insertions_per_gap=self.max_insertions_per_gap, n_jobs=self.n_jobs)
        return self._aligner

    # ---- inside

    def check_values(self) -> None:
        """Check that tree, letters and sounds belong together."""
        expected = 2 * self.context_ + 1 + (1 if len(self.attributes_) else 0)
        columns = self.tree_.columns_
        if len(columns) != expected or any(column.values is None for column in columns):
            raise ModelFileError(f"the tree must have {expected} columns of values", reason="damaged")
        if any(len(column.values or ()) != len(self.letters_) + 2 for column in columns[: 2 * self.context_ + 1]):
            raise ModelFileError("the tree must have been learned over the letters of the model", reason="damaged")
        if self.links_.shape[0] != len(self.letters_) + 1:
            raise ModelFileError("there must be weights of links for each letter", reason="damaged")

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_exceptions", "_aligner", "_codes")}

    def _spelling(self) -> Spelling:
        return Spelling(self.units, self.form_, self.fold)

    def _marks(self) -> tuple[int, int]:
        """Codes of the edge and of the empty letter."""
        return len(self.letters_), len(self.letters_) + 1

    def _has_silence(self) -> bool:
        return sound_name("", self.sounds_.to_list()) in self.tree_.classes_.tolist()

    def _class_text(self, name: str) -> str:
        return "" if name == sound_name("", self.sounds_.to_list()) else name

    def _encode(self, words: list[str]) -> EncodedWords:
        spelling = self._spelling()
        codes = {letter: i for i, letter in enumerate(self.letters_.to_list())}
        if spelling.units == "codepoints" and all(len(letter) == 1 for letter in codes):
            return encode_codepoints(words, codes, spelling)
        return EncodedWords.encode((spelling.letters(word) for word in words), codes)

    def _checked_tags(self, attributes: Sequence[str] | None, count: int) -> list[str] | None:
        tags = checked_attributes(attributes, count)
        if len(self.attributes_) and tags is None:
            raise DataError("the model was trained with an attribute for each word; pass attributes=")
        return tags if len(self.attributes_) else None

    def _extra(self, tags: list[str] | None, count: int) -> Ids:
        if tags is None:
            return np.zeros((count, 0), np.int32)
        place = {kind: i for i, kind in enumerate(self.attributes_.to_list())}
        return np.array([[place.get(tag, -1)] for tag in tags], np.int32).reshape(count, 1)

    def _positions(self, encoded: EncodedWords, tags: list[str] | None) -> Ids:
        nodes = np.empty(int(encoded.positions[-1]), np.int32)
        native.position_nodes(
            self.tree_.walker(),
            encoded.offsets,
            encoded.letters,
            self._extra(tags, len(encoded)),
            self.context_,
            *self._marks(),
            nodes,
            effective_jobs(self.n_jobs),
        )
        return nodes

    def _lines(self, words: list[str], tags: list[str] | None) -> list[str]:
        encoded = self._encode(words)
        silent = sound_name("", self.sounds_.to_list())
        return spoken_lines(
            self.tree_, silent, encoded, self._extra(tags, len(words)), self._marks(), self.context_, self.n_jobs
        )

    def _exception_table(self) -> dict[str, str]:
        if "_exceptions" not in vars(self):
            self._exceptions = dict(zip(self.exception_words_.to_list(), self.exception_sounds_.to_list(), strict=True))
        return self._exceptions

    def _inflected(
        self,
        words: list[str],
        attributes: Sequence[str] | None,
        inflections: list[Inflection],
        spoken: list[list[str]],
    ) -> list[list[str]]:
        """The longest ending that fits a word and its attribute sounds as the table says."""
        if attributes is None:
            raise DataError("inflections are for words with an attribute; pass attributes=")
        inflections.sort(key=lambda one: -len(one.ending))
        endings = [ending_of(*of_word, inflections) for of_word in zip(words, attributes, strict=True)]
        own = [i for i, ending in enumerate(endings) if ending is not None]
        alignments = self.targets([words[i] for i in own], attributes=[attributes[i] for i in own]) if own else []
        spelling = self._spelling()
        for i, alignment in zip(own, alignments, strict=True):
            ending = endings[i]
            assert ending is not None
            stem = len(spelling.letters(words[i])) - len(spelling.letters(ending.ending))
            spoken[i] = [*phonemes_before(alignment, stem), *as_phonemes(ending.phonemes)]
        return spoken


def _excepted(row: list[Sounding], sounds: str, k: int) -> list[Sounding]:
    """What an exception and the tree say of a word."""
    own = tuple(sounds.split())
    return [Sounding(own, 1.0), *(one._replace(probability=0.0) for one in row if one.phonemes != own)][:k]
