"""Loading: the right class, version, parameters and functions, or a message that says what to do."""

import json

import numpy as np
import pytest
from reference.model_bytes import compact

from textmill.corpus import Vocabulary
from textmill.errors import DataError, ModelFileError
from textmill.model import Model, Saved, Transformer, describe, load
from textmill.model.file import read, write
from textmill.topics import LDA, LSA
from textmill.vectors import TextVectorizer


def split(text):
    return text.split()


@pytest.fixture
def changed(tmp_path, examples):
    """Save an example after changing what its file holds."""

    def change(name, edit):
        path = tmp_path / f"{name}.mill"
        examples[name].save(path)
        saved = read(path)
        edit(saved)
        write(path, saved)
        return path

    return change


def refused(path, message, **options):
    with pytest.raises(ModelFileError) as fault:
        load(path, **options)
    text = str(fault.value)
    assert text.startswith(f"{path}: ")
    assert message in text
    assert "\n" not in text
    assert ";" in text
    return text


def test_the_expected_class_or_a_base_of_it_is_accepted(toys, examples, tmp_path):
    examples["everything"].save(tmp_path / "m.mill")
    for expected in (toys.Everything, Transformer, Model):
        assert isinstance(load(tmp_path / "m.mill", expect=expected), toys.Everything)
    refused(tmp_path / "m.mill", "holds a toys.Everything, not a Bayes; pass another file", expect=toys.Bayes)
    refused(tmp_path / "m.mill", "holds a toys.Everything, not an LDA; pass another file", expect=LDA)


def test_a_newer_format_asks_for_an_upgrade(changed):
    refused(changed("bayes", lambda saved: setattr(saved, "format", 2)), "newer than this textmill; upgrade textmill")


def test_an_older_format_is_upgraded(changed, examples):
    def age(saved):
        saved.format = 1
        saved.arrays["W"] = saved.arrays.pop("weights_")

    loaded = load(changed("everything", age), verify=True)
    assert np.array_equal(loaded.weights_, examples["everything"].weights_)
    loaded.save(changed("everything", age))
    assert describe(changed("everything", lambda saved: None))["format"] == 2


def test_an_older_format_that_is_not_what_it_says_is_a_fault(changed):
    refused(changed("everything", lambda saved: setattr(saved, "format", 1)), "does not hold what format 1 should")


def test_a_class_that_forgot_to_upgrade_says_so(changed, toys, monkeypatch):
    path = changed("bayes", lambda saved: None)
    monkeypatch.setattr(toys.Bayes, "format_version", 3)
    refused(path, "has format 1 of toys.Bayes, which can no longer be read; train again")


def test_functions_are_passed_again_by_name(toys, tmp_path):
    path = tmp_path / "m.mill"
    inner = toys.Everything(split=split).fit(None)
    toys.Everything(split=split, inner=inner).fit(None).save(path)
    message = refused(path, "parameter 'inner__split' was the function", inner__no=split)
    assert f"{__name__}.split" in message
    assert "pass it again: load(path, inner__split=...)" in message
    refused(path, "load(path, split=...)", inner__split=split)
    loaded = load(path, split=split, inner__split=str.split)
    assert loaded.split is split
    assert loaded.inner.split == str.split
    assert describe(path)["parameters"]["split"] == f"<callable {__name__}.split>"


def test_functions_that_no_parameter_asks_for_are_refused(toys, tmp_path):
    path = tmp_path / "m.mill"
    toys.Everything(split=split).fit(None).save(path)
    with pytest.raises(DataError, match=r"m\.mill: the model has no callable parameter 'cut'; do not pass it"):
        load(path, split=split, cut=split)
    with pytest.raises(DataError, match="split must be a function like"):
        load(path, split="a")


def test_parameters_that_the_file_lacks_take_their_defaults(changed):
    loaded = load(changed("bayes", lambda saved: saved.parameters.clear()))
    assert loaded.smoothing == 1.0


