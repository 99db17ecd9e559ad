"""The dependency parser: the algorithm against its definition, events, what is learned, saved and refused."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from textmill._native import tasks as native
from textmill.corpus import Bunsetsu, KnpSentence, Morpheme, read_conllu, read_knp
from textmill.errors import DataError, ModelFileError
from textmill.linear import CombinationLogistic, find_violators
from textmill.metrics import AccuracyCounts
from textmill.model import load
from textmill.selection import keep_apart
from textmill.tasks.dependency import (
    DependencyParser,
    DependencyScores,
    attributes_of,
    error_page,
    evaluate,
    extract_events,
    find_errors,
    parse_conllu,
    sample_sentences,
    units_of,
    with_unit_heads,
)


def word(text: str, pos: str = "名詞", subpos: str = "*", inflection: str = "*", form: str = "*") -> Morpheme:
    return Morpheme(text, text, text, pos, subpos, inflection, form)


def sentence(*heads: int) -> KnpSentence:
    return KnpSentence(tuple(Bunsetsu((word(f"w{at}"),), head) for at, head in enumerate(heads)))


def parsed(n: int, ask: Callable[[int, int], bool]) -> list[int]:
    """Sassano's algorithm, straight from the paper."""
    stack, heads = [-1, 0], [-1] * n
    for i in range(1, n):
        j = stack.pop()
        while j != -1 and (i == n - 1 or ask(j, i)):
            heads[j] = i
            j = stack.pop()
        stack += [j, i]
    return heads


def projective_heads(random: np.random.Generator, n: int) -> list[int]:
    heads = [-1] * n
    for j in range(n - 2, -1, -1):  # the ancestors of the next unit are all that can be reached without crossing
        chain = [j + 1]
        while heads[chain[-1]] != -1:
            chain.append(heads[chain[-1]])
        heads[j] = int(random.choice(chain))
    return heads


def test_the_questions_of_the_worked_example() -> None:
    events = extract_events([sentence(2, 2, 3, -1)])
    asked = list(zip(events.modifiers.tolist(), events.heads.tolist(), events.y.tolist(), strict=True))
    assert asked == [(0, 1, 0), (1, 2, 1), (0, 2, 1)]


def test_questions_are_those_of_the_algorithm_and_at_most_two_a_unit() -> None:
    random = np.random.default_rng(1)
    for _ in range(300):
        heads = projective_heads(random, int(random.integers(2, 15)))
        expected: list[tuple[int, int, int]] = []

        def ask(j: int, i: int, heads: list[int] = heads, expected: list[Any] = expected) -> bool:
            expected.append((j, i, int(heads[j] == i)))
            return heads[j] == i

        assert parsed(len(heads), ask) == heads
        events = extract_events([sentence(*heads)])
        assert list(zip(events.modifiers.tolist(), events.heads.tolist(), events.y.tolist(), strict=True)) == expected
        assert len(expected) <= 2 * len(heads) - 1


@pytest.mark.parametrize(
    ("heads", "fine"),
    [
        ((1, -1), True),
        ((2, 2, -1), True),
        ((-1,), False),  # nothing to ask
        ((), False),
        ((2, 3, 3, -1), False),  # crossing
        ((-1, 2, -1), False),  # no head
        ((1, 0), False),  # a head in front
        ((0, -1), False),  # its own head
        ((1, 2, 0), False),
    ],
)
def test_sentences_that_cannot_be_parsed_so_are_known(heads: tuple[int, ...], fine: bool) -> None:
    ends = np.array([0, len(heads)], np.int64)
    assert native.parsable(ends, np.array(heads, np.int32)).tolist() == [fine]


def test_every_projective_tree_is_parsable_and_no_other() -> None:
    def projective(heads: tuple[int, ...]) -> bool:
        n = len(heads)
        if heads[-1] != -1 or any(not j < h < n for j, h in enumerate(heads[:-1])):
            return False
        return all(heads[k] <= heads[j] for j in range(n - 1) for k in range(j + 1, min(heads[j], n - 1)))

    for heads in np.ndindex(5, 5, 5, 5, 5):
        shifted = tuple(h - 1 if h < 4 else 4 for h in heads)
        known = native.parsable(np.array([0, 5], np.int64), np.array(shifted, np.int32)).tolist()
        assert known == [projective(shifted)]


