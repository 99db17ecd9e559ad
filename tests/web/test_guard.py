"""Who may ask: names, origins, tokens, sizes, seconds, and what a refused client is told."""

from __future__ import annotations

import io
import json
import socket
import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from waiting import LIMIT

from textmill.errors import DataError
from textmill.web import Limits, Settings
from textmill.web.guard import cookie_value

TOKEN = "a-token-nobody-can-guess"
Clients = Callable[..., httpx.Client]


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "[::1", "evil.example:80"]
)
def test_foreign_names_are_refused(host: str, client_of: Clients, words: tuple[str, ...]) -> None:
    answer = client_of(words).get("/api/v1", headers={"host": host})
    assert answer.status_code in (400, 421)


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8765", "127.0.0.1:1", "[::1]:80", "192.168.1.7", "Library.Example:443"]
)
def test_own_names_and_addresses_pass(host: str, client_of: Clients, words: tuple[str, ...]) -> None:
    answer = client_of(words, names=("library.example",)).get("/api/v1", headers={"host": host})
    assert answer.status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://localhost:99999", "http://localhost.evil"])
@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
def test_other_pages_are_refused(origin: str, method: str, client_of: Clients, words: tuple[str, ...]) -> None:
    headers = {"origin": origin, "host": "localhost:8765"}
    answer = client_of(words).request(method, "/api/v1/search?text=a", headers=headers, json={"text": "mill"})
    assert answer.status_code == 403


def test_the_own_page_passes_and_a_form_of_another_does_not(client_of: Clients, words: tuple[str, ...]) -> None:
    client = client_of(words)
    own = {"origin": "http://localhost:8765", "host": "localhost:8765"}
    assert client.post("/api/v1/search", headers=own, json={"text": "mill"}).status_code == 200
    form = client.post("/api/v1/search", content=b'{"text": "mill"}', headers={"content-type": "text/plain"})
    assert form.status_code == 415
    assert client.post("/api/v1/search", content=b"{}", headers={"content-type": ""}).status_code == 415
    cross = client.post("/api/v1/search", json={"text": "a"}, headers={"sec-fetch-site": "cross-site"})
    assert cross.status_code == 403


def test_without_the_token_only_the_page_and_health_are_answered(client_of: Clients, words: tuple[str, ...]) -> None:
    client = client_of(words, token=TOKEN)
    for path in ("/", "/models", "/static/main.js", "/health/live", "/health/ready", "/api/docs"):
        assert client.get(path).status_code in (200, 401), path
    assert client.get("/").status_code == 200
    for path in ("/api/v1", "/api/v1/models", "/api/v1/article?id=x", "/api/v1/openapi.json", "/metrics"):
        answer = client.get(path)
        assert answer.status_code == 401, path
        assert answer.headers["www-authenticate"] == "Bearer"


def test_machines_send_the_token_in_a_header(client_of: Clients, words: tuple[str, ...]) -> None:
    client = client_of(words, token=TOKEN)
    assert client.get("/api/v1", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    for wrong in (f"Bearer {TOKEN}x", f"bearer {TOKEN}", TOKEN, "Bearer", f"Basic {TOKEN}"):
        assert client.get("/api/v1", headers={"authorization": wrong}).status_code == 401


def test_browsers_change_the_token_for_a_cookie(client_of: Clients, words: tuple[str, ...]) -> None:
    client = client_of(words, token=TOKEN)
    assert client.post("/api/v1/session", json={"token": "wrong"}).status_code == 401
    answer = client.post("/api/v1/session", json={"token": TOKEN})
    assert answer.status_code == 204
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert TOKEN not in cookie
    assert "secure" not in cookie
    assert client.get("/api/v1").status_code == 200  # the client has kept it
    client.cookies.clear()
    assert client.get("/api/v1", headers={"cookie": f"other=1; textmill={cookie_value(TOKEN)}"}).status_code == 200
    assert client.get("/api/v1", headers={"cookie": "textmill=0"}).status_code == 401
    shy = client.post("/api/v1/session", json={"token": TOKEN}, headers={"x-forwarded-proto": "https"})
    assert "secure" in shy.headers["set-cookie"].lower()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "example.org"])
