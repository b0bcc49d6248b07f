# `make help` lists the verbs. Everything they need is made on the way: .venv, Debian packages, helm, the cluster, the images.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

CLUSTER := tests/cluster/cluster
PYTHON := .venv/bin/python
# Programs, packages and the folders of tests' modules count: the venv holds the project as lists of them.
LOCKED := .venv/.locked-$(shell (cat requirements/dev.txt; sed -n '/^\[project.scripts\]/,/^$$/p; /^packages/,/^]/p; /^pythonpath/,/^]/p' pyproject.toml; scripts/ssh2-wheel --version) | sha256sum | cut -c1-16)

ALL_LAYERS := lint unit simulation golden integration e2e
QUICK_LAYERS := lint unit simulation golden

.PHONY: help generate demo test test-all test-quick lint test-unit test-simulation test-golden test-integration test-e2e test-families test-gitops test-oldest chaos chaos-network chaos-cluster fuzz mutants mina-sshd bench bench-libraries bench-master bench-windows bench-operator bench-scale bench-hostile bench-held bench-search case-study \
        images sbom docs cluster-build cluster-up cluster-down lock venv clean

help: ## show this
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' Makefile

demo: ## a cluster, the operator, a load test of a real sshd, and its verdict
	@scripts/demo

test: venv ## all layers below, from lint to e2e, with one table at the end
	@$(PYTHON) scripts/run_tests.py $(ALL_LAYERS)

test-all: venv ## the same with every row of each table and many more examples
	@SSHLOAD_TESTS=all $(PYTHON) scripts/run_tests.py $(ALL_LAYERS)

test-quick: venv ## lint, unit, simulation and golden, to run before each commit
	@SSHLOAD_TESTS=quick $(PYTHON) scripts/run_tests.py $(QUICK_LAYERS)

lint: venv ## ruff, mypy, import-linter, shellcheck, actionlint
	@$(PYTHON) scripts/run_tests.py lint

test-unit: venv ## functions, without any I/O beyond loopback
	@$(PYTHON) scripts/run_tests.py unit

test-simulation: venv ## the life cycle against a simulated cluster, with faults, in many orders
	@$(PYTHON) scripts/run_tests.py simulation

test-golden: venv ## whole manifests and sshd_config, compared with files
	@$(PYTHON) scripts/run_tests.py golden

test-integration: venv ## with a real sshd, a real API server and a real Prometheus, all on loopback
	@$(PYTHON) scripts/run_tests.py integration

test-e2e: venv ## on a real cluster: main job, examples, faults, bad input, security
	@$(PYTHON) scripts/run_tests.py e2e

test-oldest: venv ## CRDs, manifests, chart and operator against the API server of the oldest Kubernetes that is supported
	@$(CLUSTER) build programs kubernetes-oldest > /dev/null
	@SSHLOAD_KUBE_APISERVER=$${SSHLOAD_CLUSTER_CACHE:-$${XDG_CACHE_HOME:-$$HOME/.cache}/sshload-cluster}/bin/oldest/kube-apiserver \
	  $(PYTHON) -m pytest -n 2 --dist loadgroup tests/integration/api_server tests/integration/manifests tests/integration/watch \
	  tests/integration/chart tests/integration/operator_api/test_whole_run.py tests/integration/operator_api/test_schedules.py

test-families: venv ## a managed test on clusters of IPv6 only and of both families, one after the other, in place of the one of IPv4
	@for family in dual ipv6; do \
	  export SSHLOAD_CLUSTER_FAMILY=$$family; \
	  environment=$$(scripts/bring-up); \
	  (set -a; eval "$$environment"; $(PYTHON) -m pytest tests/families); \
	done
	@$(CLUSTER) down

test-gitops: venv ## examples/gitops applied by Flux and by Argo CD (compiled the first time, about 15 minutes)
	@$(PYTHON) scripts/run_tests.py gitops

chaos: venv ## each KINDS (test ...) with the operator killed at each write, each request and event failing; ONLY=regex, EVERY=n
	@$(CLUSTER) build > /dev/null
	@nice -n 10 $(PYTHON) tests/chaos/chaos.py $(KINDS) --only "$(ONLY)" --every $(or $(EVERY),1) --at-once $(or $(AT_ONCE),6)

chaos-network: venv ## sshload run through each bad network, by each of LIBRARIES (ssh2-python ...); ONLY=text chooses (needs root)
	@scripts/debian-packages iproute2 openssh-client openssh-server util-linux
	@nice -n 10 $(PYTHON) tests/chaos/network/chaos_network.py $(LIBRARIES) --only "$(ONLY)"

chaos-cluster: venv ## a real cluster whose daemons, nodes, namespaces and pods fail while tests run; ONLY=regex, RUNS=n, TESTS=n (200 at once)
	@environment=$$(scripts/bring-up); set -a; eval "$$environment"; set +a; \
	  $(PYTHON) tests/chaos/cluster/chaos_cluster.py --only "$(ONLY)" --runs $(or $(RUNS),1)

