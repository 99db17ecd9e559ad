"""Models of pronunciation: lexicons, learning, what they say, their other forms, what is refused."""

from __future__ import annotations

import io
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest

from textmill import fst, load
from textmill.errors import DataError
from textmill.tasks import pronunciation as task
from textmill.tasks.pronunciation import Entry, Inflection, PronunciationModel, RulePair
from textmill.trees import tree_rules


@pytest.fixture(scope="module")
def entries() -> list[Entry]:
    return task.sample_lexicon(1500)


@pytest.fixture(scope="module")
def model(entries: list[Entry]) -> PronunciationModel:
    train, _ = task.split_lexicon(entries, 0.2)
    return PronunciationModel(context=2).fit([e.word for e in train], [e.phonemes for e in train])


def test_a_regular_language_is_learned(model: PronunciationModel, entries: list[Entry]) -> None:
    _, test = task.split_lexicon(entries, 0.2)
    counts = task.evaluate_pronunciations(model, test)
    assert counts.word_accuracy > 0.97
    assert counts.phoneme_error_rate < 0.01
    assert counts.accuracy > 0.98
    assert counts.precision > 0.98
    assert counts.recall > 0.98
    half = len(test) // 2
    parts = [task.evaluate_pronunciations(model, part) for part in (test[:half], test[half:])]
    assert parts[0] + parts[1] == counts


def test_context_and_weights_are_chosen_on_words_kept_apart(entries: list[Entry]) -> None:
    some = entries[:500]
    words, sounds = [e.word for e in some], [e.phonemes for e in some]
    chosen = PronunciationModel().fit(words, sounds)
    assert 1 <= chosen.context_ <= 5
    assert chosen.weights_.tolist() == [0.0, 0.9, 0.1]
    rules = [RulePair(("x",), ("k", "s")), RulePair(("c", "h"), ("S",))]
    with_rules = PronunciationModel(context=2, alignment="bag").fit(words, sounds, rules=rules)
    assert with_rules.weights_.sum() == pytest.approx(1.0)
    with pytest.warns(UserWarning, match="phonemes that the lexicon lacks"):
        PronunciationModel(context=1).fit(words, sounds, rules=[RulePair(("x",), ("ks",))])


def test_rounds_of_realignment_stop_when_errors_no_longer_fall(entries: list[Entry]) -> None:
    some = entries[:300]
    model = PronunciationModel(context=2, alignment="bag", rounds=2)
    model.fit([e.word for e in some], [e.phonemes for e in some])
    assert 1 <= len(model.trace_) <= 3
    assert all(b < a for a, b in zip(model.trace_[:-2], model.trace_[1:-1], strict=True))


def test_exceptions_are_said_as_the_lexicon_says(entries: list[Entry]) -> None:
    odd = [*entries[:200], Entry("bagno", ("x", "x"))]
    plain = PronunciationModel(context=1).fit([e.word for e in odd], [e.phonemes for e in odd])
    kept = PronunciationModel(context=1, exceptions=True).fit([e.word for e in odd], [e.phonemes for e in odd])
    assert plain.predict(["bagno"]) != [["x", "x"]]
    assert kept.predict(["bagno"]) == [["x", "x"]]
    assert "bagno" in kept.exception_words_.to_list()
    best = kept.nbest(["bagno"], 3)[0]
    assert best[0] == (("x", "x"), 1.0)
    assert [one.probability for one in best[1:]] == [0.0] * (len(best) - 1)
    assert [one.phonemes for one in best[1:]] == [one.phonemes for one in plain.nbest(["bagno"], 2)[0]]


def test_the_same_model_for_any_number_of_threads(entries: list[Entry]) -> None:
    words, sounds = [e.word for e in entries[:400]], [e.phonemes for e in entries[:400]]
    models = [PronunciationModel(context=2, n_jobs=jobs).fit(words, sounds) for jobs in (1, 2, 8)]
    assert len({model.tree_.text() for model in models}) == 1
    assert models[0].predict(words) == models[2].predict(words)


def test_a_saved_model_says_the_same_and_is_small(model: PronunciationModel, tmp_path: Path) -> None:
    model.save(tmp_path / "m.mill")
    again = load(tmp_path / "m.mill")
    words = ["gichaxe", "unseen-ß", ""]
    assert again.predict(words) == model.predict(words)
    assert again.align(["taxe"], ["t a k s"])[0][0].text() == model.align(["taxe"], ["t a k s"])[0][0].text()
    assert task.model_size(model) < 100_000


