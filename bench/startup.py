"""What a small command costs before it does anything: CPU seconds beside an empty Typer app that imports NumPy.

python -m bench startup --repeats 15

The ratio is the empty app divided by the command: 0.71 means that the command takes 1.4 times the empty app. Both run
from bytecode, as an installed package does: it is kept in a folder of its own, whatever the environment says.
"""

from __future__ import annotations

import atexit
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.harness import Job, Options

PACKAGES = ["typer", "scipy"]
BAR = 1 / 1.4

EMPTY = """
import numpy, typer
app = typer.Typer()
@app.command()
def main() -> None: pass
app()
"""

PREPARE = [
    "fst compile machine.txt machine.fst",
    "vocab build texts.jsonl -o vocab.mill",
    "lm train texts.jsonl -o lm.mill",
    "topics train texts.jsonl --topics 2 -o topics.mill",
    "similar index texts.jsonl -o index.mill",
    "tag train tokens.txt -p patterns.txt --max-iter 3 -o tagger.mill",
]
COMMANDS = [
    "--version",
    "--help",
    "fst --help",
    "fst info machine.fst",
    "fst compose machine.fst machine.fst composed.fst",
    "info lm.mill",
    "tokenize texts.jsonl",
    "vocab show vocab.mill",
    "lm sample lm.mill -k 1",
    "lm next lm.mill the",
    "topics show topics.mill",
    "match score mill mills",
    "similar query index.mill --text mill -k 1",
    "similar query index.mill --id 1 -k 1",
    "tag label tagger.mill tokens.txt",
]


def jobs(options: Options) -> list[Job]:
    """One job for each command, all in one folder of tiny inputs."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    write_inputs(Path(folder.name))
    textmill = str(Path(sys.executable).parent / "textmill")

    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(Path(folder.name, "bytecode"))

    def seconds(command: list[str]) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=folder.name, env=environment, check=True, capture_output=True, timeout=300)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def ours(command: str) -> float:
        return seconds([textmill, "-q", *command.split()])

    seconds([sys.executable, "-c", EMPTY])
    for command in [*PREPARE, *COMMANDS]:  # once each, which writes the bytecode
        ours(command)
    return [
        Job(
            name=f"textmill {command}",
            ours=lambda command=command: ours(command),
            peer=lambda: seconds([sys.executable, "-c", EMPTY]),
            peer_name="empty Typer app with NumPy",
            quality=lambda: "CPU seconds",
            figure="returned",
            bar=BAR,
        )
        for command in COMMANDS
    ]


def write_inputs(folder: Path) -> None:
    """What the commands read."""
    texts = ["the mill turns by the river", "the river turns the old mill", "an old miller sleeps", "millers sleep"]
    lines = [f'{{"id": "{i}", "text": "{text}"}}\n' for i, text in enumerate(texts)]
    (folder / "machine.txt").write_text("0 1 1 1\n1\n", encoding="utf-8")
    (folder / "texts.jsonl").write_text("".join(lines), encoding="utf-8")
    (folder / "tokens.txt").write_text("the D\nmill N\n\nthe D\nriver N\n\n" * 9, encoding="utf-8")
    (folder / "patterns.txt").write_text("U00:%x[0,0]\nB\n", encoding="utf-8")
