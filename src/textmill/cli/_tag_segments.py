"""Verbs of `textmill tag` that concern segments: training of semi-Markov taggers, candidates, forests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from textmill.cli._json import json_line
from textmill.cli._options import Json
from textmill.cli._outputs import figure_option, output_option
from textmill.cli._tables import Printed

__all__ = ["Segments", "candidates", "forest", "train_segments"]

_MaxLength = Annotated[int, typer.Option(help="semimarkov: number of tokens of the longest segment.")]
_Recall = Annotated[
    float,
    typer.Option(help="semimarkov: share of the segments that the filter of candidates must keep; 1 for no filter."),
]
_History = Annotated[str, typer.Option(help="semimarkov: what a segment follows: none, label or entity.")]
_Preset = Annotated[str, typer.Option(help="semimarkov: patterns without -p: rich or table3.")]
_KeepLong = Annotated[
    bool, typer.Option("--keep-long", help="semimarkov: train on segments longer than --max-length, too.")
]
_WordList = Annotated[
    list[Path] | None, typer.Option(help="semimarkov: file with names, one per line, to compare segments with.")
]


@dataclass(frozen=True)
class Segments:
    """How a semi-Markov tagger looks at segments."""

    max_length: _MaxLength = 10
    filter_recall: _Recall = 0.995
    history: _History = "entity"
    preset: _Preset = "rich"
    keep_long: _KeepLong = False
    word_list: _WordList = None

    def tagger(self, tests: Any, training: Any, **parameters: Any) -> Any:
        """The tagger, not yet trained."""
        from textmill.corpus import open_lines
        from textmill.sequence import SemiMarkovCRF

        if tests.format != "columns" or tests.syntax != "textmill":
            raise typer.BadParameter("--kind semimarkov reads columns and patterns of segments; leave out --format")
        patterns: str = self.preset
        if tests.patterns is not None:
            patterns = "\n".join(line for _, line in open_lines(tests.patterns))
        elif tests.words_only:
            from textmill.sequence import segment_patterns

            patterns = "\n".join(segment_patterns(self.preset, 1))
        lists = {path.stem: [line for _, line in open_lines(path) if line.strip()] for path in self.word_list or ()}
        return SemiMarkovCRF(
            patterns=patterns,
            history=self.history,
            max_length=self.max_length,
            long_segments="keep" if self.keep_long else "drop",
            filter="bayes" if self.filter_recall < 1 else None,
            filter_recall=self.filter_recall,
            min_count=tests.min_count,
            word_lists=lists or None,
            algorithm="owlqn" if training.algorithm is None and training.l1 else training.algorithm or "lbfgs",
            l1=training.l1,
            l2=training.l2,
            max_iter=training.max_iter,
            tolerance=training.tolerance,
            **parameters,
        )


def train_segments(
    tagger: Any, data: Any, apart: Any, output: Path, *, checkpoint: Path | None, plot: Path | None, json: bool
) -> None:
    """Train a semi-Markov tagger and say what became of it."""
    from textmill.plot import save
    from textmill.progress import shown_by
    from textmill.readable import counted
    from textmill.sequence import TrainingTable, draw_training

    parts = (apart.X, apart.y) if apart is not None else (None, None)
    with shown_by(TrainingTable(lambda line: typer.echo(line, err=True))):
        tagger.fit(data.X, data.y, *parts, sample_weight=data.weights, checkpoint=checkpoint)
    tagger.save(output)
    if plot is not None:
        save(draw_training(tagger), plot)
    summary = tagger.training_summary_
    if json:
        typer.echo(json_line(summary))
        return
    share = f"{summary['candidates']} of {summary['all_candidates']} candidates"
    sizes = ", ".join(counted(summary[name], name) for name in ("labels", "tests", "features"))
    done = counted(summary["iterations"], "iterations")
    objective = "" if summary["objective"] is None else f", objective {summary['objective']:.6g}"
    typer.echo(
        f"{output}: {counted(len(data.X), 'sequences')}, {sizes}, {share}; {done}"
        f"{objective}, stopped: {summary['stop_reason']}"
    )


def candidates(
    source: Annotated[str, typer.Argument(metavar="TRAIN", help="Labeled sequences to learn the filter from.")],
    dev: Annotated[Path | None, typer.Option(help="Labeled sequences to judge the filter on; default: TRAIN.")] = None,
    max_length: Annotated[int, typer.Option(help="Number of tokens of the longest candidate.")] = 10,
    recall: Annotated[float, typer.Option(help="Share of the segments that must be kept.")] = 0.995,
    threshold: Annotated[
        float | None, typer.Option(help="Log-odds from which candidates are kept, instead of --recall.")
    ] = None,
    document: Annotated[str | None, typer.Option(metavar="MARK", help="Beginning of lines between documents.")] = None,
    k: Annotated[int, typer.Option("-k", help="Number of lost segments to show.")] = 10,
    plot: Annotated[Path | None, figure_option("Draw candidates kept against recall to this file.")] = None,
    json: Json = False,
) -> None:
    """Learn which stretches of tokens may be segments, and say what such a filter keeps and loses.

    Example: textmill tag candidates train.txt --dev dev.txt --recall 0.99 --plot curve.svg
    """
    from textmill.plot import lines, save
    from textmill.sequence import CandidateFilter, read_labeled

    data = read_labeled(source, document=document)
    chosen = CandidateFilter(max_length=max_length, recall=recall, threshold=threshold).fit(data.X, data.y)
    judged = data if dev is None else read_labeled(dev, document=document)
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
    from textmill.corpus import read_columns, writer
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
    sentences = [seen_columns(sentence, tagger.width_) for sentence in read_columns(source)]
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
