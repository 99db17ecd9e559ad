"""Models: what is declared is saved, comes back equal, and gives the same bytes."""

import copy
import json
import os
import pickle
import sys
import threading
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file
from sklearn.base import clone

from textmill.errors import DataError, ModelFileError
from textmill.model import Classifier, Estimator, Model, StringTable, base, check_fitted, describe, load


def assert_equal(left, right):
    """Same class and same content, through all models inside."""
    assert type(left) is type(right)
    if isinstance(left, Model):
        names = vars(left).keys() - {"_source"}
        assert names == vars(right).keys() - {"_source"}
        for name in names:
            assert_equal(getattr(left, name), getattr(right, name))
    elif isinstance(left, np.ndarray):
        assert left.dtype == right.dtype
        assert np.array_equal(left, right)
    elif isinstance(left, tuple):
        for one, other in zip(left, right, strict=True):
            assert_equal(one, other)
    else:
        assert left == right


def test_every_kind_of_model_comes_back_equal_and_saves_to_the_same_bytes(examples, tmp_path):
    for name, model in examples.items():
        model.save(tmp_path / name)
        for verify in (False, True):
            loaded = load(tmp_path / name, verify=verify)
            assert ("_source" in vars(loaded)) is not verify
            if name == "everything":
                model.alpha_ = model.inner.alpha_ = 1.0  # a NumPy scalar comes back as a float
            assert_equal(loaded, model)
            loaded.save(tmp_path / f"{name} again")
            assert (tmp_path / f"{name} again").read_bytes() == (tmp_path / name).read_bytes()


def test_the_library_that_wrote_the_file_reads_the_same_arrays(examples, tmp_path):
    examples["everything"].save(tmp_path / "m.mill")
    arrays = load_file(tmp_path / "m.mill")
    model = examples["everything"]
    assert np.array_equal(arrays["weights_"], model.weights_)
    assert arrays["part/inner/part/words/terms.bytes"].tobytes() == "Mühlečas".encode()
    assert np.array_equal(arrays["arcs_.target"], model.arcs_.target)


def test_equal_models_are_equal_files_whatever_their_memory_looks_like(toys, tmp_path):
    def saved(model):
        model.save(tmp_path / "m.mill")
        return (tmp_path / "m.mill").read_bytes()

    X = np.arange(12.0).reshape(3, 4)
    model = toys.Bayes().fit(X, ["b", "a", "b"])
    expected = saved(model)
    model.word_counts_ = np.asfortranarray(model.word_counts_)
    model.document_counts_ = model.document_counts_.astype(">f8")
    assert saved(model) == expected
    wide = np.zeros((4, 8))
    wide[::2, ::2] = model.word_counts_
    model.word_counts_ = wide[::2, ::2]
    model.classes_ = model.classes_.astype(object)
    assert saved(model) == expected
    vars(model).update(dict(reversed(vars(model).items())))
    assert saved(model) == expected


def test_files_do_not_depend_on_the_order_of_dicts_and_sets(toys, tmp_path):
    words = [f"word {i}" for i in range(100)]
    contents = set()
    for order in (words, words[::-1]):
        model = toys.Everything(stop=frozenset(order), limit=dict.fromkeys(order, 1)).fit(None)
        model.save(tmp_path / "m.mill")
        contents.add((tmp_path / "m.mill").read_bytes())
    assert len(contents) == 1


def test_style_guide_model_needs_two_lines_and_works_after_loading(toys, examples, tmp_path):
    X = np.array([[2.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    for name in ("bayes", "numbers"):
        examples[name].save(tmp_path / "m.mill")
        loaded = load(tmp_path / "m.mill", expect=toys.Bayes)
        assert np.array_equal(loaded.predict(X), examples[name].predict(X))
        y = examples[name].classes_[[1, 0]]
        assert_equal(loaded.partial_fit(X, y), examples[name].partial_fit(X, y))


def test_loaded_arrays_are_mapped_and_read_only_until_made_writable(examples, tmp_path):
    examples["everything"].save(tmp_path / "m.mill")
    loaded = load(tmp_path / "m.mill")
    for array in (loaded.weights_, loaded.arcs_.source, loaded.flags_):
        assert not array.flags.writeable
        assert isinstance(array.base, np.memmap) or isinstance(array.base.base, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        loaded.weights_ += 1
    loaded.make_writable()
    loaded.weights_ += 1
    loaded.arcs_.source[0] = 1
    kept = loaded.weights_
    loaded.make_writable()
    assert loaded.weights_ is kept
    assert_equal(load(tmp_path / "m.mill").arcs_, examples["everything"].arcs_)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (2, 0)])
def test_arrays_without_entries_survive(shape, toys, tmp_path):
    model = toys.Bayes()
    model.classes_ = np.array(["a", "b"][: shape[0]], dtype=str)
    model.word_counts_ = np.zeros(shape)
    model.document_counts_ = np.zeros(shape[0])
    model.save(tmp_path / "m.mill")
    loaded = load(tmp_path / "m.mill", verify=True)
    assert loaded.word_counts_.shape == shape
    toys.Words([], []).save(tmp_path / "m.mill")
    assert load(tmp_path / "m.mill", verify=True).terms.to_list() == []


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), min_size=1, max_size=8, unique=True))
def test_labels_of_any_letters_come_back(labels):
    table = StringTable(labels)
    assert base._labels(table).tolist() == labels


