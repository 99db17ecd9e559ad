"""Names for demonstrations: Japanese family names in letters and in katakana, and in kanji.

Names are put together from common elements, so that they are real or could be; katakana follow from the letters by the
rules of Hepburn's romanization, and kanji from the elements.
"""

from __future__ import annotations

from textmill.tasks.transcription.scripts import script_pack

__all__ = ["sample_kanji", "sample_names"]

_FIRST = {
    "ta": "田", "naka": "中", "ki": "木", "yama": "山", "kawa": "川", "matsu": "松", "ishi": "石", "mori": "森",
    "oka": "岡", "hara": "原", "shima": "島", "mura": "村", "taka": "高", "naga": "長", "fuji": "藤", "ue": "上",
    "shimo": "下", "kita": "北", "nishi": "西", "higashi": "東", "uchi": "内", "take": "竹", "sugi": "杉", "ume": "梅",
    "ima": "今", "toku": "徳", "nagi": "柳", "chi": "千", "kuro": "黒", "shira": "白",
}  # fmt: skip
_LAST = {
    "da": "田", "moto": "本", "ya": "谷", "no": "野", "kawa": "川", "yama": "山", "mura": "村", "shima": "島",
    "saki": "崎", "zawa": "沢", "oka": "岡", "naka": "中", "hashi": "橋", "be": "部", "ta": "田",
}  # fmt: skip


def sample_names() -> tuple[list[str], list[str]]:
    """Names in letters, and in katakana.

    >>> words, outputs = sample_names()
    >>> len(words), words[0], outputs[0]
    (450, 'tada', 'タダ')
    """
    words = [first + last for first in _FIRST for last in _LAST]
    return words, [_katakana(word) for word in words]


def sample_kanji() -> tuple[list[str], list[str]]:
    """Names in letters, and in kanji.

    >>> sample_kanji()[1][0]
    '田田'
    """
    return (
        [first + last for first in _FIRST for last in _LAST],
        [first + last for first in _FIRST.values() for last in _LAST.values()],
    )


def _katakana(word: str) -> str:
    symbols: list[str] = []
    at = 0
    while at < len(word):
        size = 2 if word[at : at + 2] in ("sh", "ch", "ts") else 1
        symbols.append(word[at : at + size])
        at += size
    text = script_pack("katakana").decode(symbols)
    if text is None:
        raise AssertionError(f"{word} is no name")
    return text
