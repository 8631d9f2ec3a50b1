"""Dynamic sampling (DAPO, Yu et al. 2025): groups without a gradient make room for others."""

import math
from collections.abc import Callable, Sequence

from mgpo.types import Group, Prompt


def refill_groups(
    groups: Sequence[Group],
    spares: Sequence[Prompt],
    sample: Callable[[list[Prompt]], list[Group]],
    teaches: Callable[[Group], bool],
) -> tuple[list[Group], dict[str, float]]:
    """Put groups of further prompts in the places of those that do not teach.

    `spares` are taken in their order, each time as many as should fill the open places at the rate
    seen so far, until none is open or none is left. What is then still flat stays; groups beyond
    the need are dropped. Returns groups and metrics.
    """
    refilled = list(groups)
    useful = [teaches(group) for group in groups]
    open_places = [place for place, is_useful in enumerate(useful) if not is_useful]
    num_flat, num_useful, num_sampled = len(open_places), sum(useful), len(groups)
    num_drawn = 0
    while open_places and num_drawn < len(spares):
        rate = num_useful / num_sampled
        wanted = math.ceil(len(open_places) / rate) if rate else len(spares)
        drawn = list(spares[num_drawn : num_drawn + wanted])
        num_drawn += len(drawn)
        found = [group for group in sample(drawn) if teaches(group)]
        num_useful += len(found)
        num_sampled += len(drawn)
        # Not strict: there may be more than needed, or fewer.
        for place, group in zip(open_places, found, strict=False):
            refilled[place] = group
        open_places = open_places[len(found) :]
    return refilled, {
        "data/refill_prompts": num_drawn,
        "data/refilled_groups": num_flat - len(open_places),
    }
