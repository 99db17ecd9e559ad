from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import textmill
from textmill.errors import DataError
from textmill.lm import NGramModel
from textmill.model import Saved
from textmill.tasks import FluencyModel
from textmill.tasks.fluency import (
    Encoded,
    SentenceDocument,
    draw_negatives,
    evaluate_fluency,
    explain_sentence,
    match_pairs,
    read_sentences,
    sample_documents,
    split_corpus,
)
from textmill.tasks.fluency.model import seed_for


@pytest.fixture(scope="module")
def split() -> Any:
    return split_corpus(sample_documents(120))


@pytest.fixture(scope="module")
def judge(split: Any) -> FluencyModel:
    return FluencyModel(features="word:1").fit(split)


def test_distant_words_are_beyond_a_linear_judge_and_not_beyond_a_kernel() -> None:
    parts = split_corpus(sample_documents(250))
    linear = FluencyModel(features="word:3", kernel="linear").fit(parts)
    kernel = FluencyModel(features="word:1", degree=3).fit(parts)
    assert evaluate_fluency(linear, parts.test).accuracy <= 0.65
    assert evaluate_fluency(kernel, parts.test).accuracy >= 0.9


def test_leaks_are_small_in_the_default_protocol_and_show_where_there_is_one(split: Any, judge: FluencyModel) -> None:
    result = evaluate_fluency(judge, split.test)
    assert [leak.name for leak in result.leaks] == [
        "length",
        "unknown words",
        "seen bigrams",
        "seen trigrams",
        "LM score",
    ]
    assert all(leak.accuracy < 0.65 for leak in result.leaks if leak.name in ("length", "unknown words"))
    low, high = result.interval.low, result.interval.high
    assert low < result.accuracy < high
    short = [words[:6] for one in split.test for words in one.sentences]
    leaky = {leak.name: leak for leak in evaluate_fluency(judge, short).leaks}
    assert leaky["length"].accuracy == 1.0
    assert leaky["length"].right_if == "low"


def test_words_of_a_vocabulary_from_the_lm_text_give_positives_away() -> None:
    generator = np.random.default_rng(0)
    documents = []
    for number in range(300):  # every document has words of its own beside common ones
        own = [f"own{number}-{i}" for i in range(4)]
        rows = [
            [f"w{generator.integers(30)}" if generator.random() < 0.9 else own[generator.integers(4)] for _ in range(n)]
            for n in generator.integers(6, 15, 12)
        ]
        documents.append(SentenceDocument(str(number), rows))
    parts = split_corpus(documents)
    rates = {}
    for vocabulary in ("apart", "lm"):
        model = FluencyModel(vocabulary=vocabulary, features="word:1", max_iter=1).fit(parts)
        leaks = {leak.name: leak.accuracy for leak in evaluate_fluency(model, parts.test).leaks}
        rates[vocabulary] = leaks["unknown words"]
    assert rates["apart"] < 0.6 < 0.7 < rates["lm"]


def test_matched_pairs_agree_in_length_and_nearly_in_score(split: Any, judge: FluencyModel) -> None:
    result = evaluate_fluency(judge, split.test, matched=True)
    assert len(result.positive_margins) == len(result.negative_margins) > 50
    leaks = {leak.name: leak for leak in result.leaks}
    assert leaks["length"].positive_mean == leaks["length"].negative_mean
    assert leaks["LM score"].positive_mean == pytest.approx(leaks["LM score"].negative_mean, abs=0.01)
    assert leaks["unknown words"].positive_mean == pytest.approx(leaks["unknown words"].negative_mean)
    assert result.signature.startswith("fluency-accuracy|negatives:matched")


