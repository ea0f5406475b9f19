# Two commands do everything: `make demo` and `make test`. Each sets the project up first.
# Python for set-up: make PYTHON=/path/to/python3.12 demo

PYTHON ?= python3
RUN = .venv/bin/python -m
ONCE = $(RUN) infra.cli
ARGS ?=
# Two processes, since tests mostly wait; each has servers of its own. A file's tests stay together (tests/conftest.py).
SPREAD = --numprocesses 2 --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help setup examples demo test test-full mutants check up down reset status doctor chaos load contracts docs bundle load-bundle lock lock-check clean

help: ## Show this help
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Install everything into .venv (done by the other commands; quick when nothing changed)
	@$(PYTHON) -I infra/setup.py

examples: ## Set up, and install the frameworks of the examples, Django and FastAPI (done by `make test`)
	@$(PYTHON) -I infra/setup.py examples

demo: setup ## Place orders, break things while they flow, and judge the result (ARGS="--without inbox")
	@$(ONCE) demo $(ARGS)

test: examples ## Run the tests: unit, architecture, integration, end to end (ten to fifteen minutes)
	@$(RUN) pytest -m "not full" $(SPREAD) $(ARGS)

test-full: examples ## Run the long tests: more scenarios, whole matrices, documents
	@$(RUN) pytest -m full $(SPREAD) $(ARGS)

mutants: setup ## Change the checker's rules in every small way, and see which change nobody notices (ARGS="log money")
	@$(RUN) tests.mutants $(ARGS)

check: setup ## Check the code in under a minute: ruff, mypy, import rules, unit tests
	@$(RUN) ruff check .
	@$(RUN) ruff format --check -q .
	@$(RUN) mypy
	@.venv/bin/lint-imports --no-logo
	@$(RUN) pytest -m "unit and not full" tests/unit $(SPREAD) $(ARGS)

up: setup ## Start the whole system here and leave it running
	@$(ONCE) up $(ARGS)

down: setup ## Stop it; data stay
	@$(ONCE) down $(ARGS)

reset: setup ## Start again with an empty system
	@$(ONCE) reset $(ARGS)

status: setup ## Show who runs, how far each part is behind, and where to look
	@$(ONCE) status $(ARGS)

doctor: setup ## Look for what keeps the system from running well, and say the cure
	@$(ONCE) doctor $(ARGS)

chaos: setup ## Run a scenario (ARGS="run NAME"), or list them
	@$(ONCE) chaos $(or $(ARGS),list)

load: setup ## Put load on the system, print latencies, and check what it did
	@$(ONCE) load $(ARGS)

contracts: setup ## Write the contracts, docs/saga.md, docs/reference and the tables' SQL from the code
	@$(RUN) infra.contracts

docs: setup ## Build the documents as a site for offline reading, into build/site
	@$(RUN) infra.site $(ARGS)

bundle: setup ## Pack all that a class room without a network needs into build/once-bundle.tar (ARGS="--without-images")
	@$(RUN) infra.bundle $(ARGS)

load-bundle: ## Set up from such a bundle, without a network (ARGS=/media/stick/once-bundle.tar)
	@$(PYTHON) -I infra/load_bundle.py $(ARGS)

lock: setup ## Make the lock files again (needs uv; nothing else does)
	@$(PYTHON) -I infra/lock.py

lock-check: setup ## Download what is locked for every platform and Python we name
	@$(PYTHON) -I infra/lock.py check

clean: ## Stop the system and remove everything that set-up and running made
	@! .venv/bin/python -c "import click" 2>/dev/null || $(ONCE) down --delete-data || true
	@rm -rf .venv .once build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
