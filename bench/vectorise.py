"""Raw strings to counts with a vocabulary: textmill, gensim and scikit-learn on 20 Newsgroups and Reuters.

All three get the same tokens: gensim and scikit-learn through a regular expression that says what UAX #29 says of the
characters in this corpus (plain ASCII and a few Latin-1 letters), after case folding. That the counts are identical,
cell by cell, is checked and printed as the quality. `\\w+` rows show the peers with the simplest pattern instead of
the equal one.

    TEXTMILL_DATA=... python -m bench vectorise
"""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache

import numpy as np
from scipy import sparse

from bench.harness import Job, Options
from textmill.corpus import Vocabulary, read_documents

PACKAGES = ["gensim", "scikit-learn", "typer"]

LETTERS = "a-zªºμà-öø-ÿ"
PATTERN = (
    rf"(?=_*[{LETTERS}0-9])[{LETTERS}0-9_]+"
    rf"(?:(?:(?<=[{LETTERS}])[.':·](?=[{LETTERS}])|(?<=[0-9])[.,;'](?=[0-9]))[{LETTERS}0-9_]+)*|[²³¹¼½¾]"
)
EMPTY_APP = "import typer\napp = typer.Typer()\n@app.command()\ndef main() -> None:\n    '''Nothing.'''\napp()\n"


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    limit = 500 if options.quick else None
    news = list(read_documents(options.data / "newsgroups" / "20news.jsonl.gz").texts())[:limit]
    reuters = list(read_documents(sorted((options.data / "reuters").glob("*.jsonl*"))[0]).texts())[:limit]

    def ours(texts: list[str], jobs: int) -> sparse.csr_matrix:
        return Vocabulary(n_jobs=jobs).fit_transform(texts)

    def peer_gensim(texts: list[str], pattern: str = PATTERN) -> object:
        from gensim.corpora import Dictionary

        find = re.compile(pattern).findall
        dictionary = Dictionary()
        return [dictionary.doc2bow(find(text.casefold()), allow_update=True) for text in texts]

    def peer_sklearn(texts: list[str], pattern: str = PATTERN) -> sparse.csr_matrix:
        from sklearn.feature_extraction.text import CountVectorizer

        return CountVectorizer(preprocessor=str.casefold, token_pattern=pattern).fit_transform(texts)

    @cache
    def equal(name: str) -> str:
        from sklearn.feature_extraction.text import CountVectorizer

        texts = {"news": news, "reuters": reuters}[name]
        theirs = CountVectorizer(preprocessor=str.casefold, token_pattern=PATTERN)
        Y = theirs.fit_transform(texts)
        vocabulary = Vocabulary(order="sorted")
        X = vocabulary.fit_transform(texts)
        same = vocabulary.terms_.to_list() == theirs.get_feature_names_out().tolist() and (X != Y).nnz == 0
        sizes = f"{X.shape[0]} x {X.shape[1]}, {X.nnz} non-zeros, {int(X.sum())} tokens"
        return f"{sizes}, {'identical' if same else 'DIFFERENT'} counts"

    def same_bytes() -> str:
        one, two, eight = (ours(news, jobs) for jobs in (1, 2, 8))
        pairs = [(one, two), (one, eight)]
        arrays = ("indptr", "indices", "data")
        equal = all(np.array_equal(getattr(a, name), getattr(b, name)) for a, b in pairs for name in arrays)
        return f"same bytes for 1, 2, 8 threads: {equal}"

    def start(code: list[str]) -> None:
        subprocess.run([sys.executable, *code], check=True, capture_output=True)

    gensim, sklearn = "gensim Dictionary + doc2bow", "scikit-learn CountVectorizer"
    simple = r"\w+"
    command = ["-m", "textmill.cli.app", "--help"]
    return [
        Job("20 News", lambda: ours(news, 1), lambda: peer_gensim(news), gensim, lambda: equal("news"), bar=5.0),
        Job("20 News", lambda: ours(news, 1), lambda: peer_sklearn(news), sklearn, lambda: equal("news"), bar=2.0),
        Job("20 News; peer: \\w+", lambda: ours(news, 1), lambda: peer_gensim(news, simple), gensim),
        Job("20 News; peer: \\w+", lambda: ours(news, 1), lambda: peer_sklearn(news, simple), sklearn),
        Job(
            "20 News, 2 threads",
            lambda: ours(news, 2),
            lambda: ours(news, 1),
            "textmill, 1 thread",
            same_bytes,
            bar=1.6,
        ),
        Job(
            "Reuters", lambda: ours(reuters, 1), lambda: peer_gensim(reuters), gensim, lambda: equal("reuters"), bar=5.0
        ),
        Job(
            "Reuters",
            lambda: ours(reuters, 1),
            lambda: peer_sklearn(reuters),
            sklearn,
            lambda: equal("reuters"),
            bar=1.0,
        ),
        Job(
            "textmill --help",
            lambda: start(command),
            lambda: start(["-c", EMPTY_APP, "--help"]),
            "empty Typer app",
            bar=0.67,
        ),
        Job(
            "import textmill", lambda: start(["-c", "import textmill"]), lambda: start(["-c", "pass"]), "python -c pass"
        ),
    ]
