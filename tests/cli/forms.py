"""The same content in every form a file can have, and a model of every kind, for test_forms.py."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet

from textmill.cli.app import main
from textmill.corpus import sample_articles, sample_path, split_sentences, write_knp
from textmill.tasks.dependency import sample_sentences
from textmill.tasks.entities.sample import sample_entities

__all__ = ["FILES", "FORMS", "make_models", "run", "write_forms"]

FORMS = ("plain", "jsonl", "csv", "tsv", "columns", "conllu", "parquet", "empty", "binary", "line")
FILES = dict(
    zip(
        FORMS,
        (
            "plain.txt", "records.jsonl", "records.csv", "records.tsv", "columns.conll", "words.conllu",
            "records.parquet", "empty.txt", "binary.bin", "line.txt",
        ),
        strict=True,
    )
)  # fmt: skip
TEXTS = 96


def run(*arguments: object) -> int:
    """Exit code of a run in this process."""
    try:
        main(["-q", *map(str, arguments)])
    except SystemExit as left:
        return int(left.code or 0)
    raise AssertionError("a command ends by SystemExit")


def write_forms(folder: Path) -> dict[str, Path]:
    """Write the texts as lines, as records in four forms, as columns and as CoNLL-U, and what is no text at all."""
    texts = [" ".join(split_sentences(" ".join(one["text"].split()))[:3]) for one in sample_articles()[:TEXTS]]
    rows: list[dict[str, Any]] = [
        {
            "id": f"n{number}",
            "text": text,
            "label": "ab"[number % 2],
            "score": 1 + number % 5,
            "level": 1 + number % 3,
            "language": ("en", "de")[number % 2],
            "name": " ".join(text.split()[:2]),
            "number": f"555-01{number:02}",
            "word": text.split()[0].strip(",."),
            "phonemes": " ".join(text.split()[0].strip(",.").lower()),
            "output": text.split()[0].strip(",.").upper(),
            "note": "kept",
        }
        for number, text in enumerate(texts)
    ]
    paths = {form: folder / name for form, name in FILES.items()}
    paths["plain"].write_text("".join(f"{text}\n" for text in texts))
    paths["jsonl"].write_text("".join(json.dumps(row) + "\n" for row in rows))
    with paths["csv"].open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    lines = ["\t".join(rows[0]), *("\t".join(map(str, row.values())) for row in rows)]
    paths["tsv"].write_text("\n".join(lines) + "\n")
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), paths["parquet"])
    words = [text.split() for text in texts]
    tags = [["B-NAME" if word[0].isupper() else "O" for word in sentence] for sentence in words]
    kinds = [["PROPN" if word[0].isupper() else "NOUN" if len(word) > 4 else "ADP" for word in some] for some in words]
    blocks = [
        "".join(f"{word} {kind} {tag}\n" for word, kind, tag in zip(*columns, strict=True))
        for columns in zip(words, kinds, tags, strict=True)
    ]
    paths["columns"].write_text("\n".join(blocks))
    blocks = []
    for row, sentence, upos in zip(rows, words, kinds, strict=True):
        lines = [f"# sent_id = {row['id']}", f"# text = {row['text']}"]
        for place, (word, kind) in enumerate(zip(sentence, upos, strict=True), 1):
            relation = ("0", "root") if place == 1 else (str(place - 1), "dep")
            lines.append("\t".join([str(place), word, word.lower(), kind, "_", "_", *relation, "_", "_"]))
        blocks.append("\n".join(lines) + "\n")
    paths["conllu"].write_text("\n".join(blocks) + "\n")
    paths["empty"].write_text("")
    paths["binary"].write_bytes(bytes(range(256)) * 16)
    paths["line"].write_text("one line\n")
    return paths


def make_models(paths: dict[str, Path]) -> None:
    """Train what the commands need, on little data, in the current folder."""
    texts = paths["jsonl"]
    write_knp(sample_sentences(80), "right.knp")
    Path("trees.mrg").write_text(
        "(S (D the) (N dogs) (V bark))\n(S (NP (D the) (N cats)) (VP (V see) (NP (D the) (N dogs))))\n" * 4
    )
    Path("lexicon.tsv").write_text("".join(f"{a}{b}{c}\t{a} {b} {c}\n" for a in "tk" for b in "aio" for c in "nsr"))
    Path("pairs.tsv").write_text(
        "".join(f"{a}{b}{c}\t{(a + b + c).upper()}\n" for a in "tk" for b in "aio" for c in "nsr")
    )
    Path("names.csv").write_text("id,name\n1,Ann Smith\n2,Anne Smith\n3,Bob Jones\n4,Bobby Jones\n")
    with open("entities.conll", "w") as out:
        for sentence in sample_entities(120):
            out.write("".join(" ".join(row) + "\n" for row in sentence) + "\n")
    for command in MODELS:
        arguments = command.format(texts=texts, columns=paths["columns"], chunks=sample_path("chunks-train.txt"))
        assert run(*arguments.split()) == 0, arguments


MODELS = (
    "vocab build {texts} -o v.mill",
    "bags make {texts} --vocab v.mill -o bags.npz",
    "topics train {texts} --kind lsa --topics 3 -o t.mill",
    "similar index {texts} -o i.mill",
    "similar collect {texts} -o collection",
    "similar classify k.mill {texts} --train --field label",
    "lm train {texts} --order 2 -o l.mill",
    "classify train {texts} --l2 1 -o c.mill",
    "classify train {texts} --kind bayes -o bayes.mill",
    "topics train {texts} --kind lda --topics 3 --max-iter 3 -o lda.mill",
    "topics train {texts} --kind nmf --topics 3 -o nmf.mill",
    "topics train {texts} --kind plsa --topics 3 -o plsa.mill",
    "coherence train {texts} --topics 3 --max-iter 3 --held-out 0.5 -o d.mill",
    "correct train {texts} -o correct.mill",
    "entities train entities.conll -o e.mill",
    "fluency split {texts} -o split",
    "fluency train {texts} --features word:1 --kernel linear -o f.mill",
    "language train {texts} -o language.mill",
    "parse train right.knp --l1 1 -o parser.mill",
    "polarity train {texts} --kind least-squares -o p.mill",
    "pronounce train lexicon.tsv --context 1 -o pronounce.mill",
    "readability train {texts} --features shallow -o r.mill",
    "tag train {columns} --max-iter 5 -o tag.mill",
    "tag train {columns} --max-iter 5 --words-only -o words.mill",
    "tag train {columns} --max-iter 5 --kind semimarkov -o segments.mill",
    "tag train {columns} --max-iter 5 --kind latent -o latent.mill",
    "transcribe train pairs.tsv --no-search -o transcribe.mill",
    "trees train trees.mrg -o trees.mill",
    "voicemail sample -o messages.txt",
    "voicemail train messages.txt -o voicemail.mill",
)
