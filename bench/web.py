"""The server against a plain FastAPI application that answers a constant of the same size, in the same run.

    python -m bench web

A collection of 65,000 documents and 100,000 terms, with vectors of 200 numbers and lists of ten neighbors that were
made before; all checks of the gate are on, and log lines are written. Clients are processes of their own.

by id     an article and its neighbors, random ones of all; 1, 16 and 64 connections: milliseconds of processor that
          the server spends on a request, which other users of the machine do not change, and by the clock; with one
          connection the 99th percentile is that of requests to both servers in turn, both on one core, since on a busy
          machine it says more of the cores that servers happen to run on than of the servers
text      neighbors of a text of some forty words that nobody asked for before
memory    private memory of the second of two workers, against a fifth of the files
growth    resident memory after 150,000 requests, against 1.05 times that after 50,000, both behind the rows above
upload    more memory (without mapped files) while 1 GB of documents is written, against 100 MB
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import numpy as np

from bench.harness import Job, Options
from textmill.corpus.synthetic import ZipfStream
from textmill.tasks.similarity import Collection, NeighborTable
from textmill.topics import LSA
from textmill.vectors import TextVectorizer, Weighting

PACKAGES = ["fastapi", "uvicorn", "uvloop", "httptools"]

PLAIN = """
import json, sys
import uvicorn
from fastapi import FastAPI

app = FastAPI()
BODY = json.loads(sys.argv[2])

@app.get("/api/v1/article")
async def article():
    return BODY

@app.get("/api/v1/search")
async def search():
    return BODY

