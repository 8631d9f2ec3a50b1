"""From a row of a public data set to rows of ours (docs/data.md), a pure function for each set.

The layouts are those of the sets' cards on the hub. A function returns no row for what is of no use
here, and raises KeyError or ValueError for a row that is not laid out as its card says.
"""

import ast
import json
from collections.abc import Mapping
from typing import Any

from mgpo.data.benchmark_formats import FORMATS

Values = Mapping[str, Any]
Rows = list[dict[str, Any]]

BOXED = "\n\nPlease reason step by step, and put your final answer within \\boxed{}."
ANSWER = "\n\nThink step by step. End with a line `Answer: X`, where X is your final answer."
OPTION = ANSWER.replace("your final answer", "the letter of the right option")
PROGRAM = (
    "\n\nWrite a Python program that solves the problem. It reads from standard input and writes "
    "to standard output. Give the whole program in one ```python block."
)
FUNCTION = (
    "\n\nAnswer with a complete Python program that defines what is asked for, its imports and "
    "helpers included, in one ```python block."
)
_INSTRUCTIONS = (BOXED, ANSWER, OPTION, PROGRAM, FUNCTION)
NUM_TRACES = 3
"""Solutions of a problem that DeepMath-103K has."""
LIVECODEBENCH_START = "2023-05-01"
"""The day of its first problem; many of its problems are LeetCode's."""
_DAPO_BEFORE = (
    "Solve the following math problem step by step. The last line of your response should be of "
    "the form Answer: $Answer (without quotes) where $Answer is the answer to the problem.\n\n"
)
_DAPO_AFTER = '\n\nRemember to put your answer on its own line after "Answer:".'
RUBRIC = [
    {"id": "helpful", "text": "The response does what the user asks, in full.", "weight": 2},
    {"id": "adherent", "text": "The response keeps to every limit that the request names."},
    {"id": "coherent", "text": "The response is consistent and in a sensible order."},
    {"id": "concise", "text": "The response says nothing twice and nothing beside the point."},
]
"""The four sides that the report names; words and weights are ours."""


def without_instruction(prompt: str | list[dict[str, str]]) -> str:
    """Return a prompt as its set has it.

    Our instructions are longer than the 10 words that decontamination looks for: held-out prompts
    with one would drop all of the training data.
    """
    text = prompt if isinstance(prompt, str) else "\n".join(turn["content"] for turn in prompt)
    for instruction in _INSTRUCTIONS:
        text = text.removesuffix(instruction)
    return text


def deepmath_traces(row: Values, key: str) -> Rows:
    """Worked solutions: zwhe99/DeepMath-103K (question, final_answer, topic, r1_solution_1..3)."""
    shared = _deepmath_task(row)
    return [
        {"id": f"{key}-{number}", **shared, "response": row[f"r1_solution_{number}"].strip()}
        for number in range(1, NUM_TRACES + 1)
        if (row[f"r1_solution_{number}"] or "").strip()
    ]


def deepmath_problem(row: Values, key: str) -> Rows:
    """The problem alone, with its `subdomain` where it is one of the four that are probed."""
    subdomain = subdomain_of(row["topic"])
    return [{"id": key, **_deepmath_task(row), **({"subdomain": subdomain} if subdomain else {})}]


def subdomain_of(topic: str) -> str | None:
    """Return which of the report's four mathematical sub-domains a topic of DeepMath-103K is in.

    Topics are paths such as "Mathematics -> Calculus -> Integral Calculus -> Techniques of
    Integration".
    """
    parts = {part.strip().lower() for part in topic.split("->")}
    if parts & {"statistics", "probability"}:
        return "statistics"
    return next((name for name in ("algebra", "geometry", "calculus") if name in parts), None)


def _deepmath_task(row: Values) -> dict[str, Any]:
    return {
        "prompt": row["question"].strip() + BOXED,
        "reference": row["final_answer"],
        "domain": "math",
    }


def mixture_of_thoughts(domain: str) -> Any:
    """Return the converter of one part of open-r1/Mixture-of-Thoughts (messages, num_tokens,
    source): conversations of two turns, the answer's thinking included."""

    def convert(row: Values, key: str) -> Rows:
        return _conversation(row["messages"], key, domain)

    return convert


def chat(row: Values, key: str) -> Rows:
    """General conversations: HuggingFaceTB/smol-smoltalk (messages, source)."""
    return _conversation(row["messages"], key, "chat")


def persona_instructions(row: Values, key: str) -> Rows:
    """allenai/tulu-3-sft-personas-instruction-following (id, prompt, messages, constraints)."""
    return _conversation(row["messages"], key, "chat")


def _conversation(messages: list[Values], key: str, domain: str) -> Rows:
    """Return what was said as context, and the last answer to learn."""
    turns = [{"role": each["role"], "content": each["content"]} for each in messages]
    if len(turns) < 2 or [turn["role"] for turn in turns[-2:]] != ["user", "assistant"]:
        return []
    return [{"id": key, "prompt": turns[:-1], "response": turns[-1]["content"], "domain": domain}]


def deepscaler(row: Values, key: str) -> Rows:
    """agentica-org/DeepScaleR-Preview-Dataset (problem, answer, solution); some lack an answer."""
    answer = (row["answer"] or "").strip()
    return [_math_task(row["problem"], answer, key)] if answer else []


def dapo_math(row: Values, key: str) -> Rows:
    """BytedTsinghua-SIA/DAPO-Math-17k, in verl's layout (prompt, reward_model, extra_info), with
    its own instruction taken off. Each problem stands there many times."""
    text = row["prompt"][-1]["content"]
    if not text.startswith(_DAPO_BEFORE) or not text.endswith(_DAPO_AFTER):
        raise ValueError(f"the instruction around the problem is another one: {text[:80]!r}")
    problem = text.removeprefix(_DAPO_BEFORE).removesuffix(_DAPO_AFTER)
    return [_math_task(problem, row["reward_model"]["ground_truth"], key)]


