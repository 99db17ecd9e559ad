"""`textmill topics`: every model trained, shown, transformed, updated, merged, clustered, judged and exchanged."""

from __future__ import annotations

import json
from pathlib import Path

import commands
import numpy as np
import pytest

import textmill
from textmill.cli.app import main
from textmill.cli.topics import KINDS
from textmill.corpus import sample_path
from textmill.progress import Progress, reporting


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    return commands.said(capsys, "topics", *arguments)


ARTICLES = str(sample_path())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a vocabulary, bags, and a model of each kind."""
    path = tmp_path_factory.mktemp("topics")
    steps = [["vocab", "build", ARTICLES, "--min-df", "3", "--max-df", "0.3", "-o", "v.mill"]]
    steps.append(["bags", "make", ARTICLES, "--vocab", "v.mill", "-o", "bags.npz"])
    steps += [
        ["topics", "train", ARTICLES, "--kind", m, "--topics", "5", "--vocab", "v.mill", "-o", f"{m}.mill"]
        for m in KINDS
    ]
    for step in steps:
        with pytest.raises(SystemExit) as left:
            main(["-q", *[str(path / word) if word.endswith((".mill", ".npz")) else word for word in step]])
        assert left.value.code == 0
    return path


@pytest.mark.parametrize("model", KINDS)
def test_topics_are_shown_as_lines_and_as_json(model: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "show", folder / f"{model}.mill", "--words", 3)
    assert code == 0
    assert len(out.splitlines()) == 5
    assert out.startswith("topic 1")
    code, out, _ = said(capsys, "show", folder / f"{model}.mill", "--words", 3, "-k", 2, "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [len(row["terms"]) for row in rows] == [3, 3]


@pytest.mark.parametrize("model", KINDS)
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
    assert said(capsys, "update", source, more, "-o", tmp_path / "new.mill")[1] == "1 document added, 309 in all\n"
    assert (
        said(capsys, "transform", tmp_path / "new.mill", more, "-o", tmp_path / "one.npy")[1]
        == "1 document, 5 topics\n"
    )
    code, out, _ = said(capsys, "merge", source, tmp_path / "new.mill", "-o", tmp_path / "both.mill")
    assert code == 0
    assert "617 documents" in out


def test_bags_and_texts_give_the_same_model(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--kind", "nmf", "--topics", 5, "--vocab", folder / "v.mill", "-o", tmp_path / "bags.mill"]
    assert said(capsys, "train", folder / "bags.npz", *options)[0] == 0
    one, other = (textmill.load(path / name) for path, name in ((folder, "nmf.mill"), (tmp_path, "bags.mill")))
    assert one.components_ == pytest.approx(other.components_, abs=1e-9)
    bare = ["--kind", "plsa", "--topics", 3, "-o", tmp_path / "bare.mill"]
    assert said(capsys, "train", folder / "bags.npz", *bare)[0] == 0
    assert textmill.load(tmp_path / "bare.mill").vectorizer_ is None


def test_streams_are_trained_in_chunks_with_options_of_the_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--topics", 4, "-o", tmp_path / "m.mill", "--chunk-size", 100]
    assert (
        said(capsys, "train", ARTICLES, "--kind", "nmf", "--loss", "kl", "--max-iter", 2, "--decay", 0.8, *options)[0]
        == 0
    )
    model = textmill.load(tmp_path / "m.mill")
    assert (model.loss, model.max_iter, model.decay, model.chunk_size) == ("kl", 2, 0.8, 100)
    assert said(capsys, "train", ARTICLES, "--kind", "pca", "--method", "one_pass", *options)[0] == 0
    assert said(capsys, "train", ARTICLES, "--kind", "lsa", "--method", "one_pass", *options)[0] == 0


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
    colored = [ARTICLES, "--color-field", "subject", "--plot", tmp_path / "map.svg"]
    assert said(capsys, "show", folder / "lsa.mill", *colored)[0] == 0
    drawn = (tmp_path / "map.svg").read_text(encoding="utf-8")
    assert "astronomy" in drawn  # in the legend
    assert "<title>Why the Moon shows one face (astronomy-01)</title>" in drawn
    for wrong, reason in (("colour", "has no field 'colour'; name the field with the color"), ("", "has no field ''")):
        colored[2] = wrong
        assert reason in said(capsys, "show", folder / "lsa.mill", *colored)[2]
    code, _, err = said(capsys, "show", folder / "lsa.mill", "--color-field", "subject", "--plot", tmp_path / "m.svg")
    assert (code, "the field 'subject' needs documents that have it; pass them too" in err) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", ARTICLES, "--kind", "lad", "-o", "x.mill"], "--kind must be one of"),
        (["train", ARTICLES, "--kind", "lsa", "--loss", "kl", "-o", "x.mill"], "--loss kl is no parameter"),
        (["train", ARTICLES, "--kind", "nmf", "--topics", 0, "-o", "x.mill"], "--topics must be"),
        (["train", "{folder}/bags.npz", "--weighting", "ntc", "-o", "x.mill"], "--vocab"),
        (["train", ARTICLES, "--kind", "nmf", "--weighting", "xyz", "-o", "x.mill"], "letter"),
        (["train", ARTICLES, "--kind", "nmf", "--cluster", "tcp://nowhere:1", "-o", "x.mill"], "no Dask scheduler"),
        (["train", "nothing.txt", "-o", "x.mill"], "nothing.txt"),
        (["show", "{folder}/v.mill"], "Vocabulary"),
        (["show", "{folder}/nmf.mill", ARTICLES], "are for a picture; name its file with --plot"),
        (["show", "{folder}/nmf.mill", "--date-field", "date"], "are for a picture; name its file with --plot"),
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


DATED = [
    {"text": f"{words} and {words}", "when": f"200{year}-0{month}"}
    for year, words in enumerate(["ships sail the sea", "birds fly in the sky", "ships and birds", "sea and sky"])
    for month in range(1, 5)
]


@pytest.fixture(scope="module")
def dated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of documents with dates, and an LDA model of it that watched held-out documents."""
    path = tmp_path_factory.mktemp("dated")
    (path / "dated.jsonl").write_text("\n".join(map(json.dumps, DATED)) + "\n", encoding="utf-8")
    options = ["--kind", "lda", "--topics", "3", "--min-df", "1", "--max-df", "1.0", "--alpha", "0.1", "--eta", "0.1"]
    options += ["--max-iter", "5", "--chunk-size", "4", "--dev", str(path / "dated.jsonl"), "--eval-every", "2"]
    options += ["--plot", str(path / "curve.svg"), "-o", str(path / "lda.mill")]
    with pytest.raises(SystemExit) as left:
        main(["-q", "topics", "train", str(path / "dated.jsonl"), *options])
    assert left.value.code == 0
    return path


