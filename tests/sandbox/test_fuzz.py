"""Whatever bytes a program writes, the judge's parser says `bad frame` or gives a value.

MGPO_FUZZ_SECONDS makes it run longer than the second or two of a normal test.
"""

import json
import os
import time
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox.comparison import Tolerance, same_tokens, same_value
from sandbox.remote import Link
from sandbox.values import LIVE, BadFrame, decode, encode

SECONDS = float(os.environ.get("MGPO_FUZZ_SECONDS", "0"))
TAGS = [*LIVE, "node", "yours", "mine", "unknown"]

leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["ff", "-f", "nan", "1e400", "1_0", "2026-01-01", "0x1", "-0", "\u0661"])
)
plain = st.recursive(
    leaves | st.binary() | st.complex_numbers() | st.decimals() | st.fractions(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner),
)
tagged = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(st.sampled_from(TAGS), inner).map(lambda pair: {pair[0]: pair[1]})
        | st.dictionaries(st.sampled_from(TAGS), inner, max_size=2)
    ),
    max_leaves=20,
)


@st.composite
def broken(draw):
    """A frame of ours with some bytes replaced, cut, doubled or inserted."""
    frame = bytearray(json.dumps(draw(tagged)).encode())
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(frame)))
        frame[place : place + draw(st.integers(0, 3))] = draw(st.binary(max_size=4))
    return bytes(frame)


frames = st.binary() | tagged.map(lambda value: json.dumps(value).encode()) | broken()


def repeated(test):
    """Run a property once, or over and over for the time that was asked for."""

    def run():
        end = time.monotonic() + SECONDS / 4
        test()
        while time.monotonic() < end:
            test()

    return run


fuzzed = settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.slow
def test_a_decoder_raises_bad_frame_only():
    @fuzzed
    @given(frames)
    def check(frame):
        for builders in ({}, LIVE):
            try:
                value = decode(frame, *([builders] if builders else []))
            except BadFrame:
                continue
            if not builders:
                same_value(value, value, Tolerance())
                same_value(value, [1, {"a": 2.0}], Tolerance(1e-6))

    repeated(check)()


@pytest.mark.slow
def test_what_is_encoded_comes_back():
    @fuzzed
    @given(plain)
    def check(value):
        assert repr(decode(encode(value).encode(), LIVE)) == repr(value)

    repeated(check)()


def test_token_comparison_never_raises():
    @fuzzed
    @given(st.binary(), st.binary(), st.sampled_from([0.0, 1e-6]))
    def check(output, expected, tolerance):
        assert same_tokens(output, output, Tolerance(tolerance))
        same_tokens(output, expected, Tolerance(tolerance))

    repeated(check)()


@pytest.mark.slow
def test_the_tests_side_of_an_assert_raises_bad_frame_only():
    @fuzzed
    @given(frames | st.tuples(frames, frames).map(_message))
    def check(data):
        link = Link(-1, -1, trusts_other_side=False)
        link.records = {"Node": type("Node", (), {})}
        with suppress(BadFrame):
            link.load(data)

    repeated(check)()


def _message(parts):
    body, node = (part.decode(errors="replace") for part in parts)
    return json.dumps([body, [["Node", node]]]).encode()


def test_a_link_needs_text_bodies():
    with pytest.raises(BadFrame):
        Link(-1, -1, trusts_other_side=False).load(b'[{"int": "5"}, []]')
