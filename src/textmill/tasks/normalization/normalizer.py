"""A grammar on running text, both ways, with alignments.

A grammar exports one rule of everything that it rewrites; `fst.TextRewriter` finds the stretches of the text that the
rule reads, takes the longest at each place, and writes its cheapest output. What stands around a number and decides
how it is read (in 1984, 1984 people) is part of the rule. Compiled grammars are kept in the user's cache folder
($XDG_CACHE_HOME/textmill, ~/.cache/textmill), under a name that their text determines, so that a grammar that was
changed is compiled anew.

Cost: the scan, and one application of the machine for each distinct stretch. Reference: Sproat et al. (2001),
Normalization of non-standard words; Ebden & Sproat (2015), The Kestrel TTS text normalization system.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from textmill.errors import DataError
from textmill.fst import Change, Fst, TextRewriter, open_grammar, read_fst, write_fst
from textmill.model import check_choice

__all__ = ["LANGUAGES", "Normalizer"]

_FOLDER = Path(__file__).parent
_RULES = {False: ("{}.grammar", "normalize"), True: ("{}_inverse.grammar", "inverse")}
LANGUAGES = tuple(sorted(path.name for path in _FOLDER.iterdir() if (path / f"{path.name}.grammar").is_file()))
_VERSION = 1  # of the files in the cache folder


class Normalizer:
    """Rewrites texts by the grammar of a language, or by one of your own.

    `inverse` turns words into digits and signs. `grammar` names a file with tokens byte; its rule is `rule`, by default
    the last that is exported.

    >>> normalizer = Normalizer()
    >>> normalizer.normalize("Dr. Smith paid $3.50.")
    'Doctor Smith paid three dollars and fifty cents.'
    >>> [(change.input, change.output) for change in normalizer.changes("at 3:30 p.m. in 1984")]
    [('3:30 p.m.', 'three thirty p m'), ('in 1984', 'in nineteen eighty four')]
    >>> Normalizer(inverse=True).normalize("it costs twenty three dollars")
    'it costs $23'
    """

    def __init__(
        self,
        language: str = "english",
        *,
        inverse: bool = False,
        grammar: str | os.PathLike[str] | None = None,
        rule: str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        if grammar is None:
            check_choice("language", language, LANGUAGES)
            file, name = _RULES[inverse]
            path, rule = _FOLDER / language / file.format(language), rule or name
        else:
            path = Path(grammar)
            if inverse:
                raise DataError("a grammar of your own says its direction itself; leave out inverse")
        self.rewriter = _rewriter(path, rule, n_jobs)

    def normalize(self, text: str) -> str:
        """The text as it is spoken, or written."""
        return self.rewriter.rewrite(text)

    def changes(self, text: str) -> list[Change]:
        """Which stretches of the text became which words."""
        return [change for change in self.rewriter.changes(text) if change.input != change.output]

    def normalize_stream(self, blocks: Iterable[bytes], source: str = "input") -> Iterator[bytes]:
        """A stream of bytes in UTF-8, cut anywhere, in constant memory."""
        return self.rewriter.rewrite_stream(blocks, source)


def _rewriter(path: Path, rule: str | None, n_jobs: int | None) -> TextRewriter:
    grammar = open_grammar(path)
    digest = hashlib.blake2b(f"{_VERSION} {rule}".encode(), digest_size=12)
    pending = [grammar]
    while pending:
        one = pending.pop()
        digest.update(Path(one.source).read_bytes())
        pending += one.imports.values()
    stem = _cache() / f"{path.stem}-{digest.hexdigest()}"
    with contextlib.suppress(OSError, DataError):  # no cache, or one that is damaged
        rules, inputs = (read_fst(f"{stem}.{part}.fst", map_file=False) for part in ("rules", "inputs"))
        return TextRewriter(rules, inputs=inputs, n_jobs=n_jobs)
    if grammar.text.token_type != "byte":
        raise DataError("a grammar for running text needs 'tokens byte'", source=os.fspath(path))
    if rule is None and not grammar.exports:
        raise DataError("the grammar has no rule", source=os.fspath(path))
    rewriter = TextRewriter(grammar[rule or grammar.exports[-1]], n_jobs=n_jobs)
    with contextlib.suppress(OSError):
        _keep(stem, rewriter.rules, rewriter.inputs)
    return rewriter


def _keep(stem: Path, rules: Fst, inputs: Fst) -> None:
    stem.parent.mkdir(parents=True, exist_ok=True)
    write_fst(rules, f"{stem}.rules.fst")
    write_fst(inputs, f"{stem}.inputs.fst")


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "textmill"
