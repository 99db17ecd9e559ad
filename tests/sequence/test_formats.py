"""Models of other tools, against those tools."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from reference.viterbi import best_paths
from scipy import sparse

from textmill.errors import DataError, ModelFileError
from textmill.sequence import (
    ChainWeights,
    Encoder,
    read_crfsuite_dump,
    read_wapiti,
    update_weights,
    write_dump,
    write_wapiti,
)
from textmill.sequence.regexes import raw_bytes

PATTERNS = r"""
u:1=%x[-1,0]/%x[1,1]
U:2=%X[0,0]
u:3=%m[0,0,"^.?.?.?"]
u:4=%m[0,0,".?.?$"]
u:5=%t[0,0,"^\u"]
u:6=%t[0,0,"\p"]    # punctuation
u:7=%m[0,0,"\d\d*"]
u:8=%x[@1,0]|%x[@-1,0]
u:9=%x[-7,0]
u:10=%m[0,0,"\a\a*"]
u:11=%m[0,0,"\W*$"]
u:12=%M[0,0,"^.?.?"]
b:x=%x[0,1]
*:p=%x[-1,1]
*
"""
WORDS = ["The", "U.S.", "1.8%", "run-off", "a", "Zürich", "naïve", "日本", "2010-11", "well", "x_y", "É", "WORD", "?*"]


def sentences(count: int, seed: int = 0) -> list[list[list[str]]]:
    random = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        words = [WORDS[i] for i in random.integers(0, len(WORDS), random.integers(1, 9))]
        tags = [f"P{random.integers(3)}" for _ in words]
        labels = ["XYZ"[(len(w) + int(t[1]) + (random.random() < 0.1)) % 3] for w, t in zip(words, tags, strict=True)]
        made.append([list(row) for row in zip(words, tags, labels, strict=True)])
    return made


def as_text(rows: list[list[str]]) -> str:
    return "\n".join(" ".join(row) for row in rows)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model trained and saved by Wapiti itself."""
    wapiti = pytest.importorskip("wapiti")
    model = wapiti.Model(patterns=PATTERNS, algo="l-bfgs", maxiter=25, rho1=0.1, rho2=0.01, nthread=1)
    for rows in sentences(60):
        model.add_training_sequence(as_text(rows))
    model.train()
    path = tmp_path_factory.mktemp("wapiti") / "model"
    model.save(str(path))
    return path


def labels_by_wapiti(path: Path, X: list[list[list[str]]]) -> list[list[str]]:
    wapiti = pytest.importorskip("wapiti")
    model = wapiti.Model(model=str(path))
    return [model.label_sequence(as_text(rows)).decode().split() for rows in X]


def test_tests_are_those_that_wapiti_makes_of_the_same_patterns(trained: Path) -> None:
    model = read_wapiti(trained)
    X = [[row[:2] for row in rows] for rows in sentences(60)]
    encoder = Encoder(patterns=PATTERNS, syntax="wapiti").fit(X)
    ours = [raw_bytes(test) for test in encoder.tests_]
    assert ours == [raw_bytes(test) for test in model.encoder.tests_]  # and in the same order
    assert any(not _is_utf8(test) for test in ours)  # it cuts characters in two, and so do we


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_a_model_of_wapiti_labels_as_wapiti_does(trained: Path) -> None:
    X = [[row[:2] for row in rows] for rows in sentences(80, seed=1)]
    ours = [labels for labels, _ in best_paths(read_wapiti(trained), X)]
    assert ours == labels_by_wapiti(trained, X)


