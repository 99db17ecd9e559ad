"""The words of the project: parameters one by one, plain English, API pages that list what is public and no more."""

from __future__ import annotations

import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from test_public import estimators

from textmill.tasks import names

ROOT = Path(__file__).parent.parent
ENTRY = re.compile(r"^        (\w+): \S", re.M)  # of a section of a class docstring

# "one a line" for "one per line": nouns that a figure is counted by
PER = (
    "arc|call|cell|character|chunk|column|core|document|entry|feature|iteration|job|key|label|line|link|node|non-zero|"
    "pair|pass|point|posting|query|row|sentence|sequence|state|step|stop|symbol|term|token|topic|update|value|word|worker"
)
UNIDIOMATIC = re.compile(
    rf"\b(?:one|once|bytes|bits|numbers|nats|a (?:line|row|column|pair|point|label|token|module)) an? (?:{PER})\b"
    r"|\bso many (?:words|documents|states|columns|terms|bits|tokens)\b|\bof plus and times\b",
    re.I,
)
FINE = re.compile(r"once a (?:day|week|month|year)|a word a sequence|a line a line|gives a pair a score")


def tool(name: str) -> ModuleType:
    """A module of the folder tools."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def documented(estimator: type) -> list[str]:
    """The parameters that have an entry of their own."""
    text = estimator.__doc__ or ""
    found = re.search(r"^    Parameters:\n((?:(?: {8}.*)?\n)+)", text, re.M)
    return [] if found is None else ENTRY.findall(found[1])


def matchers_of_records() -> list[type]:
    """The estimators of a package inside of `tasks`."""
    listed = [getattr(names, public) for public in names.__all__]
    kinds = [kind for kind in listed if isinstance(kind, type) and issubclass(kind, names.RecordEstimator)]
    return [kind for kind in kinds if kind is not names.RecordEstimator]


@pytest.mark.parametrize("estimator", [*estimators(), *matchers_of_records()])
def test_every_parameter_of_an_estimator_has_a_line_of_its_own(estimator: type) -> None:
    assert documented(estimator) == list(inspect.signature(estimator).parameters)


def test_what_is_counted_is_counted_per_something() -> None:
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    wrong = []
    for name in names:
        if not name.endswith((".py", ".md", ".j2")) or name == "tests/test_words.py":
            continue
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").split("\n"), 1):
            if UNIDIOMATIC.search(line) and not FINE.search(line):
                wrong.append(f"{name}:{number}: {line.strip()}")
    assert not wrong, "\n".join(wrong)


def test_the_pages_of_the_api_list_what_is_public() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "api_pages.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_plain_notation_survives_markdown() -> None:
    text = inspect.cleandoc(
        """Energy ||A||_F^2; bound_ and `x_` * 2.

            theta_t = a_t * b_t

        Attributes:
            upper_: The a_ of b_, as in `c_`,
                and of d_.

        >>> f_(a_ * b_)
        3
        """
    )
    marked = tool("docstrings").for_markdown(text)
    assert marked.split("\n") == [
        r"Energy ||A||\_F^2; bound\_ and `x_` \* 2.",
        "",
        "    theta_t = a_t * b_t",
        "",
        "Attributes:",
        r"    upper_: The a\_ of b\_, as in `c_`,",
        r"        and of d\_.",
        "",
        "```pycon",
        ">>> f_(a_ * b_)",
        "3",
        "```",
    ]


def test_the_pages_of_the_api_show_no_private_module() -> None:
    pages = sorted((ROOT / "docs" / "api").glob("*.md"))
    shown = [line for page in pages for line in page.read_text(encoding="utf-8").splitlines() if line.startswith(":::")]
    assert len(shown) > 50
    assert not [line for line in shown if "._" in line]


def test_formulas_become_mathml_and_code_stays() -> None:
    page = "A $x^2$ costs $5.\n\n$$ \\sum_t \\theta_t = 1 $$\n\n```bash\necho $HOME $x$\n```\n\n    $$ no $$ `$a$`\n"
    made = tool("formulas").on_page_markdown(page)
    assert made.count("<math") == 2
    assert 'display="block"' in made
    assert "echo $HOME $x$" in made
    assert "$$ no $$ `$a$`" in made
    assert "costs $5." in made
