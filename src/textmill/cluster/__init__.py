"""The same sum on one machine and on many: map over chunks, tree-reduce, broadcast state.

    S = add(... add(step(c_1, state), step(c_2, state)) ...)        over a stream of chunks c_1, c_2, ... of any length

An algorithm is written once against `Cluster`. `connect(None)` runs it in this process, where the native kernels use
all cores; `connect("tcp://scheduler:8786")` or `connect(client)` runs it on the workers of a Dask cluster. Who is
added to whom depends on the number of chunks only (`tree_reduce`), so every cluster gives the same bytes, whatever the
timing and whoever dies.

What the algorithm owes: `step` and `add` are pure (a result is a function of the arguments, arguments are not
changed), because a task whose result is lost with its worker runs again. A chunk is an *address* that the step can
read from any machine (file, offset, length), not the data. Results are arrays, or tuples and dictionaries of arrays,
whose size Dask can see when it chooses where to add them.

What survives a worker: everything. Each task has a recipe with the scheduler, also a broadcast state (its pickled
bytes are in the recipe; scattered data would have none), and a second one in this process (`flight`), from which it is
sent again when the scheduler and a worker disagree about who has to run it. Partial sums stay on the workers and are
added there; the sum of every 64 chunks comes to this process, so that the recipes of an endless stream do not pile up
and a lost partial sum costs at most 64 steps. Tasks are under way in small numbers (two for each thread of the
workers), so the stream of chunks is read only as fast as they are worked off.

What ends: every wait, by the rules and times in `limits`.

Cost: n steps, n - 1 adds, log2 n partial sums alive at a time; on a cluster also one message per chunk and per add
whose two sides are on different workers, one state per worker, one result per 64 chunks.
Reference: Rehurek (2011), algorithms 3.4 and 4.3, whose models are summed this way.
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.cluster.connection import connect
    from textmill.cluster.interface import Cluster, Kept, tree_reduce
    from textmill.cluster.traffic import Traffic

__all__ = ["Cluster", "Kept", "Traffic", "connect", "tree_reduce"]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "connection": "connect",
        "interface": "Cluster Kept tree_reduce",
        "traffic": "Traffic",
    },
)
