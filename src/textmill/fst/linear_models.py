"""Linear models of tags and classes as lazy machines.

    cost(words, tags) = - sum over positions i and features f that match at i of weight(f)

A feature looks at the words around a position, by their values in one or more columns (the word itself, its ending,
its shape ...), at the tag of the position, and at tags before. A `LinearTagger` reads words and writes one tag for
each; its best path is the best tagging, and it is composed, searched and sampled like any machine: along lattices of
words, with a grammar of tags behind it. A `LinearClassifier` writes one class for all words.

`machine(words)` runs along an acceptor of words, whose states and words are the only ones looked at; without it the
machine reads any words of the model. States are made when they are asked for (native/fst/linear_model.h).

Reference: Wu, Allauzen, Hall, Riley & Roark (2014), Encoding linear models as weighted finite-state transducers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from textmill._native import fst as native
from textmill.errors import DataError, ModelFileError
from textmill.fst.lazy.machine import CACHE, LazyFst, as_lazy
from textmill.fst.machine import Fst, agreed
from textmill.fst.paths import shortest_path
from textmill.fst.rational import relabel_symbols
from textmill.fst.semirings import semiring
from textmill.fst.symbols import SymbolTable
from textmill.model import Model, StringTable, check_range

__all__ = ["LinearClassifier", "LinearFeature", "LinearTagger", "read_features"]

BEGIN, END = "<s>", "</s>"
Slot = tuple[int, int]


@dataclass(frozen=True)
class LinearFeature:
    """The weight of a tag where words around it have these values, and the tags before it are these.

    `values` maps an offset, or (offset, column), to a value; <s> and </s> stand beyond the first and the last word.
    `before` has the tags before, the nearest first.

    >>> LinearFeature("NOUN", 1.5, {-1: "the"}, before=("DET",)).weight
    1.5
    """

    tag: str
    weight: float
    values: Mapping[int | Slot, str] = field(default_factory=dict)
    before: tuple[str, ...] = ()


class _Linear(Model):
    """Weights of features in columns, by template: slots of the input and the number of tags before."""

    layout: ClassVar[dict[str, str]] = {
        "words": "word: str",
        "tags": "tag: str",
        "values": "word column: int32",
        "begin": "distance column: int32",
        "end": "distance_behind column: int32",
        "slots": "slot two: int32",
        "slot_ends": "template+1: int64",
        "tags_before": "template: int32",
        "keys": "key: int32",
        "feature_tags": "feature: int32",
        "feature_templates": "feature: int32",
        "weights": "feature: float64",
        "bias": "tag: float64",
    }
    indices: ClassVar[dict[str, str]] = {"feature_tags": "tag", "feature_templates": "template"}
    offsets: ClassVar[dict[str, str]] = {"slot_ends": "slot"}

    words: StringTable
    tags: StringTable
    values: NDArray[np.int32]  # of each word in each column; -1: none that a feature knows
    begin: NDArray[np.int32]
    end: NDArray[np.int32]
    slots: NDArray[np.int32]  # offset, column
    slot_ends: NDArray[np.int64]
    tags_before: NDArray[np.int32]
    keys: NDArray[np.int32]  # of feature after feature: values, then tags before
    feature_tags: NDArray[np.int32]
    feature_templates: NDArray[np.int32]  # never decreases
    weights: NDArray[np.float64]
    bias: NDArray[np.float64]  # of classes; 0 for tags
    _opened: native.LinearModel | None = None

    @classmethod
    def _from(
        cls,
        features: Iterable[LinearFeature],
        words: Mapping[str, Sequence[str]] | Iterable[str],
        borders: tuple[Sequence[Sequence[str]], Sequence[Sequence[str]]] | None,
        tags: Iterable[str],
        bias: Mapping[str, float],
    ) -> Self:
        """From features; `borders` are values before and behind the words, nearest first, for each column."""
        rows = (
            {word: tuple(row) for word, row in words.items()}
            if isinstance(words, Mapping)
            else {word: (word,) for word in words}
        )
        width = len(next(iter(rows.values()), ("",)))
        if any(len(row) != width for row in rows.values()):
            raise DataError(f"a word has another number of columns than the first one, {width}")
        listed = list(features)
        tag_names = sorted({feature.tag for feature in listed} | set(tags) | set(bias))
        tag_number = {tag: number for number, tag in enumerate(tag_names)}
        numbers: dict[tuple[int, str], int] = {}  # of values by column
        templates: dict[tuple[tuple[Slot, ...], int], list[tuple[list[int], int, float]]] = {}
        for feature in listed:
            slots = sorted(((at, 0) if isinstance(at, int) else at, value) for at, value in feature.values.items())
            for (_, column), _ in slots:
                if not 0 <= column < width:
                    raise DataError(f"a feature of {feature.tag!r} looks at column {column}; words have {width}")
            unknown = [tag for tag in feature.before if tag not in tag_number]
            if unknown:
                continue  # a tag that is never written
            key = [numbers.setdefault((column, value), len(numbers)) for (_, column), value in slots]
            key += [tag_number[tag] for tag in feature.before]
            shape = (tuple(slot for slot, _ in slots), len(feature.before))
            templates.setdefault(shape, []).append((key, tag_number[feature.tag], feature.weight))
        model = cls()
        model.words, model.tags = StringTable(list(rows)), StringTable(tag_names)
        look_up = [[numbers.get((column, value), -1) for column, value in enumerate(row)] for row in rows.values()]
        model.values = np.array(look_up, dtype=np.int32).reshape(len(rows), width)
        before, behind = borders or ([(BEGIN,) * width], [(END,) * width])
        model.begin, model.end = (
            np.array([[numbers.get(pair, -1) for pair in enumerate(row)] for row in side], np.int32).reshape(-1, width)
            for side in (before, behind)
        )
        model.slots = np.array([slot for slots, _ in templates for slot in slots], np.int32).reshape(-1, 2)
        model.slot_ends = np.cumsum([0, *(len(slots) for slots, _ in templates)]).astype(np.int64)
        model.tags_before = np.array([count for _, count in templates], np.int32)
        model.keys = np.array([n for rows in templates.values() for key, _, _ in rows for n in key], np.int32)
        model.feature_tags = np.array([tag for rows in templates.values() for _, tag, _ in rows], np.int32)
        sizes = [len(rows) for rows in templates.values()]
        model.feature_templates = np.repeat(np.arange(len(sizes)), sizes).astype(np.int32)
        model.weights = np.array([w for rows in templates.values() for _, _, w in rows], np.float64)
        model.bias = np.array([bias.get(tag, 0.0) for tag in tag_names], np.float64)
        model._native()
        return model

    def check_values(self) -> None:
        """Refuse what no features can be."""
        try:
            self._native()
        except DataError as fault:
            raise ModelFileError(f"the features do not fit together: {fault.message}", reason="damaged") from None

    def _native(self) -> native.LinearModel:
        if self._opened is None:
            width = self.values.shape[1]
            padded = np.concatenate([np.full((1, width), -1, np.int32), self.values])  # label 0 is no word
            labels = list(range(1, len(self.tags) + 1))
            opened = native.LinearModel.of(
                width,
                padded.ravel(),
                np.ascontiguousarray(self.begin).ravel(),
                np.ascontiguousarray(self.end).ravel(),
                labels,
            )
            if self.slots.shape[1:] != (2,) or (np.diff(self.feature_templates) < 0).any():
                raise DataError("features are not sorted by their templates")
            counts = np.bincount(self.feature_templates, minlength=len(self.tags_before))
            at = done = 0
            for number, count in enumerate(counts.tolist()):
                slots = self.slots[self.slot_ends[number] : self.slot_ends[number + 1]]
                wide = len(slots) + int(self.tags_before[number])
                keys = self.keys[at : at + count * wide]
                if len(keys) != count * wide or wide < 0:
                    raise DataError("the values of a feature are missing")
                part = slice(done, done + count)
                opened.add(
                    [tuple(slot) for slot in slots.tolist()],
                    int(self.tags_before[number]),
                    np.ascontiguousarray(keys.reshape(count, wide)),
                    np.ascontiguousarray(self.feature_tags[part]),
                    np.ascontiguousarray(self.weights[part]),
                )
                at, done = at + count * wide, done + count
            if at != len(self.keys):
                raise DataError("there are values that no feature has")
            self._opened = opened
        return self._opened

    @property
    def input_symbols(self) -> SymbolTable:
        """The words, between <eps> and the end."""
        return SymbolTable(["<eps>", *self.words])

    @property
    def output_symbols(self) -> SymbolTable:
        """The tags."""
        return SymbolTable(["<eps>", *self.tags])

    def _input(self, words: Fst | LazyFst | Sequence[str] | None, semiring_name: str) -> LazyFst:
        """What the machine runs along: a machine, a list of words, or all words in any order."""
        symbols = self.input_symbols
        if isinstance(words, Fst):
            names = words.output_symbols or words.input_symbols
            if names is not None and not names.compatible(symbols):
                return as_lazy(_renumbered(words, names, symbols))
        if isinstance(words, Fst | LazyFst):
            agreed(words.output_symbols, symbols, "symbols of the words and of the linear model")
            return as_lazy(words)
        labels = {word: number for number, word in enumerate(self.words, 1)}
        machine = Fst(semiring(semiring_name), input_symbols=symbols, output_symbols=symbols)
        machine.start = machine.add_state()
        if words is None:
            for label in labels.values():
                machine.add_arc(0, label, label, None, 0)
        for word in words or ():
            label = labels.get(word, len(labels) + 1)  # beyond all words: one that no feature knows
            machine.add_arc(machine.num_states - 1, label, label, None, machine.add_state())
        machine.set_final(machine.num_states - 1)
        return as_lazy(machine)

    def machine(
        self,
        words: Fst | LazyFst | Sequence[str] | None = None,
        *,
        semiring_name: str = "tropical",
        cache: int | None = CACHE,
    ) -> LazyFst:
        """The lazy machine along an acceptor or a list of words; without them it reads any words of the model.

        Words of an acceptor with symbols are known by their names; those that the model has not get further numbers.

        >>> tagger = LinearTagger.from_features([LinearFeature("X", 1.0)], ["a"])
        >>> len(tagger.machine().arcs(0))
        1
        >>> judge = LinearClassifier.from_features([LinearFeature("c", 1.0, {0: "a"})], ["a"])
        >>> [arc.olabel for arc in judge.machine().arcs(0)]
        [1]
        """
        if cache is not None:
            check_range("cache", cache, at_least=0)
        source = self._input(words, semiring_name)
        machine = self._along(source._native, cache)
        return LazyFst(machine, source.input_symbols or self.input_symbols, self.output_symbols)

    def _along(self, source: Any, cache: int | None) -> Any:
        raise NotImplementedError

    def best_outputs(self, words: Sequence[str], n_paths: int = 1) -> list[tuple[float, list[str]]]:
        """The best outputs of a list of words, with their costs.

        >>> tagger = LinearTagger.from_features([LinearFeature("X", 1.0), LinearFeature("Y", 0.25)], ["a"])
        >>> tagger.best_outputs(["a"], 2)
        [(-1.0, ['X']), (-0.25, ['Y'])]
        """
        check_range("n_paths", n_paths, at_least=1)
        # weights may be better than one, so the few states are written out before the search
        paths = shortest_path(self.machine(words, semiring_name="tropical64").expand(), n_paths)
        answers: list[tuple[float, list[str]]] = []
        line: list[tuple[float, tuple[int, ...], int]] = [(0.0, (), paths.start)] if paths.start >= 0 else []
        while line:
            cost, outputs, state = line.pop()
            if (final := paths.final(state)) != paths.semiring.zero:
                answers.append((cost + final, [self.tags[label - 1] for label in outputs if label]))
            line += [(cost + arc.weight, (*outputs, arc.olabel), arc.nextstate) for arc in paths.arcs(state)]
        return sorted(answers)[:n_paths]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": None}


class LinearTagger(_Linear):
    """A tag for each word.

    >>> features = [LinearFeature("D", 2.0, {0: "the"}), LinearFeature("N", 1.0, before=("D",))]
    >>> features.append(LinearFeature("V", 0.5))
    >>> tagger = LinearTagger.from_features(features, ["the", "run"])
    >>> tagger.best(["the", "run"]), tagger.best(["run"])
    (['D', 'N'], ['V'])
    """

    format_version: ClassVar[int] = 1

    @classmethod
    def from_features(
        cls,
        features: Iterable[LinearFeature],
        words: Mapping[str, Sequence[str]] | Iterable[str],
        *,
        tags: Iterable[str] = (),
        borders: tuple[Sequence[Sequence[str]], Sequence[Sequence[str]]] | None = None,
    ) -> LinearTagger:
        """A tagger of its features.

        `words` are those it reads, or a mapping of them to their values in all columns; `tags` those it writes besides
        the ones of features; `borders` the values before the first and behind the last word, nearest first.

        >>> LinearTagger.from_features([LinearFeature("X", 1.0)], {"a": ("a", "short")}).values.shape
        (1, 2)
        """
        return cls._from(features, words, borders, tags, {})

    def _along(self, source: Any, cache: int | None) -> Any:
        return self._native().tagger(source, cache)

    def best(self, words: Sequence[str]) -> list[str]:
        """The best tags of words.

        >>> LinearTagger.from_features([LinearFeature("X", 1.0)], ["a"]).best(["a", "a"])
        ['X', 'X']
        """
        return self.best_outputs(words)[0][1]


class LinearClassifier(_Linear):
    """One class for all words.

    >>> features = [LinearFeature("spam", 2.0, {0: "win"}), LinearFeature("ham", 1.0, {0: "hello"})]
    >>> judge = LinearClassifier.from_features(features, ["win", "hello"], bias={"ham": 0.5})
    >>> judge.best(["hello", "win"]), judge.best([])
    ('spam', 'ham')
    """

    format_version: ClassVar[int] = 1

    @classmethod
    def from_features(
        cls,
        features: Iterable[LinearFeature],
        words: Mapping[str, Sequence[str]] | Iterable[str],
        *,
        bias: Mapping[str, float] | None = None,
    ) -> LinearClassifier:
        """A classifier of its features, which look at a word and at those before it, and of weights of the classes.

        >>> LinearClassifier.from_features([LinearFeature("c", 1.0, {-1: "a", 0: "b"})], ["a", "b"]).tags.to_list()
        ['c']
        """
        return cls._from(features, words, None, (), bias or {})

    def _along(self, source: Any, cache: int | None) -> Any:
        return self._native().classifier(source, self.bias.tolist(), cache)

    def best(self, words: Sequence[str]) -> str:
        """The best class of words.

        >>> LinearClassifier.from_features([LinearFeature("c", 1.0, {0: "a"})], ["a"]).best(["a"])
        'c'
        """
        return self.best_outputs(words)[0][1][0]


def _renumbered(words: Fst, names: SymbolTable, symbols: SymbolTable) -> Fst:
    """An acceptor with the numbers that its words have in a table, which grows by those it has not."""
    acceptor = words.copy()
    acceptor.input_symbols = acceptor.output_symbols = names
    table = symbols.copy()
    for label in np.unique(words.arrays()[1]["ilabel"]).tolist():
        if label and names.symbol(label) not in table:
            table.add(names.symbol(label))
    return relabel_symbols(acceptor, input_symbols=table, output_symbols=table)


def read_features(path: str | PathLike[str]) -> list[LinearFeature]:
    r"""Features from a text file, one per line: tag, weight, tags before, values, with tabs between them.

    Tags before have commas between them, the nearest first; - is none. A value is OFFSET=VALUE or OFFSET,COLUMN=VALUE.
    Lines that begin with # are comments.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "f.txt").write_text("N\t1.5\tD\t-1=the\t0=dog\n")
    ...     read_features(f"{folder}/f.txt")[0].before
    ('D',)
    """
    features = []
    text = Path(path).read_bytes().decode("utf-8", "replace")
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.rstrip("\r").split("\t")
        try:
            tag, weight, before, *conditions = fields
            values: dict[int | Slot, str] = {}
            for condition in conditions:
                place, _, value = condition.partition("=")
                offset, _, column = place.partition(",")
                values[int(offset), int(column or 0)] = value
            tags = () if before == "-" else tuple(before.split(","))
            features.append(LinearFeature(tag, float(weight), values, tags))
        except ValueError:
            wanted = "'TAG<tab>WEIGHT<tab>TAGS BEFORE or -<tab>OFFSET=VALUE ...'"
            raise DataError(f"a feature is written as {wanted}", source=str(path), line=number) from None
    return features
