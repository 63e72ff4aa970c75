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
# Names of pyproject.toml, with commas or spaces between; those that the config or the environment ask for come besides.
EXTRAS ?=
EXTRAS_OF = $(BIN)/python -m config.extras --extras '$(EXTRAS)'
PIP := PYTHONWARNINGS=ignore $(BIN)/python -m pip --disable-pip-version-check --quiet install --no-compile --no-warn-script-location -c constraints.txt

# Without bytecode a start takes two to four times as long; of what no start imports it only fills the disk.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := run
.PHONY: run extras test check crash bench test-service install-service uninstall-service constraints

run: extras  ## Start the desk; ARGS="--config FILE --state DIR"
	@exec $(BIN)/frontdesk run $(ARGS)

extras: .venv/installed  ## Install what the config, the environment or EXTRAS="NAME ..." ask for
	@missing="$$($(EXTRAS_OF) --missing $(ARGS))" && if [ -n "$$missing" ]; then \
	   echo "Installing what is needed besides: $$missing." >&2; $(INSTALL); fi

test: .venv/developing  ## All tests but those of `make check`, `make crash` and `make test-service`
	@$(PYTEST) -m 'not crash and not endurance and not style and not service' $(ARGS)

check: .venv/developing  ## Style, types, imports between the parts, house rules
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache --no-logo
	@$(BIN)/deptry .
	@$(BIN)/python -m pytest -q -m style tests

crash: .venv/developing  ## Kill the real process twenty times at every point; endurance; 100,000 events of each platform
	@FRONTDESK_CRASH_ROUNDS=$(ROUNDS) FRONTDESK_TEST_EVENTS=$(EVENTS) $(PYTEST) -m 'crash or endurance' $(ARGS)

bench: .venv/developing  ## Figures beside their budgets; ARGS="wire": one part, ARGS=telegram: one platform
	@$(BIN)/python -m tests.bench $(ARGS)

test-service: .venv/developing  ## Boot a machine with systemd, install the service there, and try it; as root
	@$(BIN)/python -m pytest -m service tests/service $(ARGS)

install-service:  ## Install the systemd service, or bring it to this checkout; as root
	@EXTRAS='$(EXTRAS)' systemd/install-service

uninstall-service:  ## Remove the systemd service; config and conversations stay; as root
	@systemd/uninstall-service

constraints:  ## Renew constraints.txt: the newest versions that pyproject.toml allows
	@rm -rf .venv-new
	@$(PYTHON) -m venv .venv-new
	@.venv-new/bin/python -m pip --disable-pip-version-check --quiet install --upgrade 'setuptools>=77'
	@.venv-new/bin/python -m pip --disable-pip-version-check --quiet install --no-build-isolation -e '.[all,dev]'
	@{ echo '# Every version that the tests ran with. `make constraints` renews this file.'; \
	   .venv-new/bin/python -m pip freeze --all --exclude-editable --exclude pip; } > constraints.new
	@mv constraints.new constraints.txt
	@rm -rf .venv-new

# The tools that build come from constraints.txt as well, so that the build needs no environment of its own. Extras that
# are there stay, and are brought to the tested versions too.
INSTALL = extras="$$($(EXTRAS_OF) $(ARGS))" && $(PIP) --no-build-isolation -e ".$${extras:+[$$extras]}" \
	&& $(BIN)/python -m core.bytecode

# An install that was interrupted, or that lacked Debian's python3-venv, leaves an environment without pip.
.venv/installed: pyproject.toml constraints.txt
	@test -n '$(PYTHON)' || { echo 'Python 3.11 or newer is needed.' >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	   { echo "Python 3.11 or newer is needed; $(PYTHON) is older. PYTHON=/PATH/TO/PYTHON names another." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || \
	   { echo 'This Python makes no virtual environments. On Debian and Ubuntu: apt install python3-venv' >&2; exit 1; }
	@echo 'Installing into .venv; this takes a minute or two the first time.' >&2
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || { rm -rf .venv && $(PYTHON) -m venv .venv; } || \
	   { rm -rf .venv; echo 'The virtual environment .venv could not be made.' >&2; exit 1; }
	@said="$$($(PIP) --retries 1 setuptools 2>&1)" || { echo "$$said" | grep -v '^WARNING: Retrying' >&2; \
	   case "$$said" in *Retrying*) echo "PyPI can't be reached: connect to the internet, or set HTTPS_PROXY" \
	   'or an index of your own in pip.conf, and try again.' >&2;; esac; exit 1; }
	@$(INSTALL)
	@touch $@

.venv/developing: EXTRAS = all,dev
.venv/developing: .venv/installed
	@$(INSTALL)
	@touch $@
