"""Callers and numbers by trees: rows against their definition, decoding by enumeration, files, odd messages."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import textmill
from papers.voicemail.generate import VoicemailGenerator
from papers.voicemail.grammar_figures import grammar_figures
from textmill.cli.app import main
from textmill.errors import DataError, ModelFileError, NotFittedError
from textmill.fst import SymbolTable, compile_text, read_fst, write_fst
from textmill.tasks.voicemail import (
    FAMILIES,
    TREES,
    Contact,
    Contacts,
    FoundNumber,
    MarkedSpan,
    Message,
    SpokenNumber,
    VoicemailAnswer,
    VoicemailExtractor,
    answer_nbest,
    evaluate_answers,
    evaluate_spans,
    merge_numbers,
    parse_message,
    partial_texts,
    plain_rules,
    read_contacts,
    read_locale,
    span_errors,
    transduce,
)
from textmill.tasks.voicemail.callers import best_threshold, length_rows, start_rows
from textmill.tasks.voicemail.candidates import candidate_rows
from textmill.trees import EncodedRows

LOCALE = read_locale("us")
TRAIN = list(VoicemailGenerator(random_state=1).generate(2000))
MODEL = VoicemailExtractor(confidence=0.1).fit(TRAIN)
TEST = list(VoicemailGenerator(random_state=2).generate(400))
SPOKEN = "hi Jane this is Pat Caller please call me at three two seven one zero two five thanks bye"


def value(tokens: list[str], at: int) -> str:
    """What the trees see of a word."""
    if at < 0:
        return "<start>"
    if at >= len(tokens):
        return "<end>"
    word = tokens[at].lower()
    return word if word in LOCALE.words else "<first name>" if word in LOCALE.first_names else "<other>"


def test_rows_of_callers_are_what_they_are_said_to_be() -> None:
    for message in TEST[:60]:
        tokens = list(message.tokens)
        rows = start_rows(LOCALE, [message.text], 1)
        assert [rows.values[0][c] for c in rows.codes[0]] == [value(tokens, i) for i in range(12)]
        lower = [token.lower() for token in tokens]
        phrases = [phrase.split() for phrase in LOCALE.identifiers]
        places = [i for i in range(len(lower)) for phrase in phrases if lower[i : i + len(phrase)] == phrase]
        greetings = next((i for i, word in enumerate(lower) if word not in LOCALE.greetings), len(lower))
        assert rows.numbers[0].tolist() == [min(places, default=999), greetings, len(tokens)]
        for start in range(min(4, len(tokens))):
            rows = length_rows(LOCALE, [message.text], [start], 1)
            assert [rows.values[0][c] for c in rows.codes[0]] == [value(tokens, start + j) for j in range(-2, 11)]
            ends = [i - start for i in range(start + 1, len(lower)) if lower[i] in LOCALE.terminators]
            assert rows.numbers[0].tolist() == [start, min(ends, default=999), len(tokens) - start]


def test_rows_of_candidates_are_what_they_are_said_to_be() -> None:
    candidates, rows = candidate_rows(LOCALE, [m.text for m in TEST], "grammar", 1)
    names = list(rows.names)
    codes = dict(zip(names, rows.codes.T, strict=False))
    numbers = dict(zip(names[len(rows.values) :], rows.numbers.T, strict=True))
    at = 0
    for message, own in zip(TEST, candidates, strict=True):
        tokens = [token.lower() for token in message.tokens]
        for number in own:
            main = [other.digits for other in own]
            assert numbers["digits"][at] == len(number.digits)
            assert numbers["extension digits"][at] == len(number.extension)
            length = len(number.digits) + len(number.extension)
            assert numbers["words per digit"][at] == (number.end - number.start) / length
            assert numbers["words to the end"][at] == len(tokens) - number.end
            assert numbers["share of the message"][at] == number.end / len(tokens)
            assert numbers["repetitions"][at] == main.count(number.digits) - 1
            assert rows.values[0][codes["first digit"][at]] == (
                number.digits[0] if number.digits[0] in "01" else "other"
            )
            assert codes["area or extension"][at] == number.cue
            left = tokens[max(0, number.start - 5) : number.start]
            right = tokens[number.end : number.end + 3]
            for word in LOCALE.contexts:
                assert codes[f"left {word}"][at] == (word in left)
                assert codes[f"right {word}"][at] == (word in right)
            before = tokens[number.start - 1] if number.start else "<edge>"
            seen = rows.values[2][codes["before"][at]]
            assert seen == (before if before in (*LOCALE.contexts, "<edge>") else "<other>")
            at += 1
    assert at == len(rows.codes) > 300


@pytest.mark.parametrize("kind", ["caller", "name"])
@pytest.mark.parametrize("joint", [True, False])
def test_the_caller_is_the_best_start_and_length_of_all(kind: str, joint: bool) -> None:
    model = VoicemailExtractor(confidence=0.1, joint=joint, threshold=0.0).fit(TRAIN[:800])
    start_tree, length_tree = model.tree(f"{kind} start"), model.tree(f"{kind} length")
    answers = model.extract(TEST[:150])
    seen = 0
    for message, answer in zip(TEST[:150], answers, strict=True):
        p = dict(
            zip(
                start_tree.classes_.tolist(),
                start_tree.predict_proba(start_rows(LOCALE, [message.text], 1))[0],
                strict=True,
            )
        )
        best: tuple[float, tuple[int, int] | None] = (0.0, None)
        first = 0.0
        order = sorted((s for s in p if 0 <= s < len(message.tokens)), key=lambda s: -p[s])
        for start in order[: 1 if not joint else 8]:
            rows: EncodedRows = length_rows(LOCALE, [message.text], [start], 1)
            q = dict(zip(length_tree.classes_.tolist(), length_tree.predict_proba(rows)[0], strict=True))
            fitting = {n: share for n, share in q.items() if start + n <= len(message.tokens)}
            if fitting:
                length = max(fitting, key=lambda n: fitting[n])
                if p[start] * fitting[length] > best[0] + 1e-12:
                    best = p[start] * fitting[length], (start, start + length)
                    first = max(first, p[start])
        found = getattr(answer, kind)
        if found is None:
            assert best[1] is None or p[-1] >= max((p[s] for s in order), default=0.0) - 1e-12
        else:
            seen += 1
            assert found.confidence == pytest.approx(best[0])
            assert (found.start, found.end) == best[1]
    assert seen > 80


def test_a_model_finds_most_callers_and_numbers() -> None:
    result = evaluate_answers(TEST, MODEL.extract(TEST))
    assert result.figures("telno").f1 > 0.9
    assert result.figures("name").f1 > result.figures("caller").f1 + 0.08
    assert result.figures("caller", "name containment").f1 > result.figures("caller", "containment").f1 > 0.6
    assert result.figures("caller").low < result.figures("caller").f1 < result.figures("caller").high
    rules = plain_rules(TEST)
    assert evaluate_spans(TEST, rules["prune"], "telno").f1 < result.figures("telno").f1
    assert {error.kind for error in result.errors} == {"missed", "spurious", "boundary"}
    with pytest.raises(DataError, match="no figures of 'closing'"):
        result.figures("closing")


def test_capitals_do_not_matter() -> None:
    lower = MODEL.predict([message.text.lower() for message in TEST])
    assert lower == MODEL.predict([message.text.upper() for message in TEST]) == MODEL.predict(TEST)


def test_answers_say_who_and_where_and_why() -> None:
    answer = MODEL.extract([SPOKEN], reasons=True)[0]
    assert answer.name is not None
    assert answer.name.text == "Pat Caller"
    assert [number.written for number in answer.callbacks] == ["327-1025"]
    assert answer.numbers[0].reasons
    shown = answer.to_dict()
    assert shown["sender"] == "Pat Caller"
    assert shown["spans"][-1] != ["10", "17"]
    assert shown["spans"][-1] == [10, 17, "telno"]
    assert set(shown["reasons"]) == {"caller", "name", "telno 10"}
    assert MODEL.extract(["hi it's me call me"])[0].anonymous
    assert not MODEL.extract([SPOKEN])[0].anonymous
    rule_texts = [str(rule) for rule in MODEL.rules("number")]
    assert any("digits" in text for text in rule_texts)
    for name in TREES:
        assert len(MODEL.rules(name)) >= 2


def test_a_saved_model_is_the_same_and_small(tmp_path: Path) -> None:
    path = tmp_path / "calls.mill"
    MODEL.save(path)
    assert path.stat().st_size < 200_000
    loaded = textmill.load(path, verify=True)
    assert loaded.predict(TEST) == MODEL.predict(TEST)
    loaded.save(tmp_path / "again.mill")
    assert (tmp_path / "again.mill").read_bytes() == path.read_bytes()
    assert loaded.locale_ == LOCALE
    loaded.locale_text_ = "{}"
    loaded._forget()
    with pytest.raises(ModelFileError, match="word lists"):
        loaded.check_values()


def test_threads_make_no_difference() -> None:
    one = VoicemailExtractor(confidence=0.1, n_jobs=1).fit(TRAIN[:600])
    five = VoicemailExtractor(confidence=0.1, n_jobs=5).fit(TRAIN[:600])
    assert one.predict(TEST) == five.predict(TEST)
    assert np.array_equal(one.thresholds_, five.thresholds_)


def test_odd_messages_have_sensible_answers() -> None:
    long = "call me at five five five one two one two " * 1200
    odd = [
        "",
        " ",
        "hello",
        "five five five one two one two",
        "five " * 5000,
        long,
        "\u2019t is PAT \u00e9t\u00e9",
        "\t5551212\n",
    ]
    answers = MODEL.extract(odd)
    assert answers[0] == answers[1] == VoicemailAnswer()
    assert answers[2].numbers == ()
    assert len(answers[5].callbacks) <= 1
    assert MODEL.extract([]) == []
    assert list(MODEL.extract_stream(iter(odd), chunk_size=3)) == answers
    with pytest.raises(DataError, match="message 0"):
        MODEL.extract([None])  # type: ignore[list-item]


def test_training_data_may_lack_callers_or_numbers() -> None:
    bare = [Message(m.tokens) for m in TRAIN[:60]]
    nothing = VoicemailExtractor().fit(bare)
    assert all(spans == [] for spans in nothing.predict(TEST[:50]))
    no_numbers = VoicemailExtractor().fit([parse_message("<caller> this is Pat </caller> bye")] * 8)
    assert no_numbers.predict(["this is Pat bye"]) == [[MarkedSpan(0, 3, "caller"), MarkedSpan(2, 3, "name")]]
    spans = [[(0, 3, "caller")]] * 8
    texts = VoicemailExtractor().fit(["this is Pat bye"] * 8, spans)
    assert texts.predict(["this is Pat bye"]) == no_numbers.predict(["this is Pat bye"])
    for wrong, message in (
        ([], "no messages"),
        (["text"], "message 0 has no marks"),
    ):
        with pytest.raises(DataError, match=message):
            VoicemailExtractor().fit(wrong)
    with pytest.raises(DataError, match="spans of 1"):
        VoicemailExtractor().fit(["a", "b"], [[]])
    with pytest.raises(DataError, match="without"):
        VoicemailExtractor(without=("luck",)).fit(TRAIN[:10])
    with pytest.raises(DataError, match="number_threshold"):
        VoicemailExtractor(number_threshold=2).fit(TRAIN[:10])
    with pytest.raises(NotFittedError):
        VoicemailExtractor().extract(["a"])


def test_families_of_features_can_be_left_out() -> None:
    for family in FAMILIES:
        model = VoicemailExtractor(confidence=0.1, without=(family,)).fit(TRAIN[:500])
        used = {name for rule in model.rules() for part in (rule.inside, rule.outside, rule.bounds) for name in part}
        blank = {n for n in used if n in FAMILIES[family] or n.split()[0] in set(FAMILIES[family]) & {"left", "right"}}
        assert not blank, family


def test_predicted_starts_and_thresholds_change_answers() -> None:
    predicted = VoicemailExtractor(confidence=0.1, predicted_starts=True).fit(TRAIN[:800])
    gold = VoicemailExtractor(confidence=0.1).fit(TRAIN[:800])
    assert predicted.predict(TEST) != gold.predict(TEST)
    strict = VoicemailExtractor(confidence=0.1, threshold=0.99, number_threshold=0.999).fit(TRAIN[:800])
    proposed = sum(map(len, strict.predict(TEST)))
    assert proposed < sum(map(len, gold.predict(TEST)))
    assert best_threshold(np.zeros(0), np.zeros(0, bool), 0) == (0.5, 0.0)


def test_the_best_threshold_is_that_of_all() -> None:
    generator = np.random.default_rng(0)
    for _ in range(30):
        p = generator.integers(1, 9, 12) / 10
        right = generator.random(12) < p
        gold = int(right.sum()) + 3
        threshold, f = best_threshold(p, right, gold)
        every = [2 * (right & (p >= t)).sum() / ((p >= t).sum() + gold) for t in (0.0, *(p - 0.05))]
        assert f == pytest.approx(max(every))
        assert 2 * (right & (p >= threshold)).sum() / ((p >= threshold).sum() + gold) == pytest.approx(f)


# ---- numbers put together


def said(*digits: str) -> list[FoundNumber]:
    return [FoundNumber(10 * i, 10 * i + 5, one, "", 0.8) for i, one in enumerate(digits)]


@pytest.mark.parametrize(
    ("digits", "merged"),
    [
        (("5551212", "5551212"), [("5551212", False)]),
        (("5551212", "551212"), [("5551212", False)]),
        (("2125551212", "5551212"), [("2125551212", False)]),
        (("5551212", "5551213"), [("5551212", False), ("5551213", False)]),
        (("5551212", "5551213", "5551212"), [("5551212", False)]),
        (("5551212", "4443131"), [("5551212", False), ("4443131", False)]),
        (("4321", "4322"), [("4321", False), ("4322", False)]),
    ],
)
def test_repeated_numbers_repair_each_other(digits: tuple[str, ...], merged: list[tuple[str, bool]]) -> None:
    assert [(n.digits, n.repaired) for n in merge_numbers(said(*digits), LOCALE)] == merged


def test_confidence_grows_with_repetition_and_area_codes_are_joined() -> None:
    (number,) = merge_numbers(said("5551212", "5551212"), LOCALE)
    assert number.confidence == pytest.approx(1 - 0.2 * 0.2)
    tokens = [
        "the",
        "area",
        "code",
        "is",
        "nine",
        "oh",
        "eight",
        "and",
        "my",
        "number",
        "is",
        "five",
        "five",
        "five",
        "one",
        "two",
        "one",
        "two",
    ]
    local = FoundNumber(11, 18, "5551212", "", 0.9)
    area = SpokenNumber(4, 7, "908")
    (joined,) = merge_numbers([local], LOCALE, others=[area], tokens=tokens)
    assert (joined.written, joined.repaired, joined.places) == ("(908) 555-1212", True, ((4, 7), (11, 18)))
    (alone,) = merge_numbers([local], LOCALE, others=[area], tokens=["x"] * 18)
    assert alone.digits == "5551212"


# ---- contacts, n-best lists, partial transcripts


def test_contacts_are_found_by_name_sound_number_and_other_evidence(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(
        "name,number\nPat Caller,(212) 555-1312\nKim Lee,\nJohn Smith,4321;908-555-1212\n", encoding="utf-8"
    )
    contacts = read_contacts(path)
    assert contacts.people[2] == Contact("John Smith", ("4321", "9085551212"))
    assert contacts.search("pet collar")[0].contact.name == "Pat Caller"
    assert [m.contact.name for m in contacts.search("jon smyth", k=1)] == ["John Smith"]
    assert contacts.search("Kim Lee", ["2125551312"])[0].evidence
    assert [m.contact.name for m in contacts.search(None, ["4321"])] == ["John Smith"]
    assert contacts.search("Zebulon Quartermain") == []
    both = contacts.search("Pat Caller", evidence=[{"Kim Lee": 0.9, "nobody": 0.5}])
    assert {m.contact.name for m in both} == {"Pat Caller", "Kim Lee"}
    assert sum(m.probability for m in both) == pytest.approx(1)
    assert contacts.identify(MODEL.extract([SPOKEN])[0])[0].contact.name == "Pat Caller"
    path.write_text("who\nPat\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"people\.csv:2: there is no name"):
        read_contacts(path)
    with pytest.raises(DataError, match="no contacts"):
        Contacts([])


def test_readings_of_an_n_best_list_share_the_probability() -> None:
    other = SPOKEN.replace("Pat", "Pet")
    answer = answer_nbest(MODEL, [(SPOKEN, 0.0), (other, 0.0), (SPOKEN, 0.0)])
    assert [name for name, _ in answer.names] == ["Pat Caller", "Pet Caller"]
    assert answer.names[0][1] == pytest.approx(2 * answer.names[1][1])
    assert [number for number, _ in answer.numbers] == ["327-1025"]
    assert answer_nbest(MODEL, []) == ((), ())


def test_partial_transcripts_grow() -> None:
    pieces = list(partial_texts(["", "hi this is", "Pat Caller", "", "", "bye"]))
    assert [(p.message, p.text, p.complete) for p in pieces] == [
        (1, "hi this is", False),
        (1, "hi this is Pat Caller", False),
        (1, "hi this is Pat Caller", True),
        (2, "bye", False),
        (2, "bye", True),
    ]


# ---- taggers and scores


def test_two_gold_spans_in_one_proposal_are_not_counted() -> None:
    gold = [parse_message("call <telno> five </telno> or <telno> six </telno>"), parse_message("")]
    both = [[MarkedSpan(0, 4, "telno")], [MarkedSpan(0, 1, "telno")]]
    assert evaluate_spans(gold, both, "telno", "containment").precision == 0
    exact = [[MarkedSpan(1, 2, "telno")], [MarkedSpan(0, 1, "telno")]]
    assert evaluate_spans(gold, exact, "telno").precision == 0.5
    assert grammar_figures(gold)["recall"] == 1.0
    assert span_errors([gold[0]], [VoicemailAnswer()])[0].context.startswith("call [five]")


# ---- the command line


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    with pytest.raises(SystemExit) as left:
        main(["-q", *map(str, arguments)])
    shown = capsys.readouterr()
    assert left.value.code == 0, shown.err
    return shown.out


def test_commands_from_samples_to_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    train, model, test = tmp_path / "train.txt", tmp_path / "calls.mill", tmp_path / "test.txt"
    run(capsys, "voicemail", "sample", "-o", train)
    run(capsys, "voicemail", "sample", "--part", "test", "-o", test)
    assert "1000 messages" in run(capsys, "voicemail", "train", train, "-o", model, "--confidence", 0.1)
    shown = run(capsys, "voicemail", "evaluate", model, test, "--json")
    rows = [json.loads(line) for line in shown.splitlines()]
    assert [row["system"] for row in rows].count("trees") == 7
    assert rows[-1]["system"] == "prune"
    assert run(capsys, "voicemail", "evaluate", model, test, "--list-errors", "-k", 2).startswith("kind\tlabel")
    assert "digits" in run(capsys, "voicemail", "rules", model)
    people = tmp_path / "people.csv"
    people.write_text("name,number\nPat Caller,3271025\n", encoding="utf-8")
    feed(monkeypatch, f"{SPOKEN}\n\n")
    answers = [
        json.loads(line) for line in run(capsys, "voicemail", "extract", model, "--contacts", people).splitlines()
    ]
    assert [answer["message"] for answer in answers] == [1, 2]
    assert answers[1]["sender"] is None
    assert answers[0]["contacts"][0]["name"] == "Pat Caller"
    feed(monkeypatch, "hi this is Pat\nCaller\n")
    parts = [json.loads(line) for line in run(capsys, "voicemail", "extract", model, "--partial").splitlines()]
    assert [part["complete"] for part in parts] == [False, False, True]
    feed(monkeypatch, "call three hundred fourteen ninety nine\n")
    assert "300-1499\t314.99" in run(capsys, "voicemail", "grammar")
    machine = tmp_path / "numbers.fst"
    run(capsys, "voicemail", "grammar", "-o", machine)
    assert transduce(read_fst(machine), "call ten twenty five") == [("1025", "")]
    words = SymbolTable(["<eps>", "call", "five", "nine"])
    text = "0 1 call\n1 2 five 0.2\n1 2 nine 1.7\n2"
    write_fst(compile_text(text, acceptor=True, input_symbols=words), tmp_path / "lattice.fst")
    shown = run(capsys, "voicemail", "grammar", tmp_path / "lattice.fst", "--lattice").splitlines()
    assert [line.split("\t")[-1] for line in shown] == ["posterior", "0.8176", "0.1824"]


def feed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    stream: Any = io.TextIOWrapper(io.BytesIO(text.encode()))
    monkeypatch.setattr("sys.stdin", stream)


def test_marks_are_needed_to_learn_and_to_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "plain.txt").write_text("call me\nplease\n", encoding="utf-8")
    run(capsys, "voicemail", "sample", "--part", "test", "-o", tmp_path / "calls.txt")
    run(capsys, "voicemail", "train", tmp_path / "calls.txt", "-o", tmp_path / "calls.mill")
    for command, complaint in (
        (["train", tmp_path / "plain.txt", "-o", tmp_path / "none.mill"], "no message has a mark; put callers"),
        (["evaluate", tmp_path / "calls.mill", tmp_path / "plain.txt"], "no message has a mark; put callers"),
        (["rules", tmp_path / "calls.mill", "--tree", "oak"], "--tree must be one of 'caller start'"),
    ):
        with pytest.raises(SystemExit) as left:
            main(["voicemail", *map(str, command)])
        out, errors = capsys.readouterr()
        assert (left.value.code, out) == (1, "")
        assert complaint in errors
