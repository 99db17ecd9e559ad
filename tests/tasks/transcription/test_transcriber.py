"""Transcribers: search, cache, dictionary, promotion, mining, homophones, files, figures."""

from __future__ import annotations

import random

import numpy as np
import pytest

import textmill
from textmill.errors import DataError
from textmill.metrics import lcs_f
from textmill.tasks.transcription import (
    KanjiRestorer,
    OverlappingSets,
    Pairs,
    Transcriber,
    evaluate_transcriptions,
    read_transcriptions,
    romanize,
    sample_kanji,
    sample_names,
    syllabify,
    write_corpus,
    write_results,
)
from textmill.tasks.transcription.transcriber import Transcription, _promoted

WORDS, OUTPUTS = sample_names()
TRAIN = [i for i in range(len(WORDS)) if i % 7]
DEV = [i for i in range(len(WORDS)) if i % 7 == 0]


def some(values, rows):
    return [values[i] for i in rows]


@pytest.fixture(scope="module")
def searched():
    return Transcriber(n_jobs=1).fit(some(WORDS, TRAIN), some(OUTPUTS, TRAIN), some(WORDS, DEV), some(OUTPUTS, DEV))


def test_search_says_what_it_chose_and_why(searched):
    what = [choice["what"] for choice in searched.choices_]
    assert what == ["form of inputs / notation of outputs", "order", "smoothing", "parts and weights"]
    errors = searched.choices_[-1]["errors"]
    assert errors["join"] <= min(errors.values()) + 0.02
    assert all(part["weight"] > 0 for part in searched.plan_)
    assert searched.score(some(WORDS, DEV), some(OUTPUTS, DEV)) > 0.95


def test_saved_transcriber_gives_the_same_answers(searched, tmp_path):
    searched.save(tmp_path / "t.mill")
    again = textmill.load(tmp_path / "t.mill")
    words = ["sumida", "kitano", *some(WORDS, DEV)[:20]]
    assert again.predict_best(words, 3) == searched.predict_best(words, 3)
    again.save(tmp_path / "u.mill")
    assert (tmp_path / "t.mill").read_bytes() == (tmp_path / "u.mill").read_bytes()


def test_cache_answers_training_words_and_tells_where_from():
    model = Transcriber(search=False).fit(["ab", "ab", "ba"], ["AB", "XX", "BA"], extra=[("bb", "BB")])
    assert [(one.output, one.source) for one in model.predict_best(["ab"], 2)[0]] == [("AB", "train"), ("XX", "train")]
    assert model.predict_best(["bb"], 1)[0][0].source == "extra"
    assert model.predict_best(["bb"], 1, cached=False)[0][0].source == "model"
    assert model.cached_in(["ab", "bb", "zz"]) == {"train": 1, "dev": 0, "extra": 1, "dictionary": 0}
    without = Transcriber(search=False, cache=False).fit(["ab", "ba"], ["AB", "BA"])
    assert without.predict_best(["ab"], 1)[0][0].source == "model"


def test_dictionary_answers_in_front_of_the_model():
    model = Transcriber(search=False).fit(["ab", "ba"], ["AB", "BA"], dictionary=[("aa", "ZZ")])
    assert model.predict(["aa", "bb"]) == ["ZZ", "BB"]


def test_promotion_moves_only_what_is_among_the_ten_best():
    pairs = [("ab", "AB"), ("ba", "BA"), ("aa", "AA"), ("bb", "BB"), ("bab", "BB")]
    words, outputs = zip(*pairs, strict=True)
    model = Transcriber(search=False, dictionary_use="promote").fit(
        words, outputs, dictionary=[("abb", "BB"), ("abba", "QQQ")]
    )
    plain = Transcriber(search=False).fit(words, outputs)
    listed = [one.output for one in plain.predict_best(["abb"], 10)[0]]
    assert "BB" in listed[1:]
    best = model.predict_best(["abb"], 10)[0]
    assert best[0].output == "BB"
    assert best[0].source == "promoted"
    assert [one.output for one in best[1:]] == [output for output in listed if output != "BB"]
    assert model.predict(["abba"]) == plain.predict(["abba"])
    rows = [Transcription(str(i), 0.1, "model", None) for i in range(12)]
    assert _promoted(rows, {"11"}) == rows  # the twelfth is beyond the ten best


