"""How a collection lies on the disk: written by one process at a time, read by any number, whole at any moment.

`collection.json` names the files that belong together and is replaced whole (`textmill.files`), so whoever reads it
finds a state that was complete. New files have new names; old ones are removed when nothing names them any more, and a
reader that still maps them keeps them. Between two such states changes go to the journal. The writer holds a lock on
the file `lock`, which the system lets go when the writer dies.

Shards are merged as in a binary counter: the documents of the journal become a shard, and a shard is merged with the
one before it while that is not twice as large, so there are about log n of them, none much above 16,384 documents or
64 MB. A merge copies mapped files by blocks into files (`files.scratch_array`), so it needs the memory of a block.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from textmill.errors import DataError, ModelFileError
from textmill.files import lock, replacing, scratch_array
from textmill.model import load
from textmill.progress import track
from textmill.tasks.similarity.articles import Article
from textmill.tasks.similarity.journal import append_entries, read_entries
from textmill.tasks.similarity.methods import Method
from textmill.tasks.similarity.shards import DocumentShard, RecentDocuments
from textmill.tasks.similarity.snapshot import Part, Place, Snapshot, apply_entries
from textmill.tasks.similarity.training import fit_methods, unfitted, unknown_share
from textmill.vectors import Index, join_indexes

__all__ = ["Store", "build_collection"]

MANIFEST = "collection.json"
_FORMAT = 1
_SHARD = 1 << 14  # documents of a shard, and
_CHARACTERS = 1 << 26  # of their texts, roughly
_OURS = re.compile(r"(documents|model|[A-Za-z0-9][\w-]*)-\d{6}\.mill|journal-\d{6}|neighbors-[\w-]+\.mill|lock")
_TRIES = 5  # to open the files of a state while another one takes its place


class Store:
    """The folder of a collection."""

    def __init__(self, folder: Path, *, n_jobs: int | None = None) -> None:
        self.folder = folder
        self._n_jobs = n_jobs
        self._stamp: tuple[int, ...] = ()

    def open(self, opened: Snapshot | None = None) -> Snapshot:
        """The state that the folder holds, taking opened files from a snapshot of before."""
        for attempt in range(_TRIES):
            stamp = self._look()
            manifest = self._manifest()
            try:
                snapshot = self._opened(manifest, opened)
            except FileNotFoundError as fault:
                if attempt + 1 < _TRIES and self._look() != stamp:
                    continue  # another state has taken its place meanwhile
                raise ModelFileError(
                    f"{fault.filename}: a file of the collection is missing; restore a copy", reason="unreadable"
                ) from None
            self._stamp = stamp
            return snapshot
        raise AssertionError

    def refreshed(self, snapshot: Snapshot) -> Snapshot:
        """The state now; the same snapshot if nothing has changed."""
        if self._look() != self._stamp:
            return self.open(snapshot)
        path = self.folder / snapshot.manifest["journal"]
        try:
            if os.stat(path).st_size <= snapshot.journal_end:
                return snapshot
            entries, end = read_entries(path, snapshot.journal_end)
        except FileNotFoundError:
            return snapshot if self._look() == self._stamp else self.open(snapshot)
        return replace(apply_entries(snapshot, entries), journal_end=end) if entries else snapshot

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Be the only writer."""
        if not self.folder.is_dir():
            raise self._no_collection()
        descriptor = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            try:
                lock(descriptor)
            except BlockingIOError:
                raise DataError(
                    "another process is writing to this collection; wait until it is done", source=str(self.folder)
                ) from None
            yield
        finally:
            os.close(descriptor)

    def write(self, snapshot: Snapshot, articles: Sequence[Article]) -> Snapshot:
        """Write documents; of several with one id the last one counts, and what is there already is left alone."""
        latest = {article.id: article for article in articles}
        places = snapshot.find_all(list(latest))
        changed = [article for article in latest.values() if not _is_there(article, places.get(article.id))]
        entries = []
        for number, article in enumerate(changed, snapshot.next_number):
            old = places.get(article.id)
            entries.append(
                {
                    "do": "write",
                    "number": number,
                    "replaces": None if old is None else old.number,
                    "id": article.id,
                    "title": article.title,
                    "text": article.text,
                    "fields": article.fields,
                    "source": article.source,
                }
            )
        return self._append(snapshot, entries) if entries else snapshot

    def delete(self, snapshot: Snapshot, ids: Sequence[str]) -> Snapshot:
        """Delete documents, all of which are there."""
        return self._append(snapshot, [{"do": "delete", "number": snapshot.place(name).number} for name in ids])

    def fold(self, snapshot: Snapshot, *, whole: bool = False) -> Snapshot:
        """Make a shard of the journal, merged with the ones before it while these are not twice as large.

        `whole` merges all neighboring shards that fit into one, and leaves nothing of deleted documents.
        """
        *stored, recent = snapshot.parts
        entries = {id(part): entry for part, entry in zip(stored, snapshot.manifest["shards"], strict=True)}
        serial, shards = snapshot.manifest["serial"], []
        for group in _filled([*stored, recent]) if whole else _counted([*stored, recent]):
            part = group[0]
            if len(group) == 1 and part is not recent and not (whole and len(part.dead)):
                shards.append(entries[id(part)] | {"dead": part.dead.tolist()})
            else:
                serial += 1
                shards.append(self._write_shard(serial, group, snapshot.methods))
        serial += 1
        manifest = snapshot.manifest | {
            "serial": serial,
            "shards": shards,
            "next": snapshot.next_number,
            "words": list(snapshot.words),
            "journal": f"journal-{serial:06d}",
        }
        return self._replace(manifest, snapshot)

    def rebuild(self, snapshot: Snapshot, methods: Any, settings: dict[str, Any], n_jobs: int | None) -> Snapshot:
        """Train the models anew on the documents that are alive."""
        snapshot = self.fold(snapshot, whole=True)
        if methods is None:
            recipe = snapshot.manifest["recipe"]
            if recipe is None:
                methods = [unfitted(method) for method in snapshot.methods.values()]
            else:
                methods, settings = recipe["kinds"], recipe["settings"] | settings
        shards = [part.documents for part in snapshot.parts[:-1]]
        return self._replace(self._trained(snapshot.manifest, shards, methods, settings, n_jobs), None)

    def build(self, articles: Iterable[Article], methods: Any, settings: dict[str, Any], n_jobs: int | None) -> None:
        """Write a collection into a folder without one."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if (self.folder / MANIFEST).exists():
            raise DataError(
                "there is a collection already; add to it with upsert, or name another", source=str(self.folder)
            )
        self._sweep(set())
        seen: set[str] = set()
        entries, serial, number = [], 0, 0
        chunk: list[Article] = []
        size = 0
        for article in track(articles, "collecting", unit="documents"):
            if article.id in seen:
                raise DataError(
                    f"the id '{article.id}' is there twice; give every document its own", source=article.source
                )
            seen.add(article.id)
            chunk.append(article)
            size += len(article.words)
            if len(chunk) == _SHARD or size > _CHARACTERS:
                serial, number = serial + 1, number + len(chunk)
                entries.append(self._write_documents(serial, chunk, number))
                chunk, size = [], 0
        if chunk:
            serial, number = serial + 1, number + len(chunk)
            entries.append(self._write_documents(serial, chunk, number))
        if not number:
            raise DataError("there are no documents to collect; check that the input holds some")
        manifest = {"format": _FORMAT, "serial": serial, "shards": entries, "next": number}
        shards = [load(self._path("documents", entry["serial"]), expect=DocumentShard) for entry in entries]
        self._replace(self._trained(manifest, shards, methods, settings, n_jobs), None)

    def _trained(
        self,
        manifest: dict[str, Any],
        shards: Sequence[Any],
        methods: Any,
        settings: dict[str, Any],
        n_jobs: int | None,
    ) -> dict[str, Any]:
        """The manifest with models that were trained on all shards, and new vectors of these."""
        fitted, recipe = fit_methods(methods, settings, shards, n_jobs)
        serial = manifest["serial"] + 1
        for method in fitted:
            method.model.save(self._path(f"model-{method.name}", serial))
        entries: list[dict[str, Any]] = []
        for entry, shard in zip(manifest["shards"], shards, strict=True):
            for method in track(fitted, "making vectors", unit="methods"):
                articles = [
                    Article("", "", text, _fields(shard, row, method)) for row, text in enumerate(shard.texts())
                ]
                index = method.index(method.vectors(articles), shard.numbers_, n_jobs)
                index.save(self._path(method.name, serial + 1 + len(entries)))
            entries.append(entry | {"vectors": serial + 1 + len(entries)})
        return manifest | {
            "serial": serial + len(entries) + 1,
            "shards": entries,
            "trained": manifest["next"],
            "unknown": unknown_share(fitted, shards),
            "words": [0, 0],
            "journal": f"journal-{serial + len(entries) + 1:06d}",
            "methods": [
                {"name": method.name, "measure": method.measure, "model": f"model-{method.name}-{serial:06d}.mill"}
                for method in fitted
            ],
            "recipe": recipe,
        }

    def _write_documents(self, serial: int, articles: Sequence[Article], end: int) -> dict[str, Any]:
        numbers = range(end - len(articles), end)
        DocumentShard.of(articles, numbers).save(self._path("documents", serial))
        return {"serial": serial, "documents": len(articles), "dead": []}

    def _write_shard(self, serial: int, parts: Sequence[Part], methods: dict[str, Method]) -> dict[str, Any]:
        """One shard of what is alive in several parts, made by blocks in files."""
        rows = [np.flatnonzero(part.alive) for part in parts]
        numbers = [part.numbers[some] for part, some in zip(parts, rows, strict=True)]
        room = partial(scratch_array, self.folder)
        pieces = []
        for part, some in zip(parts, rows, strict=True):
            documents = part.documents
            if isinstance(documents, RecentDocuments):
                documents, some = documents.stored(some), np.arange(len(some))
            pieces.append((documents, some))
        DocumentShard.join(pieces, room).save(self._path("documents", serial))
        del pieces
        ids = np.concatenate(numbers)
        for name in methods:
            sources = [(part.indexes[name], some) for part, some in zip(parts, numbers, strict=True) if len(some)]
            join_indexes(sources, ids=ids, room=room).save(self._path(name, serial))
        return {"serial": serial, "vectors": serial, "documents": len(ids), "dead": []}

    def _append(self, snapshot: Snapshot, entries: list[dict[str, Any]]) -> Snapshot:
        """Take changes over: vectors first, since they may fail, then the journal, then the snapshot."""
        after = apply_entries(snapshot, entries)
        end = append_entries(self.folder / snapshot.manifest["journal"], entries, snapshot.journal_end)
        return replace(after, journal_end=end)

    def _replace(self, manifest: dict[str, Any], opened: Snapshot | None) -> Snapshot:
        """Put a new state in place of the old one."""
        from textmill import __version__

        append_entries(self.folder / manifest["journal"], [], 0)
        with replacing(self.folder / MANIFEST) as file:
            file.write(json.dumps(manifest | {"textmill": __version__}, sort_keys=True, indent=1).encode() + b"\n")
        snapshot = self.open(opened)
        self._sweep(_files_of(manifest))
        return snapshot

    def _sweep(self, names: set[str]) -> None:
        """Remove files of former states."""
        for entry in os.scandir(self.folder):
            if entry.name not in names and _OURS.fullmatch(entry.name) and not entry.name.startswith("neighbors-"):
                with contextlib.suppress(OSError):
                    if entry.name != "lock":
                        os.unlink(entry.path)

    def _opened(self, manifest: dict[str, Any], opened: Snapshot | None) -> Snapshot:
        before = {} if opened is None else {part.serial: part for part in opened.parts[:-1]}
        same = opened is not None and opened.manifest["methods"] == manifest["methods"]
        if same and opened is not None:
            methods = opened.methods
        else:
            before = {}
            methods = {
                entry["name"]: Method(entry["name"], load(self.folder / entry["model"]), entry["measure"])
                for entry in manifest["methods"]
            }
        parts = []
        for entry in manifest["shards"]:
            dead = np.asarray(entry["dead"], np.int64)
            part = before.get(entry["vectors"])
            if part is None:
                documents = load(self._path("documents", entry["serial"]), expect=DocumentShard)
                indexes = {name: load(self._path(name, entry["vectors"]), expect=Index) for name in methods}
                for index in indexes.values():
                    index.set_params(n_jobs=self._n_jobs)
                part = Part(documents, indexes, dead, entry["vectors"])
            parts.append(replace(part, dead=dead))
        parts.append(Part(RecentDocuments(), {}, np.zeros(0, np.int64)))
        words = tuple(manifest["words"])
        snapshot = Snapshot(manifest, tuple(parts), methods, manifest["next"], 0, words)
        entries, end = read_entries(self.folder / manifest["journal"])
        return replace(apply_entries(snapshot, entries), journal_end=end)

    def _manifest(self) -> dict[str, Any]:
        path = self.folder / MANIFEST
        try:
            manifest = json.loads(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            raise self._no_collection() from None
        except ValueError:
            raise ModelFileError(
                f"{path}: not JSON; the collection is damaged, restore a copy", reason="damaged"
            ) from None
        needed = {"serial", "shards", "next", "trained", "words", "journal", "methods", "recipe"}
        if not isinstance(manifest, dict) or not needed <= manifest.keys():
            raise ModelFileError(f"{path}: does not describe a collection; restore a copy", reason="foreign")
        if manifest.get("format") != _FORMAT:
            raise ModelFileError(
                f"{path}: has format {manifest.get('format')!r}, newer than this textmill; upgrade textmill",
                reason="too new",
            )
        return manifest

    def _no_collection(self) -> DataError:
        return DataError(
            f"no collection: there is no {MANIFEST}; make one with `textmill similar collect`",
            source=str(self.folder),
        )

    def _look(self) -> tuple[int, ...]:
        """What tells one state from another without reading it."""
        try:
            status = os.stat(self.folder / MANIFEST)
        except OSError:
            return ()
        return status.st_mtime_ns, status.st_size, status.st_ino

    def _path(self, name: str, serial: int) -> Path:
        return self.folder / f"{name}-{serial:06d}.mill"


def build_collection(
    store: Store, articles: Iterable[Article], methods: Any, settings: dict[str, Any], n_jobs: int | None
) -> None:
    """Make a collection, or leave the folder as if nothing had been tried."""
    fresh = not store.folder.exists()
    try:
        store.build(articles, methods, settings, n_jobs)
    except BaseException:
        if store.folder.is_dir() and not (store.folder / MANIFEST).exists():
            store._sweep(set())
            if fresh:
                with contextlib.suppress(OSError):
                    store.folder.rmdir()
        raise


def _counted(parts: Sequence[Part]) -> list[list[Part]]:
    """Each part by itself but the last ones, which are joined as in a binary counter."""
    groups = [[part] for part in parts[:-1]]
    last = [parts[-1]] if parts[-1].alive.any() else []
    while groups and last and _alive(groups[-1]) < 2 * _alive(last) and _fits([*groups[-1], *last]):
        last = [*groups.pop(), *last]
    return [*groups, last] if last else groups


def _filled(parts: Sequence[Part]) -> list[list[Part]]:
    """Neighboring parts joined as far as they fit; those without documents are dropped."""
    groups: list[list[Part]] = []
    for part in parts:
        if part.alive.any():
            if groups and _fits([*groups[-1], part]):
                groups[-1].append(part)
            else:
                groups.append([part])
    return groups


def _fits(group: Sequence[Part]) -> bool:
    """Whether parts are one shard in number and size."""
    return _alive(group) <= _SHARD and sum(part.documents.size for part in group) <= _CHARACTERS * 5 // 4


def _alive(group: Sequence[Part]) -> int:
    return sum(int(part.alive.sum()) for part in group)


def _is_there(article: Article, place: Place | None) -> bool:
    """Whether a collection has exactly this document."""
    return place is not None and place.part.documents.article(place.row) == article


def _files_of(manifest: dict[str, Any]) -> set[str]:
    """The names of the files that a state consists of."""
    names = {MANIFEST, "lock", manifest["journal"], *(entry["model"] for entry in manifest["methods"])}
    for entry in manifest["shards"]:
        names.add(f"documents-{entry['serial']:06d}.mill")
        names |= {f"{method['name']}-{entry['vectors']:06d}.mill" for method in manifest["methods"]}
    return names


def _fields(shard: Any, row: int, method: Method) -> dict[str, Any]:
    """The fields of a document, for methods that look at them."""
    return shard.article(row).fields if hasattr(method.model, "transform_articles") else {}
