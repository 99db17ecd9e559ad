"""`python -m bench SUBJECT [--jobs N] [--repeats N] [--quick]`."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
from pathlib import Path

from bench.harness import Options, run


def main() -> None:
    here = str(Path(__file__).parent)
    subjects = sorted({module.name for module in pkgutil.iter_modules([here])} - {"__main__", "harness"})
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Ours against the peers, alternating, as ratios."
    )
    parser.add_argument("subject", choices=subjects)
    parser.add_argument("--jobs", type=int, default=Options.jobs, help="threads (default %(default)s)")
    parser.add_argument("--repeats", type=int, default=Options.repeats, help="measured runs (default %(default)s)")
    parser.add_argument("--quick", action="store_true", help="small data, to see that it runs")
    arguments = parser.parse_args()
    module = importlib.import_module(f"bench.{arguments.subject}")
    options = Options(max(1, arguments.jobs), max(1, arguments.repeats), arguments.quick)
    run(arguments.subject, module.TITLE, module.PEERS, module.jobs(options), options)


if __name__ == "__main__":
    main()
