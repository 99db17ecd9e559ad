"""Change a module in many small ways and look whether its tests notice (mutation testing).

    python tools/mutants.py src/textmill/corpus/vocabulary.py --tests tests/corpus/test_vocabulary.py
    python tools/mutants.py src/textmill/cluster/*.py --tests tests/test_cluster*.py --log mutants.jsonl

The changes are the operators of cosmic-ray, one of each family at each place: + for -, < for <=, `not` around a
condition, a number plus one, `break` for `continue`, a loop without rounds, a decorator removed. Types and the words of
error messages are left alone. First the tests run once under coverage, which gives the tests that reach each line; then
each mutant runs those, the quickest first, until one fails. A mutant that no test notices is printed: write a test that
fails on it, or see that it means the same.

Nothing is written into the tree: a mutant replaces its module while it is imported, in every process that the tests
start. A mutant costs about a second and the tests that reach its line. `--log` keeps the verdicts, and a second call
with the same log goes on where the first one ended; `--only 120,131-140` looks at these lines; `--again` gives the
survivors of the log another try. Needs `pip install --group mutate`.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import gc
import importlib
import json
import math
import os
import shlex
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

SOURCES = Path("src")
# One partner for each operator: the others fail the same tests.
PARTNERS = (
    *("Binary_Add_Sub", "Binary_Sub_Add", "Binary_Mul_Div", "Binary_Div_Mul", "Binary_FloorDiv_Mul", "Binary_Mod_Mul"),
    *("Binary_Pow_Mul", "Binary_BitOr_BitAnd", "Binary_BitAnd_BitOr", "Binary_BitXor_BitOr"),
    *("Binary_LShift_RShift", "Binary_RShift_LShift"),
    *("Comparison_Lt_LtE", "Comparison_LtE_Lt", "Comparison_Gt_GtE", "Comparison_GtE_Gt", "Comparison_Eq_NotEq"),
    *("Comparison_NotEq_Eq", "Comparison_Is_IsNot", "Comparison_IsNot_Is"),
    *("Unary_USub_UAdd", "Unary_Delete_Not", "Unary_Invert_UAdd"),
)
OPERATORS = (
    *(f"core/Replace{family}Operator_{rest}" for family, rest in (name.split("_", 1) for name in PARTNERS)),
    *(f"core/Replace{pair}" for pair in ("TrueWithFalse", "FalseWithTrue", "AndWithOr", "OrWithAnd")),
    *("core/ReplaceBreakWithContinue", "core/ReplaceContinueWithBreak", "core/ExceptionReplacer"),
    *("core/NumberReplacer", "core/AddNot", "core/RemoveDecorator", "core/ZeroIterationForLoop"),
)
# Imported once, before the processes of the mutants are forked: nothing that imports textmill.
COMMON = ("numpy", "scipy.sparse", "scipy.special", "sklearn.base", "safetensors", "distributed", "pytest")
KEY = ("file", "operator", "before", "after", "copy")
ALIVE = ("survived", "no test")
NOT_FOUND = 99  # exit code of a process that has not found the function to change
SLACK = 20.0  # seconds a mutant may take beside five times what its tests take
HOOK = '''"""Puts a mutant in the place of its module."""
import importlib.abc, importlib.util, os, sys

class Loader(importlib.abc.SourceLoader):
    def get_filename(self, name): return os.environ["MUTANT_FILE"]
    def get_data(self, path):
        with open(os.environ["MUTANT_SOURCE"], "rb") as source: return source.read()

class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name != os.environ.get("MUTANT_MODULE"): return None
        file = os.environ["MUTANT_FILE"]
        folder = [os.path.dirname(file)] if os.path.basename(file) == "__init__.py" else None
        return importlib.util.spec_from_file_location(name, file, loader=Loader(), submodule_search_locations=folder)

sys.meta_path.insert(0, Finder())
'''


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: the operator, which of its occurrences in the module, and what the line becomes."""

    file: str
    line: int
    operator: str
    occurrence: int
    before: str
    after: str
    copy: int  # of equal changes of equal lines

    @property
    def key(self) -> tuple[Any, ...]:
        """What makes it the same mutant after other lines were edited."""
        return tuple(getattr(self, name) for name in KEY)


