"""The numbers of the worked examples, through the public interface."""

from __future__ import annotations

import pytest

from textmill import strings
from textmill.strings import CustomMeasure, parse_measure

CLOSE = 1e-6
ENTITIES = [
    "mr rumyantsev",
    "alexander rumyanstev",
    "mr ryabev",
    "mohamed elbaradei",
    "director mohammad elbaradei",
    "director elbaradei",
    "director-general elbareidi",
]
PAIRS = [(1, 2), (2, 1), (1, 3), (4, 5), (5, 6), (6, 7), (4, 6)]
MINI = {
    "cosine": [0, 0, 0.5, 0.408248, 0.816497, 0, 0.5],
    "tfidf": [0, 0, 0.293021, 0.137251, 0.613664, 0, 0.223659],
    "softtfidf(words, sub=jaro, theta=0.9)": [0.574731, 0.574731, 0.293021, 0.137251, 0.613664, 0, 0.223659],
    "softtfidf(words, sub=jaro, theta=0.2)": [0.778874, 0.898431, 0.717208, 0.766371, 0.865555, 0.830143, 0.468257],
    "softtfidf(words, sub=tfidf(trigrams))": [0.245878, 0.245878, 0.327564, 0.403399, 0.613664, 0.388787, 0.223659],
    "ml(words, sub=tfidf(trigrams))": [0.245878, 0.245878, 0.327564, 0.403399, 0.613664, 0.388787, 0.223659],
    "ml(words, sub=ml(trigrams, sub=context))": [0.340652, 0.340652, 0.380778, 0.480368, 0.613664, 0.477002, 0.223659],
}
WORDS = {
    ("rumyantsev", "rumyanstev"): (0.966667, 0.413553, 0.572958),
    ("mohamed", "mohammad"): (0.869048, 0.367649, 0.473971),
    ("elbaradei", "elbareidi"): (0.863426, 0.287923, 0.377675),
    ("director", "director-general"): (0.833333, 0.469042, 0.558948),
    ("rumyantsev", "ryabev"): (0.600000, 0.048860, 0.124129),
}
JARO = {
    ("MARTHA", "MARHTA"): (0.944444, 0.944444, 0.944444, 0.944444),
    ("DIXON", "DICKSONX"): (0.766667, 0.766667, 0.766667, 0.766667),
    ("DWAYNE", "DUANE"): (0.822222, 0.822222, 0.822222, 0.822222),
    ("tehran", "inter"): (0.7, 0.7, 0.7, 0.7),
    ("times", "inter"): (0.622222, 0.6, 0.622222, 0.6),
    ("chukumwong", "ckwong"): (0.511111, 0.866667, 0.866667, 0.866667),
    ("elbaradei", "elbareidi"): (0.863426, 0.863426, 0.863426, 0.884259),
    ("disburse", "disperse"): (0.75, 0.75, 0.75, 0.777778),
    ("chine", "china"): (0.866667, 0.866667, 0.866667, 0.866667),
}


def score(text: str, a: str, b: str) -> float:
    return parse_measure(text).similarity(a, b)


def test_kitten_and_sitting() -> None:
    alignment = strings.Levenshtein().align("kitten", "sitting")
    assert [(edge.left, edge.right, edge.similarity) for edge in alignment.edges] == [
        (0, 0, 0), (1, 1, 1), (2, 2, 1), (3, 3, 1), (4, 4, 0), (5, 5, 1)
    ]  # fmt: skip
    assert alignment.unmatched_right == (6,)
    assert sum(edge.weight for edge in alignment.edges) == 4
    assert alignment.score == pytest.approx(4 / 7)


def test_transpositions_of_characters() -> None:
    assert score("osa", "ABC", "CA") == 1 - 3 / 3
    assert score("damerau", "ABC", "CA") == pytest.approx(1 - 2 / 3)


def test_bags() -> None:
    names = ("prime minister tony blair", "tony blair")
    assert score("cosine", "Prime Minister Tony Blair", "Blair") == 0.5
    assert (score("overlap", *names), score("jaccard", *names)) == (1.0, 0.5)
    assert score("dice", *names) == pytest.approx(2 / 3)


@pytest.mark.parametrize("pair", JARO)
def test_jaro_by_window_and_rounding(pair: tuple[str, str]) -> None:
    texts = ("jaro", 'jaro(window="winkler")', 'jaro(window="secondstring")')
    texts += ('jaro(window="winkler", half_transpositions="floor")',)
    assert [score(text, *pair) for text in texts] == pytest.approx(JARO[pair], abs=CLOSE)


def test_monge_elkan() -> None:
    text = "monge_elkan(words, sub=jaro)"
    assert score(text, "director elbaradei", "director-general elbareidi") == pytest.approx(0.848380, abs=CLOSE)
    assert score(text, "director mohammad elbaradei", "elbaradei") == pytest.approx(0.631173, abs=CLOSE)
    assert score(text, "elbaradei", "director mohammad elbaradei") == 1.0


