"""The panels as people use them: headless chromium, by mouse and by keyboard only, in light and dark.

With TEXTMILL_SCREENSHOTS set to a folder, the pictures of the documentation are made there.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from waiting import LIMIT
from web_shelf import HOSTILE, PAIRS, Threaded

from textmill.corpus import sample_articles
from textmill.tasks.similarity import Collection
from textmill.web import Settings

pytestmark = pytest.mark.browser

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"]
TEXT = "We saw Brno. Le chat est sur la table, il fait beau dehors.\n\nThe moon shows one face."
CONTRAST = """
const parse = (color) => { const n = color.match(/[\\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
const part = (v) => v / 255 <= .03928 ? v / 255 / 12.92 : ((v / 255 + .055) / 1.055) ** 2.4;
const light = ([r, g, b]) => [r, g, b].map(part).reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
const over = (top, under) => top.slice(0, 3).map((v, i) => v * top[3] + under[i] * (1 - top[3]));
const behind = (element) => {
  const layers = [];
  for (let at = element; at; at = at.parentElement) layers.push(parse(getComputedStyle(at).backgroundColor));
  return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255]);
};
const bad = [];
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walk.nextNode()) {
  const element = walk.currentNode.parentElement;
  const text = walk.currentNode.textContent.trim();
  if (!text || !element.checkVisibility() || element.closest("svg, noscript, option, .skip")) continue;
  const color = getComputedStyle(element).color;
  if (!color.startsWith("rgb")) continue;
  const ground = behind(element), a = light(over(parse(color), ground)), b = light(ground);
  const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  if (ratio < 4.5) bad.push(`${ratio.toFixed(2)} ${element.tagName} ${element.className} ${text.slice(0, 30)}`);
}
return bad;
"""
UNLABELED = """
const named = (one) => one.labels?.length || one.textContent.trim() || one.getAttribute("aria-label");
return [...document.querySelectorAll("input, select, textarea, button, a[href]")]
  .filter((one) => one.checkVisibility() && !named(one)).map((one) => one.outerHTML.slice(0, 80));
