"""KNP files: what is read, written back byte for byte, and refused with its place."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from textmill.corpus import Bunsetsu, KnpSentence, Morpheme, SkippedRecords, read_knp, write_knp
from textmill.errors import DataError

TEXT = """\
# S-ID:w-1-1 KNP:4
* 2D
+ 3D
太郎 たろう 太郎 名詞 6 人名 5 * 0 * 0 NIL
は は は 助詞 9 副助詞 2 * 0 * 0 "代表表記:は/は 補文"
* 2D <NE>
+ 2D
京都 きょうと 京都 名詞 6 地名 4 * 0 * 0
@ 京都 みやこ 京都 名詞 6 地名 4 * 0 * 0
+ 3D <NE:ORGANIZATION:京都大学>
大学 だいがく 大学 名詞 6 普通名詞 1 * 0 * 0
に に に 助詞 9 格助詞 1 * 0 * 0
* -1D
+ -1D <rel type="ガ" target="太郎"/>
行った いった 行く 動詞 2 * 0 子音動詞カ行促音便形 3 タ形 10
EOS
# S-ID:w-2-1
* -1P
* * * 特殊 1 記号 5 * 0 * 0
+ + + 特殊 1 記号 5 * 0 * 0
# # # 特殊 1 記号 5 * 0 * 0
EOS
"""
OLD = (
    "* -1D\n走った はしった * 動詞 * 子音動詞ラ行 タ形\nEOS\n"  # Kyoto Corpus 3: a lemma is left out if it is the same
)


def read(text: str, **options: str) -> list[KnpSentence]:
    return list(read_knp(io.BytesIO(text.encode()), **options))


def test_sentences_have_bunsetsus_morphemes_and_heads() -> None:
    first, second = read(TEXT)
    assert (first.id, first.heads, first.text, first.line) == ("w-1-1", (2, 2, -1), "太郎は京都大学に行った", 1)
    taro = first.bunsetsus[0].morphemes[0]
    assert (taro.surface, taro.reading, taro.lemma, taro.pos, taro.subpos) == ("太郎", "たろう", "太郎", "名詞", "人名")
    went = first.bunsetsus[2].morphemes[0]
    assert (went.lemma, went.inflection, went.form) == ("行く", "子音動詞カ行促音便形", "タ形")
    assert [(p.begin, p.head) for p in first.bunsetsus[1].phrases] == [(0, 2), (1, 3)]
    assert first.bunsetsus[1].note == "<NE>"
    assert (second.text, second.bunsetsus[0].kind) == ("*+#", "P")  # signs that look like marks of the format


def test_what_is_read_is_written_back_byte_for_byte(tmp_path: Path) -> None:
    write_knp(read(TEXT + OLD), tmp_path / "copy.knp")
    assert (tmp_path / "copy.knp").read_text(encoding="utf-8") == TEXT + OLD


def test_lines_of_seven_fields_and_empty_sentences_are_read() -> None:
    (ran,) = read(OLD)
    assert ran.bunsetsus[0].morphemes[0][:7] == (
        "走った", "はしった", "走った", "動詞", "*", "子音動詞ラ行", "タ形",
    )  # fmt: skip
    assert [len(sentence) for sentence in read("EOS\n\n" + OLD + "EOS\n")] == [0, 1, 0]


def test_folders_and_lists_of_documents(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "1.knp").write_text(TEXT, encoding="utf-8")
    (tmp_path / "a.knp").write_text(OLD, encoding="utf-8")
    (tmp_path / "notes.txt").write_text("no sentences", encoding="utf-8")
    assert [sentence.id for sentence in read_knp(tmp_path)] == [None, "w-1-1", "w-2-1"]
    assert [sentence.id for sentence in read_knp(tmp_path, documents=["w-2"])] == ["w-2-1"]
    assert [sentence.id for sentence in read_knp(tmp_path, documents={"w"})] == ["w-1-1", "w-2-1"]
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "a.txt").write_text("", encoding="utf-8")
    with pytest.raises(DataError, match=r"holds no files ending in \.knp"):
        list(read_knp(tmp_path / "empty"))
    with pytest.raises(DataError, match="collection of ids"):
        list(read_knp(tmp_path, documents="w-2"))


def test_other_heads_change_the_last_basic_phrase_too() -> None:
    first = read(TEXT)[0].with_heads([1, 2, -1])
    assert first.heads == (1, 2, -1)
    assert first.bunsetsus[0].phrases[-1].head == 2  # the last basic phrase of bunsetsu 1
    assert first.bunsetsus[1].phrases[-1].head == 3
    with pytest.raises(DataError, match="2 heads for 3 bunsetsus"):
        first.with_heads([1, -1])


@pytest.mark.parametrize(
    ("lines", "line", "message"),
    [
        (["* 1D", "犬 いぬ 犬 名詞 6 * 0 * 0 * 0", "EOS"], 1, "bunsetsu 0 has the head 1"),
        (["* -2D", "犬 いぬ 犬 名詞 6 * 0 * 0 * 0", "EOS"], 1, "bunsetsu 0 has the head -2"),
        (["* -1D", "+ 4D", "犬 いぬ 犬 名詞 6 * 0 * 0 * 0", "EOS"], 2, "basic phrase 0 has the head 4"),
        (["# a", "犬 いぬ 犬 名詞 6 * 0 * 0 * 0", "EOS"], 2, "stands before the first bunsetsu"),
        (["* 0 -1D 0/1 0.0", "犬\t名詞", "EOS"], 1, "is of CaboCha"),
        (["+ -1D", "犬 いぬ 犬 名詞 6 * 0 * 0 * 0", "EOS"], 1, "a basic phrase before the first bunsetsu"),
        (["* -1D", "犬 いぬ 名詞", "EOS"], 2, "needs 7 fields, or 11"),
        (["* -1D", "犬 いぬ 犬 名詞 x * 0 * 0 * 0", "EOS"], 2, "needs 7 fields, or 11"),
        (["* -1D", "犬  犬 名詞 6 * 0 * 0 * 0", "EOS"], 2, "field 2 of the morpheme"),
        (["* -1D", "@ 犬 いぬ 犬 名詞 6 * 0 * 0 * 0", "EOS"], 2, "another analysis"),
        (["* 1D", "* -1D", "犬 いぬ 犬 名詞 6 * 0 * 0 * 0", "EOS"], 1, "has no morphemes"),
        (["* -1D", "+ -1D", "+ -1D", "犬 いぬ 犬 名詞 6 * 0 * 0 * 0", "EOS"], 3, "has no morphemes"),
        (["* -1D", "+ -1D", "EOS"], 1, "has no morphemes"),
        (["* -1D", "犬 いぬ 犬 名詞 6 * 0 * 0 * 0"], 1, "does not end"),
        (["犬が鳴く。"], 1, "no file of KNP"),
    ],
)
def test_faults_are_named_with_their_line(lines: list[str], line: int, message: str) -> None:
    with pytest.raises(DataError, match=message) as fault:
        read("\n".join(lines) + "\n")
    assert fault.value.line == line
    with pytest.warns(SkippedRecords, match="1 bad record skipped"):
        left = read(OLD + "\n".join(lines) + "\n", errors="skip")
    assert len(left) == 1


def test_bytes_that_are_no_text_spoil_their_sentence_only() -> None:
    spoilt = OLD.encode() + b"* -1D\n\xff\xfe\nEOS\n" + OLD.encode()
    with pytest.raises(DataError) as fault:
        list(read_knp(io.BytesIO(spoilt)))
    assert fault.value.line == 5
    with pytest.warns(SkippedRecords):
        assert len(list(read_knp(io.BytesIO(spoilt), errors="skip"))) == 2


def test_sentences_can_be_made_by_hand(tmp_path: Path) -> None:
    sentence = KnpSentence((Bunsetsu((Morpheme("寝る", "ねる", "寝る", "動詞", "*", "母音動詞", "基本形"),)),))
    write_knp([sentence], tmp_path / "made.knp.gz")
    (again,) = read_knp(tmp_path / "made.knp.gz")
    assert again.bunsetsus[0].morphemes[0][:7] == sentence.bunsetsus[0].morphemes[0][:7]


@pytest.mark.data
@pytest.mark.slow
def test_a_whole_corpus_is_written_back_byte_for_byte(data: Path, tmp_path: Path) -> None:
    with tarfile.open(data / "kwdlc" / "kwdlc.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    sentences = list(read_knp(tmp_path / "knp"))
    assert len(sentences) == 16051
    by_file: dict[str, list[KnpSentence]] = {}
    for sentence in sentences:
        by_file.setdefault(str(sentence.source), []).append(sentence)
    assert len(by_file) == 5127
    for name, own in by_file.items():
        write_knp(own, tmp_path / "copy.knp")
        assert (tmp_path / "copy.knp").read_bytes() == Path(name).read_bytes()
