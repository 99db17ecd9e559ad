r"""Files of words and outputs: tab-separated columns, and the XML of the shared tasks.

    word <TAB> output [<TAB> output ...] [<TAB> count]        symbols of an output may be separated by blanks

If any output of a file has a blank in it, all outputs are lists of symbols, else texts; single characters of a script
with a pack (katakana, Hangul, ...) are joined to texts. A column that is a number after the outputs is passed over.

Records of JSONL, CSV, TSV and Parquet have the fields "word" and "output".

    <TransliterationCorpus CorpusID SourceLang TargetLang CorpusType CorpusSize CorpusFormat>
      <Name ID><SourceName/><TargetName ID/>...</Name>
    <TransliterationTaskResults SourceLang TargetLang GroupID RunID RunType Comments>
      <Name ID><SourceName/><TargetName ID/>... up to ten, ranked by ID

Reference: Li, Kumaran, Zhang & Pervouchine (2009), Whitepaper of NEWS 2009 machine transliteration shared task.
"""

from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from textmill.corpus import BadRecords, Document, Source, open_lines, open_source, read_text, source_name, writer
from textmill.errors import DataError
from textmill.tasks.transcription.scripts import detect_script
from textmill.tasks.transcription.searching import Pairs

__all__ = ["read_transcriptions", "write_corpus", "write_results"]

_MOST = 10  # outputs of a word in a results file


def read_transcriptions(
    source: Source, *, outputs: str | None = None, encoding: str = "utf-8", errors: str = "strict"
) -> Pairs:
    r"""Read words and outputs, tab-separated or XML of the shared tasks (by the suffix .xml).

    `outputs`: "characters" or "words" (symbols between blanks); None to tell by the file.

    >>> import io
    >>> read_transcriptions(io.BytesIO(b"box\tB AA K S\n"))
    Pairs(words=['box'], outputs=[['B', 'AA', 'K', 'S']])
    """
    name = source_name(source)
    rows = _xml_rows(source, name) if name.endswith(".xml") else _table_rows(source, name, encoding, errors)
    texts = [output for _, output in rows]
    if outputs is None:
        outputs = "words" if any(" " in text for text in texts) else "characters"
        cut = [text.split() for text in texts]
        if outputs == "words" and all(len(symbol) == 1 for symbols in cut for symbol in symbols):
            joined = ["".join(symbols) for symbols in cut]
            if detect_script(joined) is not None:
                return Pairs([word for word, _ in rows], joined)
    elif outputs not in ("characters", "words"):
        raise DataError(f"outputs must be 'characters' or 'words', got {outputs!r}")
    if outputs == "characters":
        return Pairs([word for word, _ in rows], [text.replace(" ", "") for text in texts])
    return Pairs([word for word, _ in rows], [text.split() for text in texts])


def _table_rows(source: Source, name: str, encoding: str, errors: str) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    with (
        BadRecords(errors, name) as bad,
        open_source(source, text_field="word", encoding=encoding) as opened,
    ):
        form = opened.looks if opened.format == "tsv" else opened.format
        if form not in ("txt", "conll"):  # words beside symbols look like tokens beside tags
            return _record_rows(opened.documents())
        for line, text in open_lines(opened.stream, encoding=encoding, errors=bad, name=name):
            if not text.strip():
                continue
            word, *fields = text.split("\t")
            fields = [field.strip() for field in fields]
            if len(fields) > 1:
                fields = [fields[0], *(field for field in fields[1:] if not _is_number(field))]
            if not word.strip() or not fields or not all(fields):
                fault = "is not a word, a tab and an output; both sides must hold something"
                bad(DataError(f"{text[:60]!r} {fault}", source=name, line=line))
                continue
            rows += [(word.strip(), field) for field in fields]
    return rows


