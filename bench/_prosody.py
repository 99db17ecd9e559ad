"""Train a tagger of letters on phonemes and stress together in a process of its own, whose memory is measured.

python -m bench._prosody FILE WORDS WIDTH ITERATIONS [STAGE...]: the number of words (0: all); windows of 1, 3, ...
WIDTH letters, all at once, or one more after each STAGE iterations, made only where the narrower window has a weight.
Prints figures as JSON.
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path

from papers.letter_to_sound.nettalk import read_nettalk
from textmill.sequence import CRF, Encoder, evaluate_tags


def window(width: int) -> str:
    """The pattern of a window of letters around the token, for labels and pairs of labels."""
    return f"*:{width}=" + "".join(f"%x[{i},0]" for i in range(-(width // 2), width // 2 + 1))


def main(path: str, words: int, width: int, iterations: int, *stages: int) -> dict[str, float]:
    """Errors of joint labels and of their phonemes, features by kind, seconds and peak memory."""
    entries = list(read_nettalk(path))
    random.Random(1).shuffle(entries)
    entries = entries[: words or None]
    X, y = [[(letter,) for letter in entry.word] for entry in entries], [entry.joint() for entry in entries]
    cut, test = len(X) * 8 // 10, len(X) * 9 // 10
    patterns = ["*", *(window(n) for n in range(1, width + 1, 2))]
    labels = len({label for labels in y[:cut] for label in labels})
    potential = Encoder(patterns=patterns).fit(X[:cut]).feature_counts(labels)
    growing = [(after, [pattern], [i]) for i, (after, pattern) in enumerate(zip(stages, patterns[2:], strict=False), 1)]
    start = time.perf_counter()
    crf = CRF(patterns=patterns[:2] if stages else patterns, stages=growing, max_iter=iterations, random_state=0)
    crf.fit(X[:cut], y[:cut])
    seconds = time.perf_counter() - start
    answers = crf.predict(X[test:])
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return {
        "joint": 100 * evaluate_tags(y[test:], answers, chunks=False).token_error,
        "phoneme": 100 * evaluate_tags(y[test:], answers, chunks=False, project=lambda label: label[0]).token_error,
        "potential": potential.features,
        "made": sum(row["features"] for row in crf.pattern_counts_),
        "active": len(crf.features_),
        "seconds": seconds,
        "megabytes": int(status.partition("VmHWM:")[2].split()[0]) / 1024,
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], *map(int, sys.argv[2:]))))
