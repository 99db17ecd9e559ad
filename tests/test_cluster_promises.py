"""What docs/how/cluster.md promises: which models have the same bytes on a cluster as in one process."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from textmill.corpus import Vocabulary, sample_articles, sample_texts
from textmill.linear import LogisticRegression, NaiveBayes
from textmill.lm import NGramModel
from textmill.strings import Matcher
from textmill.tasks import LanguageIdentifier
from textmill.topics import LDA
from textmill.topics.lda.learning import Batch, Online
from textmill.vectors import TextVectorizer, Weighting

PAGE = Path(__file__).parents[1] / "docs" / "how" / "cluster.md"
TEXTS = sample_texts()[:120]
SUBJECTS = [article["subject"] for article in sample_articles()][:120]


def bags() -> Any:
    counts = TextVectorizer(vocabulary=Vocabulary(min_df=2), weighting=Weighting(scheme="nnn")).fit(TEXTS)
    return counts.transform(TEXTS)


def lda(method: Any) -> Callable[[Any], Any]:
    return lambda cluster: LDA(n_topics=5, method=method, max_iter=3, random_state=0).fit(bags(), cluster=cluster)


def logistic(cluster: Any) -> Any:
    X, labels = bags(), np.array([subject == SUBJECTS[0] for subject in SUBJECTS])
    chunks = [(X[a : a + 50], labels[a : a + 50]) for a in range(0, 120, 50)]
    return LogisticRegression(l1=0.3).fit(chunks, cluster=cluster)


SAME: dict[str, dict[str, Callable[[Any], Any]]] = {
    "Vocabulary": {"": lambda cluster: Vocabulary(min_df=2).fit(TEXTS, cluster=cluster)},
    "LDA": {"online": lda(Online(chunk_size=20, update_every=3)), "batch": lda(Batch(chunk_size=20))},
    "NGramModel": {"": lambda cluster: NGramModel(order=3).fit(TEXTS, cluster=cluster)},
    "NaiveBayes": {"": lambda cluster: NaiveBayes().fit(bags(), SUBJECTS, cluster=cluster)},
    "LogisticRegression": {"": logistic},
    "LanguageIdentifier": {
        "": lambda cluster: LanguageIdentifier(min_count=1).fit(
            TEXTS[:40], ["en" if n % 2 else "cs" for n in range(40)], cluster=cluster
        )
    },
}


@pytest.mark.parametrize(("kind", "how"), [(kind, how) for kind, hows in SAME.items() for how in hows])
def test_the_file_of_a_model_is_the_same_on_a_cluster(client: Any, tmp_path: Path, kind: str, how: str) -> None:
    for name, cluster in (("here", None), ("there", client)):
        SAME[kind][how](cluster).save(tmp_path / name)
    assert (tmp_path / "here").read_bytes() == (tmp_path / "there").read_bytes()


def test_pairs_of_names_are_the_same_on_a_cluster(client: Any) -> None:
    model = Matcher(threshold=0.3).fit([text[:30] for text in TEXTS])
    here, there = model.pairs(), model.pairs(cluster=client)
    assert len(here.left)
    for name in ("left", "right", "score"):
        assert np.asarray(getattr(here, name)).tobytes() == np.asarray(getattr(there, name)).tobytes()


def test_the_page_promises_what_is_tested() -> None:
    row = re.search(r"^\| the same bytes \|(.*)\|$", PAGE.read_text(encoding="utf-8"), re.M)
    assert row
    assert set(re.findall(r"`(\w+)`", row[1])) == {*SAME, "Matcher", "NeighborTable"}