@dataclass(frozen=True, slots=True)
class Reach:
    """Seconds of each test, and the tests that come to each line of each file."""

    seconds: dict[str, float]
    tests: dict[tuple[str, int], set[str]]

    @classmethod
    def read(cls, path: Path) -> Reach:
        """As `Laboratory.measure` wrote it; tests that fail without any change are left out."""
        answer = json.loads(path.read_text(encoding="utf-8"))
        for name in answer["failed"]:
            print(f"left out, since it fails without any change: {name}")
        return cls(answer["seconds"], {(file, line): set(names) for file, line, names in answer["lines"]})

    def of(self, mutant: Mutant, source: str) -> list[str]:
        """The tests for a mutant, the quickest first; outside of functions, all tests of the file."""
        if _in_function(source, mutant.line):
            lines = _statement(source, mutant.line)
            names = {test for line in lines for test in self.tests.get((mutant.file, line), ())}
        else:
            names = {test for (file, _), tests in self.tests.items() if file == mutant.file for test in tests}
        return sorted(names, key=lambda name: (self.seconds.get(name, 0.0), name))


def mutants_of(path: Path) -> list[Mutant]:
    """All mutants of a module, by line."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    source = path.read_text(encoding="utf-8")
    ignored = list(_ignored(source))
    mutants = []
    copies: Counter[tuple[str, str, str]] = Counter()
    for name in OPERATORS:
        operator = get_operator(name)()
        occurrence, places = -1, set()
        for node in ast_nodes(get_ast(source)):
            for start, stop in operator.mutation_positions(node):
                occurrence += 1
                if (start, stop) in places or any(a <= start < b for a, b in ignored) or _is_star(source, start):
                    continue
                places.add((start, stop))
                try:
                    text = mutate_code(source, operator, occurrence)
                except AttributeError:  # cosmic-ray knows no dotted names of exceptions
                    continue
                if text is None or text == source or not _compiles(text):
                    continue
                old, new = source.splitlines(), text.splitlines()
                line = next(i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)
                before, after = old[line].strip(), new[line].strip()
                copy = copies[name, before, after]
                copies[name, before, after] += 1
                mutants.append(Mutant(str(path), line + 1, name.removeprefix("core/"), occurrence, before, after, copy))
    return sorted(mutants, key=lambda mutant: (mutant.line, mutant.operator, mutant.occurrence))


def _ignored(source: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Where a change says nothing: types, words of error messages, what only type checkers read."""
    for node in ast.walk(ast.parse(source)):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.arg | ast.AnnAssign):
            parts = [node.annotation]
        elif isinstance(node, ast.FunctionDef):
            parts = [node.returns, *(each for each in node.decorator_list if _name(each) == "overload")]
        elif isinstance(node, ast.Raise):
            parts = [part for part in ast.walk(node) if isinstance(part, ast.JoinedStr)]
        elif isinstance(node, ast.If) and _name(node.test) == "TYPE_CHECKING":
            parts = [node]
        elif isinstance(node, ast.Call) and _name(node.func) in ("TypeVar", "cast"):
            parts = [node.args[0], *(keyword.value for keyword in node.keywords)]
        for part in parts:
            if part is not None:
                yield (part.lineno, part.col_offset), (part.end_lineno, part.end_col_offset)


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _is_star(source: str, place: tuple[int, int]) -> bool:
    """Whether this is the star of a signature, which cosmic-ray takes for a product."""
    return source.splitlines()[place[0] - 1][place[1] :].startswith("*,")


