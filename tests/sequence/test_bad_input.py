"""What goes wrong with data and files: one clear error each, or an answer that still makes sense."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from textmill.cli.app import main
from textmill.corpus import sample_path
from textmill.errors import DataError, ModelFileError
from textmill.sequence import CRF, evaluate_tags, read_tagger

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
    with pytest.raises(DataError, match=r"tokens have 1 columns, but those learnt from had 2|asks for column 1"):
        CRF(patterns=PATTERNS).fit(X, Y, [[("the",)]], [["B"]])


def test_empty_sequences_are_trained_on_and_labelled() -> None:
    plain = CRF(patterns=PATTERNS, l1=0.05).fit(X, Y)
    mixed = CRF(patterns=PATTERNS, l1=0.05).fit([[], *X, []], [[], *Y, []])
    assert mixed.objective_ == pytest.approx(plain.objective_, rel=1e-12)
    assert mixed.predict([[], X[0], []]) == [[], Y[0], []]


def test_a_sequence_of_a_million_tokens_is_trained_on_and_labelled() -> None:
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
    assert json.loads(said(capsys, "eval", files / "out.txt", "--json")[0])["token_error"] == 0.5


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


def test_an_interrupted_run_is_resumed_by_the_command_line(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ["train", TEST, "-p", files / "patterns.txt", "--algorithm", "owlqn", "--jobs", 1]
    said(capsys, *common, "--max-iter", 12, "-o", files / "whole.mill")
    from textmill.sequence.training.trainer import Trainer

    watch, calls = Trainer._watch, []
    with pytest.MonkeyPatch.context() as patch:

        def failing(self: Trainer, *arguments: object) -> object:
            calls.append(1)
            if len(calls) == 11:
                raise DataError("the machine went down")
            return watch(self, *arguments)

        patch.setattr(Trainer, "_watch", failing)
        with pytest.raises(SystemExit) as left:
            main(
                [
                    "-q",
                    "tag",
                    *map(str, common),
                    "--max-iter",
                    "12",
                    "--resume",
                    f"{files}/run",
                    "-o",
                    f"{files}/r.mill",
                ]
            )
        assert left.value.code == 1
        assert not (files / "r.mill").exists()
    capsys.readouterr()
    said(capsys, *common, "--max-iter", 12, "--resume", files / "run", "-o", files / "r.mill")
    assert (files / "r.mill").read_bytes() == (files / "whole.mill").read_bytes()
