# Two commands on a machine that has python3 (with venv) and make: `make demo`, `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
export OMP_NUM_THREADS ?= 1
export MPLBACKEND = Agg
# Trust is a folder: what decides a guarantee lives in these, and is fully covered.
TRUSTED = _base worlds noise certificate ledger person sql release
empty :=
comma := ,
space := $(empty) $(empty)
FOLDERS = $(subst $(space),$(comma),$(foreach room,$(TRUSTED),src/rpac/$(room)/*))

# Without PostgreSQL's programs its tests are skipped, and said to be.
SKIPPED = $(if $(wildcard /usr/lib/postgresql/*/bin/initdb)$(shell command -v initdb),,--omit=src/rpac/ledger/postgres.py)

.PHONY: demo test lint docs bench neighbours paper dist sbom release lowest newest clean

demo: $(VENV)/.installed
	sh examples/demo.sh $(abspath $(BIN)) demo

test: lint
	$(BIN)/pytest -n 2 --dist worksteal --cov --cov-report= --durations=10
	$(BIN)/coverage report --include=$(FOLDERS),src/rpac/advantage.py,src/rpac/budget.py $(SKIPPED) --fail-under=100

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The documentation site: slow blocks run, pages strictly built into site/, every page looked at.
docs: $(VENV)/.docs
	RPAC_SLOW=1 $(BIN)/pytest -q tests/test_docs.py
	$(BIN)/python -m website.build
	$(BIN)/python -m website.check

$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/pip install -q --disable-pip-version-check -e '.[docs]'
	touch $@

bench: $(VENV)/.installed .neighbours/.installed
	$(BIN)/python -m benchmarks.run
	$(BIN)/python -m benchmarks.sql
	RPAC_FUZZ=50000 $(BIN)/pytest -q tests/cli -k thousand
	RPAC_QUESTIONS=1000 $(BIN)/pytest -q tests/sql/test_presence.py -k odd_person
	$(BIN)/python -m benchmarks.queries 2000
	$(BIN)/python -m benchmarks.attack
	for part in presence curves twins ledger release session cluster dimension people contributed scale speed start channel faults; do \
	  $(BIN)/python -m benchmarks.$$part || exit 1; done
	for part in black_boxes which_tool; do \
	  RPAC_NEIGHBOURS=$(abspath .neighbours/bin/python) RPAC_SMARTNOISE=$(abspath .neighbours/smartnoise/bin/python) \
	    $(BIN)/python -m benchmarks.$$part || exit 1; done

# Pythons of their own for comparisons: diffprivlib reads trees of an older scikit-learn than the rest, SmartNoise
# wants an older OpenDP.
neighbours: .neighbours/.installed
.neighbours/.installed:
	$(PYTHON) -m venv .neighbours
	.neighbours/bin/pip install -q --disable-pip-version-check 'diffprivlib==0.6.6' 'scikit-learn<1.6' 'opendp==0.16.0'
	$(PYTHON) -m venv .neighbours/smartnoise
	.neighbours/smartnoise/bin/pip install -q --disable-pip-version-check 'smartnoise-sql==1.0.10' 'pandas<3'
	touch $@

# The paper's experiments, SR-PAC at every budget. DATA holds the datasets; see docs/experiments.md.
DATA ?= data
paper: $(VENV)/.installed
	$(BIN)/rpac paper all --full --data $(DATA) --out results

# Wheel and sdist, checked; the bill of materials of the environment that the wheel makes.
dist: $(VENV)/.installed
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m distribution.check dist
	$(BIN)/twine check --strict dist/*

sbom: dist
	rm -rf .bill && $(PYTHON) -m venv .bill
	.bill/bin/pip install -q --disable-pip-version-check dist/*.whl
	$(BIN)/python -m distribution.sbom .bill/lib/python*/site-packages > dist/rpac.cdx.json
	rm -rf .bill

# Nothing is pushed: version, changelog and citation agree, the checkout is clean, all is in dist/.
release: $(VENV)/.installed
	$(BIN)/python -m distribution.check
	$(MAKE) sbom
	@version=$$($(BIN)/python -c "import rpac; print(rpac.__version__)"); \
	  echo "next: git tag -a v$$version -m 'rpac $$version' && git push origin v$$version"

# The core with the lowest versions that pyproject.toml allows, on the lowest Python, and with the newest of all: tests
# that meet every dependency of the core, of SQL and of pictures, in less than a quarter of an hour of two cores.
CORE = _base answers calibrators/test_lattice.py certificate/test_certificate.py certificate/test_exact.py \
  cli/test_commands.py cli/test_options.py front/test_privatize.py ledger/test_ledger.py noise person pictures \
  questions/test_functions.py questions/test_statistics.py release/test_release.py report/test_page.py \
  sql/test_database.py sql/test_query.py sql/test_presence.py worlds/test_files.py worlds/test_stored.py \
  worlds/test_tables.py test_interface.py test_package.py
MEANS = pytest pytest-cov pytest-xdist hypothesis scikit-learn scipy polars zarr selenium axe-core-python
# What a lowest version wants of a dependency of its own, lest it warns: Matplotlib's older names of pyparsing.
AGED = 'pyparsing<3.3'
lowest:
	rm -rf .lowest && python3.11 -m venv .lowest
	python3.11 -m distribution.lowest > .lowest/constraints.txt
	.lowest/bin/pip install -q --disable-pip-version-check -c .lowest/constraints.txt -e '.[sql,plot]' $(MEANS) $(AGED)
	.lowest/bin/python -m pytest -n 2 -q $(addprefix tests/,$(CORE))

newest:
	rm -rf .newest && $(PYTHON) -m venv .newest
	.newest/bin/pip install -q --disable-pip-version-check --upgrade -e '.[sql,plot]' $(MEANS)
	.newest/bin/python -m pytest -n 2 -q $(addprefix tests/,$(CORE))

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --disable-pip-version-check -e '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) .neighbours .lowest .newest dist .coverage* .mypy_cache .ruff_cache .pytest_cache .hypothesis
