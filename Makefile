# Everything starts here; each target builds what it needs and a second run does no work twice.

VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
# a process of the tests that dies ends them: started again, it can wait for ever for work that is done
PYTEST_ARGS ?= -n 2 --dist loadgroup --max-worker-restart=0

.PHONY: chaos help setup web demo head-node shots stories test bench lint format docs sql lock cluster cluster-down cluster-matrix cluster-nfs clean
.DEFAULT_GOAL := help

help:  ## what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(READY)  ## the virtual environment, from requirements.lock

$(READY): requirements.lock pyproject.toml tools/venv.sh
	@tools/venv.sh
	@touch $@

web: $(READY)  ## the dashboard, where node and npm are
	@tools/web.sh

demo: $(READY) web  ## a server and a worker on this machine, one job from submit to output
	@$(VENV)/bin/cableferry demo

test: $(READY) web  ## lint, types, import contracts, then every test
	@tools/postgres.sh
	@tools/nginx.sh
	@tools/browser.sh
	@tools/cluster/install.sh
	@$(MAKE) --no-print-directory lint
	@$(PY) -m pytest $(PYTEST_ARGS)

bench: $(READY)  ## a benchmark: make bench NAME=api|sync|scale|dispatch|startup|upload|download|s3|opeva|dashboard|cluster|tracking|staging
	@test -n "$(NAME)" || { echo "name one: make bench NAME=api|sync|scale|dispatch|startup|upload|download|s3|opeva|dashboard|cluster|tracking|staging" >&2; exit 2; }
	@tools/postgres.sh >&2
	@[ "$(NAME)" != s3 ] || tools/nginx.sh >&2
	@$(PY) -m bench.$(NAME)

stories: $(READY)  ## jobs on a real cluster behind a firewall, and the page of docs that tells of them
	@tools/cluster/install.sh
	@rm -f build/stories.json
	@$(PY) -m pytest -q --stories-page tests/system -m slurm

head-node: $(READY)  ## the daemon in one file, for head nodes without pip
	@$(PY) -m tools.head_node $(HEAD_NODE_ARGS)

shots: $(READY) web  ## pictures of every page of the dashboard, for the docs
	@$(PY) tools/shots.py

lint: $(READY)  ## ruff, mypy and the import contracts
	@$(VENV)/bin/ruff check --quiet .
	@$(VENV)/bin/ruff format --quiet --check .
	@$(VENV)/bin/mypy --no-error-summary
	@$(VENV)/bin/lint-imports --no-logo

chaos: $(READY)  ## the crash matrix, CHAOS_ROUNDS of each cell, written into the docs (hours; root with Slurm plays the sample on it too)
	@$(PY) -m tests.chaos
	@$(PY) -m tools.docs crash_matrix failures

format: $(READY)  ## let ruff write the layout and the safe fixes
	@$(VENV)/bin/ruff check --quiet --fix-only .
	@$(VENV)/bin/ruff format --quiet .

docs: $(READY)  ## write the generated pages of docs/
	@$(PY) -m tools.docs

sql: $(READY)  ## write the page that shows every SQL statement
	@$(PY) -m tools.docs statements

lock:  ## write requirements.lock from pyproject.toml; LOCK_ARGS=--upgrade takes newer versions
	@tools/lock.sh $(LOCK_ARGS)

cluster:  ## a real Slurm with Apptainer on this machine, kept until cluster-down (root on Debian 12 or later)
	@tools/cluster/install.sh
	@rm -f "$$(tools/cluster/up.sh --where)/for-tests"
	@tools/cluster/up.sh

cluster-down:  ## stop that cluster and remove what it wrote
	@tools/cluster/down.sh

cluster-matrix: $(READY)  ## the stories on every version of Slurm, with accounting and without; CELLS='trixie sid:none' for some
	@$(PY) -m tools.matrix $(CELLS)

cluster-nfs: $(READY)  ## stories with a head node that sees the jobs' folder over a real NFS, in an emulated machine
	@tools/cluster/install.sh
	@$(PY) -m pytest -q tests/system/nfs_stories.py

clean:  ## forget everything that make has built
	@rm -rf $(VENV) build dist .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
