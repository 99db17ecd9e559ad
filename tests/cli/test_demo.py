"""The tour: one report, with charts where Matplotlib is installed and without them where it is not."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from textmill.cli._demo import NO_CHARTS

ROOT = Path(__file__).parent.parent.parent
WITHOUT = """
import sys
for name in sys.argv[1].split(","):
    sys.modules[name] = None
from textmill.cli import _demo
if sys.argv[1]:
    _demo.has_charts = lambda: False
if sys.argv[3] == "tour":
    sys.argv[1:] = ["-q", "-o", sys.argv[2]]
    from examples.tour.__main__ import main
    main()
else:
    from textmill.cli.app import main
    main(["-q", "demo", "-o", sys.argv[2]])
"""


@pytest.fixture(scope="module", params=["", "matplotlib,rapidfuzz"])
def tour(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, Path]:
    """What was missing, what the command said, and the folder it wrote."""
    folder = tmp_path_factory.mktemp("demo")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, request.param, str(folder), "tour"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    return request.param, done.stdout, folder


def test_the_tour_runs_every_stop_and_says_what_draws_charts(tour: tuple[str, str, Path]) -> None:
    missing, said, folder = tour
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.count("<h2 ") == 28
    first, _, rest = page.partition('<nav aria-label="Contents">')
    assert "Duplicates in a list of 18 companies" in first  # results come before the contents
    assert rest.count("<nav") == 0
    assert (folder / "articles" / "astronomy-01.txt").read_text(encoding="utf-8").startswith("Why the Moon")
    assert len((folder / "companies.txt").read_text(encoding="utf-8").splitlines()) == 18
    assert ("pip install &#39;textmill[plot]&#39;" in page) is bool(missing)
    assert ("pip install 'textmill[plot]'" in said) is bool(missing)
    assert page.count("<figure>") == (2 if missing else 12)  # two are drawn without Matplotlib
    assert ("rapidfuzz" in page) is not bool(missing)


@pytest.mark.parametrize("missing", ["", "matplotlib"])
def test_the_demo_of_an_installed_package_shows_three_results(missing: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", WITHOUT, missing, str(tmp_path), "demo"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("<figure>") == (1 if missing else 2)
    assert "<td>NORTHWIND TRADERS LIMITED</td>" in page
    assert "<nav" not in page
    assert (NO_CHARTS in done.stdout) is bool(missing)
    assert (tmp_path / "companies.txt").is_file()


def test_every_link_of_the_tour_leads_somewhere(tour: tuple[str, str, Path]) -> None:
    _, _, folder = tour
    page = (folder / "report.html").read_text(encoding="utf-8")
    links = re.findall(r'<a href="([^#"]+)"', page)
    assert "customers.html" in links
    assert all((folder / link).is_file() for link in links)


def test_the_tour_shows_what_it_says(tour: tuple[str, str, Path]) -> None:
    missing, _, folder = tour
    page = (folder / "report.html").read_text(encoding="utf-8")
    rows = dict(re.findall(r'<th scope="row">(as UAX #29 says|stemmed)</th>\s*<td>(.*?)</td>', page))
    assert rows["stemmed"] != rows["as UAX #29 says"]
    exact = page.split("<caption>Claims of the documentation")[1].split("</table>")[0]
    assert all(float(value) < 1e-6 for value in re.findall(r"<td>(\d\.\de[-+]\d+)</td>", exact))
    assert len(re.findall(r"<td>(\d\.\de[-+]\d+)</td>", exact)) == 4
    decide = page.split("<caption>Words that decide")[1].split("</table>")[0]
    assert re.search(r'<th scope="row">football</th>\s*<td>ball \(\+', decide)
    bursts = page.split("<caption>The words that burst most")[1].split("</table>")[0]
    assert re.search(r'<th scope="row">the</th>(\s*<td[^>]*>\d+</td>){2}\s*<td[^>]*>0.0\d</td>', bursts)
    assert "modifier:last.subpos" in page.split("<caption>The strongest combinations")[1].split("</table>")[0]
    boundaries = page.split("<caption>Segments and the words that set them off")[1].split("</table>")[0]
    assert re.search(r"\bball\b", boundaries)
    spoken = page.split("<caption>Both ways")[1].split("</table>")[0]
    assert "three dollars and fifty cents" in spoken
    calls = page.split("<caption>Messages, and whom to call back")[1].split("</table>")[0]
    assert calls.count('<th scope="row">') == 6
    if not missing:
        assert "<title>Why the Moon shows one face (astronomy)</title>" in page
