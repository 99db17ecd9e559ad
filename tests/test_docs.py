"""Documentation that runs: doctests of every module, and the code of README and docs in an empty folder."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from test_public import modules

from bench._front_chart import SCHEMES, svg
from textmill.cli.app import main

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(python|bash)\n(.*?)^```", re.M | re.S)


@pytest.mark.parametrize("name", modules())
def test_doctests(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    assert result.failed == 0


def run_shell(line: str) -> bytes | None:
    """One line of a shell block: textmill commands run in this process; echo, pipes and redirection are understood.

    Gives what is printed, None for a command that is not run here.
    """
    line, _, target = line.partition(" > ")
    content: bytes | None = None
    for stage in line.split(" | "):
        words = shlex.split(stage)
        if words[0] == "echo":
            content = " ".join(words[1:]).encode() + b"\n"
        elif words[0] == "textmill":
            content = run_textmill(words[1:], content)
        else:
            return None  # make, pip and the like are for the reader's machine
    if target and content is not None:
        Path(target.strip()).write_bytes(content)
    return b"" if target else content


def run_textmill(arguments: list[str], given: bytes | None) -> bytes:
    """What a command prints, with something on its standard input if it is given."""
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(output):
        if given is not None:
            patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given)))
        with pytest.raises(SystemExit) as left:
            main(["-q", *arguments])
    assert left.value.code == 0, arguments
    return output.buffer.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(page, run_shell)


def commands(code: str) -> list[tuple[str, str | None]]:
    """The lines of a shell block, each with the output that the page shows below it in lines that begin with `#> `."""
    found: list[tuple[str, str | None]] = []
    for line in code.replace("\\\n", " ").splitlines():
        if line.startswith("#> ") and found:
            command, expected = found[-1]
            found[-1] = (command, (expected or "") + line.removeprefix("#> ") + "\n")
        elif line.strip() and not line.startswith("#"):
            found.append((line.removeprefix("$ "), None))
    return found


def test_shown_output_belongs_to_the_command_above() -> None:
    block = "# a note\n$ textmill a \\\n  b\ntextmill c\n#> one\n#> two\n"
    assert commands(block) == [("textmill a    b", None), ("textmill c", "one\ntwo\n")]


def run_page(page: Path, shell: Callable[[str], bytes | None]) -> None:
    """Run the code of a page in its order; `shell` runs the lines of shell blocks.

    Output that the page shows is compared with what is printed, if `shell` gives it; ... stands for anything.
    """
    names: dict[str, object] = {"__name__": page.stem}
    for language, code in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "bash":
            for line, expected in commands(code):
                printed = shell(line)
                if expected is not None and printed is not None:
                    got = printed.decode().replace("\t", "  ")
                    same = doctest.OutputChecker().check_output(expected, got, doctest.ELLIPSIS)
                    assert same, f"{page.name}: {line}\nshows:\n{expected}prints:\n{got}"
        elif ">>>" in code:
            test = doctest.DocTestParser().get_doctest(code, names, str(page), str(page), 0)
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
            runner.run(test, clear_globs=False)
            names.update(test.globs)
            assert runner.failures == 0
        else:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(code, str(page), "exec"), names)


def test_every_page_is_in_the_navigation_once() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    listed = re.findall(r"^ +- [^:]+: (\S+\.md)$", navigation, re.M)
    assert len(listed) == len([line for line in navigation.splitlines() if ".md" in line])
    assert sorted(listed) == sorted(str(page.relative_to(ROOT / "docs")) for page in PAGES if page.parent != ROOT)


def test_the_first_page_is_short_and_its_chart_is_the_one_of_the_published_figures() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= 150
    rows = json.loads((ROOT / "bench" / "published" / "front.json").read_text(encoding="utf-8"))["rows"]
    assert len(rows) == 6
    assert min(row["ratio"] for row in rows) < 1  # a row that we lose stays
    for scheme, colors in SCHEMES.items():
        chart = (ROOT / "docs" / "images" / f"speed-{scheme}.svg").read_text(encoding="utf-8")
        assert chart == svg(rows, colors)
        assert len(chart) < 40_000
