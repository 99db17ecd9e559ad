"""Make a treebank for a related language from a treebank, raw text and reorderings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._json import json_line
from textmill.cli._options import Jobs, Json, Seed, answers
from textmill.cli._outputs import figure_option, further_output, output_option
from textmill.cli._tables import Printed

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)

_Trees = Annotated[list[str], typer.Argument(metavar="TREES...", help="Source trees, bracketed or CoNLL-U (.conllu).")]
_Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model made by `textmill transfer run`.")]
_Output = Annotated[str, output_option("The file to write; - for stdout.")]
_To = Annotated[str, typer.Option("--to", help="Format of the output: trees or conllu.")]


@app.command()
def run(
    trees: _Trees,
    output: Annotated[Path, output_option("The model file to write.")],
    families: Annotated[
        Path, typer.Option(metavar="FILE", help="Orders that may change: NP: JJ NN | NN JJ, one family per line.")
    ],
    text: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Raw text of the target language: tags or words, one sentence per line."),
    ] = None,
    language_model: Annotated[
        Path | None, typer.Option(metavar="MODEL", help="An n-gram model of `textmill lm train`, instead of --text.")
    ] = None,
    acceptor: Annotated[
        Path | None, typer.Option(metavar="MACHINE", help="A weighted machine of `textmill fst`, instead of --text.")
    ] = None,
    fringe: Annotated[str, typer.Option(help="What the raw text is made of: tags or words.")] = "tags",
    order: Annotated[int, typer.Option(help="Length of the n-grams.")] = 2,
    full: Annotated[bool, typer.Option("--full", help="Learn the n-grams along with the trees.")] = False,
    method: Annotated[str, typer.Option(help="gibbs, collapsed, em or variational.")] = "gibbs",
    chains: Annotated[int, typer.Option(help="Number of chains.")] = 4,
    max_iter: Annotated[int, typer.Option(help="Number of iterations, those of --burn-in included.")] = 2000,
    burn_in: Annotated[int | None, typer.Option(help="First iterations that are dropped; default: a quarter.")] = None,
    thin: Annotated[
        int | None,
        typer.Option(help="Iterations of which one draw of the parameters is kept; default: 100 draws of a chain."),
    ] = None,
    prior: Annotated[float, typer.Option(help="Prior count of each entry of a row.")] = 1.0,
    sticks: Annotated[bool, typer.Option("--sticks", help="Break rows from sticks instead of a Dirichlet.")] = False,
    constant: Annotated[float, typer.Option(help="Added to every count of the raw text.")] = 0.1,
    checkpoint: Annotated[
        Path | None, further_output("File to keep the state of the chains in, and to go on from.")
    ] = None,
    summary: Annotated[
        str, typer.Option(help="What to print: parameters, sticks (shares of what is left of a row), or events.")
    ] = "parameters",
    plot: Annotated[Path | None, figure_option("Also draw the log likelihood of the chains.")] = None,
    jobs: Jobs = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Learn which orders the target language has; prints the parameters.

    Example: textmill transfer run source.mrg --families orders.txt --text target.tags -o transfer.mill
    """
    from textmill.corpus import open_lines, read_text
    from textmill.model import check_choice
    from textmill.tasks.transfer import TreebankTransfer
    from textmill.trees import parse_families

    check_choice("summary", summary, ("parameters", "sticks", "events"))
    if sum(source is not None for source in (text, language_model, acceptor)) != 1:
        raise typer.BadParameter("pass one of --text, --language-model and --acceptor")
    declared = read_text(families)
    parse_families(declared, source=str(families))
    model = TreebankTransfer(
        families=declared,
        fringe=fringe,
        order=order,
        full=full,
        method=method,
        prior=prior,
        sticks=sticks,
        constant=constant,
        n_chains=chains,
        max_iter=max_iter,
        burn_in=burn_in,
        thin=thin,
        random_state=seed,
        n_jobs=jobs,
    )
    sources: dict[str, Any] = {
        "corpus": text and (words for _, line in open_lines(text) if (words := line.split())),
        "language_model": language_model and _language_model(language_model),
        "acceptor": acceptor and _acceptor(acceptor),
    }
    model.fit(_read(trees), **sources, checkpoint=checkpoint)
    model.save(output)
    if plot is not None:
        from textmill.plot import save
        from textmill.tasks.transfer import draw_traces

        save(draw_traces(model), plot)
    columns = model.summary(summary).to_dict()
    if json:
        typer.echo(json_line({"converged": model.converged_, "iterations": model.n_iter_, **columns}))
        return
    table = Printed({name: "" if name in ("parameter", "event", "weak") else ".4g" for name in columns})
    for row in zip(*columns.values(), strict=True):
        table.row(**dict(zip(columns, row, strict=True)))


