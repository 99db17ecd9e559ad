"""Features that are learned from texts with levels: perplexities of n-gram models, and words that are not common.

    lm.R.G.n       perplexity of the text by the model of level G, order n, over representation R:
                   words    folded tokens                 tags     parts of speech
                   pairs    token and part of speech      mixed    the `n_words` words of highest information gain,
                                                                   all others as their part of speech
    relative.R.G.n log of that perplexity, less the mean of the logs over all levels
    oov.tokens.k   share of words that are not among the k most common words of the lowest level
    oov.types.k    the same share of different words

    perplexity = exp(-(1/M) sum log p),  M words and ends of sentences; unknown words count unless unknown=False
    IG(w)      = H(C) - P(w) H(C|w) - P(not w) H(C|not w)          w: the text has the word,  C: its level

Perplexities of a text by models of different levels differ by far less than those of different texts by one model. What
tells the level is the difference, and a penalty on weights keeps it small unless it is a feature itself.

A text of training must not be scored by models that have seen it, **nor by models that have seen another version of
it**: of several versions of an article, the models of the other levels know theirs, and the own level looks worst every
time. So all texts of its group are taken out of all models, exactly and without training again (`lm.LeaveOneOut`); all
orders come from one pass. The words of `mixed` are chosen without the group, too: groups are dealt into ten parts, and
each is scored with the words that the other nine choose.

Cost: one pass over the tokens for each level and representation; mixed ten times that. Reference: Feng et al. (2010).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats, Ints
from textmill.errors import DataError
from textmill.lm import LeaveOneOut, NGramModel, SentenceScores
from textmill.model import Estimator, Model, StringTable, check_choice, check_fitted, check_range
from textmill.progress import track
from textmill.tasks.readability.features import FeatureTable
from textmill.tasks.readability.layers import Layers, offsets_of

__all__ = ["REPRESENTATIONS", "LevelModels", "TokenArrays", "information_gain"]

REPRESENTATIONS = ("words", "tags", "pairs", "mixed")
SMOOTHINGS = ("witten-bell", "katz", "good-turing", "absolute", "jelinek-mercer")
COMMON = (100, 200, 500)
_PARTS = 10  # of groups, for the words of `mixed`


@dataclass(frozen=True, slots=True)
class TokenArrays:
    """Tokens and tags of texts by number: what models are made of."""

    names: list[str]
    type: NDArray[np.int32]
    tag_names: list[str]
    tag: NDArray[np.int32] | None
    word: NDArray[np.bool_]
    sentences: Ints
    documents: Ints

    @classmethod
    def of(cls, layers: Layers) -> TokenArrays:
        """Take those of annotated texts."""
        tag, tag_names = layers.tags if layers.has("tags") else (None, [])
        return cls(layers.names, layers.type, tag_names, tag, layers.word, layers.sentences, layers.documents)

    def __len__(self) -> int:
        return len(self.documents) - 1

    def take(self, rows: Any) -> TokenArrays:
        """Return some of the texts."""
        own = [np.arange(self.documents[row], self.documents[row + 1]) for row in rows]
        sentences = np.concatenate([np.zeros(0, np.int64), *own])
        lengths = np.diff(self.sentences)[sentences]
        begins = self.sentences[sentences]
        tokens = np.repeat(begins - offsets_of(lengths)[:-1], lengths) + np.arange(int(lengths.sum()))
        tag = None if self.tag is None else self.tag[tokens]
        return TokenArrays(
            self.names,
            self.type[tokens],
            self.tag_names,
            tag,
            self.word[tokens],
            offsets_of(lengths),
            offsets_of(len(some) for some in own),
        )

    def presence(self) -> tuple[Ints, Ints]:
        """Texts and words in them, every pair once."""
        text = np.repeat(np.arange(len(self)), np.diff(self.sentences[self.documents]))
        key = np.unique(text[self.word] * len(self.names) + self.type[self.word])
        return np.divmod(key, max(1, len(self.names)))

    def represented(self, kind: str, words: NDArray[np.bool_] | None = None) -> list[list[str]]:
        """Sentences in one representation; `words` are the types that `mixed` keeps."""
        if kind == "words":
            codes, names = self.type.astype(np.int64), self.names
        else:
            tag: Any = self.tag
            codes = tag.astype(np.int64)
            names = self.tag_names
            if kind == "pairs":
                key, codes = np.unique(codes * len(self.names) + self.type, return_inverse=True)
                tags, types = np.divmod(key, len(self.names))
                names = [f"{self.names[t]}/{self.tag_names[p]}" for t, p in zip(types, tags, strict=True)]
            elif kind == "mixed" and words is not None:
                codes = np.where(words[self.type], self.type + len(self.tag_names), codes)
                names = [*self.tag_names, *(f"{name}_" for name in self.names)]  # no word is taken for a tag
        tokens = np.array(names, dtype=object)[codes].tolist()
        return [tokens[a:b] for a, b in pairwise(self.sentences.tolist())]


def information_gain(present: Any, texts: Any) -> Floats:
    """Information gain in bits of words; `present` (levels, words): texts with the word, `texts` (levels,): all texts.

    >>> round(float(information_gain(np.array([[1], [2], [5], [8]]), np.array([10, 10, 10, 10]))[0]), 6)
    0.242738
    """
    present, texts = np.asarray(present, dtype=np.float64), np.asarray(texts, dtype=np.float64)
    total = texts.sum()
    absent = texts[:, None] - present

    def entropy(counts: Floats) -> Floats:
        sums = counts.sum(axis=0)
        shares = np.divide(counts, sums, out=np.zeros_like(counts), where=sums > 0)
        logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
        return np.asarray(-(shares * logs).sum(axis=0))

    share = present.sum(axis=0) / total
    return np.asarray(entropy(texts[:, None])[0] - share * entropy(present) - (1 - share) * entropy(absent))


class LevelModels(Estimator, Model):
    """N-gram models of each level, and its common words.

    Parameters:
        order: Longest n-grams; there are perplexities for all orders up to it.
        representations: Some of words, tags, pairs, mixed; all but words need tags.
        smoothing: witten-bell, katz, good-turing, absolute or jelinek-mercer; see `lm.NGramModel`.
        unknown: Whether words that a model does not know count, with its probability of unknown words; SRILM leaves
            them out.
        n_words: Words that `mixed` keeps.
        common: Sizes of the lists of common words; () for none.
        family: First part of the names of perplexities.
        n_jobs: Threads; None for all cores.

    Attributes:
        levels_: Names of levels, the easiest first, (L,).
        level_: Level of each text of training, by number.
        group_: Group of each text of training, by number.
    """

    takes: ClassVar[str] = "sequences"
    format_version: ClassVar[int] = 1
    layout: ClassVar[dict[str, str]] = {
        "levels_": "level: str",
        "names_": "type: str",
        "tag_names_": "tag: str",
        "types_": "token: int32",
        "tags_": "token: int32 | None",
        "words_": "token: bool",
        "sentences_": "sentence+1: int64",
        "documents_": "document+1: int64",
        "level_": "document: int64",
        "group_": "document: int64",
    }
    indices: ClassVar[dict[str, str]] = {"types_": "type", "tags_": "tag", "level_": "level", "group_": "document"}
    offsets: ClassVar[dict[str, str]] = {"sentences_": "token", "documents_": "sentence"}

    levels_: StringTable
    names_: StringTable
    tag_names_: StringTable
    types_: NDArray[np.int32]
    tags_: NDArray[np.int32] | None
    words_: NDArray[np.bool_]
    sentences_: Ints
    documents_: Ints
    level_: Ints
    group_: Ints

    def __init__(
        self,
        *,
        order: int = 5,
        representations: Sequence[str] = REPRESENTATIONS,
        smoothing: str = "witten-bell",
        unknown: bool = True,
        n_words: int = 300,
        common: Sequence[int] = COMMON,
        family: str = "lm",
        n_jobs: int | None = None,
    ) -> None:
        self.order = order
        self.representations = representations
        self.smoothing = smoothing
        self.unknown = unknown
        self.n_words = n_words
        self.common = common
        self.family = family
        self.n_jobs = n_jobs

    def fit(
        self, texts: Layers | TokenArrays, level: Sequence[str], groups: Sequence[Hashable], levels: Sequence[str]
    ) -> Self:
        """Learn from texts, the level and the group of each, and the names of levels, the easiest first."""
        check_range("order", self.order, at_least=1, at_most=9, whole=True)
        check_range("n_words", self.n_words, at_least=0, whole=True)
        check_choice("smoothing", self.smoothing, SMOOTHINGS)
        for name in self.representations:
            check_choice("representations", name, REPRESENTATIONS)
        arrays = TokenArrays.of(texts) if isinstance(texts, Layers) else texts
        if not len(arrays) == len(level) == len(groups):
            raise DataError(
                f"{len(arrays)} texts, {len(level)} levels and {len(groups)} groups; pass one for each text"
            )
        place = {name: i for i, name in enumerate(levels)}
        numbers: dict[Hashable, int] = {}
        self.levels_ = StringTable(levels)
        self.names_, self.tag_names_ = StringTable(arrays.names), StringTable(arrays.tag_names)
        self.types_, self.tags_, self.words_ = arrays.type, arrays.tag, arrays.word
        self.sentences_, self.documents_ = arrays.sentences, arrays.documents
        self.level_ = np.array([place[name] for name in level], dtype=np.int64)
        self.group_ = np.array([numbers.setdefault(group, len(numbers)) for group in groups], dtype=np.int64)
        self._forget()
        return self

    def _forget(self) -> None:
        for name in ("_arrays", "_models", "_kept"):
            vars(self).pop(name, None)

    @property
    def feature_names(self) -> list[str]:
        """Names of the features, in their order."""
        names = [
            f"{family}.{kind}.{level}.{n + 1}"
            for family in (self.family, *self._relative())
            for kind in self.representations
            for level in self.levels_.to_list()
            for n in range(self.order)
        ]
        return names + [f"oov.{what}.{k}" for k in self.common for what in ("tokens", "types")]

    def training_features(self) -> FeatureTable:
        """Return the features of the texts of training, each by models without its group."""
        check_fitted(self)
        arrays = self._training()
        for number, name in enumerate(self.levels_.to_list()):
            if len(np.unique(self.group_[self.level_ == number])) < 2:
                raise DataError(
                    f"all texts of level {name!r} are of one article, so that nothing is left to score them by: pass "
                    "texts of two articles or more of each level, or leave out the features lm, relative and oov"
                )
        columns = []
        parts = [np.flatnonzero(self.group_ == g) for g in range(int(self.group_.max()) + 1)]
        for kind in self.representations:
            if kind != "words" and arrays.tag is None:
                columns.append(np.full((len(arrays), len(self.levels_) * self.order), np.nan))
            elif kind == "mixed":
                values = np.empty((len(arrays), len(self.levels_) * self.order))
                for begin in track(range(min(_PARTS, len(parts))), "mixed words"):
                    some = parts[begin::_PARTS]
                    out = np.concatenate(some)
                    selected = self._informative(np.isin(np.arange(len(arrays)), out, invert=True))
                    values[out] = self._held_out(kind, selected, some)[out]
                columns.append(values)
            else:
                columns.append(self._held_out(kind, None, parts))
        columns = [*self._with_relative(columns), self._strange(arrays, [(rows, rows) for rows in parts])]
        return FeatureTable(self.feature_names, np.hstack(columns))

    def transform(self, texts: Layers | TokenArrays) -> FeatureTable:
        """Return the features of new texts, by models of all texts of training."""
        check_fitted(self)
        arrays = TokenArrays.of(texts) if isinstance(texts, Layers) else texts
        columns = []
        for kind in self.representations:
            if (kind != "words" and arrays.tag is None) or (kind != "words" and self.tags_ is None):
                columns.append(np.full((len(arrays), len(self.levels_) * self.order), np.nan))
                continue
            selected = self._kept_words() if kind == "mixed" else None
            sentences = arrays.represented(kind, None if selected is None else self._among(arrays, selected))
            by_level = []
            for level in range(len(self.levels_)):
                scores = self._model(kind, level, selected).scores_by_order([([], sentences)])[0]
                by_level.append(_perplexities(scores, arrays.documents, unknown=self.unknown))
            columns.append(np.hstack(by_level))
        every = np.zeros(0, np.int64), np.arange(len(arrays))
        columns = [*self._with_relative(columns), self._strange(arrays, [every])]
        return FeatureTable(self.feature_names, np.hstack(columns))

    def _relative(self) -> tuple[str, ...]:
        """The group of relative perplexities; other corpora have none."""
        return ("relative",) if self.family == "lm" else ()

    def _with_relative(self, columns: list[Floats]) -> list[Floats]:
        """Perplexities of each representation, (texts, levels x orders), and behind them the relative ones."""
        levels = len(self.levels_)
        relative = []
        for values in columns if self._relative() else ():
            logs = np.log(values).reshape(len(values), levels, self.order)
            relative.append((logs - logs.mean(axis=1, keepdims=True)).reshape(values.shape))
        return [*columns, *relative]

    def _training(self) -> TokenArrays:
        if "_arrays" not in vars(self):
            names, tags = self.names_.to_list(), self.tag_names_.to_list()
            self._arrays = TokenArrays(
                names, self.types_, tags, self.tags_, self.words_, self.sentences_, self.documents_
            )
            self._models: dict[tuple[str, int], LeaveOneOut] = {}
            self._kept: NDArray[np.bool_] | None = None
        return self._arrays

    def _informative(self, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The types of highest information gain by some texts of training."""
        arrays = self._training()
        text, kind = arrays.presence()
        chosen = rows[text]
        levels = len(self.levels_)
        present = np.zeros((levels, len(arrays.names)))
        np.add.at(present, (self.level_[text[chosen]], kind[chosen]), 1)
        gain = information_gain(present, np.bincount(self.level_[rows], minlength=levels))
        selected = np.zeros(len(arrays.names), dtype=bool)
        selected[np.argsort(-gain, kind="stable")[: self.n_words]] = True
        return selected & (gain > 0)

    def _kept_words(self) -> NDArray[np.bool_]:
        self._training()
        if self._kept is None:
            self._kept = self._informative(np.ones(len(self.level_), dtype=bool))
        return self._kept

    def _among(self, arrays: TokenArrays, selected: NDArray[np.bool_]) -> NDArray[np.bool_]:
        words = {name for name, keep in zip(self._training().names, selected, strict=True) if keep}
        return np.array([name in words for name in arrays.names], dtype=bool)

    def _model(self, kind: str, level: int, selected: NDArray[np.bool_] | None) -> LeaveOneOut:
        """The model of all texts of one level, made once."""
        arrays = self._training()
        if (kind, level) not in self._models:
            own = arrays.take(np.flatnonzero(self.level_ == level))
            self._models[kind, level] = self._fitted(own.represented(kind, selected))
        return self._models[kind, level]

    def _fitted(self, sentences: list[list[str]]) -> LeaveOneOut:
        model = NGramModel(order=self.order, smoothing=self.smoothing, n_jobs=self.n_jobs)
        return LeaveOneOut(model).fit(sentences)

    def _held_out(self, kind: str, selected: NDArray[np.bool_] | None, parts: Sequence[Ints]) -> Floats:
        """Perplexities of texts, part by part, by models without the part; of other texts nothing."""
        arrays = self._training()
        sentences = arrays.represented(kind, selected)
        texts = [sentences[a:b] for a, b in pairwise(arrays.documents.tolist())]
        values = np.full((len(arrays), len(self.levels_) * self.order), np.nan)
        for level in range(len(self.levels_)):
            members = np.flatnonzero(self.level_ == level)
            model = self._fitted([sentence for row in members for sentence in texts[row]])
            jobs = [
                (
                    [s for row in rows if self.level_[row] == level for s in texts[row]],
                    [s for row in rows for s in texts[row]],
                )
                for rows in parts
            ]
            at = slice(level * self.order, (level + 1) * self.order)
            for rows, scores in zip(parts, model.scores_by_order(jobs), strict=True):
                documents = offsets_of(len(texts[row]) for row in rows)
                values[rows, at] = _perplexities(scores, documents, unknown=self.unknown)
        return values

    def _strange(self, arrays: TokenArrays, parts: Sequence[tuple[Ints, Ints]]) -> Floats:
        """Shares of words that are not common; parts are texts of training to leave out, and texts to look at."""
        if not self.common:
            return np.zeros((len(arrays), 0))
        own = self._training()
        text = np.repeat(np.arange(len(own)), np.diff(own.sentences[own.documents]))
        lowest = own.word & (self.level_[text] == 0)
        total = np.bincount(own.type[lowest], minlength=len(own.names))
        ids = {name: i for i, name in enumerate(own.names)}
        own_ids = np.array([ids.get(name, -1) for name in arrays.names], dtype=np.int64)
        bounds, values = arrays.sentences[arrays.documents], np.zeros((len(arrays), 2 * len(self.common)))
        first = own.sentences[own.documents]
        for removed, rows in parts:
            counts = total.copy()
            for row in removed:
                stretch = slice(int(first[row]), int(first[row + 1]))
                counts -= np.bincount(own.type[stretch][lowest[stretch]], minlength=len(counts))
            order = np.argsort(-counts, kind="stable")
            rank = np.empty(len(order) + 1, dtype=np.int64)
            rank[order] = np.arange(len(order))
            rank[:-1][counts == 0] = len(order)
            rank[-1] = len(order)  # a word that training never saw
            for row in rows:
                stretch = slice(int(bounds[row]), int(bounds[row + 1]))
                types = own_ids[arrays.type[stretch][arrays.word[stretch]]]
                distinct = np.unique(arrays.type[stretch][arrays.word[stretch]])
                for at, k in enumerate(self.common):
                    values[row, 2 * at] = (rank[types] >= k).mean()
                    values[row, 2 * at + 1] = (rank[own_ids[distinct]] >= k).mean()
        return values


def _perplexities(scores: Sequence[SentenceScores], documents: Ints, *, unknown: bool) -> Floats:
    """Perplexities of texts, which are stretches of sentences, by each of several models."""
    columns = []
    for own in scores:
        logs, words = own.log_probability, own.words
        if not unknown:
            logs, words = logs - own.unknown_log_probability, words - own.unknown
        sums = [np.add.reduceat(values, documents[:-1]) for values in (logs, words)]
        columns.append(10.0 ** (-sums[0] / np.maximum(sums[1], 1)))
    return np.column_stack(columns)
