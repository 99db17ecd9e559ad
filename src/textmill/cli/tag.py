"""Label sequences (parts of speech, chunks, names) with CRFs: train, label, evaluate, explain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._json import json_line
from textmill.cli._lines import holds_records, record_line
from textmill.cli._options import (
    Cluster,
    ColumnEncoding,
    DocumentMark,
    Jobs,
    Json,
    JsonLines,
    LabelColumn,
    Seed,
    TextField,
)
from textmill.cli._outputs import figure_option, further_output, output_argument, output_option
from textmill.cli._reading import with_options
from textmill.cli._tables import Printed, warn_of_nothing
from textmill.cli._tag_kinds import ModelOptions, check_kind_options
from textmill.cli._tag_labeling import SearchOptions, certified_lines, read_tokens
from textmill.cli._tag_options import Format, Tests, Training
from textmill.cli._tag_tools import app as tools

_NO_SPAN = "no span was found; is the text in the language of the training data, and cut and cased alike?"

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)
app.add_typer(tools)

Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Tagger: a .mill file, a model of Wapiti or CRFsuite, or a dump.")
]
Output = Annotated[Path, output_option("The file to write.")]


@app.command()
@with_options
def train(
    source: Annotated[str, typer.Argument(metavar="TRAIN", help="Labeled sequences; - for stdin.")],
    output: Output,
    tests: Tests,
    training: Training,
    own: ModelOptions,
    dev: Annotated[
        Path | None,
        typer.Option(help="Labeled sequences for early stopping; the iteration with the lowest error is kept."),
    ] = None,
    held_out: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Share of TRAIN to keep apart for early stopping, as --dev.")
    ] = None,
    hash_bits: Annotated[
        int | None, typer.Option(help="Number tests by a hash with this many bits instead of keeping their names.")
    ] = None,
    start_label: Annotated[
        bool, typer.Option("--start-label", help="Apply bigram tests at the first token, too.")
    ] = False,
    features: Annotated[
        str | None,
        typer.Option(help="all, or seen: combine a test only with labels it occurs with in TRAIN; default: all."),
    ] = None,
    fine_tune: Annotated[
        int, typer.Option(help="Number of L-BFGS iterations on the remaining weights at the end.")
    ] = 0,
    stages: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Begin with patterns that contain no other. Every N iterations add the next larger ones, their tests "
            "only where the smaller pattern's test has a weight.",
        ),
    ] = None,
    model: Annotated[Path | None, typer.Option(help="Tagger to start from; its labels and patterns are kept.")] = None,
    resume: Annotated[
        Path | None,
        further_output("Checkpoint file: written during training; if it exists, training continues from it."),
    ] = None,
    plot: Annotated[
        Path | None, figure_option("Draw the course of the training to this file (.png, .svg or .pdf).")
    ] = None,
    log: Annotated[
        Path | None, further_output("Write objective, gradient norm and time of every iteration to this CSV file.")
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

    Example: textmill tag train train.txt --dev dev.txt --l1 0.5 -o chunks.mill
    Example: textmill tag train train.txt --kind semimarkov --max-length 10 --history entity -o names.mill
    """
    from textmill.plot import save
    from textmill.progress import shown_by
    from textmill.sequence import TrainingTable, draw_training, hold_out, read_tagger, summary_of, write_training_log

    chain = {"start_label": start_label, "features": features, "fine_tune": fine_tune, "stages": stages}
    check_kind_options(training.kind, {**chain, "model": model, "cluster": cluster, "counts": counts})
    data = tests.read_training(source)
    apart = tests.read(dev) if dev is not None else None
    if held_out is not None:
        _refuse_both(dev)
        data, apart = hold_out(data, held_out, random_state=seed)
    chain = {name: value for name, value in chain.items() if value is not None}
    tagger = own.tagger(tests, training, chain=chain, hash_bits=hash_bits, n_jobs=jobs, random_state=seed)
    parts = (apart.X, apart.y) if apart is not None else (None, None)
    further: dict[str, Any] = {} if model is None else {"start": read_tagger(model)}
    further |= {} if cluster is None else {"cluster": cluster}
    with shown_by(TrainingTable(lambda line: typer.echo(line, err=True))):
        tagger.fit(data.X, data.y, *parts, sample_weight=data.weights, checkpoint=resume, **further)
    tagger.save(output)
    if plot is not None:
        save(draw_training(tagger), plot)
    if log is not None:
        write_training_log(tagger, log)
    summary: Any = summary_of(tagger, len(data.X))
    if json:
        typer.echo(json_line(summary.to_json()))
        return
    if counts:
        typer.echo("\n".join(summary.pattern_table()))
    typer.echo(f"{output}: {summary}")
    if model is None and (default := tests.default_patterns(tagger)):
        typer.echo(default)


