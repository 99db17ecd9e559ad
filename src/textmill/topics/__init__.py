"""Topics of a corpus: a few directions that explain many documents.

model     what all topic models share: their terms, texts in, topics printed
chunks    any input as a stream of sparse chunks of one size
"""

__all__: list[str] = []
