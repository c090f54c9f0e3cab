PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Compiled kernels of this checkout stay in it, so that a fresh clone starts cold.
export PX4LOCKSTEP_CACHE_DIR ?= $(CURDIR)/.cache/px4lockstep
# Tests start hundreds of interpreters; without bytecode, each of them parses the package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: fly check test test-all prepare collect warm lint docs linkcheck dist test-oldest test-pythons test-aarch64 bench pictures digests fuzz fuzz-atheris clean bench-check bench-record

# Python compiles what is imported, a small part of what is installed.
INSTALL := $(BIN)/python -m pip install --quiet --no-compile
# Many tests wait for processes and sockets, so three workers keep two cores busy. Each has neighbouring tests, which
# share flights, and takes over tests of the others at the end.
WORKERS ?= 3
PYTEST := $(BIN)/python -m pytest --dist worksteal
NEWER_PYTHONS ?= python3.12 python3.13 python3.14

check: $(VENV)/ready  # lint and the fast tier, in this process: under two minutes
	$(MAKE) --no-print-directory --jobs=2 --output-sync=target lint warm
	$(PYTEST) -q -n 2 -m fast

test: prepare  # everything but long proofs
	$(PYTEST) -n $(WORKERS) -m "not slow"

test-all: prepare  # long proofs too: many seeds, wall-clock flows, clean installations, other platforms
	$(BIN)/python tests/support/warm_cache.py generic
	$(PYTEST) -n $(WORKERS)
	$(MAKE) test-oldest test-pythons test-aarch64

prepare: $(VENV)/installed  # compile, while development tools are installed, and lint and documentation are checked
	$(MAKE) --no-print-directory --jobs=2 --output-sync=target warm lint docs collect

warm: $(VENV)/installed  # compile before the tests, which then share what is compiled
	$(BIN)/python tests/support/warm_cache.py

dist: $(VENV)/ready  # all distributions, in dist/, each installed and flown: source, pure, compiled for each Python, and the wrapper of PX4
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m build --wheel --outdir dist --config-setting compile=generic .
	for python in $(NEWER_PYTHONS); do \
		$$python -c "" 2>/dev/null || { echo "$$python: not installed, no compiled wheel for it"; continue; }; \
		$$python -m venv .venv-dist-$$python && .venv-dist-$$python/bin/python -m pip install --quiet build && \
		.venv-dist-$$python/bin/python -m build --wheel --outdir dist --config-setting compile=generic . || exit 1; \
	done
	$(BIN)/python -m build --wheel --outdir dist packaging/px4
	$(BIN)/python tools/check_dist.py dist

test-oldest:  # the fast tier with the oldest versions of all dependencies that pyproject.toml allows
	$(PYTHON) -m venv .venv-oldest
	$(PYTHON) tools/oldest_versions.py > .venv-oldest/constraints.txt
	.venv-oldest/bin/python -m pip install --quiet --editable ".[dev]" --constraint .venv-oldest/constraints.txt
	.venv-oldest/bin/python -m pytest -q -n 2 -m fast -W ignore::DeprecationWarning  # theirs, about each other

test-pythons:  # the fast tier with each newer Python that is installed
	for python in $(NEWER_PYTHONS); do \
		$$python -c "" 2>/dev/null || { echo "$$python: not installed, not tested"; continue; }; \
		$$python -m venv .venv-$$python && .venv-$$python/bin/python -m pip install --quiet --editable ".[dev]" && \
		.venv-$$python/bin/python -m pytest -q -n 2 -m fast || exit 1; \
	done

test-aarch64:  # golden digests on an emulated aarch64; installs Debian packages
	tools/aarch64_digests.sh

fly: $(VENV)/installed
	env -u PX4LOCKSTEP_CACHE_DIR $(BIN)/px4lockstep run x500  # into the user's cache, where later commands look

collect: $(VENV)/ready  # write the bytecode of tests and libraries once, not in each worker; the tests report errors
	$(BIN)/python -m pytest -qq --collect-only > /dev/null || true

lint: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/ready  # the documentation site, in docs/_build/html; a warning or a dead internal link is an error
	$(BIN)/python -m sphinx -q -W --keep-going -n -b html docs docs/_build/html

linkcheck: $(VENV)/ready  # follow the links that lead outside
	$(BIN)/python -m sphinx -q -b linkcheck docs docs/_build/linkcheck

bench: $(VENV)/ready
	PYTHONPATH=benchmarks $(BIN)/python -m pytest benchmarks -s --benchmark-columns=min,median,ops
	$(BIN)/px4lockstep bench

bench-check: $(VENV)/ready  # exits with 1 if a ratio is above that of benchmarks/history.md; on a quiet machine
	$(BIN)/python tools/bench_history.py check

bench-record: $(VENV)/ready  # add an entry to benchmarks/history.md; on a quiet machine
	$(BIN)/python tools/bench_history.py record

pictures: $(VENV)/ready
	PYTHONPATH=tests/support:tests/against $(BIN)/python tools/pictures.py
	PYTHONPATH=tests/support $(BIN)/python tools/view_pictures.py
	PYTHONPATH=tests/support $(BIN)/python tools/report_pictures.py

fuzz: warm  # N=20000 inputs, or those of FORMAT=missions, from SEED=1, INDEX=0 on; keeps those that fail in fuzz-failures/
	PYTHONPATH=tests/support $(BIN)/python -m fuzz $(or $(N),2000) $(if $(FORMAT),--format $(FORMAT)) \
		--seed $(or $(SEED),1) --index $(or $(INDEX),0)

fuzz-atheris: $(VENV)/ready  # FORMAT=recordings or logs, by the coverage of RUNS=10000 inputs
	$(BIN)/python -m pip install --quiet atheris
	PYTHONPATH=tests/support NUMBA_DISABLE_JIT=1 $(BIN)/python -m fuzz.with_atheris $(or $(FORMAT),recordings) \
		-runs=$(or $(RUNS),10000)

digests: $(VENV)/ready  # REASON="why the flights of aircraft that ship are others now"
	$(BIN)/python tools/renew_digests.py --reason "$$REASON"

$(VENV)/installed: pyproject.toml  # what a flight needs, nothing else
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable .  # downloads the dependencies
	touch $@

$(VENV)/ready: $(VENV)/installed  # what developers need too
	$(INSTALL) --editable ".[dev,docs]"
	touch $@

clean:
	rm -rf $(VENV) .cache docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis
