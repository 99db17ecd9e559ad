# textmill: everything sets itself up in .venv; nothing is rebuilt when nothing changed.
#
#   make demo       install, run the main jobs on the sample data, write demo/report.html
#   make test       install, run every test but the slow ones (what CI runs)
#   make check      the gates and the tests of what you changed, before each commit
#   make test-all   with full fuzz and random counts
#   make sanitize   the native tests under the address and undefined-behavior sanitizers
#   make long       everything that is too long for every day, recorded in docs/operations.md
#   make bench      ours and the peers, as ratios (SUBJECT=vectorise for one)
#   make docs       the documentation site, in site/
#   make wheel      a wheel for other machines, in dist/, tried in an environment without a compiler
#   make browser    Debian's chromium for the browser tests (as root)
#   make programs   OpenFst's programs, which tests compare ours with (as root)
#   make clean      remove everything that was made

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
STAMPS := $(VENV)/stamps
NATIVE := CMakeLists.txt $(shell find native -type f)
# an editable install remembers which modules there were: a new or a removed one asks for another
MODULES := $(shell find src/textmill -name '*.py' | LC_ALL=C sort | cksum | cut -d' ' -f1)
BUILT := $(STAMPS)/built-$(MODULES)
PIP := $(PY) -m pip install --quiet --disable-pip-version-check
# Only textmill itself is built without isolation, on the build tools of $(STAMPS)/venv: everything else is not ours to build.
OURS := --no-build-isolation --no-deps
PYTEST := $(PY) -m pytest -q -n $(or $(JOBS),auto) --dist worksteal
export PYTHONHASHSEED := 0

.PHONY: say-what-is-to-be-done demo test check test-all sanitize long bench docs wheel browser programs clean

demo: say-what-is-to-be-done $(BUILT)
	@$(PY) -m examples.tour --output demo

test: say-what-is-to-be-done $(BUILT) $(STAMPS)/test
	@$(PYTEST)

test-all: $(BUILT) $(STAMPS)/test
	@$(PYTEST) -m "slow or not slow"

long: $(BUILT) $(STAMPS)/test
	$(PY) tools/long_run.py

check: $(BUILT) $(STAMPS)/test
	@$(PYTEST) -x $$($(PY) tools/changed_tests.py)

bench: $(BUILT) $(STAMPS)/bench .venv-peer-py_stringmatching
	@$(PY) -m bench $(SUBJECT)

docs: $(BUILT) $(STAMPS)/test
	@$(PY) -m mkdocs build --strict --quiet

# On a machine where nothing is set up yet: what comes, and about how long it takes.
say-what-is-to-be-done:
	@test -e $(BUILT) || $(PYTHON) tools/build.py --plan $(if $(wildcard $(STAMPS)/all),,packages)

# The environment and the build tools. A machine needs only Python and a C++20 compiler: cmake and ninja come from PyPI.
$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "textmill needs Python 3.11 or newer; set PYTHON=")'
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@$(PIP) --upgrade pip
	@$(PIP) "scikit-build-core>=0.11" "nanobind>=2.8" cmake ninja
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/all: $(STAMPS)/venv pyproject.toml
	@$(PY) tools/requirements.py > $(STAMPS)/all.txt && $(PIP) -r $(STAMPS)/all.txt
	@touch $@

# A peer that cannot be installed is named, and its tests are skipped.
$(STAMPS)/test: $(STAMPS)/all
	@$(PIP) --group test
	@$(PIP) --group peers || $(PY) tools/requirements.py peers | while read -r peer; do \
	  $(PIP) "$$peer" || echo "$$peer could not be installed: its tests are skipped"; done
	@touch $@

# textstat installs tests of its own as the package `tests`, which would hide ours from the workers of a cluster.
$(STAMPS)/bench: $(STAMPS)/test
	$(PIP) --group bench
	rm -rf "$$($(PY) -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/tests"
	touch $@

$(STAMPS)/wheel: $(STAMPS)/all
	$(PIP) --group wheel
	touch $@

$(BUILT): $(STAMPS)/all $(NATIVE)
	@rm -f $(STAMPS)/built-*
	@$(PY) tools/build.py $(OURS) -e .
	touch $@

# One compiled wheel, built apart from what tests use; auditwheel tags it with the oldest Linux it runs on.
wheel: $(STAMPS)/wheel
	rm -rf dist && mkdir -p dist
	$(PY) -m pip wheel --quiet --disable-pip-version-check $(OURS) --wheel-dir build/wheels . \
	  -C build-dir=build/wheel -C cmake.define.TEXTMILL_TESTING=OFF
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(PY) -m auditwheel repair --wheel-dir dist build/wheels/textmill-*.whl
	rm -r build/wheels
	$(PY) tools/check_wheel.py dist/textmill-*.whl

# A peer that needs an older NumPy, measured in a process of its own.
.venv-peer-py_stringmatching:
	$(PYTHON) -m venv $@
	$@/bin/python -m pip install --quiet --disable-pip-version-check "numpy<2" "setuptools<81" six py_stringmatching

# A second environment with an instrumented build, which borrows the packages of the first. A finding ends the process;
# it is printed above the test that did it, since only what Python prints is captured. tests/sanitized.py says what is left out.
SANITIZED := .venv-sanitize
SANITIZED_PY := $(SANITIZED)/bin/python
SANITIZED_TESTS := $(addprefix tests/,native model corpus vectors topics sequence strings linear fst lm trees tasks)
sanitize: $(STAMPS)/test
	test -x $(SANITIZED_PY) || $(PYTHON) -m venv $(SANITIZED)
	$(PY) -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' \
	  > $$($(SANITIZED_PY) -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/borrowed.pth
	$(SANITIZED_PY) -m pip install --quiet --disable-pip-version-check $(OURS) . \
	  -C build-dir=build/sanitize -C cmake.define.TEXTMILL_SANITIZE=ON -C cmake.define.TEXTMILL_TESTING=ON -C cmake.build-type=RelWithDebInfo
	env -u TEXTMILL_DATA PYTHONPATH=tests \
	  LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:quarantine_size_mb=64 UBSAN_OPTIONS=print_stacktrace=1 \
	  $(SANITIZED_PY) -m pytest -q -n $(or $(JOBS),auto) --dist worksteal --capture=sys -p no:cacheprovider -p sanitized \
	  $(SANITIZED_TESTS)

browser:
	@if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ]; then apt-get update -qq && apt-get install -y -qq chromium chromium-driver >/dev/null; \
	else echo "chromium is missing; run 'make browser' as root, or browser tests are skipped"; fi

programs:
	@if command -v fstcompile >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ]; then apt-get update -qq && apt-get install -y -qq libfst-tools >/dev/null; \
	else echo "OpenFst's programs are missing; run 'make programs' as root, or the tests against them are skipped"; fi

clean:
	rm -rf .venv .venv-* build dist site demo src/textmill/_native .pytest_cache .mypy_cache .ruff_cache .hypothesis bench/results
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
