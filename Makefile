# `make demo` and `make test` set up everything they need on a fresh machine with Python 3.11+.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.PHONY: demo test lint bench reference setup services clean

demo: $(VENV)/.ready
	$(BIN)/trainfare demo --folder demo

test: $(VENV)/.ready-dev services
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

lint: $(VENV)/.ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.ready-bench
	$(BIN)/python bench/attribution.py

reference: $(VENV)/.ready
	$(BIN)/python docs/print_reference.py
	$(BIN)/python docs/print_errors.py

setup: $(VENV)/.ready-dev

# Real services that tests start themselves. Without root or apt they are left out, and those tests say why they skip.
services:
	@sh tests/services/install.sh

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.ready: pyproject.toml requirements.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.txt -e .
	@touch $@

$(VENV)/.ready-dev: pyproject.toml requirements.txt requirements-dev.txt $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt -c requirements.txt
	@touch $@

$(VENV)/.ready-bench: requirements-bench.txt $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-bench.txt -c requirements.txt
	@touch $@

clean:
	rm -rf $(VENV) demo