def test_matching_never_uses_a_negative_twice_and_takes_the_nearest() -> None:
    generator = np.random.default_rng(1)
    lengths, scores = generator.integers(5, 8, 40), generator.normal(size=40)
    pool, pool_scores = generator.integers(5, 8, 90), generator.normal(size=90)
    pairs = match_pairs(lengths, scores, pool, pool_scores, tolerance=0.3)
    assert len(set(pairs.negatives.tolist())) == len(pairs.negatives)
    assert (lengths[pairs.positives] == pool[pairs.negatives]).all()
    assert (np.abs(scores[pairs.positives] - pool_scores[pairs.negatives]) <= 0.3).all()
    one = match_pairs(lengths[:1], scores[:1], pool, pool_scores, tolerance=99.0)
    same = pool == lengths[0]
    assert abs(pool_scores[one.negatives[0]] - scores[0]) == np.abs(pool_scores[same] - scores[0]).min()
    strange, of_pool = generator.integers(0, 3, 40), generator.integers(0, 3, 90)
    pairs = match_pairs(lengths, scores, pool, pool_scores, unknown=(strange, of_pool), tolerance=0.3)
    assert len(pairs.positives) > 10
    assert (strange[pairs.positives] == of_pool[pairs.negatives]).all()
    assert (lengths[pairs.positives] == pool[pairs.negatives]).all()


def test_negatives_of_passes_development_and_test_differ(judge: FluencyModel) -> None:
    draws = [judge.draw(40, purpose=purpose, number=n).keys() for purpose in ("pass", "dev", "test") for n in (0, 1)]
    counts = Counter(key for keys in draws for key in set(keys))
    assert sum(count > 1 for count in counts.values()) <= 3  # two sentences may be equal by chance
    assert judge.draw(40).keys() == judge.draw(40).keys()


def test_negatives_of_tests_repeat_neither_the_text_nor_those_of_training(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)  # with a few words to say it is easy to say the same
    rows = [[f"{kind}{generator.integers(5)}" for kind in "abcde"] for _ in range(800)]
    parts = split_corpus([SentenceDocument(str(i), rows[i : i + 8]) for i in range(0, 800, 8)])
    model = FluencyModel(features="word:1", order=2, min_count=1, max_words=5).fit(parts)
    text = set(model.encode([*parts.sentences("lm"), *parts.sentences("train"), *parts.sentences("dev")]).keys())
    size, limits = parts.counts()["train"], {"min_words": 5, "max_words": 5, "seen": text}
    passes = [draw_negatives(model.lm_, model.lm_, size, random_state=seed_for(0, "pass", n), **limits) for n in (0, 1)]
    learned = set(Encoded.joined(passes).keys())
    anything = draw_negatives(model.lm_, model.lm_, 300, random_state=seed_for(0, "test"), **limits | {"seen": ()})
    assert text & set(anything.keys())
    assert learned & set(anything.keys())
    fresh = set(model.draw(300).keys())
    assert not (text | learned) & fresh
    model.drawn_digests_ = np.union1d(model.drawn_digests_, model.draw(300).digests())
    monkeypatch.setattr("textmill.tasks.fluency.negatives._ROUNDS", 1)
    again = set(model.draw(20).keys())  # nothing else is at hand
    assert again & fresh
    assert not text & again


def test_the_threshold_of_the_baseline_is_the_best_of_the_development_sentences(
    split: Any, judge: FluencyModel
) -> None:
    right = judge.log_scores(judge.encode(split.sentences("dev")))
    seen = judge.encode([*split.sentences("lm"), *split.sentences("train"), *split.sentences("dev")]).keys()
    limits = {"min_words": judge.min_words, "max_words": judge.max_words}
    drawn = draw_negatives(judge.lm_, judge.lm_, len(right), seen=set(seen), random_state=seed_for(0, "dev"), **limits)
    wrong = judge.log_scores(drawn)

    def hits(threshold: float) -> int:
        return int((right > threshold).sum() + (wrong <= threshold).sum())

    assert hits(judge.lm_threshold_) == max(map(hits, [-99.0, *right, *wrong]))
    test, result = judge.encode(split.sentences("test")), evaluate_fluency(judge, split.test)
    negatives = judge.draw(test.size, seen=set(test.keys()))
    scores = judge.log_scores(test), judge.log_scores(negatives)
    expected = [*(scores[0] > judge.lm_threshold_), *(scores[1] <= judge.lm_threshold_)]
    assert result.lm_accuracy == pytest.approx(np.mean(expected))


