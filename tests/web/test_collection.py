"""A collection that is served: articles with texts, uploads, documents and trends of topics."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from waiting import LIMIT, wait_until
from web_shelf import HOSTILE

from textmill.corpus import Vocabulary, sample_articles
from textmill.tasks.similarity import Collection, NeighborTable
from textmill.topics import LSA
from textmill.vectors import TextVectorizer, Weighting
from textmill.web import Limits

LINES = {"content-type": "application/x-ndjson"}


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection of the sample articles, to be copied."""
    folder = tmp_path_factory.mktemp("stock") / "library"
    rows = [{**one, "year": 1990 + place % 5} for place, one in enumerate(sample_articles())]
    Collection.create(folder, rows, methods=["tfidf", "lsa"], random_state=0)
    return folder


@pytest.fixture
def library(stock: Path, tmp_path: Path) -> Path:
    import shutil

    return Path(shutil.copytree(stock, tmp_path / "library"))


@pytest.fixture
def client(server_of: Callable[..., Any], library: Path, shelf: Path) -> Iterator[httpx.Client]:
    server = server_of((str(shelf / "topics.mill"),), collection=str(library))
    with httpx.Client(base_url=server.address, timeout=60) as client:
        yield client


def test_articles_have_text_fields_mixtures_and_lists(client: httpx.Client, library: Path) -> None:
    collection = Collection.open(library)
    article = client.get("/api/v1/article", params={"id": "astronomy-01", "k": 4}).json()
    assert [method["name"] for method in article["methods"]] == ["tfidf", "lsa"]
    for method in article["methods"]:
        expected = collection.query(id="astronomy-01", method=method["name"], k=4)
        assert [one["id"] for one in method["neighbors"]] == expected.ids
        assert [one["score"] for one in method["neighbors"]] == pytest.approx(expected.scores.tolist())
    text = client.get("/api/v1/articles/text?id=astronomy-01").json()
    assert text["text"] == collection.get("astronomy-01").text
    assert text["fields"]["year"] == "1990"
    (mixture,) = client.get("/api/v1/articles/mixtures?id=astronomy-01").json()
    assert mixture["model"] == "topics"
    assert sum(part["share"] for part in mixture["parts"]) == pytest.approx(1.0)
    assert all(part["share"] >= 0.05 for part in mixture["parts"][:-1])
    assert client.get("/api/v1/articles?search=moon").json()["total"] >= 1
    assert client.get("/api/v1/articles/text?id=nobody").status_code == 404
    found = client.get("/api/v1/search", params={"text": "the moon", "k": 3}).json()["methods"][0]
    assert [one["id"] for one in found["neighbors"]] == collection.query(text="the moon", k=3).ids


def test_lists_that_were_made_before_are_those_of_a_search(client: httpx.Client, library: Path) -> None:
    from textmill.web.holdings import Holdings

    collection = Collection.open(library)
    for method in collection.methods:
        NeighborTable.build(collection, method=method, k=10).save(library / f"neighbors-{method}.mill")
    holdings = Holdings(str(library))
    for name, source in holdings.sources.items():
        assert source.is_quick(10)
        for one in ("astronomy-01", "football-09"):
            expected = collection.query(id=one, method=name, k=5)
            assert [near.id for near in source.neighbors(one, 5)] == expected.ids
            assert [near.score for near in source.neighbors(one, 5)] == pytest.approx(expected.scores.tolist())
    collection.upsert([{"id": "new", "text": "the face of the moon"}])
    assert holdings.refresh()
    assert not holdings.sources["lsa"].is_quick(5)  # made of other documents
    assert holdings.sources["lsa"].neighbors("new", 5)[0].id == collection.query(id="new", method="lsa", k=5).ids[0]


def test_uploads_are_written_and_found_at_once(client: httpx.Client, library: Path) -> None:
    before = client.get("/api/v1/article?id=astronomy-01").json()
    rows = [{"id": f"up-{n}", "title": HOSTILE, "text": f"the moon shows one face {n}", "year": 2001} for n in range(5)]
    rows.append({"id": "astronomy-01", "title": "Changed", "text": "the moon again"})
    body = "\n".join(json.dumps(row) for row in rows)
    answer = client.post("/api/v1/articles/upload", content=body, headers=LINES)
    assert answer.json() == {"documents": 6}
    assert client.get("/api/v1/article?id=up-3").json()["title"] == HOSTILE
    assert client.get("/api/v1/article?id=astronomy-01").json() != before
    assert Collection.open(library).get("up-4").fields["year"] == 2001
    gone = client.post("/api/v1/articles/delete", json={"ids": ["up-1", "up-2"]})
    assert gone.json() == {"documents": 2}
    assert client.get("/api/v1/article?id=up-1").status_code == 404
    assert client.post("/api/v1/articles/delete", json={"ids": ["up-1"]}).status_code == 422


