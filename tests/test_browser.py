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


def demo_page() -> Report:
    """A page with everything that can be too wide."""
    report = Report("Harvest")
    report.facts([("12 t", "of rye and oats, from all the fields by the river"), ("0.1 s", "to count it")])
    report.heading("Commands")
    report.code("textmill vocab build harvest.jsonl --min-df 2 --stop-words auto -o harvest.mill " * 3)
    report.links([("customers.html", "who bought it")])
    report.table(
        [f"column {i}" for i in range(12)], [["a-rather-long-word"] * 12] * 3, caption="More than a telephone can show"
    )
    return report


@pytest.mark.parametrize("width", [400, 800, 1400])
def test_nothing_is_cut_off(width: int, tmp_path: Path) -> None:
    # A headless window is never narrower than 500 pixels; a frame is.
    page = tmp_path / "page.html"
    page.write_text(demo_page().render(), encoding="utf-8")
    script = """
      addEventListener("load", () => {
        const inside = document.querySelector("iframe").contentDocument;
        const table = inside.querySelector(".table"), root = inside.documentElement, code = inside.querySelector("pre");
        document.body.dataset.seen = [root.scrollWidth <= root.clientWidth, code.scrollWidth <= code.clientWidth,
          table.scrollWidth > table.clientWidth, getComputedStyle(table).overflowX,
          [...code.querySelectorAll("span")].some((word) => word.textContent === "--min-df"),
          [...code.querySelectorAll("span")].every((word) => word.offsetHeight < 25)].join(" ");
      });
    """
    frame = f'<body><iframe src="page.html" width="{width}" height="900" style="border:0"></iframe></body>'
    if CHROMIUM is None:
        pytest.skip("chromium is not installed; run `make browser` as root")
    outer = tmp_path / "outer.html"
    outer.write_text(f"<!DOCTYPE html><script>{script}</script>{frame}", encoding="utf-8")
    flags = [*FLAGS, "--allow-file-access-from-files", f"--user-data-dir={tmp_path / 'profile'}"]
    command = [CHROMIUM, *flags, "--window-size=1500,1000", "--virtual-time-budget=2000", "--dump-dom", outer.as_uri()]
    seen = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    found = re.search(r'data-seen="([^"]*)"', seen)
    assert found is not None
    # the table alone scrolls, and is shaded where it does; options are not broken after their hyphens
    assert found[1] == "true true true auto true true"


def test_a_button_copies_the_code_beside_it(tmp_path: Path) -> None:
    script = """
      Object.defineProperty(navigator, "clipboard",
        { value: { writeText: (text) => { document.body.dataset.copied = text; return Promise.resolve(); } } });
      document.querySelector("button.copy").click();
    """
    report = Report("Harvest")
    report.code('textmill match score "Ann & Co" <Anne>')
    seen = page_after(report.render(), script, tmp_path)
    assert 'data-copied="textmill match score &quot;Ann &amp; Co&quot; &lt;Anne&gt;"' in seen
    assert ">Copied</button>" in seen
