"""What goes wrong with data and files: one clear error each, or an answer that still makes sense."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from textmill.cli.app import main
from textmill.corpus import sample_path
from textmill.errors import DataError, ModelFileError
from textmill.sequence import CRF, Encoder, evaluate_tags, read_tagger

TEST = str(sample_path("chunks-test.txt"))
X = [[("the", "D"), ("dog", "N")], [("a", "D"), ("cat", "N")]] * 3
Y = [["B", "I"], ["B", "I"]] * 3
PATTERNS = ["*", "u:w=%x[0,0]", "u:p=%x[0,1]"]


def said(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> tuple[str, str]:
    with pytest.raises(SystemExit) as left:
        main(["-q", "tag", *map(str, arguments)])
    captured = capsys.readouterr()
    assert left.value.code == code, captured.err
    if code:
        assert captured.err.count("\n") == 1, captured.err
    return captured.out, captured.err


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A tagger with the data and the patterns that it was trained on."""
    (tmp_path / "patterns.txt").write_text("\n".join(PATTERNS))
    text = [
        "".join(f"{a} {b} {label}\n" for (a, b), label in zip(*pair, strict=True)) for pair in zip(X, Y, strict=True)
    ]
    (tmp_path / "train.txt").write_text("\n".join(text))
    CRF(patterns=PATTERNS, l1=0.05, compact=False).fit(X, Y).save(tmp_path / "m.mill")
    CRF(encoder=Encoder(patterns=PATTERNS, hash_bits=6), l1=0.05).fit(X, Y).save(tmp_path / "hashed.mill")
    return tmp_path


def test_ragged_rows_are_named() -> None:
    with pytest.raises(DataError, match="sequence 2, token 2: "):
        CRF(patterns=PATTERNS).fit([X[0], [("a", "D"), ("cat",)]], Y[:2])


def test_a_pattern_for_a_missing_column_is_named_with_its_line() -> None:
    with pytest.raises(DataError, match=r"pattern 'u:%x\[0,5\]' \(line 2\) asks for column 5"):
        CRF(patterns=["*", "u:%x[0,5]"]).fit(X, Y)


def test_a_bad_regular_expression_is_named() -> None:
    with pytest.raises(DataError, match="is no regular expression"):
        CRF(patterns=['u:%m[0,0,"("]']).fit(X, Y)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1e300])
def test_feature_values_that_are_not_finite_are_refused(value: float) -> None:
    with pytest.raises(DataError, match=r"sequence 1, token 2: .*(finite|large)"):
        CRF().fit([[{"a": 1.0}, {"b": value}]], [["A", "B"]])


def test_development_data_with_other_columns_is_refused() -> None:
    with pytest.raises(DataError, match=r"tokens have one column, but those learned from had 2|asks for column 1"):
        CRF(patterns=PATTERNS).fit(X, Y, [[("the",)]], [["B"]])


def test_empty_sequences_are_trained_on_and_labeled() -> None:
    plain = CRF(patterns=PATTERNS, l1=0.05).fit(X, Y)
    mixed = CRF(patterns=PATTERNS, l1=0.05).fit([[], *X, []], [[], *Y, []])
    assert mixed.objective_ == pytest.approx(plain.objective_, rel=1e-12)
    assert mixed.predict([[], X[0], []]) == [[], Y[0], []]


def test_a_sequence_of_a_million_tokens_is_trained_on_and_labeled() -> None:
    long, labels = [("the", "D"), ("dog", "N")] * 500_000, ["B", "I"] * 500_000
    crf = CRF(patterns=["b", "u:%x[0,1]"], max_iter=2, l1=0.5).fit([long], [labels])
    assert crf.predict([long]) == [labels]
    assert np.isfinite(crf.objective_)


def test_weights_that_would_overflow_keep_finite_answers(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "patch.txt").write_text("u:p=D\t#\tI\t1e5\nu:p=N\t#\tB\t-1e5\n")
    said(capsys, "update", files / "m.mill", files / "patch.txt", "-o", files / "large.mill")
    marginals = read_tagger(files / "large.mill").predict_marginals(X[:1])[0]
    np.testing.assert_allclose(marginals.sum(axis=1), 1.0)
    (files / "patch.txt").write_text("u:p=D\t#\tI\tinf\n")
    _, err = said(capsys, "update", files / "m.mill", files / "patch.txt", "-o", files / "large.mill", code=1)
    assert "patch.txt:1" in err