@app.command()
def sample(
    model: _Model,
    output: _Output = "-",
    k: Annotated[int, answers("Number of treebanks, one behind the other.")] = 1,
    by: Annotated[
        str,
        typer.Option(
            help="intersection; rejection, which is slow and draws the same; forest, which leaves the n-grams out."
        ),
    ] = "intersection",
    to: _To = "trees",
    jobs: Jobs = None,
    seed: Seed = 0,
) -> None:
    """Draw target trees from the posterior.

    Example: textmill transfer sample transfer.mill -k 5 -o imputed.mrg
    """
    _write((tree for trees in _load(model, jobs).sample(k, seed, by=by) for tree in trees), output, to)


@app.command()
def best(
    model: _Model,
    output: _Output = "-",
    k: Annotated[int, answers("Number of trees of each sentence; more than 1 adds numbers and log posteriors.")] = 1,
    consensus: Annotated[
        bool, typer.Option("--consensus", help="Of 100 samples the tree with most brackets in common with all.")
    ] = False,
    language_model: Annotated[
        Path | None,
        typer.Option(metavar="MODEL", help="Judge the trees by an n-gram model of `textmill lm train`, of any order."),
    ] = None,
    beam: Annotated[
        float, typer.Option(help="With --language-model: log of how much less probable a tree may be to be looked at.")
    ] = 10.0,
    to: _To = "trees",
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Write the most probable target trees; with --json also how sure they are.

    Example: textmill transfer best transfer.mill -o imputed.mrg
    """
    from textmill.corpus import writer

    transfer = _load(model, jobs)
    other = None if language_model is None else _language_model(language_model)
    if consensus and json:
        with writer(output) as out:
            for tree, shares in transfer.consensus():
                brackets = [
                    {"label": label, "words": words, "share": share} for (words, label), share in shares.items()
                ]
                out.write(json_line({"tree": str(tree), "brackets": brackets}) + "\n")
    elif consensus:
        _write((tree for tree, _ in transfer.consensus()), output, to)
    elif json:
        with writer(output) as out:
            for number, trees in enumerate(transfer.best(k, language_model=other, beam=beam), 1):
                for tree, score in trees:
                    out.write(json_line({"sentence": number, "log_posterior": score, "tree": str(tree)}) + "\n")
    elif k == 1:
        _write((trees[0][0] for trees in transfer.best(language_model=other, beam=beam)), output, to)
    else:
        with writer(output) as out:
            for number, trees in enumerate(transfer.best(k, language_model=other, beam=beam), 1):
                for tree, score in trees:
                    out.write(f"{number}\t{score:.4f}\t{tree}\n")


@app.command()
def forest(
    trees: _Trees,
    families: Annotated[Path | None, typer.Option(metavar="FILE", help="Orders that may change.")] = None,
    model: Annotated[
        Path | None,
        typer.Option(metavar="MODEL", help="Print rules of the forest without n-grams, with a model's probabilities."),
    ] = None,
    sentence: Annotated[int, typer.Option(min=1, help="Which tree, from 1.")] = 1,
    fringe: Annotated[str, typer.Option(help="What n-grams are made of: tags or words.")] = "tags",
    binarize: Annotated[
        bool, typer.Option(help="Make choices binary first; else sweep those of many nodes from the left.")
    ] = True,
    dot: Annotated[bool, typer.Option("--dot", help="Write a drawing for Graphviz.")] = False,
) -> None:
    """Print the forest of a tree, intersected with bigrams: nodes (a, N, b) with their numbers of choices.

    Example: textmill transfer forest source.mrg --families orders.txt --sentence 3
    """
    from itertools import islice

    from textmill.corpus import read_text
    from textmill.errors import DataError
    from textmill.tasks.transfer import forest_rules
    from textmill.trees import OrderModel, parse_families, weave

    if (families is None) == (model is None):
        raise typer.BadParameter("pass one of --families and --model")
    tree = next(islice(_read(trees), sentence - 1, None), None)
    if tree is None:
        raise DataError(f"there is no tree {sentence}; name a smaller number")
    if model is not None:
        table = Printed({"node": "", "below": "", "probability": ".6g"})
        for rule in forest_rules(_load(model, None), tree):
            table.row(node=rule.node, below=" ".join(rule.below), probability=rule.probability)
        return
    packed = OrderModel(parse_families(read_text(str(families)), source=str(families))).forest(tree, fringe=fringe)
    typer.echo(packed.dot() if dot else "\n".join(weave([packed], binarize=binarize).triples()), nl=not dot)


@app.command()
def evaluate(
    gold: Annotated[str, typer.Argument(metavar="GOLD", help="Right target trees.")],
    imputed: Annotated[str, typer.Argument(metavar="IMPUTED", help="Imputed trees of the same sentences.")],
    language_model: Annotated[
        Path | None,
        typer.Option(metavar="MODEL", help="An n-gram model of `textmill lm train`: also perplexities of the fringes."),
    ] = None,
    fringe: Annotated[str, typer.Option(help="What the n-gram model is made of: tags or words.")] = "tags",
    json: Json = False,
) -> None:
    """Compare imputed trees with right ones: exact match, and labeled brackets.

    Example: textmill transfer evaluate gold.mrg imputed.mrg
    """
    from textmill.model import check_choice
    from textmill.tasks.transfer import evaluate as compare
    from textmill.tasks.transfer import fringe_perplexity

    check_choice("fringe", fringe, ("tags", "words"))
    trees = {"gold": list(_read([gold])), "imputed": list(_read([imputed]))}
    figures = compare(trees["gold"], trees["imputed"]).to_json()
    if language_model is not None:
        model = _language_model(language_model)
        figures |= {f"perplexity_{name}": fringe_perplexity(own, model, fringe=fringe) for name, own in trees.items()}
    if json:
        typer.echo(json_line(figures))
        return
    table = Printed({name: "" if name == "trees" else ".4f" for name in figures})
    table.row(**figures)


def _load(path: Path, jobs: int | None) -> Any:
    from textmill.model import load
    from textmill.tasks.transfer import TreebankTransfer

    return load(path, expect=TreebankTransfer).set_params(n_jobs=jobs)


def _language_model(path: Path) -> Any:
    from textmill.lm import read_model

    return read_model(path)


def _acceptor(path: Path) -> Any:
    from textmill.fst import read_fst
    from textmill.trees import Acceptor

    return Acceptor.from_machine(read_fst(path))


def _read(sources: list[str]) -> Iterator[Any]:
    from textmill.corpus import read_conllu, read_trees
    from textmill.tasks.transfer import tree_of

    for source in sources:
        if ".conllu" in Path(source).suffixes:
            yield from map(tree_of, read_conllu(source))
        else:
            yield from read_trees(source)


def _write(trees: Iterator[Any], output: str, to: str) -> None:
    from textmill.corpus import writer
    from textmill.model import check_choice
    from textmill.tasks.transfer import conllu_of

    check_choice("to", to, ("trees", "conllu"))
    with writer(output) as out:
        for tree in trees:
            if to == "trees":
                out.write(f"{tree}\n")
            else:
                out.write("".join("\t".join(row) + "\n" for row in conllu_of(tree)) + "\n")
