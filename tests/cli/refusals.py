"""The page docs/errors.md, from what the product says: `python tests/cli/refusals.py` writes it anew.

tests/files/refusals/SUBJECT.toml is one table of the page. It is written by hand:

    title = "Treebanks that a parser cannot learn"
    text = "One sentence, if the table needs one."
    [files]                       # the files of this table
    "a.txt" = "a short text\n"
    "b.txt" = {text = "the same again\n", times = 40}
    "c.txt" = {latin = "caf\u00e9\n"}   # bytes of Latin-1
    [[refused]]
    given = "what the user has done, in a few words"
    before = ["vocab build a.txt -o v.mill"]     # commands that make what is needed
    command = "parse train b.txt -o p.mill"      # or python = "CRF(c1=0.1)", after `imports` of the table
    [[warned]]                    # the same for what is done, with a warning

Messages are not in the tables: the page shows them, so that every change of one is seen there.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import tomllib
import warnings
from pathlib import Path
from typing import Any

from textmill.cli.app import main
from textmill.errors import TextmillError

__all__ = ["PAGE", "TABLES", "page", "section"]

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "errors.md"
TABLES = sorted((ROOT / "tests" / "files" / "refusals").glob("*.toml"))
HEAD = """# Errors and their messages

Input that cannot be meant is refused with one line on standard error: the place, the fault, the remedy. The command
ends with code 1 (2 for a wrong use of options) and writes no file. In Python the same text is the message of a
`DataError`. What is done but may not be what you want ends with code 0 and a warning. Every message on this page is
what the command prints.
"""


def page(tables: list[Path] = TABLES) -> str:
    """The whole page."""
    return "\n".join([HEAD, *(section(path) for path in tables)])


def section(path: Path) -> str:
    """One table with its heading, run in an empty folder."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    back = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for name, content in table.get("files", {}).items():
                Path(name).parent.mkdir(parents=True, exist_ok=True)
                Path(name).write_bytes(_bytes(content))
            rows = [_row(one, table, refused=True) for one in table.get("refused", [])]
            rows += [_row(one, table, refused=False) for one in table.get("warned", [])]
        finally:
            os.chdir(back)
    lines = [f"## {table['title']}", ""]
    lines += [table["text"], ""] if "text" in table else []
    return "\n".join([*lines, "| given | answer |", "|---|---|", *rows, ""])


def _bytes(content: Any) -> bytes:
    if isinstance(content, str):
        return content.encode()
    if "latin" in content:
        return str(content["latin"]).encode("latin-1")
    return str(content["text"]).encode() * int(content["times"])


def _row(one: dict[str, Any], table: dict[str, Any], *, refused: bool) -> str:
    for command in one.get("before", []):
        code, message = run(command)
        assert code == 0, f"{command}: {message}"
    what = one.get("command") or one["python"]
    if "command" in one:
        code, message = run(what)
        assert code in (1, 2) if refused else code == 0, f"{what}: code {code}, {message}"
        shown = f"textmill {what}"
    else:
        message, shown = _python(what, table.get("imports", ""), refused), what
    lines = [line for line in message.splitlines() if line.startswith("textmill")]
    assert lines, f"{what}: says nothing"
    assert len(lines) == 1 or not refused, f"{what}: more than one line:\n{message}"
    answer = " ".join(line.removeprefix("textmill: ") for line in lines)
    kind = "" if refused else "warning: "
    return f"| {one['given']}: `{_cell(shown)}` | {kind}`{_cell(answer)}` |"


def run(command: str) -> tuple[int, str]:
    """Exit code and standard error of a command in this process."""
    errors = io.StringIO()
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stderr(errors),
        contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)),
    ):
        show = warnings.showwarning
        try:
            main(command.split())
        except SystemExit as left:
            return int(left.code or 0), errors.getvalue()
        finally:
            warnings.showwarning = show
    raise AssertionError("a command ends by SystemExit")


def _python(code: str, imports: str, refused: bool) -> str:
    names: dict[str, Any] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec(f"{imports}\n{code}", names)
        except TextmillError as error:
            assert refused, code
            return f"textmill: {error}"
    assert not refused, f"{code}: no error"
    return "\n".join(f"textmill: {one.message}" for one in caught)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("`", "'")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE}: {len(TABLES)} tables\n")
