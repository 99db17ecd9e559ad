"""How many cores this process may use: what the machine, a container and an outer level of parallelism leave it.

    cores of the affinity mask (taskset, Slurm)
    quota of the control groups (docker --cpus, Kubernetes limits), rounded up
    OMP_NUM_THREADS           set by people, by workers of joblib and by those of Dask
    LOKY_MAX_CPU_COUNT        set by people for joblib

The least of them counts. The variables are read once, when the package is imported, as OpenMP does: Dask sets them in
the process that starts its workers, too, and that process keeps its cores.

References: Linux, control group v2, `cpu.max`; v1, `cpu.cfs_quota_us`.
"""

from __future__ import annotations

import math
import os
from functools import cache
from pathlib import Path

import textmill

__all__ = ["available_cores"]

_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")


def available_cores() -> int:
    """Return the number of cores, 1 at least.

    >>> 1 <= available_cores() <= os.cpu_count()
    True
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(
        1, min(limit for limit in (cores, _quota(), *map(_number, textmill._THREAD_LIMITS)) if limit is not None)
    )


@cache
def _quota() -> int | None:
    """The least quota of the control groups above this process, in cores."""
    quotas = [_quota_of(folder) for folder in _folders()]
    return min((quota for quota in quotas if quota is not None), default=None)


def _folders() -> set[Path]:
    """The folders of the groups of this process and of those above; a container sees its own group as the root."""
    try:
        entries = _OWN_GROUPS.read_text().splitlines()
    except OSError:
        return set()
    folders = set()
    for entry in entries:
        _, controllers, path = entry.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        root = _GROUPS / controllers if controllers else _GROUPS
        parts = [part for part in path.split("/") if part not in ("", "..")]
        folders |= {root.joinpath(*parts[:depth]) for depth in range(len(parts) + 1)}
    return folders


def _quota_of(folder: Path) -> int | None:
    try:
        quota, period = (folder / "cpu.max").read_text().split()
    except (OSError, ValueError):
        try:
            quota = (folder / "cpu.cfs_quota_us").read_text().strip()
            period = (folder / "cpu.cfs_period_us").read_text().strip()
        except OSError:
            return None
    if not (quota.isdigit() and period.isdigit() and int(period)):  # "max", or -1
        return None
    return max(1, math.ceil(int(quota) / int(period)))


def _number(value: str) -> int | None:
    """A limit as it stands in the environment; OpenMP has lists, one number per level of nesting."""
    first = value.partition(",")[0].strip()
    return int(first) if first.isdigit() and int(first) > 0 else None
