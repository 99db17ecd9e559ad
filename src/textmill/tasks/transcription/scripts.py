"""Script packs: scripts as strings of sounds and back, without loss.

    hangul      syllable = 0xAC00 + (L * 21 + V) * 28 + T; initial 11 is silent and written 0, so that a consonant
                between vowels is an onset unless 0 follows: 애버트 is 0 ae b eo t eu, 앱어트 is 0 ae b 0 eo t eu
    devanagari, tamil, kannada
                a consonant letter carries a: letter + virama is the consonant alone, letter + vowel sign another
                vowel; a vowel at the start or after a vowel is a letter of its own. Compiled from Unicode's character
                names. In Devanagari a consonant at the end of a word stands without virama and without a ("bare").
    katakana    digraphs are one sound and a vowel (シャ sh a, ティ t i, ファ f a), ッ is Q, ン is N, ー is :

`encode` turns every text into symbols; what does not belong to the script becomes a symbol "=" with the character.
`decode` gives the text back, or None for symbols that spell none; decode(encode(text)) is the text. `acceptor` has the
phonotactics: Hangul syllables without two-consonant codas; in katakana (C)V, N, Q only before consonants, : only after
a vowel. Cost: O(length). Reference: Jansche & Sproat (2009); The Unicode Standard, chapters 3.12 and 12.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from textmill.errors import DataError
from textmill.lm import OutputAcceptor
from textmill.model import check_choice

__all__ = ["SCRIPTS", "ScriptPack", "detect_script", "script_pack", "split_hangul"]

SCRIPTS = ("hangul", "devanagari", "tamil", "kannada", "katakana")

_INITIALS = ("g kk n d tt r m b pp s ss 0 j jj ch k t p h").split()  # noqa: SIM905
_VOWELS = ("a ae ya yae eo e yeo ye o wa wae oe yo u wo we wi yu eu ui i").split()  # noqa: SIM905
_FINALS = (". g kk g+s n n+j n+h d r r+g r+m r+b r+s r+t r+p r+h m b b+s s ss ng j ch k t p h").split()  # noqa: SIM905
# finals with + are clusters
_MARKED = "="  # before a character that does not belong to the script


@dataclass(frozen=True)
class ScriptPack:
    """A script as sounds and back.

    >>> pack = script_pack("hangul")
    >>> " ".join(pack.encode("애버트")), pack.decode("0 ae b 0 eo t eu".split())
    ('0 ae b eo t eu', '앱어트')
    """

    name: str
    encode: Callable[[str], list[str]]
    decode: Callable[[Sequence[str]], str | None]
    acceptor: Callable[[Iterable[str]], OutputAcceptor | None]


@cache
def script_pack(name: str) -> ScriptPack:
    """The pack of a script by its name: one of `SCRIPTS`.

    >>> script_pack("devanagari").encode("नमस्ते")
    ['n', 'a', 'm', 'a', 's', 't', 'e']
    """
    check_choice("script", name, SCRIPTS)
    if name == "hangul":
        return ScriptPack(name, _encode_hangul, _decode_hangul, _hangul_acceptor)
    if name == "katakana":
        return ScriptPack(name, _encode_katakana, _decode_katakana, _katakana_acceptor)
    script = _Brahmic.of(name, bare=name == "devanagari")
    return ScriptPack(name, script.encode, script.decode, lambda symbols: None)


def detect_script(texts: Sequence[str]) -> str | None:
    """The script that nine of ten texts are written in, or None.

    >>> detect_script(["シャツ", "テント"]), detect_script(["shirt"])
    ('katakana', None)
    """
    starts = {"hangul": "HANGUL", "devanagari": "DEVANAGARI", "tamil": "TAMIL", "kannada": "KANNADA"}
    starts["katakana"] = "KATAKANA"
    some = [text for text in texts if text][:2000]
    for script, start in starts.items():
        inside = sum(all(unicodedata.name(c, "").startswith(start) for c in text) for text in some)
        if some and inside >= 0.9 * len(some):
            return script
    return None


def split_hangul(syllable: str) -> tuple[int, int, int]:
    """The numbers of initial, vowel and final of a syllable, 0 for no final.

    >>> split_hangul("김"), split_hangul("앱")
    ((0, 20, 16), (11, 1, 17))
    """
    code = ord(syllable) - 0xAC00
    if not 0 <= code < 11172:
        raise DataError(f"{syllable!r} is no syllable of Hangul; pass one from U+AC00 to U+D7A3")
    return code // 588, code // 28 % 21, code % 28


# ---- Hangul


def _encode_hangul(text: str) -> list[str]:
    symbols: list[str] = []
    for character in unicodedata.normalize("NFC", text):
        if not 0xAC00 <= ord(character) <= 0xD7A3:
            symbols.append(_MARKED + character)
            continue
        initial, vowel, final = split_hangul(character)
        symbols += [_INITIALS[initial], _VOWELS[vowel]]
        if final:
            symbols.append(_FINALS[final])
    return symbols


def _decode_hangul(symbols: Sequence[str]) -> str | None:
    text = ""
    at = 0
    while at < len(symbols):
        if symbols[at].startswith(_MARKED) and len(symbols[at]) > 1:
            text += symbols[at][1:]
            at += 1
            continue
        if symbols[at] not in _INITIALS or at + 1 >= len(symbols) or symbols[at + 1] not in _VOWELS:
            return None
        initial, vowel, final = _INITIALS.index(symbols[at]), _VOWELS.index(symbols[at + 1]), 0
        at += 2
        if at < len(symbols) and symbols[at] in _FINALS:  # an onset if a vowel follows
            follows = symbols[at + 1] if at + 1 < len(symbols) else None
            if follows not in _VOWELS:
                final = _FINALS.index(symbols[at])
                at += 1
        text += chr(0xAC00 + (initial * 21 + vowel) * 28 + final)
    return text


def _hangul_acceptor(symbols: Iterable[str]) -> OutputAcceptor:
    """Syllables without clusters at their end: states before a syllable, after its onset, its vowel, a consonant."""
    steps: dict[tuple[int, str], int] = {}
    free = frozenset(symbol for symbol in symbols if symbol.startswith(_MARKED))
    codas = {final for final in _FINALS[1:] if "+" not in final}
    both = codas & set(_INITIALS)
    for initial in _INITIALS:
        steps[0, initial] = 1  # the start of a word
        steps[2, initial] = 3 if initial in both else 1
        steps[3, initial] = steps[4, initial] = 1  # the consonant before was a coda
    for final in codas - both:
        steps[2, final] = 4
    for vowel in _VOWELS:
        steps[1, vowel] = steps[3, vowel] = 2
    return OutputAcceptor(steps, frozenset({0, 2, 3, 4}), free)


# ---- Brahmi-derived


@dataclass(frozen=True)
class _Brahmic:
    consonants: dict[str, str]  # letter to sound
    vowels: dict[str, str]  # independent letter to sound
    signs: dict[str, str]  # vowel sign to sound
    virama: str
    nukta: str  # a dot that makes another consonant of a letter
    inherent: str
    bare: bool

    @classmethod
    def of(cls, name: str, *, bare: bool) -> _Brahmic:
        """The letters of a script by their names in Unicode."""
        consonants: dict[str, str] = {}
        vowels: dict[str, str] = {}
        signs: dict[str, str] = {}
        virama = nukta = ""
        starts = {"devanagari": 0x0900, "tamil": 0x0B80, "kannada": 0x0C80}
        block = [chr(code) for code in range(starts[name], starts[name] + 0x80)]
        named = {c: unicodedata.name(c, "").removeprefix(f"{name.upper()} ") for c in block}
        for character, title in named.items():
            if title.startswith("VOWEL SIGN "):
                signs[character] = title.removeprefix("VOWEL SIGN ").lower().replace(" ", "-")
            elif title == "SIGN VIRAMA":
                virama = character
            elif title == "SIGN NUKTA":
                nukta = character
        sounds = {*signs.values(), "a"}
        for character, title in named.items():
            if not title.startswith("LETTER "):
                continue
            sound = title.removeprefix("LETTER ").lower().replace(" ", "-")
            if sound in sounds:
                vowels[character] = sound
            elif sound.endswith("a") and len(sound) > 1 and " " not in sound:
                consonants[character] = sound[:-1]
        return cls(consonants, vowels, signs, virama, nukta, "a", bare)

    def encode(self, text: str) -> list[str]:
        symbols: list[str] = []
        characters = list(unicodedata.normalize("NFC", text))
        at = 0
        alone = False  # the symbol before is a consonant without a vowel
        while at < len(characters):
            character = characters[at]
            after = characters[at + 1] if at + 1 < len(characters) else ""
            at += 1
            if character in self.consonants:
                dotted = after == self.nukta and after != ""
                symbols.append(self.consonants[character] + ("'" if dotted else ""))
                alone = False
                if dotted:
                    at += 1
                    after = characters[at] if at < len(characters) else ""
                if after == self.virama and after:
                    at += 1
                    if self.bare and self._ends(characters, at):
                        symbols.append(_MARKED + self.virama)  # written, though it need not be
                    else:
                        alone = True
                elif after in self.signs:
                    symbols.append(self.signs[after])
                    at += 1
                elif not (self.bare and self._ends(characters, at)):
                    symbols.append(self.inherent)
            elif character in self.vowels and not alone:
                symbols.append(self.vowels[character])
            else:
                symbols.append(_MARKED + character)
                alone = False
        return symbols

    def decode(self, symbols: Sequence[str]) -> str | None:
        letters = {sound: letter for letter, sound in reversed(list(self.consonants.items()))}
        vowels = {sound: letter for letter, sound in reversed(list(self.vowels.items()))}
        signs = {sound: sign for sign, sound in reversed(list(self.signs.items()))}
        text = ""
        open_ = False  # the text ends in a consonant letter without a vowel
        for at, symbol in enumerate(symbols):
            if symbol.removesuffix("'") in letters:
                dot = self.nukta if symbol.endswith("'") else ""
                text += (self.virama if open_ else "") + letters[symbol.removesuffix("'")] + dot
                open_ = True
            elif symbol in signs or symbol in vowels:
                if not open_:
                    if symbol not in vowels:
                        return None
                    text += vowels[symbol]
                elif symbol != self.inherent:
                    if symbol not in signs:
                        return None
                    text += signs[symbol]
                open_ = False
            elif symbol.startswith(_MARKED) and len(symbol) > 1:
                if open_ and symbol != _MARKED + self.virama:
                    ends = self._ends([s.removeprefix(_MARKED) for s in symbols], at)
                    text += "" if self.bare and ends else self.virama
                text += symbol[1:]
                open_ = False
            else:
                return None
        return text + (self.virama if open_ and not self.bare else "")

    def _ends(self, characters: Sequence[str], at: int) -> bool:
        """Whether a word ends before this place."""
        if at >= len(characters):
            return True
        following = characters[at]
        return len(following) == 1 and unicodedata.category(following)[0] not in "LM"


# ---- katakana


def _kana() -> dict[str, tuple[str, str]]:
    """Kana and digraphs as a consonant, which may be empty, and a vowel."""
    table: dict[str, tuple[str, str]] = {}
    rows = {
        "": "アイウエオ", "k": "カキクケコ", "s": "サ.スセソ", "t": "タ..テト", "n": "ナニヌネノ", "h": "ハヒ.ヘホ",
        "m": "マミムメモ", "y": "ヤ.ユ.ヨ", "r": "ラリルレロ", "w": "ワ....", "g": "ガギグゲゴ", "z": "ザ.ズゼゾ",
        "d": "ダ..デド", "b": "バビブベボ", "p": "パピプペポ", "sh": ".シ...", "ch": ".チ...", "ts": "..ツ..",
        "f": "..フ..", "j": ".ジ...", "dj": ".ヂ...", "dz": "..ヅ..", "v": "..ヴ..",
    }  # fmt: skip
    for consonant, row in rows.items():
        for vowel, kana in zip("aiueo", row, strict=True):
            if kana != ".":
                table[kana] = (consonant, vowel)
    small = dict(zip("ァィゥェォ", "aiueo", strict=True))
    glides = dict(zip("ャュョ", "auo", strict=True))
    for kana, consonant in zip("キニヒミリギビピ", ["ky", "ny", "hy", "my", "ry", "gy", "by", "py"], strict=True):
        table |= {kana + sign: (consonant, vowel) for sign, vowel in glides.items()}
        table[kana + "ェ"] = (consonant, "e")
    for kana, consonant in zip("シチジヂ", ["sh", "ch", "j", "dj"], strict=True):
        table |= {kana + sign: (consonant, vowel) for sign, vowel in glides.items()}
        table[kana + "ェ"] = (consonant, "e")
    for kana, consonant, vowels in (
        ("テ", "t", "ィ"), ("デ", "d", "ィ"), ("ト", "t", "ゥ"), ("ド", "d", "ゥ"), ("ス", "s", "ィ"),
        ("ズ", "z", "ィ"),
        ("フ", "f", "ァィェォ"), ("ツ", "ts", "ァィェォ"), ("ウ", "w", "ィェォ"), ("ヴ", "v", "ァィェォ"),
        ("ク", "kw", "ァィェォ"), ("グ", "gw", "ァィェォ"), ("イ", "y", "ェ"), ("ホ", "hw", "ゥ"),
    ):  # fmt: skip
        table |= {kana + sign: (consonant, small[sign]) for sign in vowels}
    for kana, consonant in (("テ", "ty"), ("デ", "dy"), ("フ", "fy"), ("ヴ", "vy")):
        table |= {kana + sign: (consonant, vowel) for sign, vowel in glides.items()}
    return table


_KANA = _kana()
_FROM_KANA = {sounds: kana for kana, sounds in _KANA.items()}
_SIGNS = {"ッ": "Q", "ン": "N", "ー": ":"}
_FROM_SIGN = {sound: sign for sign, sound in _SIGNS.items()}


def _encode_katakana(text: str) -> list[str]:
    symbols: list[str] = []
    text = unicodedata.normalize("NFC", text)
    at = 0
    while at < len(text):
        kana = text[at : at + 2] if text[at : at + 2] in _KANA and len(text[at : at + 2]) == 2 else text[at]
        at += len(kana)
        if kana in _KANA:
            consonant, vowel = _KANA[kana]
            symbols += [consonant, vowel] if consonant else [vowel]
        else:
            symbols.append(_SIGNS.get(kana, _MARKED + kana))
    return symbols


def _decode_katakana(symbols: Sequence[str]) -> str | None:
    text = ""
    consonant = ""
    for symbol in symbols:
        if symbol in "aiueo":
            kana = _FROM_KANA.get((consonant, symbol))
            if kana is None:
                return None
            text, consonant = text + kana, ""
        elif consonant:
            return None
        elif symbol in _FROM_SIGN:
            text += _FROM_SIGN[symbol]
        elif symbol.startswith(_MARKED) and len(symbol) > 1:
            text += symbol[1:]
        else:
            consonant = symbol
    return None if consonant else text


def _katakana_acceptor(symbols: Iterable[str]) -> OutputAcceptor:
    """(C)V, N, Q only before consonants, length only after a vowel, and only consonants and vowels that have a kana."""
    steps: dict[tuple[int, str], int] = {}
    free = frozenset(symbol for symbol in symbols if symbol.startswith(_MARKED))
    after = {c: 4 + i for i, c in enumerate(sorted({c for c, _ in _KANA.values() if c}))}
    start, vowel_before, geminate, long = range(4)
    for state in (start, vowel_before, long):
        steps |= {(state, vowel): vowel_before for vowel in "aiueo"}
        steps |= {(state, "N"): start, (state, "Q"): geminate}
    for state in range(4):
        steps |= {(state, consonant): number for consonant, number in after.items()}
    for consonant, vowel in _KANA.values():
        if consonant:
            steps[after[consonant], vowel] = vowel_before
    steps[vowel_before, ":"] = long
    return OutputAcceptor(steps, frozenset({start, vowel_before, long}), free)
