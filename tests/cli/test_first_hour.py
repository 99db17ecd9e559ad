"""What a person types in the first hour: whole commands on small files, and what is seen of them.

Each row is a line of a shell: the command, what must be in its output and among its errors, its exit code, and what
comes through the pipe. Rows of one block run after each other in one folder: later ones use what earlier ones wrote.
"""

from __future__ import annotations

import io
import json
import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import typer
from test_outputs import leaves

from textmill.cli.app import main
from textmill.corpus import sample_articles, sample_path


class Row(NamedTuple):
    """A command and what is seen of it: patterns that are found, or with `!` before them are not."""

    command: str
    out: str = ""
    err: str = ""
    code: int = 0
    pipe: str = ""  # the file that comes on standard input


BLOCKS: dict[str, list[Row]] = {
    "a pipe of JSON lines": [
        Row("vocab build tiny.jsonl -o a.mill", r"^\d+ terms \(of \d+\), 40 documents, "),
        Row("vocab build - -o b.mill", r"^\d+ terms \(of \d+\), 40 documents, ", pipe="tiny.jsonl"),
        Row("vocab show b.mill -k 20", r"!\ttitle\n"),
        Row("tokenize -", r'!"', pipe="tiny.jsonl"),
        Row("lm train - -o lm.mill", r"^\d+ sentences, ", pipe="tiny.jsonl"),
        Row("topics train - --topics 3 -o t.mill", "^nmf: 3 topics of ", pipe="tiny.jsonl"),
        Row("similar index - -o i.mill", "^40 documents, ", pipe="tiny.jsonl"),
        Row("similar add i.mill -", "^1 document added, 41 in all", pipe="new.jsonl"),
        Row("similar query i.mill --id new-1 -k 2", r"^score\tid\ttitle\n"),
        Row("similar query i.mill --file - -k 1", r"\nnew-1\t1.0000\tnew-1\t", pipe="new.jsonl"),
        Row("vocab build - --text-field text -o c.mill", err="--text-field names a field", code=1, pipe="lines.txt"),
    ],
    "empty models": [
        Row("topics train tiny.jsonl -o x.mill --min-df 1000", err="the vocabulary has no terms", code=1),
        Row("topics train lines.txt --topics 3 -o x.mill", err="--lines if every line is a document", code=1),
        Row("topics train lines.txt --lines --topics 3 -o x.mill", "^nmf: 3 topics of "),
        Row("topics train blank.txt -o x.mill", err="the vocabulary has no terms", code=1),
        Row("vocab build tiny.jsonl --max-df 0 -o y.mill", err="no term is left, so nothing was written", code=1),
        Row("vocab build tiny.jsonl -o y.mill", "terms"),
        Row("vocab prune y.mill --min-df 100000 -o z.mill", err="no term is left, so nothing was written", code=1),
        Row(
            "topics train tiny.jsonl --kind lsa --topics 1000000 -o x.mill",
            "^lsa: 40 topics",
            "40 topics instead of 1000000",
        ),
    ],
    "components stay as many": [
        Row("topics train articles.jsonl --kind pca --topics 5 -o p.mill", "^pca: 5 topics"),
        Row("topics update p.mill tiny.jsonl -o q.mill", "^40 documents added"),
        Row("topics transform q.mill tiny.jsonl -o q.npy", "^40 documents, 5 topics"),
    ],
    "mistakes": [
        Row("tag train chunks.txt -p binary.txt -o t.mill", err="binary.txt:1:1: NUL character", code=1),
        Row("coherence fake tiny.jsonl -k -1", err="-k", code=2),
        Row("vocab build latin.txt -o v.mill", err="looks like latin-1, pass --encoding latin-1", code=1),
        Row("vocab build latin.txt --encoding latin-1 -o v.mill", "^3 terms"),
        Row("vocab build tiny.jsonl --text-field body -o v.mill", err="name the right one with --text-field", code=1),
        Row("topics train tiny.jsonl --topics 0 -o v.mill", err="--topics must be a whole number at least 1", code=1),
        Row("topics train tiny.jsonl --seed -5 -o v.mill", err="--seed must be", code=1),
        Row(
            "topics train tiny.jsonl --stop-words englisch -o v.mill", err="--stop-words must be auto, english", code=1
        ),
        Row("info latin.txt", err="not a textmill model but", code=1),
        Row("topic", err="Did you mean 'topics'", code=2),
        Row("topics trian", err="Did you mean 'train'", code=2),
    ],
    "a folder": [
        Row("vocab build folder -o v.mill", err="m.bin: binary data, not text", code=1),
        Row("vocab build folder --errors skip -o v.mill", "2 documents", "1 bad record skipped"),
    ],
    "names": [
        Row('match score "JOHN SMITH" "John  Smith"', r"^1\.000000$"),
        Row("match join upper.txt mixed.txt", r"\tJOHN SMITH\tJohn Smith\n(.*\n)*.*\tJOSE GARCIA\tJosé García\n"),
        Row("match dedupe mixed.txt --normalize case --report page.html", r"^id1\tid2\tscore\tname1\tname2"),
        Row("match accept gold.tsv empty.tsv", r"^0 labels added, 0 changed$"),
    ],
    "taggers": [
        Row("tag train chunks.txt -o d.mill --max-iter 3", "patterns by default", r"iteration +objective"),
        Row("-q tag train chunks.txt -o d.mill --max-iter 3", "iteration limit", "!iteration +objective"),
        Row("tag train chunks.txt -p word.txt -o w.mill --max-iter 20", r"objective [\d.]{1,8}, "),
        Row("tag label w.mill -", r"^He\tB-NP\n", pipe="word-column.txt"),
        Row("tag label w.mill -", r"^He\tPRP\tB-NP\n", pipe="tabbed.txt"),
        Row("tag convert w.mill w.dump"),
        Row("tag label w.dump -", r"^He\tB-NP\n", pipe="word-column.txt"),
    ],
    "language models": [
        Row("lm train - -o m.mill --order 2", "^2 sentences, ", pipe="mill.txt"),
        Row("lm train - -o m.mill --order 2 --case keep --tokenizer whitespace", "", pipe="mill.txt"),
        Row("lm next m.mill The -k 1", r"\tmill\n"),
        Row("lm score m.mill mill.txt", "perplexity"),
    ],
    "answers": [
        Row("topics train tiny.jsonl --kind lda --topics 3 -o l.mill", "^lda: 3 topics"),
        Row("topics explain l.mill --text 'xyzzy qwrtz'", err="no word of the text is known to the model"),
        Row("topics train tiny.jsonl --kind lsa --topics 3 -o s.mill", "^lsa: 3 topics"),
        Row("topics coherence s.mill tiny.jsonl", err="topics of LSA are directions, not distributions", code=1),
        Row("info l.mill", r"^kind: topics\.LDA\n(.*\n)*size: 3 topics"),
        Row("similar index articles.jsonl -o i.mill", "documents"),
        Row("similar pairs i.mill --threshold 0.3", r"^score\tleft\tright\n"),
    ],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of a person who begins."""
    monkeypatch.chdir(tmp_path)
    articles = [one for one in sample_articles() if one["language"] == "en"]
    rows = [json.dumps({name: one[name] for name in ("id", "title", "text")}) + "\n" for one in articles]
    Path("articles.jsonl").write_text("".join(rows))
    Path("tiny.jsonl").write_text("".join(rows[:40]))
    Path("new.jsonl").write_text(json.dumps({"id": "new-1", "text": articles[3]["text"][:200]}) + "\n")
    Path("lines.txt").write_text(
        "".join(one["text"].partition(".")[0].replace("\n", " ") + "\n" for one in articles[:50])
    )
    Path("blank.txt").write_text("\n\n  \n")
    Path("latin.txt").write_bytes("café au lait\n".encode("latin-1") * 5)
    Path("binary.txt").write_bytes(bytes(range(256)))
    Path("folder").mkdir()
    for name in ("one", "two.txt"):
        Path("folder", name).write_text("the mill grinds corn\n")
    Path("folder", "m.bin").write_bytes(bytes(range(256)))
    Path("mixed.txt").write_text("John Smith\nJosé García\nAcme  Corp\n")
    Path("upper.txt").write_text("JOHN SMITH\nJOSE GARCIA\n")
    Path("empty.tsv").touch()
    blocks = sample_path("chunks-train.txt").read_text().split("\n\n")[:60]
    Path("chunks.txt").write_text("\n\n".join(blocks) + "\n\n")
    Path("word.txt").write_text("u:w=%x[0,0]\n*\n")
    Path("word-column.txt").write_text("He\nis\nhere\n\n")
    Path("tabbed.txt").write_text("He\tPRP\nis\tVBZ\n\n")
    Path("mill.txt").write_text("The mill turns. The mill stands still.\n")
    return tmp_path


@pytest.mark.parametrize("block", BLOCKS)
def test_commands_show_what_they_should(
    block: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for row in BLOCKS[block]:
        data = Path(row.pipe).read_bytes() if row.pipe else b""
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        with pytest.raises(SystemExit) as left:
            main(shlex.split(row.command))
        seen = capsys.readouterr()
        where = f"{row.command}\n{seen.out[:2000]}\n{seen.err[:2000]}"
        assert left.value.code == row.code, where
        for pattern, text in ((row.out, seen.out), (row.err, seen.err)):
            absent = pattern.startswith("!")
            assert (re.search(pattern.removeprefix("!"), text, re.M) is None) == absent, f"{pattern}\n{where}"
        assert "Traceback" not in seen.err


def test_a_pipe_and_its_file_give_the_same_bytes_and_pairs_are_sorted(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    test_commands_show_what_they_should("a pipe of JSON lines", folder, capsys, monkeypatch)
    assert Path("a.mill").read_bytes() == Path("b.mill").read_bytes()
    test_commands_show_what_they_should("components stay as many", folder, capsys, monkeypatch)
    assert np.load("q.npy").shape == (40, 5)
    main_quietly("similar", "index", "articles.jsonl", "-o", "i.mill")
    capsys.readouterr()
    main_quietly("similar", "pairs", "i.mill", "--threshold", "0.2")
    scores = [float(line.split("\t")[0]) for line in capsys.readouterr().out.splitlines()[1:]]
    assert len(scores) > 5
    assert scores == sorted(scores, reverse=True)


def main_quietly(*arguments: Any) -> None:
    """A command that must work."""
    with pytest.raises(SystemExit) as left:
        main(["-q", *map(str, arguments)])
    assert left.value.code == 0


def test_a_review_page_shows_names_as_they_were_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("people.txt").write_text("ACTIVISION Inc\nActivision, Inc.\nJosé García\nJose GARCIA\n")
    main_quietly("match", "dedupe", "people.txt", "--report", "page.html")
    page = Path("page.html").read_text()
    for word in ("ACTIVISION", "Activision", "José", "Jose", "García", "GARCIA"):
        assert json.dumps(word).removesuffix('"') in page
    assert "activision" not in page


def test_every_command_that_reads_refuses_an_unknown_way_with_bad_records() -> None:
    readers = [
        (command, one) for _, command in leaves() for one in getattr(command, "params", []) if one.name == "errors"
    ]
    assert len(readers) > 20
    for command, parameter in readers:
        with pytest.raises(ValueError, match="--errors must be 'strict' or 'skip', got 'maybe'"):
            parameter.callback(typer.Context(command), parameter, "maybe")
