"""Word n-grams and phrases: textmill, scikit-learn and gensim on five corpora.

n-grams of one to three words: raw strings to a matrix of counts, against `CountVectorizer(ngram_range=(1, 3))` with a
regular expression that gives the same tokens; the matrices are compared cell by cell. Phrases: lists of tokens to the
phrases by normalized PMI, against `gensim.models.Phrases`, and texts with phrases joined, against its frozen form;
phrases, scores and texts are compared. Figures are CPU seconds of one thread.

    TEXTMILL_DATA=... python -m bench phrases
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from bench import _corpora
from bench.harness import Job, Options
from bench.vectorise import PATTERN
from textmill.corpus import Phrases, Tokenizer, Vocabulary

PACKAGES = ["gensim", "scikit-learn"]
SETTINGS = {"min_count": 5, "threshold": 0.5, "scoring": "npmi"}


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    limit = 6000

    @cache
    def texts(name: str) -> list[str]:
        return _corpora.texts(options, name)[:limit]

    @cache
    def tokens(name: str) -> list[list[str]]:
        # gensim takes a pair for a token that is spelled alike, so no token may hold its separator
        return list(Tokenizer().tokenize(text.replace("_", " ") for text in texts(name)))

    def vectorizer() -> Any:
        from sklearn.feature_extraction.text import CountVectorizer

        return CountVectorizer(preprocessor=str.casefold, token_pattern=PATTERN, ngram_range=(1, 3))

    def peer_phrases(name: str) -> Any:
        from gensim.models.phrases import Phrases as Peer

        return Peer(tokens(name), **SETTINGS).freeze()

    @cache
    def learned(name: str) -> tuple[Phrases, Any]:
        return Phrases(**SETTINGS, n_jobs=1).fit(tokens(name)), peer_phrases(name)

    def equal_counts(name: str) -> str:
        theirs, ours = vectorizer(), Vocabulary(ngrams=(1, 3), order="sorted")
        Y, X = theirs.fit_transform(texts(name)), ours.fit_transform(texts(name))
        same = ours.terms_.to_list() == theirs.get_feature_names_out().tolist() and (X != Y).nnz == 0
        return f"{X.shape[0]} x {X.shape[1]}, {'identical' if same else 'DIFFERENT'} counts"

    def equal_phrases(name: str) -> str:
        ours, peer = learned(name)
        scores = dict(zip(ours.phrases_, ours.scores_.tolist(), strict=True))
        same = scores.keys() == peer.phrasegrams.keys() and np.allclose(
            [scores[phrase] for phrase in peer.phrasegrams], list(peer.phrasegrams.values()), rtol=1e-12
        )
        return f"{len(scores)} phrases, {'identical' if same else 'DIFFERENT'}"

    def equal_texts(name: str) -> str:
        ours, peer = learned(name)
        same = ours.transform(tokens(name)) == [peer[document] for document in tokens(name)]
        return f"{'identical' if same else 'DIFFERENT'} texts"

    table = []
    for name in _corpora.NAMES:
        table += [
            Job(f"{name}: n-grams 1-3", lambda n=name: Vocabulary(ngrams=(1, 3), n_jobs=1).fit_transform(texts(n)),
                lambda n=name: vectorizer().fit_transform(texts(n)), "scikit-learn CountVectorizer",
                lambda n=name: equal_counts(n), "processor", "s", 5.0, "n-grams 1-3", lambda n=name: texts(n)),
            Job(f"{name}: learn phrases", lambda n=name: Phrases(**SETTINGS, n_jobs=1).fit(tokens(n)),
                lambda n=name: peer_phrases(n), "gensim Phrases",
                lambda n=name: equal_phrases(n), "processor", "s", 5.0, "learning phrases", lambda n=name: tokens(n)),
            Job(f"{name}: join phrases", lambda n=name: learned(n)[0].set_params(n_jobs=1).transform(tokens(n)),
                lambda n=name: [learned(n)[1][document] for document in tokens(n)], "gensim FrozenPhrases",
                lambda n=name: equal_texts(n), "processor", "s", 5.0, "joining phrases", lambda n=name: learned(n)),
        ]  # fmt: skip
    return table