def test_attributes_are_those_of_head_word_last_word_and_signs() -> None:
    unit = Bunsetsu(
        (
            word("「", "特殊", "括弧始"),
            word("町", "名詞", "普通名詞"),
            word("さん", "接尾辞", "名詞性名詞接尾辞"),
            word("には", "助詞", "格助詞"),
            word("」", "特殊", "括弧終"),
            word("、", "特殊", "読点"),
        )
    )
    assert attributes_of(unit) == [
        "word=町", "pos=名詞", "subpos=普通名詞", "last=には", "last.pos=助詞", "last.subpos=格助詞",
        "opens", "particle=には", "closes", "comma",
    ]  # fmt: skip
    ran = Bunsetsu(
        (Morpheme("走った", "はしった", "走る", "動詞", "*", "子音動詞ラ行", "タ形"), word("。", "特殊", "句点"))
    )
    assert attributes_of(ran) == [
        "word=走る", "pos=動詞", "inflection=子音動詞ラ行", "form=タ形", "last=走る", "last.pos=動詞", "last.form=タ形",
        "stop",
    ]  # fmt: skip
    assert "word=は" in attributes_of(Bunsetsu((word("は", "助詞"),)))  # no content word: the last word stands for it
    assert "last=…" in attributes_of(Bunsetsu((word("…", "特殊"),)))


def test_features_name_the_roles_of_units() -> None:
    units = [
        Bunsetsu((word(noun), word(particle, "助詞")), head)
        for noun, particle, head in (("a", "は", 4), ("b", "に", 2), ("c", "を", 4), ("d", "で", 4), ("e", "ね", 5))
    ]
    events = extract_events([KnpSentence((*units, Bunsetsu((word("f", "動詞"),))))])
    rows = [{events.names[c] for c in row.indices} for row in events.X]
    asked = list(zip(events.modifiers.tolist(), events.heads.tolist(), strict=True))
    assert asked == [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (2, 4), (0, 4)]
    near, far = rows[0], rows[-1]
    assert {"modifier:word=a", "head:word=b", "after-head:last=を", "distance=1"} <= near
    assert not any(name.startswith(("after-modifier", "before-head", "between", "dependent")) for name in near)
    assert {
        "after-modifier:last=に",
        "before-head:last=で",
        "after-head:pos=動詞",
        "distance=2-5",
        "one follows",
    } <= far
    assert {name for name in far if name.startswith("between")} == {f"between:particle={p}" for p in "にをで"}
    assert {name for name in far if name.startswith("dependent:l")} == {"dependent:last=を", "dependent:last=で"}
    assert not any(name.startswith(("after-modifier:word", "between:word")) for name in events.names)
    assert events.names == sorted(events.names)


@pytest.fixture(scope="module")
def parser() -> DependencyParser:
    return DependencyParser(l1=1.0, n_jobs=2).fit(sample_sentences(300))


def test_heads_are_those_of_the_algorithm_with_the_classifier(parser: DependencyParser) -> None:
    sentences = sample_sentences(60, random_state=7)
    names = {name: c for c, name in enumerate(parser.classifier_.vectorizer_.get_feature_names_out())}
    for own, heads in zip(sentences, parser.predict(sentences), strict=True):
        # with the heads found as the right ones, the questions are those that the parser asked
        events = extract_events([own.with_heads(heads)])
        X = np.zeros((len(events.y), len(names)))
        for row, made in zip(X, events.X, strict=True):
            row[[names[events.names[c]] for c in made.indices if events.names[c] in names]] = 1.0
        if len(X):
            assert (parser.classifier_.predict(X) == np.where(events.y == 1, "depends", "apart")).all()