def test_other_machines_need_a_token(host: str) -> None:
    with pytest.raises(DataError, match="pass a token"):
        Settings(("a.mill",), host=host).check()
    assert Settings(("a.mill",), host=host, token=TOKEN).check()


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"files": ()}, "nothing to serve"),
        ({"token": "short"}, "can be guessed"),
        ({"port": 70_000}, "port"),
        ({"workers": 0}, "workers"),
    ],
)
def test_settings_that_cannot_work_are_refused(options: dict[str, Any], fault: str) -> None:
    with pytest.raises(DataError, match=fault):
        Settings(**({"files": ("a.mill",)} | options)).check()


def test_large_bodies_are_refused_by_their_length_and_by_their_bytes(
    client_of: Clients, words: tuple[str, ...]
) -> None:
    client = client_of(words, limits=Limits(body=1000))
    large = json.dumps({"text": "x" * 2000}).encode()
    kind = {"content-type": "application/json"}
    assert client.post("/api/v1/search", content=large, headers=kind).status_code == 413
    assert client.post("/api/v1/search", content=iter([large[:700], large[700:]]), headers=kind).status_code == 413
    assert client.post("/api/v1/search", json={"text": "mill"}).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/search?text=" + "x" * 301,
        "/api/v1/search?text=mill&k=0",
        "/api/v1/search?text=mill&k=101",
        "/api/v1/search?text=mill&k=-3",
        "/api/v1/search?text=mill&k=ten",
        "/api/v1/search?text=%ff",
        "/api/v1/article?id=" + "x" * 20_000,
        "/api/v1/articles?count=1000",
        "/api/v1/articles?first=-1",
    ],
)
def test_what_is_too_much_or_nonsense_is_refused_with_words(
    path: str, client_of: Clients, words: tuple[str, ...]
) -> None:
    answer = client_of(words, limits=Limits(text=300)).get(path)
    assert answer.status_code == 422
    assert answer.json()["error"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"text": 5}', b'{"text": "\\ud800"}', b"\xff\xfe", b'{"k": 3}'])
def test_bodies_that_are_no_question_are_refused(body: bytes, client_of: Clients, words: tuple[str, ...]) -> None:
    answer = client_of(words).post("/api/v1/search", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422)
    assert "error" in answer.json()


def test_too_many_requests_are_sent_away_for_a_while(client_of: Clients, words: tuple[str, ...]) -> None:
    answer = client_of(words, limits=Limits(queue=0)).get("/api/v1")
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "1"


