"""Generated sums, differences and short word problems with worked, boxed solutions.

Standard library only. A problem is a chain of signed whole numbers: the first term, then what is
added to it or taken from it; no partial result is negative.
"""

import json
import random
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

DIFFICULTIES = (1, 2, 3, 4, 5)

_NAMES = ("Ann", "Ben", "Cara", "Dan", "Eva", "Finn", "Gus", "Hana")
_THINGS = ("pens", "nuts", "eggs", "cards", "coins", "books", "shells", "stamps")
_GAINS = ("finds", "buys", "gets", "makes")
_LOSSES = ("loses", "sells", "gives", "eats")
# The sixth is not among those of the tiny model.
_DIGITS_OF_DIFFICULTY = {1: (2, 1), 2: (2, 2), 3: (3, 3), 4: (4, 4), 5: (2, 2, 2), 6: (1, 1)}
_SHARE_OF_WORD_PROBLEMS = {1: 0.7, 2: 0.5, 3: 0.3, 4: 0.2, 5: 0.7, 6: 0.9}


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One problem as asked, and the chain that solves it."""

    prompt: str
    terms: tuple[int, ...]
    """The first number, then every further one with its sign."""
    difficulty: int

    @property
    def reference(self) -> str:
        """The answer in digits."""
        return str(sum(self.terms))

    @property
    def columns(self) -> str:
        """Column arithmetic from the last digit on, link after link of the chain, then the box."""
        workings = []
        total = self.terms[0]
        for term in self.terms[1:]:
            sign = "-" if term < 0 else "+"
            columns = _difference_columns if term < 0 else _sum_columns
            workings.append(f"{total}{sign}{abs(term)}:{','.join(columns(total, abs(term)))}")
            total += term
        return f"{' '.join(workings)}\n\\boxed{{{total}}}"

    @property
    def results(self) -> str:
        """One line for each link of the chain, as in `76 + 7 = 83`, then the box."""
        lines = []
        total = self.terms[0]
        for term in self.terms[1:]:
            lines.append(f"{total} {'-' if term < 0 else '+'} {abs(term)} = {total + term}")
            total += term
        return "\n".join([*lines, f"\\boxed{{{total}}}"])


def write_problems(
    folder: Path,
    seed: int,
    counts: Mapping[str, int],
    difficulties: Collection[int] = DIFFICULTIES,
    solve: Callable[[Problem], str] = lambda problem: problem.columns,
) -> None:
    """Write NAME.jsonl with so many rows each; `sft` rows have their worked solution.

    All come from one stream without repeats, so that no prompt is in two files.
    """
    stream = problems(random.Random(seed), difficulties)
    for name, count in counts.items():
        rows = [
            _row(f"{name}-{index:05d}", problem, solve(problem) if name == "sft" else None)
            for index, problem in enumerate(islice(stream, count))
        ]
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, encoding="ascii")


def _row(row_id: str, problem: Problem, response: str | None) -> dict[str, str | int]:
    return {
        "id": row_id,
        "prompt": problem.prompt,
        **({"response": response} if response else {}),
        "reference": problem.reference,
        "domain": "math",
        "difficulty": problem.difficulty,
    }


def problems(rng: random.Random, difficulties: Collection[int] = DIFFICULTIES) -> Iterator[Problem]:
    """Problems without end, each difficulty in turn; no two have the same prompt."""
    seen = set()
    while True:
        for difficulty in difficulties:
            problem = draw_problem(rng, difficulty)
            while problem.prompt in seen:
                problem = draw_problem(rng, difficulty)
            seen.add(problem.prompt)
            yield problem


def draw_problem(rng: random.Random, difficulty: int) -> Problem:
    """A problem of that difficulty, plain or in words."""
    terms = _draw_terms(rng, _DIGITS_OF_DIFFICULTY[difficulty])
    is_word_problem = rng.random() < _SHARE_OF_WORD_PROBLEMS[difficulty]
    prompt = _word_prompt(rng, terms) if is_word_problem else _plain_prompt(terms)
    return Problem(prompt=prompt, terms=terms, difficulty=difficulty)


def _draw_terms(rng: random.Random, digits: tuple[int, ...]) -> tuple[int, ...]:
    terms = [_draw_number(rng, digits[0])]
    for num_digits in digits[1:]:
        number = _draw_number(rng, num_digits)
        can_subtract = number <= sum(terms)
        terms.append(-number if can_subtract and rng.random() < 0.5 else number)
    return tuple(terms)


def _draw_number(rng: random.Random, num_digits: int) -> int:
    return rng.randrange(10 ** (num_digits - 1), 10**num_digits)


def _plain_prompt(terms: tuple[int, ...]) -> str:
    first, *rest = terms
    return f"What is {first}{''.join(f'{term:+d}' for term in rest)}?"


def _word_prompt(rng: random.Random, terms: tuple[int, ...]) -> str:
    first, *rest = terms
    events = [f"{rng.choice(_LOSSES if term < 0 else _GAINS)} {abs(term)}" for term in rest]
    return f"{rng.choice(_NAMES)} has {first} {rng.choice(_THINGS)}, {', '.join(events)}. How many?"


def _sum_columns(left: int, right: int) -> list[str]:
    """Column by column, last digits first: `5+8=13`, `4+7+1=12` with the carry, `3+1=4`."""
    columns = []
    carry = 0
    while left or right:
        parts = [left % 10] if left else []
        parts += [right % 10] if right else []
        parts += [1] if carry else []
        columns.append(f"{'+'.join(map(str, parts))}={sum(parts)}")
        carry = sum(parts) // 10
        left, right = left // 10, right // 10
    return columns


def _difference_columns(left: int, right: int) -> list[str]:
    """Column by column, last digits first: `13-8=5` having borrowed, `12-7-1=4` having lent too."""
    columns = []
    borrow = 0
    while left:
        parts = [right % 10] if right else []
        parts += [1] if borrow else []
        borrow = int(left % 10 < sum(parts))
        digit = left % 10 + 10 * borrow
        columns.append(f"{'-'.join(map(str, [digit, *parts]))}={digit - sum(parts)}")
        left, right = left // 10, right // 10
    return columns
