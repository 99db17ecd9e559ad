"""Draw the machines of the documentation: python tools/draw_operations.py.

The code of a page is run from top to bottom; an image images/fst/SECTION-NAME.svg shows the machine called NAME as it
is at that place.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
from pathlib import Path
from tempfile import TemporaryDirectory

from textmill import fst

DOCS = Path(__file__).parent.parent / "docs"
PAGES = ("transducer-operations.md", "tutorials/transducers.md", "how/transducers.md")
PART = re.compile(r"^```python\n(.*?)^```|\((?:\.\./)?(images/fst/[a-z]+-(\w+)\.svg)\)", re.M | re.S)


def pictures(page: Path) -> dict[str, str]:
    """Paths of all images of a page, below docs, and what is in them."""
    names: dict[str, object] = {}
    drawn: dict[str, str] = {}
    for code, path, name in PART.findall(page.read_text(encoding="utf-8")):
        if path:
            with TemporaryDirectory() as folder:
                target = Path(folder, "machine.svg")
                fst.draw(names[name], target, token_type="utf8")
                drawn[path] = target.read_text(encoding="utf-8")
        else:
            test = doctest.DocTestParser().get_doctest(code, names, str(page), str(page), 0)
            with contextlib.redirect_stdout(io.StringIO()):
                doctest.DocTestRunner(verbose=False).run(test, clear_globs=False)
            names.update(test.globs)
    return drawn


if __name__ == "__main__":
    for page in PAGES:
        for path, content in pictures(DOCS / page).items():
            (DOCS / path).write_text(content, encoding="utf-8")
            print(path)
