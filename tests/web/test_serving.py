"""Whole servers: the command, signals, workers that die, files that are replaced under load."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from waiting import LIMIT, wait_until

from textmill.tasks import SimilarDocuments

Serve = Callable[..., Any]


def run(*arguments: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "textmill", "serve", *arguments]
    env = {**os.environ, **(environment or {})}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=env)


def test_wrong_starts_are_one_line(words: tuple[str, ...], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run(words[0], "--port", str(taken.getsockname()[1]))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "pass another --port" in done.stderr
    for arguments, fault in (
        ([words[0], "--host", "0.0.0.0"], "pass a token"),
        ([], "nothing to serve"),
        ([str(tmp_path / "none.mill")], "No such file"),
        ([words[0], "--token", "short"], "can be guessed"),
        ([words[0], "--host", "no.such.host.invalid", "--token", "x" * 30], "pass another --host"),
    ):
        done = run(*arguments)
        assert done.returncode == 1, done.stderr
        assert fault in done.stderr
        assert "Traceback" not in done.stderr


def test_a_server_finishes_what_was_begun(serve: Serve, words: tuple[str, ...]) -> None:
    server = serve(*words)
    port = int(server.address.rsplit(":")[-1])
    line = socket.create_connection(("127.0.0.1", port), timeout=30)
    body = json.dumps({"text": "the moon"}).encode()
    head = "POST /api/v1/search HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    line.sendall(f"{head}content-length: {len(body)}\r\nexpect: 100-continue\r\n\r\n".encode())
    assert line.recv(100).startswith(b"HTTP/1.1 100")  # the application asks for the body: the request has begun
    line.sendall(body[:5])
    server.process.send_signal(signal.SIGTERM)

    def is_shut() -> bool:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except ConnectionRefusedError:
            return True
        return False

    wait_until(is_shut)
    line.sendall(body[5:])
    assert line.recv(100).startswith(b"HTTP/1.1 200")
    line.close()
    assert server.process.wait(30) == 0
    events = [json.loads(row)["event"] for row in server.log.read_text().splitlines()]
    assert events[0] == "started"
    assert events[-1] == "ended"


def test_two_workers_count_together_and_a_killed_one_is_replaced(serve: Serve, words: tuple[str, ...]) -> None:
    server = serve(*words, "--workers", "2")
    first = server.workers()
    assert len(first) == 2
    for _ in range(20):
        assert httpx.get(f"{server.address}/api/v1/article?id=astronomy-01").status_code == 200
    page = httpx.get(f"{server.address}/metrics").text
    assert 'textmill_requests_total{code="200",route="article"} 20.0' in page
    os.kill(first[0], signal.SIGKILL)
    wait_until(lambda: len(server.workers()) == 2 and first[0] not in server.workers())
    assert httpx.get(f"{server.address}/health/live").status_code == 200
    assert server.stop() == 0


def test_no_request_is_lost_while_a_file_is_replaced(serve: Serve, shelf: Path, tmp_path: Path) -> None:
    copy = tmp_path / "words.mill"
    copy.write_bytes((shelf / "words.mill").read_bytes())
    server = serve(str(copy))
    codes: list[int] = []
    faults: list[Exception] = []
    stop = threading.Event()

    def ask() -> None:
        with httpx.Client(base_url=server.address, timeout=30) as client:
            while not stop.is_set():
                try:
                    codes.append(client.get("/api/v1/search?text=moon&k=2").status_code)
                    client.get("/api/v1/article?id=0")
                except httpx.HTTPError as fault:
                    faults.append(fault)

    asking = [threading.Thread(target=ask) for _ in range(2)]
    for thread in asking:
        thread.start()
    wait_until(lambda: len(codes) >= 4)
    SimilarDocuments().fit(["a new moon", "a new sea"]).save(copy)
    wait_until(lambda: httpx.get(f"{server.address}/api/v1/article?id=0").status_code == 200 and len(codes) >= 20)
    stop.set()
    for thread in asking:
        thread.join(LIMIT)
    assert not faults
    assert set(codes) == {200}


@pytest.mark.slow
def test_ten_thousand_connections_are_held_and_answered(serve: Serve, words: tuple[str, ...]) -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 11_000:
        pytest.skip("the system allows fewer open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (11_000, hard))
    server = serve(*words)
    port = int(server.address.rsplit(":")[-1])
    lines: list[socket.socket] = []
    try:
        for _ in range(10_000):
            lines.append(socket.create_connection(("127.0.0.1", port), timeout=30))
        request = b"GET /api/v1/article?id=astronomy-01 HTTP/1.1\r\nhost: localhost\r\n\r\n"
        for line in lines[::100]:
            line.sendall(request)
        for line in lines[::100]:
            assert line.recv(100).startswith(b"HTTP/1.1 200")
        assert httpx.get(f"{server.address}/health/live", timeout=30).status_code == 200
    finally:
        for line in lines:
            line.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_token_from_the_environment_guards_and_is_shown_in_the_address(serve: Serve, words: tuple[str, ...]) -> None:
    token = "from-the-environment-1"
    server = serve(*words, environment={"TEXTMILL_TOKEN": token})
    assert server.token == token
    assert httpx.get(f"{server.address}/api/v1").status_code == 401
    assert httpx.get(f"{server.address}/api/v1", headers={"authorization": f"Bearer {token}"}).status_code == 200
    made = serve(*words, "--token", "-")
    assert len(made.token) >= 24
    assert made.token not in made.log.read_text()


def test_a_file_that_is_cut_under_a_worker_does_not_end_the_server(serve: Serve, shelf: Path, tmp_path: Path) -> None:
    copy = tmp_path / "lsa.mill"
    copy.write_bytes((shelf / "lsa.mill").read_bytes())
    server = serve(str(copy), str(shelf / "words.mill"))
    with copy.open("r+b") as file:
        file.truncate(5000)

    def contents() -> Any:  # pages that are gone may kill a worker before the cut is noticed; the next one knows
        try:
            httpx.get(f"{server.address}/api/v1/search?text=the+moon+and+tides", timeout=LIMIT)
            answer = httpx.get(f"{server.address}/api/v1", timeout=LIMIT).json()
        except httpx.HTTPError:
            return None
        return answer if answer["faults"] else None

    assert wait_until(contents)["panels"]["articles"] == ["words"]
    found = httpx.get(f"{server.address}/api/v1/search?text=the+moon", timeout=LIMIT).json()
    assert [method["name"] for method in found["methods"]] == ["words"]
