"""A row of each public data set of experiments/public_data, written by hand after its card."""

import json


def deepmath(number: int, topic: str = "Mathematics -> Algebra -> Intermediate Algebra") -> dict:
    return {
        "question": f"Compute ${number} + 1$.",
        "final_answer": str(number + 1),
        "difficulty": 5.0,
        "topic": topic,
        "r1_solution_1": f"<think>\nEasy.\n</think>\n\n\\boxed{{{number + 1}}}",
        "r1_solution_2": f"<think>\nAgain.\n</think>\n\nThe sum is \\boxed{{{number + 1}}}.",
        "r1_solution_3": "",
    }


def thoughts(question: str) -> dict:
    return {
        "messages": [
            {"content": question, "role": "user"},
            {"content": "<think>\nHm.\n</think>\n\nDone.", "role": "assistant"},
        ],
        "num_tokens": 12,
        "source": "open-r1/codeforces-cots",
    }


def conversation() -> dict:
    return {
        "messages": [
            {"content": "You are terse.", "role": "system"},
            {"content": "Hello!", "role": "user"},
            {"content": "Hello.", "role": "assistant"},
            {"content": "Who are you?", "role": "user"},
            {"content": "A program.", "role": "assistant"},
        ],
        "source": "smol-magpie-ultra-short",
    }


def dapo(problem: str, answer: str) -> dict:
    text = (
        "Solve the following math problem step by step. The last line of your response should be "
        "of the form Answer: $Answer (without quotes) where $Answer is the answer to the "
        f'problem.\n\n{problem}\n\nRemember to put your answer on its own line after "Answer:".'
    )
    return {
        "data_source": "math_dapo",
        "prompt": [{"content": text, "role": "user"}],
        "ability": "MATH",
        "reward_model": {"ground_truth": answer, "style": "rule-lighteval/MATH_v2"},
        "extra_info": {"index": "9a9b6eb4-a1cb-49d1-8c1e-62eaf2f74079"},
    }


def primeintellect(problem: str, **test: str) -> dict:
    given = {"fn_name": None, "input": "2 3\n", "output": "5\n", "type": "stdin_stdout", **test}
    return {"problem": problem, "solutions": ["print(5)"], "tests": json.dumps([given])}


def taco(problem: str, **more: str) -> dict:
    tests = {"inputs": ["2 3\n"], "outputs": ["5\n"], **more}
    return {"problem": problem, "solutions": [], "tests": json.dumps(tests)}


def leetcode(date: str) -> dict:
    return {
        "task_id": "double-it",
        "question_id": 9999,
        "difficulty": "Easy",
        "tags": ["Math"],
        "problem_description": "Given a number, return its double.",
        "starter_code": "class Solution:\n    def double(self, x: int) -> int:\n        ",
        "estimated_date": date,
        "prompt": "from typing import *\n",
        "completion": "",
        "entry_point": "Solution().double",
        "test": "def check(candidate):\n    assert candidate(x = 4) == 8\n",
        "input_output": [{"input": "x = 4", "output": "8"}],
        "query": "",
        "response": "",
    }


def web_instruct(number: int = 0, **more: str) -> dict:
    return {
        "id": number,
        "question": f"A car drives {number + 10} metres in 5 seconds. How fast is it?",
        "answer": f"{(number + 10) / 5} m/s",
        "answer_type": "Float",
        "category": "Physics",
        "difficulty": "University",
        **more,
    }


def sciq() -> dict:
    return {
        "question": "Which organelle makes ATP?",
        "distractor1": "ribosome",
        "distractor2": "nucleus",
        "distractor3": "chloroplast",
        "correct_answer": "mitochondrion",
        "support": "Mitochondria make ATP.",
    }


def constrained(number: int = 0, instruction: str = "length_constraints:number_words") -> dict:
    kwargs = {"relation": "at least", "num_words": 20, "keyword": None}
    wanted = [
        {"instruction_id": ["punctuation:no_comma", instruction], "kwargs": [None, kwargs]},
    ]
    return {
        "key": f"k{number}",
        "messages": [{"content": f"Describe place {number}. Use no commas.", "role": "user"}],
        "ground_truth": str(wanted),
        "dataset": "ifeval",
        "constraint_type": "multi",
        "constraint": "Use no commas.",
    }


def no_robots() -> dict:
    return {
        "prompt": "Write a short poem about rain.",
        "prompt_id": "a1",
        "messages": [
            {"content": "Write a short poem about rain.", "role": "user"},
            {"content": "Drip, drop.", "role": "assistant"},
        ],
        "category": "Generation",
    }


def livecodebench() -> dict:
    return {
        "question_title": "A. Sum",
        "question_content": "Print the sum of the two given numbers.",
        "question_id": "1873_A",
        "public_test_cases": "[]",
        "private_test_cases": "",
    }


def imo() -> dict:
    return {
        "Problem ID": "imo-bench-algebra-001",
        "Problem": "Find all $N$.\n",
        "Short Answer": 3,
        "Category": "Algebra",
        "Subcategory": "Operation",
        "Source": "IMO Shortlist 2021",
    }
