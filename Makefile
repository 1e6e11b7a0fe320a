# Everything a newcomer needs: `make demo` shows it at work, `make test` runs the tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test check bench clean

demo: $(VENV)/ready
	$(BIN)/python -m examples.demo

# Without the fleet in virtual time, which takes as long again: scripts/fleet.
test: $(VENV)/ready-test
	$(BIN)/python -m pytest -q -n 2 --dist loadfile \
		--ignore tests/scenarios/multikueue --ignore tests/scenarios/placement

check: $(VENV)/ready-check
	scripts/check

bench: $(VENV)/ready
	$(BIN)/python -m benchmarks.apiserver

$(VENV)/ready: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(PIP) -e .
	touch $@

$(VENV)/ready-test: $(VENV)/ready
	$(PIP) --group test
	touch $@

$(VENV)/ready-check: $(VENV)/ready-test
	$(PIP) --group check --group clients
	touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
