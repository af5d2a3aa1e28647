# `make demo` and `make test` set up everything they need on a fresh machine with Python 3.11+.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 3
PAGES := src/trainfare/serve
ASSETS := $(PAGES)/static/version.txt

# Only files whose hashes are listed are installed, and nothing that is not listed.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps
PINNED := $(PIP) --require-hashes -r

SEEDS ?= 30

.PHONY: demo test test-services test-kubernetes kubernetes soak lint bench engines plans reference scorecard screenshots setup assets services pins sbom clean

demo: $(VENV)/.ready assets
	$(BIN)/trainfare demo --folder demo --months 3 --serve

# Everything a change can break in the embedded product.
test: $(VENV)/.ready-dev assets services
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "not services and not soak and not kubernetes"

# What needs other systems or time: clusters, object stores, a real scheduler, sampled kills, screenshots of every page.
test-services: $(VENV)/.ready-dev assets services
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m services

# A real control plane with hollow nodes. Its programs are built at the first time, in 10 minutes on two quiet cores and in
# 30 on busy ones; without them: make test-kubernetes BUILT=
BUILT ?= kubernetes
test-kubernetes: $(VENV)/.ready-dev $(BUILT)
	$(BIN)/python -m pytest tests/test_real_kubernetes.py -rs

# The programs of Kubernetes, outside the repository.
kubernetes:
	@sh tests/services/kubernetes/build.sh "$$(PYTHONPATH=tests $(BIN)/python -c \
		'from services import kubernetes_cluster; print(kubernetes_cluster.installed())')"

# Long campaigns; they print their seeds. SOAK multiplies how long they run.
SOAK ?= 10
soak: $(VENV)/.ready-dev assets services
	TRAINFARE_SOAK=$(SOAK) $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m soak -s
	TRAINFARE_SOAK=$(SOAK) $(BIN)/python -m pytest tests/test_real_kubernetes.py -s
	$(MAKE) scorecard

lint: $(VENV)/.ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.ready-bench
	$(BIN)/python bench/attribution.py
	$(BIN)/python bench/questions.py

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

# Pictures of the real pages, for the README.
screenshots: $(VENV)/.ready-dev assets services
	$(BIN)/python docs/take_screenshots.py

setup: $(VENV)/.ready-dev assets

# Scripts and styles of the pages, from npm packages.
assets: $(ASSETS)

$(ASSETS): $(wildcard $(PAGES)/assets/* $(PAGES)/assets/.npmrc) | $(VENV)/bin/python
	sh $(PAGES)/assets/build.sh $(abspath $(BIN))/python

# Real services that tests start themselves. Without root or apt they are left out, and those tests say why they skip.
services:
	@sh tests/services/install.sh $(abspath $(BIN))/python

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.ready: pyproject.toml requirements.txt requirements-build.txt | $(VENV)/bin/python
	$(PINNED) requirements-build.txt
	$(PINNED) requirements.txt
	$(PIP) -e .
	@touch $@

$(VENV)/.ready-dev: requirements-dev.txt $(VENV)/.ready
	$(PINNED) requirements-dev.txt
	@touch $@

$(VENV)/.ready-bench: requirements-bench.txt $(VENV)/.ready
	$(PINNED) requirements-bench.txt
	@touch $@

# Write the version and the hashes of everything that is installed. Newer versions: make pins UPGRADE=--upgrade
UPGRADE ?=
COMPILE = $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-annotate \
	--python-version $(1) --custom-compile-command "make pins" $(UPGRADE) --output-file $(2)
pins: $(VENV)/bin/python
	$(PINNED) requirements-pins.txt
	$(call COMPILE,3.11,requirements-dev.txt) pyproject.toml --all-extras --group dev
	$(call COMPILE,3.11,requirements.txt) pyproject.toml --constraints requirements-dev.txt
	$(call COMPILE,3.11,requirements-bench.txt) --group bench --constraints requirements-dev.txt
	$(call COMPILE,3.11,requirements-build.txt) --group build --constraints requirements-dev.txt
	$(call COMPILE,3.11,requirements-assets.txt) --group assets
	$(call COMPILE,3.11,requirements-pins.txt) --group pins
	$(call COMPILE,3.12,requirements-focus.txt) --group focus

# Everything that is installed, with licenses. For programs: trainfare sbom --format cyclonedx
sbom: $(VENV)/.ready
	$(BIN)/trainfare sbom

clean:
	rm -rf $(VENV) .venv-focus demo build $(PAGES)/static
