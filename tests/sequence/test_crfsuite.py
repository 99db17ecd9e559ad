"""Model files of CRFsuite: both ways against python-crfsuite, and files that are damaged."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from papers.letter_to_sound.nettalk import read_nettalk
from textmill.corpus import read_columns, sample_chunks
from textmill.errors import DataError, ModelFileError
from textmill.sequence import (
    CRF,
    ConditionalMarkov,
    Encoder,
    attributes_of,
    crfsuite,
    read_crfsuite,
    read_tagger,
    split_labels,
    write_crfsuite,
    write_tagger,
)

pycrfsuite = pytest.importorskip("pycrfsuite")


def features(sentence: Any) -> list[dict[str, Any]]:
    """Attributes of every kind; values that are exact in 32 bits, names longer than one block of the hash."""
    return [
        {
            "w": word,
            "p": tag,
            "length": len(word) / 4,
            "capital": word[0].isupper(),
            "the word and its tag": f"{word.lower()}/{tag}/é",
        }
        for word, tag in sentence
    ]


def chunks() -> tuple[list[Any], list[Any], list[Any]]:
    data, test = split_labels(sample_chunks()[:150]), split_labels(sample_chunks("test")[:60])
    return [features(x) for x in data.X], data.y, [features(x) for x in test.X]


def letters(data: Path) -> tuple[list[Any], list[Any], list[Any]]:
    words = list(read_nettalk(data / "nettalk" / "nettalk.data"))[::40]
    X = [[{"c": c, "p": p, "n": n} for p, c, n in zip(f"#{w.word}", w.word, f"{w.word[1:]}#")] for w in words]  # noqa: B905
    return X[:300], [list(w.phonemes) for w in words[:300]], X[300:]


def names(data: Path) -> tuple[list[Any], list[Any], list[Any]]:
    read = split_labels(list(read_columns(data / "conll2002" / "esp.testa"))[:500])
    return [features(x) for x in read.X[:300]], read.y[:300], [features(x) for x in read.X[300:]]


def trained(X: list[Any], y: list[Any], path: Path, **params: Any) -> Any:
    trainer = pycrfsuite.Trainer(params={"c2": 0.1, "max_iterations": 15, **params}, verbose=False)
    for x, labels in zip(X, y, strict=True):
        trainer.append(x, labels)
    trainer.train(str(path))
    return opened(path)


def opened(path: Path) -> Any:
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return tagger


def check_alike(ours: CRF, X: list[Any], theirs: Any, seen: list[Any]) -> None:
    """The same labels and probabilities, by us of X and by CRFsuite of the same tokens as it sees them."""
    assert sorted(theirs.labels()) == ours.classes_.tolist()
    marginals = ours.predict_marginals(X)
    for labels, rows, tokens in zip(ours.predict(X), marginals, seen, strict=True):
        assert theirs.tag(tokens) == labels
        found = [[theirs.marginal(label, t) for label in ours.classes_.tolist()] for t in range(len(tokens))]
        np.testing.assert_allclose(rows, found, rtol=0, atol=1e-9)


@pytest.mark.parametrize("params", [{}, {"c1": 0.5}, {"feature.possible_transitions": True}])
def test_a_model_of_crfsuite_answers_alike_here(params: dict[str, Any], tmp_path: Path) -> None:
    X, y, test = chunks()
    theirs = trained(X, y, tmp_path / "m", **params)
    check_alike(read_tagger(tmp_path / "m"), test, theirs, test)  # type: ignore[arg-type]


@pytest.mark.data
@pytest.mark.parametrize("load", [letters, names])
def test_models_of_other_data_answer_alike_here_and_there(load: Any, data: Path, tmp_path: Path) -> None:
    X, y, test = load(data)
    theirs = trained(X, y, tmp_path / "m")
    check_alike(read_tagger(tmp_path / "m"), test, theirs, test)  # type: ignore[arg-type]
    ours = CRF(max_iter=15, l1=0.2).fit(X, y)
    write_tagger(ours, tmp_path / "ours.crfsuite")
    check_alike(ours, test, opened(tmp_path / "ours.crfsuite"), test)


def test_our_files_are_theirs_byte_by_byte(tmp_path: Path) -> None:
    X, y, _ = chunks()
    trained(X, y, tmp_path / "m")
    write_crfsuite(read_crfsuite(tmp_path / "m"), tmp_path / "n")
    theirs, ours = (tmp_path / "m").read_bytes(), (tmp_path / "n").read_bytes()
    again = read_crfsuite(tmp_path / "n")
    assert len(theirs) >= len(ours) > len(theirs) // 2, "attributes without a weight are left out"
    write_crfsuite(again, tmp_path / "o")
    assert (tmp_path / "o").read_bytes() == ours
    few = [[{"w": "la", "n": 0.5}, {"w": "b"}], [{"w": "la"}, {"w": "é"}]]
    trained(few, [["A", "B"], ["A", "C"]], tmp_path / "few")
    write_crfsuite(read_crfsuite(tmp_path / "few"), tmp_path / "again")
    assert (tmp_path / "few").read_bytes() == (tmp_path / "again").read_bytes()


def test_a_model_on_dictionaries_answers_alike_there(tmp_path: Path) -> None:
    X, y, test = chunks()
    ours = CRF(max_iter=15, l1=0.1).fit(X, y)
    write_tagger(ours, tmp_path / "m.crfsuite")
    check_alike(ours, test, opened(tmp_path / "m.crfsuite"), test)
    again = read_tagger(tmp_path / "m.crfsuite")
    assert again.predict(test) == ours.predict(test)
    assert [a[0][2] for a in again.predict_best(test, 1)] == pytest.approx(
        [a[0][2] for a in ours.predict_best(test, 1)]
    )


@pytest.mark.parametrize(
    "patterns", [["u:w=%x[0,0]", "u:s=%suffix[0,0,3]", "u:p=%x[0,1]", "*", "b:again"], ["u:%x[0,1]"]]
)
def test_a_model_with_patterns_answers_alike_there(patterns: list[str], tmp_path: Path) -> None:
    data, test = split_labels(sample_chunks()[:150]), split_labels(sample_chunks("test")[:40]).X
    ours = CRF(patterns=patterns, max_iter=15, l1=0.1).fit(data.X, data.y)
    write_tagger(ours, tmp_path / "m", format="crfsuite")
    check_alike(ours, test, opened(tmp_path / "m"), attributes_of(ours.encoder_, test))


def test_a_label_without_a_weight_stays(tmp_path: Path) -> None:
    X, y = [[{"w": "a"}, {"w": "b"}]] * 4, [["A", "B"]] * 4
    ours = CRF(l1=0.5).fit([*X, [{"w": "c"}]], [*y, ["C"]])
    write_tagger(ours, tmp_path / "m.crfsuite")
    assert (
        opened(tmp_path / "m.crfsuite").labels() == read_tagger(tmp_path / "m.crfsuite").classes_.tolist() == [*"ABC"]
    )


def test_what_crfsuite_cannot_say_is_not_written(tmp_path: Path) -> None:
    data = split_labels(sample_chunks()[:30])
    options: dict[str, Any] = {"l1": 0.1, "max_iter": 5}
    for model, fault in (
        (CRF(patterns=["u:%x[0,0]", "*:p=%x[0,1]"], **options), "only without a test, so '.:p="),
        (CRF(encoder=Encoder(patterns=["u:%x[0,0]"], hash_bits=12), **options), "hashed tests have no names"),
        (ConditionalMarkov(patterns=["u:%x[0,0]"], **options), "no conditional Markov models"),
        (CRF(patterns=["u:%x[0,0]", "b"], start_label=True, **options), "start label"),
    ):
        with pytest.raises(DataError, match=fault):
            write_tagger(model.fit(data.X, data.y), tmp_path / "m.crfsuite")
    zero = CRF(**options).fit([[["a\0b"], ["c"]]] * 3, [["A", "B"]] * 3)
    with pytest.raises(DataError, match="zero byte"):
        write_tagger(zero, tmp_path / "m.crfsuite")
    assert not (tmp_path / "m.crfsuite").exists()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("small") / "m"
    X = [[{"w": "la", "n": 0.5}, {"w": "casa", "a rather long name": "é"}], [{"w": "la"}, {"w": "é"}]]
    trained(X, [["A", "B"], ["A", "C"]], path)
    return path.read_bytes()


def test_every_cut_is_an_error(small: bytes, tmp_path: Path) -> None:
    for size in range(len(small)):
        cut = small[:size]
        faults = [cut, cut[:4] + size.to_bytes(4, "little") + cut[8:]] if size % 7 == 1 else [cut]
        for fault in faults:
            with pytest.raises(ModelFileError):
                crfsuite._weights(fault)
    for data in (small + b"\0", small[:-1]):
        (tmp_path / "m").write_bytes(data)
        with pytest.raises(ModelFileError, match=r"m: the file has \d+ bytes but says"):
            read_crfsuite(tmp_path / "m")


def test_changed_files_are_errors_or_models(small: bytes) -> None:
    rng = random.Random(5)
    refused = 0
    for _ in range(2000):
        mutant = bytearray(small)
        for _ in range(rng.choice([1, 1, 2, 8])):
            at = rng.randrange(len(mutant)) if rng.random() < 0.5 else rng.randrange(220)
            mutant[at] = rng.choice([0, 1, 255, 128, rng.randrange(256)])
        at = rng.randrange(0, len(mutant) - 4, 4)
        if rng.random() < 0.2:
            mutant[at : at + 4] = rng.choice([0, 1, 2**31, 2**32 - 1, len(small), len(small) - 1]).to_bytes(4, "little")
        try:
            model = crfsuite._weights(bytes(mutant))
        except ModelFileError:
            refused += 1
        else:
            assert np.isfinite(model.unigram.data).all()
            assert len(model.classes) == 3
    assert refused > 1000


@pytest.mark.parametrize(
    ("at", "fault"),
    [
        ("labels", "is not what it should be"),
        ("string", "hashes do not agree"),
        ("kind", "of no known kind"),
        ("source", "no attribute"),
    ],
)
def test_the_place_of_damage_is_named(small: bytes, tmp_path: Path, at: str, fault: str) -> None:
    mutant = bytearray(small)
    places = {"labels": small.index(b"A\0") - 8, "string": small.index(b"w:casa"), "kind": 60, "source": 65}
    mutant[places[at]] ^= 64
    (tmp_path / "m").write_bytes(mutant)
    with pytest.raises(ModelFileError, match=f"m: .*{fault}.* at byte [0-9]+; the file is damaged"):
        read_tagger(tmp_path / "m")


def test_names_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    trained([[[b"\xff"], ["b"]]], [["A", "B"]], tmp_path / "m")
    with pytest.raises(ModelFileError, match="is not UTF-8; train the model on UTF-8 data"):
        read_crfsuite(tmp_path / "m")
