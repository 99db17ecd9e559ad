"""What a joint model of observations and labels counts beside the table of a conditional one.

The pattern of a level is cut into its event, the commands at this token or behind it, and what was observed before:

    b:%x[0,0]/%t[-1,0,"^\\p{Lu}"]       event %x[0,0], before %t[-1,0,"^\\p{Lu}"]

G(event, label | before, labels before) is smoothed as native/sequence/counted.h says. It needs n and r of every pair
(before, labels before), which the table of counts has, and for each coarser event the number of finer ones that were
seen with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from textmill.arrays import Floats, Ids, Ints
from textmill.errors import ModelFileError
from textmill.sequence.encoder import Encoder
from textmill.sequence.encoding import Encoded
from textmill.sequence.patterns import Command, parse_patterns

__all__ = ["before_totals", "check_joint", "finer_shares", "joint_encoder", "joint_tests", "learn_joint", "merge_joint"]


def joint_encoder(chain: Sequence[str], n_jobs: int | None = None) -> Encoder:
    """An encoder with two patterns a level: its event, and what was observed before.

    >>> joint_encoder(["b0|:%x[0,0]/%x[-1,0]"]).patterns
    ['b0>%x[0,0]', 'b0<%x[-1,0]']
    """
    patterns = []
    for level, parsed in enumerate(parse_patterns(list(chain))):
        commands = [part for part in parsed.parts if isinstance(part, Command)]
        for mark, chosen in (
            (">", [one for one in commands if one.offset >= 0 and not one.absolute]),
            ("<", [one for one in commands if one.offset < 0 or one.absolute]),
        ):
            patterns.append(f"b{level}{mark}" + "/".join(map(_written, chosen)))
    return Encoder(patterns=patterns, n_jobs=n_jobs)


def learn_joint(encoder: Encoder, X: Iterable[Any], level: Ids, data: Encoded) -> tuple[Ids, Ids]:
    """For each test of the table the number of what was observed before; and all pairs of an event, coarse and finer.

    Pairs are rows (event of a level, event of the level before it), sorted.
    """
    parts = encoder.fit_encode(X)
    levels = int(level.max()) + 1
    events = parts.bigram.ids.reshape(-1, levels, 2)
    before_of = np.empty(len(level), np.int32)
    before_of[data.bigram.ids.reshape(-1, levels)] = events[:, :, 1]
    pairs = [events[:, [coarse, coarse - 1], 0] for coarse in range(1, levels)]
    return before_of, _distinct(np.concatenate(pairs) if pairs else np.empty((0, 2), np.int32))


def check_joint(encoder: Encoder | None, before_of: Ids | None, finer: Ids | None) -> None:
    """Raise unless what a file holds of a joint model belongs together."""
    if (encoder is None) != (before_of is None) or (encoder is None) != (finer is None):
        raise ModelFileError("a part of the joint model is missing", reason="damaged")
    if encoder is None or before_of is None or finer is None:
        return
    for events in (before_of, finer):
        if len(events) and not (events.min() >= 0 and events.max() < len(encoder.tests_)):
            raise ModelFileError("events of the joint model do not belong together", reason="damaged")
    if finer.shape[1] != 2:
        raise ModelFileError("pairs of events of the joint model must be pairs", reason="damaged")


def finer_shares(finer: Ids, events: int) -> Floats:
    """For each event 1 / (number of finer events seen with it + 1).

    >>> finer_shares(np.array([[2, 0], [2, 1]], np.int32), 3).round(4).tolist()
    [1.0, 1.0, 0.3333]
    """
    return np.asarray(1.0 / (1.0 + np.bincount(finer[:, 0], minlength=events)), np.float64)


def merge_joint(
    finer: Sequence[Ids], before_of: Sequence[Ids], numbers: Ints, events: Ints, tests: int
) -> tuple[Ids, Ids]:
    """`learn_joint` of the sequences of two models.

    `numbers` and `events` are the numbers that tests and events of the second model have in the merged one, which has
    so many `tests`; those of the first keep theirs.
    """
    both = np.empty(tests, np.int32)
    both[: len(before_of[0])] = before_of[0]
    both[numbers] = events[before_of[1]]
    return both, _distinct(np.concatenate([finer[0], events[finer[1]]]).astype(np.int32))


def _distinct(pairs: Ids) -> Ids:
    return np.ascontiguousarray(np.unique(pairs, axis=0)) if len(pairs) else np.empty((0, 2), np.int32)


def before_totals(table: tuple[Ints, Ids, Ints, Floats], before_of: Ids) -> tuple[Ints, Ids, Floats, Floats]:
    """n and r of what was observed before with each history of labels: offsets, histories, n, r.

    `table` is rows, histories, entries and counts of a model of counts.
    """
    rows, history, entries, counts = table
    before = before_of[np.repeat(np.arange(len(rows) - 1), np.diff(rows))].astype(np.int64)
    of_entry = np.repeat(np.arange(len(history)), np.diff(entries))
    width = int(history.max(initial=0)) + 1
    keys, place = np.unique(before * width + history, return_inverse=True)
    total = np.bincount(place[of_entry], weights=counts, minlength=len(keys)).astype(np.float64)
    distinct = np.bincount(place[of_entry], minlength=len(keys)).astype(np.float64)
    offsets = np.searchsorted(keys // width, np.arange(int(before_of.max(initial=-1)) + 2)).astype(np.int64)
    return offsets, (keys % width).astype(np.int32), total, distinct


def joint_tests(encoder: Encoder, X: Iterable[Any], data: Encoded, level: Ids, share_of: Floats) -> tuple[Any, ...]:
    """Tests, what was observed before, and shares of finer events, each [tokens, levels]."""
    parts = encoder.encode(X)
    levels = int(level.max()) + 1
    full = np.full((data.tokens, levels), -1, np.int32)
    token = np.repeat(np.arange(data.tokens), np.diff(data.bigram.indptr))
    full[token, level[data.bigram.ids]] = data.bigram.ids
    kinds = _kinds(encoder)
    event, before = (np.full((data.tokens, levels), -1, np.int32) for _ in range(2))
    token = np.repeat(np.arange(parts.tokens), np.diff(parts.bigram.indptr))
    kind = kinds[parts.bigram.ids]
    for out, odd in ((event, 0), (before, 1)):
        chosen = kind % 2 == odd
        out[token[chosen], kind[chosen] // 2] = parts.bigram.ids[chosen]
    share = np.ones((data.tokens, levels))
    patterns = encoder.patterns_[::2]
    for fine in range(levels - 1):
        if patterns[fine].partition(">")[2] != patterns[fine + 1].partition(">")[2]:
            coarse = event[:, fine + 1]
            share[:, fine] = np.where(coarse >= 0, share_of[np.maximum(coarse, 0)], 1.0)
    return full, before, share


def _kinds(encoder: Encoder) -> Ids:
    """Twice the level of each test, and 1 more where it is what was observed before."""
    kinds = []
    for test in encoder.tests_:
        place = min(at for at in (test.find(">"), test.find("<")) if at > 0)
        kinds.append(2 * int(test[1:place]) + (test[place] == "<"))
    return np.array(kinds, np.int32)


def _written(command: Command) -> str:
    """A command as it is written in a pattern."""
    name = command.name.capitalize() if command.lower and len(command.name) > 1 else command.name
    name = name.upper() if command.lower and len(name) == 1 else name
    inner = f"{'@' if command.absolute else ''}{command.offset},{command.column}"
    if command.argument is not None:
        inner += f",{command.argument}" if command.name in ("prefix", "suffix") else f',"{command.argument}"'
    return f"%{name}[{inner}]"
