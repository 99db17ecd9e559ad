from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import textmill
from textmill.corpus import Vocabulary
from textmill.errors import DataError, ModelFileError
from textmill.tasks import CoherenceDetector
from textmill.tasks.coherence import KINDS, Forger, sample_pages
from textmill.topics import PLSA
from textmill.vectors import TextVectorizer, Weighting


@pytest.fixture(scope="module")
def detector() -> CoherenceDetector:
    return CoherenceDetector(n_topics=12, max_iter=80, random_state=1).fit(sample_pages(300))


@pytest.fixture(scope="module")
def new() -> list[str]:
    return [page.text for page in sample_pages(150, random_state=7)]


def test_good_pages_pass_and_false_ones_are_caught(detector: CoherenceDetector, new: list[str]) -> None:
    assert np.mean(detector.predict(new) == "coherent") > 0.85
    forger = Forger(new, detector._reader(), random_state=2)
    for kind in KINDS:
        least = 0.7 if kind == "word-stuffing" else 0.9  # rare words say little of any topic
        assert np.mean(detector.predict(forger.make(kind)) == "incoherent") > least, kind


def test_the_share_of_false_alarms_is_kept_at_every_length(detector: CoherenceDetector, new: list[str]) -> None:
    reader, scorer = detector._reader(), detector._scorer()
    content = reader.read(new)
    for length in (10, 30, 60, 100):
        found = scorer.score(content.take(content.lengths >= length).first(length).bags(reader.terms))
        score = found.entropy - detector.weight_ * found.llpw
        assert np.mean(score > detector.threshold(length)) < 0.2


def test_the_probability_orders_false_behind_true(detector: CoherenceDetector, new: list[str]) -> None:
    true = [score.probability for score in detector.scores(new)]
    false = [score.probability for score in detector.scores(Forger(new, detector._reader()).make("markov"))]
    assert np.mean(true) < 0.1 < 0.9 < np.mean(false)


def test_documents_without_known_words_are_empty(detector: CoherenceDetector) -> None:
    for score in detector.scores(["", "xyzzy plugh", "the of and", "12 345"]):
        assert score.verdict == "empty"
        assert score.words == 0
        values = (score.entropy, score.llpw, score.probability, score.threshold, score.score, score.perplexity)
        assert np.isnan(values).all()
        assert score.topics == []
        assert not score.unfamiliar
    assert next(detector.scores(["xyzzy plugh"])).unknown == 1.0
    assert detector.explain("").sentences == []
    assert not any(sentence.offending for sentence in detector.explain("Xyzzy plugh. The of.").sentences)


def test_very_short_and_very_long_documents_are_scored(detector: CoherenceDetector, new: list[str]) -> None:
    one, long = detector.scores(["telescope", " ".join(new * 4)])
    assert one.words == 1
    assert np.isfinite(one.probability)
    assert long.words > 50_000
    assert long.verdict == "incoherent"


def test_sentences_of_another_subject_are_named(detector: CoherenceDetector) -> None:
    pages = {page.fields["subject"]: page for page in sample_pages(60, random_state=11)}
    host = pages["harbour"].text
    strange = "The stellar telescope observed the galaxy near the comet."
    found = detector.explain(host + " " + strange)
    assert [sentence.text for sentence in found.sentences if sentence.offending][-1] == strange
    offending = np.mean([sentence.offending for sentence in found.sentences[:-1]])
    assert offending < 0.35  # pages have asides of their own
    assert set(detector.topic_words(found.sentences[-1].topic)) & {"telescope", "galaxy", "comet", "stellar", "star"}


def test_out_of_domain_documents_are_unfamiliar(detector: CoherenceDetector) -> None:
    shared = "town year people work day plan report city group house country week office family road market school"
    odd = "coupling parallax oboe pollen injunction quasar baton hedge aphid"
    scores = list(detector.scores([odd + " " + odd.replace("quasar", "bran"), sample_pages(1)[0].text, shared]))
    assert scores[0].unfamiliar
    assert not scores[1].unfamiliar


