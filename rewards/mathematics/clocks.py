"""Times of day: `4:30 p.m.`, and `12:05` among the ratios."""

import re
from collections.abc import Sequence
from math import gcd

_CLOCK = re.compile(
    r"(?:\\text\{)?(\d{1,2}):(\d\d)(?: ?(?:\\text\{)?\s?([ap])\.?\s?m\.?\}?)?", re.IGNORECASE
)
_TIME_OF_DAY = re.compile(r"(1?\d|2[0-4]):([0-5]\d)")
_HOUR = re.compile(r"(\d{1,2}) ?(?:\\text\{)?\s?([ap])\.?\s?m\.?\}?", re.IGNORECASE)


def time_of_day(text: str) -> tuple[str, str, str] | None:
    """Return hour, minute and `a` or `p` of `4:30 p.m.` or `4 pm`; None without a.m. or p.m."""
    hour = _HOUR.fullmatch(text)
    if hour:
        return hour[1], "00", hour[2].lower()
    clock = _CLOCK.fullmatch(text)
    return (clock[1], clock[2], clock[3].lower()) if clock and clock[3] else None


def is_clock(terms: Sequence[str]) -> bool:
    """Say whether `12:05` is a time of day and no ratio: no ratio has a term with a zero first."""
    match = _CLOCK.fullmatch(":".join(terms))
    return match is not None and match[2][0] == "0"


def looks_like_a_clock(expected: Sequence[str], given: Sequence[str]) -> bool:
    """Say whether a reference such as `6:15` is a time of day: beside another, or not reduced."""
    both = [_TIME_OF_DAY.fullmatch(":".join(terms)) for terms in (expected, given)]
    if both[0] is None:
        return False
    return both[1] is not None or gcd(int(both[0][1]), int(both[0][2])) > 1
