"""Tasks of the STEM domain: a question about quantities with four options."""

import random
from collections.abc import Callable, Mapping

from tasks import Task

_LETTERS = "ABCD"
_FACTORS = {("km", "m"): 1000, ("m", "cm"): 100, ("kg", "g"): 1000, ("h", "min"): 60}


def draw_extreme(rng: random.Random) -> Task:
    """Which option is the largest, or the smallest?"""
    digits = rng.choice((2, 3))
    values = rng.sample(range(10 ** (digits - 1), 10**digits), 4)
    wanted = rng.choice(("largest", "smallest"))
    best = max(values) if wanted == "largest" else min(values)
    order = sorted(values, reverse=wanted == "largest")
    working = (">" if wanted == "largest" else "<").join(map(str, order))
    return _task(f"Which is {wanted}?", values, best, "extremes", digits, working)


def draw_conversion(rng: random.Random) -> Task:
    """How much is a quantity in a smaller unit?"""
    (large, small), factor = rng.choice(list(_FACTORS.items()))
    number = rng.randrange(2, 10)
    right = number * factor
    values = [*rng.sample(sorted({right * 10, right + factor, right // 10, right + 10}), 3), right]
    rng.shuffle(values)
    working = f"1{large}={factor}{small},{number}*{factor}={right}"
    return _task(f"{number} {large} in {small}?", values, right, "units", 2, working)


def draw_speed(rng: random.Random) -> Task:
    """How far does something go?"""
    speed, time = rng.randrange(2, 10), rng.randrange(2, 10)
    right = speed * time
    values = rng.sample(sorted({right + speed, right + 1, speed + time, right + 10}), 3)
    if right in values:  # 2 + 2 = 2 * 2
        return draw_speed(rng)
    values.append(right)
    rng.shuffle(values)
    prompt = f"At {speed} m/s for {time} s, how many m?"
    return _task(prompt, values, right, "motion", 1, f"{speed}*{time}={right}")


DRAWS: Mapping[str, Callable[[random.Random], Task]] = {
    "extremes": draw_extreme,
    "units": draw_conversion,
    "motion": draw_speed,
}


def _task(
    question: str, values: list[int], right: int, kind: str, difficulty: int, working: str
) -> Task:
    options = {letter: str(value) for letter, value in zip(_LETTERS, values, strict=True)}
    letter = next(letter for letter, value in options.items() if value == str(right))
    shown = " ".join(f"{key}) {value}" for key, value in options.items())
    box = f"\\boxed{{{letter}}}"
    return Task(
        prompt=f"{question} {shown}",
        domain="stem",
        kind=kind,
        difficulty=difficulty,
        reference={"answer": letter, "options": options},
        traces=(f"{working}\n{box}", f"{working}\n{right} is {letter}\n{box}"),
    )