def test_perplexity_of_held_out_documents_is_watched_told_and_drawn(
    dated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = textmill.load(dated / "lda.mill")
    assert model.evaluated_.tolist() == [2, 4, 6, 8, 10, 12, 14, 16, 18, 20]
    assert model.alpha_.tolist() == [0.1] * 3
    assert "held-out perplexity" in (dated / "curve.svg").read_text(encoding="utf-8")
    options = ["--kind", "lda", "--topics", 3, "--min-df", 1, "--max-iter", 2, "--dev", dated / "dated.jsonl"]
    code, out, _ = said(capsys, "train", dated / "dated.jsonl", *options, "-o", tmp_path / "lda.mill")
    assert code == 0
    assert out.splitlines()[1].startswith("held-out perplexity ")


def test_the_live_line_tells_the_perplexity(dated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told: list[Progress] = []
    options = ["--kind", "lda", "--topics", "3", "--min-df", "1", "--max-iter", "2", "-o", str(tmp_path / "lda.mill")]
    with reporting(told.append):
        said(capsys, "train", dated / "dated.jsonl", "--dev", dated / "dated.jsonl", *options)
    assert any("perplexity" in progress.figures for progress in told)


@pytest.mark.parametrize("method", ["batch", "gibbs"])
def test_lda_is_trained_by_other_methods(
    method: str, dated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--kind", "lda", "--method", method, "--topics", 3, "--min-df", 1, "--plot", tmp_path / "curve.png"]
    code, out, err = said(capsys, "train", dated / "dated.jsonl", *options, "-o", tmp_path / "lda.mill")
    assert (code, err) == (0, "")
    assert out.startswith("lda: 3 topics of ")
    assert (tmp_path / "curve.png").stat().st_size > 1000


def test_pictures_of_a_model_are_drawn(dated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, options in {
        "topics.svg": [],
        "terms.svg": [dated / "dated.jsonl"],
        "time.svg": [dated / "dated.jsonl", "--date-field", "when"],
        "near.svg": [dated / "dated.jsonl", "--picture", "topics"],
        "color.svg": [dated / "dated.jsonl", "--color-field", "when"],
        "colour.svg": [dated / "dated.jsonl", "--color-field", "when"],
    }.items():
        code, _, err = said(capsys, "show", dated / "lda.mill", *options, "--plot", tmp_path / name)
        assert (code, err) == (0, "")
    texts = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert "Hellinger" in texts["topics.svg"]
    assert "Hellinger" in texts["near.svg"]
    assert "principal axis" in texts["terms.svg"]
    assert "share of the topic" in texts["time.svg"]
    first = json.loads((dated / "dated.jsonl").read_text(encoding="utf-8").splitlines()[0])["when"]
    assert f">{first}</text>" in texts["color.svg"]
    assert texts["colour.svg"] == texts["color.svg"]
    plot = ["--plot", tmp_path / "x.svg"]
    assert "name the field" in said(capsys, "show", dated / "lda.mill", dated / "dated.jsonl", *plot,
                                    "--date-field", "date")[2]  # fmt: skip
    assert "pass both" in said(capsys, "show", dated / "lda.mill", *plot, "--picture", "time")[2]


@pytest.mark.parametrize("inference", ["variational", "em", "smoothed-em", "eg", "gibbs", "monte-carlo"])
def test_documents_are_transformed_by_any_inference(
    inference: str, dated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = dated / "dated.jsonl"
    options = ["--method", inference, "-o", tmp_path / "rows.npy"]
    assert said(capsys, "transform", dated / "lda.mill", source, *options)[1] == "16 documents, 3 topics\n"
    rows = np.load(tmp_path / "rows.npy")
    assert rows.sum(axis=1) == pytest.approx(np.ones(16), abs=1e-5)
    texts = [row["text"] for row in DATED]
    assert rows == pytest.approx(textmill.load(dated / "lda.mill").transform(texts, method=inference), abs=1e-6)


def test_topics_are_judged(dated: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "coherence", dated / "lda.mill", dated / "dated.jsonl", "--measure", "npmi")
    assert code == 0
    lines = [line.split("\t") for line in out.splitlines()]
    assert lines[0] == ["topic", "npmi", "exclusivity", "terms"]
    assert [line[0] for line in lines[1:]] == ["1", "2", "3", "mean"]
    assert lines[-1][3].startswith("diversity ")
    assert float(lines[-1][1]) == pytest.approx(np.mean([float(line[1]) for line in lines[1:-1]]), abs=1e-3)
    out = said(capsys, "coherence", dated / "lda.mill", dated / "dated.jsonl", "--json", "--words", 4)[1]
    rows = [json.loads(line) for line in out.splitlines()]
    assert [len(row["terms"]) for row in rows] == [4, 4, 4]
    bags = ["coherence", folder / "lda.mill", folder / "bags.npz", "--measure"]
    assert said(capsys, *bags, "umass")[0] == 0
    assert "counts have no windows" in said(capsys, *bags, "c_v")[2]


def test_models_are_compared(dated: Path, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "diff", dated / "lda.mill", dated / "lda.mill", "--plot", tmp_path / "diff.svg")
    assert code == 0
    assert [line.split("\t")[2] for line in out.splitlines()[1:]] == ["0.0000"] * 3
    assert (tmp_path / "diff.svg").stat().st_size > 1000
    out = said(capsys, "diff", folder / "lda.mill", folder / "plsa.mill", "--measure", "jaccard", "--json")[1]
    rows = [json.loads(line) for line in out.splitlines()]
    assert sorted(row["topic"] for row in rows) == [1, 2, 3, 4, 5]
    assert "directions" in said(capsys, "diff", folder / "lda.mill", folder / "lsa.mill")[2]


def test_a_text_is_explained(dated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "Ships on the sea <b>"
    code, out, _ = said(capsys, "explain", dated / "lda.mill", "--text", text)
    assert code == 0
    assert out.splitlines()[0] == text
    assert "topic " in out
    assert "\x1b" not in out
    rows = [
        json.loads(line)
        for line in said(capsys, "explain", dated / "lda.mill", "--text", text, "--json")[1].splitlines()
    ]
    assert [row["term"] for row in rows] == ["ships", "sea"]
    assert said(capsys, "explain", dated / "lda.mill", "--text", text, "--report", tmp_path / "why.html")[1] == ""
    page = (tmp_path / "why.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;" in page
    assert "border-bottom" in page


def test_topics_are_exported_and_imported(dated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, source = dated / "lda.mill", dated / "dated.jsonl"
    assert said(capsys, "export", model, source, "--to", "mallet-state", "-o", tmp_path / "state.gz")[0] == 0
    assert said(capsys, "export", model, "--to", "ldac", "-o", tmp_path / "final")[0] == 0
    assert said(capsys, "export", model, "--to", "matrix", "-o", tmp_path / "topics.npy")[0] == 0
    assert said(capsys, "export", model, "--to", "mallet-keys", "--words", 2, "-o", "-")[1].count("\n") == 3
    assert said(capsys, "export", model, source, "--to", "pyldavis", "-o", tmp_path / "vis.json")[0] == 0
    data = json.loads((tmp_path / "vis.json").read_text(encoding="utf-8"))
    assert np.sum(data["topic_term_dists"], axis=1) == pytest.approx(np.ones(3))
    loaded = textmill.load(model)
    terms = tmp_path / "terms.txt"
    terms.write_text("\n".join(loaded.vectorizer_.terms_.to_list()) + "\n", encoding="utf-8")
    for name, kind, options in [
        ("state.gz", "mallet-state", []),
        ("final", "ldac", ["--terms", terms]),
        ("topics.npy", "matrix", ["--terms", terms, "--alpha", 0.1]),
    ]:
        target = tmp_path / f"{kind}.mill"
        code, out, _ = said(capsys, "import", tmp_path / name, "--from", kind, *options, "-o", target)
        assert (code, out.split()[0]) == (0, "3")
        back = textmill.load(target)
        assert back.alpha_ == pytest.approx(np.full(3, 0.1), abs=1e-6)
        if kind != "mallet-state":
            assert back.components_ == pytest.approx(loaded.components_, abs=1e-6)
        assert said(capsys, "explain", target, "--text", "ships at sea")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", ARTICLES, "--kind", "lsa", "--dev", ARTICLES, "-o", "x.mill"], "--dev is no option"),
        (["train", ARTICLES, "--kind", "lda", "--alpha", "much", "-o", "x.mill"], "--alpha must be a number"),
        (["train", ARTICLES, "--kind", "lda", "--alpha", "0", "-o", "x.mill"], "alpha must be finite and above 0"),
        (["train", ARTICLES, "--kind", "lda", "--eta", "-1", "-o", "x.mill"], "eta must be finite and above 0"),
        (["train", ARTICLES, "--kind", "plsa", "--method", "gibbs", "-o", "x.mill"], "--method gibbs is no parameter"),
        (["train", ARTICLES, "--kind", "lda", "--method", "magic", "-o", "x.mill"], "method must be one of"),
        (["transform", "lsa.mill", ARTICLES, "--method", "em", "-o", "x.npy"], "--method is no option"),
        (["transform", "lda.mill", ARTICLES, "--method", "magic", "-o", "x.npy"], "method must be one of"),
        (["explain", "lsa.mill", "--text", "a"], "directions"),
        (["export", "lda.mill", "--to", "word", "-o", "x"], "--to must be one of"),
        (["export", "lda.mill", "--to", "pyldavis", "-o", "x"], "need INPUT"),
        (["export", "lda.mill", ARTICLES, "--to", "ldac", "-o", "x"], "take none"),
        (["import", ARTICLES, "--from", "matrix", "-o", "x.mill"], "is no array"),
        (["import", ARTICLES, "--from", "mallet-state", "-o", "x.mill"], "no line of a state"),
        (["import", ARTICLES, "--from", "mallet-state", "--terms", ARTICLES, "-o", "x.mill"], "leave out --terms"),
        (["import", ARTICLES, "--from", "ldac", "--alpha", "1", "-o", "x.mill"], "--alpha belongs to"),
        (["coherence", "lda.mill", ARTICLES, "--measure", "c_w"], "measure must be one of"),
    ],
)
def test_wrong_use_of_topics_is_one_line(
    arguments: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    placed = [str(folder / word) if word.startswith(("lsa.", "lda.", "x.")) else word for word in arguments]
    code, _, err = said(capsys, *placed)
    assert code == 1
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("model", ["lsa", "pca", "nmf"])
def test_a_vocabulary_without_terms_makes_no_model(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "x.mill"
    code, out, errors = said(capsys, "train", ARTICLES, "--kind", model, "--min-df", 1000, "-o", target)
    assert (code, out) == (1, "")
    assert errors.startswith("textmill: the vocabulary has no terms")
    assert errors.count("\n") == 1
    assert not target.exists()