def test_parameters_without_default_must_be_there(toys, tmp_path, monkeypatch):
    def init(self, *, smoothing):
        self.smoothing = smoothing

    monkeypatch.setattr(toys.Bayes, "__init__", init)
    write(tmp_path / "m.mill", Saved("toys.Bayes", 1, fitted=False))
    refused(tmp_path / "m.mill", "parameter 'smoothing' must be there once")


def test_every_disagreement_between_file_and_class_is_a_fault(changed):
    def edits(saved):
        words = saved.parts["words"]
        yield lambda: saved.parameters.update(nonsense=1), "parameter 'nonsense' that this Everything does not have"
        yield lambda: saved.parameters.update({"x\n" * 90: 1}), "that this Everything does not have"
        yield lambda: saved.parts.update(nonsense=words), "parameter 'nonsense' that this Everything does not have"
        yield lambda: saved.parameters.update({"x\n": {"callable": "f"}}), "that this Everything does not have"
        yield lambda: saved.parts.update(size=words), "parameter 'size' must be there once"
        yield lambda: saved.parts.update(words=None), "'words' of toys.Everything must not be missing"
        yield lambda: saved.parts.pop("words_"), "a value or part of the toys.Everything is missing or unknown"
        yield (
            lambda: saved.parts.update(words_=saved.parts["inner"]),
            "'words_' of toys.Everything cannot be a 'toys.Ev",
        )
        yield lambda: saved.state.pop("seen_"), "a value or part of the toys.Everything is missing or unknown"
        yield lambda: saved.state.update(more_=1), "a value or part of the toys.Everything is missing or unknown"
        yield lambda: saved.state.update(seen_=True), "'seen_' is a bool, which it cannot be"
        yield lambda: saved.state.update(alpha_=1), "'alpha_' is a int, which it cannot be"
        yield lambda: saved.state.update(path_={"tuple": []}), "'path_' is a tuple, which it cannot be"
        yield lambda: saved.state.update(note_={"callable": "os.system"}), "'note_' has a value of no known form"
        yield lambda: saved.parameters.update(size={"eval": "1"}), "parameter 'size' has a value of no known form"
        yield lambda: saved.arrays.pop("weights_"), "array 'weights_' with axes (class term) is missing"
        yield lambda: saved.arrays.update(more_=np.ones(1)), "array 'more_' is unknown"
        yield lambda: saved.arrays.update(columns_=np.ones(3)), "array 'columns_' is float64 but must be int32"
        yield lambda: saved.arrays.pop("terms_.bytes"), "array 'terms_.bytes' with axes (terms_ byte) is missing"
        yield lambda: setattr(saved, "fitted", False), "the toys.Everything is not fitted but has arrays or values"
        yield lambda: setattr(saved, "class_name", "toys.Shy"), "holds a 'toys.Shy', which this textmill does not have"
        yield lambda: setattr(saved, "class_name", "toys.Arcs"), "holds a toys.Arcs, which is no model"
        yield lambda: setattr(saved, "class_name", "toys.DataError"), "holds a toys.DataError, which is no model"
        yield lambda: setattr(saved, "class_name", "model.Model"), "holds a model.Model, which is no model"

    count = sum(1 for _ in edits(read(changed("everything", lambda saved: None))))
    assert count == 24
    for number in range(count):
        message = ""

        def edit(saved, number=number):
            nonlocal message
            change, message = list(edits(saved))[number]
            change()

        refused(changed("everything", edit), message)


def test_an_unfitted_model_with_arrays_is_a_fault(changed):
    refused(changed("bayes", lambda saved: setattr(saved, "fitted", False)), "is not fitted but has arrays")