def test_a_model_written_for_wapiti_labels_there_as_here(trained: Path, tmp_path: Path) -> None:
    X = [[row[:2] for row in rows] for rows in sentences(80, seed=2)]
    encoder = Encoder(patterns=PATTERNS, syntax="wapiti").fit(X[:50])
    counts = encoder.feature_counts(3)
    random = np.random.default_rng(3)
    normal = partial(random.normal, 0, 1)
    unigram = sparse.random(counts.unigrams, 3, 0.3, random_state=random, data_rvs=normal, format="csr")
    bigram = sparse.random(counts.bigrams, 9, 0.3, random_state=random, data_rvs=normal, format="csr")
    weights = ChainWeights("crf", ["Ä", "B", "C-d"], encoder, unigram, bigram)
    write_wapiti(weights, tmp_path / "m")
    assert [labels for labels, _ in best_paths(weights, X)] == labels_by_wapiti(tmp_path / "m", X)
    again = read_wapiti(tmp_path / "m")
    assert (abs(again.unigram - unigram)).max() == 0
    assert (abs(again.bigram - bigram)).max() == 0
    write_wapiti(again, tmp_path / "n")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "n").read_bytes()


def test_compaction_changes_no_label_and_drops_tests(trained: Path) -> None:
    model = read_wapiti(trained)
    small = model.compact()
    assert small.active == model.active
    assert len(small.encoder.tests_) < len(model.encoder.tests_)
    X = [[row[:2] for row in rows] for rows in sentences(30, seed=4)]
    assert best_paths(small, X) == best_paths(model, X)


@pytest.mark.parametrize("precision", [None, 5])
def test_dump_update_dump_is_identical(trained: Path, tmp_path: Path, precision: int | None) -> None:
    model = read_wapiti(trained)
    write_dump(model, tmp_path / "a", precision=precision)
    updated = update_weights(model, tmp_path / "a")
    write_dump(updated, tmp_path / "b", precision=precision)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (precision is not None) or (updated.unigram != model.unigram).nnz == 0


def test_a_dump_may_have_the_weights_that_are_zero(tmp_path: Path) -> None:
    encoder = Encoder(patterns=["*:%x[0,0]", "u:c"]).fit(["a"])
    weights = ChainWeights("crf", ["A", "B"], encoder, sparse.csr_matrix([[0.0, 1], [0, 0]]), sparse.csr_matrix((1, 4)))
    write_dump(weights, tmp_path / "d", precision=0, zeros=True)
    lines = (tmp_path / "d").read_text().split("\n")[1:]
    assert lines[:3] == ["*:a\t#\tA\t0", "*:a\t#\tB\t1", "*:a\tA\tA\t0"]
    assert len(lines) == 2 + 4 + 1 + 2 + 1 + 1
    assert update_weights(weights, tmp_path / "d").active == 1


def test_an_update_of_zero_removes_a_feature_and_others_set_it(tmp_path: Path) -> None:
    encoder = Encoder(patterns=["*:%x[0,0]"]).fit(["a"])
    weights = ChainWeights("crf", ["A", "B"], encoder, sparse.csr_matrix([[2.0, 1]]), sparse.csr_matrix((1, 4)))
    (tmp_path / "p").write_text("*:a\t#\tA\t0\n\n*:a\tB\tA\t-1.5\n")
    updated = update_weights(weights, tmp_path / "p")
    assert updated.active == 2
    assert updated.bigram.toarray().tolist() == [[0, 0, -1.5, 0]]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("*:a\t#\tA", "found 3 fields"),
        ("*:b\t#\tA\t1", "no test '\\*:b'"),
        ("*:a\t#\tC\t1", "no label 'C'"),
        ("*:a\tA\t#\t1", "no label '#'"),
        ("*:a\t#\tA\tinf", "'inf' is no weight"),
        ("*:a\t#\tA\tx", "'x' is no weight"),
        ("u:c\tA\tA\t1", "has no bigram weights"),
    ],
)
def test_a_bad_line_of_an_update_is_named(tmp_path: Path, line: str, fault: str) -> None:
    encoder = Encoder(patterns=["*:%x[0,0]", "u:c"]).fit(["a"])
    weights = ChainWeights("crf", ["A", "B"], encoder, sparse.csr_matrix((2, 2)), sparse.csr_matrix((1, 4)))
    (tmp_path / "p").write_text(f"*:a\t#\tA\t1\n{line}\n")
    with pytest.raises(DataError, match=rf"p:2: .*{fault}"):
        update_weights(weights, tmp_path / "p")


