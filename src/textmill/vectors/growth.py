"""Arrays that grow at the end: a row that is added costs itself, not a copy of all the others.

An array is the beginning of a larger one, its room. While there is room, rows are written behind the others; else a
room of half as many rows again is taken, so each row is copied a few times at most, however many come one by one.
Whoever holds the shorter array still sees what he saw. Two that share a room and both grow do not write over each
other: the room knows how far it is used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Growing"]


class _Room:
    """Memory for rows, of which `used` are taken."""

    __slots__ = ("memory", "used")

    def __init__(self, memory: NDArray[Any], used: int) -> None:
        self.memory, self.used = memory, used


class Growing:
    """Mixin of what holds arrays that grow.

    >>> class Rows(Growing):
    ...     pass
    >>> rows = Rows()
    >>> rows.values = np.array([1, 2])
    >>> before = rows.values
    >>> rows.extend("values", np.array([3]))
    >>> rows.values.tolist(), before.tolist()
    ([1, 2, 3], [1, 2])
    """

    def extend(self, name: str, more: NDArray[Any]) -> None:
        """Put rows behind those of the array attribute `name`."""
        array: NDArray[Any] = getattr(self, name)
        rooms: dict[str, _Room] = vars(self).setdefault("_rooms", {})
        room, size = rooms.get(name), len(array) + len(more)
        if room is None or array.base is not room.memory or room.used != len(array) or size > len(room.memory):
            room = _Room(np.empty((size + size // 2 + 8, *array.shape[1:]), array.dtype), len(array))
            room.memory[: len(array)] = array
            vars(self)["_rooms"] = rooms | {name: room}
        room.memory[len(array) : size] = more
        room.used = size
        setattr(self, name, room.memory[:size])

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_rooms"}  # without what is not used
