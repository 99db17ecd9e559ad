"""Train taggers on your own data, label with them, and score them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._options import Cluster, Jobs, Json, Seed

app = typer.Typer(no_args_is_help=True, help=__doc__)

Patterns = Annotated[Path | None, typer.Option("--patterns", "-p", help="Pattern file; none for attributes or tests.")]
Syntax = Annotated[str, typer.Option(help="Of the patterns: textmill, wapiti or crf++.")]
Format = Annotated[str, typer.Option("--format", help="Of the data: columns, tests or crfsuite.")]
Algorithm = Annotated[str, typer.Option(help="owlqn, lbfgs, sgd_l1, sgd_l2, bcd, rprop or perceptron.")]
Kind = Annotated[str, typer.Option("--type", help="crf, or memm for a conditional Markov model.")]
L1 = Annotated[float | None, typer.Option(help="L1 penalty; default: 0.5, or 0 where the algorithm has none.")]
L2 = Annotated[float | None, typer.Option(help="L2 penalty, with its half; default: 1e-5, or 1 without L1.")]
MaxIter = Annotated[int | None, typer.Option(help="Iterations or epochs at most.")]
MinCount = Annotated[int, typer.Option(help="Leave out tests that occur less often.")]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A .mill file, a Wapiti model or a CRFsuite dump.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="The file to write.")]


@app.command()
def train(
    source: Annotated[str, typer.Argument(metavar="TRAIN", help="Labelled sequences, - for stdin.")],
    output: Output,
    patterns: Patterns = None,
    dev: Annotated[
        Path | None, typer.Option(help="Labelled sequences to stop early on; the best model is kept.")
    ] = None,
    syntax: Syntax = "textmill",
    format: Format = "columns",  # noqa: A002
    kind: Kind = "crf",
    algorithm: Algorithm = "owlqn",
    l1: L1 = None,
    l2: L2 = None,
    max_iter: MaxIter = None,
    min_count: MinCount = 1,
    hash_bits: Annotated[
        int | None, typer.Option(help="Number tests by a hash of so many bits, keep no names.")
    ] = None,
    start_label: Annotated[bool, typer.Option(help="Bigram tests are true at first tokens too.")] = False,
    features: Annotated[str, typer.Option(help="all, or seen: a test only with labels it has in TRAIN.")] = "all",
    fine_tune: Annotated[int, typer.Option(help="Iterations of L-BFGS on the surviving weights at the end.")] = 0,
    model: Annotated[
        Path | None, typer.Option(help="A tagger to begin with; its labels and patterns are kept.")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Checkpoint file: written while training, continued from.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the run into this SVG or PNG file.")] = None,
    counts: Annotated[
        bool, typer.Option(help="Add a table: tests and features of every pattern, and those with a weight.")
    ] = False,
    cluster: Cluster = None,
    jobs: Jobs = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Train a tagger.

    Example: textmill tag train train.txt -p patterns.txt --dev dev.txt --l1 0.5 -o chunks.mill
    """
    from json import dumps

    from textmill.errors import DataError
    from textmill.progress import reporting
    from textmill.sequence import read_labelled, read_tagger

    for target in (output, plot):
        if target is not None and not target.parent.is_dir():
            raise DataError(f"{target}: there is no folder {target.parent}; make it or choose another")
    data = read_labelled(source, format=format)
    held_out = read_labelled(dev, format=format) if dev is not None else None
    tagger = _tagger(kind, patterns, syntax, format)
    tagger.set_params(
        algorithm=algorithm, l1=l1, l2=l2, max_iter=max_iter, min_count=min_count, hash_bits=hash_bits,
        start_label=start_label, features=features, fine_tune=fine_tune, n_jobs=jobs, random_state=seed,
    )  # fmt: skip
    parts = (held_out.X, held_out.y) if held_out is not None else (None, None)
    start = None if model is None else read_tagger(model)
    with reporting(_Table()):
        tagger.fit(data.X, data.y, *parts, sample_weight=data.weights, start=start, checkpoint=resume, cluster=cluster)
    tagger.save(output)
    if plot is not None:
        _plot(tagger.training_log_, plot)
    facts = {
        "sequences": len(data.X),
        "labels": len(tagger.classes_),
        "tests": sum(row["tests"] for row in tagger.pattern_counts_),
        "features": sum(row["features"] for row in tagger.pattern_counts_),
        "active_tests": sum(row["active_tests"] for row in tagger.pattern_counts_),
        "active": len(tagger.features_),
        "iterations": tagger.n_iter_,
        "objective": tagger.objective_,
        "stopped": tagger.stopped_,
    }
    if json:
        typer.echo(dumps({**facts, "patterns": tagger.pattern_counts_}, ensure_ascii=False))
        return
    if counts:
        typer.echo("tests\tfeatures\tactive tests\tactive\tpattern")
        for name, *numbers in (row.values() for row in tagger.pattern_counts_):
            typer.echo("\t".join(map(str, [*numbers, name])))
    line = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in facts.items() if value is not None)
    typer.echo(f"{output}: {line}")


