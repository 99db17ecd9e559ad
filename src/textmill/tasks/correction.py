"""Spelling correction: words within some edits in a lexicon, chosen by a language model.

    correction of w in context  =  argmin over v near w of   edit_cost x edits(w, v) - ln p(words around v, with v)
    w stays if that is more than                             letter_cost x letters of w - ln p(words around <unk>)

Words of the corpus that were seen often enough are taken to be right; every other word is looked up in the minimal
machine of the lexicon (`fst.nearest`: word o edits o lexicon), and an n-gram model of the corpus weighs what is near
in its place, and whether it may be a new word instead. Both costs are chosen in training on sentences that were kept
apart: words are misspelled at random where they stand, and restored; rare words, which are right, stay. Case follows
the word that is replaced.

Cost: the search, some tenths of a millisecond a word, and one n-gram score per candidate. Reference: Kernighan, Church
& Gale (1990), A spelling correction program based on a noisy channel model; Brill & Moore (2000).
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textmill.corpus import require_passes
from textmill.errors import DataError, ModelFileError
from textmill.fst import Fst, Neighbor, lexicon, nearest
from textmill.lm import NGramModel
from textmill.model import Estimator, Model, StringTable, check_fitted, check_range
from textmill.progress import track

__all__ = ["Correction", "SpellingCorrector"]

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_COSTS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0)
_USUAL_COST = 7.0  # of costs that are as good as one another, the one nearest to this is taken
_TIE = 0.005
_LETTER_COSTS = (0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0)
_USUAL_LETTER = 3.0
_NEVER = 1e9  # the cost of a letter with which every word is replaced that has a neighbor
_WEIGHT = 4.0  # a misspelled word that stays is as bad as so many rare words that are replaced
_FEW_RARE = 50  # rare words below which the usual cost is taken
_TRIALS = 400  # words that are misspelled to choose the cost
_TRIAL_STEP = 20  # one sentence of so many is kept for the trials,
_FEW = 2000  # unless there are fewer
_LN10 = float(np.log(10.0))


@dataclass(frozen=True, slots=True)
class Correction:
    """A word of a text that was replaced; `start` and `end` count characters."""

    start: int
    end: int
    word: str
    correction: str
    edits: int


class SpellingCorrector(Estimator, Model):
    """Learn the words of a corpus and what stands around them; correct the others.

    Parameters:
        max_edits: Edits between a word and its correction; words of up to four letters have one at most.
        min_count: Words that occur less often are not taken to be right.
        order: Length of the n-grams of the language model.
        capitalized: Correct words that begin with a capital inside of a sentence as well; most are names.
        random_state: Where the random numbers of the trials begin.
        n_jobs: Number of threads; None for all cores.

    Attributes:
        words_: The lexicon.
        counts_: How often each of its words was seen.
        model_: The n-gram model.
        edit_cost_: What an edit costs, in nats.
        letter_cost_: What a letter of a new word costs, in nats.
        accuracy_: Share of the misspelled words of the trials that were restored.
        specificity_: Share of the rare words of the trials that stayed; None if there were none.

    >>> texts = ["the cat sat on the mat", "the dog sat on the rug", "the cat saw the dog"] * 5
    >>> corrector = SpellingCorrector(min_count=2).fit(texts)
    >>> corrector.correct("the cta sat on teh rug")
    'the cat sat on the rug'
    """

    takes: ClassVar[str] = "texts"
    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {"words_": "word: str", "counts_": "word: int64"}
    state: ClassVar[dict[str, Any]] = {
        "edit_cost_": float,
        "letter_cost_": float,
        "accuracy_": float,
        "specificity_": float | None,
    }
    parts: ClassVar[dict[str, str]] = {"model_": "lm.NGramModel"}

    words_: StringTable
    counts_: NDArray[np.int64]
    model_: NGramModel
    edit_cost_: float
    letter_cost_: float
    accuracy_: float
    specificity_: float | None

    def __init__(
        self,
        *,
        max_edits: int = 2,
        min_count: int = 3,
        order: int = 3,
        capitalized: bool = False,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.max_edits = max_edits
        self.min_count = min_count
        self.order = order
        self.capitalized = capitalized
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Iterable[Any], y: object = None) -> SpellingCorrector:
        """Learn from texts, which are read twice."""
        check_range("max_edits", self.max_edits, at_least=1, at_most=4)
        check_range("min_count", self.min_count, at_least=1)
        require_passes(X, 2, "SpellingCorrector")
        counts: Counter[str] = Counter()
        for text in track(X, "counting words", unit="texts"):
            counts.update(word.lower() for word in _WORD.findall(_text(text)))
        words = sorted(word for word, count in counts.items() if count >= self.min_count)
        if not words:
            raise DataError(f"no word occurs {self.min_count} times; pass more texts, or a lower min_count")
        self.words_ = StringTable(words)
        self.counts_ = np.array([counts[word] for word in words], dtype=np.int64)
        right = frozenset(words)
        sentences = [
            sentence for text in track(X, "reading sentences", unit="texts") for sentence in _sentences(_text(text))
        ]
        trials = sentences[::_TRIAL_STEP] if len(sentences) >= _FEW else sentences
        if len(sentences) >= _FEW:  # what is misspelled in the trials must be new to the language model
            del sentences[::_TRIAL_STEP]
        replaced = [[word if word in right else "<unk>" for word in sentence] for sentence in sentences]
        self.model_ = NGramModel(order=self.order, n_jobs=self.n_jobs).fit(replaced)
        self._prepare()
        self._choose_costs(trials)
        return self

    def correct(self, text: str) -> str:
        """The text with its misspelled words replaced."""
        return self.predict([text])[0]

    def predict(self, X: Iterable[str]) -> list[str]:
        """The texts with their misspelled words replaced.

        >>> SpellingCorrector(min_count=1).fit(["green leaves", "green grass"]).predict(["Gren leaves"])
        ['Green leaves']
        """
        texts = list(X)
        results = []
        for text, changes in zip(texts, self.corrections(texts), strict=True):
            pieces, at = [], 0
            for change in changes:
                pieces += [text[at : change.start], change.correction]
                at = change.end
            results.append("".join([*pieces, text[at:]]))
        return results

    def corrections(self, texts: Sequence[str]) -> list[list[Correction]]:
        """For each text the words that are replaced, in order.

        >>> corrector = SpellingCorrector(min_count=1).fit(["green leaves", "green grass"])
        >>> corrector.corrections(["gren leaves"])[0][0].correction
        'green'
        """
        check_fitted(self)
        if isinstance(texts, str):
            raise DataError("texts is one string; pass a list of strings")
        self._prepare()
        rows: list[tuple[int, re.Match[str], list[str], int]] = []  # text, match, words around it, its place there
        for number, text in enumerate(texts):
            matches = list(_WORD.finditer(text))
            tokens = [match[0].lower() for match in matches]
            for place, match in enumerate(matches):
                if self._is_wrong(text, match):
                    rows.append((number, match, tokens, place))
        neighbors = self._neighbors([match[0].lower() for _, match, _, _ in rows])
        places = [(tokens, place) for _, _, tokens, place in rows]
        chosen = self._choose(places, neighbors, self.edit_cost_, self.letter_cost_)
        results: list[list[Correction]] = [[] for _ in texts]
        for (number, match, _, _), neighbor in zip(rows, chosen, strict=True):
            if neighbor is not None:
                shaped = _shaped(neighbor.word, match[0])
                results[number].append(Correction(match.start(), match.end(), match[0], shaped, neighbor.edits))
        return results

    def suggest(self, words: Iterable[str], *, k: int = 5) -> list[list[Neighbor]]:
        """The k likeliest corrections of each word on its own, by edits and frequency.

        >>> SpellingCorrector(min_count=1).fit(["green leaves", "green grass"]).suggest(["gren"])[0][0].word
        'green'
        """
        check_fitted(self)
        self._prepare()
        asked = [word.lower() for word in words]
        return nearest(
            self._lexicon, asked, max_edits=self.max_edits, k=k, edit_cost=self.edit_cost_, n_jobs=self.n_jobs
        )

    def check_values(self) -> None:
        """Check that every word was seen, and that costs of edits are costs."""
        if len(self.counts_) and self.counts_.min() < 1:
            raise ModelFileError("'counts_' has words that were never seen", reason="damaged")
        if not (np.isfinite(self.edit_cost_) and np.isfinite(self.letter_cost_)):
            raise ModelFileError("the costs of edits are no numbers", reason="damaged")

    # ---- how it is done

    def _prepare(self) -> None:
        """The machine of the lexicon, with -ln of the share of each word as its weight."""
        if getattr(self, "_machine_of", None) is not self.words_:
            costs = -np.log(self.counts_ / self.counts_.sum())
            words = list(self.words_)
            self._lexicon: Fst = lexicon(zip(words, costs.tolist(), strict=True))
            self._right = frozenset(words)
            self._machine_of = self.words_

    def _is_wrong(self, text: str, match: re.Match[str]) -> bool:
        word = match[0]
        if len(word) < 2 or word.lower() in self._right or (word.isupper() and len(word) < 6):
            return False
        if word[0].isupper() and not self.capitalized:
            before = text[: match.start()].rstrip(" \"'“‘(")
            return not before or before[-1] in ".!?\n"
        return True

    def _neighbors(self, words: list[str]) -> list[list[Neighbor]]:
        """What is near to each word, each distinct word searched once."""
        distinct = list(dict.fromkeys(words))
        short = [word for word in distinct if len(word) <= 4]
        long = [word for word in distinct if len(word) > 4]
        near: dict[str, list[Neighbor]] = {}
        for group, edits in ((short, 1), (long, self.max_edits)):
            options = {"max_edits": min(edits, self.max_edits), "k": 12, "edit_cost": 6.0, "n_jobs": self.n_jobs}
            near.update(zip(group, nearest(self._lexicon, group, **options), strict=True))  # type: ignore[arg-type]
        return [near[word] for word in words]

    def _choose(
        self, places: list[tuple[list[str], int]], neighbors: list[list[Neighbor]], edit_cost: float, letter_cost: float
    ) -> list[Neighbor | None]:
        """The best candidate at each place, by the n-grams that it is in; None if a new word is likelier."""
        windows = list[list[str]]()
        reach = self.order - 1
        for (tokens, place), candidates in zip(places, neighbors, strict=True):
            before, after = tokens[max(0, place - reach) : place], tokens[place + 1 : place + 1 + reach]
            windows += [[*before, word, *after] for word in (tokens[place], *(near.word for near in candidates))]
        scores = self.model_.scores(windows).log_probability * -_LN10 if windows else np.zeros(0)
        best: list[Neighbor | None] = []
        at = 0
        for (tokens, place), candidates in zip(places, neighbors, strict=True):
            least, choice = float(scores[at]) + letter_cost * len(tokens[place]), None
            for candidate, score in zip(candidates, scores[at + 1 : at + 1 + len(candidates)].tolist(), strict=True):
                cost = score + edit_cost * candidate.edits
                if cost < least:
                    least, choice = cost, candidate
            best.append(choice)
            at += 1 + len(candidates)
        return best

    def _choose_costs(self, sentences: list[list[str]]) -> None:
        """The cost of an edit that restores most misspelled words, and of a letter that also lets rare words be."""
        rng = random.Random(self.random_state)
        letters = sorted({letter for word in self.words_ for letter in word})
        wrong: list[tuple[list[str], int]] = []
        truth: list[str] = []
        rare: list[tuple[list[str], int]] = []
        for sentence in rng.sample(sentences, len(sentences)):
            rare += [(sentence, i) for i, word in enumerate(sentence) if word not in self._right and len(word) > 3]
            right = [i for i, word in enumerate(sentence) if word in self._right and len(word) > 3]
            if right and len(truth) < _TRIALS:
                place = rng.choice(right)
                word = _misspelled(sentence[place], rng, letters, 1 if rng.random() < 0.8 else 2)
                if word not in self._right:
                    truth.append(sentence[place])
                    wrong.append(([*sentence[:place], word, *sentence[place + 1 :]], place))
        del rare[_TRIALS:]
        near = self._neighbors([tokens[place] for tokens, place in wrong])
        near_rare = self._neighbors([tokens[place] for tokens, place in rare])

        def restored(edit_cost: float, letter_cost: float) -> float:
            chosen = self._choose(wrong, near, edit_cost, letter_cost)
            pairs = zip(chosen, truth, strict=True)
            return sum(one is not None and one.word == word for one, word in pairs) / max(len(truth), 1)

        def left_alone(edit_cost: float, letter_cost: float) -> float:
            chosen = self._choose(rare, near_rare, edit_cost, letter_cost)
            return sum(one is None for one in chosen) / len(rare) if rare else 1.0

        shares = {cost: restored(cost, _NEVER) for cost in _COSTS}
        self.edit_cost_ = _usual(shares, _USUAL_COST)
        both = {c: _WEIGHT * restored(self.edit_cost_, c) + left_alone(self.edit_cost_, c) for c in _LETTER_COSTS}
        enough = len(rare) >= _FEW_RARE
        self.letter_cost_ = _usual(both, _USUAL_LETTER) if enough else _USUAL_LETTER
        self.accuracy_ = restored(self.edit_cost_, self.letter_cost_)
        self.specificity_ = left_alone(self.edit_cost_, self.letter_cost_) if rare else None


def _usual(scores: dict[float, float], usual: float) -> float:
    """Of the costs that are as good as the best, the one nearest to the usual one."""
    top = max(scores.values())
    return min((cost for cost in scores if scores[cost] >= top - _TIE), key=lambda cost: abs(cost - usual))


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else getattr(value, "text", None)
    if not isinstance(text, str):
        raise DataError(f"a text is a str or a document, not {type(value).__name__}")
    return text


def _sentences(text: str) -> Iterator[list[str]]:
    for sentence in re.split(r"[.!?]+\s|\n", text):
        if words := [word.lower() for word in _WORD.findall(sentence)]:
            yield words


def _shaped(word: str, like: str) -> str:
    """A word in the case of another."""
    if like.isupper() and len(like) > 1:
        return word.upper()
    return word[:1].upper() + word[1:] if like[:1].isupper() else word


def _misspelled(word: str, rng: random.Random, letters: Sequence[str], edits: int) -> str:
    for _ in range(edits):
        at, kind = rng.randrange(len(word)), rng.randrange(4)
        if kind == 0 and len(word) > 2:
            word = word[:at] + word[at + 1 :]
        elif kind == 1:
            word = word[:at] + rng.choice(letters) + word[at:]
        elif kind == 2:
            word = word[:at] + rng.choice(letters) + word[at + 1 :]
        elif at + 1 < len(word):
            word = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return word
