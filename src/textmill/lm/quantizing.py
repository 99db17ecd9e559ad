"""Models in a fraction of the space: probabilities and back-off weights as codes of 4 to 16 bits.

    book     2^bits values: the sorted numbers are cut into as many equally full bins as there are codes, then each
             value moves to the mean of the numbers nearest to it (Lloyd), a few times; 0, the weight of most n-grams,
             stays 0
    codes    for each n-gram the number of the nearest value, packed bit by bit

The file is used as it is mapped: n-grams are found by bisection, codes looked up in their book, nothing is unpacked.
Counts are left out. With 8 bits an n-gram of the highest order takes 9 bytes instead of 32; its probabilities are off
by a percent or so, and so are the sums of contexts.

Cost: sorting the n-grams. References: Federico & Bertoldi (2006), How many bits are needed to store probabilities for
phrase-based translation?; Whittaker & Raj (2001), Quantization-based language model compression; Lloyd (1982).
"""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import NDArray

from textmill.arrays import Floats
from textmill.lm.counting import BEGIN
from textmill.lm.ngram import NGramModel
from textmill.model import check_fitted, check_range

__all__ = ["quantize"]

_ROUNDS = 20


def quantize(model: NGramModel, *, bits: int = 8) -> NGramModel:
    """Return the model with its probabilities and back-off weights in `bits` bits each, 4 to 16.

    >>> model = NGramModel(order=2).fit(["the mill turns", "the mill stands still", "a mill turns"])
    >>> small = quantize(model, bits=8)
    >>> abs(small.perplexity(["the mill turns"]) / model.perplexity(["the mill turns"]) - 1) < 0.01
    True
    """
    check_fitted(model)
    check_range("bits", bits, at_least=4, at_most=16, whole=True)
    probability, back_off = model.numbers()
    possible = np.ones(len(probability), dtype=bool)
    possible[[0, 1 + BEGIN]] = False  # never predicted: not to draw a value of the book away
    inner = int(model.levels_[-2])  # longer n-grams are no contexts
    books = np.stack([_book(probability[possible], bits), _book(back_off[:inner], bits)])
    smaller = copy.copy(model)
    vars(smaller).pop("_made", None)
    smaller.books_ = books
    smaller.probability_codes_ = _packed(_nearest(books[0], probability), bits)
    smaller.back_off_codes_ = _packed(_nearest(books[1], back_off[:inner]), bits)
    smaller.log_probability_ = smaller.log_back_off_ = smaller.counts_ = None
    return smaller


def _book(values: Floats, bits: int) -> Floats:
    """The values of the codes, rising."""
    size = 1 << bits
    ordered = np.sort(values)
    distinct = ordered[np.concatenate([[True], np.diff(ordered) > 0])] if len(ordered) else np.zeros(1)
    if len(distinct) <= size:
        return np.concatenate([distinct, np.full(size - len(distinct), distinct[-1])])
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    has_zero = bool(np.searchsorted(ordered, 0.0) < np.searchsorted(ordered, 0.0, side="right"))
    others = distinct[distinct != 0.0] if has_zero else distinct
    spread = ordered[ordered != 0.0] if has_zero else ordered
    book = spread[(np.arange(size - has_zero) + 0.5).astype(np.int64) * len(spread) // (size - has_zero)]
    book = np.unique(book)
    missing = size - has_zero - len(book)
    if missing:  # bins that one number fills leave codes over
        book = np.union1d(book, others[np.linspace(0, len(others) - 1, missing).astype(np.int64)])
    if has_zero:
        book = np.union1d(book, [0.0])
    for _ in range(_ROUNDS):
        borders = np.searchsorted(ordered, (book[1:] + book[:-1]) / 2)
        begin, end = np.concatenate([[0], borders]), np.concatenate([borders, [len(ordered)]])
        full = end > begin
        book[full] = (sums[end[full]] - sums[begin[full]]) / (end[full] - begin[full])
        if has_zero:
            book[np.abs(book).argmin()] = 0.0
    return np.concatenate([np.sort(book), np.full(size - len(book), book.max())])


def _nearest(book: Floats, values: Floats) -> NDArray[np.uint32]:
    return np.searchsorted((book[1:] + book[:-1]) / 2, values).astype(np.uint32)


def _packed(codes: NDArray[np.uint32], bits: int) -> NDArray[np.uint8]:
    """Codes one behind the other, lowest bits first, and 3 bytes to spare, so that four can be read anywhere."""
    shifts = np.arange(bits, dtype=np.uint32)
    parts = [
        np.packbits(((codes[at : at + (1 << 20), None] >> shifts) & 1).astype(np.uint8).ravel(), bitorder="little")
        for at in range(0, len(codes), 1 << 20)
    ]
    return np.concatenate([*parts, np.zeros(3, dtype=np.uint8)])
