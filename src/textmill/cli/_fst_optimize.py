"""Verbs of `textmill fst` that make machines smaller or faster: epsilons, determinism, minimal size, codes."""

from typing import TYPE_CHECKING, Annotated

import typer

from textmill.cli import _fst_files as files
from textmill.cli._fst_program import Program, machines

if TYPE_CHECKING:
    from textmill.fst import Fst

app = typer.Typer()

Delta = Annotated[float, typer.Option(help="Weights that differ by less count as equal.")]
NState = Annotated[int, typer.Option(min=-1, help="States at most, the best; -1: all.")]
Weight = Annotated[str, typer.Option(help="Keep only paths not worse than this times the best.")]
Label = Annotated[int, typer.Option(min=0, max=files.MOST, help="Input label of outputs that are left at the end.")]
Codex = Annotated[str, typer.Argument(metavar="CODEX", help="File with the codes.")]


@app.command(cls=Program)
@machines
def rmepsilon(
    fst: "Fst",
    connect: Annotated[bool, typer.Option(help="Trim the result.")] = True,
    delta: Annotated[float, typer.Option(help="When sums over cycles of epsilons have converged.")] = 1e-6,
    nstate: NState = -1,
    queue_type: Annotated[str, typer.Option(help="auto, fifo, lifo, shortest, state or top.")] = "auto",
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
    det_type: Annotated[str, typer.Option(help="functional, nonfunctional or disambiguate.")] = "functional",
    increment_subsequential_label: Annotated[
        bool, typer.Option(help="Distinct labels for several outputs that are left.")
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

    made = optimization.disambiguate(fst, delta=delta)
    if not weight and nstate < 0:
        return made
    return paths.prune(made, weight=files.weight_of(fst, weight), max_states=None if nstate < 0 else nstate)


@app.command(cls=Program)
@machines
def minimize(
    fst: "Fst",
    strings: Annotated[str, typer.Argument(metavar="OUT2.FST", help="Where to write the strings of numbers.")] = "",
    delta: Delta = 1e-6,
    allow_nondet: Annotated[bool, typer.Option(help="Take machines that are not deterministic, too.")] = False,
) -> "Fst":
    """Make the equivalent machine with the fewest states, of a deterministic one.

    With a second output the machine writes numbers of strings, and the second one the strings of the numbers.

    Example: textmill fst minimize a.fst b.fst
    """
    from textmill.fst import optimization

    if not strings:
        return optimization.minimize(fst, delta=delta, allow_nondet=allow_nondet)
    made, written = optimization.minimize_strings(fst, delta=delta, allow_nondet=allow_nondet)
    files.write_machine(written, strings)
    return made


@app.command(cls=Program)
@machines
def encode(
    fst: "Fst",
    codex: Codex,
    decode: Annotated[bool, typer.Option(help="The other way, as 'decode' does.")] = False,
    encode_labels: Annotated[bool, typer.Option(help="Encode the output labels.")] = False,
    encode_weights: Annotated[bool, typer.Option(help="Encode the weights.")] = False,
    encode_reuse: Annotated[bool, typer.Option(help="Use the codes that are in the file, and add to them.")] = False,
) -> "Fst":
    """Put labels and weights of each arc into one label; the codes go to a file.

    Example: textmill fst encode --encode_labels --encode_weights a.fst codes b.fst
    """
    from textmill.fst import encoding

    if decode:
        return encoding.decode(fst, encoding.Encoder.read(codex))
    known = encoding.Encoder.read(codex) if encode_reuse else None
    made, encoder = encoding.encode(fst, labels=encode_labels, weights=encode_weights, encoder=known)
    encoder.write(codex)
    return made


@app.command(cls=Program)
@machines
def decode(fst: "Fst", codex: Codex) -> "Fst":
    """Take labels and weights apart again that 'encode' has put together.

    Example: textmill fst decode b.fst codes a.fst
    """
    from textmill.fst import encoding

    return encoding.decode(fst, encoding.Encoder.read(codex))
