"""Jobs, one module each, built from the models below.

names    match lists of names: find pairs, group them, evaluate measures, prepare labels
"""

from __future__ import annotations

__all__: list[str] = []
