"""Align pairs of strings: learn which symbols go together, align new pairs, show what was learned."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from textmill.cli._fst_program import Program
from textmill.cli._json import json_line
from textmill.cli._options import Errors, Jobs, Json, JsonLines, MaxIter, Seed, answers
from textmill.cli._outputs import output_option

if TYPE_CHECKING:
    from textmill.fst import PairRecord, StringAligner

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)

_Pairs = Annotated[str, typer.Argument(metavar="PAIRS", help="Pairs, one per line: input, tab, output; - for stdin.")]
_Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model made by `textmill fst align train`.")]
_Inputs = Annotated[str, typer.Option(help="Symbols of inputs: characters or words.")]
_Outputs = Annotated[str, typer.Option(help="Symbols of outputs: characters or words.")]
_Between = Annotated[str, typer.Option(help="Separator between the sides of a link.")]
_Within = Annotated[str, typer.Option(help="Separator between symbols of one side.")]
_Empty = Annotated[str, typer.Option(help="Mark for an empty side.")]


@app.command(cls=Program)
def train(
    pairs: _Pairs,
    output: Annotated[Path, output_option("The model to write.")],
    max_input: Annotated[int, typer.Option(help="Maximum number of input symbols in a link.")] = 1,
    max_output: Annotated[int, typer.Option(help="Maximum number of output symbols in a link.")] = 1,
    deletions: Annotated[bool, typer.Option(help="Allow input symbols to be aligned with nothing.")] = True,
    insertions: Annotated[bool, typer.Option(help="Allow output symbols to be aligned with nothing.")] = True,
    many_to_many: Annotated[bool, typer.Option(help="Allow links with several symbols on both sides.")] = False,
    max_insertions: Annotated[int | None, typer.Option(help="Maximum number of insertions in a row.")] = None,
    conditional: Annotated[
        bool, typer.Option("--conditional", help="Model outputs given inputs; default: the joint probability.")
    ] = False,
    method: Annotated[str, typer.Option(help="Training: em, viterbi, or em+viterbi, whose last step prunes.")] = "em",
    smoothing: Annotated[float, typer.Option(help="Added to the count of every link.")] = 0.0,
    max_iter: MaxIter = 20,
    tolerance: Annotated[float, typer.Option(help="Relative gain below which training ends.")] = 1e-5,
    restarts: Annotated[int, typer.Option(help="Number of further runs from random starts; the best is kept.")] = 0,
    insertions_first: Annotated[
        bool, typer.Option("--insertions-first", help="Among equally good alignments, put insertions before deletions.")
    ] = False,
    allow: Annotated[Path | None, typer.Option(help="File with the links that are allowed, one pair per line.")] = None,
    rules: Annotated[
        Path | None, typer.Option(help="File with pairs from a rule system, used for the starting weights.")
    ] = None,
    bags: Annotated[
        str | None,
        typer.Option(
            help="Shares of rules, pairs and the uniform distribution in the starting weights, such as 0,0.9,0.1."
        ),
    ] = None,
    weighted: Annotated[bool, typer.Option("--weighted", help="The third column holds the weight of a pair.")] = False,
    inputs: _Inputs = "characters",
    outputs: _Outputs = "words",
    errors: Errors = "strict",
    seed: Seed = 0,
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Learn links between symbols from pairs of strings.

    Example: textmill fst align train lexicon.tsv --max_input=2 --max_output=2 --noinsertions -o links.mill
    """
    from textmill.fst import StringAligner

    options: dict[str, Any] = {"inputs": inputs, "outputs": outputs}
    records = _read(pairs, weighted=weighted, errors=errors, **options)
    kinds = ("insertion", "deletion") if insertions_first else ("deletion", "insertion")
    aligner = StringAligner(
        max_input=max_input,
        max_output=max_output,
        deletions=deletions,
        insertions=insertions,
        many_to_many=many_to_many,
        max_insertions_per_gap=max_insertions,
        normalization="conditional" if conditional else "joint",
        method=method,
        smoothing=smoothing,
        max_iter=max_iter,
        tolerance=tolerance,
        restarts=restarts,
        ties=("substitution", *kinds),
        random_state=seed,
        n_jobs=jobs,
    )
    aligner.fit(
        [(record.input, record.output) for record in records],
        start=_start(records, allow, rules, bags, options),
        sample_weight=[record.weight for record in records] if weighted else None,
        errors=errors,
    )
    aligner.save(output)
    facts = {
        "pairs": len(records),
        "unaligned": len(aligner.unaligned_),
        "links": len(aligner.log_probabilities_),
        "iterations": aligner.n_iter_,
        "converged": aligner.converged_,
        "log_likelihood": float(aligner.trace_[-1]) if aligner.n_iter_ else None,
    }
    if json:
        typer.echo(json_line({**facts, "trace": aligner.trace_.tolist()}))
    else:
        line = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in facts.items() if value is not None)
        typer.echo(f"{output}: {line}")


