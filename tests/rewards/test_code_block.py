"""Which program a response gives as its answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewards.code_block import program_of

SOLUTION = "n = int(input())\nprint(n + 1)\n"


def fenced(text, tag="python", fence="```"):
    return f"{fence}{tag}\n{text.rstrip()}\n{fence}\n"


@pytest.mark.parametrize(
    "response",
    [
        fenced(SOLUTION),
        f"First try:\n{fenced('print(1)')}\nBetter:\n{fenced(SOLUTION)}",
        f"{fenced(SOLUTION)}\nOn input 4 it prints\n{fenced('5', '')}",
        f"{fenced(SOLUTION)}\nTo test it:\n{fenced('assert 4 + 1 == 5')}",
        f"{fenced(SOLUTION)}\nRun it:\n{fenced('echo 4 | python main.py', 'bash')}",
        f"<think>\n{fenced('print(0)')}\n</think>\n{fenced(SOLUTION)}",
        fenced(SOLUTION, "Python3"),
        fenced(SOLUTION, "python3.11"),
        fenced(SOLUTION, "pypy3"),
        fenced(SOLUTION, "ipython"),
        fenced(SOLUTION, "python:main.py"),
        f"Here is the code: ```python\n{SOLUTION}```\nThat is it.",
        f"1. ```python\n{SOLUTION}```",
        "1. ```python\n   n = int(input())\n   print(n + 1)\n   ```",
        f"**```python\n{SOLUTION}```**",
        f"```python\n{SOLUTION.rstrip()}```",
        f"```python\n{SOLUTION}``` That is all.",
        f"```python\n{SOLUTION}```python\n",
        f"```python\nprint(1)\n```python\n{SOLUTION}```",
        "1. Do:\n\n   ```python\n   n = int(input())\n   print(n + 1)\n   ```\n",
        "* Do:\n\n      ```python\n      n = int(input())\n      print(n + 1)\n      ```\n",
        fenced(SOLUTION, "{.python}"),
        fenced(SOLUTION, "python title=main.py"),
        fenced(SOLUTION, ""),
        fenced(SOLUTION, "py", "~~~~"),
        f"```python\n{SOLUTION}",
        SOLUTION,
        fenced(SOLUTION).replace("\n", "\r\n"),
    ],
)
def test_the_solution_is_found(response):
    program = program_of(response)
    assert program is not None
    assert program.replace("\r", "").strip() == SOLUTION.strip()


@pytest.mark.parametrize(
    "response",
    [
        "The answer is 5.",
        "5",
        "yes",
        f"<think>\n{fenced(SOLUTION)}",
        fenced("#include <stdio.h>", "c"),
        fenced('{"a": 1}', "json"),
        "",
        "\0",
        "(" * 100_000,
    ],
)
def test_a_response_without_a_program_has_none(response):
    assert program_of(response) is None


def test_the_block_that_defines_the_entry_point_counts():
    solution = "class Solution:\n    def add(self, a, b):\n        return a + b\n"
    response = fenced(solution) + fenced("print(Solution().add(1, 2))\n")
    assert program_of(response, entry_point="Solution.add") == solution
    later = fenced("def helper(x): pass\n") + fenced("add = lambda a, b: a + b\n")
    assert program_of(later + fenced("x = 1\n"), entry_point="add") == "add = lambda a, b: a + b\n"


def test_a_fence_inside_a_longer_fence_or_a_string_of_other_kind_is_text():
    text = "s = '''\n```\n'''\nprint(input() + s)\n"
    assert program_of(f"````python\n{text}````\n") == text
    assert program_of(f"~~~python\n{text}~~~\n") == text


def test_the_language_decides():
    program = "int main() { return 0; }\n"
    response = fenced("print(input())\n") + fenced(program, "C++")
    assert program_of(response, language="cpp") == program
    assert program_of(fenced(program, "c++17"), language="cpp") == program
    assert program_of(fenced(program, "cpp"), language="c") is None
    assert program_of(response) == "print(input())\n"


@given(st.text(alphabet="`~ \nadef()<>/think", max_size=200))
def test_no_text_is_too_odd(text):
    assert program_of(text) is None or isinstance(program_of(text), str)
