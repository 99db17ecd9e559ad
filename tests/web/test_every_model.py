"""Every kind of model that the package can save, in every panel of the browser that takes it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from reference.all_models import EXAMPLES

from textmill import load
from textmill.errors import ModelFileError
from textmill.fst import StringAligner
from textmill.web.library import open_entry

TEXT = "the old mill by the sea"
NEEDS_A_FUNCTION = {"hashed"}  # which a file cannot hold, so a server cannot open it


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of each kind of model."""
    folder = tmp_path_factory.mktemp("kinds")
    for kind, example in EXAMPLES.items():
        example().save(folder / f"{kind}.mill")
    return folder


def opened(client: httpx.Client, name: str, panels: list[str]) -> dict[str, httpx.Response]:
    """The answer of each panel to whoever opens it."""
    answers = {"models": client.get(f"/api/v1/models/{name}")}
    if "topics" in panels:
        answers["topics"] = client.get(f"/api/v1/topics/{name}")
    if "transducers" in panels:
        answers["transducers"] = client.get(f"/api/v1/transducers/{name}")
        answers["apply"] = client.post(f"/api/v1/transducers/{name}/apply", json={"text": "a b"})
    if "articles" in panels:
        answers["search"] = client.get("/api/v1/search", params={"text": TEXT})
        answers["articles"] = client.get("/api/v1/articles")
    answers["text"] = client.post("/api/v1/text", json={"text": TEXT, "files": [name] if "text" in panels else []})
    return answers


@pytest.mark.parametrize("kind", sorted(EXAMPLES))
def test_every_panel_opens_with_every_kind_of_model(
    kind: str, files: Path, client_of: Callable[..., httpx.Client]
) -> None:
    path = files / f"{kind}.mill"
    if kind in NEEDS_A_FUNCTION:
        with pytest.raises(ModelFileError, match=r"was the function 'str\.split'"):
            open_entry(kind, str(path))
        return
    panels = open_entry(kind, str(path)).panels
    client = client_of((str(path),))
    answers = opened(client, kind, list(panels))
    assert {name: answer.status_code for name, answer in answers.items()} == dict.fromkeys(answers, 200), {
        name: answer.text for name, answer in answers.items() if answer.status_code != 200
    }
    assert kind in client.get("/api/v1").json()["panels"].get("text", []) or "text" not in panels
    for analysis in answers["text"].json():  # a model that cannot read this text says so in a sentence
        assert analysis["fault"] is None or re.fullmatch(r"[^\n]{10,}", analysis["fault"]), analysis


def test_an_aligner_is_shown_and_applied_as_the_machine_of_its_links(
    files: Path, tmp_path: Path, client_of: Callable[..., httpx.Client]
) -> None:
    pairs = [("tax", "taks"), ("at", "at"), ("axe", "aks")]
    StringAligner(insertions=False, max_output=2).fit(pairs).save(tmp_path / "aligner.mill")
    client = client_of((str(tmp_path / "aligner.mill"),))
    shown = client.get("/api/v1/transducers/aligner").json()
    machine = load(tmp_path / "aligner.mill", expect=StringAligner).to_fst()
    assert (shown["keys"], shown["token_type"]) == (["links"], "symbol")
    assert shown["facts"]["states"] == str(machine.num_states)
    assert shown["picture"].startswith("<svg")
    best = client.post("/api/v1/transducers/aligner/apply", json={"text": "t a x", "k": 1}).json()
    assert [one["text"] for one in best] == ["t a k s"]
    assert client.get("/api/v1/transducers/aligner?key=nobody").status_code == 404
    assert client.post("/api/v1/transducers/aligner/apply", json={"text": "q"}).json() == []


def test_the_token_type_of_a_machine_without_symbols_is_letters(client: Any) -> None:
    assert client.get("/api/v1/transducers/numbers").json()["token_type"] == "utf8"
    assert json.loads(client.get("/api/v1/transducers/numbers?token_type=byte").text)["token_type"] == "byte"
