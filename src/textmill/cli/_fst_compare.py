"""Verbs of `textmill fst` whose answer is the exit status: 0 the same, 2 different, 1 an error."""

from typing import TYPE_CHECKING, Annotated

import typer

from textmill.cli import _fst_files as files
from textmill.cli._fst_program import Comparison, machines

if TYPE_CHECKING:
    from textmill.fst import Fst

app = typer.Typer(add_completion=False)

Delta = Annotated[float, typer.Option(help="Weights that differ by less are equal.")]


@app.command(cls=Comparison)
@machines
def equal(first: "Fst", second: "Fst", delta: Delta = 1 / 1024) -> None:
    """Exit with 0 if two machines have the same states and arcs in the same order, with 2 if not.

    Example: textmill fst equal a.fst b.fst
    """
    from textmill.fst import compare

    _answer(compare.equal(first, second, delta=delta))


@app.command(cls=Comparison)
@machines
def isomorphic(first: "Fst", second: "Fst", delta: Delta = 1 / 1024) -> None:
    """Exit with 0 if two machines are the same up to the numbers of states and the order of arcs, with 2 if not.

    Example: textmill fst isomorphic a.fst b.fst
    """
    from textmill.fst import compare

    _answer(compare.isomorphic(first, second, delta=delta))


@app.command(cls=Comparison)
@machines
def equivalent(
    first: "Fst",
    second: "Fst",
    delta: Delta = 1 / 1024,
    max_length: Annotated[
        int, typer.Option(min=0, max=files.MOST, help="Maximum number of arcs in a random path.")
    ] = files.MOST,
    npath: Annotated[int, typer.Option(min=1, max=files.MOST, help="Number of random paths.")] = 1,
    random: Annotated[bool, typer.Option(help="Compare strings of random paths, for machines of any kind.")] = False,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**64 - 1, help="Seed of the random numbers; default: a new one each time.")
    ] = None,
    select: Annotated[str, typer.Option(help="How to choose arcs: uniform, log_prob or fast_log_prob.")] = "uniform",
) -> None:
    """Exit with 0 if two machines have the same weighted strings, with 2 if not.

    Without --random the machines must be deterministic acceptors without epsilons.

    Example: textmill fst equivalent --random --npath=100 a.fst b.fst
    """
    from secrets import randbits

    from textmill.fst import compare

    if not random:
        _answer(compare.equivalent(first, second, delta=delta))
        return
    same = compare.rand_equivalent(
        first,
        second,
        npath=npath,
        max_length=max_length,
        random_state=randbits(64) if seed is None else seed,
        select="log_prob" if select == "fast_log_prob" else select,
        delta=delta,
    )
    _answer(same)


def _answer(same: bool) -> None:
    if not same:
        raise typer.Exit(files.DIFFERENT)
