"""Texts in several languages, and texts that repeat themselves."""

from __future__ import annotations

import itertools

import pytest

from textmill.tasks.language import LanguageIdentifier

TEXTS = {
    "en": "The ferry left the harbor early in the morning because a storm was coming from the west. Nobody on "
    "board knew how long the journey would take, but everyone had brought enough to eat and to drink.",
    "fr": "Le bateau a quitté le port de bonne heure parce qu'une tempête arrivait de l'ouest. Personne à bord "
    "ne savait combien de temps durerait le voyage, mais chacun avait apporté de quoi manger et boire.",
    "de": "Die Fähre verließ den Hafen früh am Morgen, weil ein Sturm aus dem Westen aufzog. Niemand an Bord "
    "wusste, wie lange die Reise dauern würde, aber alle hatten genug zu essen und zu trinken "
    "mitgebracht.",
    "es": "El barco salió del puerto temprano por la mañana porque se acercaba una tormenta desde el oeste. "
    "Nadie a bordo sabía cuánto duraría el viaje, pero todos habían traído bastante comida y bebida.",
    "cs": "Loď vyplula z přístavu brzy ráno, protože se od západu blížila bouře. Nikdo na palubě nevěděl, jak "
    "dlouho bude cesta trvat, ale všichni si s sebou vzali dost jídla a pití.",
    "ru": "Паром вышел из порта рано утром, потому что с запада надвигалась буря. Никто на борту не знал, "
    "сколько продлится путешествие, но все взяли с собой достаточно еды и питья.",
}


@pytest.fixture(scope="module")
def identifier() -> LanguageIdentifier:
    return LanguageIdentifier.bundled()


@pytest.mark.parametrize(("first", "second"), list(itertools.permutations(TEXTS, 2)))
def test_a_text_in_two_languages_is_asserted_to_be_in_both(
    identifier: LanguageIdentifier, first: str, second: str
) -> None:
    answer = identifier.detect(f"{TEXTS[first]}\n{TEXTS[second]}")
    assert set(answer.languages) == {first, second}
    assert answer.confidence < 0.7, "no single language has nearly all of it"
    shares = {code: share for code, _, share in answer.ranking}
    assert 0.9 < shares[first] + shares[second] <= 1.0


def test_three_languages_and_small_parts_are_seen(identifier: LanguageIdentifier) -> None:
    three = " ".join(TEXTS[code] for code in ("de", "es", "cs"))
    assert set(identifier.detect(three).languages) == {"de", "es", "cs"}
    small = " ".join([TEXTS["en"]] * 3 + [TEXTS["fr"]])
    assert set(identifier.detect(small).languages) == {"en", "fr"}


@pytest.mark.parametrize("code", TEXTS)
def test_a_text_in_one_language_is_asserted_to_be_in_one(identifier: LanguageIdentifier, code: str) -> None:
    for text in (TEXTS[code], TEXTS[code].split(".")[0], " ".join([TEXTS[code]] * 20)):
        assert identifier.detect(text).languages == (code,)
    assert identifier.detect(TEXTS[code].encode()).languages == (code,)


def test_a_loan_word_or_a_title_makes_no_second_language(identifier: LanguageIdentifier) -> None:
    text = TEXTS["en"] + " They were reading Die Leiden des jungen Werthers. " + TEXTS["en"]
    assert identifier.detect(text).languages == ("en",)


def test_only_languages_that_are_asked_for_are_asserted(identifier: LanguageIdentifier) -> None:
    answer = identifier.detect(f"{TEXTS['en']}\n{TEXTS['fr']}", languages=["en", "fr"])
    assert set(answer.languages) == {"en", "fr"}
    assert "fr" not in identifier.detect(f"{TEXTS['en']}\n{TEXTS['fr']}", languages=["en", "de"]).languages


@pytest.mark.parametrize("text", ["word", "casa grande", "Haus", "on the table"])
def test_a_text_is_no_surer_for_saying_the_same_again(identifier: LanguageIdentifier, text: str) -> None:
    once, often = identifier.detect(text), identifier.detect(" ".join([text] * 400))
    least = len(text.split())
    assert often.confidence <= identifier.detect(" ".join([text] * least)).confidence + 1e-6
    if least == 1:
        assert often.confidence == pytest.approx(once.confidence)
        assert often.languages == once.languages
    proba = identifier.predict_proba([" ".join([text] * 400)]).max()
    assert proba <= identifier.predict_proba([" ".join([text] * least)]).max() + 1e-6


def test_ordinary_texts_are_not_repetitive(identifier: LanguageIdentifier) -> None:
    text = TEXTS["en"]
    answer = identifier.detect(text)
    assert answer.words == len(text.replace(",", "").replace(".", "").split())
