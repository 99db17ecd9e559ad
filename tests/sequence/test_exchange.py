"""Taggers between tools: trained here, labeled there, and the other way round."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from reference.viterbi import best_paths

import textmill
from textmill.corpus import Vocabulary, sample_chunks
from textmill.errors import DataError, ModelFileError
from textmill.sequence import CRF, ConditionalMarkov, Encoder, read_tagger, split_labels, write_tagger

PATTERNS = r"""
u:w=%x[0,0]
u:s=%m[0,0,".?.?.?$"]
u:p-1=%x[-1,1]
u:p=%x[0,1]
u:p+1=%x[1,1]
*:pp=%x[-1,1]/%x[0,1]
*
"""


@pytest.fixture(scope="module")
def tagger() -> CRF:
    data = split_labels(sample_chunks()[:150])
    return CRF(encoder=Encoder(patterns=PATTERNS, syntax="wapiti"), l1=0.2, max_iter=30, random_state=0).fit(
        data.X, data.y
    )


def as_text(sentence: object) -> str:
    return "\n".join(" ".join(row) for row in sentence)


def labels_by_wapiti(path: Path, X: list[object]) -> list[list[str]]:
    wapiti = pytest.importorskip("wapiti")
    model = wapiti.Model(model=str(path))
    return [model.label_sequence(as_text(x)).decode().split() for x in X]


def test_a_tagger_trained_here_labels_identically_in_wapiti(tagger: CRF, tmp_path: Path) -> None:
    X = split_labels(sample_chunks("test")).X
    write_tagger(tagger, tmp_path / "m.wapiti")
    ours = tagger.predict(X)
    assert labels_by_wapiti(tmp_path / "m.wapiti", X) == ours
    again = read_tagger(tmp_path / "m.wapiti")
    assert again.predict(X) == ours
    scores = [hypotheses[0][1] for hypotheses in again.predict_best(X, 1)]
    np.testing.assert_allclose(scores, [score for _, score in best_paths(tagger.to_weights(), X)], atol=1e-6)


def test_a_tagger_trained_by_wapiti_labels_identically_here(tmp_path: Path) -> None:
    wapiti = pytest.importorskip("wapiti")
    model = wapiti.Model(patterns=PATTERNS, algo="sgd-l1", maxiter=8, rho1=0.2, nthread=1)
    for sentence in sample_chunks()[:150]:
        model.add_training_sequence(as_text(sentence))
    model.train()
    model.save(str(tmp_path / "model"))
    X = split_labels(sample_chunks("test")).X
    assert read_tagger(tmp_path / "model").predict(X) == labels_by_wapiti(tmp_path / "model", X)


def test_a_conditional_markov_model_stays_one_in_wapitis_format(tmp_path: Path) -> None:
    data = split_labels(sample_chunks()[:60])
    model = ConditionalMarkov(encoder=Encoder(patterns=PATTERNS, syntax="wapiti"), max_iter=15).fit(data.X, data.y)
    write_tagger(model, tmp_path / "m.wapiti")
    again = read_tagger(tmp_path / "m.wapiti")
    assert type(again) is ConditionalMarkov
    X = split_labels(sample_chunks("test")[:50]).X
    assert again.predict(X) == model.predict(X)


def test_files_of_any_kind_are_recognized(tagger: CRF, tmp_path: Path) -> None:
    X = split_labels(sample_chunks("test")[:20]).X
    for suffix in ("mill", "wapiti"):
        write_tagger(tagger, tmp_path / f"m.{suffix}")
        assert read_tagger(tmp_path / f"m.{suffix}").predict(X) == tagger.predict(X)
    write_tagger(tagger, tmp_path / "weights", format="dump")
    assert (tmp_path / "weights").read_text().count("\t") == 3 * len(tagger.features_)
    textmill.load(tmp_path / "m.mill").save(tmp_path / "n.mill")
    assert (tmp_path / "m.mill").read_bytes() == (tmp_path / "n.mill").read_bytes()
    with pytest.raises(DataError, match="format"):
        write_tagger(tagger, tmp_path / "m.txt")


def test_what_is_no_tagger_is_refused(tmp_path: Path) -> None:
    Vocabulary().fit(["a b"]).save(tmp_path / "v.mill")
    with pytest.raises(ModelFileError, match="holds a Vocabulary, not a tagger"):
        read_tagger(tmp_path / "v.mill")
    (tmp_path / "x").write_bytes(b"nothing of the kind")
    with pytest.raises(ModelFileError):
        read_tagger(tmp_path / "x")


def test_a_function_is_passed_again(tmp_path: Path) -> None:
    encoder = Encoder(patterns=["u:%f[0,0]"], function=str.upper)
    CRF(encoder=encoder, l1=0.1).fit(["ab"] * 3, [["A", "B"]] * 3).save(tmp_path / "f.mill")
    with pytest.raises(ModelFileError, match="pass it again"):
        read_tagger(tmp_path / "f.mill")
    assert read_tagger(tmp_path / "f.mill", function=str.upper).predict(["ba"]) == [["B", "A"]]


def test_a_dump_of_crfsuite_is_a_tagger(tmp_path: Path) -> None:
    pycrfsuite = pytest.importorskip("pycrfsuite")
    trainer = pycrfsuite.Trainer(params={"c2": 0.1, "max_iterations": 20}, verbose=False)
    data, test = split_labels(sample_chunks()[:80]), split_labels(sample_chunks("test")[:40])

    def features(sentence: object) -> list[dict[str, object]]:
        return [{"w": word, "p": tag, "n": len(word) / 5} for word, tag in sentence]

    for x, y in zip(data.X, data.y, strict=True):
        trainer.append(features(x), y)
    trainer.train(str(tmp_path / "m"))
    model = pycrfsuite.Tagger()
    model.open(str(tmp_path / "m"))
    model.dump(str(tmp_path / "dump"))
    X = [features(x) for x in test.X]
    assert read_tagger(tmp_path / "dump").predict(X) == [model.tag(x) for x in X]
