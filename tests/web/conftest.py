"""Fixtures of the tests of the server."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from web_shelf import Server, Threaded, fill

from textmill.web import Settings


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one file of each kind."""
    folder = tmp_path_factory.mktemp("shelf")
    fill(folder)
    return folder


@pytest.fixture(scope="session")
def paths(shelf: Path) -> tuple[str, ...]:
    """All files of the shelf, those of one panel after the other."""
    names = ["words", "lsa", "topics", "places", "subjects", "detector", "vectors"]
    others = ["numbers.fst", "words.far", "people.tsv"]
    return tuple(str(shelf / name) for name in [*(f"{name}.mill" for name in names), *others])


@pytest.fixture(scope="session")
def words(shelf: Path) -> tuple[str, ...]:
    """One index."""
    return (str(shelf / "words.mill"),)


@pytest.fixture
def server_of(tmp_path: Path) -> Iterator[Callable[..., Threaded]]:
    """Starts servers with some settings."""
    servers: list[Threaded] = []

    def make(files: tuple[str, ...], *, log: Any = None, **options: Any) -> Threaded:
        options.setdefault("judgments", str(tmp_path / "judgments.sqlite"))
        servers.append(Threaded(Settings(files, port=0, **options), log))
        return servers[-1]

    yield make
    for server in servers:
        server.stop()


@pytest.fixture
def client_of(server_of: Callable[..., Threaded]) -> Iterator[Callable[..., httpx.Client]]:
    """Makes clients of servers with some settings."""
    with contextlib.ExitStack() as stack:

        def make(files: tuple[str, ...], **options: Any) -> httpx.Client:
            return stack.enter_context(httpx.Client(base_url=server_of(files, **options).address, timeout=60))

        yield make


@pytest.fixture(scope="module")
def client(paths: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of all files; what one test stores, the others of its module see."""
    judgments = str(tmp_path_factory.mktemp("judged") / "judgments.sqlite")
    server = Threaded(Settings(paths, port=0, judgments=judgments))
    with httpx.Client(base_url=server.address, timeout=60) as client:
        yield client
    server.stop()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts servers, and ends them after the test."""
    servers: list[Server] = []

    def start(*arguments: str, environment: dict[str, str] | None = None) -> Server:
        servers.append(Server(list(arguments), tmp_path, environment))
        return servers[-1]

    yield start
    for server in servers:
        if server.process.poll() is None:
            server.process.terminate()
            try:
                server.process.wait(40)
            except subprocess.TimeoutExpired:
                server.process.kill()
        if server.process.stdout is not None:
            server.process.stdout.close()
