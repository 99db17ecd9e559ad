"""Take the tour: every job on the sample data, and a report of the results."""

from __future__ import annotations

import argparse
from pathlib import Path

from examples.tour.tour import tour
from textmill.cli._demo import NO_CHARTS, has_charts
from textmill.progress import shown


def main() -> None:
    """Write the report and say where it is."""
    parser = argparse.ArgumentParser(prog="python -m examples.tour", description=__doc__)
    parser.add_argument("--output", "-o", type=Path, default=Path("demo"), help="folder for the report and its files")
    parser.add_argument("--quiet", "-q", action="store_true", help="show no progress")
    options = parser.parse_args()
    if options.quiet:
        path = tour(options.output)
    else:
        with shown():
            path = tour(options.output)
    print(f"wrote {path}; open it in a browser")
    if not has_charts():
        print(NO_CHARTS)


if __name__ == "__main__":
    main()
