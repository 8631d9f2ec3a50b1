"""Values leave a hostile process as text: what we write comes back, what we did not is refused."""

import math
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction

import pytest

from sandbox.values import LIVE, BadFrame, DictItems, Opaque, SetItems, decode, encode

Point = namedtuple("Point", "x y")


class Color(IntEnum):
    RED = 1


PLAIN = [
    None,
    True,
    0,
    -(2**62),
    2**4000,
    -(2**70),
    1.5,
    -0.0,
    float("inf"),
    "",
    "na\u00efve \u2603 \ud800",
    [1, [2, []]],
    (1, (2,)),
    {"a": {1: (2, 3)}, (1, 2): None},
    {1, 2},
    frozenset({"x"}),
    b"\x00\xff",
    bytearray(b"ab"),
    1 + 2j,
    range(0, 10**30, 3),
    Decimal("1.10"),
    Fraction(1, 3),
    date(2026, 1, 2),
    datetime(2026, 1, 2, 3, 4, 5, 6),
    time(1, 2),
    timedelta(1, 2, 3),
]


@pytest.mark.parametrize("value", PLAIN, ids=lambda value: type(value).__name__)
def test_plain_values_come_back_with_their_type(value):
    back = decode(encode(value).encode(), LIVE)
    assert back == value
    assert type(back) is type(value)


def test_nan_and_the_sign_of_zero_come_back():
    assert math.isnan(decode(encode(float("nan")).encode()))
    assert math.copysign(1, decode(encode(-0.0).encode())) == -1


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Counter("aab"), {"a": 2, "b": 1}),
        (defaultdict(list, {1: [2]}), {1: [2]}),
        (OrderedDict(a=1), {"a": 1}),
        (deque([1, 2]), deque([1, 2])),
        (Point(1, 2), (1, 2)),
        ([Color.RED], [1]),
    ],
)
def test_relatives_of_plain_types_become_plain(value, plain):
    assert decode(encode(value).encode(), LIVE) == plain


def test_what_has_methods_of_its_own_keeps_them():
    assert decode(encode(deque([1, 2])).encode(), LIVE).popleft() == 1
    assert decode(encode(Counter("aab")).encode(), LIVE).most_common(1) == [("a", 2)]
    assert decode(encode([Point(1, 2)] * 2).encode(), LIVE)[1].y == 2


@pytest.mark.parametrize(
    "grid",
    [
        [[1, 2], [3.5, None]],
        [(1, "a"), (True, "b")],
        [[2**70, 1]],
        [(float("nan"), 1.0)],
        [[1], (2,)],
        ([1], [2]),
        [[[1], 2]],
        [(), ()],
    ],
)
def test_grids_come_back_as_they_were(grid):
    assert repr(decode(encode(grid).encode(), LIVE)) == repr(grid)


def test_numpy_values_become_plain():
    numpy = pytest.importorskip("numpy")
    assert decode(encode(numpy.float64(1.5)).encode()) == 1.5
    assert decode(encode([numpy.bool_(True)]).encode()) == [True]
    grid = numpy.arange(4).reshape(2, 2)
    assert decode(encode(grid).encode()) == [[0, 1], [2, 3]]
    back = decode(encode(grid).encode(), LIVE)
    assert (back == grid).all()
    assert back.dtype == grid.dtype


@pytest.mark.parametrize("value", [object(), print, type, iter([1])])
def test_what_does_not_travel_is_opaque(value):
    assert isinstance(decode(encode(value).encode()), Opaque)


def test_the_judge_hashes_no_foreign_key():
    assert decode(encode({1: 2}).encode()) == DictItems([(1, 2)])
    assert decode(encode({1}).encode()) == SetItems([1])


def test_an_endless_value_cannot_be_written():
    endless: list = []
    endless.append(endless)
    with pytest.raises(RecursionError):
        encode(endless)


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"[1",
        b"\xff\xfe",
        b"NaN",
        b"[Infinity]",
        b"9" * 5000,
        b"{}",
        b'{"pickle": "x"}',
        b'{"int": 5}',
        b'{"int": "1_0"}',
        b'{"int": "0x10"}',
        '{"int": "\u0661"}'.encode(),
        b'{"int": "f", "int": "e"}',
        b'{"float": "1e5", "x": 1}',
        b'{"float": [1]}',
        b'{"tuple": 1}',
        b'{"dict": [[1]]}',
        b'{"dict": [[1, 2, 3]]}',
        b'{"range": ["0", "5", "0"]}',
        b'{"fraction": ["1", "0"]}',
        b'{"date": "never"}',
        b'{"timedelta": [1e300, 0, 0]}',
        b'{"timedelta": [999999999999, 0, 0]}',
        b'{"decimal": "one"}',
        b'{"bytes": "zz"}',
        b"[" * 100_000,
        b'{"tuple": [' * 5000,
    ],
)
def test_a_frame_that_we_did_not_write_is_refused(frame):
    with pytest.raises(BadFrame):
        decode(frame)
