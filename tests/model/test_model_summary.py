"""Summaries: what a person asks of a file, from its header and the declarations of its class."""

import numpy as np
import pytest
from reference.all_models import EXAMPLES

from textmill.errors import ModelFileError
from textmill.model import Estimator, Saved, Summary, load, summarize, summary
from textmill.model.file import write

NOWHERE = object()  # a default that no file can hold


def lines(model, path):
    model.save(path)
    return list(summarize(path).lines())


def test_a_topic_model_says_what_it_is_what_it_saw_and_what_was_chosen(tmp_path):
    assert lines(EXAMPLES["lda"](), tmp_path / "m.mill") == [
        "kind: topics.LDA",
        "purpose: Learn topics as distributions of words, documents as mixtures of topics.",
        "trained on: 6 documents, 54 words",
        "size: 2 topics, 26 terms",
        "options: n_topics=2, random_state=0",
        "vectorizer: vectors.TextVectorizer",
        "  vocabulary: corpus.Vocabulary",
        "    trained on: 6 documents, 54 tokens",
        "    size: 26 terms",
        "  weighting: vectors.Weighting",
        "    options: scheme=nnn",
    ]


def test_a_tagger_lists_its_labels(tmp_path):
    model = EXAMPLES["crf"]()
    facts = lines(model, tmp_path / "m.mill")
    assert facts[2] == f"size: 3 labels, {len(model.features_)} features"
    assert "labels: D, N, V" in facts
    assert "options: patterns=['u:%x[0,0]', 'b'], max_iter=5" in facts


@pytest.mark.parametrize("kind", sorted(EXAMPLES))
def test_every_kind_of_model_has_a_summary_without_internals(kind, tmp_path):
    model = EXAMPLES[kind]()
    text = "\n".join(lines(model, tmp_path / "m.mill"))
    assert text.startswith("kind: ")
    assert "purpose: " in text
    assert "bytes" not in text
    assert "_:" not in text
    if not isinstance(model, Estimator):
        return  # counts have no parameters
    defaults = type(model)().get_params(deep=False)
    shown = summarize(tmp_path / "m.mill").options
    for name, value in model.get_params(deep=False).items():
        if isinstance(value, int | float | str | None):
            assert (name in shown) == (value != defaults[name])


def test_many_labels_are_cut_and_one_is_singular(toys, tmp_path):
    model = toys.Bayes(smoothing=0.25).fit(np.ones((14, 1)), [f"l{n:02}" for n in range(14)])
    facts = lines(model, tmp_path / "m.mill")
    assert "size: 14 labels, 1 word" in facts
    assert "labels: " + ", ".join(f"l{n:02}" for n in range(12)) + " and 2 more" in facts
    assert "options: smoothing=0.25" in facts


def test_labels_that_are_numbers_are_listed(examples, tmp_path):
    assert "labels: 1, 3" in lines(examples["numbers"], tmp_path / "m.mill")


def test_options_of_strange_content_stay_on_one_short_line(tmp_path):
    write(tmp_path / "m.mill", Saved("toys.Line", 1, parameters={"x": "a\nb\x1b" + "c" * 100}))
    (option,) = [line for line in summarize(tmp_path / "m.mill").lines() if line.startswith("options")]
    assert option == "options: x=a b\ufffd" + "c" * 55 + "…"


def test_a_class_that_is_not_there_shows_its_header(tmp_path):
    saved = Saved("toys.Future", 9, parameters={"depth": 3}, state={"documents_": 5, "words_": {"dict": []}})
    write(tmp_path / "m.mill", saved)
    assert summarize(tmp_path / "m.mill") == Summary(
        "toys.Future", trained_on={"documents": 5}, options={"depth": 3}, labels=[]
    )


def test_a_class_that_is_no_model_and_arrays_of_another_layout_show_what_can_be_shown(tmp_path):
    write(tmp_path / "m.mill", Saved("toys.DataError", 1, arrays={"x": np.ones(3)}))
    assert list(summarize(tmp_path / "m.mill").lines()) == ["kind: toys.DataError"]
    write(tmp_path / "m.mill", Saved("toys.Line", 1, arrays={"other_": np.ones(3)}, fitted=False))
    assert next(summarize(tmp_path / "m.mill").lines()) == "kind: toys.Line, not fitted"


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "m.mill").write_bytes(b"nothing")
    with pytest.raises(ModelFileError, match=r"m\.mill: not a textmill model"):
        summarize(tmp_path / "m.mill")


def test_a_damaged_label_table_is_named(toys, tmp_path):
    path = tmp_path / "m.mill"
    toys.Bayes().fit(np.ones((2, 1)), ["é", "b"]).save(path)
    data = path.read_bytes()
    path.write_bytes(data.replace("é".encode(), b"\xc3\xc3"))
    with pytest.raises(ModelFileError, match=r"m\.mill: .*not all UTF-8"):
        summarize(path)
    with pytest.raises(ModelFileError, match=r"array 'classes_\.bytes' is not what was saved"):
        load(path, verify=True)


def test_parts_of_unknown_classes_and_defaults_that_no_file_holds_are_passed_over():
    index = Saved("vectors.InvertedIndex", 1)
    whole = Saved("mine.Whole", 1, parts={"a": Saved("nowhere.Nothing", 1), "b": None, "c": index})
    assert list(summary._own_parts(whole)) == ["c"]

    class Odd(Estimator):
        def __init__(self, *, first=NOWHERE, second=2, third=3):
            pass

    saved = Saved("mine.Odd", 1, parameters={"first": 1, "second": 2, "third": 4})
    assert summary._options(Odd, saved) == {"first": 1, "third": 4}


def test_labels_need_both_arrays_of_their_table():
    assert summary._labels(Saved("mine.Odd", 1, arrays={"classes_.bytes": np.zeros(3, np.uint8)})) == []
    assert summary._labels(Saved("mine.Odd", 1, arrays={"classes_": np.array([1, 2])})) == ["1", "2"]
