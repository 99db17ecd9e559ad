"""Worked examples: formulas, grid, chains, information gain, merit; every feature of a text of five sentences."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill._native import tasks as native
from textmill.corpus import parse_tree
from textmill.tasks.readability import (
    FEATURES,
    FORMULAS,
    AnnotatedText,
    CrossValidated,
    LanguageResources,
    Layers,
    LevelLearner,
    Mention,
    TextCounts,
    WordNet,
    chosen_features,
    count_texts,
    information_gain,
    learn_syllable_rules,
    static_features,
)

TREES = [
    "(S (NP (NNP Anna)) (VP (VBZ owns) (NP (DT a) (NN mill))) (. .))",
    "(S (NP (DT The) (NN mill)) (VP (VBZ grinds) (NP (NN wheat))) (. .))",
    "(S (NP (PRP She)) (VP (VBZ sells) (NP (NN flour)) (PP (IN in) (NP (NNP Brno)))) (. .))",
    "(S (SBAR (IN If) (S (NP (NN rain)) (VP (VBZ falls)))) (, ,) (NP (DT the) (NN mill)) (VP (VBZ turns)"
    " (ADVP (RB quickly))) (. .))",
    "(S (NP (NNP Anna)) (VP (VBZ is) (ADJP (JJ happy))) (. .))",
]
ANNA = [Mention(0, 0, 1), Mention(2, 0, 1, pronoun=True), Mention(4, 0, 1)]
MILL = [Mention(0, 3, 4), Mention(1, 1, 2), Mention(3, 5, 6)]


def the_text() -> AnnotatedText:
    trees = [parse_tree(line) for line in TREES]
    return AnnotatedText(
        [tree.words() for tree in trees],
        tags=[tree.tags() for tree in trees],
        trees=trees,
        entities=[Mention(0, 0, 1), Mention(2, 4, 5), Mention(4, 0, 1)],
        chains=[ANNA, MILL],
    )


@pytest.fixture(scope="module")
def wordnet(tmp_path_factory: pytest.TempPathFactory) -> WordNet:
    """Five nouns: wheat and flour are food, mill is a building and a machine, rain is weather."""
    folder = tmp_path_factory.mktemp("wordnet")
    lines = [
        "  1 This is a licence, which begins with blanks",
        "00000001 13 n 01 food 0 000 | what is eaten",
        "00000002 13 n 01 wheat 0 001 @ 00000001 n 0000 | a grain",
        "00000003 13 n 02 flour 0 meal 0 001 @ 00000001 n 0000 | ground grain",
        "00000004 06 n 01 mill 0 000 | a building",
        "00000005 06 n 01 mill 1 000 | a machine",
        "00000006 19 n 01 rain 0 000 | water",
    ]
    (folder / "data.noun").write_text("\n".join(lines) + "\n")
    index = ["food 1 00000001", "wheat 1 00000002", "flour 1 00000003", "mill 2 00000004 00000005", "rain 1 00000006"]
    rows = [f"{name} n {count} 0 {count} 0 {places}" for name, count, places in (line.split(" ", 2) for line in index)]
    (folder / "index.noun").write_text("\n".join(rows) + "\n")
    (folder / "noun.exc").write_text("geese goose\n")
    return WordNet(folder)


def test_formulas_of_the_specification() -> None:
    counts = TextCounts(*map(np.array, ([100], [5], [150], [12], [450], [20], [18], [25])))
    expected = {
        "flesch_kincaid": 9.91,
        "reading_ease": 59.635,
        "fog": 12.8,
        "smog": 11.979248,
        "coleman_liau": 9.18,
        "ari": 9.765,
        "dale_chall": 7.7865,
        "spache": 0.121 * 20 + 0.082 * 18 + 0.659,
        "linsear_write": (100 + 24) / 5 / 2,
        "lix": 45.0,
        "rix": 5.0,
    }
    scores = counts.formulas()
    assert list(scores) == list(FORMULAS)
    for name, value in expected.items():
        assert scores[name][0] == pytest.approx(value, abs=1e-6), name


def test_formulas_change_where_they_have_a_step() -> None:
    few = TextCounts(*map(np.array, ([100], [10], [130], [2], [400], [5], [5], [10])))
    assert few.formula("dale_chall")[0] == pytest.approx(0.1579 * 5 + 0.0496 * 10)  # 5 % is not above 5 %
    assert few.formula("linsear_write")[0] == pytest.approx((10.4 - 2) / 2)
    nothing = count_texts(["...", ""])
    assert np.isnan(nothing.formula("smog")).all()


def test_grid_of_the_specification() -> None:
    rows = {"company": "SO-S", "market": "-SX-", "profit": "--OO"}
    mentions = [(e, s, "SOX".index(r)) for e, row in enumerate(rows.values()) for s, r in enumerate(row) if r != "-"]
    entity, sentence, role = (np.array(column, np.int32) for column in zip(*mentions, strict=True))
    out = np.empty((1, 16))
    offsets, sentences = np.array([0, len(mentions)]), np.array([4], np.int32)
    native.grid(offsets, entity, sentence, role, sentences, salience=1, out=out, threads=1)
    names = [a + b for a in "SOX-" for b in "SOX-"]
    nonzero = {name: round(9 * p) for name, p in zip(names, out[0], strict=True) if p}
    assert nonzero == {"SO": 1, "O-": 1, "-S": 2, "SX": 1, "X-": 1, "--": 1, "-O": 1, "OO": 1}


def test_chains_of_the_specification() -> None:
    chains = [(1, 6, 14), (3, 4), (10, 18)]
    rows = sorted((p, c) for c, positions in enumerate(chains) for p in positions)
    position, chain = (np.array(column, np.int32) for column in zip(*rows, strict=True))
    out = np.empty((1, 7))
    offsets = np.array([0, 7])
    native.chain_figures(
        offsets, chain, position, np.zeros(7, np.uint8), np.array([20], np.int32), offsets, position, out, threads=1
    )
    assert out[0].tolist() == pytest.approx([3, 7 / 3, 22 / 3, 1, 1.25, 11 / 7, 0])


def test_information_gain_of_the_specification() -> None:
    gain = information_gain([[1], [2], [5], [8]], [10, 10, 10, 10])
    assert gain[0] == pytest.approx(0.242738, abs=1e-6)
    assert information_gain([[5], [5]], [5, 5])[0] == 0.0
    assert information_gain([[5], [0]], [5, 5])[0] == pytest.approx(1.0)


def test_shares_of_the_specification() -> None:
    levels = np.repeat([0, 1, 2, 3], [174, 289, 428, 542])
    majority = LevelLearner(kind="majority").fit(np.zeros((1433, 1)), levels)
    assert (majority.predict(np.zeros((1433, 1))) == levels).mean() == 542 / 1433 == pytest.approx(0.378, abs=5e-4)
    answers = np.where(np.arange(1433) < 20, levels, (levels + 1) % 4)
    result = CrossValidated(["2", "3", "4", "5"], levels, {"formula": answers[None]}, {}, {"formula": 1})
    assert result.rows()[0].accuracy == 20 / 1433 == pytest.approx(0.014, abs=5e-4)


def test_entities_are_compared_by_their_lemmas() -> None:
    rows = [["Old", "mills", "turn"], ["A", "mill", "stands"], ["Red", "Mills", "_"]]
    tags = [["JJ", "NNS", "VB"], ["DT", "NN", "VBZ"], ["NNP", "NNPS", "."]]
    lemmas = [["old", "mill", "turn"], ["a", "mill", "stand"], ["Red", "Mill", "_"]]
    entities = [Mention(2, 0, 2)]
    plain = AnnotatedText(rows, tags=tags, entities=entities)
    known = AnnotatedText(rows, tags=tags, entities=entities, lemmas=lemmas)
    unique = [static_features(Layers([one]), groups=["entity"]).choose(["entity.unique"]) for one in (plain, known)]
    assert [table.values[0, 0] for table in unique] == [3, 2]
    assert [Layers([one]).entities.names[-1] for one in (plain, known)] == ["red_mills", "red_mill"]


def test_the_grid_is_that_of_entities_with_mentions_enough() -> None:
    def grid(salience: int) -> list[float]:
        table = static_features(Layers([the_text()]), groups=["grid"], salience=salience)
        return [float(value) for value in table.values[0] * (4 * 2 if salience > 1 else 24)]

    names = [a + b for a in "SOX-" for b in "SOX-"]
    often = {name: value for name, value in zip(names, grid(2), strict=True) if value}  # Anna S - - - S, mill O S - S -
    assert often == pytest.approx({"S-": 3, "--": 2, "-S": 2, "OS": 1})
    assert sum(grid(1)) == pytest.approx(24)
    with pytest.raises(ValueError, match="salience"):
        grid(0)


def test_every_feature_of_a_text_of_five_sentences(wordnet: WordNet) -> None:
    table = static_features(Layers([the_text()]), wordnet=wordnet)
    values = dict(zip(table.names, table.values[0].tolist(), strict=True))
    N, S = 23, 5
    syllables = 27  # Anna, quickly, happy and Anna have 2, all others 1
    strange = 3  # Anna, Brno, Anna; grinds is grind, owns is own, quickly is quick
    expected: dict[str, float] = {
        "shallow.syllables_per_word": syllables / N,
        "shallow.polysyllables": 0,
        "shallow.polysyllables_per_sentence": 0,
        "shallow.letters_per_word": 91 / N,
        "shallow.difficult": strange / N,
        "shallow.words_per_sentence": N / S,
        "shallow.flesch_kincaid": 0.39 * N / S + 11.8 * syllables / N - 15.59,
        "shallow.words": N,
        "entity.mentions": 9,
        "entity.unique": 6,
        "entity.per_sentence": 9 / 5,
        "entity.unique_per_sentence": 9 / 5,
        "entity.named_per_word": 3 / N,
        "entity.named_per_word_of_sentence": (1 / 4 + 1 / 5 + 1 / 3) / 5,
        "entity.overlapping": 3 / 9,
        "entity.rest_per_sentence": 6 / 5,
        "entity.named": 3 / 9,
        "entity.rest": 6 / 9,
        "entity.nouns": 9 / N,
        "entity.nouns_per_sentence": 9 / 5,
        "entity.rest_per_word": 6 / N,
        "entity.named_per_sentence": 3 / 5,
        "entity.unique_named": 2 / 3,
        "entity.unique_rest": 4 / 6,
        # mill 3 times, Anna twice, wheat and flour through food
        "chains.number": 3,
        "chains.length": 7 / 3,
        "chains.span": (14 + 20 + 3) / 3,
        "chains.long": 2,
        "chains.active_per_word": (15 + 21 + 4) / N,
        "chains.active_per_entity": 18 / 9,
        "coreference.number": 2,
        "coreference.length": 3,
        "coreference.span": 17,
        "coreference.long": 2,
        "coreference.active_per_word": 36 / N,
        "coreference.active_per_entity": 16 / 9,
        "coreference.inference": 8,
        "parse.SBAR.number": 1,
        "parse.SBAR.per_sentence": 1 / 5,
        "parse.SBAR.words": 3,
        "parse.SBAR.letters": 11,
        "parse.NP.number": 10,
        "parse.NP.per_sentence": 2,
        "parse.NP.words": 1.3,
        "parse.NP.letters": 4.8,
        "parse.VP.number": 6,
        "parse.VP.per_sentence": 6 / 5,
        "parse.VP.words": 14 / 6,
        "parse.VP.letters": 10,
        "parse.PP.number": 1,
        "parse.PP.per_sentence": 1 / 5,
        "parse.PP.words": 2,
        "parse.PP.letters": 6,
        "parse.tree.height": 22 / 5,
        "parse.tree.constituents": 26 / 5,
        "parse.tree.constituents_per_word": 26 / N,
        "parse.tree.words": N / 5,
        "parse.tree.clauses": 7 / 5,
    }
    classes = {  # tokens, types, types of sentences
        "nouns": (9, 6, 9),
        "verbs": (6, 6, 6),
        "adjectives": (1, 1, 1),
        "adverbs": (1, 1, 1),
        "prepositions": (2, 2, 2),
        "content": (17, 14, 17),
        "function": (6, 5, 6),
    }
    for name, (tokens, types, within) in classes.items():
        expected[f"pos.{name}.share"] = tokens / N
        expected[f"pos.{name}.types_per_word"] = types / N
        expected[f"pos.{name}.types"] = types / 19
        expected[f"pos.{name}.per_sentence"] = tokens / S
        expected[f"pos.{name}.unique_per_sentence"] = within / S
    pairs = {"S-": 4, "--": 10, "-S": 3, "OS": 1, "-O": 2, "O-": 2, "-X": 1, "X-": 1}
    expected |= {f"grid.{a}{b}": pairs.get(a + b, 0) / 24 for a in "SOX-" for b in "SOX-"}
    counts = count_texts([" ".join(" ".join(row) for row in the_text().sentences)])
    expected |= {f"formulas.{name}": float(score[0]) for name, score in counts.formulas().items()}
    assert values.keys() == expected.keys() == FEATURES.keys()
    for name, value in expected.items():
        assert values[name] == pytest.approx(value), name
    assert len(FEATURES) == 8 + 11 + 35 + 16 + 6 + 7 + 16 + 21


def test_a_feature_without_its_layer_is_missing_and_never_0() -> None:
    plain = static_features(Layers([AnnotatedText(the_text().sentences)]))
    known = {name for name, value in zip(plain.names, plain.values[0], strict=True) if not np.isnan(value)}
    assert {name.partition(".")[0] for name in known} == {"shallow", "formulas"}
    assert set(plain.missing()) == set(plain.names) - known
    one = static_features(Layers([the_text().without_sentence(0), AnnotatedText([["A", "mill", "."]])]))
    assert np.isnan(one.values[:, one.names.index("pos.nouns.share")]).all()  # one text lacks its tags: all do
    alone = AnnotatedText([["Anna", "runs"]], tags=[["NNP", "VBZ"]], entities=[Mention(0, 0, 1)], roles=[["S", "X"]])
    grid = static_features(Layers([alone]), groups=["grid"])
    assert np.isnan(grid.values).all()  # there are no adjacent sentences


def test_names_and_groups_choose_features() -> None:
    names = list(FEATURES)
    assert len(chosen_features(names, ["parse"])) == 21
    assert chosen_features(names, ["shallow", "-shallow.words"]) == [f for f in names if f.startswith("shallow.")][:-1]
    assert "shallow.words" not in chosen_features(names, ["all"], length=False)
    with pytest.raises(ValueError, match="no feature or group 'syntax'"):
        chosen_features(names, ["syntax"])


WORDS = st.sampled_from(["the", "mill", "a", "wheel", "turns", "quickly", "internationally", "old", "."])
TAGS = {"the": "DT", "mill": "NN", "a": "DT", "wheel": "NN", "turns": "VBZ", "quickly": "RB", ".": "."}
TEXTS = st.lists(st.lists(WORDS, min_size=1, max_size=6).map(lambda row: [*row, "mill"]), min_size=1, max_size=5)


def annotated(rows: list[list[str]]) -> AnnotatedText:
    return AnnotatedText(
        rows,
        tags=[[TAGS.get(word, "JJ") for word in row] for row in rows],
        entities=[Mention(i, len(row) - 1, len(row)) for i, row in enumerate(rows)],
        roles=[["S" if word == "mill" else "O" for word in row] for row in rows],
    )


@given(TEXTS, TEXTS)
@settings(max_examples=40, deadline=None)
def test_shares_add_up_and_counts_add(first: list[list[str]], second: list[list[str]]) -> None:
    texts = [annotated(first), annotated(second), annotated(first + second)]
    table = static_features(Layers(texts))
    values = dict(zip(table.names, table.values.T, strict=True))
    assert values["pos.content.share"] + values["pos.function.share"] == pytest.approx(np.ones(3))
    assert values["entity.named"] + values["entity.rest"] == pytest.approx(np.ones(3))
    for name in ("shallow.words", "entity.mentions"):
        assert values[name][0] + values[name][1] == pytest.approx(values[name][2])
    grid = np.column_stack([column for name, column in values.items() if name.startswith("grid.")])
    for text, row in zip(texts, grid, strict=True):
        assert np.isnan(row).all() if len(text.sentences) == 1 else row.sum() == pytest.approx(1)


@given(
    st.lists(st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 7)), max_size=6), max_size=4), max_size=4)
)
@settings(max_examples=40, deadline=None)
def test_classes_are_tallied_as_sets_would(texts: list[list[list[tuple[int, int]]]]) -> None:
    rows = [sentence for text in texts for sentence in text]
    tokens = [token for row in rows for token in row]
    documents = np.cumsum([0, *map(len, texts)])
    sentences = np.cumsum([0, *map(len, rows)])
    out = np.empty((len(texts), 3, 3), np.int64)
    kind, mask = np.array([t for t, _ in tokens], np.int32), np.array([m for _, m in tokens], np.uint32)
    native.tally(documents, sentences, kind, 6, mask, out, threads=2)
    for d, text in enumerate(texts):
        for c in range(3):
            own = [[t for t, m in row if m >> c & 1] for row in text]
            flat = [t for row in own for t in row]
            assert out[d, c].tolist() == [len(flat), len(set(flat)), sum(len(set(row)) for row in own)]


@given(st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_grid_and_chains_are_what_their_definitions_say(seed: int) -> None:
    random = np.random.default_rng(seed)
    S, n = int(random.integers(2, 6)), int(random.integers(1, 12))
    entity = np.unique(random.integers(0, 4, n), return_inverse=True)[1].astype(np.int32)
    sentence, role = random.integers(0, S, n).astype(np.int32), random.integers(0, 3, n).astype(np.int32)
    out = np.empty((1, 16))
    native.grid(np.array([0, n]), entity, sentence, role, np.array([S], np.int32), salience=1, out=out, threads=1)
    pairs: Counter[tuple[int, int]] = Counter()
    for e in set(entity.tolist()):
        cells = [
            min([int(role[i]) for i in range(n) if entity[i] == e and sentence[i] == s], default=3) for s in range(S)
        ]
        pairs.update(pairwise(cells))
    expected = [pairs[a, b] / pairs.total() for a in range(4) for b in range(4)]
    assert out[0].tolist() == pytest.approx(expected)
    words = int(random.integers(1, 30))
    place = random.integers(0, words, n).astype(np.int32)
    pronoun = random.integers(0, 2, n).astype(np.uint8)
    figures = np.empty((1, 7))
    offsets = np.array([0, n])
    native.chain_figures(
        offsets, entity, place, pronoun, np.array([words], np.int32), offsets, place, figures, threads=1
    )
    chains: list[list[tuple[int, int]]] = [
        sorted((int(place[i]), i) for i in range(n) if entity[i] == e) for e in range(int(entity.max()) + 1)
    ]
    ends = [(chain[0][0], chain[-1][0]) for chain in chains]
    distances = []
    for chain in chains:
        own, before = [], None
        for position, i in chain:
            if not pronoun[i]:
                before = position
            elif before is not None:
                own.append(position - before)
        distances += [np.mean(own)] if own else []
    k = len(chains)
    assert figures[0].tolist() == pytest.approx(
        [
            k,
            n / k,
            sum(b - a for a, b in ends) / k,
            sum(2 * (b - a) >= words for a, b in ends),
            sum(b - a + 1 for a, b in ends) / words,
            sum(a <= p <= b for p in place for a, b in ends) / n,
            np.mean(distances) if distances else 0,
        ]
    )


def test_a_noun_takes_the_sense_that_is_linked_most(tmp_path: Path) -> None:
    """bank: a slope and a house; with river the slope is meant, so money stands alone."""
    lines = [
        "00000001 0 n 01 slope 0 000 | a",
        "00000002 0 n 01 bank 0 001 @ 00000001 n 0000 | a slope",
        "00000003 0 n 01 house 0 000 | a",
        "00000004 0 n 01 bank 1 001 @ 00000003 n 0000 | a house",
        "00000005 0 n 01 shore 0 001 @ 00000001 n 0000 | a",
        "00000006 0 n 01 office 0 001 @ 00000003 n 0000 | a",
    ]
    (tmp_path / "data.noun").write_text("\n".join(lines) + "\n")
    rows = ["slope n 1 0 1 0 00000001", "bank n 2 0 2 0 00000004 00000002", "shore n 1 0 1 0 00000005"]
    (tmp_path / "index.noun").write_text("\n".join([*rows, "office n 1 0 1 0 00000006"]) + "\n")
    net = WordNet(tmp_path)
    text = AnnotatedText(
        [["shore"], ["bank"], ["slope"], ["x"], ["x"], ["x"], ["office"]],
        tags=[["NN"], ["NN"], ["NN"], ["X"], ["X"], ["X"], ["NN"]],
        entities=[],
    )
    table = static_features(Layers([text]), wordnet=net, groups=["chains"])
    values = dict(zip(table.names, table.values[0], strict=True))
    # bank is a slope (sibling of shore, below slope): one chain of three; office is left alone
    assert values["chains.number"] == 1
    assert values["chains.length"] == 3
    assert list(net.senses("banks")) == list(net.senses("bank"))


def test_syllables_and_familiar_words_follow_their_resources() -> None:
    own = LanguageResources(vowels="aeiou", patterns={"e$": -1}, familiar=["mill", "stop"], endings=[("ed", "")])
    assert own.syllables(["mille", "idea", "tide", "well-known", "99"]).tolist() == [1, 2, 1, 2, 1]
    assert own.is_familiar(["MILL", "stopped", "mills", "99"]).tolist() == [True, True, False, True]
    assert LanguageResources(exceptions={"Brno": 2}).syllables(["brno", "BRNO"]).tolist() == [2, 2]


def test_rules_of_syllables_are_learned() -> None:
    words = ["tide", "mole", "wave", "stone", "tune", "idea", "area", "mill", "bell"]
    rules = learn_syllable_rules(words, [1, 1, 1, 1, 1, 3, 3, 1, 1], min_count=1, min_gain=2)
    learned = LanguageResources(vowels="aeiouy", patterns=rules)
    assert learned.syllables(words).tolist() == [1, 1, 1, 1, 1, 3, 3, 1, 1]
    with pytest.raises(ValueError, match="2 words but 1 numbers"):
        learn_syllable_rules(["a", "b"], [1])


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_any_number_of_threads_gives_the_same(threads: int, wordnet: WordNet) -> None:
    texts = [the_text(), the_text().without_sentence(3), the_text().without_sentence(0)] * 9
    one: Any = static_features(Layers(texts, n_jobs=1), wordnet=wordnet).values
    many: Any = static_features(Layers(texts, n_jobs=threads), wordnet=wordnet).values
    assert np.array_equal(one, many, equal_nan=True)
    texts = ["The mill turns. It is old.", "Perplexity, internationally."] * 30
    assert np.array_equal(
        np.vstack(list(count_texts(texts, n_jobs=1).formulas().values())),
        np.vstack(list(count_texts(texts, n_jobs=threads).formulas().values())),
    )
