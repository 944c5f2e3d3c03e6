# Two commands for a fresh machine with Python 3.11+, pip, make and git:
#   make quickstart   set up, replay the shipped scenario, show its depth table
#   make test         set up everything, pass the tests
PYTHON ?= python3
BIN := .venv/bin
# Byte code is left to the first import: most of what is installed is never imported.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

.PHONY: quickstart test mutants lint types clean

quickstart: .venv/ready
	$(BIN)/replay run quickstart

test: .venv/ready-dev
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile

# Faults put into the code one at a time: would the tests notice? Takes a while; not part of CI.
mutants: .venv/ready-dev
	$(BIN)/python benchmarks/mutants.py

lint: .venv/ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/ready-dev
	$(BIN)/mypy

.venv/ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version)'
	$(PYTHON) -m venv .venv
	$(INSTALL) --editable .
	touch $@

.venv/ready-dev: .venv/ready
	$(INSTALL) --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
