"""A corpus in figures: what a pass over documents saw through a vocabulary.

    density        non-zeros / (documents x terms)
    unknown rate   tokens that are no terms / all tokens

Cost: one pass over the documents.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from textmill.corpus.vocabulary import Vocabulary

__all__ = ["CorpusReport", "corpus_report"]


@dataclass(frozen=True, slots=True)
class CorpusReport:
    """Figures of a corpus; `removed` are the shares of the training tokens that each rule removed."""

    documents: int
    empty: int
    terms: int
    tokens: int
    unknown: int
    nonzeros: int
    density: float
    unknown_rate: float
    removed: dict[str, float]
    passes: int
    peak_memory: int

    def as_dict(self) -> dict[str, Any]:
        """Return the figures by name."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [
            f"documents      {self.documents} ({self.empty} without a known term)",
            f"terms          {self.terms}",
            f"tokens         {self.tokens} known, {self.unknown} unknown ({self.unknown_rate:.2%})",
            f"non-zeros      {self.nonzeros} (density {self.density:.4%})",
            *(f"removed by {rule}: {share:.2%} of the training tokens" for rule, share in self.removed.items()),
            f"passes         {self.passes}",
            f"peak memory    {self.peak_memory / 2**20:.0f} MiB",
        ]
        return "\n".join(lines)


def corpus_report(documents: Iterable[Any], vocabulary: Vocabulary) -> CorpusReport:
    """Read documents once and say what they are made of.

    >>> report = corpus_report(["to be or", "not", ""], Vocabulary(min_df=2).fit(["to be", "to be sure"]))
    >>> report.documents, report.empty, report.unknown, round(report.density, 3), report.removed
    (3, 2, 2, 0.333, {'min_df': 0.2})
    """
    bags = vocabulary.bags(documents)
    nonzeros = sum(chunk.nnz for chunk in bags)
    cells = bags.documents * len(vocabulary)
    tokens = bags.tokens + bags.unknown
    return CorpusReport(
        documents=bags.documents,
        empty=bags.empty,
        terms=len(vocabulary),
        tokens=bags.tokens,
        unknown=bags.unknown,
        nonzeros=nonzeros,
        density=nonzeros / cells if cells else 0.0,
        unknown_rate=bags.unknown / tokens if tokens else 0.0,
        removed={rule: counts["tokens"] / vocabulary.tokens_ for rule, counts in vocabulary.removed_.items()},
        passes=1,
        peak_memory=_peak_memory(),
    )


def _peak_memory() -> int:
    """Most bytes that this process has held; on Linux without what it inherits from the one that started it."""
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