@app.command()
def label(
    model: Model,
    source: Annotated[str, typer.Argument(metavar="INPUT", help="Columns, - for stdin.")] = "-",
    output: Annotated[str, typer.Option("--output", "-o", help="Default: stdout.")] = "-",
    nbest: Annotated[int, typer.Option(help="So many labellings of each sequence.")] = 1,
    scores: Annotated[bool, typer.Option(help="Add scores and probabilities.")] = False,
    posterior: Annotated[
        bool, typer.Option(help="The most probable label of each token, not the best labelling.")
    ] = False,
    constrain: Annotated[
        bool, typer.Option(help="The last column has labels that are known, or anything else.")
    ] = False,
    format: Format = "columns",  # noqa: A002
    jobs: Jobs = None,
) -> None:
    """Label one token per line; the label is appended to the line.

    Example: zcat news.txt.gz | textmill tag label chunks.mill - > news.tagged
    """
    from textmill.corpus import read_columns, writer
    from textmill.model import check_choice
    from textmill.progress import track
    from textmill.sequence import DATA_FORMATS, label_attributes, label_sentences, label_tests, read_tagger

    check_choice("format", format, DATA_FORMATS)
    tagger: Any = read_tagger(model)
    tagger.set_params(n_jobs=jobs)
    how: dict[str, Any] = {"nbest": nbest, "scores": scores, "posterior": posterior, "constrain": constrain}
    if format == "columns":
        texts = label_sentences(tagger, track(read_columns(source), "labelling", unit="sequences"), **how)
    else:
        texts = {"crfsuite": label_attributes, "tests": label_tests}[format](tagger, source, **how)
    with writer(output) as out:
        out.writelines(texts)


@app.command("eval")
def evaluate(
    source: Annotated[
        str, typer.Argument(metavar="FILE", help="Columns, the last two gold and predicted; - for stdin.")
    ],
    chunks: Annotated[
        bool | None, typer.Option("--chunks/--no-chunks", help="Labels are tags of chunks; default: if they look so.")
    ] = None,
    intervals: Annotated[bool, typer.Option(help="Add 95 % bootstrap intervals over sequences.")] = False,
    confusion: Annotated[bool, typer.Option(help="Add the table gold x predicted, parted by tabs.")] = False,
    json: Json = False,
) -> None:
    """Score labels: token and sequence error, figures per label, chunks exactly as conlleval.

    Example: textmill tag eval news.tagged --chunks --intervals
    """
    from json import dumps

    from textmill.corpus import read_columns
    from textmill.sequence import FIGURES, evaluate_columns

    scores = evaluate_columns(read_columns(source), chunks=chunks)
    figures = [name for name in FIGURES if scores.chunks is not None or name.endswith("error")]
    made = {name: scores.interval(name) for name in figures} if intervals else {}
    if json:
        out = scores.to_json()
        out |= {"intervals": {name: [interval.low, interval.high] for name, interval in made.items()}} if made else {}
        typer.echo(dumps(out, ensure_ascii=False))
        return
    typer.echo(scores.report())
    for name, interval in made.items():
        typer.echo(f"{name}: {interval.estimate:.4f} [{interval.low:.4f}, {interval.high:.4f}]  {interval.signature}")
    if confusion:
        labels = [str(label) for label in scores.confusion.labels]
        typer.echo("\t".join(["gold", *labels]))
        for name, row in zip(labels, scores.confusion.table.tolist(), strict=True):
            typer.echo("\t".join([name, *map(str, row)]))


