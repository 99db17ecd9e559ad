"""Made-up documents about a village, in which words far apart belong together.

    in the morning the old miller near the river takes the sack and wants breakfast .

Each trade has its tool and each time of day its meal. Between them stand more words than a trigram sees: an n-gram
model of this text writes "the old miller near the river takes the anvil and wants supper". Nothing is wrong with any of
these words, nor with any two neighbors; what is wrong is a conjunction of two distant words. Each document prefers some
trades.
"""

from __future__ import annotations

import numpy as np

from textmill.tasks.fluency.documents import SentenceDocument

__all__ = ["sample_documents"]

_TOOLS = {
    "miller": "sack",
    "smith": "anvil",
    "farmer": "plow",
    "sailor": "rope",
    "baker": "oven",
    "carter": "whip",
    "tailor": "needle",
    "mason": "trowel",
    "hunter": "bow",
    "clerk": "pen",
}
_MEALS = {"morning": "breakfast", "noon": "dinner", "evening": "supper", "night": "sleep"}
_PLACES = ("river", "mill", "barn", "road", "bridge", "forest", "village", "field")
_KINDS = ("old", "young", "tired", "quiet", "poor")
_LINKS = ("near", "behind", "from", "beside")
_VERBS = ("takes", "likes", "seeks", "carries")


def sample_documents(documents: int = 100, *, sentences: int = 20, random_state: int = 0) -> list[SentenceDocument]:
    """Make documents of right sentences.

    >>> first = sample_documents(1)[0]
    >>> len(first.sentences), " ".join(first.sentences[0])
    (20, 'in the evening the poor carter from the river likes the whip and wants supper .')
    """
    generator = np.random.Generator(np.random.Philox(random_state))

    def one(names: tuple[str, ...]) -> str:
        return str(names[int(generator.integers(len(names)))])

    texts = []
    for number in range(documents):
        favorites = tuple(str(name) for name in generator.choice(list(_TOOLS), 6, replace=False))
        rows = []
        for _ in range(sentences):
            trade, hour = one(favorites), one(tuple(_MEALS))
            words = ["in", "the", hour, "the", *([one(_KINDS)] if generator.random() < 0.6 else []), trade]
            words += [one(_LINKS), "the", one(_PLACES), one(_VERBS), "the", _TOOLS[trade]]
            rows.append([*words, "and", "wants", _MEALS[hour], "."])
        texts.append(SentenceDocument(f"village-{number}", rows))
    return texts
