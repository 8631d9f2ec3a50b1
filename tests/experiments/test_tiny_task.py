"""The generated problems and files of experiments/tiny, checked from the text a model sees."""

import importlib
import json
import random
import re
import sys
from itertools import islice
from pathlib import Path

import pytest

TINY_DIR = Path(__file__).parents[2] / "experiments" / "tiny"
FILES = ("sft", "train", "heldout")
COLUMN = re.compile(r"(\d+)((?:[+-]\d+)*)=(\d+)")
LOSSES = ("loses", "sells", "gives", "eats")


@pytest.fixture(scope="module")
def arithmetic():
    return _import_from_tiny("arithmetic")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    output = tmp_path_factory.mktemp("tiny")
    _prepare(output)
    return output


def _import_from_tiny(name):
    sys.path.insert(0, str(TINY_DIR))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(TINY_DIR))


def _prepare(output, seed=0):
    argv = ["prepare.py", "--output", str(output), "--seed", str(seed)]
    argv += ["--num-sft", "60", "--num-train", "30", "--num-heldout", "25"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", argv)
        _import_from_tiny("prepare").main()


def _rows(folder, name):
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]


def _bytes_of_files(folder):
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def _answer_read_from_the_prompt(prompt):
    """Solves the question from its words alone."""
    if prompt.startswith("What is"):
        return sum(map(int, re.findall(r"[+-]?\d+", prompt)))
    possession, *events = prompt.removesuffix(". How many?").split(", ")
    total = int(re.search(r"\d+", possession).group())
    for event in events:
        verb, number = event.split()
        total += -int(number) if verb in LOSSES else int(number)
    return total


def test_box_and_reference_equal_the_answer_read_from_the_prompt(arithmetic):
    for problem in islice(arithmetic.problems(random.Random(3)), 2000):
        answer = str(_answer_read_from_the_prompt(problem.prompt))
        assert problem.reference == answer, problem
        assert re.findall(r"\\boxed\{(\d+)\}", problem.columns) == [answer], problem


def test_every_column_is_true_and_its_digits_spell_the_total(arithmetic):
    for problem in islice(arithmetic.problems(random.Random(4)), 2000):
        totals = []
        for link in problem.columns.split("\n")[0].split(" "):
            columns = COLUMN.findall(link.split(":")[1])
            assert all(
                int(a) + sum(map(int, re.findall(r"[+-]\d", b))) == int(c) for a, b, c in columns
            )
            *low, high = [value for _, _, value in columns]
            totals.append(int(high + "".join(value[-1] for value in reversed(low))))
        partial_sums = [sum(problem.terms[: end + 2]) for end in range(len(totals))]
        assert totals == partial_sums, problem


def test_worked_example_with_a_carry_and_a_loan(arithmetic):
    problem = arithmetic.Problem(prompt="What is 82-55+81?", terms=(82, -55, 81), difficulty=5)
    assert problem.columns == "82-55:12-5=7,8-5-1=2 27+81:7+1=8,2+8=10\n\\boxed{108}"


def test_no_prompt_is_in_two_files_or_twice_in_one(prepared):
    prompts = [row["prompt"] for name in FILES for row in _rows(prepared, name)]
    assert len(set(prompts)) == len(prompts) == 60 + 30 + 25


def test_every_file_has_the_same_mix_of_difficulties(prepared):
    for name, count in zip(FILES, (60, 30, 25), strict=True):
        difficulties = [row["difficulty"] for row in _rows(prepared, name)]
        assert sorted(difficulties) == sorted((1, 2, 3, 4, 5) * (count // 5))


def test_only_the_warm_start_has_responses(prepared):
    assert all("response" in row for row in _rows(prepared, "sft"))
    assert not any("response" in row for name in FILES[1:] for row in _rows(prepared, name))


def test_a_second_run_writes_the_same_bytes(prepared, tmp_path):
    _prepare(tmp_path)
    assert _bytes_of_files(tmp_path) == _bytes_of_files(prepared)


def test_another_seed_changes_weights_and_problems(prepared, tmp_path):
    _prepare(tmp_path, seed=1)
    first, second = _bytes_of_files(prepared), _bytes_of_files(tmp_path)
    changed = {name for name in first if first[name] != second[name]}
    assert changed == {"model/model.safetensors", *(f"{name}.jsonl" for name in FILES)}


def test_auto_tokenizer_gives_back_text_and_a_short_chat(prepared):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(prepared / "model")
    for row in _rows(prepared, "sft"):
        token_ids = tokenizer(row["response"]).input_ids
        assert tokenizer.decode(token_ids) == row["response"]
        messages = [{"role": "user", "content": row["prompt"]}]
        chat = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        assert chat == f"<|im_start|>u{row['prompt']}<|im_end|><|im_start|>a"
        assert len(tokenizer(chat).input_ids) == len(row["prompt"]) + 5
    assert tokenizer.decode(tokenizer("na\u00efve \u6570").input_ids) == "na\u00efve \u6570"
    assert tokenizer.eos_token == "<|im_end|>"


def test_the_vocabulary_is_padded_past_the_tokenizer_and_the_head_is_tied(prepared):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(prepared / "model")
    assert model.config.vocab_size > len(AutoTokenizer.from_pretrained(prepared / "model"))
    assert model.lm_head.weight is model.model.embed_tokens.weight
    assert model.generation_config.eos_token_id == model.config.eos_token_id


def test_results_stand_line_by_line_before_the_box(arithmetic):
    problem = arithmetic.Problem(prompt="", terms=(82, -5, 81), difficulty=0)
    assert problem.results == "82 - 5 = 77\n77 + 81 = 158\n\\boxed{158}"
