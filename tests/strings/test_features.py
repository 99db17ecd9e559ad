"""How strings are cut."""

from __future__ import annotations

import pytest

from textmill.errors import DataError
from textmill.strings import CustomFeatures, Ngrams, Sounds, Words, latin_letters, normalizer_of, parse_measure
from textmill.strings.features import checked_names


def test_words_keep_what_is_inside_and_lose_punctuation_at_the_ends() -> None:
    assert Words()("«Director-General», (U.S.) O'Neill 😀 ...") == ["Director-General", "U.S", "O'Neill", "😀"]
    assert Words()("") == []
    assert Words(split="regex")("Director-General d'Or") == ["Director", "General", "d", "Or"]


def test_short_strings_are_their_own_n_gram() -> None:
    assert Ngrams(n=3, pad=False)("ab") == ["ab"]
    assert Ngrams(n=5)("ab") == ["^ab$"]
    assert Ngrams(n=1)("ab") == ["a", "b"]


def test_strings_are_checked_with_their_position() -> None:
    with pytest.raises(DataError, match="names holds 3 at position 1"):
        checked_names(["a", 3])  # type: ignore[list-item]
    with pytest.raises(DataError, match="is one string"):
        checked_names("Ann")
    with pytest.raises(DataError, match="2 left strings but 1 right"):
        parse_measure("jaro").fit().pairs(["a", "b"], ["a"])
    with pytest.raises(DataError, match="2 counts for 1 names"):
        parse_measure("tfidf").fit(["a"], [1, 2])
    with pytest.raises(DataError, match="the count at position 0"):
        parse_measure("tfidf").fit(["a"], [0])
    with pytest.raises(DataError, match="dtype must be"):
        parse_measure("jaro").fit().matrix(["a"], dtype=int)  # type: ignore[arg-type]


def test_features_of_yours_must_be_strings() -> None:
    with pytest.raises(DataError, match="features 'sizes' gave 2 for 'ab'"):
        CustomFeatures("sizes", lambda text: [len(text)])("ab")  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("code", "one", "two", "other"),
    [
        ("soundex", "Robert", "Rupert", "Rubin"),
        ("metaphone", "Smith", "Smyth", "Jones"),
        ("nysiis", "Brian", "Brien", "Bob"),
    ],
)
def test_words_that_sound_alike_share_a_code(code: str, one: str, two: str, other: str) -> None:
    pytest.importorskip("jellyfish")
    features = Sounds(code)
    assert features(f"{one}, Ann") == features(f"{two} Ann") != features(f"{other} Ann")
    assert len(features(f"{one}, Ann")) == 2
    measure = parse_measure(f"cosine({code})")
    assert (str(measure), parse_measure(str(measure))) == (f"cosine({code})", measure)
    assert measure.fit([one]).pairs([one, one], [two, other]).round(6).tolist() == [1.0, 0.0]


def test_letters_of_other_scripts_become_latin_ones() -> None:
    pytest.importorskip("anyascii")
    assert latin_letters("Гагарин & Müller, Ελένη 12") == "Gagarin & Müller, Eleni 12"
    assert normalizer_of(["latin", "case"])("МОСКВА") == normalizer_of("case")("Moskva")  # type: ignore[misc]