@app.command("apply", cls=Program)
def apply_model(
    model: _Model,
    pairs: _Pairs = "-",
    output: Annotated[str, output_option("The file to write; - for stdout.")] = "-",
    k: Annotated[int, answers("Number of alignments per pair.")] = 1,
    merge: Annotated[bool, typer.Option("--merge", help="Join insertions to the link before them.")] = False,
    scores: Annotated[
        bool,
        typer.Option("--scores", help="Add the log probability of the alignment and its share among all alignments."),
    ] = False,
    between: _Between = ":",
    within: _Within = "|",
    empty: _Empty = "_",
    inputs: _Inputs = "characters",
    outputs: _Outputs = "words",
    errors: Errors = "strict",
    jobs: Jobs = None,
    json: JsonLines = False,
) -> None:
    """Align pairs, one line per alignment; a pair without an alignment is an empty line, and counted.

    Example: textmill fst align apply links.mill lexicon.tsv --between "}" -o lexicon.corpus
    """
    from itertools import islice

    import numpy as np

    from textmill.corpus import writer
    from textmill.fst import read_pairs

    aligner = _load(model, jobs)
    stream = iter(read_pairs(pairs, inputs=inputs, outputs=outputs, errors=errors))
    total = unaligned = 0
    with writer(output) as out:
        while records := list(islice(stream, 1 << 16)):
            batch = [(record.input, record.output) for record in records]
            sums = aligner.score_samples(batch) if scores or json else np.zeros(len(batch))
            for record, best, whole in zip(records, aligner.nbest(batch, k), sums.tolist(), strict=True):
                total += 1
                unaligned += not best
                alignments = [(one.merged() if merge else one, one.log_probability) for one in best]
                if json:
                    rows = [
                        {"links": one.links, "log_probability": score, "share": float(np.exp(score - whole))}
                        for one, score in alignments
                    ]
                    line = {"line": record.line, "input": record.input, "output": record.output, "alignments": rows}
                    out.write(json_line(line) + "\n")
                    continue
                for one, score in alignments:
                    figures = f"\t{score:.6f}\t{np.exp(score - whole):.6f}" if scores else ""
                    out.write(one.text(between=between, within=within, empty=empty) + figures + "\n")
                if not alignments:
                    out.write("\n")
    if unaligned:
        typer.echo(f"{unaligned} of {total} pairs have no alignment; their lines are empty", err=True)


@app.command(cls=Program)
def show(
    model: _Model,
    input_: Annotated[
        str | None, typer.Argument(metavar="[INPUT]", help="String to align; without it, links are shown.")
    ] = None,
    output: Annotated[str | None, typer.Argument(metavar="[OUTPUT]", help="The other string.")] = None,
    k: Annotated[int, answers("Number of alignments or links to show.")] = 20,
    inputs: _Inputs = "characters",
    outputs: _Outputs = "words",
    json: Json = False,
) -> None:
    """Show the most probable links, or the best alignments of one pair with their share among all alignments.

    Example: textmill fst align show links.mill phoenix "F IY N IH K S" -k 3
    """
    import numpy as np

    from textmill.errors import DataError
    from textmill.fst import Alignment

    aligner = _load(model, None)
    if input_ is None or output is None:
        if input_ is not None:
            raise DataError("an input is given without an output; give both, or none to see links")
        order = np.argsort(-aligner.log_probabilities_, kind="stable")[:k]
        links, probabilities = aligner.links_, np.exp(aligner.log_probabilities_)
        if not json:
            typer.echo("link\tprobability\tcount")
        for e in order.tolist():
            text, p, c = Alignment((links[e],)).text(), float(probabilities[e]), float(aligner.counts_[e])
            typer.echo(
                json_line({"link": links[e], "probability": p, "count": c}) if json else f"{text}\t{p:.6f}\t{c:.2f}"
            )
        return
    pair = (_cut(input_, inputs), _cut(output, outputs))
    whole = float(aligner.score_samples([pair])[0])
    best = aligner.nbest([pair], k)[0]
    if not best:
        raise DataError(f"{input_!r} and {output!r} have no alignment with the links of {model}; train on such pairs")
    for number, one in enumerate(best):
        share = float(np.exp(one.log_probability - whole))
        if json:
            typer.echo(json_line({"links": one.links, "log_probability": one.log_probability, "share": share}))
        else:
            typer.echo(("\n" if number else "") + f"{one}\nln p {one.log_probability:.4f}, share {share:.4f}")


def _read(source: str, **options: Any) -> list[PairRecord]:
    from textmill.fst import read_pairs

    return list(read_pairs(source, **options))


def _start(
    records: list[PairRecord], allow: Path | None, rules: Path | None, bags: str | None, options: dict[str, Any]
) -> Any:
    """What training begins with: allowed links, weights by bags of symbols, or None."""
    from textmill.errors import DataError
    from textmill.fst import bag_weights

    if allow is not None:
        if rules is not None or bags is not None:
            raise DataError("--allow lists all links there are; leave out --rules and --bags")
        return [(tuple(record.input), tuple(record.output)) for record in _read(str(allow), **options)]
    if rules is None and bags is None:
        return None
    ruled = [] if rules is None else [(record.input, record.output) for record in _read(str(rules), **options)]
    try:
        weights = tuple(float(part) for part in (bags or "0.9,0.09,0.01").split(","))
    except ValueError:
        raise DataError(f"--bags must be three numbers with commas, such as 0,0.9,0.1, got {bags!r}") from None
    pairs = [(record.input, record.output) for record in records]
    return bag_weights(pairs, rules=ruled, weights=weights)  # type: ignore[arg-type]


def _load(model: Path, jobs: int | None) -> StringAligner:
    from textmill.fst import StringAligner
    from textmill.model import load

    aligner: StringAligner = load(model, expect=StringAligner)
    return aligner.set_params(n_jobs=jobs)


def _cut(text: str, symbols: str) -> str | list[str]:
    from textmill.fst import SIDES
    from textmill.model import check_choice

    check_choice("symbols", symbols, SIDES)
    return text if symbols == "characters" else text.split()