def test_wrong_values_are_found_at_once_with_verify_and_else_before_use(changed):
    def put(name, values):
        def edit(saved):
            array = saved.arrays[name].copy()
            array.view(np.uint8 if array.dtype == bool else array.dtype).flat[: len(values)] = values
            saved.arrays[name] = array

        return edit

    for edit, message in [
        (put("columns_", [3]), "'columns_' holds 3 at position 0, but only 0 to 2 are valid"),
        (put("columns_", [0, -1]), "'columns_' holds -1 at position 1"),
        (put("arcs_.target", [2]), "'arcs_.target' holds 2"),
        (put("rows_", [0, 9]), "'rows_' falls from 9 to 3 after position 1"),
        (put("rows_", [1]), "'rows_' runs from 1 to 3 but must run from 0 to 3"),
        (put("flags_", [7]), "'flags_' has a byte that is neither 0 nor 1 at position 0"),
        (put("terms_.offsets", [0, 2]), "'terms_': a string begins in the middle of a character"),
        (put("terms_.bytes", [255]), "'terms_': the strings are not UTF-8"),
    ]:
        path = changed("everything", edit)
        refused(path, message, verify=True)
        loaded = load(path)
        with pytest.raises(ModelFileError) as fault:
            loaded.transform([[1.0]])
        assert str(fault.value).startswith(f"{path}: {message}")
        assert str(fault.value).endswith("the file is damaged: copy it again or save the model again")
        with pytest.raises(ModelFileError, match="not saved"):
            loaded.save(path)


def test_wrong_values_in_a_model_inside_are_found_too(changed):
    def edit(saved):
        saved.parts["inner"].arrays["columns_"] = np.array([0, 0, 9], np.int32)

    path = changed("everything", edit)
    assert refused(path, "'columns_' holds 9 at position 2", verify=True).count(str(path)) == 1
    load(path).words_.verify()
    with pytest.raises(ModelFileError, match="holds 9"):
        load(path).inner.transform([[1.0]])


def test_labels_are_checked_when_the_file_is_opened(changed):
    def edit(saved):
        saved.arrays["classes_.bytes"] = np.array([255, 255, 255, 255], np.uint8)

    refused(changed("bayes", edit), "not all UTF-8")


def test_a_file_left_by_a_killed_save_is_not_opened(examples, tmp_path):
    folder = tmp_path / ".m.mill.saving-abc"
    folder.mkdir()
    examples["line"].save(folder / "unfinished")
    refused(folder / "unfinished", "was left by a save that was killed")


def test_opening_reads_the_header_and_nothing_else(toys, tmp_path):
    """A file with two sparse gigabytes of zeros opens without reading them; it has no checksums that would be read."""
    path = tmp_path / "m.mill"
    model = toys.Line()
    model.weights_ = np.zeros(1 << 17)
    model.save(path)
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    entries = 1 << 28
    header["weights_"].update(shape=[entries], data_offsets=[0, 8 * entries])
    description = json.loads(header["__metadata__"]["textmill"])
    del description["crc32"]
    header["__metadata__"]["textmill"] = compact(description)
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + 8 * entries)

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    before = resident()
    loaded = load(path, verify=True)
    assert loaded.weights_.shape == (entries,)
    assert resident() - before < 20_000_000


def test_a_description_says_whether_there_are_checksums(examples, tmp_path):
    examples["everything"].save(tmp_path / "m.mill")
    assert describe(tmp_path / "m.mill")["checksums"] is True


def test_values_of_a_model_that_is_not_fitted_are_refused(changed):
    def edit(saved):
        saved.fitted = False
        saved.arrays.clear()
        saved.parts.clear()

    refused(changed("everything", edit), "is not fitted but has arrays or values")


def test_a_function_of_a_parameter_serves_what_was_fitted_by_it(tmp_path):
    model = LSA(n_topics=1, vectorizer=TextVectorizer(vocabulary=Vocabulary(tokenizer=str.split)))
    model.fit(["a b c", "a d e", "b d f"]).save(tmp_path / "m.mill")
    loaded = load(tmp_path / "m.mill", vectorizer__vocabulary__tokenizer=str.split)
    assert loaded.transform(["a c"]) == pytest.approx(model.transform(["a c"]))
    with pytest.raises(ModelFileError, match="vectorizer__vocabulary__tokenizer"):
        load(tmp_path / "m.mill")
