"""Small commands start fast: names are imported when they are used, and nothing heavy before it is needed."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import textmill
from bench.startup import COMMANDS, PREPARE, write_inputs
from textmill import deferral
from textmill.numeric import SparseRows, is_sparse, sparse

HEAVY = ("asyncio", "dask", "distributed", "matplotlib", "pandas", "scipy", "sklearn")
PACKAGES = sorted(
    module.name
    for module in pkgutil.walk_packages(textmill.__path__, "textmill.")
    if module.ispkg and not module.name.startswith(("textmill.cli", "textmill._native", "textmill.corpus.samples"))
)
RUN = """
import sys
from textmill.cli.app import main
try:
    main(sys.argv[1:])
except SystemExit as left:
    assert not left.code, left.code
print(*[name for name in {heavy!r} if name in sys.modules], file=sys.stderr)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The inputs of the small commands."""
    folder = tmp_path_factory.mktemp("startup")
    write_inputs(folder)
    for command in PREPARE:
        subprocess.run(
            [sys.executable, "-m", "textmill", "-q", *command.split()], cwd=folder, check=True, capture_output=True
        )
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_a_small_command_imports_nothing_heavy(command: str, folder: Path) -> None:
    code = RUN.format(heavy=HEAVY)
    done = subprocess.run(
        [sys.executable, "-c", code, "-q", *shlex.split(command)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.split() == []


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_lists_the_same_names_in_all_three_places(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__file__ is not None
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    checked = next(node for node in tree.body if isinstance(node, ast.If))  # if TYPE_CHECKING:
    imported: dict[str, set[str]] = {}
    for node in checked.body:
        assert isinstance(node, ast.ImportFrom)
        assert node.module is not None
        imported[node.module.removeprefix(f"{name}.")] = {alias.name for alias in node.names}
    call = next(node.value for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call))
    table = ast.literal_eval(call.args[1])
    assert {module: set(names.split()) for module, names in table.items()} == imported
    assert sorted(module.__all__) == sorted(word for names in table.values() for word in names.split())
    assert sorted(module.__all__) == dir(module)


def test_a_package_without_a_name_says_so() -> None:
    with pytest.raises(AttributeError, match=r"module 'textmill\.fst' has no attribute 'miller'"):
        textmill.fst.miller  # noqa: B018
    with pytest.raises(ImportError, match="miller"):
        exec("from textmill.corpus import miller")


def test_a_module_that_cannot_be_imported_is_not_taken_for_a_missing_name(monkeypatch: pytest.MonkeyPatch) -> None:
    find, _ = deferral.deferred("textmill.corpus", {"nowhere": "Nothing"})
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        find("Nothing")


def test_a_function_hides_the_module_of_its_name_whichever_is_imported_first() -> None:
    code = (
        "import textmill.fst.strings, textmill.fst.draw\n"
        "from textmill import fst\n"
        "assert callable(fst.strings) and callable(fst.draw)\n"
        "from textmill.fst.strings import accep\n"
        "assert fst.strings(accep('a')), fst.strings\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_module_can_be_imported_first() -> None:
    # A cycle shows when an import enters it at another place than usual; one process forgets between two of them.
    code = (
        "import importlib, sys\n"
        "for name in sys.argv[1:]:\n"
        "    importlib.import_module(name)\n"
        "    for loaded in [m for m in sys.modules if m.startswith('textmill.') and '_native' not in m]:\n"
        "        del sys.modules[loaded]\n"
        "        vars(sys.modules['textmill']).pop(loaded.split('.')[1], None)\n"
    )
    names = [module.name for module in pkgutil.walk_packages(textmill.__path__, "textmill.")]
    names = [name for name in names if "_native" not in name and name != "textmill.__main__"]
    subprocess.run([sys.executable, "-c", code, *names], check=True, capture_output=True)


def random_matrix(seed: int) -> sparse.csr_matrix:
    random = np.random.default_rng(seed)
    dense = random.integers(-2, 3, (random.integers(1, 6), random.integers(1, 6))).astype(float)
    return sparse.csr_matrix(dense * (random.random(dense.shape) < 0.6))


@pytest.mark.parametrize("seed", range(30))
def test_plain_rows_do_what_scipy_does(seed: int) -> None:
    X = random_matrix(seed)
    X.data[::2] = 0.0  # stored zeros
    rows = SparseRows(X.data, X.indices, X.indptr, X.shape)
    chosen = np.random.default_rng(seed).integers(0, X.shape[0], 4)
    assert (rows.toarray() == X.toarray()).all()
    assert (rows[chosen].toarray() == X[chosen].toarray()).all()
    assert rows.without_zeros().nnz == np.count_nonzero(X.data)
    assert (rows.without_zeros().csr() != X).nnz == 0
    assert rows.astype(np.float32).dtype == np.float32
    assert is_sparse(rows)
    assert is_sparse(X)
    assert not is_sparse(X.toarray())
