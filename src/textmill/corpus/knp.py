"""Files of JUMAN and KNP: sentences cut into bunsetsus with their dependencies, and these into morphemes.

    # S-ID:w-1                                        comments, before the first bunsetsu
    * 2D                                              a bunsetsu, its head (-1: none) and the kind of dependency
    + 3D <NE:PERSON:太郎>                             a basic phrase in it, with its head and notes; may be absent
    太郎 たろう 太郎 名詞 6 人名 5 * 0 * 0            a morpheme: surface, reading, lemma, part of speech, subtype,
    は は は 助詞 9 副助詞 2 * 0 * 0                  inflection and form, each of the last four with its number
    EOS

Lines of seven fields, without the numbers, are read as well (Kyoto Corpus 3 and 4); so are other analyses of a
morpheme, in lines that begin with `@`. Whatever stands behind is kept: what was read is written back byte for byte.
Kinds of dependency are D, P (coordination), I (incomplete coordination) and A (apposition).

Cost: a line is split once; a morpheme seen before, as most are, costs one dictionary look-up.
References: Kurohashi & Nagao (1998), Kyoto University text corpus; Hangyo, Kawahara & Kurohashi (2012).
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from textmill.corpus.readers import files_of
from textmill.corpus.streams import BadRecords, Source, open_lines, source_name
from textmill.corpus.writers import writer
from textmill.errors import DataError

__all__ = ["BasicPhrase", "Bunsetsu", "KnpSentence", "Morpheme", "read_knp", "write_knp"]

_UNIT = re.compile(r"[*+] (-?[0-9]{1,9})([DPIA])(?: (.*)|)")
_CABOCHA = re.compile(r"\* [0-9]+ -?[0-9]+[A-Z] ")
_KNOWN_LINES = 1 << 16  # morphemes remembered, about 40 MB


class Morpheme(NamedTuple):
    """A morpheme; `line` is how it stood in the file, with the lines of its other analyses.

    >>> Morpheme("走った", "はしった", "走る", "動詞", "*", "子音動詞ラ行", "タ形").written()
    '走った はしった 走る 動詞 * 子音動詞ラ行 タ形'
    """

    surface: str
    reading: str
    lemma: str
    pos: str
    subpos: str = "*"
    inflection: str = "*"
    form: str = "*"
    line: str = ""

    def written(self) -> str:
        """The morpheme as it stands in a file, without the last line end."""
        return self.line or " ".join(self[:7])


class BasicPhrase(NamedTuple):
    """A basic phrase: the place of its first morpheme in the bunsetsu, its head among the basic phrases, its notes."""

    begin: int
    head: int
    kind: str = "D"
    note: str = ""


@dataclass(frozen=True, slots=True)
class Bunsetsu:
    """A bunsetsu: content words and the particles behind them, with the number of its head, -1 for none.

    >>> Bunsetsu((Morpheme("犬", "いぬ", "犬", "名詞"), Morpheme("が", "が", "が", "助詞")), head=1).text
    '犬が'
    """

    morphemes: tuple[Morpheme, ...]
    head: int = -1
    kind: str = "D"
    note: str = ""
    phrases: tuple[BasicPhrase, ...] = ()

    @property
    def text(self) -> str:
        """The surface of its morphemes."""
        return "".join(morpheme.surface for morpheme in self.morphemes)


@dataclass(frozen=True, slots=True)
class KnpSentence:
    """A sentence: its bunsetsus, the comments before it, and where it stood (not compared).

    >>> cat = Bunsetsu((Morpheme("猫", "ねこ", "猫", "名詞"), Morpheme("が", "が", "が", "助詞")), head=1)
    >>> sleeps = Bunsetsu((Morpheme("寝る", "ねる", "寝る", "動詞"),))
    >>> sentence = KnpSentence((cat, sleeps), comments=("# S-ID:tale-1-3 MOD:2020",))
    >>> sentence.id, sentence.heads, sentence.text
    ('tale-1-3', (1, -1), '猫が寝る')
    """

    bunsetsus: tuple[Bunsetsu, ...]
    comments: tuple[str, ...] = ()
    source: str | None = field(default=None, compare=False)
    line: int | None = field(default=None, compare=False)

    def __len__(self) -> int:
        return len(self.bunsetsus)

    @property
    def id(self) -> str | None:
        """What `# S-ID:` says; None if there is no such comment."""
        ids = (comment.removeprefix("# S-ID:").split(" ")[0] for comment in self.comments if "# S-ID:" in comment)
        return next(ids, None)

    @property
    def heads(self) -> tuple[int, ...]:
        """The number of the head of each bunsetsu, -1 for none."""
        return tuple(bunsetsu.head for bunsetsu in self.bunsetsus)

    @property
    def text(self) -> str:
        """The whole sentence."""
        return "".join(bunsetsu.text for bunsetsu in self.bunsetsus)

    def with_heads(self, heads: Sequence[int]) -> KnpSentence:
        """The sentence with other heads: kind D where one differs, its last basic phrase below the last of the head.

        >>> first, last = (Bunsetsu((Morpheme(s, s, s, "名詞"),)) for s in "上下")
        >>> KnpSentence((first, last)).with_heads([1, -1]).heads
        (1, -1)
        """
        if len(heads) != len(self.bunsetsus):
            fault = f"{len(heads)} heads for {len(self.bunsetsus)} bunsetsus; pass one for each"
            raise DataError(fault, source=self.source, line=self.line)
        last_phrases, phrases = [], 0
        for bunsetsu in self.bunsetsus:
            phrases += len(bunsetsu.phrases)
            last_phrases.append(phrases - 1)
        changed = []
        for bunsetsu, head in zip(self.bunsetsus, heads, strict=True):
            if head != bunsetsu.head:
                inner = bunsetsu.phrases
                if inner:
                    target = last_phrases[head] if head >= 0 else -1
                    inner = (*inner[:-1], inner[-1]._replace(head=target, kind="D"))
                bunsetsu = replace(bunsetsu, head=int(head), kind="D", phrases=inner)
            changed.append(bunsetsu)
        return replace(self, bunsetsus=tuple(changed))


def read_knp(
    source: Source, *, documents: Collection[str] | None = None, errors: str = "strict", encoding: str = "utf-8"
) -> Iterator[KnpSentence]:
    """Stream the sentences of a file, of all files ending in .knp below a folder, of `-` (stdin) or of an open file.

    `documents` keeps only sentences of these documents: an id of a sentence is that of its document, a hyphen and a
    number, or several numbers. With `errors="skip"` a sentence with a fault is
    left out, and a SkippedRecords warning at the end says how many and which fault came first.

    >>> import io
    >>> lines = ["# S-ID:a-1", "* 1D", "犬 いぬ 犬 名詞 6 普通名詞 1 * 0 * 0", "* -1D", "猫 ねこ 猫 名詞 * * *", "EOS"]
    >>> [(sentence.id, sentence.heads) for sentence in read_knp(io.BytesIO("\\n".join(lines).encode()))]
    [('a-1', (1, -1))]
    """
    if isinstance(documents, str):
        raise DataError(f"documents must be a collection of ids, not the text {documents!r}")
    wanted = None if documents is None else frozenset(documents)
    name = source_name(source)
    with BadRecords(errors, name) as bad:
        morphemes: dict[str, Morpheme] = {}
        for part in _parts(source):
            for sentence in _Reader(part, encoding, bad, morphemes):
                if wanted is None or not wanted.isdisjoint(_documents(sentence)):
                    yield sentence


def write_knp(sentences: Iterable[KnpSentence], target: str | os.PathLike[str], *, encoding: str = "utf-8") -> None:
    """Write sentences to a path or `-` (standard output); a file appears only when it is complete.

    >>> write_knp([KnpSentence((Bunsetsu((Morpheme("寝る", "ねる", "寝る", "動詞"),)),))], "-")
    * -1D
    寝る ねる 寝る 動詞 * * *
    EOS
    """
    with writer(target, encoding=encoding) as out:
        for sentence in sentences:
            out.write("\n".join([*sentence.comments, *_lines(sentence), "EOS", ""]))


def _parts(source: Source) -> Iterator[Source]:
    """The files of a source."""
    if not isinstance(source, str | os.PathLike) or not os.path.isdir(source):
        yield source
        return
    names = [name for _, name in files_of(os.fspath(source)) if ".knp" in os.path.basename(name)]
    if not names:
        raise DataError("the folder holds no files ending in .knp; name a file, or another folder", source=str(source))
    yield from names


def _documents(sentence: KnpSentence) -> Iterator[str]:
    """The ids that the document of a sentence may have."""
    parts = (sentence.id or "").split("-")
    return ("-".join(parts[:size]) for size in range(1, len(parts) + 1))


def _lines(sentence: KnpSentence) -> Iterator[str]:
    for bunsetsu in sentence.bunsetsus:
        yield _unit("*", bunsetsu.head, bunsetsu.kind, bunsetsu.note)
        starts = {phrase.begin: phrase for phrase in bunsetsu.phrases}
        for at, morpheme in enumerate(bunsetsu.morphemes):
            if at in starts:
                yield _unit("+", *starts[at][1:])
            yield morpheme.written()


def _unit(sign: str, head: int, kind: str, note: str) -> str:
    return f"{sign} {head}{kind} {note}" if note else f"{sign} {head}{kind}"


class _Reader:
    """Reads the sentences of one file."""

    def __init__(self, source: Source, encoding: str, bad: BadRecords, morphemes: dict[str, Morpheme]) -> None:
        self.source, self.encoding, self.bad = source, encoding, bad
        self.name = source_name(source)
        self.morphemes = morphemes  # by their lines

    def __iter__(self) -> Iterator[KnpSentence]:
        fault: DataError | None = None

        def remember(error: DataError, line: str) -> str:
            nonlocal fault
            fault = fault or error
            return line

        lines: list[str] = []
        first = number = 0
        for number, line in open_lines(self.source, encoding=self.encoding, errors=remember):
            if not lines:
                if not line:
                    continue
                first = number
            if line != "EOS":
                lines.append(line)
                continue
            try:
                if fault is not None:
                    raise fault
                sentence = self._sentence(lines, first if lines else number)
            except DataError as error:
                self.bad(error)
            else:
                yield sentence
            lines, fault = [], None
        if lines:
            self.bad(fault or DataError(self._unended(lines), source=self.name, line=first))

    def _unended(self, lines: list[str]) -> str:
        if not any(_UNIT.fullmatch(line) for line in lines):
            return "this is no file of KNP: there is no line '* 1D', and no line 'EOS'; parse the text with `knp -tab`"
        return "the sentence that begins here does not end; put a line EOS behind it, or fetch the whole file again"

    def _sentence(self, lines: list[str], first: int) -> KnpSentence:
        comments = []
        for line in lines:
            if not line.startswith("#"):
                break
            comments.append(line)
        bunsetsus: list[Bunsetsu] = []
        units: list[tuple[int, str, str, int]] = []  # head, kind, note and line of each bunsetsu
        morphemes: list[Morpheme] = []
        phrases: list[BasicPhrase] = []
        heads: list[tuple[int, int]] = []  # of the basic phrases, with their lines
        for number, line in enumerate(lines[len(comments) :], first + len(comments)):
            morpheme = self.morphemes.get(line)
            if morpheme is not None and units:
                morphemes.append(morpheme)
            elif line[:2] in ("* ", "+ ") and (match := _UNIT.fullmatch(line)):
                head, kind, note = int(match[1]), match[2], match[3] or ""
                if line[0] == "*":
                    if units:
                        bunsetsus.append(self._bunsetsu(units[-1], morphemes, phrases))
                    units.append((head, kind, note, number))
                    morphemes, phrases = [], []
                else:
                    if not units:
                        raise self._fault("a basic phrase before the first bunsetsu", number)
                    if phrases and phrases[-1].begin == len(morphemes):
                        raise self._fault("the basic phrase before this line has no morphemes", number)
                    phrases.append(BasicPhrase(len(morphemes), head, kind, note))
                    heads.append((head, number))
            elif not units:
                raise self._fault(_outside(line), number)
            elif line.startswith("@ "):
                if not morphemes:
                    raise self._fault("another analysis ('@') without a morpheme before it", number)
                morphemes[-1] = morphemes[-1]._replace(line=f"{morphemes[-1].written()}\n{line}")
            else:
                morphemes.append(self._morpheme(line, number))
        if units:
            bunsetsus.append(self._bunsetsu(units[-1], morphemes, phrases))
        for what, listed in (
            ("bunsetsu", [(head, number) for head, _, _, number in units]),
            ("basic phrase", heads),
        ):
            for at, (head, number) in enumerate(listed):
                if not -1 <= head < len(listed):  # corpora do have one that is its own head
                    fault = f"{what} {at} has the head {head}; it must be -1 or a number below {len(listed)}"
                    raise self._fault(fault, number)
        return KnpSentence(tuple(bunsetsus), tuple(comments), self.name, first)

    def _bunsetsu(
        self, unit: tuple[int, str, str, int], morphemes: list[Morpheme], phrases: list[BasicPhrase]
    ) -> Bunsetsu:
        head, kind, note, number = unit
        if not morphemes or (phrases and phrases[-1].begin == len(morphemes)):
            raise self._fault("the bunsetsu or basic phrase that begins here has no morphemes", number)
        return Bunsetsu(tuple(morphemes), head, kind, note, tuple(phrases))

    def _morpheme(self, line: str, number: int) -> Morpheme:
        fields = line.split(" ", 11)
        if len(fields) == 7:
            values = fields
        elif len(fields) >= 11 and all(fields[at].isdecimal() for at in (4, 6, 8, 10)):
            values = [*fields[:4], fields[5], fields[7], fields[9]]
        else:
            fault = f"a morpheme needs 7 fields, or 11 and more with numbers, parted by single blanks: found {line!r}"
            raise self._fault(fault, number)
        if "" in values:
            raise self._fault(f"field {values.index('') + 1} of the morpheme {line!r} is empty; write * for it", number)
        if values[2] == "*" and values[0] != "*":
            values[2] = values[0]  # the Kyoto Corpus leaves out what is the same
        if len(self.morphemes) >= _KNOWN_LINES:
            self.morphemes.clear()
        self.morphemes[line] = morpheme = Morpheme(*values)._replace(line=line)
        return morpheme

    def _fault(self, message: str, line: int) -> DataError:
        return DataError(message, source=self.name, line=line)


def _outside(line: str) -> str:
    """What is wrong with a line before the first bunsetsu."""
    if _CABOCHA.match(line):
        return f"{line!r} is of CaboCha; this reads KNP's lines '* 2D'"
    return f"{line!r} stands before the first bunsetsu ('* 2D'); JUMAN gives none, so parse its output with `knp -tab`"