def test_threads_files_and_streams_make_no_difference(parser: DependencyParser, tmp_path: Path) -> None:
    sentences = sample_sentences(100, random_state=3)
    expected = parser.predict(sentences)
    parser.save(tmp_path / "parser.mill")
    again = load(tmp_path / "parser.mill", expect=DependencyParser)
    assert again.set_params(n_jobs=1).predict(iter(sentences)) == expected
    assert again.set_params(n_jobs=5).predict(sentences) == expected
    assert [own.heads for own in again.parse(iter(sentences))] == expected
    again.save(tmp_path / "again.mill")
    single = DependencyParser(l1=1.0, n_jobs=1).fit(sample_sentences(300))
    single.set_params(n_jobs=5).save(tmp_path / "single.mill")
    assert (tmp_path / "again.mill").read_bytes() == (tmp_path / "single.mill").read_bytes()


def test_heads_of_the_input_are_not_looked_at(parser: DependencyParser) -> None:
    sentences = sample_sentences(20, random_state=4)
    blank = [own.with_heads([-1] * len(own)) for own in sentences]
    assert parser.predict(blank) == parser.predict(sentences)
    assert parser.predict([]) == []
    assert parser.predict([KnpSentence(()), sentence(-1), sentence(-1, -1)]) == [(), (-1,), (1, -1)]


def test_what_a_sample_teaches(parser: DependencyParser) -> None:
    test = sample_sentences(200, random_state=9)
    assert parser.score(test) > 0.97
    alone = DependencyParser(l1=1.0, degree=1).fit(sample_sentences(300))
    assert alone.classifier_.combinations_.shape[1] == 1
    assert parser.classifier_.counts_by_degree()[1] > 0
    weights = parser.strongest(60)
    assert any(" & " in name and "modifier:" in name and "head:" in name for name in weights.features)
    assert set(weights.labels) == {"apart", "depends"}
    assert parser.classifier_.n_features_ == len(set(parser.classifier_.combinations_.ravel().tolist()) - {-1})


def test_rare_features_cannot_have_a_weight() -> None:
    sentences = sample_sentences(60)
    events = extract_events(sentences)
    own = DependencyParser(l1=3.0, tolerance=1e-8).fit(sentences).classifier_
    from textmill.linear import CombinationLogistic

    every = CombinationLogistic(l1=3.0, l2=own.l2, tolerance=1e-8).fit(events.X, events.y)
    assert own.objective_ == pytest.approx(every.objective_, rel=1e-6)


def test_the_penalty_is_chosen_on_sentences_kept_apart() -> None:
    chosen = DependencyParser(random_state=1).fit(sample_sentences(150))
    assert chosen.scores_["4"] == max(chosen.scores_.values()) or chosen.l1_ < 4
    assert chosen.scores_[f"{chosen.l1_:g}"] == max(chosen.scores_.values())
    apart = sample_sentences(50, random_state=2)
    other = DependencyParser().fit(sample_sentences(150), X_dev=apart)
    first = DependencyParser(l1=4.0).fit(sample_sentences(150))
    assert other.scores_["4"] == first.score(apart)
    assert DependencyParser().fit(sample_sentences(15)).l1_ == 1.0  # too few to keep any apart


def test_the_largest_weights_are_kept_where_they_parse_as_well() -> None:
    sentences, apart = sample_sentences(200), sample_sentences(60, random_state=2)
    whole, third = (DependencyParser(l1=1.0, keep=share).fit(sentences).classifier_ for share in (None, 0.38))
    assert third.coef_.shape[1] == round(0.38 * whole.coef_.shape[1])
    cut = np.sort(np.abs(whole.coef_[0]))[-third.coef_.shape[1]]
    assert np.abs(third.coef_).min() == cut
    by_name = dict(zip(whole.feature_names(), whole.coef_[0], strict=True))
    assert all(by_name[name] == w for name, w in zip(third.feature_names(), third.coef_[0], strict=True))
    chosen = DependencyParser().fit(sentences, X_dev=apart)
    shares = (0.38, 0.5, 1.0)
    models = [DependencyParser(l1=chosen.l1_, keep=share).fit(sentences) for share in shares]
    gold = np.concatenate([s.heads[:-1] for s in apart])
    right = [np.concatenate([heads[:-1] for heads in model.predict(apart)]) == gold for model in models]
    lost = [right[-1].astype(int) - own for own in right]
    first = next(k for k in range(3) if lost[k].sum() <= np.sqrt((lost[k] ** 2).sum()))
    assert chosen.classifier_.coef_.tolist() == models[first].classifier_.coef_.tolist()
    plain = DependencyParser(l2=0.0).fit(sentences, X_dev=apart)
    same = DependencyParser(l1=plain.l1_, l2=0.0).fit(sentences)
    assert len(plain.classifier_.combinations_) == len(same.classifier_.combinations_)  # few already


def test_sentences_that_cannot_be_learned_from_are_counted_or_refused() -> None:
    good = sample_sentences(40)
    fitted = DependencyParser(l1=1.0).fit([*good, sentence(2, 3, 3, -1), sentence(-1)])
    assert (fitted.n_sentences_, fitted.n_skipped_) == (40, 2)
    with pytest.raises(DataError, match="no sentence of 1 can be learned from"):
        DependencyParser().fit([sentence(-1)])
    with pytest.raises(DataError, match="same answer"):
        DependencyParser(l1=1.0).fit([sentence(1, 2, -1)])
    for wrong in ({"l1": 0.0}, {"held_out": 1.0}, {"degree": 0}, {"keep": 0.0}):
        with pytest.raises(DataError, match=next(iter(wrong))):
            DependencyParser(**wrong).fit(good)
    with pytest.raises(DataError, match="not fitted"):
        DependencyParser().predict(good)


def test_accuracy_on_sentences_kept_apart_counts_those_that_cannot_be_learned_from() -> None:
    good = sample_sentences(180)
    bad = [one.with_heads((-1, *[0] * (len(one) - 1))) for one in sample_sentences(400)[180:] if len(one) > 4][:36]
    mixed = [one for k, wrong in enumerate(bad) for one in (*good[5 * k : 5 * k + 5], wrong)]
    apart = [mixed[s] for s in keep_apart(len(mixed), 0.1).test.tolist()]
    wrong = sum(one in bad for one in apart)
    assert 0 < wrong < len(apart)
    fitted = DependencyParser(l2=0.0).fit(mixed)
    alone = DependencyParser(l2=0.0).fit([one for one in mixed if one not in apart], X_dev=apart)
    assert fitted.scores_ == alone.scores_  # the same penalties on the same sentences, all of them
    bound = evaluate(apart, [(99,) * len(one) if one in bad else one.heads for one in apart]).dependencies.accuracy
    assert max(fitted.scores_.values()) <= bound < 1.0


def test_a_treebank_whose_heads_do_not_come_last_is_refused_with_the_share_left_out() -> None:
    good, crossing = sample_sentences(80), sentence(2, 3, 3, -1)
    assert DependencyParser(l1=1.0).fit([*good, *[crossing] * 20]).n_skipped_ == 20
    with pytest.raises(DataError, match=r"21 of 101 sentences \(21%\) cannot be used: .* heads come last"):
        DependencyParser(l1=1.0).fit([*good, *[crossing] * 21])


def test_kernels_check_what_they_are_given() -> None:
    one = np.array([0, 1], np.int64)
    columns = np.full(7 * 2 + 4, -1, np.int32)
    for attributes, table in (([2], columns), ([-1], columns), ([0], columns[:-1]), ([0], columns + 9)):
        with pytest.raises(ValueError, match=r"attributes|columns"):
            native.events(one, one, np.array(attributes, np.int32), table, 3, np.array([-1], np.int32))
    with pytest.raises(ValueError, match="a head for each unit"):
        native.events(one, one, np.array([0], np.int32), columns, 3, np.array([], np.int32))


def test_a_damaged_file_is_refused(parser: DependencyParser, tmp_path: Path) -> None:
    parser.save(tmp_path / "parser.mill")
    whole = (tmp_path / "parser.mill").read_bytes()
    (tmp_path / "half.mill").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelFileError):
        load(tmp_path / "half.mill")


