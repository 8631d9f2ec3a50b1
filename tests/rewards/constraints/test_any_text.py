"""No check raises, whatever the text, and none changes its mind."""

import pytest
from constraint_checks import example_kwargs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rewards.constraints.loose import variants
from rewards.constraints.reward import CATALOGUES, grade

PIECES = [
    "\n", "\n\n", " ", "\t", ".", "...", "?!", "!", ",", "*", "***", "******", "**bold**",
    "- ", "* a", "1. ", '"', "'", "\u201c", "(", "[", "{", ")", "]", "}", "<<", ">>", "<i>",
    "</i>", "```", "```json", "SECTION 1", "SEPARATOR", "P.S.", "Mr. ", "e.g. ", "U.S.", "A",
    "b", "I'm", "don't", "well-known", "3.5", "1,000", "\u0661", "\u4f60\u597d\u3002",
    "\U0001f600", "\U0001f1e9\U0001f1ea", "\u200d", "\u0301", "\u0130", "\u00df", "\x00",
    "\x85", "\u2028", "\r", "\r\n", "\ud800", "Question 1.", "A) x", "level", "Zimbabwe",
    "1800-01-01", "My Answer:", "yes", "The", "amber", "copper", "\\", "#", "</think>",
]  # fmt: skip
TEXTS = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8)), max_size=25).map("".join)
ALL = [(compat, name) for compat, catalogue in CATALOGUES.items() for name in catalogue]


@pytest.mark.slow
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
@given(text=TEXTS)
def test_no_check_raises_on_any_text(text):
    for compat, name in ALL:
        constraint = CATALOGUES[compat][name]
        kwargs = constraint.read(name, example_kwargs(name, compat))
        for reading in {text, variants(text)[-1]}:
            assert constraint.check(reading, **kwargs) in (True, False), (compat, name)


@pytest.mark.slow
@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
@given(text=TEXTS)
def test_loose_is_never_stricter_and_verdicts_repeat(text):
    names = [name for name in CATALOGUES[None] if name != "language:response_language"]
    reference = {"constraints": [{"id": name, "kwargs": example_kwargs(name)} for name in names]}
    strict, again = grade(text, reference), grade(text, reference)
    loose = grade(text, reference, strict=False)
    assert strict == again
    verdicts = zip(strict.detail["verdicts"], loose.detail["verdicts"], strict=True)
    assert all(best or not first for first, best in verdicts)


@pytest.mark.parametrize(("compat", "name"), ALL)
def test_kwargs_are_what_the_check_takes(compat, name):
    import inspect

    constraint = CATALOGUES[compat][name]
    parameters = inspect.signature(constraint.check).parameters
    required = {
        key
        for key, parameter in parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty
    }
    optional = set(parameters) - required - {"text"}
    assert required == set(constraint.kwargs)
    assert optional == set(constraint.optional)
    assert constraint.check.__doc__
