"""Match names and records: score pairs, find duplicates, join lists, learn from labels, evaluate, review matches."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from textmill.cli._match_learning import Block, Fields, ModelFile, matcher_of, records_of, register
from textmill.cli._options import Cluster, Errors, Jobs, Json
from textmill.cli._outputs import figure_option, further_output, output_argument, output_option

if TYPE_CHECKING:
    from textmill.strings import Normaliser
    from textmill.tasks.names import Evaluation, Linked, NameList

from textmill.cli._tables import Printed

_THRESHOLD = 0.6  # of measures

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)

_Measure = Annotated[
    str | None,
    typer.Option("--measure", "-m", help="Measure, such as 'tfidf(trigrams)'; default: words aligned by Jaro."),
]
_Measures = Annotated[list[str] | None, typer.Option("--measure", "-m", help="Measure; repeat the option for more.")]
_Format = Annotated[
    str | None,
    typer.Option("--format", help="Input format: csv, jsonl, parquet, secondstring, tsv or txt; default: by suffix."),
]
_NameField = Annotated[str, typer.Option(help="Field that holds the name, for CSV, JSONL and Parquet.")]
_IdField = Annotated[str, typer.Option(help="Field that holds the id.")]
_Encoding = Annotated[str, typer.Option(help="Encoding of the input.")]
_Normalise = Annotated[
    list[str] | None,
    typer.Option(
        help="Ignore case, accents, punctuation, titles or legal-forms, or apply nfkc; repeat the option for more."
    ),
]
_MinCount = Annotated[int, typer.Option(help="Leave out names with a smaller count.")]
_Types = Annotated[
    list[str] | None, typer.Option("--type", help="Only names of this type; repeat the option for more.")
]
_Gold = Annotated[Path | None, typer.Option(help="Labelled pairs or clusters; default: the clusters of the names.")]
_Other = Annotated[str | None, typer.Option(help="Second list; only pairs between the two lists are compared.")]
_List = Annotated[str, typer.Argument(metavar="NAMES", help="List of names; - for stdin.")]
_Output = Annotated[str, output_option("File for the pairs: .tsv, .jsonl or .parquet; - for stdout.")]
_Report = Annotated[Path | None, further_output("Also write a page to review the pairs in a browser.")]
_Unlabelled = Annotated[str, typer.Option(help="How pairs without a label count: negative or ignore.")]
_Threshold = Annotated[
    float | None,
    typer.Option("--threshold", "-t", help="Smallest score of a match, from 0 to 1; default: 0.6, of a model 0.5."),
]


@app.command()
def score(
    left: Annotated[str, typer.Argument(help="A name.")],
    right: Annotated[str, typer.Argument(help="Another name.")],
    measure: _Measure = None,
    names: Annotated[
        str | None,
        typer.Option(help="List of names to learn the weights of words from; default: all words weigh the same."),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show which parts were aligned.")] = False,
    format: _Format = None,  # noqa: A002
    json: Json = False,
) -> None:
    """Compare two names.

    Example: textmill match score "Mr. Rumyantsev" "Alexander Rumyanstev" --explain
    """
    from json import dumps

    from textmill.strings import DEFAULT_MEASURE, parse_measure

    collection = [left, right] if names is None else _names(names, format=format).names
    made = parse_measure(measure or DEFAULT_MEASURE)
    fitted = made.fit(collection)
    if names is None and hasattr(fitted, "idf"):  # two names tell nothing about what is rare
        fitted.set_idf({})
    found = fitted.similarity(left, right)
    if json:
        typer.echo(dumps({"left": left, "right": right, "score": found, "measure": str(made)}, ensure_ascii=False))
    else:
        typer.echo(str(fitted.align(left, right)) if explain else f"{found:.6f}")


@app.command()
def dedupe(
    names: _List,
    output: _Output = "-",
    measure: _Measure = None,
    threshold: _Threshold = None,
    top: Annotated[int | None, typer.Option(help="Keep only this many best matches of each name.")] = None,
    clusters: Annotated[str | None, further_output("Also write the groups of names to this file.")] = None,
    method: Annotated[
        str,
        typer.Option(help="How to group names: connected, or correlation, which does not join chains of weak matches."),
    ] = "connected",
    report: _Report = None,
    model: ModelFile = None,
    field: Fields = None,
    block: Block = None,
    cluster_report: Annotated[Path | None, further_output("Also write a page of the groups of records.")] = None,
    format: _Format = None,  # noqa: A002
    name_field: _NameField = "name",
    id_field: _IdField = "id",
    normalise: _Normalise = None,
    min_count: _MinCount = 1,
    types: _Types = None,
    jobs: Jobs = None,
    cluster: Cluster = None,
    errors: Errors = "strict",
    encoding: _Encoding = "utf-8",
) -> None:
    """Find duplicates in a list of names, or by --field or --model in a list of records with several fields.

    Example: textmill match dedupe customers.csv -o pairs.tsv --threshold 0.7 --clusters groups.tsv --report pairs.html

    Example: textmill match dedupe people.csv --field name --field phone:exact:0.5 -o pairs.tsv

    Example: textmill match dedupe people.csv --model people.mill -o pairs.tsv --clusters groups.tsv
    """
    from textmill.readable import counted
    from textmill.strings import DEFAULT_MEASURE
    from textmill.tasks import names as task

    if model is not None or field or block or cluster_report is not None:
        _refuse(measure=measure, top=top, normalise=normalise, type=types, cluster=cluster)
        _refuse(min_count=min_count if min_count != 1 else None)
        matcher = matcher_of(model, field, block, threshold, jobs)
        records = records_of(names, matcher, format, id_field, encoding, errors)
        assert records is not None
        linked = task.dedupe_records(
            records,
            output,
            matcher,
            clusters=clusters,
            method=method,
            report=report,
            cluster_report=cluster_report,
        )
        _linked(linked, counted(len(records), "records"))
        return
    collection = _names(
        names, format=format, name_field=name_field, id_field=id_field, errors=errors, encoding=encoding
    ).filter(min_count=min_count, types=types)
    found = task.dedupe(
        collection,
        output,
        measure=measure or DEFAULT_MEASURE,
        threshold=_THRESHOLD if threshold is None else threshold,
        top=top,
        clusters=clusters,
        method=method,
        report=report,
        normaliser=_normaliser(normalise),
        n_jobs=jobs,
        cluster=cluster,
    )
    groups = "" if found.clusters is None else f", {counted(found.clusters, 'groups')} of several"
    typer.echo(f"{counted(len(collection), 'names')}, {counted(found.pairs, 'pairs')}{groups}", err=True)


@app.command()
def join(
    left: Annotated[str, typer.Argument(metavar="LEFT", help="A list.")],
    right: Annotated[
        str, typer.Argument(metavar="RIGHT", help="Another list; the weights of words are learned from it.")
    ],
    output: _Output = "-",
    measure: _Measure = None,
    threshold: _Threshold = None,
    top: Annotated[int | None, typer.Option(help="Keep only this many best matches of each name of LEFT.")] = None,
    one_to_one: Annotated[
        str | None, typer.Option(help="Match each name at most once: greedy (best pairs first) or optimal.")
    ] = None,
    report: _Report = None,
    model: ModelFile = None,
    field: Fields = None,
    block: Block = None,
    format: _Format = None,  # noqa: A002
    name_field: _NameField = "name",
    id_field: _IdField = "id",
    normalise: _Normalise = None,
    jobs: Jobs = None,
    cluster: Cluster = None,
    errors: Errors = "strict",
    encoding: _Encoding = "utf-8",
) -> None:
    """Find the names of one list in another, or by --field or --model the records.

    Example: textmill match join orders.csv customers.csv -o pairs.tsv --top 1

    Example: textmill match join orders.csv customers.csv --model people.mill --one-to-one greedy -o pairs.tsv
    """
    from textmill.readable import counted
    from textmill.strings import DEFAULT_MEASURE
    from textmill.tasks import names as task

    if model is not None or field or block:
        _refuse(measure=measure, top=top, normalise=normalise, cluster=cluster)
        matcher = matcher_of(model, field, block, threshold, jobs)
        first, second = (records_of(source, matcher, format, id_field, encoding, errors) for source in (left, right))
        assert first is not None
        assert second is not None
        linked = task.join_records(first, second, output, matcher, one_to_one=one_to_one, report=report)
        _linked(linked, f"{len(first)} and {counted(len(second), 'records')}")
        return
    one, two = (
        _names(source, format=format, name_field=name_field, id_field=id_field, errors=errors, encoding=encoding)
        for source in (left, right)
    )
    found = task.join(
        one,
        two,
        output,
        measure=measure or DEFAULT_MEASURE,
        threshold=_THRESHOLD if threshold is None else threshold,
        top=top,
        one_to_one=one_to_one,
        report=report,
        normaliser=_normaliser(normalise),
        n_jobs=jobs,
        cluster=cluster,
    )
    typer.echo(f"{len(one)} and {counted(len(two), 'names')}, {counted(found.pairs, 'pairs')}", err=True)


@app.command()
def evaluate(
    names: _List,
    gold: _Gold = None,
    measure: _Measures = None,
    other: _Other = None,
    plot: Annotated[Path | None, figure_option("Draw F by number of pairs to this file (.png, .svg or .pdf).")] = None,
    beta: Annotated[
        float, typer.Option(help="Beta of F in the figure: below 1 favours precision, above 1 recall.")
    ] = 1.0,
    unlabelled: _Unlabelled = "negative",
    floor: Annotated[float, typer.Option(help="Ignore pairs with a lower score.")] = 0.0,
    normalise: _Normalise = None,
    format: _Format = None,  # noqa: A002
    encoding: _Encoding = "utf-8",
    jobs: Jobs = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per measure.")] = False,
) -> None:
    """Rank all pairs by measures and compare the rankings with labelled pairs.

    Example: textmill match evaluate names.tsv --gold gold.tsv -m "tfidf(words)" -m "ml(words, sub=jaro)" --plot f1.png
    """
    from textmill.plot import save
    from textmill.tasks import names as task

    lists = _lists(names, other, format, encoding)
    found = _evaluated(lists, gold, measure, normalise, unlabelled=unlabelled, floor=floor, n_jobs=jobs)
    rows = [one.row() for one in found]
    table = Printed({name: ".4f" if isinstance(value, float) else "" for name, value in rows[0].items()}, json=json)
    for row in rows:
        table.row(**row)
    if plot is not None:
        save(task.curves(found, beta=beta), plot)


@app.command()
def compare(
    names: _List,
    gold: _Gold = None,
    measure: _Measures = None,
    other: _Other = None,
    show: Annotated[int, typer.Option(help="Number of pairs to list where two measures differ.")] = 10,
    unlabelled: _Unlabelled = "negative",
    normalise: _Normalise = None,
    format: _Format = None,  # noqa: A002
    encoding: _Encoding = "utf-8",
    jobs: Jobs = None,
) -> None:
    """Show the best measure, its threshold, and the matches on which measures disagree.

    Example: textmill match compare names.tsv --gold gold.tsv -m "tfidf(words)" -m "ml(words, sub=jaro)"
    """
    from textmill.tasks import names as task

    lists = _lists(names, other, format, encoding)
    found = _evaluated(lists, gold, measure, normalise, unlabelled=unlabelled, n_jobs=jobs)
    for line in task.compare(found, *lists, show=show):
        typer.echo(line)


@app.command()
def pool(
    names: _List,
    output: _Output = "-",
    best: Annotated[int, typer.Option(help="Number of pairs that each measure proposes.")] = 100,
    measure: _Measures = None,
    gold: Annotated[Path | None, typer.Option(help="Labelled pairs to leave out.")] = None,
    other: _Other = None,
    report: Annotated[Path | None, further_output("Also write a page to label the pairs in a browser.")] = None,
    normalise: _Normalise = None,
    format: _Format = None,  # noqa: A002
    encoding: _Encoding = "utf-8",
    jobs: Jobs = None,
) -> None:
    """Collect pairs worth labelling: the best ones of several measures.

    Example: textmill match pool names.tsv --best 200 -o pool.tsv --report pool.html
    """
    from textmill.readable import counted
    from textmill.tasks import names as task
    from textmill.tasks.names import read_gold, write_pairs

    collection, second = _lists(names, other, format, encoding)
    done = None if gold is None else read_gold(gold, names=collection, other=second)
    found = task.pool(
        collection,
        measure or task.MEASURES_TO_COMPARE,
        best=best,
        other=second,
        gold=done,
        normaliser=_normaliser(normalise),
        n_jobs=jobs,
    )
    count = write_pairs(output, [found], collection, second)
    if report is not None:
        task.review_pairs(found, collection, second, title="Pairs to label").write(report)
    typer.echo(f"{counted(count, 'pairs')} to label", err=True)


@app.command()
def review(
    pairs: Annotated[str, typer.Argument(metavar="PAIRS", help="Pairs made by dedupe, join or pool.")],
    output: Annotated[Path, output_option("The page to write.")],
    measure: _Measure = None,
    gold: Annotated[Path | None, typer.Option(help="Labels to start from.")] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
) -> None:
    """Write a page on which pairs are accepted and rejected in a browser.

    Example: textmill match review pairs.tsv -o pairs.html
    """
    from textmill.strings import DEFAULT_MEASURE
    from textmill.tasks import names as task
    from textmill.tasks.names import read_gold

    labels = None if gold is None else read_gold(gold)
    page = task.review_file(pairs, measure=measure or DEFAULT_MEASURE, gold=labels, title=title)
    page.write(output)
    typer.echo(f"wrote {output}; open it in a browser", err=True)


@app.command()
def accept(
    gold: Annotated[Path, output_argument("Labelled pairs; created if it does not exist.")],
    decisions: Annotated[Path, typer.Argument(help="Decisions downloaded from the review page.")],
    names: Annotated[str | None, typer.Option(help="List of names, to check the ids.")] = None,
    format: _Format = None,  # noqa: A002
) -> None:
    """Add decisions from a review page to a file of labelled pairs; newer labels replace older ones.

    Example: textmill match accept gold.tsv decisions.tsv
    """
    from textmill.readable import counted
    from textmill.tasks.names import Gold, read_gold, write_gold

    known = None if names is None else _names(names, format=format)
    before = read_gold(gold, names=known) if gold.exists() else Gold()
    after = before.merge(read_gold(decisions, names=known))
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
            raise DataError(f"--{name.replace('_', '-')} does not go with --model, --field or --block; leave it out")


def _linked(found: Linked, records: str) -> None:
    """What was found among records, and how many pairs were compared for it."""
    from textmill.readable import counted

    compared = f"{found.blocking.compared:,} of {found.blocking.possible:,} pairs compared"
    groups = "" if found.clusters is None else f", {counted(found.clusters, 'groups')} of several"
    typer.echo(f"{records}, {compared}, {counted(found.pairs, 'pairs')}{groups}", err=True)


def _names(source: str, **options: str | None) -> NameList:
    from textmill.tasks.names import read_names

    return read_names(source, **{name: value for name, value in options.items() if value is not None})


def _lists(
    names: str,
    other: str | None,
    format: str | None,  # noqa: A002
    encoding: str,
) -> tuple[NameList, NameList | None]:
    """The names, and those of the other list."""
    collection = _names(names, format=format, encoding=encoding)
    return collection, None if other is None else _names(other, format=format, encoding=encoding)


def _evaluated(
    lists: tuple[NameList, NameList | None],
    gold: Path | None,
    measures: list[str] | None,
    normalise: list[str] | None,
    **options: Any,
) -> list[Evaluation]:
    """What measures make of the names, against the gold or else the clusters that the lists came with."""
    from textmill.tasks.names import MEASURES_TO_COMPARE, Gold, evaluate_measures, read_gold

    names, other = lists
    labels = Gold.from_clusters(names, other) if gold is None else read_gold(gold, names=names, other=other)
    chosen = measures or MEASURES_TO_COMPARE
    return evaluate_measures(names, labels, chosen, other=other, normaliser=_normaliser(normalise), **options)


def _normaliser(steps: list[str] | None) -> Normaliser | None:
    """The steps that were asked for, as a function."""
    from textmill.errors import DataError
    from textmill.strings import Normaliser

    known = {"case", "accents", "punctuation", "titles", "legal-forms", "nfkc"}
    if not steps:
        return None
    for step in steps:
        if step not in known:
            raise DataError(f"--normalise must be one of {', '.join(sorted(known))}, got {step!r}")
    return Normaliser(
        form="NFKC" if "nfkc" in steps else None,
        case="case" in steps,
        accents="accents" in steps,
        punctuation="punctuation" in steps,
        titles="titles" in steps,
        legal_forms="legal-forms" in steps,
    )
