# Three commands for a fresh machine with Python 3.11+, pip, make and git:
#   make quickstart   set up, replay the shipped scenario, show its depth table
#   make study        set up, serve a small study for people to judge in
#   make test         set up everything, pass the tests
PYTHON ?= python3
BIN := .venv/bin
# Byte code is left to the first import: most of what is installed is never imported.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

# Tests start a hundred processes, each of which would have to compile the program anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: quickstart study test test-long mutants lint types docs clean

quickstart: .venv/ready
	$(BIN)/replay run quickstart

study: .venv/ready
	$(BIN)/replay study demo

# Who has run out of tests takes half of what another has left; tests of a file stay together till then.
test: .venv/ready-dev
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal --durations=20

# The same with more examples and longer inputs.
test-long: .venv/ready-dev
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal --long

# Faults put into the code one at a time: would the tests notice? Takes a while; not part of CI.
mutants: .venv/ready-dev
	$(BIN)/python benchmarks/mutants.py

lint: .venv/ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/ready-dev
	$(BIN)/mypy

# The documentation site, into build/docs. Look at it with: .venv/bin/python -m http.server -d build/docs
docs: .venv/ready-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --config-file docs/site/mkdocs.yml

.venv/ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version)'
	[ -x $(BIN)/python ] || $(PYTHON) -m venv .venv
	$(INSTALL) --editable .
	touch $@

.venv/ready-dev: .venv/ready
	$(INSTALL) --editable '.[dev]'
	touch $@

.venv/ready-docs: .venv/ready
	$(INSTALL) --editable '.[docs]'
	touch $@

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
