# Two commands: `make up` and `make test`. Everything they need, they set up; `make help` has the rest.

PYTHON ?= python3
ARGS   ?=
# Each has a PostgreSQL of its own, so more of them than cores only makes everyone wait.
WORKERS ?= 2

VENV  := .venv
BIN   := $(VENV)/bin
LOCAL := $(VENV)/.local-ready
DEV   := $(VENV)/.dev-ready
# Hashes vouch for every file. No source archives: their builds would fetch packages without hashes.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check \
	--require-hashes --only-binary :all:
COMPILE := $(BIN)/uv pip compile --quiet --generate-hashes --universal --python-version 3.11 \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"
# Lambda's Python has them, all but the last, which only the command line uses.
NOT_IN_LAYER := boto3 botocore s3transfer jmespath click
TYPED := $(wildcard layers/core/python layers/dependencies layers/bytecode.py infra functions tests benchmarks)

.DEFAULT_GOAL := help
.PHONY: help up test lint fmt bench bench-full synth lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

up: $(LOCAL) ## start everything on this machine, migrate, and wait for Ctrl-C (ARGS="--bus kafka")
	@$(BIN)/lamplighter up $(ARGS)

test: lint ## lint, types, import contracts and every test (ARGS="-k name" narrows the tests)
	@$(BIN)/python -m infra.local.kafka.jars --if-possible
	@$(BIN)/python -m layers.dependencies.build here > /dev/null
	@$(BIN)/python -m tests.runtime.sam
	@$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadgroup $(ARGS)

lint: $(DEV) ## ruff, mypy and import-linter, without the tests
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy $(TYPED)
	@$(BIN)/lint-imports

fmt: $(DEV) ## format, and fix what can be fixed without thought
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(DEV) ## measure a selection within 10 minutes (ARGS="herd": that one)
	@$(BIN)/python -m benchmarks --quick $(ARGS)

bench-full: $(DEV) ## measure everything for hours, and write it into docs/performance.md
	@$(BIN)/python -m benchmarks --keep $(ARGS)

synth: $(DEV) ## make the CloudFormation templates of all profiles, in cdk.out
	@$(BIN)/python -m infra.aws.app

lock: $(DEV) ## write every lock anew: requirements/*.txt, benchmarks/peers/*.txt
	@cd requirements && ../$(COMPILE) local.in -o local.txt && ../$(COMPILE) dev.in -o dev.txt
	@cd requirements && ../$(COMPILE) $(NOT_IN_LAYER:%=--no-emit-package %) layer.in -o layer.txt
	@cd requirements && ../$(COMPILE) worker.in -o worker.txt
	@cd requirements && ../$(COMPILE) --no-deps sam.in -o sam.txt
	@cd benchmarks/peers && for peer in *.in; do ../../$(COMPILE) $$peer -o $${peer%.in}.txt; done

clean: ## remove everything that make made; .lamplighter (your data) stays
	rm -rf $(VENV) .cache build cdk.out .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	rm -rf .hypothesis layers/core/python/*.egg-info *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "Lamplighter needs Python 3.11 or later, and '$(PYTHON)' is not." >&2; \
		echo "Name another: make PYTHON=/path/to/python3.13 …" >&2; exit 1; }
	@echo "setting up $(VENV)"
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "'$(PYTHON)' has no venv module; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }

$(LOCAL): requirements/local.txt pyproject.toml | $(BIN)/python
	@echo "installing requirements/local.txt"
	@$(INSTALL) -r requirements/local.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--no-index --no-deps --no-build-isolation --editable .
	@touch $@

$(DEV): requirements/dev.txt $(LOCAL)
	@echo "installing requirements/dev.txt"
	@$(INSTALL) -r requirements/dev.txt
	@touch $@