def test_labels_that_training_never_saw_are_scored(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = read_tagger(files / "m.mill").predict(X[:1])
    assert evaluate_tags([["B", "never"]], answers).token_error == 0.5
    (files / "new.txt").write_text("the D B\ndog N never\n")
    out, _ = said(capsys, "label", files / "m.mill", files / "new.txt")
    (files / "out.txt").write_text(out)
    assert json.loads(said(capsys, "evaluate", files / "out.txt", "--json")[0])["token_error"] == 0.5


def test_models_of_other_tools_and_versions_are_refused(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = (files / "m.mill").read_bytes()
    assert whole.count(b'\\"format\\":1,') > 0
    (files / "later.mill").write_bytes(whole.replace(b'\\"format\\":1,', b'\\"format\\":9,'))
    (files / "other.mill").write_bytes(b"lCRF" + bytes(60))
    (files / "cut.mill").write_bytes(whole[: len(whole) // 2])
    for name in ("other.mill", "cut.mill", "later.mill"):
        with pytest.raises(ModelFileError, match=name):
            read_tagger(files / name)
        assert name in said(capsys, "label", files / name, TEST, code=1)[1]


KILLED = """
import os, signal, sys
import numpy as np
from textmill.cli.app import main

saves, whole = [], np.savez

def savez(file, **arrays):
    saves.append(1)
    if len(saves) == 3:
        file.write(b"half a checkpoint")
        file.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    whole(file, **arrays)

np.savez = savez
main(sys.argv[1:])
"""


def test_a_killed_run_is_resumed_to_the_same_file(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ["train", TEST, "-p", files / "patterns.txt", "--dev", TEST, "--max-iter", 30, "--jobs", 1]
    said(capsys, *common, "-o", files / "whole.mill")
    resuming = [*common, "--resume", files / "run", "-o", files / "resumed.mill"]
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, "-q", "tag", *map(str, resuming)], check=False, capture_output=True
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert (files / "run").exists()
    assert not (files / "resumed.mill").exists()
    said(capsys, *resuming)
    assert (files / "resumed.mill").read_bytes() == (files / "whole.mill").read_bytes()
    assert not list(files.glob(".textmill-*"))


COMMANDS = {
    "ragged": ("train ragged.txt -p patterns.txt -o x.mill", "ragged.txt:2: found 2 columns"),
    "no label": ("train one.txt -p patterns.txt -o x.mill", "one.txt:1: found one column"),
    "empty": ("train empty.txt -p patterns.txt -o x.mill", "empty.txt: there are no sequences"),
    "column": ("train two.txt -p patterns.txt -o x.mill", "pattern 'u:p=%x[0,1]' (patterns.txt:3) asks for column 1"),
    "kind": ("train train.txt -p kind.txt -o x.mill", "kind.txt:2: pattern 'q:%x[0,0]' must begin with"),
    "regex": ("train train.txt -p regex.txt -o x.mill", "(regex.txt:1): '(' is no regular expression"),
    "dev": ("train train.txt -p patterns.txt --dev two.txt -o x.mill", "two.txt:1: tokens have one column"),
    "value": ("train inf.crfsuite --format crfsuite -o x.mill", "inf.crfsuite:2: 'inf' after a colon"),
    "huge": ("train huge.crfsuite --format crfsuite -o x.mill", "the value of attribute 'f' is infinite or too large"),
    "folder": ("train train.txt -p patterns.txt -o none/x.mill", "none: there is no such folder"),
    "checkpoint": ("train train.txt -p patterns.txt --resume two.txt -o x.mill", "two.txt: is no checkpoint"),
    "start": ("train new.txt -p patterns.txt --model m.mill -o x.mill", "label 'never' is not one of the model's"),
    "columns": ("label m.mill wide.txt", "wide.txt:1: tokens have 4 columns, but those learned from had 2"),
    "narrow": ("label m.mill one.txt", "one.txt:1: tokens have one column, but those learned from had 2"),
    "best": ("label m.mill train.txt -k 0", "-k must be a whole number at least 1"),
    "precision": ("dump m.mill --precision -1", "precision must be a whole number at least 0"),
    "scores": ("evaluate scored.txt", "scored.txt:1: found a line of scores"),
    "gold": ("evaluate one.txt", "one.txt:1: found one column"),
    "patch": ("update m.mill one.txt -o x.mill", "one.txt:1: found 1 fields"),
    "hashed dump": ("dump hashed.mill", "hashed tests have no names"),
    "hashed compact": ("compact hashed.mill -o x.mill", "hashed.mill: hashed tests are not kept"),
    "suffix": ("convert m.mill m.what", "format must be one of 'mill', 'wapiti', 'crfsuite', 'dump'"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_fault_is_one_line(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    texts = {
        "ragged.txt": "a b A\nc B\n",
        "one.txt": "a\nb\n",
        "two.txt": "a A\nb B\nc A\n",
        "wide.txt": "a b c B\n",
        "empty.txt": "\n\n",
        "new.txt": "the D never\ndog N B\ncat N never\n",
        "kind.txt": "u:%x[0,0]\nq:%x[0,0]\n",
        "regex.txt": 'u:%t[0,0,"("]\n',
        "inf.crfsuite": "A\tw\nB\tf:inf\n",
        "huge.crfsuite": "A\tw\nB\tf:1e39\nA\tv\n",
        "scored.txt": "# 1 12.25 0.87\nthe D B B/0.99\n",
    }
    for file, text in texts.items():
        (files / file).write_text(text)
    monkeypatch.chdir(files)
    command, fault = COMMANDS[name]
    _, err = said(capsys, *command.split(), code=1)
    assert fault in err
    assert not (files / "x.mill").exists()


def test_a_long_sequence_is_labeled_in_every_way(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "long.txt").write_text("the D B\ndog N I\n" * 20_000)
    for extra in ([], ["-k", "2", "--scores"], ["--posterior", "--scores"], ["--constrain"]):
        out, _ = said(capsys, "label", files / "m.mill", files / "long.txt", *extra)
        assert out.count("\n") == (2 * 40_002 if extra[:1] == ["-k"] else 40_002 if "--scores" in extra else 40_001)


def test_empty_lines_and_empty_files_are_labeled_with_nothing(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("", "\n\n\n"):
        (files / "empty.txt").write_text(text)
        assert said(capsys, "label", files / "m.mill", files / "empty.txt")[0] == ""