"""


class Browser:
    """A browser at one server, with a few words for what people do."""

    def __init__(self, driver: Any, address: str) -> None:
        self.driver = driver
        self.address = address

    def open(self, path: str) -> None:
        """Load a view and wait until it is drawn."""
        self.driver.get("about:blank")
        self.driver.get(self.address + path)
        self.until(lambda: self.all("main h1"))

    def all(self, selector: str) -> list[Any]:
        return list(self.driver.find_elements("css selector", selector))

    def one(self, selector: str) -> Any:
        self.until(lambda: self.all(selector))
        return self.all(selector)[0]

    def text(self, selector: str = "main") -> str:
        return str(self.driver.execute_script("return document.querySelector(arguments[0])?.innerText ?? ''", selector))

    def until(self, happened: Callable[[], Any]) -> None:
        from selenium.common.exceptions import StaleElementReferenceException
        from selenium.webdriver.support.ui import WebDriverWait

        wait = WebDriverWait(self.driver, LIMIT, 0.05, ignored_exceptions=(StaleElementReferenceException,))
        wait.until(lambda _: happened())

    def says(self, words: str, selector: str = "main") -> None:
        self.until(lambda: words in self.text(selector))

    def keys(self, *keys: str) -> None:
        """Press keys one after the other, wherever the focus is."""
        from selenium.webdriver import ActionChains

        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def tab_to(self, selector: str) -> None:
        """Press Tab until something has the focus, as somebody without a mouse does."""
        from selenium.webdriver import Keys

        for _ in range(80):
            if self.driver.execute_script("return document.activeElement.matches(arguments[0])", selector):
                style = "const s = getComputedStyle(document.activeElement); return s.outlineStyle + s.outlineWidth"
                assert self.driver.execute_script(style) not in ("none0px", "none3px"), (
                    f"no focus is seen at {selector}"
                )
                return
            self.keys(Keys.TAB)
        raise AssertionError(f"Tab does not reach {selector}")

    def scheme(self, scheme: str) -> None:
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

    def picture(self, name: str) -> None:
        """Make a picture for the documentation, if somebody wants it."""
        folder = os.environ.get("TEXTMILL_SCREENSHOTS")
        if folder:
            self.driver.save_screenshot(str(Path(folder) / f"{name}.png"))


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("chromium is not installed; run `make browser` as root")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.set_window_size(900, 860)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def server(paths: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Threaded]:
    """All files, and a collection with a hostile article."""
    folder = tmp_path_factory.mktemp("seen")
    rows = [
        {**one, "year": 1990 + place % 5, "authors": f"Person {place % 40}; {HOSTILE}{place % 7}"}
        for place, one in enumerate(sample_articles())
    ]
    rows.append(
        {"id": "<b>'\"&/?#", "title": HOSTILE, "text": HOSTILE + " the moon and the tides", "year": HOSTILE[:4]}
    )
    rows[-1]["year"] = 1993
    rows[-1]["note"] = rows[-1]["authors"] = HOSTILE
    Collection.create(folder / "library", rows, methods=["tfidf", "lsa"], random_state=0)
    settings = Settings(paths, port=0, collection=str(folder / "library"), judgments=str(folder / "judgments.sqlite"))
    server = Threaded(settings)
    yield server
    server.stop()


@pytest.fixture
def browser(driver: Any, server: Threaded) -> Iterator[Browser]:
    """A browser; after the test, its log must show no error and no foreign request."""
    for log in ("browser", "performance"):
        driver.get_log(log)
    browser = Browser(driver, server.address)
    yield browser
    check_logs(driver, server.address)
    browser.scheme("light")


def check_logs(driver: Any, address: str) -> None:
    errors = [one["message"] for one in driver.get_log("browser") if one["level"] in ("SEVERE", "WARNING")]
    assert not errors
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            url = message["params"]["request"]["url"]
            assert url.startswith((address, "data:", "about:", "blob:")), url


VIEWS = ["/", "/articles", "/articles?id=astronomy-01", "/articles?text=moon", "/topics", "/topics/topics/2"]
VIEWS += ["/text#text=The%20moon%20in%20Brno.", "/names/people", "/transducers/numbers?text=ten&k=3", "/models"]
VIEWS += ["/models/topics", "/articles?id=nobody"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_can_be_read_and_every_control_has_a_label(scheme: str, browser: Browser) -> None:
    browser.scheme(scheme)
    for view in VIEWS:
        if view.endswith("nobody"):
            continue
        browser.open(view)
        assert browser.driver.execute_script(CONTRAST) == [], view
        assert browser.driver.execute_script(UNLABELED) == [], view
        assert len(browser.all("main h1")) == 1
    if scheme == "light":
        browser.open("/articles?id=astronomy-01")
        browser.picture("articles")
        browser.open("/topics")
        browser.picture("topics")


def test_nothing_is_cut_off_on_a_narrow_screen(browser: Browser) -> None:
    metrics = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        for view in VIEWS[:-1]:
            browser.open(view)
            wide = "return document.documentElement.scrollWidth"
            assert browser.driver.execute_script(wide) <= 360, view
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_articles_by_mouse(browser: Browser) -> None:
    browser.open("/")
    browser.one("nav a[href='/articles']").click()
    browser.says("Browse")
    browser.one("textarea").send_keys("the tides and the moon")
    browser.one("form button[type=submit]").click()
    browser.says("Found")
    assert "text=the+tides" in browser.driver.current_url
    browser.one(".methods li a").click()
    browser.says("Similar articles")
    assert len(browser.all(".methods > section")) >= 2
    assert browser.all(".mixture svg")
    browser.one(".grades button").click()
    browser.says("stored", "#status")
    browser.driver.refresh()
    browser.until(lambda: browser.all(".grades button[aria-pressed=true]"))
    browser.one("button.again").click()
    browser.says("More like those judged relevant")
    browser.says("Towards 1 relevant", ".feedback")
    browser.one("button.who").click()
    browser.says("Who could review it")
    browser.until(lambda: browser.all(".reviewers li a"))
    browser.driver.back()
    browser.says("Found")
    browser.driver.forward()
    browser.says("Similar articles")


def test_articles_by_keyboard(browser: Browser) -> None:
    from selenium.webdriver import ActionChains, Keys

    browser.open("/")
    browser.tab_to("nav a[href='/articles']")
    browser.keys(Keys.ENTER)
    browser.says("Browse")
    browser.says("came after the models were trained", ".upkeep")
    browser.tab_to("textarea")
    browser.keys("moon and tides")
    ActionChains(browser.driver).key_down(Keys.CONTROL).send_keys(Keys.ENTER).key_up(Keys.CONTROL).perform()
    browser.says("Found")
    browser.tab_to(".methods li a")
    browser.keys(Keys.ENTER)
    browser.says("Similar articles")
    browser.tab_to("button.again")
    browser.keys(Keys.ENTER)
    browser.says("More like those judged relevant")
    browser.tab_to("button.who")
    browser.keys(Keys.ENTER)
    browser.says("Who could review it")
    browser.tab_to(".grades button")
    browser.keys(Keys.SPACE)
    browser.until(lambda: browser.text("#status"))


def test_topics_by_mouse_and_by_keyboard(browser: Browser) -> None:
    from selenium.webdriver import Keys

    browser.open("/topics")
    browser.says("Over time (year)")
    browser.one("tbody th a[href='/topics/topics/3']").click()
    browser.says("Topic 3 of topics", "h1")
    browser.says("Documents")
    browser.driver.back()
    browser.says("Topics: topics", "h1")
    browser.tab_to(".map a")
    browser.keys(Keys.ENTER)
    browser.says("Topic 1 of topics", "h1")
    browser.tab_to("main ul a, main ol a")
    browser.keys(Keys.ENTER)
    browser.until(lambda: "Topic 1 of" not in browser.text("h1"))


def test_texts_by_mouse(browser: Browser) -> None:
    browser.open("/text")
    browser.one("textarea").send_keys(TEXT)
    browser.one("button[type=submit]").click()
    browser.says("Languages")
    labels = [mark.text for mark in browser.all("section mark sub")]
    assert any(label.startswith("fr") for label in labels)
    assert any(label.startswith("LOC") for label in labels)
    browser.driver.refresh()  # the link holds the text
    browser.says("Coherence")
    assert browser.one("textarea").get_attribute("value") == TEXT


def test_texts_by_keyboard(browser: Browser) -> None:
    from selenium.webdriver import ActionChains, Keys

    browser.open("/text")
    browser.tab_to("textarea")
    browser.keys("The mill grinds corn.")
    ActionChains(browser.driver).key_down(Keys.CONTROL).send_keys(Keys.ENTER).key_up(Keys.CONTROL).perform()
    browser.says("Tokens")


@pytest.mark.parametrize("view", ["/text", "/articles"])
def test_a_text_that_is_too_long_is_told_beside_the_box(browser: Browser, view: str) -> None:
    browser.open(view)
    fill = "arguments[0].value = 'mill '.repeat(25000)"
    browser.driver.execute_script(fill, browser.one("textarea"))
    browser.one("main form button[type=submit]").click()
    browser.says("the text has 125000 characters; the limit is 100000", "main [role=alert]")
    assert len(browser.one("textarea").get_attribute("value")) == 125_000
    browser.driver.get_log("browser")  # which notes the code 422


def test_the_skip_link_leads_to_the_content_and_leaves_the_work_alone(browser: Browser) -> None:
    from selenium.webdriver import Keys

    browser.open("/text#text=The%20moon%20in%20Brno.")
    browser.says("Languages")
    sections = len(browser.all("main section"))
    browser.driver.execute_script("document.querySelector('.skip').focus()")
    browser.keys(Keys.ENTER)
    browser.until(lambda: browser.driver.execute_script("return document.activeElement.matches('main h1')"))
    assert browser.driver.current_url.endswith("/text#text=The%20moon%20in%20Brno.")
    assert browser.one("textarea").get_attribute("value") == "The moon in Brno."
    assert len(browser.all("main section")) == sections


def test_what_was_found_is_said_to_those_who_only_hear(browser: Browser) -> None:
    browser.open("/articles?text=moon")
    browser.says("Found")
    browser.says("tfidf: ", "#status")


def test_names_by_mouse_and_in_two_windows(browser: Browser) -> None:
    browser.open("/names/people")
    first = browser.driver.current_window_handle
    browser.one("tr button[data-label=pos]").click()
    browser.says("1 accepted")
    browser.driver.switch_to.new_window("window")
    try:
        browser.open("/names/people?status=open")
        browser.says("1 accepted")
        assert len(browser.all("tbody tr")) == len(PAIRS) - 1
        browser.one("tr button[data-label=neg]").click()
        browser.says("1 rejected")
        browser.driver.close()
    finally:
        browser.driver.switch_to.window(first)
    browser.driver.refresh()
    browser.says("1 accepted, 1 rejected")
    for place in (0, 1):
        browser.all("tbody tr")[place].find_element("css selector", "[aria-pressed=true]").click()
        browser.until(lambda place=place: not browser.all("tbody tr")[place].get_attribute("data-label"))
    browser.says("0 accepted, 0 rejected")


def test_names_by_keyboard(browser: Browser) -> None:
    from selenium.webdriver import Keys

    browser.open("/names/people")
    browser.tab_to("tbody tr")
    browser.keys("a")
    browser.says("1 accepted")
    browser.keys(Keys.ARROW_DOWN, "r")
    browser.says("1 rejected")
    browser.keys("x")
    browser.says("0 rejected")
    browser.keys(Keys.ARROW_UP, "x")
    browser.says("0 accepted")
    browser.keys("/")
    browser.keys("Jones", Keys.ENTER)
    browser.until(lambda: len(browser.all("tbody tr")) == 1)


def test_transducers_by_mouse_and_by_keyboard(browser: Browser) -> None:
    from selenium.webdriver import Keys

    browser.open("/transducers/numbers")
    assert browser.one(".picture svg").get_attribute("aria-label").startswith("Picture of numbers")
    browser.one("input[name=text]").send_keys("ten")
    browser.one("button[type=submit]").click()
    browser.says("Outputs for “ten”")
    assert [cell.text for cell in browser.all("tbody td")] == ["X", "1", "10", "2"]
    browser.driver.refresh()
    browser.says("Outputs for “ten”")
    browser.open("/transducers/numbers")
    browser.tab_to("input[name=text]")
    browser.keys("one", Keys.ENTER)
    browser.says("Outputs for “one”")
    browser.open("/transducers/words-2")
    browser.one("option[value=plain]").click()
    browser.until(lambda: "key=plain" in browser.driver.current_url)


def test_models_by_mouse_and_by_keyboard(browser: Browser) -> None:
    from selenium.webdriver import Keys

    browser.open("/models")
    browser.one("tbody a[href='/models/topics']").click()
    browser.says("topics.LDA")
    browser.driver.back()
    browser.until(lambda: len(browser.all("tbody tr")) == 10)
    browser.tab_to("tbody a[href='/models/numbers']")
    browser.keys(Keys.ENTER)
    browser.says("fst.Fst")


def test_hostile_titles_and_texts_stay_texts(browser: Browser) -> None:
    for view in (
        "/articles?id=" + "%3Cb%3E'%22%26%2F%3F%23",
        "/articles?search=script",
        "/articles?text=tides",
        "/names/people",
        "/transducers/numbers?text=%3Cb%3E&k=3",
        "/text#text=" + "%3Cscript%3Edocument.title%3D'broken'%3C%2Fscript%3E%3Cimg%20src%3Dx%3E",
        "/models/%3Cimg%20src%3Dx%3E",
    ):
        browser.open(view)
        browser.until(lambda: browser.text())
        assert "broken" not in browser.driver.title.replace(HOSTILE, ""), view
        assert not browser.all("main img, main script"), view
        if "models" in view:
            browser.driver.get_log("browser")  # the 404 that was asked for
    browser.open("/articles?id=%3Cb%3E'%22%26%2F%3F%23")
    assert HOSTILE in browser.text("h1")
    assert HOSTILE in browser.text(".article")


def test_what_is_not_there_is_said(browser: Browser) -> None:
    browser.open("/articles?id=nobody")
    browser.says("there is no article with this id")
    browser.open("/topics/topics/99")
    browser.says("no such topic")
    browser.driver.get_log("browser")  # the 404 that was asked for


def test_the_page_of_the_api_needs_no_other_server(browser: Browser) -> None:
    browser.driver.get(browser.address + "/api/docs")
    browser.until(lambda: browser.all(".opblock-summary"))
    assert "/api/v1/article" in browser.text("#api")


def test_a_token_in_the_address_becomes_a_cookie(driver: Any, paths: tuple[str, ...], tmp_path: Path) -> None:
    token = "a-token-nobody-can-guess"
    server = Threaded(Settings(paths[:1], port=0, token=token, judgments=str(tmp_path / "j.sqlite")))
    try:
        browser = Browser(driver, server.address)
        driver.get(server.address + "/models")
        browser.says("Token", "h1")
        browser.one("input[type=password]").send_keys("wrong wrong wrong")
        browser.one("button[type=submit]").click()
        browser.says("the token is wrong", "#status")
        driver.get("about:blank")
        driver.get(f"{server.address}/models#token={token}")
        browser.says("tasks.SimilarDocuments")
        assert token not in driver.current_url
        assert driver.execute_script("return document.cookie") == ""
        driver.refresh()
        browser.says("tasks.SimilarDocuments")
        assert httpx.get(f"{server.address}/api/v1").status_code == 401
    finally:
        server.stop()
        driver.delete_all_cookies()
        driver.get_log("browser")
        driver.get_log("performance")