@app.command()
@with_options
def label(
    model: Model,
    source: Annotated[str | None, typer.Argument(metavar="[INPUT]", help="Columns; - for stdin (default).")] = None,
    output: Annotated[str, output_option("The file to write; - for stdout.")] = "-",
    *,
    searching: SearchOptions,
    text: Annotated[
        str | None, typer.Option(metavar="FILE", help="Running text instead of columns, to be tokenized; - for stdin.")
    ] = None,
    join_lines: Annotated[
        bool, typer.Option("--join-lines", help="Line ends of running text end no sentence; blank lines do.")
    ] = False,
    tokenizer: Annotated[
        str,
        typer.Option(
            help="How running text is cut: words, penn (do n't, Mary 's), ud (and well - known) or plain (at blanks)."
        ),
    ] = "words",
    document: DocumentMark = "-DOCSTART-",
    encoding: ColumnEncoding = "utf-8",
    text_field: TextField = None,
    label_column: LabelColumn = None,
    repair: Annotated[
        str | None,
        typer.Option(metavar="SCHEME", help="Repair ill-formed tags: IOB2, IOB1, IOBES, BILOU, IOE2 or IOE1."),
    ] = None,
    k: Annotated[int, typer.Option("-k", help="Number of labelings per sequence.")] = 1,
    scores: Annotated[bool, typer.Option("--scores", help="Add scores and probabilities.")] = False,
    posterior: Annotated[
        bool,
        typer.Option("--posterior", help="Choose the most probable label of each token instead of the best labeling."),
    ] = False,
    maximize: Annotated[
        str | None,
        typer.Option(help="Choose the labels of greatest expected F: f1, span-f1 or token-f1, any beta for 1."),
    ] = None,
    constrain: Annotated[
        bool,
        typer.Option("--constrain", help="Keep labels given in the last column; other values leave the token free."),
    ] = False,
    format: Format = "columns",  # noqa: A002
    json: Annotated[
        bool, typer.Option("--json", help="With --text: print sentences and spans with their places in the text.")
    ] = False,
    spans: Annotated[
        bool, typer.Option("--spans", help="Print JSON lines with labeled spans and their probabilities.")
    ] = False,
    jobs: Jobs = None,
) -> None:
    """Label one token per line, or running text; the label is appended to the line.

    Of CoNLL-U the words are labeled: word, the right label by --label-column, label. Of JSONL, CSV and Parquet the
    text of each record is labeled as running text, and the record written with its sentences and spans.
    With --text --json every sentence is a line: begin, end, text and spans, each with begin, end, label and text.
    Places are numbers of characters from the beginning of the text.

    Example: textmill tag label names.mill --text letter.txt --json > letter.jsonl
    """
    import warnings

    from textmill.corpus import open_source, writer
    from textmill.errors import DataError
    from textmill.model import check_choice
    from textmill.progress import track
    from textmill.sequence import (
        DATA_FORMATS,
        LabelingOptions,
        TagRepairs,
        label_attributes,
        label_segments,
        label_sentences,
        label_spans,
        label_tests,
        read_segment_tagger,
        read_tagger,
    )

    check_choice("format", format, DATA_FORMATS)
    repairs = None if repair is None else TagRepairs(repair)
    by_segments = read_segment_tagger(model)
    tagger: Any = read_tagger(model) if by_segments is None else by_segments
    tagger.set_params(n_jobs=jobs)
    options = LabelingOptions(
        k=k,
        scores=scores,
        posterior=posterior,
        constrain=constrain,
        maximize=maximize,
        search=searching.checked(tagger),
    )
    with ExitStack() as stack:
        columns: Any = "-" if source is None else source
        cutting: dict[str, Any] = {"tokenizer": tokenizer, "join_lines": join_lines, "repair": repairs}
        reading: dict[str, Any] = {"document": document, "encoding": encoding, "label_column": label_column}
        if text is None and format == "columns":
            columns = stack.enter_context(open_source(columns, encoding=encoding, text_field=text_field))
        if text is not None:
            if source is not None or format != "columns" or options != LabelingOptions():
                raise typer.BadParameter(
                    "--text goes with --json, --join-lines, --tokenizer, --encoding and --repair only"
                )
            texts = _labeled_text(tagger, text, encoding, json, cutting)
        elif format == "columns" and holds_records(columns):
            if options != LabelingOptions() or spans:
                raise typer.BadParameter(
                    "texts of records go with --join-lines, --tokenizer, --text-field and --repair only"
                )
            if by_segments is not None:
                raise DataError("a tagger of segments labels columns, not texts; give one token per line")
            texts = _labeled_records(tagger, columns.documents(), cutting)
        elif searching.certificates:
            texts = certified_lines(tagger, columns, format, options, searching, **reading)
        elif spans or by_segments is not None:
            if json or join_lines or format != "columns" or repairs is not None:
                raise typer.BadParameter("spans are of columns; leave out --json, --join-lines, --format and --repair")
            sentences = track(read_tokens(tagger, columns, **reading), "labeling", unit="sequences")
            texts = (label_spans if spans else label_segments)(tagger, sentences, options)
        elif json or join_lines or tokenizer != "words":
            raise typer.BadParameter("--json, --join-lines and --tokenizer are for running text; pass --text FILE")
        elif format == "columns":
            sentences = track(read_tokens(tagger, columns, **reading), "labeling", unit="sequences")
            texts = label_sentences(tagger, _warned(tagger, sentences), options, repair=repairs)
        else:
            label = label_attributes if format == "crfsuite" else label_tests
            texts = label(tagger, columns, options, repair=repairs, encoding=encoding)
        with writer(output) as out:
            out.writelines(texts)
    if repairs is not None:
        warnings.warn(str(repairs), stacklevel=1)


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
    show_errors: Annotated[
        bool, typer.Option("--show-errors", help="Add a table of wrong tokens or chunks, by what was taken for what.")
    ] = False,
    k: Annotated[int, typer.Option("-k", help="Number of errors of each kind to show.")] = 3,
    document: DocumentMark = "-DOCSTART-",
    encoding: ColumnEncoding = "utf-8",
    boundaries: Annotated[
        bool, typer.Option("--boundaries", help="Add scores of the left and right edges of chunks.")
    ] = False,
    lengths: Annotated[bool, typer.Option("--lengths", help="Add scores of chunks by their length.")] = False,
    json: Json = False,
) -> None:
    """Score labels: token and sequence error, figures per label, and chunks exactly as conlleval does.

    Example: textmill tag evaluate news.tagged --chunks --intervals
    """
    from textmill.corpus import read_tagged
    from textmill.model import check_range
    from textmill.sequence import (
        FIGURES,
        check_predicted,
        column_errors,
        errors_by_kind,
        evaluate_boundaries,
        evaluate_columns,
        gold_and_predicted,
    )

    check_range("k", k, at_least=1, whole=True)
    sentences = list(read_tagged(source, labels=True, document=document, encoding=encoding))
    check_predicted(sentences, source)
    scores = evaluate_columns(sentences, chunks=chunks)
    kinds = errors_by_kind(column_errors(sentences, chunks=chunks)) if show_errors else {}
    figures = [name for name in FIGURES if scores.chunks is not None or name.endswith("error")]
    bounds = {name: scores.interval(name) for name in figures} if intervals else {}
    edges = evaluate_boundaries(*gold_and_predicted(sentences)) if boundaries or lengths else None
    if json:
        out = scores.to_json() | ({} if edges is None else {"boundaries": edges.to_json()})
        out |= (
            {"intervals": {name: [interval.low, interval.high] for name, interval in bounds.items()}} if bounds else {}
        )
        if show_errors:
            out["errors"] = [
                {"kind": kind, "count": len(errors), "examples": [error._asdict() for error in errors[:k]]}
                for kind, errors in kinds.items()
            ]
        typer.echo(json_line(out))
        return
    typer.echo(scores.report())
    for name, interval in bounds.items():
        typer.echo(f"{name}: {interval.estimate:.4f} [{interval.low:.4f}, {interval.high:.4f}]  {interval.signature}")
    if edges is not None and boundaries:
        rows = edges.to_dict()
        table = Printed({name: "" if name in ("label", "gold") else ".4f" for name in rows})
        for values in zip(*rows.values(), strict=True):
            table.row(**dict(zip(rows, values, strict=True)))
    if edges is not None and lengths:
        table = Printed({"length": "", "recall": ".4f", "precision": ".4f", "gold": "", "predicted": ""})
        for length, values in edges.by_length().items():
            recall, precision, gold, predicted = values
            table.row(length=length, recall=recall, precision=precision, gold=gold, predicted=predicted)
    if confusion:
        labels = [str(label) for label in scores.confusion.labels]
        typer.echo("\t".join(["gold", *labels]))
        for name, row in zip(labels, scores.confusion.table.tolist(), strict=True):
            typer.echo("\t".join([name, *map(str, row)]))
    if show_errors:
        table = Printed(dict.fromkeys(["count", "kind", "place", "gold", "predicted", "sentence"], ""))
        for errors in kinds.values():
            for error in errors[:k]:
                table.row(count=len(errors), **error._asdict())


