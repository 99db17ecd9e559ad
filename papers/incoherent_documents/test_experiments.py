from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from papers.incoherent_documents.experiments import (
    by_kind,
    by_length,
    by_noise,
    by_topics,
    draw_errors,
    fixed_threshold,
    make_sets,
)
from textmill.corpus import FUNCTION_WORDS, Tokenizer, Vocabulary, read_documents
from textmill.errors import DataError
from textmill.plot import save
from textmill.tasks.coherence import (
    CoherenceScores,
    Content,
    ContentReader,
    Forger,
    TopicScorer,
    combine,
    draw_histograms,
    draw_roc,
    equal_error,
    evaluate,
    sample_pages,
    tune_weight,
)
from textmill.topics import LDA


class Setting:
    """Pages, their content, topics of them, false sets."""

    def __init__(self) -> None:
        train, test = ([page.text for page in sample_pages(n, random_state=s)] for n, s in ((250, 0), (80, 1)))
        vocabulary = Vocabulary(stop_words=FUNCTION_WORDS).fit(train)
        self.reader = ContentReader(vocabulary, FUNCTION_WORDS)
        model = LDA(n_topics=12, method="gibbs", alpha=1.0, eta=0.1, max_iter=60, random_state=0)
        self.scorer = TopicScorer(model.fit(self.reader.read(train).bags(self.reader.terms)).components_)
        self.true = self.reader.read(test)
        self.false = make_sets(Forger(test, self.reader, background=train))


@pytest.fixture(scope="module")
def setting() -> Setting:
    return Setting()


def test_entropy_tells_every_kind(setting: Setting) -> None:
    rows = by_kind({"lda": setting.scorer}, setting.true, setting.false, setting.reader.terms)
    assert [(row.kind, row.score) for row in rows] == [
        (kind, score) for kind in setting.false for score in ("entropy", "llpw")
    ]
    assert all(row.error < 0.05 for row in rows if row.score == "entropy")


def test_errors_fall_with_length(setting: Setting) -> None:
    rows = by_length(setting.scorer, setting.true, setting.false, setting.reader.terms, [10, 30, 90])
    for kind in setting.false:
        errors = [row.error for row in rows if row.kind == kind and row.score == "entropy"]
        assert errors == sorted(errors, reverse=True)


def test_the_likelihood_falls_with_noise(setting: Setting) -> None:
    rows = by_noise(setting.scorer, setting.true, setting.reader.terms, [0.1, 0.3, 0.6])
    errors = [row.error for row in rows if row.score == "llpw"]
    assert errors == sorted(errors, reverse=True)
    again = by_noise(setting.scorer, setting.true, setting.reader.terms, [0.3])
    assert again == [row for row in rows if row.case == 0.3]


def test_numbers_of_topics_are_compared(setting: Setting) -> None:
    X = setting.reader.read([page.text for page in sample_pages(100)]).bags(setting.reader.terms)
    rows = by_topics(X, setting.true, setting.false, [1, 8], max_iter=20)
    errors = {(row.case, row.kind): row.error for row in rows if row.score == "entropy"}
    assert all(errors[8.0, kind] < errors[1.0, kind] for kind in setting.false)


def test_a_threshold_from_development_data_is_applied_as_it_is() -> None:
    counts = fixed_threshold(([1.0, 2.0, 3.0], [5.0, 6.0]), ([1.0, 4.5, 9.0], [3.0, 8.0, 9.0]))
    assert (counts.hits, counts.misses, counts.false_alarms, counts.rejections) == (1, 2, 1, 2)


