"""Labeled files: layout, gold columns, constraints, scores."""

from __future__ import annotations

import io

import numpy as np
import pytest

from textmill.corpus import read_columns, sample_chunks
from textmill.errors import DataError
from textmill.sequence import (
    CRF,
    Encoder,
    LabelingOptions,
    TagRepairs,
    evaluate_columns,
    label_attributes,
    label_sentences,
    label_tests,
    labeling,
    read_labeled,
    repair_lines,
    split_labels,
)

PATTERNS = ["u:w=%x[0,0]", "u:p=%x[0,1]", "u:p-1=%x[-1,1]", "b"]


@pytest.fixture(scope="module")
def tagger() -> CRF:
    data = split_labels(sample_chunks()[:150])
    return CRF(patterns=PATTERNS, max_iter=30).fit(data.X, data.y)


def test_the_label_is_appended_and_a_gold_column_stays(tagger: CRF) -> None:
    sentences = sample_chunks("test")[:60]
    text = "".join(label_sentences(tagger, sentences))
    read = list(read_columns(io.BytesIO(text.encode())))
    assert [sentence.columns[:3] for sentence in read] == [sentence.columns for sentence in sentences]
    assert [list(sentence.column(-1)) for sentence in read] == tagger.predict(split_labels(sentences).X)
    assert evaluate_columns(read).f1 > 0.9
    bare = split_labels(sentences).X
    assert text.count("\t") == sum(map(len, bare))
    first = next(iter(label_sentences(tagger, bare)))
    assert first.splitlines()[0] == f"{' '.join(next(iter(bare[0])))}\t{tagger.predict(bare[:1])[0][0]}"


