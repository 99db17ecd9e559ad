"""Files of bags: round trips through every format, gensim's own files, random access, and files that lie."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import io as scipy_io
from scipy import sparse

from textmill.corpus import Vocabulary, convert_bags, read_bags, write_bags
from textmill.corpus.bagfiles import FORMATS
from textmill.errors import DataError

NUMBERS = ["mm", "svmlight", "ldac", "uci", "npz"]
COUNTS = st.integers(0, 6).flatmap(
    lambda columns: st.lists(st.lists(st.integers(0, 3), min_size=columns, max_size=columns), max_size=9)
)


def matrix(rows: list[list[int]]) -> sparse.csr_matrix:
    return sparse.csr_matrix(np.array(rows, dtype=np.int32).reshape(len(rows), len(rows[0]) if rows else 0))


@given(COUNTS, st.integers(1, 4), st.integers(1, 4), st.sampled_from(NUMBERS), st.sampled_from(["", ".gz", ".bz2"]))
@settings(max_examples=150)
def test_every_format_gives_back_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[int]], cut: int, chunk: int, kind: str, packed: str
) -> None:
    X = matrix(rows)
    path = tmp_path_factory.mktemp("bags") / f"x.{kind}{'' if kind == 'npz' else packed}"
    pieces = [X[start : start + cut] for start in range(0, X.shape[0], cut)]
    labels = np.arange(X.shape[0]) - 2.5 if kind == "svmlight" else None
    write_bags(path, pieces, columns=X.shape[1], labels=labels)
    bags = read_bags(path, columns=X.shape[1], chunk_size=chunk)
    parts = list(bags)
    assert all(part.shape[0] <= chunk and part.shape[1] == X.shape[1] for part in parts)
    assert (bags.load() != X).nnz == 0
    assert (bags.documents, len(bags)) == (X.shape[0], X.shape[0])
    assert [part.toarray().tolist() for part in bags] == [
        part.toarray().tolist() for part in parts
    ]  # can be read again
    if labels is not None:
        assert np.concatenate([np.zeros(0), *(more for _, more in bags.labeled())]).tolist() == labels.tolist()


@given(COUNTS, st.sampled_from(["mm", "svmlight", "ldac", "uci"]))
@settings(max_examples=80)
def test_single_documents_come_from_their_place(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[int]], kind: str
) -> None:
    X = matrix(rows)
    path = tmp_path_factory.mktemp("bags") / f"x.{kind}"
    write_bags(path, X)
    bags = read_bags(path, columns=X.shape[1])
    for i in range(-X.shape[0], X.shape[0]):
        assert (bags[i] != X[i]).nnz == 0
    with pytest.raises(IndexError):
        bags[X.shape[0]]
    bags.save_index()
    assert all((read_bags(path, columns=X.shape[1])[i] != X[i]).nnz == 0 for i in range(X.shape[0]))


def test_a_saved_index_of_a_file_that_changed_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "x.ldac"
    write_bags(path, matrix([[1, 2], [0, 1]]))
    read_bags(path).save_index()
    write_bags(path, matrix([[0, 7], [3, 0], [4, 4]]))
    assert read_bags(path)[1].toarray().tolist() == [[3, 0]]
    (tmp_path / "x.ldac.index").write_bytes(b"rubbish")
    assert read_bags(path)[2].toarray().tolist() == [[4, 4]]


@pytest.mark.parametrize("kind", ["low", "mallet"])
def test_formats_of_words_go_through_a_vocabulary(kind: str, tmp_path: Path) -> None:
    vocabulary = Vocabulary(order="sorted")
    X = vocabulary.fit_transform([["b", "a", "b"], [], ["c"]])
    path = tmp_path / f"x.{kind}.gz"
    write_bags(path, X, vocabulary=vocabulary, labels=["x", "y", "z"])
    bags = read_bags(path, chunk_size=2)
    assert (bags.load() != X).nnz == 0
    assert bags.vocabulary is not None
    assert bags.vocabulary.terms_.to_list() == ["a", "b", "c"]
    assert (bags.documents, bags.columns) == (3, 3)
    if kind == "mallet":
        assert [label for _, labels in bags.labeled() for label in labels] == ["x", "y", "z"]
    assert read_bags(path, vocabulary=Vocabulary().fit([["c"]])).load().toarray().tolist() == [[0], [0], [1]]
    with pytest.raises(DataError, match="pass the vocabulary"):
        write_bags(path, X)
    with pytest.raises(DataError, match="do not belong"):
        write_bags(path, X, vocabulary=Vocabulary().fit(["a"]))
    with pytest.raises(DataError, match="has blanks"):
        write_bags(path, sparse.csr_matrix(np.ones((1, 1))), vocabulary=Vocabulary().fit([["a b"]]))


@pytest.mark.parametrize("value", [0.1, 1e-300, -3.25, 1e300, 123456789.125, 5e-324, 2.0**60])
def test_real_values_are_exact(value: float, tmp_path: Path) -> None:
    for kind in ("mm", "svmlight"):
        write_bags(tmp_path / f"x.{kind}", sparse.csr_matrix([[value]]))
        assert read_bags(tmp_path / f"x.{kind}", negative=True).load()[0, 0] == value
    with pytest.raises(DataError, match="no whole count"):
        write_bags(tmp_path / "x.ldac", sparse.csr_matrix([[0.5]]))


def test_gensim_reads_what_we_write_and_we_read_its_files(tmp_path: Path) -> None:
    import gensim
    from gensim import corpora

    folder = Path(gensim.__file__).parent / "test" / "test_data"
    readers: dict[str, Callable[[str], Any]] = {
        "mm": corpora.MmCorpus,
        "svmlight": corpora.SvmLightCorpus,
        "blei": corpora.BleiCorpus,
        "uci": corpora.UciCorpus,
        "low": corpora.LowCorpus,
        "mallet": corpora.MalletCorpus,
    }
    for suffix, reader in readers.items():
        ours = read_bags(folder / f"testcorpus.{suffix}")
        theirs = [
            sorted((int(i), float(v)) for i, v in document) for document in reader(str(folder / f"testcorpus.{suffix}"))
        ]
        assert rows_of(ours.load()) == theirs
        if suffix in ("mm", "svmlight"):
            write_bags(tmp_path / f"again.{suffix}", ours)
            again = [
                sorted((int(i), float(v)) for i, v in document)
                for document in reader(str(tmp_path / f"again.{suffix}"))
            ]
            assert again == theirs


def sorted_rows(corpus: Any) -> list[list[tuple[int, float]]]:
    return [sorted((int(i), float(v)) for i, v in document) for document in corpus]


def rows_of(X: sparse.csr_matrix) -> list[list[tuple[int, float]]]:
    return [
        [(int(i), float(v)) for i, v in zip(X.indices[a:b], X.data[a:b], strict=True)]
        for a, b in zip(X.indptr, X.indptr[1:], strict=False)
    ]


def test_scipy_and_scikit_learn_agree(tmp_path: Path) -> None:
    from sklearn.datasets import dump_svmlight_file, load_svmlight_file

    X = sparse.random_array((60, 30), density=0.2, rng=np.random.default_rng(3), format="csr")
    labels = np.arange(60.0)
    scipy_io.mmwrite(tmp_path / "a.mtx", sparse.csr_matrix(X), symmetry="general")
    assert abs(read_bags(tmp_path / "a.mtx").load() - X).max() < 1e-15
    dump_svmlight_file(X, labels, str(tmp_path / "a.svm"), zero_based=False)
    bags = read_bags(tmp_path / "a.svm", columns=30)
    assert abs(bags.load() - X).max() < 1e-14
    write_bags(tmp_path / "b.svm", X, labels=labels)
    Y, y = load_svmlight_file(str(tmp_path / "b.svm"), n_features=30)
    assert (sparse.csr_matrix(X) != Y).nnz == 0
    assert y.tolist() == labels.tolist()
    write_bags(tmp_path / "b.mm", X)
    assert (sparse.csr_matrix(scipy_io.mmread(tmp_path / "b.mm")) != sparse.csr_matrix(X)).nnz == 0


MM = "%%MatrixMarket matrix coordinate real general\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.mm", "", "1: no Matrix Market file"),
        ("a.mm", "1 2 3\n", "1: no Matrix Market file"),
        ("a.mm", "%%MatrixMarket matrix array real general\n2 2\n1\n", "1: .* is not read"),
        ("a.mm", "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n", "is not read"),
        ("a.mm", MM + "1 x 3\n", "2: three sizes must follow"),
        ("a.mm", MM, "2: three sizes must follow"),
        ("a.mm", MM + "-1 2 3\n", "cannot be"),
        ("a.mm", MM + "2 2 3\n1 1 1\n2 2 1\n", "announces 3 entries but 2 follow; was the file cut"),
        ("a.mm", MM + "2 2 1\n1 1 1\n2 2 1\n", "announces 1 entries but 2 follow"),
        ("a.mm", MM + "2 2 2\n1 1 1\n3 1 1\n", "4:2: document 3 is outside the 2 of the header"),
        ("a.mm", MM + "2 2 2\n1 1 1\n2 3 1\n", "4:4: column 3 is outside 1 to 2"),
        ("a.mm", MM + "2 2 2\n1 0 1\n", "column 0, but columns count from 1"),
        ("a.mm", MM + "2 2 2\n2 1 1\n1 1 1\n", "4:2: document 1 comes after document 2; sort the lines"),
        ("a.mm", MM + "2 2 2\n1 1 1\n1 1 2\n", "document 1 has column 1 twice"),
        ("a.mm", MM + "2 2 1\n1 1 nan\n", "3:8: a value is not finite"),
        ("a.mm", MM + "2 2 1\n1 1 -2\n", "3:7: a count is negative; pass negative=True"),
        ("a.mm", MM + "2 2 1\n1 1\n", "3:4: a value is missing"),
        ("a.mm", MM + "2 2 1\n1 1 1 1\n", "there is more"),
        ("a.mm", MM + "2 2 1\n1 1 1x\n", "there is more|no number"),
        ("a.mm", "%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 0.5\n", "no whole count"),
        ("a.uci", "2\nfew\n1\n", "2: the first three lines must be sizes"),
        ("a.uci", "1\n1\n1\n1 1 1.5\n", "no whole count"),
        ("a.svmlight", "1 1:1\nx 1:1\n", "2:1: a line must begin with a label"),
        ("a.svmlight", "1 1:1 1:2\n", "1:10: a column occurs twice"),
        ("a.svmlight", "1 1=1\n", "1:4: ':' is missing"),
        ("a.svmlight", "1 0:1\n", "column 0, but columns count from 1"),
        ("a.svmlight", "1 1:inf\n", "not finite"),
        ("a.svmlight", "1 1:2abc\n", "followed by something else"),
        ("a.svmlight", "1 99999999999:1\n", "is outside"),
        ("a.ldac", "2 0:1\n", "1:6: the line announces 2 terms but holds 1"),
        ("a.ldac", "x 0:1\n", "must begin with the number of its terms"),
        ("a.ldac", "1 0:-1\n", "negative"),
        ("a.low", "words\na b\n", "1: the first line must be the number of documents"),
        ("a.low", "3\na b\n", "announces 3 documents but 1 follow"),
        ("a.mallet", "name\n", "1: a line must begin with a name and a label"),
        ("a.npz", "no zip", "not a sparse matrix"),
        ("a.xyz", "", "what format is .xyz"),
    ],
)
def test_files_that_lie_are_refused_with_their_place(name: str, text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message) as caught:
        read_bags(path).load()
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_truncated_compression_is_found(tmp_path: Path) -> None:
    path = tmp_path / "a.mm.gz"
    rng = np.random.default_rng(0)
    write_bags(path, sparse.csr_matrix(rng.integers(0, 9, (200, 50))))
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DataError, match=r"a\.mm\.gz"):
        read_bags(path).load()


def test_errors_leave_no_file(tmp_path: Path) -> None:
    def chunks() -> Any:
        yield sparse.csr_matrix(np.ones((2, 3)))
        raise DataError("the source broke")

    for kind in sorted(set(FORMATS.values()) - {"low", "mallet"}):
        with pytest.raises(DataError, match="the source broke"):
            write_bags(tmp_path / f"a.{kind}", chunks(), format=kind)
    with pytest.raises(DataError, match="columns, those before it"):
        write_bags(tmp_path / "a.mm", [sparse.csr_matrix((1, 2)), sparse.csr_matrix((1, 3))])
    with pytest.raises(DataError, match="labels"):
        write_bags(tmp_path / "a.svm", sparse.csr_matrix((2, 2)), labels=[1])
    with pytest.raises(DataError, match="labels"):
        write_bags(tmp_path / "a.svm", sparse.csr_matrix((2, 2)), labels=[1, 2, 3])
    with pytest.raises(DataError, match="labels are numbers"):
        write_bags(tmp_path / "a.svm", sparse.csr_matrix((2, 2)), labels=["x", "y"])
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_belong_together_is_refused(tmp_path: Path) -> None:
    write_bags(tmp_path / "a.ldac", matrix([[0, 0, 1]]))
    with pytest.raises(DataError, match=r"needs 3 columns, not 2"):
        read_bags(tmp_path / "a.ldac", columns=2).load()
    write_bags(tmp_path / "a.mm", matrix([[0, 0, 1]]))
    with pytest.raises(DataError, match="needs 3 columns, not 2"):
        list(read_bags(tmp_path / "a.mm", columns=2))
    with pytest.raises(DataError, match="terms"):
        read_bags(tmp_path / "a.mm", columns=2, vocabulary=Vocabulary().fit(["a"]))
    gz = tmp_path / "b.mm.gz"
    write_bags(gz, matrix([[1]]))
    assert gzip.decompress(gz.read_bytes()).startswith(b"%%MatrixMarket")
    with pytest.raises(DataError, match="decompress it first"):
        read_bags(gz)[0]
    write_bags(tmp_path / "c.npz", matrix([[1]]))
    with pytest.raises(DataError, match="has no index"):
        read_bags(tmp_path / "c.npz")[0]


@pytest.mark.parametrize("kind", ["mm", "svmlight", "ldac", "uci"])
def test_mutants_are_read_or_refused(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    path = tmp_path / f"a.{kind}"
    write_bags(path, sparse.csr_matrix(rng.integers(0, 3, (12, 7))))
    good = path.read_bytes()
    for _ in range(300):
        bad = bytearray(good)
        for _ in range(int(rng.integers(1, 4))):
            bad[int(rng.integers(len(bad)))] = int(rng.integers(256))
        path.write_bytes(bytes(bad[: int(rng.integers(len(bad) + 1))]))
        try:
            X = read_bags(path, columns=7 if kind in ("svmlight", "ldac") else None).load()
            assert X.shape[0] < 10**6
        except DataError:
            pass


def test_streams_larger_than_a_block_are_cut_between_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textmill.corpus.bagfiles._BLOCK", 64)
    X = sparse.csr_matrix(np.random.default_rng(2).integers(0, 3, (50, 20)))
    for kind in ("mm", "svmlight", "ldac", "uci"):
        write_bags(tmp_path / f"x.{kind}", X)
        bags = read_bags(tmp_path / f"x.{kind}", columns=20, chunk_size=7)
        assert (bags.load() != X).nnz == 0
        assert all((bags[i] != X[i]).nnz == 0 for i in (0, 17, 49))


def test_standard_reading_does_not_need_a_last_line_end(tmp_path: Path) -> None:
    (tmp_path / "a.svmlight").write_bytes(b"# comment\r\n1 qid:3 2:0.5 1:+2 # more\r\n\r\n-1")
    assert read_bags(tmp_path / "a.svmlight").load().toarray().tolist() == [[2.0, 0.5], [0.0, 0.0]]


def test_converting_keeps_rows_and_labels(tmp_path: Path) -> None:
    X = matrix([[1, 0, 2], [0, 0, 0], [0, 3, 0]])
    write_bags(tmp_path / "a.svmlight", X, labels=[3, -1, 2.5])
    vocabulary = Vocabulary().fit([["x", "y", "z"]])
    convert_bags(tmp_path / "a.svmlight", tmp_path / "b.mallet", vocabulary=vocabulary, columns=3)
    convert_bags(tmp_path / "b.mallet", tmp_path / "c.svmlight.gz", vocabulary=vocabulary)
    bags = read_bags(tmp_path / "c.svmlight.gz", columns=3)
    assert (bags.load() != X).nnz == 0
    assert next(bags.labeled())[1].tolist() == [3, -1, 2.5]
    for kind in ("mm", "ldac", "uci", "npz", "svmlight"):
        convert_bags(tmp_path / "a.svmlight", tmp_path / f"d.{kind}")
        assert (read_bags(tmp_path / f"d.{kind}").load() != X).nnz == 0
    write_bags(tmp_path / "e.mallet", X, vocabulary=vocabulary, labels=["good", "bad", "ugly"])
    with pytest.raises(DataError, match="labels are texts"):
        convert_bags(tmp_path / "e.mallet", tmp_path / "f.svmlight")
