# Needs Python 3.11 or newer; everything else is made here, in .venv.  A C
# compiler is used if there is one: see MILKD_BUILD_EXTENSION in setup.py.

PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$python && break; done)
MILKD_BUILD_EXTENSION ?= auto
export MILKD_BUILD_EXTENSION

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet install
TOOLS := $(VENV)/.tools
# One stamp a choice, so that a tree can go from a compiled to a pure install and back.
PACKAGE := $(VENV)/.package-$(MILKD_BUILD_EXTENSION)
# With the folders: their time changes when a file goes.
FUZZER := $(VENV)/.fuzzer
SOURCES := pyproject.toml setup.py README.md \
	$(shell find milkd _fastcore systemd docs/man ! -name __pycache__ ! -name '*.pyc' ! -name '*.so')

.PHONY: help demo test torture lint bench hotpath clean

help:
	@echo 'make demo           a short life of a memory, told on one page'
	@echo 'make test           the tests (ARGS="-k words" chooses some)'
	@echo 'make torture        the long tests, in rounds; goes on where it was left'
	@echo '                    (T=T4 chooses, SECONDS=600 limits; see docs/testing.md)'
	@echo 'make lint           ruff and mypy'
	@echo 'make bench DIR=...  recall and latency over a folder of conversations'
	@echo 'make hotpath        what finding and recalling cost, beside other programs (12 min;'
	@echo '                    ARGS="--quick" 1 min)'
	@echo 'make clean          remove whatever was made here'

demo: $(PACKAGE)
	@$(BIN)/python docs/demo.py

test: $(PACKAGE)
	@flag=; \
	if ! $(BIN)/python -Pc 'import milkd._fastcore' 2>/dev/null; then \
		echo 'milkd is installed without its extension: testing the pure kernels alone'; \
		flag=--no-extension; \
	fi; \
	PYTHONSAFEPATH=1 $(BIN)/pytest $$flag $(ARGS)

# What was done is kept in .torture.
torture: $(PACKAGE) $(FUZZER)
	@PYTHONSAFEPATH=1 PYTHONPATH=tests $(BIN)/python tests/torture/run.py \
		$(if $(T),--test $(T)) $(if $(SECONDS),--seconds $(SECONDS)) $(if $(ROUND),--round $(ROUND))

lint: $(PACKAGE)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: $(PACKAGE)
	@test -n '$(DIR)' || { echo 'which folder of conversations? make bench DIR=...' >&2; exit 2; }
	@$(BIN)/python bench/recall.py '$(DIR)'

# The other programs, and what was measured, are kept in .bench.
hotpath: $(PACKAGE)
	@$(BIN)/python -P bench/hotpath.py $(ARGS)

clean:
	rm -rf $(VENV) build dist *.egg-info .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache \
		.torture .bench
	find milkd _fastcore tests docs bench -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# pip 25.1 is the first to know dependency groups.
$(TOOLS): pyproject.toml
	@test -n '$(PYTHON)' || { echo 'no Python 3.11 or newer with ensurepip found; name one: make PYTHON=...' >&2; exit 2; }
	$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	$(PIP) --upgrade 'pip>=25.1'
	$(PIP) --group dev
	@touch $@

# Where there is none, T8 is random, but blind.
$(FUZZER): $(TOOLS)
	@$(PIP) --only-binary :all: --group fuzz || echo 'no atheris for this Python: a part of T8 will be skipped'
	@touch $@

# Installed, not linked: the tests see what a user gets.  setuptools would pack
# modules that are gone from the tree if an earlier build were left.
$(PACKAGE): $(TOOLS) $(SOURCES)
	@rm -rf build *.egg-info $(VENV)/.package-*
	$(PIP) --no-build-isolation .
	@touch $@
