"""Tagged sentences from columns and CoNLL-U, and forms told by their beginning."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest

from textmill.corpus import check_tagged, open_source, read_documents, read_records, read_tagged
from textmill.corpus.columns import Sentence
from textmill.corpus.sniffing import sniff_format
from textmill.errors import DataError

ROWS = [
    "# sent_id = es-1",
    "1-2 vámonos _ _ _ _ _ _ _ _",
    "1 vamos ir VERB _ _ 0 root _ _",
    "2 nos nosotros PRON _ _ 1 obj _ _",
    "3 hoy hoy ADV _ _ 1 advmod _ SpaceAfter=No",
    "3.1 va ir VERB _ _ _ _ _ _",
    "4 ! ! PUNCT _ _ 1 punct _ _",
    "",
    "# text = Sí .",
    "1 Sí sí INTJ _ _ 0 root _ _",
    "2 . . PUNCT _ _ 1 punct _ _",
    "",
]
CONLLU = "\n".join(row if row.startswith("#") else row.replace(" ", "\t") for row in ROWS) + "\n"


@pytest.mark.parametrize("name", ["es.conllu", "es.conllu.gz", "es", "es.txt"])
def test_words_of_conllu_come_with_the_column_that_was_asked_for(tmp_path: Path, name: str) -> None:
    data = CONLLU.encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    first, second = read_tagged(tmp_path / name, label_column="upos")
    assert first.columns == (("vamos", "nos", "hoy", "!"), ("VERB", "PRON", "ADV", "PUNCT"))
    assert second.columns == (("Sí", "."), ("INTJ", "PUNCT"))
    assert [sentence.columns for sentence in read_tagged(tmp_path / name)] == [first.columns[:1], second.columns[:1]]
    with pytest.raises(DataError, match=rf"{name}: CoNLL-U has several columns of labels"):
        list(read_tagged(tmp_path / name, labels=True))


def test_columns_keep_their_lines_and_places() -> None:
    (one, two) = read_tagged(io.BytesIO(b"the  DT\ndog NN\n\nbarks VBZ\n"), keep_lines=True)
    assert one.lines == ("the  DT", "dog NN")
    assert (two.source, two.line) == ("stream", 4)
    with pytest.raises(DataError, match="label_column names a column of CoNLL-U, and this is none"):
        list(read_tagged(io.BytesIO(b"the DT\n"), label_column="upos"))
    with pytest.raises(DataError, match="label_column must be one of"):
        list(read_tagged(io.BytesIO(b""), label_column="form"))


def test_a_table_called_tsv_is_told_from_columns_by_its_header(tmp_path: Path) -> None:
    (tmp_path / "columns.tsv").write_text("the\tDT\ndog\tNN\n")
    assert len(list(read_tagged(tmp_path / "columns.tsv"))) == 1
    (tmp_path / "table.tsv").write_text("id\ttext\n1\tstorm\n")
    with pytest.raises(DataError, match=r"table\.tsv: a table with a header is no column file"):
        list(read_tagged(tmp_path / "table.tsv"))


def test_sentences_of_conllu_are_documents(tmp_path: Path) -> None:
    path = tmp_path / "es.conllu"
    path.write_text(CONLLU, encoding="utf-8")
    first, second = read_documents(path)
    assert (first.id, first.text, first.line, first.plain) == ("es-1", "vámonos hoy!", 2, False)
    assert (second.text, second.fields["text"]) == ("Sí .", "Sí .")
    assert [record.fields["text"] for record in read_records(io.BytesIO(CONLLU.encode()))] == [first.text, second.text]


def test_a_bad_sentence_of_conllu_is_skipped_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "es.conllu"
    path.write_text(CONLLU.replace("2\tnos", "7\tnos"), encoding="utf-8")
    with pytest.raises(DataError, match=r"es\.conllu:4: id '7' is out of order"):
        list(read_documents(path))
    with pytest.warns(UserWarning, match="1 bad record skipped"):
        assert len(list(read_documents(path, errors="skip"))) == 1


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("The DT B-NP\ndog NN I-NP\n\nbarks VBZ O\n", "conll"),
        ("-DOCSTART- -X- O\n\nEU NNP B-ORG\nrejects VBZ O\n", "conll"),
        ("The dog barks .\nIt is old .\n", "txt"),
        ("Ann Smith\nBob Jones\n" * 9, "txt"),
        ("the DT\nold JJ\nmill NN\n" * 3, "conll"),
        ("# A heading\nand text\n", "txt"),
        (CONLLU, "conllu"),
        ("Plan B-52\nPlan B-53\n", "conll"),
        ("one O\n", "txt"),
    ],
)
def test_columns_are_told_by_the_tags_at_the_ends_of_lines(text: str, form: str) -> None:
    assert sniff_format(text.encode()) == form


def test_a_plain_text_by_name_alone_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    rows = "".join(json.dumps({"text": text}) + "\n" for text in ("a storm", "rain"))
    path.write_text(rows)
    for unit in (None, "line"):
        with pytest.raises(DataError, match="this looks like JSON lines, not plain text; pass format='jsonl'"):
            list(read_documents(path, unit=unit))
    assert [one.text for one in read_documents(path, format="txt", unit="line")] == rows.splitlines()
    path.write_text(CONLLU)
    with pytest.raises(DataError, match="this looks like CoNLL-U, not plain text"):
        list(read_documents(path))
    path.write_text("The B-NP\ndog I-NP\n")
    with pytest.raises(DataError, match="columns of tokens and tags, not text"):
        list(read_documents(path))
    path.write_text('{"a quote": and more text\n')
    assert len(list(read_documents(path))) == 1


def test_an_open_source_says_what_it_is_and_still_gives_everything() -> None:
    with open_source(io.BytesIO(b'{"body": "rain"}\n'), text_field="body") as opened:
        assert (opened.format, opened.looks, opened.name) == ("jsonl", "jsonl", "stream")
        assert [one.text for one in opened.documents()] == ["rain"]
    with open_source(io.BytesIO(b"one\r\ntwo")) as opened:
        assert opened.format == "txt"
        assert opened.stream.read() == b"one\r\ntwo"
    with open_source(io.BytesIO(b"\0\1\2")) as opened:
        assert opened.format is None
        with pytest.raises(DataError, match="binary data, not text"):
            list(opened.documents())


def test_sentences_that_may_be_columns_are_not_taken_for_text() -> None:
    single = [Sentence((("Yes",), ("O",))), Sentence((("No",), ("B-X",)))]
    assert list(check_tagged(single, {"O", "B-X"})) == single
    assert list(check_tagged(iter([Sentence((("a", "b"), ("DT", "NN")))]), {"X"})), "two tokens, no width: columns"
    wide = [Sentence((("a",), ("DT",), ("NP",)))]
    assert list(check_tagged(wide, {"X"}, width=3)) == wide
    for sentences, width in (([Sentence((("a", "c"), ("b", "d")))], 1), (wide, 0), (wide, 1)):
        with pytest.raises(
            DataError, match="is no label of the model; give one token per line, or label it as running"
        ):
            list(check_tagged(sentences, {"X"}, width=width))
    assert list(check_tagged([], {"X"})) == []