@app.command()
def show(
    model: Model,
    label: Annotated[str | None, typer.Option(help="Only weights of this label.")] = None,
    before: Annotated[str | None, typer.Option(help="Only weights of pairs with this label before.")] = None,
    test: Annotated[str | None, typer.Option(help="Only weights of this test, such as u:w=the.")] = None,
    word: Annotated[str | None, typer.Option(help="Only weights of tests that this word has a part in.")] = None,
    transitions: Annotated[
        bool, typer.Option("--transitions", help="Only weights of pairs of labels, whatever the tokens are.")
    ] = False,
    k: Annotated[int, typer.Option("-k", help="Number of largest and of smallest weights.")] = 10,
    json: JsonLines = False,
) -> None:
    """Print the largest and the smallest weights of a tagger: what speaks for and against a label.

    Example: textmill tag show chunks.mill --label B-NP -k 5
    """
    from textmill.sequence import read_tagger, top_features

    features = top_features(
        read_tagger(model), label=label, before=before, test=test, word=word, transitions=transitions, k=k
    )
    table = Printed({"weight": ".4f", "test": "", "before": "", "label": ""}, json=json)
    for feature in features:
        table.row(**feature._asdict())


@app.command()
def repair(
    source: Annotated[str, typer.Argument(metavar="FILE", help="Columns, of which the last has tags; - for stdin.")],
    scheme: Annotated[str, typer.Option(help="IOB2, IOB1, IOBES, BILOU, IOE2 or IOE1.")] = "IOB2",
    output: Annotated[str, output_option("The file to write; - for stdout.")] = "-",
    document: DocumentMark = "-DOCSTART-",
    encoding: ColumnEncoding = "utf-8",
) -> None:
    """Make the tags in the last column well-formed; chunks and their labels stay, only the letters change.

    Example: textmill tag repair train.txt --scheme IOB2 -o repaired.txt
    """
    import warnings

    from textmill.corpus import read_tagged, writer
    from textmill.sequence import TagRepairs, repair_lines

    repairs = TagRepairs(scheme)
    sentences = read_tagged(source, keep_lines=True, labels=True, document=document, encoding=encoding)
    with writer(output) as out:
        out.writelines(repair_lines(sentences, repairs))
    warnings.warn(str(repairs), stacklevel=1)


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
@with_options
def path(
    source: Annotated[str, typer.Argument(metavar="TRAIN", help="Labeled sequences.")],
    tests: Tests,
    training: Training,
    dev: Annotated[Path | None, typer.Option(help="Labeled sequences to score each model on.")] = None,
    steps: Annotated[
        int, typer.Option(help="Number of penalties, beginning with the one at which all weights are zero.")
    ] = 10,
    ratio: Annotated[float, typer.Option(help="Last penalty divided by the first.")] = 0.01,
    jobs: Jobs = None,
) -> None:
    """Train with decreasing L1 penalties and print size and error of each model.

    Example: textmill tag path train.txt -p patterns.txt --dev dev.txt --steps 8
    """
    from textmill.cli._tables import Printed
    from textmill.progress import all_or_nothing
    from textmill.sequence import evaluate_tags

    data = tests.read_training(source)
    apart = tests.read(dev) if dev is not None else None
    tagger = training.tagger(tests.encoder(), n_jobs=jobs)
    columns = {"l1": ".6g", "active": "", "objective": ".6g"} | ({"token error": ".4%"} if apart is not None else {})
    table = Printed(columns)
    with all_or_nothing():
        for fitted in tagger.path(data.X, data.y, steps=steps, ratio=ratio):
            row = {"l1": fitted.l1, "active": len(fitted.features_), "objective": fitted.objective_}
            if apart is not None:
                row["token error"] = evaluate_tags(apart.y, fitted.predict(apart.X)).token_error
            table.row(**row)


