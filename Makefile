# `make demo` and `make test` set up everything they need on a fresh machine with Python 3.11+.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
PAGES := src/trainfare/web
ASSETS := $(PAGES)/static/version.txt

SEEDS ?= 30

.PHONY: demo test lint bench engines plans reference scorecard setup assets services clean

demo: $(VENV)/.ready assets
	$(BIN)/trainfare demo --folder demo --months 3 --serve

test: $(VENV)/.ready-dev assets services
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

lint: $(VENV)/.ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.ready-bench
	$(BIN)/python bench/attribution.py

# DuckDB and Spark side by side. Smaller: make engines MILLIONS="1 10"
MILLIONS ?= 1 10 100
engines: $(VENV)/.ready-bench $(VENV)/.ready-dev services
	$(BIN)/python bench/engines.py --millions $(MILLIONS)

# How Spark runs the heavy steps.
plans: $(VENV)/.ready-dev services
	$(BIN)/python docs/print_plans.py

reference: $(VENV)/.ready
	$(BIN)/python docs/print_reference.py
	$(BIN)/python docs/print_errors.py

# Game days with known truth, about three seconds of work each; the page is what was found on this machine.
scorecard: $(VENV)/.ready
	$(BIN)/trainfare gameday --seeds $(SEEDS) --format md > docs/scorecard.new.md
	mv docs/scorecard.new.md docs/scorecard.md

setup: $(VENV)/.ready-dev assets

# Scripts and styles of the pages, from npm packages.
assets: $(ASSETS)

$(ASSETS): $(wildcard $(PAGES)/assets/* $(PAGES)/assets/.npmrc) | $(VENV)/bin/python
	sh $(PAGES)/assets/build.sh $(abspath $(BIN))/python

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
	rm -rf $(VENV) .venv-focus demo build $(PAGES)/static