def test_streams_and_chunks_give_the_same_scores(
    detector: CoherenceDetector, new: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = list(detector.scores(new))
    monkeypatch.setattr("textmill.tasks.coherence.detector._CHUNK", 7)
    assert list(detector.scores(text for text in new)) == whole
    assert [score.id for score in detector.scores(sample_pages(2))] == ["page-0", "page-1"]


def test_a_saved_detector_judges_the_same(detector: CoherenceDetector, new: list[str], tmp_path: Path) -> None:
    detector.save(tmp_path / "d.mill")
    again = textmill.load(tmp_path / "d.mill", verify=True)
    assert list(again.scores(new)) == list(detector.scores(new))
    assert again.explain(new[0]) == detector.explain(new[0])
    again.save(tmp_path / "e.mill")
    assert (tmp_path / "e.mill").read_bytes() == (tmp_path / "d.mill").read_bytes()
    again.calibration_ = np.full(4, np.nan)
    with pytest.raises(ModelFileError, match="finite"):
        again.check_values()


def test_fitting_gives_the_same_bytes_for_any_number_of_threads(tmp_path: Path) -> None:
    pages = sample_pages(120)
    made = []
    for jobs in (1, 2):
        detector = CoherenceDetector(n_topics=5, max_iter=10, n_jobs=jobs).fit(pages)
        made.append((detector.components_.tobytes(), detector.thresholds_.tobytes(), detector.weight_))
    assert made[0] == made[1]


def test_imported_topics_give_the_scores_of_the_same_topics(detector: CoherenceDetector, new: list[str]) -> None:
    terms = detector.vocabulary_.terms_.to_list()
    order = np.random.default_rng(0).permutation(len(terms))  # a foreign matrix has its own order, and counts
    matrix = detector.components_[:, order] * 12345.0
    foreign = CoherenceDetector().fit(new, topics=(matrix, [terms[i] for i in order]))
    ours, theirs = list(detector.scores(new[:20])), list(foreign.scores(new[:20]))
    assert [one.entropy for one in theirs] == pytest.approx([one.entropy for one in ours], abs=1e-3)
    assert [one.llpw for one in theirs] == pytest.approx([one.llpw for one in ours], abs=1e-4)


def test_topics_of_any_model_with_a_vectorizer_can_be_used(new: list[str]) -> None:
    vectorizer = TextVectorizer(vocabulary=Vocabulary(max_df=0.3), weighting=Weighting(scheme="nnn"))
    model = PLSA(n_topics=12, vectorizer=vectorizer, random_state=0).fit([page.text for page in sample_pages(200)])
    detector = CoherenceDetector().fit(new, topics=model)
    forged = Forger(new, detector._reader()).make("sentence-salad")
    assert np.mean(detector.predict(forged) == "incoherent") > 0.9


def test_bad_input_is_named(detector: CoherenceDetector, new: list[str]) -> None:
    with pytest.raises(DataError, match="not fitted"):
        CoherenceDetector().scores(["a"])
    with pytest.raises(DataError, match="got one text"):
        detector.scores("one text")
    with pytest.raises(DataError, match="left to calibrate with"):
        CoherenceDetector(n_topics=2, max_iter=5).fit(new[:30])
    with pytest.raises(DataError, match="too few good documents"):
        CoherenceDetector().fit([])
    with pytest.raises(DataError, match="n_topics"):
        CoherenceDetector(n_topics=0).fit(new)
    with pytest.raises(DataError, match="alpha"):
        CoherenceDetector(alpha=-1.0).fit(new)
    with pytest.raises(DataError, match="eta"):
        CoherenceDetector(eta=0.0).fit(new)
    with pytest.raises(DataError, match="forgeries must be"):
        CoherenceDetector(forgeries=["salad"]).fit(new)
    with pytest.raises(DataError, match="list of kinds"):
        CoherenceDetector(forgeries="markov").fit(new)
    with pytest.raises(DataError, match="2 different terms"):
        CoherenceDetector().fit(new, topics=(np.ones((3, 5)), ["a", "b"]))
    with pytest.raises(DataError, match="not negative"):
        CoherenceDetector().fit(new, topics=(np.array([[1.0, -1.0]]), ["a", "b"]))
    with pytest.raises(DataError, match="model with a vectorizer"):
        CoherenceDetector().fit(new, topics=PLSA(n_topics=2).fit(np.array([[1, 1], [2, 0]])))


def test_a_file_of_the_first_format_still_loads(new) -> None:
    detector = textmill.load(Path(__file__).parent.parent / "files" / "tasks" / "detector-1.mill", verify=True)
    assert (detector.n_topics, detector.max_iter) == (2, 10)
    assert len(detector.predict(new[:5])) == 5
