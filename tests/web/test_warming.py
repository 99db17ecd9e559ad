"""Servers start warm: the first request of a worker imports nothing and opens no file."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from waiting import LIMIT, wait_until

from textmill.web import Settings, texts
from textmill.web.library import Library
from textmill.web.warming import warm

# What happens in a process of its own while the first requests are answered: imports, files opened, models loaded.
FIRST = """
import asyncio, json, sys
from textmill.web import Settings, create_app
from textmill.web.library import Library
from textmill.web.warming import _Client, warm
events, names = [], sys.argv[1:]
settings = Settings(tuple(names))
library = Library(settings.files)
if WARM:
    warm(settings, library)
before = set(sys.modules)
def hear(event, arguments):
    if event == "open" and not str(arguments[0]).endswith((".py", ".pyc")):
        events.append(str(arguments[0]))
sys.addaudithook(hear)
async def ask():
    client = _Client(create_app(settings, library=library), settings)
    answers = [
        await client._ask("POST", "/api/v1/text", {"text": "The moon, the tides. Praha and Brno."}),
        await client._ask("GET", "/api/v1/search?text=moon&k=3"),
        *[await client._ask("GET", f"/api/v1/models/{entry.name}") for entry in library],
        *[await client._ask("GET", f"/api/v1/topics/{entry.name}") for entry in library.of("topics")],
        *[await client._ask("POST", f"/api/v1/transducers/{entry.name}/apply", {"text": "one"})
          for entry in library.of("transducers")],
    ]
    assert all(answers), answers
asyncio.run(ask())
print(json.dumps({"modules": sorted(set(sys.modules) - before),
                  "files": sorted({one for one in events if one.endswith(".mill") and one not in names})}))
"""


def first_requests(paths: tuple[str, ...], *, warmed: bool) -> dict[str, list[str]]:
    code = FIRST.replace("WARM", str(warmed))
    done = subprocess.run([sys.executable, "-c", code, *paths], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer: dict[str, list[str]] = json.loads(done.stdout)
    return answer


def test_the_first_requests_import_no_module_and_load_no_model(paths: tuple[str, ...]) -> None:
    assert first_requests(paths, warmed=True) == {"modules": [], "files": []}


def test_without_warming_they_would(paths: tuple[str, ...]) -> None:
    cold = first_requests(paths, warmed=False)
    assert len(cold["modules"]) > 50
    assert any(name.endswith("languages.mill") for name in cold["files"])


def test_a_worker_imports_nothing_once_it_listens(serve: Callable[..., Any], paths: tuple[str, ...]) -> None:
    """A line on stderr for each module that a process imports, of which the server has hundreds before the fork."""
    server = serve(*paths, "--workers", "2", environment={"PYTHONPROFILEIMPORTTIME": "1"})

    def imported() -> list[str]:
        return [line for line in server.log.read_text().splitlines() if line.startswith("import time:")]

    def both_are_live() -> bool:
        httpx.get(f"{server.address}/health/live", timeout=LIMIT)
        return len(re.findall('"event": ?"started"', server.log.read_text())) == 2

    wait_until(both_are_live)
    before = imported()
    assert len(before) > 300
    for _ in range(8):  # both workers will have had some
        answer = httpx.post(f"{server.address}/api/v1/text", json={"text": "The moon and Praha."}, timeout=LIMIT)
        assert answer.status_code == 200
        assert httpx.get(f"{server.address}/api/v1/search?text=moon", timeout=LIMIT).status_code == 200
    assert imported()[len(before) :] == []


def test_a_file_that_fails_when_it_is_asked_stops_no_server(words: tuple[str, ...], monkeypatch: Any) -> None:
    def broken(*_: Any) -> None:
        raise ValueError("not today")

    monkeypatch.setattr(texts, "analyses_of", broken)
    warm(Settings(words), Library(words))


def test_warming_leaves_no_threads_behind_that_a_fork_would_lose(words: tuple[str, ...]) -> None:
    before = set(threading.enumerate())
    warm(Settings(words), Library(words))
    assert set(threading.enumerate()) <= before


def test_a_guarded_server_is_warmed_too(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    analyses = texts.analyses_of
    monkeypatch.setattr(texts, "analyses_of", lambda text, *rest: (asked.append(text), analyses(text, *rest))[1])
    warm(Settings(words, token="a long enough token"), Library(words))
    assert len(asked) == 1
