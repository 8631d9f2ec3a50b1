# make quickstart: install, train and evaluate in minutes (on one GPU a real model, else a tiny one)
# make test: install and run every test that this machine can run
# make check: lint, types and import rules

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
HAS_GPU := $(shell command -v nvidia-smi >/dev/null 2>&1 && nvidia-smi -L 2>/dev/null | grep -c GPU)
# A GPU machine takes the CUDA build of torch that pip finds; elsewhere the tested versions.
CONSTRAINTS := $(if $(filter-out 0,$(HAS_GPU)),,-c constraints.txt)
SEED ?= 0

.PHONY: quickstart tiny qwen test fast check format clean

quickstart: $(if $(filter-out 0,$(HAS_GPU)),qwen,tiny)

$(BIN)/.installed: setup.py constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check $(CONSTRAINTS) -e '.[dev]'
	touch $@

tiny: $(BIN)/.installed
	$(BIN)/python experiments/tiny/prepare.py --output runs/tiny
	$(BIN)/mgpo sft experiments/tiny/sft.yaml run.seed=$(SEED)
	$(BIN)/mgpo rl experiments/tiny/rl.yaml run.seed=$(SEED)

qwen: $(BIN)/.installed
	$(BIN)/mgpo rl experiments/qwen2_5_0_5b/rl.yaml run.seed=$(SEED)

test: $(BIN)/.installed
	$(BIN)/python -m pytest -m "not gpu and not vllm and not browser"

fast: $(BIN)/.installed
	$(BIN)/python -m pytest -m "not ray and not vllm and not slow and not browser and not gpu"

check: $(BIN)/.installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(BIN)/.installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) build *.egg-info
