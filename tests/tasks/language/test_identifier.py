"""The identifier: relevances against the definition, worked numbers, answers, edits, bad input."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill._native import language as native
from textmill.errors import DataError
from textmill.model import load
from textmill.tasks.language import (
    LanguageCounts,
    LanguageIdentifier,
    RelativeAccepted,
    apply_patch,
    best_threshold,
    diff_models,
    dump_lines,
    patch_lines,
    with_lists,
    word_relevances,
    words_of,
)
from textmill.tasks.language.letters import letter_evidence
from textmill.tasks.language.records import GRAM, columns_of
from textmill.tasks.language.thresholds import fit_support

EN = [
    "the cat sat on the mat and the dog looked at the cat",
    "this is the house that the old man built near the river",
    "where is the book that you have read in the evening",
    "they have seen the light of the morning and went away",
] * 6
CS = [
    "kočka seděla na rohoži a pes se díval na kočku",
    "to je dům který postavil starý muž u řeky",
    "kde je kniha kterou jsi četl večer",
    "viděli světlo rána a odešli pryč do lesa",
] * 6
TEXTS, LABELS = EN + CS, ["en"] * len(EN) + ["cs"] * len(CS)


def plain(**parameters: object) -> LanguageIdentifier:
    return LanguageIdentifier(**{"min_count": 1, "held_out": 0, "order": 0, **parameters})  # type: ignore[arg-type]


def test_worked_relevances_and_scores() -> None:
    model = plain().fit(["the the cat sat", "pes pes cat sel"], ["en", "cs"]).set_thresholds({"en": 0.3, "cs": 0.3})
    words = model.words()
    assert words["the"] == pytest.approx({"en": 0.6419}, abs=5e-5)
    assert words["sat"] == pytest.approx({"en": 0.6419}, abs=5e-5)
    assert words["cat"] == {}
    answer = model.detect("the cat sat on")
    assert answer.languages == ("en",)
    assert {code: score for code, score, _ in answer.ranking} == pytest.approx({"en": 0.3209, "cs": 0.0}, abs=5e-5)
    assert model.detect("on off up").languages == ()
    everything = plain(evidence="all").fit(["the the cat sat", "pes pes cat sel"], ["en", "cs"])
    assert dict(everything.explain("pes")[0].relevance)["en"] == pytest.approx(-2.3026, abs=5e-5)


def test_unbalanced_union_of_nine_words_and_one() -> None:
    counts = LanguageCounts.from_texts(["a b c d e f g h i", "x"], ["big", "small"])
    relevance = dict(zip(counts.words_, word_relevances(counts, 0.1, "union"), strict=True))
    assert relevance["a"] == pytest.approx(0.0953, abs=5e-5)
    assert relevance["x"] == pytest.approx(2.2083, abs=5e-5)


def test_nine_balanced_languages_reach_log_8_2() -> None:
    counts = LanguageCounts.from_texts([f"{letter}x{letter}" for letter in "abcdefghi"], [f"l{i}" for i in range(9)])
    assert word_relevances(counts, 0.1).max() == pytest.approx(2.1041, abs=5e-5)


corpora = st.lists(
    st.tuples(st.sampled_from(["aa", "bb", "cc"]), st.lists(st.sampled_from(["one", "two", "six", "ten"]), min_size=1)),
    min_size=1,
)


@settings(max_examples=60, deadline=None)
@given(corpora, st.sampled_from(["balanced", "union"]), st.floats(0.01, 0.9))
def test_relevances_are_those_of_the_definition(
    corpus: list[tuple[str, list[str]]], background: str, alpha: float
) -> None:
    counts = LanguageCounts.from_texts([" ".join(words) for _, words in corpus], [code for code, _ in corpus])
    by_language: dict[str, Counter[str]] = {}
    for code, words in corpus:
        by_language.setdefault(code, Counter()).update(words)
    everything = sum(by_language.values(), Counter())
    relevance = word_relevances(counts, alpha, background)
    entry = 0
    for word in sorted(everything):
        for code in sorted(by_language):
            if not by_language[code][word]:
                continue
            if background == "union":
                usual = everything[word] / everything.total()
            else:
                usual = sum(own[word] / own.total() for own in by_language.values()) / len(by_language)
            own = by_language[code][word] / by_language[code].total()
            assert relevance[entry] == pytest.approx(math.log(alpha + (1 - alpha) * own / usual), abs=1e-12)
            size = len(by_language) if background == "balanced" else everything.total() / by_language[code].total()
            assert math.log(alpha) < relevance[entry] <= math.log(alpha + (1 - alpha) * size) + 1e-12
            entry += 1
    assert entry == len(relevance)


def test_a_background_of_its_own_is_what_words_are_measured_by(tmp_path: Path) -> None:
    background = LanguageCounts.from_texts(["the the the of of cat pes pes"], ["web"])
    counts = LanguageCounts.from_texts(["the cat sat", "pes a pes"], ["en", "cs"])
    relevance = dict(zip(counts.words_, word_relevances(counts, 0.1, background), strict=True))
    assert relevance["the"] == pytest.approx(math.log(0.1 + 0.9 * (1 / 3) / (3 / 8)))
    assert relevance["pes"] == pytest.approx(math.log(0.1 + 0.9 * (2 / 3) / (2 / 8)))
    assert relevance["sat"] == pytest.approx(math.log(0.1 + 0.9 * (1 / 3) / (1 / 8)))  # as if it came once
    model = plain(background=background).fit_counts(counts)
    assert model.words()["the"] == {}  # common everywhere
    model.save(tmp_path / "m.mill")
    assert load(tmp_path / "m.mill", expect=LanguageIdentifier).words() == model.words()


def test_rare_words_stay_unless_there_is_much_text() -> None:
    few = LanguageIdentifier(held_out=0, order=0).fit(["the cat sat", "pes a pes"], ["en", "cs"])
    assert sorted(few.words()) == ["a", "cat", "pes", "sat", "the"]
    lists = {"en": {"the": 2_999_990, "cat": 3, "gnu": 2}, "cs": {"pes": 3_000_000, "lev": 5}}
    many = LanguageCounts.from_frequencies(lists)  # three million words each: three occurrences
    assert sorted(LanguageIdentifier(order=0).fit_counts(many).words()) == ["cat", "lev", "pes", "the"]
    more = many + many + LanguageCounts.from_frequencies({"en": {"emu": 2}, "cs": {"rys": 4}})  # six million: five
    assert sorted(LanguageIdentifier(order=0).fit_counts(more).words()) == ["cat", "lev", "pes", "the"]
    assert "emu" in LanguageIdentifier(order=0, min_count=2).fit_counts(more).words()
    with pytest.raises(DataError, match="min_count"):
        plain(min_count=-1).fit(TEXTS, LABELS)


def test_counts_of_shards_add_to_the_same_model_and_can_be_taken_away() -> None:
    whole = LanguageCounts.from_texts(TEXTS, LABELS)
    shards = [LanguageCounts.from_texts(TEXTS[i::3], LABELS[i::3]) for i in range(3)]
    merged = shards[2] + shards[0] + shards[1]
    assert merged.fingerprint() == whole.fingerprint()
    assert plain(order=3).fit_counts(merged).fingerprint() == plain(order=3).fit_counts(whole).fingerprint()
    assert (whole - shards[1]).fingerprint() == (shards[0] + shards[2]).fingerprint()
    with pytest.raises(DataError, match="taken away"):
        shards[0] - whole


def test_a_corpus_ten_times_as_large_says_the_same() -> None:
    once = plain().fit_counts(LanguageCounts.from_texts(TEXTS, LABELS))
    more = plain().fit_counts(LanguageCounts.from_texts([*TEXTS, *EN * 9], [*LABELS, *["en"] * (9 * len(EN))]))
    assert list(diff_models(once, more)) == []


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 1, width=16), st.booleans()), min_size=1, max_size=12),
    st.sampled_from([0.5, 1.0, 2.0]),
)
def test_the_best_threshold_is_that_of_all_cuts(rows: list[tuple[float, bool]], beta: float) -> None:
    scores, positive = np.array([s for s, _ in rows]), np.array([p for _, p in rows])
    if not positive.any():
        return

    def figure(cut: float) -> float:
        hits = float((positive & (scores >= cut)).sum())
        if hits == 0:
            return 0.0
        precision, recall = hits / (scores >= cut).sum(), hits / positive.sum()
        return float((1 + beta**2) * precision * recall / (beta**2 * precision + recall))

    threshold, reached = best_threshold(scores, positive, beta)
    assert reached == pytest.approx(max(figure(score) for score in scores))
    assert figure(threshold) == pytest.approx(reached)
    assert best_threshold(scores, positive, beta * 2)[0] <= threshold + 1e-12


def test_f_of_half_precision_and_full_recall() -> None:
    for beta, value in ((1.0, 0.6667), (2.0, 0.8333), (0.5, 0.5556)):
        assert best_threshold([0.5, 0.5], [True, False], beta)[1] == pytest.approx(value, abs=5e-5)


def test_a_word_added_by_hand_changes_the_score_by_its_share() -> None:
    model = plain().fit(TEXTS, LABELS)
    text = "the gruffalo sat on"
    before = {code: score for code, score, _ in model.detect(text).ranking}
    after = {code: score for code, score, _ in model.with_words({"gruffalo": {"en": 1.5}}).detect(text).ranking}
    assert after["en"] - before["en"] == pytest.approx(1.5 / 4, abs=1e-6)
    assert after["cs"] == before["cs"]


def test_patches_say_what_differs_and_belong_to_one_model() -> None:
    model = plain().fit(TEXTS, LABELS)
    edited = apply_patch(model, ["gruffalo\ten\t1.5", "the\ten\t-", "pes\t*"])
    assert edited.word("gruffalo") == pytest.approx({"en": 1.5})
    assert edited.word("pes") is None
    lines = list(patch_lines(diff_models(model, edited), model))
    again = apply_patch(model, [line for line in lines if not line.startswith("pes")])
    assert {(c.word, c.after) for c in diff_models(again, edited)} == {("pes", None)}
    with pytest.raises(DataError, match=r"p\.txt:1: this patch was written for another model"):
        apply_patch(edited, lines, source="p.txt")
    with pytest.raises(DataError, match="does not know the language 'xx'"):
        apply_patch(model, ["a\txx\t1"])
    with pytest.raises(DataError, match="lower-case"):
        apply_patch(model, ["Two words\ten\t1"])
    assert with_lists(model, white={"cs": ["ahoj"]}, black=["the"]).word("the") == {}
    assert any(line.startswith("kočka\tcs\t") for line in dump_lines(model, language="cs"))


def test_models_come_back_from_their_files(tmp_path: Path) -> None:
    for compact in (False, True):
        model = LanguageIdentifier(min_count=1, order=3, compact=compact).fit(TEXTS, LABELS)
        model.save(tmp_path / "a.mill")
        again = load(tmp_path / "a.mill", expect=LanguageIdentifier)
        again.save(tmp_path / "b.mill")
        assert (tmp_path / "a.mill").read_bytes() == (tmp_path / "b.mill").read_bytes()
        assert again.detect("the old house") == model.detect("the old house")
        assert model.predict(["the river", "starý muž", "1234"]).tolist() == ["en", "cs", "und"]


def test_bytes_of_compact_models_say_nearly_the_same() -> None:
    exact = plain().fit(TEXTS, LABELS).words()
    coarse = plain(compact=True).fit(TEXTS, LABELS).words()
    for word, pairs in exact.items():
        for code, value in pairs.items():
            assert coarse[word].get(code, 0.0) == pytest.approx(value, abs=0.04)


def test_letters_speak_of_unknown_words_and_only_in_the_ranking() -> None:
    model = LanguageIdentifier(min_count=1, held_out=0, order=3).fit(TEXTS, LABELS)
    answer = model.detect("řekami")
    assert answer.language == "cs"
    assert answer.dictionary_words == 0
    assert answer.languages == ()
    assert model.explain("řekami")[0].source == "letters"
    assert model.explain("x1řekami")[-1].source == "none"  # digits touch it: no word of a language


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("see https://t.co/AbCd12?x=the now", ["see", "now"]),
        ("see www.the-cat.org, now", ["see", "now"]),
        ("ask jan@the-cat.org or @the_cat now", ["ask", "or", "now"]),
        ('<p class="the">a cat</p><a href="/x">sat</a>', ["a", "cat", "sat"]),
        ("cats&nbsp;sat &amp; ate", ["cats", "sat", "ate"]),
        ("a < b and c > d: e. f @ g & h; i", ["a", "b", "and", "c", "d", "e", "f", "g", "h", "i"]),
        ("note: the cat.sat <" + "x" * 400 + ">", ["note", "the", "cat", "sat", ""]),
        ("https://the-cat.org", ["https", "the", "cat", "org"]),  # nothing else: better than nothing
        ("12:30 <3", []),
        ("a@b中文<p>й</p>", ["中", "文", "й"]),
    ],
)
def test_addresses_and_elements_are_no_words(text: str, words: list[str]) -> None:
    assert native.keys(native.Texts([text]), 0, False) == words
    assert native.keys(native.Texts([text.encode()]), 0, False) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tHe CaT sAt On ThE mAt", ["the", "cat", "sat", "on", "the", "mat"]),
        ("the_cat_sat_on_the_mat", ["the", "cat", "sat", "on", "the", "mat"]),
        ("TheCatSat", ["thecatsat"]),
        ("my iPhone and the cat_sat here", ["my", "", "and", "the", "", "", "here"]),  # odd words among others
        ("aB3x_yZ9 Qk4Lm tU7vW", ["", "", "", "", "", "", ""]),  # codes
    ],
)
def test_odd_words_are_words_where_most_are_odd(text: str, words: list[str]) -> None:
    assert native.keys(native.Texts([text]), 0, False) == words
    assert native.keys(native.Texts([text.encode()]), 0, False) == words


def test_scripts_decide_before_letters() -> None:
    model = LanguageIdentifier(min_count=1, held_out=0, order=2).fit(
        ["hello there friend", "привет мой друг", "γεια σου φίλε"], ["en", "ru", "el"]
    )
    assert model.predict(["комната", "δωμάτιο", "room"]).tolist() == ["ru", "el", "en"]


def test_decoys_are_known_and_never_answered() -> None:
    model = plain(decoys=["cs"]).fit(TEXTS, LABELS).set_thresholds({"en": 0.1, "cs": 0.1})
    assert model.languages() == ["en"]
    assert model.detect("kočka a pes").languages == ()
    assert model.predict(["kočka a pes"]).tolist() == ["en"]
    with pytest.raises(DataError, match="decoy 'xx'"):
        plain(decoys=["xx"]).fit(TEXTS, LABELS)


def test_languages_are_chosen_at_the_call() -> None:
    model = plain().fit([*TEXTS, "der alte mann und das haus"], [*LABELS, "de"])
    assert model.detect("das haus", languages=["en", "cs"]).language in (None, "en", "cs")
    assert model.select(["cs", "en"]).classes_.tolist() == ["cs", "en"]
    with pytest.raises(DataError, match="does not know the language 'xx'"):
        model.detect("das", languages=["xx"])


def test_accents_do_not_matter_when_they_are_stripped() -> None:
    model = plain(accents="strip").fit(TEXTS, LABELS)
    assert model.detect("kocka sedela na rohozi").ranking == model.detect("kočka seděla na rohoži").ranking
    derived = LanguageIdentifier(min_count=1, held_out=0, order=3).fit(TEXTS, LABELS).without_accents()
    assert derived.predict(["kocka sedela"]).tolist() == ["cs"]


def test_words_that_fall_together_have_the_mean_of_what_they_say() -> None:
    counts = LanguageCounts.from_texts(["rad rad rám", "rád rád rám", "räd"], ["en", "cs", "de"])
    model = LanguageIdentifier(min_count=1, order=0, evidence="all").fit_counts(counts)
    bare = model.without_accents()
    assert sorted(bare.words()) == ["rad", "ram"]
    own, other, third = (model.words()[word] for word in ("rad", "rád", "räd"))
    for code in ("en", "cs", "de"):
        ratios = [math.exp(word.get(code, math.log(0.1))) for word in (own, other, third)]
        # "rad" is written without accents
        expected = math.log((ratios[0] + 0.02 * ratios[1] + 0.02 * ratios[2]) / 1.04)
        assert bare.words()["rad"][code] == pytest.approx(expected, abs=1e-5)
    assert bare.words()["ram"] == pytest.approx(model.words()["rám"])  # alone, it keeps its values


def test_letters_without_accents_are_learned_from_a_large_dictionary() -> None:
    draw = np.random.default_rng(0)
    # One language writes š where the other writes s; without accents both begin a third of their words with "so".
    parts = {"cs": ("šo", "ma", "le"), "en": ("so", "am", "el")}
    texts = {code: " ".join("".join(draw.choice(of, 7)) for _ in range(2500)) for code, of in parts.items()}
    model = LanguageIdentifier(min_count=1, held_out=0, order=3).fit(list(texts.values()), list(texts))

    def lead(identifier: LanguageIdentifier) -> float:  # of English over Czech, by the n-gram "<s"
        keys, rest, begin, languages, values = columns_of(identifier.records_, identifier.step_, GRAM)
        row = keys.to_list().index("<s")
        pairs = dict(zip(languages[begin[row] : begin[row + 1]], values[begin[row] : begin[row + 1]], strict=True))
        return float(pairs.get(1, rest[row]) - pairs.get(0, rest[row]))

    assert lead(model) > 2
    assert abs(lead(model.without_accents())) < 0.3
    assert model.without_accents().predict(["somalesoma", "soamelsoam"]).tolist() == ["cs", "en"]
    few = model.with_words(dict.fromkeys(list(model.words())[:-300]))  # not enough to learn from
    assert all(key.isascii() for key in columns_of(few.without_accents().records_, model.step_, GRAM)[0])


def test_composed_and_decomposed_text_are_the_same() -> None:
    model = LanguageIdentifier(min_count=1, order=3).fit(TEXTS, LABELS)
    for text in ("Příliš žluťoučký kůň", "Tiếng Việt", "한국어", "Ελληνικά"):
        apart = unicodedata.normalize("NFD", text)
        assert words_of(apart) == words_of(text)
        assert model.detect(apart) == model.detect(text)


def test_strange_texts_have_an_answer() -> None:
    model = LanguageIdentifier(min_count=1, order=3).fit(TEXTS, LABELS)
    for text in ("", " ", "1", "1234 5678", "x" * 10_000_000, b"\xff\xfe the \xc3", "\ud800 the", "日本語", "!?"):
        answer = model.detect(text)
        assert answer.words >= answer.dictionary_words >= 0
    assert model.detect(b"\xff\xfe the \xc3").dictionary_words == 1
    data = b"the cat" + "kočka".encode()
    sums = model.sums_of_bytes(np.frombuffer(data, np.uint8), np.array([0, 7, len(data)]))
    assert sums.words.tolist() == [2, 1]


def test_threads_give_the_same_bytes() -> None:
    model = LanguageIdentifier(min_count=1, order=3).fit(TEXTS, LABELS)
    texts = TEXTS * 40
    one, many = model.sums(texts), LanguageIdentifier.set_params(model, n_jobs=8).sums(texts)
    assert one.total.tobytes() == many.total.tobytes()


def test_eight_callers_at_once_get_the_same_answers() -> None:
    model = LanguageIdentifier(min_count=1, order=3, n_jobs=2).fit(TEXTS, LABELS)
    expected = model.detect_many(TEXTS)
    with ThreadPoolExecutor(8) as pool:
        for answers in pool.map(model.detect_many, [TEXTS] * 32):
            assert answers == expected


def test_a_hint_counts_as_one_word() -> None:
    model = plain().fit([*TEXTS, "river"], [*LABELS, "cs"])  # more frequent in English
    strongest = math.log(0.1 + 0.9 * 2)
    without, czech, unknown = (model.detect_many(["river"], hints=hints)[0] for hints in (None, ["cs"], ["xx"]))
    assert without == unknown
    assert (without.language, czech.language) == ("en", "cs")
    sums = model.sums(["river"]).total[0]
    odds = math.log(czech.confidence / (1 - czech.confidence))
    assert odds == pytest.approx(model.temperature_[0] * (sums[0] + strongest - sums[1]), abs=1e-5)
    assert model.detect_many([EN[0]], hints=["cs"])[0].language == "en"  # a hint is one word among many
    with pytest.raises(DataError, match="1 texts have 2 hints"):
        model.detect_many(["a"], hints=["cs", None])


def test_words_that_lead_are_those_of_the_languages_asked_for() -> None:
    model = plain().fit([*TEXTS, "der alte mann und das haus"], [*LABELS, "de"])
    text = "der der der the pes pes"
    assert dict(model.flipping_words(text)) == {"der": pytest.approx(3 * model.word("der")["de"])}  # type: ignore[index]
    assert [word for word, _ in model.flipping_words(text, languages=["cs", "en"])] == ["pes"]


def test_a_relative_that_is_taken_for_a_known_language_is_named() -> None:
    model = plain().fit(TEXTS, LABELS)
    relatives = EN[:20]  # nothing tells them apart
    strangers = ["ez da hau nire etxea baina"] * 20
    with pytest.warns(RelativeAccepted, match="100% of the held-out texts in 'sco' are taken .* mostly 'en'") as caught:
        model.tune([*TEXTS, *relatives, *strangers], [*LABELS, *["sco"] * 20, *["eu"] * 20])
    assert len(caught) == 1


def test_wrong_input_is_one_error() -> None:
    with pytest.raises(DataError, match="3 texts have 2 languages"):
        plain().fit(["a", "b", "c"], ["en", "cs"])
    with pytest.raises(DataError, match="no language code"):
        plain().fit(["a"], ["not a code"])
    with pytest.raises(DataError, match="'cs' has no words"):
        plain().fit(["a", "123"], ["en", "cs"])
    with pytest.raises(DataError, match="held-out"):
        plain().fit(TEXTS, LABELS).tune([], [])
    with pytest.raises(DataError, match="evidence must be one of"):
        plain(evidence="some").fit(TEXTS, LABELS)


def test_a_damaged_table_is_no_crash() -> None:
    model = LanguageIdentifier(min_count=1, order=3).fit(TEXTS, LABELS)
    random = np.random.default_rng(0)
    for _ in range(50):
        model.records_ = random.integers(0, 256, model.records_.size).astype(np.uint8)
        model.slots_ = random.integers(0, 2**32, model.slots_.size, dtype=np.uint32)
        vars(model).pop("_native", None)
        model.predict(TEXTS[:4])


def test_a_model_of_the_first_format_still_finds_every_word() -> None:
    """Its slots may have the tag 0 where they are taken: two of them do, those of 'gdhddh' and of the n-gram 'ad'."""
    model = load(Path(__file__).parents[2] / "files" / "language" / "language-1.mill", expect=LanguageIdentifier)
    assert model.word("gdhddh") is not None
    words = list(model.words())
    assert len(words) > 600
    assert all(model.word(word) is not None for word in words)
    assert model.predict(["gdhddh", "eaca"]).tolist() == ["bb", "aa"]


def test_a_model_of_the_second_format_has_no_rule_of_support() -> None:
    model = load(Path(__file__).parents[2] / "files" / "language" / "language-2.mill", expect=LanguageIdentifier)
    assert model.support_ == []
    assert model.detect("the cat").languages == ("en",)


def test_the_predicted_language_has_the_largest_sum(tmp_path: Path) -> None:
    model = plain(order=3, decoys=["cs"]).fit(TEXTS, LABELS).set_prior({"en": 0.001})
    texts = [*TEXTS[::6], "kočka cat", "42", "", "zzz", "catka", "the řeka"]
    sums = model.sums(texts)
    for languages in (None, ["cs", "en"], ["cs"]):
        chosen = model.sums(texts, languages=languages) if languages else sums
        total = chosen.total + model.prior_
        total[:, [code not in (languages or ["en"]) for code in model.classes_]] = -np.inf
        expected = [
            "und" if not words or (np.ptp(row) == 0 and row[0] < 1e-4 * words) else model.classes_[best]
            for words, row, best in zip(chosen.words, chosen.total, np.argmax(total, axis=1), strict=True)
        ]
        assert model.predict(texts, languages=languages).tolist() == expected


@pytest.mark.parametrize("compact", [True, False])
def test_what_most_languages_share_is_kept_as_a_row_and_reads_the_same(compact: bool) -> None:
    """A word of three of four languages is shorter as a row; one of a single language is not."""
    shared = "alpha alpha alpha beta"
    texts = [f"{shared} eins zwei", f"{shared} one two", f"{shared} un deux", "uno due tre quattro"]
    model = plain(evidence="all", order=2, compact=compact).fit(texts, ["de", "en", "fr", "it"])
    evidence = {word.word: word.relevance for word in model.explain("alpha quattro")}
    assert evidence["alpha"]["de"] == evidence["alpha"]["en"] == evidence["alpha"]["fr"] > 0 > evidence["alpha"]["it"]
    assert evidence["quattro"]["it"] > 0 > evidence["quattro"]["de"]
    again = model.with_words({})
    assert again.records_.tobytes() == model.records_.tobytes()
    assert model.select(["de", "it"]).detect("alpha beta").language == "de"


def test_support_passes_known_texts_and_no_others() -> None:
    draw = np.random.default_rng(0)
    found = np.repeat([1, -1, 0], 200)
    known = np.where(found == 1, 0.9, 0.5) + draw.normal(0, 0.02, 600)
    mean = np.where(found == 1, 2.0, 1.5) + draw.normal(0, 0.4, 600)  # alone, the mean tells them apart badly
    words = np.full(600, 8.0)
    weight, least, part = fit_support(mean, known, words, found, 1.0)
    passed = mean + weight * known >= least - part / np.sqrt(words)
    assert weight >= 3
    assert passed[found == 1].mean() > 0.95 > 0.4 > passed[found == -1].mean()
    assert fit_support(mean[:220], known[:220], words[:220], found[:220], 1.0) == ()  # too few of other languages


def test_texts_of_other_languages_teach_what_must_be_known() -> None:
    draw = np.random.default_rng(3)
    letters = np.array(list("abcdefghij"))

    def texts(words: list[str], foreign: float, count: int) -> list[str]:
        made = []
        for _ in range(count):
            own = draw.choice(words, 12)
            other = ["".join(draw.choice(letters, 7)) for _ in range(12)]
            made.append(" ".join(np.where(draw.random(12) < foreign, other, own)))
        return made

    ours = {code: ["".join(draw.choice(letters, 4)) for _ in range(40)] for code in ("xa", "xb")}
    train = [(text, code) for code in ours for text in texts(ours[code], 0.1, 60)]
    identifier = LanguageIdentifier(min_count=1, held_out=0).fit(*zip(*train, strict=True))
    known = [(text, code) for code in ours for text in texts(ours[code], 0.1, 60)]
    other = [(text, "zz") for text in texts(ours["xa"], 0.6, 60)]
    dev, test = known[::2] + other[::2], (known[1::2], other[1::2])
    assert identifier.tune(*zip(*known[::2], strict=True)).support_ == []
    identifier.tune(*zip(*dev, strict=True))
    assert len(identifier.support_) == 3
    identifier.set_thresholds({"xa": 0.0, "xb": 0.0})  # so that support alone decides
    accepted = [bool(answer.languages) for answer in identifier.detect_many([text for text, _ in test[0]])]
    refused = [not answer.languages for answer in identifier.detect_many([text for text, _ in test[1]])]
    assert np.mean(accepted) >= 0.9
    assert np.mean(refused) >= 0.8


def test_a_text_in_a_language_that_was_not_asked_for_is_not_asserted() -> None:
    texts = ["the cat sat on the mat", "pes a kocka spi doma", "der hund und die katze schlafen"]
    identifier = LanguageIdentifier(min_count=1, held_out=0).fit(texts, ["en", "cs", "de"])
    answer = identifier.detect("der hund und die katze", languages=["en", "cs"])
    assert answer.language in ("en", "cs")
    assert answer.languages == ()
    assert [code for code, _, _ in answer.ranking] == sorted(["en", "cs"], key=lambda code: code != answer.language)
    assert identifier.detect("the cat sat on the mat", languages=["en", "cs"]).languages == ("en",)


def test_source_code_is_in_no_language() -> None:
    identifier = LanguageIdentifier.bundled()
    code = ["for (int i = 0; i < size; ++i) total += values[i];", "def words(text): return text.split()",
            "const answer = await read_file(path);", "import os, sys", "template <class Real>",
            "template <Pack P, class Real>", "  template class Edits<W>; \\", "for (const Arc& arc : x)"]  # fmt: skip
    for line in code:
        assert identifier.detect(line).languages == (), line
        assert identifier.detect(line.encode()).languages == ()
    prose = ["The size of a file (or a part of it) is printed; see www.example.org for more.",
             "<p>The <b>answer</b> is read from the file before it is printed.</p>",
             "<P>The <I>answer</I> is read from the file</P>", "Hello <name>, how are you today?"]  # fmt: skip
    for line in prose:
        assert identifier.detect(line).languages == ("en",), line


def test_single_letters_are_in_no_language_but_that_of_their_script() -> None:
    model = LanguageIdentifier.bundled()
    for text in ("x", "a", "Q", "é", "e\u0301", "к", "x y z", "x, y: 3", "i", "ب"):
        assert model.detect(text).languages == (), text
        assert model.detect(text.encode()).languages == (), text
    assert {text: model.detect(text).languages for text in ("η", "ა", "あ", "中")} == {
        "η": ("el",),
        "ა": ("ka",),
        "あ": ("ja",),
        "中": ("zh", "ja"),
    }
    assert "en" in model.detect("no").languages
    assert model.detect("x the house and the y").languages == ("en",)


def test_of_equal_languages_the_first_is_the_best() -> None:
    counts = LanguageCounts.from_texts(["auto pes", "auto muž", "auto haus"], ["cs", "sk", "de"])
    model = plain(alpha=0.5).fit_counts(counts).with_words({"auto": {"cs": 1.0, "de": 1.0, "sk": 1.0}})
    answer = model.detect("auto auto")
    assert answer.language == "cs" == model.predict(["auto auto"])[0]
    assert answer.languages == ("cs", "de", "sk")
    assert answer.confidence == pytest.approx(1 / 3)
    liked = model.set_prior({"sk": 1.5})
    assert liked.detect("auto").language == "sk" == liked.predict(["auto"])[0]
    for text in ("xyz", "", "42"):  # nothing speaks for any of them
        assert liked.detect(text).language is None
        assert liked.predict([text])[0] == "und"


def test_words_asked_for_again_say_what_they_said() -> None:
    """Letters of a word are remembered within a call; one text at a time nothing is there to remember."""
    model = LanguageIdentifier.bundled().set_params(n_jobs=1)
    draw = np.random.default_rng(0)
    made = ["".join(draw.choice(list("aeiouklmnrst"), size=draw.integers(3, 40))) for _ in range(400)]
    texts = [" ".join(draw.choice(made, size=20) if i % 2 else made[i : i + 20]) for i in range(200)]
    together = model.sums(texts)
    for i, text in enumerate(texts):
        assert np.array_equal(together.total[i], model.sums([text]).total[0])
    chosen = model.sums(texts, languages=["cs", "de"])  # another call has another choice
    assert np.array_equal(chosen.total[7], model.sums([texts[7]], languages=["cs", "de"]).total[0])


def test_n_grams_are_kept_for_what_they_tell_beside_shorter_ones() -> None:
    counts = LanguageCounts.from_texts(TEXTS, LABELS)
    whole, some = (letter_evidence(counts, order=3, min_share=0, prior=5.0, min_worth=w) for w in (0.0, 2e-5))
    kept, every = set(some.keys.to_list()), set(whole.keys.to_list())
    assert kept < every
    assert {key for key in every if len(key) == 1} <= kept
    relevance = {
        key: dict(zip(some.languages[a:b].tolist(), some.values[a:b].tolist(), strict=True))
        for key, a, b in zip(some.keys, some.begin[:-1], some.begin[1:], strict=True)
    }
    place = {key: i for i, key in enumerate(whole.keys)}
    for key, pairs in relevance.items():  # what stays says what it said
        a, b = whole.begin[place[key]], whole.begin[place[key] + 1]
        assert pairs == dict(zip(whole.languages[a:b].tolist(), whole.values[a:b].tolist(), strict=True))
    # "th" tells English from Czech, where no t has an h behind it; "zzz" tells nothing that "zz" does not
    twins = LanguageCounts.from_texts(["the then that thin zzza zzzo", "to ten tam zzze zzzi"], ["en", "cs"])
    telling = set(letter_evidence(twins, order=3, min_share=0, prior=5.0, min_worth=5e-5).keys.to_list())
    assert "th" in telling
    assert "zzz" not in telling


def test_letters_asked_late_do_not_change_the_best_language() -> None:
    """Short texts are decided by a few words; one of 700 unknown words is more than can wait to be asked."""
    model = LanguageIdentifier.bundled().set_params(n_jobs=1)
    draw = np.random.default_rng(1)
    made = ["".join(draw.choice(list("aeioukdlmnrst"), size=draw.integers(2, 12))) for _ in range(900)]
    known = [
        "dům",
        "kniha",
        "večer",
        "house",
        "river",
        "book",
        "evening",
        "haus",
        "buch",
        "abend",
        "maison",
        "livre",
        "soir",
        "casa",
        "libro",
        "notte",
    ]
    texts = [" ".join([*draw.choice(made, size=n % 37), *draw.choice(known, size=n % 5)]) for n in range(400)]
    texts += [" ".join(draw.choice(made, size=700)), " ".join([*made[:256], *known]), " ".join(made[:257])]
    for languages in (None, ["cs", "de", "en"]):
        sums = model.sums(texts, languages=languages)
        total = sums.total + model.prior_
        if languages:
            total[:, [code not in languages for code in model.classes_]] = -np.inf
        expected = np.where(sums.words > 0, model.classes_[np.argmax(total, axis=1)], "und")
        assert model.predict(texts, languages=languages).tolist() == expected.tolist()
