"""Tests of tokens, numbered: against the definition, for any number of threads, and everything that can be wrong."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.observation_tests import hash_of, made_at

import textmill
from textmill.corpus import Sentence, read_columns
from textmill.errors import DataError, ModelFileError
from textmill.sequence import Encoder, label_ids

PATTERNS = [
    "u:1=%x[0,0]",
    "*:2=%x[-1,0]/%X[0,1]",
    "b",
    'b:3=%t[1,0,"a"]',
    "u:%x[-2,1]",
    "u:%x[2,1]",
    "u:%x[@-2,0]%x[5,1]",
]

words = st.sampled_from(["a", "b", "ab", "Ä", "_x-1", "c/d", "日本"])
sequences = st.lists(st.lists(st.tuples(words, words), max_size=7), min_size=1, max_size=12)


def names(encoder: Encoder, data: object, kind: str) -> list[list[str]]:
    """The tests of each token by name."""
    number = encoder.numbers()[0 if kind == "unigram" else 1]
    back = np.argsort(number, kind="stable")[np.count_nonzero(number < 0) :]
    rows = getattr(data, kind)
    return [
        [encoder.tests_[int(back[i])] for i in rows.ids[begin:end]]
        for begin, end in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    ]


@given(X=sequences)
def test_extraction_equals_the_definition(X: list[list[tuple[str, str]]]) -> None:
    expected = [made_at(PATTERNS, rows, t) for rows in X for t in range(len(rows))]
    encoder = Encoder(patterns=PATTERNS)
    if not expected:
        with pytest.raises(DataError, match="no tokens"):
            encoder.fit_encode(X)
        return
    for data in (encoder.fit_encode(X), encoder.encode(X)):
        assert names(encoder, data, "unigram") == [[test for test in tests if test[0] in "u*"] for tests in expected]
        assert names(encoder, data, "bigram") == [[test for test in tests if test[0] in "b*"] for tests in expected]
    order = dict.fromkeys(test for tests in expected for test in tests)
    assert encoder.tests_.to_list() == list(order)  # numbered by first appearance


def random_sequences(count: int, seed: int = 1) -> list[list[list[str]]]:
    random = np.random.default_rng(seed)
    return [[[f"w{w}", f"p{w % 7}"] for w in random.zipf(1.3, random.integers(1, 30)) % 5000] for _ in range(count)]


def test_numbers_do_not_depend_on_the_number_of_threads() -> None:
    X = random_sequences(1500)  # several blocks
    results = []
    for jobs in (1, 2, 5):
        encoder = Encoder(patterns=PATTERNS, n_jobs=jobs)
        data = encoder.fit_encode(X)
        again = encoder.encode(X)
        for kind in ("unigram", "bigram"):
            np.testing.assert_array_equal(getattr(data, kind).ids, getattr(again, kind).ids)
            np.testing.assert_array_equal(getattr(data, kind).indptr, getattr(again, kind).indptr)
        results.append((encoder.tests_, data.unigram.ids.tobytes(), data.bigram.ids.tobytes()))
    assert results[0] == results[1] == results[2]


def test_unseen_tests_are_left_out() -> None:
    encoder = Encoder(patterns=["u:%x[0,0]", "b"]).fit(["ab"])
    data = encoder.encode(["axb", ""])
    assert data.unigram.indptr.tolist() == [0, 1, 1, 2]
    assert data.offsets.tolist() == [0, 3, 3]
    assert data.sequences == 2


def test_rare_tests_are_cut_off() -> None:
    encoder = Encoder(patterns=["u:%x[0,0]", "*:2=%x[0,0]", "b"], min_count=2)
    data = encoder.fit_encode(["aab", "ca"])
    assert encoder.tests_.to_list() == ["u:a", "*:2=a", "b"]
    assert data.unigram.ids.tolist() == [0, 1, 0, 1, 0, 1]
    assert data.unigram.indptr.tolist() == [0, 2, 4, 4, 4, 6]
    assert data.bigram.ids.tolist() == [0, 1, 0, 1, 1, 1, 0, 1]
    again = encoder.encode(["aab", "ca"])
    np.testing.assert_array_equal(again.unigram.ids, data.unigram.ids)
    np.testing.assert_array_equal(again.bigram.ids, data.bigram.ids)


def test_hashed_tests_need_no_dictionary() -> None:
    X = random_sequences(300)
    plain = Encoder(patterns=["u:%x[0,0]", "b:%x[0,1]"])
    hashed = Encoder(patterns=["u:%x[0,0]", "b:%x[0,1]"], hash_bits=20)
    a, b = plain.fit_encode(X), hashed.fit_encode(X)
    assert b.unigram.size == b.bigram.size == 1 << 20
    assert len(hashed.tests_) == 0
    pairs = set(zip(a.unigram.ids.tolist(), b.unigram.ids.tolist(), strict=True))
    assert len(pairs) == a.unigram.size  # one number per test, and the other way round up to collisions
    assert len({hash_ for _, hash_ in pairs}) > 0.99 * a.unigram.size
    data = hashed.encode([[["w1", "日本"]]])  # part of every model: never changes
    assert data.unigram.ids.tolist() == [hash_of("u:w1", 20)] == [678_981]
    assert data.bigram.ids.tolist() == [hash_of("b:日本", 20)]


def test_attributes_are_read_as_crfsuite_users_write_them() -> None:
    token = {"w": "the", "n": 2.5, "yes": True, "no": False, "l": ["x", "y"], "s": {"z"}, "d": {"e": "f", "g": 3}}
    encoder = Encoder()
    data = encoder.fit_encode([[token, ["w:the", "new"]], [[("n", 0.5)]]])
    assert encoder.tests_.to_list() == ["uw:the", "un", "uyes", "ul:x", "ul:y", "us:z", "ud:e:f", "ud:g", "b", "unew"]
    assert data.unigram.values is not None
    assert data.unigram.values.tolist() == [1, 2.5, 1, 1, 1, 1, 1, 3, 1, 1, 0.5]
    assert data.bigram.ids.tolist() == [0, 0, 0]
    assert data.bigram.values is None
    assert encoder.encode([[{"unknown": 1}]]).unigram.indptr.tolist() == [0, 0]


def test_attributes_equal_those_of_python_crfsuite() -> None:
    pycrfsuite = pytest.importorskip("pycrfsuite")
    token = {"w": "the", "n": 2.5, "yes": True, "l": ["x", "y"], "d": {"e": "f", "g": 3.0}}
    theirs = pycrfsuite.ItemSequence([token]).items()[0]
    encoder = Encoder()
    data = encoder.fit_encode([[token]])
    assert data.unigram.values is not None
    ours = [encoder.tests_[i + (i >= 8)][1:] for i in data.unigram.ids]
    assert dict(zip(ours, data.unigram.values.tolist(), strict=True)) == theirs


def test_tests_may_bring_their_own_kind() -> None:
    encoder = Encoder(syntax="wapiti")
    data = encoder.fit_encode([[["u1", "b2", "*3"]]])
    assert (data.unigram.ids.tolist(), data.bigram.ids.tolist()) == ([0, 1], [0, 1])
    with pytest.raises(DataError, match="'x4' begins with neither u, b nor"):
        encoder.encode([[["x4"]]])


def test_sentences_of_a_column_file_are_sequences() -> None:
    file = io.BytesIO(b"the DT\ndog NN\n\nbarks VBZ\n")
    encoder = Encoder(patterns=["u:%x[0,1]"])
    assert encoder.fit_encode(read_columns(file)).offsets.tolist() == [0, 2, 3]
    assert encoder.tests_.to_list() == ["u:DT", "u:NN", "u:VBZ"]


def test_a_child_is_made_only_under_an_active_parent() -> None:
    encoder = Encoder(patterns=["u:1=%x[0,0]", "b"]).fit(["abc"])
    assert encoder.tests_.to_list() == ["u:1=a", "b", "u:1=b", "u:1=c"]
    active = np.array([True, True, False, True])
    data = encoder.extend_encode(["abc"], ["*:3=%x[-1,0]%x[0,0]%x[1,0]"], parents=[0], active=active)
    assert encoder.tests_.to_list()[4:] == ["*:3=_x-1ab", "*:3=bc_x+1"]
    assert data.bigram.ids.tolist() == [0, 1, 0, 0, 2]
    again = encoder.encode(["abc"])
    np.testing.assert_array_equal(again.unigram.ids, data.unigram.ids)
    assert encoder.feature_counts(2).features == 5 * 2 + 3 * 4


def test_new_tests_of_an_extension_must_be_frequent_enough_too() -> None:
    encoder = Encoder(patterns=["u:1=%x[0,0]"], min_count=2).fit(["aab"])
    data = encoder.extend_encode(["abbc"], ["u:2=%x[-1,0]"])
    assert encoder.tests_.to_list() == ["u:1=a", "u:1=b", "u:2=b"]
    assert data.unigram.ids.tolist() == [0, 1, 1, 2, 2]
    assert np.array_equal(data.unigram.ids, encoder.encode(["abbc"]).unigram.ids)


def test_attributes_and_hashes_are_extended_without_patterns() -> None:
    encoder = Encoder().fit([[["x"]]])
    assert encoder.extend_encode([[["x", "y"]]]).unigram.ids.tolist() == [0, 1]
    assert encoder.tests_.to_list() == ["ux", "b", "uy"]
    hashed = Encoder(patterns=["u:%x[0,0]"], hash_bits=8).fit(["a"])
    assert hashed.extend_encode(["b"]).unigram.ids.tolist() == [hash_of("u:b", 8)]
    for one in (encoder, hashed):
        with pytest.raises(DataError, match="patterns can be added only"):
            one.extend_encode(["a"], ["u:%x[1,0]"])


def test_a_failed_extension_leaves_the_encoder_as_it_was() -> None:
    encoder = Encoder(patterns=["u:%x[0,0]"]).fit([[["a", "b"]]])
    with pytest.raises(DataError, match="asks for column 5"):
        encoder.extend_encode([[["a", "b"]]], ["u:2=%x[0,5]"])
    assert encoder.tests_.to_list() == ["u:a"]
    assert encoder.encode([[["a", "c"]]]).unigram.ids.tolist() == [0]
    assert encoder.extend_encode([[["c", "b"]]]).unigram.ids.tolist() == [1]


def test_sequences_may_be_iterators() -> None:
    X = (iter([["a"], ["b"]]) for _ in range(2))
    assert Encoder(patterns=["u:%x[0,0]"]).fit_encode(X).offsets.tolist() == [0, 2, 4]


def test_feature_counts_of_the_specification() -> None:
    tokens = [["The", "DT"], ["U.S.", "NNP"], ["1.8%", "CD"], ["run-off", "NN"]]
    patterns = r"""
