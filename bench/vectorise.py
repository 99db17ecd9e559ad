"""Raw strings to counts with a vocabulary: textmill, gensim and scikit-learn on five corpora, one thread.

All three get the same tokens: gensim and scikit-learn through a regular expression that says what UAX #29 says of the
characters in these corpora (mostly Latin, Greek and Cyrillic letters), after case folding. That the counts are
identical, cell by cell, is checked and printed as the quality. `\\w+` rows show the peers with the simplest pattern
instead of the equal one.

    TEXTMILL_DATA=... python -m bench vectorise
"""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache

import numpy as np
from scipy import sparse

from bench._corpora import NAMES, texts
from bench.harness import Job, Options
from textmill.corpus import Vocabulary

PACKAGES = ["gensim", "scikit-learn", "typer"]

LETTERS = "a-zªºμà-öø-ÿĀ-ɏͰ-ͽΆΈ-ϿЀ-ҁḀ-ỿ"
JOINERS = r"[.':·’‘]"  # between letters
PATTERN = (
    rf"(?=_*[{LETTERS}0-9])[{LETTERS}0-9_]+"
    rf"(?:(?:(?<=[{LETTERS}]){JOINERS}(?=[{LETTERS}])|(?<=[0-9])[.,;'’‘](?=[0-9]))[{LETTERS}0-9_]+)*"
    r"|[²³¹¼½¾]|[\u30a0-\u30ff]+|[\u3041-\u3096\u4e00-\u9fff]"
)
EMPTY_APP = "import typer\napp = typer.Typer()\n@app.command()\ndef main() -> None:\n    '''Nothing.'''\napp()\n"


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    gensim, sklearn = "gensim Dictionary + doc2bow", "scikit-learn CountVectorizer"
    table = []
    for name in NAMES:
        some = texts(options, name)
        quality = cache(lambda some=some: equal(some))
        for peer, work, bar in ((gensim, peer_gensim, 5.0), (sklearn, peer_sklearn, 2.0)):
            table.append(
                Job(name, lambda some=some: ours(some, 1), lambda some=some, work=work: work(some), peer, quality,
                    figure="processor", bar=bar, claim="texts to counts")
            )  # fmt: skip
    news = texts(options, "20 News")
    for peer, work in ((gensim, peer_gensim), (sklearn, peer_sklearn)):
        table.append(
            Job(
                "20 News; peer: \\w+",
                lambda: ours(news, 1),
                lambda work=work: work(news, r"\w+"),
                peer,
                figure="processor",
            )
        )
    command = ["-m", "textmill.cli.app", "--help"]
    return [
        *table,
        Job("20 News, 2 threads", lambda: ours(news, 2), lambda: ours(news, 1), "textmill, 1 thread",
            lambda: same_bytes(news), bar=1.6),
        Job("textmill --help", lambda: start(command), lambda: start(["-c", EMPTY_APP, "--help"]), "empty Typer app",
            bar=0.67),
        Job("import textmill", lambda: start(["-c", "import textmill"]), lambda: start(["-c", "pass"]),
            "python -c pass"),
    ]  # fmt: skip


def ours(documents: list[str], threads: int) -> sparse.csr_matrix:
    """Vocabulary and counts in one pass."""
    return Vocabulary(n_jobs=threads).fit_transform(documents)


def peer_gensim(documents: list[str], pattern: str = PATTERN) -> object:
    """gensim's dictionary and its bags."""
    from gensim.corpora import Dictionary

    find = re.compile(pattern).findall
    dictionary = Dictionary()
    return [dictionary.doc2bow(find(text.casefold()), allow_update=True) for text in documents]


def peer_sklearn(documents: list[str], pattern: str = PATTERN) -> sparse.csr_matrix:
    """scikit-learn's matrix of counts."""
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer(preprocessor=str.casefold, token_pattern=pattern).fit_transform(documents)


def equal(documents: list[str]) -> str:
    """Whether both find the same terms and the same counts, cell by cell."""
    from sklearn.feature_extraction.text import CountVectorizer

    theirs = CountVectorizer(preprocessor=str.casefold, token_pattern=PATTERN)
    Y = theirs.fit_transform(documents)
    vocabulary = Vocabulary(order="sorted")
    X = vocabulary.fit_transform(documents)
    same = vocabulary.terms_.to_list() == theirs.get_feature_names_out().tolist() and (X != Y).nnz == 0
    sizes = f"{X.shape[0]} x {X.shape[1]}, {X.nnz} non-zeros, {int(X.sum())} tokens"
    return f"{sizes}, {'identical' if same else 'DIFFERENT'} counts"


def same_bytes(documents: list[str]) -> str:
    """Whether one, two and eight threads give the same arrays."""
    one, two, eight = (ours(documents, threads) for threads in (1, 2, 8))
    arrays = ("indptr", "indices", "data")
    equal = all(np.array_equal(getattr(one, name), getattr(other, name)) for other in (two, eight) for name in arrays)
    return f"same bytes for 1, 2, 8 threads: {equal}"


def start(code: list[str]) -> None:
    """A process of Python, to its end."""
    subprocess.run([sys.executable, *code], check=True, capture_output=True)
