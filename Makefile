# Everything people and CI run. `make` alone lists the targets.

# How many stories `test` and `prove` tell; each has its own default.
SEEDS ?=
SEED ?= 7
export SEEDS

.DEFAULT_GOAL := help
.PHONY: help demo check test prove chaos bench sim bench-deploy bench-fleet model fuzz mutants

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

demo: ## build, install what is missing, and tell the story of the README on real engines
	@scripts/demo

check: ## format, lints, documentation, layers, paths
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --workspace
	@scripts/check-layers
	@for patch in mutants/*.patch; do git apply --check "$$patch" || exit 1; done
	@scripts/check-paths
	@echo "check: all good"

test: ## every test, and 200 simulated stories
	@scripts/test

prove: ## 2,000 stories that meet all that is published, and bugs that must be caught
	@scripts/prove

chaos: ## real faults done to real processes on real engines
	@scripts/chaos

bench: ## what a step costs
	cargo run --release -p colony-bench
	cargo bench -p colony-store

bench-deploy: ## what a deployment costs, from end to end
	@scripts/bench-deploy

bench-fleet: ## what sites cost the central orchestrator: make bench-fleet [SITES="40 300"]
	@scripts/bench-fleet

sim: ## replay one story: make sim SEED=7
	cargo run --release -p colony-sim -- --seed $(SEED)

model: ## walk through small fleets in breadth, up to a bound
	cargo run --release -p colony-model

fuzz: ## every reader under changed inputs: make fuzz [RUNS=20000] [SEED=7] [LIBFUZZER=60]
	@scripts/fuzz

mutants: ## change a crate, see whether its tests notice: make mutants [PACKAGE=colony-store] [SHARD=1/8]
	@scripts/mutants