@app.command()
@with_options
def crossval(
    source: Annotated[str, typer.Argument(metavar="DATA", help="Labeled sequences.")],
    tests: Tests,
    training: Training,
    own: ModelOptions,
    folds: Annotated[int, typer.Option(help="Number of parts.")] = 10,
    train_on_all: Annotated[
        bool, typer.Option("--train-on-all", help="Keep no part of the data apart for early stopping.")
    ] = False,
    jobs: Jobs = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Cross-validate: test on each part of the data in turn, and score all answers together.

    Example: textmill tag crossval all.txt -p patterns.txt --folds 10
    """
    from textmill.sequence import cross_validate

    tagger = own.tagger(tests, training, n_jobs=jobs, random_state=seed)
    data = tests.read_training(source)
    scores = cross_validate(tagger, data.X, data.y, k=folds, early_stopping=not train_on_all, random_state=seed)
    whole = sum(scores[1:], scores[0])
    if json:
        typer.echo(json_line({**whole.to_json(), "folds": [part.to_json() for part in scores]}))
        return
    for number, part in enumerate(scores, 1):
        typer.echo(f"fold {number}: token error {part.token_error:.4%}, sequence error {part.sequence_error:.4%}")
    typer.echo(whole.report())


def _labeled_text(tagger: Any, text: str, encoding: str, json: bool, cutting: dict[str, Any]) -> Iterator[str]:
    """The lines for running text: columns, or JSON."""
    from textmill.corpus import read_text
    from textmill.sequence import label_text

    sentences = label_text(tagger, read_text(text, encoding=encoding), **cutting)
    any_span = False
    for sentence in sentences:
        any_span = any_span or bool(sentence.spans)
        if json:
            spans = [span._asdict() for span in sentence.spans]
            facts = {"begin": sentence.begin, "end": sentence.end, "text": sentence.text, "spans": spans}
            yield json_line(facts) + "\n"
        else:
            words = (sentence.text[a - sentence.begin : b - sentence.begin] for a, b in sentence.tokens)
            yield "".join(f"{word}\t{label}\n" for word, label in zip(words, sentence.labels, strict=True)) + "\n"
    if not any_span:
        warn_of_nothing(_NO_SPAN)


def _labeled_records(tagger: Any, documents: Iterable[Any], cutting: dict[str, Any]) -> Iterator[str]:
    """A line of JSON for each record: its fields, and the sentences of its text with their spans."""
    from textmill.progress import track
    from textmill.sequence import label_text

    any_span = False
    for document in track(documents, "labeling", unit="records"):
        labeled = list(label_text(tagger, document.text, **cutting))
        any_span = any_span or any(one.spans for one in labeled)
        sentences = [
            {"begin": one.begin, "end": one.end, "text": one.text, "spans": [span._asdict() for span in one.spans]}
            for one in labeled
        ]
        yield record_line(document, sentences=sentences)
    if not any_span:
        warn_of_nothing(_NO_SPAN)


def _warned(tagger: Any, sentences: Any) -> Iterator[Any]:
    """The sentences; a warning after the last if a tagger without patterns, whose columns are tests, knows none."""
    encoder = tagger.encoder_
    if encoder.patterns_ or encoder.function is not None or encoder.hash_bits is not None:
        yield from sentences
        return
    tests, any_known = {*encoder.tests_.to_list()}, False
    for sentence in sentences:
        any_known = any_known or any(not tests.isdisjoint(row) for row in sentence)
        yield sentence
    if not any_known:
        import warnings

        warnings.warn(
            "the tagger has no patterns and knows no column of the input, so all tokens look alike to it; label with "
            "the .mill file it was made from, or pass --format crfsuite for attributes",
            stacklevel=1,
        )


def _refuse_both(dev: Path | None) -> None:
    from textmill.errors import DataError

    if dev is not None:
        raise DataError("--dev and --held-out both keep sequences apart; pass one of them")
