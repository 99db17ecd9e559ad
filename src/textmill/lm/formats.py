r"""N-gram models in the format of other tools: ARPA files.

An ARPA file holds log10 p(w | h) of the n-grams that were seen and the back-off weights of their contexts, which is all
that scoring and sampling need; the counts are lost. What was written is read back exactly.

A file without <unk> gives it the log10 probability -100, as kenlm does. Reference: SRILM, ngram-format(5).
"""

from __future__ import annotations

import os
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from textmill._native import lm as native
from textmill.arrays import Ids
from textmill.corpus import Arpa, ArpaOrder, Source, TokenizerLike, read_arpa, source_name, write_arpa
from textmill.errors import DataError
from textmill.lm.counting import BEGIN, SPECIAL, UNKNOWN
from textmill.lm.ngram import NGramModel
from textmill.model import StringTable, check_fitted, effective_jobs, load

__all__ = ["arpa_of", "from_arpa", "read_model", "to_arpa"]

Tree = tuple[NDArray[np.int64], Ids, Ids]  # levels, last words, first children

_MISSING = -100.0  # log10 p of <unk> where a file has none
_NEVER = -99.0  # log10 p of <s>, and of all that some files say cannot be


def from_arpa(source: Source, *, n_jobs: int | None = None) -> NGramModel:
    r"""Read a model from an ARPA file, compressed or not.

    >>> import io
    >>> head = "\\data\\\nngram 1=4\nngram 2=1\n\n\\1-grams:\n-99 <s> -0.3\n-0.3 </s>\n-0.5 <unk>\n"
    >>> model = from_arpa(io.BytesIO((head + "-0.7 mill\n\n\\2-grams:\n-0.1 <s> mill\n\n\\end\\\n").encode()))
    >>> model.token_scores([["mill"], ["wheel"]])[0].tolist(), model.token_scores([["wheel"]])[0].tolist()
    ([-0.1, -0.3], [-0.8, -0.3])
    """
    arpa = read_arpa(source)
    name = source_name(source)
    table, rename = _renamed(arpa)
    model = NGramModel(order=len(arpa.orders), n_jobs=n_jobs)
    model.words_ = table
    tree = _words_only(len(table))
    probability = [np.zeros(1), np.full(len(table), _NEVER)]
    back_off = [np.zeros(1), np.zeros(len(table))]
    probability[1][UNKNOWN] = _MISSING
    for n, order in enumerate(arpa.orders, start=1):
        if order.log_probability.max(initial=0.0) > 0:
            raise DataError(f"a log probability of order {n} is above 0; is the file an ARPA model?", source=name)
        rows = rename[order.words]
        own, weight = (np.where(np.isneginf(x), _NEVER, x) for x in (order.log_probability, order.back_off))
        if n == 1:
            probability[1][rows[:, 0]], back_off[1][rows[:, 0]] = own, weight
            probability[1][BEGIN] = _NEVER
            continue
        parents = native.find(*tree, np.ascontiguousarray(rows[:, :-1]))
        if parents.min(initial=0) < 0:
            words = " ".join(table[int(w)] for w in rows[int(parents.argmin())])
            raise DataError(f"'{words}' has no entry for its context; write the model again", source=name)
        by_place = np.lexsort((rows[:, -1], parents))
        parents, last = parents[by_place], rows[by_place, -1]
        same = (np.diff(parents) == 0) & (np.diff(last) == 0)
        if same.any():
            words = " ".join(table[int(w)] for w in rows[by_place[int(same.argmax())]])
            raise DataError(f"'{words}' is there twice; write the model again", source=name)
        tree = _grown(tree, parents, last)
        probability.append(own[by_place])
        back_off.append(weight[by_place])
    model.levels_, model.last_words_, model.children_ = tree
    model.suffixes_ = np.empty(len(tree[1]), dtype=np.int32)
    native.suffixes(*tree, model.suffixes_, threads=effective_jobs(n_jobs))
    model.log_probability_, model.log_back_off_ = np.concatenate(probability), np.concatenate(back_off)
    model.log_probability_[0] = _NEVER
    model.counts_, model.discounts_, model.sentences_ = None, np.zeros((len(arpa.orders), 3)), 0
    model.probability_codes_ = model.back_off_codes_ = model.books_ = None
    model.fall_backs_, model.by_line_ = [], False
    model.check_values()
    return model


