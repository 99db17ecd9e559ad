"""Pages as a browser sees them: headless chromium loads a report, a script clicks, and the page is read back."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from textmill.report import Report

pytestmark = pytest.mark.browser

CHROMIUM = shutil.which("chromium")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update"]


def page_after(html: str, script: str, folder: Path) -> str:
    """The page as it is after the script has run."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed; run `make browser` as root")
    file = folder / "page.html"
    file.write_text(html.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={folder / 'profile'}", "--dump-dom", file.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def test_a_click_on_a_column_sorts_the_table(tmp_path: Path) -> None:
    report = Report("Harvest")
    report.table(["grain", "tons"], [("rye", 30), ("oats", 4), ("spelt", 200)], caption="Tons by grain")
    clicked = page_after(report.render(), "document.querySelectorAll('th button')[1].click()", tmp_path)
    order = re.findall(r"rye|oats|spelt", clicked.split("<tbody")[1].split("</tbody>")[0])
    assert order in (["oats", "rye", "spelt"], ["spelt", "rye", "oats"])
    again = page_after(
        report.render(), "for (let i = 0; i < 2; i++) document.querySelectorAll('th button')[1].click()", tmp_path
    )
    assert re.findall(r"rye|oats|spelt", again.split("<tbody")[1].split("</tbody>")[0]) == order[::-1]


def test_the_page_asks_nobody_for_anything(tmp_path: Path) -> None:
    report = Report("Harvest <script>document.title = 'broken'</script>")
    report.text("<img src=x onerror=\"document.title = 'broken'\">")
    seen = page_after(report.render(), "document.body.dataset.title = document.title", tmp_path)
    assert "broken&#39;" not in seen.split("data-title=")[1].split(">")[0]
    assert re.search(r'data-title="Harvest', seen)
    assert not re.search(r'(src|href)="https?:', seen)
