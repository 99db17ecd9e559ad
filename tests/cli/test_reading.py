"""Input that just works: every command reads every form of document, from files, folders and standard input."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from backports import zstd

import textmill
from textmill.cli.app import main
from textmill.corpus import FUNCTION_WORDS, sample_articles, sample_path

ARTICLES = sample_articles()[:60]


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same documents in several forms."""
    path = tmp_path_factory.mktemp("forms")
    texts = [" ".join(article["text"].split()) for article in ARTICLES]
    ids = [article["id"] for article in ARTICLES]
    pairs = list(zip(ids, texts, strict=True))
    rows = [json.dumps({"id": f" {one} ", "text": text}) for one, text in pairs]
    (path / "a.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (path / "a.tsv").write_text("id\ttext\n" + "".join(f"{one}\t{text}\n" for one, text in pairs), encoding="utf-8")
    for name, mark in (("a.csv", ","), ("semicolons.csv", ";"), ("quoted.tsv", "\t")):
        with (path / name).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter=mark)
            writer.writerows([("id", "text"), *((one, text.replace(". ", ".\n")) for one, text in pairs)])
    pyarrow.parquet.write_table(pyarrow.table({"id": ids, "text": texts}), path / "a.parquet")
    for name in ("a.jsonl", "a.csv", "a.tsv"):
        content = (path / name).read_bytes()
        packed = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd.compress}
        for suffix, pack in packed.items():
            (path / f"{name}.{suffix}").write_bytes(pack(content))
    (path / "lines.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    (path / "latin.txt").write_bytes(("\n".join(texts) + "\ncafé\n").encode("latin-1", "replace"))
    folder = path / "folder" / "group"
    folder.mkdir(parents=True)
    for one, text in pairs:
        (folder / one).write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path):  # type: ignore[no-untyped-def]
    """Run a command in an empty folder; gives exit code, output and errors."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments: object, given: bytes | None = None) -> tuple[int, str, str]:
        if given is not None:
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given)))
        with pytest.raises(SystemExit) as left:
            main(["-q", *map(str, arguments)])
        captured = capsys.readouterr()
        return int(left.value.code or 0), captured.out, captured.err

    return command


@pytest.mark.parametrize(
    ("name", "piped", "options"),
    [
        ("a.jsonl", False, []),
        ("a.jsonl", True, []),
        ("a.jsonl", True, ["--format", "jsonl"]),
        ("a.tsv", False, []),
        ("a.tsv", True, []),
        ("lines.txt", False, ["--lines"]),
        ("lines.txt", True, []),
        ("folder", False, []),
        ("semicolons.csv", False, ["--delimiter", ";"]),
        ("semicolons.csv", True, ["--delimiter", ";"]),
        ("quoted.tsv", True, ["--format", "csv", "--delimiter", "tab"]),
        *(
            (name + packed, piped, [])
            for name in ("a.jsonl", "a.csv", "a.tsv")
            for packed in ("", ".gz", ".bz2", ".xz", ".zst")
            for piped in (False, True)
        ),
        ("a.parquet", False, []),
        ("a.parquet", True, []),
    ],
)
def test_every_form_gives_the_same_vocabulary(forms: Path, run, name: str, piped: bool, options: list[str]) -> None:  # type: ignore[no-untyped-def]
    given = (forms / name).read_bytes() if piped else None
    assert run("vocab", "build", "-" if piped else forms / name, "-o", "v.mill", *options, given=given)[0] == 0
    assert run("vocab", "build", forms / "a.jsonl", "-o", "w.mill")[0] == 0
    one, other = textmill.load("v.mill"), textmill.load("w.mill")
    assert one.documents_ == other.documents_ == 60
    assert sorted(one.terms_) == sorted(other.terms_)


def test_standard_input_is_read_as_often_as_needed(forms: Path, run) -> None:  # type: ignore[no-untyped-def]
    given = (forms / "a.jsonl").read_bytes()
    options = ["--topics", 3, "--phrases", "--ngrams", "1-2"]
    code, out, err = run("topics", "train", "-", *options, "-o", "t.mill", given=given)
    assert (code, err) == (0, "")
    assert out.startswith("nmf: 3 topics of ")
    assert run("topics", "train", forms / "a.jsonl", *options, "-o", "u.mill")[1] == out
    assert Path("t.mill").read_bytes() == Path("u.mill").read_bytes()
    assert run("similar", "index", "-", "-o", "i.mill", given=given)[1].startswith("60 documents")
    assert run("similar", "add", "i.mill", "-", given=b'{"id": "new-1", "text": "A comet near the sun."}\n')[0] == 0
    code, out, _ = run("similar", "query", "i.mill", "--id", "new-1", "-k", 2)
    assert code == 0
    assert len(out.splitlines()) == 3  # with the header


def test_a_table_with_semicolons_on_standard_input_is_not_taken_for_text(forms: Path, run) -> None:  # type: ignore[no-untyped-def]
    code, out, err = run("vocab", "build", "-", "-o", "x.mill", given=(forms / "semicolons.csv").read_bytes())
    assert (code, out) == (1, "")
    assert err == "textmill: stdin: the header is one field, 'id;text'; pass --delimiter ';'\n"
    quoted = b'"id";"text"\n"1";"to be"\n'
    err = run("vocab", "build", "-", "-o", "x.mill", given=quoted)[2]
    assert (
        err
        == "textmill: stdin:1: not CSV: ',' expected after '\"'; or pass --delimiter ';', if that parts the fields\n"
    )


@pytest.mark.parametrize(
    "command",
    [
        "vocab build {} -o out",
        "bags make {} --vocab v.mill -o out.npz",
        "tokenize {}",
        "topics train {} --topics 3 -o out",
        "topics update l.mill {} -o out",
        "topics transform l.mill {} -o out.npy",
        "topics cluster l.mill {} --clusters 3",
        "topics coherence l.mill {}",
        "topics show l.mill {} --picture terms --color-field id --plot out.svg",
        "similar index {} -o out",
        "similar query i.mill --file {} -k 1",
        "lm train {} -o out",
        "lm score m.mill {}",
        "coherence train {} --topics 3 --max-iter 3 --held-out 0.5 -o out",
        "coherence score d.mill {}",
        "coherence fake {} --kind markov -k 3",
        "coherence evaluate d.mill --true {} --false a.jsonl",
    ],
)
def test_every_command_recognizes_what_comes_through_a_pipe(forms: Path, models: Path, run, command: str) -> None:  # type: ignore[no-untyped-def]
    answers = []
    for name in ("a.jsonl", "a.tsv", "-"):
        source = "-" if name == "-" else str(forms / name)
        words = [source if word == "{}" else word for word in command.split()]
        words = [str(models / word) if (models / word).exists() else word for word in words]
        given = (forms / "a.tsv").read_bytes() if name == "-" else None
        code, out, err = run(*[str(forms / word) if word == "a.jsonl" else word for word in words], given=given)
        assert (code, err) == (0, "")
        written = sorted(path for path in Path.cwd().iterdir() if path.suffix != ".svg")
        answers.append((out, [path.read_bytes() for path in written]))
    assert answers[0] == answers[1] == answers[2]
    assert answers[0][0] or answers[0][1]


@pytest.fixture(scope="module")
def models(forms: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One model of each kind that reads documents."""
    folder = tmp_path_factory.mktemp("models")
    for command in (
        "vocab build a.jsonl -o v.mill",
        "topics train a.jsonl --kind nmf --topics 3 -o l.mill",
        "similar index a.jsonl -o i.mill",
        "lm train a.jsonl -o m.mill",
        "coherence train a.jsonl --topics 3 --max-iter 3 --held-out 0.5 -o d.mill",
    ):
        words = [str(forms / word) if word == "a.jsonl" else word for word in command.split()]
        words = [str(folder / word) if word.endswith(".mill") else word for word in words]
        with pytest.raises(SystemExit) as left:
            main(["-q", *words])
        assert left.value.code in (None, 0)
    return folder


