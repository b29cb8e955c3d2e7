# Every command of the workspace. On a fresh machine python3 (3.11 or later), git and make are enough.
# `make` alone lists the targets. Another Python: make test PYTHON=python3.13, or a path.

PYTHON ?= python3
BACKEND ?= numpy
# Passed on: make test PYTEST_ARGS="tests/unit -x", make bench BENCH_ARGS="--only import", make demo DEMO_ARGS="--epochs 2".
PYTEST_ARGS ?=
BENCH_ARGS ?=
MATRIX_ARGS ?=
CONTRIB_ARGS ?=
ARRAY_API_ARGS ?=
PACKAGES_ARGS ?=
JAX_TESTS_ARGS ?=
DEMO_ARGS ?=

# Where the environment forbids to write bytecode, every process would compile jax and Tangrad again.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
UV := $(BIN)/python -m uv pip install --python $(BIN)/python
# What joined a neighbour since it was installed would claim the same names.
UNINSTALL_FORMER = @former=$$($(BIN)/python -m tools.workspace) && { [ -z "$$former" ] || \
	$(BIN)/python -m uv pip uninstall --quiet --python $(BIN)/python $$former; }

# .venv is made where there is none, and made anew where a PYTHON is asked for (not the default) that it was not made
# with. Marking the first files phony makes all that follows from them, stamps included.
IDENTITY := -c 'import os, sys; print(os.path.realpath(sys.base_prefix), *sys.version_info[:3])'
OTHER = { interpreter=$$(tools/find_python.sh "$(PYTHON)") && \
	[ "$$("$$interpreter" $(IDENTITY))" = "$$($(BIN)/python $(IDENTITY))" ]; } 2>/dev/null || echo yes
ASKED := $(filter command environment,$(firstword $(origin PYTHON)))
NEW := $(if $(wildcard $(BIN)/python),$(if $(ASKED),$(if $(filter-out help clean,$(MAKECMDGOALS)),$(shell $(OTHER)))),yes)
ifneq ($(NEW),)
.PHONY: $(BIN)/python $(VENV)/.uv
endif

# Where the home folder cannot be written, uv keeps beside the rest of what is built what it downloads.
UV_CACHE := $(or $(UV_CACHE_DIR),$(addsuffix /uv,$(or $(XDG_CACHE_HOME),$(HOME:%=%/.cache))))
ifeq ($(and $(UV_CACHE),$(shell mkdir -p "$(UV_CACHE)" 2>/dev/null && test -w "$(UV_CACHE)" && echo yes)),)
export UV_CACHE_DIR := $(CURDIR)/build/uv-cache
endif