def _compiles(text: str) -> bool:
    try:
        compile(text, "mutant", "exec")
    except SyntaxError:
        return False
    return True


def _in_function(source: str, line: int) -> bool:
    functions = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef))
    return any(node.body[0].lineno <= line <= (node.end_lineno or 0) for node in functions)


def _statement(source: str, line: int) -> range:
    """The lines of the innermost statement around a line, without the blocks it holds."""
    around = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    inner = max(around, key=lambda node: (node.lineno, -(node.end_lineno or 0)))
    body = getattr(inner, "body", None)
    return range(inner.lineno, (body[0].lineno if body else (inner.end_lineno or 0) + 1))


class Laboratory:
    """A plugin of pytest that has collected the tests once and runs them in forked processes, on changed functions."""

    def __init__(self, arguments: argparse.Namespace, mutants: Sequence[Mutant], folder: Path) -> None:
        self.arguments = arguments
        self.mutants = mutants
        self.folder = folder
        self.seconds: dict[str, float] = defaultdict(float)
        self.failed: set[str] = set()
        self.switch: Callable[[str], None] = lambda test: None

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Everything from here on is reached by this test."""
        self.switch(nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Set-up and tear-down count, too."""
        self.seconds[report.nodeid] += report.duration
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_runtestloop(self, session: Any) -> bool:
        """In place of running the tests: measure, then try every mutant of a function."""
        for file in self.arguments.files:
            importlib.import_module(module_of(file))
        self.tests = {item.nodeid: item for item in session.items}
        reach_file = self.folder / "reach.json"
        code = _in_child(lambda: self.measure(reach_file), 7200.0, self.folder / "output")
        if code != 0:
            sys.exit((self.folder / "output").read_text(encoding="utf-8"))
        reach = Reach.read(reach_file)
        print(
            f"{len(self.mutants)} mutants, {len(reach.seconds)} tests of {sum(reach.seconds.values()):.0f} s",
            flush=True,
        )
        try_all(self.mutants, reach, self.arguments, self.verdict)
        return True

    def measure(self, answer: Path) -> int:
        """Run all tests under coverage."""
        import coverage

        files = {file: str(Path(file).resolve()) for file in self.arguments.files}
        cover = coverage.Coverage(data_file=None, include=list(files.values()))
        self.switch = cover.switch_context
        cover.start()
        self.run(list(self.tests.values()), stop=False)
        cover.stop()
        data = cover.get_data()
        lines = [
            (file, line, sorted(set(contexts) - {""} - self.failed))
            for file, path in files.items()
            for line, contexts in data.contexts_by_lineno(path).items()
        ]
        text = json.dumps({"seconds": self.seconds, "failed": sorted(self.failed), "lines": lines})
        answer.write_text(text, encoding="utf-8")
        return 0

    def run(self, items: Sequence[Any], stop: bool = True) -> int:
        """Run tests in this process; the number of the failed."""
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if stop and self.failed:
                break
        return len(self.failed)

    def verdict(self, mutant: Mutant, text: str, tests: Sequence[str], limit: float) -> str | None:
        """`killed`, `time` (over its limit) or `survived`; None for a change outside of functions."""
        codes = _changed_code(Path(mutant.file).read_text(encoding="utf-8"), text, mutant)
        if codes is None:
            return None
        environment = _environment(mutant, text, self.folder)

        def run() -> int:
            os.environ.update(environment)
            old, new = codes
            functions = [
                each
                for each in gc.get_objects()
                if isinstance(each, FunctionType) and each.__code__.co_filename == environment["MUTANT_FILE"]
            ]
            changed = 0
            for function in functions:
                if function.__code__ == old:
                    function.__code__ = new
                    changed += 1
            if not changed:
                return NOT_FOUND
            return min(self.run([self.tests[name] for name in tests]), 1)

        code = _in_child(run, limit, self.folder / "output")
        return None if code == NOT_FOUND else _word(code)