def test_features_are_all_ngrams_with_borders(split: Any) -> None:
    model = FluencyModel(features="word:3,class:2", n_classes=7, max_iter=1).fit(split)
    sentences = split.sentences("test")[:40]
    assert model.word_classes_ is not None
    grams: list[set[Any]] = []
    for words, classes in zip(sentences, model.word_classes_.transform(sentences), strict=True):
        found: set[Any] = set()
        for name, order, row in (("word", 3, words), ("class", 2, classes)):
            padded = ["<", *row, ">"]
            for n in range(1, order + 1):
                found |= {(name, *padded[i : i + n]) for i in range(len(padded) - n + 1)}
            found -= {(name, "<"), (name, ">")}
        grams.append(found)
    sets = model.sets(model.encode(sentences))
    assert sets.sizes().tolist() == [len(found) for found in grams]
    rows = [set(sets.take([i]).keys.tolist()) for i in range(40)]
    for i in range(39):  # the same keys for the same n-grams
        assert len(rows[i] & rows[i + 1]) == len(grams[i] & grams[i + 1])


def test_codes_are_explained_by_their_bits() -> None:
    documents = [SentenceDocument(str(i), [["the", "mill", "of", "course", f"t{i % 7}", "."]] * 3) for i in range(60)]
    settings: dict[str, Any] = {"n_classes": 4, "max_length": 2, "order": 2, "min_count": 1, "min_words": 2}
    model = FluencyModel(features="code2:1", **settings).fit(documents)
    one = explain_sentence(model, ["the", "mill", "of", "course", "t1", "."])
    assert model.word_classes_ is not None
    codes = model.word_classes_.codes_.to_list()
    assert {row.words: row.feature for row in one.features} == {
        row.words: codes[model.word_classes_.class_of(row.words)][:2] for row in one.features
    }


def test_empty_sentences_are_no_documents(split: Any, judge: FluencyModel) -> None:
    first = split.sentences("test")[0]
    assert len(evaluate_fluency(judge, [[], first]).positive_margins) == 1
    with pytest.raises(DataError, match="none of the 0 positives"):
        evaluate_fluency(judge, [[]])


def test_samples_that_repeat_a_sentence_are_drawn_again() -> None:
    lm = NGramModel(order=2).fit([["a", "b"], ["a", "c"]])
    seen = Encoded(*lm.encode([["a", "b"]])).keys()
    drawn = draw_negatives(lm, lm, 30, min_words=1, max_words=3, seen=set(seen), random_state=0)
    assert not set(drawn.keys()) & set(seen)


def test_a_source_of_ones_own(split: Any) -> None:
    class Shuffled:
        """Real sentences with their words in another order."""

        def __init__(self, sentences: list[list[str]]) -> None:
            self.sentences = sentences

        def sample(self, sentences: int, *, random_state: Any, first: int) -> list[list[str]]:
            rows = []
            for number in range(first, first + sentences):
                generator = np.random.default_rng([int(random_state), number])
                row = self.sentences[generator.integers(len(self.sentences))]
                rows.append([row[i] for i in generator.permutation(len(row))])
            return rows

    source = Shuffled(split.sentences("lm"))
    model = FluencyModel(features="word:2", kernel="linear").fit(split, negatives=source)
    assert evaluate_fluency(model, split.test, negatives=source).accuracy > 0.9
    wrong = source.sample(50, random_state=1, first=0)
    assert evaluate_fluency(model, split.test, negatives=wrong).counts().rejections > 40


def test_parts_of_words_sum_to_the_margin_and_the_wrong_tool_has_the_lowest(judge: FluencyModel) -> None:
    right = "in the morning the old miller near the river takes the sack and wants breakfast ."
    wrong = right.replace("sack", "anvil").replace("breakfast", "supper")
    for sentence in (right, wrong):
        one = explain_sentence(judge, sentence, k=4)
        total = sum(word.share for word in one.words) + one.start + one.end + one.rest
        assert total == pytest.approx(one.margin, abs=1e-9)
        assert one.margin == pytest.approx(float(judge.decision_function([sentence])[0]), abs=1e-9)
        assert one.margin > 0 if sentence is right else one.margin < 0
    shares = {word.word: word.share for word in one.words}
    lowest = sorted(shares, key=lambda word: shares[word])[:4]
    assert {"anvil", "miller", "supper", "morning"} & set(lowest)
    assert len(one.features) == 8


