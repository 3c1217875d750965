# Two commands for a newcomer: `make demo` and `make test`. Each sets up what it needs.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
PYTEST := $(BIN)/python -m pytest -n auto --dist loadgroup

COVERAGE := $(PYTEST) -m 'not dist' --cov=kolmogorov --cov-report=term:skip-covered $(TESTS)

.PHONY: demo test test-long test-all coverage lint docs examples gallery dist bench tables paper pictures clean help

help:            ## show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

demo: $(VENV)/core.stamp $(VENV)/kernels.stamp            ## learn votes of the United Nations and show what was learned
	$(BIN)/kolmogorov demo

test: $(VENV)/dev.stamp $(VENV)/kernels.stamp   ## run the quick tests, of every part; the last lines say what was left out
	$(PYTEST)

test-long: $(VENV)/dev.stamp $(VENV)/browser.stamp $(VENV)/kernels.stamp   ## run the tests that `make test` leaves out
	$(PYTEST) -m long

test-all: $(VENV)/dev.stamp $(VENV)/browser.stamp $(VENV)/kernels.stamp   ## run every test
	$(PYTEST) -m 'not dist'

coverage: $(VENV)/dev.stamp $(VENV)/browser.stamp $(VENV)/kernels.stamp   ## share of lines that the tests run
	$(COVERAGE)

lint: $(VENV)/dev.stamp             ## ruff, mypy, and the layers of the architecture
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Not --quiet: what is not shown is not counted, and nothing would fail.
docs: $(VENV)/docs.stamp            ## build the documentation into site/, strictly: a broken link or reference fails
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "site/index.html; with search: $(BIN)/python -m http.server --directory site"

examples: $(VENV)/dev.stamp $(VENV)/kernels.stamp   ## put what the examples of the docs print and draw in its place
	$(BIN)/python docs/examples.py

dist: $(VENV)/dev.stamp             ## build wheel and sdist into dist/, install each into an empty environment and use it
	rm -rf dist
	$(BIN)/python -m hatchling build
	KOLMOGOROV_DIST=dist $(BIN)/python -m pytest tests/test_distribution.py -m ''

bench: $(VENV)/bench.stamp $(VENV)/kernels.stamp          ## run the benchmarks that the docs quote
	$(BIN)/python benchmarks/train.py
	$(BIN)/python benchmarks/solvers.py
	$(BIN)/python benchmarks/rules.py
	$(BIN)/python benchmarks/stability.py
	$(BIN)/python benchmarks/accuracy.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/lists.py
	$(BIN)/python benchmarks/serve.py

tables: $(VENV)/dev.stamp   ## put the results of benchmarks into the docs
	$(BIN)/python benchmarks/tables.py

paper: $(VENV)/dev.stamp $(VENV)/kernels.stamp   ## compute the paper's tables and figures into reproduce/results/ and docs/paper.md (hours)
	$(BIN)/python -m reproduce all

pictures: $(VENV)/dev.stamp $(VENV)/kernels.stamp   ## take the screenshots of the report into docs/ (needs chromium)
	$(BIN)/python docs/pictures.py

gallery: $(VENV)/dev.stamp $(VENV)/kernels.stamp   ## execute the scripts of the gallery and write their pages into docs/gallery/
	$(BIN)/python docs/gallery/build.py

# The report's tests look at it in a browser: the system's, or playwright's own where it can be had.
$(VENV)/browser.stamp: $(VENV)/dev.stamp
	$(BIN)/python tests/helpers/browser.py
	touch $@

clean:           ## remove the environment and every cache
	rm -rf $(VENV) .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis site dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/pip.stamp:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade pip
	touch $@

# A cached kernel does not notice that a kernel it calls in another file has changed.
$(VENV)/kernels.stamp: $(VENV)/pip.stamp $(wildcard src/kolmogorov/*/*.py)
	find src -name '*.nb[ci]' -delete
	touch $@

$(VENV)/core.stamp: $(VENV)/pip.stamp pyproject.toml
	$(PIP) install --editable '.[pandas,plot,report]'
	touch $@

$(VENV)/dev.stamp: $(VENV)/pip.stamp pyproject.toml
	$(PIP) install --editable '.[pandas,polars,excel,sdp,qubo,report,plot,dask]' --group dev
	touch $@

$(VENV)/docs.stamp: $(VENV)/pip.stamp pyproject.toml
	$(PIP) install --editable '.[docs]'
	touch $@

$(VENV)/bench.stamp: $(VENV)/dev.stamp pyproject.toml
	$(PIP) install --editable '.[bench,sdp]'
	touch $@
