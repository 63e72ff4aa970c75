# What one does with Frontdesk. Needs Python 3.11 or newer and make; everything else comes into .venv.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
ARGS ?=
# More than there are cores: many tests wait for a process that was killed.
JOBS ?= 4
# Rounds at every point where the process is killed, and events of each platform, sound and spoiled. 100,000 of them
# take some twenty minutes on two cores.
ROUNDS ?= 20
EVENTS ?= 100000
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist worksteal
PACKAGES := bots core config
COMPILE := $(BIN)/python -m compileall -q
PIP := PYTHONWARNINGS=ignore $(BIN)/python -m pip --disable-pip-version-check --quiet install --no-warn-script-location -c constraints.txt

# Without compiled bytecode a start takes two to four times as long.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := run
.PHONY: run test check crash bench test-service install-service uninstall-service constraints

run: .venv/installed  ## Start the desk; ARGS="--config FILE --state DIR"
	@exec $(BIN)/frontdesk run $(ARGS)

test: .venv/developing  ## All tests but those of `make check`, `make crash` and `make test-service`
	@$(PYTEST) -m 'not crash and not endurance and not style and not service' $(ARGS)

check: .venv/developing  ## Style, types, imports between the parts, house rules
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache --no-logo
	@$(BIN)/python -m pytest -q -m style tests

crash: .venv/developing  ## Kill the real process twenty times at every point; endurance; 100,000 events of each platform
	@FRONTDESK_CRASH_ROUNDS=$(ROUNDS) FRONTDESK_TEST_EVENTS=$(EVENTS) $(PYTEST) -m 'crash or endurance' $(ARGS)

bench: .venv/developing  ## Figures beside their budgets, as one table
	@$(BIN)/python -m tests.bench $(ARGS)

test-service: .venv/developing  ## Boot a machine with systemd, install the service there, and try it; as root
	@$(BIN)/python -m pytest -m service tests/service $(ARGS)

install-service:  ## Install the systemd service, or bring it to this checkout; as root
	@systemd/install-service

uninstall-service:  ## Remove the systemd service; config and conversations stay; as root
	@systemd/uninstall-service

constraints:  ## Renew constraints.txt: the newest versions that pyproject.toml allows
	@rm -rf .venv-new
	@$(PYTHON) -m venv .venv-new
	@.venv-new/bin/python -m pip --disable-pip-version-check --quiet install --upgrade 'setuptools>=77'
	@.venv-new/bin/python -m pip --disable-pip-version-check --quiet install --no-build-isolation -e '.[dev]'
	@{ echo '# Every version that the tests ran with. `make constraints` renews this file.'; \
	   .venv-new/bin/python -m pip freeze --all --exclude-editable --exclude pip; } > constraints.new
	@mv constraints.new constraints.txt
	@rm -rf .venv-new

# The tools that build come from constraints.txt as well, so that the build needs no environment of its own.
.venv/installed: pyproject.toml constraints.txt
	@echo 'Installing into .venv; this takes a minute the first time.' >&2
	@test -n '$(PYTHON)' || { echo 'Python 3.11 or newer is needed.' >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(PIP) setuptools
	@$(PIP) --no-build-isolation -e .
	@$(COMPILE) $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))') || true
	@$(COMPILE) $(PACKAGES)
	@touch $@

.venv/developing: .venv/installed
	@$(PIP) --no-build-isolation -e '.[dev]'
	@touch $@
