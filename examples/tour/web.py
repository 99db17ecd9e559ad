"""The stop of the tour that serves what the others have made."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from textmill.corpus import Document
from textmill.report import Report

__all__ = ["show_workbench"]

QUESTION = "tides raised by the gravity of the Moon"


def show_workbench(report: Report, documents: list[Document], folder: Path) -> None:
    """The index of another stop, asked as a browser or a program asks the server; no socket is opened."""
    report.heading("The workbench in a browser")
    try:
        from textmill.web import Settings, create_app
    except ModuleNotFoundError:
        report.text("This stop needs a web server; pip install 'textmill[web]' brings one.")
        return
    app = create_app(Settings((str(folder / "similar.mill"),), judgments=str(folder / "judgments.sqlite")))
    answer = asyncio.run(_asked(app, "/api/v1/search", urlencode({"text": QUESTION, "k": 3})))
    neighbors = answer["methods"][0]["neighbors"]
    report.text(
        "One command shows model files to people, with a page for each view, and to programs as JSON. Only this "
        "machine is answered unless a token is set, and nothing is asked of any other."
    )
    report.table(
        ["title", "id", "score"],
        [(one["title"], one["id"], f"{one['score']:.3f}") for one in neighbors],
        caption=f"/api/v1/search?{urlencode({'text': QUESTION, 'k': 3})}",
    )
    report.code("textmill serve similar.mill topics.mill")


async def _asked(app: Any, path: str, query: str) -> Any:
    """What an application answers to a GET."""
    parts: list[bytes] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        parts.append(message.get("body", b""))

    scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode()}
    await app({**scope, "headers": [(b"host", b"localhost")]}, receive, send)
    return json.loads(b"".join(parts))
