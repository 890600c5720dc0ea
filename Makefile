# `make` lists what there is. Everything built or fetched lies in caches outside the checkout:
# CARGO_TARGET_DIR for what is compiled, $(CACHE) for models and example projects.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.ONESHELL:

CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/codegrep
export CARGO_TARGET_DIR ?= $(CACHE)/target
# llama.cpp's build switches AVX off when this is set.
unexport SOURCE_DATE_EPOCH

# What `build` and `install` compile in beside the lexical engine: llama, cuda, vulkan, metal, or
# nothing at all (FEATURES=).
FEATURES ?= llama
PREFIX ?= $(or $(CARGO_HOME),$(HOME)/.cargo)

# One set of flags for clippy, build and test, so that nothing is compiled twice.
ALL := --workspace --features codegrep/llama,codegrep-model/llama --locked

.PHONY: help demo build install test lint bench-find test-heavy test-qwen test-clients model-fixtures

help: ## list the targets
	@grep -hE '^[a-z][a-z0-9-]*:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | \
	  while IFS=$$'\t' read -r target what; do printf '  make %-16s %s\n' "$$target" "$$what"; done

demo: ## first result: build, fetch a real project, ask it a real bug report
	@tests/scripts/demo.sh

build: ## optimised binary with llama.cpp (FEATURES= for none, FEATURES=cuda|vulkan|metal)
	tests/scripts/install-deps.sh rust $(if $(FEATURES),llama)
	cargo build --release --locked -p codegrep $(if $(FEATURES),--features $(FEATURES))
	@echo "built $(CARGO_TARGET_DIR)/release/codegrep"

install: ## the same, put into PREFIX/bin (cargo's own by default)
	tests/scripts/install-deps.sh rust $(if $(FEATURES),llama)
	cargo install --locked --path sidecar/server --root $(PREFIX) \
	  $(if $(FEATURES),--features $(FEATURES))

test: ## everything continuous integration checks, with a small real model
	tests/scripts/install-deps.sh rust checks llama pip venv
	cargo fmt --all --check
	cargo clippy $(ALL) --all-targets -- -D warnings
	cargo build $(ALL) --all-targets
	export CODEGREP_BIN=$(CARGO_TARGET_DIR)/debug/codegrep
	export CODEGREP_TEST_MODEL=$$(tests/scripts/fetch-model.sh smollm2)
	cargo test $(ALL)
	tests/scripts/test-clients.sh

test-clients: ## the MCP and LSP fronts under clients that others wrote; part of `test`
	tests/scripts/install-deps.sh rust llama venv
	cargo build $(ALL) --all-targets
	export CODEGREP_BIN=$(CARGO_TARGET_DIR)/debug/codegrep
	tests/scripts/test-clients.sh

lint: ## format and clippy only
	tests/scripts/install-deps.sh rust checks llama
	cargo fmt --all --check
	cargo clippy $(ALL) --all-targets -- -D warnings

bench-find: ## cold find on a project of 5,000+ files, and grep against ripgrep
	tests/scripts/install-deps.sh rust rg pip
	@tests/scripts/bench-find.sh

test-heavy: test-qwen ## what takes too long for every change; each part has its own target

test-qwen: ## the agent loop with Qwen2.5-Coder-0.5B
	tests/scripts/install-deps.sh rust llama pip
	cargo build $(ALL) --all-targets
	export CODEGREP_BIN=$(CARGO_TARGET_DIR)/debug/codegrep
	export CODEGREP_TEST_MODEL=$$(tests/scripts/fetch-model.sh qwen0.5b)
	cargo test --locked -p codegrep-tests --test agent

model-fixtures: ## fetch the small models that tests use
	@tests/scripts/install-deps.sh pip
	@tests/scripts/fetch-model.sh smollm2
	@tests/scripts/fetch-model.sh qwen0.5b
