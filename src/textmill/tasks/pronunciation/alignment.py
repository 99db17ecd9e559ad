"""From pairs of letters and phonemes to the target of every position: four ways to align a lexicon.

| method | links are weighted by |
|---|---|
| "bag" | counts of bags of symbols, interpolated with those of rules and a uniform distribution (evidence.py) |
| "em" | EM of the memoryless transducer, begun with those weights, rules as pseudo-counts |
| "bigram", "trigram" | the link before, or the two before, estimated on the alignments of "em" and iterated |

All of them insert at most `max_insertions_per_gap` phonemes between two letters. An entry that cannot be aligned (more
than 2n + 1 phonemes for n letters, a link of weight 0) is listed and has no targets.

Cost: O(n m) an entry, native. References: Jansche (2001); Ristad & Yianilos (1998), Learning string-edit distance.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from textmill._native import tasks as native
from textmill.arrays import Floats, Ids, Ints
from textmill.corpus import SkippedRecords
from textmill.errors import DataError
from textmill.fst import Link, StringAligner
from textmill.model import effective_jobs
from textmill.tasks.pronunciation.evidence import RulePair, bag_counts, make_aligner, pair_weights
from textmill.tasks.pronunciation.windows import EncodedWords, padded_targets

__all__ = ["METHODS", "AlignedLexicon", "align_by_nodes", "align_lexicon"]

METHODS = ("bag", "em", "bigram", "trigram")
_RULE_WEIGHT = 10.0  # what l1 = 1 adds to the expected counts of links, as a share of the number of entries / 10
_REFINEMENTS = 3  # times that a model of links and the alignments follow each other


@dataclass
class AlignedLexicon:
    """Entries with the target of each position.

    `targets` holds names of sounds, numbers into `names` ("" is nothing), for all positions of `words`; those of an
    entry without an alignment are -1. `links` are the weights that aligned them, `scores` the log probabilities.
    """

    words: EncodedWords
    letters: list[str]
    names: list[str]
    targets: Ids
    scores: Floats
    links: dict[Link, float]

    @property
    def aligned(self) -> Ints:
        """Numbers of the entries that have an alignment."""
        return np.flatnonzero(np.isfinite(self.scores))

    def position_rows(self, entries: Ints) -> Ints:
        """Positions of some entries, one after the other."""
        positions = self.words.positions
        lengths = np.diff(positions)[entries]
        ends = np.cumsum(lengths)
        starts = np.repeat(positions[:-1][entries] - ends + lengths, lengths)
        return np.asarray(starts + np.arange(int(ends[-1]) if len(ends) else 0))


def align_lexicon(
    pairs: Sequence[tuple[Sequence[str], Sequence[str]]],
    *,
    method: str = "em",
    rules: Sequence[RulePair] = (),
    weights: Sequence[float] = (0.0, 0.9, 0.1),
    max_insertions_per_gap: int | None = 1,
    both_empty: bool = False,
    evidence: Sequence[tuple[Sequence[str], Sequence[str]]] | None = None,
    n_jobs: int | None = None,
) -> AlignedLexicon:
    """Align letters with phonemes; `evidence` are the pairs that are counted, by default those that are aligned.

    >>> lexicon = align_lexicon([("tax", "taks"), ("at", "at"), ("xa", "ksa")], method="bag")
    >>> [lexicon.names[t] or "." for t in lexicon.targets[:7].tolist()]
    ['.', 't', '.', 'a', '.', 'k', 's']
    """
    counted = pairs if evidence is None else evidence
    of_rules = bag_counts(((rule.letters, rule.phonemes) for rule in rules), both_empty=both_empty)
    start = pair_weights(bag_counts(counted, both_empty=both_empty), of_rules, weights, both_empty=both_empty)
    if method == "bag":
        aligner = make_aligner(start, max_insertions_per_gap=max_insertions_per_gap, n_jobs=n_jobs)
    else:
        aligner = _trained(counted, start, of_rules, weights[0], max_insertions_per_gap, n_jobs)
    lexicon = _encoded(pairs, aligner)
    if method in ("bigram", "trigram"):
        if max_insertions_per_gap != 1:
            raise DataError(f"the alignment '{method}' needs max_insertions_per_gap=1")
        for _ in range(_REFINEMENTS):
            _realign_by_links(lexicon, pairs, method == "trigram", n_jobs)
    return lexicon


def _trained(
    pairs: Sequence[tuple[Sequence[str], Sequence[str]]],
    start: Mapping[Link, float],
    of_rules: Mapping[tuple[str, str], int],
    rule_weight: float,
    max_insertions_per_gap: int | None,
    n_jobs: int | None,
) -> StringAligner:
    """EM from the weights of bags; the pairs of rules are added to the counts of each step."""
    aligner = StringAligner(
        max_insertions_per_gap=max_insertions_per_gap,
        ties=("substitution", "insertion", "deletion"),
        max_iter=15,
        tolerance=1e-4,
        smoothing=1e-3,
        n_jobs=n_jobs,
    )
    total = sum(of_rules.values()) or 1
    scale = rule_weight * _RULE_WEIGHT * len(pairs) / 100.0
    prior: dict[Link, float] = {
        ((x,) if x else (), (y,) if y else ()): scale * count / total for (x, y), count in of_rules.items() if x or y
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkippedRecords)  # who calls lists these entries
        aligner.fit(pairs, start=start, prior=prior if scale > 0 else None, errors="skip")
    return aligner


def _encoded(pairs: Sequence[tuple[Sequence[str], Sequence[str]]], aligner: StringAligner) -> AlignedLexicon:
    """Best alignments as targets, without a Python object for each link."""
    letters = sorted({letter for own, _ in pairs for letter in own})
    words = EncodedWords.encode((own for own, _ in pairs), {letter: i for i, letter in enumerate(letters)})
    best = aligner.encode(pairs)
    links = aligner.links_
    phonemes = sorted({y for _, own in pairs for y in own})
    names = ["", *phonemes]
    number = {name: i for i, name in enumerate(names)}
    output = np.array([number.get(y[0], 0) if y else 0 for _, y in links], np.int32)  # others are never used
    has_input = np.array([bool(x) for x, _ in links])
    targets = np.full(int(words.positions[-1]), -1, np.int32)
    aligned = np.isfinite(best.log_probabilities)
    lengths = np.diff(best.begin)
    entry = np.repeat(np.arange(len(pairs)), lengths)
    step = has_input[best.links].astype(np.int64)
    before = np.cumsum(step) - step  # inputs before this link, over all entries
    first = np.zeros(len(pairs), np.int64)
    begun = lengths > 0
    first[begun] = before[best.begin[:-1][begun]]
    place = words.positions[:-1][entry] + 2 * (before - first[entry]) + step
    rows = np.repeat(aligned, np.diff(words.positions))
    targets[rows] = 0
    insertions = step == 0
    crowded = np.zeros(len(pairs), bool)
    if insertions.any():  # several in one gap become one compound sound
        _, inverse, sizes = np.unique(place[insertions], return_inverse=True, return_counts=True)
        crowded[entry[insertions][sizes[inverse] > 1]] = True
    targets[place] = output[best.links]
    for e in np.flatnonzero(crowded).tolist():
        alignment = aligner.align([pairs[e]])[0]
        if alignment is None:
            continue
        own = padded_targets(alignment)
        for name in own:
            if name not in number:
                number[name] = len(names)
                names.append(name)
        targets[words.positions[e] : words.positions[e + 1]] = [number[name] for name in own]
    table = dict(zip(links, np.exp(aligner.log_probabilities_).tolist(), strict=True))
    return AlignedLexicon(words, letters, names, targets, best.log_probabilities, table)


def _realign_by_links(
    lexicon: AlignedLexicon,
    pairs: Sequence[tuple[Sequence[str], Sequence[str]]],
    second_order: bool,
    n_jobs: int | None,
) -> None:
    """Estimate a model of links on the alignments (Witten & Bell's interpolation) and align anew by it."""
    words, sounds = lexicon.words, len(lexicon.names)
    empty_letter = len(lexicon.letters)
    code = np.full(len(lexicon.targets), empty_letter, np.int64)
    odd = np.ones(len(lexicon.targets), bool)
    odd[np.concatenate([np.arange(b, e, 2) for b, e in zip(words.positions, words.positions[1:], strict=False)])] = (
        False
    )
    code[odd] = words.letters
    used = (lexicon.targets >= 0) & ~((code == empty_letter) & (lexicon.targets == 0))
    keys, tokens = np.unique(code[used] * sounds + lexicon.targets[used], return_inverse=True)
    links = len(keys)
    table = np.full((empty_letter + 1) * sounds, -1, np.int32)
    table[keys] = np.arange(links)
    entry = np.repeat(np.arange(len(words)), np.diff(words.positions))[used]
    _, starts = np.unique(entry, return_index=True)
    streams = np.split(tokens, starts[1:]) if len(starts) else []
    history = np.concatenate([np.concatenate([[links, links], s, [links]]) for s in streams])
    edge = np.flatnonzero(history == links)
    follows = np.ones(len(history), bool)
    follows[edge] = False
    follows[np.cumsum([len(s) + 3 for s in streams]) - 1] = True  # the end of a word is an event, too
    at = np.flatnonzero(follows)
    c, d, e = history[at - 2], history[at - 1], history[at]
    size = links + 1
    unigram = np.bincount(e, minlength=size) + 0.1
    unigram = unigram / unigram.sum()
    counts = np.zeros((size, size))
    np.add.at(counts, (d, e), 1.0)
    kinds = np.count_nonzero(counts, axis=1)[:, None]
    totals = counts.sum(axis=1)[:, None]
    bigram = (counts + np.maximum(kinds, 1) * unigram) / (totals + np.maximum(kinds, 1))
    triples, triple_counts = np.unique((c * size + d) * size + e, return_counts=True)
    contexts, inverse = np.unique(triples // size, return_inverse=True)
    context_total = np.bincount(inverse, triple_counts)
    context_kinds = np.bincount(inverse)
    below = bigram[(triples // size) % size, triples % size]
    trigram = (triple_counts + context_kinds[inverse] * below) / (context_total + context_kinds)[inverse]
    backoff = context_kinds / (context_total + context_kinds)
    number = {name: i for i, name in enumerate(lexicon.names)}
    flat = np.array([number[y] for _, own in pairs for y in own], np.int32)
    offsets = np.concatenate([[0], np.cumsum([len(own) for _, own in pairs])]).astype(np.int64)
    lexicon.scores = native.align_links(
        words.offsets,
        words.letters,
        offsets,
        flat,
        table.reshape(empty_letter + 1, sounds),
        0,
        np.log(bigram),
        triples.astype(np.uint64) if second_order else np.zeros(0, np.uint64),
        np.log(trigram) if second_order else np.zeros(0),
        contexts.astype(np.uint64) if second_order else np.zeros(0, np.uint64),
        np.log(backoff) if second_order else np.zeros(0),
        second_order,
        lexicon.targets,
        effective_jobs(n_jobs),
    )


def align_by_nodes(
    words: EncodedWords,
    phonemes: Sequence[Sequence[str]],
    names: Mapping[str, int],
    nodes: Ids,
    log_probabilities: Floats,
    empty: int,
    threads: int,
) -> tuple[Ids, Floats]:
    """Align by what trees say of each position: targets and log probabilities; -1 and -inf where there is none."""
    flat = np.array([names[y] for own in phonemes for y in own], np.int32)
    offsets = np.concatenate([[0], np.cumsum([len(own) for own in phonemes])]).astype(np.int64)
    targets = np.empty(len(nodes), np.int32)
    scores = native.align_nodes(words.offsets, offsets, flat, nodes, log_probabilities, empty, targets, threads)
    return targets, scores
