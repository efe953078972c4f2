# Everything sets itself up: python3 >= 3.11, git and a package index are all that a fresh machine needs.
#   make audit [REPO=path, owner/repo or address] [FAIL_ON=critical]
#   make test    make lint    make generate    make lock

PYTHON ?= python3
REPO ?= examples/tiny-trainer
FAIL_ON ?= never
VENV := .venv
BIN := $(VENV)/bin

.PHONY: audit test lint format generate picture check-generated lock clean

audit: $(VENV)/.runtime
	@$(BIN)/python -m audit audit "$(REPO)" --fail-on $(FAIL_ON)

test: $(VENV)/.dev
	$(BIN)/pytest -n auto

lint: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

picture: $(VENV)/.dev
	$(BIN)/python tools/picture.py

generate: $(VENV)/.dev
	$(BIN)/python tools/generate.py

check-generated: $(VENV)/.dev
	$(BIN)/python tools/generate.py --check

# The only target that needs uv. Addresses of indexes and paths of machines stay out of the files.
LOCK := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-emit-find-links --custom-compile-command "make lock" pyproject.toml
lock:
	$(LOCK) --output-file requirements/runtime.lock
	$(LOCK) --group dev --constraint requirements/runtime.lock --output-file requirements/dev.lock
	$(LOCK) --group e2e --constraint requirements/dev.lock --output-file requirements/e2e.lock

$(VENV)/.runtime: requirements/runtime.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "$(PYTHON) is older than 3.11: say make PYTHON=...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/runtime.lock
	@touch $@

$(VENV)/.dev: requirements/dev.lock pyproject.toml $(VENV)/.runtime
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
