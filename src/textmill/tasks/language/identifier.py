"""Which languages is a text in? A dictionary of relevances, additive evidence, and an answer that may be empty.

    score(d, L) = sum of rel(w, L) over the words of d that speak for L / number of words of d  >=  t_L(n)

Relevances come from counts (relevance.py), thresholds and probabilities from held-out texts (thresholds.py). A word
that the dictionary does not have counts in the length, and its letters speak in the ranking of languages (letters.py),
not in the score: what a text is said to be in rests on words that are known. Words lie in a hash table that a file
holds as memory does, and one pass over a text in native code adds them up: O(words x languages of a word), a few
look-ups for each letter of an unknown word. Reference: Rehurek & Kolkus (2009).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill._native import language as native
from textmill.errors import DataError
from textmill.model import Classifier, Model, check_fitted, check_range, effective_jobs, load
from textmill.model.file import Saved
from textmill.tasks.language.answers import (
    NEVER,
    Assertion,
    LanguageAnswer,
    LanguageScores,
    WordEvidence,
    answers_of,
    hinted,
    languages_of_letters,
    word_evidence,
)
from textmill.tasks.language.code import is_code
from textmill.tasks.language.counts import LanguageCounts, check_language
from textmill.tasks.language.learning import check_settings, learn, tune
from textmill.tasks.language.mixture import FEWEST_WORDS, language_parts, text_blocks, without_repetition
from textmill.tasks.language.records import WORD, columns_of
from textmill.tasks.language.rewriting import bare_records, edited_records, selected_records
from textmill.tasks.language.thresholds import held_apart, probabilities

__all__ = ["LanguageIdentifier"]

Floats = NDArray[np.float64]
_BATCH = 4096  # texts scored together


class LanguageIdentifier(Classifier, Model):
    """Tell the languages of texts by the words they use.

    Parameters:
        alpha: Share of the background in each language.
        background: "balanced", "union", or `LanguageCounts` of texts of their own.
        evidence: "positive", only what speaks for a language, or "all", the whole log-likelihood ratio.
        min_relevance: Relevances below this are left out.
        min_count: Words that occur less often are left out; None for one more with each million words a language has
            in the mean, 5 at most: all words of a smaller corpus stay.
        order: Letters of the longest n-gram for unknown words; 0 for none.
        min_share: Least mean share of an n-gram that is taken.
        min_worth: Least likelihood that an n-gram earns for each byte, about 1e-6 for a small file; 0 takes all.
        prior: Weight of the shorter n-gram in the probability of a letter.
        letters_alpha: Share of the background in what letters say.
        letters_scale: Factor of what letters say.
        letters_weight: How much letters say of words of the dictionary; 0 for nothing. For counts that are few.
        accents: "keep", or "strip" for words without accents.
        beta: Weight of recall in F, by which thresholds are tuned.
        held_out: Share of the texts that thresholds and probabilities are tuned on.
        decoys: Languages that are learned and never answered.
        ambiguity: A language is not asserted when its probability is below this share of the best one's.
        compact: Whether a relevance takes a byte in place of four.
        n_jobs: Threads; None for all cores.

    Attributes: classes_ (languages), thresholds_, length_part_ (c of t_L(n) = t_L - c / sqrt(n)), temperature_,
        support_ (answers.py), prior_.

    >>> identifier = LanguageIdentifier(min_count=1, held_out=0, order=0)
    >>> identifier.fit(["the the cat sat", "pes pes cat sel"], ["en", "cs"]).set_thresholds({"en": 0.3, "cs": 0.3})
    LanguageIdentifier(min_count=1, order=0, held_out=0)
    >>> answer = identifier.detect("the cat sat on")
    >>> answer.languages, round(answer.ranking[0][1], 4)
    (('en',), 0.3209)
    >>> identifier.detect("on off up").languages
    ()
    """

    format_version = 3
    layout: ClassVar[Mapping[str, str]] = {
        "slots_": "slot: uint32",
        "tags_": "slot: uint8",
        "records_": "byte: uint8",
        "script_": "script class: float32",
        "thresholds_": "class",
        "prior_": "class",
        "decoy_": "class: bool",
    }
    state: ClassVar[Mapping[str, Any]] = {
        "step_": float,
        "length_part_": float,
        "temperature_": list,
        "support_": list,
        "sources_": list,
        "accents_": str,
    }

    slots_: NDArray[np.uint32]
    tags_: NDArray[np.uint8]
    records_: NDArray[np.uint8]
    script_: NDArray[np.float32]
    classes_: NDArray[Any]
    thresholds_: Floats
    prior_: Floats
    decoy_: NDArray[np.bool_]
    step_: float
    length_part_: float
    temperature_: list[float]
    support_: list[float]
    sources_: list[str]
    accents_: str

    def __init__(
        self,
        *,
        alpha: float = 0.1,
        background: str | LanguageCounts = "balanced",
        evidence: str = "positive",
        min_relevance: float = 0.0,
        min_count: float | None = None,
        order: int = 4,
        min_share: float = 2e-5,
        min_worth: float = 0.0,
        prior: float = 5.0,
        letters_alpha: float = 0.2,
        letters_scale: float = 0.7,
        letters_weight: float = 0.0,
        accents: str = "keep",
        beta: float = 1.0,
        held_out: float = 0.1,
        decoys: Sequence[str] = (),
        ambiguity: float = 0.05,
        compact: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.background = background
        self.evidence = evidence
        self.min_relevance = min_relevance
        self.min_count = min_count
        self.order = order
        self.min_share = min_share
        self.min_worth = min_worth
        self.prior = prior
        self.letters_alpha = letters_alpha
        self.letters_scale = letters_scale
        self.letters_weight = letters_weight
        self.accents = accents
        self.beta = beta
        self.held_out = held_out
        self.decoys = decoys
        self.ambiguity = ambiguity
        self.compact = compact
        self.n_jobs = n_jobs

    # ---- learning ----

    def fit(self, X: Iterable[str], y: Iterable[str], *, cluster: Any = None) -> LanguageIdentifier:
        """Learn from texts and their languages; a share of them, `held_out`, tunes thresholds and probabilities."""
        check_settings(self)
        texts, labels = list(X), [check_language(label) for label in y]
        if len(texts) != len(labels):
            raise DataError(f"{len(texts)} texts have {len(labels)} languages; pass a language for each text")
        if len(set(labels)) < 1:
            raise DataError("no text was given; pass texts of one language or more")
        apart = held_apart(labels, self.held_out)
        counts = LanguageCounts.from_texts(
            [text for text, out in zip(texts, apart, strict=True) if not out],
            [label for label, out in zip(labels, apart, strict=True) if not out],
            accents=self.accents,
            cluster=cluster,
        )
        held = [i for i, out in enumerate(apart) if out]
        return self.fit_counts(counts, [texts[i] for i in held], [labels[i] for i in held])

    def fit_counts(
        self,
        counts: LanguageCounts,
        X_dev: Sequence[str] = (),
        y_dev: Sequence[str] = (),
        *,
        letters_from: LanguageCounts | None = None,
    ) -> LanguageIdentifier:
        """Learn from counts; texts kept apart tune thresholds and probabilities, cut to several lengths.

        `letters_from` are counts of more words for the n-grams, when the dictionary is to have a part of them only.

        >>> counts = LanguageCounts.from_texts(["the cat", "pes a kocka"], ["en", "cs"])
        >>> LanguageIdentifier(min_count=1).fit_counts(counts).predict(["a pes"]).tolist()
        ['cs']
        """
        check_settings(self)
        learn(self, counts, counts if letters_from is None else letters_from)
        if len(X_dev):
            self.tune(X_dev, y_dev)
        return self

    def tune(self, X_dev: Sequence[str], y_dev: Sequence[str], *, beta: float | None = None) -> LanguageIdentifier:
        """Choose thresholds and probabilities on texts kept apart; a language that is not known counts as none.

        Texts are cut to 2, 6 and 20 words, too, so that thresholds hold for short texts. With texts of languages that
        are not known the identifier also learns how much of a text it has to know (`support_`), and warns of those that
        it takes for a language that it knows.
        """
        check_fitted(self)
        tune(self, X_dev, y_dev, self.beta if beta is None else beta)
        return self

    def set_thresholds(self, thresholds: Mapping[str, float], *, length_part: float = 0.0) -> LanguageIdentifier:
        """Set thresholds by hand, in the unit of scores."""
        check_fitted(self)
        values = self.thresholds_.copy()
        for language, threshold in thresholds.items():
            values[self._number(language)] = threshold
        self.thresholds_, self.length_part_ = values, length_part
        return self

    def set_prior(self, weights: Mapping[str, float]) -> LanguageIdentifier:
        """Say how much to expect each language: its logarithm is added once to the sum of each text, others have 1."""
        check_fitted(self)
        prior = np.zeros(len(self.classes_))
        for language, weight in weights.items():
            check_range(f"the weight of '{language}'", weight, above=0)
            prior[self._number(language)] = np.log(weight)
        self.prior_ = prior
        return self

    # ---- answers ----

    def detect(self, text: str | bytes, *, languages: Sequence[str] | None = None) -> LanguageAnswer:
        """Say which languages a text is in; `languages` restricts the answer to some.

        The best language is then one of these, but none is asserted of a text that is in another language.
        """
        return self.detect_many([text], languages=languages)[0]

    def detect_many(
        self,
        texts: Iterable[str | bytes],
        *,
        languages: Sequence[str] | None = None,
        k: int = 5,
        hints: Sequence[str | None] | None = None,
    ) -> list[LanguageAnswer]:
        """Say it of many texts; each ranking has the `k` best languages.

        `hints` are languages that somebody named, such as the `lang` attribute of a page, or None: one counts as much
        as one word that only this language has.
        """
        check_range("k", k, at_least=1, whole=True)
        answers: list[LanguageAnswer] = []
        batch, codes = list(texts), self._codes()
        if hints is not None and len(hints) != len(batch):
            raise DataError(f"{len(batch)} texts have {len(hints)} hints; pass one for each text, or None in its place")
        strongest = float(np.log(self.alpha + (1 - self.alpha) * len(codes)))
        for start in range(0, len(batch), _BATCH):
            part = slice(start, start + _BATCH)
            prior = self.prior_ if hints is None else self.prior_ + hinted(hints[part], codes, strongest)
            answers += self._answers(batch[part], languages, k, prior)
        return answers

    def predict(self, X: Iterable[str | bytes], *, languages: Sequence[str] | None = None) -> NDArray[Any]:
        """The best language of each text; "und" for a text without any evidence."""
        texts = list(X)
        codes = np.append(self._codes(), "und")
        best = np.empty(len(texts), dtype=np.int64)
        native.best_languages(
            self._native,
            native.Texts(texts),
            self._chosen(languages),
            self._chosen(languages, answers=True),
            self.prior_,
            best,
            effective_jobs(self.n_jobs),
        )
        result: NDArray[Any] = codes[best]
        return result

    def predict_proba(self, X: Iterable[str | bytes]) -> Floats:
        """The probability of each language, texts x languages."""
        texts = list(X)
        sums = without_repetition(texts, self.sums(texts))
        return self._shares(sums.total + self.prior_, sums)

    def sums(self, texts: list[str | bytes] | list[str], *, languages: Sequence[str] | None = None) -> LanguageScores:
        """Sums of relevances of each text, in one pass of native code."""
        return self._sums(native.Texts(texts), len(texts), self._chosen(languages))

    def sums_of_bytes(
        self, data: NDArray[np.uint8], offsets: NDArray[np.int64], *, languages: Sequence[str] | None = None
    ) -> LanguageScores:
        """The same for texts in one array of UTF-8, as Arrow keeps them; nothing is copied."""
        return self._sums(native.Texts(data, offsets), len(offsets) - 1, self._chosen(languages))

    def explain(self, text: str | bytes, *, languages: Sequence[str] | None = None) -> list[WordEvidence]:
        """What each word of a text says of each language.

        >>> identifier = LanguageIdentifier(min_count=1, order=0)
        >>> identifier = identifier.fit_counts(LanguageCounts.from_texts(["the cat", "pes a cat"], ["en", "cs"]))
        >>> [(word.word, {code: round(value, 2) for code, value in word.relevance.items()}) for word in
        ...     identifier.explain("The pes")]
        [('the', {'en': 0.64}), ('pes', {'cs': 0.64})]
        """
        check_fitted(self)
        return word_evidence(self._native, text, self._chosen(languages), self._codes())

    def flipping_words(
        self, text: str | bytes, *, k: int = 5, languages: Sequence[str] | None = None
    ) -> list[tuple[str, float]]:
        """Words without which another language would be the best one sooner: (word, lead it gives), largest first."""
        ranking = self.detect(text, languages=languages).ranking
        if len(ranking) < 2:
            return []
        first, second = ranking[0][0], ranking[1][0]
        lead: dict[str, float] = {}
        for word in self.explain(text):
            difference = word.relevance.get(first, 0.0) - word.relevance.get(second, 0.0)
            lead[word.word] = lead.get(word.word, 0.0) + difference
        return sorted(((word, value) for word, value in lead.items() if value > 0), key=lambda item: -item[1])[:k]

    def languages(self) -> list[str]:
        """The languages that may be answered."""
        check_fitted(self)
        return [code for code, decoy in zip(self._codes(), self.decoy_, strict=True) if not decoy]

    def check_languages(self, languages: Sequence[str]) -> list[str]:
        """These languages, once the identifier knows all of them.

        >>> LanguageIdentifier.bundled().check_languages(["cs", "sk"])
        ['cs', 'sk']
        """
        for code in languages:
            self._number(code)
        return list(languages)

    # ---- words of the model ----

    def words(self) -> dict[str, dict[str, float]]:
        """Every word of the dictionary with its relevances.

        >>> identifier = LanguageIdentifier(min_count=1, order=0)
        >>> identifier.fit_counts(LanguageCounts.from_texts(["ja", "yes"], ["de", "en"])).words()["ja"].keys()
        dict_keys(['de'])
        """
        check_fitted(self)
        codes = self._codes()
        keys, _, begin, languages, values = columns_of(self.records_, self.step_, WORD)
        table: dict[str, dict[str, float]] = {}
        for i, word in enumerate(keys):
            pairs = range(int(begin[i]), int(begin[i + 1]))
            table[word] = {codes[languages[p]]: float(values[p]) for p in pairs}
        return table

    def word(self, word: str) -> dict[str, float] | None:
        """The relevances of one word of the dictionary, None when it has no entry."""
        evidence = self.explain(word)
        if len(evidence) != 1 or evidence[0].source != "dictionary":
            return None
        return evidence[0].relevance

    def with_words(self, changes: Mapping[str, Mapping[str, float] | None]) -> LanguageIdentifier:
        """A copy in which words have these relevances; None takes a word out.

        >>> identifier = LanguageIdentifier(min_count=1, order=0)
        >>> identifier = identifier.fit_counts(LanguageCounts.from_texts(["ja", "yes"], ["de", "en"]))
        >>> identifier.with_words({"jo": {"de": 1.5}, "ja": None}).words().keys()
        dict_keys(['jo', 'yes'])
        """
        check_fitted(self)
        for word, relevance in changes.items():
            if native.keys(native.Texts([word]), 0, self.accents_ == "strip") != [word]:
                raise DataError(f"{word!r} is not a word as texts give it; use one run of lower-case letters")
            for code in relevance or ():
                self._number(code)
        numbers: dict[str, dict[int, float] | None] = {
            word: None if relevance is None else {self._number(code): float(v) for code, v in relevance.items()}
            for word, relevance in changes.items()
        }
        edited = self._copy()
        usual = float(np.log(self.alpha)) if self.evidence == "all" else 0.0
        edited._index(edited_records(self.records_, self.step_, numbers, usual))
        return edited

    def select(self, languages: Sequence[str]) -> LanguageIdentifier:
        """A smaller identifier of some of the languages; the relevances are those of the whole.

        >>> counts = LanguageCounts.from_texts(["ja", "yes", "oui"], ["de", "en", "fr"])
        >>> LanguageIdentifier(min_count=1).fit_counts(counts).select(["de", "fr"]).classes_.tolist()
        ['de', 'fr']
        """
        check_fitted(self)
        chosen = sorted({self._number(code) for code in languages})
        if not chosen:
            raise DataError("no language is left; name one at least")
        smaller = self._copy()
        smaller.classes_ = self.classes_[chosen]
        smaller.script_ = np.ascontiguousarray(self.script_[:, chosen])
        smaller.thresholds_, smaller.decoy_ = self.thresholds_[chosen], self.decoy_[chosen]
        smaller.prior_ = self.prior_[chosen]
        smaller._index(selected_records(self.records_, self.step_, chosen, keep_rest=self.evidence == "all"))
        return smaller

    def without_accents(self) -> LanguageIdentifier:
        """An identifier that does not look at accents, in texts and in its words: for text that lost them.

        Words that fall together have the mean of what they say, n-grams are learned anew from a large dictionary.
        """
        check_fitted(self)
        if self.accents_ == "strip":
            return self
        bare = self._copy()
        bare.accents_ = "strip"
        bare._index(
            bare_records(
                self.records_, self.step_, self._codes(), alpha=self.alpha, order=self.order,
                min_share=self.min_share, prior=self.prior,
            )
        )  # fmt: skip
        return bare

    @classmethod
    def bundled(cls, *, languages: Sequence[str] | None = None) -> LanguageIdentifier:
        """The model that comes with the package, opened in place; `languages` restricts it for good.

        >>> LanguageIdentifier.bundled().detect("Kde bydlíš, když jsi doma?").language
        'cs'
        """
        model = load(Path(__file__).parent / "languages.mill", expect=cls)
        return model if languages is None else model.select(languages)

    # ---- inside ----

    def _index(self, records: NDArray[np.uint8]) -> None:
        self.records_ = records
        self.slots_, self.tags_ = native.index_records(records, self.step_)
        vars(self).pop("_native", None)

    @cached_property
    def _native(self) -> Any:
        order = 0 if self.order == 0 else self.order
        return native.Evidence(
            self.slots_, self.tags_, self.records_, self.step_, len(self.classes_), order, self.letters_scale,
            self.letters_alpha, self.script_, self.accents_ == "strip",
        )  # fmt: skip

    @classmethod
    def upgrade(cls, saved: Saved) -> Saved:
        """In format 1 the tag of a slot that was taken could be 0; now that is the tag of a free one. Format 2 had no
        rule of support."""
        first, saved.format = saved.format == 1, 3
        if saved.fitted:
            saved.state["support_"] = []
        if saved.fitted and first:
            tags, slots = saved.arrays["tags_"], saved.arrays["slots_"]
            saved.arrays["tags_"] = np.where((tags == 0) & (slots != 0), 1, tags).astype(np.uint8)
        return saved

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_native"}

    def check_values(self) -> None:
        """The table holds sizes that fit; look-ups check each offset they follow."""
        self._native  # noqa: B018

    @property
    def _temperature(self) -> tuple[float, float]:
        return self.temperature_[0], self.temperature_[1]

    def _codes(self) -> list[str]:
        check_fitted(self)
        codes: list[str] = self.classes_.tolist()
        return codes

    def _number(self, language: str) -> int:
        codes = self._codes()
        if language not in codes:
            raise DataError(f"the identifier does not know the language '{language}'; it has {', '.join(codes)}")
        return codes.index(language)

    def _chosen(self, languages: Sequence[str] | None, *, answers: bool = False) -> NDArray[np.uint8]:
        check_fitted(self)
        chosen = np.ones(len(self.classes_), dtype=np.uint8)
        if languages is not None:
            if isinstance(languages, str):
                raise DataError(f"languages is the string {languages!r}; pass a list of codes")
            chosen[:] = 0
            chosen[[self._number(code) for code in languages]] = 1
            if not chosen.any():
                raise DataError("no language is left; name one at least")
        elif answers:
            chosen[self.decoy_] = 0
        return chosen

    def _sums(self, texts: Any, size: int, chosen: NDArray[np.uint8]) -> LanguageScores:
        shape = size, len(self.classes_)
        dictionary, total = np.empty(shape, dtype=np.float32), np.empty(shape, dtype=np.float32)
        words = np.empty((size, 2), dtype=np.int64)
        native.identify(self._native, texts, chosen, dictionary, total, words, effective_jobs(self.n_jobs))
        return LanguageScores(dictionary, total, words[:, 0], words[:, 1])

    def _answers(
        self,
        texts: list[str | bytes],
        languages: Sequence[str] | None,
        k: int,
        prior: Floats,
        *,
        mixed: bool = True,
    ) -> list[LanguageAnswer]:
        whole = without_repetition(texts, self.sums(texts))
        sums = whole if languages is None else without_repetition(texts, self.sums(texts, languages=languages))
        answered = self._chosen(languages, answers=True).astype(bool)
        asked = answered if languages is not None else np.ones(len(answered), dtype=bool)
        total = np.where(asked, sums.total + prior, NEVER).astype(np.float64)
        share = self._shares(total, sums)  # a decoy takes probability, and is no answer
        asserting = Assertion(
            self.thresholds_, self.length_part_, self.ambiguity, self.support_, answered & ~self.decoy_
        )
        asserted = asserting(whole, share if sums is whole else self._shares(whole.total + prior, whole))
        for i in np.flatnonzero(asserted.any(axis=1)):
            asserted[i] &= languages_of_letters(texts[i], self.script_) & (not is_code(texts[i]))
        asserting.settle(asserted, total, share)
        total = np.where(answered, total, NEVER)
        if mixed:
            best = total.argmax(axis=1)
            self._assert_parts(texts, whole, asserting, asserted, share, best, languages)
        return answers_of(sums, total, share, asserted, self._codes(), k)

    def _assert_parts(
        self,
        texts: list[str | bytes],
        sums: LanguageScores,
        asserting: Assertion,
        asserted: NDArray[np.bool_],
        share: Floats,
        best: NDArray[np.intp],
        languages: Sequence[str] | None,
    ) -> None:
        """Assert of texts in several languages each of them, and make their shares of the words its probabilities."""
        possible = asserting.possible(sums) & asserting.answered
        doubtful = (sums.words >= 2 * FEWEST_WORDS) & ((possible & ~asserted).any(axis=1) | ~asserted.any(axis=1))
        doubtful |= self._look_different(texts, sums)
        rows = [int(i) for i in np.flatnonzero(doubtful) if not is_code(texts[i])]
        if not rows:
            return
        number = {code: j for j, code in enumerate(self._codes())}
        of_texts = language_parts(self, [texts[i] for i in rows], languages)
        several = [(i, parts) for i, parts in zip(rows, of_texts, strict=True) if len(parts) > 1]
        pieces = [text for _, parts in several for text, _ in parts.values()]
        answers = iter(self._answers(pieces, languages, 1, np.zeros_like(self.prior_), mixed=False) if pieces else [])
        for i, parts in several:
            sure = {
                code: portion
                for (code, (_, portion)), answer in zip(parts.items(), answers, strict=False)
                if answer.languages[:1] == (code,)
            }
            if len(sure) > 1 and self.classes_[best[i]] in sure:
                asserted[i], share[i] = False, 0.0
                for code, portion in sure.items():
                    asserted[i, number[code]], share[i, number[code]] = True, portion

    def _look_different(self, texts: list[str | bytes], sums: LanguageScores) -> NDArray[np.bool_]:
        """Whether a block of each text has another best language than the whole."""
        blocks = [text_blocks(text, int(words)) for text, words in zip(texts, sums.words, strict=True)]
        different = np.zeros(len(texts), dtype=bool)
        flat = [block for some in blocks for block in some]
        if flat:
            owner = np.repeat(np.arange(len(texts)), [len(some) for some in blocks])
            best = self.sums(flat).total.argmax(axis=1)
            different[owner[best != sums.total.argmax(axis=1)[owner]]] = True
        return different

    def _shares(self, total: Any, sums: LanguageScores) -> Floats:
        return probabilities(total, sums.words.astype(np.float64), self._temperature)

    def _copy(self) -> LanguageIdentifier:
        twin = type(self)(**self.get_params(deep=False))
        for name in self.declared.attributes:
            setattr(twin, name, getattr(self, name))
        return twin
