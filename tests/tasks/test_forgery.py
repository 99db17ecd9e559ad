from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from textmill.corpus import Tokenizer, Vocabulary
from textmill.errors import DataError
from textmill.tasks.coherence import KINDS, ContentReader, Forger, sample_pages
from textmill.tasks.coherence.content import sentences_of
from textmill.tasks.coherence.forgery import choose_replacements, kind_of

PAGES = [page.text for page in sample_pages(40)]
STOP = ["the", "a", "and", "of", "for", "in", "was", "or", "had"]


@pytest.fixture(scope="module")
def forger() -> Forger:
    vocabulary = Vocabulary(tokenizer=Tokenizer(digits="drop"), stop_words=STOP).fit(PAGES)
    return Forger(PAGES[:20], ContentReader(vocabulary, STOP), background=PAGES[20:], random_state=3)


@pytest.mark.parametrize("kind", KINDS)
def test_lengths_are_met_exactly(kind: str, forger: Forger) -> None:
    lengths = [1, 2, 7, 50, 0, 120, 400]
    made = forger.make(kind, lengths)
    assert forger.reader.read(made).lengths.tolist() == lengths
    paired = forger.make(kind)
    assert forger.reader.read(paired).lengths.tolist() == forger.lengths.tolist()


def test_the_beginning_of_only_one_kind_stands_for_it(forger: Forger) -> None:
    assert [kind_of(kind) for kind in KINDS] == list(KINDS)
    assert kind_of("word-sa") == "word-salad"
    assert forger.make("mark", [5]) == forger.make("markov", [5])
    for name in ("word", "", "mill", 3):  # of several, of all, of none
        with pytest.raises(DataError, match="kind must be one of 'sentence-salad'"):
            kind_of(name)


@pytest.mark.parametrize("kind", KINDS)
def test_documents_are_reproduced_by_their_seed_number_and_length(kind: str, forger: Forger) -> None:
    again = Forger(PAGES[:20], forger.reader, background=PAGES[20:], random_state=3)
    other = Forger(PAGES[:20], forger.reader, background=PAGES[20:], random_state=4)
    made = forger.make(kind, [30, 40, 50])
    assert made == again.make(kind, [30, 40, 50, 60])[:3]
    assert made != other.make(kind, [30, 40, 50])


def test_sentences_of_a_salad_are_of_the_pool_and_of_different_documents(forger: Forger) -> None:
    owner: dict[str, set[int]] = {}
    for i, text in enumerate(PAGES[:20]):
        for sentence in sentences_of(text):
            owner.setdefault(sentence, set()).add(i)
    for text in forger.make("sentence-salad", [60] * 10):
        parts = sentences_of(text)[:-1]  # the last one may be cut
        assert all(part in owner for part in parts)
        assert len(set.union(*(owner[part] for part in parts))) >= len(parts)


def test_passages_of_a_blend_are_consecutive(forger: Forger) -> None:
    follows = {
        pair for text in PAGES[:20] for pair in zip(sentences_of(text)[:-1], sentences_of(text)[1:], strict=True)
    }
    for text in forger.make("chunk-blend", [150] * 5):
        parts = sentences_of(text)[:-1]
        together = sum(pair in follows for pair in itertools.pairwise(parts))
        assert len(parts) / 2 <= together < len(parts) - 1


def test_word_salad_has_the_words_of_its_model(forger: Forger) -> None:
    tokens = Counter(token for text in forger.make("word-salad", [500] * 40) for token in Tokenizer()(text))
    p = forger.unigrams.distribution()
    p[:3] = 0
    counts = np.array([tokens[word] for word in forger.unigrams.words_])
    assert counts.sum() == sum(tokens.values())
    there = p > 0
    assert stats.chisquare(counts[there], p[there] / p.sum() * counts.sum()).pvalue > 1e-3


@pytest.mark.parametrize("level", [0, 0.05, 0.3, 0.5, 1])
def test_noise_replaces_exactly_its_share_of_the_words(level: float, forger: Forger) -> None:
    made = forger.make("word-noise", level=level)
    for before, after in zip(PAGES[:20], made, strict=True):
        old, new = (forger.reader.read([text]).ids for text in (before, after))
        assert (old != new).sum() == round(level * len(old))


def test_noise_is_even_over_the_vocabulary(forger: Forger) -> None:
    terms = forger.reader.terms
    own = np.zeros(200_000, dtype=np.int64)
    picks = choose_replacements(np.array([0, len(own)]), own, 1.0, terms, np.random.default_rng(0))
    counts = np.bincount(picks, minlength=terms)
    assert counts[0] == 0
    assert stats.chisquare(counts[1:]).pvalue > 1e-3


@given(
    lengths=st.lists(st.integers(0, 12), max_size=8),
    level=st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]),
    choices=st.integers(1, 5),
    seed=st.integers(0, 2**31),
)
def test_replacements_are_as_many_as_asked_and_never_the_word_itself(
    lengths: list[int], level: float, choices: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    own = random.integers(-1, choices, offsets[-1])
    picks = choose_replacements(offsets, own, level, choices, random)
    assert ((picks < 0) | (picks != own)).all()
    assert (picks < choices).all()
    if choices > 1:
        found = [int((picks[a:b] >= 0).sum()) for a, b in itertools.pairwise(offsets)]
        assert found == [round(level * length) for length in lengths]


def test_stuffing_takes_words_of_the_list_and_else_rare_ones(forger: Forger) -> None:
    ((tokens, _),) = forger.reader.tokens(forger.make("word-stuffing", [40], words=["casino", "poker"], level=0.5))
    assert sum(token in ("casino", "poker") for token in tokens) == 20
    vocabulary = forger.reader.vocabulary
    rare = {*vocabulary.terms_.take(np.argsort(vocabulary.collection_frequency_, kind="stable")[:20])}
    ((tokens, _),) = forger.reader.tokens(forger.make("word-stuffing", [40], level=1.0))
    assert {*tokens} - {*STOP} - rare <= {word for text in PAGES for word in Tokenizer()(text)} - {*vocabulary.terms_}


def test_bad_input_is_named(forger: Forger) -> None:
    with pytest.raises(DataError, match="no documents to forge from"):
        Forger([], forger.reader)
    with pytest.raises(DataError, match="no documents to forge from"):
        Forger.of([])
    with pytest.raises(DataError, match="kind must be one of 'sentence-salad'"):
        forger.make("salad")
    with pytest.raises(DataError, match="level must be"):
        forger.make("word-noise", [5], level=1.5)
    with pytest.raises(DataError, match="must not be negative"):
        forger.make("markov", [-1])
    with pytest.raises(DataError, match="at least one word"):
        forger.make("word-stuffing", [5], words=[])
    strange = ContentReader(Vocabulary().fit(["xyzzy plugh"]))
    for kind in KINDS:
        with pytest.raises(DataError, match="word"):
            Forger(PAGES[:3], strange).make(kind, [5])
