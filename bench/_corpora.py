"""Texts of different shape, so that no figure rests on one data set.

| name | documents | shape |
|---|---|---|
| 20 News | 19,997 posts | English, informal, with headers and signatures |
| Reuters | 10,788 articles | short English news wire |
| Brown | 500 texts | English prose of 2,000 words each |
| Reviews | 6,000 reviews | English, of books, films and kitchenware |
| Sentences | 24,000 lines | one sentence each, nine languages |
"""

from __future__ import annotations

import os
import re
import tarfile
from functools import cache

import numpy as np
from scipy.sparse import csr_matrix

from bench.harness import Options
from papers._shared.presets import preset
from textmill.corpus import Vocabulary, read_documents

NAMES = ("20 News", "Reuters", "Brown", "Reviews", "Sentences")
TOPICAL = ("Reuters", "20 News", "Reviews")  # those with topics to learn
QUICK = 1500  # documents of a quick run


@cache
def texts(options: Options, name: str) -> list[str]:
    """The documents of a corpus; the first of them in a quick run."""
    folder = options.data
    if name == "20 News":
        found = list(read_documents(folder / "newsgroups" / "20news.jsonl.gz").texts())
    elif name == "Reuters":
        found = list(read_documents(folder / "reuters" / "reuters21578.jsonl.gz").texts())
    elif name == "Brown":
        found = _brown(options)
    elif name == "Reviews":
        found = _reviews(options)
    elif name == "Sentences":
        files = sorted((folder / "language" / "sentences").glob("*.txt"))
        found = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    else:
        raise ValueError(f"no corpus {name!r}; there are {', '.join(NAMES)}")
    return found[:QUICK] if options.quick else found


def topical(options: Options, name: str, limit: int = 10_000) -> tuple[csr_matrix, csr_matrix]:
    """Counts of training documents and of at most 1,000 others, without function words and without empty rows.

    Reuters has a split and a vocabulary of its own; of the others every sixth document is held out.
    """
    if name == "Reuters":
        records = list(read_documents(options.data / "reuters" / "reuters21578.jsonl.gz"))
        records = records[::10] if options.quick else records
        held_out = np.array([record.fields["split"] != "training" for record in records])
        X = csr_matrix(preset("reuters").fit_transform([record.text for record in records]))
    else:
        some = texts(options, name)[:limit]
        held_out = np.arange(len(some)) % 6 == 5
        X = csr_matrix(Vocabulary(min_df=5, max_df=0.1).fit_transform(some))
    train, test = (part[part.getnnz(axis=1) > 0] for part in (X[~held_out], X[held_out]))
    return train, test[:999]


def _brown(options: Options) -> list[str]:
    """The 500 texts, words without their tags."""
    found = []
    with tarfile.open(options.data / "brown" / "brown.tar.gz") as archive:
        for member in archive:
            if re.fullmatch(r"c[a-r]\d\d", os.path.basename(member.name)):
                stream = archive.extractfile(member)
                assert stream is not None
                words = stream.read().decode("latin-1").split()
                found.append(" ".join(word.rsplit("/", 1)[0] for word in words))
    return found


def _reviews(options: Options) -> list[str]:
    """What stands between the tags of review_text."""
    found = []
    for file in sorted((options.data / "reviews").glob("*.review")):
        content = file.read_text(encoding="latin-1")
        found += [text.strip() for text in re.findall(r"<review_text>(.*?)</review_text>", content, re.DOTALL)]
    return found
