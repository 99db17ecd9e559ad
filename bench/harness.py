"""What every benchmark shares: alternating runs, medians, one table, one JSON file.

A subject is a module of this package with `PACKAGES`, whose versions are printed, and `jobs(options) -> list[Job]`.
A job has two callables that do the same work, `ours` and `peer`; they run alternately, so that a noisy machine
disturbs both alike. The ratio is the median of the peer divided by ours: above 1 we are faster. `quality` says what
both results are worth, or that they are equal, and is worked out once. Jobs of one `claim` do the same with other data:
behind the table stands the worst and the best ratio of each, which is what may be said of it. A subject with
`appendix() -> str` has that printed at the end.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, get_args

RESULTS = Path(__file__).parent / "results"
PUBLISHED = Path(__file__).parent / "published"  # results that pages and pictures are made from, kept in git


@dataclass(frozen=True)
class Options:
    """What the command line asked for."""

    repeats: int = 5
    quick: bool = False
    only: str = ""  # measure the jobs whose name has this, or one of these with | between them, in it

    def wants(self, part: str) -> bool:
        """Whether a job or a part of the appendix with this name is asked for."""
        return any(piece in part for piece in self.only.split("|"))

    @property
    def data(self) -> Path:
        folder = os.environ.get("TEXTMILL_DATA")
        if not folder:
            raise SystemExit("this bench needs real data: set TEXTMILL_DATA to their folder")
        return Path(folder)


# seconds by the clock, of the processor, or of the processor in the thread that had most of it, measured here, or what
# the callables return; the busiest thread shows how work is shared even where other people use the cores
Figure = Literal["clock", "processor", "busiest", "returned"]


@dataclass(frozen=True)
class Job:
    """Two ways to do the same work."""

    name: str
    ours: Callable[[], Any]
    peer: Callable[[], Any]
    peer_name: str
    quality: Callable[[], str] = lambda: "-"
    figure: Figure = "clock"
    label: str = "s"  # behind a figure that the callables return
    bar: float | None = None  # the ratio that is asked for
    claim: str = ""  # what it shows together with the other jobs of that name
    prepare: Callable[[], Any] = lambda: None  # makes the input, before each side, untimed

    def __post_init__(self) -> None:
        if self.figure not in get_args(Figure):  # another word would silently be taken for processor time
            raise ValueError(f"{self.name}: figure must be one of {', '.join(get_args(Figure))}, got {self.figure!r}")


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    job: str
    ours: float
    peer: float
    ratio: float
    bar: float | None
    peer_name: str
    label: str
    quality: str
    claim: str


def measure(job: Job, repeats: int) -> Row:
    """Run both sides alternately and compare their medians."""
    ours: list[float] = []
    peer: list[float] = []
    for run in range(repeats):
        sides = [(ours, job.ours), (peer, job.peer)]
        for figures, work in sides if run % 2 == 0 else reversed(sides):
            job.prepare()
            figures.append(measured(work, job.figure))
    a, b = statistics.median(ours), statistics.median(peer)
    return Row(job.name, a, b, b / a, job.bar, job.peer_name, job.label, job.quality(), job.claim)


def measured(work: Callable[[], Any], figure: Figure) -> float:
    """Seconds that the work takes, or the figure that it returns."""
    gc.collect()
    if figure == "returned":
        return float(work())
    if figure == "busiest":
        before = _thread_seconds()
        work()
        return max(seconds - before.get(thread, 0.0) for thread, seconds in _thread_seconds().items())
    clock = time.perf_counter if figure == "clock" else time.process_time
    start = clock()
    work()
    return clock() - start


def _thread_seconds() -> dict[str, float]:
    """Processor seconds of each thread of this process so far."""
    seconds = {}
    for entry in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # a thread may end meanwhile
            seconds[entry.name] = int((entry / "schedstat").read_text(encoding="ascii").split()[0]) / 1e9
    return seconds


def report(
    subject: str, jobs: list[Job], options: Options, packages: list[str], folder: Path = RESULTS
) -> dict[str, Any]:
    """Measure the jobs, print the table as it grows; write it as JSON when all were measured. Gives what it wrote."""
    machine = f"{platform.machine()}, {len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}"
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ["textmill", "numpy", *packages])
    print(f"{subject}: {options.repeats} alternating runs, medians\n{_processor()}, {machine}\n{versions}\n")
    print(f"{'job':<44} {'ours':>10} {'peer':>10} {'ratio':>8} {'asked':>6}  peer; quality")
    rows = []
    for job in (job for job in jobs if options.wants(job.name)):
        row = measure(job, options.repeats)
        rows.append(row)
        asked = f"{row.bar:.1f}x" if row.bar is not None else "-"
        values = f"{row.ours:>8.3f} {row.label:<1} {row.peer:>8.3f} {row.label:<1}"
        print(f"{row.job:<44} {values} {row.ratio:>7.2f}x {asked:>6}  {row.peer_name}; {row.quality}", flush=True)
    for line in claims(rows):
        print(line)
    content = {
        "subject": subject,
        "date": time.strftime("%Y-%m-%d"),
        "commit": _commit(),
        "command": f"python -m bench {subject} --repeats {options.repeats}",
        "machine": f"{_processor()}, {machine}",
        "versions": versions,
        "rows": [asdict(row) for row in rows],
    }
    if not options.only:
        folder.mkdir(exist_ok=True)
        text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        (folder / f"{subject}.json").write_text(text, encoding="utf-8")
    return content


def claims(rows: list[Row]) -> list[str]:
    """One line for each claim and peer: the worst and the best ratio over its rows."""
    ratios: dict[str, list[float]] = {}
    for row in rows:
        if row.claim:
            ratios.setdefault(f"{row.claim}, {row.peer_name}", []).append(row.ratio)
    lines = [f"{name}: {min(some):.1f}x to {max(some):.1f}x over {len(some)} sets" for name, some in ratios.items()]
    return ["", *lines] if lines else []


def _commit() -> str:
    """The commit that was measured, with a plus behind it where the tree had changes."""
    asked = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    done = subprocess.run(asked, cwd=RESULTS.parent, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown processor")
