"""Hidden states of labels: how they are numbered, where weights begin, and how states are split and merged.

    label y has the states first[y] .. first[y + 1] - 1, called LABEL/1, LABEL/2 and so on, in the order of the labels

Weights to begin with are drawn from the seed and the names of the feature, test and states, so they do not depend on
the order of features or on threads:

    weight(k) = noise * normal(hash(seed, restart, test, state before, state))

A model whose states are each replaced by several (`expand`) says the same of every labeling as before, but for a
constant, as long as all labels have equally many; noise then tells the new states apart. `merge` goes the other way:
weights of states that become one are averaged by how often each is used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats, Ids, Ints
from textmill.errors import DataError
from textmill.model import check_range
from textmill.numeric import special
from textmill.sequence.encoder import Encoder
from textmill.sequence.features import FeatureLayout

__all__ = [
    "expand_weights",
    "hash_names",
    "merge_plan",
    "merge_weights",
    "normal_numbers",
    "owners_of",
    "state_counts",
    "state_names",
    "state_noise",
]

MOST_STATES = 1024  # of all labels together

_Hashes = NDArray[np.uint64]
_STEP, _FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def state_counts(states: int | Mapping[str, int], classes: NDArray[Any]) -> Ints:
    """The number of states of every label, from one number for all or one for each.

    >>> state_counts({"B": 2, "O": 1}, np.array(["B", "O"])).tolist()
    [2, 1]
    >>> state_counts({"B": 2}, np.array(["B", "O"]))
    Traceback (most recent call last):
    textmill.errors.DataError: states has no number for the label 'O'; give one for each of B, O
    """
    names = [str(name) for name in classes.tolist()]
    if isinstance(states, Mapping):
        listed = ", ".join(names)
        for name in names:
            if name not in states:
                raise DataError(f"states has no number for the label '{name}'; give one for each of {listed}")
        for name in states:
            if name not in names:
                raise DataError(f"states has a number for '{name}', which is no label of the data; it has {listed}")
        counts = [states[name] for name in names]
    else:
        counts = [states] * len(names)
    for name, count in zip(names, counts, strict=True):
        check_range(f"states of {name}", count, at_least=1, at_most=MOST_STATES, whole=True)
    if sum(counts) > MOST_STATES:
        raise DataError(f"{sum(counts)} states in all are more than {MOST_STATES}; give the labels fewer")
    return np.array(counts, np.int64)


def owners_of(counts: Ints) -> Ids:
    """The label of every state.

    >>> owners_of(np.array([2, 1])).tolist()
    [0, 0, 1]
    """
    return np.repeat(np.arange(len(counts), dtype=np.int32), counts)


def state_names(classes: Sequence[str], counts: Ints) -> list[str]:
    """Names of the states.

    >>> state_names(["B", "O"], np.array([2, 1]))
    ['B/1', 'B/2', 'O/1']
    """
    return [f"{name}/{i}" for name, count in zip(classes, counts.tolist(), strict=True) for i in range(1, count + 1)]


def hash_names(names: Sequence[str] | Sequence[bytes]) -> _Hashes:
    """A number of 64 bits for each name, the same on every machine.

    >>> len(set(hash_names(["a", "b", "a"]).tolist()))
    2
    """
    digests = (
        hashlib.blake2b(name if isinstance(name, bytes) else name.encode(), digest_size=8).digest() for name in names
    )
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)


def state_noise(
    encoder: Encoder, layout: FeatureLayout, features: Ints, names: Sequence[str], *, seed: Sequence[int]
) -> Floats:
    """Standard normal numbers for features, drawn from the seed and the names of their test and states.

    >>> encoder = Encoder(patterns=["u:%x[0,0]"]).fit(["ab"])
    >>> layout = FeatureLayout(2, 2, 0)
    >>> state_noise(encoder, layout, np.array([0, 1]), ["A/1", "A/2"], seed=[0, 0]).round(3).tolist()
    [0.907, -0.174]
    """
    parts = layout.split(features)
    unigram, bigram = encoder.numbers()
    if encoder.hash_bits is not None:
        of_test = np.arange(len(unigram), dtype=np.uint64)
    else:
        data, offsets = encoder.tests_.bytes.tobytes(), encoder.tests_.offsets.tolist()
        of_test = hash_names([data[a:b] for a, b in pairwise(offsets)])
    of_unigram, of_bigram = np.zeros(layout.unigrams + 1, np.uint64), np.zeros(layout.bigrams + 1, np.uint64)
    of_unigram[unigram[unigram >= 0]] = of_test[unigram >= 0]
    of_bigram[bigram[bigram >= 0]] = of_test[bigram >= 0]
    of_state = hash_names(["<start>", "<none>", *names])  # sources -2 and -1 come first
    test = np.where(parts.bigram, of_bigram[np.where(parts.bigram, parts.test, 0)], 0).astype(np.uint64)
    test = np.where(parts.bigram, test, of_unigram[np.where(parts.bigram, 0, parts.test)])
    return normal_numbers([test, of_state[parts.source + 2], of_state[parts.label + 2]], seed)


def normal_numbers(keys: Sequence[_Hashes], seed: Sequence[int]) -> Floats:
    """A standard normal number for each combination of keys.

    >>> normal_numbers([np.array([1, 2], np.uint64)], [0]).round(3).tolist()
    [-1.825, 1.007]
    """
    state = np.zeros(len(keys[0]), np.uint64)
    with np.errstate(over="ignore"):
        for number in seed:
            state = _mixed(state ^ np.uint64(number % (1 << 64)))
        for key in keys:
            state = _mixed(state ^ key)
    uniform: Floats = ((state >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return np.asarray(special.ndtri(uniform), np.float64)


def expand_weights(
    features: Ints, weights: Floats, old: FeatureLayout, new: FeatureLayout, counts: Ints
) -> tuple[Ints, Floats]:
    """The weights of a model whose label or state i is replaced by `counts[i]` neighbors, each with its weights.

    >>> old, new = FeatureLayout(2, 1, 0), FeatureLayout(3, 1, 0)
    >>> [part.tolist() for part in expand_weights(np.array([0, 1]), np.array([2.0, 3.0]), old, new, np.array([2, 1]))]
    [[0, 1, 2], [2.0, 2.0, 3.0]]
    """
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    parts = old.split(features)
    paired = parts.source >= 0
    width = np.where(paired, counts[np.maximum(parts.source, 0)], 1)
    copies = counts[parts.label] * width
    of = np.repeat(np.arange(len(features)), copies)
    inner = np.arange(len(of)) - np.repeat(np.cumsum(copies) - copies, copies)
    label = first[parts.label[of]] + inner // width[of]
    source = np.where(paired[of], first[np.maximum(parts.source[of], 0)] + inner % width[of], parts.source[of])
    numbers = new.number(parts.test[of], source, label)
    order = np.argsort(numbers, kind="stable")
    return numbers[order], weights[of][order]


def merge_weights(
    features: Ints, weights: Floats, old: FeatureLayout, new: FeatureLayout, target: Ints, share: Floats
) -> tuple[Ints, Floats]:
    """The weights of a model whose state i becomes `target[i]`; `share[i]` is its part in what it becomes.

    >>> old, new = FeatureLayout(3, 1, 0), FeatureLayout(2, 1, 0)
    >>> plan = merge_plan(np.array([1.0, 1.0, 2.0]), {0})
    >>> [part.tolist() for part in merge_weights(np.arange(3), np.array([1.0, 3.0, 5.0]), old, new, *plan)]
    [[0, 1], [2.0, 5.0]]
    """
    parts = old.split(features)
    paired = parts.source >= 0
    source = np.where(paired, target[np.maximum(parts.source, 0)], parts.source)
    by = share[parts.label] * np.where(paired, share[np.maximum(parts.source, 0)], 1.0)
    numbers = new.number(parts.test, source, target[parts.label])
    merged, place = np.unique(numbers, return_inverse=True)
    return merged, np.bincount(place, weights=weights * by, minlength=len(merged)).astype(np.float64)


def merge_plan(use: Floats, back: Collection[int]) -> tuple[Ints, Floats]:
    """What every state becomes, and its share in that, when states i of `back` are joined by their next neighbors.

    >>> [part.tolist() for part in merge_plan(np.array([1.0, 3.0, 2.0]), {0})]
    [[0, 0, 1], [0.25, 0.75, 1.0]]
    """
    joined = np.array([state - 1 in back for state in range(len(use))])
    target = np.cumsum(~joined) - 1
    total = np.bincount(target, weights=use)[target]
    size = np.bincount(target)[target]
    return target.astype(np.int64), np.where(total > 0, use / np.where(total > 0, total, 1.0), 1.0 / size)


def _mixed(x: _Hashes) -> _Hashes:
    """The finalizer of SplitMix64."""
    x = x + _STEP
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return x ^ (x >> np.uint64(31))
