"""Input of the wrong form, command by command: what it becomes, or what the one line says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from forms import make_models, run, write_forms

from textmill.corpus import read_conllu


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The forms and the models."""
    folder = tmp_path_factory.mktemp("wrong")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        make_models(write_forms(folder))
    return folder


@pytest.fixture
def say(shelf: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    """Run a command beside the models; gives its output, or the line of an error."""
    monkeypatch.chdir(shelf)
    capfd.readouterr()

    def command(line: str, *, code: int = 0) -> str:
        assert run(*line.split()) == code, capfd.readouterr().err
        captured = capfd.readouterr()
        return captured.err if code else captured.out

    return command


def test_a_tagger_learns_conllu_as_it_is_and_labels_and_scores_it(say, shelf: Path) -> None:  # type: ignore[no-untyped-def]
    say("tag train words.conllu --label-column upos --max-iter 20 -o upos.mill")
    labeled = say("tag label upos.mill words.conllu --label-column upos -o labeled.txt")
    assert labeled == ""
    sentences = list(read_conllu(shelf / "words.conllu", words_only=True))
    blocks = (shelf / "labeled.txt").read_text().strip().split("\n\n")
    assert len(blocks) == len(sentences)
    for sentence, block in zip(sentences, blocks, strict=True):
        rows = [line.split("\t") for line in block.split("\n")]
        assert [row[0] for row in rows] == list(sentence.column("form"))
        assert [row[1] for row in rows] == list(sentence.column("upos"))
    scores = json.loads(say("tag evaluate labeled.txt --json"))
    assert scores["token_error"] < 0.05
    bare = say("tag label upos.mill words.conllu").split("\n")[0]
    assert bare.split("\t") == [sentences[0].column("form")[0], "PROPN"]


def test_conllu_without_a_column_of_labels_names_the_columns(say) -> None:  # type: ignore[no-untyped-def]
    error = say("tag train words.conllu -o x.mill", code=1)
    assert error == (
        "textmill: words.conllu: CoNLL-U has several columns of labels; pass --label-column upos, or another of lemma, "
        "upos, xpos, feats, head, deprel, deps, misc\n"
    )
    assert "label_column" not in say("tag train columns.conll --label-column upos -o x.mill", code=1)


@pytest.mark.parametrize("command", ["normalize", "correct apply correct.mill", "trees parse trees.mill"])
def test_texts_of_records_are_processed_and_other_fields_stay(say, shelf: Path, command: str) -> None:  # type: ignore[no-untyped-def]
    rows = [{"id": 7, "text": "21 dogs", "stars": [1, {"note": "21"}]}, {"id": 8, "text": "the cats", "stars": None}]
    (shelf / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    answers = [json.loads(line) for line in say(f"{command} own.jsonl").splitlines()]
    assert [{**row, "text": 0, "tree": 0} for row in answers] == [{**row, "text": 0, "tree": 0} for row in rows]
    if command == "normalize":
        assert [row["text"] for row in answers] == ["twenty one dogs", "the cats"]
    if "trees" in command:
        assert all(row["tree"].startswith("(") for row in answers)


def test_another_field_is_named_with_text_field(say, shelf: Path) -> None:  # type: ignore[no-untyped-def]
    (shelf / "body.jsonl").write_text('{"body": "3 dogs", "text_id": 1}\n')
    assert json.loads(say("normalize body.jsonl --text-field body")) == {"body": "three dogs", "text_id": 1}
    error = say("normalize body.jsonl", code=1)
    assert error == (
        "textmill: body.jsonl:1: no field 'text'; the fields are 'body', 'text_id'; "
        "name the right one with --text-field\n"
    )


def test_words_of_records_are_pronounced_and_transcribed(say, shelf: Path) -> None:  # type: ignore[no-untyped-def]
    (shelf / "own.csv").write_text("text,source\ntan,a\nkos,b\n")
    plain = [line.split("\t")[1] for line in say("pronounce apply pronounce.mill words3.txt").splitlines()]
    rows = [json.loads(line) for line in say("pronounce apply pronounce.mill own.csv").splitlines()]
    assert [(row["text"], row["source"], row["phonemes"]) for row in rows] == [
        ("tan", "a", plain[0]), ("kos", "b", plain[1]),
    ]  # fmt: skip
    rows = [json.loads(line) for line in say("transcribe apply transcribe.mill own.csv").splitlines()]
    assert [(row["text"], row["outputs"][0]["output"]) for row in rows] == [("tan", "TAN"), ("kos", "KOS")]


@pytest.mark.parametrize(
    ("command", "what"),
    [
        (
            "tag label words.mill line.txt",
            "line.txt:1: 'one line' is taken for a token with 2 columns, but 'line' is no",
        ),
        (
            "tag label words.mill prose.txt",
            "prose.txt:1: 'Linus Torvalds flew to Helsinki and c...' is taken for a token",
        ),
        (
            "entities label e.mill prose.txt",
            "prose.txt:1: 'Linus Torvalds flew to Helsinki and c...' is taken for a token",
        ),
        ("tag label words.mill plain.txt", "as in the lines before; give one token per line"),
        ("tag label tag.mill one-column.txt", "tokens have one column, but those learned from had 2"),
        ("tag label tag.mill records.jsonl", "the tagger reads columns 0 and 1, but running text has only words"),
        ("tag train same.txt -o x.mill", "all tokens have the label 'X', and a tagger needs two labels at least"),
        ("tag train prose2.txt -o x.mill", "no label occurs twice among 2 tokens; is the last column the label?"),
        (
            "tag train records.jsonl -o x.mill",
            "records.jsonl: JSON is no column file; give one token per line, the word",
        ),
        ("tag train records.csv -o x.mill", "records.csv: a table with a header is no column file"),
        ("tag train records.parquet -o x.mill", "records.parquet: a Parquet file is no column file"),
        ("tag evaluate columns.conll", "the last two columns have no label in common"),
        ("pronounce apply pronounce.mill prose.txt", "is no word: the model has learned from words without blanks"),
        ("pronounce evaluate pronounce.mill plain.txt", "phonemes are of the model"),
        ("pronounce train line.txt -o x.mill", "'one' is the only word; a model learns from many"),
        (
            "parse train words.conllu -o x.mill",
            "cannot be used: heads stand in front of their dependents, or dependencies cross; this parser is for",
        ),
        ("vocab build columns.conll -o x.mill", "columns of tokens and tags, not text"),
        ("vocab build columns.txt -o x.mill", "columns of tokens and tags, not text"),
        ("vocab build json.txt -o x.mill", "this looks like JSON lines, not plain text; pass --format jsonl, or 'txt'"),
        ("segment evaluate plain.txt", "no line of ==========, which stands between segments"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_remedy(say, shelf: Path, command: str, what: str) -> None:  # type: ignore[no-untyped-def]
    error = say(command, code=1)
    assert what in error
    assert error.startswith("textmill: ")
    assert error.count("\n") == 1


@pytest.fixture(scope="module", autouse=True)
def _files(shelf: Path) -> None:
    prose = "Linus Torvalds flew to Helsinki and came back on the same day .\n"
    (shelf / "prose.txt").write_text(prose)
    (shelf / "prose2.txt").write_text("the old mill grinds\nthe new one stands\n")
    (shelf / "one-column.txt").write_text("the\nold\nmill\n")
    (shelf / "same.txt").write_text("the X\nold X\n\nmill X\n")
    (shelf / "words3.txt").write_text("tan\nkos\n")
    (shelf / "json.txt").write_text((shelf / "records.jsonl").read_text())
    (shelf / "columns.txt").write_text((shelf / "columns.conll").read_text())


def test_a_wide_column_file_is_read_where_words_alone_were_learned(say) -> None:  # type: ignore[no-untyped-def]
    wide = [line.split() for line in say("tag label words.mill columns.conll").splitlines() if line]
    assert all(len(row) == 4 for row in wide)
    assert {row[3] for row in wide} == {"B-NAME", "O"}


def test_words_of_a_name_model_may_have_blanks_but_no_text(say, shelf: Path) -> None:  # type: ignore[no-untyped-def]
    (shelf / "names.tsv").write_text(
        "".join(f"{a} {b}\t{a.upper()}{b.upper()}\n" for a in ("ka", "to") for b in ("ri", "no"))
    )
    say("transcribe train names.tsv --no-search --outputs characters -o blanks.mill")
    (shelf / "two.txt").write_text("ka no\n")
    assert say("transcribe apply blanks.mill two.txt").startswith("ka no\t")
    (shelf / "long.txt").write_text("ka no " * 50 + "\n")
    assert "is no word: it has 299 characters" in say("transcribe apply blanks.mill long.txt", code=1)


def test_codes_of_locales_are_languages_and_a_wrong_one_names_its_file(say, shelf: Path) -> None:  # type: ignore[no-untyped-def]
    for name, text in (("zh_CN.po", "word sack mill\n"), ("en.po", "the old mill\n"), ("no code!.po", "a b\n")):
        (shelf / name).write_text(text * 9)
    say("language train zh_CN.po en.po -o locales.mill")
    assert [line.split("\t")[0] for line in say("language list --model locales.mill").splitlines()[1:3]] == [
        "en",
        "zh-CN",
    ]
    (shelf / "codes.csv").write_text("text,language\nto be,en\nor not,e n\n")
    error = say("language train codes.csv -o x.mill", code=1)
    assert error.startswith("textmill: codes.csv:3: 'e n' is no language code; pass letters and digits such as 'en'")