u:1=%x[-1,0]/%x[1,1]
u:2=%X[0,0]
u:3=%m[0,0,"^.?.?.?"]
u:4=%m[0,0,".?.?$"]
u:5=%t[0,0,"^\u"]
u:6=%t[0,0,"\p"]
u:7=%m[0,0,"\d*"]
u:8=%x[@1,0]|%x[@-1,0]
u:9=%x[-7,0]
u:10=%m[0,0,"\a\a*"]
u:11=%m[0,0,"\a*$"]
u:12=%M[0,0,"^.?.?"]
b:x=%x[0,1]
*
"""
    counts = Encoder(patterns=patterns, syntax="wapiti").fit([tokens]).feature_counts(2)
    assert (counts.tests, counts.features) == (40, 92)


def windows(size: int, kind: str = "") -> list[str]:
    """The feature sets of the paper: n-grm, n-grm-, n-grm+ and n-grm++."""
    half = size // 2
    spans = [(-k, k) for k in range(half + 1)]
    if kind == "-":
        spans = [(-half, half)]
    elif kind == "+":
        spans += [span for k in range(1, half + 1) for span in ((-k, k - 1), (1 - k, k))]
    elif kind == "++":
        spans = [(a, b) for a in range(-half, half + 1) for b in range(a, half + 1)]
    made = ["*:" + f"{a}_{b}=" + "".join(f"%x[{i},0]" for i in range(a, b + 1)) for a, b in spans]
    return made if kind == "-" else ["*", *made]


COUNTS = {
    "1-grm": 27,
    "3-grm-": 5_534,
    "3-grm": 5_561,
    "3-grm+": 6_665,
    "3-grm++": 6_719,
    "5-grm": 55_860,
    "5-grm+": 105_477,
    "5-grm++": 117_243,
    "7-grm": 144_870,
}


@pytest.mark.data
def test_windows_of_nettalk_give_the_counts_of_the_specification(data: Path) -> None:
    lines = (data / "nettalk" / "nettalk.data").read_text().splitlines()
    entries = [line.split("\t") for line in lines if line.count("\t") == 3]
    X = [entry[0] for entry in entries]
    assert (len(X), sum(map(len, X))) == (20_007, 146_934)
    labels = len({phoneme for entry in entries for phoneme in entry[1]})
    for name, tests in COUNTS.items():
        size, _, kind = name.partition("-grm")
        counts = Encoder(patterns=windows(int(size), kind)).fit(X).feature_counts(labels)
        assert (name, counts.tests) == (name, tests)
        assert counts.features == tests * labels * (labels + 1)
    sample = [X[i] for i in np.random.default_rng(0).permutation(len(X))[: len(X) * 8 // 10]]
    assert Encoder(patterns=windows(3)).fit(sample).feature_counts(labels).features == pytest.approx(14.3e6, rel=0.03)


def test_lemma_has_the_windows_of_the_paper() -> None:
    sets = {"": {"", "e", "lem"}, "-": {"lem"}, "+": {"", "e", "lem", "le", "em"}}
    sets["++"] = sets["+"] | {"l", "m"}
    for kind, expected in sets.items():
        made = made_at(windows(3, kind), "lemma", 1)
        assert {test.partition("=")[2] for test in made} == expected


def test_an_encoder_is_saved_and_loaded(tmp_path: Path) -> None:
    X = random_sequences(50)
    encoder = Encoder(patterns=PATTERNS, min_count=2).fit(X)
    encoder.save(tmp_path / "e.mill")
    again = textmill.load(tmp_path / "e.mill", expect=Encoder)
    np.testing.assert_array_equal(again.encode(X).unigram.ids, encoder.encode(X).unigram.ids)
    again.save(tmp_path / "f.mill")
    assert (tmp_path / "e.mill").read_bytes() == (tmp_path / "f.mill").read_bytes()


def test_a_function_is_passed_again_when_a_model_is_loaded(tmp_path: Path) -> None:
    Encoder(patterns=["u:%f[0,0]"], function=str.upper).fit(["ab"]).save(tmp_path / "e.mill")
    with pytest.raises(ModelFileError, match="pass it again"):
        textmill.load(tmp_path / "e.mill")
    again = textmill.load(tmp_path / "e.mill", function=str.upper)
    assert again.encode(["ab"]).unigram.ids.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("X", "fault"),
    [
        ([[["a", "b"], ["c"]]], r"sequence 1, token 2: found 1 columns, expected 2"),
        ([[["a", "b"]], [["a", 3]]], r"sequence 2, token 1: a value must be a str, not int"),
        ([[["a", "b"]], [7]], r"sequence 2, token 1: a token must be a row of columns, not int"),
        ([[["a", "b\ud800"]]], r"lone surrogate"),
    ],
)
def test_ragged_and_foreign_rows_are_refused_with_their_place(X: list[object], fault: str) -> None:
    with pytest.raises(DataError, match=fault):
        Encoder(patterns=["u:%x[0,0]/%x[0,1]"]).fit(X)


@pytest.mark.parametrize(
    ("token", "fault"),
    [
        ({"x": float("inf")}, "value of attribute 'x' is infinite"),
        ({"x": float("nan")}, "value of attribute 'x' is not a number"),
        ({"x": 1e300}, "infinite or too large"),
        ({"x": None}, "value of attribute 'x' is a NoneType"),
        ({3: "x"}, "must be a str, not int"),
        (5, "a token must be a dict or a list of attributes, not int"),
    ],
)
def test_attributes_that_cannot_be_used_are_refused(token: object, fault: str) -> None:
    with pytest.raises(DataError, match=rf"sequence 1, token 2: .*{fault}"):
        Encoder().fit([[["fine"], token]])


def test_data_with_other_columns_than_in_training_are_refused() -> None:
    encoder = Encoder(patterns=["u:%x[0,0]"]).fit([[["a", "b"]]])
    with pytest.raises(DataError, match="tokens have 3 columns, but those learned from had 2"):
        encoder.encode([[["a", "b", "c"]]])


def test_a_sequence_of_a_million_tokens_is_one_sequence() -> None:
    data = Encoder(patterns=["u:%x[-1,0]/%x[0,0]", "b"]).fit_encode(["ab" * 500_000])
    assert (data.sequences, data.tokens) == (1, 1_000_000)
    assert data.unigram.size == 3


def test_labels_are_numbered_and_unknown_ones_are_minus_one() -> None:
    offsets = np.array([0, 2, 3])
    assert label_ids([["B", "A"], ["C"]], offsets, np.array(["A", "B"])).tolist() == [1, 0, -1]
    with pytest.raises(DataError, match="sequence 2 has 1 tokens but 2 labels"):
        label_ids([["B", "A"], ["C", "C"]], offsets, np.array(["A"]))
    with pytest.raises(DataError, match="2 sequences but 1 sequences of labels"):
        label_ids([["B", "A"]], offsets, np.array(["A"]))


def test_fewer_columns_will_do_if_the_patterns_find_theirs() -> None:
    rows = [[("a", "X", "1"), ("b", "Y", "2")]]
    encoder = Encoder(patterns=["u:%x[0,0]", "u:%x[1,0]"]).fit(rows)
    whole = encoder.encode(rows)
    for narrow in ([[("a",), ("b",)]], [["a", "b"]], [Sentence((("a", "b"),))], [[("a", "X"), ("b", "Y")]]):
        assert encoder.encode(narrow).unigram.ids.tolist() == whole.unigram.ids.tolist()
    with pytest.raises(DataError, match="tokens have 4 columns, but those learned from had 3; give the same columns"):
        encoder.encode([[("a", "X", "1", "more")]])
    two = Encoder(patterns=["u:%x[0,0]", "u:p=%x[0,1]"]).fit(rows)
    fault = (
        r"tokens have one column, but those learned from had 3, "
        r"and pattern 'u:p=%x\[0,1\]' \(line 2\) asks for column 1"
    )
    with pytest.raises(DataError, match=fault):
        two.encode([["a"]])


def test_cells_are_numbered_by_their_strings_whatever_objects_hold_them() -> None:
    # the same objects again and again, equal strings in new objects, and more objects than are kept in sight
    shared = [f"w{i}" for i in range(300)]
    rng = np.random.default_rng(3)

    def sentences():  # each list is gone when the next one is made
        for s in range(4_000):
            words = [shared[i] for i in rng.integers(0, 300, 10)] + [f"w{i}" for i in rng.integers(0, 300, 10)]
            yield words + [f"v{20 * s + i}" for i in range(20)]

    words = list(sentences())
    rng = np.random.default_rng(3)
    cells = Encoder(patterns=["u:%x[0,0]"]).cells(sentences())
    number: dict[str, int] = {}
    expected = [number.setdefault(word, len(number)) for sentence in words for word in sentence]
    assert cells.ids(0).tolist() == expected
    assert cells.distinct(0) == list(number)


def test_known_tests_are_the_same_for_any_number_of_threads() -> None:
    rng = np.random.default_rng(5)
    X = [[f"w{i}" for i in rng.zipf(1.3, 25) % 5_000] for _ in range(600)]
    patterns = ["u:1=%x[0,0]", "b:2=%x[-1,0]/%x[0,0]", 'u:3=%t[0,0,"1"]/%x[1,0]', "b"]
    encoder = Encoder(patterns=patterns, n_jobs=1).fit(X[:300])
    one = encoder.encode(X)
    for threads in (2, 3, 8):
        encoder.n_jobs = threads
        other = encoder.encode(X)
        for kind in ("unigram", "bigram"):
            assert getattr(one, kind).indptr.tolist() == getattr(other, kind).indptr.tolist()
            assert getattr(one, kind).ids.tolist() == getattr(other, kind).ids.tolist()


def test_tests_of_an_earlier_stage_stay_under_their_parents() -> None:
    """A third stage adds no test of the second whose parent has no weight."""
    encoder = Encoder(patterns=["u:1=%x[0,0]"]).fit(["ab", "cd"])
    only_a = np.array([True, False, False, False])
    encoder.extend_encode(["ab", "cd"], ["u:2=%x[-1,0]%x[0,0]"], parents=[0], active=only_a)
    second = encoder.tests_.to_list()
    assert second == ["u:1=a", "u:1=b", "u:1=c", "u:1=d", "u:2=_x-1a"]
    active = np.array([True, False, False, False, False])
    encoder.extend_encode(["ab", "cd"], ["u:3=%x[-2,0]%x[-1,0]%x[0,0]"], parents=[1], active=active)
    assert encoder.tests_.to_list() == second
