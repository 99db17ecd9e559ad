"""Files to serve, small and made once, and servers of them: in a thread, or in a process of their own."""

from __future__ import annotations

import itertools
import os
import re
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from waiting import wait_until

from textmill.corpus import Document, Vocabulary, sample_articles
from textmill.fst import string_map, write_archive, write_fst
from textmill.linear import LogisticRegression
from textmill.sequence import CRF
from textmill.tasks import SimilarDocuments
from textmill.tasks.coherence import CoherenceDetector, sample_pages
from textmill.topics import LDA, LSA
from textmill.vectors import TextVectorizer, Weighting
from textmill.web import Settings, create_app
from textmill.web.serving import listen, server_of

__all__ = ["HOSTILE", "PAIRS", "Server", "Threaded", "fill"]

HOSTILE = "<script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\">"
PAIRS = [
    ("p1", "p2", 0.91, "Ann Smith", "Anne Smith"),
    ("p3", "p4", 0.72, "Tom Jones", "Jones, Thomas"),
    ("p<5", 'p"6', 0.55, HOSTILE, "‮Ünï"),
]


def fill(folder: Path) -> None:
    """Make one file of each kind in a folder."""
    articles = sample_articles()
    rows = [(one["id"], one["text"], one["title"]) for one in articles]
    rows += [("a/b?c=\"d\"&'e'", "the old mill by the river", HOSTILE)]
    rows += [("x" * 10_000, "the new mill by the sea", "A long id")]
    documents = [
        Document(id=name, text=text, source="shelf", line=line, fields={"title": title})
        for line, (name, text, title) in enumerate(rows, 1)
    ]
    texts = [document.text for document in documents]
    SimilarDocuments().fit(documents).save(folder / "words.mill")
    ntc = TextVectorizer(vocabulary=Vocabulary(), weighting=Weighting(idf="n/d"))
    lsa = LSA(n_topics=20, vectorizer=ntc, random_state=0).fit(texts)
    SimilarDocuments(model=lsa).fit(documents).save(folder / "lsa.mill")
    counts = TextVectorizer(vocabulary=Vocabulary(min_df=2, max_df=0.1), weighting=Weighting(scheme="nnn"))
    lda = LDA(n_topics=8, vectorizer=counts, random_state=0, max_iter=30).fit(texts)
    lda.save(folder / "topics.mill")
    X = [["in", "Brno", "."], ["to", "Ústí", "!"], ["we", "saw", "Praha", "."]]
    y = [["O", "B-LOC", "O"], ["O", "B-LOC", "O"], ["O", "O", "B-LOC", "O"]]
    CRF(l1=0.1).fit(X, y).save(folder / "places.mill")
    labels = [one["subject"] for one in articles]
    LogisticRegression(vectorizer=ntc, max_iter=20).fit([one["text"] for one in articles], labels).save(
        folder / "subjects.mill"
    )
    CoherenceDetector(n_topics=8, max_iter=20).fit(sample_pages(100)).save(folder / "detector.mill")
    TextVectorizer().fit(texts).save(folder / "vectors.mill")
    machine = string_map([("one", "1"), ("ten", "10", 2.0), ("ten", "X", 1.0), ("<b>", HOSTILE)])
    write_fst(machine, folder / "numbers.fst")
    write_archive(folder / "words.far", {"plain": string_map([("a", "b")]), "other": string_map([("c", "d")])})
    lines = ["id1\tid2\tscore\tname1\tname2", *("\t".join(map(str, pair)) for pair in PAIRS)]
    (folder / "people.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


class Threaded:
    """A server in a thread of the test."""

    def __init__(self, settings: Settings, log: Any = None) -> None:
        self.app = create_app(settings, log=log)
        self.socket = listen(settings)
        self.address = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self._server = server_of(self.app, settings)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self.socket]})
        self._thread.start()
        wait_until(lambda: self._server.started or not self._thread.is_alive())

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(30)
        self.socket.close()


_numbers = itertools.count()


class Server:
    """A server in a process of its own."""

    def __init__(self, arguments: list[str], folder: Path, environment: dict[str, str] | None = None) -> None:
        command = [sys.executable, "-m", "textmill", "serve", *arguments, "--port", "0"]
        self.log = folder / f"server-{next(_numbers)}.log"
        env = {**os.environ, **(environment or {})}
        with self.log.open("w") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=folder, env=env)
        self.address = self._address()

    def _address(self) -> str:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], 60)
        line = self.process.stdout.readline() if ready else ""
        found = re.search(r"http://\S+", line)
        assert found, line + self.log.read_text()
        self.token = found[0].partition("#token=")[2]
        return found[0].partition("/#")[0].rstrip("/")

    def workers(self) -> list[int]:
        """Process ids of the workers."""
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(pid) for pid in listed.split()]

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End it and return its exit code."""
        self.process.send_signal(how)
        return self.process.wait(60)
