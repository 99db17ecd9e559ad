"""What a transcriber is joined from: models that read words in a Unicode form and write outputs in a notation.

    word --form--> letters --model--> symbols --notation back--> output

`Notation` says how outputs are written for the model: as they are, in a Unicode form (NFD opens the syllables of
Hangul), or as the sounds of a script pack. Candidates of all parts are compared as outputs, so parts of different forms
and notations can be joined.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from textmill._native import tasks as native
from textmill.arrays import Floats, Ids, Ints
from textmill.fst import Alignment
from textmill.lm import CandidateArrays, OutputAcceptor, PairModel
from textmill.model import effective_jobs
from textmill.tasks.transcription.joining import CandidateTable
from textmill.tasks.transcription.letters import LetterCRF
from textmill.tasks.transcription.scripts import script_pack

__all__ = ["FORMS", "Notation", "Outputs", "Part", "candidates_of", "hashable", "in_form", "plain"]

_FLOOR = -30.0  # ln p of what a model cannot write
_LISTED = 100  # outputs among which a part looks for candidates of others before it is asked for their scores
_MOST_CELLS = 500_000  # letters times symbols of the outputs that a part is asked for
_NOTHING = "\x1e"  # no symbol
FORMS = ("NFC", "NFD", "as it is")


def in_form(word: Any, form: str) -> Any:
    """A word in a Unicode form; the symbols of a list one by one.

    >>> len(in_form("한", "NFD")), in_form(["e\u0301"], "NFC") == ["é"]
    (3, True)
    """
    if form == "as it is":
        return word
    if isinstance(word, str):
        return unicodedata.normalize(form, word)  # type: ignore[arg-type]
    return [unicodedata.normalize(form, symbol) for symbol in word]  # type: ignore[arg-type]


@dataclass(frozen=True)
class Notation:
    """How outputs are written for a model: "as it is", "NFD", or the name of a script pack.

    >>> notation = Notation("katakana")
    >>> notation.write("シャツ"), notation.read(["sh", "a", "ts", "u"])
    (['sh', 'a', 'ts', 'u'], 'シャツ')
    """

    name: str = "as it is"

    def write(self, output: Any) -> Any:
        """The symbols of an output, or None where the notation has none for it."""
        if self.name in FORMS:
            return in_form(output, self.name)
        return script_pack(self.name).encode(output)

    def read(self, symbols: Any) -> Any:
        """The output of symbols, or None where they are no output."""
        if self.name in FORMS:
            return in_form(symbols, "NFC") if self.name == "NFD" else symbols
        return script_pack(self.name).decode(list(symbols))

    def acceptor(self, symbols: Sequence[str]) -> OutputAcceptor | None:
        """Which outputs are well formed, where the script says it."""
        return None if self.name in FORMS else script_pack(self.name).acceptor(symbols)


@dataclass
class Part:
    """A model with the form of its inputs and the notation of its outputs."""

    name: str
    model: PairModel | LetterCRF
    form: str
    notation: Notation

    def answers(self, words: Sequence[Any], k: int) -> CandidateArrays:
        """The best outputs of each word, in the symbols of the notation, with ln p(y | x)."""
        read = [in_form(word, self.form) for word in words]
        if isinstance(self.model, LetterCRF):
            return self.model.predict_arrays(read, k)
        return self.model.predict_arrays(read, k, acceptor=self.notation.acceptor(self.model.output_symbols_))

    def output(self, symbols: list[str]) -> Any:
        """The output of symbols, as a key; None where they are no output."""
        return hashable(self.notation.read("".join(symbols) if self.model.text_output_ else symbols))

    def best(self, words: Sequence[Any]) -> list[Any]:
        """The best output of each word, as a key; None where there is none."""
        table = candidates_of([self], words, 1)[0]
        return table.best(np.ones(1))


def candidates_of(parts: Sequence[Part], words: Sequence[Any], k: int) -> tuple[CandidateTable, Outputs]:
    """The candidates of words by all parts, with the score of each by each, and what they are.

    A part is asked for the score of what it did not list.
    """
    answers = [part.answers(words, max(k, _LISTED)) for part in parts]
    numbers: dict[str, list[int]] = {}
    for m, part in enumerate(parts):
        numbers.setdefault(part.notation.name, []).append(m)
    groups = [_Group([parts[m] for m in some], [answers[m] for m in some], some, k) for some in numbers.values()]
    if len(groups) == 1:
        begin, rows = groups[0].begin, [np.arange(len(groups[0].model))]
        outputs = Outputs(groups, np.zeros(len(rows[0]), dtype=np.int64), rows[0])
    else:
        begin, rows, outputs = _united(groups)
    scores = np.empty((len(outputs), len(parts)))
    for group, places in zip(groups, rows, strict=True):
        scores[:, group.numbers] = group.scored(words, begin, places, outputs)
    return CandidateTable(begin, outputs, np.maximum(scores, _FLOOR)), outputs


class _Group:
    """Parts of one notation, whose candidates are put together as numbers of the same symbols."""

    def __init__(self, parts: list[Part], answers: list[CandidateArrays], numbers: list[int], k: int) -> None:
        self.parts, self.answers, self.numbers = parts, answers, numbers
        place: dict[str, int] = {}
        self.renamed = [
            np.array([place.setdefault(symbol, len(place)) for symbol in one.symbols], dtype=np.int32)
            for one in answers
        ]
        self.symbols, self.place = list(place), place
        acceptor = parts[0].notation.acceptor(self.symbols)
        if acceptor is None:
            after, accept = np.zeros((0, len(place)), dtype=np.int32), np.zeros(0, dtype=np.uint8)
        else:
            after, accept = acceptor.table(self.symbols)
        lists = [
            (one.begin, one.log_probability, one.output_begin, renamed[one.outputs])
            for one, renamed in zip(answers, self.renamed, strict=True)
        ]
        self.threads = effective_jobs(parts[0].model.n_jobs)
        self.begin, self.output_begin, self.outputs, self.model, self.number, scores = native.join_lists(
            lists, most=k, symbols=len(place), next=after, accept=accept, threads=self.threads
        )
        self.scores = scores.reshape(-1, len(parts))

    def output(self, c: int) -> Any:
        """Candidate c as a key."""
        numbers = self.outputs[int(self.output_begin[c]) : int(self.output_begin[c + 1])].tolist()
        return self.parts[0].output([self.symbols[number] for number in numbers])

    def alignment(self, c: int) -> Alignment:
        """The best alignment of candidate c, by the first part that has it."""
        return self.answers[int(self.model[c])].alignment(int(self.number[c]))

    def scored(self, words: Sequence[Any], begin: Ints, places: Ints, outputs: Outputs) -> Floats:
        """ln p of the candidates of all groups; `places` are their numbers here, -1 for those of others."""
        listed = places >= 0
        scores = np.full((len(places), len(self.parts)), np.nan)
        scores[listed] = self.scores[places[listed]]
        if listed.all():
            output_begin, flat = self.output_begin, self.outputs
        else:
            runs = [
                self.outputs[int(self.output_begin[c]) : int(self.output_begin[c + 1])] if c >= 0 else self._coded(o)
                for c, o in zip(places.tolist(), outputs, strict=True)
            ]
            output_begin = np.concatenate([[0], np.cumsum([len(run) for run in runs])]).astype(np.int64)
            flat = np.concatenate(runs).astype(np.int32)
        owner = np.repeat(np.arange(len(words)), np.diff(begin))
        for m, (part, answers, renamed) in enumerate(zip(self.parts, self.answers, self.renamed, strict=True)):
            unlisted = np.isnan(scores[:, m])
            missing = np.flatnonzero(unlisted & ~self._too_long(words, owner, output_begin, unlisted))
            scores[unlisted, m] = -np.inf
            if not len(missing):
                continue
            own = np.full(len(self.symbols) + 1, len(answers.symbols), dtype=np.int32)  # the last for all others
            own[renamed] = np.arange(len(renamed))
            asked, where = np.unique(owner[missing], return_inverse=True)
            lists = np.concatenate([[0], np.cumsum(np.bincount(where, minlength=len(asked)))]).astype(np.int64)
            some_begin, some = _runs(output_begin, flat, missing)
            read = [in_form(words[w], part.form) for w in asked.tolist()]
            values = part.model.score_lists(read, lists, some_begin, own[some])
            total = answers.total[owner[missing]]
            scores[missing, m] = np.where(np.isfinite(total), values, -np.inf) - np.where(np.isfinite(total), total, 0)
        return scores

    @staticmethod
    def _too_long(words: Sequence[Any], owner: Ints, output_begin: Ints, unlisted: Any) -> Any:
        """Which candidates are of words with so many letters, times symbols of candidates, that none is asked for."""
        symbols = np.bincount(owner, weights=np.diff(output_begin) * unlisted, minlength=len(words))
        letters = np.fromiter(map(len, words), np.float64, len(words))
        return (letters * symbols > _MOST_CELLS)[owner]

    def _coded(self, output: Any) -> Ids:
        written = self.parts[0].notation.write(plain(output))
        symbols = [_NOTHING] if written is None else written  # a symbol that nothing writes: no score
        return np.array([self.place.get(symbol, len(self.place)) for symbol in symbols], dtype=np.int32)


class Outputs(Sequence[Any]):
    """The outputs of candidates as keys, put into words when they are asked for."""

    def __init__(self, groups: list[_Group], group: Ints, place: Ints) -> None:
        self._groups, self._group, self._place = groups, group, place

    def __len__(self) -> int:
        return len(self._group)

    def __getitem__(self, c: Any) -> Any:
        if isinstance(c, slice):
            return [self[i] for i in range(*c.indices(len(self)))]
        return self._groups[int(self._group[c])].output(int(self._place[c]))

    def alignment(self, c: int) -> Alignment:
        """The best alignment of candidate c, by the first part that has it."""
        return self._groups[int(self._group[c])].alignment(int(self._place[c]))


def _united(groups: list[_Group]) -> tuple[Ints, list[Ints], Outputs]:
    """The candidates of several notations: where words begin, the number of each by group, -1 for none, and outputs."""
    begin: list[int] = [0]
    rows: list[list[int]] = []
    for w in range(len(groups[0].begin) - 1):
        union: dict[Any, list[int]] = {}
        for g, group in enumerate(groups):
            for c in range(int(group.begin[w]), int(group.begin[w + 1])):
                output = group.output(c)
                if output is None:
                    continue
                places = union.setdefault(output, [-1] * len(groups))
                places[g] = c if places[g] < 0 else places[g]
        rows += union.values()
        begin.append(len(rows))
    table = np.array(rows, dtype=np.int64).reshape(-1, len(groups))
    first = (table >= 0).argmax(axis=1)
    outputs = Outputs(groups, first, table[np.arange(len(table)), first])
    return np.array(begin, dtype=np.int64), list(table.T), outputs


def _runs(begin: Ints, values: Ids, rows: Ints) -> tuple[Ints, Ids]:
    """Some runs of an array that offsets cut, one behind the other."""
    lengths = (begin[1:] - begin[:-1])[rows]
    new = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    picked = np.arange(int(new[-1])) + np.repeat(begin[:-1][rows] - new[:-1], lengths)
    return new, values[picked]


def hashable(output: Any) -> Any:
    """An output that can be a key."""
    return output if output is None or isinstance(output, str) else tuple(output)


def plain(output: Any) -> Any:
    """The output of a key."""
    return output if isinstance(output, str) else list(output)
