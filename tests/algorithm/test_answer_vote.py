"""The majority of answers, by hand and against counting."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from mgpo.algorithm.answer_vote import find_majority


def same_number(one: str, other: str) -> bool:
    return float(one) == float(other)


def test_spellings_of_one_value_are_counted_together() -> None:
    found = find_majority(["2", None, "1.0", "1", "1", "2.0", "1.00"], same_number)
    assert found is not None
    assert (found.answer, found.members, found.is_tied) == ("1", (2, 3, 4, 6), False)


def test_equal_clusters_are_a_tie_and_no_answers_are_no_majority() -> None:
    tied = find_majority(["1", "2", "2.0", "1.0", None], same_number)
    assert tied is not None
    assert tied.is_tied
    assert find_majority([None, None], same_number) is None
    assert find_majority([], same_number) is None


@given(st.lists(st.one_of(st.none(), st.sampled_from("abc")), max_size=12))
def test_without_spellings_it_is_the_most_frequent_answer(answers: list[str | None]) -> None:
    counts = Counter(answer for answer in answers if answer is not None)
    found = find_majority(answers, lambda one, other: one == other)
    if not counts:
        assert found is None
        return
    assert found is not None
    assert len(found.members) == max(counts.values())
    assert {answers[place] for place in found.members} == {found.answer}
    assert found.is_tied == (list(counts.values()).count(max(counts.values())) > 1)
