"""Rows: what is read, and the one message for what cannot be."""

import pytest

from sandbox.types import Limits, Submission, Test

ROW = {"code": "print(1)", "tests": [{"input": "", "output": "1"}]}
FUNCTION = {"kind": "function", "entry_point": "f", "code": "def f(x): return x"}


def test_a_row_goes_there_and_back():
    submission = Submission.from_row({**ROW, "id": "a", "time_limit_s": 3, "seed": 4})
    assert submission.limits == Limits(time_s=3)
    assert submission.tests == [Test(input="", output="1")]
    assert Submission.from_row(submission.to_row()) == submission
    texts = Submission.from_row({"kind": "assert", "code": "", "tests": ["assert True"]})
    assert Submission.from_row(texts.to_row()) == texts


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([1], "a row is an object, got list"),
        ({"tests": []}, "a row needs code"),
        ({**ROW, "tests": []}, "tests is empty"),
        ({**ROW, "time_limit": 3}, "unknown field time_limit; did you mean time_limit_s"),
        ({**ROW, "colour": 3}, "unknown field colour: give one of code, tests"),
        ({**ROW, "time_limit_s": "x"}, "time_limit_s must be a number, got 'x'"),
        ({**ROW, "memory_limit_mb": 256.5}, "memory_limit_mb must be a whole number"),
        ({**ROW, "time_limit_s": float("inf")}, "time_limit_s must be positive and below"),
        ({**ROW, "checker": 5}, "checker is a text, got 5"),
        ({**ROW, "memory_limit_mb": 0}, "memory_limit_mb must be positive"),
        ({**ROW, "kind": "stdout"}, "give one of stdin, function, assert"),
        ({**ROW, "checker": "near"}, "give tokens, or float:TOL"),
        ({**ROW, "tests": [{"input": 5, "output": "1"}]}, "test 0: input of kind stdin is a text"),
        ({**ROW, "tests": [{"output": "1"}, {"output": 1}]}, "test 1: output of kind stdin"),
        ({**ROW, "tests": [{"inputt": ""}]}, "test 0: unknown field inputt"),
        ({**ROW, "tests": [5]}, "test 0: a text or an object, got int"),
        ({**ROW, "tests": ["assert True"]}, "kind assert has texts"),
        ({**FUNCTION, "tests": [{"input": 3, "output": 3}]}, "input is the list of arguments"),
        ({**FUNCTION, "entry_point": "", "tests": [{"input": [3]}]}, "needs entry_point"),
        ({**FUNCTION, "language": "cpp", "tests": [{"input": [3]}]}, "cpp has stdin only"),
    ],
)
def test_a_row_that_cannot_be_judged_is_refused(row, message):
    with pytest.raises(ValueError, match=message):
        Submission.from_row(row)