def test_what_is_too_new_for_the_models_is_told(client: httpx.Client, library: Path) -> None:
    fresh = client.get("/api/v1/articles/upkeep").json()
    count = len(Collection.open(library))
    assert fresh == {
        "documents": count,
        "shards": 1,
        "new_documents": 0.0,
        "unknown_words": 0.0,
        "is_stale": False,
        "advice": None,
    }
    rows = [{"id": f"up-{n}", "text": f"plugh xyzzy moon {n} " * 9} for n in range(60)]
    client.post("/api/v1/articles/upload", content="\n".join(map(json.dumps, rows)), headers=LINES)
    old = client.get("/api/v1/articles/upkeep").json()
    assert (old["documents"], old["shards"], old["is_stale"]) == (count + 60, 2, True)
    assert old["new_documents"] == pytest.approx(60 / (count + 60))
    assert old["unknown_words"] > 0.1
    assert old["advice"].startswith("18% of the documents are newer than the models and ")
    assert "--rebuild" in old["advice"]
    Collection.open(library).rebuild()
    wait_until(lambda: not client.get("/api/v1/articles/upkeep").json()["is_stale"])
    assert client.get("/api/v1/articles/upkeep").json()["advice"] is None


def test_lists_follow_what_was_judged(client: httpx.Client, library: Path) -> None:
    collection = Collection.open(library)
    one, wanted, unwanted = "astronomy-01", "football-09", collection.query(id="astronomy-01", k=1).ids[0]

    def judge(neighbor: str, grade: str | None) -> None:
        row = {"id": one, "neighbor": neighbor, "method": "lsa", "grade": grade}
        assert client.put("/api/v1/articles/judgments", json=row).status_code == 204

    def moved() -> Any:
        return client.get("/api/v1/articles/feedback", params={"id": one, "k": 5}).json()

    unmoved = client.get("/api/v1/article", params={"id": one, "k": 5}).json()["methods"]
    assert moved() == {"id": one, "like": [], "unlike": [], "methods": unmoved}
    judge(wanted, "yes")
    judge(unwanted, "no")
    judge("cooking-01", "partly")
    answer = moved()
    assert (answer["like"], answer["unlike"]) == ([wanted], [unwanted])
    for method in answer["methods"]:
        expected = collection.query(id=one, like=[wanted], unlike=[unwanted], method=method["name"], k=5)
        assert [near["id"] for near in method["neighbors"]] == expected.ids
        assert not {one, wanted, unwanted} & set(expected.ids)
    judge(wanted, None)
    judge(unwanted, None)
    assert moved()["methods"] == unmoved
    judge(wanted, "yes")
    assert client.post("/api/v1/articles/delete", json={"ids": [wanted]}).status_code == 200
    assert moved()["like"] == []  # what is gone moves nothing
    assert client.get("/api/v1/articles/feedback?id=nobody").status_code == 404
    assert client.get("/api/v1/articles/feedback", params={"id": one, "k": 0}).status_code == 422


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", 422),
        (b"[1, 2]", 422),
        (b'{"id": "a"}', 422),
        (b'{"id": "", "text": "a"}', 422),
        (b'{"id": "a", "text": "\\ud800"}', 422),
        (b"\xff\xfe{}", 422),
        (b"[" * 100_000, 422),
        (b"", 200),
        (b"\n\n", 200),
    ],
)
def test_bad_uploads_are_refused_with_their_line(body: bytes, code: int, client: httpx.Client) -> None:
    answer = client.post("/api/v1/articles/upload", content=body, headers=LINES)
    assert answer.status_code == code, answer.text
    if code == 422:
        assert "error" in answer.json()
    assert client.post("/api/v1/articles/upload", content=body).status_code == 415


def test_uploads_need_a_collection_and_leave_to_write(
    client_of: Callable[..., httpx.Client], words: tuple[str, ...], library: Path
) -> None:
    body = b'{"id": "a", "text": "b"}'
    assert client_of(words).post("/api/v1/articles/upload", content=body, headers=LINES).status_code == 404
    reader = client_of((), collection=str(library), read_only=True)
    assert reader.post("/api/v1/articles/upload", content=body, headers=LINES).status_code == 403
    small = client_of((), collection=str(library), limits=Limits(upload=100))
    assert small.post("/api/v1/articles/upload", content=body * 20, headers=LINES).status_code == 413
    assert small.post("/api/v1/articles/upload", content=iter([body] * 20), headers=LINES).status_code == 413


def test_a_client_that_leaves_or_hangs_blocks_nobody(server_of: Callable[..., Any], library: Path) -> None:
    server = server_of((), collection=str(library), limits=Limits(seconds=0.5))
    head = "POST /api/v1/articles/upload HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\n"
    begin = f"{head}content-length: 1000\r\n\r\n".encode() + b'{"id": "cut", "text": "never whole'
    with socket.create_connection(server.socket.getsockname(), timeout=10) as line:
        line.sendall(begin)
        assert b" 408 " in line.recv(1000).split(b"\r\n")[0]
    with socket.create_connection(server.socket.getsockname(), timeout=10) as line:
        line.sendall(begin)
    with httpx.Client(base_url=server.address, timeout=30) as client:
        codes: list[int] = []

        def upload() -> bool:
            answer = client.post("/api/v1/articles/upload", content=b'{"id": "a", "text": "b"}', headers=LINES)
            codes.append(answer.status_code)
            return codes[-1] == 200

        wait_until(upload)
        assert set(codes) <= {200, 503}
        assert client.get("/api/v1/article?id=cut").status_code == 404


