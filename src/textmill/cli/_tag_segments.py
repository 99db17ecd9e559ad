"""Verbs of `textmill tag` that concern segments: candidates, forests, lengths."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._json import json_line
from textmill.cli._options import Json, LabelColumn
from textmill.cli._outputs import figure_option, output_option
from textmill.cli._tables import Printed
from textmill.cli._tag_labeling import read_tokens

__all__ = ["candidates", "forest", "lengths"]


def candidates(
    source: Annotated[str, typer.Argument(metavar="TRAIN", help="Labeled sequences to learn the filter from.")],
    dev: Annotated[Path | None, typer.Option(help="Labeled sequences to judge the filter on; default: TRAIN.")] = None,
    max_length: Annotated[int, typer.Option(help="Number of tokens of the longest candidate.")] = 10,
    recall: Annotated[float, typer.Option(help="Share of the segments that must be kept.")] = 0.995,
    threshold: Annotated[
        float | None, typer.Option(help="Log-odds from which candidates are kept, instead of --recall.")
    ] = None,
    document: Annotated[str | None, typer.Option(metavar="MARK", help="Beginning of lines between documents.")] = None,
    label_column: LabelColumn = None,
    k: Annotated[int, typer.Option("-k", help="Number of lost segments to show.")] = 10,
    plot: Annotated[Path | None, figure_option("Draw candidates kept against recall to this file.")] = None,
    json: Json = False,
) -> None:
    """Learn which stretches of tokens may be segments, and say what such a filter keeps and loses.

    Example: textmill tag candidates train.txt --dev dev.txt --recall 0.99 --plot curve.svg
    """
    from textmill.plot import lines, save
    from textmill.sequence import CandidateFilter, check_labels, read_labeled

    data = check_labels(read_labeled(source, document=document, label_column=label_column), source)
    chosen = CandidateFilter(max_length=max_length, recall=recall, threshold=threshold).fit(data.X, data.y)
    judged = data if dev is None else read_labeled(dev, document=document, label_column=label_column)
    audit = chosen.audit(judged.X, judged.y)
    if plot is not None:
        points = chosen.curve(judged.X, judged.y)
        curve = {"filter": (points[:, 1].tolist(), points[:, 2].tolist())}
        save(lines(curve, x_label="share of candidates kept", y_label="recall of segments"), plot)
    lost = sorted(audit.lost, key=lambda span: -span.logit if span.logit == span.logit else float("-inf"))
    if json:
        facts = {name: getattr(audit, name) for name in ("n_kept", "candidates", "spans_kept", "spans")}
        facts |= {"kept_share": audit.kept_share, "recall": audit.recall, "possible_f1": audit.possible_f1}
        shown = [span._asdict() | {"logit": None if span.logit != span.logit else span.logit} for span in lost[:k]]
        typer.echo(json_line({**facts, "threshold": chosen.threshold_, "lost": shown}))
        return
    typer.echo(
        f"kept {audit.n_kept} of {audit.candidates} candidates ({audit.kept_share:.2%}), {audit.spans_kept} of "
        f"{audit.spans} segments ({audit.recall:.2%}); F1 that is still possible {audit.possible_f1:.4f}; "
        f"threshold {chosen.threshold_:.4f}"
    )
    if lost and k:
        table = Printed({"logit": ".2f", "label": "", "sequence": "", "begin": "", "end": "", "text": ""})
        for span in lost[:k]:
            logit = None if span.logit != span.logit else span.logit
            table.row(
                logit=logit,
                label=span.label,
                sequence=span.sequence + 1,
                begin=span.begin,
                end=span.end,
                text=span.text,
            )


def forest(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Semi-Markov tagger.")],
    source: Annotated[str, typer.Argument(metavar="INPUT", help="Columns; - for stdin.")] = "-",
    output: Annotated[str, output_option("The file to write; - for stdout.")] = "-",
    packing: Annotated[str, typer.Option(help="Kind of forest: unpacked, packed or factored.")] = "factored",
    to: Annotated[str, typer.Option(help="What to write: sizes, dot (one sequence) or amis.")] = "sizes",
    sequence: Annotated[int, typer.Option(help="Number of the sequence for dot, from 1.")] = 1,
    json: Json = False,
) -> None:
    """Show the feature forests of sequences: their sizes, a drawing for Graphviz, or events for AMIS.

    Example: textmill tag forest names.mill news.txt --to dot --packing packed -o forest.dot
    """
    from textmill.corpus import writer
    from textmill.errors import DataError
    from textmill.model import check_choice, check_range, load
    from textmill.sequence import (
        PACKINGS,
        SemiMarkovCRF,
        all_candidates,
        forest_events,
        forest_size,
        forest_weights,
        seen_columns,
        segment_forest,
        write_amis,
    )

    check_choice("to", to, ("sizes", "dot", "amis"))
    check_choice("packing", packing, PACKINGS)
    tagger: Any = load(model, expect=SemiMarkovCRF)
    sentences = [seen_columns(sentence, tagger.width_) for sentence in read_tokens(tagger, source)]
    if to == "amis":
        write_amis(forest_events(tagger, sentences, packing=packing), output)
        return
    if to == "dot":
        check_range("sequence", sequence, at_least=1, whole=True)
        if sequence > len(sentences):
            raise DataError(f"there are {len(sentences)} sequences, so none has the number {sequence}")
        drawn = segment_forest(tagger, sentences[sequence - 1], packing=packing)
        with writer(output) as out:
            out.write(drawn.to_dot(weights=forest_weights(tagger, drawn)))
        return
    filtered = tagger.segment_data(sentences).candidates
    every = all_candidates(filtered.offsets, tagger.max_length)
    rows = []
    for name, some in (("all", every), ("filtered", filtered)):
        for kind in PACKINGS:
            size = forest_size(some, len(tagger.segment_labels_) - 1, packing=kind, history=tagger.history)
            rows.append(
                {"candidates": name, "packing": kind, "disjunctive": size.disjunctive, "conjunctive": size.conjunctive,
                 "megabytes": size.bytes / 1e6}
            )  # fmt: skip
    if json:
        typer.echo(json_line({"sequences": len(sentences), "tokens": filtered.tokens, "forests": rows}))
        return
    table = Printed({"candidates": "", "packing": "", "disjunctive": "", "conjunctive": "", "megabytes": ".3f"})
    for row in rows:
        table.row(**row)


def lengths(
    source: Annotated[str, typer.Argument(metavar="FILE", help="Columns, of which the last has tags; - for stdin.")],
    document: Annotated[str | None, typer.Option(metavar="MARK", help="Beginning of lines between documents.")] = None,
    plot: Annotated[Path | None, figure_option("Draw the shares of the lengths to this file.")] = None,
    json: Json = False,
) -> None:
    """Print how long the segments of a tagged file are, how many have each label, and how many follow O.

    Example: textmill tag lengths train.txt --document -DOCSTART-
    """
    from textmill.plot import lines, save
    from textmill.sequence import read_labeled, segment_lengths

    counts = segment_lengths(read_labeled(source, document=document).y)
    rows = counts.to_dict()
    if plot is not None:
        curve = {"segments": ([float(n) for n in rows["length"]], [float(share) for share in rows["share"]])}
        save(lines(curve, x_label="number of tokens", y_label="share of segments"), plot)
    if json:
        facts = {"segments": counts.lengths.total(), "after_o": counts.after_o, "labels": dict(counts.labels)}
        typer.echo(json_line({**facts, "lengths": {str(n): counts.lengths[n] for n in sorted(counts.lengths)}}))
        return
    table = Printed({"length": "", "segments": "", "share": ".4f"})
    for length, number, share in zip(rows["length"], rows["segments"], rows["share"], strict=True):
        table.row(length=length, segments=number, share=share)
    table = Printed({"label": "", "segments": ""})
    for label, number in counts.labels.most_common():
        table.row(label=label, segments=number)
    typer.echo(counts.note())
