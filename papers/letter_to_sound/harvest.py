"""A lexicon from the words of a text and a system that says how they sound; abbreviations are left out."""

from __future__ import annotations

import shlex
import subprocess
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from textmill.corpus import Source, open_source
from textmill.errors import DataError
from textmill.tasks.pronunciation.lexicon import Entry

__all__ = ["Harvest", "ask_program", "harvest_lexicon", "read_words"]


@dataclass(frozen=True, slots=True)
class Harvest:
    """A lexicon from running text: its entries, and the words that were left out, with the reason of each."""

    entries: list[Entry]
    left_out: dict[str, str]


def harvest_lexicon(
    tokens: Iterable[str],
    oracle: Callable[[str], Sequence[str] | str | None],
    *,
    vowels: str | None = "aeiouyäëïöüáéíóúýàèìòùâêîôûæœøåãõ",
    capitals: bool = True,
    periods: bool = True,
    digits: bool = True,
    min_count: int = 1,
) -> Harvest:
    """Build a lexicon by asking a system that pronounces words for every word of a text, each once.

    `oracle` returns phonemes, a list or a string separated by blanks; None or nothing where it has no answer.
    Abbreviations are left out: words without one of the `vowels` (None: not tested), all in `capitals`, with `periods`
    inside, with `digits`. The other three tests can be switched off.

    >>> harvest = harvest_lexicon(["Le", "CNRS", "dit", "dit", "M.D."], lambda word: list(word.lower()))
    >>> [entry.word for entry in harvest.entries], harvest.left_out["CNRS"]
    (['Le', 'dit'], 'no vowel')
    """
    counts: dict[str, int] = {}
    for token in tokens:
        if token.strip():
            counts[token.strip()] = counts.get(token.strip(), 0) + 1
    entries, left_out = [], {}
    for word, count in counts.items():
        reason = _abbreviation(word, vowels, capitals, periods, digits)
        if count < min_count:
            reason = f"occurs {count} times only"
        if not reason and not any(letter.isalpha() for letter in word):
            reason = "no letter"
        if not reason:
            answer = oracle(word)
            phonemes = tuple(answer.split() if isinstance(answer, str) else answer or ())
            if phonemes:
                entries.append(Entry(word, phonemes))
                continue
            reason = "no pronunciation"
        left_out[word] = reason
    return Harvest(entries, left_out)


def _abbreviation(word: str, vowels: str | None, capitals: bool, periods: bool, digits: bool) -> str:
    letters = [letter for letter in word if letter.isalpha()]
    plain = unicodedata.normalize("NFC", word).casefold()
    latin = all("a" <= letter <= "z" for letter in unicodedata.normalize("NFD", plain) if letter.isalpha())
    if vowels and letters and latin and not any(vowel in plain for vowel in vowels):
        return "no vowel"
    if capitals and len(letters) > 1 and all(letter.isupper() for letter in letters):
        return "all capitals"
    if periods and any(a == "." and b.isalnum() for a, b in pairwise(word)):
        return "period inside"
    if digits and any(sign.isdigit() for sign in word):
        return "digit"
    return ""


def read_words(sources: Iterable[Source]) -> list[str]:
    """Return the words of running text, with periods inside (M.D.) and hyphens as they are.

    >>> import io
    >>> read_words([io.BytesIO(b"Le chat, dit-il.")])
    ['Le', 'chat', 'dit-il']
    """
    words: list[str] = []
    for source in sources:
        with open_source(source) as opened:
            for token in (token for document in opened.documents() for token in document.text.split()):
                bare = token.strip(".,;:!?\"'()[]{}«»“”„…–-")
                if bare:
                    words.append(token.strip(",;:!?\"'()[]{}«»“”„…–-") if "." in bare else bare)
    return words


def ask_program(command: str, words: Sequence[str]) -> dict[str, str]:
    """Run a program that reads words, one per line, and prints a line of phonemes for each.

    >>> ask_program("cat", ["a", "b"])
    {'a': 'a', 'b': 'b'}
    """
    try:
        run = subprocess.run(
            shlex.split(command), input="\n".join(words) + "\n", capture_output=True, text=True, check=False
        )
    except (OSError, ValueError) as fault:
        raise DataError(f"the program {command!r} cannot be run: {fault}") from None
    if run.returncode:
        last = run.stderr.strip().split("\n")[-1]
        raise DataError(f"the program {command!r} ended with {run.returncode}: {last}")
    lines = run.stdout.split("\n")
    lines = lines[:-1] if lines and not lines[-1] else lines
    if len(lines) != len(words):
        raise DataError(
            f"the program {command!r} printed {len(lines)} lines for {len(words)} words; it must print one each"
        )
    return {word: line.strip() for word, line in zip(words, lines, strict=True)}
