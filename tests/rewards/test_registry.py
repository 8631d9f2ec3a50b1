"""Names of rewards and what graders may return."""

import pytest

from rewards.registry import check_reference, resolve, self_test_items, to_outcome
from rewards.types import Outcome


def test_built_in_and_dotted_names_resolve():
    assert resolve("math").__module__ == "rewards.math_answer"
    assert resolve("fake_graders.graded")("0.5", None) == 0.5
    assert resolve("fake_graders:graded") is resolve("fake_graders.graded")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("maths", "did you mean math"),
        ("no_such_package.grade", "can't be imported"),
        ("fake_graders.absent", "absent"),
        ("fake_graders.time", "is not a function"),
    ],
)
def test_a_name_that_stands_for_nothing_says_what_is_known(name, message):
    with pytest.raises(ValueError, match=message):
        check_reference(name, None, {})


def test_self_test_items_come_from_module_or_function():
    assert len(self_test_items("math")) >= 4
    assert self_test_items("fake_graders.liar")[1] == ("wrong", "x", False)
    assert self_test_items("fake_graders.slow") == []


def test_bool_is_binary_and_number_is_graded():
    assert to_outcome(True, 1.0) == Outcome(status="ok", correct=True, value=1.0)
    half = to_outcome(0.5, 0.4)
    assert (half.correct, half.value, half.is_graded) == (True, 0.5, True)
    assert not to_outcome(0.5, 1.0).correct
    own = Outcome(status="ok", correct=True, value=3.0)
    assert to_outcome(Outcome(status="ok", value=float("nan")), 1.0).reason == "not_finite"
    assert to_outcome(own, 1.0) is own


def test_a_binary_outcome_without_a_value_earns_what_its_verdict_does():
    right = Outcome(status="ok", correct=True)
    assert to_outcome(right, 1.0).value == 1.0
    assert Outcome(status="ok", correct=True, value=None).value == 1.0
    assert Outcome(status="ok").value == 0.0
    assert Outcome(status="error", correct=True).value == 0.0
    assert Outcome(status="ok", correct=True, is_graded=True).value == 0.0
    assert Outcome(status="ok", correct=True, value=0.0).value == 0.0  # what is said stands


def test_the_threshold_decides_every_graded_value():
    half = Outcome(status="ok", correct=False, value=0.5, is_graded=True, reason="judged")
    assert to_outcome(half, 0.5).correct
    assert to_outcome(half, 0.5).reason == "judged"
    assert not to_outcome(half, 0.6).correct
    failed = Outcome(status="error", value=1.0, is_graded=True)
    assert to_outcome(failed, 0.5) is failed
