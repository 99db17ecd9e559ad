"""Put the newest benchmark results into docs/benchmarks.md: `python tools/bench_tables.py`, after `python -m bench`.

One table a subject, in the order of their names, under the first line of the subject's module. Subjects that have no
result here keep the table that they have in the page.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
HEADING = "## Results\n"
COLUMNS = "| job | ours | peer | ratio | asked | against | quality |\n|---|---|---|---|---|---|---|"


def main() -> None:
    """Rewrite what follows the heading."""
    page = PAGE.read_text(encoding="utf-8")
    start = page.index(HEADING) + len(HEADING)
    opening, *old = re.split(r"^(?=### )", page[start:], flags=re.MULTILINE)
    sections = {found[1]: section for section in old if (found := re.search(r"`python -m bench (\w+)[^`]*`", section))}
    for path in (ROOT / "bench" / "results").glob("*.json"):
        sections[path.stem] = table(json.loads(path.read_text(encoding="utf-8")))
    text = page[:start] + opening + "".join(f"{sections[subject].strip()}\n\n" for subject in sorted(sections))
    PAGE.write_text(text.rstrip() + "\n", encoding="utf-8")


def table(content: dict[str, Any]) -> str:
    """The section of one subject."""
    subject = content["subject"]
    module = ast.parse((ROOT / "bench" / f"{subject}.py").read_text(encoding="utf-8"))
    title = (ast.get_docstring(module) or subject).split("\n")[0].split(":")[0].rstrip(".")
    lines = [f"### {title} (`python -m bench {subject}`)", "", f"{content['machine']}; {content['versions']}.", ""]
    lines.append(COLUMNS)
    for row in content["rows"]:
        cells = (
            row["job"].replace("|", "/"),
            figure(row["ours"], row["label"]),
            figure(row["peer"], row["label"]),
            f"{row['ratio']:.2f}",
            f"{row['bar']:.2f}" if row["bar"] else "",
            row["peer_name"],
            "" if row["quality"] == "-" else row["quality"].replace("|", "/"),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def figure(value: float, label: str) -> str:
    """A figure with its label; short times in milliseconds."""
    if label == "s":
        return f"{value:.3f} s" if value >= 0.05 else f"{1000 * value:.2f} ms"
    return f"{value:.4g} {label}".rstrip()


if __name__ == "__main__":
    main()
