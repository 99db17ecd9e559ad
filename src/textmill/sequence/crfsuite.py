"""Model files of CRFsuite, as its trainer and python-crfsuite write and open them.

All numbers are little-endian, 32 bits wide but for the weights; a place is counted from the start of the file, in a
table of strings from the start of that table.

    lCRF, size of the file, FOMC, version 100, 0, labels L, attributes A, places of the five parts below
    FEAT, size, F; then F times: 0 (attribute to label) or 1 (label to label), source, label, weight (float64)
    CQDB  the labels                 LFRF, size, L + 2, places; at each a count and the numbers of features from a label
    CQDB  the attributes             AFRF, size, A, places; at each a count and the numbers of features of an attribute

    CQDB, size, 0, byte order, n, place of the n places by number; 256 times place and size of a hash table;
          n times: number, length, bytes and a zero; then the tables, half empty, of (hash, place): the string with
          hash h is in table h mod 256, at slot (h / 256) mod size or the next free one. h is Jenkins' hashlittle.

CRFsuite has one weight for each pair of labels, so of bigram tests only those that are true at every token can be
written. An attribute of ours becomes one of CRFsuite; a test that a pattern has made becomes an attribute of that name,
and `attributes_of` says which of them the tokens have. Weights go over without rounding.

Everything that is read is checked: sizes, places, numbers, hashes, and that each feature is listed where it belongs.
Cost: linear in the size of the file. References: Okazaki (2007), CRFsuite 0.12 and CQDB; Jenkins (2006), lookup3.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textmill.errors import DataError, ModelFileError, reason_of
from textmill.files import replacing
from textmill.model import StringTable
from textmill.numeric import sparse
from textmill.sequence.encoder import Encoder
from textmill.sequence.formats import ChainWeights
from textmill.sequence.patterns import Command, parse_patterns

__all__ = ["attributes_of", "read_crfsuite", "write_crfsuite"]

_HEADER = struct.Struct("<4sI4s9I")
_CHUNK = struct.Struct("<4sII")
_QUARKS = struct.Struct("<4sIIIII")
_FEATURE = np.dtype([("kind", "<u4"), ("source", "<u4"), ("label", "<u4"), ("weight", "<f8")])
_ORDER = 0x62445371  # says that numbers are little-endian
_TABLES = 256
_RECORDS = _QUARKS.size + 8 * _TABLES  # where the strings of a table begin
_LARGEST = 1 << 32
_INITIAL = 0xDEADBEEF


def read_crfsuite(path: str | os.PathLike[str]) -> ChainWeights:
    """Read a model file of CRFsuite.

    >>> encoder = Encoder().fit([[{"w": "a"}, {"w": "b"}]])
    >>> mu, pairs = sparse.csr_matrix([[2.0, 0], [0, 1]]), sparse.csr_matrix([[0, 0.5, 0, 0]])
    >>> write_crfsuite(ChainWeights("crf", ["A", "B"], encoder, mu, pairs), "tiny.crfsuite")
    >>> model = read_crfsuite("tiny.crfsuite")
    >>> model.classes, model.encoder.tests_.to_list(), model.unigram.toarray().tolist(), model.bigram.toarray().tolist()
    (['A', 'B'], ['b', 'uw:a', 'uw:b'], [[2.0, 0.0], [0.0, 1.0]], [[0.0, 0.5, 0.0, 0.0]])
    """
    try:
        return _weights(Path(path).read_bytes())
    except OSError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error.strerror or error}", reason="unreadable") from None
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}", reason=reason_of(error)) from None


def write_crfsuite(weights: ChainWeights, path: str | os.PathLike[str]) -> None:
    """Write a model file that CRFsuite and python-crfsuite open; see the module on what can be written.

    >>> encoder = Encoder(patterns=["u:w=%x[0,0]", "b:w=%x[0,0]"]).fit(["a"])
    >>> write_crfsuite(ChainWeights("crf", ["A"], encoder, sparse.csr_matrix([[1.0]]), sparse.csr_matrix([[2.0]])), "m")
    Traceback (most recent call last):
    textmill.errors.DataError: CRFsuite knows pairs of labels only without a test, so 'b:w=a' cannot be written; train \
