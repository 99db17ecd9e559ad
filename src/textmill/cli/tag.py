"""Train taggers on your own data, label with them, and score them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._options import Cluster, Jobs, Json, Seed
from textmill.cli._outputs import figure_option, further_output, output_argument, output_option

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)

Patterns = Annotated[
    Path | None, typer.Option("--patterns", "-p", help="Pattern file; not needed for --format tests or crfsuite.")
]
Syntax = Annotated[str, typer.Option(help="Pattern syntax: textmill, wapiti or crf++.")]
Format = Annotated[str, typer.Option("--format", help="Data format: columns, tests or crfsuite.")]
Algorithm = Annotated[
    str, typer.Option(help="Training algorithm: owlqn, lbfgs, sgd_l1, sgd_l2, bcd, rprop or perceptron.")
]
Kind = Annotated[str, typer.Option("--kind", help="Kind of model: crf, or memm for a conditional Markov model.")]
L1 = Annotated[float | None, typer.Option(help="L1 penalty; default: 0.5, or 0 if the algorithm has no L1 penalty.")]
L2 = Annotated[
    float | None, typer.Option(help="L2 penalty (adds l2/2 times the squared norm); default: 1e-5, or 1 without L1.")
]
MaxIter = Annotated[int | None, typer.Option(help="Maximum number of iterations or epochs.")]
MinCount = Annotated[int, typer.Option(help="Leave out tests that occur less often in the data.")]
Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Tagger: a .mill file, a model of Wapiti or CRFsuite, or a dump.")
]
# why a run ended -> what people call it
STOPPED = {
    "gradient": "converged",
    "value": "converged",
    "iterations": "iteration limit",
    "interrupted": "Ctrl-C",
    "line_search": "no better point found",
    "stopped": "error on --dev no longer changes",
    "unbounded": "objective has no minimum",
}
Output = Annotated[Path, output_option("The file to write.")]


@app.command()
def train(
    source: Annotated[str, typer.Argument(metavar="TRAIN", help="Labeled sequences; - for stdin.")],
    output: Output,
    patterns: Patterns = None,
    dev: Annotated[
        Path | None,
        typer.Option(help="Labeled sequences for early stopping; the iteration with the lowest error is kept."),
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
        int | None, typer.Option(help="Number tests by a hash with this many bits instead of keeping their names.")
    ] = None,
    start_label: Annotated[
        bool, typer.Option("--start-label", help="Apply bigram tests at the first token, too.")
    ] = False,
    features: Annotated[
        str, typer.Option(help="all, or seen: combine a test only with labels it occurs with in TRAIN.")
    ] = "all",
    fine_tune: Annotated[
        int, typer.Option(help="Number of L-BFGS iterations on the remaining weights at the end.")
    ] = 0,
    model: Annotated[Path | None, typer.Option(help="Tagger to start from; its labels and patterns are kept.")] = None,
    resume: Annotated[
        Path | None,
        further_output("Checkpoint file: written during training; if it exists, training continues from it."),
    ] = None,
    plot: Annotated[
        Path | None, figure_option("Draw the course of the training to this file (.png, .svg or .pdf).")
    ] = None,
    counts: Annotated[
        bool,
        typer.Option(
            "--counts",
            help="Add a table with the number of tests and features of each pattern, all and those with a weight.",
        ),
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

    from textmill.progress import shown_by
    from textmill.readable import counted
    from textmill.sequence import read_labeled, read_tagger

    data = read_labeled(source, format=format)
    held_out = read_labeled(dev, format=format) if dev is not None else None
    tagger = _tagger(kind, patterns, syntax, format)
    tagger.set_params(
        algorithm=algorithm, l1=l1, l2=l2, max_iter=max_iter, min_count=min_count, hash_bits=hash_bits,
        start_label=start_label, features=features, fine_tune=fine_tune, n_jobs=jobs, random_state=seed,
    )  # fmt: skip
    parts = (held_out.X, held_out.y) if held_out is not None else (None, None)
    start = None if model is None else read_tagger(model)
    with shown_by(_Table()):
        tagger.fit(data.X, data.y, *parts, sample_weight=data.weights, start=start, checkpoint=resume, cluster=cluster)
    tagger.save(output)
    if plot is not None:
        _plot(tagger.training_log_, plot)
    kept = _kept_iteration(tagger.training_log_) if not fine_tune else None
    facts = {
        "sequences": len(data.X),
        "labels": len(tagger.classes_),
        "tests": sum(row["tests"] for row in tagger.pattern_counts_),
        "features": sum(row["features"] for row in tagger.pattern_counts_),
        "active_tests": sum(row["active_tests"] for row in tagger.pattern_counts_),
        "active": len(tagger.features_),
        "iterations": tagger.n_iter_,
        "objective": tagger.objective_ if kept is None else tagger.training_log_[kept - 1]["objective"],
        "stopped": tagger.stopped_,
    }
    if kept is not None:
        facts["kept_iteration"] = kept
    if json:
        typer.echo(dumps({**facts, "patterns": tagger.pattern_counts_}, ensure_ascii=False))
        return
    if counts:
        typer.echo("tests\tfeatures\tactive tests\tactive\tpattern")
        for name, *numbers in (row.values() for row in tagger.pattern_counts_):
            typer.echo("\t".join(map(str, [*numbers, name])))
    sizes = ("sequences", "labels", "tests", "features", "active_tests", "active")
    line = ", ".join(f"{name.replace('_', ' ')} {facts[name]}" for name in sizes)
    whole = counted(tagger.n_iter_, "iterations") if kept is None else f"kept iteration {kept} of {tagger.n_iter_}"
    objective = "" if facts["objective"] is None else f", objective {facts['objective']:.6g}"
    typer.echo(f"{output}: {line}, {whole}{objective}, stopped: {STOPPED[tagger.stopped_]}")


@app.command()
def label(
    model: Model,
    source: Annotated[str, typer.Argument(metavar="INPUT", help="Columns; - for stdin.")] = "-",
    output: Annotated[str, output_option("The file to write; - for stdout.")] = "-",
    k: Annotated[int, typer.Option("-k", help="Number of labellings per sequence.")] = 1,
    scores: Annotated[bool, typer.Option("--scores", help="Add scores and probabilities.")] = False,
    posterior: Annotated[
        bool,
        typer.Option("--posterior", help="Choose the most probable label of each token instead of the best labelling."),
    ] = False,
    constrain: Annotated[
        bool,
        typer.Option("--constrain", help="Keep labels given in the last column; other values leave the token free."),
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
    how: dict[str, Any] = {"k": k, "scores": scores, "posterior": posterior, "constrain": constrain}
    if format == "columns":
        texts = label_sentences(tagger, track(read_columns(source), "labelling", unit="sequences"), **how)
    else:
        texts = {"crfsuite": label_attributes, "tests": label_tests}[format](tagger, source, **how)
    with writer(output) as out:
        out.writelines(texts)


@app.command()
def evaluate(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="Columns, of which the last two are gold and predicted labels; - for stdin."
        ),
    ],
    chunks: Annotated[
        bool | None,
        typer.Option("--chunks/--no-chunks", help="Score chunks (IOB tags); default: detect from the labels."),
    ] = None,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Add 95 % bootstrap intervals over sequences.")
    ] = False,
    confusion: Annotated[
        bool, typer.Option("--confusion", help="Add the table of gold by predicted labels, separated by tabs.")
    ] = False,
    json: Json = False,
) -> None:
    """Score labels: token and sequence error, figures per label, and chunks exactly as conlleval does.

    Example: textmill tag evaluate news.tagged --chunks --intervals
    """
    from json import dumps

    from textmill.corpus import read_columns
    from textmill.sequence import FIGURES, evaluate_columns

    scores = evaluate_columns(read_columns(source), chunks=chunks)
    figures = [name for name in FIGURES if scores.chunks is not None or name.endswith("error")]
    bounds = {name: scores.interval(name) for name in figures} if intervals else {}
    if json:
        out = scores.to_json()
        out |= (
            {"intervals": {name: [interval.low, interval.high] for name, interval in bounds.items()}} if bounds else {}
        )
        typer.echo(dumps(out, ensure_ascii=False))
        return
    typer.echo(scores.report())
    for name, interval in bounds.items():
        typer.echo(f"{name}: {interval.estimate:.4f} [{interval.low:.4f}, {interval.high:.4f}]  {interval.signature}")
    if confusion:
        labels = [str(label) for label in scores.confusion.labels]
        typer.echo("\t".join(["gold", *labels]))
        for name, row in zip(labels, scores.confusion.table.tolist(), strict=True):
            typer.echo("\t".join([name, *map(str, row)]))


@app.command()
def dump(
    model: Model,
    output: Annotated[str, output_option("The file to write; - for stdout.")] = "-",
    precision: Annotated[
        int | None, typer.Option(help="Digits after the decimal point; default: as many as needed.")
    ] = None,
    zeros: Annotated[bool, typer.Option("--all", help="Include weights that are 0.")] = False,
) -> None:
    """Write the weights as text: test, previous label or #, label, weight.

    Example: textmill tag dump chunks.mill --precision 5 > chunks.dump
    """
    from textmill.sequence import read_tagger, write_dump

    write_dump(read_tagger(model).to_weights(), output, precision=precision, zeros=zeros)


@app.command()
def update(
    model: Model,
    patch: Annotated[
        Path, typer.Argument(metavar="PATCH", help="Lines in the format of `dump`; weight 0 removes a feature.")
    ],
    output: Output,
) -> None:
    """Replace weights of a tagger by those of a dump.

    Example: textmill tag update chunks.mill patch.txt -o patched.mill
    """
    from textmill.sequence import read_tagger, tagger_of, update_weights

    tagger_of(update_weights(read_tagger(model).to_weights(), patch)).save(output)


@app.command()
def compact(model: Model, output: Output) -> None:
    """Drop tests that have no weight; the labels do not change.

    Example: textmill tag compact chunks.mill -o small.mill
    """
    from textmill.errors import DataError
    from textmill.sequence import read_tagger

    tagger = read_tagger(model)
    if tagger.encoder_.hash_bits is not None:
        raise DataError(f"{model}: hashed tests are not kept, so there is nothing to drop; train without --hash-bits")
    before = len(tagger.encoder_.tests_)
    tagger.drop_unused_tests().save(output)
    typer.echo(f"{output}: {len(tagger.encoder_.tests_)} of {before} tests have a weight")


@app.command()
def convert(
    model: Model,
    output: Annotated[Path, output_argument("The file to write: .mill, .wapiti, .crfsuite or .dump.", "OUTPUT")],
    to: Annotated[
        str | None, typer.Option(help="Output format: mill, wapiti, crfsuite or dump; default: by suffix.")
    ] = None,
) -> None:
    """Convert taggers between the formats of textmill, Wapiti and CRFsuite, and to and from dumps.

    Example: textmill tag convert model.crfsuite model.mill
    """
    from textmill.sequence import read_tagger, write_tagger

    write_tagger(read_tagger(model), output, format=to)


@app.command()
def path(
    source: Annotated[str, typer.Argument(metavar="TRAIN", help="Labeled sequences.")],
    patterns: Patterns = None,
    dev: Annotated[Path | None, typer.Option(help="Labeled sequences to score each model on.")] = None,
    steps: Annotated[
        int, typer.Option(help="Number of penalties, beginning with the one at which all weights are zero.")
    ] = 10,
    ratio: Annotated[float, typer.Option(help="Last penalty divided by the first.")] = 0.01,
    syntax: Syntax = "textmill",
    format: Format = "columns",  # noqa: A002
    l2: L2 = None,
    max_iter: MaxIter = None,
    jobs: Jobs = None,
) -> None:
    """Train with decreasing L1 penalties and print size and error of each model.

    Example: textmill tag path train.txt -p patterns.txt --dev dev.txt --steps 8
    """
    from textmill.progress import all_or_nothing
    from textmill.sequence import evaluate_tags, read_labeled

    data = read_labeled(source, format=format)
    held_out = read_labeled(dev, format=format) if dev is not None else None
    tagger = _tagger("crf", patterns, syntax, format)
    tagger.set_params(l2=l2, max_iter=max_iter, n_jobs=jobs)
    typer.echo("l1\tactive\tobjective" + ("\ttoken error" if held_out is not None else ""))
    with all_or_nothing():
        for fitted in tagger.path(data.X, data.y, steps=steps, ratio=ratio):
            row = [f"{fitted.l1:.6g}", str(len(fitted.features_)), f"{fitted.objective_:.6g}"]
            if held_out is not None:
                row.append(f"{evaluate_tags(held_out.y, fitted.predict(held_out.X)).token_error:.4%}")
            typer.echo("\t".join(row))


@app.command()
def crossval(
    source: Annotated[str, typer.Argument(metavar="DATA", help="Labeled sequences.")],
    patterns: Patterns = None,
    folds: Annotated[int, typer.Option(help="Number of parts.")] = 10,
    train_on_all: Annotated[
        bool, typer.Option("--train-on-all", help="Keep no part of the data apart for early stopping.")
    ] = False,
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
    """Cross-validate: test on each part of the data in turn, and score all answers together.

    Example: textmill tag crossval all.txt -p patterns.txt --folds 10
    """
    from json import dumps

    from textmill.sequence import cross_validate, read_labeled

    data = read_labeled(source, format=format)
    tagger = _tagger(kind, patterns, syntax, format)
    tagger.set_params(
        algorithm=algorithm, l1=l1, l2=l2, max_iter=max_iter, min_count=min_count, n_jobs=jobs, random_state=seed
    )
    scores = cross_validate(tagger, data.X, data.y, k=folds, early_stopping=not train_on_all, random_state=seed)
    whole = sum(scores[1:], scores[0])
    if json:
        typer.echo(dumps({**whole.to_json(), "folds": [part.to_json() for part in scores]}, ensure_ascii=False))
        return
    for number, part in enumerate(scores, 1):
        typer.echo(f"fold {number}: token error {part.token_error:.4%}, sequence error {part.sequence_error:.4%}")
    typer.echo(whole.report())


def _tagger(kind: str, patterns: Path | None, syntax: str, format: str) -> Any:  # noqa: A002
    """An estimator that is not yet trained."""
    from textmill.corpus import open_lines
    from textmill.errors import DataError
    from textmill.model import check_choice
    from textmill.sequence import CRF, ConditionalMarkov, parse_patterns

    check_choice("kind", kind, ["crf", "memm"])
    if patterns is None and format == "columns":
        raise DataError("columns need patterns; pass -p FILE, or --format tests if every column is a test itself")
    text = None
    if patterns is not None:
        text = "\n".join(line for _, line in open_lines(patterns))
        parse_patterns(text, syntax=syntax, source=str(patterns))
    return {"crf": CRF, "memm": ConditionalMarkov}[kind](
        patterns=text, syntax="wapiti" if format == "tests" else syntax
    )


def _kept_iteration(log: list[dict[str, float]]) -> int | None:
    """The iteration whose weights are kept: the first with the lowest error on the development sequences."""
    errors = [entry["dev_error"] for entry in log if "dev_error" in entry]
    return 1 + errors.index(min(errors)) if errors else None


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
