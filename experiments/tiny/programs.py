"""Tasks of the code domain: a function of one number, told step by step."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from tasks import Task

INPUTS = (-7, 0, 3, 12)
_STEPS_OF_KIND = {"one step": 1, "two steps": 2, "three steps": 3}
_DIFFICULTY = {"one step": 1, "two steps": 2, "three steps": 3}


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    """A step in words, as an expression around {}, and what it does."""

    words: str
    expression: str
    apply: Callable[[int], int]


def draw_program(rng: random.Random, kind: str) -> Task:
    """A program of as many steps as its kind says."""
    steps = [_draw_operation(rng) for _ in range(_STEPS_OF_KIND[kind])]
    prompt = f"Write f(x): {', then '.join(step.words for step in steps)}."
    return Task(
        prompt=prompt,
        domain="code",
        kind=kind,
        difficulty=_DIFFICULTY[kind],
        reference={
            "kind": "function",
            "entry_point": "f",
            "tests": [{"input": [x], "output": _result(steps, x)} for x in INPUTS],
        },
        traces=(_fenced(_expression(steps)), _fenced(_assignments(steps))),
    )


def _draw_operation(rng: random.Random) -> Operation:
    number = rng.randrange(2, 30)
    return rng.choice(
        [
            Operation(
                words=f"add {number}", expression=f"{{}}+{number}", apply=lambda x: x + number
            ),
            Operation(
                words=f"take {number}", expression=f"{{}}-{number}", apply=lambda x: x - number
            ),
            Operation(
                words=f"times {number}", expression=f"({{}})*{number}", apply=lambda x: x * number
            ),
            Operation(words="square it", expression="({})**2", apply=lambda x: x * x),
            Operation(words="negate it", expression="-({})", apply=lambda x: -x),
        ]
    )


def _result(steps: list[Operation], value: int) -> int:
    for step in steps:
        value = step.apply(value)
    return value


def _expression(steps: list[Operation]) -> str:
    """The whole function as one expression."""
    value = "x"
    for step in steps:
        value = step.expression.format(value)
    return f"def f(x):\n return {value}"


def _assignments(steps: list[Operation]) -> str:
    """A line for each step."""
    lines = [f" x={step.expression.format('x')}" for step in steps]
    return "\n".join(["def f(x):", *lines, " return x"])


def _fenced(program: str) -> str:
    return f"```python\n{program}\n```"
