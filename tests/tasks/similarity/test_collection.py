"""Collections: written, read back, asked in every way, shared by processes, killed at any moment; what is refused."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import tracemalloc
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from textmill.corpus import Document, read_documents, sample_path
from textmill.errors import DataError, ModelFileError
from textmill.tasks import Collection
from textmill.tasks.similarity import (
    Article,
    DocumentShard,
    Question,
    Snapshot,
    StaleModel,
    articles_of,
    fuse_ranks,
    parse_filters,
)
from textmill.topics import LDA, LSA
from textmill.vectors import TextVectorizer, Weighting, pairwise_matrix

pytestmark = pytest.mark.filterwarnings("ignore::textmill.tasks.similarity.StaleModel")


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    return list(read_documents(sample_path()))


def models() -> dict[str, object]:
    tfidf = TextVectorizer(weighting=Weighting(idf="n/d"))
    return {
        "tfidf": tfidf,
        "lsa": LSA(n_topics=10, vectorizer=TextVectorizer(weighting=Weighting(idf="n/d"))),
        "lda": LDA(n_topics=4, vectorizer=TextVectorizer(weighting=Weighting(scheme="nnn")), random_state=0),
    }


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, documents: list[Document]) -> Path:
    return Collection.create(tmp_path_factory.mktemp("made") / "library", documents[:120], methods=models()).folder


@pytest.fixture
def library(tmp_path: Path, template: Path) -> Collection:
    shutil.copytree(template, tmp_path / "library")
    return Collection.open(tmp_path / "library")


def brute(library: Collection, method: str, text: str) -> dict[str, float]:
    """All scores of a text, by the definition."""
    model = library.methods[method].model
    articles = list(library)
    X = model.transform([article.text for article in articles])
    measure = library.methods[method].measure
    scores = pairwise_matrix(model.transform([text]), X, measure=measure)[0]
    return dict(zip([article.id for article in articles], scores if measure == "cosine" else 1 - scores, strict=True))


@pytest.mark.parametrize("method", ["tfidf", "lsa", "lda"])
def test_answers_are_those_of_all_scores(library: Collection, method: str, documents: list[Document]) -> None:
    library.upsert(documents[120:150])
    library.delete([documents[3].id, documents[125].id])
    for text in ("tides of the moon", documents[200].text):
        expected = brute(library, method, text)
        found = library.query(text=text, method=method, k=7)
        assert found.scores == pytest.approx(sorted(expected.values(), reverse=True)[:7], abs=2e-6)
        assert [expected[name] for name in found.ids] == pytest.approx(found.scores, abs=2e-6)


def test_a_document_is_not_its_own_neighbor_but_its_copy_is(library: Collection) -> None:
    article = library.get(library.ids()[5])
    library.upsert([Article("copy", article.title, article.text)])
    for method in library.methods:
        found = library.query(id=article.id, method=method, k=3)
        assert found.ids[0] == "copy"
        assert found.scores[0] == pytest.approx(1.0, abs=1e-6)
        assert article.id not in found.ids


def test_what_was_written_is_read_back_also_by_others(library: Collection) -> None:
    reader = Collection.open(library.folder)
    assert not reader.refresh()
    library.upsert([{"id": "a/b\"c'", "title": "<b>T</b>", "text": "the moon", "year": 1990, "codes": ["20D", "05C"]}])
    assert "a/b\"c'" not in reader
    assert reader.refresh()
    for one in (library, reader, Collection.open(library.folder)):
        got = one.get("a/b\"c'")
        assert (got.title, got.text, got.fields) == ("<b>T</b>", "the moon", {"year": 1990, "codes": ["20D", "05C"]})
        assert one.query(text="moon", where={"codes": "05C"}).ids == ["a/b\"c'"]
        assert one.query(text="moon", where=parse_filters(["year<1990"])).ids == []
        assert [row.name for row in one.fields() if row.name in ("codes", "year")] == ["codes", "year"]
    library.delete(["a/b\"c'"])
    reader.refresh()
    for one in (library, reader, Collection.open(library.folder)):
        with pytest.raises(DataError, match="no document with the id"):
            one.get("a/b\"c'")


def test_answers_do_not_change_by_compacting(library: Collection, documents: list[Document]) -> None:
    library.upsert(documents[120:200])
    library.upsert(Document(one.id, one.text + " moon", one.fields, "", None) for one in documents[:40])
    library.delete([one.id for one in documents[50:70]])
    before = [library.query(id=name, method=method, k=9) for name in library.ids() for method in library.methods]
    reader = Collection.open(library.folder)
    library.compact()
    assert reader.refresh()
    names = library.ids()
    for one in (library, reader, Collection.open(library.folder)):
        after = [one.query(id=name, method=method, k=9) for name in one.ids() for method in one.methods]
        assert [found.ids for found in after] == [found.ids for found in before]
        assert [found.scores.tolist() for found in after] == [found.scores.tolist() for found in before]
    assert len(names) == len(documents[:200]) - 20
    assert sum(path.name.startswith("documents-") for path in library.folder.iterdir()) <= 2


def test_many_questions_are_answered_as_one_by_one(library: Collection, documents: list[Document]) -> None:
    names = library.ids()
    questions = [
        Question(id=names[0]),
        Question(text="the moon and the sea"),
        Question(text="xyzzy"),
        Question(like=(names[1], names[2]), unlike=(names[3],)),
        Question(text="moon", like=(names[4],)),
    ]
    for method in library.methods:
        together = library.query_many(questions, method=method, k=5)
        for question, found in zip(questions, together, strict=True):
            one = library.query(
                id=question.id, text=question.text, like=question.like, unlike=question.unlike, method=method, k=5
            )
            assert (one.ids, one.scores.tolist()) == (found.ids, found.scores.tolist())
            assert not {*question.like, *question.unlike} & set(found.ids)
    assert library.query(text="xyzzy", method="tfidf").reason == "no word of the question is known to the model"


def test_a_vector_asks_as_its_text(library: Collection) -> None:
    text = "the moon over the sea"
    for method in library.methods.values():
        vector = method.model.transform([text])
        assert library.query(vector=vector, method=method.name).ids == library.query(text=text, method=method.name).ids
    with pytest.raises(DataError, match="needs 10 numbers"):
        library.query(vector=[1.0, 2.0], method="lsa")


def test_judged_documents_move_the_question(library: Collection, documents: list[Document]) -> None:
    topic = [one.id for one in documents[:120] if one.id.startswith(documents[0].id.split("-")[0])]
    other = [one.id for one in documents[:120] if not one.id.startswith(documents[0].id.split("-")[0])]
    liked = library.query(like=topic[:3], method="lsa", k=5).ids
    assert sum(name in topic for name in liked) >= 4
    row = library.snapshot.vectors_of("lsa", np.array([library.snapshot.place(topic[0]).number])).astype(float)
    disliked = library.snapshot.vectors_of("lsa", np.array([library.snapshot.place(other[0]).number])).astype(float)
    expected = library.query(vector=row - 0.25 * disliked, method="lsa", k=4)
    found = library.query(id=topic[0], unlike=[other[0]], method="lsa", k=2)
    assert found.ids == [name for name in expected.ids if name not in (topic[0], other[0])][:2]


def test_several_methods_are_fused_by_ranks(library: Collection) -> None:
    name = library.ids()[0]
    lists = [library.query(id=name, method=method, k=100).ids for method in ("tfidf", "lsa")]
    scores = {one: sum(1 / (61 + part.index(one)) for part in lists if one in part) for part in lists for one in part}
    fused = library.query(id=name, method=["tfidf", "lsa"], k=5)
    assert fused.scores == pytest.approx(sorted(scores.values(), reverse=True)[:5])
    assert fuse_ranks([["x"], ["y"]])[0][0] == "x"


def test_sources_and_filters(tmp_path: Path) -> None:
    library = Collection.create(
        tmp_path / "two",
        {"dml": ["the corn mill", "an old mill"], "numdam": [{"id": "n", "text": "mill of corn"}]},
        methods={"words": TextVectorizer(weighting=Weighting(idf="smooth"))},
    )
    assert library.query(text="mill", where={"source": "numdam"}).ids == ["n"]
    assert library.query(text="mill", where={"source": "nowhere"}).reason == "no document passes the filter"
    assert library.values("source") == ["dml", "dml", "numdam"]
    with pytest.raises(DataError, match="no filter"):
        parse_filters(["year"])


def test_empty_unknown_and_huge_documents_are_kept_and_have_no_nan(library: Collection) -> None:
    library.upsert(
        [
            {"id": "empty", "text": ""},
            {"id": "unknown", "text": "xyzzy plugh"},
            {"id": "huge", "text": "moon sea " * 200_000},
            {"id": "x" * 10_240, "text": "moon"},
        ]
    )
    for method in library.methods:
        assert np.isfinite(library.query(id="huge", method=method).scores).all()
        assert len(library.query(id="x" * 10_240, method=method)) > 0
    assert library.query(id="empty", method="tfidf").ids == []
    assert library.query(id="unknown", method="lsa").ids == []
    assert "empty" not in library.query(text="moon", method="tfidf", k=200).ids


def test_a_collection_of_one_document(tmp_path: Path) -> None:
    library = Collection.create(
        tmp_path / "one", ["the mill"], methods={"w": TextVectorizer(weighting=Weighting(idf="smooth"))}
    )
    assert library.query(id="0").ids == []
    assert library.query(text="mill").ids == ["0"]
    library.delete(["0"])
    assert (len(library), library.query(text="mill").ids) == (0, [])
    library.compact()
    assert len(Collection.open(library.folder)) == 0
    library.upsert(["a new mill"])
    assert library.query(text="mill").ids == ["1"]


def test_old_models_are_told_of_and_trained_anew(library: Collection, documents: list[Document]) -> None:
    with pytest.warns(StaleModel) as told:
        library.upsert(documents[120:140])
    assert [str(one.message)[:25] for one in told] == ["14% of the documents are ", "24% of the words of new d"]
    assert library.staleness()[0] == pytest.approx(20 / 140)
    library.upsert([{"id": "new", "text": "plugh " * 5000}])
    library.rebuild()
    assert library.staleness() == (0.0, 0.0)
    assert library.query(text="plugh", method="tfidf").ids == ["new"]
    assert Collection.open(library.folder).query(text="plugh", method="tfidf").ids == ["new"]


def test_kinds_of_methods_suit_the_size(tmp_path: Path, documents: list[Document]) -> None:
    library = Collection.create(tmp_path / "kinds", documents, methods=["tfidf", "lsa"], n_topics=20)
    vocabulary = library.methods["tfidf"].vocabulary
    assert vocabulary is not None
    assert vocabulary.document_frequency_.min() >= 5
    assert vocabulary.document_frequency_.max() <= 0.3 * len(documents)
    assert library.methods["lsa"].model.n_topics == 20
    library.rebuild()
    assert library.methods["lsa"].model.n_topics == 20


def test_ids_that_come_twice_are_refused_and_nothing_is_left(tmp_path: Path) -> None:
    folder = tmp_path / "twice"
    with pytest.raises(DataError, match="the id 'a' is there twice"):
        Collection.create(folder, [{"id": "a", "text": "x"}, {"id": "a", "text": "y"}])
    assert not folder.exists()
    with pytest.raises(DataError, match="no documents to collect"):
        Collection.create(folder, [])
    Collection.create(folder, ["to be", "or not"], methods={"w": TextVectorizer(weighting=Weighting(idf="smooth"))})
    with pytest.raises(DataError, match="there is a collection already"):
        Collection.create(folder, ["to be"])


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"id": "x"}, "no field 'text'"),
        ({"id": " ", "text": "a"}, "an id that is not empty"),
        ({"id": "x", "text": 5}, "a text or a list of terms"),
        ({"id": "x", "text": "half \ud800"}, "half a character"),
    ],
)
def test_documents_that_cannot_be_kept_are_refused(library: Collection, document: object, message: str) -> None:
    before = len(library)
    with pytest.raises(DataError, match=message):
        library.upsert([document])
    assert len(library) == before == len(Collection.open(library.folder))


def test_one_writer_at_a_time(library: Collection) -> None:
    other = Collection.open(library.folder)
    with library._store.writing(), pytest.raises(DataError, match="another process is writing"):
        other.upsert(["text"])
    other.upsert([{"id": "later", "text": "the moon"}])
    library.upsert([{"id": "last", "text": "the sea"}])  # takes over what the other has written first
    assert {"later", "last"} <= set(library.ids())


def test_threads_read_while_one_writes(library: Collection, documents: list[Document]) -> None:
    faults: list[BaseException] = []
    done = threading.Event()

    def read() -> None:
        try:
            while not done.is_set():
                for method in library.methods:
                    assert len(library.query(id=documents[0].id, method=method, k=5)) == 5
        except BaseException as fault:
            faults.append(fault)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for start in range(120, 200, 10):
        library.upsert(documents[start : start + 10])
    library.compact()
    done.set()
    for reader in readers:
        reader.join()
    assert not faults


WRITER = """
import sys
from textmill.tasks import Collection
library = Collection.open(sys.argv[1])
for i in range(100000):
    library.upsert([{"id": f"k{i}", "text": f"moon number {i}"}])
    print(i, flush=True)
    if i % 7 == 6:
        library.delete([f"k{i - 1}"])
    if i % 5 == 4:
        library.compact()
