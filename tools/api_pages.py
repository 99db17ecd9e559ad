"""The API pages of the documentation: what stands below the introduction of each is made here.

python tools/api_pages.py            writes docs/api/*.md
python tools/api_pages.py --check    exits with 1 if one of them is not what it would write

A page lists the public names of its packages, each with the first line of its docstring and a link, and then every
module that defines some of them, with these names only. The introduction above the marker is written by hand.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from pathlib import Path
from typing import Any

from textmill.model import Estimator

PAGES = Path(__file__).parent.parent / "docs" / "api"
MARKER = "<!-- made by tools/api_pages.py from here on -->\n"

# packages and modules of each page, and what to read beside it
CONTENTS: dict[str, tuple[list[str], dict[str, str]]] = {
    "corpus": (
        ["corpus"],
        {
            "From text to counts": "tutorials/text-to-counts.md",
            "Reading files and folders": "tutorials/reading.md",
            "Columns, tags and trees": "tutorials/columns-and-trees.md",
            "Corpora that do not fit": "tutorials/large-corpora.md",
            "how words are found": "how/words.md",
            "how terms are counted": "how/counting.md",
        },
    ),
    "vectors": (
        ["vectors"],
        {
            "From text to vectors": "tutorials/text-to-vectors.md",
            "Find similar documents in a million": "tutorials/similar-documents.md",
            "how neighbors are found": "how/search.md",
        },
    ),
    "fst": (
        ["fst", "fst.lazy"],
        {
            "Transducers from scratch": "tutorials/transducers.md",
            "Align spellings and sounds": "tutorials/alignment.md",
            "Grammars": "tutorials/grammars.md",
            "What machines are good for": "tutorials/transducer-applications.md",
            "operations in pictures": "transducer-operations.md",
            "how they work": "how/transducers.md",
            "how lazy machines work": "how/lazy-machines.md",
            "how weights are learned": "how/learning-weights.md",
            "how strings are aligned": "how/alignment.md",
        },
    ),
    "topics": (
        ["topics", "topics.formats"],
        {
            "Topics of a corpus": "tutorials/topics.md",
            "Topics of a large corpus": "tutorials/lda.md",
            "how LSA works": "how/lsa.md",
            "how LDA learns": "how/lda.md",
            "how topics are sampled": "how/gibbs.md",
            "PCA, NMF and PLSA": "how/matrix-factorization.md",
            "inferring mixtures": "how/lda-inference.md",
        },
    ),
    "linear": (
        ["linear"],
        {
            "When words come in bursts": "tutorials/bursts.md",
            "Words of two corpora": "tutorials/keywords.md",
            "how logistic regression works": "how/linear.md",
            "how combinations are found": "how/combinations.md",
            "how models of counts work": "how/counts.md",
        },
    ),
    "trees": (
        ["trees"],
        {
            "how decision trees learn": "how/trees.md",
            "A treebank for a related language": "tutorials/transfer.md",
            "how treebanks are parsed and transferred": "how/transfer.md",
        },
    ),
    "lm": (
        ["lm"],
        {"how n-gram models work": "how/ngrams.md", "word classes and kernels of sets": "how/word-classes.md"},
    ),
    "sequence": (
        ["sequence", "sequence.training"],
        {
            "A tagger from your own data": "tutorials/tagger.md",
            "the pattern language": "patterns.md",
            "how chains work": "how/crf.md",
            "choosing an optimiser": "how/choosing-an-optimizer.md",
        },
    ),
    "strings": (
        ["strings"],
        {
            "Deduplicate a customer list": "tutorials/names.md",
            "how names are matched": "how/names.md",
            "the measures": "how/measures.md",
        },
    ),
    "web": (
        ["web"],
        {
            "Look at your models in a browser": "tutorials/workbench.md",
            "serving models": "serving.md",
        },
    ),
    "tasks": (
        [
            "tasks",
            "tasks.coherence",
            "tasks.entities",
            "tasks.fluency",
            "tasks.language",
            "tasks.names",
            "tasks.normalization",
            "tasks.polarity",
            "tasks.pronunciation",
            "tasks.readability",
            "tasks.similarity",
            "tasks.transfer",
            "tasks.voicemail",
        ],
        {
            "Find similar documents in a million": "tutorials/similar-documents.md",
            "Similar articles for your library": "tutorials/similar-articles.md",
            "how similar articles are kept": "how/similar-articles.md",
            "Spotting machine-made or scraped pages": "tutorials/coherence.md",
            "Deduplicate a customer list": "tutorials/names.md",
            "Numbers as words, and back": "tutorials/normalization.md",
            "Correct spelling with your own texts": "tutorials/correction.md",
            "Cut a long document by topic": "tutorials/segmentation.md",
            "Chunks for retrieval": "tutorials/chunks.md",
            "how texts are cut": "how/segmentation.md",
            "Which language is this?": "tutorials/language.md",
            "Teach it your own languages": "tutorials/own-languages.md",
            "how languages are told apart": "how/language.md",
            "Names in a new language in a minute": "tutorials/new-language-names.md",
            "how names are found": "how/entities.md",
            "How many stars is this review?": "tutorials/review-scores.md",
            "how reviews get their scores": "how/review-scores.md",
            "how incoherence shows": "how/coherence.md",
            "Is this sentence all right?": "tutorials/sentences.md",
            "how sentences are judged": "how/fluency.md",
            "leaks of sentences": "how/sentence-leaks.md",
            "A pronunciation model from a word list": "tutorials/pronunciation.md",
            "how letters become sounds": "how/pronunciation.md",
            "Who called?": "tutorials/who-called.md",
            "how callers and numbers are found": "how/voicemail.md",
        },
    ),
    "metrics": (["metrics"], {"Scoring results": "tutorials/metrics.md"}),
    "ground": (
        ["errors", "progress", "files", "model", "cluster", "optimize", "plot", "report"],
        {
            "model files": "how/model-files.md",
            "many machines": "how/cluster.md",
            "optimisers": "how/optimizers.md",
        },
    ),
}


def page(name: str) -> str:
    """The generated part of a page."""
    packages, readings = CONTENTS[name]
    links = ", ".join(f"[{title}](../{address})" for title, address in readings.items())
    lines = [f"**See also:** {links}.", ""]
    homes: dict[str, list[str]] = {}
    groups: dict[str, list[str]] = {"Estimators": [], "Classes": [], "Functions": [], "Constants": []}
    listed: set[str] = set()
    for package in packages:
        for public, (module, value) in sorted(_public_names(package).items(), key=lambda item: item[0].lower()):
            if f"{module}.{public}" in listed:
                continue
            listed.add(f"{module}.{public}")
            homes.setdefault(module, []).append(public)
            row = f"| [`{public}`](#{module}.{public}) | {_first_line(public, value)} |"
            groups[_kind(value)].append(row)
    for kind, rows in groups.items():
        if rows:
            lines += [f"| {kind} | |", "|---|---|", *rows, ""]
    for module in sorted(homes):
        lines += [f"::: {module}", "    options:", f"      members: [{', '.join(homes[module])}]", ""]
    return "\n".join(lines)


def _public_names(package: str) -> dict[str, tuple[str, Any]]:
    """The public names of a package or module, each with the module that defines it."""
    module = importlib.import_module(f"textmill.{package}")
    homes = _homes(module)
    return {
        name: (homes.get(name, module.__name__), getattr(module, name))
        for name in module.__all__
        if not inspect.ismodule(getattr(module, name))
    }


def _homes(module: Any) -> dict[str, str]:
    """Where the names of a package come from, as its imports for type checkers say."""
    found: dict[str, str] = {}
    for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{module.__name__}."):
            found |= {alias.name: str(node.module) for alias in node.names}
    return found


def _kind(value: Any) -> str:
    if isinstance(value, type):
        return "Estimators" if issubclass(value, Estimator) and value is not Estimator else "Classes"
    return "Functions" if inspect.isroutine(value) else "Constants"


def _first_line(name: str, value: Any) -> str:
    """The first sentence of a docstring, ready for a cell of a table."""
    if _kind(value) == "Constants":
        if isinstance(value, str | int | float) or not hasattr(type(value), "__len__"):
            return f"`{value!r}`"
        entries = sorted(value) if isinstance(value, set | frozenset) else list(value)
        shown = ", ".join(f"`{one}`" for one in entries[:4] if isinstance(one, str))
        return f"{len(value)} entries" + (f", such as {shown}" if shown else "")
    line = (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ")
    if line.startswith(f"{name}("):  # made by dataclass or NamedTuple
        return ""
    return re.sub(r"([|*_])", r"\\\1", line) if "`" not in line else line.replace("|", r"\|")


def main() -> int:
    """Write the pages, or compare them."""
    stale = []
    for name in CONTENTS:
        path = PAGES / f"{name}.md"
        text = path.read_text(encoding="utf-8")
        head = text.split(MARKER)[0] if MARKER in text else text
        wanted = head + MARKER + "\n" + page(name)
        if wanted != text:
            stale.append(name)
            if "--check" not in sys.argv:
                path.write_text(wanted, encoding="utf-8")
    if "--check" in sys.argv and stale:
        print(f"API pages are not up to date: {', '.join(stale)}; run python tools/api_pages.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