def test_best_outputs_are_distinct_and_their_probabilities_fall(model: PronunciationModel) -> None:
    for word, soundings in zip(["gichaxe", "cosau"], model.nbest(["gichaxe", "cosau"], 5), strict=True):
        shares = [sounding.probability for sounding in soundings]
        assert shares == sorted(shares, reverse=True)
        assert len({sounding.phonemes for sounding in soundings}) == len(soundings) == 5
        assert 0 < sum(shares) <= 1 + 1e-9
        assert list(soundings[0].phonemes) == model.predict([word])[0]


def test_positions_spell_what_is_said(model: PronunciationModel) -> None:
    for word, alignment in zip(["gichaxe", "taxe"], model.targets(["gichaxe", "taxe"]), strict=True):
        assert "".join(alignment.input) == word
        assert list(alignment.output) == model.predict([word])[0]


@pytest.mark.parametrize(
    ("count", "said_by_machines"), [(300, 60), pytest.param(10_000, 10_000, marks=pytest.mark.slow)]
)
def test_rules_code_and_transducer_say_what_the_tree_says(
    entries: list[Entry], tmp_path: Path, count: int, said_by_machines: int
) -> None:
    some = entries[:300]
    model = PronunciationModel(context=1).fit([e.word for e in some], [e.phonemes for e in some])
    rng = np.random.default_rng(0)
    letters = model.letters_.to_list()
    words = ["".join(letters[i] for i in rng.integers(0, len(letters), rng.integers(1, 9))) for _ in range(count)]
    expected = model.predict(words)
    machine = task.to_transducer(model)
    outputs = machine.output_symbols
    assert outputs is not None
    for word, wanted in zip(words[:said_by_machines], expected, strict=False):
        left = _letters(word, machine.input_symbols)
        path = fst.shortest_path(fst.compose(left, machine))
        said, state = [], path.start
        while path.num_arcs_of(state):
            arc = path.arcs(state)[0]
            if arc.olabel:
                said.append(outputs.symbol(arc.olabel))
            state = arc.nextstate
        assert said == wanted
    rules = tree_rules(model.tree_)
    for word, wanted in zip(words[:said_by_machines], expected, strict=False):
        said = []
        for window, _ in task.windows_of(list(word), [""] * (2 * len(word) + 1), 1):
            row = dict(zip(["left1", "letter", "right1"], window, strict=True))
            (label,) = [rule.label for rule in rules if rule.holds(row)]
            said += [] if label == "." else label.split()
        assert said == wanted
    code = task.model_code(model, "speak")
    main = """
#include <stdio.h>
int main(void) {
  int n, i, letters[64], sounds[129];
  while (scanf("%d", &n) == 1) {
    for (i = 0; i < n; ++i) if (scanf("%d", letters + i) != 1) return 1;
    speak(letters, n, sounds);
    for (i = 0; i <= 2 * n; ++i) printf("%s ", speak_labels[sounds[i]]);
    puts("");
  }
  return 0;
}
"""
    (tmp_path / "speak.c").write_text(code + main)
    subprocess.run(["cc", "-w", "-o", tmp_path / "speak", tmp_path / "speak.c"], check=True)
    lines = "".join(f"{len(word)} {' '.join(str(letters.index(x)) for x in word)}\n" for word in words)
    run = subprocess.run([tmp_path / "speak"], input=lines, capture_output=True, text=True, check=True)
    said_by_c = [[label for label in line.split() if label != "."] for line in run.stdout.splitlines()]
    assert said_by_c == expected


def _letters(word: str, table: fst.SymbolTable | None) -> fst.Fst:
    assert table is not None
    machine = fst.Fst("tropical")
    machine.input_symbols = machine.output_symbols = table
    states = machine.add_states(len(word) + 1)
    machine.start = 0
    for i, letter in enumerate(word):
        machine.add_arc(states[i], table.key(letter), table.key(letter), None, states[i + 1])
    machine.set_final(states[-1])
    return machine


def test_spellings_are_pronounced_as_asked(model: PronunciationModel) -> None:
    found = task.spellings(model, "S a k s", 5)
    assert found
    for word, _ in found:
        assert model.predict([word]) == [["S", "a", "k", "s"]]
    with pytest.raises(DataError, match="no phonemes"):
        task.spellings(model, "nonsense")


def test_attributes_and_inflections_change_what_is_said() -> None:
    words = ["parent", "parent", "content", "content", "bat", "mat"] * 3
    tags = ["N", "V", "N", "V", "N", "N"] * 3
    sounds = ["p a R A", "p a R", "k O t A", "k O t", "b a", "m a"] * 3
    model = PronunciationModel(context=3, alignment="em").fit(words, sounds, attributes=tags)
    assert model.predict(["parent", "parent"], attributes=["N", "V"]) == [["p", "a", "R", "A"], ["p", "a", "R"]]
    with pytest.raises(DataError, match="pass attributes"):
        model.predict(["parent"])
    plain = PronunciationModel(context=1).fit(["bat", "mat", "tab"], ["b a t", "m a t", "t a b"])
    said = plain.predict(["matab"], attributes=["V"], inflections=[Inflection("V", "ab", ("x",))])
    assert said == [["m", "a", "t", "x"]]
    linked = plain.predict(["bat", "mat"], after=lambda spoken: [sounds[::-1] for sounds in spoken])
    assert linked[0] == ["t", "a", "b"]


