"""Reward functions in the manner of TRL and verl, unaware of this project."""

import ast
import asyncio
import re

import numpy as np


def accuracy_reward(completions, solution, **kwargs):
    contents = [completion[0]["content"] for completion in completions]
    return [
        float(answer in content) if answer else None
        for content, answer in zip(contents, solution, strict=True)
    ]


def length_reward(completions, **kwargs):
    return [-float(len(completion)) for completion in completions]


def follows_prompt(prompts, completions, **kwargs):
    return [prompt in completion for prompt, completion in zip(prompts, completions, strict=True)]


def two_columns(completions, solution, level):
    return [float(level[0] == 2 and solution[0] in completions[0])]


def keyword_column(completions, **kwargs):
    return [float(kwargs["reference"][0] in completions[0])]


async def async_reward(completions, prompts=None, **kwargs):
    await asyncio.sleep(0)
    return [np.float32(len(completion)) for completion in completions]


def own_event_loop(completions, **kwargs):
    return asyncio.run(async_reward(completions))


def follows_chat(prompts, completions):
    return [
        prompt[-1]["content"] in completion[0]["content"] and prompt[-1]["role"] == "user"
        for prompt, completion in zip(prompts, completions, strict=True)
    ]


def all_of_the_batch(prompts, completions, completion_ids, **kwargs):
    assert len(prompts) == len(completions) == len(completion_ids)
    return [float(len(ids)) for ids in completion_ids]


def logs(completions, log_metric, **kwargs):
    log_metric("length", 1.0)
    return [0.0 for _ in completions]


def no_completions(prompts):
    return [0.0 for _ in prompts]


def by_position(completions, /, **kwargs):
    return [0.0 for _ in completions]


def no_entry(completions, **kwargs):
    return []


def text(completions, **kwargs):
    return "1"


def by_name(completions, **kwargs):
    return {1.0: "x"}


def no_list(completions, **kwargs):
    return 1.0


def twice(completions, **kwargs):
    return [1.0, 1.0]


def word(completions, **kwargs):
    return ["1.0"]


def not_a_number(completions, **kwargs):
    return [float("nan")]


def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    assert data_source == "gsm8k"
    found = re.findall(r"#### (-?\d+)", solution_str)
    return 1.0 if found and found[-1] == ground_truth else (extra_info or {}).get("floor", 0.0)


def compute_dapo(data_source, solution_str, ground_truth, extra_info=None):
    correct = solution_str == ground_truth
    return {"score": 1.0 if correct else -1.0, "acc": correct, "pred": solution_str}


def compute_graded(data_source, solution_str, ground_truth, extra_info=None):
    return {"score": np.float64(0.25), "acc": 0.5, "format": "boxed"}


async def compute_async(data_source, solution_str, ground_truth, extra_info=None):
    return {"score": True}


def compute_nothing(data_source, solution_str, ground_truth, extra_info=None):
    return {"reward": 1.0}


def compute_two(solution_str, ground_truth):
    return float(solution_str == ground_truth)


def compute_bare(solution_str, ground_truth, **kwargs):
    assert kwargs["data_source"] == "sums"
    assert "problem" not in kwargs
    return float(solution_str == ground_truth)


def compute_all(**kwargs):
    return float(kwargs["solution_str"] == kwargs["ground_truth"])


def compute_keyword_only(*, ground_truth, solution_str, extra_info=None):
    return float(solution_str == ground_truth)


class _Scorer:
    def __call__(self, data_source, solution_str, ground_truth):
        return float(solution_str == ground_truth)


Scorer = _Scorer()


def compute_scaled(solution_str, ground_truth, scale):
    return scale * (solution_str == ground_truth)


def compute_any(solution_str, ground_truth, **kwargs):
    return compute_scaled(solution_str, ground_truth, kwargs["scale"])


def compute_bool(solution_str, ground_truth):
    return solution_str == ground_truth


def compute_numpy_bool(solution_str, ground_truth):
    return {"score": np.bool_(solution_str == ground_truth)}


def compute_literal(solution_str):
    return ast.literal_eval(solution_str)


def compute_nothing_from(ground_truth):
    return 1.0


def compute_batch(data_sources, solution_strs, ground_truths, extra_infos):
    return [1.0 for _ in solution_strs]
