"""What models that write words anew answer: outputs with probabilities, one by one or as arrays of many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from textmill.arrays import Floats, Ids, Ints
from textmill.fst import Alignment

__all__ = ["Candidate", "CandidateArrays", "Symbols", "reversed_runs"]

Symbols: TypeAlias = str | Sequence[str]


class Candidate(NamedTuple):
    """An output: its symbols, p(y | x), ln p(x, y) over all alignments, and the best alignment.

    >>> from textmill.lm import PairModel
    >>> model = PairModel(order=2).fit(["ab", "ba"], ["AB", "BA"])
    >>> best = model.predict_best(["aab"], k=1)[0][0]
    >>> best.output, best.alignment.text()
    ('AAB', 'a:A a:A b:B')
    """

    output: Symbols
    probability: float
    log_probability: float
    alignment: Alignment


class CandidateArrays(NamedTuple):
    """Outputs of many words: those of word w are begin[w] to begin[w + 1], best first.

    log_probability: ln p(y | x). total: ln p(x) of each word, 0 by models that do not tell. Output c is
    outputs[output_begin[c]:output_begin[c + 1]], numbers of `symbols`; `alignment(c)` works out its best alignment.

    >>> from textmill.lm import PairModel
    >>> arrays = PairModel(order=2).fit(["ab", "ba"], ["AB", "BA"]).predict_arrays(["aab", "b"], k=1)
    >>> [arrays.output(c) for c in range(2)], arrays.alignment(0).text()
    ([['A', 'A', 'B'], ['B']], 'a:A a:A b:B')
    """

    begin: Ints
    log_probability: Floats
    total: Floats
    output_begin: Ints
    outputs: Ids
    symbols: list[str]
    alignment: Callable[[int], Alignment]

    def output(self, c: int) -> list[str]:
        """The symbols of output c."""
        numbers = self.outputs[int(self.output_begin[c]) : int(self.output_begin[c + 1])].tolist()
        return [self.symbols[number] for number in numbers]


def reversed_runs(begin: Ints, values: Ids) -> Ids:
    """Each run of an array that offsets cut, back to front.

    >>> reversed_runs(np.array([0, 2, 5]), np.array([1, 2, 3, 4, 5], dtype=np.int32)).tolist()
    [2, 1, 5, 4, 3]
    """
    ends = np.repeat(begin[:-1] + begin[1:], np.diff(begin))
    turned: Ids = values[ends - 1 - np.arange(len(values))]
    return turned