def test_lexicons_are_read_in_their_formats() -> None:
    cmu = b";;; comment\nABLE  EY1 B AH0 L # note\nREAD(2)  R IY1 D\n"
    assert [e.text() for e in task.read_lexicon(io.BytesIO(cmu), stress=False)] == ["ABLE\tEY B AH L", "READ\tR IY D"]
    several = "été\te t e\tE t E\n".encode()
    assert [e.phonemes for e in task.read_lexicon(io.BytesIO(several))] == [("e", "t", "e"), ("E", "t", "E")]
    counted = b"a\tA\t17\nb\tB\tE B\t0.5\nc\t3\n"
    assert [e.phonemes for e in task.read_lexicon(io.BytesIO(counted))] == [("A",), ("B",), ("E", "B"), ("3",)]
    with pytest.raises(DataError, match=":2: expected a word, a tab and phonemes"):
        list(task.read_lexicon(io.BytesIO(b"a\tA\nb\t\n")))
    with pytest.warns(UserWarning, match="1 lines of the lexicon were left out"):
        assert len(list(task.read_lexicon(io.BytesIO(b"a\tA\nb\t\n"), errors="skip"))) == 1
    assert task.Spelling(form="NFD").letters("é") == ["e", "\u0301"]
    assert task.Spelling(units="clusters", form="NFD").letters("éa") == ["e\u0301", "a"]
    assert task.Spelling(fold=True).letters("Ab") == ["a", "b"]
    assert task.Spelling.chosen("codepoints", "auto", False, ["각"]).letters("각") == list("\u1100\u1161\u11a8")


@pytest.mark.parametrize(
    ("words", "sounds", "message"),
    [
        ([], [], "no words to learn from"),
        (["a", ""], ["A", "B"], "word 1 is empty"),
        (["a", "b"], ["A", ""], r"pronunciation of 'b' \(word 1\) is empty"),
        (["a"], ["A", "B"], "1 words and 2 pronunciations"),
        ("ab", ["A", "B"], "not the string"),
    ],
)
def test_bad_entries_are_refused(words: list[str], sounds: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        PronunciationModel(context=1).fit(words, sounds)


def test_strange_words_do_no_harm(model: PronunciationModel) -> None:
    long = "taxe" * 2500
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        said = model.predict([long, "", "漢字", "a b|c}d_e", "a\nb", "$", "."])
    assert len(said[0]) > 5000
    assert said[1] == [] or said[1]
    one = PronunciationModel(context=2).fit(["a", "aa"], ["A", "A A"])
    assert one.predict(["aaa"]) == [["A", "A", "A"]]
    marked = PronunciationModel(context=1, min_cases=1, confidence=None).fit(["a.", "$a", "a"], [". A", "A $", "A"])
    assert marked.predict(["$a"])[0] == ["A", "$"]
    both = PronunciationModel(context=1).fit(["read", "read", "reed"], ["r E d", "r i d", "r i d"])
    assert task.evaluate_pronunciations(both, [Entry("read", tuple("rEd")), Entry("read", tuple("rid"))]).words == 1


def test_the_worst_entries_are_those_that_fit_least(model: PronunciationModel, entries: list[Entry]) -> None:
    wrong = Entry("taxe", tuple("mbmb"))
    table = task.worst_entries(model, [*entries[:50], wrong], 1)
    assert table.to_dict()["word"] == ["taxe"]
    assert task.link_table(model, "b").to_dict()["sound"][0] == "b"
    assert task.letter_node(model, "b") > 0
    errors = task.context_errors(model, [Entry("ba", ("m", "a"))], neighbors=1)
    assert errors.to_dict()["mostly"][0] == "b for m"


def test_pronunciations_that_are_all_too_long_are_refused_or_joined() -> None:
    words = ["ab", "ba", "aab", "b"]
    sounds = [[f"{letter}{i}" for letter in word for i in range(4)] for word in words]
    with pytest.raises(DataError, match=r"longer than 2n \+ 1 for n letters; raise max_insertions_per_gap"):
        PronunciationModel().fit(words, sounds)
    assert PronunciationModel(max_insertions_per_gap=None).fit(words, sounds).predict(["bb"])