def test_labels_of_uneven_length_do_not_fill_the_memory():
    labels = base._labels(StringTable(["x" * 100_000, *map(str, range(1000))]))
    assert labels.dtype == object
    assert base._labels(StringTable(["en", "cs"])).dtype == "<U2"


def test_numeric_and_boolean_labels_keep_their_type(toys, tmp_path):
    X = np.ones((2, 1))
    for y in ([True, False], np.array([3, 4], np.int8), [0.5, 1.5]):
        model = toys.Bayes().fit(X, y)
        model.save(tmp_path / "m.mill")
        assert_equal(load(tmp_path / "m.mill", verify=True).classes_, model.classes_)


def test_lists_of_strings_are_saved_and_come_back_as_a_table(toys, tmp_path):
    words = toys.Words([], [1, 2])
    words.terms = ["a", "b"]
    words.save(tmp_path / "m.mill")
    assert load(tmp_path / "m.mill").terms == StringTable(["a", "b"])


def test_an_unfitted_model_is_not_saved_but_may_be_a_parameter(toys, tmp_path):
    with pytest.raises(ModelFileError, match=r"m\.mill: not saved: this Everything is not fitted yet; call fit first"):
        toys.Everything().save(tmp_path / "m.mill")
    assert os.listdir(tmp_path) == []
    toys.Everything(inner=toys.Bayes(smoothing=2.0)).fit(None).save(tmp_path / "m.mill")
    inner = load(tmp_path / "m.mill", verify=True).inner
    assert (type(inner), inner.smoothing) == (toys.Bayes, 2.0)
    with pytest.raises(DataError, match="this Bayes is not fitted yet; call fit, or load"):
        inner.predict(np.ones((1, 1)))


def test_a_fit_that_broke_off_leaves_no_fitted_model(toys):
    model = toys.Bayes()
    model.classes_ = np.array(["a"])
    with pytest.raises(DataError, match="not fitted"):
        check_fitted(model)


def test_values_are_verified_once_before_first_use(toys, examples, tmp_path, monkeypatch):
    examples["everything"].save(tmp_path / "m.mill")
    calls = []
    monkeypatch.setattr(toys.Everything, "check_values", lambda self: (calls.append(self), check_fitted(self)))
    loaded = load(tmp_path / "m.mill")
    assert calls == []
    loaded.transform([[1.0]])
    assert calls == [loaded.inner, loaded]  # check_values may use methods that begin with check_fitted
    loaded.transform([[1.0]])
    loaded.inner.transform([[1.0]])
    assert len(calls) == 2


def test_a_second_thread_waits_for_the_verification(toys, examples, tmp_path, monkeypatch):
    examples["line"].save(tmp_path / "m.mill")
    loaded = load(tmp_path / "m.mill")
    begun, go_on, order = threading.Event(), threading.Event(), []

    def slow(self):
        begun.set()
        go_on.wait(10)
        order.append("verified")

    monkeypatch.setattr(toys.Line, "check_values", slow)
    first = threading.Thread(target=loaded.predict, args=[np.ones((1, 3))])
    second = threading.Thread(target=lambda: (loaded.predict(np.ones((1, 3))), order.append("used")))
    first.start()
    begun.wait(10)
    second.start()
    second.join(0.05)
    go_on.set()
    first.join(10)
    second.join(10)
    assert order[-1] == "used"


def test_the_hook_of_a_class_speaks_for_the_file(toys, tmp_path, monkeypatch):
    model = toys.Everything(words=toys.Words(map(str, range(13)), range(13))).fit(None)
    with pytest.raises(ModelFileError, match="not saved: thirteen words bring bad luck"):
        model.save(tmp_path / "m.mill")
    with monkeypatch.context() as patch:
        patch.setattr(toys.Everything, "check_values", lambda self: None)
        model.save(tmp_path / "m.mill")
    loaded = load(tmp_path / "m.mill")
    for _ in range(2):  # it stays unverified
        with pytest.raises(ModelFileError, match=r"m\.mill: thirteen words bring bad luck; the file is damaged"):
            loaded.transform([[1.0]])


def test_what_contradicts_the_declarations_is_not_saved(toys, tmp_path):
    def broken(**attributes):
        model = toys.Everything().fit(None)
        vars(model).update(attributes)
        return model

    for model, message in [
        (broken(weights_=np.ones((2, 4))), "'flags_' has 3 along term, but 'weights_' asks for 4"),
        (broken(columns_=np.array([0, 1, 9], np.int32)), "'columns_' holds 9 at position 2"),
        (broken(rows_=np.array([0, 5, 3])), "'rows_' falls from 5 to 3"),
        (broken(weights_=np.ones((2, 3), np.float16)), "'weights_' is float16 but must be float32 or float64"),
    ]:
        with pytest.raises(ModelFileError, match=message):
            model.save(tmp_path / "m.mill")
    with pytest.raises(TypeError, match="alpha_ is 'x', but its state declares"):
        broken(alpha_="x").save(tmp_path / "m.mill")
    with pytest.raises(DataError, match="parameter 'limit' is"):
        toys.Everything(limit=object()).fit(None).save(tmp_path / "m.mill")
    assert os.listdir(tmp_path) == []


