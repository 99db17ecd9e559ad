"""Who could review an article: people whose own articles are near to it.

    votes(p) = sum over the articles of p among the `depth` nearest, of their scores, none below 0

Only near articles vote, so people who wrote much of something else gain nothing by it. Authors of the article itself
are not suggested, nor people who wrote anything with one of them. A field holds a list of names, or names with
semicolons between them, since commas stand inside of names; letter case and blanks do not tell people apart.

How far votes can be trusted shows `evaluate_reviewers`: every article of a sample is taken for a new one, and its own
authors, who have written others, should be among those suggested. Cost: one search for each article asked.
References: Macdonald & Ounis (2006), Voting for candidates: adapting data fusion techniques for an expert search task;
Rehurek (2011), Scalability of Semantic Analysis in Natural Language Processing, chapter 6, for the use.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from textmill.errors import DataError
from textmill.model import check_range
from textmill.progress import track
from textmill.tables import Rows
from textmill.tasks.similarity.collection import Collection
from textmill.tasks.similarity.documents import Matches
from textmill.tasks.similarity.filters import Where
from textmill.tasks.similarity.questions import Question

__all__ = ["Reviewer", "ReviewerFigures", "evaluate_reviewers", "names_of", "suggest_reviewers"]

_DEPTH = 50  # articles that vote
_BATCH = 64  # articles of an evaluation that are asked together


class Reviewer(NamedTuple):
    """A person, the votes, and the ids of the articles that gave them, the nearest first."""

    name: str
    votes: float
    articles: list[str]


class ReviewerFigures(NamedTuple):
    """How often the authors of articles were suggested for them, as if the articles were new.

    `hits` is the share of `articles` with an author among the first k people, `reciprocal` the mean of 1 / rank of the
    first one, 0 where none is suggested; `prolific` is what naming the k people with most articles would have found.
    """

    articles: int
    people: int
    hits: float
    reciprocal: float
    prolific: float


def names_of(value: Any) -> list[str]:
    """Return the names in a field, each once.

    >>> names_of("Noether, Emmy;  Krull, W."), names_of(["Noether, Emmy", "noether,  emmy"]), names_of(None)
    (['Noether, Emmy', 'Krull, W.'], ['Noether, Emmy'], [])
    """
    several = value if isinstance(value, list | tuple) else re.split(r"[;\n]", str(value)) if value is not None else []
    names = [" ".join(str(one).split()) for one in several]
    return list({_person(name): name for name in reversed(names) if name}.values())[::-1]


def suggest_reviewers(
    collection: Collection,
    *,
    id: str | None = None,  # noqa: A002
    text: str | None = None,
    field: str = "authors",
    method: str | Sequence[str] | None = None,
    k: int = 5,
    depth: int = _DEPTH,
    without: Iterable[str] = (),
    coauthors: bool = False,
    where: Where | None = None,
) -> Rows[Reviewer]:
    """Return the k people whose articles are nearest to an article of the collection, or to a text.

    Authors of the article `id` and people named in `without`, such as the authors of the text, are left out; and unless
    `coauthors` is true, so is everybody who has written an article with one of them.

    >>> rows = [
    ...     {"text": "rings and ideals", "authors": "Noether, Emmy"},
    ...     {"text": "ideals of rings", "authors": "Krull, Wolfgang"},
    ...     {"text": "graphs and trees", "authors": "Cayley, Arthur"},
    ... ]
    >>> library = Collection.create("referees", rows, methods=["tfidf"])
    >>> [(one.name, one.articles) for one in suggest_reviewers(library, text="a ring of ideals", k=2)]
    [('Krull, Wolfgang', ['1']), ('Noether, Emmy', ['0'])]
    >>> [one.name for one in suggest_reviewers(library, id="0", k=1)]
    ['Krull, Wolfgang']
    """
    check_range("k", k, at_least=1, whole=True)
    check_range("depth", depth, at_least=1, whole=True)
    people = _people(collection, field)
    left_out = set(map(_person, without))
    if id is not None:
        left_out |= set(map(_person, people.get(id, [])))
    if left_out and not coauthors:
        left_out |= {_person(name) for some in people.values() if left_out & set(map(_person, some)) for name in some}
    question = Question(id=id, text=text)
    matches = collection.query_many([question], method=method, k=depth, where=where)[0]
    ranked = _ranked(matches, people, left_out)
    return Rows(ranked[:k], Reviewer)


def evaluate_reviewers(
    collection: Collection,
    field: str = "authors",
    *,
    method: str | Sequence[str] | None = None,
    k: int = 5,
    depth: int = _DEPTH,
    sample: int = 1000,
    random_state: int = 0,
) -> ReviewerFigures:
    """Return how often authors are suggested for their own articles by their other articles.

    Articles none of whose authors has another are left out, for nobody could find them.

    >>> rows = [{"text": f"{subject} {n % 3}", "authors": subject} for n in range(6) for subject in ("rings", "trees")]
    >>> evaluate_reviewers(Collection.create("own", rows, methods=["tfidf"]), k=1).hits
    1.0
    """
    check_range("k", k, at_least=1, whole=True)
    check_range("sample", sample, at_least=1, whole=True)
    people = _people(collection, field)
    wrote = Counter(_person(name) for some in people.values() for name in some)
    asked = [name for name, some in people.items() if any(wrote[_person(one)] > 1 for one in some)]
    if not asked:
        raise DataError(f"nobody in the field '{field}' has two articles, so nobody can be found again; name another")
    chosen = np.sort(np.random.default_rng(random_state).permutation(len(asked))[:sample])
    asked = [asked[i] for i in chosen]
    prolific = {name for name, _ in wrote.most_common(k)}
    ranks, lucky = [], 0
    for first in track(range(0, len(asked), _BATCH), "asking for reviewers", unit="batches"):
        some = asked[first : first + _BATCH]
        answers = collection.query_many([Question(id=one) for one in some], method=method, k=depth)
        for name, matches in zip(some, answers, strict=True):
            authors = {_person(one) for one in people[name]}
            order = [_person(one.name) for one in _ranked(matches, people, set())]
            ranks.append(next((rank for rank, one in enumerate(order, 1) if one in authors), 0))
            lucky += bool(authors & prolific)
    return ReviewerFigures(
        len(asked),
        len(wrote),
        sum(1 <= rank <= k for rank in ranks) / len(ranks),
        sum(1 / rank for rank in ranks if rank) / len(ranks),
        lucky / len(ranks),
    )


def _people(collection: Collection, field: str) -> dict[str, list[str]]:
    """The names of each article that has some, by its id."""
    snapshot = collection.snapshot
    names = zip(snapshot.values("id"), map(names_of, snapshot.values(field)), strict=True)
    people = {name: some for name, some in names if some}
    if not people:
        raise DataError(f"no document has names in the field '{field}'; name the field of the authors")
    return people


def _ranked(matches: Matches, people: dict[str, list[str]], left_out: set[str]) -> list[Reviewer]:
    """Everybody who has votes, most first, ties by the nearest article."""
    votes: dict[str, float] = {}
    articles: dict[str, list[str]] = {}
    spelled: dict[str, str] = {}
    for article, score in zip(matches.ids, matches.scores.tolist(), strict=True):
        for name in people.get(article, []) if score > 0 else []:
            person = _person(name)
            if person not in left_out:
                votes[person] = votes.get(person, 0.0) + score
                articles.setdefault(person, []).append(article)
                spelled.setdefault(person, name)
    order = sorted(votes, key=lambda person: -votes[person])  # stable: who came first stays first
    return [Reviewer(spelled[person], votes[person], articles[person]) for person in order]


def _person(name: str) -> str:
    return " ".join(name.split()).casefold()
