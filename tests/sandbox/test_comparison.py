"""When an answer is the expected one."""

import pytest

from sandbox.comparison import Tolerance, same_tokens, same_value
from sandbox.values import decode, encode

EXACT = Tolerance()
NEAR = Tolerance(1e-6)


@pytest.mark.parametrize(
    ("output", "expected", "tolerance", "is_same"),
    [
        (b"1  2\t3 \r\n\n", b"1 2 3\n", EXACT, True),
        (b"", b"\n", EXACT, True),
        (b"YES", b"yes", EXACT, False),
        (b"YES\nNO", b"YES", EXACT, False),
        (b"1", b"1 2", EXACT, False),
        (b"0.3333333", b"0.33333333", EXACT, False),
        (b"0.3333333", b"0.33333333", NEAR, True),
        (b"1e-07 -0.0", b"0.0000001 0", NEAR, True),
        (b"1000000.5", b"1000000.0", NEAR, True),  # relative above 1
        (b"1.00001", b"1.0", NEAR, False),
        (b"50000000000000001", b"50000000000000000", NEAR, False),
        (b"+5", b"5", NEAR, True),
        (b"nan", b"1.5", NEAR, False),
        (b"0.5", str(10**320).encode(), NEAR, False),
        (b"nan", b"nan", NEAR, True),  # the same text
        (b"inf", b"1e400", NEAR, False),
        (b"1_0.0", b"10.0", NEAR, False),
        ("\u0661.5".encode(), b"1.5", NEAR, False),
        (b"0x10", b"16.0", NEAR, False),
        (b"1.5", b"1,5", NEAR, False),
    ],
)
def test_tokens(output, expected, tolerance, is_same):
    assert same_tokens(output, expected, tolerance) is is_same


@pytest.mark.parametrize(
    ("got", "expected", "tolerance", "is_same"),
    [
        ((1, [2, 3]), [1, (2, 3)], EXACT, True),
        ([1, 2], [1, 2, 3], EXACT, False),
        (True, 1, EXACT, False),
        (0, False, EXACT, False),
        (1.0, 1, EXACT, True),
        (0.1 + 0.2, 0.3, EXACT, False),
        (0.1 + 0.2, 0.3, NEAR, True),
        ([(0.1 + 0.2,)], [[0.3]], NEAR, True),
        (5 * 10**16 + 1, 5 * 10**16, NEAR, False),
        (float("nan"), 1.0, NEAR, False),
        (float("nan"), float("nan"), NEAR, True),
        (0.0, float("inf"), NEAR, False),
        (float("inf"), float("inf"), NEAR, True),
        (float("inf"), float("-inf"), NEAR, False),
        ({"x": 0.1 + 0.2, "y": 1 / 3}, {"y": 0.333333333, "x": 0.3}, NEAR, True),
        ({"x": 0.3}, {"x": 0.4}, NEAR, False),
        ({0.1 + 0.2, 5}, {5, 0.3}, NEAR, True),
        (float("inf"), 1e308, NEAR, False),
        (10**400, 1.5, NEAR, False),
        ("a", "a", EXACT, True),
        ("1", 1, EXACT, False),
        (None, None, EXACT, True),
        (None, 0, EXACT, False),
        ({3, 1, 2}, {1, 2, 3}, EXACT, True),
        ({1, 2}, [1, 2], EXACT, False),
        ({"b": [1], "a": (2,)}, {"a": [2], "b": (1,)}, EXACT, True),
        ({"a": 1}, {"a": 2}, EXACT, False),
        ({(1, 2): 1.0}, {(1, 2): 1}, EXACT, True),
        ({frozenset({1, 2}), frozenset({3})}, {frozenset({3}), frozenset({2, 1})}, EXACT, True),
        (object(), object(), EXACT, False),
        ("object", object(), EXACT, False),
    ],
)
def test_values(got, expected, tolerance, is_same):
    assert same_value(decode(encode(got).encode()), expected, tolerance) is is_same


def test_deep_sets_and_long_numbers_cost_little_to_order():
    deep = frozenset({1})
    for _ in range(60):
        deep = frozenset({deep})
    assert same_value(decode(encode({deep}).encode()), {deep}, EXACT)
    ranges = {range(10**5000), range(3)}
    assert same_value(decode(encode(ranges).encode()), ranges, EXACT)


@pytest.mark.parametrize("checker", ["float", "float:", "float:0", "float:nan", "float:2", "exact"])
def test_an_unknown_checker_is_an_error(checker):
    with pytest.raises(ValueError, match="give tokens, or float:TOL"):
        Tolerance.parse(checker)