def test_what_another_process_writes_is_taken_over(
    server_of: Callable[..., Any], library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from textmill.web import application

    monkeypatch.setattr(application, "_WATCH", 0.02)
    server = server_of((), collection=str(library))
    with httpx.Client(base_url=server.address, timeout=30) as client:
        assert client.get("/api/v1/article?id=other").status_code == 404
        Collection.open(library).upsert([{"id": "other", "text": "the moon and the tides"}])
        wait_until(lambda: client.get("/api/v1/article?id=other").status_code == 200)


def test_documents_and_trends_of_topics(client: httpx.Client) -> None:
    documents = client.get("/api/v1/topics/topics/documents?topic=1&k=5").json()
    assert len(documents) == 5
    shares = [one["share"] for one in documents]
    assert shares == sorted(shares, reverse=True)
    trends = client.get("/api/v1/topics/topics/trends").json()
    assert trends["field"] == "year"
    assert trends["periods"] == ["1990", "1991", "1992", "1993", "1994"]
    assert sum(trends["documents"]) == 272
    assert all(sum(row) == pytest.approx(1, abs=1e-4) for row in trends["shares"])
    assert client.get("/api/v1/topics/topics/documents?topic=99").status_code == 404


def test_a_model_of_directions_has_no_shares_and_says_why_there_is_no_map(
    server_of: Callable[..., Any], library: Path, tmp_path: Path
) -> None:
    texts = [article["text"] for article in sample_articles()]
    vectorizer = TextVectorizer(vocabulary=Vocabulary(min_df=2), weighting=Weighting(idf="smooth"))
    LSA(n_topics=5, vectorizer=vectorizer, random_state=0).fit(texts).save(tmp_path / "lsa.mill")
    server = server_of((str(tmp_path / "lsa.mill"),), collection=str(library))
    with httpx.Client(base_url=server.address, timeout=60) as client:
        shown = client.get("/api/v1/topics/lsa").json()
        assert shown["note"] == "the topics of this model are directions, with weights above and below 0"
        assert all(topic["x"] is None for topic in shown["topics"])
        for address in ("trends", "documents?topic=1"):
            answer = client.get(f"/api/v1/topics/lsa/{address}")
            assert answer.status_code == 422
            assert "directions, with weights above and below 0, so documents have no shares" in answer.json()["error"]


def test_kill_in_an_upload_loses_nothing_that_was_confirmed(serve: Callable[..., Any], library: Path) -> None:
    server = serve("--collection", str(library))
    confirmed: list[str] = []
    stop = threading.Event()

    def send() -> None:
        number = 0
        while not stop.is_set():
            name = f"doc-{number}"
            body = json.dumps({"id": name, "text": f"a text with the number {number}"}).encode()
            try:
                url = f"{server.address}/api/v1/articles/upload"
                if httpx.post(url, content=body, headers=LINES, timeout=10).status_code == 200:
                    confirmed.append(name)
            except httpx.HTTPError:
                stop.wait(0.05)  # the worker was killed; another begins
            number += 1

    def await_more(count: int) -> None:
        enough = len(confirmed) + count
        wait_until(lambda: len(confirmed) >= enough)

    sender = threading.Thread(target=send)
    sender.start()
    for _ in range(2):
        await_more(3)
        os.kill(server.workers()[0], signal.SIGKILL)
    await_more(3)
    stop.set()
    sender.join(LIMIT)
    held = set(Collection.open(library).ids())
    assert set(confirmed) <= held


def test_people_are_suggested_for_an_article(server_of: Callable[..., Any], tmp_path: Path) -> None:
    rows = [
        {"id": "a", "text": "ideals of a ring", "authors": "Noether, Emmy"},
        {"id": "b", "text": "prime ideals of a ring", "authors": f"Krull, Wolfgang; {HOSTILE}"},
        {"id": "c", "text": "trees and graphs", "authors": "Cayley, Arthur"},
    ]
    Collection.create(tmp_path / "people", rows, methods=["tfidf", "lsa"], n_topics=2, random_state=0)
    server = server_of((), collection=str(tmp_path / "people"))
    with httpx.Client(base_url=server.address, timeout=60) as client:
        people = client.get("/api/v1/articles/reviewers?id=a&k=2").json()
        assert {one["name"] for one in people} == {"Krull, Wolfgang", HOSTILE}
        assert [one["articles"] for one in people] == [["b"], ["b"]]
        for query, code in [("id=nobody", 404), ("id=a&k=0", 422), ("id=a&field=editors", 422), ("", 422)]:
            assert client.get(f"/api/v1/articles/reviewers?{query}").status_code == code
        assert client.get(f"/api/v1/articles/reviewers?id=a&field={'x' * 300}").status_code == 422