uvicorn.run(app, port=int(sys.argv[1]), log_level="error", access_log=False)
"""
PEER = "FastAPI"


def jobs(options: Options) -> list[Job]:
    """All comparisons."""
    seconds = 1.0 if options.quick else 4.0
    rows = []
    for kind, rate_bar, late_bar in (("article", 0.6, 0.5), ("search", 0.15, 1 / 6)):
        name = {"article": "by id", "search": "text"}[kind]
        for connections in (1, 16, 64):
            for figure, label, bar in (
                ("processor", "ms of processor a request", rate_bar),
                ("milliseconds", "ms a request", rate_bar),
                ("p99", "ms p99", late_bar),
            ):
                sides = [partial(_measured, options.quick, side, kind) for side in ("ours", "peer")]
                ours, peer = (partial(side, connections, seconds, figure) for side in sides)
                job = f"{name}, {connections} connections, {label}"
                rows.append(
                    Job(job, ours, peer, PEER, figure="returned", label="ms", bar=bar, claim=f"{name}, {label}")
                )
    memory: list[tuple[str, Callable[[], float], Callable[[], float]]] = [
        ("memory of a second worker", partial(_second, options.quick), partial(_fifth, options.quick)),
        ("growth by requests", partial(_grown, options.quick, 0), partial(_grown, options.quick, 1)),
        ("upload, more memory", partial(_upload, options.quick), lambda: 100.0),
    ]
    return rows + [
        Job(name, ours, limit, "limit", figure="returned", label="MB", bar=1.0) for name, ours, limit in memory
    ]


@cache
def _library(quick: bool) -> Path:
    """The collection, made once for all runs of a machine."""
    documents, terms = (2000, 5000) if quick else (65_000, 100_000)
    folder = Path(tempfile.gettempdir()) / f"textmill-bench-web-{documents}"
    if (folder / "neighbors-lsa.mill").exists():
        return folder
    stream = ZipfStream(documents, vocabulary=terms, length=40, seed=1)
    names = [f"w{t}" for t in range(terms)]
    vectorizer = TextVectorizer(weighting=Weighting(idf="n/d")).fit([" ".join(names), *stream.texts()])
    random = np.random.default_rng(0)
    U = random.standard_normal((len(vectorizer.terms_), 200)) / np.sqrt(len(vectorizer.terms_))
    from textmill.topics.decomposition import Decomposition

    model = LSA.of(
        Decomposition(U, 10.0 / np.sqrt(1.0 + np.arange(200)), documents, 1e6), vectorizer=vectorizer, n_topics=200
    )
    rows = ({"id": f"doc-{n}", "title": f"Document number {n}", "text": text} for n, text in enumerate(stream.texts()))
    collection = Collection.create(folder, rows, methods={"lsa": model})
    NeighborTable.build(collection, k=10).save(folder / "neighbors-lsa.mill")
    return folder


@cache
def _server(quick: bool, workers: int = 1) -> tuple[int, int]:
    """Process and port of our server."""
    command = [sys.executable, "-m", "textmill", "serve", "--collection", str(_library(quick)), "--port", "0"]
    return _started([*command, "--workers", str(workers)])


def _started(command: list[str]) -> tuple[int, int]:
    log = tempfile.TemporaryFile("w")  # noqa: SIM115
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    atexit.register(process.terminate)
    assert process.stdout is not None
    found = re.search(r":(\d+)/", process.stdout.readline())
    assert found is not None
    return process.pid, int(found[1])


@cache
def _plain(quick: bool) -> tuple[int, int]:
    """Process and port of the plain application."""
    _, port = _server(quick)
    with urlopen(f"http://127.0.0.1:{port}/api/v1/article?id=doc-7") as answer:
        body = answer.read().decode()
    plain = 20_000 + os.getpid() % 20_000
    process = subprocess.Popen([sys.executable, "-c", PLAIN, str(plain), body])
    atexit.register(process.terminate)
    for _ in range(200):
        try:
            urlopen(f"http://127.0.0.1:{plain}/api/v1/article").close()
            break
        except OSError:
            time.sleep(0.1)
    return process.pid, plain


@cache
def _requests(quick: bool, kind: str) -> str:
    """A file of requests: random articles, or texts that are all different."""
    random = np.random.default_rng(3)
    documents = 2000 if quick else 65_000
    if kind == "article":
        queries = [urlencode({"id": f"doc-{n}"}) for n in random.integers(0, documents, 20_000)]
    else:
        texts = ZipfStream(20_000, vocabulary=5000 if quick else 100_000, length=40, seed=9).texts()
        queries = [urlencode({"text": text}) for text in texts]
    heads = "host: 127.0.0.1\r\naccept: application/json\r\nuser-agent: bench\r\n\r\n"
    file = Path(tempfile.mkdtemp()) / f"{kind}.json"
    file.write_text(json.dumps([f"GET /api/v1/{kind}?{query} HTTP/1.1\r\n{heads}" for query in queries]))
    return str(file)


def _measured(quick: bool, side: str, kind: str, connections: int, seconds: float, figure: str) -> float:
    """One figure of a run of the client; the figures of one run are asked for one after the other."""
    waiting = _waiting.setdefault((side, kind, connections), {name: [] for name in FIGURES})
    if figure == "p99" and connections == 1:
        if not waiting[figure]:
            late = _in_turn(quick, kind, seconds)
            for name, value in late.items():
                _waiting.setdefault((name, kind, 1), {name: [] for name in FIGURES})["p99"].append(value)
        return waiting[figure].pop(0)
    if not waiting[figure]:
        pid, port = _server(quick) if side == "ours" else _plain(quick)
        before = _processor(pid)
        answer = _load(port, connections, seconds, _requests(quick, kind))
        assert answer["bad"] == 0, answer
        waiting["processor"].append(1e3 * (_processor(pid) - before) / answer["requests"])
        waiting["milliseconds"].append(1e3 / answer["rate"])
        if connections > 1:
            waiting["p99"].append(answer["p99"])
    return waiting[figure].pop(0)


def _in_turn(quick: bool, kind: str, seconds: float) -> dict[str, float]:
    """99th percentiles of milliseconds of both servers, asked in turn by one connection each, on one core."""
    servers = {"ours": _server(quick), "peer": _plain(quick)}
    requests = [text.encode("latin-1") for text in json.loads(Path(_requests(quick, kind)).read_text())]
    cores = sorted(os.sched_getaffinity(0))
    times: dict[str, list[float]] = {name: [] for name in servers}
    with contextlib.ExitStack() as stack:
        for pid, _ in servers.values():
            stack.enter_context(_on_core(pid, cores[-1]))
        sockets = {name: stack.enter_context(_connected(port)) for name, (_, port) in servers.items()}
        end = time.perf_counter() + 2 * seconds
        number = int(1e6 * time.perf_counter())  # not the same articles as in the run before
        while time.perf_counter() < end:
            number += 1
            for name in sorted(servers, reverse=bool(number % 2)):
                began = time.perf_counter()
                sockets[name].sendall(requests[number % len(requests)])
                _read_answer(sockets[name])
                times[name].append(1e3 * (time.perf_counter() - began))
    return {name: sorted(some)[int(0.99 * len(some))] for name, some in times.items()}


@contextlib.contextmanager
def _on_core(pid: int, core: int) -> Iterator[None]:
    """Keep the threads of a server and its workers on one core for a while."""
    threads = [int(task.name) for one in (pid, *_children(pid)) for task in Path(f"/proc/{one}/task").iterdir()]
    before = {thread: os.sched_getaffinity(thread) for thread in threads}
    for thread in threads:
        os.sched_setaffinity(thread, {core})
    yield
    for thread, cores in before.items():
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(thread, cores)


def _connected(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _read_answer(connection: socket.socket) -> None:
    """Take one whole answer off a connection."""
    content = bytearray()
    while (head := content.find(b"\r\n\r\n")) < 0:
        content += connection.recv(65536)
    assert content.startswith(b"HTTP/1.1 200"), content[:80]
    found = re.search(rb"content-length: (\d+)", content[:head])
    assert found is not None
    while len(content) < head + 4 + int(found[1]):
        content += connection.recv(65536)


FIGURES = ("processor", "milliseconds", "p99")
_waiting: dict[tuple[str, str, int], dict[str, list[float]]] = {}


def _processor(pid: int) -> float:
    """Seconds of processor of a process and its children."""
    ticks = 0
    for one in (pid, *_children(pid)):
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _load(port: int, connections: int, seconds: float, file: str) -> dict[str, float]:
    command = [sys.executable, "-m", "bench._http_load", str(port), str(connections), str(seconds), file]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent.parent)
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _megabytes(pid: int, *names: str) -> float:
    facts = dict(re.findall(r"^(\w+):\s+(\d+) kB$", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M))
    return sum(int(facts[name]) for name in names) / 1024


def _fifth(quick: bool) -> float:
    return 0.2 * sum(file.stat().st_size for file in _library(quick).glob("*.mill")) / 2**20


def _second(quick: bool) -> float:
    """Private memory of a second worker after both have answered."""
    pid, port = _server(quick, 2)
    for kind in ("article", "search"):
        _load(port, 16, 1.0 if quick else 3.0, _requests(quick, kind))
    return _megabytes(_children(pid)[1], "Private_Clean", "Private_Dirty")


@cache
def _growth(quick: bool) -> tuple[float, float]:
    """Resident memory in the end, and the limit."""
    pid, port = _server(quick)
    worker = _children(pid)[0]
    file = _requests(quick, "article")
    asked = [0.0]

    def ask(until: float) -> float:
        while asked[0] < until:
            asked[0] += _load(port, 16, 1.0, file)["requests"]
        return _megabytes(worker, "Rss")

    few, many = (500, 5000) if quick else (50_000, 150_000)  # by then the answers that are kept fill their room
    first = ask(few)
    return ask(many), 1.05 * first


def _grown(quick: bool, which: int) -> float:
    return _growth(quick)[which]


def _upload(quick: bool) -> float:
    """How much more memory a worker has at most while documents are written."""
    folder = Path(tempfile.mkdtemp()) / "library"
    texts = list(ZipfStream(2000, vocabulary=5000, length=40, seed=2).texts())
    Collection.create(folder, texts, methods={"tfidf": TextVectorizer(weighting=Weighting(idf="n/d"))})
    pid, port = _started([sys.executable, "-m", "textmill", "serve", "--collection", str(folder), "--port", "0"])
    worker = _children(pid)[0]
    urlopen(f"http://127.0.0.1:{port}/api/v1/search?text=w1+w2").close()
    before = _megabytes(worker, "Anonymous")
    size = (20 if quick else 1000) << 20
    peak = [before]
    long = " ".join(texts)[:8000]

    def lines() -> Iterator[bytes]:
        sent, number = 0, 0
        while sent < size:
            line = json.dumps({"id": f"up-{number}", "text": f"{number} {long}"}).encode() + b"\n"
            sent, number = sent + len(line), number + 1
            if number % 200 == 0:
                peak[0] = max(peak[0], _megabytes(worker, "Anonymous"))
            yield line

    kind = {"content-type": "application/x-ndjson"}
    with urlopen(Request(f"http://127.0.0.1:{port}/api/v1/articles/upload", data=lines(), headers=kind)) as answer:
        assert json.load(answer)["documents"] > 0
    os.kill(pid, 15)
    return peak[0] - before