def test_batches_do_not_change_the_answers(tagger: CRF, monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = sample_chunks("test")[:30]
    whole = list(label_sentences(tagger, sentences))
    monkeypatch.setattr(labeling, "BATCH", 7)
    assert list(label_sentences(tagger, sentences)) == whole


def test_scores_are_those_of_the_labeling_and_its_tokens(tagger: CRF) -> None:
    sentence = sample_chunks("test")[0]
    X = split_labels([sentence]).X
    texts = list(label_sentences(tagger, [sentence], LabelingOptions(k=3, scores=True)))
    best = tagger.predict_best(X, 3)[0]
    assert len(texts) == 3
    for rank, (text, (labels, score, probability)) in enumerate(zip(texts, best, strict=True), 1):
        head, *rows = text.splitlines()[:-1]
        assert head.split()[:2] == ["#", str(rank)]
        assert [float(x) for x in head.split()[2:]] == pytest.approx([score, probability], rel=1e-5)
        assert [row.rpartition("\t")[2].rpartition("/")[0] for row in rows] == labels
    marginals = tagger.predict_marginals(X)[0]
    [posterior] = label_sentences(tagger, [sentence], LabelingOptions(posterior=True, scores=True))
    head, *rows = posterior.splitlines()[:-1]
    assert float(head.split()[2]) == pytest.approx(float(np.prod(marginals.max(axis=1))), rel=1e-5)
    with pytest.raises(DataError, match="one answer"):
        LabelingOptions(posterior=True, k=2)


def test_known_labels_are_kept_and_other_strings_are_free(tagger: CRF) -> None:
    sentence = sample_chunks("test")[0]
    forced = ["B-VP", *["?"] * (len(sentence) - 1)]
    [text] = label_sentences(tagger, [sentence.with_column(forced, "chunk")], LabelingOptions(constrain=True))
    answers = [line.rpartition("\t")[2] for line in text.splitlines()[:-1]]
    assert answers[0] == "B-VP"
    assert answers[1:] != forced[1:]
    one_column = list(read_columns(io.BytesIO(b"the\n")))
    with pytest.raises(DataError, match="the last must hold the known labels"):
        list(label_sentences(tagger, one_column, LabelingOptions(constrain=True)))


def test_attribute_files_are_labeled_with_gold_and_answer() -> None:
    model = CRF(l1=0.1).fit([[["w=a"], ["w=b"]]] * 3, [["A", "B"]] * 3)
    file = io.BytesIO(b"A\tw=a\nA\tw=b\n\n")
    assert "".join(label_attributes(model, file)) == "A\tA\nA\tB\n\n"


def test_known_labels_of_attribute_files_are_kept() -> None:
    tagger = CRF(l1=0.1).fit([[{"a": 1.0}, {"b": 1.0}]] * 3, [["A", "B"]] * 3)
    text = b"B\ta\n?\tb\n"
    free, forced = (
        next(label_attributes(tagger, io.BytesIO(text), LabelingOptions(constrain=constrain))).splitlines()[:2]
        for constrain in (False, True)
    )
    assert free == ["B\tA", "?\tB"]
    assert forced[0] == "B\tB"


def test_rows_of_tests_may_have_any_length() -> None:
    data = read_labeled(io.BytesIO(b"u1 *2 A\nu3 B\n\nu1 A\nu3 *2 B\n" * 3), format="tests")
    tagger = CRF(encoder=Encoder(syntax="wapiti"), l1=0.1).fit(data.X, data.y)
    assert "".join(label_tests(tagger, io.BytesIO(b"u1 *2\nu3\n\nu3\n"))) == "u1 *2 A\nu3 B\n\nu3\tB\n\n"
    assert "".join(label_tests(tagger, io.BytesIO(b"u1 *2 B\nu3 ?\n"), LabelingOptions(constrain=True))).startswith(
        "u1 *2 B B\n"
    )


@pytest.mark.parametrize(
    ("line", "labeled"),
    [
        ("the DT", "the DT B-NP"),
        ("the\tDT", "the\tDT\tB-NP"),
        ("the  DT", "the  DT B-NP"),
        ("the\tDT\t", "the\tDT\tB-NP"),
        ("the DT\tB-VP", "the DT\tB-VP\tB-NP"),
        ("the DT O", "the DT O B-NP"),
    ],
)
def test_lines_stay_as_they_are(tagger: CRF, line: str, labeled: str) -> None:
    sentences = read_columns(io.BytesIO(f"{line}\n\n".encode()), keep_lines=True)
    assert "".join(label_sentences(tagger, sentences)) == f"{labeled}\n\n"


def test_one_column_is_parted_from_its_label_by_a_tab() -> None:
    tagger = CRF(patterns=["u:%x[0,0]"], l1=0.1).fit([["a", "b"]] * 3, [["A", "B"]] * 3)
    assert "".join(label_sentences(tagger, read_columns(io.BytesIO(b"b\na\n"), keep_lines=True))) == "b\tB\na\tA\n\n"


def test_a_tagger_of_words_takes_one_column_though_it_learned_from_two() -> None:
    data = split_labels(sample_chunks()[:100])
    tagger = CRF(patterns=["u:w=%x[0,0]", "u:s=%suffix[0,0,2]", "b"], max_iter=10).fit(data.X, data.y)
    words = [[(word,) for word, _ in sentence] for sentence in data.X]
    assert tagger.predict(words) == tagger.predict(data.X)


def test_repaired_tags_are_written_and_counted() -> None:
    tagger = CRF(patterns=["u:%x[0,0]"], l1=0.1).fit([["a", "b", "c"]] * 3, [["O", "I-x", "B-x"]] * 3)
    repairs = TagRepairs("IOB2")
    sentences = list(read_columns(io.BytesIO(b"a\nb\n\nc\nb\n\nb\n"), keep_lines=True))
    assert "".join(label_sentences(tagger, sentences, repair=repairs)) == "a\tO\nb\tB-x\n\nc\tB-x\nb\tI-x\n\nb\tB-x\n\n"
    assert (repairs.tags, repairs.sequences, repairs.seen) == (2, 2, 3)
    [text] = label_sentences(tagger, sentences[:1], LabelingOptions(scores=True), repair=repairs)
    own = tagger.predict_marginals([["a", "b"]])[0][1, tagger.classes_.tolist().index("I-x")]
    assert text.splitlines()[2] == f"b\tB-x/{own:.6g}", "the probability is that of the label before"
    with pytest.raises(DataError, match="scheme must be one of"):
        TagRepairs("IOB")


def test_tags_in_a_file_are_repaired_and_the_rest_of_the_line_stays() -> None:
    text = b"I-x\t a I-x\nb  b\tI-y \n\nc O O\n"
    repairs = TagRepairs("IOBES")
    lines = "".join(repair_lines(read_columns(io.BytesIO(text), keep_lines=True), repairs))
    assert lines == "I-x\t a S-x\nb  b\tS-y\n\nc O O\n\n"
    assert str(repairs) == "repaired 2 tags in 1 of 2 sequences"
