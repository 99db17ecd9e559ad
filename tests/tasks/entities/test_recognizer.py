"""The recognizer: both ways of training, both presets, files, merging, figures, bad input."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression as SklearnLogistic

import textmill
from textmill.corpus import Sentence
from textmill.errors import DataError, ModelFileError
from textmill.sequence import CRF, CountedMarkov
from textmill.tasks import EntityRecognizer
from textmill.tasks.entities import (
    ERROR_KINDS,
    PhraseFeatures,
    entity_report,
    evaluate_entities,
    explain_entities,
    find_errors,
    label_entities,
    label_running_text,
    read_entities,
    sample_entities,
    tune_entities,
)
from textmill.tasks.entities.extraction import find_candidates
from textmill.tasks.entities.spans import read_tags

FILES = Path(__file__).parents[2] / "files" / "tasks"


def split(sentences):
    return [list(one.column("word")) for one in sentences], [list(one.column("tag")) for one in sentences]


@pytest.fixture(scope="module")
def data():
    return split(sample_entities(300, random_state=1)), split(sample_entities(100, random_state=2))


@pytest.fixture(scope="module")
def model(data):
    return EntityRecognizer(language="es").fit(*data[0])


def test_names_and_types_are_found(model, data):
    assert model.classes_.tolist() == ["LOC", "MISC", "ORG", "PER"]
    assert model.score(*data[1]) > 0.95


def test_gold_phrases_teach_phase_two_alone(data):
    model = EntityRecognizer(phrases="gold").fit(*data[0])
    assert len(model.mixing_) == 0
    assert model.score(*data[1]) > 0.9
    assert {one.probability <= 1 for names in model.entities(data[1][0][:20]) for one in names} == {True}


def test_strong_parts_do_the_same_job(data):
    X, y = data[0][0][:120], data[0][1][:120]
    model = EntityRecognizer(preset="strong", extractor=CRF(l1=0.1, max_iter=30), n_folds=2).fit(X, y)
    assert model.score(*data[1]) > 0.9
    assert model.chain_.classes_.tolist()[0].startswith("B-")
    assert len(model.mixing_) == 12


def test_a_chain_over_full_tags_is_asked(data, tmp_path):
    X, y = data[0][0][:120], data[0][1][:120]
    model = EntityRecognizer(chain=CRF(l1=0.1, max_iter=30), n_folds=2).fit(X, y)
    table = model.candidates(data[1][0][:20])
    found = find_candidates(model.extractor_, model.chain_, data[1][0][:20], model.classes_.tolist(), 0.02, 1)
    assert found.typed.shape == (len(table.phrases.begin), 4)
    assert (found.typed.sum(axis=1) <= 1 + 1e-9).all()
    # P(span, type) is that of the chain over all its labelings
    sentence = data[1][0][0][:4]
    best = model.chain_.predict_best([sentence], k=9 ** len(sentence))[0]
    expected = {}
    for tags, _, p in best:
        spans = read_tags([tags])
        for a, b, label in zip(*map(np.ndarray.tolist, (spans.phrases.begin, spans.phrases.end, spans.label)),
                               strict=True):  # fmt: skip
            if tags[a][0] == "B":
                expected[a, b, spans.labels[label]] = expected.get((a, b, spans.labels[label]), 0.0) + p
    found = find_candidates(model.extractor_, model.chain_, [sentence], model.classes_.tolist(), 1e-6, 1)
    for a, b, row in zip(found.begin.tolist(), found.end.tolist(), found.typed, strict=True):
        for name, p in zip(model.classes_.tolist(), row.tolist(), strict=True):
            assert p == pytest.approx(expected.get((a, b, name), 0.0), abs=1e-5)
    assert model.score(*data[1]) > 0.9
    model.save(tmp_path / "m.mill")
    assert textmill.load(tmp_path / "m.mill").predict(data[1][0]) == model.predict(data[1][0])


def test_several_threads_may_ask_one_model(data):
    model = EntityRecognizer(language="es").fit(*data[0])
    expected = model.predict(data[1][0])
    fresh = textmill.tasks.EntityRecognizer(language="es").fit(*data[0])  # has met no other words yet
    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(fresh.predict, data[1][0]) for _ in range(12)]
        assert all(job.result(timeout=60) == expected for job in jobs)


@pytest.mark.parametrize("text", ['{"text": "Ana vive"}', '{"text":"Ana"}', '[{"word": "Ana", "tag": "B-PER"}]'])
def test_json_is_no_column_file(tmp_path, text):
    path = tmp_path / "names.jsonl"
    path.write_text(text + "\n")
    with pytest.raises(DataError, match=r"names.jsonl: JSON is no column file; give one token per line"):
        read_entities(path)


def test_a_model_of_format_1_still_answers():
    model = textmill.load(FILES / "entities-1.mill")
    names = model.entities([["Luis", "vive", "en", "Lima"]])[0]
    assert [(name.text, name.label) for name in names] == [("Luis", "PER"), ("Lima", "LOC")]
    assert [name.probability for name in names] == pytest.approx([0.9999999975507328, 0.9999999975506624], abs=1e-9)


def test_any_classifier_with_probabilities_is_phase_two(data):
    X, y = data[0][0][:150], data[0][1][:150]
    model = EntityRecognizer(classifier=SklearnLogistic(max_iter=200), n_folds=3).fit(X, y)
    assert model.score(*data[1]) > 0.9
    with pytest.raises((DataError, ModelFileError, TypeError)):
        model.save("m.mill")


def test_a_joint_extractor_needs_gold_phrases_no_more_than_others(data):
    model = EntityRecognizer(extractor=CountedMarkov(joint=True), phrases="gold").fit(*data[0])
    assert model.score(*data[1]) > 0.85


def test_answers_are_the_same_for_any_number_of_threads(data, model):
    answers = [model.set_params(n_jobs=n).predict(data[1][0]) for n in (1, 2, 5)]
    assert answers[0] == answers[1] == answers[2]
    models = [EntityRecognizer(n_jobs=n).fit(*data[0]) for n in (1, 2)]
    assert models[0].mixing_.tobytes() == models[1].mixing_.tobytes()
    assert models[0].classifier_.counts_.tobytes() == models[1].classifier_.counts_.tobytes()


def test_a_saved_model_answers_alike(tmp_path, model, data):
    model.save(tmp_path / "m.mill")
    again = textmill.load(tmp_path / "m.mill")
    assert again.entities(data[1][0]) == model.entities(data[1][0])
    again.save(tmp_path / "n.mill")
    assert (tmp_path / "m.mill").read_bytes() == (tmp_path / "n.mill").read_bytes()


def test_halves_merge_to_the_whole_bit_for_bit(data):
    X, y = data[0]
    whole, one, two = (
        EntityRecognizer(phrases="gold").fit(X[a:b], y[a:b]) for a, b in ((0, 300), (0, 110), (110, 300))
    )
    assert one.merge(two).fingerprint() == whole.fingerprint()
    parts = [EntityRecognizer().fit(X[a:b], y[a:b]) for a, b in ((0, 110), (110, 300))]
    assert parts[0].merge(parts[1]).score(*data[1]) > 0.9


def test_a_default_type_is_taken_only_where_no_other_is_certain(data):
    X, y = data[0]
    plain = EntityRecognizer(phrases="gold").fit(X, y)
    counts = []
    for threshold in (0.0, 0.9, 1.0):
        model = EntityRecognizer(phrases="gold", default_label="MISC", default_threshold=threshold).fit(X, y)
        counts.append(sum(one.label == "MISC" for names in model.entities(data[1][0]) for one in names))
    assert counts[0] == 0 < counts[1] <= counts[2]
    assert counts[1] >= sum(one.label == "MISC" for names in plain.entities(data[1][0]) for one in names) - 5


def test_rows_and_sentences_are_taken_and_other_columns_are_not_read(model):
    words = ["Marta", "Gil", "vive", "en", "Lima", "."]
    expected = model.predict([words])
    assert model.predict([[(word, "POS") for word in words]]) == expected
    assert model.predict([Sentence((tuple(words), tuple("abcdef")))]) == expected


def test_figures_of_both_phases(model, data):
    result = evaluate_entities(model, *data[1])
    figures = result.figures()
    assert figures["product"] == pytest.approx(figures["extraction f1"] * figures["classification accuracy"])
    assert figures["f1"] == pytest.approx(model.score(*data[1]))
    assert sum(result.kinds().values()) == len(result.errors)
    assert "processed" in result.report()
    page = entity_report(result)
    assert page.title == "Names and their types"


def test_errors_have_kinds():
    X = [["A", "B", "C", "D", "E"]]
    cases = [
        ([(0, 1, "x")], [], "missing"),
        ([], [(0, 1, "x")], "spurious"),
        ([(0, 2, "x")], [(0, 1, "x")], "edges"),
        ([(0, 2, "x")], [(0, 2, "y")], "type"),
        ([(0, 2, "x")], [(1, 3, "y")], "edges and type"),
    ]
    for gold, predicted, kind in cases:
        assert [error.kind for error in find_errors(X, [gold], [predicted])] == [kind]
    assert {kind for _, _, kind in cases} == set(ERROR_KINDS)
    assert find_errors(X, [[(0, 1, "x")]], [[(0, 1, "x")]]) == []
    assert find_errors(X, [[(1, 2, "x")]], [[]])[0].context == "A [ B ] C D E"


def test_reasons_name_features_and_levels(model):
    reasons = explain_entities(model, ["Marta", "Gil", "vive", "en", "Lima", "."], k=3)
    chosen = {one.text: one for one in reasons if one.chosen}
    assert set(chosen) == {"Marta Gil", "Lima"}
    assert len(chosen["Lima"].features) == 3
    assert sum(chosen["Lima"].types.values()) == pytest.approx(1.0)
    assert chosen["Lima"].evidence[-1].test == "Lima/en"


def test_tuning_keeps_what_raises_f(data):
    X, y = data[0][0][:60], data[0][1][:60]
    best, tried = tune_entities(EntityRecognizer(), X, y, *data[1])
    assert max(one.f1 for one in tried) == best.score(*data[1])
    assert tried[0].better
    with pytest.raises(DataError, match="counted"):
        tune_entities(EntityRecognizer(preset="strong"), X, y, X, y)


def test_running_text_has_places(model):
    text = "Ayer llovió.\nMarta Gil vive en Lima."
    for name in label_running_text(model, text):
        assert text[name.begin : name.end] == name.text
    assert [name.text for name in label_running_text(model, text)] == ["Marta Gil", "Lima"]
    assert label_running_text(model, "") == []


def test_files_with_documents_are_read(tmp_path, model):
    path = tmp_path / "a.conll"
    path.write_text("-DOCSTART- O\n\nAna B-PER\nduerme O\n\n-DOCSTART- O\n\nLima B-LOC\n", encoding="utf-8")
    X, y = read_entities(path)
    assert y == [["B-PER", "O"], ["B-LOC"]]
    assert [sentence.document is not None for sentence in X] == [True, True]
    assert [tags for _, tags, _ in label_entities(model, X)] == model.predict(X)


def test_strange_sentences_are_labeled(model):
    odd = [[], ["Lima"], ["\x00", "\U0001f600"], ["Lima", "y"] * 5000, ["12", "34"]]
    assert [len(tags) for tags in model.predict(odd)] == [0, 1, 2, 10_000, 2]
    assert model.predict([]) == []
    assert model.classify([], []) == []


def test_ill_formed_tags_are_read_and_one_type_is_enough():
    model = EntityRecognizer().fit([["Ana", "ve", "a", "Luis"]] * 4, [["I-PER", "O", "O", "B-PER"]] * 4)
    assert model.predict([["Ana", "ve"]]) == [["B-PER", "O"]]
    bare = EntityRecognizer().fit([["Ana", "ve", "a", "Luis", "Gil"]] * 4, [["B", "O", "O", "B", "I"]] * 4)
    assert bare.predict([["Ana", "ve"]]) == [["B", "O"]]


def test_bad_input_gives_one_clear_error(tmp_path, model):
    X, y = [["Ana", "ve"]], [["B-PER", "O"]]
    for call, message in [
        (lambda: EntityRecognizer().fit(X, [["O", "O"]]), "no sentence has a name"),
        (lambda: EntityRecognizer().fit(X, [["B-PER"]]), "sentence 1 has 2 words but 1 tags"),
        (lambda: EntityRecognizer().fit(X, []), "1 sentences but 0"),
        (lambda: EntityRecognizer().fit(X, [["NOUN", "O"]]), "sentence 1, token 1: 'NOUN' is not a tag"),
        (lambda: EntityRecognizer().fit(X, [["B-O", "O"]]), "cannot be a type"),
        (lambda: EntityRecognizer().fit(["Ana ve"], y), "tokenize it first"),
        (lambda: EntityRecognizer(preset="huge").fit(X, y), "preset"),
        (lambda: EntityRecognizer(language="xx").fit(X, y), "language 'xx'"),
        (lambda: EntityRecognizer(phrases="some").fit(X, y), "phrases"),
        (lambda: EntityRecognizer(min_probability=0).fit(X, y), "min_probability"),
        (lambda: EntityRecognizer(n_folds=1).fit(X, y), "n_folds"),
        (lambda: EntityRecognizer(default_label="Q").fit(X * 3, y * 3).predict(X), "default_label"),
        (lambda: model.classify(X, [[(0, 5)]]), "not in its 2 tokens"),
        (lambda: model.merge(EntityRecognizer().fit(X * 3, y * 3)), "parameters"),
    ]:
        with pytest.raises(DataError, match=message):
            call()
    for text, message in [
        (b"", "no sentences"),
        (b"Ana\nve\n", "a.conll:1: found one column"),
        (b"Ana B-PER\nve NOUN\n", "a.conll:2: 'NOUN' is not a tag"),
        ("Peña B-PER\n".encode("latin-1"), "a.conll:1"),
        (b"Ana B-PER\nve\n", "a.conll:2: found 1 columns, expected 2"),
    ]:
        (tmp_path / "a.conll").write_bytes(text)
        with pytest.raises(DataError, match=message):
            read_entities(tmp_path / "a.conll")
    (tmp_path / "a.conll").write_bytes("Peña B-PER\n".encode("latin-1"))
    assert read_entities(tmp_path / "a.conll", encoding="latin-1").X[0].column(0) == ("Peña",)


def test_the_sample_is_made_from_its_seed():
    assert sample_entities(30, random_state=5) == sample_entities(30, random_state=5)
    assert sample_entities(30, random_state=5) != sample_entities(30, random_state=6)
    tags = {tag for sentence in sample_entities(200) for tag in sentence.column("tag")}
    assert tags == {"O", *(f"{letter}-{kind}" for letter in "BI" for kind in ("LOC", "MISC", "ORG", "PER"))}


def test_features_of_ones_own_take_the_place_of_the_presets(data):
    model = EntityRecognizer(features=PhraseFeatures(first=1, last=0, before=1, after=0)).fit(*data[0])
    assert model.features_.templates() == PhraseFeatures(first=1, last=0, before=1, after=0).templates()
    assert np.isfinite(model.mixing_).all()


def test_a_default_type_that_is_not_there_is_told_before_training(data):
    with pytest.raises(DataError, match="default_label must be a type of the data, LOC, MISC, ORG, PER; got 'XYZ'"):
        EntityRecognizer(default_label="XYZ").fit(*data[0])