# A folder with a pyproject.toml is a distribution: the list is read from the tree.
PROJECTS := $(wildcard core/pyproject.toml plugins/*/pyproject.toml primitives/*/pyproject.toml backends/*/pyproject.toml)
editable = $(foreach project,$(1),-e $(patsubst %/pyproject.toml,%,$(project)))
# The demo on NumPy leaves jaxlib out: that is its point, and most of the time that an installation takes.
DEMO_PROJECTS := $(if $(filter numpy,$(BACKEND)),$(filter-out backends/xla/%,$(PROJECTS)),$(PROJECTS))
SOURCES := core plugins primitives backends contrib tools tests docs

.PHONY: help install dev-refresh kernels libraries test test-all test-matrix array-api jax-tests packages contrib lint typecheck contracts house docs notebooks browser bench demo changelog wheels sdists clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t 16

install: $(INSTALLED) ## everything, editable, with the tools, into .venv
	@$(BIN)/python -m tools.stubs

$(BIN)/python:
	@interpreter=$$(tools/find_python.sh "$(PYTHON)") && \
	"$$interpreter" -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Tangrad needs Python 3.11 or later; this is " + sys.version)' && \
	{ [ ! -e $(VENV) ] || [ -e $(VENV)/pyvenv.cfg ] || rmdir $(VENV) 2>/dev/null || \
	{ echo "$(VENV) is no virtual environment: it is not deleted; choose another place with VENV=..."; exit 1; }; } && \
	rm -rf $(VENV) && echo "$$interpreter -m venv $(VENV)" && "$$interpreter" -m venv $(VENV)

# uv resolves and links in seconds what pip takes a minute for; an existing one is kept.
$(VENV)/.uv: | $(BIN)/python
	$(BIN)/python -m uv --version >/dev/null 2>&1 || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@touch $@

$(INSTALLED): pyproject.toml $(PROJECTS) $(VENV)/.uv
	$(UV) --group dev
	$(BIN)/python -m tools.stubs  # once, and not in the environment of each build
	$(UV) --group dev -e . $(call editable,$(PROJECTS))
	$(UNINSTALL_FORMER)
	@touch $@

dev-refresh: $(VENV)/.uv ## after a change of entry points or declarations: metadata, catalogue, stubs
	@$(BIN)/python -m tools.generate_api
	@$(UV) --quiet --no-deps --no-build-isolation --reinstall -e . $(call editable,$(PROJECTS))
	$(UNINSTALL_FORMER)

test: install ## the tests, without those marked slow, long or sweep
	$(BIN)/python -m pytest -n 2 -m "not slow and not long and not sweep" $(PYTEST_ARGS)

test-all: install ## the slow tests too: installations, the matrix of subsets, stress
	$(BIN)/python -m pytest -n 2 $(PYTEST_ARGS)

test-matrix: install ## each Python with the oldest and the newest libraries; MATRIX_ARGS="3.12-* --list"
	$(BIN)/python -m tools.matrix $(MATRIX_ARGS)

array-api: install ## the array API's public suite, a checkout of which ARRAY_API_TESTS names; ARRAY_API_ARGS="tangrad-xla"
	$(UV) --quiet --group array-api
	ARRAY_API_TESTS="$(ARRAY_API_TESTS)" $(BIN)/python -m tools.array_api $(ARRAY_API_ARGS)

packages: install ## tests of packages written for JAX, on JAX and here; PACKAGES_ARGS="optax chex --limit 600"
	PACKAGE_CHECKOUTS="$(PACKAGE_CHECKOUTS)" $(BIN)/python -m tools.packages $(PACKAGES_ARGS)

# jax.experimental.jet is a package of contrib/, which only these tests see.
jax-tests: install ## JAX's own tests through the alias, from a checkout that JAX_CHECKOUT names; JAX_TESTS_ARGS="array_test.py"
	$(UV) --quiet --group jax-tests
	$(UV) --quiet --no-deps --target build/jax-tests ./contrib/taylor
	JAX_CHECKOUT="$(JAX_CHECKOUT)" $(BIN)/python -m tools.jax_tests $(JAX_TESTS_ARGS)

contrib: install ## the packages of contrib/, each as a wheel in an environment of its own; CONTRIB_ARGS="kernel"
	$(BIN)/python -m tools.contrib $(CONTRIB_ARGS)

lint: install ## ruff; generated files and tables against the code; words that went; spelling
	$(BIN)/python -m ruff check $(wildcard $(SOURCES))
	$(BIN)/python -m ruff format --check $(wildcard $(SOURCES))
	$(BIN)/python -m tools.generate_api --check
	$(BIN)/python -m tools.docs.tables --check
	$(BIN)/python -m tools.words
	$(BIN)/codespell $(wildcard $(SOURCES) changes *.md)

typecheck: install ## mypy, strict in the kernel and in contrib/; pyright on contrib/
	MYPYPATH=$(subst $(eval ) ,:,$(strip $(patsubst %/pyproject.toml,%,$(PROJECTS)) $(wildcard contrib/* contrib/*/src))) $(BIN)/python -m mypy
	@rm -rf build/types && mkdir -p build/types && for project in $(PROJECTS); do cp -R $${project%/*}/tangrad build/types; done
	$(BIN)/python -m basedpyright --pythonpath $(BIN)/python

contracts: install ## who may import whom, on the built wheels
	@rm -rf build/contracts && mkdir -p build/contracts
	@$(UV) --quiet --no-deps --no-cache --target build/contracts/site $$($(BIN)/python -m tools.build_wheels --kept)/*.whl
	$(BIN)/python -m tools.contracts build/contracts/site

house: install ## how much there is, how it hangs together, how it is typed
	$(BIN)/python -m tools.house

docs: install ## the documentation, into site/
	$(BIN)/python -m mkdocs build --strict --quiet

notebooks: install ## the tutorial as notebooks, into build/notebooks
	@$(BIN)/python -m tools.docs.notebooks build/notebooks

browser: docs ## the documentation in a real browser (Chromium), where one is found: too wide, cut, faint, not shown
	@$(UV) --quiet --group browser
	$(BIN)/python -m tools.docs.browser site

bench: install ## the budgets, beside JAX and autograd
	$(BIN)/python -m tests.benchmarks $(BENCH_ARGS)

$(VENV)/.demo-$(BACKEND): pyproject.toml $(PROJECTS) $(VENV)/.uv
	$(UV) --group demo -e . $(call editable,$(DEMO_PROJECTS))
	@touch $@

demo: $(VENV)/.demo-$(BACKEND) ## train a convolutional network on digits; BACKEND=numpy or xla
	TANGRAD_BACKEND=$(BACKEND) $(BIN)/python docs/examples/train_digits.py $(DEMO_ARGS)

changelog: install ## what the next release would say, from the fragments of changes/
	@$(UV) --quiet --group release
	$(BIN)/python -m towncrier build --draft --version next

libraries: install ## those by others that tangrad-kernels calls: oneMKL and oneDNN (Linux on x86-64), a gigabyte
	$(UV) -e "./backends/kernels[libraries]"

wheels: install ## all wheels, into dist/
	$(BIN)/python -m tools.build_wheels dist

kernels: install ## tangrad-kernels with its library, compiled here, in place of the one without (make dev-refresh: back)
	$(UV) --no-deps --no-build-isolation --reinstall ./backends/kernels

sdists: install ## all source distributions, into dist/
	$(BIN)/python -m tools.build_wheels dist --sdists

clean: ## remove what is built (not .venv)
	rm -rf build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
