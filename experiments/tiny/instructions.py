"""Tasks of the instruct domain: say some words under constraints that a program can check."""

import random
from typing import Any

from tasks import Task

WORDS = ("pens", "nuts", "eggs", "cards", "coins", "books", "shells", "stamps", "keys", "cups")
_MAX_WORDS = 8


def draw_instruction(rng: random.Random, num_constraints: int) -> Task:
    """Say so many words, with `num_constraints` demands in all."""
    count = rng.randrange(3, _MAX_WORDS + 1)
    shuffled = rng.sample(WORDS, len(WORDS))
    said = shuffled[:count]
    demands: dict[str, tuple[str, dict[str, Any]]] = {
        "use": (f"Use {said[0]}.", _constraint("keywords:existence", keywords=[said[0]])),
        "never": (
            f"Never say {shuffled[-1]}.",
            _constraint("keywords:forbidden_words", forbidden_words=[shuffled[-1]]),
        ),
        "end": (f"End with {said[-1]}.", _constraint("startend:end_checker", end_phrase=said[-1])),
        "comma": ("No comma.", _constraint("punctuation:no_comma")),
    }
    chosen = rng.sample(sorted(demands), num_constraints - 1)
    constraints = [
        _constraint("length_constraints:number_words", relation="exactly", num_words=count),
        *(demands[name][1] for name in chosen),
    ]
    middle = said[:-1]
    rng.shuffle(middle)
    separator = " " if "comma" in chosen or rng.random() < 0.5 else ", "
    return Task(
        prompt=" ".join([f"Say {count} words.", *(demands[name][0] for name in chosen)]),
        domain="instruct",
        kind=f"{num_constraints} constraints",
        difficulty=num_constraints,
        reference={"constraints": constraints},
        traces=(separator.join([*middle, said[-1]]),),
    )


def _constraint(name: str, **kwargs: Any) -> dict[str, Any]:
    return {"id": name, "kwargs": kwargs}
