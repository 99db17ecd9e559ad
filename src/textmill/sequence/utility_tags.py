"""Tags of greatest expected F under a chain model, for tokens or for spans.

    token F    a hit is a token whose tag, not O, is right; A hits, P tokens tagged, T tokens to be tagged
    span F     a hit is a span (first, last, type) that is right; P spans claimed, T spans there are

Sequence by sequence the answer is exact for the chain: with Pr(item, T = s) of every item (a tag of a token, a span)
and for every size m, the m items of greatest sum_s (1 + b) Pr(item, s) / (m + b s) that can stand together: one tag a
token, or spans that do not overlap (weighted interval scheduling). With `micro` one F counts for all sequences: T is
then a sum over many and hardly varies, and the greatest F of expected counts,

    max over answers of  (1 + b) sum of Pr(item) / (P + b E T)

is found by Dinkelbach's iteration: with the F of the last answer, take items of positive Pr(item) - F / (1 + b), until
F stays. It differs from the expected F by about one over E T. Spans of a probability below 1e-6 are left out.

Cost: that of posterior probabilities and S^2 a token; sequence by sequence n times as much.
References: Jansche (2007); Dembczynski et al. (2011); Dinkelbach, On nonlinear fractional programming (1967).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textmill._native import sequence as native
from textmill.arrays import Bytes, Floats
from textmill.corpus import tags_of
from textmill.errors import DataError
from textmill.metrics import FWeight
from textmill.sequence.decoders import ChainScorer, markov_steps
from textmill.sequence.encoding import Encoded
from textmill.sequence.label_models import count_joint

__all__ = ["FObjective", "maximal_tags"]

LEAST = 1e-6  # probability of a span that is looked at
MOST_CELLS = 1 << 22  # of steps that are alive together
_NAME = re.compile(r"(?:(span|token)-)?f(\d+(?:\.\d+)?)")
_TAG = re.compile(r"O|([BIESLU])(?:-(.*))?", re.DOTALL)


class FObjective(NamedTuple):
    """Which F: of "span" or "token", and its b, the square of beta."""

    unit: str
    b: float

    @classmethod
    def parse(cls, name: str, classes: list[str]) -> FObjective:
        """Read "f1", "f0.5", "span-f1", "token-f2"; without a unit it is spans where the labels are IOB tags.

        >>> FObjective.parse("f2", ["B-PER", "I-PER", "O"])
        FObjective(unit='span', b=4.0)
        """
        match = _NAME.fullmatch(name)
        if match is None:
            raise DataError(f"maximize={name!r} is no objective; pass 'f1', 'span-f1' or 'token-f1', any beta for 1")
        if "O" not in classes:
            raise DataError(
                "the model has no label 'O', so all tokens are claimed and F is accuracy; leave maximize out"
            )
        tags = all(_TAG.fullmatch(label) for label in classes)
        if match[1] == "span" and not tags:
            raise DataError("the labels are no tags of spans (B-PER, I-PER, O); use 'token-f1'")
        return cls(match[1] or ("span" if tags else "token"), FWeight.from_beta(float(match[2])).b)


def maximal_tags(
    scorer: ChainScorer,
    data: Encoded,
    classes: list[str],
    objective: FObjective,
    *,
    micro: bool = True,
    allowed: Bytes | None = None,
    transitions: Bytes | None = None,
    n_jobs: int | None = 1,
) -> list[list[str]]:
    """The tags of every sequence."""
    chains = _chains(scorer, data, allowed, transitions, n_jobs)
    work = _Spans(classes, objective.b) if objective.unit == "span" else _Tokens(classes, objective.b)
    if not micro:
        return [[] if chain is None else work.exact(*chain) for chain in chains]
    parts = [None if chain is None else work.items(*chain) for chain in chains]
    mean = sum(part.mean for part in parts if part is not None)
    choice: list[Any] = [None] * len(parts)
    f = 0.0
    while True:
        threshold = f / (1 + objective.b)
        hits, claimed = 0.0, 0
        for s, part in enumerate(parts):
            if part is not None:
                choice[s], mass, size = work.choose(part, threshold)
                hits, claimed = hits + mass, claimed + size
        value = (1 + objective.b) * hits / max(claimed + objective.b * mean, 1e-300)
        if value <= f + 1e-12:
            break
        f = value
    return [[] if part is None else work.tags(part, own) for part, own in zip(parts, choice, strict=True)]


def _chains(
    scorer: ChainScorer, data: Encoded, allowed: Bytes | None, transitions: Bytes | None, n_jobs: int | None
) -> Iterator[tuple[Floats, Floats] | None]:
    """Initial probabilities and steps of every sequence, None for empty ones, a few sequences at a time."""
    from textmill.sequence.training.objective import select_sequences

    labels = scorer.layout.labels
    most = max(256, MOST_CELLS // labels**2)
    offsets = data.offsets
    first = 0
    while first < data.sequences:
        last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + most, side="right")) - 1)
        own = None if allowed is None else allowed[offsets[first] : offsets[last]]
        part = select_sequences(data, slice(first, last))
        steps = markov_steps(scorer, part, allowed=own, transitions=transitions, n_jobs=n_jobs)
        for s, (begin, end) in enumerate(zip(part.offsets[:-1], part.offsets[1:], strict=True), first):
            if begin == end:
                yield None
                continue
            if not steps[begin, 0].any():
                raise DataError(f"every labeling of sequence {s + 1} is forbidden; relax constraints or transitions")
            yield steps[begin, 0], steps[begin + 1 : end]
        first = last


class _Items(NamedTuple):
    """What one sequence offers: items with their probabilities, and the expected number of right ones there are."""

    length: int
    begin: NDArray[np.int32]
    end: NDArray[np.int32]
    label: NDArray[np.int32]
    chances: Floats
    mean: float


class _Tokens:
    def __init__(self, classes: list[str], b: float) -> None:
        self.classes, self.b = classes, b
        self.positive = np.array([label != "O" for label in classes])
        self.others = np.flatnonzero(self.positive)

    def items(self, initial: Floats, steps: Floats) -> _Items:
        rows = [initial]
        for step in steps:
            rows.append(rows[-1] @ step)
        chances = np.array(rows)[:, self.others]
        best = chances.argmax(axis=1).astype(np.int32)
        at = np.arange(len(rows), dtype=np.int32)
        return _Items(len(rows), at, at + 1, best, chances[at, best], float(chances.sum()))

    def choose(self, part: _Items, threshold: float) -> tuple[NDArray[np.bool_], float, int]:
        chosen = part.chances > threshold
        return chosen, float(part.chances[chosen].sum()), int(chosen.sum())

    def tags(self, part: _Items, chosen: NDArray[np.bool_]) -> list[str]:
        return [self.classes[self.others[label]] if own else "O" for own, label in zip(chosen, part.label, strict=True)]

    def exact(self, initial: Floats, steps: Floats) -> list[str]:
        group = np.full(len(self.classes), -1, np.int32)
        group[self.others] = np.arange(len(self.others))
        joint, none = count_joint(initial, steps, self.positive, group)
        n = len(joint)
        sizes, counts = np.arange(1, n + 1), np.arange(1, n + 1)
        gains = joint[:, :, 1:] @ ((1 + self.b) / (sizes + self.b * counts[:, None]))  # token x label x size
        best = gains.max(axis=1)
        values = np.cumsum(-np.sort(-best, axis=0, kind="stable"), axis=0)[np.arange(n), np.arange(n)]
        size = int(np.argmax(values)) + 1 if values.max() > none else 0
        tags = ["O"] * n
        for t in np.argsort(-best[:, size - 1], kind="stable")[:size]:
            tags[t] = self.classes[self.others[gains[t, :, size - 1].argmax()]]
        return tags


class _Spans:
    def __init__(self, classes: list[str], b: float) -> None:
        self.b = b
        parsed = [_TAG.fullmatch(label) for label in classes]
        types = sorted({match[2] or "" for match in parsed if match and match[1]})
        self.types = types
        letters = [match[1] if match else None for match in parsed]
        self.type = np.array([types.index(match[2] or "") if match and match[1] else -1 for match in parsed], np.int32)
        opens = np.array([letter in ("B", "S", "U") for letter in letters])
        closes = np.array([letter in ("E", "L", "S", "U") for letter in letters])
        inside = (self.type[:, None] == self.type) & (self.type >= 0)
        self.continues = np.ascontiguousarray(inside & ~opens & ~closes[:, None], dtype=np.uint8)
        self.scheme = _scheme({letter for letter in letters if letter})

    def items(self, initial: Floats, steps: Floats) -> _Items:
        begin, end, label, chances, _ = native.span_transforms(initial, steps, self.type, self.continues, LEAST, 1)
        chances = np.ascontiguousarray(chances.real)
        return _Items(len(steps) + 1, begin, end, label, chances, float(chances.sum()))

    def choose(self, part: _Items, threshold: float) -> tuple[NDArray[np.int32], float, int]:
        chosen = native.heaviest_spans(part.length, part.begin, part.end, part.chances - threshold)
        return chosen, float(part.chances[chosen].sum()), len(chosen)

    def tags(self, part: _Items, chosen: NDArray[np.int32]) -> list[str]:
        spans = [(int(part.begin[i]), int(part.end[i]), self.types[part.label[i]]) for i in chosen]
        return tags_of(spans, part.length, self.scheme)

    def exact(self, initial: Floats, steps: Floats) -> list[str]:
        n = len(steps) + 1
        roots = (n + 1) // 2 + 1
        begin, end, label, transform, whole = native.span_transforms(
            initial, steps, self.type, self.continues, LEAST, roots
        )
        joint = np.maximum(np.fft.irfft(transform.reshape(-1, roots), n + 1, axis=1), 0.0)
        none = float(np.fft.irfft(whole, n + 1)[0])
        chosen, _ = native.best_spans(n, begin, end, np.ascontiguousarray(joint), none, self.b)
        return self.tags(_Items(n, begin, end, label, np.empty(0), 0.0), chosen)


def _scheme(letters: set[str]) -> str:
    """The scheme that these letters of tags belong to."""
    if letters & {"L", "U"}:
        return "BILOU"
    if letters & {"E", "S"}:
        return "IOBES" if letters & {"B", "S"} else "IOE2"
    return "IOB2" if "B" in letters else "IOB1"
