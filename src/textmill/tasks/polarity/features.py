r"""From the text of a review to its features: words, n-grams, words near a target, words under a negation.

    text -> tags and entities removed -> sentences -> words in lower case, and `!` -> stems -> families of features

    unigram     u:   every word
    bigram      b:   adjacent pairs, not across the end of a sentence
    trigram     t:   adjacent triples
    inbook      in:  every word of a sentence that holds a target word
    aroundbook  ar:  words at most `window` places from a target word, without it
    negated     ng:  words at most `scope` places behind a negation, in its sentence

Each family has its own name space, so a union of families is a union of features. Words are runs of letters, digits and
marks with apostrophes inside; characters of scripts without blanks are words of their own. The stemmer is that of
Porter's own program: words of one or two letters stay, `bli` becomes `ble` and `logi` becomes `log`; each run of
letters is stemmed apart, so `sorcerer's` becomes `sorcer's`.

Cost: one pass; texts in ASCII are cut and stemmed in C++, each distinct word once. References: Porter (1980), An
algorithm for suffix stripping, and the program at tartarus.org; Okanohara & Tsujii (2005), sections 4.1 and 5.4.
"""

from __future__ import annotations

import html
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np

from textmill._native import tasks as native
from textmill.arrays import Ints
from textmill.corpus import snowball, split_sentences
from textmill.errors import DataError
from textmill.model import Estimator, Model, check_choice, check_range
from textmill.numeric import sparse

__all__ = ["FAMILIES", "ReviewFeatures", "families_of", "family_of", "of_family_length", "porter_stem"]

FAMILIES = {"unigram": "u", "bigram": "b", "trigram": "t", "inbook": "in", "aroundbook": "ar", "negated": "ng"}

_TAG = re.compile(r"</?[a-zA-Z!][^<>]*>")
_LETTERS = re.compile(r"[^\W\d_]+")
_PIECES = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"  # written without blanks
_NEGATIONS = frozenset(
    [
        "not",
        "no",
        "never",
        "nothing",
        "none",
        "nobody",
        "neither",
        "nor",
        "hardly",
        "without",
        "cannot",
        "cant",
        "can't",
        "don't",
        "won't",
        "isn't",
        "wasn't",
        "doesn't",
        "didn't",
        "couldn't",
        "wouldn't",
        "shouldn't",
        "aren't",
        "weren't",
        "hasn't",
        "haven't",
        "hadn't",
        "ain't",
        "dont",
        "doesnt",
        "didnt",
    ]
)