def _changed_code(source: str, text: str, mutant: Mutant) -> tuple[CodeType, CodeType] | None:
    """The code of the outermost function around a change, before and after; None if no function is around it."""
    path = str(Path(mutant.file).resolve())
    pairs = [(compile(source, path, "exec", dont_inherit=True), compile(text, path, "exec", dont_inherit=True))]
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    starts = {node.lineno for node in functions} | {d.lineno for node in functions for d in node.decorator_list}
    while pairs:
        old, new = pairs.pop()
        inner = [[const for const in code.co_consts if isinstance(const, CodeType)] for code in (old, new)]
        if len(inner[0]) != len(inner[1]):
            return None
        for inner_old, inner_new in zip(*inner, strict=True):
            if inner_old == inner_new:
                continue
            is_function = inner_old.co_firstlineno in starts and not inner_old.co_name.startswith("<")
            if is_function and _in_function(source, mutant.line):
                return inner_old, inner_new
            pairs.append((inner_old, inner_new))
    return None


def try_afresh(mutant: Mutant, text: str, tests: Sequence[str], limit: float, options: list[str], folder: Path) -> str:
    """The verdict on a change outside of functions, for which everything is imported anew."""
    environment = _environment(mutant, text, folder)

    def run() -> int:
        import pytest

        os.environ.update(environment)
        exec(compile(HOOK, "hook", "exec"), {})
        return int(pytest.main([*options, "-x", *tests]))

    return _word(_in_child(run, limit, folder / "output"))


def try_all(
    mutants: Sequence[Mutant],
    reach: Reach,
    arguments: argparse.Namespace,
    verdict: Callable[[Mutant, str, Sequence[str], float], str | None],
) -> None:
    """Find a verdict on each mutant, print the survivors, write the log."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    for mutant in mutants:
        source = Path(mutant.file).read_text(encoding="utf-8")
        tests = reach.of(mutant, source)
        total, chosen = 0.0, []
        for test in tests:
            total += reach.seconds[test]
            if chosen and total > arguments.seconds:
                break
            chosen.append(test)
        text = mutate_code(source, get_operator(f"core/{mutant.operator}")(), mutant.occurrence)
        limit = SLACK + 5 * min(total, arguments.seconds)
        result = verdict(mutant, text, chosen, limit) if chosen else "no test"
        if result is None:
            continue
        if result in ALIVE:
            left = f" ({len(tests) - len(chosen)} tests left out)" if len(chosen) < len(tests) else ""
            print(f"{mutant.file}:{mutant.line} {result}{left}\n  - {mutant.before}\n  + {mutant.after}", flush=True)
        with arguments.log.open("a", encoding="utf-8") as log:
            log.write(json.dumps({**asdict(mutant), "verdict": result}) + "\n")


def module_of(file: str) -> str:
    """The name under which a file is imported."""
    parts = Path(file).resolve().relative_to(SOURCES.resolve()).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _environment(mutant: Mutant, text: str, folder: Path) -> dict[str, str]:
    """What makes every new process import the mutant."""
    (folder / "mutant.py").write_text(text, encoding="utf-8")
    return {
        "MUTANT_MODULE": module_of(mutant.file),
        "MUTANT_FILE": str(Path(mutant.file).resolve()),
        "MUTANT_SOURCE": str(folder / "mutant.py"),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")])),
    }


def _word(code: int | None) -> str:
    return "time" if code is None else "survived" if code == 0 else "killed"


def _in_child(run: Callable[[], int], limit: float, output: Path | None) -> int | None:
    """The exit code of a forked process with children of its own, or None if it took too long."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        if output is not None:
            file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(file, 1)
            os.dup2(file, 2)
        code = 1
        try:
            code = run()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    end = time.monotonic() + limit
    code = None
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            break
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what the tests have left behind, and the child itself if it is late
    if code is None:
        os.waitpid(child, 0)
    return code