"""


def test_nothing_that_was_confirmed_is_lost_by_a_kill(tmp_path: Path) -> None:
    words = TextVectorizer(weighting=Weighting(idf="smooth"))
    library = Collection.create(tmp_path / "killed", ["the moon", "a number"], methods={"w": words})
    for seconds in (0.02, 0.05, 0.11):
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", WRITER, library.folder], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        confirmed = [process.stdout.readline()]
        threading.Timer(seconds, lambda process=process: os.kill(process.pid, signal.SIGKILL)).start()
        confirmed += process.stdout.readlines()
        assert process.wait() == -signal.SIGKILL
        process.stdout.close()
        last = int([line for line in confirmed if line.endswith("\n")][-1])
        found = Collection.open(library.folder)
        gone = {i - 1 for i in range(6, last + 1, 7)}
        assert {f"k{i}" for i in range(last + 1) if i not in gone} - set(found.ids()) <= {f"k{last - 1}"}
        assert len(found.query(text="moon")) > 0
        found.upsert([{"id": "after", "text": "moon"}])
        assert "after" in Collection.open(library.folder)


def test_an_unfinished_line_of_the_journal_is_cut_off_and_a_damaged_one_told(library: Collection) -> None:
    library.upsert([{"id": "one", "text": "the moon"}])
    journal = library.folder / json.loads((library.folder / "collection.json").read_text())["journal"]
    whole = journal.read_bytes()
    journal.write_bytes(whole + whole[:-9])
    opened = Collection.open(library.folder)
    assert "one" in opened
    opened.upsert([{"id": "two", "text": "the sea"}])
    assert {"one", "two"} <= set(Collection.open(library.folder).ids())
    journal.write_bytes(b"0" + journal.read_bytes()[1:])
    with pytest.raises(ModelFileError, match="the line at byte 0 is damaged"):
        Collection.open(library.folder)


def test_damaged_folders_are_told(library: Collection, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no collection"):
        Collection.open(tmp_path)
    manifest = library.folder / "collection.json"
    text = manifest.read_text()
    for content, message in [
        ("{", "not JSON"),
        ("{}", "does not describe"),
        (text.replace('"format": 1', '"format": 9'), "upgrade"),
    ]:
        manifest.write_text(content)
        with pytest.raises(ModelFileError, match=message):
            Collection.open(library.folder)
    manifest.write_text(text)
    next(library.folder.glob("lsa-*")).unlink()
    with pytest.raises(ModelFileError, match="a file of the collection is missing"):
        Collection.open(library.folder)


def test_a_full_disk_leaves_the_journal_as_it_was(library: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    library.upsert([{"id": "one", "text": "the moon"}])

    def full(descriptor: int, data: object, place: int) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(OSError, match="No space left"):
            library.upsert([{"id": "two", "text": "the sea"}])
    assert "two" not in library
    assert "one" in Collection.open(library.folder)
    library.upsert([{"id": "three", "text": "the sea"}])
    assert {"one", "three"} <= set(Collection.open(library.folder).ids())


def test_lists_of_terms_are_documents(tmp_path: Path) -> None:
    library = Collection.create(
        tmp_path / "terms",
        [["corn", "corn", "mill"], ["U.S.", "mill"]],
        methods={"w": TextVectorizer(weighting=Weighting(idf="smooth"))},
    )
    assert library.get("1").text == ["U.S.", "mill"]
    assert library.query(id="0").ids == ["1"]


def test_a_refresh_beside_a_writer_does_not_undo_what_was_written(library: Collection) -> None:
    """A thread that has read an old state must not put it in the place of a newer one, on which the writer goes on."""
    store, refreshed = library._store, library._store.refreshed
    read, go_on = threading.Event(), threading.Event()

    def slow(snapshot: Snapshot) -> Snapshot:
        state = refreshed(snapshot)
        if threading.current_thread() is watcher:
            read.set()
            assert go_on.wait(10)
        return state

    store.refreshed = slow  # type: ignore[method-assign]
    watcher = threading.Thread(target=library.refresh)

    def written() -> Iterator[dict[str, str]]:
        yield {"id": "one", "text": "a mill " * 200_000}  # one chunk each
        watcher.start()
        read.wait(0.5)  # not reached: a refresh has to leave alone what is being written
        yield {"id": "two", "text": "a mill " * 400_000}
        go_on.set()
        watcher.join()
        yield {"id": "three", "text": "a mill"}

    assert library.upsert(written()) == 3
    again = Collection.open(library.folder)
    assert {"one", "two", "three"} <= set(library.ids()) == set(again.ids())


def test_an_article_that_is_there_already_is_not_written_again(library: Collection, documents: list[Document]) -> None:
    journal = library.folder / library.snapshot.manifest["journal"]
    numbers = library.snapshot.numbers.tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("error", StaleModel)
        assert library.upsert(documents[:120]) == 120
    assert (journal.stat().st_size, library.snapshot.numbers.tolist()) == (0, numbers)
    assert library.staleness() == (0.0, 0.0)
    library.upsert([{**documents[0].fields, "id": documents[0].id, "text": documents[0].text, "year": 1990}])
    assert (len(library), library.get(documents[0].id).fields["year"]) == (120, 1990)


def test_words_that_training_left_out_do_not_make_models_old(tmp_path: Path, documents: list[Document]) -> None:
    library = Collection.create(tmp_path / "cut", documents[:150], methods=["tfidf"], min_df=5)
    known, unknown = library.methods["tfidf"].count_words(list(articles_of(documents[:150])))
    assert unknown > 0.2 * (known + unknown)  # which would be a warning
    again = ({**one.fields, "id": one.id, "text": one.text, "seen": "again"} for one in documents[:150])
    library.upsert(again)
    assert sum(library.snapshot.words) == known + unknown
    assert library.staleness()[1] == pytest.approx(0.0, abs=1e-12)
    library.upsert([{"id": "new", "text": "plugh " * (known + unknown)}])
    share = (2 * unknown + known) / (2 * unknown + 2 * known)
    usual = unknown / (known + unknown)
    assert library.staleness()[1] == pytest.approx((share - usual) / (1 - usual))


def test_shards_are_merged_in_little_memory(tmp_path: Path) -> None:
    model = TextVectorizer(weighting=Weighting(idf="n/d")).fit(["mill corn", "sea storm", "corn sea"])
    library = Collection.create(tmp_path / "large", ["mill corn", "sea storm"], methods={"words": model})
    library.upsert({"id": f"n{n}", "text": f"{n} mill corn " * 12_000} for n in range(150))
    library.compact()
    size = sum(path.stat().st_size for path in library.folder.glob("documents-*.mill"))
    assert size > 20 << 20
    library.delete([f"n{n}" for n in range(0, 150, 10)])
    tracemalloc.start()
    library.compact()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < size / 2
    again = Collection.open(library.folder)
    assert len(again) == 137
    assert again.get("n149").text == "149 mill corn " * 12_000
    assert sum(len(part.dead) for part in again.snapshot.parts) == 0


def test_a_merged_shard_has_the_bytes_of_one_that_is_made_of_the_same_articles(tmp_path: Path) -> None:
    first = [Article(f"a{n}", f"T{n}", f"text {n} ü", {"year": n}, "x" if n % 3 else "y") for n in range(9)]
    second = [Article(f"A{n}", "", [f"term{n}", "ö"], {}, "z" if n % 2 else "x") for n in range(7)]
    shards = DocumentShard.of(first, range(9)), DocumentShard.of(second, range(20, 27))
    rows = np.array([1, 2, 3, 5, 8]), np.array([0, 3, 4, 6])
    DocumentShard.join(list(zip(shards, rows, strict=True))).save(tmp_path / "joined.mill")
    kept = [first[row] for row in rows[0]] + [second[row] for row in rows[1]]
    numbers = [*rows[0].tolist(), *(20 + rows[1]).tolist()]
    DocumentShard.of(kept, numbers).save(tmp_path / "made.mill")
    assert (tmp_path / "joined.mill").read_bytes() == (tmp_path / "made.mill").read_bytes()


def test_compacting_merges_small_shards_and_then_has_nothing_to_do(
    library: Collection, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("textmill.tasks.similarity.store._SHARD", 160)
    monkeypatch.setattr("textmill.tasks.similarity.collection._RECENT", (5, 1 << 23))
    with pytest.warns(StaleModel):
        library.upsert(documents[120:160])
    for start, end in ((160, 175), (175, 182)):  # each less than half of the shard before
        library.upsert(documents[start:end])
    library.delete([documents[125].id])
    before = library.count_shards()
    asked = [library.query(id=name, method=method, k=9) for name in library.ids() for method in library.methods]
    library.compact()
    assert (before, library.count_shards()) == (4, 2)
    sizes = [len(part.numbers) for part in library.snapshot.parts]
    assert sizes == [159, 22, 0]  # the first is as full as it may be
    after = [library.query(id=name, method=method, k=9) for name in library.ids() for method in library.methods]
    assert [(one.ids, one.scores.tolist()) for one in after] == [(one.ids, one.scores.tolist()) for one in asked]
    shards = [entry["serial"] for entry in library.snapshot.manifest["shards"]]
    library.compact()
    assert [entry["serial"] for entry in library.snapshot.manifest["shards"]] == shards
    assert len(Collection.open(library.folder)) == 181


def test_why_models_are_old_is_said_until_they_are_trained(library: Collection, documents: list[Document]) -> None:
    assert library.stale_reasons() == []
    with pytest.warns(StaleModel):
        library.upsert(documents[120:140])
    first, second = library.stale_reasons()
    assert first == "14% of the documents are newer than the models"
    assert second.endswith("of the words of new documents are unknown")
    library.rebuild()
    assert library.stale_reasons() == []


def test_ids_are_found_by_their_hashes_as_by_their_order(tmp_path: Path) -> None:
    rows = [{"id": f"n{n * 7 % 300}", "text": f"text {n % 30}"} for n in range(300)]
    library = Collection.create(tmp_path / "library", rows, methods=["tfidf"])
    library.delete(["n7"])
    library.upsert([{"id": "n14", "text": "text 3"}, {"id": "later", "text": "text 4"}])
    asked = [*(f"n{n}" for n in range(310)), "", "later", "ö" * 9000]
    plain = {name: Collection.open(tmp_path / "library").snapshot.find(name) for name in asked}
    snapshot = Collection.open(tmp_path / "library").snapshot
    snapshot.hash_ids()
    hashed = {name: snapshot.find(name) for name in asked}
    again = {name: snapshot.find(name) for name in asked for _ in range(2)}
    rows_of = {name: place and (place.number, place.row) for name, place in plain.items()}
    assert {name: place and (place.number, place.row) for name, place in hashed.items()} == rows_of
    assert {name: place and (place.number, place.row) for name, place in again.items()} == rows_of
    assert rows_of["n7"] is None
    assert rows_of["n299"] is not None