class ReviewFeatures(Estimator, Model):
    """Cut reviews into features; a tokenizer for `Vocabulary`.

    Parameters:
        families: Names of the families, at least one of unigram, bigram, trigram, inbook, aroundbook, negated.
        targets: Words that inbook and aroundbook look for.
        window: Distance from a target word up to which words count as around it.
        scope: Number of words behind a negation that count as negated.
        stem: "porter", the language of a Snowball stemmer, or None for whole words.
        keep: Marks of punctuation that are words; "" for none.
        match_stems: Whether a word matches a target when their stems do.
        keep_target: Whether inbook has the target word itself.
        cross_sentences: Whether n-grams reach over the ends of sentences.

    >>> ReviewFeatures(families=["unigram", "bigram"])("Very disappointing! One star.")
    ['u:veri', 'u:disappoint', 'u:!', 'u:on', 'u:star', 'b:veri disappoint', 'b:disappoint !', 'b:on star']
    >>> ReviewFeatures(families=["aroundbook"])("I can't wait to read the next book in the series.")
    ['ar:the', 'ar:next', 'ar:in', 'ar:the']
    """

    format_version: ClassVar[int] = 1

    def __init__(
        self,
        *,
        families: Sequence[str] = ("unigram",),
        targets: Sequence[str] = ("book",),
        window: int = 2,
        scope: int = 3,
        stem: str | None = "porter",
        keep: str = "!",
        match_stems: bool = True,
        keep_target: bool = True,
        cross_sentences: bool = False,
    ) -> None:
        self.families = families
        self.targets = targets
        self.window = window
        self.scope = scope
        self.stem = stem
        self.keep = keep
        self.match_stems = match_stems
        self.keep_target = keep_target
        self.cross_sentences = cross_sentences

    def __call__(self, text: str) -> list[str]:
        """Return the features of one review."""
        return next(self.tokenize([text]))

    def words(self, text: str) -> list[str]:
        """Return the words of a text as they are written, in lower case.

        >>> ReviewFeatures().words("I <b>can't</b> wait &amp; see!")
        ['i', "can't", 'wait', 'see', '!']
        """
        find, _ = self._finders()
        return [word for words in self._sentences(text, find, split=False) for word in words]

    def forms(self, texts: Iterable[str]) -> dict[str, str]:
        """Return the most frequent word of each stem that is no word of the texts itself, or a rarer one.

        >>> ReviewFeatures().forms(["Money, loves", "lovely, lovely"])
        {'love': 'lovely', 'monei': 'money'}
        """
        find, stem = self._finders()
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(find(_cleaned(text).lower()))
        best: dict[str, str] = {}
        for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            best.setdefault(stem(word), word)
        return {form: word for form, word in sorted(best.items()) if form != word}

    def tokenize(self, documents: Iterable[str], *, n_jobs: int | None = None) -> Iterator[list[str]]:
        """Yield the features of each review.

        >>> list(ReviewFeatures(stem=None).tokenize(["Good mill", "Bad"]))
        [['u:good', 'u:mill'], ['u:bad']]
        """
        self._check()
        find, stem = self._finders()
        families = [name for name in FAMILIES if name in self.families]
        plain = families == ["unigram"]
        targets = frozenset(self._target(word, stem) for word in self.targets)
        forms = _Forms(lambda word: "u:" + stem(word))
        stems = _Forms(stem)
        native_forms = self._native("u:") if plain else None
        for text in documents:
            features: list[str] = []
            if plain:
                text = _cleaned(text)
                if native_forms is not None and text.isascii():
                    yield native_forms.features(text)
                else:
                    yield [forms[word] for word in find(text.lower())]
                continue
            sentences = []
            for words in self._sentences(text, find, split=not self.cross_sentences or "inbook" in families):
                sentences.append((words, list(map(stems.__getitem__, words))))
            for family in families:
                features += self._family(family, sentences, targets)
            yield features

    def _family(self, family: str, sentences: list[tuple[list[str], list[str]]], targets: frozenset[str]) -> list[str]:
        """The features of one family of a review, from words and stems of its sentences."""
        mark = FAMILIES[family] + ":"
        runs = [stems for _, stems in sentences]
        if family in ("bigram", "trigram") and self.cross_sentences:
            runs = [[stem for stems in runs for stem in stems]]
        if family == "unigram":
            return [mark + stem for stems in runs for stem in stems]
        if family == "bigram":
            return [f"b:{a} {b}" for stems in runs for a, b in itertools.pairwise(stems)]
        if family == "trigram":
            triples = (zip(stems, stems[1:], stems[2:], strict=False) for stems in runs)
            return [f"t:{a} {b} {c}" for some in triples for a, b, c in some]
        features: list[str] = []
        for words, stems in sentences:
            if family == "negated":
                chosen = _behind([i for i, word in enumerate(words) if word in _NEGATIONS], self.scope, len(words))
            else:
                looked = stems if self.match_stems else words
                hits = [i for i, word in enumerate(looked) if word in targets]
                if family == "inbook":
                    chosen = [i for i in range(len(stems)) if hits and (self.keep_target or i not in hits)]
                else:
                    chosen = [
                        i
                        for hit in hits
                        for i in range(max(0, hit - self.window), min(len(stems), hit + self.window + 1))
                        if i != hit
                    ]
            features += [mark + stems[i] for i in chosen]
        return features

    def _sentences(self, text: str, find: Callable[[str], list[str]], *, split: bool) -> Iterator[list[str]]:
        text = _cleaned(text)
        for sentence in split_sentences(text) if split else [text]:
            yield find(sentence.lower())

    def _native(self, prefix: str) -> native.ReviewWords | None:
        """What finds and stems words of ASCII texts, where the stemmer is Porter's or there is none."""
        return native.ReviewWords(self.keep, prefix, self.stem is not None) if self.stem in (None, "porter") else None

    def _finders(self) -> tuple[Callable[[str], list[str]], Callable[[str], str]]:
        """Functions from a text to its words, and from a word to its stem."""
        marks = re.escape(self.keep)
        tail = f"|[{marks}]" if marks else ""
        in_ascii = native.ReviewWords(self.keep, "", False).features

        @cache
        def in_unicode() -> Callable[[str], list[str]]:
            import regex

            letter = rf"(?![{_PIECES}])[\p{{L}}\p{{M}}\p{{N}}]"
            words = rf"[{_PIECES}]\p{{M}}*|(?:{letter})+(?:'(?:{letter})+)*{tail}"
            finder: Callable[[str], list[str]] = regex.compile(words).findall
            return finder

        def find(text: str) -> list[str]:
            return in_ascii(text) if text.isascii() else in_unicode()(text)

        return find, _stemmer(self.stem)

    def _target(self, word: str, stem: Callable[[str], str]) -> str:
        return stem(word.lower()) if self.match_stems else word.lower()

    def _check(self) -> None:
        if any(mark.isalnum() or mark.isspace() or mark == "'" for mark in self.keep):
            raise DataError(f"keep holds marks of punctuation such as '!', got {self.keep!r}")
        if isinstance(self.families, str) or not self.families:
            raise DataError(f"families must be a list of names such as ['unigram'], got {self.families!r}")
        for family in self.families:
            check_choice("families", family, list(FAMILIES))
        if isinstance(self.targets, str):
            raise DataError(f"targets must be a list of words, got {self.targets!r}; pass [{self.targets!r}]")
        if not self.targets and {"inbook", "aroundbook"} & set(self.families):
            raise DataError("inbook and aroundbook need at least one target word; pass targets")
        check_range("window", self.window, at_least=1, whole=True)
        check_range("scope", self.scope, at_least=1, whole=True)