def test_patterns_that_mean_something_else_to_wapiti_are_not_written(tmp_path: Path) -> None:
    for encoder in (
        Encoder(patterns=["u:%shape[0,0]"]),
        Encoder(patterns=['u:%m[0,0,"a*"]']),
        Encoder(patterns=["U:%x[0,0]"], syntax="crf++"),
    ):
        encoder.fit(["a"])
        weights = ChainWeights("crf", ["A"], encoder, sparse.csr_matrix((1, 1)), sparse.csr_matrix((0, 1)))
        with pytest.raises(DataError, match="means something else to Wapiti"):
            write_wapiti(weights, tmp_path / "m")
    hashed = Encoder(patterns=["u:%x[0,0]"], hash_bits=2).fit(["a"])
    weights = ChainWeights("crf", ["A"], hashed, sparse.csr_matrix((4, 1)), sparse.csr_matrix((4, 1)))
    with pytest.raises(DataError, match="no names"):
        write_wapiti(weights, tmp_path / "m")


def test_damaged_models_are_refused_and_never_crash(trained: Path, tmp_path: Path) -> None:
    good = trained.read_bytes()
    broken = tmp_path / "broken"
    random = np.random.default_rng(5)
    cuts = [good[:n] for n in random.integers(0, len(good) - 1, 60)]
    flips = []
    for at in random.integers(0, len(good), 200):
        data = bytearray(good)
        data[at] = random.integers(256)
        flips.append(bytes(data))
    messages = []
    for data in [b"", b"#mdl#", b"#mdl#2#99999999\n#rdr#1/1/0\n", *cuts, *flips]:
        broken.write_bytes(data)
        try:
            read_wapiti(broken)
        except ModelFileError as error:
            messages.append(str(error))
    assert len(messages) > 60
    assert all(message.startswith(str(broken)) and "\n" not in message for message in messages)
    with pytest.raises(ModelFileError, match="No such file"):
        read_wapiti(tmp_path / "missing")


def test_models_of_older_versions_are_read(tmp_path: Path) -> None:
    text = "#mdl#1\n#rdr#1/0\n9:u:%x[0,0],\n#qrk#1\n1:A,\n#qrk#1\n3:u:a,\n0=0x1p+1\n"
    (tmp_path / "old").write_text(text)
    assert read_wapiti(tmp_path / "old").kind == "crf"
    auto = "#mdl#0#1\n#rdr#1/0/1\n8::%x[0,0],\n#qrk#1\n1:A,\n#qrk#1\n3:u:a,\n0=0x1p+1\n"
    (tmp_path / "maxent").write_text(auto)
    model = read_wapiti(tmp_path / "maxent")
    assert (model.kind, model.encoder.patterns_) == ("maxent", ["u:%x[0,0]"])


def test_a_dump_of_crfsuite_labels_as_crfsuite_does(tmp_path: Path) -> None:
    pycrfsuite = pytest.importorskip("pycrfsuite")
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", params={"c1": 0.1, "c2": 0.01, "max_iterations": 30}, verbose=False)

    def features(rows: list[list[str]]) -> list[dict[str, object]]:
        return [{"w": row[0], "p": row[1], "length": len(row[0]) / 4, "first": t == 0} for t, row in enumerate(rows)]

    for rows in sentences(60):
        trainer.append(features(rows), [row[2] for row in rows])
    trainer.train(str(tmp_path / "m"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "m"))
    tagger.dump(str(tmp_path / "dump"))
    X = [features(rows) for rows in sentences(80, seed=6)]
    model = read_crfsuite_dump(tmp_path / "dump")
    assert [labels for labels, _ in best_paths(model, X)] == [tagger.tag(x) for x in X]
    with pytest.raises(ModelFileError, match=r"not a text|not a dump"):
        read_crfsuite_dump(tmp_path / "m")
