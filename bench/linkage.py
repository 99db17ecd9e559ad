"""Learned matching of records: textmill with labels and without, against its default measure and splink.

    TEXTMILL_DATA=... python -m bench linkage

Sets       the name sets of $TEXTMILL_DATA and generated names; of ucdPeopleCluster only the first ninety names have
           keys, and these are ucdPeopleMatch, so it is left out
Labels     200 pairs (all, if a half has fewer), by random choice or by `suggest_labels` in rounds of 25 after 50
           spaced ones, taken from the pairs of one half of the left records. F is that of the other half, at the
           threshold that each method would use without knowing it: 0.5 for probabilities, 0.6 for the default measure,
           or ("tuned") the best threshold of the default measure on the random labels. Both halves change roles.
           "best" is the F at the best threshold, which nobody knows. "rest" is F on all pairs without a
           label instead: after an active choice these are easy ones
splink     version 5 on DuckDB: Jaro-Winkler of the name, of its first and its last word, number of common words; pairs
           that share a word are compared; u by random pairs, m by EM, or by the same labels
Nothing is chosen by the name of a set, and measures, penalties and levels are the same for all.

100 - F    what is missing to 100, macro average over the sets; a peer is beaten where the ratio is above 1
s CPU      processor seconds from names to probabilities of pairs
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from bench._linked_lists import Linked, lists, splink_pairs
from bench.harness import Job, Options
from bench.names import best_f1
from textmill.errors import DataError
from textmill.tasks.names import (
    Candidates,
    FellegiSunter,
    Gold,
    LearnedMatcher,
    NameList,
    RecordList,
    RecordMatcher,
    generate_names,
    read_names,
    suggest_labels,
)
from textmill.tasks.names.records import plain_form

PACKAGES = ["splink", "duckdb"]

SETS = ("birdKunkel", "business", "gameExtracted", "parks", "restaurant", "ucdPeopleMatch", "vaUniv", "synthetic")
LABELS = 200
SEEDS = 1  # of halves and random labels
METHODS = ("learned, random", "learned, active", "EM", "default at 0.6", "default, tuned", "splink EM", "splink labels")

_tables: list[str] = []


@dataclass(frozen=True, eq=False)
class Collection:
    """A set: its records, the true pairs by position, and our candidates."""

    name: str
    left: NameList
    right: NameList | None
    truth: set[tuple[int, int]]
    candidates: Candidates

    @property
    def records(self) -> tuple[RecordList, RecordList | None]:
        return RecordList.of_names(self.left), None if self.right is None else RecordList.of_names(self.right)

    def is_true(self, i: Any, j: Any) -> Any:
        return np.fromiter(((a, b) in self.truth for a, b in zip(i.tolist(), j.tolist(), strict=True)), bool, len(i))


def jobs(options: Options) -> list[Job]:
    """Quality, then processor time."""
    warnings.simplefilter("ignore")
    logging.getLogger("splink").setLevel(logging.ERROR)
    sets = [_collection(options.data / "names", name) for name in (SETS[3:4] if options.quick else SETS)]
    figures = cache(partial(_all_figures, sets, 1 if options.quick else SEEDS))
    pairs = [
        ("learned, active", "default at 0.6"),
        ("learned, random", "default at 0.6"),
        ("learned, active", "default, tuned"),
        ("learned, random", "default, tuned"),
        ("learned, active", "splink labels"),
        ("learned, random", "splink labels"),
        ("EM", "splink EM"),
        ("EM", "default at 0.6"),
    ]
    made = []
    for figure, title in (("F", "100 - F at threshold"), ("best", "100 - best F"), ("rest", "100 - F of the rest")):
        for ours, peer in pairs:
            if figure == "F" or (figure == "best" and peer != "default, tuned"):
                made.append(_against(title, figure, ours, peer, figures))
        if figure == "rest":
            made += [_against(title, figure, ours, "default at 0.6", figures) for ours in METHODS[:2]]
    for one in sets:
        if len(one.candidates) > 1000 or options.quick:
            labels = _labels(one, np.arange(len(one.candidates)), "random", 0)
            claims = {"figure": "processor", "claim": "from names to probabilities"}
            for title, ours, peer in (
                ("labels", partial(_learn, one, labels), partial(_splink, one, labels)),
                ("EM", partial(_em, one), partial(_splink, one, None)),
            ):
                made.append(Job(f"{one.name}, {title}", ours, peer, "splink", partial(str, _size(one)), **claims))
    return [*made, *_list_jobs(options)]


def _list_jobs(options: Options) -> list[Job]:
    """Lists of records of several fields without labels: F at a probability of 0.5, and processor time."""
    made = []
    for one in lists(options.data, quick=options.quick):
        ours, peer = cache(partial(_linked, one)), cache(partial(_linked_by_splink, one))
        size = f"{len(one.records)} records, {len(one.truth)} true pairs"

        def quality(ours: Any = ours, peer: Any = peer, size: str = size) -> str:
            shown = [f"P {p:.3f} R {r:.3f} F {f:.3f}" for p, r, f in (ours(), peer())]
            return f"{size}; {shown[0]}, splink {shown[1]}"

        def loss(figures: Any) -> float:
            return 100.0 - 100.0 * float(figures()[2])

        made.append(
            Job(f"100 - F, {one.name}", partial(loss, ours), partial(loss, peer), "splink", quality, "returned", "F")
        )
        claims = {"figure": "processor", "claim": "from records to probabilities"}
        mine, theirs = partial(_linked, one), partial(_linked_by_splink, one)
        made.append(Job(f"time, {one.name}", mine, theirs, "splink", partial(str, size), **claims))
    return made


def _linked(one: Linked) -> tuple[float, float, float]:
    matcher = FellegiSunter(fields=one.fields, n_jobs=2)
    candidates = matcher.candidates(one.records)
    _, p = matcher.fit(one.records, candidates=candidates).scores(one.records, candidates=candidates)
    return one.figures(candidates.left, candidates.right, p)


def _linked_by_splink(one: Linked) -> tuple[float, float, float]:
    return one.figures(*splink_pairs(one))


def appendix() -> str:
    """All figures by set."""
    return "\n".join(_tables)


def _against(title: str, figure: str, ours: str, peer: str, figures: Callable[[], dict[str, Any]]) -> Job:
    def mean(method: str) -> float:
        return 100.0 - float(np.mean([row[method, figure] for row in figures().values()]))

    def quality() -> str:
        gains = [row[ours, figure] - row[peer, figure] for row in figures().values()]
        return (
            f"F gains {np.mean(gains):+.1f} on average, {min(gains):+.1f} to {max(gains):+.1f} over {len(gains)} sets"
        )

    return Job(f"{title}, {ours}", partial(mean, ours), partial(mean, peer), peer, quality, "returned", "F")


def _all_figures(sets: list[Collection], seeds: int) -> dict[str, dict[tuple[str, str], float]]:
    """F at the threshold, best F and F of the rest, in percent, by set and method."""
    found: dict[str, dict[tuple[str, str], float]] = {}
    for one in sets:
        runs = [run for seed in range(seeds) for run in _runs(one, seed)]
        found[one.name] = {key: 100 * float(np.mean([run[key] for run in runs if key in run])) for key in runs[0]}
    for figure in ("F", "best", "rest"):
        methods = [method for method in METHODS if all((method, figure) in row for row in found.values())]
        _tables.append(f"{'F, ' + figure:<16}" + "".join(f"{method:>17}" for method in methods))
        rows = {name: [row[method, figure] for method in methods] for name, row in found.items()}
        columns = np.array(list(rows.values()))
        rows |= {"worst": columns.min(axis=0), "best": columns.max(axis=0), "mean": columns.mean(axis=0)}
        _tables.extend(f"{name:<16}" + "".join(f"{value:17.1f}" for value in row) for name, row in rows.items())
    return found


def _runs(one: Collection, seed: int) -> list[dict[tuple[str, str], float]]:
    """Figures with labels from either half."""
    half = np.random.default_rng(seed).random(len(one.left)) < 0.5
    pairs = one.candidates
    y = one.is_true(pairs.left, pairs.right)
    base = RecordMatcher(n_jobs=2).scores(*one.records, candidates=pairs)[1]
    probabilities = {"EM": _cached_em(one), "splink EM": _cached_splink(one)}
    found = []
    for side in (half, ~half):
        run: dict[tuple[str, str], float] = {}
        inside, outside = np.flatnonzero(side[pairs.left]), ~side
        score = partial(_score, one, outside)
        random, active = (_labels(one, inside, how, seed) for how in ("random", "active"))
        for name, labels in (("learned, random", random), ("learned, active", active)):
            learned = LearnedMatcher(n_jobs=2).fit(
                one.records[0], _gold(one, labels), other=one.records[1], candidates=pairs
            )
            p = learned.scores(*one.records, candidates=pairs)[1]
            run |= score(name, pairs.left, pairs.right, p, 0.5)
            rest = np.ones(len(pairs), bool)
            rest[labels] = False
            total = len(one.truth) - int(y[labels].sum())
            run[name, "rest"] = _f(p[rest] >= 0.5, y[rest], total)
            if name == "learned, random":
                run["default at 0.6", "rest"] = _f(base[rest] >= 0.6, y[rest], total)
        run |= score("default at 0.6", pairs.left, pairs.right, base, 0.6)
        run |= score("default, tuned", pairs.left, pairs.right, base, _tuned(base[random], y[random]))
        for name, (i, j, p) in probabilities.items():
            run |= score(name, i, j, p, 0.5)
        run |= score("splink labels", *_splink(one, random), 0.5)
        found.append(run)
    return found


def _score(
    one: Collection, test: Any, method: str, i: Any, j: Any, scores: Any, threshold: float
) -> dict[tuple[str, str], float]:
    """F on the pairs whose left record is in the half for tests."""
    keep = test[i]
    y, p = one.is_true(i[keep], j[keep]), scores[keep]
    total = sum(bool(test[a]) for a, _ in one.truth)
    best = best_f1(np.append(p, [-1.0] * (total - int(y.sum()))), np.append(y, [True] * (total - int(y.sum()))))
    return {(method, "F"): _f(p >= threshold, y, total), (method, "best"): best}


def _f(chosen: Any, y: Any, total: int) -> float:
    return 2 * float((chosen & y).sum()) / max(1.0, float(chosen.sum() + total))


def _tuned(scores: Any, y: Any) -> float:
    cuts = np.unique(scores)
    return float(cuts[int(np.argmax([_f(scores >= cut, y, int(y.sum())) for cut in cuts]))])


@cache
def _collection(folder: Path, name: str) -> Collection:
    if name == "synthetic":
        made: NameList = generate_names(random_state=0)
        left, right = made, None
    else:
        path = folder / f"{name}.txt"
        try:
            made = read_names(path, format="secondstring")
        except DataError:  # not UTF-8
            made = read_names(path, format="secondstring", encoding="latin-1")
        left, right = made.split() if len(set(made.relations or ())) == 2 else (made, None)
        left, right = _once(left), None if right is None else _once(right)
    i, j, _ = Gold.from_clusters(left, right).places(left, right)
    records = RecordList.of_names(left), None if right is None else RecordList.of_names(right)
    candidates = RecordMatcher(n_jobs=2).candidates(*records)
    return Collection(name, left, right, set(zip(i.tolist(), j.tolist(), strict=True)), candidates)


def _once(names: NameList) -> NameList:
    """Each name once."""
    return names.select(sorted({text: i for i, text in reversed(list(enumerate(names.names)))}.values()))


def _size(one: Collection) -> str:
    records = len(one.left) + (0 if one.right is None else len(one.right))
    return f"{records} names, {len(one.candidates)} pairs compared here"


def _gold(one: Collection, positions: Any) -> Gold:
    pairs, right = one.candidates, one.left if one.right is None else one.right
    i, j = pairs.left[positions], pairs.right[positions]
    label = np.where(one.is_true(i, j), "pos", "neg").tolist()
    keys = [(one.left.ids[a], right.ids[b]) for a, b in zip(i.tolist(), j.tolist(), strict=True)]
    return Gold(dict(zip(keys, label, strict=True)), symmetric=one.right is None)


def _labels(one: Collection, inside: Any, how: str, seed: int) -> Any:
    """Positions of the candidates that get a label; both kinds must be there."""
    count = min(LABELS, len(inside))
    y = one.is_true(one.candidates.left, one.candidates.right)
    if how == "random":
        chosen = np.random.default_rng(seed).permutation(inside)[:count]
        return _with_both(chosen, inside, y)
    pairs = one.candidates
    part = Candidates(pairs.left[inside], pairs.right[inside], pairs.by_block[:, inside], pairs.blocks, pairs.sizes)
    records, other = one.records
    options = {"other": other, "candidates": part}
    first = suggest_labels(RecordMatcher(n_jobs=2), records, k=min(50, count), **options)
    chosen = _with_both(inside[part.positions(first.left, first.right)], inside, y)
    while len(chosen) < count:
        gold = _gold(one, chosen)
        matcher = LearnedMatcher(n_jobs=2, penalty=1.0).fit(records, gold, **options)
        more = suggest_labels(matcher, records, gold=gold, k=min(25, count - len(chosen)), **options)
        chosen = np.append(chosen, inside[part.positions(more.left, more.right)])
    return chosen


def _with_both(chosen: Any, inside: Any, y: Any) -> Any:
    """The choice, with one label of a kind that it lacks."""
    for kind in (y, ~y):
        if not kind[chosen].any():
            chosen = np.append(chosen[:-1], inside[kind[inside]][0])
    return chosen


def _learn(one: Collection, positions: Any) -> Any:
    records, other = (RecordList.of_names(side) if side is not None else None for side in (one.left, one.right))
    matcher = LearnedMatcher(n_jobs=2)
    candidates = matcher.candidates(records, other)
    return matcher.fit(records, _gold(one, positions), other=other, candidates=candidates).scores(
        records, other, candidates=candidates
    )


def _em(one: Collection) -> tuple[Any, Any, Any]:
    records, other = one.records
    matcher = FellegiSunter(n_jobs=2)
    candidates = matcher.candidates(records, other)
    p = matcher.fit(records, other=other, candidates=candidates).scores(records, other, candidates=candidates)[1]
    return candidates.left, candidates.right, p


_cached_em = cache(_em)


@cache
def _cached_splink(one: Collection) -> tuple[Any, Any, Any]:
    return _splink(one, None)


def _splink(one: Collection, positions: Any | None) -> tuple[Any, Any, Any]:
    """Pairs and probabilities of splink, with m from labels or by EM."""
    import pandas as pd
    import splink.comparison_library as cl
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on

    def frame(names: NameList, source: str) -> pd.DataFrame:
        texts = [plain_form(name) for name in names.names]
        words = [text.split() or [""] for text in texts]
        return pd.DataFrame(
            {
                "unique_id": range(len(texts)),
                "source_dataset": source,
                "name": texts,
                "first": [row[0] for row in words],
                "last": [row[-1] for row in words],
                "words": words,
            }
        )

    database = DuckDBAPI()
    sides = [one.left] if one.right is None else [one.left, one.right]
    tables = [
        database.register(frame(side, title), dataset_display_name=title)
        for side, title in zip(sides, ("a", "b"), strict=False)
    ]
    settings = SettingsCreator(
        link_type="dedupe_only" if one.right is None else "link_only",
        comparisons=[
            cl.JaroWinklerAtThresholds("name", [0.95, 0.88, 0.7]),
            cl.JaroWinklerAtThresholds("first", [0.9]),
            cl.JaroWinklerAtThresholds("last", [0.9]),
            cl.ArrayIntersectAtSizes("words", [4, 3, 2, 1]),
        ],
        blocking_rules_to_generate_predictions=[block_on("words", arrays_to_explode=["words"])],
    )
    linker = Linker(tables if len(tables) > 1 else tables[0], settings, log_level=logging.ERROR)
    training = linker.training
    texts = [plain_form(name) for side in sides for name in side.names]
    if len(set(texts)) < len(texts):  # else it stays at splink's default: no equal names, no estimate
        training.estimate_probability_two_random_records_match([block_on("name")], recall=0.3)
    training.estimate_u_using_random_sampling(max_pairs=1e6, seed=1)
    if positions is None:
        for column in ("first", "last"):
            try:
                training.estimate_parameters_using_expectation_maximisation(
                    block_on(column), max_pairs=None, record_sample_proportion=1.0
                )
            except Exception:  # no pair shares the column, so nothing is learned from it
                continue
    else:
        pairs = one.candidates
        truth = one.is_true(pairs.left[positions], pairs.right[positions])
        chosen = positions[truth]
        rows = pd.DataFrame(
            {
                "source_dataset_l": "a",
                "unique_id_l": pairs.left[chosen],
                "source_dataset_r": "a" if one.right is None else "b",
                "unique_id_r": pairs.right[chosen],
                "clerical_match_score": 1.0,
            }
        )
        training.estimate_m_from_pairwise_labels(database.register(rows))
    found = linker.inference.predict(threshold_match_probability=1e-6).as_pandas_dataframe()
    i, j = found["unique_id_l"].to_numpy(), found["unique_id_r"].to_numpy()
    if one.right is None:
        i, j = np.minimum(i, j), np.maximum(i, j)
    elif len(found) and found["source_dataset_l"].iloc[0] == "b":
        i, j = j, i
    return i, j, found["match_probability"].to_numpy()