def test_overlap_of_dev_and_train_is_said():
    with pytest.warns(OverlappingSets, match="2 development words"):
        Transcriber(search=False).fit(["ab", "ba", "b"], ["AB", "BA", "B"], ["ab", "b"], ["AB", "B"])


def test_words_are_kept_apart_when_there_are_no_development_words():
    model = Transcriber(n_jobs=1, held_out=0.2).fit(WORDS[:120], OUTPUTS[:120])
    assert model.choices_
    assert model.predict(["tanaka"]) == ["タナカ"]


@pytest.mark.parametrize("bad", [("", "A"), ("a", "")])
def test_empty_sides_are_refused(bad):
    with pytest.raises(DataError, match=r"pair 2.*empty"):
        Transcriber(search=False).fit(["a", bad[0]], ["A", bad[1]])


def test_other_cases_and_marks_of_letters_are_read():
    model = Transcriber(search=False).fit(["ab", "ba", "aab"], ["AB", "BA", "AAB"])
    assert model.predict(["ÁB", "a\u0301b"]) == ["AB", "AB"]


def test_one_letter_language():
    model = Transcriber(n_jobs=1).fit(["a" * n for n in range(1, 40)], ["x" * n for n in range(1, 40)])
    assert model.predict(["a" * 45])[0].strip("x") == ""


def test_figures_of_the_paper():
    assert lcs_f([["afcde"], ["smyth"]], ["abcd", "smith"]).tolist() == pytest.approx([2 / 3, 0.8])
    scores = evaluate_transcriptions([["b", "a", "c"], ["a", "b", "c"]], [["b", "c"], ["b", "c"]])
    assert scores.map_ref.tolist() == pytest.approx([0.75, 0.25])
    assert evaluate_transcriptions([["a"]], [["a"]]).map_10[0] == pytest.approx(0.292897, abs=1e-6)


def reference_figures(candidates, references):
    """The public script of the shared task, in its own words."""

    def lcs(a, b):
        table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
        for i, x in enumerate(a):
            for j, y in enumerate(b):
                table[i + 1][j + 1] = table[i][j] + 1 if x == y else max(table[i][j + 1], table[i + 1][j])
        return table[-1][-1]

    first = candidates[0] if candidates else ""
    near = min(references, key=lambda r: len(r) - 2 * lcs(first, r))
    common = lcs(first, near)
    precision, recall = common / max(1, len(first)), common / len(near)
    f = 2 * precision * recall / (precision + recall) if common else 0.0
    mrr = max([1 / (candidates.index(r) + 1) for r in references if r in candidates], default=0.0)

    def mean_precision(n):
        hits, total = 0, 0.0
        for k in range(1, n + 1):
            hits += k <= len(candidates) and candidates[k - 1] in references
            total += hits / k
        return total / n

    acc = float(bool(candidates) and first in references)
    return acc, f, mrr, mean_precision(len(references)), mean_precision(10), mean_precision(max(1, len(candidates)))


def test_figures_equal_the_script_of_the_shared_task():
    draw = random.Random(7)
    cases = []
    for _ in range(1000):
        strings = list(dict.fromkeys("".join(draw.choices("abc", k=draw.randint(1, 4))) for _ in range(16)))
        cases.append((strings[: draw.randint(0, 10)], draw.sample(strings, draw.randint(1, 3))))
    scores = evaluate_transcriptions(*zip(*cases, strict=True))
    table = np.column_stack([scores.accuracy, scores.f, scores.mrr, scores.map_ref, scores.map_10, scores.map_sys])
    assert table == pytest.approx(np.array([reference_figures(*case) for case in cases]))


def test_xml_comes_back(tmp_path):
    pairs = Pairs(["a & b", "x", "x"], ["アンナ", "ア", "イ"])
    write_corpus(pairs, tmp_path / "c.xml", source_language="English", target_language="Japanese")
    assert read_transcriptions(str(tmp_path / "c.xml")) == pairs
    write_results(
        ["x"], [["ア"] * 12], tmp_path / "r.xml", source_language="E", target_language="J", kind="non-standard"
    )
    text = (tmp_path / "r.xml").read_text(encoding="utf-8")
    assert text.count("<TargetName") == 10
    assert 'RunType="non-standard"' in text
    (tmp_path / "bad.xml").write_text("<Transliteration", encoding="utf-8")
    with pytest.raises(DataError, match="no XML"):
        read_transcriptions(str(tmp_path / "bad.xml"))


