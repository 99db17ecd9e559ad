"""Column files and CoNLL-U: hand-made files, round trips, every fault with its place, and public corpora."""

from __future__ import annotations

import gzip
import io
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.corpus.columns import CONLLU_COLUMNS, Sentence, read_columns, read_conllu, write_columns
from textmill.corpus.iob import check_tags, guess_scheme, spans_of
from textmill.corpus.streams import SkippedRecords
from textmill.errors import DataError


def read(text, **options):
    return list(read_columns(io.BytesIO(text.encode() if isinstance(text, str) else text), **options))


def read_u(*lines, **options):
    return list(read_conllu(io.BytesIO("\n".join(lines).encode()), **options))


def skipping(call, count):
    """What a call returns, and the first fault, while it must report `count` skipped records."""
    with pytest.warns(SkippedRecords) as caught:
        result = call()
    [warning] = caught
    assert warning.message.count == count
    return result, str(warning.message.first)


def word(number, form, head="0"):
    return "\t".join([str(number), form, "_", "_", "_", "_", head, "_", "_", "_"])


# ---- what a file holds


def test_blank_lines_part_sentences_and_runs_of_blanks_part_columns():
    sentences = read("the DT\ndog\t  NN\n\n\n  \t\n  barks VBZ  \n")
    assert [sentence.columns for sentence in sentences] == [(("the", "dog"), ("DT", "NN")), (("barks",), ("VBZ",))]
    assert [sentence.line for sentence in sentences] == [1, 6]


def test_columns_are_found_by_name_and_number():
    [sentence] = read("the DT\ndog NN\n", columns=["word", "pos"])
    assert sentence.column("word") == sentence.column(0) == sentence.column(-2) == ("the", "dog")
    assert len(sentence) == 2
    assert list(sentence) == [("the", "DT"), ("dog", "NN")]
    with pytest.raises(DataError, match=r"^stream:1: no column 'tag'; the columns are word, pos"):
        sentence.column("tag")
    with pytest.raises(DataError, match="no column 2"):
        sentence.column(2)


def test_a_sentence_is_a_sequence_of_its_tokens():
    [sentence] = read("the DT\ndog NN\nbarks VBZ\n", columns=["word", "pos"])
    rows = [("the", "DT"), ("dog", "NN"), ("barks", "VBZ")]
    assert [sentence[i] for i in range(len(sentence))] == list(sentence) == rows
    assert sentence[-1] == rows[-1]
    assert sentence[1:] == rows[1:]
    assert sentence[::-1] == rows[::-1]
    assert sentence[3:] == []
    for outside in (3, -4):
        with pytest.raises(IndexError):
            sentence[outside]
    with pytest.raises(DataError, match=r"use sentence.column\('pos'\)"):
        sentence["pos"]


def test_tab_separated_fields_may_hold_blanks_and_other_spaces_belong_to_words():
    assert read("New York\tLOC\n", separator="\t")[0].columns == (("New York",), ("LOC",))
    assert read("10\u00a0000 CD\n\u2028 X\u0085\n")[0].columns == (("10\u00a0000", "\u2028"), ("CD", "X\u0085"))


def test_hash_begins_a_comment_only_before_the_first_token():
    first, second = read("# one\n#two\na X\n# X\nb X\n\n# X\nc X\n", comment="#")
    assert first.comments == ("# one", "#two")
    assert first.column(0) == ("a", "#", "b")
    assert (second.comments, second.column(0), second.line) == (("# X",), ("c",), 8)
    assert read("# X\na X\n")[0].column(0) == ("#", "a")


def test_document_markers_are_no_tokens_wherever_they_stand():
    text = "-DOCSTART- -X- O\n\na X\n\nb X\n-DOCSTART- -Y- O\nc X\n"
    sentences = read(text, document="-DOCSTART-")
    assert [sentence.document for sentence in sentences] == ["-DOCSTART- -X- O", None, "-DOCSTART- -Y- O"]
    assert [sentence.column(0) for sentence in sentences] == [("a",), ("b",), ("c",)]
    [sentence] = read("###MEDLINE:7\n\n# c\na\tX\n", separator="\t", document="###MEDLINE:", comment="#")
    assert (sentence.document, sentence.comments) == ("###MEDLINE:7", ("# c",))


