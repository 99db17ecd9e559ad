"""Words restored from what is left of them: their case, their accents, the keys of a telephone.

    x_i = r(w_i)                                            what is read: mars, cafe, 4663
    w   = argmax P(w_1 ... w_n) over all w with r(w) = x    the best path of  x o R^-1 o G

R^-1 leads from what is left to every word of the model that leaves it, G is the back-off model as an acceptor with
failure arcs, so that probabilities are exact. A token that no word of the model leaves is copied; to the model it is
<unk>, or nothing if it has no such word. Cost of a sentence: composition of a chain that has as many arcs per token as
words leave it. Reference: Mohri, Pereira & Riley (2002); Grover, King & Kushler (1998) on reduced keyboards.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textmill.errors import DataError
from textmill.fst.composition import compose
from textmill.fst.machine import Fst
from textmill.fst.ngrams import ngram_machine
from textmill.fst.paths import shortest_path
from textmill.fst.rational import arcsort
from textmill.model import check_choice, check_range

if TYPE_CHECKING:
    from textmill.corpus import Arpa

__all__ = ["REDUCTIONS", "WordRestorer"]

_PAD = {letter: digit for digit, letters in {
    "2": "abc", "3": "def", "4": "ghi", "5": "jkl", "6": "mno", "7": "pqrs", "8": "tuv", "9": "wxyz",
}.items() for letter in letters}  # fmt: skip
_MARKS = ("<s>", "</s>", "<unk>")


def _without_accents(word: str) -> str:
    return "".join(letter for letter in unicodedata.normalize("NFD", word) if not unicodedata.combining(letter))


def _pressed(word: str) -> str:
    return "".join(_PAD.get(letter, letter) for letter in _without_accents(word.lower()))


REDUCTIONS: dict[str, Callable[[str], str]] = {"case": str.lower, "accents": _without_accents, "keypad": _pressed}


class WordRestorer:
    r"""The most probable words behind what is left of them, by a back-off model in plain arrays.

    `reduction` is "case", "accents", "keypad", or a function that says what is left of a word.

    >>> import io
    >>> from textmill.corpus import read_arpa
    >>> words = b"-1 <s>\n-1 </s>\n-0.5 Mars\n-0.9 mars\n-0.5 man\n"
    >>> arpa = read_arpa(io.BytesIO(b"\\data\\\nngram 1=5\n\n\\1-grams:\n" + words + b"\n\\end\\\n"))
    >>> WordRestorer(arpa).restore(["mars", "man"])
    ['Mars', 'man']
    >>> WordRestorer(arpa, "keypad").restore(["626"])
    ['man']
    """

    def __init__(self, arpa: Arpa, reduction: str | Callable[[str], str] = "case") -> None:
        if isinstance(reduction, str):
            check_choice("reduction", reduction, list(REDUCTIONS))
            reduction = REDUCTIONS[reduction]
        self.reduction = reduction
        machine, self.phi = ngram_machine(arpa, semiring_name="tropical64")
        self.model = arcsort(machine)
        self.words = list(arpa.words)
        self.labels: dict[str, list[int]] = {}
        for label, word in enumerate(self.words, 1):
            if word not in _MARKS:
                self.labels.setdefault(reduction(word), []).append(label)
        self.unknown = self.words.index("<unk>") + 1 if "<unk>" in self.words else 0

    def candidates(self, token: str) -> list[str]:
        """The words of which the same is left as of a token, in the order of the model."""
        return [self.words[label - 1] for label in self.labels.get(self.reduction(token), ())]

    def restore(self, tokens: Sequence[str]) -> list[str]:
        """The best words for the tokens of a sentence, one for each."""
        answers = self.best(tokens, 1)
        return answers[0][1] if answers else list(tokens)

    def best(self, tokens: Sequence[str], k: int = 10) -> list[tuple[float, list[str]]]:
        """The k best sentences with their costs, -ln P of their words."""
        check_range("k", k, at_least=1)
        if isinstance(tokens, str):
            raise DataError("pass the tokens of a sentence as a list; a string would be taken for its characters")
        lattice = Fst("tropical64")
        lattice.start = lattice.add_state()
        places = []
        for place, token in enumerate(tokens):
            labels = self.labels.get(self.reduction(token)) or ([self.unknown] if self.unknown else [])
            if not labels:
                continue
            places.append(place)
            following = lattice.add_state()
            for label in labels:
                lattice.add_arc(following - 1, label, label, None, following)
        lattice.set_final(lattice.num_states - 1)
        paths = shortest_path(compose(lattice, self.model, phi=self.phi), k)
        return [(cost, self._spelled(tokens, places, labels)) for cost, labels in _paths(paths)]

    def _spelled(self, tokens: Sequence[str], places: list[int], labels: list[int]) -> list[str]:
        result = list(tokens)
        for place, label in zip(places, labels, strict=True):
            if label != self.unknown:
                result[place] = self.words[label - 1]
        return result


def _paths(paths: Fst) -> list[tuple[float, list[int]]]:
    """Cost and labels of every path, the cheapest first."""
    answers: list[tuple[float, list[int]]] = []
    line: list[tuple[float, list[int], int]] = [(0.0, [], paths.start)] if paths.start >= 0 else []
    while line:
        cost, labels, state = line.pop()
        if (final := paths.final(state)) != paths.semiring.zero:
            answers.append((cost + final, labels))
        line += [
            (cost + arc.weight, [*labels, arc.olabel] if arc.olabel else labels, arc.nextstate)
            for arc in paths.arcs(state)
        ]
    return sorted(answers)
