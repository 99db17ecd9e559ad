"""Match names and records: score pairs, find duplicates, join lists, learn from labels, evaluate, review."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from textmill.cli._json import json_line
from textmill.cli._match_learning import AliasFile, Block, Fields, ModelFile, matcher_of, records_of, register
from textmill.cli._options import Cluster, Errors, Jobs, Json
from textmill.cli._outputs import figure_option, further_output, output_argument, output_option

if TYPE_CHECKING:
    from textmill.tasks.names import Evaluation, Gold, Linked, MatchCounts, NameList

from textmill.cli._reading import with_options
from textmill.cli._tables import Printed, warn_of_nothing

_THRESHOLD = 0.6  # of measures

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)

_Measure = Annotated[
    str | None,
    typer.Option("--measure", "-m", help="Measure, such as 'tfidf(trigrams)'; default: auto, which suits the list."),
]
_Measures = Annotated[list[str] | None, typer.Option("--measure", "-m", help="Measure; repeat the option for more.")]
_Format = Annotated[
    str | None,
    typer.Option("--format", help="Input format: csv, jsonl, parquet, secondstring, tsv or txt; default: by suffix."),
]
_NameField = Annotated[str, typer.Option(help="Field that holds the name, for CSV, JSONL and Parquet.")]
_IdField = Annotated[str, typer.Option(help="Field that holds the id.")]
_Encoding = Annotated[str, typer.Option(help="Encoding of the input.")]
_Normalize = Annotated[
    list[str] | None,
    typer.Option(
        help="What to ignore: case, accents, punctuation, titles, legal-forms, or apply nfkc or latin (letters); "
        "repeat it for more. Default: case and accents; none compares names as they are."
    ),
]
_MinCount = Annotated[int, typer.Option(help="Leave out names with a smaller count.")]
_Kinds = Annotated[
    list[str] | None, typer.Option("--kind", help="Only names of this type; repeat the option for more.")
]
_Gold = Annotated[Path | None, typer.Option(help="Labeled pairs or clusters; default: the clusters of the names.")]
_Other = Annotated[str | None, typer.Option(help="Second list; only pairs between the two lists are compared.")]
_List = Annotated[str, typer.Argument(metavar="NAMES", help="List of names; - for stdin.")]
_Output = Annotated[str, output_option("File for the pairs: .tsv, .jsonl or .parquet; - for stdout.")]
_Report = Annotated[Path | None, further_output("Also write a page to review the pairs in a browser.")]
_Unlabeled = Annotated[str, typer.Option(help="How pairs without a label count: negative or ignore.")]
_Threshold = Annotated[
    float | None,
    typer.Option(
        "--threshold",
        "-t",
        help="Smallest score of a match, from 0 to 1; default: 0.6, of a model what suits it best.",
    ),
]


_Best = Annotated[int | None, typer.Option("-k", help="Keep only this many best matches of each name.")]


_NO_PAIR = "no two names are that similar; pass a lower --threshold, or another measure"


@dataclass(frozen=True)
class NameInput:
    """How a list of names is read."""

    format: _Format = None
    name_field: _NameField = "name"
    id_field: _IdField = "id"
    errors: Errors = "strict"
    encoding: _Encoding = "utf-8"

    def read(self, source: str) -> NameList:
        """The names of a file or of standard input."""
        from textmill.tasks.names import read_names

        options = {"name_field": self.name_field, "id_field": self.id_field, "errors": self.errors}
        return read_names(source, format=self.format, encoding=self.encoding, **options)

    def records(self, source: str, matcher: Any, aliases: Path | None) -> Any:
        """The records of a file or of standard input."""
        return records_of(source, matcher, self.format, self.id_field, self.encoding, self.errors, aliases)


@dataclass(frozen=True)
class Matching:
    """How names are matched, and where the pairs go."""

    output: _Output = "-"
    measure: _Measure = None
    threshold: _Threshold = None
    k: _Best = None
    report: _Report = None
    model: ModelFile = None
    field: Fields = None
    block: Block = None
    aliases: AliasFile = None
    normalize: _Normalize = None
    jobs: Jobs = None
    cluster: Cluster = None

    def by_records(self) -> bool:
        """Is it records with several fields that are matched?"""
        return self.model is not None or bool(self.field or self.block or self.aliases)

    def record_matcher(self, **others: object) -> Any:
        """The matcher of records; options that are only for names are refused."""
        _refuse(measure=self.measure, k=self.k, normalize=self.normalize, cluster=self.cluster, **others)
        return matcher_of(self.model, self.field, self.block, self.threshold, self.jobs)

    def options(self) -> dict[str, Any]:
        """The arguments of `dedupe` and `join`."""
        from textmill.strings import DEFAULT_MEASURE

        return {
            "measure": self.measure or DEFAULT_MEASURE,
            "threshold": _THRESHOLD if self.threshold is None else self.threshold,
            "k": self.k,
            "report": self.report,
            "normalize": _steps(self.normalize),
            "n_jobs": self.jobs,
            "cluster": self.cluster,
        }


@dataclass(frozen=True)
class Labels:
    """Names with labels, and the measures that are compared on them."""

    gold: _Gold = None
    measure: _Measures = None
    other: _Other = None
    unlabeled: _Unlabeled = "negative"
    normalize: _Normalize = None
    jobs: Jobs = None

    def lists(self, names: str, reading: NameInput) -> tuple[NameList, NameList | None]:
        """The names, and those of the other list."""
        return reading.read(names), None if self.other is None else reading.read(self.other)

    def evaluations(self, lists: tuple[NameList, NameList | None], floor: float = 0.0) -> list[Evaluation]:
        """What measures make of the names, against the gold or else the clusters that the lists came with."""
        from textmill.tasks.names import MEASURES_TO_COMPARE, Gold, evaluate_measures, read_gold

        names, other = lists
        gold = Gold.from_clusters(names, other) if self.gold is None else read_gold(self.gold, names=names, other=other)
        return evaluate_measures(
            names,
            gold,
            self.measure or MEASURES_TO_COMPARE,
            other=other,
            unlabeled=self.unlabeled,
            floor=floor,
            normalize=_steps(self.normalize),
            n_jobs=self.jobs,
        )


@app.command()
@with_options
def score(
    left: Annotated[str, typer.Argument(help="A name.")],
    right: Annotated[str, typer.Argument(help="Another name.")],
    reading: NameInput,
    measure: _Measure = None,
    names: Annotated[
        str | None,
        typer.Option(help="List of names to learn the weights of words from; default: all words weigh the same."),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show which parts were aligned.")] = False,
    normalize: _Normalize = None,
    json: Json = False,
) -> None:
    """Compare two names.

    Example: textmill match score "Mr. Rumyantsev" "Alexander Rumyanstev" --explain
    """
    from textmill.strings import DEFAULT_MEASURE
    from textmill.tasks.names import align, score_pair

    collection = None if names is None else reading.read(names)
    compare = align if explain and not json else score_pair  # a score alone needs no alignment
    result = compare(left, right, measure=measure or DEFAULT_MEASURE, names=collection, normalize=_steps(normalize))
    if json:
        typer.echo(json_line({"left": left, "right": right, "score": result.score, "measure": result.measure}))
    else:
        typer.echo(str(result) if explain else f"{result.score:.6f}")


@app.command()
@with_options
def dedupe(
    names: _List,
    matching: Matching,
    reading: NameInput,
    clusters: Annotated[str | None, further_output("Also write the groups of names to this file.")] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="How to group names: connected, or correlation, which does not join chains of weak matches; "
            "default: connected, with --model correlation."
        ),
    ] = None,
    cluster_report: Annotated[Path | None, further_output("Also write a page of the groups of records.")] = None,
    min_count: _MinCount = 1,
    kinds: _Kinds = None,
) -> None:
    """Find duplicates in a list of names, or by --field or --model in a list of records with several fields.

    Example: textmill match dedupe customers.csv -o pairs.tsv --threshold 0.7 --clusters groups.tsv --report pairs.html

    Example: textmill match dedupe people.csv --field name --field phone:exact:0.5 -o pairs.tsv

    Example: textmill match dedupe people.csv --model people.mill -o pairs.tsv --clusters groups.tsv
    """
    from textmill.readable import counted
    from textmill.tasks import names as task

    if matching.by_records() or cluster_report is not None:
        matcher = matching.record_matcher(kind=kinds, min_count=min_count if min_count != 1 else None)
        records = reading.records(names, matcher, matching.aliases)
        pages: Any = {"report": matching.report, "cluster_report": cluster_report}
        linked = task.dedupe_records(records, matching.output, matcher, clusters=clusters, method=method, **pages)
        _linked(linked, counted(len(records), "records"))
        return
    collection = reading.read(names).filter(min_count=min_count, types=kinds)
    how = method or "connected"
    counts = task.dedupe(collection, matching.output, clusters=clusters, method=how, **matching.options())
    groups = "" if counts.clusters is None else f", {counted(counts.clusters, 'groups')} of several"
    _tell(f"{counted(len(collection), 'names')}, {counted(counts.pairs, 'pairs')}{groups}", counts)


@app.command()
@with_options
def join(
    left: Annotated[str, typer.Argument(metavar="LEFT", help="A list.")],
    right: Annotated[
        str, typer.Argument(metavar="RIGHT", help="Another list; the weights of words are learned from it.")
    ],
    matching: Matching,
    reading: NameInput,
    one_to_one: Annotated[
        str,
        typer.Option(
            help="Match each name at most once: greedy (best pairs first), optimal, none, or auto: greedy where the "
            "probabilities of records say so."
        ),
    ] = "auto",
) -> None:
    """Find the names of one list in another, or by --field or --model the records.

    Example: textmill match join orders.csv customers.csv -o pairs.tsv -k 1

    Example: textmill match join orders.csv customers.csv --model people.mill -o pairs.tsv
    """
    from textmill.readable import counted
    from textmill.tasks import names as task

    if matching.by_records():
        matcher = matching.record_matcher()
        first, second = (reading.records(source, matcher, matching.aliases) for source in (left, right))
        linked = task.join_records(
            first, second, matching.output, matcher, one_to_one=one_to_one, report=matching.report
        )
        _linked(linked, f"{len(first)} and {counted(len(second), 'records')}")
        return
    one, two = reading.read(left), reading.read(right)
    once = None if one_to_one in ("auto", "none") else one_to_one
    counts = task.join(one, two, matching.output, one_to_one=once, **matching.options())
    _tell(f"{len(one)} and {counted(len(two), 'names')}, {counted(counts.pairs, 'pairs')}", counts)


@app.command()
@with_options
def evaluate(
    names: _List,
    labels: Labels,
    reading: NameInput,
    plot: Annotated[Path | None, figure_option("Draw F by number of pairs to this file (.png, .svg or .pdf).")] = None,
    beta: Annotated[
        float, typer.Option(help="Beta of F in the figure: below 1 favors precision, above 1 recall.")
    ] = 1.0,
    floor: Annotated[float, typer.Option(help="Ignore pairs with a lower score.")] = 0.0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per measure.")] = False,
) -> None:
    """Rank all pairs by measures and compare the rankings with labeled pairs.

    Example: textmill match evaluate names.tsv --gold gold.tsv -m "tfidf(words)" -m "ml(words, sub=jaro)" --plot f1.png
    """
    from textmill.plot import save
    from textmill.tasks import names as task

    evaluations = labels.evaluations(labels.lists(names, reading), floor)
    rows = [evaluation.row() for evaluation in evaluations]
    table = Printed({name: ".4f" if isinstance(value, float) else "" for name, value in rows[0].items()}, json=json)
    for row in rows:
        table.row(**row)
    if plot is not None:
        save(task.curves(evaluations, beta=beta), plot)


@app.command()
@with_options
def compare(
    names: _List,
    labels: Labels,
    reading: NameInput,
    k: Annotated[int, typer.Option("-k", help="Number of pairs to list where two measures differ.")] = 10,
) -> None:
    """Show the best measure, its threshold, and the matches on which measures disagree.

    Example: textmill match compare names.tsv --gold gold.tsv -m "tfidf(words)" -m "ml(words, sub=jaro)"
    """
    from textmill.tasks import names as task

    lists = labels.lists(names, reading)
    for line in task.compare(labels.evaluations(lists), *lists, k=k):
        typer.echo(line)


@app.command()
@with_options
def pool(
    names: _List,
    labels: Labels,
    reading: NameInput,
    output: _Output = "-",
    k: Annotated[int, typer.Option("-k", help="Number of pairs that each measure proposes.")] = 100,
    report: Annotated[Path | None, further_output("Also write a page to label the pairs in a browser.")] = None,
) -> None:
    """Collect pairs worth labeling: the best ones of several measures; those that --gold has labels for are left out.

    Example: textmill match pool names.tsv -k 200 -o pool.tsv --report pool.html
    """
    from textmill.readable import counted
    from textmill.tasks import names as task
    from textmill.tasks.names import read_gold, write_pairs

    collection, second = labels.lists(names, reading)
    normalize = _steps(labels.normalize)
    pairs = task.pool(
        collection,
        labels.measure or task.MEASURES_TO_COMPARE,
        k=k,
        other=second,
        gold=None if labels.gold is None else read_gold(labels.gold, names=collection, other=second),
        normalize=normalize,
        n_jobs=labels.jobs,
    )
    count = write_pairs(output, [pairs], collection, second)
    if report is not None:
        task.review_pairs(pairs, collection, second, title="Pairs to label", normalize=normalize).write(report)
    typer.echo(f"{counted(count, 'pairs')} to label", err=True)


@app.command()
def review(
    pairs: Annotated[str, typer.Argument(metavar="PAIRS", help="Pairs made by dedupe, join or pool.")],
    output: Annotated[Path, output_option("The page to write.")],
    measure: _Measure = None,
    gold: Annotated[Path | None, typer.Option(help="Labels to start from.")] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    normalize: _Normalize = None,
) -> None:
    """Write a page on which pairs are accepted and rejected in a browser.

    Example: textmill match review pairs.tsv -o pairs.html
    """
    from textmill.strings import DEFAULT_MEASURE
    from textmill.tasks import names as task
    from textmill.tasks.names import read_gold

    labels = None if gold is None else read_gold(gold)
    options: Any = {"measure": measure or DEFAULT_MEASURE, "gold": labels, "title": title}
    task.review_file(pairs, normalize=_steps(normalize), **options).write(output)
    typer.echo(f"wrote {output}; open it in a browser", err=True)


@app.command()
@with_options
def accept(
    gold: Annotated[Path, output_argument("Labeled pairs; created if it does not exist.")],
    decisions: Annotated[Path, typer.Argument(help="Decisions downloaded from the review page.")],
    reading: NameInput,
    names: Annotated[str | None, typer.Option(help="List of names, to check the ids.")] = None,
) -> None:
    """Add decisions from a review page to a file of labeled pairs; newer labels replace older ones.

    Example: textmill match accept gold.tsv decisions.tsv
    """
    from textmill.readable import counted
    from textmill.tasks.names import Gold, read_gold, write_gold

    collection = None if names is None else reading.read(names)
    before: Gold = read_gold(gold, names=collection) if gold.exists() else Gold()
    after = before.merge(read_gold(decisions, names=collection))
    changed = sum(label != after.labels[pair] for pair, label in before.labels.items())
    write_gold(gold, after)
    counts = ", ".join(f"{count} {label}" for label, count in after.counts().items() if count)
    added = counted(len(after.labels) - len(before.labels), "labels")
    typer.echo(f"{added} added, {changed} changed" + (f"; {counts}" if counts else ""))


register(app)


def _refuse(**options: object) -> None:
    """Options that have no meaning for records."""
    from textmill.errors import DataError

    for name, value in options.items():
        if value is not None:
            option = f"--{name.replace('_', '-')}" if len(name) > 1 else f"-{name}"
            raise DataError(f"{option} does not go with --model, --field, --block or --aliases; leave it out")


def _linked(linked: Linked, records: str) -> None:
    """What was found among records, and how many pairs were compared for it."""
    from textmill.readable import counted

    compared = f"{linked.blocking.compared:,} of {linked.blocking.possible:,} pairs compared"
    groups = "" if linked.clusters is None else f", {counted(linked.clusters, 'groups')} of several"
    typer.echo(f"{records}, {compared}, {counted(linked.pairs, 'pairs')}{groups}", err=True)
    for note in (*linked.blocking.notes, *linked.notes):
        typer.echo(note, err=True)
    if not linked.pairs:
        warn_of_nothing(_NO_PAIR)


def _steps(normalize: list[str] | None) -> list[str]:
    """The steps of normalization, those of the default where none were named."""
    from textmill.strings import DEFAULT_STEPS

    return list(DEFAULT_STEPS) if normalize is None else normalize


def _tell(line: str, counts: MatchCounts) -> None:
    """What was found and, where the measure adapted to the list, what it has become."""
    typer.echo(line + (f"\n{counts.reason}" if counts.reason else ""), err=True)
    if not counts.pairs:
        warn_of_nothing(_NO_PAIR)
