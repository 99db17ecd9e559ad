"""Match records by several fields: learn from labels or without, report the blocking, explain a pair."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from textmill.cli._options import Errors, Jobs, Json
from textmill.cli._outputs import further_output, output_option

if TYPE_CHECKING:
    from textmill.tasks.names import Candidates, Gold, RecordEstimator, RecordList

__all__ = [
    "AliasFile",
    "Block",
    "Fields",
    "ModelFile",
    "blocks",
    "explain",
    "matcher_of",
    "records_of",
    "register",
    "train",
]

Fields = Annotated[
    list[str] | None,
    typer.Option(
        "--field",
        help="Field to compare, as NAME, NAME:MEASURE or NAME:MEASURE:WEIGHT, such as phone:exact:0.5; "
        "repeat the option for more.",
    ),
]
Block = Annotated[
    list[str] | None,
    typer.Option(
        "--block",
        help="Which pairs to compare, as FIELD:exact or FIELD:MEASURE:THRESHOLD; repeat the option for more.",
    ),
]
AliasFile = Annotated[
    Path | None,
    typer.Option(
        "--aliases", help="Names that mean the same: a group on each line, with commas between, such as bob, robert."
    ),
]
ModelFile = Annotated[Path | None, typer.Option("--model", help="Model made by `textmill match train`.")]
_List = Annotated[str, typer.Argument(metavar="RECORDS", help="List of records or names; - for stdin.")]
_Other = Annotated[str | None, typer.Option(help="Second list; only pairs between the two lists are compared.")]
_Labels = Annotated[
    Path | None, typer.Option("--labels", "--gold", help="Labeled pairs (id1, id2, pos or neg) or clusters.")
]
_Format = Annotated[
    str | None,
    typer.Option("--format", help="Input format: csv, jsonl, parquet, secondstring, tsv or txt; default: by suffix."),
]
_IdField = Annotated[str, typer.Option(help="Field that holds the id.")]
_Encoding = Annotated[str, typer.Option(help="Encoding of the input.")]
_Candidates = Annotated[int, typer.Option(help="Candidates of each record that a block keeps.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this module to a group."""
    for command in (train, blocks, explain):
        app.command()(command)


def train(
    records: _List,
    output: Annotated[Path, output_option("The model to write (.mill).")],
    labels: _Labels = None,
    field: Fields = None,
    block: Block = None,
    aliases: AliasFile = None,
    method: Annotated[
        str | None,
        typer.Option(help="labels, or em (no labels needed); default: labels if there are any."),
    ] = None,
    other: _Other = None,
    suggest: Annotated[str | None, further_output("Also write the pairs to label next to this file.")] = None,
    report: Annotated[Path | None, further_output("Also write a page to label them in a browser.")] = None,
    k: Annotated[int, typer.Option("-k", help="Number of pairs to label next.")] = 50,
    candidates: _Candidates = 20,
    format: _Format = None,  # noqa: A002
    id_field: _IdField = "id",
    jobs: Jobs = None,
    errors: Errors = "strict",
    encoding: _Encoding = "utf-8",
) -> None:
    """Learn how probable it is that two records mean the same.

    Example: textmill match train people.csv --field name --field phone:exact --labels gold.tsv -o people.mill
    --suggest next.tsv --report next.html -k 50
    """
    from textmill.errors import DataError
    from textmill.model import check_choice
    from textmill.tasks import names as task

    chosen = method or ("em" if labels is None else "labels")
    check_choice("--method", chosen, ["labels", "em"])
    if chosen == "labels" and labels is None:
        raise DataError("there are no labels; name a file with --labels, or learn without any: --method em")
    fields = field or ["name"]
    one, two = (_read(source, fields, format, id_field, encoding, errors, aliases) for source in (records, other))
    assert one is not None
    gold = _gold(labels, one, two)
    learner = task.LearnedMatcher if chosen == "labels" else task.FellegiSunter
    matcher = learner(fields=fields, blocks=block, k=candidates, n_jobs=jobs)
    candidate_pairs = matcher.candidates(one, two)
    doubt = task.fit_or_doubt(matcher, one, gold, other=two, candidates=candidate_pairs)
    if doubt is not None:
        if suggest is not None or report is not None:
            first = task.RecordMatcher(fields=fields, blocks=block, k=candidates, n_jobs=jobs)
            _suggest(first, one, two, gold, candidate_pairs, k, suggest, report)
        raise doubt
    matcher.save(output)
    lines = candidate_pairs.report(gold, one, two).lines()
    if isinstance(matcher, task.FellegiSunter):
        lines += matcher.lines()
    else:
        assert isinstance(matcher, task.LearnedMatcher)
        line = f"logistic regression, penalty {matcher.penalty_:g}" if matcher.weights_.any() else ""
        trees = f"{len(matcher.tree_values_)} trees" if len(matcher.tree_values_) else ""
        lines += [f"{matcher.n_labels_} labels: {' and '.join(filter(None, (line, trees)))}"]
        lines += [f"threshold of greatest expected F {matcher.threshold_:.3f}"]
        lines += [] if matcher.reliability is None else matcher.reliability.lines()
    for line in lines:
        typer.echo(line, err=True)
    if suggest is not None or report is not None:
        _suggest(matcher, one, two, gold, candidate_pairs, k, suggest, report)


