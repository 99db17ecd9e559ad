"""Made-up reviews, seeded, in any number: for demonstrations and tests where no collection of reviews is at hand.

    score y drawn evenly from 1 to 5; a review of 6 to 30 words, each
        with probability 0.4 an opinion: a word of grade g, drawn with weight exp(-(y - g)^2), or as often as `negation`
        says its opposite behind "not"
        else a word of no opinion, by Zipf's law

A negated opinion has the word of grade 6 - g behind "not", so single words mislead where pairs do not.
"""

from __future__ import annotations

import numpy as np

from textmill.arrays import Floats
from textmill.model import check_range

__all__ = ["sample_reviews"]

GRADED = (
    ("awful", "terrible", "useless", "worst", "rubbish", "horrible"),
    ("bad", "poor", "weak", "disappointing", "flimsy", "dull"),
    ("average", "ordinary", "fair", "passable", "usual", "middling"),
    ("good", "nice", "solid", "pleasant", "sturdy", "useful"),
    ("great", "excellent", "superb", "wonderful", "perfect", "brilliant"),
)
NEUTRAL = [
    "the",
    "it",
    "i",
    "and",
    "this",
    "mill",
    "is",
    "a",
    "was",
    "of",
    "to",
    "in",
    "book",
    "kettle",
    "lamp",
    "chair",
    "clock",
    "box",
    "color",
    "handle",
    "cover",
    "table",
    "page",
    "story",
    "cable",
    "battery",
    "screen",
    "blade",
    "kitchen",
    "friend",
    "week",
    "price",
    "shop",
    "order",
    "paper",
    "water",
    "morning",
    "garden",
    "house",
    "street",
    "letter",
    "summer",
]


def sample_reviews(n_reviews: int = 300, *, negation: float = 0.2, random_state: int = 0) -> tuple[list[str], Floats]:
    """Texts and scores of made-up reviews.

    >>> texts, scores = sample_reviews(3)
    >>> len(texts), scores.tolist()
    (3, [1.0, 2.0, 3.0])
    """
    check_range("n_reviews", n_reviews, at_least=1, whole=True)
    check_range("negation", negation, at_least=0, at_most=1)
    generator = np.random.Generator(np.random.Philox(random_state))
    zipf = 1.0 / np.arange(1, len(NEUTRAL) + 1)
    zipf /= zipf.sum()
    grades = np.arange(1, 6)
    texts, scores = [], []
    for number in range(n_reviews):
        score = number % 5 + 1
        near = np.exp(-((score - grades) ** 2.0))
        near /= near.sum()
        words: list[str] = []
        for _ in range(int(generator.integers(6, 31))):
            if generator.random() >= 0.4:
                words.append(str(generator.choice(NEUTRAL, p=zipf)))
                continue
            grade = int(generator.choice(grades, p=near))
            negated = grade != 3 and generator.random() < negation
            graded = GRADED[(6 - grade if negated else grade) - 1]
            words += [*(["not"] if negated else []), graded[int(generator.integers(len(graded)))]]
        texts.append(" ".join(words).capitalize() + ".")
        scores.append(float(score))
    return texts, np.array(scores)
