"""Find the topics of documents: train, show, transform, update, merge, cluster, evaluate, compare, explain."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._json import json_line
from textmill.cli._options import Cluster, Jobs, JsonLines, Seed
from textmill.cli._outputs import figure_option, output_option
from textmill.cli._reading import Reading, Terms, describe_stop_words, with_options
from textmill.cli._tables import Printed
from textmill.cli._topic_options import ModelFile, Sources, is_bags, load_model, read_input
from textmill.cli._topic_tools import app as tools

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)
app.add_typer(tools)

KINDS = ("lda", "lsa", "mixture", "nmf", "pca", "plsa")
WITHOUT_CURVE = ("lsa", "pca")  # trained in passes that improve nothing step by step


@app.command()
@with_options
def train(
    sources: Sources,
    output: Annotated[Path, output_option("The model file to write.")],
    kind: Annotated[str, typer.Option(help=f"Kind of model: {', '.join(KINDS)}.")] = "nmf",
    topics: Annotated[int, typer.Option(help="Number of topics.")] = 20,
    vocab: Annotated[
        Path | None, typer.Option(help="Vocabulary made by `textmill vocab build`; default: the terms of the input.")
    ] = None,
    weighting: Annotated[
        str | None, typer.Option(help="Weights of terms in SMART letters, such as ntc; default: what suits the model.")
    ] = None,
    min_df: Annotated[int, typer.Option(help="Without --vocab: leave out terms that occur in fewer documents.")] = 2,
    max_df: Annotated[
        float, typer.Option(help="Without --vocab: leave out terms that occur in a larger share of the documents.")
    ] = 0.5,
    method: Annotated[
        str | None,
        typer.Option(help="lda: online, batch, gibbs or cvb0; lsa, pca, nmf: see the class of the model."),
    ] = None,
    alpha: Annotated[
        str | None,
        typer.Option(help="lda, mixture: prior of topics, a number; lda: also symmetric, asymmetric or auto."),
    ] = None,
    eta: Annotated[str | None, typer.Option(help="lda, mixture: prior of words, a number; lda: also auto.")] = None,
    loss: Annotated[str | None, typer.Option(help="nmf: euclidean or kl.")] = None,
    chunk_size: Annotated[int | None, typer.Option(help="Number of documents per step, for streams.")] = None,
    max_iter: Annotated[
        int | None,
        typer.Option(help="Maximum number of iterations; of passes for streams, of sweeps for lda by gibbs or cvb0."),
    ] = None,
    tolerance: Annotated[float | None, typer.Option(help="Gain at which training ends; see the class.")] = None,
    update_every: Annotated[int | None, typer.Option(help="lda: number of chunks per update; 0: all of them.")] = None,
    decay: Annotated[
        float | None,
        typer.Option(help="lsa, nmf, plsa: factor for old documents at each step, 1 to forget nothing."),
    ] = None,
    learning_decay: Annotated[
        float | None, typer.Option(help="lda: exponent of the learning rate, from 0.5 to 1.")
    ] = None,
    weight_tokens: Annotated[str | None, typer.Option(help="lda: weigh tokens by idf or pmi.")] = None,
    held_out: Annotated[
        float | None, typer.Option(metavar="SHARE", help="plsa: share of the documents that decide when to stop.")
    ] = None,
    dev: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="lda: documents to measure perplexity on; training stops when it no longer falls.",
        ),
    ] = None,
    eval_every: Annotated[
        int | None, typer.Option(help="lda: number of updates between two measurements on --dev.")
    ] = None,
    plot: Annotated[
        Path | None, figure_option("Draw the course of the training to this file (.png, .svg or .pdf).")
    ] = None,
    cluster: Cluster = None,
    *,
    terms: Terms,
    reading: Reading,
    seed: Seed = 0,
    jobs: Jobs = None,
) -> None:
    """Train a topic model on documents or bags; the model file holds everything needed to read further text.

    Example: textmill topics train news.jsonl.gz --kind lda --topics 50 --dev more.jsonl -o news.mill
    """
    from textmill.corpus import Vocabulary
    from textmill.errors import DataError
    from textmill.model import load
    from textmill.plot import save
    from textmill.readable import counted
    from textmill.topics import draw_training
    from textmill.topics.making import make_model, make_vectorizer

    parameters: dict[str, Any] = {
        "n_topics": topics, "method": method, "alpha": _prior("--alpha", alpha), "eta": _prior("--eta", eta),
        "loss": loss, "chunk_size": chunk_size, "max_iter": max_iter, "tolerance": tolerance, "decay": decay,
        "update_every": update_every, "learning_decay": learning_decay, "weighting": weight_tokens,
        "held_out": held_out, "eval_every": eval_every, "random_state": seed, "n_jobs": jobs,
    }  # fmt: skip
    model: Any = make_model(kind, **parameters)
    if plot is not None and kind in WITHOUT_CURVE:
        raise DataError(f"--kind {kind} has no training curve to draw; leave out --plot, see 'topics show --plot'")
    options: dict[str, Any] = {}
    for option, name, value in (("--cluster", "cluster", cluster), ("--dev", "X_dev", dev)):
        if value is not None and name not in signature(model.fit).parameters:
            raise DataError(f"{option} is no option of --kind {kind}; leave it out")
    if cluster is not None:
        options["cluster"] = cluster
    if dev is not None:
        options["X_dev"] = read_input([dev], reading, again=True)
    bags = is_bags(sources)
    documents = read_input(sources, reading, again=True)
    if vocab is not None:
        terms.refuse("--vocab has them already")
        model.set_params(vectorizer=make_vectorizer(kind, load(vocab, expect=Vocabulary), weighting))
    elif not bags:
        vocabulary = terms.vocabulary(documents, stop_words="auto", min_df=min_df, max_df=max_df, jobs=jobs)
        model.set_params(vectorizer=make_vectorizer(kind, vocabulary, weighting))
    elif weighting is None:
        terms.refuse("bags have them already")
    else:
        raise DataError("--weighting of bags needs their vocabulary; pass --vocab too")
    model.fit(documents, **options)
    rows, columns = model.components_.shape
    model.save(output)
    sizes = counted(rows, "topics"), counted(columns, "terms"), counted(model.documents_, "documents")
    typer.echo(f"{kind}: {sizes[0]} of {sizes[1]} from {sizes[2]}")
    if dev is not None and len(model.perplexities_):
        updates = counted(model.updates_, "updates")
        typer.echo(f"held-out perplexity {model.perplexities_[-1]:.1f} after {updates}")
    if vocab is None and not bags and (line := describe_stop_words(model.vectorizer_)) is not None:
        typer.echo(line)
    if plot is not None:
        save(draw_training(model), plot)


@app.command()
@with_options
def show(
    model: ModelFile,
    sources: Annotated[list[str] | None, typer.Argument(metavar="[INPUT...]", help="Documents to draw.")] = None,
    words: Annotated[int, typer.Option(help="Number of terms per topic.")] = 10,
    k: Annotated[int, typer.Option("-k", help="Number of topics to print; 0: all.")] = 0,
    plot: Annotated[Path | None, figure_option("Draw the model to this file (.png, .svg or .pdf).")] = None,
    picture: Annotated[
        str | None,
        typer.Option(
            help="topics (by distance), terms (with documents) or time (with --date-field); default: by model."
        ),
    ] = None,
    date_field: Annotated[str | None, typer.Option(help="Field that holds the date, such as 2024-05-17.")] = None,
    color_field: Annotated[
        str | None,
        typer.Option("--color-field", help="Field whose values colour the documents of the picture."),
    ] = None,
    *,
    reading: Reading,
    json: JsonLines = False,
) -> None:
    """Print the topics, their shares of all documents and their terms; draw them by distance or over time.

    Example: textmill topics show news.mill news.jsonl.gz --words 8 --plot time.png --date-field date
    """
    from textmill.errors import DataError
    from textmill.model import check_range
    from textmill.readable import spelled

    check_range("-k", k, at_least=0, whole=True)
    if plot is None and (sources or picture or date_field or color_field):
        raise DataError("INPUT, --picture, --date-field and --color-field are for a picture; name its file with --plot")
    loaded = load_model(model)
    shares = None if loaded.components_.min() < 0 else loaded.strengths()
    topics = loaded.topics(words)[: k or None]
    if json:
        for number, topic in enumerate(topics):
            share = {} if shares is None else {"share": float(shares[number])}
            typer.echo(json_line({"topic": number + 1, **share, "terms": dict(topic)}))
    elif shares is None:  # directions, whose weights have signs
        typer.echo("\n".join(loaded.describe_topics(words).split("\n")[: k or None]))
    else:
        for number, topic in enumerate(topics):
            typer.echo(f"topic {number + 1} ({shares[number]:.1%}): {', '.join(spelled(term) for term, _ in topic)}")
    if plot is not None:
        from textmill.plot import save
        from textmill.topics import draw_model

        documents = None if not sources else read_input(sources, reading, again=True)
        drawing = draw_model(loaded, documents, picture=picture, date_field=date_field, color_field=color_field)
        save(drawing, plot)


@app.command()
@with_options
def transform(
    model: ModelFile,
    sources: Sources,
    output: Annotated[Path, output_option("The .npy file to write, one row per document.")],
    dtype: Annotated[str, typer.Option(help="float32 or float64.")] = "float32",
    method: Annotated[
        str | None, typer.Option(help="lda: inference by variational, em, smoothed-em, eg, gibbs or monte-carlo.")
    ] = None,
    *,
    reading: Reading,
    jobs: Jobs = None,
) -> None:
    """Write the topic weights of documents as one NumPy array, chunk by chunk.

    Example: textmill topics transform news.mill more.jsonl.gz -o more.npy
    """
    from textmill.errors import DataError
    from textmill.readable import counted
    from textmill.topics.projecting import save_projections

    loaded = load_model(model, jobs)
    options = {} if method is None else {"method": method}
    if options and "method" not in signature(loaded.transform).parameters:
        raise DataError(f"--method is no option of a model of kind {type(loaded).__name__}; leave it out")
    rows = save_projections(loaded, read_input(sources, reading), output, dtype=dtype, **options)
    typer.echo(f"{counted(rows, 'documents')}, {counted(len(loaded.components_), 'topics')}")


@app.command()
@with_options
def update(
    model: ModelFile,
    sources: Sources,
    output: Annotated[Path | None, output_option("Default: the model file itself.")] = None,
    *,
    reading: Reading,
    jobs: Jobs = None,
) -> None:
    """Train a model on further documents; its vocabulary stays the same.

    Example: textmill topics update news.mill today.jsonl
    """
    from textmill.files import check_target
    from textmill.readable import counted

    check_target(output or model)
    loaded = load_model(model, jobs)
    before = loaded.documents_
    loaded.partial_fit(read_input(sources, reading))
    loaded.save(output or model)
    typer.echo(f"{counted(loaded.documents_ - before, 'documents')} added, {loaded.documents_} in all")


@app.command()
def merge(
    models: Annotated[list[Path], typer.Argument(metavar="MODEL...", help="Models trained with the same vocabulary.")],
    output: Annotated[Path, output_option("The model file to write.")],
) -> None:
    """Merge models that were trained on parts of a corpus into one.

    Example: textmill topics merge part1.mill part2.mill -o whole.mill
    """
    from functools import reduce

    from textmill.errors import DataError
    from textmill.readable import counted

    loaded = [load_model(path) for path in models]
    for path, other in zip(models, loaded, strict=True):
        if type(other) is not type(loaded[0]):
            raise DataError(
                f"{path} holds {type(other).__name__}, {models[0]} {type(loaded[0]).__name__}; merge models of one kind"
            )
    merged = reduce(lambda one, other: one.merge(other), loaded)
    merged.save(output)
    typer.echo(f"{counted(len(merged.components_), 'topics')} from {counted(merged.documents_, 'documents')}")


@app.command()
@with_options
def cluster(
    model: ModelFile,
    sources: Annotated[
        list[str] | None, typer.Argument(metavar="[INPUT...]", help="The documents; none for --of terms.")
    ] = None,
    clusters: Annotated[int, typer.Option(help="Number of clusters.")] = 10,
    of: Annotated[str, typer.Option(help="What to cluster: documents or terms.")] = "documents",
    method: Annotated[str, typer.Option(help="kmeans, minibatch or agglomerative.")] = "kmeans",
    words: Annotated[int, typer.Option(help="Number of terms in the label of a cluster.")] = 8,
    plot: Annotated[
        Path | None, figure_option("Draw the clusters of documents to this file (.png, .svg or .pdf).")
    ] = None,
    *,
    reading: Reading,
    seed: Seed = 0,
    jobs: Jobs = None,
    json: JsonLines = False,
) -> None:
    """Cluster documents or terms in the space of a model; prints cluster, label and name of each member.

    Example: textmill topics cluster news.mill news.jsonl.gz --clusters 20 --plot clusters.png > clusters.tsv
    """
    from textmill.errors import DataError
    from textmill.model import check_choice
    from textmill.plot import save
    from textmill.topics.clustering import cluster_documents, cluster_terms
    from textmill.topics.map import draw_map

    check_choice("--of", of, ["documents", "terms"])
    if (of == "documents") != bool(sources):
        raise DataError("clusters of documents need INPUT, those of terms take none; see --of")
    loaded = load_model(model, jobs)
    options: dict[str, Any] = {"method": method, "n_words": words, "random_state": seed, "n_jobs": jobs}
    documents = None if not sources else read_input(sources, reading, again=True)
    if documents is None:
        groups = cluster_terms(loaded, clusters, **options)
        vectorizer = loaded.vectorizer_
        names = (
            list(map(str, range(loaded.components_.shape[1]))) if vectorizer is None else vectorizer.terms_.to_list()
        )
    else:
        groups = cluster_documents(loaded, documents, clusters, **options)
        names = _ids(documents, len(groups.labels))
    table = Printed({"cluster": "", "label": "", "member": ""}, json=json)
    for number, group in enumerate(groups.clusters):
        members = [names[int(row)] for row in group.members]
        if json:
            table.row(cluster=number + 1, size=len(members), words=group.words, members=members)
        for member in [] if json else members:
            table.row(cluster=number + 1, label=" ".join(group.words), member=member)
    if plot is not None:
        colors = [f"cluster {label + 1}" if label >= 0 else "no cluster" for label in groups.labels.tolist()]
        save(draw_map(loaded, documents, groups=None if documents is None else colors), plot)


def _ids(documents: Any, count: int) -> list[str]:
    """The ids of documents, or their numbers if they have none or cannot be read again."""
    from textmill.corpus import Documents, is_one_shot

    if not isinstance(documents, Documents) or is_one_shot(documents.texts()):
        return [str(row) for row in range(count)]
    return [document.id for document in documents]


def _prior(option: str, text: str | None) -> float | str | None:
    """A number, or a word such as auto."""
    from textmill.errors import DataError

    if text is None or text in ("symmetric", "asymmetric", "auto"):
        return text
    try:
        return float(text)
    except ValueError:
        raise DataError(f"{option} must be a number, symmetric, asymmetric or auto, got {text!r}") from None