fuzz: venv ## every parser of what others say, TIME seconds each (60); with KEEP=1 what it finds joins the tests' corpus
	@scripts/fuzz $(or $(TIME),60) $(if $(KEEP),--keep) $(TARGETS)

mutants: venv ## what judges, counts and shares, broken line by line: which mutants no test kills; FILES=paths, or TURN=n of the day
	@nice -n 19 $(PYTHON) tests/mutants/mutants.py $(if $(TURN),--turn $(TURN)) $(FILES)

bench: venv ## how fast the worker is, beside Go's client (needs root); IMAGE=yes: the worker of the image, with its Python
	@scripts/debian-packages cmake gcc libc6-dev make openssh-server patch python3-dev util-linux valgrind zlib1g-dev
	@scripts/own-ssh2 $(PYTHON) --install > /dev/null
	@$(if $(IMAGE),scripts/images root worker .cache/worker-image > /dev/null)
	@$(PYTHON) tests/benchmarks/bench_speed.py $(if $(IMAGE),--root .cache/worker-image)

mina-sshd: venv ## the Java program that speaks MINA SSHD, for sshload run with client.library mina-sshd
	@scripts/debian-packages default-jdk-headless maven
	@scripts/mina-sshd .venv/share/sshload/mina-sshd

bench-libraries: venv ## ssh2-python against paramiko by operation, in threads and greenlets, into docs/measurements
	@scripts/debian-packages cmake gcc libc6-dev make patch python3-dev zlib1g-dev
	@scripts/own-ssh2 $(PYTHON) --install > /dev/null
	@$(PYTHON) tests/benchmarks/bench_libraries.py

bench-windows: venv ## windows and read sizes by SCP and SFTP, near and far, into docs/measurements
	@scripts/debian-packages cmake gcc libc6-dev make openssh-server patch python3-dev zlib1g-dev
	@scripts/own-ssh2 $(PYTHON) --install > /dev/null
	@$(PYTHON) tests/benchmarks/bench_window.py

bench-operator: venv ## how fast and how frugal the operator is, on the cluster
	@environment=$$(scripts/bring-up); set -a; eval "$$environment"; set +a; $(PYTHON) tests/benchmarks/bench_operator.py

bench-master: venv ## what reports cost the master, by the number of its workers, into docs/measurements
	@$(PYTHON) tests/benchmarks/bench_master.py --rates 50 200

bench-scale: venv ## what running and finished tests cost the operator, at an API server of its own, into docs/measurements
	@$(CLUSTER) build > /dev/null
	@$(PYTHON) tests/benchmarks/bench_scale.py

bench-hostile: venv ## how long others wait while the operator is attacked, and, on the cluster, what floods of connections from pods cost each port, into docs/measurements
	@$(CLUSTER) build > /dev/null
	@$(PYTHON) tests/benchmarks/bench_hostile.py
	@environment=$$(scripts/bring-up); set -a; eval "$$environment"; set +a; $(PYTHON) tests/benchmarks/bench_floods.py

bench-held: venv ## what tests and schedules that only wait cost the operator, at an API server of its own, into docs/measurements
	@$(CLUSTER) build > /dev/null
	@$(PYTHON) tests/benchmarks/bench_held.py

bench-search: venv ## the search for the capacity on simulated servers, beside MLRsearch, into docs/measurements
	@$(PYTHON) tests/benchmarks/bench_search.py

case-study: venv ## the case study again, in 25 minutes: ONLY="gateway policies figure-1 outlier windows figure-2-uptime figure-2-ls figure-2-spread in-the-path" chooses, into docs/measurements/case-study
	@scripts/debian-packages openssh-client openssh-server util-linux
	@$(PYTHON) tests/benchmarks/bench_case_study.py $(if $(ONLY),--only $(ONLY)) $(if $(MINUTES),--minutes $(MINUTES))

images: ## build the images and load them into the cluster
	@environment=$$(scripts/bring-up); grep IMAGE <<< "$$environment"

sbom: venv ## build the images from nothing, and write them and their bills of materials into dist
	@scripts/images archive dist
	@$(PYTHON) scripts/sbom.py dist/*.tar

docs: venv ## the documentation as a web site, into dist/docs; fails on a broken link
	@scripts/docs dist/docs

cluster-up: ## start Kubernetes from plain processes (compiled the first time, about 8 minutes)
	@$(CLUSTER) up

cluster-build: ## only compile it
	@$(CLUSTER) build

cluster-down: ## stop it; what was compiled stays
	@$(CLUSTER) down

generate: venv ## write the CRDs, the schemas, the reference pages, and each sentence that the product can say
	@for script in crds kustomize_names editor_schemas reference gateway_schema chart_reference gateway_reference messages; do $(PYTHON) scripts/$$script.py || exit; done
	@$(PYTHON) tests/support/processes/said.py

lock: venv ## lock requirements/*.txt again, after a change of dependencies in pyproject.toml
	@scripts/lock

venv: $(LOCKED) ## .venv from requirements/dev.txt and the SSH library that scripts/ssh2-wheel compiles, and nothing else

$(LOCKED):
	@scripts/venv $@

clean: ## take everything away: cluster, images, caches, .venv
	@scripts/clean
