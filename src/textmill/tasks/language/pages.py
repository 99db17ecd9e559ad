"""A page for people: a text in the colors of its languages."""

from __future__ import annotations

from collections.abc import Sequence

from textmill.report import Report
from textmill.tasks.language.segmenter import LanguageSegment, language_shares

__all__ = ["languages_page"]


def languages_page(text: str, pieces: Sequence[LanguageSegment], title: str = "Languages") -> Report:
    """A text whose pieces are colored by language, and the share of words of each.

    >>> from textmill.tasks.language import LanguageSegmenter
    >>> text = "The meeting begins at nine o'clock. Das Treffen beginnt um neun Uhr am Morgen."
    >>> languages_page(text, LanguageSegmenter().segments(text)).render().count('data-label="de"')
    1
    """
    page = Report(title)
    words = pieces[-1].last_word if pieces else 0
    page.facts([(str(len(pieces)), "pieces"), (str(words), "words")])
    named = [(text[piece.begin : piece.end], ", ".join(piece.languages) or None) for piece in pieces]
    page.spans(named, caption="Each color is a language; what has no color is in none that is known.")
    shares = sorted(language_shares(pieces).items(), key=lambda item: (-item[1], item[0] or ""))
    rows = [("unknown" if code is None else code, share) for code, share in shares]
    page.table(["language", "share of words"], rows, caption="Languages of the text.")
    return page
