# Everything people and CI run. `make` alone lists the targets.

# How many stories `test` and `prove` tell; each has its own default.
SEEDS ?=
SEED ?= 7
export SEEDS

.DEFAULT_GOAL := help
.PHONY: help demo check core test test-engines prove bugs chaos bench sim bench-build bench-deploy bench-fleet model fuzz mutants

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

demo: ## build, install what is missing, and tell the story of the README on real engines
	@scripts/demo

check: ## format, lints, documentation, layers, known bugs, paths, words
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --workspace
	@scripts/check-layers
	@scripts/bugs --check
	@scripts/mutants --check
	@scripts/check-paths
	@scripts/check-words
	@echo "check: all good"

core: ## after a change of the core: format, lints, its tests and 50 simulated stories
	cargo fmt --all --check
	cargo clippy -p colony-core --all-targets -- -D warnings
	cargo nextest run -p colony-core --status-level fail
	cargo run --profile prove -p colony-sim -- --seeds 50

test: ## every test, and 200 simulated stories
	@scripts/test

test-engines: ## the tests on real engines, with Kubernetes: builds its programs once
	@scripts/test-engines

prove: ## 2,000 stories that meet all that is published, known bugs, the model, fuzzing
	@scripts/prove

bugs: ## whether the simulation or a test catches each known bug: a part of prove
	@scripts/bugs

chaos: ## real faults done to real processes on real engines
	@scripts/chaos

bench: ## what a step costs
	cargo run --release -p colony-bench
	cargo bench -p colony-store

bench-build: ## how long make demo and make test take without anything built before
	@scripts/bench-build

bench-deploy: ## what a deployment costs, from end to end
	@scripts/bench-deploy

bench-fleet: ## what sites cost the central orchestrator: make bench-fleet [SITES="40 300"]
	@scripts/bench-fleet

sim: ## replay one story: make sim SEED=7
	cargo run --profile prove -p colony-sim -- --seed $(SEED)

model: ## walk through small fleets in breadth, up to a bound
	cargo run --profile prove -p colony-model

fuzz: ## every reader under changed inputs: make fuzz [RUNS=20000] [SEED=7] [LIBFUZZER=60]
	@scripts/fuzz

mutants: ## change a crate, see whether its tests notice: make mutants [PACKAGE=colony-store] [SHARD=1/8]
	@scripts/mutants
