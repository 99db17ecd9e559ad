"""Kanji from romanized readings: a noisy channel.

    argmax over k of P(k) P(r | k)           P(k): n-grams of characters, with the ends of the name
    P(r | k_1 .. k_m) = sum over r = s_1 .. s_m of prod_i p(s_i | k_i)         s_i: one or more whole syllables

A syllable is (C)(y)V, with a coda n before a consonant or at the end; the first half of a long consonant closes the
syllable before it, so that a boundary may fall within: matto is mat + to. p(s | k) is trained by EM over all
segmentations, which `StringAligner` does (one kanji a link, no side empty, conditional on the kanji); its last step can
count best segmentations only, and drop what hardly ever was the best, which leaves far fewer readings. Names are
searched for by the decoder of pair n-grams, with n-grams on kanji and ln p(s | k) added to each pair s:k.

Names that no Japanese reading spells (pinyin: x, q, zh, final ng) are left out of training and get no answer. Long
vowels are one syllable however they are written, o, ou, oo or ō. Cost: see native/lm/pairs.h. Reference: Jansche &
Sproat (2009), section 5.
"""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from textmill._native import lm as native
from textmill.errors import DataError
from textmill.fst import Alignment, Link, StringAligner
from textmill.lm import Candidate, NGramModel
from textmill.model import Estimator, Model, check_choice, check_fitted, check_range, effective_jobs
from textmill.tasks.transcription.scripts import script_pack

__all__ = ["KanjiRestorer", "romanize", "syllabify"]

METHODS = ("em", "em+viterbi")
_SPECIAL = 3  # words of an n-gram model that are no characters
_SYLLABLE = re.compile(
    r"(?:ch|sh|ts|[bdfghjkmnprstvwyz]y?)?[aeiou](?:n(?![aeiouy])'?|n'|m(?=[bmp])|([kstpgdbzjf])(?=\1)|t(?=ch))?"
)
_LONG = (("ō", "o"), ("ū", "u"), ("ā", "a"), ("ē", "e"), ("ī", "i"), ("ô", "o"), ("û", "u"))


def syllabify(reading: str) -> list[str] | None:
    """The syllables of a romanized reading, or None where it cannot be Japanese.

    >>> syllabify("matto"), syllabify("honda"), syllabify("zhang")
    (['mat', 'to'], ['hon', 'da'], None)
    """
    text = unicodedata.normalize("NFC", reading).lower().strip()
    for long, short in _LONG:
        text = text.replace(long, short)
    text = re.sub(r"o[uo]|oh(?![aiueo])", "o", text).replace("uu", "u")
    syllables: list[str] = []
    at = 0
    while at < len(text):
        match = _SYLLABLE.match(text, at)
        if match is None:
            return None
        syllables.append(match.group().rstrip("'"))
        at = match.end()
    return syllables or None


def romanize(kana: str) -> str | None:
    """A reading in kana as letters after Hepburn, long vowels short; None for what is no kana.

    >>> romanize("おおぬま"), romanize("マット"), romanize("しんいち")
    ('onuma', 'matto', "shin'ichi")
    """
    katakana = "".join(chr(ord(c) + 0x60) if "ぁ" <= c <= "ゖ" else c for c in unicodedata.normalize("NFKC", kana))
    symbols = script_pack("katakana").encode(katakana)
    letters: list[str] = []
    for at, symbol in enumerate(symbols):
        after = symbols[at + 1] if at + 1 < len(symbols) else ""
        if symbol.startswith("="):
            return None
        if symbol == "N":
            letters.append("n'" if after[:1] in tuple("aiueoy") else "n")
        elif symbol == "Q":
            letters.append("t" if after == "ch" else after[:1])
        elif symbol != ":":
            letters.append({"dj": "j", "dz": "z"}.get(symbol, symbol))
    text = "".join(letters)
    return re.sub(r"o[uo]", "o", text).replace("uu", "u")


