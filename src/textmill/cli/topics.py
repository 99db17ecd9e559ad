"""Find the topics of documents: train, show, transform, update, merge, cluster, judge, compare, explain, exchange."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._options import Cluster, Jobs, JsonLines, Seed
from textmill.cli._outputs import figure_option, output_option
from textmill.cli._reading import Reading, Terms, describe_stop_words, with_options
from textmill.cli._tables import Printed
from textmill.cli._topic_options import ModelFile, Sources, is_bags, load_model, read_input
from textmill.cli._topic_tools import app as tools

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)
app.add_typer(tools)

# --model -> class in textmill.topics, and the weights of terms that suit it
MODELS = {
    "lda": ("LDA", "nnn"),
    "lsa": ("LSA", "ntc"),
    "mixture": ("MultinomialMixture", "nnn"),
    "nmf": ("NMF", "ntc"),
    "pca": ("PCA", "ntc"),
    "plsa": ("PLSA", "nnn"),
}
WITHOUT_CURVE = ("lsa", "pca")  # trained in passes that improve nothing step by step
# option -> names that the parameter has in the classes
_PARAMETERS = {
    "topics": ("n_topics",),
    "method": ("method",),
    "algorithm": ("algorithm", "solver"),
    "alpha": ("alpha",),
    "eta": ("eta",),
    "update-every": ("update_every",),
    "sweeps": ("sweeps",),
    "eval-every": ("eval_every",),
    "weight-tokens": ("weighting",),
    "loss": ("loss",),
    "chunk": ("chunk_size",),
    "passes": ("passes",),
    "decay": ("decay", "forget"),
    "iterations": ("iterations",),
    "seed": ("random_state",),
    "jobs": ("n_jobs",),
}


@app.command()
@with_options
def train(
    sources: Sources,
    output: Annotated[Path, output_option("The model file to write.")],
    model: Annotated[str, typer.Option(help=f"One of {', '.join(MODELS)}.")] = "lsa",
    topics: Annotated[int, typer.Option(help="Number of topics.")] = 100,
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
    method: Annotated[str | None, typer.Option(help="lda: online, batch, gibbs or cvb0.")] = None,
    algorithm: Annotated[
        str | None, typer.Option(help="lsa, pca, nmf: the algorithm; see the class of the model.")
    ] = None,
    alpha: Annotated[
        str | None,
        typer.Option(help="lda, mixture: prior of topics, a number; lda: also symmetric, asymmetric or auto."),
    ] = None,
    eta: Annotated[str | None, typer.Option(help="lda, mixture: prior of words, a number; lda: also auto.")] = None,
    loss: Annotated[str | None, typer.Option(help="nmf: euclidean or kl.")] = None,
    chunk: Annotated[int | None, typer.Option(help="Number of documents per step, for streams.")] = None,
    passes: Annotated[int | None, typer.Option(help="Number of passes over the documents.")] = None,
    iterations: Annotated[int | None, typer.Option(help="nmf, plsa, mixture: maximum number of iterations.")] = None,
    sweeps: Annotated[int | None, typer.Option(help="lda by gibbs or cvb0: number of sweeps over the tokens.")] = None,
    update_every: Annotated[int | None, typer.Option(help="lda: number of chunks per update; 0: all of them.")] = None,
    decay: Annotated[
        float | None,
        typer.Option(
            help="Factor for old documents at each step, 1 to forget nothing; lda: exponent of the learning rate."
        ),
    ] = None,
    weight_tokens: Annotated[str | None, typer.Option(help="lda: weigh tokens by idf or pmi.")] = None,
    heldout: Annotated[
        str | None,
        typer.Option(help="lda: documents to measure perplexity on; training stops when it no longer falls."),
    ] = None,
    eval_every: Annotated[
        int | None, typer.Option(help="lda: number of updates between two measurements on --heldout.")
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

    Example: textmill topics train news.jsonl.gz --model lda --topics 50 --heldout more.jsonl -o news.mill
    """
    import textmill.topics
    from textmill.corpus import Vocabulary
    from textmill.errors import DataError
    from textmill.model import check_choice, load
    from textmill.model.estimators import constructor_parameters
    from textmill.plot import save
    from textmill.readable import counted
    from textmill.topics.pictures import draw_training
    from textmill.vectors import TextVectorizer, Weighting

    check_choice("--model", model, list(MODELS))
    if plot is not None and model in WITHOUT_CURVE:
        raise DataError(f"--model {model} has no training curve to draw; leave out --plot, see 'topics show --plot'")
    name, usual = MODELS[model]
    made: Any = getattr(textmill.topics, name)
    given: dict[str, Any] = {"topics": topics, "algorithm": algorithm, "loss": loss, "chunk": chunk, "passes": passes}
    given |= {"iterations": iterations, "decay": decay, "seed": seed, "jobs": jobs, "method": method, "sweeps": sweeps}
    given |= {"alpha": _prior("--alpha", alpha), "eta": _prior("--eta", eta), "update-every": update_every}
    given |= {"eval-every": eval_every, "weight-tokens": weight_tokens}
    known = constructor_parameters(made)
    parameters: dict[str, Any] = {}
    for option, value in given.items():
        names = [parameter for parameter in _PARAMETERS[option] if parameter in known]
        if value is not None and not names:
            raise DataError(f"--{option} is no option of --model {model}; leave it out")
        if value is not None:
            parameters[names[0]] = value
    bags = is_bags(sources)
    weights = Weighting(scheme=weighting or usual)
    documents = read_input(sources, reading, again=True)
    if vocab is not None:
        terms.refuse("--vocab has them already")
        parameters["vectorizer"] = TextVectorizer.of(load(vocab, expect=Vocabulary), weights)
    elif not bags:
        vocabulary = terms.vocabulary(documents, stop_words="auto", min_df=min_df, max_df=max_df, jobs=jobs)
        parameters["vectorizer"] = TextVectorizer(vocabulary=vocabulary, weighting=weights)
    elif weighting is None:
        terms.refuse("bags have them already")
    else:
        raise DataError("--weighting of bags needs their vocabulary; pass --vocab too")
    fitted = made(**parameters)
    options: dict[str, Any] = {} if cluster is None else {"cluster": cluster}
    if cluster is not None and not _takes(made, "cluster"):
        raise DataError(f"--model {model} is trained on one machine; leave out --cluster")
    if heldout is not None:
        if not _takes(made, "held_out"):
            raise DataError(f"--heldout is no option of --model {model}; leave it out")
        options["held_out"] = read_input([heldout], reading, again=True)
    fitted.fit(documents, **options)
    rows, columns = fitted.components_.shape
    fitted.save(output)
    sizes = counted(rows, "topics"), counted(columns, "terms"), counted(fitted.documents_, "documents")
    typer.echo(f"{model}: {sizes[0]} of {sizes[1]} from {sizes[2]}")
    if heldout is not None and len(fitted.perplexities_):
        updates = counted(fitted.updates_, "updates")
        typer.echo(f"held-out perplexity {fitted.perplexities_[-1]:.1f} after {updates}")
    if vocab is None and not bags and (line := describe_stop_words(fitted.vectorizer_)) is not None:
        typer.echo(line)
    if plot is not None:
        save(draw_training(fitted), plot)


