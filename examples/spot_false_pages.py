"""Which pages are genuine? Learn from good pages, then judge new ones, the last three of them forged.

python examples/spot_false_pages.py
"""

from __future__ import annotations

from textmill.tasks import CoherenceDetector, Forger
from textmill.tasks.coherence import sample_pages

detector = CoherenceDetector(n_topics=12, max_iter=60).fit(sample_pages(250))
pages = [page.text for page in sample_pages(3, random_state=1)]
forger = Forger.of([page.text for page in sample_pages(30, random_state=2)])
pages += [forger.make(kind, [120])[0] for kind in ("sentence-salad", "markov", "chunk-blend")]
for page, score in zip(pages, detector.scores(pages), strict=True):
    words = ", ".join(score.topics[0][2][:3])
    print(f"{score.verdict:<10}  {score.entropy:.2f} bits, limit {score.threshold:.2f}  {words:<30}  {page[:40]}...")
