"""`python -m bench SUBJECT...`: run benchmarks; without a subject, all of them."""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path

from bench.harness import PUBLISHED, RESULTS, Options, report

SUBJECTS = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py") if path.stem != "harness")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=", ".join(SUBJECTS))
    parser.add_argument("--repeats", type=int, default=5, help="alternating runs of each side")
    parser.add_argument("--quick", action="store_true", help="small inputs, to see that it runs")
    parser.add_argument(
        "--only",
        default="",
        help="only jobs and parts whose name has this, or one of these with | between them, in it; writes no results",
    )
    parser.add_argument(
        "--publish", action="store_true", help="write the results to bench/published, and make what is made from them"
    )
    parser.add_argument("--pages", action="store_true", help="measure nothing, make what bench/published is for anew")
    arguments = parser.parse_args()
    if arguments.publish and (arguments.only or arguments.quick):
        parser.error("--publish takes whole results; leave out --only and --quick")
    unknown = set(arguments.subjects) - set(SUBJECTS)
    if unknown:
        parser.error(f"no subject {sorted(unknown)[0]!r}; there are {', '.join(SUBJECTS)}")
    repeats = 1 if arguments.quick else arguments.repeats
    options = Options(repeats=repeats, quick=arguments.quick, only=arguments.only)
    if arguments.pages:
        for path in sorted(PUBLISHED.glob("*.json")):
            importlib.import_module(f"bench.{path.stem}").draw(json.loads(path.read_text(encoding="utf-8")))
        return
    for subject in arguments.subjects or SUBJECTS:
        module = importlib.import_module(f"bench.{subject}")
        folder = PUBLISHED if arguments.publish else RESULTS
        content = report(subject, module.jobs(options), options, module.PACKAGES, folder)
        if arguments.publish and hasattr(module, "draw"):
            module.draw(content)
        if hasattr(module, "appendix"):
            print(f"\n{module.appendix()}")


if __name__ == "__main__":
    main()
