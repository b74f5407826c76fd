# What a person types. CMake does the work, scripts/ holds what is longer than a line.
.DEFAULT_GOAL := help
SHELL := /bin/sh
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
export JOBS

.PHONY: help vm demo build test check format audit bench lint fuzz race soak crossbuild registries examples install clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: build ## watch a script do what its manifest allows, and fail at the rest
	@scripts/demo build/release

build: ## the release: static cordon and its launcher, in build/release
	@scripts/install-packages build
	@scripts/build release

test: ## every test, then the pure rooms under ASan and UBSan; ends with 'N passed, N failed'
	@scripts/test

check: ## every gate: format, lint, the house's own rules, tests
	@scripts/install-packages build check
	@scripts/check-format
	@scripts/check-rules
	@scripts/lint
	@scripts/test

format: ## put every source into the house's format
	@scripts/install-packages check
	@scripts/check-format --fix

lint: ## clang-tidy 19 over every source
	@scripts/install-packages build check
	@scripts/lint

audit: ## the corpus of shields beside the lists of firejail and AppArmor
	@scripts/install-packages build test
	@scripts/audit

race: ## the tests of the rooms with threads, under TSan
	@scripts/race

fuzz: ## each fuzz target for FUZZ_SECONDS (default 60) seconds
	@scripts/install-packages build fuzz
	@scripts/fuzz

bench: ## start-up and cost per grant, beside bare exec, bubblewrap and firejail
	@scripts/install-packages build bench
	@scripts/bench

soak: ## faults at random for DURATION (default 600) seconds: killed, stopped, reset, stalled; SEED repeats a run, AS=user runs it as a user
	@scripts/install-packages build test
	@scripts/build dev cordon egress_soak
	@scripts/soak build/dev

vm: ## resource limits for real, in a Debian guest that is built and booted for it (some minutes)
	@scripts/install-packages build test vm
	@cmake --preset dev -DCORDON_VM=ON --log-level=WARNING
	@cmake --build build/dev -j "$(JOBS)"
	@ctest --test-dir build/dev --output-on-failure --no-tests=error -R '^vm: '

registries: build ## npm and apt through Cordon, against the registries that this machine is set up for
	@scripts/registries build/release

crossbuild: ## compile the trusted core and the pure rooms for arm64
	@scripts/install-packages build cross
	@scripts/crossbuild

examples: build ## run every example
	@scripts/demo build/release

install: build ## install the release below PREFIX (default /usr/local)
	@cmake --install build/release --prefix "$(PREFIX)"

clean: ## remove build/
	@rm -rf build
