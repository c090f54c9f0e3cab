PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Compiled kernels of this checkout stay in it, so that a fresh clone starts cold.
export PX4LOCKSTEP_CACHE_DIR ?= $(CURDIR)/.cache/px4lockstep

.PHONY: fly test lint bench pictures digests clean

test: lint
	$(BIN)/python tests/support/warm_cache.py
	$(BIN)/python -m pytest -n 2
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -n 2 -m "not compiled" tests/engine tests/integrators tests/plant tests/scenario

fly: $(VENV)/ready
	env -u PX4LOCKSTEP_CACHE_DIR $(BIN)/px4lockstep run iris  # into the user's cache, where later commands look

lint: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/ready
	$(BIN)/python -m pytest benchmarks -s --benchmark-columns=min,median,ops
	$(BIN)/px4lockstep bench

pictures: $(VENV)/ready
	PYTHONPATH=tests/support:tests/against $(BIN)/python tools/pictures.py

digests: $(VENV)/ready  # REASON="why the flights of aircraft that ship are others now"
	$(BIN)/python tools/renew_digests.py --reason "$$REASON"

$(VENV)/ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis
