"""Records with several fields: how they are read, blocked and compared."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textmill.errors import DataError
from textmill.strings import Ngrams, parse_measure
from textmill.tasks.names import (
    Block,
    Field,
    Gold,
    HugeBlock,
    PairComparer,
    RecordList,
    RecordMatcher,
    blocking,
    find_candidates,
    generate_names,
    parse_block,
    parse_field,
    plain_form,
    read_record_list,
)
from textmill.tasks.names.comparison import FIELD_MEASURE, leads

PEOPLE = RecordList.of(
    {
        "name": ["Ann Lee", "Lee, Anne", "Tom Fox", "Thomas Fox", "Eve Day", "", "ÀNN LEE 7"],
        "phone": ["310/475", "310-475", None, "617", "310 475", "617", float("nan")],
    },
    ids="abcdefg",
)


def every_pair(size: int) -> tuple[np.ndarray, np.ndarray]:
    pairs = np.array(list(itertools.combinations(range(size), 2)))
    return pairs[:, 0], pairs[:, 1]


@pytest.mark.parametrize("text", ["name", "phone:exact", "phone:exact:0.5", "name::2", "a:tfidf(trigrams):0.25"])
def test_fields_are_read_back_from_their_text(text: str) -> None:
    assert str(parse_field(text)) == text


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "needs the name of a column"),
        ("a:b:c:d", "has 4 parts"),
        ("a:exact:x", "'x' of field 'a' is not a number"),
        ("a:exact:-1", "weight of field 'a'"),
        ("a:nosuch", "no measure is called 'nosuch'"),
    ],
)
def test_wrong_fields_are_refused_in_one_line(text: str, fault: str) -> None:
    with pytest.raises(DataError, match=fault) as error:
        parse_field(text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["name", "name:tfidf(words)", "name:exact:0.5:1", "name:tfidf(words):x"])
def test_wrong_blocks_are_refused(text: str) -> None:
    with pytest.raises(DataError, match="FIELD:exact or FIELD:MEASURE:THRESHOLD"):
        parse_block(text)


@pytest.mark.parametrize(("name", "content"), [
    ("people.csv", "id,name,phone\na,Ann,12\nb,Tom,\n"),
    ("people.tsv", "id\tname\tphone\na\tAnn\t12\nb\tTom\t\n"),
    ("people.jsonl", '{"id": "a", "name": "Ann", "phone": 12}\n{"id": "b", "name": "Tom"}\n'),
])  # fmt: skip
def test_tables_give_the_same_records(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    found = read_record_list(tmp_path / name, ["name", "phone"])
    assert found.ids == ["a", "b"]
    assert found.columns == {"name": ["Ann", "Tom"], "phone": ["12", ""]}


def test_parquet_gives_the_same_records(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = arrow.table({"id": ["a", "b"], "name": ["Ann", "Tom"], "phone": [12, None]})
    parquet.write_table(table, tmp_path / "people.parquet")
    found = read_record_list(tmp_path / "people.parquet", ["name", "phone"])
    assert found.columns == {"name": ["Ann", "Tom"], "phone": ["12", ""]}


@pytest.mark.parametrize(("content", "fault"), [
    (b"id,name\na,Ann\n", "people.csv:2.*no field 'phone'; the fields are 'id', 'name'"),
    (b"id,name,phone\na,Ann,1\na,Tom,2\n", "people.csv:3.*id 'a' is also that of line 2"),
    (b"id,name,phone\n,Ann,1\n", "people.csv:2.*the id is empty"),
    (b"id,name,phone\na,Ann\xe9,1\n", "byte 0xe9 is not UTF-8.*latin-1"),
])  # fmt: skip
def test_bad_tables_are_refused_in_one_line(tmp_path: Path, content: bytes, fault: str) -> None:
    (tmp_path / "people.csv").write_bytes(content)
    with pytest.raises(DataError, match=fault) as error:
        read_record_list(tmp_path / "people.csv", ["name", "phone"])
    assert "\n" not in str(error.value)


def test_bad_records_can_be_skipped(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("id,name,phone\na,Ann,1\na,Tom,2\nb,Eve,3\n")
    with pytest.warns(UserWarning, match="1 bad record"):
        found = read_record_list(tmp_path / "people.csv", ["name", "phone"], errors="skip")
    assert found.ids == ["a", "b"]


def test_records_from_columns_are_checked() -> None:
    with pytest.raises(DataError, match="no column"):
        RecordList.of({})
    with pytest.raises(DataError, match="column 'b' has 1 values where the first has 2"):
        RecordList.of({"a": ["x", "y"], "b": ["x"]})
    with pytest.raises(DataError, match="id '1' of record 2 is also that of record 1"):
        RecordList.of({"a": ["x", "y"]}, ids=[1, 1])
    with pytest.raises(DataError, match=r"no field 'c'; their fields are 'a'"):
        RecordMatcher(fields=["c"]).pairs(RecordList.of({"a": ["x", "y"]}))


def test_equal_values_are_found_whatever_their_form_and_missing_ones_never() -> None:
    found = find_candidates(PEOPLE, blocks=[Block("phone")])
    assert list(zip(found.left.tolist(), found.right.tolist(), strict=True)) == [(0, 1), (0, 4), (1, 4), (3, 5)]
    other = RecordList.of({"phone": ["617", "", "310 475"]})
    found = find_candidates(PEOPLE, other, blocks=[Block("phone")])
    assert list(zip(found.left.tolist(), found.right.tolist(), strict=True)) == [(0, 2), (1, 2), (3, 0), (4, 2), (5, 0)]
    assert found.possible == 21


def test_candidates_are_the_union_of_all_blocks() -> None:
    names = generate_names(80, random_state=3)
    records = RecordList.of_names(names)
    blocks = [Block("name", "tfidf(words)", 0.4), Block("name", "tfidf(trigrams)", 0.5), Block("name")]
    found = find_candidates(records, blocks=blocks, k=1000)
    texts = [plain_form(name) for name in names.names]
    for block, row in zip(blocks, found.by_block, strict=True):
        scores = np.triu(parse_measure(block.measure).fit(texts).matrix(texts), 1)
        i, j = np.nonzero(scores >= block.threshold - 1e-7)
        assert set(zip(i, j, strict=True)) == set(zip(found.left[row], found.right[row], strict=True))
    assert found.by_block.any(axis=0).all()
    assert (np.lexsort((found.right, found.left)) == np.arange(len(found))).all()


def test_the_report_counts_pairs_and_names_what_is_lost() -> None:
    found = find_candidates(PEOPLE, blocks=[Block("phone"), Block("name", "jaro", 0.8)])
    gold = Gold({("a", "b"): "pos", ("c", "d"): "pos", ("b", "g"): "pos", ("a", "e"): "neg"})
    report = found.report(gold, PEOPLE)
    assert (report.possible, report.matches, report.lost) == (21, 3, (("b", "g"),))
    assert report.recall == pytest.approx(2 / 3)
    assert report.hits == (1, 1)
    assert "  lost: b and g" in report.lines()
    assert found.report().recall is None


def test_a_value_that_too_many_share_is_left_out_and_named() -> None:
    records = RecordList.of({"phone": ["unknown"] * 30 + ["1", "1"]})
    with pytest.warns(HugeBlock, match=r"phone 'unknown' is that of 30 records, more than 20"):
        found = find_candidates(records, blocks=[Block("phone")], max_block=20)
    assert (len(found), len(found.notes)) == (1, 1)


def test_a_blocking_with_too_many_pairs_is_refused() -> None:
    records = RecordList.of({"phone": ["1"] * 100})
    with pytest.raises(DataError, match="gives more than 1,000 pairs, 10,000 of them by phone:exact; raise"):
        find_candidates(records, blocks=[Block("phone")], max_pairs=1000)
    names = RecordList.of({"name": [f"Ann Lee {i}" for i in range(50)]})
    with pytest.raises(DataError, match=r"more than 100 pairs, [\d,]+ of them by name:jaro:0\.5; raise its threshold"):
        find_candidates(names, blocks=[Block("name", "jaro", 0.5)], k=50, max_pairs=100)


def test_many_equal_names_are_no_burden() -> None:
    records = RecordList.of({"name": ["Ann Lee"] * 5000 + ["Anne Lee", "Ann Leigh", "Tom Fox", "Tom Fox"]})
    with pytest.warns(HugeBlock, match="name 'ann lee' is that of 5000 records"):
        found = RecordMatcher(blocks=["name:tfidf(trigrams):0.1"]).candidates(records)
    assert (5002, 5003) in set(zip(found.left.tolist(), found.right.tolist(), strict=True))
    assert len(found) < 10


def test_candidates_are_the_same_for_any_number_of_jobs() -> None:
    records = RecordList.of_names(generate_names(100, random_state=5))
    found = [RecordMatcher(n_jobs=jobs).scores(records) for jobs in (1, 2, 5)]
    for candidates, scores in found[1:]:
        assert candidates.left.tobytes() == found[0][0].left.tobytes()
        assert scores.tobytes() == found[0][1].tobytes()


def test_the_score_is_the_mean_over_the_fields_that_both_have() -> None:
    fields = [Field("name", "jaro", 2.0), Field("phone", "exact", 0.5)]
    left, right = every_pair(len(PEOPLE))
    names, phones = (list(map(plain_form, PEOPLE.columns[key])) for key in ("name", "phone"))
    expected = []
    for i, j in zip(left, right, strict=True):
        parts = []
        if names[i] and names[j]:
            parts.append((2.0, parse_measure("jaro").similarity(names[i], names[j])))
        if phones[i] and phones[j]:
            parts.append((0.5, float(phones[i] == phones[j])))
        weight = sum(part[0] for part in parts)
        expected.append(sum(w * s for w, s in parts) / weight if weight else 0.0)
    assert PairComparer(fields, PEOPLE).scores(left, right) == pytest.approx(expected)


def test_numbers_of_a_pair_follow_their_definitions() -> None:
    names = [*generate_names(40, random_state=2).names, "Route 66", "Route 66 Inn", "Route 67", "66 route"]
    records = RecordList.of({"name": names})
    texts = list(dict.fromkeys(map(plain_form, names)))
    comparer = PairComparer([Field("name")], records)
    left, right = every_pair(len(names))
    rows = np.concatenate([block for _, block in comparer.features(left, right, np.zeros((len(left), 2)))])
    got = {measure: rows[:, number] for number, (_, measure) in enumerate(comparer.columns)}
    a, b = [plain_form(names[i]) for i in left], [plain_form(names[j]) for j in right]
    for column, measure in {
        "aligned": FIELD_MEASURE,
        "words": "tfidf(words)",
        "letters": "tfidf(trigrams)",
        "edit": "levenshtein",
        "start": "jaro_winkler",
    }.items():
        keep = np.ones(len(a), bool)
        if column in ("words", "letters"):  # where no feature comes twice: there it counts once
            cut = str.split if column == "words" else Ngrams(n=3)
            keep &= [all(len(set(cut(x))) == len(cut(x)) for x in pair) for pair in zip(a, b, strict=True)]
        assert keep.mean() > 0.5
        assert got[column][keep] == pytest.approx(parse_measure(measure).fit(texts).pairs(a, b)[keep], abs=1e-6)
    idf = {w: math.log(len(texts) / sum(w in t.split() for t in texts)) for t in texts for w in t.split()}
    for k in range(0, len(a), 7):
        x, y = set(a[k].split()), set(b[k].split())
        weights = sorted(sum(idf[w] for w in side) for side in (x, y))
        common = sum(idf[w] for w in x & y)
        scale = math.log(len(texts))
        assert got["contained"][k] == pytest.approx(common / weights[0])
        assert got["rarest"][k] == pytest.approx(max((idf[w] for w in x & y), default=0.0) / scale)
        assert got["surplus of lighter"][k] == pytest.approx((weights[0] - common) / scale)
        assert got["surplus of heavier"][k] == pytest.approx((weights[1] - common) / scale)
        assert got["first letter"][k] == (a[k][0] == b[k][0])
        assert got["first word"][k] == (a[k].split()[0] == b[k].split()[0])
        assert got["last word"][k] == (a[k].split()[-1] == b[k].split()[-1])
        assert got["length"][k] == pytest.approx(min(len(a[k]), len(b[k])) / max(len(a[k]), len(b[k])))
        digits = [{w for w in side if any(c.isdigit() for c in w)} for side in (x, y)]
        both = bool(digits[0]) and bool(digits[1])
        shared = len(digits[0] & digits[1])
        assert got["numbers equal"][k] == (shared / max(map(len, digits)) if both else 0.0)
        assert got["numbers differ"][k] == (1 - shared / min(map(len, digits)) if both else 0.0)
        assert got["numbers of one"][k] == (bool(digits[0]) != bool(digits[1]))


def test_missing_values_are_nan_and_flagged() -> None:
    comparer = PairComparer([Field("name"), Field("phone", "exact")], PEOPLE)
    _, rows = next(comparer.features(np.array([0, 0]), np.array([5, 2]), np.zeros((2, 2))))
    names = comparer.columns
    assert rows[0, names.index(("name", "missing"))] == 1.0
    assert np.isnan(rows[0, : names.index(("name", "missing"))]).all()
    assert rows[1, names.index(("name", "missing"))] == 0.0
    assert np.isnan(rows[1, names.index(("phone", "exact"))])


def test_empty_fields_everywhere_give_no_pairs() -> None:
    records = RecordList.of({"name": ["", " ", None], "phone": ["-", "", "."]})
    matcher = RecordMatcher(fields=["name", "phone:exact"], threshold=0.0)
    assert len(matcher.pairs(records).left) == 0
    assert len(RecordMatcher().pairs(RecordList.of({"name": []})).left) == 0


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(5, 9)), unique=True, max_size=20), st.booleans())
def test_leads_compare_with_the_best_rival(pairs: list[tuple[int, int]], same_list: bool) -> None:
    scores = np.array([((7 * i + 13 * j) % 11) / 11 for i, j in pairs])
    left = np.array([i for i, _ in pairs], np.int64)
    right = np.array([j for _, j in pairs], np.int64)
    got = leads(left, right, scores, same_list=same_list)
    for k, (i, j) in enumerate(pairs):
        of_i = max((scores[n] for n, p in enumerate(pairs) if n != k and p[0] == i), default=0.0)
        of_j = max((scores[n] for n, p in enumerate(pairs) if n != k and p[1] == j), default=0.0)
        assert got[k].tolist() == [scores[k] - max(of_i, of_j), scores[k] - min(of_i, of_j)]


def test_rare_equal_values_count_more() -> None:
    records = RecordList.of({"city": ["Rome"] * 6 + ["Oslo"] * 2})
    comparer = PairComparer([Field("city", "exact")], records)
    rome, oslo, other = comparer.rarity(np.array([0, 6, 0]), np.array([1, 7, 7]))[:, 0]
    by_chance = (6 / 8) ** 2 + (2 / 8) ** 2
    assert (rome, oslo, other) == pytest.approx((math.log(by_chance / 0.75), math.log(by_chance / 0.25), 0.0))


def test_a_pair_by_a_common_value_needs_a_second_field(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocking, "_FEW", 0)
    rng = np.random.default_rng(2)
    cities = [f"city{n}" for n in rng.integers(0, 3, 300)]
    names = [f"name{n}" for n in rng.integers(0, 8, 300)]
    keys = [f"{n:04d}" for n in rng.integers(0, 200, 300)]
    people = RecordList.of({"city": cities, "name": names, "key": keys})
    blocks = [Block(field) for field in ("city", "name", "key")]
    found = find_candidates(people, blocks=blocks, per_record=5)
    assert 0 < len(found) <= 5 * 300
    common = int(re.search(r"more than ([\d,]+) records", found.notes[-1])[1].replace(",", ""))  # type: ignore[index]
    columns = [cities, names, keys]
    counts = [Counter(column) for column in columns]
    expected = set()
    for i, j in itertools.combinations(range(300), 2):
        same = [v for v in range(3) if columns[v][i] == columns[v][j]]
        crowded = [v for v in same if counts[v][columns[v][i]] > common]
        together = [
            pair
            for pair in itertools.combinations(crowded, 2)
            if sum(all(columns[v][i] == columns[v][at] for v in pair) for at in range(300)) <= common
        ]
        if set(same) - set(crowded) or together:
            expected.add((i, j))
    assert set(zip(found.left.tolist(), found.right.tolist(), strict=True)) == expected
    whole = find_candidates(people, blocks=blocks, per_record=10_000)
    assert len(whole) > 10 * len(found)


def test_a_long_list_of_common_values_is_blocked_within_bounds() -> None:
    size = 20_000
    rng = np.random.default_rng(4)
    people = RecordList.of(
        {"town": [f"town {n}" for n in rng.integers(0, 4, size)], "born": [f"{n}" for n in rng.integers(0, 9000, size)]}
    )
    found = RecordMatcher(fields=["town:exact", "born:exact"]).candidates(people)
    assert len(found) <= 50 * size
    same = sum(count * (count - 1) // 2 for count in Counter(people.columns["born"]).values())
    assert len(found) >= same