def test_scores_are_counts_that_add() -> None:
    first = evaluate([sentence(1, 2, -1), sentence(-1)], [(2, 2, -1), (-1,)])
    assert (first.dependencies, first.sentences) == (AccuracyCounts(1, 2), AccuracyCounts(0, 1))
    assert first.by_distance == {"1": AccuracyCounts(1, 2)}
    second = evaluate([sentence(2, 2, -1)], [(2, 2, -1)])
    both = first + second
    assert (both.dependencies, both.sentences) == (AccuracyCounts(3, 4), AccuracyCounts(1, 2))
    assert both.by_distance == {"1": AccuracyCounts(2, 3), "2": AccuracyCounts(1, 1)}
    assert both.to_dict()["accuracy"] == [pytest.approx(2 / 3), 1.0]
    assert 0.0 <= both.interval().low <= 0.75 <= both.interval().high <= 1.0
    assert DependencyScores() + first == first
    for heads in ([], [(2, 2)], [(2, 2, -1), (1, -1)]):
        with pytest.raises(DataError, match="pass one"):
            evaluate([sentence(1, 2, -1)], heads)


def test_errors_are_listed_and_put_on_a_page(parser: DependencyParser) -> None:
    (error,) = find_errors([sentence(1, 2, -1)], [(2, 2, -1)])
    assert (error.bunsetsu, error.right, error.predicted, error.sentence) == ("w0", "w1", "w2", "w0w1w2")
    sentences = sample_sentences(30, random_state=5)
    wrong = [(*[len(own) - 1] * (len(own) - 1), -1) for own in sentences]
    page = error_page(parser, sentences, wrong).render()
    first = next(iter(find_errors(sentences, wrong)))
    assert first.sentence in page
    assert "modifier:" in page
    with pytest.raises(DataError, match="no sentence has two bunsetsus"):
        error_page(parser, [sentence(-1)], [(-1,)])


def test_samples_depend_on_seed_and_number_only() -> None:
    assert sample_sentences(5) == sample_sentences(9)[:5]
    assert sample_sentences(5) != sample_sentences(5, random_state=1)
    many = sample_sentences(300)
    ends = np.concatenate([[0], np.cumsum([len(own) for own in many])])
    heads = np.array([head for own in many for head in own.heads], np.int32)
    assert native.parsable(ends.astype(np.int64), heads).sum() >= 295  # but for those of one bunsetsu


@pytest.mark.data
@pytest.mark.slow
def test_events_of_the_web_corpus_are_those_of_the_specification(data: Path, tmp_path: Path) -> None:
    for part, sentences, events in (("train", 11816, 68746), ("dev", 1482, 8554), ("test", 2120, 12495)):
        usable = web_corpus(data, tmp_path, part)
        assert (len(usable), len(extract_events(usable).y)) == (sentences, events)