@app.command()
def dump(
    model: Model,
    output: Annotated[str, typer.Option("--output", "-o", help="Default: stdout.")] = "-",
    precision: Annotated[int | None, typer.Option(help="Digits after the point; default: all that matter.")] = None,
    zeros: Annotated[bool, typer.Option("--all", help="Also the weights that are 0.")] = False,
) -> None:
    """Write the weights as text: test, label before or #, label, weight.

    Example: textmill tag dump chunks.mill --precision 5 > chunks.dump
    """
    from textmill.sequence import read_tagger, write_dump

    write_dump(read_tagger(model).to_weights(), output, precision=precision, zeros=zeros)


@app.command()
def update(
    model: Model,
    patch: Annotated[Path, typer.Argument(metavar="PATCH", help="Lines as `dump` writes them; 0 removes a weight.")],
    output: Output,
) -> None:
    """Put the weights of a dump into a tagger.

    Example: textmill tag update chunks.mill patch.txt -o patched.mill
    """
    from textmill.sequence import read_tagger, tagger_of, update_weights

    tagger_of(update_weights(read_tagger(model).to_weights(), patch)).save(output)


@app.command()
def compact(model: Model, output: Output) -> None:
    """Drop the tests that have no weight; no label changes.

    Example: textmill tag compact chunks.mill -o small.mill
    """
    from textmill.errors import DataError
    from textmill.sequence import read_tagger

    tagger = read_tagger(model)
    if tagger.encoder_.hash_bits is not None:
        raise DataError(f"{model}: hashed tests are not kept, so there is nothing to drop; train without hash_bits")
    before = len(tagger.encoder_.tests_)
    tagger.drop_unused_tests().save(output)
    typer.echo(f"{output}: {len(tagger.encoder_.tests_)} of {before} tests have a weight")


@app.command()
def convert(
    model: Model,
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="By its suffix: .mill, .wapiti or .dump.")],
    to: Annotated[str | None, typer.Option(help="mill, wapiti or dump, whatever the suffix.")] = None,
) -> None:
    """Turn a model of Wapiti or a dump of CRFsuite into ours, or ours into a model of Wapiti or a dump.

    Example: textmill tag convert model.wapiti model.mill
    """
    from textmill.sequence import read_tagger, write_tagger

    write_tagger(read_tagger(model), output, format=to)


@app.command()
def path(
    source: Annotated[str, typer.Argument(metavar="TRAIN", help="Labelled sequences.")],
    patterns: Patterns = None,
    test: Annotated[Path | None, typer.Option(help="Labelled sequences to score every model on.")] = None,
    steps: Annotated[int, typer.Option(help="Penalties, from the one at which all weights are zero.")] = 10,
    ratio: Annotated[float, typer.Option(help="Last penalty as a share of the first.")] = 0.01,
    syntax: Syntax = "textmill",
    format: Format = "columns",  # noqa: A002
    l2: L2 = None,
    max_iter: MaxIter = None,
    jobs: Jobs = None,
) -> None:
    """Train along a path of L1 penalties and print the size and error of every model.

    Example: textmill tag path train.txt -p patterns.txt --test dev.txt --steps 8
    """
    from textmill.sequence import evaluate_tags, read_labelled

    data = read_labelled(source, format=format)
    held_out = read_labelled(test, format=format) if test is not None else None
    tagger = _tagger("crf", patterns, syntax, format)
    tagger.set_params(l2=l2, max_iter=max_iter, n_jobs=jobs)
    typer.echo("l1\tactive\tobjective" + ("\ttoken error" if held_out is not None else ""))
    for fitted in tagger.path(data.X, data.y, steps=steps, ratio=ratio):
        row = [f"{fitted.l1:.6g}", str(len(fitted.features_)), f"{fitted.objective_:.6g}"]
        if held_out is not None:
            row.append(f"{evaluate_tags(held_out.y, fitted.predict(held_out.X)).token_error:.4%}")
        typer.echo("\t".join(row))