def test_ids_have_no_surrounding_blanks(forms: Path, run) -> None:  # type: ignore[no-untyped-def]
    run("similar", "index", forms / "a.jsonl", "-o", "i.mill")
    assert run("similar", "query", "i.mill", "--id", ARTICLES[0]["id"], "-k", 1)[0] == 0


def test_another_encoding_is_asked_for_and_read(forms: Path, run) -> None:  # type: ignore[no-untyped-def]
    for command in (["topics", "train"], ["vocab", "build"], ["similar", "index"], ["lm", "train"]):
        code, _, err = run(*command, forms / "latin.txt", "--lines", "-o", "x.mill")
        assert code == 1
        assert "--encoding latin-1" in err
    assert run("lm", "train", forms / "latin.txt", "--encoding", "latin-1", "-o", "x.mill")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["vocab", "build", "lines.txt", "--text-field", "body"], "--text-field names a field, but this is plain text"),
        (["similar", "index", "lines.txt", "--id-field", "key"], "--id-field names a field, but this is plain text"),
        (["vocab", "build", "a.jsonl", "--lines"], "--lines is for plain text"),
        (["vocab", "build", "semicolons.csv"], "the header is one field, 'id;text'; pass --delimiter ';'"),
        (["vocab", "build", "a.csv", "--delimiter", ";;"], "--delimiter must be one character, not ';;'"),
        (
            ["vocab", "build", "quoted.tsv"],
            "TSV has no quotes; if this file has them, pass --format csv, --delimiter '\\t'",
        ),
        (["vocab", "build", "a.jsonl", "--format", "docx"], "format must be one of conll"),
        (["vocab", "build", "a.jsonl", "--ngrams", "many"], "--ngrams must be a range such as 1-3"),
        (["vocab", "build", "a.jsonl", "--ngrams", "3-1"], "of --ngrams must be"),
        (
            ["vocab", "build", "a.jsonl", "--stop-words", "klingon"],
            "--stop-words must be auto, english, none or a file",
        ),
        (["vocab", "build", "a.jsonl", "--characters", "2", "3", "--phrases"], "--phrases chooses terms"),
        (["topics", "train", "lines.txt"], "--lines if every line is a document"),
        (["topics", "train", "a.jsonl", "--min-df", "1000"], "--min-df and --max-df leave none"),
        (["bags", "make", "a.jsonl"], "pass either --vocab"),
    ],
)
def test_an_option_without_meaning_is_refused(forms: Path, run, arguments: list[str], message: str) -> None:  # type: ignore[no-untyped-def]
    placed = [str(forms / word) if (forms / word).exists() else word for word in arguments]
    code, _, err = run(*placed, "-o", "x.mill" if arguments[0] != "bags" else "x.npz")
    assert code == 1
    assert message in err
    assert len(err.splitlines()) == 1
    assert not Path("x.mill").exists()