def test_whole_numbers_in_a_float_state_become_floats(toys, tmp_path):
    model = toys.Everything().fit(None)
    model.alpha_, model.seen_, model.note_ = 2, np.int64(5), "yes"
    model.save(tmp_path / "m.mill")
    loaded = load(tmp_path / "m.mill")
    assert [type(value) for value in (loaded.alpha_, loaded.seen_, loaded.note_)] == [float, int, str]


def test_mistakes_in_declarations_are_found_when_the_class_is_made():
    for body in (
        {"indices": {"x_": "term"}},
        {"layout": {"x_": "entry: int32"}, "indices": {"x_": "term"}},
        {"layout": {"x_": "row: int64"}, "offsets": {"x_": "row"}},
        {"layout": {"x_": "row: int65"}},
    ):
        with pytest.raises(TypeError):
            type("Wrong", (Model,), body)


def test_declarations_of_bases_are_added_up(toys):
    assert toys.Bayes.declared.fields.keys() == {"classes_", "word_counts_", "document_counts_"}
    heir = type("Heir", (toys.Bayes,), {"layout": {"more_": "class"}, "state": {"n_": int}})
    assert heir.declared.attributes == {"classes_", "word_counts_", "document_counts_", "more_", "n_"}
    assert Classifier.layout == {"classes_": "class: label"}


def test_a_vocabulary_that_is_a_parameter_survives_cloning(toys):
    words = toys.Words(["a", "b"], [1, 2])
    copied = clone(toys.Everything(words=words)).words
    assert_equal(copied, words)


def test_loaded_models_can_be_copied_and_sent_to_another_process_by_dask(examples, tmp_path):
    for name, model in examples.items():
        model.save(tmp_path / name)
        loaded = load(tmp_path / name)
        for twin in (copy.deepcopy(loaded), pickle.loads(pickle.dumps(loaded))):  # noqa: S301
            twin.save(tmp_path / "twin")
            assert (tmp_path / "twin").read_bytes() == (tmp_path / name).read_bytes()


def test_a_description_is_json_and_needs_no_class(examples, tmp_path, monkeypatch):
    examples["everything"].save(tmp_path / "m.mill")
    monkeypatch.delitem(sys.modules, "textmill.toys")
    found = json.loads(json.dumps(describe(tmp_path / "m.mill"), allow_nan=False))
    assert (found["class"], found["format"], found["fitted"]) == ("toys.Everything", 2, True)
    assert found["parameters"] == {"limit": -0.0, "size": 3, "split": None, "stop": [], "window": [1, 2]}
    assert found["state"] == {"alpha_": 1.0, "note_": None, "path_": [1, 2], "seen_": 7}
    crc32 = f"{zlib.crc32(examples['everything'].weights_.tobytes()):08x}"
    assert found["arrays"]["weights_"] == {"dtype": "float64", "shape": [2, 3], "bytes": 48, "crc32": crc32}
    assert found["parts"]["inner"]["parts"]["words"]["class"] == "toys.Words"
    assert found["parts"]["inner"]["parameters"]["limit"] == "inf"
    with pytest.raises(ModelFileError, match="does not have; upgrade textmill"):
        load(tmp_path / "m.mill")


def test_a_fingerprint_tells_arrays_parts_and_their_absence_apart(examples):
    model = examples["everything"]
    before = model.fingerprint()
    assert copy.deepcopy(model).fingerprint() == before
    changed = copy.deepcopy(model)
    changed.weights_ = changed.weights_ + 1
    inside = copy.deepcopy(model)
    inside.inner.alpha_ = 0.25
    prints = {before, changed.fingerprint(), inside.fingerprint()}
    assert len(prints) == 3


def test_parts_that_are_parameters_are_not_fitted_ones():
    class Holder(Estimator, Model):
        parts = {"words": "corpus.Vocabulary", "words_": "corpus.Vocabulary"}

        def __init__(self, *, words=None):
            self.words = words

    class Box(Model):
        parts = {"words": "corpus.Vocabulary"}

    assert Holder.declared.fitted_parts == {"words_"}
    assert Box.declared.fitted_parts == {"words"}


@pytest.mark.parametrize(("labels", "kind"), [
    (["x" * 100] * 300, "U"),
    (["x"] * 99 + ["y" * 48], "U"),
    (["x"] * 99 + ["y" * 52], "O"),
    (["x", "y\0"], "O"),
])  # fmt: skip
def test_labels_have_a_fixed_width_unless_that_wastes_memory(labels, kind):
    array = base._labels(StringTable(labels))
    assert (array.dtype.kind, array.tolist()) == (kind, labels)