def test_windows_line_ends_byte_order_marks_encodings_and_compression_make_no_difference():
    plain = read("é X\nb Y\n\nc Z\n")
    assert read("é X\r\nb Y\r\n\r\nc Z") == plain
    assert read("\ufeffé X\nb Y\n\nc Z\n") == plain
    assert read("é X\nb Y\n\nc Z\n".encode("latin-1"), encoding="latin-1") == plain
    assert read("\ufeffé X\nb Y\n\nc Z\n".encode("utf-16-le"), encoding="utf-16") == plain
    assert read(gzip.compress("é X\nb Y\n\nc Z\n".encode())) == plain


def test_empty_files_hold_no_sentences():
    assert read("") == read("\n\n \n") == read_u("") == []


def test_files_can_be_read_again_and_streams_once(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text("a X\n\nb Y\n")
    sentences = read_columns(path)
    assert list(sentences) == list(sentences) == list(read_columns(str(path)))
    assert next(iter(sentences)).source == str(path)
    for once in (read_columns(io.BytesIO(b"a X\n")), read_conllu(io.BytesIO(b""))):
        assert iter(once) is once


def test_repeated_strings_are_stored_once():
    first, second = read("the X-1\ndog X-1\n\nthe X-2\n")
    assert first.column(0)[0] is second.column(0)[0]
    assert first.column(1)[0] is first.column(1)[1]


def test_sentences_are_values():
    a, b = Sentence((("x",),), source="a", line=1), Sentence((("x",),), source="b", line=2)
    assert a == b
    assert hash(a) == hash(b)
    assert a != Sentence((("x",),), comments=("# 1",))
    with pytest.raises(AttributeError):
        a.columns = ()
    assert len(Sentence(())) == 0
    assert list(Sentence(())) == []
    with pytest.raises(DataError, match="2, 1 tokens"):
        Sentence((("a", "b"), ("c",)))
    with pytest.raises(DataError, match="1 columns but 2 names"):
        Sentence((("a",),), names=("x", "y"))


def test_a_column_can_be_added_or_replaced():
    plain = Sentence((("a", "b"),))
    named = Sentence((("a", "b"),), names=("word",), comments=("# 1",))
    assert plain.with_column(["X", "Y"]).columns == (("a", "b"), ("X", "Y"))
    tagged = named.with_column(["X", "Y"], "tag")
    assert (tagged.column("tag"), tagged.comments) == (("X", "Y"), ("# 1",))
    assert tagged.with_column(["Z", "Z"], "tag").columns == (("a", "b"), ("Z", "Z"))
    for sentence, name in [(plain, "tag"), (named, None)]:
        with pytest.raises(DataError, match="name the new column exactly when the others have names"):
            sentence.with_column(["X", "Y"], name)
    with pytest.raises(DataError, match="2, 1 tokens"):
        plain.with_column(["X"])


# ---- faults


@pytest.mark.parametrize(
    ("text", "options", "fault"),
    [
        ("a X\nb\n", {}, r"^stream:2: found 1 columns, expected 2 as in the lines before; give one token per line$"),
        ("a X Y\n", {"columns": ["word", "tag"]}, r"^stream:1: found 3 columns, expected 2 \(word, tag\)$"),
        ("New York\tX\n", {"columns": ["word", "tag"]}, r"parted by tabs, pass separator='\\t'$"),
        ("a X\n", {"columns": ["word", "tag"], "separator": "\t"}, r"parted by blanks, not by '\\t'$"),
        ("a\tX\nb\t\n", {"separator": "\t"}, r"^stream:2: column 2 is empty; write _ for a missing value$"),
        ("a X\rb Y\n", {}, r"^stream:1: a carriage return inside the line; end the lines of the file in \\n$"),
        ("a X\n\n# end\n", {"comment": "#"}, r"^stream:3: a comment or document without a sentence"),
        ("DOC\nDOC\na X\n", {"document": "DOC"}, r"^stream:1: a comment or document without a sentence"),
        ("a X\nDOC\n", {"document": "DOC"}, r"^stream:2: a comment or document without a sentence"),
        ("a X\nb\0 Y\n", {}, r"^stream:2:2: NUL"),
        (b"a X\n\nb Y\nc\xff Z\n", {}, r"^stream:4:2: byte 0xff is not UTF-8"),
        ("é X\n".encode("utf-16"), {}, r"^stream:1:1: .*utf-16"),
        (gzip.compress(b"a X\n" * 1000, mtime=0)[:-10], {}, r"^stream:.*ends in the middle"),
    ],
)
def test_faults_are_named_with_their_place(text, options, fault):
    with pytest.raises(DataError, match=fault):
        read(text, **options)


def test_strict_reading_stops_at_once_and_does_not_wait_for_the_end_of_a_sentence():
    class Endless(io.RawIOBase):
        lines = b"a X\nb\n" + b"c X\n" * 100
        given = 0

        def readable(self):
            return True

        def readinto(self, buffer):
            assert self.given < 1 << 22, "read on after the fault"
            size = min(len(buffer), len(self.lines))
            buffer[:size] = self.lines[:size]
            self.given += size
            return size

    with pytest.raises(DataError, match=r"^stream:2: found 1 columns"):
        list(read_columns(io.BufferedReader(Endless())))


def test_skipping_leaves_out_whole_sentences_and_reports_them():
    text = b"a X\nb Y\n\nc X\nd\ne X\n\nf\xff X\ng X\n\nh X\n\ni X\nj X\xff"
    sentences, first = skipping(lambda: read(text, errors="skip"), 3)
    assert [sentence.column(0) for sentence in sentences] == [("a", "b"), ("h",)]
    assert first.startswith("stream:5: found 1 columns")


def test_an_unreadable_line_among_comments_costs_its_sentence_only():
    text = b"# \xff\na X\n\n\xff\n\n# \xff\n\nb X\n\nc X\n"
    sentences, first = skipping(lambda: read(text, comment="#", errors="skip"), 3)
    assert [sentence.column(0) for sentence in sentences] == [("c",)]
    assert first.startswith("stream:1:3: byte 0xff")


@pytest.mark.parametrize("columns", ["word", ["word", "word"]])
def test_names_of_columns_must_be_different_names(columns):
    with pytest.raises(DataError, match="must be a list of different names"):
        read("a X\n", columns=columns)


def test_unknown_error_policy_is_refused():
    with pytest.raises(ValueError, match="errors must be 'strict' or 'skip'"):
        read("a X\n", errors="ignore")


# ---- writing


fields = st.text(st.characters(codec="utf-8", exclude_characters=" \t\r\n\0\ufeff"), min_size=1, max_size=5)
comments = st.lists(st.builds("# {} {}".format, fields, fields), max_size=2).map(tuple)


@st.composite
def sentence_lists(draw):
    width = draw(st.integers(1, 3))
    rows = st.lists(st.tuples(*[fields.filter(lambda text: text[0] != "#")] * width), min_size=1, max_size=4)
    documents = st.sampled_from([None, None, "#doc 1", "#doc 2"])
    return [
        Sentence(tuple(zip(*draw(rows), strict=True)), comments=draw(comments), document=draw(documents))
        for _ in range(draw(st.integers(0, 4)))
    ]


@settings(max_examples=50)
@given(sentences=sentence_lists(), separator=st.sampled_from([" ", "\t"]))
def test_what_is_written_is_read_again(sentences, separator):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.conll")
        write_columns(sentences, path, separator=separator)
        options = {"comment": "# ", "document": "#doc"}
        assert list(read_columns(path, **options)) == sentences
        assert list(read_columns(path, separator=separator, **options)) == sentences


@pytest.mark.parametrize(
    ("sentence", "separator"),
    [
        *[(((value,),), " ") for value in ("", "a b", "a\tb", "a\0")],
        *[(((value,),), "\t") for value in ("", " ", "a\tb", "a\nb", "a\rb", "a\n")],
        (((("a|b"),),), "|"),
        ((), " "),
        (((), ()), " "),
    ],
)
def test_values_that_would_be_read_otherwise_are_not_written(tmp_path, sentence, separator):
    target = tmp_path / "a.conll"
    target.write_text("old")
    sentences = [Sentence((("good",),)), Sentence(sentence, source="b.conll", line=7)]
    with pytest.raises(DataError, match=r"^b\.conll:7: .* cannot stand in a file of columns"):
        write_columns(sentences, target, separator=separator)
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.conll"]


@pytest.mark.parametrize("around", [{"comments": ("# a\nb",)}, {"comments": ("",)}, {"document": "a\rb"}])
def test_comments_and_documents_that_would_break_the_file_are_not_written(tmp_path, around):
    with pytest.raises(DataError, match="cannot stand in a file"):
        write_columns([Sentence((("a",),), **around)], tmp_path / "a.conll")


def test_writing_compresses_and_encodes_as_asked(tmp_path):
    write_columns([Sentence((("é",),))], tmp_path / "a.conll.gz", encoding="latin-1")
    assert gzip.decompress((tmp_path / "a.conll.gz").read_bytes()) == b"\xe9\n\n"


# ---- CoNLL-U


CONLLU = (
    "# newdoc",
    "# sent_id = s = 1",
    word("1-2", "vámonos", "_"),
    word(1, "vamos", "0"),
    word(2, "nos", "1"),
    word("2.1", "we", "_"),
    word("2.2", "us", "_"),
    word("3-4", "al", "_"),
    word(3, "a", "4"),
    word(4, "el mar", "1"),
    "",
    "",
)


def test_conllu_round_trip_gives_the_same_bytes(tmp_path):
    path = tmp_path / "a.conllu"
    rain = [word("0.1", "it", "_"), word(1, "rains"), word("1.1", "it", "_"), word(2, "on", "1"), word("2.1", "x", "_")]
    text = "\n".join(["# sent_id = 0", *rain, "", *CONLLU])
    path.write_text(text, encoding="utf-8")
    sentences = list(read_conllu(path))
    write_columns(sentences, tmp_path / "b.conllu", separator="\t")
    assert (tmp_path / "b.conllu").read_text(encoding="utf-8") == text
    assert sentences[1].names == CONLLU_COLUMNS
    assert sentences[1].column("id") == ("1-2", "1", "2", "2.1", "2.2", "3-4", "3", "4")
    assert sentences[1].metadata == {"newdoc": "", "sent_id": "s = 1"}


def test_words_only_gives_row_i_to_word_i_plus_one():
    [sentence] = read_u(*CONLLU, words_only=True)
    assert sentence.column("form") == ("vamos", "nos", "a", "el mar")
    assert sentence.column("id") == ("1", "2", "3", "4")
    assert sentence.metadata["sent_id"] == "s = 1"


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ([word(1, "a").removesuffix("\t_")], r"^stream:1: found 9 columns, expected 10 \(id, form, "),
        ([word(1, "a").replace("\t", " ")], r"found 1 columns, expected 10 .* parted by blanks, not by '\\t'$"),
        ([word(1, "")], "column 2 is empty"),
        ([word(1, "a"), "# late", word(2, "b")], r"^stream:2: found 1 columns"),
        ([word(2, "a")], "id '2' is out of order after word 0; words are numbered 1, 2, 3 and so on"),
        ([word(1, "a"), word(3, "b")], r"^stream:2: id '3' is out of order after word 1"),
        ([word("01", "a")], "id '01' is out of order"),
        ([word("١", "a")], "id '١' is out of order"),
        ([word("a", "a")], "id 'a' is out of order"),
        ([word(1, "a"), word("1.2", "b", "_")], "id '1.2' is out of order"),
        ([word(1, "a"), word("2.1", "b", "_")], "id '2.1' is out of order"),
        ([word("1.1", "b", "_"), word(1, "a")], "id '1.1' is out of order"),
        ([word("0.1", "b", "_")], "a sentence without words"),
        ([word("1-1", "a", "_"), word(1, "a")], "multiword token 1-1 must stand just before its words"),
        ([word("1-3", "a", "_"), word(1, "a"), word(2, "b")], "multiword token 1-3"),
        ([word("2-3", "a", "_"), word(1, "a"), word(2, "b"), word(3, "b")], "multiword token 2-3"),
        (
            [word("1-2", "a", "_"), word(1, "a"), word("2-3", "b", "_"), word(2, "a"), word(3, "a")],
            "token 2-3 .* no other",
        ),
        ([word("1-2", "a", "_"), word("1-2", "a", "_"), word(1, "a"), word(2, "a")], "no other"),
        ([word("1-2", "a", "0"), word(1, "a"), word(2, "b")], "head '0' of 1-2 must be _, since it is not a word"),
        ([word("0.1", "a", "1"), word(1, "a")], "head '1' of 0.1 must be _"),
        ([word(1, "a", "2")], "head '2' of word 1 must be _, 0 or another of the 1 words"),
        ([word(1, "a", "1"), word(2, "b", "1")], "head '1' of word 1"),
        ([word(1, "a", "-1")], "head '-1'"),
        ([word(1, "a", "x")], "head 'x'"),
        ([word(1, "a", "00")], "head '00'"),
        ([word(1, "a"), "", "# end"], r"^stream:3: a comment or document without a sentence"),
    ],
)
def test_conllu_faults_are_named_with_their_place(lines, fault):
    with pytest.raises(DataError, match=fault):
        read_u(*lines)


