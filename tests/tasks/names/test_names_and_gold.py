"""Files of names, of gold labels and of pairs; normalization; pooling; calibration."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from textmill.corpus import SkippedRecords
from textmill.errors import DataError
from textmill.strings import Normalizer, Pairs, parse_measure
from textmill.tasks.names import (
    Calibration,
    Gold,
    NameList,
    evaluate,
    generate_names,
    pool_pairs,
    read_gold,
    read_names,
    read_pairs,
    write_gold,
    write_pairs,
)


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_every_format_gives_the_same_names(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    rows = [("a", "Jean Dupré", "person", 3), ("b", "M. Dupré", "person", 1)]
    columns = dict(zip(("id", "name", "type", "count"), map(list, zip(*rows, strict=True)), strict=True))
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "n.parquet")
    lines = ["\t".join(map(str, row)) + "\n" for row in rows]
    files = [
        tmp_path / "n.parquet",
        written(tmp_path, "n.tsv", "".join(lines)),
        written(tmp_path, "h.tsv", "id\tname\ttype\tcount\n" + "".join(lines)),
        written(tmp_path, "n.csv", "id,name,type,count\n" + "".join(lines).replace("\t", ",")),
        written(
            tmp_path,
            "n.jsonl",
            "".join(json.dumps(dict(zip(("id", "name", "type", "count"), row, strict=True))) + "\n" for row in rows),
        ),
    ]
    for path in files:
        names = read_names(path)
        assert (names.ids, names.names, names.types) == (["a", "b"], ["Jean Dupré", "M. Dupré"], ["person", "person"])
        assert names.counts is not None
        assert names.counts.tolist() == [3, 1]
    plain = read_names(written(tmp_path, "n.txt", "Jean Dupré\n\nM. Dupré\n"))
    assert (plain.ids, plain.names, plain.types, plain.counts) == (["1", "3"], ["Jean Dupré", "M. Dupré"], None, None)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("n.csv", "id,name,type,cluster\n1 ,Ann, person ,x \n 2,Anne,person,x\n"),
        ("n.tsv", "id\tname\ttype\tcluster\n1 \tAnn\tperson \tx \n2\tAnne\tperson\t x\n"),
        ("n.jsonl", '{"id": "1 ", "name": "Ann", "type": "person", "cluster": "x "}\n'
                    '{"id": " 2", "name": "Anne", "type": "person ", "cluster": "x"}\n'),
        ("n.secondstring", 'person\t"x "\tAnn\nperson \tx \tAnne\n'),
    ],
)  # fmt: skip
def test_blanks_around_ids_and_clusters_do_not_count(tmp_path: Path, file: str, text: str) -> None:
    style = "secondstring" if file.endswith("secondstring") else None
    names = read_names(written(tmp_path, file, text), format=style)
    assert (names.ids, names.clusters) == (["1", "2"], ["x", "x"])
    assert (names.types or names.relations) == ["person", "person"]
    gold = Gold.from_clusters(names)
    assert gold.labels == {("1", "2"): "pos"}
    assert read_gold(written(tmp_path, "gold.tsv", "1 \t 2\tpos \n"), names=names).labels == gold.labels
    assert read_gold(written(tmp_path, "clusters.tsv", "1\tx \n2 \tx\n"), names=names).labels == gold.labels
    assert NameList.of(["Ann", "Anne"], ids=["1 ", 2], clusters=["x", " x"]).clusters == ["x", "x"]
    with pytest.raises(DataError, match="ids must be unique"):
        NameList.of(["Ann", "Anne"], ids=["1 ", "1"])


def test_columns_of_arrow_make_a_collection() -> None:
    import pyarrow

    table = pyarrow.table({"name": ["Ann", "Tom"], "id": [7, 8], "count": [2, 1]})
    names = NameList.of(table["name"], ids=table["id"], counts=table["count"])
    assert (names.names, names.ids) == (["Ann", "Tom"], ["7", "8"])
    assert names.counts is not None
    assert names.counts.tolist() == [2, 1]


def test_secondstring_files_have_relations_and_clusters(tmp_path: Path) -> None:
    path = written(tmp_path, "parks.txt", 'a\t"k1"\tAcadia NP\r\nb\t"k1" \tAcadia National Park\r\nb\tk2\tZion\r\n')
    names = read_names(path, format="secondstring")
    assert names.names == ["Acadia NP", "Acadia National Park", "Zion"]
    assert names.clusters == ["k1", "k1", "k2"]
    assert Gold.from_clusters(names).positives == [("1", "2")]
    assert [len(part) for part in names.split()] == [1, 2]


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "entities", "positives", "f1"),
    [
        ("parks", 654, 250, 94.5),
        ("restaurant", 863, 112, 96.4),
        ("gameExtracted", 898, 43, 77.1),
        ("vaUniv", 116, 280, 76.1),
    ],
)
def test_published_sets_are_read_and_evaluated_as_measured(
    data: Path, name: str, entities: int, positives: int, f1: float
) -> None:
    names = read_names(data / "names" / f"{name}.txt", format="secondstring", encoding="latin-1")
    first = {key: i for i, key in reversed([*enumerate(zip(names.relations or (), names.names, strict=True))])}
    names = names.select(sorted(first.values()))  # each name once
    assert (len(names), len(Gold.from_clusters(names).positives)) == (entities, positives)
    folded = NameList(names.ids, [text.lower() for text in names], clusters=names.clusters, relations=names.relations)
    found = evaluate(folded, Gold.from_clusters(folded), 'tfidf(words(split="regex"))')
    assert 100 * found.curve.best().f == pytest.approx(f1, abs=0.5)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("n.tsv", "a\tAnn\nb\tTom\tperson\n", r"n.tsv:2: 3 fields where the first row has 2"),
        ("n.tsv", "Ann\n", r"n.tsv:1: 1 fields; a row is id, name"),
        ("n.tsv", "a\tAnn\na\tTom\n", r"n.tsv:2:id: id 'a' is also that of line 1"),
        ("n.tsv", "a\t \n", r"n.tsv:1:name: the name is empty"),
        ("n.tsv", "\tAnn\n", r"n.tsv:1:id: the id is empty"),
        ("n.tsv", "a\tAnn\tperson\tmany\n", r"n.tsv:1:count: the count 'many' is not a whole number"),
        ("n.csv", "id,text\na,Ann\n", r"no field 'name'; the fields are 'id', 'text'"),
        ("n.jsonl", '{"name": 7}\n', r"n.jsonl:1:name: the name is a int, not text"),
        ("n.docx", "x", r"n.docx:1:name: no field 'name'"),
    ],
)
def test_bad_names_are_refused_with_their_place(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_names(written(tmp_path, name, text))


def test_bad_names_are_skipped_and_reported_when_asked(tmp_path: Path) -> None:
    path = written(tmp_path, "n.tsv", "a\tAnn\na\tTom\nb\t\nc\tEve\n")
    with pytest.warns(SkippedRecords, match="2 bad records skipped"):
        assert read_names(path, errors="skip").ids == ["a", "c"]


def test_columns_must_fit() -> None:
    with pytest.raises(DataError, match="also that of name 1"):
        NameList.of(["A", "B"], ids=["x", "x"])
    with pytest.raises(DataError, match="types has 1 entries for 2 names"):
        NameList.of(["A", "B"], types=["person"])
    with pytest.raises(DataError, match="occurs at least once"):
        NameList.of(["A"], counts=[0])
    with pytest.raises(DataError, match="name 2 is a float, not text"):
        NameList.of(["A", float("nan")])  # type: ignore[list-item]
    with pytest.raises(DataError, match="no counts"):
        NameList.of(["A"]).filter(min_count=2)
    with pytest.raises(DataError, match="no types"):
        NameList.of(["A"]).filter(types=["person"])
    with pytest.raises(DataError, match="0 relations; two are needed"):
        NameList.of(["A"]).split()


def test_gold_goes_to_a_file_and_back(tmp_path: Path) -> None:
    gold = Gold({("b", "a"): "pos", ("a", "c"): "unk", ("c", "d"): "neg"}, frozenset(["z"]))
    write_gold(tmp_path / "g.tsv", gold)
    assert read_gold(tmp_path / "g.tsv") == gold
    clusters = read_gold(written(tmp_path, "c.tsv", "id\tcluster\na\t1\nb\t2\nc\t1\n"))
    assert clusters.labels == {("a", "c"): "pos"}
    with pytest.raises(DataError, match="holds a tab"):
        write_gold(tmp_path / "g.tsv", Gold({("a\tb", "c"): "pos"}))
    assert read_gold(tmp_path / "g.tsv") == gold


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tzz\tpos\n", r"g.tsv:1: no name has the id 'zz'"),
        ("a\tb\tpos\n\nb\ta\tneg\n", r"g.tsv:3: the pair 'b', 'a' is labeled pos above and neg here"),
        ("a\tb\tyes\n", r"g.tsv:1: label 'yes' is none of pos, neg, unk"),
        ("a\ta\tpos\n", r"the pair of 'a' with itself"),
        ("a\n", r"1 fields; a row is id1, id2 and a label"),
        ("\tb\tpos\n", r"the id is empty"),
        ("a\t1\na\t2\n", r"id 'a' stands in cluster '1' above and in '2' here"),
    ],
)
def test_bad_gold_is_refused_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_gold(written(tmp_path, "g.tsv", text), names=NameList.of(["A", "B"], ids=["a", "b"]))


def test_gold_between_two_lists_has_a_direction(tmp_path: Path) -> None:
    left, right = NameList.of(["A", "B"]), NameList.of(["C", "D"])
    gold = read_gold(written(tmp_path, "g.tsv", "2\t1\tpos\n"), names=left, other=right)
    assert (gold.label("2", "1"), gold.label("1", "2")) == ("pos", None)
    assert [part.tolist() for part in gold.places(left, right)] == [[1], [0], [0]]
    with pytest.raises(DataError, match="do not merge"):
        gold.merge(Gold())
    with pytest.raises(DataError, match="no clusters"):
        Gold.from_clusters(left)
    with pytest.raises(DataError, match="none of pos"):
        Gold({("a", "b"): "maybe"})
    with pytest.raises(DataError, match="labeled pos and neg"):
        Gold({("a", "b"): "pos", ("b", "a"): "neg"})


@pytest.mark.parametrize("suffix", ["tsv", "tsv.gz", "jsonl", "parquet"])
def test_pairs_go_to_a_file_and_back(tmp_path: Path, suffix: str) -> None:
    names = NameList.of(["Ann\tSmith", "Änne Smith", "Tom"], ids=["a", "b", "c"])
    blocks = [Pairs.of([(0, 1, 0.75)]), Pairs.of([(0, 2, 0.5)])]
    assert write_pairs(tmp_path / f"p.{suffix}", blocks, names) == 2
    rows = list(read_pairs(tmp_path / f"p.{suffix}"))
    assert [(row.id1, row.id2, row.score) for row in rows] == [("a", "b", 0.75), ("a", "c", 0.5)]
    assert rows[0].name2 == "Änne Smith"
    write_pairs(tmp_path / f"none.{suffix}", [], names)
    assert not list(read_pairs(tmp_path / f"none.{suffix}"))


def test_bad_pairs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no field 'id1'"):
        list(read_pairs(written(tmp_path, "p.tsv", "a\tb\n1\t2\n")))
    with pytest.raises(DataError, match="is not a number"):
        list(read_pairs(written(tmp_path, "q.tsv", "id1\tid2\tscore\tname1\tname2\na\tb\thigh\tA\tB\n")))
    with pytest.raises(DataError, match="pairs are not written as"):
        write_pairs(tmp_path / "p.xlsx", [], NameList.of([]))
    with pytest.raises(DataError, match="format must be one of"):
        write_pairs(tmp_path / "p.tsv", [], NameList.of([]), format="xml")
    with pytest.raises(DataError, match="standard output"):
        write_pairs("-", [], NameList.of([]), format="parquet")


def test_normalization_is_off_and_each_step_does_its_own() -> None:
    name = " Dr. Élodie  O’Neill-GROẞ, Ltd. "
    assert Normalizer()(name) == "Dr. Élodie O’Neill-GROẞ, Ltd."
    assert Normalizer(case=True)(name) == "dr. élodie o’neill-gross, ltd."
    assert Normalizer(accents=True)("Élodie Łódź Müller Straße") == "Elodie Lodz Muller Strasse"
    assert Normalizer(punctuation=True)(name) == "Dr Élodie O’Neill-GROẞ Ltd"
    assert Normalizer(titles=True)(name) == "Élodie O’Neill-GROẞ, Ltd."
    assert Normalizer(legal_forms=True)("ACME G.m.b.H. & Co. KG") == "ACME G.m.b.H. &"
    assert Normalizer(legal_forms=["SpA"])("Ferro S.p.A.") == "Ferro"
    assert Normalizer(form="NFKC")("Ｊｏｈｎ") == "John"
    assert Normalizer(transliterate=lambda text: text.replace("ж", "zh"))("жук") == "zhук"
    assert Normalizer(titles=True)("Mr. Dr.") == "Mr. Dr."
    assert Normalizer(punctuation=True)("...") == ""
    with pytest.raises(DataError, match="form must be one of"):
        Normalizer(form="NFX")
    with pytest.raises(DataError, match="list of words"):
        Normalizer(titles="Mr")


def test_the_pool_is_the_union_of_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    names = generate_names(30, random_state=4)
    measures = ["levenshtein", "tfidf(words)"]
    expected: dict[tuple[int, int], dict[str, int]] = {}
    for measure in measures:
        scores = parse_measure(measure).fit(names.names).matrix(names.names).round(9)
        pairs = [(-scores[i, j], i, j) for i in range(len(names)) for j in range(i + 1, len(names)) if scores[i, j] > 0]
        for rank, (_, i, j) in enumerate(sorted(pairs)[:12], 1):
            expected.setdefault((i, j), {})[measure] = rank
    for cells in (1 << 20, 200):
        monkeypatch.setattr("textmill.tasks.names.evaluation._CELLS", cells)
        assert {
            (pair.left, pair.right): pair.ranks for pair in pool_pairs(names, measures, k=12, normalize=None)
        } == expected
    done = Gold({(names.ids[i], names.ids[j]): "neg" for i, j in list(expected)[:5]})
    again = {(pair.left, pair.right) for pair in pool_pairs(names, measures, k=12, gold=done)}
    assert not again & set(list(expected)[:5])
    with pytest.raises(DataError, match="no measure"):
        pool_pairs(names, [])


def test_calibration_finds_the_probabilities_behind_the_scores() -> None:
    random = np.random.default_rng(0)
    truth = random.random(20_000) < 0.2
    scores = np.where(truth, random.beta(12, 3, 20_000), random.beta(2, 9, 20_000))
    density = [0.2 * _density(scores, 12, 3), 0.8 * _density(scores, 2, 9)]
    exact = density[0] / (density[0] + density[1])
    mixture, labeled = Calibration.from_mixture(scores), Calibration.from_labels(scores, truth)
    assert np.abs(mixture.probability(scores) - exact).mean() < 0.02
    assert np.abs(labeled.probability(scores) - exact).mean() < 0.02
    for calibration in (mixture, labeled):
        assert np.all(np.diff(calibration.probabilities) >= 0)
        threshold = calibration.threshold(scores, precision=0.95)
        assert truth[scores >= threshold].mean() == pytest.approx(0.95, abs=0.02)


def _density(s: np.ndarray, a: float, b: float) -> np.ndarray:
    from scipy.special import betaln

    return np.exp((a - 1) * np.log(s) + (b - 1) * np.log1p(-s) - betaln(a, b))


def test_what_cannot_be_calibrated_is_refused() -> None:
    with pytest.raises(DataError, match="all alike"):
        Calibration.from_labels([0.1, 0.2], [True, True])
    with pytest.raises(DataError, match="one label a score"):
        Calibration.from_labels([0.1, 0.2], [True])
    with pytest.raises(DataError, match="at least three"):
        Calibration.from_mixture([0.5, 0.5])
    with pytest.raises(DataError, match="not finite"):
        Calibration.from_mixture([np.nan])
    with pytest.raises(DataError, match="ask for less"):
        Calibration.from_labels([0.1, 0.9], [False, True]).threshold([0.1], precision=0.99)