class _Forms(dict[str, str]):
    """What a function makes of words, each made once."""

    def __init__(self, make: Callable[[str], str]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, word: str) -> str:
        form = self[word] = self._make(word)
        return form


def families_of(features: Sequence[str]) -> Ints:
    """The number of the family of each feature, in the order of `FAMILIES`.

    >>> families_of(["u:a", "b:a b"]).tolist()
    [0, 1]
    """
    marks = {mark: place for place, mark in enumerate(FAMILIES.values())}
    return np.array([marks.get(feature.partition(":")[0], 0) for feature in features], np.int64)


def of_family_length(rows: Any, families: Ints) -> Any:
    """Sparse rows in which the features of each family have the same length, together 1.

    >>> of_family_length(sparse.csr_matrix([[3.0, 4.0, 2.0]]), np.array([0, 0, 1])).toarray().round(3).tolist()
    [[0.424, 0.566, 0.707]]
    """
    cells = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr)) * len(FAMILIES) + families[rows.indices]
    squares = np.bincount(cells, rows.data**2, rows.shape[0] * len(FAMILIES)).reshape(-1, len(FAMILIES))
    several = np.maximum((squares > 0).sum(axis=1, keepdims=True), 1)
    factors = 1.0 / np.sqrt(np.where(squares > 0, squares, 1.0) * several)
    return sparse.csr_matrix((rows.data * factors.ravel()[cells], rows.indices, rows.indptr), shape=rows.shape)


def _cleaned(text: str) -> str:
    """A text without tags and entities, with plain apostrophes."""
    if "<" in text:
        text = _TAG.sub(" ", text)
    if "&" in text:
        text = html.unescape(text)
    return text if text.isascii() else text.replace("\u2019", "'")


def family_of(feature: str) -> str:
    """The family of a feature.

    >>> family_of("b:on star")
    'bigram'
    """
    mark = feature.partition(":")[0]
    return next((name for name, own in FAMILIES.items() if own == mark), "unigram")


def porter_stem(word: str) -> str:
    """The stem of a lower-case word by Porter's own program; letters beyond a to z count as consonants.

    >>> [porter_stem(word) for word in ("one", "ages", "is", "possibly", "psychology", "disappointment")]
    ['on', 'ag', 'is', 'possibl', 'psycholog', 'disappoint']
    """
    if word.isascii():
        return str(native.porter_stem(word))
    letters = sorted({letter for letter in word if not letter.isascii()})[:31]
    marks = str.maketrans({letter: chr(place + 1) for place, letter in enumerate(letters)})  # a byte for each letter
    stem = str(native.porter_stem(word.translate(marks)))
    return stem.translate({place + 1: letter for place, letter in enumerate(letters)})


def _stemmer(language: str | None) -> Callable[[str], str]:
    """A function that stems each run of letters in a word."""
    if language is None:
        return str
    stem = porter_stem if language == "porter" else snowball(language)

    def stem_runs(word: str) -> str:
        return stem(word) if word.isalpha() else _LETTERS.sub(lambda run: stem(run[0]), word)

    return stem_runs


def _behind(places: list[int], scope: int, length: int) -> list[int]:
    """Places at most `scope` behind any of `places`, each once, without those themselves."""
    near = {j for i in places for j in range(i + 1, min(length, i + scope + 1))}
    return sorted(near - set(places))
