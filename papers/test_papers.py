"""Every paper still runs: its quick tables have the shape that is claimed, and its examples print what they show."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest

from papers.__main__ import NAMES, main, recipes_of
from papers._shared.recipe import Recipe, data_folder, run_recipe

FOLDER = Path(__file__).parent
MODULES = sorted(
    ".".join(path.relative_to(FOLDER.parent).with_suffix("").parts)
    for path in FOLDER.rglob("*.py")
    if path.name not in ("__init__.py", "__main__.py", "conftest.py") and not path.name.startswith("test_")
)
TABLES = [(name, place) for name in NAMES for place in range(len(recipes_of(name)))]


@pytest.mark.parametrize(("name", "place"), TABLES)
def test_a_quick_table_has_its_shape(name: str, place: int) -> None:
    recipe = recipes_of(name)[place]
    outcome = run_recipe(recipe, data_folder(), quick=True)
    if outcome.not_run:
        pytest.skip(outcome.not_run)
    assert outcome.rows
    assert not outcome.failed


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


@pytest.mark.parametrize("name", NAMES)
def test_a_paper_says_what_it_is(name: str) -> None:
    text = (FOLDER / name / "README.md").read_text(encoding="utf-8")
    assert re.search(r"\(\d{4}[a-z]?\)|\d{4}", text), "the reference"
    assert f"python -m papers {name}" in text


def test_a_table_without_its_data_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    recipe = Recipe("1", "reviews", lambda data, quick: [], needs=["reviews/none.csv"])
    assert run_recipe(recipe, None).not_run == "set TEXTMILL_DATA to the folder of the data sets"
    assert run_recipe(recipe, tmp_path).not_run == f"reviews/none.csv is not below {tmp_path}"


def test_an_unknown_paper_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["none"])
    assert left.value.code == 2
    assert "no paper 'none'; there are " in capsys.readouterr().err


def test_a_claim_that_fails_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = Recipe("table 1", "none", lambda data, quick: [{"x": 1.0}], shape={"x is 2": lambda rows: False})
    monkeypatch.setattr("papers.__main__.recipes_of", lambda name: [recipe])
    assert main([NAMES[0]]) == 1
    assert "- FAILS: x is 2" in capsys.readouterr().out
