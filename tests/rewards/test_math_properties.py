"""Facts that hold for every formula and every text."""

from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rewards.answers import FinalAnswer, NoAnswer, extract
from rewards.math_answer import decide_cheaply, grade
from rewards.mathematics.numbers import exact_number
from rewards.mathematics.text import normalise

settings.register_profile("steady", deadline=None, derandomize=True, max_examples=150)
settings.load_profile("steady")

LEAVES = st.one_of(
    st.integers(0, 999).map(str),
    st.sampled_from(["x", "y", "n", r"\pi", "e", r"\alpha", "a_1", "0.25"]),
)


def _grow(inner):
    return st.one_of(
        st.tuples(inner, inner).map(lambda p: rf"\frac{{{p[0]}}}{{{p[1]}}}"),
        st.tuples(inner, inner).map(lambda p: f"({p[0]}+{p[1]})"),
        st.tuples(inner, inner).map(lambda p: rf"({p[0]}-{p[1]})"),
        st.tuples(inner, inner).map(lambda p: rf"({p[0]}) \cdot ({p[1]})"),
        st.tuples(inner, st.integers(2, 5)).map(lambda p: f"({p[0]})^{{{p[1]}}}"),
        inner.map(lambda e: rf"\sqrt{{{e}}}"),
        inner.map(lambda e: rf"\sin({e})"),
    )


FORMULAS = st.recursive(LEAVES, _grow, max_leaves=8)
DECIMALS = st.decimals(min_value=-(10**6), max_value=10**6, places=4, allow_nan=False)


@given(FORMULAS)
def test_a_formula_equals_itself_in_other_spelling(formula):
    spelled = formula.replace(r"\frac", r"\dfrac").replace("(", r"\left(").replace(")", r"\right)")
    assert grade(rf"\boxed{{ {spelled} }}", formula).correct


@given(FORMULAS)
def test_a_formula_times_one_is_the_formula(formula):
    outcome = grade(rf"\boxed{{1\cdot({formula})+0}}", formula)
    # A division by zero has no value, so it equals nothing but its own text.
    assert outcome.correct or outcome.reason in ("undefined", "undecided")


@given(FORMULAS)
def test_a_formula_plus_one_is_another(formula):
    assert not grade(rf"\boxed{{({formula})+1}}", formula).correct


@given(st.from_regex(r"-?[1-9][0-9]{0,17}(\.[0-9]{1,12})?", fullmatch=True), st.data())
def test_a_changed_digit_is_never_equal(number, data):
    places = [place for place, character in enumerate(number) if character.isdigit()]
    place = data.draw(st.sampled_from(places))
    digit = data.draw(st.sampled_from([d for d in "0123456789" if d != number[place]]))
    changed = number[:place] + digit + number[place + 1 :]
    assert not grade(rf"\boxed{{{changed}}}", number).correct


@given(st.fractions(max_denominator=10**6))
def test_a_fraction_is_read_exactly_in_each_spelling(value):
    top, low = abs(value.numerator), value.denominator
    sign = "-" if value < 0 else ""
    for text in (rf"{sign}\frac{{{top}}}{{{low}}}", f"{sign}{top}/{low}"):
        assert exact_number(text) == value
    whole, rest = divmod(top, low)
    if rest:
        mixed = exact_number(rf"{sign}{whole}\frac{{{rest}}}{{{low}}}")
        assert mixed == value


@given(DECIMALS)
def test_a_decimal_is_read_exactly_with_separators(value):
    assert exact_number(f"{value:,.4f}") == Fraction(str(value))


@given(st.text(max_size=400))
@example("\ud800 \\boxed{\ud800}")
@example("\\boxed{\0}")
def test_no_text_makes_extraction_or_grading_raise(text):
    assert isinstance(extract(text, last_number=True), FinalAnswer | NoAnswer)
    assert grade(text, "5").is_valid
    decide_cheaply(rf"\boxed{{{text}}}", "5")


PIECES = [
    *r"()[]{}|^_!=<>+-*/,:;.&%$ 12ex",
    *[r"\frac", r"\sqrt", r"\{", r"\}", r"\\", r"\pm", r"\le", r"\text{", r"\begin{pmatrix}"],
    *[r"\end{pmatrix}", r"\sum_{k=1}^", r"\sin", r"\cup", " or ", r"^\circ", r"\infty", r"\in"],
    *[r"\pmod", "and", r"\overline", r"\binom", "99", r"\setminus", r"\lfloor", r"\approx"],
]
SOUP = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@given(SOUP, SOUP)
@settings(max_examples=300)
def test_no_pieces_of_formulas_make_grading_raise(reference, answer):
    grade(rf"\boxed{{{answer}}}", reference)
    grade(rf"\boxed{{{answer}}}", r"\sqrt{x}+1")
    grade(r"\boxed{1,2}", reference)


@given(st.text(alphabet=r"\{}()^_,.$ 12ab" + "\u00b2\u221a\u2212\u00bd", max_size=60))
def test_normalising_twice_changes_nothing(text):
    once = normalise(text)
    assert normalise(normalise(once)) == normalise(once)


@pytest.mark.parametrize(
    "piece", ["{", r"\boxed{", r"\boxed{1} ", "answer is ", "</think>", "$$", "\n"]
)
def test_extraction_reads_a_bounded_part_of_long_texts(piece):
    text = piece * (5_000_000 // len(piece))
    assert extract(text + r"\boxed{5}") in (
        FinalAnswer(("5",), "box"),
        NoAnswer("sprayed", extract(text + r"\boxed{5}").detail if piece == r"\boxed{1} " else ""),
    )
