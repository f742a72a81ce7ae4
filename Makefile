# The commands of the project: `make help` lists them.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
            $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
PIN ?= -c constraints.txt          # make test PIN= takes the newest libraries instead
VENV := .venv
BIN := $(VENV)/bin
LECTURES := $(patsubst notebooks/source/%.py,%,$(wildcard notebooks/source/[0-9]*.py))
EDITIONS := $(LECTURES:%=notebooks/%.ipynb) $(LECTURES:%=build/exercises/%.ipynb)
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2
NBVAL := -p tools.budget --nbval-lax --nbval-current-env --nbval-cell-timeout=120
NAME := $(filter $(L)_%,$(if $(L),$(LECTURES)))
TOPIC := $(NAME:$(L)_%=%)

.PHONY: help lab test quick lecture thorough checks format notebooks bench constraints clean

help:           ## this list
	@sed -nE 's/^([a-z]+):[^#]*## /\1 /p' Makefile | while read -r name what; do printf '  make %-12s %s\n' "$$name" "$$what"; done

lab: $(VENV)/installed          ## read the lectures, in JupyterLab
	$(BIN)/jupyter lab notebooks/01_backprop.ipynb

test: checks    ## everything CI runs; the notebooks first, whose slow results the browser tests use again
	$(PYTEST) -m "not browser and not thorough" --dist loadscope $(NBVAL) --doctest-modules course_lib tests $(EDITIONS)
	COURSE_RESULTS=$(CURDIR)/build/results $(BIN)/python -m pytest -m browser tests || test $$? -eq 5

quick: checks   ## after a change: the checks and the fast tests, two minutes
	$(PYTEST) -q -m "not browser and not slow and not thorough" --dist worksteal --doctest-modules course_lib tests

lecture: $(VENV)/developed      ## one lecture, its build, rules, tests and notebook: make lecture L=04
	@test -n "$(NAME)" || { echo "No notebooks/source/$(L)_*.py; name a lecture by its number: make lecture L=04"; exit 1; }
	$(BIN)/python -m tools.notebooks
	$(BIN)/ruff check notebooks/source/$(NAME).py course_lib/lectures/$(TOPIC) tests/lectures/$(TOPIC)
	$(BIN)/python -m tools.lint notebooks/source/$(NAME).py
	$(PYTEST) -q -m "not browser and not thorough" --dist loadscope $(NBVAL) \
	    tests/lectures/$(TOPIC) notebooks/$(NAME).ipynb build/exercises/$(NAME).ipynb

thorough: $(VENV)/developed     ## every claim over many seeds and under other arithmetic; L=04 for one lecture
	$(BIN)/python -m tools.thorough $(if $(L),--lecture $(L))

checks: $(VENV)/developed       ## formatting, types, import contracts, house rules; seconds
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.notebooks --check
	$(BIN)/python -m tools.lint

format: $(VENV)/developed       ## format the code and mend what ruff can mend
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

notebooks: $(VENV)/developed    ## write the notebooks from their sources
	$(BIN)/python -m tools.notebooks

bench: $(VENV)/developed        ## the project's speeds, as ratios measured side by side
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

constraints: $(VENV)/developed  ## write constraints.txt from what is installed
	{ head -1 constraints.txt; $(BIN)/python -m pip freeze --all --exclude-editable | grep -v '^pip==' | sed 's/+cpu$$//'; } > constraints.new
	mv constraints.new constraints.txt

clean:          ## remove what the others made
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