def test_pictures_are_drawn(setting: Setting, tmp_path: Path) -> None:
    terms = setting.reader.terms
    rows = by_length(setting.scorer, setting.true, setting.false, terms, [10, 30])
    save(draw_errors(rows, x_label="content words"), tmp_path / "errors.png")
    entropies = {"true": setting.scorer.score(setting.true.bags(terms)).entropy}
    entropies |= {kind: setting.scorer.score(one.first(15).bags(terms)).entropy for kind, one in setting.false.items()}
    save(draw_histograms(entropies, threshold=2.0), tmp_path / "histogram.svg")
    true = entropies.pop("true")
    save(draw_roc(true, entropies), tmp_path / "roc.png")
    save(
        draw_roc(true, {"noise": true + np.random.default_rng(0).normal(0.5, 1, len(true))}, det=True),
        tmp_path / "d.png",
    )
    assert {path.name for path in tmp_path.iterdir()} == {"errors.png", "histogram.svg", "roc.png", "d.png"}


def test_sides_without_documents_are_named(setting: Setting) -> None:
    nothing = setting.true.first(0)
    with pytest.raises(DataError, match="0 documents on one side"):
        by_kind({"lda": setting.scorer}, setting.true, {"none": nothing}, setting.reader.terms)
    with pytest.raises(DataError, match="no document with a known word"):
        evaluate([], {"none": []})


def of(scores: CoherenceScores, chosen: np.ndarray) -> CoherenceScores:
    return CoherenceScores(scores.theta[chosen], scores.entropy[chosen], scores.llpw[chosen], scores.words[chosen])


@pytest.mark.data
@pytest.mark.slow
def test_reuters_by_the_published_protocol(data: Path) -> None:
    """7,769 training documents; test documents of 80 content words or more; forgeries of equal length; 50 topics."""
    documents = list(read_documents(data / "reuters" / "reuters21578.jsonl.gz"))
    train = [one.text for one in documents if one.fields["split"] == "training"]
    test = [one.text for one in documents if one.fields["split"] == "test"]
    vocabulary = Vocabulary(tokenizer=Tokenizer(digits="drop"), stop_words=FUNCTION_WORDS).fit(train)
    reader = ContentReader(vocabulary, FUNCTION_WORDS)
    content = reader.read(test)
    true: Content = content.take(content.lengths >= 80)
    X = reader.read(train).bags(reader.terms)
    model = LDA(n_topics=50, method="gibbs", alpha=1.0, eta=0.1, max_iter=200, random_state=0).fit(X)
    scorer = TopicScorer(model.components_)
    false = make_sets(Forger(test, reader, background=train), lengths=true.lengths)
    errors = {(row.kind, row.score): row.error for row in by_kind({"": scorer}, true, false, reader.terms)}
    bars = {"sentence-salad": 0.13, "word-salad": 0.01, "markov": 0.065}
    for kind, bar in bars.items():
        assert errors[kind, "entropy"] <= bar
        assert errors[kind, "llpw"] - errors[kind, "entropy"] >= 0.2
    long = true.lengths >= 150
    good = scorer.score(true.bags(reader.terms))
    scores = {kind: scorer.score(one.bags(reader.terms)) for kind, one in false.items()}
    assert equal_error(good.entropy[long], scores["sentence-salad"].entropy[long]).figure <= 0.06
    rows = by_length(scorer, true, false, reader.terms, [20, 50, 100, 150, 200])
    for kind in false:
        curve = [row.error for row in rows if row.kind == kind and row.score == "entropy"]
        assert curve == sorted(curve, reverse=True)
    levels = [0.1, 0.2, 0.3, 0.5, 0.7]
    noise = {(row.case, row.score): row.error for row in by_noise(scorer, true, reader.terms, levels)}
    curve = [noise[level, "llpw"] for level in levels]
    assert curve == sorted(curve, reverse=True)
    assert all(noise[level, "llpw"] < noise[level, "entropy"] for level in levels)
    half = np.random.default_rng(0).random(len(true.lengths)) < 0.5
    weight, _ = tune_weight(of(good, half), {kind: of(one, half) for kind, one in scores.items()})
    for one in scores.values():
        plain, mixed = (
            equal_error(combine(good.entropy, good.llpw, w)[~half], combine(one.entropy, one.llpw, w)[~half]).figure
            for w in (0.0, weight)
        )
        assert mixed <= plain + 0.005
