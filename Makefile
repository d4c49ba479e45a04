# Every target makes .venv by itself; a fresh machine needs Python 3.11+, make and git.
PYTHON ?= python3
BIN := .venv/bin
STACK ?= dev
READY := .venv/.installed
LOCK := $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate
CODE := src stacks components demo bench tests __main__.py training-image

.DEFAULT_GOAL := help

help:            ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(READY) ## all that is needed, into .venv: `spotrain` is .venv/bin/spotrain then

demo: $(READY)   ## train on this machine through interruptions (a minute or so, no account)
	@$(BIN)/python -m demo

preview: $(READY) ## what `pulumi up` would build: make preview STACK=dev (ALL=--all: every resource)
	@$(BIN)/python -m stacks.preview $(STACK) $(ALL)

test: $(READY)   ## all tests
	@# On all cores. Those of the stack only compute. The others share clusters and agents by file, and
	@# come in their order: those files that have the fewest tests take the longest.
	$(BIN)/pytest -n logical --dist worksteal tests/stack
	$(BIN)/pytest -n logical --dist loadfile --no-loadscope-reorder --ignore tests/stack

cluster-tools:   ## build etcd and Kubernetes for the cluster tests; prints their folder (ten minutes, once)
	@tools/cluster/build

browser:         ## install Chromium, in which tests open the report (Debian and Ubuntu; as root, or with sudo)
	@tools/browser/install

bench: $(READY)  ## all benchmarks (two hours), or some: make bench ONLY="loss notice"; writes docs/performance.md
	@$(BIN)/python -m bench $(ONLY)

# One alone, with options: make bench-loss BENCH="--rounds 1 --dry-run"
bench-%: $(READY)
	@$(BIN)/python -m bench $* $(if $(BENCH),-- $(BENCH))

provider-check: $(READY) ## let the AWS Terraform provider judge what the stacks ask AWS for
	$(BIN)/pytest -m provider tests/stack

config-reference: $(READY) ## write docs/configuration.md and whatever else is made from the code
	@$(BIN)/python -m stacks.pages
	@$(BIN)/python -m tests.explain.page
	@$(BIN)/python -m tests.stack.platform_objects

session: $(READY) ## type docs/session.md anew, on a cluster whose nodes are made up; some of it is in the README
	@tools=$$($(MAKE) --no-print-directory cluster-tools) && \
	  KUBEBUILDER_ASSETS="$$tools" SPOTRAIN_WRITE_SESSION=1 $(BIN)/pytest -q tests/cluster/nodes/test_session.py
	@$(BIN)/python -m stacks.pages ../README.md

acceptance: $(READY) ## try that the tests would notice each broken promise of the controller; writes docs/acceptance.md
	@tools=$$($(MAKE) --no-print-directory cluster-tools) && \
	  KUBEBUILDER_ASSETS="$$tools" $(BIN)/python -m tests.acceptance

check: $(READY)  ## format, lint, types, layers, then all tests
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	@$(MAKE) --no-print-directory test

format: $(READY) ## format the code and mend what the linter can
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

lock: $(READY)   ## pin what pyproject.toml asks for, with hashes (UPGRADE=--upgrade: newest versions)
	$(LOCK) --all-extras $(UPGRADE) pyproject.toml -o requirements.lock
	@# What the images install, and what builds the package in them: parts of the same lock.
	$(LOCK) -c requirements.lock --extra s3 --extra gs pyproject.toml -o training-image/requirements.lock
	@# The base has a torch of its own, with what that needs.
	for extra in lightning tensorboard transformers; do echo torch | $(LOCK) -c requirements.lock --excludes - \
	  --extra $$extra pyproject.toml -o training-image/$$extra.lock; done
	$(LOCK) -c requirements.lock --extra controller --extra archive --extra aws --extra gcp pyproject.toml \
	  -o controller-image/requirements.lock
	echo hatchling | $(LOCK) -c requirements.lock - -o build.lock

clean:           ## remove what the targets made
	rm -rf build .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis

# uv installs the locked set in half a minute; --require-hashes refuses anything else.
$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "spotrain needs Python 3.11 or newer, $(PYTHON) is older. Next: make PYTHON=python3.11 ..." >&2; exit 1; }
	@echo "Installing into .venv, once: about 7 GB, most of it PyTorch ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@grep -A 40 '^uv==' requirements.lock | awk 'NR > 1 && !/^ /{exit} {print}' > .venv/uv.lock
	@$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r .venv/uv.lock
	@# What comes as source (a parser that Hydra uses) is built by the setuptools of the same lock.
	@$(BIN)/uv pip sync -q --require-hashes --build-constraints requirements.lock --python $(BIN)/python requirements.lock
	@$(BIN)/uv pip install -q --no-deps --no-build-isolation --python $(BIN)/python -e .
	@touch $@

.PHONY: help install demo preview test cluster-tools browser bench provider-check config-reference session acceptance check format lock clean
