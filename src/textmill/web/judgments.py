"""Judgments of people, in SQLite: relevance of articles, decisions about pairs of names.

    about      "article" (is this neighbor relevant) or "names" (are these two the same)
    file       the name of the file or method that proposed the pair
    one, other ids of the pair
    label      what was decided; a later decision takes the place of an earlier one

Several workers, and other programs, may write at the same time: SQLite locks, waits, and a confirmed judgment is on
the disk (synchronous=FULL) before the answer goes out. A full disk or a locked file is an answer of its own (507, 503),
and what was there stays.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import NamedTuple

from textmill.web.answers import Refusal

__all__ = ["Judgment", "Judgments"]

_SECONDS = 10.0  # to wait for another writer
_TABLE = """
create table if not exists judgments (
  about text not null, file text not null, one text not null, other text not null, label text not null,
  at real not null, primary key (about, file, one, other)
) without rowid
"""
_FIELDS = "file, one, other, label, at"


class Judgment(NamedTuple):
    """What was decided about a pair, and when (seconds since 1970)."""

    file: str
    one: str
    other: str
    label: str
    at: float


class Judgments:
    """The judgments in a file, which is made with the first of them.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     judgments = Judgments(f"{folder}/judgments.sqlite")
    ...     judgments.put("names", "people", "a", "b", "pos")
    ...     judgments.put("names", "people", "a", "b", "neg")
    ...     [judgment.label for judgment in judgments.of("names", "people")]
    ['neg']
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()  # threads of this process take turns; SQLite sees to the other processes

    def put(self, about: str, file: str, one: str, other: str, label: str | None) -> None:
        """Store a judgment; None takes it back."""
        with self._open(write=True) as connection:
            key = (about, file, one, other)
            if label is None:
                connection.execute("delete from judgments where (about, file, one, other) = (?, ?, ?, ?)", key)
            else:
                connection.execute("replace into judgments values (?, ?, ?, ?, ?, ?)", (*key, label, time.time()))

    def of(self, about: str, file: str) -> list[Judgment]:
        """All judgments of a file, by their ids."""
        query = f"select {_FIELDS} from judgments where about = ? and file = ? order by one, other"
        with self._open() as connection:
            return [Judgment(*row) for row in connection.execute(query, (about, file))]

    def about(self, about: str, one: str) -> list[Judgment]:
        """All judgments of pairs that begin with an id."""
        query = f"select {_FIELDS} from judgments where about = ? and one = ? order by file, other"
        with self._open() as connection:
            return [Judgment(*row) for row in connection.execute(query, (about, one))]

    def check(self) -> bool:
        """Whether judgments can be read."""
        with self._open() as connection:
            return connection.execute("select count(*) from judgments").fetchone() is not None

    @contextmanager
    def _open(self, *, write: bool = False) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                with closing(self._connection(write)) as connection:
                    if write:
                        connection.execute("begin immediate")
                    yield connection
                    if write:
                        connection.execute("commit")
            except sqlite3.Error as error:
                raise _refusal(error) from error

    def _connection(self, write: bool) -> sqlite3.Connection:
        try:
            connection = sqlite3.connect(
                f"file:{_quoted(self._path)}?mode={'rwc' if write else 'ro'}",
                uri=True,
                timeout=_SECONDS,
                isolation_level=None,
            )
            if not write:
                connection.execute("select 1 from judgments limit 1")
                return connection
        except sqlite3.OperationalError:
            if write:
                raise
            connection = sqlite3.connect(":memory:")  # nothing was judged yet
            connection.execute(_TABLE)
            return connection
        connection.execute("pragma journal_mode=wal")
        connection.execute("pragma synchronous=full")
        connection.execute(_TABLE)
        return connection


def _quoted(path: str) -> str:
    from urllib.parse import quote

    return quote(path)


def _refusal(error: sqlite3.Error) -> Refusal:
    words = str(error)
    if "full" in words or "disk I/O" in words:
        return Refusal(507, "there is no room on the disk for this judgment; it was not stored")
    if "locked" in words or "busy" in words:
        return Refusal(503, "judgments are being written by somebody else; come again", retry=1)
    if "readonly" in words or "unable to open" in words:
        return Refusal(503, "the file of judgments cannot be written; it was not stored", retry=60)
    return Refusal(500, "the file of judgments cannot be used; the log has more")
