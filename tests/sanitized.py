"""What of the tests runs under the sanitizers: `make sanitize` loads this with `-p sanitized`.

Instrumented code takes several times the time and memory of the real one, so tests that measure either are left out,
and so are those in a browser, which the libraries of the sanitizers do not let start, and on a Dask cluster, whose
native code others reach too. Properties are tried with fewer examples.
"""

from __future__ import annotations

import pytest
from hypothesis import settings

EXAMPLES = 25  # of a property that does not ask for a number of its own
CLUSTER = {"client", "cluster_of"}

# file and test: why it is left out
UNFIT = {
    "model/test_model_fuzz.py::test_hostile_files_neither_crash_nor_fill_the_memory": "a limit of memory",
    "model/test_model_fuzz.py::test_mutants_take_little_memory": "memory",
    "model/test_model_loading.py::test_opening_reads_the_header_and_nothing_else": "memory",
    "model/test_model_checksums.py::test_opening_does_not_read_what_verify_reads": "memory",
    "corpus/test_parquet.py::test_memory_does_not_grow_with_a_huge_row_group": "memory",
    "topics/factors/test_pca.py::test_memory_does_not_grow_with_documents_times_terms": "memory",
    "topics/lda/test_lda_streams.py::test_memory_does_not_depend_on_the_number_of_documents": "memory",
    "topics/lda/test_lda_streams.py::test_a_large_model_fits_in_400_megabytes": "memory",
    "topics/lda/test_sampling.py::test_100_000_words_and_400_topics_take_less_than_400_megabytes": "memory",
    **{
        f"sequence/{test}": "Wapiti's binding frees with the C library's free what the sanitizer allocated"
        for test in (
            "test_exchange.py::test_a_tagger_trained_here_labels_identically_in_wapiti",
            "test_exchange.py::test_a_tagger_trained_by_wapiti_labels_identically_here",
            "test_formats.py::test_a_model_of_wapiti_labels_as_wapiti_does",
            "test_formats.py::test_a_model_written_for_wapiti_labels_there_as_here",
        )
    },
    **dict.fromkeys(
        (
            "lm/test_leave_one_out.py::test_the_cost_is_that_of_the_document",
            "sequence/test_decoders.py::test_hundreds_of_thousands_of_labelings_are_found_in_order",
            "tasks/voicemail/test_numbers.py::test_millions_of_words_are_read_in_one_pass",
            "topics/factors/test_nmf.py::test_kl_looks_at_the_non_zeros_alone",
            "trees/test_categorical.py::test_the_groups_of_thousands_of_values_are_found",
        ),
        "hundred millions of steps, so that what is quadratic has no end; real code takes seconds",
    ),
}


def pytest_configure() -> None:
    settings.register_profile("sanitized", parent=settings.default, max_examples=EXAMPLES)
    settings.load_profile("sanitized")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    names = {_name(item) for item in items}
    files = {name.partition("::")[0] for name in names}
    missing = [name for name in UNFIT if name.partition("::")[0] in files and name not in names]
    if missing and not config.option.keyword:
        raise pytest.UsageError(f"tests/sanitized.py leaves out a test that is not there: {', '.join(missing)}")
    left_out = [item for item in items if _is_unfit(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def _is_unfit(item: pytest.Item) -> bool:
    on_a_cluster = not CLUSTER.isdisjoint(getattr(item, "fixturenames", ()))
    return on_a_cluster or item.get_closest_marker("browser") is not None or _name(item) in UNFIT


def _name(item: pytest.Item) -> str:
    """File and test without parameters."""
    return item.nodeid.removeprefix("tests/").partition("[")[0]