def test_chunks_share_the_part_of_their_class() -> None:
    documents = [SentenceDocument(str(i), [["the", "mill", "of", "course", f"t{i % 7}", "."]] * 3) for i in range(60)]
    model = FluencyModel(features="class:2", n_classes=4, max_length=2, order=2, min_count=1, min_words=2)
    model.fit(documents)
    one = explain_sentence(model, ["the", "mill", "of", "course", "t1", "."])
    total = sum(word.share for word in one.words) + one.start + one.end + one.rest
    assert total == pytest.approx(one.margin, abs=1e-9)
    longer = [word for word in one.words if " " in word.chunk]
    assert longer
    for word in longer:
        same = [other.share for other in one.words if other.chunk == word.chunk]
        assert max(same) == pytest.approx(min(same), abs=1e-12)


def test_same_model_for_any_number_of_threads_and_after_loading(split: Any, tmp_path: Path) -> None:
    models = [FluencyModel(features="class:2,word:1", n_classes=9, n_jobs=jobs).fit(split) for jobs in (1, 2, 5)]
    texts = [" ".join(words) for words in split.sentences("test")[:30]]
    margins = [model.decision_function(texts) for model in models]
    assert all((other == margins[0]).all() for other in margins[1:])
    models[0].save(tmp_path / "a.mill")
    loaded = textmill.load(tmp_path / "a.mill", expect=FluencyModel)
    assert (loaded.decision_function(texts) == margins[0]).all()
    assert (loaded.predict_proba(texts) == models[0].predict_proba(texts)).all()
    loaded.save(tmp_path / "b.mill")
    assert (tmp_path / "a.mill").read_bytes() == (tmp_path / "b.mill").read_bytes()
    assert (evaluate_fluency(loaded, split.test).negative_margins == evaluate_fluency(
        models[0], split.test).negative_margins).all()  # fmt: skip


def test_there_are_four_times_as_many_fine_classes_and_never_more_than_words(split: Any) -> None:
    model = FluencyModel(n_classes=8, max_iter=1).fit(split)
    assert model.word_classes_ is not None
    assert model.fine_classes_ is not None
    assert len(model.word_classes_.transitions_) == 9
    assert len(model.fine_classes_.transitions_) == 33
    coarse, fine = model.views(model.encode(split.sentences("test")[:9]))
    assert len(set(fine.symbols.tolist())) > len(set(coarse.symbols.tolist()))
    many = FluencyModel(n_classes=999, max_iter=1).fit(split)
    words = {word for sentence in split.sentences("lm") for word in sentence} & {*many.lm_.words_.to_list()}
    assert many.word_classes_ is not None
    assert len(many.word_classes_.transitions_) == len(words) + 1


@pytest.mark.parametrize(
    ("kernel", "degree", "square"),
    [("linear", 2, lambda n: n), ("polynomial", 3, lambda n: (1 + n) ** 3), ("rbf", 2, lambda n: 1.0 + 0 * n)],
)
def test_the_cost_follows_the_kernel_unless_it_is_given(split: Any, kernel: str, degree: int, square: Any) -> None:
    model = FluencyModel(features="word:1", kernel=kernel, degree=degree, max_iter=1).fit(split)
    sizes = np.diff(model.sets(model.encode(split.sentences("train"))).offsets).astype(float)
    assert model.learner_.method == "pa2"
    assert model.learner_.cost == pytest.approx(1 / (0.6 * square(sizes).mean()))
    given = FluencyModel(features="word:1", rule="pa1", cost=7.0, max_iter=1).fit(split).learner_
    assert (given.method, given.cost) == ("pa1", 7.0)


