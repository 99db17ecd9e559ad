"""Terms and bags straight from the definitions, with Counter and lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def count(documents: Sequence[Sequence[str]]) -> tuple[list[str], list[int], list[int], list[list[int]]]:
    """Terms in order of appearance, document frequencies, collection frequencies, dense rows of counts."""
    terms = list(dict.fromkeys(token for document in documents for token in document))
    bags = [Counter(document) for document in documents]
    return (
        terms,
        [sum(term in bag for bag in bags) for term in terms],
        [sum(bag[term] for bag in bags) for term in terms],
        [[bag[term] for term in terms] for bag in bags],
    )
