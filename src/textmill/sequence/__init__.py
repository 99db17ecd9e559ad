"""Sequence labelling: observation tests, linear-chain models, decoding, evaluation, formats of other tools.

encoding     sequences as arrays of test ids, what every model of this package reads
"""

from textmill.sequence.encoding import Active, Encoded, label_ids

__all__ = ["Active", "Encoded", "label_ids"]
