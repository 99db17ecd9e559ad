"""Verb of `textmill fst` that composes chains of machines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from textmill.cli import _fst_files as files
from textmill.cli._fst_program import Program
from textmill.cli._outputs import output_option

app = typer.Typer(add_completion=False)


@app.command("chain", cls=Program)
def compose_chain(
    machines: Annotated[list[str], typer.Argument(metavar="A.FST B.FST ...", help="Machines, in this order.")],
    output: Annotated[str, output_option("File for the result; - for stdout.")] = "-",
    lazy: Annotated[bool, typer.Option(help="Write out nothing in between, only the result.")] = False,
    paths: Annotated[int, typer.Option(min=0, help="Number of best paths to keep; 0: the whole composition.")] = 0,
    explain_plan: Annotated[
        bool, typer.Option(help="Print the plan and the reasons for it, and compose nothing.")
    ] = False,
    budget: Annotated[int, typer.Option(min=1, help="States of each part that are tried to find the plan.")] = 2000,
) -> None:
    """Compose several machines in the order that takes the fewest states.

    Example: textmill fst chain letters.fst lexicon.fst grammar.fst -o text.fst
    """
    from textmill.fst import lazy as delayed
    from textmill.fst.paths import shortest_path
    from textmill.fst.planner import plan_chain

    names = [Path(name).stem or name for name in machines]
    plan = plan_chain(files.read_machines(machines), names=names, budget=budget)
    if explain_plan:
        files.write_text(plan.explain() + "\n", output)
    elif lazy:
        chain = plan.lazy()
        files.write_machine(delayed.shortest_path(chain, paths) if paths else chain.expand(connect=True), output)
    else:
        files.write_machine(shortest_path(plan.run(), paths) if paths else plan.run(), output)
