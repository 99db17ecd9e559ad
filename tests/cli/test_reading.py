"""Input that just works: every command reads every form of document, from files, folders and standard input."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

import textmill
from textmill.cli.app import main
from textmill.corpus import sample_articles, sample_path

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
    assert out.startswith("lsa: 3 topics of ")
    assert run("topics", "train", forms / "a.jsonl", *options, "-o", "u.mill")[1] == out
    assert Path("t.mill").read_bytes() == Path("u.mill").read_bytes()
    assert run("similar", "index", "-", "-o", "i.mill", given=given)[1].startswith("60 documents")
    assert run("similar", "add", "i.mill", "-", given=b'{"id": "new-1", "text": "A comet near the sun."}\n')[0] == 0
    code, out, _ = run("similar", "query", "i.mill", "--id", "new-1", "-k", 2)
    assert code == 0
    assert len(out.splitlines()) == 3  # with the header


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
        (["vocab", "build", "a.jsonl", "--format", "docx"], "format must be one of csv"),
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


def test_bags_are_made_with_a_vocabulary_of_their_own(forms: Path, run) -> None:  # type: ignore[no-untyped-def]
    options = ["--save-vocab", "v.mill", "--ngrams", "2", "--digits", "drop", "--stop-words", "english"]
    assert run("bags", "make", forms / "a.jsonl", "-o", "b.npz", *options)[0] == 0
    terms = textmill.load("v.mill").terms_.to_list()
    assert terms
    assert all(term.count(" ") == 1 for term in terms)
    assert "60 documents" in run("bags", "make", forms / "a.jsonl", "-o", "c.npz", "--vocab", "v.mill")[1]
    assert Path("b.npz").read_bytes() == Path("c.npz").read_bytes()
