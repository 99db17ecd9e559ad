"""Named recipes: exactly the tokens and terms with which published tables were made.

    deerwester   nine titles of 1990: words but seven function words, occurring at least twice in the collection
    wikipedia    English Wikipedia for LSA and LDA: in at most 10 % and at least 20 documents, the 100,000 most frequent
    reuters      Reuters-21578 for LSA: lower-cased runs of two or more letters a-z, in 5 documents to 10 % of them
    similarity   mathematics articles: words in 5 documents to 30 % of them
    letters      count models of 20 Newsgroups: lower-cased runs of letters
    tiling       topic segmentation: lower-cased runs of letters and digits

The defaults of textmill are others (UAX #29 words, case-folded, nothing removed); a table that is to be reproduced
names its recipe.

References: Deerwester et al. (1990); Rehurek (2011), chapters 2, 3 and 5, and appendix A; Madsen, Kauchak & Elkan
(2005).
"""

from __future__ import annotations

from typing import Any

from textmill.corpus.tokenize import PatternTokenizer
from textmill.corpus.vocabulary import Vocabulary
from textmill.model import check_choice

__all__ = ["PRESETS", "preset"]

PRESETS: dict[str, dict[str, Any]] = {
    "deerwester": {"stop_words": ["a", "and", "for", "in", "of", "the", "to"], "min_count": 2},
    "wikipedia": {"max_df": 0.1, "min_df": 20, "keep": 100_000},
    "reuters": {"tokenizer": PatternTokenizer(pattern="[a-z]{2,}"), "min_df": 5, "max_df": 0.1},
    "similarity": {"min_df": 5, "max_df": 0.3},
    "letters": {"tokenizer": PatternTokenizer(pattern=r"\p{Alphabetic}+")},
    "tiling": {"tokenizer": PatternTokenizer(pattern=r"[\p{Alphabetic}\p{N}]+")},
}


def preset(name: str, **changes: Any) -> Vocabulary:
    """Return the unfitted vocabulary of a recipe, with parameters of your own where you pass them.

    >>> preset("wikipedia", keep=50_000)
    Vocabulary(min_df=20, max_df=0.1, keep=50000)
    >>> preset("deerwester").fit(["A survey of trees", "The trees", "Graph survey"]).terms_.to_list()
    ['survey', 'trees']
    """
    check_choice("name", name, list(PRESETS))
    return Vocabulary(**(PRESETS[name] | changes))
