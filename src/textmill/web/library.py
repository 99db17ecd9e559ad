"""The files that are served: what each one is, in which panels it appears, and newer versions of it.

    .mill               a model: its class says what it can do
    .fst, .far          a transducer, or an archive of them
    .tsv .csv .jsonl    pairs of names to review

A file is mapped, so all threads and workers share its pages. When a file is replaced (by a rename, as textmill saves),
the new one is opened and checked beside the old one and then takes its place in one assignment: requests that are
under way end with the model they began with. A newer file that cannot be used is noted, and the old one goes on. A file
that was cut in place is given up at once, since its pages are gone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from textmill.errors import DataError, ModelFileError
from textmill.web.answers import Refusal

__all__ = ["Entry", "Library", "Stamp", "open_entry", "stamp_of"]

_MACHINES, _PAIRS = (".fst", ".far"), (".tsv", ".csv", ".jsonl")
# what classes of models can do; a base comes after what derives from it
_PANELS = {
    "tasks.SimilarDocuments": ("articles",),
    "topics.TopicModel": ("topics", "text"),
    "tasks.LanguageIdentifier": ("text",),
    "tasks.CoherenceDetector": ("text",),
    "tasks.PolarityScorer": ("text",),
    "tasks.EntityRecognizer": ("text",),
    "tasks.FluencyModel": ("text",),
    "tasks.ReadabilityGrader": ("text",),
    "tasks.PronunciationModel": ("text",),
    "tasks.SubjectClassifier": ("text",),
    "sequence.ChainModel": ("text",),
    "sequence.SemiMarkovCRF": ("text",),
    "linear.LinearClassifier": ("text",),
    "linear.NaiveBayes": ("text",),
    "fst.StringAligner": ("transducers",),
}


@dataclass(frozen=True, slots=True)
class Stamp:
    """Which version of a file this is."""

    inode: int
    size: int
    changed: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One file: its name in addresses, what was read from it, its panels, and what is wrong with it, if anything."""

    name: str
    path: str
    kind: str
    value: Any
    panels: tuple[str, ...]
    stamp: Stamp
    fault: str | None = None
    machines: dict[str, Any] = field(default_factory=dict)


class Library:
    """All files by name.

    >>> import tempfile
    >>> from textmill.vectors import TextVectorizer
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     TextVectorizer().fit(["a", "b"]).save(f"{folder}/words.mill")
    ...     library = Library([f"{folder}/words.mill"])
    >>> [(entry.name, entry.kind, entry.panels) for entry in library]
    [('words', 'vectors.TextVectorizer', ('models',))]
    """

    def __init__(self, paths: Sequence[str]) -> None:
        names = _names(paths)
        self._entries = {name: open_entry(name, path) for name, path in zip(names, paths, strict=True)}

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def of(self, panel: str) -> list[Entry]:
        """The files of a panel that can be used."""
        return [entry for entry in self if panel in entry.panels and entry.fault is None]

    def get(self, name: str, panel: str) -> Entry:
        """A file by its name."""
        entry = self._entries.get(name)
        if entry is None or panel not in entry.panels:
            raise Refusal(404, f"no file of that name has {panel}; the files were named at the start")
        if entry.fault is not None and panel != "models":
            raise Refusal(503, entry.fault, retry=10)
        return entry

    def refresh(self) -> list[tuple[str, str]]:
        """Take over files that were replaced; returns names and what happened."""
        events = []
        for entry in list(self):
            try:
                stamp = stamp_of(entry.path)
            except OSError:
                continue  # gone, or between two renames: what is mapped stays
            if stamp == entry.stamp:
                continue
            if stamp.inode == entry.stamp.inode and stamp.size < entry.stamp.size:
                fault = "the file was cut while it was served; put a whole one in its place by a rename"
                self._entries[entry.name] = Entry(entry.name, entry.path, entry.kind, None, entry.panels, stamp, fault)
                events.append((entry.name, "cut"))
                continue
            try:
                self._entries[entry.name] = open_entry(entry.name, entry.path)
                events.append((entry.name, "taken over"))
            except (DataError, ModelFileError, OSError):
                fields = (entry.kind, entry.value, entry.panels, stamp, entry.fault, entry.machines)
                self._entries[entry.name] = Entry(entry.name, entry.path, *fields)  # not asked again until it changes
                events.append((entry.name, "newer file refused"))
        return events


def stamp_of(path: str) -> Stamp:
    """Which version of a file is there."""
    seen = os.stat(path)
    return Stamp(seen.st_ino, seen.st_size, seen.st_mtime_ns)


def open_entry(name: str, path: str) -> Entry:
    """Open a file as what its suffix says it is."""
    stamp = stamp_of(path)
    suffix = Path(path).suffix.lower()
    if suffix in _MACHINES:
        from textmill.fst import Archive

        archive = Archive(path)
        return Entry(name, path, "fst.Fst", archive, ("transducers", "models"), stamp)
    if suffix in _PAIRS:
        from textmill.web.pairs import PairList

        return Entry(name, path, "pairs of names", PairList(path), ("names", "models"), stamp)
    from textmill.model import load

    model = load(path)
    return Entry(name, path, _kind(model), model, (*_panels(model), "models"), stamp)


def _kind(model: Any) -> str:
    return f"{type(model).__module__.split('.')[1]}.{type(model).__name__}"


def _panels(model: Any) -> tuple[str, ...]:
    lineage = [_kind_of(base) for base in type(model).__mro__]
    return next((panels for kind, panels in _PANELS.items() if kind in lineage), ())


def _kind_of(cls: type) -> str:
    words = cls.__module__.split(".")
    return f"{words[1]}.{cls.__name__}" if words[0] == "textmill" and len(words) > 1 else cls.__name__


def _names(paths: Sequence[str]) -> list[str]:
    """A name for each file: its own without the suffix, with a number where two are alike."""
    names: list[str] = []
    for path in paths:
        stem = Path(path).stem or "file"
        name, number = stem, 2
        while name in names:
            name, number = f"{stem}-{number}", number + 1
        names.append(name)
    return names
