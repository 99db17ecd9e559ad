"""Verbs of `textmill fst` that make machines smaller or faster: epsilons, determinism, minimal size, codes."""

from typing import TYPE_CHECKING, Annotated

import typer

from textmill.cli import _fst_files as files
from textmill.cli._fst_program import Program, machines
from textmill.cli._outputs import output_argument

if TYPE_CHECKING:
    from textmill.fst import Fst

app = typer.Typer(add_completion=False)

Delta = Annotated[float, typer.Option(help="Weights that differ by less are equal.")]
NState = Annotated[int, typer.Option(min=-1, help="Maximum number of states, the best ones; -1: all.")]
Weight = Annotated[str, typer.Option(help="Keep only paths whose weight is at most this times the best.")]
Label = Annotated[
    int, typer.Option(min=0, max=files.MOST, help="Input label of arcs for outputs that remain at the end.")
]
Codex = Annotated[str, typer.Argument(metavar="CODEX", help="File that holds the codes.")]


@app.command(cls=Program)
@machines
def rmepsilon(
    fst: "Fst",
    connect: Annotated[bool, typer.Option(help="Remove states that are on no complete path.")] = True,
    delta: Annotated[float, typer.Option(help="Change at which sums over epsilon cycles have converged.")] = 1e-6,
    nstate: NState = -1,
    queue_type: Annotated[
        str, typer.Option(help="Order of states: auto, fifo, lifo, shortest, state or top.")
    ] = "auto",
    weight: Weight = "",
) -> "Fst":
    """Remove arcs that read and write nothing.

    Example: textmill fst rmepsilon a.fst b.fst
    """
    from textmill.fst import optimization

    return optimization.rmepsilon(
        fst,
        connect=connect,
        weight=files.weight_of(fst, weight),
        max_states=None if nstate < 0 else nstate,
        queue_type=queue_type,
    )


@app.command(cls=Program)
@machines
def determinize(
    fst: "Fst",
    delta: Delta = 1 / 1024,
    det_type: Annotated[str, typer.Option(help="Type: functional, nonfunctional or disambiguate.")] = "functional",
    increment_subsequential_label: Annotated[
        bool, typer.Option(help="Use distinct labels for several outputs that remain at the end.")
    ] = False,
    nstate: NState = -1,
    subsequential_label: Label = 0,
    weight: Weight = "",
) -> "Fst":
    """Make an equivalent machine in which no state has two arcs with the same input.

    Example: textmill fst determinize --det_type=disambiguate a.fst b.fst
    """
    from textmill.fst import optimization

    return optimization.determinize(
        fst,
        det_type=det_type,
        delta=delta,
        weight=files.weight_of(fst, weight),
        keep_states=None if nstate < 0 else nstate,
        subsequential_label=subsequential_label,
        increment_subsequential_label=increment_subsequential_label,
    )


@app.command(cls=Program)
@machines
def disambiguate(
    fst: "Fst",
    delta: Delta = 1 / 1024,
    nstate: NState = -1,
    subsequential_label: Label = 0,
    weight: Weight = "",
) -> "Fst":
    """Make an equivalent machine in which no two paths read the same string.

    Example: textmill fst disambiguate a.fst b.fst
    """
    from textmill.fst import optimization, paths

    machine = optimization.disambiguate(fst, delta=delta)
    if not weight and nstate < 0:
        return machine
    return paths.prune(machine, weight=files.weight_of(fst, weight), max_states=None if nstate < 0 else nstate)


@app.command(cls=Program)
@machines
def minimize(
    fst: "Fst",
    strings: Annotated[
        str, output_argument("File for the second machine, which maps numbers to strings.", "OUT2.FST")
    ] = "",
    delta: Delta = 1e-6,
    allow_nondet: Annotated[bool, typer.Option(help="Accept machines that are not deterministic, too.")] = False,
) -> "Fst":
    """Minimize the number of states of a deterministic machine.

    With a second output, the first machine maps strings to numbers, and the second maps the numbers to outputs.

    Example: textmill fst minimize a.fst b.fst
    """
    from textmill.fst import optimization

    if not strings:
        return optimization.minimize(fst, delta=delta, allow_nondet=allow_nondet)
    machine, written = optimization.minimize_strings(fst, delta=delta, allow_nondet=allow_nondet)
    files.write_machine(written, strings)
    return machine


@app.command(cls=Program)
@machines
def encode(
    fst: "Fst",
    codex: Codex,
    decode: Annotated[bool, typer.Option(help="Decode instead, as 'decode' does.")] = False,
    encode_labels: Annotated[bool, typer.Option(help="Encode the output labels.")] = False,
    encode_weights: Annotated[bool, typer.Option(help="Encode the weights.")] = False,
    encode_reuse: Annotated[bool, typer.Option(help="Use the codes of the file and add to them.")] = False,
) -> "Fst":
    """Encode labels and weights of each arc as one label; the codes are written to a file.

    Example: textmill fst encode --encode_labels --encode_weights a.fst codes b.fst
    """
    from textmill.fst import encoding

    if decode:
        return encoding.decode(fst, encoding.Encoder.read(codex))
    codes = encoding.Encoder.read(codex) if encode_reuse else None
    machine, encoder = encoding.encode(fst, labels=encode_labels, weights=encode_weights, encoder=codes)
    encoder.write(codex)
    return machine


@app.command("factor", cls=Program)
@machines
def factor(
    fst: "Fst",
    chains: Annotated[str, output_argument("File for the machine of the chains.", "CHAINS.FST")],
) -> "Fst":
    """Join arcs in a row into one; composed with the machine of the chains, the result is the machine again.

    Example: textmill fst factor a.fst chains.fst b.fst
    """
    from textmill.fst import transform

    strings, factored = transform.factor_chains(fst)
    files.write_machine(strings, chains)
    return factored


@app.command(cls=Program)
@machines
def decode(fst: "Fst", codex: Codex) -> "Fst":
    """Restore the labels and weights that 'encode' has put together.

    Example: textmill fst decode b.fst codes a.fst
    """
    from textmill.fst import encoding

    return encoding.decode(fst, encoding.Encoder.read(codex))
