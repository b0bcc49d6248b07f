# `make help` lists the verbs. Everything they need is made on the way: .venv, Debian packages, helm, the cluster, the images.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

PYTHON := .venv/bin/python
# Programs, packages and the folders of tests' modules count: the venv holds the project as lists of them.
LOCKED := .venv/.locked-$(shell (cat requirements/dev.txt; sed -n '/^\[project.scripts\]/,/^$$/p; /^packages/,/^]/p; /^pythonpath/,/^]/p' pyproject.toml; ssh-library/build-wheel --digest) | sha256sum | cut -c1-16)

comma := ,
QUICK := lint unit simulation golden
USUAL := $(QUICK) integration e2e
ALL := $(USUAL) oldest families gitops chaos chaos-network chaos-cluster fuzz sanitized images mutants

.PHONY: help demo test test-quick test-all lint images docs clean bench league chaos fuzz mutants generate lock venv cluster sbom mina-sshd

help: ## show this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2} /^# -/ {print ""}' Makefile

demo: ## a cluster, the operator, a load test of a real sshd, and its verdict
	@scripts/demo

test: venv ## each claim, in about 15 minutes; LAYERS=unit,e2e chooses (scripts/testing/layers.py)
	@$(PYTHON) scripts/run_tests.py $(or $(subst $(comma), ,$(LAYERS)),$(USUAL))

test-quick: venv ## what takes little: to run before each commit
	@SSHLOAD_TESTS=quick $(PYTHON) scripts/run_tests.py $(or $(subst $(comma), ,$(LAYERS)),$(QUICK))

test-all: venv ## everything, in hours: all examples, the oldest Kubernetes, GitOps, chaos, fuzz, mutants; LAYERS chooses
	@SSHLOAD_TESTS=all $(PYTHON) scripts/run_tests.py $(or $(subst $(comma), ,$(LAYERS)),$(ALL))

lint: venv ## ruff, mypy, import-linter, shellcheck, actionlint
	@$(PYTHON) scripts/run_tests.py lint

images: ## build the images and load them into the cluster
	@environment=$$(scripts/bring-up); grep IMAGE <<< "$$environment"

docs: venv ## the documentation as a web site, into dist/docs; fails on a broken link
	@scripts/docs dist/docs

clean: ## take everything away: cluster, images, caches, .venv
	@scripts/clean

# -

generate: venv ## write the CRDs, the schemas, the reference pages, and each sentence that the product can say
	@for script in crds kustomize_names editor_schemas reference installation_schema gateway_schema chart_reference gateway_reference metrics_reference messages; do $(PYTHON) scripts/$$script.py || exit; done
	@$(PYTHON) tests/support/processes/said.py

bench: venv ## measure: WHAT=speed, libraries, windows, master, operator, scale, held, hostile, floods, search, system, keys or case-study
	@scripts/bench $(or $(WHAT),speed)

chaos: venv ## let the operator, the network or the cluster fail while tests run: WHAT=operator, network or cluster
	@scripts/chaos $(or $(WHAT),operator)

league: venv mina-sshd ## how much SSH a core takes at each server, and the page of it: MINUTES=15, SERVE=NAME to run one
	@scripts/league

fuzz: venv ## every parser of what others say, TIME seconds each (60); with KEEP=1 what it finds joins the tests' corpus
	@scripts/fuzz $(or $(TIME),60) $(if $(KEEP),--keep) $(TARGETS)

mutants: venv ## what judges, counts and shares, broken line by line: which mutants no test kills; FILES=paths, ONLY=regex, TURN=n of the day
	@nice -n 19 $(PYTHON) tests/mutants/mutants.py $(if $(TURN),--turn $(TURN)) --only "$(ONLY)" $(FILES)

cluster: ## Kubernetes from plain processes (compiled the first time, about 8 minutes): WHAT=up, build (only compile it) or down
	@tests/cluster/cluster $(or $(WHAT),up)

mina-sshd: venv ## the Java program that speaks MINA SSHD, for sshload run with client.library mina-sshd
	@scripts/debian-packages default-jdk-headless maven
	@scripts/mina-sshd .venv/share/sshload/mina-sshd

sbom: venv ## build the images from nothing, and write them and their bills of materials into dist
	@scripts/images archive dist
	@$(PYTHON) scripts/sbom.py dist/*.tar

lock: venv ## lock requirements/*.txt again, after a change of dependencies in pyproject.toml
	@scripts/lock

venv: $(LOCKED) ## .venv from requirements/dev.txt and the SSH library that ssh-library/ compiles, and nothing else

$(LOCKED):
	@scripts/venv $@
