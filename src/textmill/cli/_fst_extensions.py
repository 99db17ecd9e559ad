"""Verbs of `textmill fst` for machines in other forms: compressed, with edits, of n-gram models, of linear models."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from textmill.cli import _fst_files as files
from textmill.cli._fst_program import Program, Source, Target
from textmill.cli._json import json_page
from textmill.cli._options import Json
from textmill.cli._outputs import output_argument

if TYPE_CHECKING:
    from textmill.fst import EditedFst

app = typer.Typer(add_completion=False)


@app.command(cls=Program)
def compress(source: Source = "", target: Target = "") -> None:
    """Compress a machine file; decompressing gives exactly the same file again.

    Example: textmill fst compress a.fst a.lzfst
    """
    from textmill.fst import compress as packed

    content = files.read_bytes(source)
    archive = packed(content, source=source or "standard input")
    if files.is_stream(target):
        files.refuse_terminal("a compressed machine")
    files.write_bytes(archive, target)
    typer.echo(f"{len(content)} bytes became {len(archive)}, {len(archive) / max(1, len(content)):.1%}", err=True)


@app.command(cls=Program)
def decompress(source: Source = "", target: Target = "") -> None:
    """Give back the machine file that was compressed.

    Example: textmill fst decompress a.lzfst a.fst
    """
    from textmill.fst import decompress as unpacked

    content = unpacked(files.read_bytes(source), source=source or "standard input")
    if files.is_stream(target):
        files.refuse_terminal("a binary machine")
    files.write_bytes(content, target)


@app.command(cls=Program)
def edit(
    source: Annotated[str, typer.Argument(metavar="IN.FST", help="Machine to read; - for stdin.")],
    changes: Annotated[str, typer.Argument(metavar="CHANGES.TXT", help="Changes, one per line.")],
    target: Target = "",
    fst_type: Annotated[str, typer.Option(help="Type of the file: const, vector, ...")] = "const",
) -> None:
    """Change some states of a machine, whose file is only mapped meanwhile.

    Lines are: start STATE; state; final STATE [WEIGHT]; arc STATE NEXT INPUT OUTPUT [WEIGHT]; delete STATE [KEEP].
    They add a state, give it a final weight, add an arc, or delete the arcs of a state but the first KEEP.

    Example: textmill fst edit large.fst changes.txt larger.fst
    """
    from textmill.fst import EditedFst

    edited = EditedFst(files.read_machine(source))
    for number, fields in files.lines(changes):
        _change(edited, fields, changes, number)
    files.write_machine(edited.merge(), target, fst_type)
    typer.echo(f"{edited.num_changed} states changed or added, {edited.num_states} in all", err=True)


@app.command(cls=Program)
def ngram(
    source: Annotated[str, typer.Argument(metavar="IN", help="ARPA file, or a model that this command has made.")],
    target: Annotated[str, output_argument("Model to write, .mill; or .fst for a plain machine.", "OUT")],
    cost_bits: Annotated[
        int, typer.Option(min=0, max=16, help="Bits for the cost of an n-gram; 0 for 32 without rounding.")
    ] = 0,
    back_off: Annotated[str, typer.Option(help="Back-off arcs of a plain machine: phi or epsilon.")] = "phi",
) -> None:
    """Turn a back-off model into a machine in little memory, or such a machine into a plain one.

    Example: textmill fst ngram model.arpa model.mill
    """
    model = _ngrams(source, cost_bits or None)
    if target.endswith(".fst"):
        files.write_machine(model.machine(back_off=back_off).expand(), target)
    else:
        model.save(target)
    typer.echo(f"{model.num_states} states, {model.num_arcs} arcs, {model.nbytes} bytes", err=True)


@app.command(cls=Program)
def ngraminfo(
    source: Annotated[str, typer.Argument(metavar="IN", help="ARPA file, or a model of 'textmill fst ngram'.")],
    json: Json = False,
) -> None:
    """Describe the machine of a back-off model: its size, and that of other forms of it.

    Example: textmill fst ngraminfo model.mill
    """
    model = _ngrams(source, None)
    rows = {
        "words": len(model.words),
        "states": model.num_states,
        "arcs": model.num_arcs,
        "bytes": model.nbytes,
        "bytes per arc": round(model.nbytes / max(1, model.num_arcs), 2),
        "bytes as a plain machine": 20 * model.num_states + 16 * model.num_arcs,
        "bytes as OpenFst's ngram type": model.openfst_nbytes,
    }
    lines = "".join(f"{name:<50}{value}\n" for name, value in rows.items())
    files.write_text(json_page(rows) + "\n" if json else lines, "")


@app.command(cls=Program)
def linear(
    source: Annotated[
        str, typer.Argument(metavar="MODEL", help="Features in a text file, or a model in a .mill file, also a CRF.")
    ],
    words: Annotated[
        str, typer.Argument(metavar="WORDS", help="Text with one sentence per line, or a lattice; - for stdin.")
    ] = "-",
    target: Target = "",
    nshortest: Annotated[int, typer.Option(min=1, max=files.MOST, help="Number of best outputs per sentence.")] = 1,
    classify: Annotated[bool, typer.Option(help="Features of a text file are of classes, not of tags.")] = False,
    lattice: Annotated[
        bool, typer.Option(help="WORDS is an acceptor of words: write the machine of its outputs.")
    ] = False,
    save: Annotated[str, typer.Option(help="File for the model, .mill.")] = "",
) -> None:
    """Tag or classify sentences by the machine of a linear model: costs and outputs, one line per output.

    A CRF of 'textmill tag train' becomes such a machine; columns of a token are joined by |, as in the|DT.

    Example: textmill fst linear features.txt sentences.txt
    """
    from textmill.cli._outputs import check_output
    from textmill.errors import DataError

    check_output(save)
    graph = files.read_machine(words) if lattice else None
    if graph is None:
        sentences = [line.split() for line in files.read_bytes(words).decode("utf-8", "replace").splitlines()]
        vocabulary = {word for sentence in sentences for word in sentence}
    elif graph.input_symbols is None:
        raise DataError("the lattice has no symbols, so its words are not known; compile it with --keep_isymbols")
    else:
        sentences, vocabulary = [], {word for label, word in graph.input_symbols.items() if label}
    model = _linear(source, vocabulary, classify)
    if save:
        model.save(save)
    if graph is not None:
        files.write_machine(model.machine(graph, semiring_name=graph.semiring.name).expand(), target)
        return
    lines = []
    for sentence in sentences:
        for cost, outputs in model.best_outputs(sentence, nshortest):
            lines.append(f"{cost:.6g}\t{' '.join(outputs)}\n")
    files.write_text("".join(lines), target)


def _ngrams(source: str, cost_bits: int | None) -> Any:
    from textmill.corpus import read_arpa
    from textmill.errors import DataError
    from textmill.fst import SuccinctNgrams
    from textmill.model import load

    if not source.endswith(".mill"):
        return SuccinctNgrams.from_arpa(read_arpa(source), cost_bits=cost_bits)
    model = load(source)
    if not isinstance(model, SuccinctNgrams):
        raise DataError("holds another model; 'textmill fst ngram' makes one of an ARPA file", source=source)
    return model


def _linear(source: str, words: set[str], classify: bool) -> Any:
    from textmill.errors import DataError
    from textmill.fst import LinearClassifier, LinearTagger, read_features
    from textmill.model import load

    if not source.endswith(".mill"):
        features = read_features(source)
        vocabulary = words | {value for feature in features for value in feature.values.values()}
        return (LinearClassifier if classify else LinearTagger).from_features(features, sorted(vocabulary))
    model = load(source)
    if isinstance(model, LinearTagger | LinearClassifier):
        return model
    from textmill.sequence import ChainModel, tagger_machine

    if not isinstance(model, ChainModel):
        raise DataError("holds another model than a linear tagger or classifier, or a CRF", source=source)
    return tagger_machine(model, sorted(words))


def _change(edited: "EditedFst", fields: list[str], source: str, line: int) -> None:
    """Make the change of one line."""
    from textmill.errors import DataError

    name, *values = fields
    try:
        weight = edited.base.semiring.parse
        if name == "start" and len(values) == 1:
            edited.start = int(values[0])
        elif name == "state" and not values:
            edited.add_state()
        elif name == "final" and len(values) in (1, 2):
            edited.set_final(int(values[0]), weight(values[1]) if len(values) > 1 else None)
        elif name == "arc" and len(values) in (4, 5):
            state, following, ilabel, olabel = map(int, values[:4])
            edited.add_arc(state, ilabel, olabel, weight(values[4]) if len(values) > 4 else None, following)
        elif name == "delete" and len(values) in (1, 2):
            edited.delete_arcs(int(values[0]), keep=int(values[1]) if len(values) > 1 else 0)
        else:
            raise ValueError
    except DataError as fault:
        raise DataError(fault.message, source=source, line=line) from None
    except (ValueError, TypeError, OverflowError):
        wanted = "start STATE, state, final STATE [WEIGHT], arc STATE NEXT INPUT OUTPUT [WEIGHT] or delete STATE [KEEP]"
        raise DataError(f"a change is {wanted}, with numbers", source=source, line=line) from None
