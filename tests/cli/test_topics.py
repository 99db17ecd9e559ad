"""`textmill topics`: every model trained, shown, transformed, updated, merged and clustered, and its errors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import textmill
from textmill.cli.app import main
from textmill.cli.topics import MODELS
from textmill.corpus import sample_path

ARTICLES = str(sample_path())


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit code, output and errors of a run in this process."""
    with pytest.raises(SystemExit) as left:
        main(["-q", "topics", *map(str, arguments)])
    captured = capsys.readouterr()
    assert isinstance(left.value.code, int)
    return left.value.code, captured.out, captured.err


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a vocabulary, bags, and a model of each kind."""
    path = tmp_path_factory.mktemp("topics")
    steps = [["vocab", "build", ARTICLES, "--min-df", "3", "--max-df", "0.3", "-o", "v.mill"]]
    steps.append(["bags", "make", ARTICLES, "--vocab", "v.mill", "-o", "bags.npz"])
    steps += [
        ["topics", "train", ARTICLES, "--model", m, "--topics", "5", "--vocab", "v.mill", "-o", f"{m}.mill"]
        for m in MODELS
    ]
    for step in steps:
        with pytest.raises(SystemExit) as left:
            main(["-q", *[str(path / word) if word.endswith((".mill", ".npz")) else word for word in step]])
        assert left.value.code == 0
    return path


@pytest.mark.parametrize("model", MODELS)
def test_topics_are_shown_as_lines_and_as_json(model: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "show", folder / f"{model}.mill", "--words", 3)
    assert code == 0
    assert len(out.splitlines()) == 5
    assert out.startswith("topic 1")
    code, out, _ = said(capsys, "show", folder / f"{model}.mill", "--words", 3, "--top", 2, "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [len(row["terms"]) for row in rows] == [3, 3]


@pytest.mark.parametrize("model", MODELS)
def test_documents_are_transformed_updated_and_merged(
    model: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = folder / f"{model}.mill"
    assert said(capsys, "transform", source, ARTICLES, "-o", tmp_path / "rows.npy")[1] == "308 documents, 5 topics\n"
    rows = np.load(tmp_path / "rows.npy")
    assert rows.dtype == np.float32
    texts = [row["text"] for row in map(json.loads, Path(ARTICLES).read_text(encoding="utf-8").splitlines())]
    assert rows == pytest.approx(textmill.load(source).transform(texts), abs=1e-5)
    more = tmp_path / "more.txt"
    more.write_text("the train stopped at the station and the engine driver left\n", encoding="utf-8")
    assert said(capsys, "update", source, more, "-o", tmp_path / "new.mill")[1] == "1 documents added, 309 in all\n"
    code, out, _ = said(capsys, "merge", source, tmp_path / "new.mill", "-o", tmp_path / "both.mill")
    assert code == 0
    assert "617 documents" in out


def test_bags_and_texts_give_the_same_model(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--model", "nmf", "--topics", 5, "--vocab", folder / "v.mill", "-o", tmp_path / "bags.mill"]
    assert said(capsys, "train", folder / "bags.npz", *options)[0] == 0
    one, other = (textmill.load(path / name) for path, name in ((folder, "nmf.mill"), (tmp_path, "bags.mill")))
    assert one.components_ == pytest.approx(other.components_, abs=1e-9)
    bare = ["--model", "plsa", "--topics", 3, "-o", tmp_path / "bare.mill"]
    assert said(capsys, "train", folder / "bags.npz", *bare)[0] == 0
    assert textmill.load(tmp_path / "bare.mill").vectorizer_ is None


def test_streams_are_trained_in_chunks_with_options_of_the_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--topics", 4, "-o", tmp_path / "m.mill", "--chunk", 100]
    assert (
        said(capsys, "train", ARTICLES, "--model", "nmf", "--loss", "kl", "--passes", 2, "--decay", 0.8, *options)[0]
        == 0
    )
    model = textmill.load(tmp_path / "m.mill")
    assert (model.loss, model.passes, model.forget, model.chunk_size) == ("kl", 2, 0.8, 100)
    assert said(capsys, "train", ARTICLES, "--model", "pca", "--algorithm", "one_pass", *options)[0] == 0
    assert said(capsys, "train", ARTICLES, "--model", "lsa", "--algorithm", "one_pass", *options)[0] == 0


def test_clusters_of_documents_and_of_terms(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "clusters.svg"
    code, out, _ = said(capsys, "cluster", folder / "nmf.mill", ARTICLES, "--clusters", 4, "--plot", picture)
    lines = [line.split("\t") for line in out.splitlines()]
    assert code == 0
    assert lines[0] == ["cluster", "label", "member"]
    assert {line[0] for line in lines[1:]} == {"1", "2", "3", "4"}
    assert any(line[2].startswith("astronomy") for line in lines)
    assert picture.stat().st_size > 1000
    code, out, _ = said(capsys, "cluster", folder / "nmf.mill", "--of", "terms", "--clusters", 3, "--json")
    groups = [json.loads(line) for line in out.splitlines()]
    assert [group["cluster"] for group in groups] == [1, 2, 3]
    assert all(set(group["words"]) <= set(group["members"]) for group in groups)


def test_the_map_is_drawn(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], [ARTICLES]):
        assert said(capsys, "show", folder / "lsa.mill", *arguments, "--plot", tmp_path / "map.png")[0] == 0
        assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", ARTICLES, "--model", "lad", "-o", "x.mill"], "--model must be one of"),
        (["train", ARTICLES, "--model", "lsa", "--loss", "kl", "-o", "x.mill"], "--loss is no option"),
        (["train", ARTICLES, "--model", "nmf", "--topics", 0, "-o", "x.mill"], "n_topics"),
        (["train", "{folder}/bags.npz", "--weighting", "ntc", "-o", "x.mill"], "--vocab"),
        (["train", ARTICLES, "--model", "nmf", "--weighting", "xyz", "-o", "x.mill"], "letter"),
        (["train", ARTICLES, "--model", "nmf", "--cluster", "tcp://nowhere:1", "-o", "x.mill"], "no Dask scheduler"),
        (["train", "nothing.txt", "-o", "x.mill"], "nothing.txt"),
        (["show", "{folder}/v.mill"], "Vocabulary"),
        (["show", "{folder}/bags.npz"], "bags.npz"),
        (["merge", "{folder}/nmf.mill", "{folder}/pca.mill", "-o", "x.mill"], "merge models of one kind"),
        (["cluster", "{folder}/nmf.mill"], "need INPUT"),
        (["cluster", "{folder}/nmf.mill", ARTICLES, "--clusters", 1000], "ask for fewer"),
    ],
)
def test_errors_are_one_line_and_leave_no_file(
    arguments: list[object], message: str, folder: Path, tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = said(capsys, *[str(word).format(folder=folder) for word in arguments])
    assert code == 1
    assert message in err
    assert len(err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