@app.command()
@with_options
def show(
    model: ModelFile,
    sources: Annotated[list[str] | None, typer.Argument(metavar="[INPUT...]", help="Documents to draw.")] = None,
    words: Annotated[int, typer.Option(help="Number of terms per topic.")] = 10,
    top: Annotated[int, typer.Option(help="Number of topics to print; 0: all.")] = 0,
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
        typer.Option("--color-field", "--colour-field", help="Field whose values colour the documents of the picture."),
    ] = None,
    *,
    reading: Reading,
    json: JsonLines = False,
) -> None:
    """Print the topics with their terms, and draw them: by distance, with documents, or over time.

    Example: textmill topics show news.mill news.jsonl.gz --words 8 --plot time.png --date-field date
    """
    from json import dumps

    from textmill.errors import DataError
    from textmill.model import check_range

    check_range("--top", top, at_least=0, whole=True)
    if plot is None and (sources or picture or date_field or color_field):
        raise DataError("INPUT, --picture, --date-field and --color-field are for a picture; name its file with --plot")
    loaded = load_model(model)
    if json:
        for number, topic in enumerate(loaded.topics(words)[: top or None]):
            typer.echo(dumps({"topic": number + 1, "terms": dict(topic)}, ensure_ascii=False))
    else:
        typer.echo("\n".join(loaded.describe_topics(words).split("\n")[: top or None]))
    if plot is not None:
        from textmill.plot import save
        from textmill.topics.pictures import draw_model

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
    inference: Annotated[
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
    options = {} if inference is None else {"inference": inference}
    if options and "inference" not in signature(loaded.transform).parameters:
        raise DataError(f"--inference is no option of a model of kind {type(loaded).__name__}; leave it out")
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
    algorithm: Annotated[str, typer.Option(help="kmeans, minibatch or agglomerative.")] = "kmeans",
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
    options: dict[str, Any] = {"algorithm": algorithm, "n_words": words, "random_state": seed, "n_jobs": jobs}
    documents = None if not sources else read_input(sources, reading, again=True)
    if documents is None:
        found = cluster_terms(loaded, clusters, **options)
        known = loaded.vectorizer_
        names = list(map(str, range(loaded.components_.shape[1]))) if known is None else known.terms_.to_list()
    else:
        found = cluster_documents(loaded, documents, clusters, **options)
        names = _ids(documents, len(found.labels))
    table = Printed({"cluster": "", "label": "", "member": ""}, json=json)
    for number, group in enumerate(found.clusters):
        members = [names[int(row)] for row in group.members]
        if json:
            table.row(cluster=number + 1, size=len(members), words=group.words, members=members)
        for member in [] if json else members:
            table.row(cluster=number + 1, label=" ".join(group.words), member=member)
    if plot is not None:
        groups = [f"cluster {label + 1}" if label >= 0 else "no cluster" for label in found.labels.tolist()]
        save(draw_map(loaded, documents, groups=None if documents is None else groups), plot)


def _ids(documents: Any, count: int) -> list[str]:
    """The ids of documents, or their numbers if they have none or cannot be read again."""
    from textmill.corpus import Documents, is_one_shot

    if not isinstance(documents, Documents) or is_one_shot(documents.texts()):
        return [str(row) for row in range(count)]
    return [document.id for document in documents]


def _takes(made: Any, option: str) -> bool:
    """Whether `fit` of a model takes an option."""
    return option in signature(made.fit).parameters


def _prior(option: str, text: str | None) -> float | str | None:
    """A number, or a word such as auto."""
    from textmill.errors import DataError

    if text is None or text in ("symmetric", "asymmetric", "auto"):
        return text
    try:
        return float(text)
    except ValueError:
        raise DataError(f"{option} must be a number, symmetric, asymmetric or auto, got {text!r}") from None
