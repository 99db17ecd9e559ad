"""What the native code costs to compile, as a table: folders, and the slowest units.

From the newest build folder that has a record of processor time (tools/compile_times.py), else from the log that Ninja
keeps in every build folder, whose seconds include waiting for a processor.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parent.parent
SLOWEST = 10


def compile_times(build: Path) -> str:
    """The table of the newest build below this folder."""
    for name, kind, read in (
        ("compile_times.tsv", "processor time", recorded),
        (".ninja_log", "elapsed time", logged),
    ):
        if sources := sorted(build.glob(f"*/{name}"), key=lambda path: path.stat().st_mtime):
            return table(read(sources[-1].read_text(encoding="utf-8")), f"{kind}, {sources[-1]}")
    return f"no build below {build}: compile times are not known"


def recorded(text: str) -> dict[str, float]:
    """Seconds of each object file; of one that was compiled twice the last."""
    return {unit: float(seconds) for seconds, unit in (line.split("\t") for line in text.splitlines())}


def logged(text: str) -> dict[str, float]:
    """The same from a log of Ninja: begin and end in milliseconds, time of the file, file, hash."""
    times = {}
    for line in text.splitlines():
        if not line.startswith("#") and (fields := line.split("\t"))[3].endswith((".o", ".gch")):
            times[fields[3]] = (int(fields[1]) - int(fields[0])) / 1000
    return times


def table(times: dict[str, float], source: str) -> str:
    """Folders by what they cost, then the slowest units."""
    folders: dict[str, list[float]] = defaultdict(list)
    for unit, seconds in times.items():
        folders[folder(unit)].append(seconds)
    lines = [f"compile times: {source}", "", f"{'folder':<28} {'units':>6} {'seconds':>9}"]
    for name, units in sorted(folders.items(), key=lambda item: -sum(item[1])):
        lines.append(f"{name:<28} {len(units):>6} {sum(units):>9.1f}")
    lines += [f"{'all':<28} {len(times):>6} {sum(times.values()):>9.1f}", "", f"{'slowest units':<35} {'seconds':>9}"]
    for unit, seconds in sorted(times.items(), key=lambda item: -item[1])[:SLOWEST]:
        lines.append(f"{path(unit):<35} {seconds:>9.1f}")
    return "\n".join(lines)


def path(unit: str) -> str:
    """The source of an object file as it is in the project."""
    inside = unit.partition(".dir/")[2] or unit
    return inside.removesuffix(".o")


def folder(unit: str) -> str:
    """Where the source lies: a folder of the native code, with the bindings of transducers apart."""
    source = Path(path(unit))
    if source.suffix == ".gch":
        return "precompiled headers"
    if source.parts[0] != "native":
        return "nanobind"
    return "native/bind, fst*" if source.match("bind/fst*") else str(source.parent)