@pytest.mark.parametrize("path", ["/api/v1/text", "/api/v1/search"])
def test_what_takes_too_long_is_given_up(
    path: str, client_of: Clients, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    from textmill.web import texts
    from textmill.web.indexes import IndexSource

    answered = threading.Event()

    def slow(*_: Any) -> list[Any]:
        answered.wait(LIMIT)
        return []

    monkeypatch.setattr(texts, "analyses_of", slow)
    monkeypatch.setattr(IndexSource, "search", slow)
    client = client_of(words, limits=Limits(seconds=0.6))
    try:
        answer = client.post(path, json={"text": "mill"})
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "5"
        assert client.get("/health/live").status_code == 200  # the loop goes on meanwhile
    finally:
        answered.set()


def test_a_body_that_comes_too_slowly_ends_the_request(server_of: Callable[..., Any], words: tuple[str, ...]) -> None:
    server = server_of(words, limits=Limits(seconds=0.3))
    with socket.create_connection(server.socket.getsockname(), timeout=10) as line:
        head = b"POST /api/v1/search HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        line.sendall(head + b"content-length: 50\r\n\r\n{")
        assert b" 408 " in line.recv(1000).split(b"\r\n")[0]


@pytest.mark.parametrize(
    "begin", [b"", b"GET /api/v1 HTTP/1.1\r\nhost: loc", b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"]
)
def test_a_client_that_hangs_is_closed(begin: bytes, server_of: Callable[..., Any], words: tuple[str, ...]) -> None:
    server = server_of(words, limits=Limits(seconds=0.3))
    with socket.create_connection(server.socket.getsockname(), timeout=LIMIT) as line:
        line.sendall(begin + (b"GET / HT" if begin.endswith(b"\r\n\r\n") else b""))
        while line.recv(1 << 16):  # until the server closes it
            pass


def test_more_connections_than_allowed_are_closed(server_of: Callable[..., Any], words: tuple[str, ...]) -> None:
    server = server_of(words, limits=Limits(connections=2))
    lines = [socket.create_connection(server.socket.getsockname(), timeout=10) for _ in range(3)]
    assert lines[2].recv(10) == b""
    lines[0].sendall(b"GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n")
    assert lines[0].recv(100).startswith(b"HTTP/1.1 200")
    for line in lines:
        line.close()


def test_every_answer_has_the_headers_that_keep_a_page_to_itself(client: httpx.Client) -> None:
    for path in ("/", "/api/v1", "/api/v1/article?id=astronomy-01", "/nowhere", "/api/v1/nowhere", "/static/main.js"):
        answer = client.get(path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "server" not in answer.headers
    assert client.get("/api/v1").headers["cache-control"] == "no-store"
    assert "script-src 'self';" in client.get("/api/docs").headers["content-security-policy"]


def test_no_answer_has_a_path_or_a_traceback(client: httpx.Client, shelf: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from textmill.web import models

    def broken(path: str) -> None:
        raise RuntimeError(f"cannot read {path}")

    monkeypatch.setattr(models, "summarize", broken)
    answer = client.get("/api/v1/models/topics")
    assert answer.status_code == 500
    assert answer.json() == {"error": "something went wrong here; the log has more"}
    for path in (
        "/api/v1/models/none",
        "/static/../settings.py",
        "/static/%2e%2e/settings.py",
        "/api/v1/models/..%2fx",
    ):
        text = client.get(path).text
        assert str(shelf) not in text
        assert "Traceback" not in text


def test_log_lines_are_json_and_hold_no_texts(server_of: Callable[..., Any], words: tuple[str, ...]) -> None:
    log = io.StringIO()
    server = server_of(words, log=log, token=TOKEN)
    with httpx.Client(base_url=server.address, headers={"authorization": f"Bearer {TOKEN}"}) as client:
        client.get("/api/v1/search", params={"text": "a secret question"})
        client.post("/api/v1/search", json={"text": "another secret"})
        client.get("/api/v1/article", params={"id": "secret-id"})
        client.get("/api/v1", headers={"authorization": "Bearer secret-token"})
    server.stop()
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    assert [line["code"] for line in lines if line["event"] == "answer"] == [200, 200, 404, 401]
    assert {line["route"] for line in lines if line["event"] == "answer"} == {"search", "article", "other"}
    assert "secret" not in log.getvalue()
    assert TOKEN not in log.getvalue()


def test_methods_that_mean_nothing_here_are_refused(client: httpx.Client) -> None:
    assert client.request("TRACE", "/").status_code == 405
    assert client.request("OPTIONS", "/api/v1").status_code == 405
    assert client.delete("/api/v1/models", headers={"content-type": "application/json"}).status_code == 405
    assert client.head("/").status_code == 200


def test_counts_are_served_for_prometheus(client_of: Clients, words: tuple[str, ...]) -> None:
    client = client_of(words)
    client.get("/api/v1/article", params={"id": "astronomy-01"})
    client.get("/api/v1/article", params={"id": "nobody"})
    page = client.get("/metrics").text
    assert 'textmill_requests_total{code="200",route="article"} 1.0' in page
    assert 'textmill_requests_total{code="404",route="article"} 1.0' in page
    assert 'textmill_request_seconds_count{route="article"} 2.0' in page


def test_files_are_asked_for_again_by_their_tag(client: httpx.Client) -> None:
    first = client.get("/static/style.css")
    again = client.get("/static/style.css", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
