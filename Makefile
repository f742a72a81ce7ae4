# make lab: read the lectures.  make test: everything CI runs.  make quick: the fast half of it.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
            $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
PIN ?= -c constraints.txt          # make test PIN= takes the newest libraries instead
VENV := .venv
BIN := $(VENV)/bin
LECTURES := $(patsubst notebooks/source/%.py,%,$(wildcard notebooks/source/[0-9]*.py))
EDITIONS := $(LECTURES:%=notebooks/%.ipynb) $(LECTURES:%=build/solved/%.ipynb)

.PHONY: lab test quick checks notebooks bench constraints clean

lab: $(VENV)/installed
	$(BIN)/jupyter lab notebooks/01_backprop.ipynb

test: checks
	$(BIN)/python -m pytest -m browser tests || test $$? -eq 5
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "not browser" -n 2 --dist loadscope -p tools.notebook_budget \
	    --nbval-lax --nbval-current-env --nbval-cell-timeout=120 --doctest-modules course_lib tests $(EDITIONS)

quick: checks
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -m "not browser and not slow" -n 2 --dist worksteal --doctest-modules course_lib tests

checks: $(VENV)/developed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.notebooks --check
	$(BIN)/python -m tools.lint

notebooks: $(VENV)/developed
	$(BIN)/python -m tools.notebooks

bench: $(VENV)/developed
	$(BIN)/python -m benchmarks

$(VENV)/installed: pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "course_lib needs Python 3.11 or newer and found none; name one: make $(MAKECMDGOALS) PYTHON=/path/to/python3.12"; exit 1; }
	@echo "Installing into $(VENV): some minutes the first time."
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -qq --upgrade "pip>=25.1"
	$(BIN)/python -m pip install -qq $(PIN) -e .
	@touch $@

$(VENV)/developed: $(VENV)/installed
	$(BIN)/python -m pip install -qq $(PIN) -e . --group dev
	@touch $@

constraints: $(VENV)/developed
	{ head -1 constraints.txt; $(BIN)/python -m pip freeze --all --exclude-editable | grep -v '^pip==' | sed 's/+cpu$$//'; } > constraints.new
	mv constraints.new constraints.txt

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
