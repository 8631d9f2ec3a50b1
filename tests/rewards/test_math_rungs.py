"""Single rungs of the ladder: numbers, units, parser, size guard, residues, probes."""

import subprocess
import sys
from fractions import Fraction

import pytest

from rewards.mathematics import probes
from rewards.mathematics.fingerprint import PRIME, Undefined, fingerprint
from rewards.mathematics.numbers import BasedNumber, based_number, exact_number, is_float_noise
from rewards.mathematics.options import MathOptions, read_options
from rewards.mathematics.parser import parse
from rewards.mathematics.size import TooBig, refuse_too_big
from rewards.mathematics.structure import read_structure
from rewards.mathematics.text import normalise
from rewards.mathematics.tokens import Unparsed
from rewards.mathematics.units import are_compatible, read_unit, split_quantity


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,234.5", Fraction(2469, 2)),
        (r"-2\frac{1}{3}", Fraction(-7, 3)),
        ("1 1/2", Fraction(3, 2)),
        ("448/15625", Fraction(448, 15625)),
        ("1.2*10^{-3}", Fraction(12, 10000)),
        (r"0.1\overline{6}", Fraction(1, 6)),
        (r"0.\overline{142857}", Fraction(1, 7)),
        ("1,23", None),
        ("1 2", None),
        (r"\frac{1}{0}", None),
        ("1e999999999", None),
    ],
)
def test_literals_are_exact(text, value):
    assert exact_number(text) == value


def test_a_base_belongs_to_its_digits():
    assert based_number("01011_{2}") == BasedNumber("1011", 2)
    assert based_number("1012_2") is None
    assert based_number("a_2") is None


def test_float_noise_needs_a_short_reference():
    assert is_float_noise("0.3", "0.30000000000000004")
    assert not is_float_noise("12345678901234567890", "12345678901234567891")
    assert not is_float_noise("0.3", "0.3000001")


@pytest.mark.parametrize(
    ("first", "second", "factor"),
    [
        (r"\text{cm}", r"\text{mm}", 10),
        (r"\text{m}^2", r"\text{square centimeters}", 10_000),
        (r"\text{km/h}", "km per hour", 1),
        (r"\text{L}", r"\text{cubic meters}", Fraction(1, 1000)),
        ("dollars", "cents", 100),
    ],
)
def test_units_of_one_dimension_convert(first, second, factor):
    one, other = read_unit(first), read_unit(second)
    assert are_compatible(one, other)
    assert one.factor / other.factor == factor


@pytest.mark.parametrize(
    ("first", "second"),
    [("cm", "cm^2"), ("km", "kg"), (r"\text{apples}", r"\text{oranges}"), ("km/h", "km")],
)
def test_units_of_other_dimensions_do_not(first, second):
    assert not are_compatible(read_unit(first), read_unit(second))


def test_a_letter_is_a_unit_only_beside_one():
    assert split_quantity("6m").unit is None
    assert split_quantity("6m", may_be_letter=True).value == "6"
    assert split_quantity("5 million dollars").value == "(5)*1000000"


@pytest.mark.parametrize(
    "text",
    ["4 1", "x2", "2+", "(1", "1)", r"\frac{1}", "Tuesday", "f(x", "1,2", "", r"\int x", "a=b"],
)
def test_what_is_no_whole_formula_is_refused(text):
    with pytest.raises(Unparsed):
        parse(text)


@pytest.mark.parametrize("piece", [r"\sqrt", "-", "(", "x^", "{", r"\frac1", r"\sin", "|", "2^{"])
def test_deep_nesting_is_refused_within_a_small_stack(piece):
    code = (
        "import sys; from rewards.math_answer import decide_cheaply; sys.setrecursionlimit(600);"
        f"[decide_cheaply('\\\\boxed{{' + {piece!r} * n + '1' + "
        "{'(': ')', '{': '}', '2^{': '}'}.get("
        f"{piece!r}, '') * n + '}}', 'x+1') for n in (10, 30, 38, 39, 40, 41, 99, 900)]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "text",
    [
        "9^{9^{9^{9}}}",
        "10^{10^{10}}",
        "1000000000!",
        r"\binom{10^{9}}{5*10^{8}}",
        r"\sum_{k=1}^{10^{12}}\frac{1}{k^{2}}",
        r"\sum_{k=1}^{999}\sum_{j=1}^{999}j",
        r"\sin(9^{9^{9}})",
        "e^{e^{e^{e^{x}}}}",
        "((((9!)!)!)!)!",
        "*".join(["9999!"] * 100),
        r"\sum_{k=1}^{4000}\sqrt{99980000+k}",
        r"\binom{130000}{65000}",
        r"\sum_{a=1}^{600}\sum_{b=1}^{a}1",
        r"\sum_{k=1}^{900}\binom{9000}{4500+k}",
    ],
)
def test_the_guard_refuses_what_could_take_long(text):
    with pytest.raises(TooBig):
        refuse_too_big(parse(text))


