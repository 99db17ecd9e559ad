"""reviewers.py: votes by their definition, conflicts left out, and authors found again by their other articles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from textmill.errors import DataError
from textmill.tasks.similarity import Collection, evaluate_reviewers, names_of, suggest_reviewers

PEOPLE = 30


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """Articles of one or two people, who each write of two of ten subjects."""
    random = np.random.default_rng(5)
    subjects = random.dirichlet(np.full(300, 0.05), 10)
    mixtures = [random.dirichlet(np.ones(10) * 0.1) @ subjects for _ in range(PEOPLE)]
    rows: list[dict[str, Any]] = []
    for n in range(240):
        who = random.choice(PEOPLE, random.integers(1, 3), replace=False)
        words = random.choice(300, 60, p=np.mean([mixtures[w] for w in who], axis=0))
        names = [f"Person {w}" for w in who]
        text = " ".join(f"w{word}" for word in words)
        rows.append({"id": f"a{n}", "text": text, "authors": names if n % 2 else "; ".join(names), "year": n})
    return Collection.create(tmp_path_factory.mktemp("people") / "library", rows, methods=["tfidf", "lsa"], n_topics=20)


def test_votes_are_sums_of_scores_of_near_articles(library: Collection) -> None:
    authors = {article.id: names_of(article.fields["authors"]) for article in library.snapshot.articles()}
    for method in ("tfidf", "lsa", ["tfidf", "lsa"]):
        near = library.query(text=library.get("a7").words, method=method, k=20)
        votes: dict[str, float] = {}
        for name, score in zip(near.ids, near.scores.tolist(), strict=True):
            for person in authors[name]:
                votes[person] = votes.get(person, 0.0) + max(score, 0.0)
        rows = suggest_reviewers(library, text=library.get("a7").words, method=method, k=40, depth=20)
        assert {row.name: row.votes for row in rows} == pytest.approx({p: v for p, v in votes.items() if v > 0})
        assert [row.votes for row in rows] == sorted((row.votes for row in rows), reverse=True)
        for row in rows:
            assert row.articles == [name for name in near.ids if row.name in authors[name]][: len(row.articles)]


def test_authors_and_those_who_wrote_with_them_are_left_out(library: Collection) -> None:
    authors = {article.id: names_of(article.fields["authors"]) for article in library.snapshot.articles()}
    own = set(authors["a3"])
    friends = {person for some in authors.values() if own & set(some) for person in some}
    names = {row.name for row in suggest_reviewers(library, id="a3", k=PEOPLE, depth=240)}
    assert names
    assert not names & friends
    with_friends = {row.name for row in suggest_reviewers(library, id="a3", k=PEOPLE, depth=240, coauthors=True)}
    assert friends - own <= with_friends
    assert not with_friends & own
    person = sorted(with_friends)[0]
    shouted = suggest_reviewers(library, id="a3", k=PEOPLE, depth=240, coauthors=True, without=[f" {person.upper()} "])
    assert person not in {row.name for row in shouted}


def test_a_filter_narrows_the_articles_that_count(library: Collection) -> None:
    rows = suggest_reviewers(library, text=library.get("a7").words, where={"year": [1, 2, 3]}, k=10)
    assert {name for row in rows for name in row.articles} <= {"a1", "a2", "a3"}


def test_authors_are_found_again_more_often_than_by_naming_the_prolific(library: Collection) -> None:
    figures = evaluate_reviewers(library, k=5)
    assert figures.articles > 200
    assert figures.people == PEOPLE
    assert figures.hits > 0.8 > 0.5 > figures.prolific
    assert figures.reciprocal > 0.5
    assert evaluate_reviewers(library, k=5, sample=50).articles == 50


def test_nobody_is_suggested_for_unknown_words(library: Collection) -> None:
    assert len(suggest_reviewers(library, text="zebra")) == 0


def test_what_cannot_be_asked_is_refused(library: Collection, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no document has names in the field 'editors'"):
        suggest_reviewers(library, id="a1", field="editors")
    with pytest.raises(DataError, match="nothing is asked"):
        suggest_reviewers(library)
    with pytest.raises(DataError, match="no document with the id 'b1'"):
        suggest_reviewers(library, id="b1")
    with pytest.raises(DataError, match="k must be"):
        suggest_reviewers(library, id="a1", k=0)
    alone = Collection.create(
        tmp_path / "alone", [{"text": "a mill", "authors": "A"}, {"text": "b"}], methods=["tfidf"]
    )
    with pytest.raises(DataError, match="nobody in the field 'authors' has two articles"):
        evaluate_reviewers(alone)