def _record_rows(documents: Iterable[Document]) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for document in documents:
        output = document.fields.get("output")
        if not isinstance(output, str) or not output.strip() or not document.text.strip():
            fault = "no field 'output' beside 'word'; both must hold something"
            raise DataError(fault, source=document.source, line=document.line)
        rows.append((document.text.strip(), output.strip()))
    return rows


def _is_number(field: str) -> bool:
    return field.replace(".", "", 1).isascii() and field.replace(".", "", 1).isdigit()


def _xml_rows(source: Source, name: str) -> list[tuple[str, str]]:
    try:
        root = ElementTree.fromstring(read_text(source))
    except ElementTree.ParseError as fault:
        raise DataError(f"is no XML: {fault}", source=name) from None
    rows: list[tuple[str, str]] = []
    for number, entry in enumerate(root.iter("Name"), 1):
        word = (entry.findtext("SourceName") or "").strip()
        outputs = [(one.text or "").strip() for one in entry.findall("TargetName")]
        if not word or not outputs or not all(outputs):
            raise DataError(f"name {number} has no SourceName or an empty TargetName; complete it", source=name)
        rows += [(word, output) for output in outputs]
    if not rows:
        raise DataError("holds no <Name> with a SourceName and a TargetName", source=name)
    return rows


def write_corpus(
    pairs: Pairs, target: str | os.PathLike[str], *, source_language: str, target_language: str, kind: str = "Training"
) -> None:
    """Write pairs as a corpus of the shared tasks.

    >>> write_corpus(Pairs(["anna"], ["アンナ"]), "names.xml", source_language="English", target_language="Katakana")
    >>> read_transcriptions("names.xml")
    Pairs(words=['anna'], outputs=['アンナ'])
    """
    words, _ = pairs.references()
    header = {
        "CorpusID": Path(target).stem,
        "SourceLang": source_language,
        "TargetLang": target_language,
        "CorpusType": kind,
        "CorpusSize": str(len(words)),
        "CorpusFormat": "UTF8",
    }
    order: dict[Any, list[Any]] = {word: [] for word in words}
    for word, output in zip(pairs.words, pairs.outputs, strict=True):
        if output not in order[word]:
            order[word].append(output)
    _write("TransliterationCorpus", header, words, [order[word] for word in words], target)


def write_results(
    words: Sequence[str],
    candidates: Sequence[Sequence[Any]],
    target: str | os.PathLike[str],
    *,
    source_language: str,
    target_language: str,
    group: str = "textmill",
    run: str = "1",
    kind: str = "standard",
    comments: str = "",
) -> None:
    """Write up to ten ranked outputs of each word as results of the shared tasks.

    `kind`: "standard" if only the given pairs were trained on, "non-standard" with extra pairs or a dictionary.

    >>> write_results(["anna"], [["アンナ", "アナ"]], "run.xml", source_language="English", target_language="Katakana")
    >>> read_transcriptions("run.xml").outputs
    ['アンナ', 'アナ']
    """
    header = {
        "SourceLang": source_language,
        "TargetLang": target_language,
        "GroupID": group,
        "RunID": run,
        "RunType": kind,
        "Comments": comments,
    }
    _write("TransliterationTaskResults", header, words, [list(row)[:_MOST] for row in candidates], target)


def _write(
    root: str, header: dict[str, str], words: Iterable[str], outputs: Iterable[Sequence[Any]], target: Any
) -> None:
    attributes = " ".join(f"{name}={quoteattr(value)}" for name, value in header.items())
    with writer(target) as out:
        out.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<{root} {attributes}>\n')
        for number, (word, row) in enumerate(zip(words, outputs, strict=True), 1):
            out.write(f'  <Name ID="{number}">\n    <SourceName>{escape(word)}</SourceName>\n')
            for rank, output in enumerate(row, 1):
                text = output if isinstance(output, str) else " ".join(output)
                out.write(f'    <TargetName ID="{rank}">{escape(text)}</TargetName>\n')
            out.write("  </Name>\n")
        out.write(f"</{root}>\n")