def _math_task(problem: str, answer: str, key: str) -> dict[str, Any]:
    prompt = problem.strip() + BOXED
    return {"id": key, "prompt": prompt, "reference": answer, "domain": "math"}


def deepcoder(row: Values, key: str) -> Rows:
    """agentica-org/DeepCoder-Preview-Dataset, parts primeintellect and taco (problem, tests):
    programs that read standard input. Its functions are left out: LeetCode's have typed tests."""
    tests = json.loads(row["tests"])
    if isinstance(tests, Mapping):  # taco
        if tests.get("fn_name"):
            return []
        pairs = list(zip(tests["inputs"], tests["outputs"], strict=True))
    else:
        if any(test.get("fn_name") or test["type"] != "stdin_stdout" for test in tests):
            return []
        pairs = [(test["input"], test["output"]) for test in tests]
    if not pairs or not all(isinstance(text, str) for pair in pairs for text in pair):
        return []
    reference = {
        "kind": "stdin",
        "tests": [{"input": given, "output": wanted} for given, wanted in pairs],
    }
    prompt = row["problem"].strip() + PROGRAM
    return [{"id": key, "prompt": prompt, "reference": reference, "domain": "code"}]


def leetcode(row: Values, key: str) -> Rows:
    """newfacade/LeetCodeDataset (problem_description, starter_code, prompt, test, entry_point,
    estimated_date), only what is older than LiveCodeBench."""
    problem = FORMATS["leetcode"](row)
    if not problem.date or problem.date >= LIVECODEBENCH_START:
        return []
    reference = {**problem.reference, "time_limit_s": 10, "memory_limit_mb": 1024}
    prompt = problem.prompt + FUNCTION
    return [{"id": key, "prompt": prompt, "reference": reference, "domain": "code"}]


def web_instruct(row: Values, key: str) -> Rows:
    """TIGER-Lab/WebInstruct-verified (question, answer, answer_type, category, difficulty), its
    hard questions that are not mathematics. Options, where it has some, stand in the question."""
    if row["category"] == "Mathematics" or row["difficulty"] not in ("University", "PhD"):
        return []
    has_options = row["answer_type"] == "Multiple Choice"
    return [
        {
            "id": key,
            "prompt": row["question"].strip() + (OPTION if has_options else ANSWER),
            "reference": {"answer": row["answer"].strip()},
            "domain": "stem",
        }
    ]


def sciq(row: Values, key: str) -> Rows:
    """allenai/sciq (question, correct_answer, distractor1..3), with lettered options.

    The right one's place is a pure function of the key.
    """
    options = [row[f"distractor{number}"].strip() for number in (1, 2, 3)]
    right = sum(key.encode()) % 4
    options.insert(right, row["correct_answer"].strip())
    if len({option.casefold() for option in options}) < 4:
        return []
    lettered = dict(zip("ABCD", options, strict=True))
    shown = "\n".join(f"({letter}) {text}" for letter, text in lettered.items())
    return [
        {
            "id": key,
            "prompt": f"{row['question'].strip()}\n\n{shown}{OPTION}",
            "reference": {"answer": "ABCD"[right], "options": lettered},
            "domain": "stem",
        }
    ]


def if_constraints(row: Values, key: str) -> Rows:
    """allenai/IF_multi_constraints_upto5 (messages, ground_truth). `ground_truth` is the text of a
    list with one mapping, in Python's spelling: `instruction_id` and `kwargs`, null for none."""
    [wanted] = ast.literal_eval(row["ground_truth"])
    pairs = zip(wanted["instruction_id"], wanted["kwargs"], strict=True)
    constraints = [
        {"id": name, "kwargs": {k: v for k, v in (kwargs or {}).items() if v is not None}}
        for name, kwargs in pairs
    ]
    messages = [{"role": each["role"], "content": each["content"]} for each in row["messages"]]
    return [
        {
            "id": key,
            "prompt": messages,
            "reference": {"constraints": constraints},
            "domain": "instruct",
            "guard": True,  # a text without content can meet most constraints
        }
    ]


def open_ended(row: Values, key: str) -> Rows:
    """HuggingFaceH4/no_robots (prompt, prompt_id, messages, category), judged by the rubric."""
    return [_judged(row["prompt"].strip(), key)]


def long_context(row: Values, key: str) -> Rows:
    """HuggingFaceTB/smoltalk, part longalign (messages): questions about long documents."""
    messages = row["messages"]
    asked = next((each["content"] for each in messages if each["role"] == "user"), "")
    return [_judged(asked, key)] if asked.strip() else []


def _judged(prompt: str, key: str) -> dict[str, Any]:
    return {
        "id": key,
        "prompt": prompt,
        "reference": {"rubric": RUBRIC},
        "domain": "instruct",
        "reward": "rubric",
    }


def livecodebench_text(row: Values, key: str) -> Rows:
    """The text alone of livecodebench/code_generation_lite (question_content), to be held against
    training data."""
    return [{"id": key, "prompt": row["question_content"]}]


def imo_answerbench(row: Values, key: str) -> Rows:
    """google-deepmind/superhuman, imobench/answerbench_v2.csv, as the benchmark reads it."""
    return [
        {
            "id": row["Problem ID"],
            "problem": row["Problem"].strip(),
            "answer": str(row["Short Answer"]).strip(),
        }
    ]
