# Two commands do it all: `make run` and `make test`. Each sets up what it needs, once.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
unexport PYTHONDONTWRITEBYTECODE  # a container may set it; each of the 100 jobs of a run would compile the package again
.PHONY: help setup docs run construct open report test lint format lock upgrade schema pin record clean audit-table findings dist example

PYTHON ?= python3
CORES ?= all
EDITION ?=
LIMIT ?=
NAME ?= pocket
VENV := .venv
INSTALLED := $(VENV)/.installed
PEERS := $(VENV)/peers/.installed
SITE := $(VENV)/site/.installed
RELEASE := $(VENV)/release/.installed
AGAIN := .snakemake/known-unknowns.again
IN_VENV := PATH="$$PWD/$(VENV)/bin:$$PATH"
CHOSEN := $(or $(EDITION),pocket)
LIMITED := $(if $(LIMIT),'editions={$(CHOSEN): {limit: $(LIMIT)}}')
# --config takes all words up to the next option, so that it is not the last one: files may follow.
SNAKEMAKE := $(IN_VENV) snakemake $(if $(EDITION)$(LIMIT),--config edition=$(CHOSEN) $(LIMITED)) --cores $(CORES)
EXAMPLE := {data: pocket, benchmarks: [humblebench], models: [oracle, always_refuse, uniform, pocket], seeds: [0], limit: 40, \
  variants: {humblebench: [original, nota_only, blank]}}
MADE := $(patsubst %/,%,$(foreach folder,raw questions,$(wildcard data/$(CHOSEN)/$(folder)/*/)))

help: ## Show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /make \1\t/' | expand -t 15
	@echo
	@echo "Variables: EDITION=pocket|full|papers|released  LIMIT=100  CORES=2  ARGS='options for snakemake or pytest'  PYTHON=python3.12"

setup: $(INSTALLED) ## Make the virtual environment with the locked packages

$(INSTALLED): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or newer is needed, and $(PYTHON) is $$($(PYTHON) --version 2>&1 || true)." \
	    "Name another one: make $(or $(MAKECMDGOALS),setup) PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "Setting up $(VENV) with the locked packages (2 GB, some minutes; only this once)"
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "$(PYTHON) cannot make virtual environments (on Debian: apt install python3-venv)." >&2; exit 1; }
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c requirements.lock \
	  -e ".[models,adapters,api,exchange,workflow,report,construction,review,dev]"
	@touch $@

run: $(INSTALLED) ## From data to the report: answer, score, measure, compare (EDITION=full: the published data)
	@rm -f $(AGAIN)
	@$(SNAKEMAKE) $(ARGS)
	@if [ -e $(AGAIN) ]; then rm $(AGAIN); $(SNAKEMAKE) $(ARGS); fi

construct: $(INSTALLED) ## Questions from scene graphs to a release candidate (NAME=an entry of construction in params.yaml)
	@$(IN_VENV) known-unknowns construct generators $(NAME) >/dev/null  # names an unknown entry
	@$(SNAKEMAKE) construction/$(NAME)/release_candidate $(ARGS)

open: $(INSTALLED) ## Open the report of the finished run, and print the commands that serve it and MLflow
	@$(IN_VENV) known-unknowns open $(if $(EDITION),--edition $(EDITION)) $(ARGS)

report: $(INSTALLED) ## Snakemake's own report of the finished run: provenance, timings, the figures
	@$(SNAKEMAKE) --report results/$(CHOSEN)/snakemake-report.html $(ARGS)

$(PEERS): tests/peers.txt $(INSTALLED)
$(SITE): scripts/docs.txt $(INSTALLED)
$(RELEASE): scripts/release.txt $(INSTALLED)
$(PEERS) $(SITE) $(RELEASE):
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade \
	  --ignore-requires-python --target $(@D) -r $<
	@touch $@

docs: $(SITE) ## Build the documentation site in build/docs; a broken link is an error
	@PYTHONPATH=$(VENV)/site $(VENV)/bin/python scripts/docs.py $(ARGS)

test: $(INSTALLED) $(PEERS) ## Run all tests (three processes on two cores: many tests wait for servers)
	@$(IN_VENV) pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder \
	  --durations 50 --durations-min 1 $(ARGS)

lint: $(INSTALLED) ## Check format, lint and the workflow, changing nothing
	@$(IN_VENV) ruff format --check .
	@$(IN_VENV) ruff check .
	@$(IN_VENV) snakefmt --check Snakefile rules
	@$(IN_VENV) lint-imports --no-logo
	@$(IN_VENV) mypy
	@$(IN_VENV) snakemake --lint

format: $(INSTALLED) ## Format everything in place
	@$(IN_VENV) ruff format .
	@$(IN_VENV) ruff check --fix .
	@$(IN_VENV) snakefmt Snakefile rules
	@$(VENV)/bin/python scripts/core_table.py

lock: $(INSTALLED) ## Maintainers: write requirements.lock and envs/ from pyproject.toml
	@$(VENV)/bin/python scripts/lock.py

upgrade: $(INSTALLED) ## Maintainers: the same, with the newest versions that fit
	@$(VENV)/bin/python scripts/lock.py --upgrade

schema: $(INSTALLED) ## Maintainers: write the JSON schema of params.yaml from its classes
	@$(VENV)/bin/python -m known_unknowns.config.schema

audit-table: $(INSTALLED) ## Maintainers: write the table of issues in bench/audit
	@$(VENV)/bin/python scripts/audit_table.py

findings: $(INSTALLED) ## The table and the figure of docs/findings.md, from the published numbers in the package
	@$(VENV)/bin/python scripts/findings.py

example: $(INSTALLED) ## Maintainers: draw docs/report.png, the first page of a report on 40 rendered questions (needs Chromium)
	@$(IN_VENV) snakemake --cores $(CORES) --config edition=example 'editions={example: $(EXAMPLE)}' \
	  'tracking={enabled: false}' $(ARGS)
	@$(VENV)/bin/python -m scripts.report_picture

dist: $(RELEASE) ## Maintainers: build the wheel and the sdist in build/dist, and check both with twine
	@rm -rf build/dist
	@PYTHONPATH=$(VENV)/release $(VENV)/bin/python -m build --no-isolation --outdir build/dist . > /dev/null
	@PYTHONPATH=$(VENV)/release $(VENV)/bin/python -m twine check --strict build/dist/*

pin: $(INSTALLED) ## Maintainers: pin the data and the replies of a finished run with DVC
	@$(IN_VENV) known-unknowns data pin $(if $(EDITION),--edition $(EDITION)) $(ARGS)

record: $(INSTALLED) ## Maintainers: record the results of a finished run in dvc.lock, and pin its data
	@$(IN_VENV) known-unknowns data pin --results $(if $(EDITION),--edition $(EDITION)) $(ARGS)

clean: ## Remove an edition's results and data; the environment, the replies in the journal and MLflow's runs stay
	rm -rf results/$(CHOSEN) $(MADE)
