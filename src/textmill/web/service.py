"""What the panels share: the files, the threads, the judgments, the limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from textmill.web.analyses import bundled_identifier
from textmill.web.answers import Refusal
from textmill.web.holdings import Holdings
from textmill.web.judgments import Judgments
from textmill.web.library import Library
from textmill.web.logs import Log
from textmill.web.settings import Settings
from textmill.web.tally import Tally
from textmill.web.work import Desk

__all__ = ["Service"]


@dataclass
class Service:
    """One worker's view of what is served."""

    settings: Settings
    library: Library
    desk: Desk
    judgments: Judgments
    tally: Tally
    log: Log
    holdings: Holdings | None = None

    @property
    def identifier(self) -> Any:
        """The identifier of languages that comes with the package, or None."""
        return bundled_identifier()

    def check_writable(self) -> None:
        """Refuse to change anything where only reading is allowed."""
        if self.settings.read_only:
            raise Refusal(403, "this server only shows; it was started with --read-only")

    def check_text(self, text: str) -> str:
        """Refuse a text that is too long, or that holds half a character."""
        if len(text) > self.settings.limits.text:
            raise Refusal(422, f"the text has {len(text)} characters; the limit is {self.settings.limits.text}")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise Refusal(422, "the text holds half a character (a lone surrogate); send UTF-8") from None
        return text

    def check_k(self, k: int) -> int:
        """Refuse too many answers, or none."""
        if not 1 <= k <= self.settings.limits.k:
            raise Refusal(422, f"k must lie from 1 to {self.settings.limits.k}, got {k}")
        return k