class KanjiRestorer(Estimator, Model):
    """Write romanized Japanese names in kanji.

    Parameters:
        order: Length of the longest n-gram of characters.
        smoothing: That of the n-grams, as in `NGramModel`.
        max_syllables: Largest number of syllables that a kanji may be read as.
        method: How readings are learned: "em", or "em+viterbi", whose last step drops unlikely ones.
        min_probability: With "em+viterbi", readings of a kanji less likely than this are dropped; its best stays.
        max_iter: Iterations at most.
        beam: Largest number of hypotheses at a syllable.
        width: Hypotheses whose ln p is this much below the best at a syllable are dropped; None for none.
        n_jobs: Number of threads; None for all cores.

    Attributes:
        channel_: The `StringAligner` of kanji and syllables.
        source_: The `NGramModel` of characters.
        skipped_: Number of training pairs whose reading is not Japanese or has too few syllables.

    >>> from textmill.tasks.transcription import sample_kanji
    >>> model = KanjiRestorer().fit(*sample_kanji())
    >>> model.predict(["tanaka", "nakayama"])
    ['田中', '中山']
    """

    takes: ClassVar[str] = "sequences"
    format_version: ClassVar[int] = 1
    parts: ClassVar[dict[str, str]] = {"channel_": "fst.StringAligner", "source_": "lm.NGramModel"}
    state: ClassVar[dict[str, Any]] = {"skipped_": int}

    channel_: StringAligner
    source_: NGramModel
    skipped_: int
    _table: tuple[list[Link], dict[str, int], Any]

    def __init__(
        self,
        *,
        order: int = 3,
        smoothing: str = "witten-bell",
        max_syllables: int = 4,
        method: str = "em+viterbi",
        min_probability: float = 0.005,
        max_iter: int = 10,
        beam: int = 200,
        width: float | None = 12.0,
        n_jobs: int | None = None,
    ) -> None:
        self.order = order
        self.smoothing = smoothing
        self.max_syllables = max_syllables
        self.method = method
        self.min_probability = min_probability
        self.max_iter = max_iter
        self.beam = beam
        self.width = width
        self.n_jobs = n_jobs

    def fit(self, X: Iterable[str], y: Iterable[str], *, names: Iterable[str] = ()) -> KanjiRestorer:
        """Learn from readings and names in kanji; `names` are further ones, for the n-grams of characters alone."""
        check_choice("method", self.method, METHODS)
        check_range("max_syllables", self.max_syllables, at_least=1, at_most=255, whole=True)
        check_range("min_probability", self.min_probability, at_least=0, below=1)
        check_range("beam", self.beam, at_least=1, whole=True)
        if self.width is not None:
            check_range("width", self.width, at_least=0)
        readings, kanji = list(X), list(y)
        if len(readings) != len(kanji):
            raise DataError(f"there are {len(readings)} readings but {len(kanji)} names; give one name per reading")
        pairs = []
        for reading, name in zip(readings, kanji, strict=True):
            syllables = syllabify(reading)
            if syllables is not None and name and len(name) <= len(syllables) <= self.max_syllables * len(name):
                pairs.append((name, syllables))
        self.skipped_ = len(readings) - len(pairs)
        if not pairs:
            raise DataError(f"none of {len(readings)} pairs can be learned from: a kanji needs at least one syllable")
        aligner = StringAligner(
            max_input=1,
            max_output=self.max_syllables,
            deletions=False,
            insertions=False,
            normalization="conditional",
            method=self.method,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.channel_ = aligner.fit(pairs, errors="skip")
        if self.method == "em+viterbi" and self.min_probability > 0:
            self.channel_ = self._without_rare(self.channel_)
        texts = [list(name) for name in itertools.chain((name for name, _ in pairs), names) if name]
        self.source_ = NGramModel(order=self.order, smoothing=self.smoothing, n_jobs=self.n_jobs).fit(texts)
        vars(self).pop("_table", None)
        return self

    def predict(self, X: Iterable[str]) -> list[str]:
        """The best name of each reading, the empty one where there is none.

        >>> from textmill.tasks.transcription import sample_kanji
        >>> KanjiRestorer().fit(*sample_kanji()).predict(["zhang"])
        ['']
        """
        return [str(row[0].output) if row else "" for row in self.predict_best(X, 1)]

    def predict_best(
        self, X: Iterable[str], k: int = 10, *, dictionary: Mapping[str, Sequence[str]] | None = None
    ) -> list[list[Candidate]]:
        """The k best names of each reading, with P(name | reading) and the reading of each kanji.

        `dictionary`: names by reading; one that is among the ten best goes to the top.

        >>> from textmill.tasks.transcription import sample_kanji
        >>> model = KanjiRestorer().fit(*sample_kanji())
        >>> model.predict_best(["tanaka"], k=1)[0][0].alignment.text()
        'ta:田 na|ka:中'
        """
        check_range("k", k, at_least=1, whole=True)
        readings = list(X)
        links, numbers, table = self._tables()
        cut = [syllabify(reading) for reading in readings]
        places = [i for i, syllables in enumerate(cut) if syllables and all(s in numbers for s in syllables)]
        begin = np.concatenate([[0], np.cumsum([len(cut[i] or ()) for i in places])]).astype(np.int64)
        flat = np.array([numbers[s] for i in places for s in cut[i] or ()], dtype=np.int32)
        outputs = len({link[1] for link in links})
        offsets, log_p, best, token_begin, tokens, totals = (
            part.tolist()
            for part in table.decode(
                begin,
                flat,
                np.zeros((0, outputs), dtype=np.int32),
                np.zeros(0, dtype=np.uint8),
                k=max(k, 10 if dictionary else 1),
                beam=self.beam,
                width=math.inf if self.width is None else float(self.width),
                insertions=0,
                copy=False,
                summed=True,
                threads=effective_jobs(self.n_jobs),
            )[:6]
        )
        answers: list[list[Candidate]] = [[] for _ in readings]
        for place, i in enumerate(places):
            for a in range(offsets[place], offsets[place + 1]):
                path = tokens[token_begin[a] : token_begin[a + 1]]
                if any(token < 0 for token in path):
                    continue  # a syllable that no kanji is read as alone
                chain = tuple(links[token] for token in path)
                name = "".join(link[1][0] for link in chain)
                p = math.exp(min(0.0, log_p[a] - totals[place]))
                answers[i].append(Candidate(name, p, log_p[a], Alignment(chain, best[a])))
            right = (dictionary or {}).get(readings[i], ())
            answers[i] = sorted(answers[i], key=lambda one: one.output not in right)[:k]
        return answers

    def score(self, X: Iterable[str], y: Iterable[str]) -> float:
        """The share of readings whose best name is right."""
        predicted, right = self.predict(X), list(y)
        if len(predicted) != len(right) or not right:
            raise DataError(f"there are {len(predicted)} readings but {len(right)} names; give one name per reading")
        return sum(a == b for a, b in zip(predicted, right, strict=True)) / len(right)

    def readings_of(self, kanji: str, k: int = 10) -> list[tuple[str, float]]:
        """The readings of a kanji with their probabilities, the best first.

        >>> from textmill.tasks.transcription import sample_kanji
        >>> [reading for reading, p in KanjiRestorer().fit(*sample_kanji()).readings_of("田")]
        ['ta', 'da']
        """
        check_fitted(self)
        probabilities = np.exp(self.channel_.log_probabilities_).tolist()
        rows = [
            ("".join(link[1]), p)
            for link, p in zip(self.channel_.links_, probabilities, strict=True)
            if link[0] == (kanji,)
        ]
        return sorted(rows, key=lambda row: (-row[1], row[0]))[:k]

    def _without_rare(self, channel: StringAligner) -> StringAligner:
        """The channel with the likely readings of each kanji, whose probabilities sum to 1 again."""
        readings: dict[Any, dict[Link, float]] = {}
        for link, p in zip(channel.links_, np.exp(channel.log_probabilities_).tolist(), strict=True):
            readings.setdefault(link[0], {})[link] = p
        weights: dict[Link, float] = {}
        for own in readings.values():
            least = min(self.min_probability, max(own.values()))
            likely = {link: p for link, p in own.items() if p >= least}
            weights |= {link: p / sum(likely.values()) for link, p in likely.items()}
        return StringAligner.from_weights(weights, **channel.get_params(deep=False))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_table"}  # built again on use

    def _tables(self) -> tuple[list[Link], dict[str, int], Any]:
        """Pairs of syllables and kanji, numbers of syllables, and the native decoder."""
        check_fitted(self)
        if "_table" in vars(self):
            return self._table
        words = {word: i for i, word in enumerate(self.source_.words_.to_list())}
        links: list[Link] = []
        bias: list[float] = []
        for (kanji, syllables), log_p in zip(
            self.channel_.links_, self.channel_.log_probabilities_.tolist(), strict=True
        ):
            if words.get(kanji[0], 0) >= _SPECIAL:
                links.append((syllables, kanji))
                bias.append(log_p)
        numbers: dict[str, int] = {}
        characters: dict[str, int] = {}
        inputs = [[numbers.setdefault(s, len(numbers)) for s in link[0]] for link in links]
        outputs = [characters.setdefault(link[1][0], len(characters)) for link in links]
        table = native.PairNgrams(
            self.source_.table(),
            np.concatenate([[0], np.cumsum([len(some) for some in inputs])]).astype(np.int64),
            np.array(list(itertools.chain.from_iterable(inputs)), dtype=np.int32),
            np.arange(len(links) + 1, dtype=np.int64),
            np.array(outputs, dtype=np.int32),
            np.array([words[link[1][0]] for link in links], dtype=np.int32),
            np.array(bias),
            len(characters),
        )
        self._table = (links, numbers, table)
        return self._table
