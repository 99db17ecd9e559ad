"""Group the names of a list that mean the same, and say how good the groups are if the truth is known.

python examples/deduplicate_customers.py customers.tsv --threshold 0.7
python examples/deduplicate_customers.py                   # on the sample list
"""

from __future__ import annotations

import argparse
from collections import defaultdict

from textmill.strings import Matcher
from textmill.tasks.names import Gold, evaluate, read_names, sample_names_path

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("source", nargs="?", default=str(sample_names_path()))
parser.add_argument("--threshold", type=float, default=0.7)
arguments = parser.parse_args()

names = read_names(arguments.source)
matcher = Matcher(threshold=arguments.threshold).fit(names, ids=names.ids)
clusters = matcher.clusters(method="correlation")
members = defaultdict(list)
for place, group in enumerate(clusters.groups.tolist()):
    members[group].append(place)
for group, places in members.items():
    if len(places) > 1:
        standing = names.names[clusters.names[group]]
        others = [names.names[place] for place in places if place != clusters.names[group]]
        print(f"{standing}: {'; '.join(others)}")
if names.clusters is not None:
    best = evaluate(names, Gold.from_clusters(names), matcher.measure).curve.best()
    print(f"best F1 {best.f:.3f} (precision {best.precision:.3f}, recall {best.recall:.3f}) at {best.threshold:.3f}")