def test_a_judge_of_the_first_format_still_judges() -> None:
    path = Path(__file__).parent.parent.parent / "files" / "tasks" / "fluency-1.mill"
    judge = textmill.load(path, expect=FluencyModel, verify=True)
    assert (judge.rule, judge.features, judge.fine_classes_) == ("pa1", "class:2", None)
    margin = judge.decision_function(["in the noon the smith near the barn takes the pen and wants dinner ."])
    assert margin[0] - judge.margin_shift() == pytest.approx(0.49031733, abs=1e-8)
    assert judge.draw(3).size == 3  # it does not know what training has seen
    second = FluencyModel.upgrade(Saved("tasks.FluencyModel", 2, parameters={"rule": "pa2"}))
    assert (second.format, second.parameters["rule"], len(second.arrays["text_digests_"])) == (3, "pa2", 0)


@pytest.mark.parametrize("features", ["code3:2", "class:1,code2:2,word:2", "word:4", "fine:2,code3:2"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_every_kind_of_features_and_kernel_trains(split: Any, features: str, kernel: str) -> None:
    model = FluencyModel(features=features, kernel=kernel, n_classes=10, max_iter=1).fit(split)
    scores = model.scores(["the old miller takes the unheard sack ."], threshold=-99.0)
    assert scores.unknown.tolist() == [1]
    assert scores.right.tolist() == [True]
    assert 0.0 < scores.probability[0] < 1.0


class LastLetter:
    """A tagger that needs no training."""

    def predict(self, sentences: list[list[str]]) -> list[list[str]]:
        return [[word[-1] for word in sentence] for sentence in sentences]


def test_tags_are_features(split: Any) -> None:
    model = FluencyModel(features="pos:2", tagger=LastLetter(), max_iter=1).fit(split)
    assert "r" in model.tags_.to_list()
    one = explain_sentence(model, split.sentences("test")[0])
    assert {feature.kind for feature in one.features} == {"pos"}
    assert sum(word.share for word in one.words) + one.start + one.end + one.rest == pytest.approx(one.margin)


def test_a_crf_serves_as_tagger_and_is_saved_with_the_judge(split: Any, tmp_path: Path) -> None:
    from textmill.sequence import CRF

    texts = split.sentences("dev")
    tagger = CRF(max_iter=5).fit(texts, LastLetter().predict(texts))
    model = FluencyModel(features="pos:2", tagger=tagger, max_iter=1).fit(split)
    model.save(tmp_path / "judge.mill")
    loaded = textmill.load(tmp_path / "judge.mill", expect=FluencyModel)
    some = split.sentences("test")[:5]
    assert (loaded.decision_function(some) == model.decision_function(some)).all()


def test_probabilities_are_as_good_as_they_say(split: Any, judge: FluencyModel) -> None:
    positives = judge.encode(split.sentences("test"))
    margins = np.concatenate([judge.margins(positives), judge.margins(judge.draw(positives.size))])
    slope, intercept = judge.learner_.slope_, judge.learner_.intercept_
    p = 1 / (1 + np.exp(-(slope * margins + intercept)))
    right = np.arange(len(p)) < positives.size
    assert p.mean() == pytest.approx(right.mean(), abs=0.1)
    assert right[p > 0.9].mean() > 0.8


@pytest.mark.parametrize(
    ("documents", "parameters", "message"),
    [
        ([], {}, "0 different documents"),
        (["Too short."] * 9, {}, "the longest has 3"),
        ("one text", {}, "list of texts"),
        ([3], {}, "pass texts"),
        (sample_documents(9), {"features": "letters:2"}, "class:2"),
        (sample_documents(9), {"features": "word:9"}, "1 to 4 symbols"),
        (sample_documents(9), {"features": "pos:2"}, "tagger"),
        (sample_documents(9), {"kernel": "cubic"}, "kernel"),
        (sample_documents(9), {"vocabulary": "none"}, "vocabulary"),
        (sample_documents(9, sentences=1), {"min_count": 50}, "all words are unknown"),
        (sample_documents(9), {"n_classes": 0}, "n_classes"),
        (sample_documents(9), {"rule": "pa3"}, "rule"),
        (sample_documents(9), {"cost": -1.0}, "cost"),
    ],
)
def test_bad_input_is_a_clear_error(documents: Any, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        FluencyModel(**parameters).fit(documents)


def test_words_that_are_all_unknown_are_a_clear_error(split: Any) -> None:
    from dataclasses import replace

    foreign = [SentenceDocument("x", [[f"x{i}-{j}" for j in range(8)] for i in range(20)])]
    with pytest.raises(DataError, match=r"100 % of the words of part 'train' are unknown"):
        FluencyModel(features="word:1").fit(replace(split, train=foreign))


def test_samples_that_never_end_are_a_clear_error() -> None:
    class Endless:
        def sample(self, sentences: int, *, random_state: Any, first: int) -> list[list[str]]:
            return [["the"] * 500] * sentences

    parts = split_corpus(sample_documents(30))
    with pytest.raises(DataError, match="do not end"):
        FluencyModel(features="word:1").fit(parts, negatives=Endless())


def test_a_document_in_two_parts_is_a_clear_error(split: Any) -> None:
    from dataclasses import replace

    with pytest.raises(DataError, match="in part test, and with the same sentences as 'village-"):
        replace(split, test=split.train[:1])


def test_documents_with_the_same_sentences_stay_together() -> None:
    documents = [SentenceDocument(f"{i}-{copy}", one.sentences)
                 for copy in range(3) for i, one in enumerate(sample_documents(20))]  # fmt: skip
    parts = split_corpus(documents)
    assert sum(parts.counts().values()) == 20 * 20 * 3
    for part in ("lm", "train", "test"):
        numbers = Counter(one.id.split("-")[0] for one in getattr(parts, part))
        assert set(numbers.values()) == {3}


@pytest.mark.parametrize(("text", "words"), [
    ("The mill-owner's U.S. wheel: 3.5 m!", ["The", "mill-owner's", "U.S", ".", "wheel", ":", "3.5", "m", "!"]),
    ("今日はスキーだ。", ["今", "日", "は", "スキー", "だ", "。"]),
    ("हिन्दी में।", ["हिन्दी", "में", "।"]),
    ("น้ำดี", ["น้", "ำ", "ดี"]),
    ("cafe\u0301 \u05e9\u05c1\u05b8", ["cafe\u0301", "\u05e9\u05c1\u05b8"]),
    ("مُحَمَّد هنا", ["مُحَمَّد", "هنا"]),
])  # fmt: skip
def test_words_of_many_scripts(text: str, words: list[str]) -> None:
    assert read_sentences([[text]])[0].sentences == [words]


def test_shares_lengths_and_sentences_are_kept() -> None:
    parts = split_corpus(sample_documents(200), shares={"lm": 0.8, "test": 0.2}, max_words=15)
    counts = parts.counts()
    assert counts["train"] == counts["dev"] == counts["vocabulary"] == 0
    assert counts["lm"] / sum(counts.values()) == pytest.approx(0.8, abs=0.02)
    assert max(len(words) for words in parts.sentences("lm")) <= 15
    by_sentence = split_corpus(sample_documents(4), method="sentence")
    assert all(len(one.sentences) == 1 for one in by_sentence.lm)
    with pytest.raises(DataError, match="share of lm"):
        split_corpus(sample_documents(9), shares={"lm": -1.0})


@pytest.mark.parametrize("intercept", [-0.9, 0.0, 0.4, 3.0])
def test_the_verdict_is_yes_exactly_where_the_probability_is_above_one_half(
    judge: FluencyModel, split: Any, intercept: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = judge.learner_
    monkeypatch.setattr(learner, "intercept_", intercept)
    sentences = [sentence for document in split.test for sentence in document.sentences]
    raw = learner.margins(judge.sets(judge.encode(sentences)))
    expected = 1 / (1 + np.exp(-(learner.slope_ * raw + intercept)))
    scores = judge.scores(sentences)
    assert scores.probability == pytest.approx(expected)
    assert (scores.right == (expected > 0.5)).all()
    assert (scores.right == (scores.margin > 0)).all()
    assert (judge.predict(sentences) == np.where(expected > 0.5, 1, -1)).all()
    one = explain_sentence(judge, sentences[0])
    assert one.margin == pytest.approx(scores.margin[0])
    assert sum(word.share for word in one.words) + one.start + one.end + one.rest == pytest.approx(one.margin)
