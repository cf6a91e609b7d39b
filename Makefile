# Two commands on a machine that has python3 (with venv) and make: `make demo`, `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
export OMP_NUM_THREADS ?= 1
export MPLBACKEND = Agg
TRUSTED = src/rpac/advantage.py,src/rpac/anchor.py,src/rpac/books.py,src/rpac/certificate.py,src/rpac/confidence.py,src/rpac/joint.py,src/rpac/leakage.py,src/rpac/ledger.py,src/rpac/membership.py,src/rpac/noise/base.py,src/rpac/noise/gaussian.py,src/rpac/noise/grid.py,src/rpac/noise/label.py,src/rpac/noise/lattice.py,src/rpac/postgres.py,src/rpac/reference/base.py,src/rpac/reference/gaussian.py,src/rpac/reference/mixture.py,src/rpac/reference/table.py,src/rpac/release.py,src/rpac/sealed.py,src/rpac/session.py,src/rpac/store.py

# Without PostgreSQL's programs its tests are skipped, and said to be.
SKIPPED = $(if $(wildcard /usr/lib/postgresql/*/bin/initdb)$(shell command -v initdb),,--omit=src/rpac/postgres.py)

.PHONY: demo test lint bench paper clean

demo: $(VENV)/.installed
	sh examples/demo.sh $(abspath $(BIN)) demo

test: lint
	$(BIN)/pytest -n 2 --dist worksteal --cov --cov-report= --durations=10
	$(BIN)/coverage report --include=$(TRUSTED) $(SKIPPED) --fail-under=100

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.installed
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/sql.py
	RPAC_FUZZ=50000 $(BIN)/pytest -q tests/test_cli.py -k thousand
	$(BIN)/python benchmarks/attack.py
	for part in ledger release session faults; do $(BIN)/python benchmarks/$$part.py || exit 1; done

# The paper's experiments, SR-PAC at every budget. DATA holds the datasets; see docs/experiments.md.
DATA ?= data
paper: $(VENV)/.installed
	$(BIN)/rpac paper all --full --data $(DATA) --out results

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --disable-pip-version-check -e '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) .coverage* .mypy_cache .ruff_cache .pytest_cache .hypothesis
