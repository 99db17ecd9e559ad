"""The reviewing page: what is aligned, and what a person does with it in a browser."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from waiting import wait_until

from textmill.strings import parse_measure
from textmill.tasks.names import Gold, NameList, PairRow, propose, read_gold, review_page

ROWS = [
    PairRow("a", "b", 0.95, "Ann Smith", "Anne Smith"),
    PairRow("c", "d", 0.90, "Tom <b>Jones</b>", "Jones Tom"),
    PairRow("e", "f", 0.60, "محمد البرادعي", "محمد برادعي"),
    PairRow("g", "h", 0.55, "😀 Café", "Cafe"),
]


def page(rows: list[PairRow] = ROWS, gold: Gold | None = None) -> str:
    fitted = parse_measure("ml(words, sub=levenshtein)").fit([name for row in rows for name in (row.name1, row.name2)])
    return review_page([propose(row, fitted) for row in rows], gold=gold).render()


@pytest.mark.parametrize(
    "measure",
    [
        "ml(words, sub=levenshtein)",
        "levenshtein",
        "jaro",
        "tfidf(trigrams)",
        "softtfidf(words, sub=jaro)",
        "overlap(words)",
    ],
)
@pytest.mark.parametrize(
    ("left", "right"),
    [("Ann Smith", "Anne Smith"), ("", "x"), ("...", "!"), ("Ann Ann", "Ann"), ("محمد", "محمد ب"), ("e\u0301a", "éa")],
)
def test_parts_put_together_are_the_names(measure: str, left: str, right: str) -> None:
    fitted = parse_measure(measure).fit([left, right, "Tom Jones"])
    proposal = propose(PairRow("1", "2", 0.5, left, right), fitted)
    whole = fitted.align(left, right)
    assert "".join(text for text, _, _ in proposal.left) == whole.left
    assert "".join(text for text, _, _ in proposal.right) == whole.right
    assert all(0 <= strength <= 1 for _, strength, _ in [*proposal.left, *proposal.right])


def test_aligned_words_are_marked_and_their_different_letters() -> None:
    fitted = parse_measure("ml(words, sub=levenshtein, transpositions='extended')").fit(
        ["Ann Smith", "Smyth Ann", "Tom"]
    )
    proposal = propose(PairRow("1", "2", 0.5, "Ann Smith", "Smyth Ann"), fitted)
    assert ("Ann", 1.0, False) in proposal.left
    assert ("i", 0.8, True) in proposal.left
    assert ("y", 0.8, True) in proposal.right


def test_the_page_is_the_same_bytes_and_escapes_names() -> None:
    assert page() == page()
    assert "<b>Jones" not in page()
    assert "https://" not in page().replace("http://www.w3.org/2000/svg", "")


class Browser:
    """Chromium by the WebDriver protocol."""

    def __init__(self, port: int, folder: Path) -> None:
        self.base = f"http://127.0.0.1:{port}"
        flags = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-sync",
        ]
        flags += [
            "--disable-background-networking",
            "--disable-component-update",
            f"--user-data-dir={folder / 'profile'}",
        ]
        options = {"args": flags, "prefs": {"download.default_directory": str(folder)}}
        wanted = {"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options}}}
        self.session = "/session/" + self.call("POST", "/session", wanted)["sessionId"]

    def call(self, method: str, path: str, content: dict[str, Any] | None = None) -> Any:
        data = None if content is None else json.dumps(content).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def open(self, path: Path) -> None:
        self.call("POST", f"{self.session}/url", {"url": path.as_uri()})

    def run(self, script: str) -> Any:
        return self.call("POST", f"{self.session}/execute/sync", {"script": script, "args": []})

    def press(self, keys: str) -> None:
        strokes = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        actions = {"actions": [{"type": "key", "id": "keyboard", "actions": strokes}]}
        self.call("POST", f"{self.session}/actions", actions)


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    driver = shutil.which("chromedriver")
    if driver is None or shutil.which("chromium") is None:
        pytest.skip("chromium is not installed; run `make browser` as root")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen([driver, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: answers(port))
            made = Browser(port, tmp_path)
            yield made
            made.call("DELETE", made.session)
        finally:
            process.terminate()


ARROW_DOWN, SHOWN = "\ue015", "return [...document.querySelectorAll('.review tbody tr')].map(row => row.dataset.pair)"
LABELS = "return [...document.querySelectorAll('.review tbody tr')].map(row => row.dataset.label)"


@pytest.mark.browser
def test_a_person_judges_pairs_and_downloads_the_decisions(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(page(), encoding="utf-8")
    browser.open(file)
    assert browser.run(SHOWN) == ["0", "1", "2", "3"]
    browser.press("a")  # accepts the first pair and moves on
    browser.press(ARROW_DOWN + "r")
    browser.run("document.querySelectorAll('.review tbody tr')[3].querySelector('.unk').click()")
    assert browser.run(LABELS) == ["pos", "", "neg", "unk"]
    browser.open(file)  # decisions are still there
    assert browser.run(LABELS) == ["pos", "", "neg", "unk"]
    assert browser.run("return document.querySelector('.review .progress').textContent").startswith("1 accepted, 1 rej")
    browser.press("x")
    assert browser.run(LABELS) == ["", "", "neg", "unk"]
    browser.press("a")
    browser.run("document.querySelector('.review .download').click()")
    download = tmp_path / "decisions.tsv"
    wait_until(lambda: download.exists() and download.stat().st_size)
    names = NameList.of([*"ABCDEFGH"], ids=[*"abcdefgh"])
    assert read_gold(download, names=names).labels == {("a", "b"): "pos", ("e", "f"): "neg", ("g", "h"): "unk"}


@pytest.mark.browser
def test_the_page_sorts_filters_and_shows_more(browser: Browser, tmp_path: Path) -> None:
    rows = ROWS + [PairRow(f"x{k}", f"y{k}", 0.5 - k / 1000, f"Name {k:03}", f"Nome {k:03}") for k in range(300)]
    file = tmp_path / "page.html"
    file.write_text(page(rows, gold=Gold({("c", "d"): "neg"})), encoding="utf-8")
    browser.open(file)
    assert len(browser.run(SHOWN)) == 200
    browser.run("document.querySelector('.review .more').click()")
    assert len(browser.run(SHOWN)) == 304
    browser.run("document.querySelector('.review th[data-sort=score]').click()")
    assert browser.run(SHOWN)[0] == "303"
    browser.run("document.querySelector('.review th[data-sort=left]').click()")
    assert browser.run("return document.querySelector('.review tbody .name').textContent") in ("Ann Smith", "😀 Café")
    change = "const c = document.querySelector('.review {0}'); c.value = '{1}'; c.dispatchEvent(new Event('input'))"
    browser.run(change.format(".status", "neg"))
    assert browser.run(SHOWN) == ["1"]
    browser.run(change.format(".status", "all"))
    browser.run(change.format(".search", "JONES"))
    assert browser.run(SHOWN) == ["1"]
    browser.run(change.format(".search", ""))
    browser.run(change.format(".low", "0.59"))
    browser.run(change.format(".high", "0.92"))
    assert sorted(browser.run(SHOWN)) == ["1", "2"]
    assert "Tom <b>Jones</b>" in browser.run("return document.querySelector('.review tbody').textContent")
    assert not re.search(r"(src|href)=.https?:", browser.run("return document.documentElement.outerHTML"))