def main() -> None:
    """Parse the arguments, run, print the survivors and a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", help="modules to change")
    parser.add_argument("--tests", nargs="+", required=True, help="files, folders or names of tests")
    parser.add_argument("--options", default="", help="for pytest, such as '-m \"slow or not slow\"'")
    parser.add_argument("--seconds", type=float, default=120.0, help="of tests for one mutant at most")
    parser.add_argument("--per-line", type=int, default=1000, help="mutants of one line at most, spread over its kinds")
    parser.add_argument("--inside", action="store_true", help="only changes inside of functions")
    parser.add_argument("--only", default="", help="lines, such as 12,40-60")
    parser.add_argument("--log", type=Path, help="verdicts, one JSON object per line")
    parser.add_argument("--again", action="store_true", help="only the survivors in the log")
    parser.add_argument("--list", action="store_true", help="print the mutants and stop")
    arguments = parser.parse_args()
    lines = _lines(arguments.only)
    mutants = [m for file in arguments.files for m in mutants_of(Path(file)) if not lines or m.line in lines]
    mutants = _sample(mutants, arguments.per_line)
    if arguments.list:
        for mutant in mutants:
            print(f"{mutant.file}:{mutant.line} {mutant.operator}: {mutant.before}  ->  {mutant.after}")
        print(len(mutants))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sitecustomize.py").write_text(HOOK, encoding="utf-8")
        arguments.log = arguments.log or folder / "log"
        _try(mutants, arguments, folder)
        verdicts = _read(arguments.log)
    for file in arguments.files:
        counts = Counter(verdicts.get(mutant.key, "not tried") for mutant in mutants if mutant.file == file)
        print(f"{file}: {counts.total()} mutants, {', '.join(f'{n} {word}' for word, n in counts.most_common())}")


def _try(mutants: list[Mutant], arguments: argparse.Namespace, folder: Path) -> None:
    """Those that have no verdict yet: first in functions, then outside of them."""
    verdicts = _read(arguments.log)
    wanted = [m for m in mutants if (verdicts.get(m.key) in ALIVE if arguments.again else m.key not in verdicts)]
    options = ["-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", *shlex.split(arguments.options)]
    sys.path.insert(0, os.getcwd())  # as `python -m pytest` has it; workers of a cluster import the tests from there
    for module in COMMON:
        importlib.import_module(module)
    before = _entries(arguments.log)

    def laboratory() -> int:
        import pytest

        return int(pytest.main([*options, *arguments.tests], plugins=[Laboratory(arguments, wanted, folder)]))

    _in_child(laboratory, math.inf, None)
    done = {tuple(row[name] for name in KEY) for row in _entries(arguments.log)[len(before) :]}
    if not (folder / "reach.json").exists():
        sys.exit("the tests did not run; what pytest says is above")
    reach = Reach.read(folder / "reach.json")
    rest = [mutant for mutant in wanted if mutant.key not in done and not arguments.inside]
    try_all(rest, reach, arguments, lambda *case: try_afresh(*case, options, folder))


def _sample(mutants: list[Mutant], most: int) -> list[Mutant]:
    """At most so many of each line, another kind on another line."""
    lines = defaultdict(list)
    for mutant in mutants:
        lines[mutant.file, mutant.line].append(mutant)
    chosen = []
    for (_, line), group in lines.items():
        first = line % len(group)
        chosen += (group[first:] + group[:first])[:most]
    return chosen


def _lines(text: str) -> set[int]:
    ranges = [part.split("-") for part in text.split(",") if part]
    return {line for ends in ranges for line in range(int(ends[0]), int(ends[-1]) + 1)}


def _entries(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []


def _read(log: Path) -> dict[tuple[Any, ...], str]:
    return {tuple(row[name] for name in KEY): row["verdict"] for row in _entries(log)}


if __name__ == "__main__":
    main()
