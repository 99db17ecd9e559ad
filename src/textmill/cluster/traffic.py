"""Counting, and delaying, what travels between the processes of a cluster: for experiments."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Parcel", "Post", "Traffic", "collect", "deliver"]

Post = tuple[str, float]  # mark of a connection, seconds of delay


@dataclass
class Traffic:
    """What traveled on a Dask cluster, for experiments: filled in when the block of `connect` ends.

    A message is a chunk address, a state or a result that reached another process and was used there; `bytes` is the
    sum of their pickled sizes. Each waits `delay` seconds before it is used, as on a slow network. In one process
    nothing travels.

    >>> from textmill.cluster import connect
    >>> traffic = Traffic()
    >>> with connect(None, traffic=traffic) as cluster:
    ...     results = list(cluster.map(len, ["text", "mill"]))
    >>> traffic
    Traffic(delay=0.0, messages=0, bytes=0)
    """

    delay: float = 0.0
    messages: int = 0
    bytes: int = 0


_received: dict[str, tuple[int, int]] = {}  # mark of a connection -> messages and bytes that reached this process
_received_lock = threading.Lock()


class Parcel:
    """A value that is counted, and delayed, where it is first used after a journey."""

    def __init__(self, value: object, post: Post, traveled: bool = False) -> None:
        self._value = value
        self._post = post  # mark of the connection, seconds of delay
        self._traveled = traveled

    def __reduce__(self) -> tuple[object, ...]:
        return Parcel, (self._value, self._post, True)

    def __sizeof__(self) -> int:  # the scheduler must see the true size, as it does without the parcel
        from dask.sizeof import sizeof

        return int(sizeof(self._value))

    def open(self) -> Any:
        """The value; the first time after a journey, it is counted and made to wait."""
        mark, delay = self._post
        with _received_lock:
            first, self._traveled = self._traveled, False
            if first:
                messages, size = _received.get(mark, (0, 0))
                _received[mark] = messages + 1, size + len(pickle.dumps(self._value, protocol=5))
        if first:
            time.sleep(delay)
        return self._value


def deliver(function: Callable[..., object], post: Post, *parcels: Any) -> Parcel:
    """A call on a worker whose arguments and result are parcels."""
    return Parcel(function(*map(_opened, parcels)), post)


def _opened(parcel: Any) -> Any:
    return tuple(map(_opened, parcel)) if type(parcel) is tuple else parcel.open()


def collect(mark: str) -> tuple[int, int]:
    """Messages and bytes of a connection that reached this process; the count begins anew."""
    return _received.pop(mark, (0, 0))