def test_files_tell_symbols_from_texts(tmp_path):
    (tmp_path / "p.tsv").write_text("abs\tAE B Z\tEY B\n", encoding="utf-8")
    assert read_transcriptions(str(tmp_path / "p.tsv")).outputs == [["AE", "B", "Z"], ["EY", "B"]]
    (tmp_path / "k.tsv").write_text("svea\tス ベ ア\t1\n", encoding="utf-8")
    assert read_transcriptions(str(tmp_path / "k.tsv")).outputs == ["スベア"]
    (tmp_path / "b.tsv").write_text("svea\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"b\.tsv:1"):
        read_transcriptions(str(tmp_path / "b.tsv"))


def test_syllables_of_readings():
    assert syllabify("abukawa") == ["a", "bu", "ka", "wa"]
    assert syllabify("matto") == ["mat", "to"]
    assert syllabify("kotchi") == ["kot", "chi"]
    assert syllabify("shin'ichi") == ["shin", "i", "chi"]
    assert syllabify("homma") == ["hom", "ma"]
    assert [syllabify(name) for name in ("xiao", "qian", "zhou", "wang", "")] == [None] * 5
    assert syllabify("ōnuma") == syllabify("oonuma") == ["o", "nu", "ma"]
    assert romanize("こうだ") == "koda"
    assert romanize("まっちゃ") == "matcha"
    assert romanize("漢") is None


def test_kanji_channel_has_the_numbers_of_the_paper():
    pairs = [("abukawa", "XY"), ("kawada", "YZ"), ("tada", "WZ")]
    readings, names = zip(*pairs, strict=True)

    def channel(iterations):
        model = KanjiRestorer(max_iter=iterations, method="em").fit(readings, names)
        return {kanji: dict(model.readings_of(kanji)) for kanji in "XYZ"}

    first = channel(1)
    assert first["Y"] == pytest.approx({"bukawa": 1 / 6, "kawa": 5 / 12, "wa": 1 / 6, "ka": 1 / 4}, abs=1e-4)
    assert first["Z"]["da"] == pytest.approx(0.75)
    second = channel(2)
    assert (second["X"]["abu"], second["Y"]["kawa"], second["Z"]["da"]) == pytest.approx(
        (0.5556, 0.6944, 0.9167), abs=1e-4
    )
    limit = channel(100)
    assert (limit["X"]["abu"], limit["Y"]["kawa"], limit["Z"]["da"]) == pytest.approx((1, 1, 1), abs=1e-3)


def test_names_in_kanji_equal_enumeration():
    readings, names = sample_kanji()
    model = KanjiRestorer(width=None, method="em", beam=10_000).fit(readings, names)
    channel = {
        (link[0][0], link[1]): p
        for link, p in zip(model.channel_.links_, np.exp(model.channel_.log_probabilities_).tolist(), strict=True)
    }

    def all_names(syllables):
        if not syllables:
            yield "", 1.0
        for (kanji, segment), p in channel.items():
            if tuple(syllables[: len(segment)]) == segment:
                for rest, q in all_names(syllables[len(segment) :]):
                    yield kanji + rest, p * q

    sums = {}
    for name, p in all_names(tuple(syllabify("tanaka"))):
        sums[name] = sums.get(name, 0.0) + p * 10 ** float(model.source_.scores([list(name)]).log_probability[0])
    best = model.predict_best(["tanaka"], 5)[0]
    assert [one.output for one in best] == sorted(sums, key=lambda name: -sums[name])[:5]
    assert [np.exp(one.log_probability) for one in best] == pytest.approx(sorted(sums.values(), reverse=True)[:5])


def test_last_viterbi_step_leaves_fewer_readings():
    readings, names = sample_kanji()
    sizes = [len(KanjiRestorer(method=m).fit(readings, names).channel_.links_) for m in ("em", "em+viterbi")]
    assert sizes[1] < sizes[0]


def test_rare_readings_of_a_kanji_are_dropped_but_never_all() -> None:
    readings, names = ["ta"] * 300 + ["den", "ka", "ko"], ["田"] * 301 + ["香", "小"]
    model = KanjiRestorer().fit(readings, names)
    assert model.readings_of("田") == [("ta", 1.0)]
    assert [reading for reading, _ in model.readings_of("香")] == ["ka"]
    every = KanjiRestorer(min_probability=0.0).fit(readings, names)
    assert every.readings_of("田") == [("ta", pytest.approx(300 / 301)), ("den", pytest.approx(1 / 301))]
    assert (every.predict(["den"]), model.predict(["den"])) == (["田"], [""])
    with pytest.raises(DataError, match="min_probability"):
        KanjiRestorer(min_probability=1.0).fit(readings, names)


def test_dictionary_promotes_kanji():
    model = KanjiRestorer(method="em").fit(["kawata", "tada", "kawada", "yamada"], ["川田", "多田", "川駄", "山田"])
    listed = [one.output for one in model.predict_best(["kawada"], 10)[0]]
    last = listed[-1]
    assert model.predict_best(["kawada"], 1, dictionary={"kawada": [last]})[0][0].output == last


def test_a_very_long_word_is_transcribed_without_all_scores(searched):
    word = "tanaka" * 500
    row = searched.predict_best([word, "kitano"], 2)[0]
    assert row[0].output.startswith("タナカタナカ")
    assert len(row[0].output) == 1500


@pytest.mark.parametrize(("words", "apart"), [(30, 7), (200, 50), (600, 100), (2000, 200)])
def test_of_few_words_a_larger_share_is_kept_apart(words, apart):
    names = [f"w{i}" for i in range(words)]
    train, dev, rows = Transcriber()._split(Pairs(names, names))
    assert len(dev.words) == apart
    assert sorted(train.words + dev.words) == sorted(names)
    assert [names[i] for i in rows] == train.words


def test_letters_that_all_write_three_symbols() -> None:
    """As characters of Chinese do; units of two letters and two symbols cannot align such words."""
    rng = np.random.default_rng(1)
    names = [chr(0x4E00 + i) for i in range(30)]
    drawn = list(dict.fromkeys(tuple(rng.integers(0, 30, rng.integers(2, 4)).tolist()) for _ in range(150)))
    words = ["".join(names[i] for i in row) for row in drawn]
    outputs = [[symbol for i in row for symbol in (f"c{i % 7}", f"v{i % 5}", f"t{i % 3}")] for row in drawn]
    model = Transcriber(n_jobs=1).fit(words[:120], outputs[:120], words[120:], outputs[120:])
    best = [row[0].output for row in model.predict_best(words[120:], 1, cached=False)]
    assert best == outputs[120:]


def test_pairs_without_an_alignment_have_the_numbers_of_the_input() -> None:
    words, outputs = sample_names()
    words, outputs = [*words[:60], "a", "ka" * 1200, *words[60:]], [*outputs[:60], "カ" * 9, "カ" * 2400, *outputs[60:]]
    for settings in ({"search": False}, {"search": True}, {"search": True, "refit": False, "random_state": 3}):
        model = Transcriber(n_jobs=1, **settings).fit(words, outputs)
        assert set(model.unaligned_) <= {60, 61}
        assert 61 in model.unaligned_ or settings.get("refit") is False


def test_empty_sets_are_refused_in_words() -> None:
    words, outputs = sample_names()
    with pytest.raises(DataError, match="no development words to choose by"):
        Transcriber().fit(words, outputs, [], [])
    with pytest.raises(DataError, match="no words to evaluate"):
        evaluate_transcriptions([], [])


def test_a_few_odd_pairs_do_not_make_the_units_of_all_others_long() -> None:
    words, outputs = sample_names()
    apart = len(words) // 4
    train = ([*words[apart:], "ka"], [*outputs[apart:], "カタカナデス" * 2])
    model = Transcriber(n_jobs=1, script="katakana").fit(*train, words[:apart], outputs[:apart])
    (choice,) = [one for one in model.choices_ if one["what"] == "symbols of a letter at most"]
    assert choice["chosen"] == min(choice["errors"], key=int)
    assert max(part["parameters"]["max_output"] for part in model.plan_) <= int(choice["chosen"])