with the plain pattern b, or write .mill
    """
    if weights.kind == "memm":
        raise DataError("CRFsuite has no conditional Markov models; write .mill or .wapiti, or train a CRF")
    if weights.encoder.hash_bits is not None:
        raise DataError("hashed tests have no names, so CRFsuite cannot find them; train without hash_bits")
    small = weights.compact()
    pairs = _pairs(small)
    numbers, _ = small.encoder.numbers()
    tests = small.encoder.tests_.to_list()
    keep = np.flatnonzero(numbers >= 0)
    keep = keep[np.diff(small.unigram.indptr)[numbers[keep]] > 0]
    attributes = [_attribute(small.encoder, tests[i]) for i in keep.tolist()]
    mu = small.unigram[numbers[keep]].tocoo()
    parts = [(0, mu.row, mu.col, mu.data), (1, pairs.row, pairs.col, pairs.data)]
    data = _file(weights.classes, attributes, np.concatenate([_features(*part) for part in parts]))
    with replacing(path) as file:
        file.write(data)


def attributes_of(encoder: Encoder, X: Iterable[Any]) -> list[list[dict[str, float]]]:
    """The attributes of every token, by the names that `write_crfsuite` gives them, for CRFsuite's own tagger.

    >>> encoder = Encoder(patterns=["u:w=%x[0,0]", "b"]).fit([[("the",), ("mill",)]])
    >>> attributes_of(encoder, [[("a",), ("mill",)]])
    [[{}, {'u:w=mill': 1.0}]]
    """
    if encoder.hash_bits is not None:
        raise DataError("hashed tests have no names; train without hash_bits")
    data = encoder.encode(X)
    unigram, _ = encoder.numbers()
    tests = encoder.tests_.to_list()
    names = {int(u): _attribute(encoder, test) for test, u in zip(tests, unigram.tolist(), strict=True) if u >= 0}
    ends = data.unigram.indptr.tolist()
    ids = data.unigram.ids.tolist()
    values = [1.0] * len(ids) if data.unigram.values is None else data.unigram.values.tolist()
    tokens: list[dict[str, float]] = []
    for begin, end in pairwise(ends):
        token: dict[str, float] = {}
        for i in range(begin, end):
            token[names[ids[i]]] = token.get(names[ids[i]], 0.0) + values[i]
        tokens.append(token)
    offsets = data.offsets.tolist()
    return [tokens[begin:end] for begin, end in pairwise(offsets)]


def _attribute(encoder: Encoder, test: str) -> str:
    """Attributes of tokens have a u before them that CRFsuite does not know; other tests are called as they are."""
    return test[1:] if not encoder.patterns_ and encoder.syntax != "wapiti" else test


def _pairs(weights: ChainWeights) -> sparse.coo_matrix:
    """The weights of pairs of labels [Y, Y]; an error if some hold only at some tokens."""
    encoder, Y = weights.encoder, len(weights.classes)
    everywhere = {"b"} if not encoder.patterns_ and encoder.syntax != "wapiti" else set()
    for pattern in parse_patterns(encoder.patterns_, syntax=encoder.syntax) if encoder.patterns_ else ():
        if not any(isinstance(part, Command) for part in pattern.parts):
            everywhere.add(pattern.text)
    _, bigram = encoder.numbers()
    used = bigram >= 0
    used[used] = np.diff(weights.bigram.indptr)[bigram[used]] > 0
    for i in np.flatnonzero(used).tolist():
        if encoder.tests_[i] not in everywhere:
            fault = f"CRFsuite knows pairs of labels only without a test, so {encoder.tests_[i]!r} cannot be written"
            raise DataError(f"{fault}; train with the plain pattern b, or write .mill")
    total = sparse.csr_matrix(weights.bigram[bigram[used]].sum(axis=0))
    return sparse.coo_matrix(total.reshape((Y, Y)))


def _features(kind: int, source: Any, label: Any, weight: Any) -> NDArray[Any]:
    order = np.lexsort((label, source))
    features = np.zeros(len(order), _FEATURE)
    features["kind"], features["source"] = kind, np.asarray(source)[order]
    features["label"], features["weight"] = np.asarray(label)[order], np.asarray(weight)[order]
    used: NDArray[Any] = features[features["weight"] != 0]
    return used


def _file(labels: list[str], attributes: list[str], features: NDArray[Any]) -> bytes:
    """The bytes of a model."""
    out = bytearray(_HEADER.size)
    places = [len(out)]
    out += _CHUNK.pack(b"FEAT", _CHUNK.size + features.nbytes, len(features)) + features.tobytes()
    for strings in (labels, attributes):
        places.append(len(out))
        out += _quarks(strings)
    out += bytes(-len(out) % 4)
    for name, kind, count, spare in ((b"LFRF", 1, len(labels), 2), (b"AFRF", 0, len(attributes), 0)):
        places.append(len(out))
        numbers = np.flatnonzero(features["kind"] == kind)
        out += _references(name, len(out), features["source"][numbers], numbers, count, spare)
    if len(out) >= _LARGEST:
        raise DataError("CRFsuite's files end at 4 GB, and this model is larger; drop weights with a larger l1")
    out[: _HEADER.size] = _HEADER.pack(b"lCRF", len(out), b"FOMC", 100, 0, len(labels), len(attributes), *places)
    return bytes(out)


def _references(
    name: bytes, begin: int, source: NDArray[Any], numbers: NDArray[np.int64], count: int, spare: int
) -> bytes:
    """For each of `count` sources the numbers of its features, which are sorted by source."""
    sizes = np.bincount(source, minlength=count)
    first = begin + _CHUNK.size + 4 * (count + spare)
    places = first + 4 * (np.arange(count) + np.cumsum(sizes) - sizes)
    lists = np.insert(numbers, np.cumsum(sizes) - sizes, sizes) if count else numbers
    head = np.concatenate([places, np.zeros(spare, np.int64)]).astype("<u4").tobytes()
    size = _CHUNK.size + len(head) + 4 * len(lists)
    return _CHUNK.pack(name, size, count + spare) + head + lists.astype("<u4").tobytes()


def _quarks(strings: list[str]) -> bytes:
    """A table of strings."""
    keys = [text.encode("utf-8") + b"\0" for text in strings]
    for text, key in zip(strings, keys, strict=True):
        if key.index(0) < len(key) - 1:
            raise DataError(f"{text!r} holds a zero byte, at which CRFsuite ends a name; rename it")
    hashes = _hashes(keys)
    sizes = np.fromiter(map(len, keys), np.int64, len(keys))
    places = _RECORDS + np.cumsum(8 + sizes) - (8 + sizes)
    records = b"".join(struct.pack("<II", i, len(key)) + key for i, key in enumerate(keys))
    counts = np.bincount(hashes % _TABLES, minlength=_TABLES)
    begin = _RECORDS + len(records)
    heads = np.zeros((_TABLES, 2), "<u4")
    heads[:, 0] = np.where(counts > 0, begin + 16 * (np.cumsum(counts) - counts), 0)
    heads[:, 1] = 2 * counts
    tables = np.zeros((2 * len(keys), 2), "<u4")
    first = (2 * (np.cumsum(counts) - counts)).tolist()
    slots = (2 * counts).tolist()
    taken = set()
    for hash_, place in zip(hashes.tolist(), places.tolist(), strict=True):
        table = hash_ % _TABLES
        slot = (hash_ >> 8) % slots[table]
        while first[table] + slot in taken:
            slot = (slot + 1) % slots[table]
        taken.add(first[table] + slot)
        tables[first[table] + slot] = hash_, place
    by_number = places.astype("<u4").tobytes()
    end = begin + tables.nbytes
    head = _QUARKS.pack(b"CQDB", end + len(by_number), 0, _ORDER, len(keys), end)
    return head + heads.tobytes() + records + tables.tobytes() + by_number


def _hashes(keys: list[bytes]) -> NDArray[np.int64]:
    """Jenkins' hashlittle of every key, which has at least one byte; many keys at a time."""
    hashes = np.empty(len(keys), np.int64)
    blocks = np.fromiter(((len(key) - 1) // 12 for key in keys), np.int64, len(keys))
    for full in np.unique(blocks).tolist():
        chosen = np.flatnonzero(blocks == full)
        padded = b"".join(keys[i].ljust(12 * (full + 1), b"\0") for i in chosen.tolist())
        words = np.frombuffer(padded, "<u4").reshape(len(chosen), -1)
        lengths = np.fromiter((len(keys[i]) for i in chosen.tolist()), np.uint32, len(chosen))
        a = lengths + np.uint32(_INITIAL)
        b, c = a.copy(), a.copy()
        for block in range(full):
            a, b, c = _mix(*(x + words[:, 3 * block + i] for i, x in enumerate((a, b, c))))
        hashes[chosen] = _final(*(x + words[:, 3 * full + i] for i, x in enumerate((a, b, c))))
    return hashes


def _rotated(x: NDArray[np.uint32], bits: int) -> NDArray[np.uint32]:
    return (x << np.uint32(bits)) | (x >> np.uint32(32 - bits))


def _mix(a: Any, b: Any, c: Any) -> tuple[Any, Any, Any]:
    for bits in (4, 6, 8, 16, 19, 4):
        a = (a - c) ^ _rotated(c, bits)
        c = c + b
        a, b, c = b, c, a
    return a, b, c


def _final(a: Any, b: Any, c: Any) -> Any:
    for bits in (14, 11, 25, 16, 4, 14, 24):
        c = (c ^ b) - _rotated(b, bits)
        a, b, c = b, c, a
    return b


def _weights(data: bytes) -> ChainWeights:
    """The model in a file."""
    if data[:4] != b"lCRF":
        raise ModelFileError("not a model of CRFsuite, which begins with lCRF", reason="foreign")
    if len(data) < _HEADER.size:
        raise ModelFileError("the file ends inside its header; was the copy finished?", reason="truncated")
    _, size, kind, version, _, labels, attributes, *places = _HEADER.unpack_from(data)
    if size != len(data):
        raise ModelFileError(
            f"the file has {len(data)} bytes but says {size}; was the copy finished?", reason="truncated"
        )
    if kind != b"FOMC" or version != 100:
        raise ModelFileError(
            f"a model of type {kind!r} and version {version}, not a chain of version 100", reason="foreign"
        )
    begin, count = _chunk(data, places[0], b"FEAT")
    if begin + count * _FEATURE.itemsize > len(data):
        raise _damaged("more features than there is room for", places[0])
    features = np.frombuffer(data, _FEATURE, count, begin)
    classes = _strings(data, places[1], labels)
    names = _strings(data, places[2], attributes)
    if not classes:
        raise ModelFileError("there are no labels", reason="damaged")
    state = features["kind"] == 0
    for rule, fault in (
        (features["kind"] <= 1, "is of no known kind"),
        (features["label"] < labels, "has no label"),
        (features["source"] < np.where(state, attributes, labels), "has no attribute or label before"),
        (np.isfinite(features["weight"]), "has a weight that is not finite"),
    ):
        if not rule.all():
            raise _damaged(f"feature {int(np.argmin(rule))} {fault}", begin)
    _check_references(data, places[3], b"LFRF", labels, features, np.flatnonzero(~state))
    _check_references(data, places[4], b"AFRF", attributes, features, np.flatnonzero(state))
    encoder = Encoder()
    encoder.patterns_, encoder.width_ = [], 0
    encoder.tests_ = StringTable(["b", *("u" + name for name in names)])
    encoder.verify()
    mu, pairs = features[state], features[~state]
    unigram = sparse.csr_matrix((mu["weight"], (mu["source"], mu["label"])), (attributes, labels))
    column = pairs["source"].astype(np.int64) * labels + pairs["label"]
    bigram = sparse.csr_matrix((pairs["weight"], (np.zeros(len(pairs), int), column)), (1, labels * labels))
    return ChainWeights("crf", classes, encoder, unigram, bigram)


def _damaged(fault: str, place: int) -> ModelFileError:
    return ModelFileError(f"{fault}, at byte {place}; the file is damaged", reason="damaged")


def _chunk(data: bytes, place: int, name: bytes) -> tuple[int, int]:
    """Where what a chunk holds begins, and its number of items."""
    if place + _CHUNK.size > len(data) or data[place : place + 4] != name:
        raise _damaged(f"there is no part {name.decode()}", place)
    _, size, count = _CHUNK.unpack_from(data, place)
    if place + size > len(data) or size < _CHUNK.size:
        raise _damaged(f"the part {name.decode()} has an impossible size", place)
    return place + _CHUNK.size, count


def _strings(data: bytes, begin: int, count: int) -> list[str]:
    """The strings of a table by their numbers."""
    if begin + _RECORDS > len(data) or data[begin : begin + 4] != b"CQDB":
        raise _damaged("there is no table of strings", begin)
    _, size, _, order, n, by_number = _QUARKS.unpack_from(data, begin)
    if order != _ORDER:
        raise ModelFileError(
            "the table of strings has another order of bytes; convert the model where it was trained", reason="foreign"
        )
    if not _RECORDS <= by_number <= by_number + 4 * n <= size <= len(data) - begin or n != count:
        raise _damaged("a table of strings has an impossible size", begin)
    table = data[begin : begin + size]
    places = np.frombuffer(table, "<u4", n, by_number).tolist()
    keys = []
    for number, place in enumerate(places):
        if not _RECORDS <= place <= size - 8:
            raise _damaged(f"string {number} is outside its table", begin)
        own, length = struct.unpack_from("<II", table, place)
        key = table[place + 8 : place + 8 + length]
        if own != number or not key or len(key) != length or key.find(b"\0") != length - 1:
            raise _damaged(f"string {number} is not what it should be", begin + place)
        keys.append(key)
    _check_hashes(table, begin, keys, places)
    try:
        strings = [key[:-1].decode("utf-8") for key in keys]
    except UnicodeDecodeError as error:
        raise ModelFileError(
            f"the name {error.object!r} is not UTF-8; train the model on UTF-8 data", reason=reason_of(error)
        ) from None
    if len(set(strings)) < len(strings):
        raise _damaged("a string is twice in a table", begin)
    return strings


def _check_hashes(table: bytes, begin: int, keys: list[bytes], places: list[int]) -> None:
    """An error unless the hash tables hold exactly these strings."""
    heads = np.frombuffer(table, "<u4", 2 * _TABLES, _QUARKS.size).reshape(_TABLES, 2).astype(np.int64)
    ends = heads[:, 0] + 8 * heads[:, 1]
    if (ends > len(table)).any() or heads[:, 1].sum() > len(table) // 8:
        raise _damaged("a hash table has an impossible size", begin)
    entries = [np.empty((0, 2), np.int64)]
    for number in np.flatnonzero(heads[:, 1]).tolist():
        place, slots = heads[number].tolist()
        slot = np.frombuffer(table, "<u4", 2 * slots, place).reshape(slots, 2).astype(np.int64)
        used = slot[slot[:, 1] != 0]
        if (used[:, 0] % _TABLES != number).any():
            raise _damaged("a hash is in the wrong table", begin)
        entries.append(used)
    stored = np.concatenate(entries)
    expected = np.column_stack([_hashes(keys), np.array(places, np.int64)]).reshape(-1, 2)
    if not np.array_equal(stored[np.argsort(stored[:, 1])], expected[np.argsort(expected[:, 1])]):
        raise _damaged("strings and their hashes do not agree", begin)


def _check_references(
    data: bytes, place: int, name: bytes, count: int, features: NDArray[Any], numbers: NDArray[np.int64]
) -> None:
    """An error unless each of these features is listed once, at its source."""
    begin, listed = _chunk(data, place, name)
    if listed < count or begin + 4 * listed > len(data):
        raise _damaged(f"the part {name.decode()} has an impossible size", place)
    words = np.frombuffer(data, "<u4", (len(data) - begin) // 4, begin)
    at = np.frombuffer(data, "<u4", listed, begin)[:count].astype(np.int64) - begin
    if count and (at.min() < 0 or (at % 4).any() or at.max() // 4 >= len(words)):
        raise _damaged(f"the part {name.decode()} points outside the file", place)
    sizes = words[at // 4].astype(np.int64)
    if sizes.sum() != len(numbers) or (count and (at // 4 + sizes).max() >= len(words)):
        raise _damaged(f"the part {name.decode()} does not list each feature once", place)
    first = np.repeat(at // 4 + 1 - (np.cumsum(sizes) - sizes), sizes)
    ids = words[first + np.arange(len(numbers))].astype(np.int64)
    owner = np.repeat(np.arange(count), sizes)
    if not np.array_equal(np.sort(ids), numbers) or not np.array_equal(features["source"][ids], owner):
        raise _damaged(f"the part {name.decode()} does not list each feature once", place)
