"""The model that comes with the package."""

from __future__ import annotations

import base64
import random
from pathlib import Path

import pytest

import textmill.tasks.language as language
from textmill.tasks.language import LanguageIdentifier, LanguageSegmenter

SENTENCES = {
    "cs": "Dnes ráno jsme šli do lesa a hledali houby.",
    "de": "Heute Morgen sind wir in den Wald gegangen und haben Pilze gesucht.",
    "en": "This morning we went into the forest and looked for mushrooms.",
    "es": "Esta mañana fuimos al bosque y buscamos setas.",
    "fr": "Ce matin nous sommes allés dans la forêt chercher des champignons.",
    "it": "Questa mattina siamo andati nel bosco a cercare i funghi.",
    "pl": "Dziś rano poszliśmy do lasu i szukaliśmy grzybów.",
    "ru": "Сегодня утром мы пошли в лес и искали грибы.",
    "uk": "Сьогодні вранці ми пішли до лісу і шукали гриби.",
    "el": "Σήμερα το πρωί πήγαμε στο δάσος και ψάξαμε για μανιτάρια.",
    "ja": "今朝、私たちは森へ行ってきのこを探しました。",
    "zh": "今天早上我们去森林里找蘑菇。",
    "ko": "오늘 아침 우리는 숲에 가서 버섯을 찾았다.",
    "th": "เช้านี้เราไปป่าเพื่อหาเห็ด",
    "ar": "ذهبنا هذا الصباح إلى الغابة وبحثنا عن الفطر.",
    "he": "הבוקר הלכנו ליער וחיפשנו פטריות.",
    "hi": "आज सुबह हम जंगल गए और मशरूम खोजे।",
    "tr": "Bu sabah ormana gittik ve mantar aradık.",
    "vi": "Sáng nay chúng tôi đã vào rừng và tìm nấm.",
    "fi": "Tänä aamuna menimme metsään ja etsimme sieniä.",
}


@pytest.fixture(scope="module")
def model() -> LanguageIdentifier:
    return LanguageIdentifier.bundled()


def test_the_file_is_small_and_says_what_it_was_made_from(model: LanguageIdentifier) -> None:
    file = Path(language.__file__).parent / "languages.mill"
    assert file.stat().st_size <= 24e6
    assert len(model.classes_) >= 75
    assert any("tesseract-ocr-ces" in source and "Apache-2.0" in source for source in model.sources_)


def test_sentences_of_twenty_languages(model: LanguageIdentifier) -> None:
    answers = model.detect_many(list(SENTENCES.values()))
    assert [answer.language for answer in answers] == list(SENTENCES)


def test_junk_is_no_language(model: LanguageIdentifier) -> None:
    draw = random.Random(0)
    junk = [base64.b64encode(draw.randbytes(60)).decode() for _ in range(100)]
    junk += ["".join(draw.choices("bcdfghjklmnpqrstvwxz", k=40)) for _ in range(50)]
    junk += ["0123 4567 89", "", "3.14159", "---"]
    answers = model.detect_many(junk)
    assert sum(not answer.languages for answer in answers) >= 0.95 * len(answers)


def test_junk_between_sentences_is_a_piece_of_no_language(model: LanguageIdentifier) -> None:
    draw = random.Random(1)
    codes = [base64.b64encode(draw.randbytes(90)).decode() for _ in range(30)]
    letters = [
        " ".join("".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(3, 9))) for _ in range(14))
        for _ in range(30)
    ]
    segmenter = LanguageSegmenter(identifier=model)
    alone = segmenter.segments_many([*codes, *letters])
    assert sum(piece.language is None for (piece, *_) in alone) >= 0.95 * len(alone)
    between = [f"{SENTENCES['en']} {junk} {SENTENCES['de']}" for junk in codes]
    for text, pieces in zip(between, segmenter.segments_many(between), strict=True):
        named = {piece.language for piece in pieces}
        assert named >= {"en", "de"}
        assert named <= {"en", "de", None}
        assert "".join(text[piece.begin : piece.end] for piece in pieces) == text
    whole = LanguageSegmenter(identifier=model, unseen=0.0).segments_many(letters)
    assert sum(pieces[0].language is not None for pieces in whole) > 0.5 * len(whole)  # letters alone suggest one


def test_a_page_with_a_menu_of_languages_is_english(model: LanguageIdentifier) -> None:
    menu = " ".join(
        [
            "Afrikaans Azərbaycanca Bahasa Indonesia Bahasa Melayu Bosanski Català Čeština Dansk Deutsch Eesti English",
            "Español Euskara Français Galego Hrvatski Íslenska Italiano Kiswahili Latviešu Lietuvių Magyar Nederlands",
            "Norsk Polski Português Română Shqip Slovenčina Slovenščina Suomi Svenska Tagalog Tiếng Việt Türkçe Yorùbá",
            "Ελληνικά Български Русский Українська\n",
        ]
    )  # forty
    body = " ".join(
        [SENTENCES["en"], "They found a lot of them under the old trees and brought them home for dinner."] * 5
    )
    pieces = LanguageSegmenter(identifier=model).segments(menu + body)
    assert language.language_shares(pieces)["en"] > 0.5
    assert next(iter(language.language_shares(pieces))) == "en"
    assert {piece.language for piece in pieces} == {"en", None}


def test_text_without_accents(model: LanguageIdentifier) -> None:
    bare = model.select(["cs", "sk", "pl", "en"]).without_accents()
    assert bare.predict([language.strip_accents(SENTENCES["cs"])]).tolist() == ["cs"]


@pytest.mark.data
@pytest.mark.slow
def test_sentences_without_accents_lose_three_points_at_most(model: LanguageIdentifier, data: Path) -> None:
    """Of 1,045 Czech, 946 Slovak and 2,158 Polish sentences 26, 28 and 8 are lost: 2.5, 2.96 and 0.4 points.

    The bar is 3 points for each language. Slovak has no room: 28 sentences are the most that pass (standard error 0.6
    points, so that another sample may well fail), and one more lost by a new model fails here, as it should. The three
    together have room (1.5 points, standard error 0.2).
    """
    bare = model.without_accents()
    sizes, lost = {}, {}
    for code in ("cs", "sk", "pl"):
        lines = (data / "language" / "sentences" / f"{code}.txt").read_text(encoding="utf-8").split("\n")[1::2]
        texts = [line for line in lines if len(language.words_of(line)) >= 3]
        without = [language.strip_accents(text) for text in texts]
        sizes[code] = len(texts)
        lost[code] = int((model.predict(texts) == code).sum() - (bare.predict(without) == code).sum())
    assert sizes == {"cs": 1045, "sk": 946, "pl": 2158}
    assert {code: lost[code] for code in sizes if lost[code] > 0.03 * sizes[code]} == {}
    assert sum(lost.values()) <= 0.02 * sum(sizes.values())
