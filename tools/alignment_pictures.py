"""Draw the alignments of docs/how/measures.md: python tools/alignment_pictures.py docs/images."""

from __future__ import annotations

import sys
from pathlib import Path

from textmill.strings import parse_measure
from textmill.tasks.names import sample_names

PICTURES = {
    "levenshtein": ("levenshtein", "kitten", "sitting"),
    "softtfidf": ("softtfidf(words, sub=jaro_winkler, theta=0.9)", "Director Mohammad Elbaradei", "Mohamed Elbaradei"),
    "ml": ("ml(words, sub=levenshtein)", "Department of State", "State Department"),
    "ml-extended": (
        "ml(words, sub=levenshtein, transpositions='extended')",
        "U.S. State Department",
        "US Department of State",
    ),
    "ml-context": ("ml(trigrams, sub=context)", "Rumyantsev", "Rumyanstev"),
}

for name, (measure, left, right) in PICTURES.items():
    alignment = parse_measure(measure).fit(sample_names()).align(left, right)
    Path(sys.argv[1], f"alignment-{name}.svg").write_text(alignment.html() + "\n", encoding="utf-8")
    print(f"{name}: {alignment.score:.4f}")
