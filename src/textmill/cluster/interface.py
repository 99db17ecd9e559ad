"""What an algorithm sees of a cluster (map, map_reduce, broadcast, keep), and the bracketing of its sums."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import Any, Generic, TypeVar

from textmill.errors import DataError

__all__ = ["Cluster", "Kept", "kept_values", "tree_reduce"]

R = TypeVar("R")


def tree_reduce(add: Callable[[R, R], R], parts: Iterable[R]) -> R:
    """Sum pairwise. Who meets whom depends on the number of parts, not on machines or timing.

    At most log2(n) partial sums are alive, however long the stream.

    >>> tree_reduce("({}+{})".format, "abcdefg")
    '(((a+b)+(c+d))+((e+f)+g))'
    """
    stack: list[tuple[int, R]] = []
    for part in parts:
        height = 0
        while stack and stack[-1][0] == height:
            part, height = add(stack.pop()[1], part), height + 1
        stack.append((height, part))
    if not stack:
        raise DataError("there are no chunks to add up: the stream was empty; check that the input holds documents")
    return reduce(lambda right, left: add(left, right), (part for _, part in reversed(stack)))


class Kept(Generic[R]):
    """A value that stays where the work is done; `Cluster.broadcast` and `Cluster.keep` make it.

    Given to `map` and `map_reduce` as chunk or as state, it is the value that the step sees, also in a tuple.
    """

    def __init__(self, value: object, name: str) -> None:
        self._value = value  # the value in one process, its task on Dask
        self._name = name

    def __repr__(self) -> str:
        return self._name


class Cluster(ABC):
    """Where steps run; made by `connect`. `elsewhere` says whether that is in other processes."""

    elsewhere: bool

    @abstractmethod
    def broadcast(self, state: R) -> Kept[R]:
        """Put a large `state` where the steps run, once instead of with every chunk.

        >>> from textmill.cluster import connect
        >>> with connect(None) as cluster:
        ...     base = cluster.broadcast(10)
        ...     list(cluster.map(pow, [1, 2], base))
        [1, 1024]
        """

    @abstractmethod
    def keep(self, load: Callable[..., R], addresses: Iterable[object], *state: object) -> list[Kept[R]]:
        """What `load(address, *state)` gives, kept where it was loaded: chunks for many passes, shards of an index.

        >>> from textmill.cluster import connect
        >>> with connect(None) as cluster:
        ...     words = cluster.keep(str.split, ["to be", "or not"])
        ...     list(cluster.map(len, words)), list(cluster.map(sorted, words))
        ([2, 2], [['be', 'to'], ['not', 'or']])
        """

    @abstractmethod
    def map(self, step: Callable[..., R], chunks: Iterable[object], *state: object) -> Iterator[R]:
        """What `step(chunk, *state)` gives for each chunk, in order, in this process.

        >>> from textmill.cluster import connect
        >>> with connect(None) as cluster:
        ...     list(cluster.map(len, ["text", "mill", "!"]))
        [4, 4, 1]
        """

    @abstractmethod
    def map_reduce(
        self, step: Callable[..., R], chunks: Iterable[object], add: Callable[[R, R], R], *state: object
    ) -> R:
        """The sum of `step(chunk, *state)` over all chunks, bracketed as `tree_reduce` says.

        >>> from operator import add
        >>> from textmill.cluster import connect
        >>> with connect(None) as cluster:
        ...     cluster.map_reduce(len, ["text", "mill", "!"], add)
        9
        """

    @abstractmethod
    def worker_jobs(self, n_jobs: int | None) -> int | None:
        """The `n_jobs` for native code inside a step: as given in this process, 1 on a Dask worker.

        The threads of the workers are the parallelism there: on a machine with 8 cores, `dask worker --nworkers 8
        --nthreads 1`. Results are the same for any number.

        >>> from textmill.cluster import connect
        >>> with connect(None) as cluster:
        ...     cluster.worker_jobs(4)
        4
        """


def kept_values(arguments: Iterable[object]) -> list[Any]:
    """The arguments as the step sees them: kept values (their tasks on Dask) in place of `Kept`."""
    return [_value(argument) for argument in arguments]


def _value(argument: object) -> Any:
    if type(argument) is tuple:
        return tuple(_value(part) for part in argument)
    return argument._value if isinstance(argument, Kept) else argument
