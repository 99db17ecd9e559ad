"""Match records by several fields with a model that is learned without labels, or with a file of labels.

python examples/link_records.py people.csv --field name --field phone:exact --labels gold.tsv
python examples/link_records.py                   # on the sample list, without labels
"""

from __future__ import annotations

import argparse

from textmill.tasks.names import (
    FellegiSunter,
    LearnedMatcher,
    explanation_lines,
    parse_field,
    read_gold,
    read_record_list,
    sample_names_path,
)

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("source", nargs="?", default=str(sample_names_path()))
parser.add_argument("--field", action="append")
parser.add_argument("--labels")
arguments = parser.parse_args()

fields = arguments.field or ["name"]
records = read_record_list(arguments.source, [parse_field(field).name for field in fields])
if arguments.labels:
    matcher = LearnedMatcher(fields=fields).fit(records, read_gold(arguments.labels, names=records.names()))
else:
    matcher = FellegiSunter(fields=fields).fit(records)
candidates = matcher.candidates(records)
print(*candidates.report().lines(), sep="\n")
pairs = matcher.pairs(records, candidates=candidates).by_score()
for i, j, probability in list(zip(*pairs, strict=True))[:20]:
    print(f"{probability:.3f}  {records.shown(int(i))}  =  {records.shown(int(j))}")
doubtful = abs(pairs.score - 0.5).argmin()
place = candidates.positions(pairs.left[[doubtful]], pairs.right[[doubtful]])
print(
    "\nthe most doubtful pair:",
    records.shown(int(pairs.left[doubtful])),
    "=",
    records.shown(int(pairs.right[doubtful])),
)
print(*explanation_lines(matcher.explain(records, place, candidates=candidates)[0]), sep="\n")