def _suggest(
    matcher: RecordEstimator,
    one: RecordList,
    two: RecordList | None,
    gold: Gold | None,
    candidates: Candidates,
    k: int,
    suggest: str | None,
    report: Path | None,
) -> None:
    """Write the pairs to label next."""
    from textmill.tasks import names as task

    pairs = task.suggest_labels(matcher, one, other=two, gold=gold, k=k, candidates=candidates)
    if suggest is not None:
        score = task.score_name(matcher)
        task.write_pairs(suggest, [pairs], one.names(), None if two is None else two.names(), score=score)
    if report is not None:
        task.suggestion_page(matcher, one, pairs, other=two, candidates=candidates).write(report)


def blocks(
    records: _List,
    field: Fields = None,
    block: Block = None,
    aliases: AliasFile = None,
    labels: _Labels = None,
    other: _Other = None,
    candidates: _Candidates = 20,
    format: _Format = None,  # noqa: A002
    id_field: _IdField = "id",
    jobs: Jobs = None,
    errors: Errors = "strict",
    encoding: _Encoding = "utf-8",
    json: Json = False,
) -> None:
    """Report which pairs would be compared, and which labeled matches that loses.

    Example: textmill match blocks people.csv --field name --field phone:exact --labels gold.tsv
    """
    from dataclasses import asdict
    from json import dumps

    from textmill.tasks import names as task

    fields = field or ["name"]
    one, two = (_read(source, fields, format, id_field, encoding, errors, aliases) for source in (records, other))
    assert one is not None
    gold = _gold(labels, one, two)
    matcher = task.RecordMatcher(fields=fields, blocks=block, k=candidates, n_jobs=jobs)
    summary = matcher.candidates(one, two).report(gold, one, two)
    if json:
        typer.echo(dumps(asdict(summary) | {"recall": summary.recall}, ensure_ascii=False))
    else:
        for line in summary.lines():
            typer.echo(line)


def explain(
    records: _List,
    one: Annotated[str, typer.Argument(metavar="ID1", help="Id of a record.")],
    two: Annotated[str, typer.Argument(metavar="ID2", help="Id of another record.")],
    model: ModelFile = None,
    field: Fields = None,
    aliases: AliasFile = None,
    other: Annotated[str | None, typer.Option(help="Second list, which ID2 is from.")] = None,
    format: _Format = None,  # noqa: A002
    id_field: _IdField = "id",
    jobs: Jobs = None,
    encoding: _Encoding = "utf-8",
) -> None:
    """Explain the probability of a pair by fields and measures, as log odds.

    Example: textmill match explain people.csv 17 42 --model people.mill
    """
    from textmill.tasks.names import explain_records

    matcher = matcher_of(model, field, None, None, jobs)
    options = (format, id_field, encoding, "strict", aliases)
    first, second = (records_of(source, matcher, *options) for source in (records, other))
    assert first is not None
    for line in explain_records(matcher, first, one, two, other=second):
        typer.echo(line)


def matcher_of(
    model: Path | None, field: list[str] | None, block: list[str] | None, threshold: float | None, jobs: int | None
) -> RecordEstimator:
    """The matcher of a model file, or one that takes the mean of measures."""
    from textmill import load
    from textmill.errors import DataError
    from textmill.tasks.names import RecordEstimator, RecordMatcher

    if model is None:
        mean = RecordMatcher(fields=field or ["name"], blocks=block, n_jobs=jobs)
        return mean if threshold is None else mean.set_params(threshold=threshold)
    matcher = load(model)
    if not isinstance(matcher, RecordEstimator):
        raise DataError(f"holds a {type(matcher).__name__}; pass a model of `textmill match train`", source=str(model))
    if field is not None:
        raise DataError("a model has its own fields; leave out --field, or leave out --model")
    changed = {"n_jobs": jobs} | ({} if block is None else {"blocks": block})
    return matcher.set_params(**changed, **({} if threshold is None else {"threshold": threshold}))


def records_of(
    source: str | None,
    matcher: RecordEstimator,
    format: str | None,  # noqa: A002
    id_field: str,
    encoding: str,
    errors: str,
    aliases: Path | None = None,
) -> RecordList | None:
    """The records of a file with the fields of a matcher."""
    from textmill.tasks.names import parse_field

    fields = [parse_field(field).name for field in matcher.fields]
    return _read(source, fields, format, id_field, encoding, errors, aliases)


def _gold(labels: Path | None, records: RecordList, other: RecordList | None) -> Gold | None:
    from textmill.tasks.names import read_gold

    if labels is None:
        return None
    return read_gold(labels, names=records.names(), other=None if other is None else other.names())


def _read(
    source: str | None,
    fields: list[str],
    format: str | None,  # noqa: A002
    id_field: str,
    encoding: str,
    errors: str,
    aliases: Path | None,
) -> RecordList | None:
    from textmill.tasks.names import parse_field, read_aliases, read_record_list

    if source is None:
        return None
    names = [parse_field(field).name for field in fields]
    table = None if aliases is None else read_aliases(aliases)
    return read_record_list(
        source, names, format=format, id_field=id_field, encoding=encoding, errors=errors, aliases=table
    )