def read_model(path: str | os.PathLike[str], *, tokenizer: TokenizerLike = None) -> NGramModel:
    """Open a model of our own format, or, where the name ends in .arpa (and .gz and the like), an ARPA file.

    An ARPA file does not say how texts are cut into its words: `tokenizer` does. Our own models know it themselves, and
    another one is an error.

    >>> to_arpa(NGramModel(order=2).fit(["to be", "to do"]), "tiny.arpa")
    >>> read_model("tiny.arpa").order
    2
    """
    if ".arpa" in os.path.basename(os.fspath(path)).lower():
        return from_arpa(path).set_params(tokenizer=tokenizer)
    model = load(path, expect=NGramModel)
    if tokenizer is not None and repr(tokenizer) != repr(model.tokenizer):
        fault = "the model has another tokenizer; leave it out, or pass one for an ARPA file only"
        raise DataError(fault, source=os.fspath(path))
    return model


def arpa_of(model: NGramModel) -> Arpa:
    """The n-grams of a model in plain arrays, as an ARPA file has them.

    >>> len(arpa_of(NGramModel(order=2).fit(["to be", "to do"])).orders)
    2
    """
    check_fitted(model)
    ends = [int(level) for level in model.levels_[1:]]
    rows = [np.empty((end - begin, n), dtype=np.int32) for n, (begin, end) in enumerate(pairwise(ends), start=1)]
    tree = (model.levels_, model.last_words_, model.children_)
    native.spell(*tree, rows, threads=effective_jobs(model.n_jobs))
    probability, back_off = model.numbers()
    orders = [
        ArpaOrder(words, probability[begin:end], back_off[begin:end])
        for words, (begin, end) in zip(rows, pairwise(ends), strict=True)
    ]
    return Arpa(model.words_, tuple(orders))


def to_arpa(model: NGramModel, path: str | os.PathLike[str]) -> None:
    """Write a model to an ARPA file.

    >>> model = NGramModel(order=2).fit(["to be", "to do"])
    >>> to_arpa(model, "tiny.arpa")
    >>> from_arpa("tiny.arpa").perplexity(["to be"]) == model.perplexity(["to be"])
    True
    """
    write_arpa(path, arpa_of(model), n_jobs=model.n_jobs)


def _renamed(arpa: Arpa) -> tuple[StringTable, Ids]:
    """The words with the three special ones first, and the new number of each word of the file."""
    names = ["<unk>" if word == "<UNK>" else word for word in arpa.words]
    words = [*SPECIAL, *(word for word in names if word not in SPECIAL)]
    number = {word: i for i, word in enumerate(words)}
    return StringTable(words), np.array([number[word] for word in names], dtype=np.int32)


def _words_only(words: int) -> Tree:
    """Levels, last words and children of a tree of order 1."""
    last = np.arange(-1, words, dtype=np.int32)
    return np.array([0, 1, 1 + words]), last, np.array([1, 1 + words], dtype=np.int32)


def _grown(
    tree: Tree,
    parents: NDArray[np.int32],
    last: NDArray[np.int32],
) -> Tree:
    """The tree with one more level, whose nodes are sorted by parent and word."""
    levels, words, children = tree
    begin, end = int(levels[-2]), int(levels[-1])
    families = np.bincount(parents - begin, minlength=end - begin)
    ends = (end + np.cumsum(families)).astype(np.int32)
    return np.append(levels, end + len(last)), np.append(words, last), np.append(children, ends)
