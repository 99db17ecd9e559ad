"""Verbs of `textmill fst` that take weights for probabilities: learn them, count with them, compare distributions."""

from typing import TYPE_CHECKING, Annotated

import typer

from textmill.cli import _fst_files as files
from textmill.cli._fst_program import Program, machines
from textmill.cli._json import json_line
from textmill.cli._options import Errors, Jobs, Json, MaxIter
from textmill.cli._outputs import output_option

if TYPE_CHECKING:
    from textmill.fst import Fst

app = typer.Typer(add_completion=False)


@app.command(cls=Program)
def learn(
    machine: Annotated[str, typer.Argument(metavar="MACHINE", help="The machine whose weights are learned.")],
    pairs: Annotated[
        str, typer.Argument(metavar="PAIRS", help="Pairs, one per line: input, tab, output; - for stdin.")
    ] = "-",
    output: Annotated[str, output_option("The machine to write; - for stdout.")] = "-",
    method: Annotated[str, typer.Option(help="Training: em, or gradient (L-BFGS).")] = "em",
    objective: Annotated[
        str, typer.Option(help="What is made likely: joint, both strings; conditional, outputs given inputs.")
    ] = "joint",
    smoothing: Annotated[float, typer.Option(help="For em: added to the count of every arc.")] = 0.0,
    l2: Annotated[float, typer.Option(help="For gradient: penalty of log weights.")] = 0.0,
    max_iter: MaxIter = 100,
    tolerance: Annotated[float, typer.Option(help="Relative gain below which training ends.")] = 1e-6,
    strings: Annotated[
        bool, typer.Option("--strings", help="One string per line instead of pairs; for acceptors.")
    ] = False,
    weighted: Annotated[bool, typer.Option("--weighted", help="The third column holds the weight of a pair.")] = False,
    token_type: Annotated[str, typer.Option(help="What labels stand for: utf8, byte or symbol.")] = "utf8",
    errors: Errors = "strict",
    jobs: Jobs = None,
) -> None:
    """Learn the weights of a machine from pairs of strings.

    States and arcs are those of the machine; its weights are where training starts. The result has log64 weights.

    Example: textmill fst learn edits.fst pairs.tsv --objective=conditional -o learned.fst
    """
    from textmill.fst import learn_weights

    fst = files.read_machine(machine)
    rows, shares = _read(pairs, strings, weighted, errors)
    learned = learn_weights(
        fst,
        rows,
        method=method,
        objective=objective,
        smoothing=smoothing,
        l2=l2,
        max_iter=max_iter,
        tolerance=tolerance,
        sample_weight=shares if weighted else None,
        token_type=token_type,
        errors=errors,
        n_jobs=jobs,
    )
    files.write_machine(learned.machine, output)
    facts = [
        f"{len(rows)} {'strings' if strings else 'pairs'}",
        *([f"{len(learned.impossible)} left out, without a path"] if learned.impossible else []),
        f"log-likelihood {learned.trace[0]:.6g} -> {learned.trace[-1]:.6g}",
        f"{len(learned.trace) - 1} iterations ({learned.stopped})",
    ]
    typer.echo("; ".join(facts), err=True)


@app.command(cls=Program)
@machines
def entropy(fst: "Fst", json: Json = False) -> str:
    """Print the entropy of the paths of a machine with log or real weights, in nats.

    Example: textmill fst entropy learned.fst
    """
    from textmill.fst import expectations

    value = expectations.entropy(fst)
    return json_line({"entropy": value}) + "\n" if json else f"{value:.6f}\n"


@app.command(cls=Program)
@machines
def divergence(
    p: "Fst",
    q: "Fst",
    kind: Annotated[str, typer.Option(help="kl (relative entropy, in nats), hellinger or l2.")] = "kl",
    json: Json = False,
) -> str:
    """Print how far the strings of one machine are distributed from those of another.

    Example: textmill fst divergence --kind=hellinger a.fst b.fst
    """
    from textmill.fst import expectations

    value = expectations.divergence(p, q, kind)
    return json_line({"kind": kind, "divergence": value}) + "\n" if json else f"{value:.6f}\n"


@app.command(cls=Program)
@machines
def counts(fst: "Fst", json: Json = False) -> str:
    """Print how often a random path uses each arc: state, next state, labels, expected count; final states last.

    These are the derivatives of the total weight with respect to the weights of arcs.

    Example: textmill fst counts learned.fst
    """
    import numpy as np

    from textmill.fst import expectations

    expected = expectations.expected_counts(fst)
    offsets, arcs, _ = fst.arrays()
    sources = np.repeat(np.arange(fst.num_states), np.diff(offsets)).tolist()
    sides = []
    for table, column in ((fst.input_symbols, "ilabel"), (fst.output_symbols, "olabel")):
        names = {} if table is None else dict(table.items())
        sides.append([names.get(label, str(label)) for label in arcs[column].tolist()])
    rows = list(zip(sources, arcs["nextstate"].tolist(), *sides, expected.arcs.tolist(), strict=True))
    ends = [(state, count) for state, count in enumerate(expected.finals.tolist()) if count]
    if json:
        fields = ("state", "next", "input", "output", "count")
        lines = [json_line(dict(zip(fields, row, strict=True))) for row in rows]
        return "".join(f"{line}\n" for line in [*lines, *(json_line({"state": s, "count": n}) for s, n in ends)])
    lines = [f"{s}\t{t}\t{i}\t{o}\t{n:.6g}\n" for s, t, i, o, n in rows]
    return "".join([*lines, *(f"{state}\t{count:.6g}\n" for state, count in ends)])


def _read(source: str, strings: bool, weighted: bool, errors: str) -> tuple[list[object], list[float]]:
    """Pairs, or strings, and their weights."""
    if strings:
        from textmill.corpus import open_lines

        return [text for _, text in open_lines(source) if text], []
    from textmill.fst import read_pairs

    options = {"inputs": "characters", "outputs": "characters"}
    records = list(read_pairs(source, weighted=weighted, errors=errors, **options))
    return [(record.input, record.output) for record in records], [record.weight for record in records]