@app.command()
def crossval(
    source: Annotated[str, typer.Argument(metavar="DATA", help="Labelled sequences.")],
    patterns: Patterns = None,
    folds: Annotated[int, typer.Option(help="Parts that the sequences are dealt into.")] = 10,
    dev: Annotated[bool, typer.Option(help="One more part to stop early on.")] = True,
    syntax: Syntax = "textmill",
    format: Format = "columns",  # noqa: A002
    kind: Kind = "crf",
    algorithm: Algorithm = "owlqn",
    l1: L1 = None,
    l2: L2 = None,
    max_iter: MaxIter = None,
    min_count: MinCount = 1,
    jobs: Jobs = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Train and test on every part of the data in turn, and score all answers together.

    Example: textmill tag crossval all.txt -p patterns.txt --folds 10
    """
    from json import dumps

    from textmill.sequence import cross_validate, read_labelled

    data = read_labelled(source, format=format)
    tagger = _tagger(kind, patterns, syntax, format)
    tagger.set_params(
        algorithm=algorithm, l1=l1, l2=l2, max_iter=max_iter, min_count=min_count, n_jobs=jobs, random_state=seed
    )
    scores = cross_validate(tagger, data.X, data.y, k=folds, dev=dev, seed=seed)
    whole = sum(scores[1:], scores[0])
    if json:
        typer.echo(dumps({**whole.to_json(), "folds": [part.to_json() for part in scores]}, ensure_ascii=False))
        return
    for number, part in enumerate(scores, 1):
        typer.echo(f"fold {number}: token error {part.token_error:.4%}, sequence error {part.sequence_error:.4%}")
    typer.echo(whole.report())


def _tagger(kind: str, patterns: Path | None, syntax: str, format: str) -> Any:  # noqa: A002
    """An estimator that is not yet trained."""
    from textmill.errors import DataError
    from textmill.model import check_choice
    from textmill.sequence import CRF, ConditionalMarkov, parse_patterns

    check_choice("type", kind, ["crf", "memm"])
    if patterns is None and format == "columns":
        raise DataError("columns need patterns; pass -p FILE, or --format tests if every column is a test itself")
    text = None
    if patterns is not None:
        text = patterns.read_text(encoding="utf-8")
        parse_patterns(text, syntax=syntax, source=str(patterns))
    return {"crf": CRF, "memm": ConditionalMarkov}[kind](
        patterns=text, syntax="wapiti" if format == "tests" else syntax
    )


class _Table:
    """A row for every iteration of training."""

    def __init__(self) -> None:
        self.rows: dict[int, int] = {}  # by the number of the loop: the last iteration that was shown

    def __call__(self, progress: Any) -> None:
        if progress.description != "training" or not progress.figures or self.rows.get(progress.step) == progress.done:
            return
        columns = ["objective", "active", "dev_error", "cpu_seconds"]
        if not self.rows:
            typer.echo(" iteration      objective      active   dev error      time       cpu", err=True)
        self.rows[progress.step] = progress.done
        objective, active, error, cpu = (progress.figures.get(name) for name in columns)
        shown = "-" if objective is None else f"{objective:.6g}"
        percent = "-" if error is None else f"{error:.2f}%"
        times = f"{f'{progress.seconds:.1f}s':>9} {f'{cpu or 0.0:.1f}s':>9}"
        typer.echo(f"{progress.done:>10} {shown:>14} {int(active or 0):>11} {percent:>11} {times}", err=True)


def _plot(log: list[dict[str, float]], target: Path) -> None:
    """Objective, active features and development error over the iterations."""
    from textmill import plot

    curves = {
        name: ([entry["iteration"] for entry in log], [entry[name] / (log[0][name] or 1.0) for entry in log])
        for name in ("objective", "active", "dev_error")
        if all(name in entry for entry in log)
    }
    figure = plot.lines(curves, x_label="iteration", y_label="share of the first iteration", y_scale="log")
    plot.save(figure, target)