def test_soft_tfidf_overflows_on_positions() -> None:
    a, b = "tehran times (tehran)", "inter press service"
    idf = {"tehran": 4, "times": 4, "inter": 6, "press": 2, "service": 2}

    def fitted(text: str) -> float:
        return parse_measure(text).with_idf(idf).similarity(a, b)

    positions = parse_measure('softtfidf(words, sub=jaro, theta=0.2, multiplicity="positions")').with_idf(idf)
    assert positions.similarity(a, b) == pytest.approx(1.056071, abs=CLOSE)
    assert positions.similarity(b, a) == pytest.approx(1.023466, abs=CLOSE)
    assert fitted("softtfidf(words, sub=jaro, theta=0.2)") == pytest.approx(0.818029, abs=CLOSE)
    assert fitted("ml(words, sub=jaro)") == pytest.approx(0.563956, abs=CLOSE)
    with pytest.warns(UserWarning, match="1 scores of softtfidf"):
        assert positions.overflows([a, "press"], [b, "service"]).tolist() == [0]


@pytest.mark.parametrize(("sims", "expected"), [
    ((0.8, 0.7, 0.6), {"positions": (0.837158, 0.663953), "types": (0.683537, 0.542115), "ml": 0.433013}),
    ((1.0, 1.0, 1.0), {"positions": (1.154701,)}),
])  # fmt: skip
def test_double_matching(sims: tuple[float, ...], expected: dict[str, object]) -> None:
    table = dict(zip([("A", "D"), ("C", "E"), ("B", "E")], sims, strict=True))
    sub = CustomMeasure("table", lambda a, b: max(table.get((a, b), 0.0), table.get((b, a), 0.0)))
    names = ("A C B A", "D E F")
    for text, numbers in expected.items():
        if text == "ml":
            ml = strings.Ml(sub=sub, weights="uniform")
            assert [ml.similarity(*names), ml.similarity(*names[::-1])] == pytest.approx([numbers] * 2, abs=CLOSE)
            assert [(edge.left, edge.right) for edge in ml.align(*names).edges] == [(0, 0), (1, 1)]
            continue
        soft = strings.SoftTfIdf(sub=sub, theta=0.5, weights="uniform", multiplicity=text)
        scores = [soft.similarity(*names), soft.similarity(*names[::-1])]
        assert scores[: len(numbers)] == pytest.approx(numbers, abs=CLOSE)  # type: ignore[arg-type]


def test_repeated_term() -> None:
    positions = 'softtfidf(words, weights="uniform", multiplicity="positions")'
    assert score(positions, "t t", "t") == pytest.approx(1.414214, abs=CLOSE)
    assert score("cosine", "t t", "t") == pytest.approx(1.0)
    assert score('softtfidf(words, weights="uniform")', "t t", "t") == pytest.approx(1.0)
    assert score('ml(words, weights="uniform")', "t t", "t") == pytest.approx(0.707107, abs=CLOSE)


def test_extended_transpositions() -> None:
    texts = [
        f'ml(words, weights="uniform"{options})'
        for options in ("", ', transpositions="adjacent"', ', transpositions="extended"')
    ]
    assert [score(text, "A B C", "C A") for text in texts] == pytest.approx([0.408248, 0.408248, 0.816497], abs=CLOSE)
    sub = CustomMeasure("us", lambda a, b: 0.5 if {a, b} == {"U.S", "US"} else float(a == b))
    names = ("U.S. State Department", "US Department of State")
    measures = [
        strings.Ml(sub=sub, weights="uniform", transpositions=kind) for kind in ("none", "adjacent", "extended")
    ]
    scores = [measure.similarity(*names) for measure in measures]
    assert scores == pytest.approx([0.433013, 0.433013, 0.721688], abs=CLOSE)


@pytest.mark.parametrize("text", MINI)
def test_the_mini_collection(text: str) -> None:
    fitted = parse_measure(text).fit(ENTITIES)
    left, right = ([ENTITIES[pair[side] - 1] for pair in PAIRS] for side in (0, 1))
    assert fitted.pairs(left, right).tolist() == pytest.approx(MINI[text], abs=CLOSE)
    assert [fitted.align(a, b).score for a, b in zip(left, right, strict=True)] == pytest.approx(MINI[text], abs=CLOSE)


def test_weights_and_words_of_the_mini_collection() -> None:
    fitted = parse_measure("ml(words, sub=ml(trigrams, sub=context))").fit(ENTITIES)
    idf = dict(zip(fitted.words, fitted.idf.tolist(), strict=True))
    assert len(idf) == 11
    assert len(fitted.sub.words) == 72
    assert (idf["mr"], idf["director"], idf["elbaradei"]) == pytest.approx((1.252763, 1.252763, 0.847298), abs=CLOSE)
    assert idf["ryabev"] == pytest.approx(1.945910, abs=CLOSE)
    cosine = parse_measure("ml(words, sub=tfidf(trigrams))").fit(ENTITIES).sub
    for (a, b), (jaro, trigrams, context) in WORDS.items():
        scores = (score("jaro", a, b), cosine.similarity(a, b), fitted.sub.similarity(a, b))
        assert scores == pytest.approx((jaro, trigrams, context), abs=CLOSE)
