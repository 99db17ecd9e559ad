"""The `textmill` program and `python -m textmill`.

Ctrl-C before the command line is loaded has nothing to clean up: it ends the process without a word, with code 130.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # not signal, whose enumerations take a while to load
import os

__all__ = ["main"]


def main() -> None:
    """Load the command line and run it."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # not where Ctrl-C is ignored
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    from textmill.cli import app

    signal.signal(signal.SIGINT, before)
    app.main()


if __name__ == "__main__":
    main()
