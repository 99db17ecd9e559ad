"""How long work on a cluster may stand still, and how much of it is under way.

The rule, applied every `WATCH_SECONDS` while this process waits for tasks:

| what the cluster shows | counts as |
|---|---|
| a task finished since the last look | progress |
| a worker that answers the scheduler says it executes a task of this connection, for however long | progress |
| other jobs take all threads, or data moves between workers | a queue: at most `QUEUE_SECONDS` without progress |
| there is no worker | at most `WORKERLESS_SECONDS` on end |
| none of these: workers are idle and nothing comes | a stall |

A step that really runs is never given up, be it for hours: its worker reports it with every heartbeat. (A step that
never ends can therefore not be told from a long one.) A worker that has not been heard of for `SILENT_SECONDS`
executes nothing. After a stall of `STALL_SECONDS` the tasks under way are sent again under new keys, with everything
they need that is not at hand; each further time after twice as long, `RESENDS` times, the last ones with all they need
made anew. Steps are pure, so a task that was sent twice gives the same bytes. Then, after 15 times `STALL_SECONDS`
without progress in all, comes a `ClusterError` that says what it waited for.

Each constant is read when it is used: `textmill.cluster.limits.STALL_SECONDS = 60` before a fit is enough. On the
command line the environment variable TEXTMILL_STALL_SECONDS does the same.
"""

from __future__ import annotations

import math
import os

from textmill.errors import DataError

__all__ = [
    "ARRIVAL_SECONDS",
    "ASK_SECONDS",
    "CONNECT_SECONDS",
    "GROUP",
    "GROUPS_AHEAD",
    "QUEUE_SECONDS",
    "REPLICATE_SECONDS",
    "RESENDS",
    "RETRIES",
    "SILENT_SECONDS",
    "SLOW_BYTES",
    "STALL_SECONDS",
    "TASKS_PER_THREAD",
    "WATCH_SECONDS",
    "WORKERLESS_SECONDS",
    "stall_seconds",
]

GROUP = 64  # chunks whose sum is made on the workers: a power of two, so that groups are whole subtrees
GROUPS_AHEAD = 2  # sums of groups that may wait on the workers for an earlier one
TASKS_PER_THREAD = 2  # one runs, one is at hand
RETRIES = 2  # of a task that raised: a file server may have stumbled

CONNECT_SECONDS = 10.0  # for a scheduler to answer, and for it to have a worker
ASK_SECONDS = 60.0  # for an answer to a question: of the scheduler, of all workers
REPLICATE_SECONDS = 10.0  # for copies of a state to reach all workers, before the steps begin without waiting for them
WATCH_SECONDS = 2.0  # between looks at the cluster while waiting
STALL_SECONDS = 20.0  # without progress, before what is under way is sent again
RESENDS = 3  # of one task
SLOW_BYTES = 10_000_000  # per second: a large state may need longer than STALL_SECONDS to reach its first worker
WORKERLESS_SECONDS = 60.0  # before work without any worker is given up
QUEUE_SECONDS = 3600.0  # behind the tasks of other jobs
SILENT_SECONDS = 300.0  # since the last heartbeat of a worker, as Dask's own worker-ttl
ARRIVAL_SECONDS = 600.0  # for a finished result to reach this process


def stall_seconds() -> float:
    """STALL_SECONDS, or what TEXTMILL_STALL_SECONDS says.

    >>> stall_seconds() == STALL_SECONDS
    True
    """
    text = os.environ.get("TEXTMILL_STALL_SECONDS")
    if text is None:
        return STALL_SECONDS
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise DataError(f"TEXTMILL_STALL_SECONDS={text} is not a number of seconds above 0, such as 60")
    return seconds
