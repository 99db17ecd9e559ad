"""Function words, recognized from the corpus itself: frequent, evenly spread and short, in any language with spaces.

    f_t r_t exp(-0.35 l_t) > exp(-8)

    f_t = c_t / N                           share of the tokens that are this word
    r_t = d_t / (n (1 - exp(-c_t / n)))     documents with the word, over those expected if its occurrences were
                                            scattered at random (Poisson): near 1 for function words, less for words
                                            of a subject, which come in clusters
    l_t                                     letters of the word

with d_t, c_t and n as in `vocabulary`. Only words in at least 5 documents, at least 10 times, and without digits are
looked at, and only in a corpus of at least 5000 tokens: in a smaller one every word may seem frequent. Where the words
of the list that comes with the package (English) make up a quarter of all tokens, which they do in texts of that
language only, the whole list is taken as well.

The constants were chosen by a grid search for the best worst case (F of precision and recall, precision counting
double) over 26 samples in nine languages (Czech, English, French, German, Italian, Polish, Slovak, Slovene, Spanish),
some of them the same text cut into other documents. On these samples, which also chose the constants and so flatter
them, 84 to 100 % of the words that the rule recognizes are on a published stop list of the language (stopwordsiso), and
they cover 62 to 83 % of the tokens of that list.

Cost: one look at each word. References: Church & Gale (1995), Poisson mixtures; Zipf (1949), Human behavior and the
principle of least effort.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from textmill.corpus.function_words import FUNCTION_WORDS

__all__ = ["LEAST_DOCUMENTS", "function_words_of"]

LEAST_DOCUMENTS = 5
_LEAST_OCCURRENCES = 10
_LEAST_TOKENS = 5000
_LETTER_COST = 0.35
_THRESHOLD = -8.0
_LIST_SHARE = 0.25


def function_words_of(
    words: Sequence[str],
    documents: NDArray[np.int64],
    occurrences: NDArray[np.int64],
    n_documents: int,
    n_tokens: int,
    listed: Collection[str] = FUNCTION_WORDS,
) -> list[str]:
    """Return the function words among words with these frequencies, the most frequent first, then the rest of a list.

    `n_tokens` counts the tokens of all words, also of those that are not passed because they are in fewer than
    `LEAST_DOCUMENTS` documents. `listed` is the list, in the form that words have here (stems, say).

    >>> words, counts = ["the", "mill", "grindstones", "of"], np.array([600, 10, 90, 300])
    >>> function_words_of(words, np.array([90, 9, 60, 80]), counts, 100, 50_000)
    ['the', 'of']
    """
    d, c, n = documents.astype(float), occurrences.astype(float), float(n_documents)
    common = np.flatnonzero((documents >= LEAST_DOCUMENTS) & (occurrences > 0))
    d, c, names = d[common], c[common], [words[int(i)] for i in common]
    spread = d / (n * -np.expm1(-c / n))
    letters = np.array([len(name) for name in names], dtype=float)
    score = np.log(c / n_tokens) + np.log(spread) - _LETTER_COST * letters
    digits = np.array([any(map(str.isdigit, name)) for name in names], dtype=bool)
    chosen = (score > _THRESHOLD) & (c >= _LEAST_OCCURRENCES) & ~digits & (n_tokens >= _LEAST_TOKENS)
    function_words = frozenset(listed)
    on_list = np.array([name in function_words for name in names], dtype=bool)
    order = np.argsort(-c, kind="stable")
    recognized = [names[int(i)] for i in order if chosen[i]]
    if c[on_list].sum() >= _LIST_SHARE * n_tokens:
        chosen |= on_list
        recognized = [names[int(i)] for i in order if chosen[i]]
        return list(dict.fromkeys(recognized + sorted(function_words)))
    return recognized