def test_a_bad_file_in_a_folder_is_named_or_skipped(forms: Path, run) -> None:  # type: ignore[no-untyped-def]
    Path("mixed").mkdir()
    Path("mixed/a").write_text("to be or not")
    Path("mixed/model.mill").write_bytes(b"\x08\0\0\0")
    code, _, err = run("vocab", "build", "mixed", "-o", "v.mill")
    assert code == 1
    assert err.startswith("textmill: mixed/model.mill: binary data, not text")
    assert run("vocab", "build", "mixed", "-o", "v.mill", "--errors", "skip")[0] == 0
    assert textmill.load("v.mill").documents_ == 1


def test_function_words_are_left_out_by_default_and_listed(run) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = run("topics", "train", sample_path(), "--topics", 3, "-o", "t.mill")
    assert code == 0
    assert "function words, such as the, a, and, of" in out
    assert "the" not in textmill.load("t.mill").vectorizer_.terms_.to_list()
    out = run("topics", "train", sample_path(), "--topics", 3, "-o", "t.mill", "--stop-words", "none")[1]
    assert "function words" not in out
    Path("own.txt").write_text("water\nlight\n")
    run("vocab", "build", sample_path(), "-o", "v.mill", "--stop-words", "own.txt", "--stem", "english")
    terms = set(textmill.load("v.mill").terms_)
    assert "the" in terms
    assert not {"water", "light"} & terms
    run("vocab", "build", sample_path(), "-o", "v.mill", "--stop-words", "english", "--stem", "english")
    assert not {"the", "becaus", "befor"} & set(textmill.load("v.mill").terms_)


def test_phrases_neither_begin_nor_end_with_a_word_that_is_left_out(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    model = tmp_path / "phrases.mill"
    for words in ("auto", "english"):
        options = ["--topics", 3, "--phrases", "--stop-words", words]
        run("topics", "train", sample_path(), *options, "-o", model)
        vocabulary = textmill.load(model).vectorizer_.vocabulary_
        left_out = {*FUNCTION_WORDS} if words == "english" else {*vocabulary.stop_words_}
        phrases = vocabulary.tokenizer.phrases_.to_list()
        assert phrases
        ends = {word for phrase in phrases for word in (phrase.split("_")[0], phrase.split("_")[-1])}
        assert not ends & left_out


def test_bags_are_made_with_a_vocabulary_of_their_own(forms: Path, run) -> None:  # type: ignore[no-untyped-def]
    options = ["--save-vocab", "v.mill", "--ngrams", "2", "--digits", "drop", "--stop-words", "english"]
    assert run("bags", "make", forms / "a.jsonl", "-o", "b.npz", *options)[0] == 0
    terms = textmill.load("v.mill").terms_.to_list()
    assert terms
    assert all(term.count(" ") == 1 for term in terms)
    assert "60 documents" in run("bags", "make", forms / "a.jsonl", "-o", "c.npz", "--vocab", "v.mill")[1]
    assert Path("b.npz").read_bytes() == Path("c.npz").read_bytes()