def test_conllu_without_heads_is_accepted_and_faulty_sentences_can_be_skipped():
    assert read_u(word(1, "a", "_"))[0].column("head") == ("_",)
    sentences, _ = skipping(lambda: read_u(word(1, "a"), "", word(2, "b"), "", word(1, "c"), errors="skip"), 1)
    assert [sentence.column("form") for sentence in sentences] == [("a",), ("c",)]


# ---- size


def test_a_file_without_blank_lines_is_one_long_sentence():
    [sentence] = read("word X\n" * 100_000)
    assert sentence.columns == (("word",) * 100_000, ("X",) * 100_000)


def test_more_distinct_lines_than_are_remembered_are_read():
    lines = [f"{number} X\n" for number in range(70_000)]
    text = "\n".join("".join(lines[start : start + 7]) for start in range(0, 70_000, 7))
    assert [row[0] for sentence in read(text) for row in sentence] == [str(number) for number in range(70_000)]


# ---- public corpora


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "sentences", "tokens", "chunks"), [("train", 8936, 211_727, 106_978), ("test", 2012, 47_377, 23_852)]
)
def test_conll2000_has_its_published_counts_and_is_written_back_byte_by_byte(
    data, tmp_path, name, sentences, tokens, chunks
):
    path = data / "conll2000" / f"{name}.txt"
    corpus = list(read_columns(path, columns=["word", "pos", "chunk"]))
    assert len(corpus) == sentences
    assert sum(map(len, corpus)) == tokens
    assert guess_scheme(sentence.column("chunk") for sentence in corpus) == "IOB2"
    assert sum(len(spans_of(sentence.column("chunk"))) for sentence in corpus) == chunks
    write_columns(corpus, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == path.read_bytes()


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "sentences", "tokens", "entities", "ill_formed"),
    [
        ("train", 8323, 264_715, 18_798, 221_619),
        ("testa", 1915, 52_923, 4352, 30_882),
        ("testb", 1517, 51_533, 3559, 9291),
    ],
)
def test_spanish_conll2002_has_its_published_counts_when_its_ill_formed_tag_is_read_leniently(
    data, name, sentences, tokens, entities, ill_formed
):
    corpus = list(read_columns(data / "conll2002" / f"esp.{name}"))
    assert (len(corpus), sum(map(len, corpus))) == (sentences, tokens)
    assert sum(len(spans_of(sentence.column(-1), lenient=True)) for sentence in corpus) == entities
    faults = []
    for sentence in corpus:
        try:
            check_tags(sentence.column(-1), source=sentence.source, line=sentence.line)
        except DataError as error:
            faults.append(error.line)
    assert faults == [ill_formed]


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "documents", "entities"),
    [
        ("train", 2000, {"protein": 30_269, "DNA": 9533, "RNA": 951, "cell_type": 6718, "cell_line": 3830}),
        ("test", 404, {"protein": 5067, "DNA": 1056, "RNA": 118, "cell_type": 1921, "cell_line": 500}),
    ],
)
def test_jnlpba_has_its_published_counts_and_is_written_back_byte_by_byte(data, tmp_path, name, documents, entities):
    path = data / "jnlpba" / f"{name}.iob2"
    corpus = list(read_columns(path, separator="\t", document="###MEDLINE:"))
    assert sum(sentence.document is not None for sentence in corpus) == documents
    assert Counter(label for sentence in corpus for _, _, label in spans_of(sentence.column(-1))) == entities
    write_columns(corpus, tmp_path / "copy", separator="\t")
    assert (tmp_path / "copy").read_bytes() == path.read_bytes()


@pytest.mark.data
@pytest.mark.parametrize(("name", "sentences"), [("dev", 2001), ("test", 2077)])
def test_universal_dependencies_are_written_back_byte_by_byte(data, tmp_path, name, sentences):
    path = data / "pos-ud" / f"en_ewt-{name}.conllu"
    corpus = list(read_conllu(path))
    assert len(corpus) == sentences
    assert all(sentence.metadata["sent_id"] for sentence in corpus)
    write_columns(corpus, tmp_path / "copy", separator="\t")
    assert (tmp_path / "copy").read_bytes() == path.read_bytes()
    words = list(read_conllu(path, words_only=True))
    assert all(sentence.column("id") == tuple(map(str, range(1, len(sentence) + 1))) for sentence in words)
