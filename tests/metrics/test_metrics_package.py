"""The package as a whole: what it exports, what it imports, how it signs."""

import importlib
import subprocess
import sys
from importlib import metadata

import pytest

from textmill import metrics
from textmill.metrics import conventions

SUBJECTS = (
    "brackets",
    "classification",
    "curves",
    "edits",
    "ranking",
    "regression",
    "segmentation",
    "significance",
    "spans",
    "utility",
)


def test_everything_public_is_exported_once():
    modules = [importlib.import_module(f"textmill.metrics.{subject}") for subject in SUBJECTS]
    names = [name for module in modules for name in module.__all__]
    assert sorted(metrics.__all__) == sorted([*names, "signature"])
    assert all(getattr(metrics, name) is getattr(module, name) for module in modules for name in module.__all__)


def test_import_stays_light():
    heavy = "sklearn", "scipy.stats", "matplotlib", "dask"
    code = f"import sys, textmill.metrics; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_signature_ends_with_the_version(monkeypatch):
    conventions._version.cache_clear()
    monkeypatch.setattr(metadata, "version", lambda name: {"textmill": "9.9"}[name])
    assert metrics.signature("pk", k=6, unit="gap") == "pk|k:6|unit:gap|textmill:9.9"
    conventions._version.cache_clear()


def test_signature_without_an_installed_package(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    conventions._version.cache_clear()
    monkeypatch.setattr(metadata, "version", missing)
    assert metrics.signature("pk") == "pk|textmill:0+unknown"
    conventions._version.cache_clear()


@pytest.mark.parametrize(
    "counts",
    [
        getattr(metrics, name)()
        for name in metrics.__all__
        if name.endswith("Counts") or name in ("Confusion", "Moments")
    ],
)
def test_empty_counts_start_any_sum(counts):
    assert sum([counts, counts], type(counts)()) == counts
