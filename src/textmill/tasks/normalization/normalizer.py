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
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from textmill.errors import DataError
from textmill.fst import Change, Fst, Grammar, TextRewriter, compile_grammar, open_grammar, read_fst, write_fst
from textmill.model import check_choice

__all__ = ["LANGUAGES", "Normalizer", "conventions"]

_FOLDER = Path(__file__).parent
_RULES = {False: ("{}.grammar", "normalize"), True: ("{}_inverse.grammar", "inverse")}
LANGUAGES = tuple(sorted(path.name for path in _FOLDER.iterdir() if (path / f"{path.name}.grammar").is_file()))
_VERSION = 1  # of the files in the cache folder
_CONVENTIONS = "conventions.grammar"
_CHOSEN = re.compile(r"^export (\w+) = \1_(\w+)$", re.MULTILINE)


def conventions(language: str = "english") -> dict[str, tuple[str, ...]]:
    """Where usage differs: the name of each convention and its choices, the default first.

    >>> conventions()["thousands"], conventions()["scales"]
    (('comma', 'none'), ('words', 'digits'))
    """
    check_choice("language", language, LANGUAGES)
    text = (_FOLDER / language / _CONVENTIONS).read_text(encoding="utf-8")
    choices = {}
    for name, default in _CHOSEN.findall(text):
        others = re.findall(rf"^{name}_(\w+) =", text, re.MULTILINE)
        choices[name] = (default, *(choice for choice in others if choice != default))
    return choices


class Normalizer:
    """Rewrites texts by the grammar of a language, or by one of your own.

    `inverse` turns words into digits and signs. A stretch of words of numbers, or of digits and signs, is read to its
    end or left as it is. `conventions` settles what is right either way; `conventions()` lists the names and choices.
    `grammar` names a file with tokens byte; its rule is `rule`, by default the last that is exported.

    >>> normalizer = Normalizer()
    >>> normalizer.normalize("Dr. Smith paid $3.50.")
    'Doctor Smith paid three dollars and fifty cents.'
    >>> [(change.input, change.output) for change in normalizer.changes("at 3:30 p.m. in 1984")]
    [('3:30 p.m.', 'three thirty p m'), ('in 1984', 'in nineteen eighty four')]
    >>> Normalizer(inverse=True).normalize("it costs twenty three dollars")
    'it costs $23'
    >>> Normalizer(inverse=True, conventions={"scales": "digits", "thousands": "none"}).normalize("ten million people")
    '10000000 people'
    """

    def __init__(
        self,
        language: str = "english",
        *,
        inverse: bool = False,
        grammar: str | os.PathLike[str] | None = None,
        rule: str | None = None,
        conventions: Mapping[str, str] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        if grammar is None:
            check_choice("language", language, LANGUAGES)
            file, name = _RULES[inverse]
            path, rule = _FOLDER / language / file.format(language), rule or name
            settled = _settled(language, conventions or {})
        else:
            path = Path(grammar)
            if inverse:
                raise DataError("a grammar of your own says its direction itself; leave out inverse")
            if conventions:
                raise DataError("a grammar of your own has its own conventions; leave out conventions")
            settled = None
        self.rewriter = _rewriter(path, rule, settled, n_jobs)

    def normalize(self, text: str) -> str:
        """The text as it is spoken, or written."""
        return self.rewriter.rewrite(text)

    def changes(self, text: str) -> list[Change]:
        """Which stretches of the text became which words."""
        return [change for change in self.rewriter.changes(text) if change.input != change.output]

    def normalize_stream(self, blocks: Iterable[bytes], source: str = "input") -> Iterator[bytes]:
        """A stream of bytes in UTF-8, cut anywhere, in constant memory."""
        return self.rewriter.rewrite_stream(blocks, source)


def _settled(language: str, chosen: Mapping[str, str]) -> Grammar | None:
    """The grammar of conventions with these choices, None if all are the defaults."""
    choices = conventions(language)
    for name, choice in chosen.items():
        check_choice("conventions", name, tuple(choices))
        check_choice(f"conventions[{name!r}]", choice, choices[name])
    if all(choice == choices[name][0] for name, choice in chosen.items()):
        return None
    text = (_FOLDER / language / _CONVENTIONS).read_text(encoding="utf-8")
    source = f"{_CONVENTIONS}: {' '.join(f'{name}={choice}' for name, choice in sorted(chosen.items()))}"
    return compile_grammar(
        _CHOSEN.sub(lambda match: f"export {match[1]} = {match[1]}_{chosen.get(match[1], match[2])}", text),
        source=source,
    )


def _rewriter(path: Path, rule: str | None, settled: Grammar | None, n_jobs: int | None) -> TextRewriter:
    grammar = open_grammar(path)
    digest = hashlib.blake2b(f"{_VERSION} {rule} {settled and settled.source}".encode(), digest_size=12)
    pending = [grammar]
    while pending:
        one = pending.pop()
        digest.update(Path(one.source).read_bytes())
        pending += one.imports.values()
        if settled is not None:
            one.imports = {name: settled if _is_conventions(other) else other for name, other in one.imports.items()}
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


def _is_conventions(grammar: Grammar) -> bool:
    return Path(grammar.source).name == _CONVENTIONS


def _keep(stem: Path, rules: Fst, inputs: Fst) -> None:
    stem.parent.mkdir(parents=True, exist_ok=True)
    write_fst(rules, f"{stem}.rules.fst")
    write_fst(inputs, f"{stem}.inputs.fst")


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "textmill"