@pytest.mark.parametrize(
    "text",
    [
        *["2006!", "2^{1000}", "(x+1)^{2000}", "2^{2^n}", r"\binom{2n}{n}", r"\binom{10^6}{2}"],
        *[r"\sum_{k=1}^{100}\sqrt{k}", r"\sum_{a=1}^{100}\sum_{b=1}^{a}b^2", r"\prod_{k=1}^{99}k"],
    ],
)
def test_the_guard_lets_ordinary_formulas_pass(text):
    refuse_too_big(parse(text))


@pytest.mark.parametrize(
    ("first", "second", "is_equal"),
    [
        ("(x+1)^2", "x^2+2x+1", True),
        ("(x+1)^2", "x^2+x+1", False),
        (r"\sqrt{12}", r"2\sqrt{3}", True),
        (r"\sqrt{6}", r"\sqrt{2}*\sqrt{3}", True),
        (r"\frac{1}{\sqrt{2}}", r"\frac{\sqrt{2}}{2}", True),
        (r"\sqrt{-4}", "2i", True),
        ("i^2", "-1", True),
        (r"\sqrt{2}", r"\sqrt{3}", False),
        ("2^{1000}", "4^{500}", True),
        ("10^{100}+1", "10^{100}", False),
        (r"2\pi", r"2\pi+10^{-50}", False),
        ("100!", "100*99!", True),
        (r"\binom{2000}{1000}", r"\frac{2000!}{1000!*1000!}", True),
        (r"\binom{5}{7}", "0", True),
        (r"\sqrt{999983}*\sqrt{999983}", "999983", True),
    ],
)
def test_residues_decide_without_big_numbers(first, second, is_equal):
    ours, theirs = fingerprint(parse(first)), fingerprint(parse(second))
    assert (ours.value == theirs.value) == is_equal
    assert ours.is_exact
    assert theirs.is_exact


def test_the_prime_is_prime_and_has_the_roots_that_are_claimed():
    assert all(pow(base, PRIME - 1, PRIME) == 1 for base in (2, 3, 5, 7, 11, 13))
    assert all(pow(root % PRIME, (PRIME - 1) // 2, PRIME) == 1 for root in (-1, 2, 3, 5, 97, 101))


def test_a_sine_proves_nothing_when_different():
    assert not fingerprint(parse(r"\sin x")).is_exact
    with pytest.raises(Undefined):
        fingerprint(parse(r"\frac{1}{x-x}"))


@pytest.mark.parametrize(
    ("first", "second", "is_equal"),
    [
        (r"\sin(2x)", r"2\sin x\cos x", True),
        (r"\sin(2x)", r"2\sin x", False),
        ("e^{-200}", "e^{-201}", False),
        (r"\sqrt{x^2}", "x", False),
        (r"\frac{1}{\sqrt{n}}", r"\sqrt{\frac{1}{n}}", True),
        (r"\cos(n\pi)", "(-1)^n", True),
        (r"\lfloor\frac{a+2}{6}\rfloor", r"\lfloor\frac{a+2}{7}\rfloor", False),
        (r"\sqrt{3+2\sqrt{2}}", r"1+\sqrt{2}", True),
        (r"\sin(10^{20})", r"\sin(10^{20}+1)", False),
        ("e^{-50}+1", "1", False),
    ],
)
def test_probes_compare_in_two_precisions(first, second, is_equal):
    assert probes.are_equal(parse(first), parse(second)) is is_equal


@pytest.mark.parametrize(
    ("spelling", "plain"),
    [
        (r"\dfrac{1}{2}", r"\frac{1}{2}"),
        ("x\u00b2", "x^{2}"),
        ("\u221a2", r"\sqrt{2}"),
        (r"45{,}000", "45,000"),
        (r"11,\! 111", "11,111"),
        (r"\left( 1 , x \right]", "(1,x]"),
        ("(100 ,200)", "(100, 200)"),
        ("1,000,2", "1,000,2"),
        (r"15\mbox{ cm}^2", r"15\text{cm}^2"),
        (r"$\boxed{5}$.", "5"),
        (r"\mathrm{e}^{x}", "e^{x}"),
    ],
)
def test_one_spelling_for_one_formula(spelling, plain):
    assert normalise(spelling) == plain


def test_a_separator_is_no_comma_unless_a_list_is_asked():
    assert type(read_structure("1,234")).__name__ == "Value"
    assert len(read_structure("1,234", prefers_list=True).items) == 2
    assert len(read_structure("1, 234").items) == 2
    assert len(read_structure("1,000, 2,000", prefers_list=True).items) == 2


def test_options_are_checked_and_other_fields_ignored():
    assert read_options({"level": 3, "rounding": "as_reference"}) == MathOptions(
        rounding="as_reference"
    )
    with pytest.raises(ValueError, match="did you mean require_box"):
        read_options({"require_boxes": True})
    with pytest.raises(ValueError, match=r"exact, as_reference.*'nearest'"):
        read_options({"rounding": "nearest"})
    with pytest.raises(ValueError, match="must be a bool"):
        read_options({"last_number": "yes"})


def test_cheap_decisions_import_no_computer_algebra():
    code = (
        "import sys; from rewards.math_answer import decide_cheaply;"
        r"decide_cheaply(r'\boxed{\sin x}', r'\cos x'); decide_cheaply(r'\boxed{2}', '2');"
        "sys.exit(any(name in sys.modules for name in ('sympy', 'mpmath', 'math_verify')))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
