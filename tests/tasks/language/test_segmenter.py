"""Segmentation: the worked example, Viterbi against all paths, tiling and evaluation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.language_id.baselines import (
    MarkovIdentifier,
)
from textmill._native import language as native
from textmill.errors import DataError
from textmill.tasks.language import (
    LanguageIdentifier,
    LanguageSegmenter,
    TokenCounts,
    build_documents,
    describe_evaluation,
    evaluate_languages,
    evaluate_segments,
    language_shares,
    page_text,
    throughput,
    words_of,
)
from textmill.tasks.language.letterpaths import IdentifierLetters

CS = [2.0, 1.5, 2.0, 0, 1.8, 2.0, 0, 0, 0.2, 0, 0, 0]
EN = [0, 0, 0.1, 0, 0, 0, 1.9, 2.0, 1.5, 0, 2.0, 1.7]
ENGLISH = ["the cat sat on the mat and the dog looked at it", "this is the house near the river that you saw"] * 3
CZECH = ["kočka seděla na rohoži a pes se na ni díval", "to je dům u řeky který jsi viděl včera večer"] * 3


@pytest.fixture(scope="module")
def identifier() -> LanguageIdentifier:
    return LanguageIdentifier(min_count=1, held_out=0, order=3).fit(
        ENGLISH + CZECH, ["en"] * len(ENGLISH) + ["cs"] * len(CZECH)
    )


def test_the_worked_example_of_smoothing() -> None:
    rows = np.array([CS, EN], dtype=np.float32).T.copy()
    medians = np.empty_like(rows)
    native.smooth(rows, 2, medians)
    assert medians[:, 0].tolist() == pytest.approx([2.0, 1.75, 1.8, 1.8, 1.8, 0, 0.2, 0, 0, 0, 0, 0])
    assert medians[:, 1].tolist() == pytest.approx([0, 0, 0, 0, 0, 0, 1.5, 1.5, 1.9, 1.7, 1.6, 1.7])
    begin, offsets, languages = native.smoothed_pieces(rows, np.full(2, 0.7, dtype=np.float32), 2, 3, 5)
    assert begin.tolist() == [0, 6, 12]
    assert (offsets.tolist(), languages.tolist()) == ([0, 1, 2], [0, 1])


@pytest.mark.parametrize(("said", "begin"), [(3.0, [0, 26]), (2.0, [0, 8, 18, 26])])
def test_words_that_stand_apart_keep_a_passage_with_its_neighbor(said: float, begin: list[int]) -> None:
    """Medians of the ten words in the middle are 0; their mean is 0.6 or 0.4, the threshold 1."""
    passage = [0, 0, 0, said, 0, 0, said, 0, 0, 0]
    rows = np.array([[*[2.0] * 8, *passage, *[2.0] * 8]], dtype=np.float32).T.copy()
    cuts, offsets, _ = native.smoothed_pieces(rows, np.ones(1, dtype=np.float32), 2, 3, 5)
    assert cuts.tolist() == begin
    assert np.diff(offsets).tolist() == [1, 0, 1][: len(begin) - 1]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), st.integers(1, 3), st.floats(0, 4), st.integers(0, 2**32 - 1))
def test_the_path_is_the_best_of_all(length: int, labels: int, penalty: float, seed: int) -> None:
    scores = np.random.default_rng(seed).normal(0, 2, (length, labels)).astype(np.float32)

    def value(path: tuple[int, ...]) -> float:
        changes = sum(a != b for a, b in itertools.pairwise(path))
        return float(sum(scores[t, y] for t, y in enumerate(path)) - penalty * changes)

    path = tuple(native.switching_path(scores, penalty).tolist())
    assert value(path) == pytest.approx(max(map(value, itertools.product(range(labels), repeat=length))), abs=1e-4)


@pytest.mark.parametrize(
    "text", ["the cat kočka seděla rohoži", "the cat. kočka\nqqq, seděla rohoži!", "the… cat kočka؟ na"]
)
def test_confidence_is_the_marginal_of_all_paths(identifier: LanguageIdentifier, text: str) -> None:
    penalty, unknown, unseen, share = 1.5, 0.1, 0.4, 0.3
    words = identifier.explain(text)
    rows = np.array([[word.relevance.get(code, 0.0) for code in ("cs", "en")] for word in words])
    extra = [0.0 if word.source == "dictionary" else unseen * np.log(1.9) for word in words]
    rows = np.hstack([rows, unknown + np.array(extra)[:, None]])
    between = [text[a.end : b.begin] for a, b in itertools.pairwise(words)]
    prices = [penalty * (share if set(gap) & set(".!?:;\n…؟") else 1.0) for gap in between]
    segmenter = LanguageSegmenter(
        identifier=identifier, penalty=penalty, unknown=unknown, unseen=unseen, break_penalty=share
    )
    pieces = segmenter.segments(text)
    weights = {}
    for path in itertools.product(range(3), repeat=len(rows)):
        paid = sum(price for price, (a, b) in zip(prices, itertools.pairwise(path), strict=True) if a != b)
        weights[path] = np.exp(sum(rows[t, y] for t, y in enumerate(path)) - paid)
    best = max(weights, key=weights.__getitem__)
    codes = ["cs", "en", None]
    assert [p.language for p in pieces for _ in range(p.last_word - p.first_word)] == [codes[y] for y in best]
    total = sum(weights.values())
    for piece in pieces:
        label = {"cs": 0, "en": 1, None: 2}[piece.language]
        shares = [
            sum(w for path, w in weights.items() if path[t] == label) / total
            for t in range(piece.first_word, piece.last_word)
        ]
        assert piece.confidence == pytest.approx(np.mean(shares), abs=1e-4)


@pytest.mark.parametrize("method", ["viterbi", "smoothing"])
def test_pieces_join_to_the_text_and_neighbors_differ(identifier: LanguageIdentifier, method: str) -> None:
    segmenter = LanguageSegmenter(identifier=identifier, method=method, penalty=2.0)
    texts = ["", "...", "x", " ".join([ENGLISH[0], CZECH[0], ENGLISH[1], CZECH[1]]), "— " + CZECH[0] + " —", "123"]
    for text, pieces in zip(texts, segmenter.segments_many(texts), strict=True):
        assert "".join(text[piece.begin : piece.end] for piece in pieces) == text
        assert all(a.languages != b.languages for a, b in itertools.pairwise(pieces))
        assert [piece.first_word for piece in pieces[1:]] == [piece.last_word for piece in pieces[:-1]]
    assert [piece.language for piece in segmenter.segments(texts[3])] == ["en", "cs", "en", "cs"]
    data = texts[3].encode()
    assert b"".join(data[piece.begin : piece.end] for piece in segmenter.segments(data)) == data


def test_long_texts_are_cut_as_short_ones(identifier: LanguageIdentifier) -> None:
    text = (ENGLISH[0] + " " + CZECH[0] + " ") * 200  # several blocks of the sum over paths
    pieces = LanguageSegmenter(identifier=identifier, penalty=2.0).segments(text)
    assert len(pieces) == 400
    assert min(piece.confidence for piece in pieces) > 0.5
    assert language_shares(pieces)["en"] > 0.4


def test_an_unknown_passage_stays_unknown(identifier: LanguageIdentifier) -> None:
    text = ENGLISH[0] + " " + "1x qz9 7k " * 20
    pieces = LanguageSegmenter(identifier=identifier, unknown=0.3, penalty=2.0).segments(text)
    assert [piece.language for piece in pieces] == ["en", None]
    assert LanguageSegmenter(identifier=identifier, penalty=2.0).only(text, ["en"]).startswith("the cat")


def test_words_that_nobody_knows_speak_for_unknown(identifier: LanguageIdentifier) -> None:
    """The path with the best sum over all paths, with "unknown" as the last row."""
    text = "the cat sat qzkrw xxjvq wkqzz vvkqx on the mat"
    signal = native.signal(identifier._native, native.Texts([text]), 0, np.ones(2, np.uint8))
    rows = signal[4].reshape(-1, 2)
    known = signal[1] == 1
    most = np.log(0.1 + 0.9 * 2)
    named = []
    for unseen in (0.0, 0.4, 2.0, 4.0):
        scores = np.column_stack([rows, np.where(known, 0.1, 0.1 + unseen * most)])
        best = max(
            itertools.product(range(3), repeat=len(rows)),
            key=lambda path: (
                sum(scores[t, label] for t, label in enumerate(path))
                - 0.8 * sum(a != b for a, b in itertools.pairwise(path))
            ),
        )
        segmenter = LanguageSegmenter(identifier=identifier, penalty=0.8, unknown=0.1, unseen=unseen)
        codes = [*identifier.classes_.tolist(), None]
        pieces = segmenter.segments(text)
        assert [p.language for p in pieces for _ in range(p.last_word - p.first_word)] == [codes[i] for i in best]
        named.append([piece.language for piece in pieces])
    assert named[0] != named[-1] == ["en", None, "en"]


def test_letters_cut_at_the_character() -> None:
    texts, labels = ENGLISH + CZECH, ["en"] * len(ENGLISH) + ["cs"] * len(CZECH)
    models = MarkovIdentifier().fit(texts, labels)
    segmenter = LanguageSegmenter(method="letters", models=models, penalty=10.0)
    text = ENGLISH[0] + " " + CZECH[1]
    assert [piece.language for piece in segmenter.segments(text)] == ["en", "cs"]


def clone_without_letters(identifier: LanguageIdentifier) -> LanguageIdentifier:
    return identifier.select(["en", "cs"]).set_params(order=0)


def test_letters_of_the_identifier_cut_texts_without_other_models(identifier: LanguageIdentifier) -> None:
    segmenter = LanguageSegmenter(identifier=identifier, method="letters", penalty=6.0)
    text = ENGLISH[0] + " " + CZECH[1] + " 42"
    pieces = segmenter.segments(text)
    assert [piece.language for piece in pieces] == ["en", "cs"]
    assert "".join(text[piece.begin : piece.end] for piece in pieces) == text
    assert abs(pieces[0].end - len(ENGLISH[0])) <= 2
    words = len(words_of(text))
    assert [pieces[0].first_word, pieces[0].last_word, pieces[1].last_word] == [0, pieces[1].first_word, words]
    with pytest.raises(DataError, match="has no n-grams"):
        LanguageSegmenter(identifier=clone_without_letters(identifier), method="letters").segments("a")


def test_what_letters_say_is_what_the_identifier_says_of_unknown_words(identifier: LanguageIdentifier) -> None:
    letters = IdentifierLetters(identifier)
    text = "zkrotilá thewards"
    codes, scores = letters.letter_scores(text)
    begins = [0, 9, len(text)]
    for word, begin, end in zip(identifier.explain(text), begins, begins[1:], strict=False):
        assert word.source == "letters"
        ratio = np.exp2(scores[begin:end].sum(axis=0).astype(float)) ** identifier.letters_scale
        share = len(codes) * ratio / ratio.sum()
        expected = np.log(identifier.letters_alpha + (1 - identifier.letters_alpha) * share)
        assert [word.relevance[code] for code in codes] == pytest.approx(expected.tolist(), abs=2e-3)


def test_arithmetic_of_token_accuracy() -> None:
    counts = TokenCounts(words=49_943, errors=1_420, off_by_one=603)
    assert counts.accuracy == pytest.approx(0.9716, abs=5e-5)
    assert counts.accuracy_inside == pytest.approx(0.9834, abs=5e-5)


def test_documents_and_evaluation(identifier: LanguageIdentifier) -> None:
    documents = build_documents({"en": ENGLISH, "cs": CZECH}, k=20)
    assert documents == build_documents({"en": ENGLISH, "cs": CZECH}, k=20)
    counts = evaluate_segments(LanguageSegmenter(identifier=identifier, penalty=2.0), documents)
    assert counts.accuracy > 0.95
    assert counts.single_whole == counts.single
    texts, labels = [*ENGLISH, *CZECH], ["en"] * len(ENGLISH) + ["cs"] * len(CZECH)
    result = evaluate_languages(identifier, texts, labels)
    assert result.accuracy > 0.9
    assert result.sets["all"].items == len(texts)


def test_figures_of_an_evaluation_are_those_of_its_counts() -> None:
    model = LanguageIdentifier(held_out=0, order=0).fit(["the cat sat", "pes a lev"], ["en", "cs"])
    model.set_thresholds({"en": 0.2, "cs": 0.2})
    texts, labels = ["the cat", "the pes", "pes lev", "pes", "wug"], ["en", "en", "cs", "en", "eu"]
    facts = describe_evaluation(model, evaluate_languages(model, texts, labels), beta=2.0)
    own = facts["sets"]["all"]
    assert own["languages"]["en"] == pytest.approx({"precision": 1.0, "recall": 2 / 3, "f": 5 * 2 / 3 / (4 + 2 / 3)})
    assert own["languages"]["cs"] == pytest.approx({"precision": 1 / 3, "recall": 1.0, "f": 5 / 3 / (4 / 3 + 1)})
    assert own["micro"] == pytest.approx({"precision": 3 / 5, "recall": 3 / 4, "f": 5 * 9 / 20 / (4 * 3 / 5 + 3 / 4)})
    assert own["macro"]["recall"] == pytest.approx(5 / 6)
    assert facts["confusion"]["eu"] == {"und": 1}
    assert sum(facts["confusion"]["en"].values()) == 3
    assert facts["model_megabytes"] == pytest.approx(throughput(model, texts)["model_megabytes"])
    assert facts["model_megabytes"] > 0


def test_pages_lose_their_menus() -> None:
    page = "<html lang='cs'><ul><li>Home</li><li>Home</li></ul><style>p{}</style><p>Kočka &amp; pes</p></html>"
    assert page_text(page) == ("Home\nKočka & pes", "cs")


@pytest.mark.parametrize("text", ["a" * 5000, "1x 7k", "\u200b"])
def test_what_nothing_is_said_of_is_unknown(identifier: LanguageIdentifier, text: str) -> None:
    for segmenter in (LanguageSegmenter(identifier=identifier), LanguageSegmenter()):
        [piece] = segmenter.segments(text)
        assert (piece.begin, piece.end, piece.language) == (0, len(text), None)