def web_corpus(data: Path, folder: Path, part: str) -> list[KnpSentence]:
    """The sentences of one part that can be parsed."""
    with tarfile.open(data / "kwdlc" / "kwdlc.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    ids = (folder / "id" / "split_for_pas" / f"{part}.id").read_text(encoding="utf-8").split()
    sentences = list(read_knp(folder / "knp", documents=ids))
    ends = np.concatenate([[0], np.cumsum([len(s) for s in sentences])]).astype(np.int64)
    fine = native.parsable(ends, np.array([head for s in sentences for head in s.heads], np.int32))
    return [s for s, good in zip(sentences, fine, strict=True) if good]


@pytest.mark.data
@pytest.mark.slow
def test_both_searches_find_the_same_in_questions_of_the_web_corpus(data: Path, tmp_path: Path) -> None:
    events = extract_events(web_corpus(data, tmp_path, "dev")[:300])
    for degree, penalties in ((2, [16.0, 8.0, 4.0]), (3, [40.0, 20.0])):
        for model in CombinationLogistic(degree=degree, tolerance=1e-3).path(events.X, events.y, values=penalties):
            residual = events.y - model.predict_proba(events.X)[:, 1]
            some = [
                find_violators(events.X, residual, 0.7 * model.l1, degree, method=method)
                for method in ("examples", "vertical")
            ]
            assert len(some[0][0]) > 20
            assert some[0][0].tolist() == some[1][0].tolist()
            assert some[0][1] == pytest.approx(some[1][1], abs=1e-9)


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_pairs_beat_single_features_on_the_web_corpus(data: Path, tmp_path: Path) -> None:
    train, dev, test = (web_corpus(data, tmp_path, part) for part in ("train", "dev", "test"))
    single, few = (DependencyParser(degree=d, l2=0.0, tolerance=1e-3).fit(train, X_dev=dev) for d in (1, 2))
    shared = DependencyParser(tolerance=1e-3).fit(train, X_dev=dev)  # as it is
    for pairs in (few, shared):
        assert pairs.score(test) >= single.score(test) + 0.015
        assert len(pairs.classifier_.combinations_) < 20_000
    assert shared.score(test) >= few.score(test)


@pytest.mark.data
@pytest.mark.slow
def test_pairs_of_the_web_corpus_are_learned_in_little_memory(data: Path, tmp_path: Path) -> None:
    web_corpus(data, tmp_path, "dev")  # extracts the files
    program = (
        "import atexit, re, sys, textmill.__main__\n"
        "most = lambda: re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1]\n"
        "atexit.register(lambda: print('most', most()))\n"  # of this program only; ru_maxrss counts who started it, too
        "textmill.__main__.main()"
    )
    arguments = ["-q", "parse", "train", str(tmp_path / "knp"), "--l1", "1", "-o", str(tmp_path / "parser.mill")]
    documents = ["--documents", str(tmp_path / "id" / "split_for_pas" / "train.id")]
    run = [sys.executable, "-c", program, *arguments, *documents]
    printed = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert 100e6 < 1024 * int(printed.split("most")[1]) < 500e6


MARKED = """\
# sent_id = s-1
1	太郎	太郎	PROPN	_	_	5	nsubj	_	BunsetuBILabel=B
2	は	は	ADP	_	_	1	case	_	BunsetuBILabel=I
3-4	学校に	_	_	_	_	_	_	_	_
3	学校	学校	NOUN	_	_	5	obl	_	BunsetuBILabel=B|SpaceAfter=No
4	に	に	ADP	_	_	3	case	_	BunsetuBILabel=I
5	行っ	行く	VERB	_	_	0	root	_	BunsetuBILabel=B
6	た	た	AUX	_	_	5	aux	_	BunsetuBILabel=I
7	。	。	PUNCT	_	_	5	punct	_	BunsetuBILabel=I

"""


@pytest.mark.parametrize("text", [MARKED, MARKED.replace("BunsetuBILabel", "Other")])
def test_words_of_conllu_are_grouped_into_units(text: str) -> None:
    (words,) = read_conllu(io.BytesIO(text.encode()))
    units = units_of(words)
    assert ([unit.text for unit in units.bunsetsus], units.heads) == (["太郎は", "学校に", "行った。"], (2, 2, -1))
    assert units.id == "s-1"
    assert attributes_of(units.bunsetsus[2])[-1] == "stop"
    assert attributes_of(units.bunsetsus[0]) == [
        "word=太郎", "pos=PROPN", "last=は", "last.pos=ADP", "particle=は",
    ]  # fmt: skip


def test_heads_of_units_become_heads_of_words(parser: DependencyParser) -> None:
    (words,) = read_conllu(io.BytesIO(MARKED.encode()))
    assert with_unit_heads(words, units_of(words).heads) == words
    changed = with_unit_heads(words, (1, 2, -1))
    assert changed.column("head") == ("3", "1", "_", "5", "3", "0", "5", "5")
    assert changed.column("deprel")[0] == "dep"
    assert units_of(changed).heads == (1, 2, -1)
    with pytest.raises(DataError, match="2 heads for 3 units"):
        with_unit_heads(words, (1, -1))
    found = list(parse_conllu(parser, [words, words]))
    assert [units_of(own).heads for own in found] == parser.predict([units_of(words)] * 2)
