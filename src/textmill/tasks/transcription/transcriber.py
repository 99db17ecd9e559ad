"""Transcribe words: letters into sounds, names into another script.

    cache, dictionary  ->  parts (pair n-gram models, fields over letters), joined  ->  promotion from a dictionary

With `search` the parts, their settings and weights are chosen by development words (searching.py, joining.py); without,
there is one pair model. Words that were trained on are answered from the cache, words of a dictionary from there; a
dictionary can instead promote: an output of it that is among the ten best of the parts goes to the top.

Letters that no training word had are tried in other cases and without their marks before the parts see them. Cost: that
of the parts. Reference: Jansche & Sproat (2009), Named entity transcription with pair n-gram models.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats
from textmill.errors import DataError, ModelFileError, reason_of, warn_caller
from textmill.fst import Alignment
from textmill.model import (
    Estimator,
    Model,
    RandomState,
    StringTable,
    check_choice,
    check_fitted,
    check_range,
    seed_of,
)
from textmill.tasks.transcription.letters import LetterCRF
from textmill.tasks.transcription.parts import FORMS, Notation, Part, candidates_of, hashable, plain
from textmill.tasks.transcription.scripts import SCRIPTS
from textmill.tasks.transcription.searching import Choice, Pairs, Plan, fit_parts, plain_plan, search_plan

__all__ = ["SOURCES", "OverlappingSets", "Transcriber", "Transcription"]

SOURCES = ("train", "dev", "extra", "dictionary")  # where pairs of the cache come from
USES = ("look-up", "promote")
_SLOTS = 12
_MARK = "\x1f"  # between symbols of an output in the cache
_PROMOTED = 10  # best outputs among which a dictionary may choose
_CHUNK = 2000  # words transcribed together
_ENOUGH_APART = 100  # words kept apart from fewer than a thousand, up to a quarter: a handful would choose by chance
_MOST_APART = 3000  # words kept apart: more would hardly choose better
_FEWEST = 20  # words below which none can be spared to choose by


class OverlappingSets(UserWarning):
    """Development words that are training words, too: choices by them are too hopeful."""


class Transcription(NamedTuple):
    """An output of a word, its probability, where it comes from, and the best alignment of the part that had it.

    source: "model", "promoted", or one of `SOURCES`. Outputs of the cache share probability 1, all others then have 0.
    """

    output: Any
    probability: float
    source: str
    alignment: Alignment | None


class Transcriber(Estimator, Model):
    """Learn to transcribe from pairs of words and outputs, strings or lists of symbols.

    Parameters:
        search: Whether to choose forms, units, orders, smoothing, directions and weights by development words.
        script: Script of the outputs, to be written by its sounds: one of `SCRIPTS`; None to let the search try.
        form: Unicode form of the inputs, "NFC", "NFD" or "as it is"; None to let the search choose.
        order: Length of the longest n-gram without `search`.
        cache: Whether words that were trained on are answered with their outputs.
        dictionary_use: What `fit`'s dictionary does: "look-up" (answers) or "promote" (its outputs go to the top of the
            ten best).
        held_out: Share of the words kept apart to choose by, where no development words are passed; of few words, a
            larger one.
        refit: Whether to train the chosen parts again on training and development words; None: only when those were
            kept apart from the training words.
        k: Number of candidates that each part gives.
        random_state: Seed of the choice of words to keep apart.
        n_jobs: Number of threads; None for all cores.

    Attributes:
        plan_: For each part a mapping: name, kind, parameters, form, notation, weight, slot; that of the first has the
            number of extra pairs and pairs of a dictionary, `added`, if there were any.
        choices_: What was chosen by which errors, a list of mappings.
        cache_words_, cache_outputs_, cache_sources_: Pairs that are answered without the parts, and where from.
        letters_: Letters of the training words.
        overlap_: Number of development words that are training words, too.
        unaligned_: Numbers of training pairs that no part could align.
        text_output_: Whether outputs are strings.

    >>> from textmill.tasks.transcription import sample_names
    >>> words, outputs = sample_names()
    >>> model = Transcriber(search=False, script="katakana").fit(words, outputs)
    >>> model.predict(["tanaka", "kanata"])
    ['タナカ', 'カナタ']
    """

    takes: ClassVar[str] = "sequences"
    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {
        "cache_words_": "cached: str",
        "cache_outputs_": "cached: str",
        "cache_sources_": "cached: uint8",
        "letters_": "letter: str",
    }
    parts: ClassVar[dict[str, str]] = {f"pairs_{i}_": "lm.PairModel" for i in range(_SLOTS)} | {
        f"letters_{i}_": "tasks.LetterCRF" for i in range(_SLOTS)
    }
    state: ClassVar[dict[str, Any]] = {
        "plan_": list,
        "choices_": list,
        "overlap_": int,
        "unaligned_": list,
        "text_output_": bool,
    }

    cache_words_: StringTable
    cache_outputs_: StringTable
    cache_sources_: NDArray[np.uint8]
    letters_: StringTable
    plan_: list[dict[str, Any]]
    choices_: list[dict[str, Any]]
    overlap_: int
    unaligned_: list[int]
    text_output_: bool

    def __init__(
        self,
        *,
        search: bool = True,
        script: str | None = None,
        form: str | None = None,
        order: int = 6,
        cache: bool = True,
        dictionary_use: str = "look-up",
        held_out: float = 0.1,
        refit: bool | None = None,
        k: int = 10,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.search = search
        self.script = script
        self.form = form
        self.order = order
        self.cache = cache
        self.dictionary_use = dictionary_use
        self.held_out = held_out
        self.refit = refit
        self.k = k
        self.random_state = random_state
        self.n_jobs = n_jobs

    # ---- learning

    def fit(
        self,
        X: Iterable[Any],
        y: Iterable[Any],
        X_dev: Iterable[Any] | None = None,
        y_dev: Iterable[Any] | None = None,
        *,
        extra: Iterable[tuple[Any, Any]] = (),
        dictionary: Iterable[tuple[Any, Any]] = (),
    ) -> Transcriber:
        """Learn from words and outputs; a word may stand there several times with different outputs.

        `X_dev`, `y_dev`: development words to choose by. `extra`: further pairs to train on, such as mined ones.
        `dictionary`: pairs that are not trained on, see `dictionary_use`.
        """
        self._check()
        own = _pairs(X, y)
        added = _pairs(*_columns(extra))
        looked_up = _pairs(*_columns(dictionary))
        dev = None if X_dev is None else _pairs(X_dev, [] if y_dev is None else y_dev)
        if not own.words:
            raise DataError("there are no pairs to learn from; pass at least one")
        if dev is not None and not dev.words:
            raise DataError("there are no development words to choose by; pass some, or none to keep words apart")
        _check_sides(own)
        everything = Pairs(own.words + added.words, own.outputs + added.outputs)
        self.text_output_ = all(isinstance(output, str) for output in everything.outputs)
        self.overlap_ = 0
        refit = self.refit
        train, rows = everything, list(range(len(everything.words)))  # numbers of the pairs that parts learn from
        if dev is not None:
            seen = set(map(hashable, everything.words))
            self.overlap_ = sum(hashable(word) in seen for word in set(map(hashable, dev.words)))
            if self.overlap_:
                warn_caller(
                    f"{self.overlap_} development words are training words, too; choices by them are too hopeful",
                    OverlappingSets,
                )
        elif self.search:
            train, dev, rows = self._split(everything)
            refit = True if refit is None else refit
        if self.search and dev is not None and dev.words:
            parts, plans, weights, choices = search_plan(
                train, dev, script=self.script, form=self.form, k=self.k, n_jobs=self.n_jobs
            )
            if refit:
                whole = everything
                if X_dev is not None:
                    whole = Pairs(train.words + dev.words, train.outputs + dev.outputs)
                parts, rows = fit_parts(whole, plans, n_jobs=self.n_jobs), list(range(len(everything.words)))
        else:
            plans = plain_plan(train, script=self.script, form=self.form, order=self.order)
            parts, weights, choices = fit_parts(train, plans, n_jobs=self.n_jobs), [1.0], []
        self._keep(parts, plans, weights, choices)
        if added.words or looked_up.words:
            self.plan_[0]["added"] = len(added.words) + len(looked_up.words)
        letters = {letter for word in everything.words for part in parts for letter in _letters(word, part.form)}
        self.letters_ = StringTable(sorted(letters))
        lost = set.intersection(*(set(part.model.unaligned_.tolist()) for part in parts))
        self.unaligned_ = sorted(rows[i] for i in lost if i < len(rows))
        kept_apart = X_dev is None  # then development words are among the given ones
        sources = [(own, 0), (Pairs([], []) if kept_apart or dev is None else dev, 1), (added, 2)]
        self._fill_cache([*(sources if self.cache else []), (looked_up, 3)])
        return self

    # ---- transcribing

    def predict(self, X: Iterable[Any]) -> list[Any]:
        """The best output of each word; the empty one where there is none.

        >>> from textmill.tasks.transcription import sample_names
        >>> Transcriber(search=False).fit(*sample_names()).predict(["nakano"])
        ['ナカノ']
        """
        check_fitted(self)
        empty: Any = "" if self.text_output_ else []
        return [best[0].output if best else empty for best in self.predict_best(X, 1)]

    def predict_best(self, X: Iterable[Any], k: int = 10, *, cached: bool = True) -> list[list[Transcription]]:
        """The k best outputs of each word, best first; `cached=False` asks the parts about all words.

        >>> from textmill.tasks.transcription import sample_names
        >>> best = Transcriber(search=False).fit(*sample_names()).predict_best(["tanaka", "kanata"], k=1)
        >>> [row[0].source for row in best]
        ['train', 'model']
        """
        check_range("k", k, at_least=1, whole=True)
        check_fitted(self)
        words = [_word(word, number) for number, word in enumerate(X, 1)]
        answers: list[list[Transcription]] = []
        for first in range(0, len(words), _CHUNK):
            answers += self._transcribed(words[first : first + _CHUNK], k, cached)
        return answers

    def score(self, X: Iterable[Any], y: Iterable[Any]) -> float:
        """The share of words whose best output, by the parts alone, is right; a word may stand there several times."""
        pairs = _pairs(X, y)
        if not pairs.words:
            raise DataError("there are no words to score; pass at least one")
        words, references = pairs.references()
        best = self.predict_best(words, 1, cached=False)
        right = sum(bool(row) and hashable(row[0].output) in good for row, good in zip(best, references, strict=True))
        return right / len(words)

    def cached_in(self, X: Iterable[Any]) -> dict[str, int]:
        """How many of some words the cache answers, by where it has them from: what leaks into a test.

        >>> from textmill.tasks.transcription import sample_names
        >>> model = Transcriber(search=False).fit(*sample_names())
        >>> model.cached_in(["tanaka", "zzz"])
        {'train': 1, 'dev': 0, 'extra': 0, 'dictionary': 0}
        """
        check_fitted(self)
        counts = dict.fromkeys(SOURCES, 0)
        for word in {hashable(word) for word in X}:
            for source in {source for _, source in self._memory().get(_key(word), ())}:
                counts[source] += 1
        return counts

    @property
    def run_kind(self) -> str:
        """ "standard" for a model of the given pairs only, "non-standard" with extra ones or a dictionary.

        >>> from textmill.tasks.transcription import sample_names
        >>> words, outputs = sample_names()
        >>> Transcriber(search=False).fit(words, outputs, extra=[("anna", "アンナ")]).run_kind
        'non-standard'
        """
        check_fitted(self)
        return "non-standard" if self.plan_[0].get("added") else "standard"

    # ---- inside

    def check_values(self) -> None:
        """Check what the declarations cannot say, and build what predictions need."""
        parts: list[Part] = []
        try:
            for entry in self.plan_:
                model = getattr(self, str(entry["slot"]))
                if not isinstance(model, LetterCRF) and model is None:
                    raise ModelFileError("a part of the plan is missing", reason="damaged")
                parts.append(Part(str(entry["name"]), model, str(entry["form"]), Notation(str(entry["notation"]))))
                check_choice("form", parts[-1].form, FORMS)
                check_choice("notation", parts[-1].notation.name, [*FORMS, *SCRIPTS])
            self._weights = np.array([float(entry["weight"]) for entry in self.plan_])
        except (KeyError, TypeError, ValueError, AttributeError, DataError) as fault:
            raise ModelFileError(f"the plan of the parts is damaged: {fault}", reason=reason_of(fault)) from None
        if not parts or not np.isfinite(self._weights).all():
            raise ModelFileError("the plan has no parts, or a weight is not finite", reason="damaged")
        if len(self.cache_sources_) and int(self.cache_sources_.max()) >= len(SOURCES):
            raise ModelFileError("a pair of the cache has no source", reason="damaged")
        self._parts = parts

    def __getstate__(self) -> dict[str, Any]:
        built = ("_parts", "_weights", "_cache", "_alphabet")  # built again on use
        return {name: value for name, value in vars(self).items() if name not in built}

    def _check(self) -> None:
        if self.script is not None:
            check_choice("script", self.script, SCRIPTS)
        if self.form is not None:
            check_choice("form", self.form, FORMS)
        check_choice("dictionary_use", self.dictionary_use, USES)
        check_range("order", self.order, at_least=1, at_most=99, whole=True)
        check_range("held_out", self.held_out, above=0, below=1)
        check_range("k", self.k, at_least=1, whole=True)

    def _split(self, pairs: Pairs) -> tuple[Pairs, Pairs | None, list[int]]:
        """Training and development pairs, all outputs of a word on one side, and the numbers of the training pairs."""
        distinct = list(dict.fromkeys(map(hashable, pairs.words)))
        if len(distinct) < _FEWEST:
            return pairs, None, list(range(len(pairs.words)))
        order = np.random.default_rng(seed_of(self.random_state, 0)).permutation(len(distinct))
        least = min(_ENOUGH_APART, len(distinct) // 4)
        size = min(_MOST_APART, max(least, round(self.held_out * len(distinct))))
        apart = {distinct[i] for i in order[:size]}
        sides: tuple[list[int], list[int]] = ([], [])
        for i, word in enumerate(pairs.words):
            sides[hashable(word) in apart].append(i)
        train, dev = (Pairs([pairs.words[i] for i in side], [pairs.outputs[i] for i in side]) for side in sides)
        return train, dev, sides[0]

    def _keep(
        self, parts: Sequence[Part], plans: Sequence[Plan], weights: Sequence[float], choices: list[Choice]
    ) -> None:
        for name in type(self).parts:
            setattr(self, name, None)
        self.plan_ = []
        for i, (part, plan, weight) in enumerate(zip(parts, plans, weights, strict=True)):
            slot = f"{plan.kind}_{i}_"
            setattr(self, slot, part.model)
            self.plan_.append({**plan._asdict(), "weight": float(weight), "slot": slot})
        self.choices_ = [choice._asdict() for choice in choices]
        for name in ("_parts", "_weights", "_cache", "_alphabet"):
            vars(self).pop(name, None)

    def _fill_cache(self, sources: Iterable[tuple[Pairs, int]]) -> None:
        entries: dict[tuple[str, str], int] = {}
        for pairs, source in sources:
            for word, output in zip(pairs.words, pairs.outputs, strict=True):
                entries.setdefault((_key(word), output if isinstance(output, str) else _MARK.join(output)), source)
        rows = sorted(entries.items(), key=lambda row: row[0][0])  # stable: outputs in order of appearance
        self.cache_words_ = StringTable(word for (word, _), _ in rows)
        self.cache_outputs_ = StringTable(output for (_, output), _ in rows)
        self.cache_sources_ = np.array([source for _, source in rows], dtype=np.uint8)

    def _memory(self) -> dict[str, list[tuple[Any, str]]]:
        if "_cache" not in vars(self):
            memory: dict[str, list[tuple[Any, str]]] = {}
            rows = zip(
                self.cache_words_.to_list(), self.cache_outputs_.to_list(), self.cache_sources_.tolist(), strict=True
            )
            for word, output, source in rows:
                symbols = output if self.text_output_ else output.split(_MARK)
                memory.setdefault(word, []).append((symbols, SOURCES[source]))
            self._cache = memory
        return self._cache

    def _ready(self) -> tuple[list[Part], Floats]:
        if "_parts" not in vars(self):
            self.check_values()
        for part in self._parts:
            part.model.n_jobs = self.n_jobs
        return self._parts, self._weights

    def _folded(self, word: Any) -> Any:
        """The word with letters that training words have, where others stand for them: another case, no marks."""
        if "_alphabet" not in vars(self):
            self._alphabet = set(self.letters_.to_list())
        alphabet = self._alphabet
        symbols = unicodedata.normalize("NFC", word) if isinstance(word, str) else word
        if all(symbol in alphabet for symbol in symbols):
            return word
        letters: list[str] = []
        for symbol in symbols:
            base = unicodedata.normalize("NFD", symbol)[:1]
            for form in (symbol, symbol.lower(), symbol.upper(), base, base.lower(), base.upper()):
                if form in alphabet or all(letter in alphabet for letter in unicodedata.normalize("NFD", form)):
                    letters.append(form)
                    break
            else:
                letters.append(symbol)
        return "".join(letters) if isinstance(word, str) else letters

    def _transcribed(self, words: list[Any], k: int, cached: bool) -> list[list[Transcription]]:
        memory = self._memory() if cached else {}
        promote = self.dictionary_use == "promote"
        answers: list[list[Transcription] | None] = [None] * len(words)
        for i, word in enumerate(words):
            entries = [e for e in memory.get(_key(word), ()) if not (promote and e[1] == "dictionary")]
            if entries:
                answers[i] = [Transcription(output, 1.0 / len(entries), source, None) for output, source in entries]
        open_ = [i for i, row in enumerate(answers) if row is None or len(row) < k]
        if open_ and not (k == 1 and all(row is not None for row in answers)):
            some = self._joined([self._folded(words[i]) for i in open_], max(k, _PROMOTED if promote else 1))
            for i, row in zip(open_, some, strict=True):
                if promote and cached:
                    row = _promoted(row, {hashable(o) for o, s in memory.get(_key(words[i]), ()) if s == "dictionary"})
                before = answers[i]
                if before is None:
                    answers[i] = row
                else:
                    listed = {hashable(one.output) for one in before}
                    answers[i] = before + [
                        one._replace(probability=0.0) for one in row if hashable(one.output) not in listed
                    ]
        return [(row or [])[:k] for row in answers]

    def _joined(self, words: list[Any], k: int) -> list[list[Transcription]]:
        parts, weights = self._ready()
        table, outputs = candidates_of(parts, words, max(self.k, k))
        posteriors = table.log_posteriors(weights)
        begin, order = table.ranked(weights, k)
        numbers, probabilities = order.tolist(), np.exp(posteriors[order]).tolist()
        rows: list[list[Transcription]] = []
        for first, end in itertools.pairwise(begin.tolist()):
            row: dict[Any, Transcription] = {}
            for c, probability in zip(numbers[first:end], probabilities[first:end], strict=True):
                output = outputs[c]
                if output is not None and output not in row:
                    row[output] = Transcription(plain(output), probability, "model", outputs.alignment(c))
            rows.append(list(row.values()))
        return rows


def _promoted(row: list[Transcription], right: set[Any]) -> list[Transcription]:
    """The list with outputs of a dictionary on top, if they are among the ten best."""
    top = [one for one in row[:_PROMOTED] if hashable(one.output) in right]
    if not top:
        return row
    return [one._replace(source="promoted") for one in top] + [
        one for one in row if hashable(one.output) not in {hashable(t.output) for t in top}
    ]


def _key(word: Any) -> str:
    text = word if isinstance(word, str) else _MARK.join(word)
    return unicodedata.normalize("NFC", text)


def _letters(word: Any, form: str) -> set[str]:
    if form == "as it is" or not isinstance(word, str):
        return set(word)
    return {*unicodedata.normalize("NFC", word), *unicodedata.normalize("NFD", word)}


def _columns(pairs: Iterable[tuple[Any, Any]]) -> tuple[list[Any], list[Any]]:
    rows = list(pairs)
    if any(isinstance(row, str) or len(row) != 2 for row in rows):
        raise DataError("extra and dictionary are pairs of a word and an output; pass a list of such pairs")
    return [row[0] for row in rows], [row[1] for row in rows]


def _pairs(X: Iterable[Any], y: Iterable[Any]) -> Pairs:
    words, outputs = list(X), list(y)
    if len(words) != len(outputs):
        raise DataError(f"there are {len(words)} words but {len(outputs)} outputs; give one output per word")
    return Pairs(words, outputs)


def _check_sides(pairs: Pairs) -> None:
    for number, (word, output) in enumerate(zip(pairs.words, pairs.outputs, strict=True), 1):
        if not isinstance(word, str | list | tuple) or not isinstance(output, str | list | tuple):
            raise DataError(f"pair {number} is ({word!r}, {output!r}), not two strings or lists of symbols")
        if not len(word) or not len(output):
            side = "word" if not len(word) else "output"
            raise DataError(f"pair {number} ({word!r}, {output!r}) has an empty {side}; take it out")


def _word(word: Any, number: int) -> Any:
    if not isinstance(word, str | list | tuple):
        raise DataError(f"word {number} is {word!r}, not a string or a list of symbols")
    return word
