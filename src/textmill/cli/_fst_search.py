"""Verbs of `textmill fst` that weigh paths: distances, best paths, pruning, pushing, random paths."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from textmill.cli import _fst_files as files
from textmill.cli._fst_program import Program, machines
from textmill.cli._json import json_line
from textmill.cli._options import Json

if TYPE_CHECKING:
    from textmill.fst import Fst

app = typer.Typer(add_completion=False)

Delta = Annotated[float | None, typer.Option(help="Change at which sums over cycles have converged; default: 1e-12.")]
NState = Annotated[int, typer.Option(min=-1, help="Maximum number of states, the best ones; -1: all.")]
Queue = Annotated[str, typer.Option(help="Order of states: auto, fifo, lifo, shortest, state or top.")]
ToFinal = Annotated[bool, typer.Option(help="The same as --reweight_type=to_final.")]
ReweightType = Annotated[str, typer.Option(help="Direction: to_initial or to_final.")]
Weight = Annotated[str, typer.Option(help="Keep only paths whose weight is at most this times the best.")]


@app.command(cls=Program)
@machines
def shortestdistance(
    fst: "Fst",
    delta: Delta = None,
    nstate: Annotated[int, typer.Option(min=-1, max=files.MOST, help="State to start from; -1: the start state.")] = -1,
    queue_type: Queue = "auto",
    reverse: Annotated[bool, typer.Option(help="From each state to the final states.")] = False,
    json: Json = False,
) -> str:
    """Print the total weight of the paths from the start to each state.

    Example: textmill fst shortestdistance --reverse a.fst distances.txt
    """
    from textmill.fst import paths

    if nstate >= 0 and not reverse:
        fst = fst.copy()
        fst.start = nstate
    options: dict[str, Any] = {} if delta is None else {"delta": delta}
    distances = paths.shortest_distance(fst, reverse=reverse, queue_type=queue_type, **options)
    rows = [fst.semiring.format(value.item() if hasattr(value, "item") else value) for value in distances]
    if json:
        return json_line([{"state": state, "distance": row} for state, row in enumerate(rows)]) + "\n"
    return "".join(f"{state}\t{row}\n" for state, row in enumerate(rows))


@app.command(cls=Program)
@machines
def shortestpath(
    fst: "Fst",
    delta: Delta = None,
    nshortest: Annotated[int, typer.Option(min=1, max=files.MOST, help="Number of paths.")] = 1,
    nstate: NState = -1,
    queue_type: Queue = "auto",
    unique: Annotated[bool, typer.Option(help="Only paths with distinct strings; for acceptors.")] = False,
    weight: Weight = "",
) -> "Fst":
    """Find the best path, or the n best.

    Example: textmill fst shortestpath --nshortest=10 a.fst best.fst
    """
    from textmill.fst import paths

    limit = files.weight_of(fst, weight)
    best = paths.shortest_path(fst, nshortest, unique=unique, weight=limit, queue_type=queue_type)
    return best if nstate < 0 else paths.prune(best, max_states=nstate)


@app.command(cls=Program)
@machines
def prune(
    fst: "Fst",
    delta: Delta = None,
    nstate: NState = -1,
    weight: Weight = "",
) -> "Fst":
    """Remove states and arcs that are on no good path.

    Example: textmill fst prune --weight=5 a.fst b.fst
    """
    from textmill.fst import paths

    if not weight and nstate < 0:
        return fst
    return paths.prune(fst, weight=files.weight_of(fst, weight), max_states=None if nstate < 0 else nstate)


@app.command(cls=Program)
@machines
def push(
    fst: "Fst",
    delta: Delta = None,
    push_weights: Annotated[bool, typer.Option(help="Push the weights.")] = False,
    push_labels: Annotated[bool, typer.Option(help="Push the output labels.")] = False,
    remove_common_affix: Annotated[bool, typer.Option(help="Remove outputs that are common to all paths.")] = False,
    remove_total_weight: Annotated[bool, typer.Option(help="Remove the total weight.")] = False,
    reweight_type: ReweightType = "to_initial",
    to_final: ToFinal = False,
) -> "Fst":
    """Push weights and output labels as far as possible towards the start or the final states.

    Example: textmill fst push --push_weights a.fst b.fst
    """
    import warnings

    from textmill.fst import paths

    to = _direction(reweight_type, to_final)
    if not (push_weights or push_labels):
        warnings.warn("nothing is pushed without --push_weights or --push_labels", UserWarning, stacklevel=2)
        return fst
    options = {} if delta is None else {"delta": delta}
    return paths.push(
        fst,
        weights=push_weights,
        labels=push_labels,
        to=to,
        remove_total_weight=remove_total_weight,
        remove_common_affix=remove_common_affix,
        **options,
    )


@app.command(cls=Program)
@machines
def reweight(
    fst: "Fst",
    potentials: Annotated[
        str, typer.Argument(metavar="POTENTIALS", help="File with one state and its potential per line.")
    ],
    reweight_type: ReweightType = "to_initial",
    to_final: ToFinal = False,
) -> "Fst":
    """Move weights along arcs by the potentials of states; complete paths keep their weights.

    Example: textmill fst reweight a.fst distances.txt b.fst
    """
    from textmill.errors import DataError
    from textmill.fst import paths

    to = _direction(reweight_type, to_final)
    values = [fst.semiring.zero] * fst.num_states
    for number, fields in files.lines(potentials):
        if len(fields) != 2 or not fields[0].isdecimal():
            raise DataError("a line has a state and its potential, such as '3 0.5'", source=potentials, line=number)
        if int(fields[0]) >= fst.num_states:
            raise DataError(
                f"the machine has {fst.num_states} states, there is no state {fields[0]}",
                source=potentials,
                line=number,
            )
        try:
            values[int(fields[0])] = fst.semiring.parse(fields[1])
        except DataError as fault:
            raise DataError(fault.message, source=potentials, line=number) from None
    return paths.reweight(fst, values, to=to)


@app.command(cls=Program)
@machines
def randgen(
    fst: "Fst",
    max_length: Annotated[
        int, typer.Option(min=0, max=files.MOST, help="Maximum number of arcs in a path.")
    ] = files.MOST,
    npath: Annotated[int, typer.Option(min=1, max=files.MOST, help="Number of paths.")] = 1,
    remove_total_weight: Annotated[
        bool, typer.Option(help="With --weighted: shares of paths instead of counts.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**64 - 1, help="Seed of the random numbers; default: a new one each time.")
    ] = None,
    select: Annotated[str, typer.Option(help="How to choose arcs: uniform, log_prob or fast_log_prob.")] = "uniform",
    weighted: Annotated[bool, typer.Option(help="Print equal paths once, weighted by their number.")] = False,
) -> "Fst":
    """Draw random paths of a machine.

    Example: textmill fst randgen --npath=5 --seed=1 a.fst | textmill fst print
    """
    import math
    from secrets import randbits

    from textmill.errors import DataError
    from textmill.fst import compare

    machine = compare.randgen(
        fst,
        npath,
        select="log_prob" if select == "fast_log_prob" else select,
        max_length=max_length,
        random_state=randbits(63) if seed is None else seed,
        weighted=weighted,
    )
    if not weighted or remove_total_weight:
        return machine
    if fst.semiring.name not in ("tropical", "tropical64", "log", "log64"):
        raise DataError(f"counts of paths are no weights of {fst.semiring.name}; add --remove_total_weight")
    for state in range(machine.num_states):
        if machine.is_final(state):
            machine.set_final(state, machine.final(state) - math.log(npath))
    return machine


def _direction(reweight_type: str, to_final: bool) -> str:
    from textmill.model import check_choice

    check_choice("reweight_type", reweight_type, ["to_initial", "to_final"])
    return "final" if to_final else reweight_type.removeprefix("to_")
