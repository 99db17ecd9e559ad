"""Script packs: round trips, the silent initial, phonotactics."""

from __future__ import annotations

import pytest

from textmill.errors import DataError
from textmill.tasks.transcription import detect_script, script_pack, split_hangul

WORDS = {
    "devanagari": ["नमस्ते", "भारत", "अंग्रेज़ी", "कइ", "इंडिया", "रामः", "क्ष", "उर्दू", "विद्वान्", "हिन्दी", "ऋषि", "क्इ"],
    "tamil": ["தமிழ்", "இந்தியா", "அம்மா", "ஔவை", "ஃபோன்", "கோயம்புத்தூர்", "ஸ்ரீ"],
    "kannada": ["ಕನ್ನಡ", "ಬೆಂಗಳೂರು", "ಭಾರತ", "ಅಮ್ಮ", "ಕೃಷ್ಣ", "ಮೈಸೂರು", "ಔಷಧ"],
}


def test_every_syllable_of_hangul_comes_back():
    pack = script_pack("hangul")
    for code in range(0xAC00, 0xD7A4):
        for text in (chr(code), f"{chr(code)}아", f"가{chr(code)}나"):
            assert pack.decode(pack.encode(text)) == text


def test_syllables_have_the_numbers_of_the_paper():
    assert [split_hangul(c) for c in "애버트앱김"] == [(11, 1, 0), (7, 4, 0), (16, 18, 0), (11, 1, 17), (0, 20, 16)]
    with pytest.raises(DataError, match="no syllable"):
        split_hangul("a")


def test_silent_initial_tells_onset_from_coda():
    pack = script_pack("hangul")
    assert pack.encode("애버트") == ["0", "ae", "b", "eo", "t", "eu"]
    assert pack.encode("앱어트") == ["0", "ae", "b", "0", "eo", "t", "eu"]
    assert pack.decode(["0", "ae", "b", "eo", "t", "eu"]) == "애버트"


def test_hangul_without_clusters_has_6783_syllables():
    pack = script_pack("hangul")
    acceptor = pack.acceptor([])
    assert sum(acceptor.allows(pack.encode(chr(code))) for code in range(0xAC00, 0xD7A4)) == 6783
    assert not acceptor.allows(["g"])
    assert not acceptor.allows(["a"])


@pytest.mark.parametrize("script", WORDS)
def test_brahmic_words_come_back(script):
    pack = script_pack(script)
    for word in WORDS[script]:
        assert pack.decode(pack.encode(word)) == word
    assert pack.decode(["nothing"]) is None


def test_final_consonant_of_devanagari_is_bare():
    assert script_pack("devanagari").encode("भारत") == ["bh", "aa", "r", "a", "t"]
    assert script_pack("kannada").encode("ಭಾರತ") == ["bh", "aa", "r", "a", "t", "a"]


def test_katakana_digraphs_and_phonotactics():
    pack = script_pack("katakana")
    assert pack.encode("シャツ") == ["sh", "a", "ts", "u"]
    assert pack.encode("ティッファニー") == ["t", "i", "Q", "f", "a", "n", "i", ":"]
    acceptor = pack.acceptor([])
    for good in ("シャツ", "キット", "ンジャ", "アー"):
        assert acceptor.allows(pack.encode(good))
    for bad in (["k"], ["Q", "a"], [":", "a"], ["a", ":", ":"], ["y", "i"], ["a", "Q"]):
        assert not acceptor.allows(bad)
    assert pack.decode(["y", "i"]) is None


def test_scripts_are_recognized():
    assert detect_script(["김", "앱"]) == "hangul"
    assert detect_script(["abc", "김"]) is None
    assert detect_script([]) is None


@pytest.mark.data
def test_all_katakana_names_come_back(data):
    pack = script_pack("katakana")
    folder = data / "transliteration"
    for part in ("64", "16", "20"):
        for line in (folder / f"wd_katakana_{part}").read_text(encoding="utf-8").splitlines():
            text = line.split("\t")[1].replace(" ", "")
            assert pack.decode(pack.encode(text)) == text
