# memoryhub: everything a person needs to type. `make help` prints what stands behind `##`.
#
# A machine needs git, make and Python 3.11 or newer. Everything else is installed into .venv from
# pinned and hashed requirements; a stamp file is as new as the requirements it was made from.

.DEFAULT_GOAL := help
SHELL := /bin/sh
.DELETE_ON_ERROR:

export LC_ALL := C.UTF-8
unexport PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTEST_ADDOPTS DJANGO_SETTINGS_MODULE VIRTUAL_ENV

PORT ?= $(or $(MEMORYHUB_PORT),8000)
BIN := .venv/bin
MANAGE := $(BIN)/python manage.py
# Checks use servers of their own, never a database that somebody's environment names.
ALONE := env -u DATABASE_URL -u OWNER_DATABASE_URL -u BROKER_URL -u MEMORYHUB_PUBLIC_URL \
         -u MEMORYHUB_DEBUG -u MEMORYHUB_SECRET_KEY
IS_NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))

.PHONY: help
help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: .venv/base.stamp ## Serve memoryhub with its sample (PORT=8000)
	@exec $(MANAGE) serve --port $(PORT) --with-sample

.PHONY: test
test: lint .venv/browser.stamp ## Run every check and every test, as CI does
	$(ALONE) $(BIN)/python -m pytest

.PHONY: lint
lint: .venv/dev.stamp ## Check style, types, layers, migrations and production settings
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(ALONE) $(BIN)/mypy
	$(ALONE) $(BIN)/lint-imports
	$(ALONE) $(BIN)/python -W ignore manage.py makemigrations --check --dry-run
	$(ALONE) MEMORYHUB_PUBLIC_URL=https://memoryhub.example $(MANAGE) check --deploy --fail-level WARNING

.PHONY: promises
promises: .venv/dev.stamp ## Show promises and whether they are held (T=T3,T4)
	$(ALONE) $(BIN)/python -m pytest -q $(if $(T),--promises "$(T)",-m promise)

.PHONY: nightly
nightly: .venv/browser.stamp ## Try every promise at its large size; takes hours
	$(ALONE) MEMORYHUB_TEST_SCALE=nightly $(BIN)/python -m pytest -q -m promise

.PHONY: bench
bench: .venv/dev.stamp ## Measure governed commits and jobs against raw SQL, in one run
	$(ALONE) $(BIN)/python -m bench
	$(ALONE) $(BIN)/python -m bench.jobs

.PHONY: openapi
openapi: .venv/dev.stamp ## Write docs/openapi.yaml anew from the code
	$(MANAGE) spectacular --validate --fail-on-warn --file docs/openapi.yaml

.PHONY: pictures
pictures: .venv/browser.stamp ## Take the pictures in docs/images anew, from the sample
	$(ALONE) $(BIN)/python -m pytest -q tests/e2e/screenshots.py

.PHONY: reset
reset: .venv/base.stamp ## Delete all data of this installation, to begin anew (CONFIRM=yes)
	@exec $(MANAGE) reset --confirm "$(CONFIRM)"

.PHONY: clean
clean: ## Remove .venv and the tools' caches; data stays
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

.venv/base.stamp: requirements/base.txt
	@test -x $(BIN)/python || { $(make_venv); }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/base.txt
	@touch $@

.venv/dev.stamp: requirements/dev.txt .venv/base.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@touch $@

# A browser for the end-to-end tests: the one that CHROMIUM names, the system's, Debian's or
# Playwright's own, whichever comes first. Chinese pages need a font that has the characters.
.venv/browser.stamp: .venv/dev.stamp
	@if [ -n "$$CHROMIUM" ] || command -v chromium >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
	    chromium fonts-wqy-microhei >/dev/null; \
	else $(BIN)/playwright install chromium; fi
	@touch $@

define make_venv
for python in python3 python3.14 python3.13 python3.12 python3.11; do \
  "$$python" -c "$(IS_NEW_ENOUGH)" 2>/dev/null && break; python=; \
done; \
[ -n "$$python" ] || { echo "Python 3.11 or newer is needed." >&2; exit 1; }; \
if ! "$$python" -c "import ensurepip" 2>/dev/null && [ "$$(id -u)" = 0 ]; then \
  apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y python3-venv >/dev/null; \
fi; \
"$$python" -m venv .venv
endef
