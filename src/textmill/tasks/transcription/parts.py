"""What a transcriber is joined from: models that read words in a Unicode form and write outputs in a notation.

    word --form--> letters --model--> symbols --notation back--> output

`Notation` says how outputs are written for the model: as they are, in a Unicode form (NFD opens the syllables of
Hangul), or as the sounds of a script pack. Candidates of all parts are compared as outputs, so parts of different forms
and notations can be joined.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from textmill.lm import OutputAcceptor, PairModel
from textmill.tasks.transcription.joining import CandidateTable
from textmill.tasks.transcription.letters import LetterCRF
from textmill.tasks.transcription.scripts import script_pack

__all__ = ["FORMS", "Notation", "Part", "candidates_of", "hashable", "in_form", "plain"]

_FLOOR = -30.0  # ln p of what a model cannot write
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

    def best(self, words: Sequence[Any], k: int) -> list[dict[Any, tuple[float, Any]]]:
        """Of each word the k best outputs: ln p(y | x) and the alignment."""
        read = [in_form(word, self.form) for word in words]
        acceptor = None
        if isinstance(self.model, PairModel):
            acceptor = self.notation.acceptor(self.model.output_symbols_)
            rows = self.model.predict_best(read, k, acceptor=acceptor)
        else:
            acceptor = self.notation.acceptor(self.model.symbols_.to_list())
            rows = self.model.predict_best(read, k)
        answers: list[dict[Any, tuple[float, Any]]] = []
        for row in rows:
            outputs: dict[Any, tuple[float, Any]] = {}
            for one in row:
                if acceptor is not None and not acceptor.allows(one.output):
                    continue
                output = hashable(self.notation.read(one.output))
                if output is not None and output not in outputs:
                    outputs[output] = (math.log(max(one.probability, 1e-13)), one.alignment)
            answers.append(outputs)
        return answers

    def scores(self, words: Sequence[Any], outputs: Sequence[Any]) -> list[float]:
        """ln p(y | x) of outputs, as far as it is above a floor."""
        read = [in_form(word, self.form) for word in words]
        written = [self.notation.write(output) for output in outputs]
        good = [i for i, symbols in enumerate(written) if symbols is not None]
        values = np.full(len(words), _FLOOR)
        if good:
            some = [read[i] for i in good]
            values[good] = self.model.score_samples(some, [written[i] for i in good])
            if isinstance(self.model, PairModel):
                values[good] -= _totals(self.model, some)
        return np.maximum(values, _FLOOR).tolist()  # type: ignore[no-any-return]


def _totals(model: PairModel, words: list[Any]) -> Any:
    """ln p(x) of words, each searched once."""
    keys = [word if isinstance(word, str) else tuple(word) for word in words]
    distinct = list(dict.fromkeys(keys))
    best = model.predict_best(distinct, 1)
    total = {
        key: row[0].log_probability - math.log(max(row[0].probability, 1e-300)) if row else 0.0
        for key, row in zip(distinct, best, strict=True)
    }
    return np.array([total[key] for key in keys])


def candidates_of(parts: Sequence[Part], words: Sequence[Any], k: int) -> tuple[CandidateTable, list[list[Any]]]:
    """The candidates of words by all parts, with the score of each by each; and alignments, by the first that has one.

    A part is asked for the score of what it did not list.
    """
    lists = [part.best(words, k) for part in parts]
    begin = [0]
    outputs: list[Any] = []
    alignments: list[list[Any]] = []
    owners: list[int] = []
    for w in range(len(words)):
        union: dict[Any, Any] = {}
        for answers in lists:
            for output, (_, alignment) in answers[w].items():
                union.setdefault(output, alignment)
        outputs += union
        alignments.append(list(union.values()))
        owners += [w] * len(union)
        begin.append(len(outputs))
    scores = np.empty((len(outputs), len(parts)))
    for m, (part, answers) in enumerate(zip(parts, lists, strict=True)):
        missing: list[int] = []
        for i, (output, w) in enumerate(zip(outputs, owners, strict=True)):
            value = answers[w].get(output)
            if value is None:
                missing.append(i)
            else:
                scores[i, m] = value[0]
        if missing:
            scores[missing, m] = part.scores([words[owners[i]] for i in missing], [plain(outputs[i]) for i in missing])
    return CandidateTable(begin, outputs, np.maximum(scores, _FLOOR)), alignments


def hashable(output: Any) -> Any:
    """An output that can be a key."""
    return output if output is None or isinstance(output, str) else tuple(output)


def plain(output: Any) -> Any:
    """The output of a key."""
    return output if isinstance(output, str) else list(output)
