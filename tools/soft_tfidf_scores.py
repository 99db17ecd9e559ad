"""Write what py_stringmatching makes of 10,000 pairs: `python tools/soft_tfidf_scores.py tests/files/names`.

Needs `make .venv-peer-py_stringmatching`. The names are made here: words of the generator, some of them several times
in one name, in a random order; the collection is the left half, so that names on the right have words it never saw.
Every left name is scored against every right one by Soft-TFIDF over Jaro, with two thresholds. Where the library
divides by zero, the score is NaN. The same seed gives the same names.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np

from textmill.tasks.names import generate_names

SEED = 2008
SIDE = 105  # names on each side
THETAS = (0.5, 0.9)
PEER = Path(__file__).parents[1] / ".venv-peer-py_stringmatching" / "bin" / "python"
SCORER = """
import json, math, sys
import py_stringmatching as sm
given = json.load(sys.stdin)
left, right = ([name.split(" ") for name in given[side]] for side in ("left", "right"))
found = []
for theta in given["thetas"]:
    measure = sm.SoftTfIdf(left, sim_func=sm.Jaro().get_raw_score, threshold=theta)
    for x in left:
        for y in right:
            try:
                found.append(measure.get_raw_score(x, y))
            except ZeroDivisionError:
                found.append(math.nan)
json.dump(found, sys.stdout)
"""


def main() -> None:
    """Make the names, have them scored, write both."""
    chance = random.Random(SEED)
    stock = [
        list(generate_names(8, scenario=name, random_state=SEED)) for name in ("typos", "transliteration", "french")
    ]
    words = [word.strip(".,'-") for names in stock for name in names for word in name.split()]
    words = [word for word in words if len(word) > 1]
    sides = []
    for known in (words[: len(words) * 3 // 4], words):
        sides.append([" ".join(chance.choices(known, k=chance.choice((1, 2, 2, 3, 3, 4, 5)))) for _ in range(SIDE)])
    sides[1][:20] = [" ".join(chance.sample(name.split(), len(name.split()))) for name in sides[0][:20]]
    given = {"left": sides[0], "right": sides[1], "thetas": THETAS}
    done = subprocess.run([PEER, "-c", SCORER], input=json.dumps(given), check=True, capture_output=True, text=True)
    scores = np.array(json.loads(done.stdout)).reshape(len(THETAS), SIDE, SIDE)
    target = Path(sys.argv[1]) / "py_stringmatching.npz"
    np.savez_compressed(target, left=np.array(sides[0]), right=np.array(sides[1]), thetas=THETAS, scores=scores)
    scored = np.isfinite(scores).sum(axis=(1, 2))
    print(f"{target}: {scored} pairs for theta {THETAS}, {(scores > 0).mean():.0%} above 0")


if __name__ == "__main__":
    main()
